/* columns_gpu.c: kernels with reductions on a GPU where what lies side by side in memory are rows, not a
 * row's elements: sums of columns, and of middle axes. Threads of a block stand in a rectangle: 16 along the
 * innermost outer axis, with a vector of rows each, and 16 along the reduced axes, two of a chunk's 32 lanes
 * each (reduce.h). A thread folds its elements, lanes meet in shared memory, and one thread a row folds
 * lanes, chunks, and, where rows are split over blocks, what those came to. Only reductions of one phase,
 * whose results no point waits for; the others go by rows. */
#include "lower/pointwise.h"
#include "lower/rows_gpu.h"

#define ACROSS 16u /* threads along rows */
#define DEEP 16u   /* threads along a row */
#define THREADS (ACROSS * DEEP)
#define LANES (LLFI_WARP / DEEP) /* of a chunk, by a thread */
#define PARTS (LLFI_CHUNK / LLFI_CHUNK_S)
#define HALF (LLFI_CHUNK_J / 2)
#define GROUP 16 /* entries of an array that a thread folds at once; chunks of a block, at most */
#define LEAST_ACROSS 8
#define MOST_BLOCKS 1100

typedef struct {
    llfi_rows t;
    uint32_t width, rows;       /* of a thread; of a block */
    uint32_t axis;              /* the innermost outer one */
    LLVMValueRef across, deep;  /* of the thread, i32 */
    LLVMValueRef block;         /* of rows, index */
    LLVMValueRef first;         /* row along the axis, of the block's first; index */
    LLVMValueRef own;           /* and of the thread's first */
    LLVMValueRef there;         /* i1: it is one */
    LLVMValueRef pieces, piece; /* i32 */
} columns;

/* ---- plan */

/* Bytes of an element of what does not lie side by side along an axis. */
static uint32_t spread(const llf_graph *g, const llfi_demands *list, uint32_t axis)
{
    uint32_t bytes = 0;
    for (uint32_t i = list->uniform; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        bool memory = d->leaf && llfi_node_is_buffered(llfi_node_at(g, d->node));
        if (memory && d->scope == LLFI_SCOPE_POINT &&
            llfi_access_along(g, list, i, axis, 2, false, NULL) == LLFI_ACCESS_LANES)
            bytes += llfi_dtypes[llfi_dtype_of(g, d->node)].bytes;
    }
    return bytes;
}

static bool has_stats(const llf_graph *g, const llfi_demands *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        llf_op op = (llf_op)llfi_node_at(g, list->at[i].node)->op;
        if (!list->at[i].leaf && (op == LLF_OP_SOFTMAX_STATS || op == LLF_OP_MOMENTS))
            return true;
    }
    return false;
}

static bool worth(const llf_graph *g, const llfi_demands *list)
{
    const llfi_space *space = &list->space;
    int64_t extent;
    if (!space->outer || list->phases != 1 || llfi_rows_points_after(list) || has_stats(g, list))
        return false;
    if (llfi_dim_is_const(g->dims, space->extent[space->outer - 1], &extent) && extent < LEAST_ACROSS)
        return false;
    return spread(g, list, space->axes - 1) > spread(g, list, space->outer - 1);
}

/* Bytes of shared memory: the lanes of a chunk, and the chunks. */
static int64_t shared_bytes(const llfi_schedule *s, uint32_t width)
{
    return (int64_t)ACROSS * width * s->row.bytes * (DEEP + GROUP);
}

