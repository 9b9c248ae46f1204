/* rows_gpu.c: kernels with reductions on a GPU, by rows (rows_gpu.h): which lanes, warps and blocks a row
 * has, the phases of a row, and what is stored once a row. A kernel has a road by vectors and one by single
 * elements; launch arithmetic chooses, and splits few long rows over blocks. Bits depend on neither. */
#include "lower/rows_gpu.h"

#include "lower/pointwise.h"

#define THREADS 128u       /* of a block with several rows */
#define MOST_WARPS 16u     /* of a row */
#define OPEN_WARPS 8u      /* of a row of any length */
#define KEPT_REGISTERS 96u /* most 32-bit registers for what is kept of a row */
#define MOST_BLOCKS 1100   /* that rows are split over: about eight a multiprocessor */
#define ENOUGH_ROWS 264    /* that are not split: two a multiprocessor */

static bool reduces(const llf_graph *g, const llfi_demands *list, uint32_t i)
{
    return !list->at[i].leaf && llfi_ops[llfi_node_at(g, list->at[i].node)->op].cls == LLFI_CLASS_REDUCE;
}

bool llfi_rows_match(const llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_why *why)
{
    (void)g, (void)target;
    if (!k->reduced)
        snprintf(why->text, sizeof why->text, "it has no reductions");
    return k->reduced != 0;
}

/* ---- plan */

static llfi_dim product(llf_graph *g, const llfi_dim *extent, uint32_t n)
{
    llfi_dim d = llfi_dim_const(g->dims, 1);
    for (uint32_t i = 0; i < n && d != LLFI_DIM_NONE; i++)
        d = llfi_dim_mul(g->dims, d, extent[i]);
    return d;
}

/* The number of rows and their length, behind the other extents. */
llf_status llfi_rows_extents(llf_graph *g, const llfi_demands *list, llfi_arena *arena, llfi_schedule *s)
{
    const llfi_space *space = &list->space;
    llfi_dim rows = product(g, space->extent, space->outer);
    llfi_dim length = product(g, space->extent + space->outer, space->axes - space->outer);
    llfi_dim *dim = llfi_arena_alloc(arena, (s->dims + 2) * sizeof *dim);
    if (!dim || llfi_dims_nomem(g->dims))
        return LLF_E_NOMEM;
    if (rows == LLFI_DIM_NONE || length == LLFI_DIM_NONE)
        return LLF_E_LIMIT;
    memcpy(dim, s->dim, s->dims * sizeof *dim);
    s->dim = dim;
    s->row.count = s->dims++;
    s->row.length = s->dims++;
    dim[s->row.count] = rows;
    dim[s->row.length] = length;
    return LLF_OK;
}

/* In front, since nothing but strides may stand behind a table. */
llf_status llfi_rows_arguments(const llfi_target *target, llfi_arena *arena, llfi_schedule *s)
{
    llfi_arg *arg = llfi_arena_alloc(arena, (s->args + 2) * sizeof *arg);
    if (!arg)
        return LLF_E_NOMEM;
    if (!s->table && ((uint64_t)s->args + 2) * 8 > target->param_bytes)
        return LLF_E_LIMIT;
    memcpy(arg + 2, s->arg, s->args * sizeof *arg);
    arg[0] = (llfi_arg){.kind = LLFI_ARG_SCRATCH, .dtype = LLF_I64};
    arg[1] = (llfi_arg){.kind = LLFI_ARG_COUNTER, .dtype = LLF_I64};
    s->arg = arg;
    s->args += 2;
    return LLF_OK;
}

/* Buffers that are accessed by vectors along the rows, and what that asks of extents. */
llf_status llfi_rows_vectors(const llf_graph *g, const llfi_kernel *k, const llfi_demands *list,
                             llfi_arena *arena, llfi_schedule *s)
{
    bool *multiple = llfi_arena_alloc(arena, (size_t)list->dims + 1);
    s->multiple = llfi_arena_alloc(arena, ((size_t)list->dims + 1) * sizeof *s->multiple);
    if (!multiple || !s->multiple)
        return LLF_E_NOMEM;
    memset(multiple, 0, (size_t)list->dims + 1);
    for (uint32_t a = 0; a < s->args; a++)
        s->arg[a].vector = false;
    for (uint32_t i = list->uniform; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        bool access = d->leaf && llfi_node_is_buffered(llfi_node_at(g, d->node));
        for (uint32_t n = 0; n < k->stores; n++)
            access = access || list->store[n] == i;
        if (!access || d->scope != LLFI_SCOPE_POINT)
            continue;
        llfi_access how = llfi_access_of(g, list, i, s->width, true, multiple);
        for (uint32_t a = 0; a < s->args; a++)
            if (s->arg[a].kind == LLFI_ARG_BUFFER && s->arg[a].ref == d->node)
                s->arg[a].vector = s->arg[a].vector || how == LLFI_ACCESS_VECTOR || how == LLFI_ACCESS_BACK;
    }
    for (uint32_t i = 0; i < list->dims; i++)
        if (multiple[i])
            s->multiple[s->multiples++] = s->dims - list->dims + i;
    return LLF_OK;
}

