/* decompose.c: composites become their lists of primitives. The list IS the definition (docs/ir.md,
 * "Composites"), so nothing here may look at the target, a mode or a neighbour.
 * In: any graph.
 * Out: a graph without composites; no op has more than MOST_OPERANDS operands: wider concats become trees of
 * them, since a kernel has only so many arguments.
 * Why: later passes and both targets know primitives only.
 * Cost: linear. */
#include "pass.h"
#include "ir/float.h"

#define MOST_OPERANDS 16u

/* A list being written: the first failure sticks, so that a list reads as a list. */
typedef struct {
    llfi_rewrite *r;
    llf_id like;    /* the composite, an old id */
    llf_dtype own;  /* its dtype */
    llf_dtype work; /* f32 for 16-bit floats, else own */
    llf_status status;
} list;

typedef llf_id decompose_fn(list *, llf_id x);
#define COMPOSITE(id, ...) decompose_fn llfi_decompose_##id;
#include "llfuse/ops.def"

static llf_id op(list *l, llf_op o, llf_id a, llf_id b, llf_id c, uint64_t attr)
{
    llf_id out = LLF_NONE;
    if (l->status == LLF_OK)
        l->status = llfi_rewrite_op(l->r, l->like, o, (const llf_id[3]){a, b, c}, attr, &out);
    return out;
}

static llf_id op1(list *l, llf_op o, llf_id a)
{
    return op(l, o, a, LLF_NONE, LLF_NONE, 0);
}

static llf_id op2(list *l, llf_op o, llf_id a, llf_id b)
{
    return op(l, o, a, b, LLF_NONE, 0);
}

static llf_id op3(list *l, llf_op o, llf_id a, llf_id b, llf_id c)
{
    return op(l, o, a, b, c, 0);
}

/* A literal of the compute dtype, rounded once. */
static llf_id num(list *l, double value)
{
    llf_id out = LLF_NONE;
    uint64_t bits = llfi_dtype_is_float(l->work) ? llfi_bits_from_f64(l->work, value)
                                                 : llfi_bits_from_i64(l->work, (int64_t)value);
    if (l->status == LLF_OK)
        l->status = llfi_rewrite_const(l->r, l->work, bits, &out);
    return out;
}

static llf_id in(list *l, llf_id x)
{
    return l->work == l->own ? x : op(l, LLF_OP_CAST, x, LLF_NONE, LLF_NONE, l->work);
}

static llf_id out(list *l, llf_id y)
{
    return l->work == l->own ? y : op(l, LLF_OP_CAST, y, LLF_NONE, LLF_NONE, l->own);
}

/* relu(x) = where(x < 0, 0, x), in the dtype itself: keeps -0 and NaN. */
llf_id llfi_decompose_RELU(list *l, llf_id x)
{
    l->work = l->own;
    llf_id zero = num(l, 0);
    return op3(l, LLF_OP_WHERE, op2(l, LLF_OP_LT, x, zero), zero, x);
}

static llf_id one_plus_exp_neg(list *l, llf_id x)
{
    return op2(l, LLF_OP_ADD, num(l, 1), op1(l, LLF_OP_EXP, op1(l, LLF_OP_NEG, x)));
}

/* sigmoid(x) = 1 / (1 + exp(-x)) */
llf_id llfi_decompose_SIGMOID(list *l, llf_id x)
{
    x = in(l, x);
    llf_id d = one_plus_exp_neg(l, x);
    return out(l, op2(l, LLF_OP_DIV, num(l, 1), d));
}

/* silu(x) = x * sigmoid(x): a product, since hardware makes 1 / y cheaper than x / y */
llf_id llfi_decompose_SILU(list *l, llf_id x)
{
    x = in(l, x);
    return out(l, op2(l, LLF_OP_MUL, x, op2(l, LLF_OP_DIV, num(l, 1), one_plus_exp_neg(l, x))));
}

/* softplus(x) = maximum(x, 0) + log1p(exp(-|x|)) */
llf_id llfi_decompose_SOFTPLUS(list *l, llf_id x)
{
    x = in(l, x);
    llf_id m = op2(l, LLF_OP_MAXIMUM, x, num(l, 0));
    llf_id e = op1(l, LLF_OP_EXP, op1(l, LLF_OP_NEG, op1(l, LLF_OP_ABS, x)));
    return out(l, op2(l, LLF_OP_ADD, m, op1(l, LLF_OP_LOG1P, e)));
}

/* x * (1 + tanh(u)) / 2 with u = x * (sqrt(2/pi) + 0.044715 * sqrt(2/pi) * x^2) is x * sigmoid(2u): a power
 * of 2 instead of tanh, and no cancellation where tanh is near -1. -2 * log2(e) stands in the constants. */
static llf_id gelu_tanh(list *l, llf_id x)
{
    llf_id x2 = op2(l, LLF_OP_MUL, x, x);
    llf_id p = op3(l, LLF_OP_FMA, x2, num(l, -0.10294323958002349), num(l, -2.3022081981443249));
    llf_id e = op1(l, LLF_OP_EXP2, op2(l, LLF_OP_MUL, x, p));
    return op2(l, LLF_OP_MUL, x, op2(l, LLF_OP_DIV, num(l, 1), op2(l, LLF_OP_ADD, e, num(l, 1))));
}