static llf_status plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                       llfi_schedule *s)
{
    llfi_pointwise_sums sums;
    LLF_TRY(llfi_pointwise_plan(g, k, target, LLFI_ROWS_VALUES, arena, s, &sums));
    llfi_demands *list = llfi_arena_alloc(arena, sizeof *list);
    if (!list)
        return LLF_E_NOMEM;
    *list = *s->demands;
    if (!worth(g, list))
        return LLF_E_UNSUPPORTED;
    list->space.along = list->space.outer - 1;
    s->demands = list;
    s->row.bytes = llfi_rows_bytes(g, list);
    s->width = sums.least ? 16 / sums.least : 4;
    s->width = s->width > 8 ? 8 : s->width;
    while (s->width > 1 && (s->width * sums.most > 32 || shared_bytes(s, s->width) > LLFI_ROWS_SHARED ||
                            s->width * sums.cost > 64 || s->table))
        s->width /= 2;
    int64_t extent;
    while (s->width > 1 && llfi_dim_is_const(g->dims, list->space.extent[list->space.along], &extent) &&
           extent % s->width)
        s->width /= 2;
    if (shared_bytes(s, s->width) > LLFI_ROWS_SHARED)
        return LLF_E_UNSUPPORTED;
    s->slice = s->width;
    LLF_TRY(llfi_rows_vectors(g, k, list, arena, s));
    uint32_t align = s->width * sums.most;
    s->vector_align = s->width == 1 ? 1 : align < 16 ? align : 16;
    LLF_TRY(llfi_pointwise_reciprocals(g, list, target, arena, s));
    for (s->inner = 0; s->dim[s->inner] != list->space.extent[list->space.along];)
        if (++s->inner == s->dims)
            break;
    LLF_TRY(llfi_rows_extents(g, list, arena, s));
    if (s->inner >= s->row.count) { /* a constant: it is no argument */
        llfi_dim *dim = llfi_arena_alloc(arena, (s->dims + 1) * sizeof *dim);
        if (!dim)
            return LLF_E_NOMEM;
        memcpy(dim, s->dim, s->dims * sizeof *dim);
        dim[s->inner = s->dims++] = list->space.extent[list->space.along];
        s->dim = dim;
    }
    s->threads = THREADS;
    s->row.warps = THREADS / LLFI_WARP;
    s->row.lanes = LLFI_WARP;
    s->row.rows = ACROSS * s->width;
    s->row.split = true;
    return llfi_rows_arguments(target, arena, s);
}

/* ---- elements */

static LLVMValueRef number32(const columns *c, uint32_t x)
{
    return LLVMConstInt(c->t.s->emit.i32, x, 0);
}

static LLVMValueRef as_index(const columns *c, LLVMValueRef x)
{
    const llfi_emit *e = &c->t.s->emit;
    return c->t.index == e->i64 ? LLVMBuildZExt(e->b, x, e->i64, "") : x;
}

static LLVMValueRef as_entry(const columns *c, LLVMValueRef x)
{
    const llfi_emit *e = &c->t.s->emit;
    return c->t.index == e->i64 ? LLVMBuildTrunc(e->b, x, e->i32, "") : x;
}

/* The thread's rows at element `i` of each: a state of `width` rows a fold; results are stored. */
static llf_status element(columns *c, LLVMValueRef i, llfi_state *out)
{
    llfi_rows *t = &c->t;
    llfi_site *s = t->s;
    llfi_emit *e = &s->emit;
    LLVMValueRef axis[LLFI_RANK];
    LLVMValueRef inside = LLVMBuildICmp(e->b, LLVMIntULT, i, t->length, "");
    LLVMValueRef at = LLVMBuildSelect(e->b, inside, i, llfi_rows_number(t, 0), "");
    memcpy(axis, t->axis, sizeof axis);
    llfi_site_forget_points(s);
    llfi_pointwise_unravel(s, at, s->demands.space.outer, s->demands.space.axes, axis);
    const llfi_tile tile = {.width = c->width, .axis = axis, .steps = t->vectors, .aligned = t->vectors};
    for (uint32_t d = s->demands.uniform; d < s->demands.count; d++)
        if (t->mark[d])
            LLF_TRY(llfi_lower(s, &tile, d, d + 1));
    e->width = c->width;
    for (uint32_t f = 0; f < t->folds; f++) {
        LLVMValueRef x = s->val[s->demands.at[t->fold[f].demand].arg[0]], place = NULL;
        if (c->width > 1 && LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind)
            x = llfi_emit_splat(e, x, c->width);
        if (t->fold[f].fold.places)
            place = llfi_emit_splat(e, at, c->width);
        out[f] =
            llfi_fold_where(e, &t->fold[f].fold, inside, llfi_fold_element(e, &t->fold[f].fold, x, place));
    }
    LLVMBasicBlockRef after = NULL;
    for (uint32_t k = 0; k < s->kernel->stores; k++) {
        if (s->demands.at[s->demands.store[k]].scope != LLFI_SCOPE_POINT)
            continue;
        if (!after) {
            LLVMBasicBlockRef here = llfi_gpu_place(e);
            after = llfi_gpu_place(e);
            LLVMBuildCondBr(e->b, LLVMBuildAnd(e->b, inside, c->there, ""), here, after);
            LLVMPositionBuilderAtEnd(e->b, here);
        }
        LLF_TRY(llfi_store(s, &tile, s->demands.store[k]));
    }
    if (after) {
        LLVMBuildBr(e->b, after);
        LLVMPositionBuilderAtEnd(e->b, after);
    }
    llfi_site_forget_points(s);
    return LLF_OK;
}

