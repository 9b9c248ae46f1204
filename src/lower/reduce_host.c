/* reduce_host.c: kernels with reductions on the CPU. Rows (points of the outer axes) are split over threads.
 * For each row, phase by phase: its elements are gone through once for the reductions of the phase, then what
 * is made of the results alone is computed; at last the elements are gone through for values stored by point.
 * Vectors lie along the reduced axis (rows), or where more lies side by side there, along the innermost outer
 * axis (columns: `unit` rows at once). The bits are the same whichever (reduce.h), and wherever rows are cut.
 * It must not assume that buffers are aligned to more than their elements. */
#include "lower/pointwise.h"
#include "lower/reduce_host.h"

#define GRAIN 16384 /* elements worth a thread's wake-up when each costs little */
#define GRAIN_MIN 1024
#define UNIT_MAX 64u /* rows at once; of what is left */
#define UNIT_LESS 8u
#define COLUMNS_STACK ((size_t)128 << 10)
#define AHEAD 8192u /* bytes along a row that memory is asked for */

#define FEW 32         /* rows, fewer of which are cut into parts for several threads; columns always are */
#define PART (1 << 16) /* elements of a part at least */
#define PARTS 256
#define PARTS_ACROSS 4096 /* of tiles: a chunk of them stays in the TLB until the next tile */

enum { VALUE_ROWS, VALUE_LENGTH, VALUE_PARTS, VALUE_PIECE, VALUES };

static bool match(const llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_why *why)
{
    (void)g, (void)target;
    if (!k->reduced)
        snprintf(why->text, sizeof why->text, "it reduces nothing");
    return k->reduced != 0;
}

/* ---- plan */

/* Bytes of an element of what does not lie side by side along `axis`. */
static uint32_t spread(const llf_graph *g, const llfi_demands *list, const llfi_kernel *k, uint32_t axis)
{
    uint32_t bytes = 0;
    for (uint32_t i = list->uniform; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        bool memory = d->offset != LLFI_OFFSET_LINEAR && llfi_node_is_buffered(llfi_node_at(g, d->node));
        if (memory && d->scope == LLFI_SCOPE_POINT &&
            llfi_access_along(g, list, i, axis, 2, false, NULL) == LLFI_ACCESS_LANES)
            bytes += llfi_dtypes[llfi_dtype_of(g, d->node)].bytes;
    }
    (void)k;
    return bytes;
}

/* Vectors must not go beyond an end of the innermost reduced axis, where there are several. */
static uint32_t row_width(const llf_graph *g, const llfi_demands *list, uint32_t width)
{
    int64_t extent;
    if (list->space.axes - list->space.outer == 1)
        return width;
    if (!llfi_dim_is_const(g->dims, list->space.extent[list->space.axes - 1], &extent))
        return 1;
    while (extent % width)
        width /= 2;
    return width;
}

static bool has_stats(const llf_graph *g, const llfi_demands *list)
{
    bool stats = false;
    for (uint32_t i = list->uniform; i < list->count; i++)
        if (llfi_demand_reduces(g, &list->at[i])) {
            llfi_fold f = llfi_fold_of(g, list->at[i].node, true);
            stats = stats || llfi_fold_is_stats(&f);
        }
    return stats;
}

static bool is_wide(const llf_graph *g, const llfi_demands *list)
{
    bool wide = false;
    for (uint32_t i = list->uniform; i < list->count; i++)
        wide = wide || llfi_dtypes[llfi_dtype_of(g, list->at[i].node)].bytes == 8;
    return wide;
}

/* Rows at once across which sums go: each puts elements of all of them down on the stack, which is its
 * caller's, 4 * 8 of a lane, 32 of lanes and at most 54 of chunks. */
static uint32_t column_width(const llf_graph *g, const llfi_demands *list, uint32_t width)
{
    const size_t each = (size_t)(4 * LLFI_CHUNK_J + 32 + 54) * sizeof(double);
    size_t sums = 0;
    for (uint32_t i = list->uniform; i < list->count; i++)
        sums += llfi_demand_reduces(g, &list->at[i]) && llfi_fold_of(g, list->at[i].node, true).ordered;
    while (width > 1 && sums * each * width > COLUMNS_STACK)
        width /= 2;
    return width;
}

