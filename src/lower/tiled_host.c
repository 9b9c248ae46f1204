/* tiled_host.c: kernels with leaves whose rows lie along another axis (tiled.h), tile by tile: what a tile
 * reads of such a leaf stays in the first cache while its rows are gone through, where whole rows of the
 * space would fetch every line again. The same vectors and emitters as in pointwise_host.c, so the bits are
 * the same. */
#include "lower/pointwise.h"
#include "lower/tiled.h"

#define SIDE 64u
#define LEAST 16 /* extents below which whole rows do as well, where constant */
#define GRAIN 4  /* tiles worth a thread's wake-up when each element costs little */

enum { VALUE_COLUMNS, VALUE_ROWS, VALUE_EXTENT, VALUES };

static bool is_short(const llf_graph *g, llfi_dim d)
{
    int64_t extent;
    return llfi_dim_is_const(g->dims, d, &extent) && extent < LEAST;
}

static llf_status plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                       llfi_schedule *s)
{
    llfi_pointwise_sums sums;
    LLF_TRY(llfi_pointwise_plan(g, k, target, VALUES, arena, s, &sums));
    const llfi_demands *list = s->demands;
    if (list->forms == 0 || list->placed || list->space.axes < 2 || s->uniform_store)
        return LLF_E_UNSUPPORTED;
    uint32_t inner = list->space.axes - 1, axis = llfi_tiled_axis(g, list);
    if (axis == inner || is_short(g, list->space.extent[axis]) || is_short(g, list->space.extent[inner]))
        return LLF_E_UNSUPPORTED;
    s->tile.axis = axis;
    s->tile.x = s->tile.y = SIDE;
    s->width = s->slice = llfi_pointwise_host_width(target, &sums);
    s->threads = 1;
    s->vector_align = 1;
    return llfi_tiled_extent(list, arena, s);
}

typedef struct {
    llfi_site *s;
    uint32_t inner, other;
    LLVMValueRef axis[LLFI_RANK]; /* of the tile's first point */
    LLVMValueRef base, stride;    /* linear index of the tile's other axes; of a step along `other` */
    LLVMValueRef end[2];          /* one past the tile along inner and other */
} tiles;

static LLVMBasicBlockRef block(llfi_site *s)
{
    return LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
}

static LLVMValueRef constant(const llfi_site *s, uint64_t x)
{
    return LLVMConstInt(s->emit.i64, x, 0);
}

static LLVMValueRef as_index(const llfi_site *s, LLVMValueRef x)
{
    return s->demands.space.narrow ? LLVMBuildTrunc(s->emit.b, x, s->emit.i32, "") : x;
}

/* A loop that runs at least once: do { ... } while (i + step < end). */
typedef struct {
    LLVMBasicBlockRef head;
    LLVMValueRef i, end;
    uint64_t step;
} loop;

static loop loop_begin(llfi_site *s, LLVMValueRef begin, LLVMValueRef end, uint64_t step)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = block(s);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef i = LLVMBuildPhi(b, s->emit.i64, "");
    LLVMAddIncoming(i, &begin, &before, 1);
    return (loop){head, i, end, step};
}

static void loop_end(llfi_site *s, const loop *l)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef after = block(s), latch = LLVMGetInsertBlock(b);
    LLVMValueRef next = LLVMBuildAdd(b, l->i, constant(s, l->step), "");
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntSLT, next, l->end, "");
    llfi_emit_keep_loop(&s->emit, LLVMBuildCondBr(b, more, l->head, after));
    LLVMAddIncoming(l->i, &next, &latch, 1);
    LLVMPositionBuilderAtEnd(b, after);
}

/* Points [begin, end) of row y by vectors of `width`; nothing where begin is end. */
static llf_status piece(const tiles *t, LLVMValueRef y, LLVMValueRef begin, LLVMValueRef end, uint32_t width)
{
    llfi_site *s = t->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef some = block(s), after = block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), some, after);
    LLVMPositionBuilderAtEnd(b, some);
    loop l = loop_begin(s, begin, end, width);
    LLVMValueRef axis[LLFI_RANK], first = LLVMBuildAdd(b, LLVMBuildMul(b, y, t->stride, ""), l.i, "");
    first = LLVMBuildAdd(b, t->base, first, "");
    memcpy(axis, t->axis, sizeof axis);
    for (uint32_t k = 0; k < s->demands.space.axes; k++)
        axis[k] = as_index(s, k == t->inner ? l.i : k == t->other ? y : axis[k]);
    LLF_TRY(llfi_pointwise_body(s, &(llfi_tile){.width = width, .first = first, .axis = axis}));
    loop_end(s, &l);
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, after);
    return LLF_OK;
}