/* Adds what `from` holds to `to`. */
static void combine(columns *c, llfi_state *to, const llfi_state *from)
{
    for (uint32_t f = 0; f < c->t.folds; f++)
        to[f] = llfi_fold_combine(&c->t.s->emit, &c->t.fold[f].fold, to[f], from[f]);
}

static llfi_state *states(columns *c, uint32_t n)
{
    return llfi_arena_alloc(c->t.s->arena, ((size_t)n * c->t.folds + 1) * sizeof(llfi_state));
}

/* Half of a lane: bits 9, 8, 1 and 0. */
static llf_status half_lane(columns *c, LLVMValueRef first, llfi_state *out)
{
    uint32_t folds = c->t.folds;
    llfi_state *x = states(c, HALF * PARTS);
    if (!x)
        return llfi_nomem(c->t.s->emit.diag);
    for (uint32_t j = 0; j < HALF; j++)
        for (uint32_t s = 0; s < PARTS; s++) {
            LLVMValueRef i = llfi_rows_number(&c->t, j + s * LLFI_CHUNK_S);
            LLF_TRY(element(c, LLVMBuildAdd(c->t.s->emit.b, first, i, ""), x + (j * PARTS + s) * folds));
        }
    c->t.s->emit.width = c->width;
    for (uint32_t j = 0; j < HALF; j++) {
        llfi_state *y = x + j * PARTS * folds;
        combine(c, y, y + 2 * folds);
        combine(c, y + folds, y + 3 * folds);
        combine(c, y, y + folds);
    }
    combine(c, x, x + 2 * PARTS * folds);
    combine(c, x + PARTS * folds, x + 3 * PARTS * folds);
    combine(c, x, x + PARTS * folds);
    memcpy(out, x, folds * sizeof *out);
    return LLF_OK;
}

/* for (n = 0; n < turns; n++), with states that begin as the identity. */
typedef struct {
    LLVMBasicBlockRef before, body, after;
    LLVMValueRef n;
    llfi_state *state; /* phis; then what the loop leaves */
    uint32_t turns, width;
} loop;

static llf_status loop_begin(columns *c, loop *l, uint32_t turns, uint32_t width)
{
    llfi_emit *e = &c->t.s->emit;
    *l = (loop){
        LLVMGetInsertBlock(e->b), llfi_gpu_place(e), llfi_gpu_place(e), NULL, states(c, 1), turns, width};
    if (!l->state)
        return llfi_nomem(e->diag);
    LLVMBuildBr(e->b, l->body);
    LLVMPositionBuilderAtEnd(e->b, l->body);
    l->n = LLVMBuildPhi(e->b, c->t.index, "");
    for (uint32_t f = 0; f < c->t.folds; f++)
        for (uint32_t k = 0; k < c->t.fold[f].fold.states; k++)
            l->state[f].v[k] = LLVMBuildPhi(e->b, llfi_fold_type(e, &c->t.fold[f].fold, k, width), "");
    return LLF_OK;
}

static void loop_end(columns *c, loop *l, const llfi_state *more)
{
    llfi_emit *e = &c->t.s->emit;
    llfi_state *sum = l->state;
    e->width = l->width;
    LLVMValueRef next = LLVMBuildAdd(e->b, l->n, llfi_rows_number(&c->t, 1), "");
    llfi_state *phi = states(c, 1);
    for (uint32_t f = 0; f < c->t.folds && phi; f++) {
        phi[f] = sum[f];
        sum[f] = llfi_fold_combine(e, &c->t.fold[f].fold, sum[f], more[f]);
    }
    LLVMBasicBlockRef roads[2] = {l->before, LLVMGetInsertBlock(e->b)};
    LLVMAddIncoming(l->n, (LLVMValueRef[]){llfi_rows_number(&c->t, 0), next}, roads, 2);
    for (uint32_t f = 0; f < c->t.folds && phi; f++) {
        llfi_state none = llfi_fold_identity(e, &c->t.fold[f].fold);
        for (uint32_t k = 0; k < c->t.fold[f].fold.states; k++)
            LLVMAddIncoming(phi[f].v[k], (LLVMValueRef[]){none.v[k], sum[f].v[k]}, roads, 2);
    }
    LLVMValueRef again = LLVMBuildICmp(e->b, LLVMIntULT, next, llfi_rows_number(&c->t, l->turns), "");
    llfi_emit_keep_loop(e, LLVMBuildCondBr(e->b, again, l->body, l->after));
    LLVMPositionBuilderAtEnd(e->b, l->after);
    if (!phi)
        e->status = llfi_nomem(e->diag);
}

