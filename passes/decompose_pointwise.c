/* decompose_pointwise.c: the lists of elementwise composites (docs/ir.md, "Composites"). Must not look at
 * anything but the composite and its operands. */
#include "decompose.h"

/* relu(x) = where(x < 0, 0, x), in the dtype itself: keeps -0 and NaN. */
llf_id llfi_decompose_RELU(llfi_recipe *l, llf_id x)
{
    l->work = l->own;
    llf_id zero = num(l, 0);
    return op3(l, LLF_OP_WHERE, op2(l, LLF_OP_LT, x, zero), zero, x);
}

static llf_id one_plus_exp_neg(llfi_recipe *l, llf_id x)
{
    return op2(l, LLF_OP_ADD, num(l, 1), op1(l, LLF_OP_EXP, op1(l, LLF_OP_NEG, x)));
}

/* sigmoid(x) = 1 / (1 + exp(-x)) */
llf_id llfi_decompose_SIGMOID(llfi_recipe *l, llf_id x)
{
    x = in(l, x);
    llf_id d = one_plus_exp_neg(l, x);
    return out(l, op2(l, LLF_OP_DIV, num(l, 1), d));
}

/* silu(x) = x * sigmoid(x): a product, since hardware makes 1 / y cheaper than x / y */
llf_id llfi_decompose_SILU(llfi_recipe *l, llf_id x)
{
    x = in(l, x);
    return out(l, op2(l, LLF_OP_MUL, x, op2(l, LLF_OP_DIV, num(l, 1), one_plus_exp_neg(l, x))));
}

/* softplus(x) = maximum(x, 0) + log1p(exp(-|x|)) */
llf_id llfi_decompose_SOFTPLUS(llfi_recipe *l, llf_id x)
{
    x = in(l, x);
    llf_id m = op2(l, LLF_OP_MAXIMUM, x, num(l, 0));
    llf_id e = op1(l, LLF_OP_EXP, op1(l, LLF_OP_NEG, op1(l, LLF_OP_ABS, x)));
    return out(l, op2(l, LLF_OP_ADD, m, op1(l, LLF_OP_LOG1P, e)));
}

/* x * (1 + tanh(u)) / 2 with u = x * (sqrt(2/pi) + 0.044715 * sqrt(2/pi) * x^2) is x * sigmoid(2u): a power
 * of 2 instead of tanh, and no cancellation where tanh is near -1. -2 * log2(e) stands in the constants. */
static llf_id gelu_tanh(llfi_recipe *l, llf_id x)
{
    llf_id x2 = op2(l, LLF_OP_MUL, x, x);
    llf_id p = op3(l, LLF_OP_FMA, x2, num(l, -0.10294323958002349), num(l, -2.3022081981443249));
    llf_id e = op1(l, LLF_OP_EXP2, op2(l, LLF_OP_MUL, x, p));
    return op2(l, LLF_OP_MUL, x, op2(l, LLF_OP_DIV, num(l, 1), op2(l, LLF_OP_ADD, e, num(l, 1))));
}

llf_id llfi_decompose_GELU(llfi_recipe *l, llf_id x)
{
    bool by_tanh = l->r->old[l->like].attr == LLF_GELU_TANH;
    x = in(l, x);
    if (by_tanh)
        return out(l, gelu_tanh(l, x));
    llf_id e = op1(l, LLF_OP_ERF, op2(l, LLF_OP_MUL, x, num(l, 0.70710678118654752)));
    llf_id h = op2(l, LLF_OP_MUL, x, num(l, 0.5));
    return out(l, op3(l, LLF_OP_FMA, h, e, h));
}
