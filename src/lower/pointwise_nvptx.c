/* pointwise_nvptx.c: one element vector a thread. Threads below the number of vectors take vectors, the rest
 * one element each; a misaligned buffer makes every thread one of the rest. With runs (schedule.runs) blocks
 * take whole sets of runs, of vectors or, where none are taken, of elements, and the rest of the elements go
 * one a thread. Grid arithmetic stands in launch; the kernel must not depend on how many blocks there are. */
#include "lower/pointwise.h"

#define BODY_COST 512u /* most estimated instructions of a thread: registers, and blocks that even out */
#define SLICE_COST 96u /* most of them as straight code: LLVM's and the driver's compile time */
#define ONE_BODY_COST \
    32u /* least of them for which a second copy, for single elements, costs more than the joining */
#define ONE_BODY_LANES 4u /* most lanes computed for one element where a buffer is misaligned */
#define THREADS 128u /* measured best or equal for 1 to 7 buffers, dear and cheap (docs/performance.md) */
#define BODY_REGISTERS 128u /* most 32-bit registers for loaded and stored elements */

enum { VALUE_N, VALUE_VECTORS, VALUES };

static uint32_t choose_width(const llfi_pointwise_sums *sums)
{
    uint32_t width = sums->least ? 16 / sums->least : 1;
    width = width < 8 ? width : 8;
    while (width > 1 && (width * sums->most > 32 || width * sums->cost > BODY_COST ||
                         width * sums->bytes > BODY_REGISTERS * 4))
        width /= 2;
    return width;
}

/* Two turns at most, and none for 16-bit elements: with twice the lanes to a register they are bound by
 * instructions, and the moves show (docs/performance.md). */
static uint32_t choose_slice(const llfi_pointwise_sums *sums, uint32_t width)
{
    return width > 2 && sums->least >= 4 && width * sums->cost > SLICE_COST ? width / 2 : width;
}

static llf_status plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                       llfi_schedule *s)
{
    llfi_pointwise_sums sums;
    LLF_TRY(llfi_pointwise_plan(g, k, target, VALUES, arena, s, &sums));
    if (s->demands->forms)
        llfi_pointwise_vector_sums(g, k, s->demands, &sums);
    /* Two parts of a kernel would share the loads from a table, all of them in registers at once. */
    s->width = s->table ? 1 : choose_width(&sums);
    int64_t inner;
    while (s->inner && llfi_dim_is_const(g->dims, s->dim[s->inner], &inner) && inner % s->width)
        s->width /= 2;                /* vectors stay within a row */
    bool placed = s->demands->placed; /* a loop over slices knows no points */
    s->slice = placed ? s->width : choose_slice(&sums, s->width);
    s->one_body =
        s->width > 1 && !placed && s->slice <= ONE_BODY_LANES && s->slice * sums.cost > ONE_BODY_COST;
    llfi_pointwise_choose_runs(g, s);
    uint32_t align = s->width * sums.most;
    s->vector_align = s->width == 1 ? 1 : align < 16 ? align : 16;
    s->threads = THREADS;
    LLF_TRY(llfi_pointwise_vectors(g, s->demands, arena, s));
    return llfi_pointwise_reciprocals(g, s->demands, target, arena, s);
}

static LLVMValueRef special_register(llfi_emit *e, const char *name)
{
    LLVMValueRef x = llfi_emit_call(e, name, NULL, NULL, 0);
    if (!x)
        return NULL;
    x = LLVMBuildZExt(e->b, x, e->i64, "");
    LLVMSetNNeg(x, 1); /* grid and block indices stay below 2^31 */
    return x;
}

static LLVMValueRef constant(llfi_site *s, uint64_t x)
{
    return LLVMConstInt(s->emit.i64, x, 0);
}

static LLVMBasicBlockRef block(llfi_site *s)
{
    return LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
}

/* Where indices are narrow, elements are, too: their addresses then take one multiplication each. */
static LLVMValueRef as_element(llfi_site *s, LLVMValueRef x)
{
    LLVMBuilderRef b = s->emit.b;
    if (!s->demands.space.narrow)
        return x;
    x = LLVMBuildZExt(b, LLVMBuildTrunc(b, x, s->emit.i32, ""), s->emit.i64, "");
    LLVMSetNNeg(x, 1);
    return x;
}

/* Threads at or past `n` return. */
static void enter_below(llfi_site *s, LLVMValueRef element, LLVMValueRef n)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef inside = block(s), outside = block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, element, n, ""), inside, outside);
    LLVMPositionBuilderAtEnd(b, outside);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, inside);
}

