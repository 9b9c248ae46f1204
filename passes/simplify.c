/* simplify.c: the equations of rules.def. Every one holds bit for bit for NaN, infinities, signed zeros,
 * subnormals and wrap-around; none may be allowed by "real numbers would". A rule answers with a value that
 * exists already or with an operation in place of the asked one; it never adds a node.
 * In: any graph.
 * Out: no rule applies to any node.
 * Why: smaller graph, fewer bytes.
 * Cost: linear: operands are simplified before their users, and each step of a rule takes at least one node
 * off the path to an operand. */
#include "ir/float.h"
#include "pass.h"

/* The node being made, in new ids. A rule that fires sets `is` (the node is that value), or changes op and
 * arg. */
typedef struct {
    const llf_graph *g;
    llf_op op;
    llf_id arg[3];
    uint64_t attr;
    uint32_t type;
    llf_id is;
} want;

typedef bool rule_fn(want *);

static const llfi_node *node(const want *w, llf_id id)
{
    return llfi_node_at(w->g, id);
}

static bool is_op(const want *w, uint32_t k, llf_op op)
{
    return node(w, w->arg[k])->op == op;
}

static bool becomes(want *w, llf_id value)
{
    if (node(w, value)->type != w->type) /* a rank-0 operand of a larger result */
        return false;
    w->is = value;
    return true;
}

static bool literal(const want *w, uint32_t k, double real, int64_t integer)
{
    const llfi_node *n = node(w, w->arg[k]);
    if (n->op != LLF_OP_CONST)
        return false;
    llf_dtype d = llfi_dtype_of(w->g, w->arg[k]);
    uint64_t bits = llfi_dtype_is_float(d) ? llfi_bits_from_f64(d, real) : llfi_bits_from_i64(d, integer);
    return n->attr == bits;
}

/* -(-x) -> x */
static bool neg_neg(want *w)
{
    return is_op(w, 0, LLF_OP_NEG) && becomes(w, node(w, w->arg[0])->arg[0]);
}

/* ||x|| -> |x| */
static bool abs_abs(want *w)
{
    return is_op(w, 0, LLF_OP_ABS) && becomes(w, w->arg[0]);
}

/* |-x| -> |x| */
static bool abs_neg(want *w)
{
    if (!is_op(w, 0, LLF_OP_NEG))
        return false;
    w->arg[0] = node(w, w->arg[0])->arg[0];
    return true;
}

/* x * 1 -> x */
static bool mul_one(want *w)
{
    return (literal(w, 1, 1.0, 1) && becomes(w, w->arg[0])) ||
           (literal(w, 0, 1.0, 1) && becomes(w, w->arg[1]));
}

/* x / 1 -> x */
static bool div_one(want *w)
{
    return literal(w, 1, 1.0, 1) && becomes(w, w->arg[0]);
}

/* x - (+0) -> x; x - (-0) is not x for x = -0 */
static bool sub_zero(want *w)
{
    return literal(w, 1, 0.0, 0) && becomes(w, w->arg[0]);
}

/* x + (-0) -> x; x + (+0) is not x for x = -0 */
static bool add_neg_zero(want *w)
{
    return (literal(w, 1, -0.0, 0) && becomes(w, w->arg[0])) ||
           (literal(w, 0, -0.0, 0) && becomes(w, w->arg[1]));
}

/* x + (-y) -> x - y */
static bool add_neg(want *w)
{
    uint32_t k = is_op(w, 1, LLF_OP_NEG) ? 1 : 0;
    if (!is_op(w, k, LLF_OP_NEG))
        return false;
    llf_id x = w->arg[1 - k], y = node(w, w->arg[k])->arg[0];
    w->op = LLF_OP_SUB;
    w->arg[0] = x;
    w->arg[1] = y;
    return true;
}

/* x - (-y) -> x + y */
static bool sub_neg(want *w)
{
    if (!is_op(w, 1, LLF_OP_NEG))
        return false;
    w->op = LLF_OP_ADD;
    w->arg[1] = node(w, w->arg[1])->arg[0];
    return true;
}

