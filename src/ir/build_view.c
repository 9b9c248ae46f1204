/* build_view.c: the public builders of views: arguments of a call as an llfi_ask. Must not judge shapes:
 * view.c and infer_view.c do. */
#include "ir/ir.h"

static const llfi_place nowhere = {NULL, 0, 0};

/* Is x a value, and may the call go on? */
static bool begin(llf_graph *g, llf_op op, llf_id x, uint32_t count, const void *list)
{
    if (!g || g->poisoned != LLF_OK)
        return false;
    const char *name = llfi_ops[op].name;
    llfi_diag *d = &g->cx->diag;
    llf_status status = LLF_OK;
    if (x >= g->nodes.count)
        status = llfi_fail_at(d, LLF_E_ARG, nowhere, name, "%s: operand 1 is no value of this graph", name);
    else if (count > LLFI_RANK)
        status = llfi_fail_at(d, LLF_E_LIMIT, nowhere, name,
                              "%s: %u list items are over the rank limit of %u", name, count, LLFI_RANK);
    else if (count && !list)
        status = llfi_fail_at(d, LLF_E_ARG, nowhere, name, "%s: the list is NULL", name);
    if (status != LLF_OK)
        llfi_build_failed(g, status);
    return status == LLF_OK;
}

static llf_id finish(llf_graph *g, llf_op op, llf_id x, const llfi_ask *ask)
{
    uint64_t attr;
    llf_id id = LLF_NONE;
    llf_status status = llfi_view_attr(g, op, x, ask, nowhere, &attr);
    if (status == LLF_OK)
        id = llfi_build(g, op, &x, attr, UINT32_MAX, nowhere);
    return id == LLF_NONE ? llfi_build_failed(g, status == LLF_OK ? g->poisoned : status) : id;
}

static llf_id with_axes(llf_graph *g, llf_op op, llf_id x, uint32_t count, const int64_t *axes)
{
    llfi_ask ask = {.count = count};
    if (!begin(g, op, x, count, axes))
        return LLF_NONE;
    if (count)
        memcpy(ask.axis, axes, count * sizeof *axes);
    return finish(g, op, x, &ask);
}

/* A number >= 0 or a symbol. */
static llf_status extent_of(llf_graph *g, llf_op op, uint32_t axis, int64_t extent, llfi_dim *out)
{
    const char *name = llfi_ops[op].name;
    uint64_t k = (uint64_t)(-(extent + 1));
    if (extent < 0 && (extent == INT64_MIN || k >= llfi_dims_symbols(g->dims)))
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, nowhere, name,
                            "%s: %lld of axis %u is negative and no symbol", name, (long long)extent, axis);
    *out = extent >= 0 ? llfi_dim_const(g->dims, extent) : llfi_dim_sym(g->dims, (uint32_t)k);
    return *out == LLFI_DIM_NONE ? llfi_nomem(&g->cx->diag) : LLF_OK;
}

static llf_id with_shape(llf_graph *g, llf_op op, llf_id x, uint32_t rank, const int64_t *shape)
{
    llfi_ask ask = {.count = rank};
    if (!begin(g, op, x, rank, shape))
        return LLF_NONE;
    for (uint32_t i = 0; i < rank; i++) {
        ask.dim[i] = LLFI_DIM_NONE;
        llf_status status = shape[i] == LLF_INFER ? LLF_OK : extent_of(g, op, i, shape[i], &ask.dim[i]);
        if (status != LLF_OK)
            return llfi_build_failed(g, status);
    }
    return finish(g, op, x, &ask);
}

llf_id llf_reshape(llf_graph *g, llf_id x, uint32_t rank, const int64_t *shape)
{
    return with_shape(g, LLF_OP_RESHAPE, x, rank, shape);
}

llf_id llf_broadcast_to(llf_graph *g, llf_id x, uint32_t rank, const int64_t *shape)
{
    return with_shape(g, LLF_OP_BROADCAST_TO, x, rank, shape);
}

llf_id llf_permute(llf_graph *g, llf_id x, const int64_t *axes)
{
    if (!begin(g, LLF_OP_PERMUTE, x, 0, NULL))
        return LLF_NONE;
    return with_axes(g, LLF_OP_PERMUTE, x, llfi_type_of(g, x).rank, axes);
}

llf_id llf_flip(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes)
{
    return with_axes(g, LLF_OP_FLIP, x, count, axes);
}

llf_id llf_expand_dims(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes)
{
    return with_axes(g, LLF_OP_EXPAND_DIMS, x, count, axes);
}

llf_id llf_squeeze(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes)
{
    return with_axes(g, LLF_OP_SQUEEZE, x, count, axes);
}

static llf_status bound_of(llf_graph *g, uint32_t axis, int64_t number, int64_t symbol, llfi_bound *out)
{
    *out = (llfi_bound){LLFI_DIM_NONE, 0};
    llfi_dim more;
    if (!symbol && number == LLF_DEFAULT)
        return LLF_OK;
    if (!symbol && number < 0) {
        out->back = -number;
        return LLF_OK;
    }
    LLF_TRY(extent_of(g, LLF_OP_SLICE, axis, symbol ? symbol : number, &out->dim));
    if (!symbol)
        return LLF_OK;
    if (number < 0)
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, nowhere, "slice",
                            "slice: axis %u: %lld stands beside a symbol, so it must not be negative", axis,
                            (long long)number);
    LLF_TRY(extent_of(g, LLF_OP_SLICE, axis, number, &more));
    out->dim = llfi_dim_add(g->dims, out->dim, more);
    return out->dim == LLFI_DIM_NONE ? llfi_nomem(&g->cx->diag) : LLF_OK;
}

llf_id llf_slice(llf_graph *g, llf_id x, const llf_range *range)
{
    llfi_ask ask = {.count = 0};
    if (!begin(g, LLF_OP_SLICE, x, 0, NULL))
        return LLF_NONE;
    ask.count = llfi_type_of(g, x).rank;
    if (!begin(g, LLF_OP_SLICE, x, ask.count, range))
        return LLF_NONE;
    for (uint32_t i = 0; i < ask.count; i++) {
        const llf_range *r = &range[i];
        llf_status status = bound_of(g, i, r->start, r->start_symbol, &ask.range[i].start);
        if (status == LLF_OK)
            status = bound_of(g, i, r->stop, r->stop_symbol, &ask.range[i].stop);
        if (status != LLF_OK)
            return llfi_build_failed(g, status);
        ask.range[i].step = r->step;
    }
    return finish(g, LLF_OP_SLICE, x, &ask);
}
