/* build_index.c: the public builders of INDEX ops and iota, and what is made of views and concat when it is
 * built: split, stack and roll, which the graph does not know. Must not judge shapes: index.c, view.c and
 * inference do. */
#include "ir/ir.h"

static const llfi_place nowhere = {NULL, 0, 0};

static bool alive(const llf_graph *g)
{
    return g && g->poisoned == LLF_OK;
}

static llf_status fail(llf_graph *g, llf_status status, llfi_place at, const char *op, const char *text)
{
    return llfi_fail_at(&g->cx->diag, status, at, op, "%s: %s", op, text);
}

static llf_status check_value(llf_graph *g, const char *op, uint32_t operand, llf_id x, llfi_place at)
{
    if (x < g->nodes.count)
        return LLF_OK;
    return llfi_fail_at(&g->cx->diag, LLF_E_ARG, at, op, "%s: operand %u is no value of this graph", op,
                        operand + 1);
}

static llf_status make(llf_graph *g, llf_op op, uint32_t count, const llf_id *arg, const llfi_ask *ask,
                       llfi_place at, llf_id *out)
{
    uint64_t attr;
    LLF_TRY(llfi_ops[op].cls == LLFI_CLASS_VIEW ? llfi_view_attr(g, op, arg[0], ask, at, &attr)
                                                : llfi_index_attr(g, op, count, arg, ask, at, &attr));
    *out = llfi_build_n(g, op, count, arg, attr, UINT32_MAX, at);
    return *out == LLF_NONE ? g->poisoned : LLF_OK;
}

static llf_id id_of(llf_graph *g, llf_status status, llf_id id)
{
    return status == LLF_OK ? id : llfi_build_failed(g, status);
}

/* A number or a value of llf_symbol; `what` it is, and of which axis or part. */
static llf_status extent_of(llf_graph *g, const char *op, const char *what, uint32_t at, int64_t extent,
                            llfi_dim *out)
{
    uint64_t k = (uint64_t)(-(extent + 1));
    if (extent < 0 && (extent == INT64_MIN || k >= llfi_dims_symbols(g->dims)))
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, nowhere, op, "%s: %s %u: %lld is negative and no symbol",
                            op, what, at, (long long)extent);
    *out = extent >= 0 ? llfi_dim_const(g->dims, extent) : llfi_dim_sym(g->dims, (uint32_t)k);
    return *out == LLFI_DIM_NONE ? llfi_nomem(&g->cx->diag) : LLF_OK;
}

/* A number that may be negative, or a symbol and a number that is not. */
static llf_status amount_of(llf_graph *g, const char *op, const char *what, uint32_t at, int64_t number,
                            int64_t symbol, llfi_bound *out)
{
    llfi_dim more;
    *out = (llfi_bound){LLFI_DIM_NONE, 0};
    if (number < 0 && (symbol || number == INT64_MIN))
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, nowhere, op,
                            symbol ? "%s: %s %u: %lld stands beside a symbol, so it must not be negative"
                                   : "%s: %s %u: %lld is below -2^63+1",
                            op, what, at, (long long)number);
    if (number < 0) {
        out->back = -number;
        return LLF_OK;
    }
    LLF_TRY(extent_of(g, op, what, at, symbol ? symbol : number, &out->dim));
    if (!symbol || number == 0)
        return LLF_OK;
    LLF_TRY(extent_of(g, op, what, at, number, &more));
    out->dim = llfi_dim_add(g->dims, out->dim, more);
    return out->dim == LLFI_DIM_NONE ? llfi_nomem(&g->cx->diag) : LLF_OK;
}

/* ---- made of others */

static void whole(const llf_graph *g, llf_id x, llfi_ask *ask)
{
    ask->count = llfi_type_of(g, x).rank;
    for (uint32_t i = 0; i < ask->count; i++)
        ask->range[i] = (llfi_range_ask){{LLFI_DIM_NONE, 0}, {LLFI_DIM_NONE, 0}, 1};
}