/* The thread's lanes of chunk `chunk`: lanes deep, deep + 16, the further ones last. */
static llf_status thread_chunk(columns *c, LLVMValueRef chunk, llfi_state *out)
{
    llfi_rows *t = &c->t;
    LLVMBuilderRef b = t->s->emit.b;
    loop lanes, halves;
    llfi_state *half = states(c, 1);
    if (!half)
        return llfi_nomem(t->s->emit.diag);
    LLVMValueRef first = LLVMBuildMul(b, chunk, llfi_rows_number(t, LLFI_CHUNK), "");
    LLVMValueRef deep = LLVMBuildMul(b, as_index(c, c->deep), llfi_rows_number(t, LLFI_CHUNK_J), "");
    first = LLVMBuildAdd(b, first, deep, "");
    LLF_TRY(loop_begin(c, &lanes, LANES, c->width));
    LLVMValueRef at = LLVMBuildMul(b, lanes.n, llfi_rows_number(t, DEEP * LLFI_CHUNK_J), "");
    at = LLVMBuildAdd(b, first, at, "");
    LLF_TRY(loop_begin(c, &halves, 2, c->width));
    LLVMValueRef i = LLVMBuildAdd(b, at, LLVMBuildMul(b, halves.n, llfi_rows_number(t, HALF), ""), "");
    LLF_TRY(half_lane(c, i, half));
    loop_end(c, &halves, half);
    loop_end(c, &lanes, halves.state);
    memcpy(out, lanes.state, t->folds * sizeof *out);
    return t->s->emit.status;
}

/* ---- lanes, chunks, pieces: a thread a row */

static LLVMValueRef thread_of(const columns *c)
{
    LLVMBuilderRef b = c->t.s->emit.b;
    return LLVMBuildAdd(b, LLVMBuildMul(b, c->deep, number32(c, ACROSS), ""), c->across, "");
}

/* This thread's states to the lanes' array, entry deep * rows + row. */
static void put_lanes(columns *c, const llfi_rows_array *a, const llfi_state *x)
{
    llfi_rows *t = &c->t;
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef at = LLVMBuildMul(b, c->deep, number32(c, c->rows), "");
    at = LLVMBuildAdd(b, at, LLVMBuildMul(b, c->across, number32(c, c->width), ""), "");
    for (uint32_t w = 0; w < c->width; w++) {
        for (uint32_t f = 0; f < t->folds; f++)
            for (uint32_t k = 0; k < t->fold[f].fold.states; k++)
                t->fold[f].state.v[k] = llfi_emit_lane(&t->s->emit, x[f].v[k], w);
        llfi_rows_put_where(t, t->fold, t->folds, a, LLVMBuildAdd(b, at, number32(c, w), ""),
                            LLVMConstInt(t->s->emit.i1, 1, 0));
    }
}

/* The row's entries first + row + k * rows, k < 16, n of them at most: folded as the lanes of a chunk are, or
 * as chunks. To t->fold[].state. */
static void fold_sixteen(columns *c, const llfi_rows_array *a, LLVMValueRef first, LLVMValueRef n, bool lanes)
{
    llfi_rows *t = &c->t;
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    LLVMValueRef thread = thread_of(c), own = LLVMBuildURem(b, thread, number32(c, c->rows), "");
    e->width = 1;
    for (uint32_t f = 0; f < t->folds; f++) {
        llfi_state x[GROUP];
        const llfi_fold *fold = &t->fold[f].fold;
        for (uint32_t k = 0; k < GROUP; k++) {
            LLVMValueRef there = LLVMBuildICmp(b, LLVMIntULT, number32(c, k), n, "");
            LLVMValueRef at = LLVMBuildAdd(b, first, number32(c, k), "");
            at = LLVMBuildSelect(b, there, at, first, "");
            at = LLVMBuildAdd(b, LLVMBuildMul(b, at, number32(c, c->rows), ""), own, "");
            x[k] = llfi_fold_where(e, fold, there, llfi_rows_get(t, &t->fold[f], a, at));
        }
        if (lanes)
            for (uint32_t half = GROUP / 2; half; half /= 2)
                for (uint32_t k = 0; k < half; k++)
                    x[k] = llfi_fold_combine(e, fold, x[k], x[k + half]);
        else
            for (uint32_t half = 1; half < GROUP; half *= 2)
                for (uint32_t k = 0; k < GROUP; k += 2 * half)
                    x[k] = llfi_fold_combine(e, fold, x[k], x[k + half]);
        t->fold[f].state = x[0];
    }
}