enum { SIDES = 2 };

/* The number of rows and their length behind the extents that arguments refer to. */
static llf_status add_dims(llf_graph *g, const llfi_kernel *k, llfi_arena *arena, llfi_schedule *s)
{
    llfi_type t = llfi_type_at(g, k->space);
    llfi_dim *dim = llfi_arena_alloc(arena, ((size_t)s->dims + SIDES) * sizeof *dim), side[SIDES];
    if (!dim)
        return LLF_E_NOMEM;
    memcpy(dim, s->dim, s->dims * sizeof *dim);
    s->dim = dim;
    side[0] = side[1] = llfi_dim_const(g->dims, 1);
    for (uint32_t i = 0; i < t.rank; i++) {
        llfi_dim *of = &side[k->reduced >> i & 1 ? VALUE_LENGTH : VALUE_ROWS];
        *of = *of == LLFI_DIM_NONE ? *of : llfi_dim_mul(g->dims, *of, t.dim[i]);
    }
    for (uint32_t i = 0; i < SIDES; i++) {
        if (side[i] == LLFI_DIM_NONE)
            return llfi_dims_nomem(g->dims) ? LLF_E_NOMEM : LLF_E_LIMIT;
        s->dim[s->dims++] = side[i];
    }
    return LLF_OK;
}

/* Rows can be cut into parts where all that is stored is made of reductions, in one phase. M of softmax_stats
 * is that of a whole row. */
static bool may_share(const llf_graph *g, const llfi_demands *list, const llfi_kernel *k,
                      const llfi_schedule *s)
{
    bool may = list->phases == 1 && !s->uniform_store;
    for (uint32_t i = 0; i < k->stores; i++)
        may = may && list->at[list->store[i]].scope == LLFI_SCOPE_ROW;
    for (uint32_t i = list->uniform; i < list->count; i++)
        may = may && !(llfi_demand_reduces(g, &list->at[i]) &&
                       llfi_node_at(g, list->at[i].node)->op == LLF_OP_SOFTMAX_STATS);
    return may;
}

/* How many parts, and the elements of each but the last: as many chunks as are a power of two. */
static int64_t share(const llfi_schedule *s, bool columns, int64_t rows, int64_t length, int64_t *piece)
{
    int64_t tiles = columns ? rows / UNIT_MAX + 1 : rows, least = columns ? LLFI_CHUNK : PART, parts = 1;
    *piece = length;
    if (!s->shares || (!columns && tiles >= FEW) || length < 2 * least)
        return 1;
    for (*piece = least; (parts = length / *piece + (length % *piece != 0)) > 1; *piece *= 2)
        if (parts <= (columns ? PARTS_ACROSS : PARTS) / (tiles ? tiles : 1))
            break;
    return parts;
}

/* Arguments for what parts leave behind; nothing where the rows are known to be whole. */
static llf_status add_room(llf_graph *g, const llfi_demands *list, llfi_arena *arena, llfi_schedule *s)
{
    int64_t side[SIDES] = {1, INT64_MAX / 2}, piece; /* few rows, long ones, unless it is known */
    for (uint32_t i = 0; i < SIDES; i++) {
        int64_t known;
        if (llfi_dim_is_const(g->dims, s->dim[s->dims - SIDES + i], &known))
            side[i] = known;
    }
    s->shares = share(s, list->space.along < list->space.outer, side[0], side[1], &piece) > 1;
    llfi_arg *arg = llfi_arena_alloc(arena, ((size_t)s->args + 2) * sizeof *arg);
    if (!arg)
        return LLF_E_NOMEM;
    memcpy(arg, s->arg, s->args * sizeof *arg);
    s->arg = arg;
    for (uint32_t i = 0; i < 2 && s->shares; i++)
        s->arg[s->args++] = (llfi_arg){.kind = i ? LLFI_ARG_COUNTER : LLFI_ARG_SCRATCH, .dtype = LLF_I64};
    return LLF_OK;
}