/* x[..., start:stop, ...]; LLFI_DIM_NONE: that end. */
static llf_status cut(llf_graph *g, llf_id x, uint32_t axis, llfi_dim start, llfi_dim stop, llfi_place at,
                      llf_id *out)
{
    llfi_ask ask;
    whole(g, x, &ask);
    ask.range[axis].start.dim = start;
    ask.range[axis].stop.dim = stop;
    return make(g, LLF_OP_SLICE, 1, &x, &ask, at, out);
}

static llf_status axis_of(llf_graph *g, const char *op, llf_id x, int64_t axis, llfi_place at, uint32_t *out)
{
    uint32_t type = llfi_node_at(g, x)->type, rank = llfi_type_at(g, type).rank;
    if (axis < -(int64_t)rank || axis >= rank)
        return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, op,
                            "%s: axis %lld is out of range: operand 1 is %s", op, (long long)axis,
                            llfi_show_type(g, type).text);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return LLF_OK;
}

static llf_status split_limit(llf_graph *g, llfi_dim extent, uint32_t axis, const char *what, llfi_place at)
{
    if (llfi_dims_nomem(g->dims))
        return llfi_nomem(&g->cx->diag);
    return llfi_fail_at(&g->cx->diag, LLF_E_LIMIT, at, "split",
                        "split: axis %u: %s of extent %s: over 2^63-1, or more terms than the limits allow",
                        axis, what, llfi_show_dim(g, extent).text);
}

/* The extent of equal parts: it must divide. */
static llf_status equal_part(llf_graph *g, llfi_dim extent, uint32_t axis, uint32_t parts, llfi_place at,
                             llfi_dim *size)
{
    llfi_dim by = llfi_dim_const(g->dims, parts), rest;
    int64_t left;
    if (by == LLFI_DIM_NONE || !llfi_dim_divide(g->dims, extent, by, size, &rest))
        return split_limit(g, extent, axis, "sections", at);
    if (llfi_dim_is_const(g->dims, rest, &left) && left == 0)
        return LLF_OK;
    return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, "split",
                        "split: axis %u: %s does not provably divide into %u sections", axis,
                        llfi_show_dim(g, extent).text, parts);
}

/* Sizes must make the extent; one that is LLFI_DIM_NONE is the rest of it. */
static llf_status fill_sizes(llf_graph *g, llfi_dim extent, uint32_t axis, uint32_t parts,
                             const llfi_dim *sizes, llfi_place at, llfi_dim *rest)
{
    llfi_dim all = llfi_dim_const(g->dims, 0);
    uint32_t hole = UINT32_MAX;
    for (uint32_t i = 0; i < parts; i++) {
        if (sizes[i] != LLFI_DIM_NONE) {
            all = llfi_dim_add(g->dims, all, sizes[i]);
            continue;
        }
        if (hole != UINT32_MAX)
            return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, "split",
                                "split: axis %u: the sizes of parts %u and %u are both -1", axis, hole, i);
        hole = i;
    }
    if (all == LLFI_DIM_NONE)
        return split_limit(g, extent, axis, "the sum of sizes", at);
    int64_t have, want;
    bool known = llfi_dim_is_const(g->dims, all, &have) && llfi_dim_is_const(g->dims, extent, &want);
    bool holes = hole != UINT32_MAX;
    if (holes ? known && have > want : all != extent)
        return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, "split",
                            "split: axis %u: the sizes make %s, which is %s %s%s", axis,
                            llfi_show_dim(g, all).text, holes ? "over the extent" : "not provably",
                            llfi_show_dim(g, extent).text, holes || known ? "" : " (-1 stands for the rest)");
    *rest = !holes ? all : llfi_dim_sub(g->dims, extent, all);
    if (known && have == want) /* nothing is left: no dim that "cannot be positive" */
        *rest = llfi_dim_const(g->dims, 0);
    return *rest == LLFI_DIM_NONE ? split_limit(g, extent, axis, "the rest", at) : LLF_OK;
}