/* Do rows end at multiples of a vector? Extents that only run time knows may. */
static bool may_have_vectors(const llf_graph *g, const llfi_schedule *s)
{
    int64_t x;
    bool may = !s->inner || !llfi_dim_is_const(g->dims, s->dim[s->inner], &x) || x % s->width == 0;
    may = may && (!llfi_dim_is_const(g->dims, s->dim[s->row.length], &x) || x % s->width == 0);
    for (uint32_t i = 0; i < s->multiples; i++)
        may = may && (!llfi_dim_is_const(g->dims, s->dim[s->multiple[i]], &x) || x % s->width == 0);
    return may;
}

/* Bytes of all partial results of one phase: the most. */
uint32_t llfi_rows_bytes(const llf_graph *g, const llfi_demands *list)
{
    uint32_t most = 0;
    for (uint32_t phase = 1; phase <= list->phases; phase++) {
        uint32_t bytes = 0;
        for (uint32_t i = 0; i < list->count; i++) {
            if (!reduces(g, list, i) || list->at[i].phase != phase)
                continue;
            llfi_fold f = llfi_fold_of(g, list->at[i].node, list->space.narrow);
            uint32_t value = f.acc == LLF_BOOL && !f.places         ? 1
                             : f.acc == LLF_F64 || f.acc == LLF_I64 ? 8
                                                                    : 4;
            bytes += value + (f.places ? (f.narrow ? 4 : 8) : f.states == 2 ? value : 0);
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Is there a value of a point that waits for a reduction? */
bool llfi_rows_points_after(const llfi_demands *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i].scope == LLFI_SCOPE_POINT && list->at[i].phase > 0)
            return true;
    return false;
}

/* Sums of softmax_stats are scaled once, when the largest exponent of the row is known: pieces of it have
 * none. */
static bool has_exponents(const llf_graph *g, const llfi_demands *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!list->at[i].leaf && llfi_node_at(g, list->at[i].node)->op == LLF_OP_SOFTMAX_STATS)
            return true;
    return false;
}

/* Registers that one chunk's elements take, by a warp that keeps them. */
static uint32_t kept_registers(const llf_graph *g, const llfi_demands *list, int64_t chunk)
{
    uint32_t bytes = 0;
    for (uint32_t i = list->uniform; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        if (d->scope == LLFI_SCOPE_POINT && d->leaf && llfi_node_is_buffered(llfi_node_at(g, d->node)))
            bytes += llfi_dtypes[llfi_dtype_of(g, d->node)].bytes == 8 ? 8 : 4; /* 16 bits are widened */
    }
    return (uint32_t)((chunk + LLFI_WARP - 1) / LLFI_WARP) * bytes / 4;
}

static void choose(const llf_graph *g, const llfi_demands *list, llfi_schedule *s)
{
    int64_t length, rows;
    bool again = llfi_rows_points_after(list);
    s->row.lanes = LLFI_WARP;
    s->row.rows = 1;
    s->row.bytes = llfi_rows_bytes(g, list);
    s->row.split = !again && list->phases == 1 && !has_exponents(g, list);
    if (!llfi_dim_is_const(g->dims, s->dim[s->row.length], &length)) {
        s->row.warps = OPEN_WARPS;
        s->threads = OPEN_WARPS * LLFI_WARP;
        return;
    }
    int64_t chunks = (length + LLFI_CHUNK - 1) / LLFI_CHUNK;
    s->row.warps = 1;
    while (s->row.warps < MOST_WARPS && s->row.warps < chunks)
        s->row.warps *= 2;
    if (chunks <= 1) {
        while (s->row.lanes > 1 && (int64_t)s->row.lanes / 2 * LLFI_CHUNK_J >= length)
            s->row.lanes /= 2;
        s->row.rows = THREADS / s->row.lanes;
        s->row.split = false;
    } else if (s->row.split && llfi_dim_is_const(g->dims, s->dim[s->row.count], &rows) &&
               rows >= ENOUGH_ROWS && chunks <= LLFI_ROWS_SHARED / 2 / s->row.bytes) {
        s->row.split = false;
    }
    s->threads = s->row.rows > 1 ? THREADS : s->row.warps * LLFI_WARP;
    int64_t each = chunks ? (chunks + s->row.warps - 1) / s->row.warps : 0;
    int64_t elements = chunks > 1 ? each * LLFI_CHUNK : length;
    if (again && each && each <= LLFI_ROWS_SLOTS && kept_registers(g, list, elements) <= KEPT_REGISTERS)
        s->row.kept = (uint32_t)each;
}