static llf_status plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                       llfi_schedule *s)
{
    llfi_pointwise_sums sums;
    LLF_TRY(llfi_pointwise_plan(g, k, target, VALUES, arena, s, &sums));
    llfi_demands *list = llfi_arena_alloc(arena, sizeof *list);
    if (!list)
        return LLF_E_NOMEM;
    *list = *s->demands;
    s->demands = list;
    uint32_t width = llfi_pointwise_host_width(target, &sums), last = list->space.axes - 1;
    uint32_t outer = list->space.outer;
    bool columns = outer && !has_stats(g, list) && spread(g, list, k, last) > spread(g, list, k, outer - 1);
    if (columns)
        list->space.along = outer - 1;
    s->shares = may_share(g, list, k, s) && !s->uniform_store;
    s->threads = 1;
    s->vector_align = 1;
    s->slice = width; /* along a row */
    s->width = columns ? UNIT_MAX : row_width(g, list, width);
    if (columns && (is_wide(g, list) || sums.cost > 64))
        s->width = width > 16 ? 16 : width;
    if (columns)
        s->width = column_width(g, list, s->width);
    LLF_TRY(add_dims(g, k, arena, s));
    return s->shares ? add_room(g, list, arena, s) : LLF_OK;
}

/* ---- a row */

static LLVMValueRef as_index(const llfi_site *s, LLVMValueRef x)
{
    return s->demands.space.narrow ? LLVMBuildTrunc(s->emit.b, x, s->emit.i32, "") : x;
}

/* The indices along axes [from, to) of the row-major number `x` (i64) among them. */
static void take_apart(llfi_site *s, LLVMValueRef x, uint32_t from, uint32_t to, LLVMValueRef *axis)
{
    LLVMBuilderRef b = s->emit.b;
    x = as_index(s, x);
    for (uint32_t k = to; k-- > from;) {
        if (k == from) {
            axis[k] = x;
            return;
        }
        LLVMValueRef by = llfi_index_dim(s, s->demands.space.extent[k]);
        LLVMValueRef q = LLVMBuildUDiv(b, x, by, "");
        axis[k] = LLVMBuildSub(b, x, LLVMBuildMul(b, q, by, ""), "");
        x = q;
    }
}

/* Fills `axis` for element i of the row; what was known of the points before is gone. */
static llfi_tile point(llfi_host_rows *r, LLVMValueRef i, uint32_t width, LLVMValueRef *axis)
{
    const llfi_space *space = &r->s->demands.space;
    llfi_site_forget_points(r->s);
    memcpy(axis, r->axis, sizeof r->axis);
    take_apart(r->s, i, space->outer, space->axes, axis);
    return (llfi_tile){.width = width, .axis = axis};
}

static llf_status reduce_element(llfi_host_rows *r, LLVMValueRef i, LLVMValueRef at, uint32_t width)
{
    llfi_site *s = r->s;
    LLVMValueRef axis[LLFI_RANK];

    const llfi_tile tile = point(r, i, width, axis);
    s->ahead = r->columns ? 0 : AHEAD;
    for (uint32_t d = s->demands.uniform; d < s->demands.count; d++)
        if (r->mark[d])
            LLF_TRY(llfi_lower(s, &tile, d, d + 1));
    s->ahead = 0;
    for (uint32_t k = 0; k < r->folds; k++) {
        uint32_t from = s->demands.at[r->fold[k].demand].arg[0];
        LLVMValueRef x = s->val[from];
        if (!x)
            return llfi_fail(s->emit.diag, LLF_E_INTERNAL, "kernel %s reduces what is not there", s->name);
        s->emit.width = width;
        if (LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind)
            x = llfi_emit_splat(&s->emit, x, width);
        llfi_host_fold_take(r, &r->fold[k], x, i, at, width);
    }
    return s->emit.status;
}

static llf_status store_element(llfi_host_rows *r, LLVMValueRef i, uint32_t width)
{
    llfi_site *s = r->s;
    LLVMValueRef axis[LLFI_RANK];
    const llfi_tile tile = point(r, i, width, axis);
    for (uint32_t d = s->demands.uniform; d < s->demands.count; d++) {
        if (!r->mark[d])
            continue;
        LLF_TRY(llfi_lower(s, &tile, d, d + 1));
        for (uint32_t k = 0; k < s->kernel->stores; k++)
            if (s->demands.store[k] == d)
                LLF_TRY(llfi_store(s, &tile, d));
    }
    return LLF_OK;
}

