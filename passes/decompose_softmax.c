/* decompose_softmax.c: the lists of softmax, log_softmax, logsumexp and cross_entropy (docs/ir.md,
 * "Composites"). All use the pair form: softmax_stats has one maximum, scaled by log2(e), and sums of powers
 * of 2 below it, so a rounding of the maximum cancels. Must not look at anything but the composite and its
 * operands. */
#include "decompose.h"

#define LOG2E 1.4426950408889634
#define LN2 0.69314718055994531

/* t = fma(x, log2(e), neg(M)): the power of 2 that x is, below the maximum. */
static llf_id power(llfi_recipe *l, llf_id x, llf_id m)
{
    return op3(l, LLF_OP_FMA, x, num(l, LOG2E), op1(l, LLF_OP_NEG, m));
}

/* softmax: M, S = softmax_stats(x); mul(exp2(t), div(1, S)) */
llf_id llfi_decompose_SOFTMAX(llfi_recipe *l, llf_id x)
{
    x = in(l, x);
    llf_id m = llfi_decompose_reduce(l, LLF_OP_SOFTMAX_STATS, x, settings_of(l).axes, true);
    llf_id e = op1(l, LLF_OP_EXP2, power(l, x, m));
    return out(l, op2(l, LLF_OP_MUL, e, op2(l, LLF_OP_DIV, num(l, 1), second(m))));
}

/* log_softmax: fma(t, ln(2), neg(log(S))) */
llf_id llfi_decompose_LOG_SOFTMAX(llfi_recipe *l, llf_id x)
{
    x = in(l, x);
    llf_id m = llfi_decompose_reduce(l, LLF_OP_SOFTMAX_STATS, x, settings_of(l).axes, true);
    llf_id t = power(l, x, m), log = op1(l, LLF_OP_LOG, second(m));
    return out(l, op3(l, LLF_OP_FMA, t, num(l, LN2), op1(l, LLF_OP_NEG, log)));
}

/* logsumexp: where(eq(M, inf), M, fma(M, ln(2), log(S))): a sum with an infinite term is infinite */
llf_id llfi_decompose_LOGSUMEXP(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    x = in(l, x);
    llf_id m = llfi_decompose_reduce(l, LLF_OP_SOFTMAX_STATS, x, p.axes, p.keepdims);
    llf_id log = op3(l, LLF_OP_FMA, m, num(l, LN2), op1(l, LLF_OP_LOG, second(m)));
    llf_id infinite = op2(l, LLF_OP_EQ, m, num(l, (double)__builtin_inff()));
    return out(l, op3(l, LLF_OP_WHERE, infinite, m, log));
}

static llf_id number(llfi_recipe *l, int64_t value)
{
    llf_id out = LLF_NONE;
    if (l->status == LLF_OK)
        l->status = llfi_rewrite_const(l->r, LLF_I64, (uint64_t)value, &out);
    return out;
}

/* The class of each label, as take has it: negative ones count from the end, what is outside is clamped. */
static llf_id class_of(llfi_recipe *l, llf_id label, llf_id classes)
{
    label = llfi_decompose_cast(l, label, LLF_I64);
    llf_id zero = number(l, 0), behind = op2(l, LLF_OP_ADD, label, classes);
    llf_id k = op3(l, LLF_OP_WHERE, op2(l, LLF_OP_LT, label, zero), behind, label);
    k = op2(l, LLF_OP_MINIMUM, k, op2(l, LLF_OP_SUB, classes, number(l, 1)));
    return op2(l, LLF_OP_MAXIMUM, k, zero);
}

/* The index along the k-th axis of the labels, at each of them. */
static llf_id coordinate(llfi_recipe *l, llf_id labels, uint32_t k)
{
    llfi_ask ask = {.along = k, .dtype = LLF_I64};
    if (l->status != LLF_OK)
        return LLF_NONE;
    llfi_type t = llfi_type_of(l->r->g, labels);
    ask.count = t.rank;
    for (uint32_t i = 0; i < t.rank; i++)
        ask.dim[i] = t.dim[i];
    return llfi_decompose_leaf(l, LLF_OP_IOTA, &ask);
}

/* Where in x, row-major, the element of each label stands: its coordinates one by one. */
static llf_id place_in(llfi_recipe *l, llf_id x, llf_id labels, uint32_t axis)
{
    uint32_t rank = l->status == LLF_OK ? llfi_type_of(l->r->g, x).rank : 0;
    llf_id at = LLF_NONE;
    for (uint32_t k = 0; k < rank; k++) {
        llf_id extent = k == 0 && axis ? LLF_NONE : llfi_decompose_count(l, LLF_I64, x, 1u << k);
        llf_id here = k == axis ? class_of(l, labels, extent) : coordinate(l, labels, k - (k > axis));
        at = k == 0 ? here : op2(l, LLF_OP_ADD, op2(l, LLF_OP_MUL, at, extent), here);
    }
    return at;
}

/* The elements of x at the labels, read where they lie. */
static llf_id chosen(llfi_recipe *l, llf_id x, llf_id labels, uint32_t axis)
{
    uint64_t attr = 0;
    llf_id at = place_in(l, x, labels, axis);
    llfi_ask ask = {.count = 1, .dim = {LLFI_DIM_NONE}};
    if (l->status == LLF_OK)
        l->status = llfi_view_attr(l->r->g, LLF_OP_RESHAPE, x, &ask, (llfi_place){NULL, 0, 0}, &attr);
    llf_id flat = llfi_decompose_op(l, LLF_OP_RESHAPE, 1, &x, attr);
    return llfi_decompose_op(l, LLF_OP_TAKE, 2, (const llf_id[]){flat, at}, 0);
}

/* cross_entropy: M, S = softmax_stats(x); t = fma(x at the label, log2(e), neg(M)); fma(t, -ln(2), log(S));
 * and its mean or sum */
llf_id llfi_decompose_CROSS_ENTROPY(llfi_recipe *l, llf_id x)
{
    llfi_settings p = settings_of(l);
    llf_id m = llfi_decompose_reduce(l, LLF_OP_SOFTMAX_STATS, in(l, x), 1u << p.axis, false);
    llf_id at = in(l, chosen(l, x, l->arg[1], p.axis));
    llf_id t = power(l, at, m), log = op1(l, LLF_OP_LOG, second(m));
    llf_id loss = op3(l, LLF_OP_FMA, t, num(l, -LN2), log);
    return llfi_decompose_loss(l, loss, p.reduction);
}