/* One element a thread. */
static llf_status elements(llfi_site *s, LLVMValueRef element, LLVMValueRef n)
{
    enter_below(s, element, n);
    element = as_element(s, element);
    LLVMValueRef axis[LLFI_RANK];
    llfi_pointwise_axes(s, element, axis);
    LLF_TRY(llfi_pointwise_body(s, &(llfi_tile){.width = 1, .first = element, .axis = axis}));
    LLVMBuildRetVoid(s->emit.b);
    return LLF_OK;
}

/* Values of scope 0 belong to the first thread. */
static llf_status store_uniform(llfi_site *s, LLVMValueRef thread)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef first = block(s), rest = block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, thread, constant(s, 0), ""), first, rest);
    LLVMPositionBuilderAtEnd(b, first);
    LLF_TRY(llfi_pointwise_uniform(s));
    LLVMBuildBr(b, rest);
    LLVMPositionBuilderAtEnd(b, rest);
    return LLF_OK;
}

/* Elements of a whole set of runs. */
static uint64_t by_vectors(const llfi_schedule *s)
{
    return (uint64_t)s->threads * s->runs * s->width;
}

static uint64_t by_elements(const llfi_schedule *s)
{
    return (uint64_t)s->threads * s->element_runs;
}

/* Blocks below `sets` go on in the block returned; the builder stands where the others do. */
static LLVMBasicBlockRef branch_below(llfi_site *s, LLVMValueRef index, LLVMValueRef sets)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef below = block(s), others = block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, index, sets, ""), below, others);
    LLVMPositionBuilderAtEnd(b, others);
    return below;
}

static LLVMValueRef scaled(llfi_site *s, LLVMValueRef x, uint64_t by)
{
    return LLVMBuildMul(s->emit.b, x, constant(s, by), "");
}

/* `first` element of a block's sets, then its threads' elements or vectors side by side. */
static LLVMValueRef of_lane(llfi_site *s, LLVMValueRef first, LLVMValueRef lane, uint32_t width)
{
    return LLVMBuildAdd(s->emit.b, first, scaled(s, lane, width), "");
}

static llf_status emit_runs(llfi_site *s, LLVMValueRef index, LLVMValueRef lane)
{
    LLVMBuilderRef b = s->emit.b;
    const llfi_schedule *p = s->schedule;
    LLVMValueRef n = llfi_pointwise_dim(s, VALUE_N), sets, done;
    LLVMBasicBlockRef vectors = NULL, elements_of = NULL;
    sets = LLVMBuildUDiv(b, n, constant(s, by_elements(p)), "");
    done = scaled(s, sets, by_elements(p));
    if (p->width > 1) {
        LLVMValueRef of = llfi_pointwise_dim(s, VALUE_VECTORS);
        LLVMValueRef whole = LLVMBuildUDiv(b, of, constant(s, (uint64_t)p->threads * p->runs), "");
        LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, of, constant(s, 0), "");
        vectors = branch_below(s, index, whole);
        sets = LLVMBuildSelect(b, none, sets, whole, "");
        done = LLVMBuildSelect(b, none, done, scaled(s, whole, by_vectors(p)), "");
    }
    if (p->element_runs > 1)
        elements_of = branch_below(s, index, sets);
    LLVMValueRef left = LLVMBuildSub(b, index, sets, "");
    LLVMValueRef rest = LLVMBuildAdd(b, done, scaled(s, left, p->threads), "");
    LLF_TRY(elements(s, of_lane(s, rest, lane, 1), n));
    if (elements_of) {
        LLVMPositionBuilderAtEnd(b, elements_of);
        LLVMValueRef first = of_lane(s, scaled(s, index, by_elements(p)), lane, 1);
        LLF_TRY(llfi_pointwise_runs(s, p->element_runs, 1, first, p->threads));
    }
    if (!vectors)
        return LLF_OK;
    LLVMPositionBuilderAtEnd(b, vectors);
    LLVMValueRef first = of_lane(s, scaled(s, index, by_vectors(p)), lane, p->width);
    if (p->runs == 1)
        return llfi_pointwise_tile(s, NULL, first);
    return llfi_pointwise_runs(s, p->runs, p->width, first, (uint64_t)p->threads * p->width);
}