/* Values of rows for which `phase` phases suffice, but reductions, which are bound. */
static llf_status row_values(llfi_host_rows *r, uint32_t phase)
{
    llfi_site *s = r->s;
    const llfi_tile tile = {.width = r->unit, .axis = r->axis};
    for (uint32_t d = s->demands.uniform; d < s->demands.count; d++) {
        const llfi_demand *at = &s->demands.at[d];
        bool result = !at->leaf && llfi_node_at(s->g, at->node)->op == LLF_OP_RESULT;
        if (at->scope == LLFI_SCOPE_ROW && at->phase <= phase && !result && !llfi_demand_reduces(s->g, at))
            LLF_TRY(llfi_lower(s, &tile, d, d + 1));
    }
    return LLF_OK;
}

/* The results are there. */
static void bind(llfi_site *s, const llfi_host_fold *f, llfi_state x, LLVMValueRef empty)
{
    const llfi_demands *list = &s->demands;
    LLVMValueRef result[2];
    if (!llfi_fold_is_stats(&f->fold)) {
        llfi_bind(s, f->demand, llfi_fold_result(&s->emit, &f->fold, x, empty));
        return;
    }
    llfi_fold_results(&s->emit, &f->fold, x, empty, result);
    llfi_bind(s, f->demand, result[0]);
    for (uint32_t d = f->demand + 1; d < list->count; d++)
        if (!list->at[d].leaf && llfi_node_at(s->g, list->at[d].node)->op == LLF_OP_RESULT &&
            list->at[d].arg[0] == f->demand)
            llfi_bind(s, d, result[1]);
}

/* The folds of a phase, and rooms for them. */
static llf_status begin_phase(llfi_host_rows *r, uint32_t phase)
{
    llfi_site *s = r->s;
    const llfi_demands *list = &s->demands;
    r->folds = 0;
    r->ordered = false;
    (void)llfi_demands_points(s->g, s->kernel, list, phase, r->mark);
    for (uint32_t d = list->uniform; d < list->count; d++) {
        if (!llfi_demand_reduces(s->g, &list->at[d]) || list->at[d].phase != phase + 1)
            continue;
        llfi_host_fold *f = &r->fold[r->folds++];
        *f = (llfi_host_fold){.demand = d, .fold = llfi_fold_of(s->g, list->at[d].node, list->space.narrow)};
        r->ordered = r->ordered || f->fold.ordered;
    }
    return llfi_host_fold_begin(r);
}

static llf_status end_phase(llfi_host_rows *r)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    llfi_site_forget_points(s);
    LLVMValueRef empty = LLVMBuildICmp(b, LLVMIntEQ, r->total, llfi_host_number(s, 0), "");
    for (uint32_t k = 0; k < r->folds; k++) {
        const llfi_host_fold *f = &r->fold[k];
        llfi_state x = {{NULL}};
        for (uint32_t i = 0; i < f->fold.states; i++)
            x.v[i] = LLVMBuildLoad2(b, llfi_fold_type(&s->emit, &f->fold, i, r->unit), f->one[i], "");
        bind(s, f, x, r->constant > 0 ? NULL : empty);
        if (!s->val[f->demand])
            return s->emit.status;
    }
    return s->emit.status;
}

static llf_status store_points(llfi_host_rows *r)
{
    llfi_site *s = r->s;
    LLVMValueRef begin = llfi_host_number(s, 0);
    if (!llfi_demands_points(s->g, s->kernel, &s->demands, s->demands.phases, r->mark))
        return LLF_OK;
    for (uint32_t width = r->columns ? 1 : r->width; width; width = width > 1) {
        LLVMValueRef mask = llfi_host_number(s, ~(uint64_t)(width - 1));
        LLVMValueRef end = width > 1 ? LLVMBuildAnd(s->emit.b, r->length, mask, "") : r->length;
        llfi_host_loop l = llfi_host_loop_begin(s, begin, end, width);
        LLF_TRY(store_element(r, l.i, r->columns ? r->unit : width));
        llfi_host_loop_end(s, &l);
        begin = end;
    }
    llfi_site_forget_points(s);
    return s->emit.status;
}

static LLVMValueRef argument(const llfi_site *s, llfi_arg_kind kind)
{
    uint32_t i = 0;
    while (s->schedule->arg[i].kind != kind)
        i++;
    return s->arg[i];
}