/* t->fold[].state of the row to entry `at`, by the row's own thread. */
static void put_row(columns *c, const llfi_rows_array *a, LLVMValueRef at)
{
    LLVMBuilderRef b = c->t.s->emit.b;
    LLVMValueRef thread = thread_of(c);
    at = LLVMBuildAdd(b, LLVMBuildMul(b, at, number32(c, c->rows), ""), thread, "");
    llfi_rows_put_where(&c->t, c->t.fold, c->t.folds, a, at,
                        LLVMBuildICmp(b, LLVMIntULT, thread, number32(c, c->rows), ""));
}

/* The tree over an array of n entries a row (i32) by the row's own thread; levels behind the array. */
static llf_status fold_all(columns *c, const llfi_rows_array *a, LLVMValueRef n)
{
    llfi_emit *e = &c->t.s->emit;
    LLVMBuilderRef b = e->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = llfi_gpu_place(e), level = llfi_gpu_place(e),
                      group = llfi_gpu_place(e), done = llfi_gpu_place(e), after = llfi_gpu_place(e);
    LLVMValueRef sixteen = number32(c, GROUP);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef from = LLVMBuildPhi(b, e->i32, ""), left = LLVMBuildPhi(b, e->i32, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGT, left, sixteen, ""), level, after);
    LLVMPositionBuilderAtEnd(b, level);
    LLVMValueRef groups = LLVMBuildUDiv(b, LLVMBuildAdd(b, left, number32(c, GROUP - 1), ""), sixteen, "");
    LLVMBuildBr(b, group);
    LLVMPositionBuilderAtEnd(b, group);
    LLVMValueRef u = LLVMBuildPhi(b, e->i32, ""), skip = LLVMBuildMul(b, u, sixteen, "");
    fold_sixteen(c, a, LLVMBuildAdd(b, from, skip, ""), LLVMBuildSub(b, left, skip, ""), false);
    put_row(c, a, LLVMBuildAdd(b, LLVMBuildAdd(b, from, left, ""), u, ""));
    LLVMValueRef next = LLVMBuildAdd(b, u, number32(c, 1), "");
    LLVMAddIncoming(u, (LLVMValueRef[]){number32(c, 0), next},
                    (LLVMBasicBlockRef[]){level, LLVMGetInsertBlock(b)}, 2);
    llfi_emit_keep_loop(e, LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, groups, ""), group, done));
    LLVMPositionBuilderAtEnd(b, done);
    LLF_TRY(llfi_gpu_barrier(e));
    LLVMValueRef behind = LLVMBuildAdd(b, from, left, "");
    LLVMAddIncoming(from, (LLVMValueRef[]){number32(c, 0), behind}, (LLVMBasicBlockRef[]){before, done}, 2);
    LLVMAddIncoming(left, (LLVMValueRef[]){n, groups}, (LLVMBasicBlockRef[]){before, done}, 2);
    llfi_emit_keep_loop(e, LLVMBuildBr(b, head));
    LLVMPositionBuilderAtEnd(b, after);
    fold_sixteen(c, a, from, left, false);
    return e->status;
}

/* The block's chunks, one after another, each folded over its lanes into the array of chunks. */
static llf_status chunks(columns *c, const llfi_rows_array *lanes, const llfi_rows_array *a)
{
    llfi_rows *t = &c->t;
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    llfi_state *x = states(c, 1);
    if (!x)
        return llfi_nomem(e->diag);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = llfi_gpu_place(e), body = llfi_gpu_place(e),
                      after = llfi_gpu_place(e);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef chunk = LLVMBuildPhi(b, t->index, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, chunk, t->end, ""), body, after);
    LLVMPositionBuilderAtEnd(b, body);
    LLF_TRY(thread_chunk(c, chunk, x));
    put_lanes(c, lanes, x);
    LLF_TRY(llfi_gpu_barrier(e));
    fold_sixteen(c, lanes, number32(c, 0), number32(c, DEEP), true);
    put_row(c, a, as_entry(c, LLVMBuildSub(b, chunk, t->begin, "")));
    LLF_TRY(llfi_gpu_barrier(e)); /* the next chunk's lanes take their place */
    LLVMValueRef next = LLVMBuildAdd(b, chunk, llfi_rows_number(t, 1), "");
    LLVMAddIncoming(chunk, (LLVMValueRef[]){t->begin, next},
                    (LLVMBasicBlockRef[]){before, LLVMGetInsertBlock(b)}, 2);
    llfi_emit_keep_loop(e, LLVMBuildBr(b, head));
    LLVMPositionBuilderAtEnd(b, after);
    llfi_site_forget_points(t->s);
    return LLF_OK;
}

