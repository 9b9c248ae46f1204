/* decompose_reduce.c: what lists over axes are written with, and the lists of mean, var, std and mse
 * (docs/ir.md, "Composites"). Must not look at anything but the composite and its operands. */
#include "decompose.h"

static llfi_place place_of(const llfi_recipe *l)
{
    const llfi_node *n = &l->r->old[l->like];
    return (llfi_place){l->r->g->file, n->line, n->col};
}

static void set_axes(llfi_ask *ask, uint32_t axes)
{
    ask->count = 0;
    for (uint32_t k = 0; k < LLFI_RANK; k++)
        if (axes >> k & 1)
            ask->axis[ask->count++] = k;
}

llf_id llfi_decompose_reduce(llfi_recipe *l, llf_op op, llf_id x, uint32_t axes, bool keepdims)
{
    llfi_ask ask = {.keepdims = keepdims, .has_dtype = true, .dtype = l->work};
    uint64_t attr = 0;
    set_axes(&ask, axes);
    if (l->status == LLF_OK)
        l->status = llfi_reduce_attr(l->r->g, op, x, &ask, place_of(l), &attr);
    return llfi_decompose_op(l, op, 1, &x, attr);
}

llf_id llfi_decompose_view(llfi_recipe *l, llf_op op, llf_id x, uint32_t axes)
{
    llfi_ask ask = {.count = 0};
    uint64_t attr = 0;
    set_axes(&ask, axes);
    if (l->status == LLF_OK)
        l->status = llfi_view_attr(l->r->g, op, x, &ask, place_of(l), &attr);
    return llfi_decompose_op(l, op, 1, &x, attr);
}

llf_id llfi_decompose_leaf(llfi_recipe *l, llf_op op, const llfi_ask *ask)
{
    uint64_t attr = 0;
    llf_id out = LLF_NONE;
    if (l->status == LLF_OK)
        l->status = llfi_index_attr(l->r->g, op, 0, NULL, ask, place_of(l), &attr);
    if (l->status == LLF_OK)
        out = llfi_build_n(l->r->g, op, 0, NULL, attr, UINT32_MAX, place_of(l));
    if (l->status == LLF_OK && out == LLF_NONE)
        l->status = l->r->g->poisoned;
    return out;
}

llf_id llfi_decompose_count(llfi_recipe *l, llf_dtype dtype, llf_id x, uint32_t axes)
{
    llfi_ask ask = {.dtype = dtype};
    for (uint32_t k = 0; l->status == LLF_OK && k < LLFI_RANK; k++)
        if (axes >> k & 1)
            ask.dim[ask.count++] = llfi_type_of(l->r->g, x).dim[k];
    return llfi_decompose_leaf(l, LLF_OP_COUNT, &ask);
}

uint32_t llfi_decompose_all(const llfi_recipe *l, llf_id x)
{
    return l->status == LLF_OK ? (1u << llfi_type_of(l->r->g, x).rank) - 1 : 0;
}

llf_id llfi_decompose_mean(llfi_recipe *l, llf_id x, uint32_t axes, bool keepdims)
{
    llf_id sum = llfi_decompose_reduce(l, LLF_OP_SUM, x, axes, keepdims);
    return op2(l, LLF_OP_DIV, sum, llfi_decompose_count(l, l->work, x, axes));
}

/* What elements less `correction` are, but not less than 0. */
llf_id llfi_decompose_freedom(llfi_recipe *l, llf_id x, uint32_t axes, int64_t correction)
{
    llf_id n = llfi_decompose_count(l, l->work, x, axes);
    if (correction == 0)
        return n;
    return op2(l, LLF_OP_MAXIMUM, op2(l, LLF_OP_SUB, n, num(l, (double)correction)), num(l, 0));
}

llf_id llfi_decompose_loss(llfi_recipe *l, llf_id loss, llf_reduction reduction)
{
    uint32_t axes = llfi_decompose_all(l, loss);
    if (reduction == LLF_REDUCTION_MEAN)
        loss = llfi_decompose_mean(l, loss, axes, false);
    if (reduction == LLF_REDUCTION_SUM)
        loss = llfi_decompose_reduce(l, LLF_OP_SUM, loss, axes, false);
    return out(l, loss);
}

/* mean = div(sum(x), count) */
llf_id llfi_decompose_MEAN(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    return out(l, llfi_decompose_mean(l, x, p.axes, p.keepdims));
}

static llf_id variance(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    x = in(l, x);
    llf_id moments = llfi_decompose_reduce(l, LLF_OP_MOMENTS, x, p.axes, p.keepdims);
    return op2(l, LLF_OP_DIV, second(moments), llfi_decompose_freedom(l, x, p.axes, p.correction));
}

/* var = div(M2, count), with a correction div(M2, maximum(sub(count, correction), 0)) */
llf_id llfi_decompose_VAR(llfi_recipe *l, llf_id x)
{
    return out(l, variance(l, x));
}

/* std = sqrt(var), before the cast */
llf_id llfi_decompose_STD(llfi_recipe *l, llf_id x)
{
    return out(l, op1(l, LLF_OP_SQRT, variance(l, x)));
}

/* mse: d = sub(a, b); mul(d, d); and its mean or sum */
llf_id llfi_decompose_MSE(llfi_recipe *l, llf_id a)
{
    a = in(l, a);
    llf_id d = op2(l, LLF_OP_SUB, a, in(l, l->arg[1]));
    return llfi_decompose_loss(l, op2(l, LLF_OP_MUL, d, d), settings_of(l).reduction);
}