static llf_status plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                       llfi_schedule *s)
{
    llfi_pointwise_sums sums;
    LLF_TRY(llfi_pointwise_plan(g, k, target, LLFI_ROWS_VALUES, arena, s, &sums));
    const llfi_demands *list = s->demands;
    s->width = LLFI_CHUNK_J;
    s->slice = s->width;
    LLF_TRY(llfi_rows_vectors(g, k, list, arena, s));
    uint32_t least = sums.least ? sums.least : 1;
    s->vector_align = least * s->width < 16 ? least * s->width : 16;
    for (uint32_t i = 0; i < s->args; i++)
        if (s->arg[i].vector && llfi_dtypes[s->arg[i].dtype].bytes * s->width >= 16)
            s->vector_align = 16;
    LLF_TRY(llfi_pointwise_reciprocals(g, list, target, arena, s));
    LLF_TRY(llfi_rows_extents(g, list, arena, s));
    if (!may_have_vectors(g, s) || s->table)
        s->width = 1;
    choose(g, list, s);
    return llfi_rows_arguments(target, arena, s);
}

/* ---- one road */

static LLVMValueRef number32(const llfi_rows *t, uint32_t x)
{
    return LLVMConstInt(t->s->emit.i32, x, 0);
}

LLVMValueRef llfi_rows_value(const llfi_rows *t, uint32_t which)
{
    LLVMValueRef x = llfi_pointwise_dim(t->s, which);
    return t->index == t->s->emit.i64 ? x : LLVMBuildTrunc(t->s->emit.b, x, t->index, "");
}

LLVMValueRef llfi_rows_memory(const llfi_site *s, llfi_arg_kind kind)
{
    for (uint32_t i = 0; i < s->schedule->args; i++)
        if (s->schedule->arg[i].kind == kind)
            return s->arg[i];
    return NULL;
}

/* ROW demands that wait for no reduction beyond this phase. */
llf_status llfi_rows_lower(llfi_rows *t, uint32_t phase)
{
    llfi_site *s = t->s;
    const llfi_tile tile = {.width = 1, .axis = t->axis};
    llfi_index_forget(s);
    s->emit.memos = 0;
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++) {
        const llfi_demand *d = &s->demands.at[i];
        if (d->scope == LLFI_SCOPE_ROW && d->phase <= phase && !s->val[i])
            LLF_TRY(llfi_lower(s, &tile, i, i + 1));
    }
    llfi_index_forget(s);
    s->emit.memos = 0;
    return LLF_OK;
}

/* POINT demands that this phase's reductions and stores want. False: there are neither. */
bool llfi_rows_wanted(llfi_rows *t)
{
    const llfi_site *s = t->s;
    const llfi_demands *list = &s->demands;
    bool any = llfi_demands_points(s->g, s->kernel, list, t->phase, t->mark) && t->phase < list->phases;
    if (t->phase == list->phases)
        memset(t->mark, 0, list->count);
    for (uint32_t i = 0; i < s->kernel->stores; i++) {
        const llfi_demand *d = &list->at[list->store[i]];
        if (d->scope == LLFI_SCOPE_POINT && d->phase == t->phase)
            any = t->mark[list->store[i]] = true;
    }
    for (uint32_t i = list->count; i-- > 0;) {
        const llfi_demand *d = &list->at[i];
        t->mark[i] = t->mark[i] && d->scope == LLFI_SCOPE_POINT;
        for (uint32_t a = 0; t->mark[i] && !d->leaf && a < llfi_node_at(s->g, d->node)->arity; a++)
            t->mark[d->arg[a]] = true;
    }
    return any;
}

llf_status llfi_rows_begin(llfi_rows *t)
{
    const llfi_site *s = t->s;
    t->folds = 0;
    for (uint32_t i = 0; i < s->demands.count; i++)
        if (reduces(s->g, &s->demands, i) && s->demands.at[i].phase == t->phase + 1)
            t->fold[t->folds++] = (llfi_rows_fold){
                .demand = i, .fold = llfi_fold_of(s->g, s->demands.at[i].node, s->demands.space.narrow)};
    t->bytes = llfi_rows_layout(t->fold, t->folds, &s->emit);
    return LLF_OK;
}