/* ---- a road */

static LLVMValueRef byte_offset(const columns *c, LLVMValueRef base, uint64_t bytes)
{
    const llfi_emit *e = &c->t.s->emit;
    LLVMValueRef at = LLVMConstInt(e->i64, bytes, 0);
    return LLVMBuildGEP2(e->b, e->i8, base, &at, 1, "");
}

static LLVMValueRef room_of(const columns *c, LLVMValueRef n)
{
    LLVMBuilderRef b = c->t.s->emit.b;
    LLVMValueRef room = LLVMBuildAdd(b, n, LLVMBuildLShr(b, n, number32(c, 3), ""), "");
    return LLVMBuildMul(b, LLVMBuildAdd(b, room, number32(c, 8), ""), number32(c, c->rows), "");
}

/* Several pieces: the last block goes on with what all came to. */
static llf_status join(columns *c)
{
    llfi_rows *t = &c->t;
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    LLVMBasicBlockRef whole = LLVMGetInsertBlock(b), some = llfi_gpu_place(e), none = llfi_gpu_place(e),
                      last = llfi_gpu_place(e), both = llfi_gpu_place(e);
    llfi_state *before = states(c, 1);
    if (!before)
        return llfi_nomem(e->diag);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, c->pieces, number32(c, 1), ""), both, some);
    LLVMPositionBuilderAtEnd(b, some);
    llfi_rows_array a = {.room = room_of(c, c->pieces), .shared_by_blocks = true};
    LLVMValueRef at =
        LLVMBuildMul(b, LLVMBuildZExt(b, a.room, e->i64, ""), LLVMConstInt(e->i64, t->p->row.bytes, 0), "");
    LLVMValueRef block = t->index == e->i64 ? c->block : LLVMBuildZExt(b, c->block, e->i64, "");
    at = LLVMBuildMul(b, at, block, "");
    a.at = LLVMBuildGEP2(b, e->i8, llfi_rows_memory(t->s, LLFI_ARG_SCRATCH), &at, 1, "");
    put_row(c, &a, c->piece);
    LLVMValueRef counter =
        LLVMBuildGEP2(b, e->i32, llfi_rows_memory(t->s, LLFI_ARG_COUNTER), &c->block, 1, "");
    LLVMValueRef is_last = llfi_gpu_is_last(e, counter, c->pieces);
    if (!is_last)
        return e->status;
    LLVMBuildCondBr(b, is_last, last, none);
    LLVMPositionBuilderAtEnd(b, none);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, last);
    for (uint32_t f = 0; f < t->folds; f++)
        before[f] = t->fold[f].state;
    LLF_TRY(fold_all(c, &a, c->pieces));
    LLVMBasicBlockRef roads[2] = {whole, LLVMGetInsertBlock(b)};
    LLVMBuildBr(b, both);
    LLVMPositionBuilderAtEnd(b, both);
    llfi_rows_meet(t, before, roads);
    return e->status;
}

/* What is stored once a row, by the row's own thread. */
static llf_status finish(columns *c)
{
    llfi_rows *t = &c->t;
    llfi_site *s = t->s;
    llfi_emit *e = &s->emit;
    LLVMBuilderRef b = e->b;
    LLVMValueRef thread = thread_of(c), own = LLVMBuildURem(b, thread, number32(c, c->rows), "");
    own = LLVMBuildAdd(b, c->first, as_index(c, own), "");
    LLVMValueRef extent = llfi_index_dim(s, s->demands.space.extent[c->axis]);
    LLVMValueRef who = LLVMBuildICmp(b, LLVMIntULT, thread, number32(c, c->rows), "");
    who = LLVMBuildAnd(b, who, LLVMBuildICmp(b, LLVMIntULT, own, extent, ""), "");
    LLVMBasicBlockRef one = llfi_gpu_place(e), all = llfi_gpu_place(e);
    LLVMBuildCondBr(b, who, one, all);
    LLVMPositionBuilderAtEnd(b, one);
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++)
        s->val[i] = NULL; /* of vectors of rows */
    t->axis[c->axis] = own;
    llfi_rows_bind(t);
    LLF_TRY(llfi_rows_lower(t, s->demands.phases));
    const llfi_tile tile = {.width = 1, .axis = t->axis};
    for (uint32_t i = 0; i < s->kernel->stores; i++)
        if (s->demands.at[s->demands.store[i]].scope == LLFI_SCOPE_ROW)
            LLF_TRY(llfi_store(s, &tile, s->demands.store[i]));
    LLVMBuildBr(b, all);
    LLVMPositionBuilderAtEnd(b, all);
    return LLF_OK;
}