/* What is left when all phases are through. */
static llf_status end_row(llfi_host_rows *r)
{
    llfi_site *s = r->s;
    const llfi_tile tile = {.width = r->unit, .axis = r->axis};
    LLF_TRY(row_values(r, s->demands.phases));
    LLF_TRY(store_points(r));
    for (uint32_t i = 0; i < s->kernel->stores; i++)
        if (s->demands.at[s->demands.store[i]].scope == LLFI_SCOPE_ROW)
            LLF_TRY(llfi_store(s, &tile, s->demands.store[i]));
    return LLF_OK;
}

/* `unit` rows at r->axis. */
static llf_status row(llfi_host_rows *r)
{
    llfi_site *s = r->s;
    llfi_site_forget(s);
    for (uint32_t phase = 0; phase < s->demands.phases; phase++) {
        LLF_TRY(row_values(r, phase));
        LLF_TRY(begin_phase(r, phase));
        if (r->join)
            llfi_host_fold_join(r, argument(s, LLFI_ARG_SCRATCH));
        else
            LLF_TRY(llfi_host_fold_row(r, reduce_element));
        if (!r->parts || r->join)
            LLF_TRY(end_phase(r));
    }
    if (!r->parts || r->join)
        return end_row(r);
    /* one part of several leaves what it has, and the thread that comes last goes on from there */
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef whole = llfi_host_block(s), part = llfi_host_block(s), after = llfi_host_block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, r->parts, llfi_host_number(s, 1), ""), whole, part);
    LLVMPositionBuilderAtEnd(b, whole);
    LLF_TRY(end_phase(r));
    LLF_TRY(end_row(r));
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, part);
    llfi_host_fold_leave(r, argument(s, LLFI_ARG_SCRATCH));
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, after);
    return s->emit.status;
}

/* ---- all rows of a piece */

static llf_status rows(llfi_host_rows *r, LLVMValueRef begin, LLVMValueRef end)
{
    llfi_site *s = r->s;
    llfi_host_loop l = llfi_host_loop_begin(s, begin, end, 1);
    r->row = l.i;
    take_apart(s, l.i, 0, s->demands.space.outer, r->axis);
    LLF_TRY(row(r));
    llfi_host_loop_end(s, &l);
    return LLF_OK;
}

/* Rows [begin, end) that differ in the innermost outer axis alone, the first at r->axis, `unit` at once. */
static llf_status tiles(llfi_host_rows *r, LLVMValueRef at, const LLVMValueRef *first, LLVMValueRef begin,
                        LLVMValueRef end)
{
    llfi_site *s = r->s;
    uint32_t inner = s->demands.space.along;
    llfi_host_loop l = llfi_host_loop_begin(s, begin, end, r->unit);
    r->row = LLVMBuildAdd(s->emit.b, at, l.i, "");
    memcpy(r->axis, first, sizeof r->axis);
    r->axis[inner] = LLVMBuildAdd(s->emit.b, first[inner], as_index(s, l.i), "");
    LLF_TRY(row(r));
    llfi_host_loop_end(s, &l);
    return LLF_OK;
}

static uint32_t shorter(uint32_t unit)
{
    return unit > UNIT_LESS ? UNIT_LESS : unit > 1;
}

/* [begin, end) may start and end inside what the innermost outer axis goes through. */
static llf_status columns(llfi_host_rows *r, LLVMValueRef begin, LLVMValueRef end)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = llfi_host_block(s), done = llfi_host_block(s);
    LLVMValueRef axis[LLFI_RANK];
    uint32_t inner = s->demands.space.along;
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), head, done);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef at = LLVMBuildPhi(b, s->emit.i64, "");
    memcpy(axis, r->axis, sizeof axis);
    take_apart(s, at, 0, s->demands.space.outer, axis);
    LLVMValueRef room = LLVMBuildSub(b, llfi_index_dim(s, s->demands.space.extent[inner]), axis[inner], "");
    room = s->demands.space.narrow ? LLVMBuildZExt(b, room, s->emit.i64, "") : room;
    LLVMValueRef arg[2] = {room, LLVMBuildSub(b, end, at, "")};
    LLVMValueRef count = llfi_emit_call(&s->emit, "llvm.smin", s->emit.i64, arg, 2);
    if (!count)
        return s->emit.status;
    LLVMValueRef from = llfi_host_number(s, 0);
    for (r->unit = s->schedule->width; r->unit; r->unit = shorter(r->unit)) {
        LLVMValueRef mask = llfi_host_number(s, ~(uint64_t)(r->unit - 1));
        LLVMValueRef to = r->unit > 1 ? LLVMBuildAnd(b, count, mask, "") : count;
        LLF_TRY(tiles(r, at, axis, from, to));
        from = to;
    }
    LLVMValueRef next = LLVMBuildAdd(b, at, count, "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, end, ""), head, done);
    LLVMAddIncoming(at, (LLVMValueRef[]){begin, next}, (LLVMBasicBlockRef[]){before, latch}, 2);
    LLVMPositionBuilderAtEnd(b, done);
    return LLF_OK;
}