/* i32, of chunks: arrays have no more entries. */
static LLVMValueRef as_entry(const llfi_rows *t, LLVMValueRef c)
{
    return t->index == t->s->emit.i64 ? LLVMBuildTrunc(t->s->emit.b, c, t->s->emit.i32, "") : c;
}

static LLVMValueRef as_index(const llfi_rows *t, LLVMValueRef x)
{
    return t->index == t->s->emit.i64 ? LLVMBuildZExt(t->s->emit.b, x, t->index, "") : x;
}

static LLVMValueRef as_i64(const llfi_rows *t, LLVMValueRef x)
{
    return t->index == t->s->emit.i64 ? x : LLVMBuildZExt(t->s->emit.b, x, t->s->emit.i64, "");
}

/* Most chunks of a row, where the length is known; else -1. */
static int64_t most_chunks(const llfi_rows *t)
{
    return t->constant < 0 ? -1 : (t->constant + LLFI_CHUNK - 1) / LLFI_CHUNK;
}

/* Every chunk that is this warp's; each one's states to `a`. */
static llf_status loop_chunks(llfi_rows *t, const llfi_rows_array *a)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = llfi_gpu_place(e), body = llfi_gpu_place(e),
                      after = llfi_gpu_place(e);
    LLVMValueRef first = LLVMBuildAdd(b, t->begin, as_index(t, t->warp), "");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef c = LLVMBuildPhi(b, t->index, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, c, t->end, ""), body, after);
    LLVMPositionBuilderAtEnd(b, body);
    int64_t most = most_chunks(t);
    LLF_TRY(llfi_rows_chunk(t, &(llfi_rows_place){.c = c, .most = most - (most > 0)}));
    if (t->folds)
        LLF_TRY(llfi_rows_put(t, a, as_entry(t, LLVMBuildSub(b, c, t->begin, ""))));
    LLVMValueRef next = LLVMBuildAdd(b, c, llfi_rows_number(t, t->p->row.warps), "");
    LLVMAddIncoming(c, (LLVMValueRef[]){first, next}, (LLVMBasicBlockRef[]){before, LLVMGetInsertBlock(b)},
                    2);
    llfi_emit_keep_loop(e, LLVMBuildBr(b, head));
    LLVMPositionBuilderAtEnd(b, after);
    llfi_site_forget_points(t->s);
    return LLF_OK;
}

/* The warp's chunks one after another, of which all but the last are there for every warp. */
static llf_status kept_chunks(llfi_rows *t, const llfi_rows_array *a)
{
    llfi_emit *e = &t->s->emit;
    int64_t warps = t->p->row.warps;
    for (uint32_t k = 0; k < t->p->row.kept; k++) {
        LLVMValueRef c =
            LLVMBuildAdd(e->b, as_index(t, t->warp), llfi_rows_number(t, k * (uint64_t)warps), "");
        int64_t least = k * warps, most = least + warps - 1;
        if (t->p->row.warps == 1)
            c = llfi_rows_number(t, k);
        LLF_TRY(llfi_rows_chunk(t, &(llfi_rows_place){c, k, least, most}));
        if (t->folds && a)
            LLF_TRY(llfi_rows_put(t, a, as_entry(t, c)));
    }
    return LLF_OK;
}

static llf_status store_rows(llfi_rows *t)
{
    llfi_site *s = t->s;
    llfi_emit *e = &s->emit;
    const llfi_tile tile = {.width = 1, .axis = t->axis};
    LLVMBasicBlockRef one = llfi_gpu_place(e), all = llfi_gpu_place(e);
    LLVMValueRef who =
        LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildOr(e->b, t->lane, t->warp, ""), number32(t, 0), "");
    if (t->valid)
        who = LLVMBuildAnd(e->b, who, t->valid, "");
    LLVMBuildCondBr(e->b, who, one, all);
    LLVMPositionBuilderAtEnd(e->b, one);
    llfi_index_forget(s);
    for (uint32_t i = 0; i < s->kernel->stores; i++)
        if (s->demands.at[s->demands.store[i]].scope == LLFI_SCOPE_ROW)
            LLF_TRY(llfi_store(s, &tile, s->demands.store[i]));
    LLVMBuildBr(e->b, all);
    LLVMPositionBuilderAtEnd(e->b, all);
    llfi_index_forget(s);
    return LLF_OK;
}

/* i32: the entries that an array of n (i32) has room for. */
static LLVMValueRef room_of(const llfi_rows *t, LLVMValueRef n)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef levels = LLVMBuildLShr(b, n, number32(t, 6), "");
    return LLVMBuildAdd(b, LLVMBuildAdd(b, n, levels, ""), number32(t, 8), "");
}

