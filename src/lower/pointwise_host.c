/* pointwise_host.c: a loop over [begin, end) by vectors of about two SIMD registers, then by single elements.
 * Both loops use the same emitters, so where a range is cut changes no bits. It must not assume that buffers
 * are aligned to more than their elements. */
#include "lower/pointwise.h"

#define WIDTH_MAX 64u
#define DEAR 256u /* estimated instructions from which chains of calls bind: more of them must overlap */
#define REST_WIDTH 8u
#define GRAIN 16384 /* elements worth a thread's wake-up when each costs little */
#define GRAIN_MIN 1024

enum { VALUE_N, VALUE_STEPS, VALUES };

uint32_t llfi_pointwise_host_width(const llfi_target *target, const llfi_pointwise_sums *sums)
{
    uint32_t bytes = sums->values8 > sums->values4 ? 8 : 4; /* of the register form */
    uint32_t registers = sums->cost > DEAR ? 4 : 2;
    uint32_t width = registers * target->simd_bytes / bytes;
    width = width < 1 ? 1 : width > WIDTH_MAX ? WIDTH_MAX : width;
    while (width & (width - 1)) /* a power of two whatever the register size */
        width &= width - 1;
    return width;
}

/* Would some access be better if vectors began at multiples of their width, and may they? */
static bool wants_steps(const llf_graph *g, const llfi_schedule *s)
{
    const llfi_demands *list = s->demands;
    int64_t inner;
    if (list->forms == 0 || s->width == 1 || !s->inner ||
        (llfi_dim_is_const(g->dims, s->dim[s->inner], &inner) && inner % s->width))
        return false;
    for (uint32_t i = list->uniform; i < list->count; i++) {
        const llfi_node *n = llfi_node_at(g, list->at[i].node);
        bool memory = list->at[i].leaf && llfi_node_is_buffered(n);
        if (memory ? llfi_access_of(g, list, i, s->width, false, NULL) == LLFI_ACCESS_LANES &&
                         llfi_access_of(g, list, i, s->width, true, NULL) != LLFI_ACCESS_LANES
                   : !list->at[i].leaf && llfi_ops[n->op].cls == LLFI_CLASS_INDEX)
            return true;
    }
    return false;
}

static llf_status plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                       llfi_schedule *s)
{
    llfi_pointwise_sums sums;
    LLF_TRY(llfi_pointwise_plan(g, k, target, VALUES, arena, s, &sums));
    s->width = llfi_pointwise_host_width(target, &sums);
    s->slice = s->width;
    s->threads = 1;
    s->vector_align = 1;
    s->steps = wants_steps(g, s);
    return s->steps ? llfi_pointwise_vectors(g, s->demands, arena, s) : LLF_OK;
}

static LLVMBasicBlockRef block(llfi_site *s)
{
    return LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
}

/* A piece of a row: points that differ in the innermost axis alone. */
typedef struct {
    LLVMValueRef first; /* linear index */
    LLVMValueRef axis[LLFI_RANK];
    bool steps; /* see llfi_tile */
} row;

/* The point `i` of a row, or of the whole space when there is one axis. */
static void place(llfi_site *s, const row *r, LLVMValueRef i, LLVMValueRef *linear, LLVMValueRef *axis)
{
    LLVMBuilderRef b = s->emit.b;
    *linear = i;
    if (!r) {
        llfi_pointwise_axes(s, i, axis);
        return;
    }
    *linear = LLVMBuildAdd(b, r->first, i, "");
    memcpy(axis, r->axis, sizeof r->axis);
    uint32_t inner = s->demands.space.axes - 1;
    LLVMValueRef step = s->demands.space.narrow ? LLVMBuildTrunc(b, i, s->emit.i32, "") : i;
    axis[inner] = LLVMBuildAdd(b, axis[inner], step, "");
}

/* do { body at i; i += width } while (i < end), entered from the current block; ends positioned in `after`.
 */
static llf_status loop(llfi_site *s, const row *r, uint32_t width, LLVMValueRef begin, LLVMValueRef end,
                       LLVMBasicBlockRef after)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), head, after);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef i = LLVMBuildPhi(b, s->emit.i64, "");
    LLVMValueRef axis[LLFI_RANK], first;
    place(s, r, i, &first, axis);
    bool steps = r && r->steps && width == s->schedule->width;
    LLF_TRY(
        llfi_pointwise_body(s, &(llfi_tile){.width = width, .first = first, .axis = axis, .steps = steps}));
    LLVMValueRef next = LLVMBuildAdd(b, i, LLVMConstInt(s->emit.i64, width, 0), "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
    llfi_emit_keep_loop(&s->emit,
                        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, end, ""), head, after));
    LLVMAddIncoming(i, (LLVMValueRef[]){begin, next}, (LLVMBasicBlockRef[]){before, latch}, 2);
    LLVMPositionBuilderAtEnd(b, after);
    return LLF_OK;
}

/* The piece that starts at 0 owes the rank-0 values; it is handed out even when there are no elements. */
static llf_status uniform(llfi_site *s, LLVMValueRef begin, LLVMValueRef *end)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef first = block(s), rest = block(s);
    LLVMValueRef zero = LLVMConstInt(s->emit.i64, 0, 0);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, begin, zero, ""), first, rest);
    LLVMPositionBuilderAtEnd(b, first);
    LLF_TRY(llfi_pointwise_uniform(s));
    LLVMBuildBr(b, rest);
    LLVMPositionBuilderAtEnd(b, rest);
    *end = llfi_emit_call(&s->emit, "llvm.smin", s->emit.i64,
                          (LLVMValueRef[]){*end, llfi_pointwise_dim(s, VALUE_N)}, 2);
    return s->emit.status;
}