static llf_status split(llf_graph *g, llf_id x, int64_t axis, uint32_t parts, const llfi_dim *sizes,
                        llfi_place at, llf_id *out)
{
    uint32_t k;
    LLF_TRY(check_value(g, "split", 0, x, at));
    LLF_TRY(axis_of(g, "split", x, axis, at, &k));
    llfi_dim extent = llfi_type_of(g, x).dim[k], size = 0, rest = 0, start = llfi_dim_const(g->dims, 0);
    if (start == LLFI_DIM_NONE)
        return llfi_nomem(&g->cx->diag);
    if (parts == 0)
        return fail(g, LLF_E_TYPE, at, "split", "there are no parts");
    LLF_TRY(sizes ? fill_sizes(g, extent, k, parts, sizes, at, &rest)
                  : equal_part(g, extent, k, parts, at, &size));
    for (uint32_t i = 0; i < parts; i++) {
        llfi_dim one = !sizes ? size : sizes[i] == LLFI_DIM_NONE ? rest : sizes[i];
        llfi_dim stop = llfi_dim_add(g->dims, start, one);
        if (stop == LLFI_DIM_NONE)
            return split_limit(g, extent, k, "the end of a part", at);
        LLF_TRY(cut(g, x, k, start, stop, at, &out[i]));
        start = stop;
    }
    return LLF_OK;
}

llf_status llfi_make_split(llf_graph *g, llf_id x, int64_t axis, uint32_t parts, const llfi_dim *sizes,
                           llfi_place at, llf_id *out)
{
    g->as = "split";
    llf_status status = split(g, x, axis, parts, sizes, at, out);
    g->as = NULL;
    return status;
}

/* What concat would say of the operands once they have an axis more, said of them as they are. */
static llf_status same_operands(llf_graph *g, uint32_t count, const llf_id *arg, llfi_place at)
{
    uint32_t from[LLFI_RANK] = {0};
    llfi_type first = llfi_type_of(g, arg[0]);
#define SHOW(i) llfi_show_type(g, llfi_node_at(g, arg[i])->type).text
    for (uint32_t i = 1; i < count; i++) {
        llfi_type t = llfi_type_of(g, arg[i]);
        if (t.rank != first.rank || t.dtype != first.dtype)
            return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, "stack",
                                "stack: %s: operand 1 is %s, operand %u is %s%s",
                                t.rank != first.rank ? "ranks differ" : "dtype mismatch", SHOW(0), i + 1,
                                SHOW(i), t.rank != first.rank ? "" : " (use cast)");
        for (uint32_t k = 0; k < t.rank; k++) {
            int64_t a, b;
            if (!llfi_dim_is_const(g->dims, t.dim[k], &b))
                continue;
            if (!llfi_dim_is_const(g->dims, llfi_type_of(g, arg[from[k]]).dim[k], &a))
                from[k] = i;
            else if (a != b)
                return llfi_fail_at(
                    &g->cx->diag, LLF_E_TYPE, at, "stack",
                    "stack: axis %u: %lld and %lld differ: operand %u is %s, operand %u is %s", k,
                    (long long)a, (long long)b, from[k] + 1, SHOW(from[k]), i + 1, SHOW(i));
        }
    }
#undef SHOW
    return LLF_OK;
}

static llf_status stack(llf_graph *g, uint32_t count, const llf_id *arg, int64_t axis, llfi_place at,
                        llf_id *wide, llf_id *out)
{
    for (uint32_t i = 0; i < count; i++)
        LLF_TRY(check_value(g, "stack", i, arg[i], at));
    LLF_TRY(same_operands(g, count, arg, at));
    for (uint32_t i = 0; i < count; i++) {
        llfi_ask ask = {.count = 1, .axis = {axis}};
        LLF_TRY(make(g, LLF_OP_EXPAND_DIMS, 1, &arg[i], &ask, at, &wide[i]));
    }
    return make(g, LLF_OP_CONCAT, count, wide, &(llfi_ask){.along = axis}, at, out);
}