/* The row's part of the scratch: arrays of `room` entries a row. */
static LLVMValueRef scratch_of(const llfi_rows *t, LLVMValueRef room)
{
    llfi_emit *e = &t->s->emit;
    LLVMValueRef at = LLVMBuildMul(e->b, LLVMBuildZExt(e->b, room, e->i64, ""),
                                   LLVMConstInt(e->i64, t->p->row.bytes, 0), "");
    LLVMValueRef row = t->index == e->i64 ? t->row : LLVMBuildZExt(e->b, t->row, e->i64, "");
    /* rows of 8-byte values begin at multiples of 8 */
    at = LLVMBuildAnd(e->b, LLVMBuildAdd(e->b, at, LLVMConstInt(e->i64, 7, 0), ""),
                      LLVMConstInt(e->i64, ~UINT64_C(7), 0), "");
    at = LLVMBuildMul(e->b, at, row, "");
    return LLVMBuildGEP2(e->b, e->i8, llfi_rows_memory(t->s, LLFI_ARG_SCRATCH), &at, 1, "");
}

/* Where the chunks of this block's part of a row leave what they come to: in shared memory, or, where that is
 * too small, in scratch. */
static llfi_rows_array chunk_array(const llfi_rows *t)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    int64_t most = most_chunks(t);
    bool fits = t->p->row.split || (most >= 0 && llfi_rows_room(most) * t->p->row.bytes <= LLFI_ROWS_SHARED);
    llfi_rows_array a = {.room = room_of(t, as_entry(t, LLVMBuildSub(b, t->end, t->begin, "")))};
    LLVMValueRef shared = llfi_gpu_shared(e);
    if (fits) {
        a.at = shared;
        return a;
    }
    LLVMTypeRef generic = LLVMPointerTypeInContext(e->lx, 0);
    LLVMValueRef scratch = scratch_of(t, a.room);
    LLVMValueRef bytes =
        LLVMBuildMul(b, LLVMBuildZExt(b, a.room, e->i64, ""), LLVMConstInt(e->i64, t->p->row.bytes, 0), "");
    LLVMValueRef small = LLVMBuildICmp(b, LLVMIntULE, bytes, LLVMConstInt(e->i64, LLFI_ROWS_SHARED, 0), "");
    a.at = LLVMBuildSelect(b, small, LLVMBuildAddrSpaceCast(b, shared, generic, ""),
                           LLVMBuildAddrSpaceCast(b, scratch, generic, ""), "");
    return a;
}

/* What the pieces of a row came to, folded by the block that comes last; the others end. */
static llf_status join_pieces(llfi_rows *t, LLVMValueRef pieces, LLVMValueRef piece)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    LLVMBasicBlockRef whole = LLVMGetInsertBlock(b), some = llfi_gpu_place(e), none = llfi_gpu_place(e),
                      last = llfi_gpu_place(e), both = llfi_gpu_place(e);
    llfi_state *before = llfi_arena_alloc(t->s->arena, (t->folds + 1) * sizeof *before);
    if (!before)
        return llfi_nomem(e->diag);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, pieces, number32(t, 1), ""), both, some);
    LLVMPositionBuilderAtEnd(b, some);
    llfi_rows_array a = {.room = room_of(t, pieces), .shared_by_blocks = true};
    a.at = scratch_of(t, a.room);
    LLVMBasicBlockRef first = llfi_gpu_place(e), put = llfi_gpu_place(e);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, t->warp, number32(t, 0), ""), first, put);
    LLVMPositionBuilderAtEnd(b, first);
    LLF_TRY(llfi_rows_put(t, &a, piece));
    LLVMBuildBr(b, put);
    LLVMPositionBuilderAtEnd(b, put);
    LLVMValueRef row = t->row,
                 counter = LLVMBuildGEP2(b, e->i32, llfi_rows_memory(t->s, LLFI_ARG_COUNTER), &row, 1, "");
    LLVMValueRef is_last = llfi_gpu_is_last(e, counter, pieces);
    if (!is_last)
        return e->status;
    LLVMBuildCondBr(b, is_last, last, none);
    LLVMPositionBuilderAtEnd(b, none);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, last);
    for (uint32_t i = 0; i < t->folds; i++)
        before[i] = t->fold[i].state;
    LLVMValueRef unit = as_i64(t, llfi_rows_value(t, LLFI_ROWS_PIECE));
    unit = LLVMBuildMul(b, unit, LLVMConstInt(e->i64, LLFI_CHUNK, 0), "");
    const llfi_rows_span span = {LLVMConstInt(e->i64, 0, 0), as_i64(t, t->length), unit};
    LLF_TRY(llfi_rows_fold_array(t, &a, pieces, 0, &span));
    LLVMBasicBlockRef roads[2] = {whole, LLVMGetInsertBlock(b)};
    LLVMBuildBr(b, both);
    LLVMPositionBuilderAtEnd(b, both);
    llfi_rows_meet(t, before, roads);
    return e->status;
}