/* The piece that starts at 0 owes the values of scope 0; it is handed out even when there are no rows. */
static llf_status uniform(llfi_site *s, LLVMValueRef begin, LLVMValueRef *end)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef first = llfi_host_block(s), rest = llfi_host_block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, begin, llfi_host_number(s, 0), ""), first, rest);
    LLVMPositionBuilderAtEnd(b, first);
    LLF_TRY(llfi_pointwise_uniform(s));
    LLVMBuildBr(b, rest);
    LLVMPositionBuilderAtEnd(b, rest);
    LLVMValueRef arg[2] = {*end, llfi_pointwise_dim(s, VALUE_ROWS)};
    *end = llfi_emit_call(&s->emit, "llvm.smin", s->emit.i64, arg, 2);
    return s->emit.status;
}

static llf_status some_rows(llfi_host_rows *r, LLVMValueRef begin, LLVMValueRef end)
{
    return r->columns ? columns(r, begin, end) : rows(r, begin, end);
}

/* Items are rows of part 0, then of part 1 and so on: [begin, end) may start and end anywhere. */
static llf_status shared_rows(llfi_host_rows *r, LLVMValueRef begin, LLVMValueRef end)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = llfi_host_block(s), done = llfi_host_block(s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), head, done);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef at = LLVMBuildPhi(b, s->emit.i64, "");
    r->part = LLVMBuildUDiv(b, at, r->rows, "");
    LLVMValueRef from = LLVMBuildSub(b, at, LLVMBuildMul(b, r->part, r->rows, ""), "");
    LLVMValueRef room[2] = {LLVMBuildSub(b, r->rows, from, ""), LLVMBuildSub(b, end, at, "")};
    LLVMValueRef count = llfi_emit_call(&s->emit, "llvm.smin", s->emit.i64, room, 2);
    r->first = LLVMBuildMul(b, r->part, r->piece, "");
    LLVMValueRef length[2] = {LLVMBuildSub(b, r->total, r->first, ""), r->piece};
    r->length = llfi_emit_call(&s->emit, "llvm.smin", s->emit.i64, length, 2);
    if (!count || !r->length)
        return s->emit.status;
    LLF_TRY(some_rows(r, from, LLVMBuildAdd(b, from, count, "")));
    LLVMValueRef next = LLVMBuildAdd(b, at, count, "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, end, ""), head, done);
    LLVMAddIncoming(at, (LLVMValueRef[]){begin, next}, (LLVMBasicBlockRef[]){before, latch}, 2);
    LLVMPositionBuilderAtEnd(b, done);
    return LLF_OK;
}

/* Whoever brings the count of items to that of all has everything before it, and goes on with every row. */
static llf_status join_rows(llfi_host_rows *r, LLVMValueRef begin, LLVMValueRef end)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef several = llfi_host_block(s), last = llfi_host_block(s), done = llfi_host_block(s);
    LLVMValueRef one = llfi_host_number(s, 1), counter = argument(s, LLFI_ARG_COUNTER);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSGT, r->parts, one, ""), several, done);
    LLVMPositionBuilderAtEnd(b, several);
    LLVMValueRef mine = LLVMBuildTrunc(b, LLVMBuildSub(b, end, begin, ""), s->emit.i32, "");
    LLVMValueRef there =
        LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpAdd, counter, mine, LLVMAtomicOrderingAcquireRelease, 0);
    there = LLVMBuildAdd(b, there, mine, "");
    LLVMValueRef all = LLVMBuildTrunc(b, LLVMBuildMul(b, r->rows, r->parts, ""), s->emit.i32, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, there, all, ""), last, done);
    LLVMPositionBuilderAtEnd(b, last);
    LLVMBuildStore(b, LLVMConstInt(s->emit.i32, 0, 0), counter);
    r->join = true;
    LLF_TRY(some_rows(r, llfi_host_number(s, 0), r->rows));
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    return LLF_OK;
}