static llf_status emit(llfi_site *s)
{
    LLVMBuilderRef b = s->emit.b;
    const llfi_schedule *p = s->schedule;
    LLVMValueRef lane = special_register(&s->emit, "llvm.nvvm.read.ptx.sreg.tid.x");
    LLVMValueRef index = s->block ? s->block : special_register(&s->emit, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    if (!lane || !index)
        return s->emit.status;
    LLVMValueRef thread = LLVMBuildAdd(b, LLVMBuildMul(b, index, constant(s, p->threads), ""), lane, "");
    LLVMValueRef n = llfi_pointwise_dim(s, VALUE_N);
    if (p->uniform_store)
        LLF_TRY(store_uniform(s, thread));
    if (p->runs)
        return emit_runs(s, index, lane);
    if (p->width == 1)
        return elements(s, thread, n);
    LLVMValueRef vectors = llfi_pointwise_dim(s, VALUE_VECTORS), width = constant(s, p->width);
    LLVMValueRef whole = LLVMBuildICmp(b, LLVMIntSLT, thread, vectors, "");
    LLVMValueRef first = LLVMBuildMul(b, thread, width, "");
    LLVMValueRef rest =
        LLVMBuildAdd(b, LLVMBuildMul(b, vectors, width, ""), LLVMBuildSub(b, thread, vectors, ""), "");
    if (p->one_body) {
        first = LLVMBuildSelect(b, whole, first, rest, "");
        enter_below(s, first, n);
        return llfi_pointwise_tile(s, whole, as_element(s, first));
    }
    LLVMBasicBlockRef by_vector = block(s), by_element = block(s);
    LLVMBuildCondBr(b, whole, by_vector, by_element);
    LLVMPositionBuilderAtEnd(b, by_vector);
    LLF_TRY(llfi_pointwise_tile(s, NULL, as_element(s, first)));
    LLVMPositionBuilderAtEnd(b, by_element);
    return elements(s, rest, n);
}

bool llfi_pointwise_aligned(const llfi_schedule *s, const llfi_launch *l)
{
    uint32_t buffer = 0;
    for (uint32_t i = 0; i < s->args; i++) {
        if (s->arg[i].kind != LLFI_ARG_BUFFER)
            continue;
        if (s->arg[i].vector && (uintptr_t)l->data[buffer] % s->vector_align)
            return false;
        buffer++;
    }
    return true;
}

llf_status llfi_pointwise_grid(const llfi_schedule *s, int64_t n, int64_t blocks, llfi_launch *l)
{
    if (blocks > LLFI_GRID_MAX)
        return LLF_E_LIMIT;
    l->grid[0] = (uint32_t)blocks;
    l->grid[1] = l->grid[2] = 1;
    l->block[0] = s->threads;
    l->block[1] = l->block[2] = 1;
    l->shared = 0;
    l->items = n;
    l->grain = n;
    return LLF_OK;
}

static bool all_aligned(const llfi_schedule *s, const llfi_launch *l)
{
    if (s->inner && l->extent[s->inner] % s->width)
        return false;
    for (uint32_t i = 0; i < s->multiples; i++)
        if (l->extent[s->multiple[i]] % s->width)
            return false;
    return llfi_pointwise_aligned(s, l);
}

/* Blocks for n elements, `vectors` vectors among them. */
static int64_t blocks_of(const llfi_schedule *s, int64_t n, int64_t vectors)
{
    int64_t sets = 0, threads = vectors + (n - vectors * s->width);
    if (s->runs) {
        int64_t each = (int64_t)(vectors ? by_vectors(s) : by_elements(s));
        sets = (vectors ? vectors * s->width : n) / each;
        threads = n - sets * each;
    }
    return sets + threads / s->threads + (threads % s->threads != 0);
}

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    int64_t n = l->extent[0], vectors = 0;
    if (n < 0)
        return LLF_E_ARG;
    if (s->width > 1 && all_aligned(s, l))
        vectors = n / s->width;
    int64_t blocks = blocks_of(s, n, vectors);
    if (s->uniform_store && !blocks)
        blocks = 1;
    LLF_TRY(llfi_pointwise_grid(s, n, blocks, l));
    l->value[VALUE_N] = n;
    l->value[VALUE_VECTORS] = vectors;
    return LLF_OK;
}

/* Where all operands lie like the result, the plain kernel is as fast as memory. */
static llfi_hint load_hint(const llfi_schedule *s)
{
    return s->demands->forms ? LLFI_HINT_LAST : LLFI_HINT_NONE;
}

const llfi_skeleton llfi_skeleton_pointwise_nvptx = {.name = "pointwise",
                                                     .prefix = "poi",
                                                     .match = llfi_pointwise_match,
                                                     .plan = plan,
                                                     .emit = emit,
                                                     .launch = launch,
                                                     .load_hint = load_hint};