llf_status llfi_make_stack(llf_graph *g, uint32_t count, const llf_id *arg, int64_t axis, llfi_place at,
                           llf_id *out)
{
    const llf_allocator *mem = &g->cx->mem;
    if (count == 0)
        return fail(g, LLF_E_ARG, at, "stack", "there are no operands");
    llf_id *wide = llfi_alloc(mem, count * sizeof *wide);
    if (!wide)
        return llfi_nomem(&g->cx->diag);
    g->as = "stack";
    llf_status status = stack(g, count, arg, axis, at, wide, out);
    g->as = NULL;
    llfi_free(mem, wide, count * sizeof *wide);
    return status;
}

static llf_status roll_limit(llf_graph *g, uint32_t axis, llfi_dim n, llfi_dim shift, bool back,
                             llfi_place at)
{
    if (llfi_dims_nomem(g->dims))
        return llfi_nomem(&g->cx->diag);
    return llfi_fail_at(
        &g->cx->diag, LLF_E_LIMIT, at, "roll",
        "roll: axis %u: extent %s shifted by %s%s: places over 2^63-1, or more terms than the "
        "limits allow",
        axis, llfi_show_dim(g, n).text, back ? "-" : "", llfi_show_dim(g, shift).text);
}

/* The element that comes first after a roll of an axis of extent n: (-shift) mod n, n itself for shift 0. */
static llf_status first_after_roll(llf_graph *g, uint32_t axis, llfi_dim n, llfi_dim shift, bool back,
                                   llfi_place at, llfi_dim *out)
{
    llfi_dims *d = g->dims;
    int64_t extent, k;
    if (llfi_dim_is_const(d, n, &extent) && llfi_dim_is_const(d, shift, &k)) {
        k = extent ? k % extent : 0;
        *out = llfi_dim_const(d, back ? k : extent - k);
    } else if (llfi_dim_is_const(d, shift, &k) && k == 0) {
        *out = back ? shift : n;
    } else { /* an extent of 0 divides like 1: nothing moves */
        llfi_dim by = llfi_dim_max(d, n, llfi_dim_const(d, 1));
        llfi_dim t = llfi_dim_sub(d, shift, llfi_dim_mul(d, llfi_dim_floordiv(d, shift, by), by));
        *out = back ? t : llfi_dim_sub(d, n, t);
    }
    return *out == LLFI_DIM_NONE ? roll_limit(g, axis, n, shift, back, at) : LLF_OK;
}

static llf_status roll_axis(llf_graph *g, llf_id x, uint32_t axis, llfi_dim shift, bool back, llfi_place at,
                            llf_id *out)
{
    llfi_dim n = llfi_type_of(g, x).dim[axis], first;
    int64_t known, least = llfi_dim_least(g->dims, shift);
    uint32_t worst;
    llf_id part[2];
    if (!llfi_dim_is_const(g->dims, n, &known) && /* the shift stays as it is, in offsets of elements */
        (least == INT64_MAX || !llfi_type_fits(g, llfi_node_at(g, x)->type, axis, least, 1, &worst)))
        return roll_limit(g, axis, n, shift, back, at);
    LLF_TRY(first_after_roll(g, axis, n, shift, back, at, &first));
    if (first == n || (llfi_dim_is_const(g->dims, first, &known) && known == 0))
        return cut(g, x, axis, LLFI_DIM_NONE, LLFI_DIM_NONE, at, out); /* a value of its own that is x */
    LLF_TRY(cut(g, x, axis, first, LLFI_DIM_NONE, at, &part[0]));
    LLF_TRY(cut(g, x, axis, LLFI_DIM_NONE, first, at, &part[1]));
    return make(g, LLF_OP_CONCAT, 2, part, &(llfi_ask){.along = axis}, at, out);
}