/* Blocks: pieces of a row, then blocks of rows along the axis, then the outer axes before it. */
static void place(columns *c)
{
    llfi_rows *t = &c->t;
    llfi_site *s = t->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef one = llfi_rows_number(t, 1), piece = llfi_rows_value(t, LLFI_ROWS_PIECE);
    LLVMValueRef thread = llfi_gpu_thread(&s->emit), block = as_index(c, llfi_gpu_block(&s->emit));
    c->across = LLVMBuildAnd(b, thread, number32(c, ACROSS - 1), "");
    c->deep = LLVMBuildUDiv(b, thread, number32(c, ACROSS), "");
    LLVMValueRef pieces = LLVMBuildAdd(b, t->chunks, LLVMBuildSub(b, piece, one, ""), "");
    pieces = LLVMBuildUDiv(b, pieces, piece, "");
    pieces = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGT, pieces, one, ""), pieces, one, "");
    c->block = LLVMBuildUDiv(b, block, pieces, "");
    LLVMValueRef number = LLVMBuildSub(b, block, LLVMBuildMul(b, c->block, pieces, ""), "");
    t->begin = LLVMBuildMul(b, number, piece, "");
    LLVMValueRef end = LLVMBuildAdd(b, t->begin, piece, "");
    t->end = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, end, t->chunks, ""), end, t->chunks, "");
    c->pieces = as_entry(c, pieces);
    c->piece = as_entry(c, number);
    LLVMValueRef extent = llfi_index_dim(s, s->demands.space.extent[c->axis]),
                 rows = llfi_rows_number(t, c->rows);
    LLVMValueRef across = LLVMBuildAdd(b, extent, LLVMBuildSub(b, rows, one, ""), "");
    across = LLVMBuildUDiv(b, across, rows, "");
    LLVMValueRef outer = LLVMBuildUDiv(b, c->block, across, "");
    c->first = LLVMBuildSub(b, c->block, LLVMBuildMul(b, outer, across, ""), "");
    c->first = LLVMBuildMul(b, c->first, rows, "");
    LLVMValueRef own = as_index(c, LLVMBuildMul(b, c->across, number32(c, c->width), ""));
    own = LLVMBuildAdd(b, c->first, own, "");
    c->there = LLVMBuildICmp(b, LLVMIntULT, own, extent, "");
    c->own = LLVMBuildSelect(b, c->there, own, llfi_rows_number(t, 0), "");
    for (uint32_t i = 0; i < LLFI_RANK; i++)
        t->axis[i] = i < s->demands.space.axes ? llfi_rows_number(t, 0) : NULL;
    llfi_pointwise_unravel(s, outer, 0, c->axis, t->axis);
    t->axis[c->axis] = c->own;
}

/* ROW demands of no phase, by vectors of rows. */
static llf_status lower_across(columns *c)
{
    llfi_site *s = c->t.s;
    const llfi_tile tile = {
        .width = c->width, .axis = c->t.axis, .steps = c->t.vectors, .aligned = c->t.vectors};
    llfi_index_forget(s);
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++)
        if (s->demands.at[i].scope == LLFI_SCOPE_ROW && s->demands.at[i].phase == 0)
            LLF_TRY(llfi_lower(s, &tile, i, i + 1));
    llfi_index_forget(s);
    s->emit.memos = 0;
    return LLF_OK;
}

static llf_status road(columns *c, bool vectors)
{
    llfi_rows *t = &c->t;
    llfi_emit *e = &t->s->emit;
    llfi_site_forget(t->s);
    t->vectors = vectors;
    c->width = vectors ? t->p->width : 1;
    c->rows = ACROSS * c->width;
    place(c);
    LLF_TRY(lower_across(c));
    t->phase = 0;
    LLF_TRY(llfi_rows_begin(t));
    (void)llfi_rows_wanted(t);
    llfi_rows_array lanes = {.at = llfi_gpu_shared(e), .room = number32(c, DEEP * c->rows)};
    llfi_rows_array a = {.at = byte_offset(c, lanes.at, (uint64_t)DEEP * c->rows * t->p->row.bytes),
                         .room = number32(c, GROUP * c->rows)};
    LLF_TRY(chunks(c, &lanes, &a));
    fold_sixteen(c, &a, number32(c, 0), as_entry(c, LLVMBuildSub(e->b, t->end, t->begin, "")), false);
    LLF_TRY(join(c));
    LLF_TRY(finish(c));
    LLVMBuildRetVoid(e->b);
    return e->status;
}