static llf_status emit(llfi_site *s)
{
    const llfi_demands *list = &s->demands;
    llfi_host_rows r = {.s = s, .columns = list->space.along < list->space.outer, .unit = 1, .constant = -1};
    LLVMValueRef begin = s->range[0], end = s->range[1];
    r.width = r.columns ? 1 : s->schedule->width;
    r.mark = llfi_arena_alloc(s->arena, list->count + 1);
    r.fold = llfi_arena_alloc(s->arena, (list->count + 1) * sizeof *r.fold);
    r.memory = llfi_arena_alloc(s->arena, LLFI_HOST_ROOMS * (list->count + 1) * sizeof *r.memory);
    if (!r.mark || !r.fold || !r.memory)
        return llfi_nomem(s->emit.diag);
    if (s->schedule->uniform_store)
        LLF_TRY(uniform(s, begin, &end));
    for (uint32_t i = 0; i < LLFI_RANK; i++)
        r.axis[i] = LLVMConstInt(llfi_index_type(s), 0, 0);
    bool known = llfi_dim_is_const(s->g->dims, s->schedule->dim[s->schedule->dims - 1], &r.constant);
    r.constant = known ? r.constant : -1;
    r.total = known ? llfi_host_number(s, (uint64_t)r.constant) : llfi_pointwise_dim(s, VALUE_LENGTH);
    r.length = r.total;
    r.first = llfi_host_number(s, 0);
    r.rows = llfi_pointwise_dim(s, VALUE_ROWS);
    if (s->schedule->shares) {
        r.parts = llfi_pointwise_dim(s, VALUE_PARTS);
        r.piece = llfi_pointwise_dim(s, VALUE_PIECE);
        LLF_TRY(shared_rows(&r, begin, end));
        LLF_TRY(join_rows(&r, begin, end));
    } else {
        LLF_TRY(some_rows(&r, begin, end));
    }
    LLVMBuildRetVoid(s->emit.b);
    return LLF_OK;
}

/* Values that the parts of a row leave behind: no state has more than these. */
static int64_t slots(const llfi_schedule *s)
{
    int64_t slots = 0;
    for (uint32_t i = s->demands->uniform; i < s->demands->count; i++)
        slots += s->demands->at[i].phase == 1 && !s->demands->at[i].leaf ? LLFI_FOLD_STATES : 0;
    return slots;
}

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    int64_t rows = l->extent[s->dims - 2], length = l->extent[s->dims - 1];
    if (rows < 0 || length < 0)
        return LLF_E_ARG;
    bool columns = s->demands->space.along < s->demands->space.outer;
    int64_t grain = GRAIN, piece, parts = share(s, columns, rows, length, &piece);
    if (s->cost > 16)
        grain = grain * 16 / s->cost;
    grain = grain < GRAIN_MIN ? GRAIN_MIN : grain;
    grain = piece ? grain / piece : grain;
    int64_t least = columns ? UNIT_MAX : 1;
    l->grain = grain < least ? least : grain / least * least;
    l->items = s->uniform_store && rows == 0 ? 1 : rows * parts;
    l->scratch = parts > 1 ? slots(s) * parts * rows * (int64_t)sizeof(int64_t) : 0;
    l->counters = parts > 1;
    l->grid[0] = l->items > 0;
    l->grid[1] = l->grid[2] = l->block[0] = l->block[1] = l->block[2] = 1;
    l->shared = 0;
    l->value[VALUE_ROWS] = rows;
    l->value[VALUE_LENGTH] = length;
    l->value[VALUE_PARTS] = parts;
    l->value[VALUE_PIECE] = piece;
    return LLF_OK;
}

const llfi_skeleton llfi_skeleton_reduce_host = {
    .name = "reduce", .prefix = "red", .match = match, .plan = plan, .emit = emit, .launch = launch};