/* The elements of this block's chunks. */
static llfi_rows_span span_of(const llfi_rows *t)
{
    llfi_emit *e = &t->s->emit;
    LLVMValueRef unit = LLVMConstInt(e->i64, LLFI_CHUNK, 0), length = as_i64(t, t->length);
    LLVMValueRef from = LLVMBuildMul(e->b, as_i64(t, t->begin), unit, "");
    LLVMValueRef to = LLVMBuildMul(e->b, as_i64(t, t->end), unit, "");
    to = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULT, to, length, ""), to, length, "");
    return (llfi_rows_span){from, to, unit};
}

typedef struct {
    LLVMValueRef pieces, piece; /* i32; split */
} split;

static void no_elements(llfi_rows *t)
{
    llfi_emit *e = &t->s->emit;
    e->width = 1;
    for (uint32_t i = 0; i < t->folds; i++)
        t->fold[i].state = llfi_rows_nothing(e, &t->fold[i].fold);
}

static llf_status run_phase(llfi_rows *t, const split *sp)
{
    llfi_emit *e = &t->s->emit;
    const llfi_schedule *p = t->p;
    bool alone = p->row.warps == 1; /* one chunk at most */
    bool kept = p->row.kept && t->vectors;
    llfi_rows_array a = {NULL};
    if (t->folds && !alone) {
        if (t->phase) /* the array of the phase before is read by then */
            LLF_TRY(llfi_gpu_barrier(e));
        a = chunk_array(t);
    }
    if (alone && t->constant == 0) /* there is not even a first element */
        no_elements(t);
    else if (alone)
        LLF_TRY(llfi_rows_chunk(t, &(llfi_rows_place){.c = llfi_rows_number(t, 0)}));
    else if (kept)
        LLF_TRY(kept_chunks(t, &a));
    else
        LLF_TRY(loop_chunks(t, &a));
    if (!t->folds)
        return LLF_OK;
    if (!alone) {
        int64_t most = most_chunks(t);
        LLF_TRY(llfi_gpu_barrier(e));
        LLVMValueRef n = as_entry(t, LLVMBuildSub(e->b, t->end, t->begin, ""));
        const llfi_rows_span span = span_of(t);
        LLF_TRY(llfi_rows_fold_array(t, &a, n, most < 0 ? 0 : most, &span));
    }
    if (p->row.split)
        LLF_TRY(join_pieces(t, sp->pieces, sp->piece));
    llfi_rows_bind(t);
    return e->status;
}

static llf_status road(llfi_rows *t, const split *sp, bool vectors)
{
    llfi_site *s = t->s;
    llfi_site_forget(s);
    t->vectors = vectors;
    t->kept = NULL;
    if (vectors && t->p->row.kept)
        LLF_TRY(llfi_rows_keep(t));
    LLF_TRY(llfi_rows_lower(t, 0));
    for (t->phase = 0; t->phase <= s->demands.phases; t->phase++) {
        LLF_TRY(llfi_rows_begin(t));
        if (llfi_rows_wanted(t) || t->folds)
            LLF_TRY(run_phase(t, sp));
        LLF_TRY(llfi_rows_lower(t, t->phase + 1));
    }
    LLF_TRY(store_rows(t));
    LLVMBuildRetVoid(s->emit.b);
    return LLF_OK;
}

/* ---- a thread's place */

/* Blocks have pieces of rows one after another. */
static void place_split(llfi_rows *t, split *sp, LLVMValueRef block)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef piece = llfi_rows_value(t, LLFI_ROWS_PIECE),
                 less = LLVMBuildSub(b, piece, llfi_rows_number(t, 1), "");
    LLVMValueRef pieces = LLVMBuildUDiv(b, LLVMBuildAdd(b, t->chunks, less, ""), piece, "");
    LLVMValueRef any = LLVMBuildICmp(b, LLVMIntUGT, pieces, llfi_rows_number(t, 1), "");
    pieces = LLVMBuildSelect(b, any, pieces, llfi_rows_number(t, 1), "");
    t->row = LLVMBuildUDiv(b, as_index(t, block), pieces, "");
    LLVMValueRef number = LLVMBuildSub(b, as_index(t, block), LLVMBuildMul(b, t->row, pieces, ""), "");
    t->begin = LLVMBuildMul(b, number, piece, "");
    LLVMValueRef end = LLVMBuildAdd(b, t->begin, piece, "");
    t->end = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, end, t->chunks, ""), end, t->chunks, "");
    sp->pieces = as_entry(t, pieces);
    sp->piece = as_entry(t, number);
}

