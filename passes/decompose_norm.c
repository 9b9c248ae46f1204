/* decompose_norm.c: the lists of layer_norm, rms_norm, l2_normalize and batch_norm (docs/ir.md,
 * "Composites"). Must not look at anything but the composite and its operands. */
#include "decompose.h"

/* mul(y, weight), fma(y, weight, bias): what is there of them. */
static llf_id affine(llfi_recipe *l, llf_id y, llf_id weight, llf_id bias)
{
    if (weight == LLF_NONE)
        return y;
    return bias == LLF_NONE ? op2(l, LLF_OP_MUL, y, weight) : op3(l, LLF_OP_FMA, y, weight, bias);
}

static llf_id operand(llfi_recipe *l, uint32_t k)
{
    return k < l->args ? in(l, l->arg[k]) : LLF_NONE;
}

static llf_id scale_of(llfi_recipe *l, llf_id var, double eps)
{
    return op1(l, LLF_OP_RSQRT, op2(l, LLF_OP_ADD, var, num(l, eps)));
}

/* layer_norm: mean, M2 = moments(x); r = rsqrt(add(div(M2, count), eps)); n = mul(sub(x, mean), r);
 * fma(n, weight, bias) */
llf_id llfi_decompose_LAYER_NORM(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    x = in(l, x);
    llf_id mean = llfi_decompose_reduce(l, LLF_OP_MOMENTS, x, p.axes, true);
    llf_id var = op2(l, LLF_OP_DIV, second(mean), llfi_decompose_count(l, l->work, x, p.axes));
    llf_id r = scale_of(l, var, p.eps);
    llf_id n = op2(l, LLF_OP_MUL, op2(l, LLF_OP_SUB, x, mean), r);
    llf_id weight = operand(l, 1), bias = operand(l, 2);
    return out(l, affine(l, n, weight, bias));
}

/* rms_norm: r = rsqrt(add(div(sum(mul(x, x)), count), eps)); mul(mul(x, r), weight) */
llf_id llfi_decompose_RMS_NORM(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    x = in(l, x);
    llf_id r = scale_of(l, llfi_decompose_mean(l, op2(l, LLF_OP_MUL, x, x), p.axes, true), p.eps);
    llf_id n = op2(l, LLF_OP_MUL, x, r);
    return out(l, affine(l, n, operand(l, 1), LLF_NONE));
}

/* l2_normalize: n = maximum(sqrt(sum(mul(x, x))), eps); mul(x, div(1, n)) */
llf_id llfi_decompose_L2_NORMALIZE(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    x = in(l, x);
    llf_id sum = llfi_decompose_reduce(l, LLF_OP_SUM, op2(l, LLF_OP_MUL, x, x), p.axes, true);
    llf_id n = op2(l, LLF_OP_MAXIMUM, op1(l, LLF_OP_SQRT, sum), num(l, p.eps));
    return out(l, op2(l, LLF_OP_MUL, x, op2(l, LLF_OP_DIV, num(l, 1), n)));
}

/* A value for each channel, as one for each point: extents of 1 behind the channels' axis. */
static llf_id spread(llfi_recipe *l, llf_id v, uint32_t axis, uint32_t rank)
{
    if (v == LLF_NONE || axis + 1 == rank)
        return v;
    return llfi_decompose_view(l, LLF_OP_EXPAND_DIMS, v, ((1u << (rank - axis)) - 1) & ~1u);
}

/* mul(sub(x, mean), r), with the weight and the bias behind the statistics. */
static llf_id by_channel(llfi_recipe *l, llf_id x, llf_id mean, llf_id r)
{
    uint32_t axis = settings_of(l).axis, rank = l->status == LLF_OK ? llfi_type_of(l->r->g, x).rank : 1;
    llf_id d = op2(l, LLF_OP_SUB, x, spread(l, mean, axis, rank));
    llf_id n = op2(l, LLF_OP_MUL, d, spread(l, r, axis, rank));
    llf_id weight = spread(l, operand(l, 3), axis, rank), bias = spread(l, operand(l, 4), axis, rank);
    return out(l, affine(l, n, weight, bias));
}

/* batch_norm: r = rsqrt(add(var, eps)); n = mul(sub(x, mean), r); fma(n, weight, bias) */
llf_id llfi_decompose_BATCH_NORM(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    x = in(l, x);
    llf_id mean = operand(l, 1), r = scale_of(l, operand(l, 2), p.eps);
    return by_channel(l, x, mean, r);
}

/* fma(sub(now, running), momentum, running), in the dtype of the running one */
static llf_id move(llfi_recipe *l, llf_id now, uint32_t running, double momentum)
{
    llf_id was = operand(l, running);
    llf_id moved = op3(l, LLF_OP_FMA, op2(l, LLF_OP_SUB, now, was), num(l, momentum), was);
    return l->status == LLF_OK ? llfi_decompose_cast(l, moved, llfi_dtype_of(l->r->g, l->arg[running]))
                               : LLF_NONE;
}

/* batch_norm_train: mean, M2 = moments(x) over all axes but one; as batch_norm with var = div(M2, count); the
 * running var moves towards div(M2, maximum(sub(count, 1), 0)) */
llf_id llfi_decompose_BATCH_NORM_TRAIN(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    uint32_t axes = llfi_decompose_all(l, x) & ~(1u << p.axis);
    x = in(l, x);
    llf_id mean = llfi_decompose_reduce(l, LLF_OP_MOMENTS, x, axes, false), m2 = second(mean);
    llf_id var = op2(l, LLF_OP_DIV, m2, llfi_decompose_count(l, l->work, x, axes));
    llf_id y = by_channel(l, x, mean, scale_of(l, var, p.eps));
    l->more[0] = move(l, mean, 1, p.momentum);
    llf_id unbiased = op2(l, LLF_OP_DIV, m2, llfi_decompose_freedom(l, x, axes, 1));
    l->more[1] = move(l, unbiased, 2, p.momentum);
    return y;
}