static llf_status roll(llf_graph *g, llf_id x, const llfi_roll_ask *ask, llfi_place at, llf_id *out)
{
    llfi_ask none;
    LLF_TRY(check_value(g, "roll", 0, x, at));
    *out = x;
    if (ask->count == 0) {
        whole(g, x, &none);
        return make(g, LLF_OP_SLICE, 1, &x, &none, at, out);
    }
    for (uint32_t i = 0; i < ask->count; i++) {
        uint32_t axis;
        LLF_TRY(axis_of(g, "roll", x, ask->axis[i], at, &axis));
        LLF_TRY(roll_axis(g, *out, axis, ask->shift[i], ask->back[i], at, out));
    }
    return LLF_OK;
}

llf_status llfi_make_roll(llf_graph *g, llf_id x, const llfi_roll_ask *ask, llfi_place at, llf_id *out)
{
    g->as = "roll";
    llf_status status = roll(g, x, ask, at, out);
    g->as = NULL;
    return status;
}

/* ---- the public builders */

llf_id llf_concat(llf_graph *g, uint32_t count, const llf_id *values, int64_t axis)
{
    llf_id out = LLF_NONE;
    if (!alive(g))
        return LLF_NONE;
    if (count == 0 || !values)
        return llfi_build_failed(g, fail(g, LLF_E_ARG, nowhere, "concat", "there are no operands"));
    llf_status status = make(g, LLF_OP_CONCAT, count, values, &(llfi_ask){.along = axis}, nowhere, &out);
    return id_of(g, status, out);
}

llf_id llf_stack(llf_graph *g, uint32_t count, const llf_id *values, int64_t axis)
{
    llf_id out = LLF_NONE;
    if (!alive(g))
        return LLF_NONE;
    if (!values)
        count = 0;
    llf_status status = llfi_make_stack(g, count, values, axis, nowhere, &out);
    return id_of(g, status, out);
}

llf_id llf_pad(llf_graph *g, llf_id x, llf_id value, const llf_padding *padding)
{
    llfi_ask ask = {.count = 0};
    llf_id out = LLF_NONE;
    if (!alive(g))
        return LLF_NONE;
    llf_status status = check_value(g, "pad", 0, x, nowhere);
    if (status == LLF_OK && !padding && llfi_type_of(g, x).rank)
        status = fail(g, LLF_E_ARG, nowhere, "pad", "the list is NULL");
    ask.count = status == LLF_OK ? llfi_type_of(g, x).rank : 0;
    for (uint32_t i = 0; i < ask.count && status == LLF_OK; i++) {
        const llf_padding *p = &padding[i];
        ask.range[i].step = 1;
        status = amount_of(g, "pad", "axis", i, p->low, p->low_symbol, &ask.range[i].start);
        if (status == LLF_OK)
            status = amount_of(g, "pad", "axis", i, p->high, p->high_symbol, &ask.range[i].stop);
    }
    if (status == LLF_OK)
        status = make(g, LLF_OP_PAD, 2, (const llf_id[]){x, value}, &ask, nowhere, &out);
    return id_of(g, status, out);
}

llf_id llf_take(llf_graph *g, llf_id x, llf_id indices, int64_t axis)
{
    llf_id out = LLF_NONE;
    if (!alive(g))
        return LLF_NONE;
    const llf_id arg[] = {x, indices};
    llf_status status = make(g, LLF_OP_TAKE, 2, arg, &(llfi_ask){.along = axis}, nowhere, &out);
    return id_of(g, status, out);
}