/* maximum(x, x) -> x */
static bool max_same(want *w)
{
    return w->arg[0] == w->arg[1] && becomes(w, w->arg[0]);
}

/* minimum(x, x) -> x */
static bool min_same(want *w)
{
    return w->arg[0] == w->arg[1] && becomes(w, w->arg[0]);
}

/* where(c, x, x) -> x */
static bool where_same(want *w)
{
    return w->arg[1] == w->arg[2] && becomes(w, w->arg[1]);
}

/* where(true, a, b) -> a; where(false, a, b) -> b */
static bool where_const(want *w)
{
    const llfi_node *c = node(w, w->arg[0]);
    return c->op == LLF_OP_CONST && becomes(w, w->arg[c->attr ? 1 : 2]);
}

/* cast to its own dtype -> x */
static bool cast_same(want *w)
{
    return becomes(w, w->arg[0]); /* equal types: equal dtypes */
}

/* Does `wide` hold every value of `narrow`, so that the way there and back is the identity? */
static bool holds(llf_dtype wide, llf_dtype narrow)
{
    switch (narrow) {
    case LLF_F16:
    case LLF_BF16: return wide == LLF_F32 || wide == LLF_F64;
    case LLF_F32: return wide == LLF_F64;
    case LLF_I32: return wide == LLF_I64 || wide == LLF_F64;
    case LLF_BOOL: return wide != LLF_BOOL;
    default: return false;
    }
}

/* cast(cast(x, wider), own) -> x */
static bool cast_widen_back(want *w)
{
    if (!is_op(w, 0, LLF_OP_CAST))
        return false;
    llf_id x = node(w, w->arg[0])->arg[0];
    return holds(llfi_dtype_of(w->g, w->arg[0]), llfi_dtype_of(w->g, x)) && becomes(w, x);
}

/* copy(x) -> x: the outputs pass makes anew what the outputs need */
static bool copy_gone(want *w)
{
    return becomes(w, w->arg[0]);
}

/* fold's own equation stands in the table to be counted; it is no rewrite of this pass. */
static bool fold_exact(want *w)
{
    (void)w;
    return false;
}

static const struct {
    uint32_t op;
    llfi_rule rule;
    rule_fn *apply;
} rules[] = {
#define LLF_OP_NONE LLF_OPS
#define RULE(op, id, text) {LLF_OP_##op, LLFI_RULE_##id, id},
#include "rules.def"
#undef RULE
#undef LLF_OP_NONE
};

/* First rule that fires on the node as it stands. */
static bool step(want *w, uint32_t *fired)
{
    for (size_t i = 0; i < LLFI_COUNT(rules); i++)
        if (rules[i].op == (uint32_t)w->op && rules[i].apply(w)) {
            fired[rules[i].rule]++;
            return true;
        }
    return false;
}

static llf_status simplify(llfi_pass *p, llfi_rewrite *r, llf_id old)
{
    const llfi_node *n = &r->old[old];
    want w = {.g = r->g, .op = (llf_op)n->op, .attr = n->attr, .type = n->type, .is = LLF_NONE};
    for (uint32_t k = 0; k < n->arity; k++)
        w.arg[k] = r->map[n->arg[k]];
    bool changed = false;
    while (w.is == LLF_NONE && step(&w, p->fired))
        changed = true;
    if (w.is != LLF_NONE) {
        r->map[old] = w.is;
        return LLF_OK;
    }
    return changed ? llfi_rewrite_op(r, old, w.op, w.arg, w.attr, &r->map[old]) : llfi_rewrite_copy(r, old);
}

llf_status llfi_pass_simplify(llfi_pass *p, llf_graph *g)
{
    llfi_rewrite r;
    LLF_TRY(llfi_rewrite_begin(&r, g, p->scratch));
    for (llf_id i = 0; i < r.olds; i++) {
        if (r.old[i].op == LLF_OP_INPUT)
            continue;
        llf_status st = simplify(p, &r, i);
        if (st != LLF_OK) {
            llfi_rewrite_abort(&r);
            return st;
        }
    }
    return llfi_rewrite_end(&r);
}