/* Several rows a block: lanes beyond the last row go through it once more, and store nothing. */
static void place_rows(llfi_rows *t, LLVMValueRef thread, LLVMValueRef block)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef rows = llfi_rows_value(t, LLFI_ROWS_COUNT);
    LLVMValueRef own = LLVMBuildUDiv(b, thread, number32(t, t->p->row.lanes), "");
    t->row = LLVMBuildMul(b, as_index(t, block), llfi_rows_number(t, t->p->row.rows), "");
    t->row = LLVMBuildAdd(b, t->row, as_index(t, own), "");
    t->valid = LLVMBuildICmp(b, LLVMIntULT, t->row, rows, "");
    t->row = LLVMBuildSelect(b, t->valid, t->row, LLVMBuildSub(b, rows, llfi_rows_number(t, 1), ""), "");
    t->lane = LLVMBuildURem(b, thread, number32(t, t->p->row.lanes), "");
    t->warp = number32(t, 0);
}

static llf_status place(llfi_rows *t, split *sp)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    LLVMValueRef thread = llfi_gpu_thread(e), block = llfi_gpu_block(e);
    if (!thread || !block)
        return e->status;
    t->length =
        t->constant >= 0 ? llfi_rows_number(t, (uint64_t)t->constant) : llfi_rows_value(t, LLFI_ROWS_LENGTH);
    t->chunks = LLVMBuildAdd(b, t->length, llfi_rows_number(t, LLFI_CHUNK - 1), "");
    t->chunks = LLVMBuildUDiv(b, t->chunks, llfi_rows_number(t, LLFI_CHUNK), "");
    t->begin = llfi_rows_number(t, 0);
    t->end = t->chunks;
    t->lane = LLVMBuildAnd(b, thread, number32(t, LLFI_WARP - 1), "");
    t->warp = LLVMBuildLShr(b, thread, number32(t, 5), "");
    t->row = as_index(t, block);
    if (t->p->row.split)
        place_split(t, sp, block);
    else if (t->p->row.rows > 1)
        place_rows(t, thread, block);
    for (uint32_t i = 0; i < LLFI_RANK; i++)
        t->axis[i] = i < t->s->demands.space.axes ? llfi_rows_number(t, 0) : NULL;
    llfi_pointwise_unravel(t->s, t->row, 0, t->s->demands.space.outer, t->axis);
    return LLF_OK;
}

llf_status llfi_rows_uniform(llfi_rows *t)
{
    llfi_emit *e = &t->s->emit;
    LLVMValueRef thread = llfi_gpu_thread(e), block = llfi_gpu_block(e);
    LLVMBasicBlockRef one = llfi_gpu_place(e), all = llfi_gpu_place(e);
    LLVMValueRef who =
        LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildOr(e->b, thread, block, ""), number32(t, 0), "");
    LLVMBuildCondBr(e->b, who, one, all);
    LLVMPositionBuilderAtEnd(e->b, one);
    LLF_TRY(llfi_pointwise_uniform(t->s));
    LLVMBuildBr(e->b, all);
    LLVMPositionBuilderAtEnd(e->b, all);
    LLVMValueRef rows = llfi_pointwise_dim(t->s, LLFI_ROWS_COUNT); /* none: there is a block all the same */
    LLVMBasicBlockRef none = llfi_gpu_place(e), some = llfi_gpu_place(e);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, rows, LLVMConstInt(e->i64, 0, 0), ""), none, some);
    LLVMPositionBuilderAtEnd(e->b, none);
    LLVMBuildRetVoid(e->b);
    LLVMPositionBuilderAtEnd(e->b, some);
    return LLF_OK;
}