static llf_status emit(llfi_site *s)
{
    llfi_emit *e = &s->emit;
    columns c = {.t = {.s = s, .p = s->schedule, .index = llfi_index_type(s), .constant = -1},
                 .axis = s->demands.space.along};
    llfi_rows *t = &c.t;
    t->fold = llfi_arena_alloc(s->arena, (s->demands.count + 1) * sizeof *t->fold);
    t->mark = llfi_arena_alloc(s->arena, s->demands.count + 1);
    if (!t->fold || !t->mark)
        return llfi_nomem(e->diag);
    (void)llfi_dim_is_const(s->g->dims, s->schedule->dim[s->schedule->row.length], &t->constant);
    if (s->schedule->uniform_store)
        LLF_TRY(llfi_rows_uniform(t));
    t->length = llfi_rows_value(t, LLFI_ROWS_LENGTH);
    t->chunks = LLVMBuildAdd(e->b, t->length, llfi_rows_number(t, LLFI_CHUNK - 1), "");
    t->chunks = LLVMBuildUDiv(e->b, t->chunks, llfi_rows_number(t, LLFI_CHUNK), "");
    if (s->schedule->width == 1)
        return road(&c, false);
    LLVMBasicBlockRef by_vectors = llfi_gpu_place(e), by_elements = llfi_gpu_place(e);
    LLVMValueRef vectors = llfi_pointwise_dim(s, LLFI_ROWS_VECTORS);
    vectors = LLVMBuildICmp(e->b, LLVMIntNE, vectors, LLVMConstInt(e->i64, 0, 0), "");
    LLVMBuildCondBr(e->b, vectors, by_vectors, by_elements);
    LLVMPositionBuilderAtEnd(e->b, by_vectors);
    LLF_TRY(road(&c, true));
    LLVMPositionBuilderAtEnd(e->b, by_elements);
    return road(&c, false);
}

/* ---- launch */

static bool all_aligned(const llfi_schedule *s, const llfi_launch *l)
{
    if (s->width == 1 || l->extent[s->inner] % s->width)
        return false;
    for (uint32_t i = 0; i < s->multiples; i++)
        if (l->extent[s->multiple[i]] % s->width)
            return false;
    return llfi_pointwise_aligned(s, l);
}

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    int64_t rows = l->extent[s->row.count], length = l->extent[s->row.length], across = l->extent[s->inner];
    if (rows < 0 || length < 0 || across < 0)
        return LLF_E_ARG;
    bool vectors = all_aligned(s, l);
    int64_t each = (int64_t)ACROSS * (vectors ? s->width : 1), blocks = 0, piece = 1, bytes = 0;
    int64_t chunks = length / LLFI_CHUNK + (length % LLFI_CHUNK != 0);
    if (across)
        blocks = rows / across * (across / each + (across % each != 0));
    while (piece < GROUP && piece < chunks &&
           (chunks + piece - 1) / piece > MOST_BLOCKS / (blocks ? blocks : 1))
        piece *= 2;
    int64_t pieces = chunks > piece ? (chunks + piece - 1) / piece : 1;
    if (pieces > 1) {
        if (pieces > INT32_MAX / (2 * each) ||
            __builtin_mul_overflow((pieces + pieces / 8 + 8) * each * s->row.bytes, blocks, &bytes))
            return LLF_E_LIMIT;
        l->scratch = bytes;
        l->counters = blocks;
    }
    if (__builtin_mul_overflow(blocks, pieces, &blocks))
        return LLF_E_LIMIT;
    if (s->uniform_store && !blocks)
        blocks = 1;
    LLF_TRY(llfi_pointwise_grid(s, rows, blocks, l));
    l->shared = (uint32_t)(each * s->row.bytes * (DEEP + GROUP));
    l->value[LLFI_ROWS_ELEMENTS] = l->extent[0];
    l->value[LLFI_ROWS_COUNT] = rows;
    l->value[LLFI_ROWS_LENGTH] = length;
    l->value[LLFI_ROWS_VECTORS] = vectors;
    l->value[LLFI_ROWS_PIECE] = piece;
    return LLF_OK;
}

const llfi_skeleton llfi_skeleton_columns_nvptx = {.name = "columns",
                                                   .prefix = "col",
                                                   .match = llfi_rows_match,
                                                   .plan = plan,
                                                   .emit = emit,
                                                   .launch = launch};