static LLVMValueRef digit(llfi_site *s, LLVMValueRef *rest, LLVMValueRef of)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef q = LLVMBuildUDiv(b, *rest, of, ""),
                 d = LLVMBuildSub(b, *rest, LLVMBuildMul(b, q, of, ""), "");
    *rest = q;
    return d;
}

static LLVMValueRef extent_of(const tiles *t, uint32_t axis)
{
    llfi_site *s = t->s;
    if (axis == t->other)
        return llfi_pointwise_dim(s, VALUE_EXTENT);
    LLVMValueRef x = llfi_index_dim(s, s->demands.space.extent[axis]);
    return s->demands.space.narrow ? LLVMBuildZExt(s->emit.b, x, s->emit.i64, "") : x;
}

/* Fills axis (i64), base, stride and end for a tile's number. */
static llf_status find_tile(tiles *t, LLVMValueRef index)
{
    llfi_site *s = t->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef side = constant(s, SIDE), stride = constant(s, 1);
    LLVMValueRef at[2] = {digit(s, &index, llfi_pointwise_dim(s, VALUE_COLUMNS)),
                          digit(s, &index, llfi_pointwise_dim(s, VALUE_ROWS))};
    uint32_t outermost = t->other == 0;
    t->base = constant(s, 0);
    for (uint32_t k = s->demands.space.axes; k-- > 0;) {
        bool needed = k > 0 || t->other == 0;
        LLVMValueRef extent = needed ? extent_of(t, k) : NULL;
        if (k == t->inner || k == t->other) {
            int i = k == t->other;
            t->axis[k] = LLVMBuildMul(b, at[i], side, "");
            LLVMValueRef end[2] = {LLVMBuildAdd(b, t->axis[k], side, ""), extent};
            t->end[i] = llfi_emit_call(&s->emit, "llvm.smin", s->emit.i64, end, 2);
            t->stride = i ? stride : t->stride;
        } else {
            t->axis[k] = k > outermost ? digit(s, &index, extent) : index;
            t->base = LLVMBuildAdd(b, t->base, LLVMBuildMul(b, t->axis[k], stride, ""), "");
        }
        if (k > 0)
            stride = LLVMBuildMul(b, stride, extent, "");
    }
    return s->emit.status;
}

static llf_status emit(llfi_site *s)
{
    LLVMBuilderRef b = s->emit.b;
    uint32_t width = s->schedule->width;
    tiles t = {.s = s, .inner = s->demands.space.axes - 1, .other = s->schedule->tile.axis};
    LLVMBasicBlockRef some = block(s), done = block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, s->range[0], s->range[1], ""), some, done);
    LLVMPositionBuilderAtEnd(b, some);
    loop tile = loop_begin(s, s->range[0], s->range[1], 1);
    LLF_TRY(find_tile(&t, tile.i));
    LLVMValueRef begin = t.axis[t.inner], count = LLVMBuildSub(b, t.end[0], begin, "");
    LLVMValueRef whole = LLVMBuildAnd(b, count, LLVMConstInt(s->emit.i64, ~(uint64_t)(width - 1), 0), "");
    LLVMValueRef middle = LLVMBuildAdd(b, begin, whole, "");
    loop row = loop_begin(s, t.axis[t.other], t.end[1], 1);
    LLF_TRY(piece(&t, row.i, begin, middle, width));
    if (width > 1)
        LLF_TRY(piece(&t, row.i, middle, t.end[0], 1));
    loop_end(s, &row);
    loop_end(s, &tile);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
    return LLF_OK;
}

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    int64_t n = l->extent[0], x = l->extent[s->inner], y = l->extent[s->tile.extent];
    if (n < 0)
        return LLF_E_ARG;
    int64_t columns = x / SIDE + (x % SIDE != 0), rows = y / SIDE + (y % SIDE != 0);
    l->items = n ? columns * rows * (n / x / y) : 0; /* no more than n */
    int64_t grain = s->cost > 16 ? GRAIN * 16 / s->cost : GRAIN;
    l->grain = grain < 1 ? 1 : grain;
    l->grid[0] = n > 0;
    l->grid[1] = l->grid[2] = l->block[0] = l->block[1] = l->block[2] = 1;
    l->shared = 0;
    l->value[VALUE_COLUMNS] = columns;
    l->value[VALUE_ROWS] = rows;
    l->value[VALUE_EXTENT] = y;
    return LLF_OK;
}

const llfi_skeleton llfi_skeleton_tiled_host = {.name = "tiled",
                                                .prefix = "tra",
                                                .match = llfi_tiled_match,
                                                .plan = plan,
                                                .emit = emit,
                                                .launch = launch};