static llf_status emit(llfi_site *s)
{
    llfi_emit *e = &s->emit;
    llfi_rows t = {.s = s, .p = s->schedule, .index = llfi_index_type(s), .constant = -1};
    split sp = {NULL, NULL};
    t.fold = llfi_arena_alloc(s->arena, (s->demands.count + 1) * sizeof *t.fold);
    t.in = llfi_arena_alloc(s->arena, (s->demands.count + 1) * 2 * sizeof *t.in);
    t.mark = llfi_arena_alloc(s->arena, s->demands.count + 1);
    if (!t.fold || !t.in || !t.mark)
        return llfi_nomem(e->diag);
    (void)llfi_dim_is_const(s->g->dims, s->schedule->dim[s->schedule->row.length], &t.constant);
    if (s->schedule->uniform_store)
        LLF_TRY(llfi_rows_uniform(&t));
    LLF_TRY(place(&t, &sp));
    if (s->schedule->width == 1)
        return road(&t, &sp, false);
    LLVMBasicBlockRef by_vectors = llfi_gpu_place(e), by_elements = llfi_gpu_place(e);
    LLVMValueRef vectors = llfi_pointwise_dim(s, LLFI_ROWS_VECTORS);
    vectors = LLVMBuildICmp(e->b, LLVMIntNE, vectors, LLVMConstInt(e->i64, 0, 0), "");
    LLVMBuildCondBr(e->b, vectors, by_vectors, by_elements);
    LLVMPositionBuilderAtEnd(e->b, by_vectors);
    LLF_TRY(road(&t, &sp, true));
    LLVMPositionBuilderAtEnd(e->b, by_elements);
    return road(&t, &sp, false);
}

/* ---- launch */

static bool all_aligned(const llfi_schedule *s, const llfi_launch *l)
{
    if (s->width == 1 || l->extent[s->row.length] % s->width || (s->inner && l->extent[s->inner] % s->width))
        return false;
    for (uint32_t i = 0; i < s->multiples; i++)
        if (l->extent[s->multiple[i]] % s->width)
            return false;
    return llfi_pointwise_aligned(s, l);
}

/* Chunks of a piece: a power of two, whose partial results fit shared memory. */
static int64_t piece_of(const llfi_schedule *s, int64_t rows, int64_t chunks)
{
    int64_t piece = s->row.warps, most = 2048;
    while (llfi_rows_room(most) * s->row.bytes > LLFI_ROWS_SHARED)
        most /= 2;
    while (piece < most && piece < chunks &&
           (rows >= ENOUGH_ROWS || (chunks + piece - 1) / piece > MOST_BLOCKS / (rows ? rows : 1)))
        piece *= 2;
    return piece;
}

/* Bytes of an array of n entries for each row. False: beyond all memory. */
static bool array_bytes(const llfi_schedule *s, int64_t rows, int64_t n, int64_t *bytes)
{
    if (n > INT32_MAX / 2)
        return false;
    *bytes = (llfi_rows_room(n) * s->row.bytes + 7) & ~INT64_C(7);
    return !__builtin_mul_overflow(*bytes, rows, bytes);
}

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    int64_t rows = l->extent[s->row.count], length = l->extent[s->row.length], blocks = rows;
    if (rows < 0 || length < 0)
        return LLF_E_ARG;
    int64_t chunks = length / LLFI_CHUNK + (length % LLFI_CHUNK != 0), piece = chunks, shared = 0;
    l->scratch = l->counters = 0;
    if (s->row.rows > 1) {
        blocks = rows / s->row.rows + (rows % s->row.rows != 0);
    } else if (s->row.split) {
        piece = piece_of(s, rows, chunks);
        int64_t pieces = chunks > piece ? (chunks + piece - 1) / piece : 1;
        shared = llfi_rows_room(piece < chunks ? piece : chunks) * s->row.bytes;
        if (pieces > 1 && !array_bytes(s, rows, pieces, &l->scratch))
            return LLF_E_LIMIT;
        l->counters = pieces > 1 ? rows : 0;
        if (__builtin_mul_overflow(pieces, rows, &blocks))
            return LLF_E_LIMIT;
    } else if (s->row.warps > 1) {
        if (chunks <= INT32_MAX / 2)
            shared = llfi_rows_room(chunks) * s->row.bytes;
        if (chunks > INT32_MAX / 2 || shared > LLFI_ROWS_SHARED) {
            shared = 0;
            if (!array_bytes(s, rows, chunks, &l->scratch))
                return LLF_E_LIMIT;
        }
    }
    if (s->uniform_store && !blocks)
        blocks = 1;
    LLF_TRY(llfi_pointwise_grid(s, rows, blocks, l));
    l->shared = (uint32_t)shared;
    l->value[LLFI_ROWS_ELEMENTS] = l->extent[0];
    l->value[LLFI_ROWS_COUNT] = rows;
    l->value[LLFI_ROWS_LENGTH] = length;
    l->value[LLFI_ROWS_VECTORS] = all_aligned(s, l);
    l->value[LLFI_ROWS_PIECE] = piece;
    return LLF_OK;
}

const llfi_skeleton llfi_skeleton_rows_nvptx = {
    .name = "rows", .prefix = "red", .match = llfi_rows_match, .plan = plan, .emit = emit, .launch = launch};