llf_id llfi_decompose_GELU(list *l, llf_id x)
{
    bool by_tanh = l->r->old[l->like].attr == LLF_GELU_TANH;
    x = in(l, x);
    if (by_tanh)
        return out(l, gelu_tanh(l, x));
    llf_id e = op1(l, LLF_OP_ERF, op2(l, LLF_OP_MUL, x, num(l, 0.70710678118654752)));
    llf_id h = op2(l, LLF_OP_MUL, x, num(l, 0.5));
    return out(l, op3(l, LLF_OP_FMA, h, e, h));
}

/* Flat dispatch from the op table: a composite without a list fails at link. */
static decompose_fn *list_of(llf_op o)
{
    switch (o) {
/* clang-format off */
#define COMPOSITE(id, ...) case LLF_OP_##id: return llfi_decompose_##id;
#include "llfuse/ops.def"
        /* clang-format on */
    default: return NULL;
    }
}

static llf_status expand(llfi_rewrite *r, llf_id old)
{
    const llfi_node *n = &r->old[old];
    list l = {.r = r, .like = old, .own = llfi_type_at(r->g, n->type).dtype};
    l.work = llfi_dtype_is_float16(l.own) ? LLF_F32 : l.own;
    llf_id made = list_of((llf_op)n->op)(&l, r->map[n->arg[0]]);
    r->map[old] = made;
    return l.status;
}

/* Rounds of concats of up to MOST_OPERANDS each, until that many are left. */
static llf_status narrow(llfi_rewrite *r, llf_id old)
{
    const llfi_node *n = &r->old[old];
    uint32_t count = n->arity;
    for (uint32_t i = 0; i < count; i++)
        r->arg[i] = r->map[llfi_args(r->g, n)[i]];
    while (count > MOST_OPERANDS) {
        uint32_t groups = (count + MOST_OPERANDS - 1) / MOST_OPERANDS, from = 0;
        for (uint32_t k = 0; k < groups; k++) {
            uint32_t to = (uint32_t)((uint64_t)count * (k + 1) / groups);
            if (to - from == 1) /* as it is */
                r->arg[k] = r->arg[from];
            else
                LLF_TRY(
                    llfi_rewrite_op_n(r, old, (llf_op)n->op, to - from, r->arg + from, n->attr, &r->arg[k]));
            from = to;
        }
        count = groups;
    }
    return llfi_rewrite_op_n(r, old, (llf_op)n->op, count, r->arg, n->attr, &r->map[old]);
}

static bool reduces_nothing(const llfi_rewrite *r, llf_id old)
{
    const llfi_node *n = &r->old[old];
    return llfi_ops[n->op].cls == LLFI_CLASS_REDUCE && llfi_list_at(r->g, n->attr).count == LLFI_REDUCE_AXES;
}

/* A reduction over no axis, whose rows are points, becomes one over an axis of extent 1. */
static llf_status over_one(llfi_rewrite *r, llf_id old)
{
    const llfi_node *n = &r->old[old];
    llf_id x = r->map[n->arg[0]];
    int64_t rank = llfi_type_of(r->g, x).rank, out = llfi_list_at(r->g, n->attr).at[LLFI_REDUCE_OUT];
    if (rank == LLFI_RANK)
        return llfi_fail_at(&r->g->cx->diag, LLF_E_LIMIT, (llfi_place){r->g->file, n->line, n->col},
                            llfi_ops[n->op].name, "%s: over no axis of %u", llfi_ops[n->op].name, LLFI_RANK);
    uint32_t axes = llfi_list_make(r->g, 1, &rank);
    uint32_t attr = llfi_list_make(r->g, LLFI_REDUCE_AXES + 1, (const int64_t[]){0, out, rank});
    if (axes == UINT32_MAX || attr == UINT32_MAX)
        return llfi_nomem(&r->g->cx->diag);
    LLF_TRY(llfi_rewrite_op(r, old, LLF_OP_EXPAND_DIMS, &x, axes, &x));
    LLF_TRY(llfi_rewrite_op(r, old, (llf_op)n->op, &x, attr, &r->map[old]));
    for (uint32_t k = 1; k < llfi_op_results(&llfi_ops[n->op]); k++)
        r->map[old + k] = r->map[old] + k;
    return LLF_OK;
}

llf_status llfi_pass_decompose(llfi_pass *p, llf_graph *g)
{
    llfi_rewrite r;
    LLF_TRY(llfi_rewrite_begin(&r, g, p->scratch));
    for (llf_id i = 0; i < r.olds; i++) {
        llf_op o = (llf_op)r.old[i].op;
        if (o == LLF_OP_INPUT)
            continue;
        llf_status st = llfi_ops[o].cls == LLFI_CLASS_COMPOSITE ? expand(&r, i)
                        : r.old[i].arity > MOST_OPERANDS        ? narrow(&r, i)
                        : reduces_nothing(&r, i)                ? over_one(&r, i)
                                                                : llfi_rewrite_copy(&r, i);
        if (st != LLF_OK) {
            llfi_rewrite_abort(&r);
            return st;
        }
    }
    return llfi_rewrite_end(&r);
}