llf_id llf_iota(llf_graph *g, llf_dtype dtype, uint32_t rank, const int64_t *shape, int64_t axis)
{
    llf_id out = LLF_NONE;
    llfi_ask ask = {.count = rank, .along = axis, .dtype = dtype};
    if (!alive(g))
        return LLF_NONE;
    llf_status status = LLF_OK;
    if ((uint32_t)dtype >= LLF_DTYPES || rank > LLFI_RANK || (rank && !shape))
        status =
            fail(g, LLF_E_ARG, nowhere, "iota", "no such dtype, rank over the limit, or the shape is NULL");
    for (uint32_t i = 0; i < rank && status == LLF_OK; i++)
        status = extent_of(g, "iota", "axis", i, shape[i], &ask.dim[i]);
    if (status == LLF_OK)
        status = make(g, LLF_OP_IOTA, 0, NULL, &ask, nowhere, &out);
    return id_of(g, status, out);
}

llf_id llf_count(llf_graph *g, llf_dtype dtype, uint32_t rank, const int64_t *shape)
{
    llf_id out = LLF_NONE;
    llfi_ask ask = {.count = rank, .dtype = dtype};
    if (!alive(g))
        return LLF_NONE;
    llf_status status = LLF_OK;
    if ((uint32_t)dtype >= LLF_DTYPES || rank > LLFI_RANK || (rank && !shape))
        status =
            fail(g, LLF_E_ARG, nowhere, "count", "no such dtype, rank over the limit, or the shape is NULL");
    for (uint32_t i = 0; i < rank && status == LLF_OK; i++)
        status = extent_of(g, "count", "axis", i, shape[i], &ask.dim[i]);
    if (status == LLF_OK)
        status = make(g, LLF_OP_COUNT, 0, NULL, &ask, nowhere, &out);
    return id_of(g, status, out);
}

llf_status llf_split(llf_graph *g, llf_id x, int64_t axis, uint32_t parts, const int64_t *sizes, llf_id *out)
{
    if (!g)
        return LLF_E_ARG;
    for (uint32_t i = 0; out && i < parts; i++)
        out[i] = LLF_NONE;
    if (g->poisoned != LLF_OK)
        return g->poisoned;
    const llf_allocator *mem = &g->cx->mem;
    llf_status status = out ? LLF_OK : fail(g, LLF_E_ARG, nowhere, "split", "the results are NULL");
    llfi_dim *dim = sizes && parts ? llfi_alloc(mem, parts * sizeof *dim) : NULL;
    if (status == LLF_OK && sizes && parts && !dim)
        status = llfi_nomem(&g->cx->diag);
    for (uint32_t i = 0; dim && i < parts && status == LLF_OK; i++) {
        dim[i] = LLFI_DIM_NONE;
        if (sizes[i] != LLF_INFER)
            status = extent_of(g, "split", "size of part", i, sizes[i], &dim[i]);
    }
    if (status == LLF_OK)
        status = llfi_make_split(g, x, axis, parts, dim, nowhere, out);
    if (dim)
        llfi_free(mem, dim, parts * sizeof *dim);
    if (status != LLF_OK)
        llfi_build_failed(g, status);
    return status;
}

llf_id llf_roll(llf_graph *g, llf_id x, uint32_t count, const llf_shift *shift)
{
    llf_id out = LLF_NONE;
    llfi_roll_ask ask = {.count = count};
    if (!alive(g))
        return LLF_NONE;
    llf_status status = LLF_OK;
    if (count > LLFI_RANK || (count && !shift))
        status = fail(g, LLF_E_ARG, nowhere, "roll", "too many axes, or the list is NULL");
    for (uint32_t i = 0; i < count && status == LLF_OK; i++) {
        llfi_bound b;
        status = amount_of(g, "roll", "shift", i, shift[i].by, shift[i].by_symbol, &b);
        ask.axis[i] = shift[i].axis;
        ask.back[i] = b.back != 0;
        ask.shift[i] = b.back ? llfi_dim_const(g->dims, b.back) : b.dim;
        if (status == LLF_OK && ask.shift[i] == LLFI_DIM_NONE)
            status = llfi_nomem(&g->cx->diag);
    }
    if (status == LLF_OK)
        status = llfi_make_roll(g, x, &ask, nowhere, &out);
    return id_of(g, status, out);
}