/* Width of what a loop of this width leaves over: single elements, but where each is dear, shorter vectors
 * first. */
static uint32_t shorter(const llfi_schedule *p, uint32_t width)
{
    return width > REST_WIDTH && p->cost > DEAR ? REST_WIDTH : 1;
}

/* Vectors, then what is left of them. */
static llf_status piece(llfi_site *s, const row *r, LLVMValueRef begin, LLVMValueRef end,
                        LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = s->emit.b;
    for (uint32_t width = s->schedule->width; width > 1; width = shorter(s->schedule, width)) {
        LLVMValueRef count = LLVMBuildSub(b, end, begin, "");
        LLVMValueRef whole = LLVMBuildAnd(b, count, LLVMConstInt(s->emit.i64, ~(uint64_t)(width - 1), 0), "");
        LLVMValueRef middle = LLVMBuildAdd(b, begin, whole, "");
        LLF_TRY(loop(s, r, width, begin, middle, block(s)));
        begin = middle;
    }
    return loop(s, r, 1, begin, end, done);
}

/* Row by row: [begin, end) may start and end inside rows. */
static llf_status rows(llfi_site *s, LLVMValueRef begin, LLVMValueRef end, bool steps, LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = s->emit.b;
    const llfi_space *space = &s->demands.space;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = block(s), next = block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), head, done);
    LLVMPositionBuilderAtEnd(b, head);
    row r = {.first = LLVMBuildPhi(b, s->emit.i64, ""), .steps = steps};
    llfi_pointwise_axes(s, r.first, r.axis);
    LLVMValueRef extent = llfi_index_dim(s, space->extent[space->axes - 1]);
    LLVMValueRef room = LLVMBuildSub(b, extent, r.axis[space->axes - 1], "");
    if (space->narrow)
        room = LLVMBuildZExt(b, room, s->emit.i64, "");
    LLVMValueRef left = LLVMBuildSub(b, end, r.first, "");
    LLVMValueRef count = llfi_emit_call(&s->emit, "llvm.smin", s->emit.i64, (LLVMValueRef[]){room, left}, 2);
    if (!count)
        return s->emit.status;
    LLF_TRY(piece(s, &r, LLVMConstInt(s->emit.i64, 0, 0), count, next));
    LLVMValueRef after = LLVMBuildAdd(b, r.first, count, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, after, end, ""), head, done);
    LLVMAddIncoming(r.first, (LLVMValueRef[]){begin, after}, (LLVMBasicBlockRef[]){before, next}, 2);
    LLVMPositionBuilderAtEnd(b, done);
    return LLF_OK;
}

/* Rows with vectors that begin at multiples of their width, where extents and `begin` allow it. */
static llf_status either(llfi_site *s, LLVMValueRef begin, LLVMValueRef end, LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef stepped = block(s), other = block(s), after = block(s);
    LLVMValueRef zero = LLVMConstInt(s->emit.i64, 0, 0);
    LLVMValueRef off = LLVMBuildAnd(b, begin, LLVMConstInt(s->emit.i64, s->schedule->width - 1, 0), "");
    LLVMValueRef whole = LLVMBuildICmp(b, LLVMIntNE, llfi_pointwise_dim(s, VALUE_STEPS), zero, "");
    whole = LLVMBuildAnd(b, whole, LLVMBuildICmp(b, LLVMIntEQ, off, zero, ""), "");
    LLVMBuildCondBr(b, whole, stepped, other);
    LLVMPositionBuilderAtEnd(b, stepped);
    LLF_TRY(rows(s, begin, end, true, after));
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, other);
    return rows(s, begin, end, false, done);
}

static llf_status emit(llfi_site *s)
{
    LLVMValueRef begin = s->range[0], end = s->range[1];
    if (s->schedule->uniform_store)
        LLF_TRY(uniform(s, begin, &end));
    LLVMBasicBlockRef done = block(s);
    LLF_TRY(s->schedule->steps          ? either(s, begin, end, done)
            : s->demands.space.axes > 1 ? rows(s, begin, end, false, done)
                                        : piece(s, NULL, begin, end, done));
    LLVMBuildRetVoid(s->emit.b);
    return LLF_OK;
}

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    int64_t n = l->extent[0];
    if (n < 0)
        return LLF_E_ARG;
    int64_t grain = GRAIN;
    if (s->cost > 16)
        grain = grain * 16 / s->cost;
    grain = grain < GRAIN_MIN ? GRAIN_MIN : grain;
    l->grain = grain / WIDTH_MAX * WIDTH_MAX; /* pieces begin at multiples of every width */
    l->items = s->uniform_store && n == 0 ? 1 : n;
    l->grid[0] = l->items > 0;
    l->grid[1] = l->grid[2] = l->block[0] = l->block[1] = l->block[2] = 1;
    l->shared = 0;
    l->value[VALUE_N] = n;
    bool steps = s->steps && l->extent[s->inner] % s->width == 0;
    for (uint32_t i = 0; i < s->multiples; i++)
        steps = steps && l->extent[s->multiple[i]] % s->width == 0;
    l->value[VALUE_STEPS] = steps;
    return LLF_OK;
}

const llfi_skeleton llfi_skeleton_pointwise_host = {.name = "pointwise",
                                                    .prefix = "poi",
                                                    .match = llfi_pointwise_match,
                                                    .plan = plan,
                                                    .emit = emit,
                                                    .launch = launch};
