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
    llf_graph *g; /* for lists and dims alone */
    llf_op op;
    llf_id *arg;
    uint32_t args;
    uint64_t attr;
    uint32_t type;
    llf_id is;
    llf_status status;
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
    /* Of two symbols that meet, the first operand's is the result's: x may only come first where it decides
     * the result anyway. */
    if (k == 0 && node(w, x)->type != w->type && llfi_type_of(w->g, x).rank)
        return false;
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

/* ---- views */

static llfi_list list_of(const want *w, uint64_t attr)
{
    return llfi_list_at(w->g, attr);
}

/* The node takes another list. */
static bool takes(want *w, uint32_t count, const int64_t *word)
{
    uint32_t at = llfi_list_make(w->g, count, word);
    if (at == UINT32_MAX) {
        w->status = llfi_nomem(&w->g->cx->diag);
        return false;
    }
    w->attr = at;
    return true;
}

/* reshape to its own shape -> x */
static bool reshape_same(want *w)
{
    return becomes(w, w->arg[0]);
}

/* reshape(reshape(x)) -> reshape(x) */
static bool reshape_reshape(want *w)
{
    if (!is_op(w, 0, LLF_OP_RESHAPE))
        return false;
    w->arg[0] = node(w, w->arg[0])->arg[0];
    return true;
}

/* permute that leaves every axis -> x */
static bool permute_same(want *w)
{
    llfi_list l = list_of(w, w->attr);
    for (uint32_t i = 0; i < l.count; i++) {
        if (l.at[i] != i)
            return false;
    }
    return becomes(w, w->arg[0]);
}

/* permute(permute(x)) -> permute(x) */
static bool permute_permute(want *w)
{
    int64_t axis[LLFI_RANK];
    if (!is_op(w, 0, LLF_OP_PERMUTE))
        return false;
    const llfi_node *inner = node(w, w->arg[0]);
    llfi_list a = list_of(w, inner->attr), b = list_of(w, w->attr);
    for (uint32_t i = 0; i < b.count; i++)
        axis[i] = a.at[b.at[i]];
    if (!takes(w, b.count, axis))
        return false;
    w->arg[0] = inner->arg[0];
    return true;
}

/* broadcast_to its own shape -> x */
static bool broadcast_same(want *w)
{
    return becomes(w, w->arg[0]);
}

/* broadcast_to(broadcast_to(x)) -> broadcast_to(x) */
static bool broadcast_broadcast(want *w)
{
    if (!is_op(w, 0, LLF_OP_BROADCAST_TO))
        return false;
    llf_id inner = node(w, w->arg[0])->arg[0];
    llfi_type x = llfi_type_of(w->g, inner), y = llfi_type_of(w->g, w->arg[0]);
    for (uint32_t i = 0; i < x.rank; i++) { /* a symbol that a guard holds at 1 does not stretch by itself */
        int64_t one;
        llfi_dim dim = y.dim[y.rank - x.rank + i];
        if (x.dim[i] != dim && llfi_dim_is_const(w->g->dims, dim, &one) && one == 1)
            return false;
    }
    w->arg[0] = inner;
    return true;
}

static bool whole(const want *w, llf_id x, uint64_t attr, uint32_t axis)
{
    llfi_range r = llfi_range_at(w->g, attr, axis);
    int64_t start;
    return r.length == llfi_type_of(w->g, x).dim[axis] && r.step == 1 &&
           llfi_dim_is_const(w->g->dims, r.start, &start) && start == 0;
}

/* x[:, ...] -> x */
static bool slice_whole(want *w)
{
    for (uint32_t i = 0; i < llfi_type_of(w->g, w->arg[0]).rank; i++) {
        if (!whole(w, w->arg[0], w->attr, i))
            return false;
    }
    return becomes(w, w->arg[0]);
}

/* Range `b` of what range `a` of an axis leaves, all constant; false when it cannot be told. */
static bool compose(want *w, llfi_dim extent, const llfi_range *a, const llfi_range *b, int64_t *word)
{
    int64_t known, first, then, length, step, start;
    llfi_dims *d = w->g->dims;
    if (!llfi_dim_is_const(d, extent, &known) || !llfi_dim_is_const(d, a->start, &first) ||
        !llfi_dim_is_const(d, b->start, &then) || !llfi_dim_is_const(d, b->length, &length))
        return false;
    if (__builtin_mul_overflow(a->step, b->step, &step) || __builtin_mul_overflow(then, a->step, &start) ||
        __builtin_add_overflow(first, start, &start))
        return false;
    llfi_dim at = llfi_dim_const(d, length ? start : 0);
    if (at == LLFI_DIM_NONE && llfi_dims_nomem(d))
        w->status = llfi_nomem(&w->g->cx->diag);
    if (at == LLFI_DIM_NONE)
        return false;
    word[0] = at;
    word[1] = b->length;
    word[2] = length > 1 ? step : 1;
    word[3] = LLFI_STOP_NONE;
    return true;
}

/* slice(slice(x)) -> slice(x), along each axis of constant extent or taken whole by one of them */
static bool slice_slice(want *w)
{
    int64_t word[LLFI_RANK * LLFI_RANGE_WORDS];
    if (!is_op(w, 0, LLF_OP_SLICE))
        return false;
    const llfi_node *inner = node(w, w->arg[0]);
    llf_id x = inner->arg[0];
    uint32_t rank = llfi_type_of(w->g, x).rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t *to = word + i * LLFI_RANGE_WORDS;
        const size_t bytes = LLFI_RANGE_WORDS * sizeof *to;
        llfi_range a = llfi_range_at(w->g, inner->attr, i), b = llfi_range_at(w->g, w->attr, i);
        if (whole(w, x, inner->attr, i))
            memcpy(to, list_of(w, w->attr).at + i * LLFI_RANGE_WORDS, bytes);
        else if (whole(w, w->arg[0], w->attr, i))
            memcpy(to, list_of(w, inner->attr).at + i * LLFI_RANGE_WORDS, bytes);
        else if (!compose(w, llfi_type_of(w->g, x).dim[i], &a, &b, to))
            return false;
    }
    if (!takes(w, rank * LLFI_RANGE_WORDS, word))
        return false;
    w->arg[0] = x;
    return true;
}

/* flip along no axis -> x */
static bool flip_none(want *w)
{
    return list_of(w, w->attr).count == 0 && becomes(w, w->arg[0]);
}

/* flip(flip(x)) -> flip(x), along the axes that stand in one of them */
static bool flip_flip(want *w)
{
    int64_t axis[LLFI_RANK];
    uint32_t n = 0, i = 0, k = 0;
    if (!is_op(w, 0, LLF_OP_FLIP))
        return false;
    const llfi_node *inner = node(w, w->arg[0]);
    llfi_list a = list_of(w, inner->attr), b = list_of(w, w->attr);
    while (i < a.count || k < b.count) { /* both are sorted */
        if (i < a.count && k < b.count && a.at[i] == b.at[k]) {
            i++;
            k++;
        } else if (k == b.count || (i < a.count && a.at[i] < b.at[k])) {
            axis[n++] = a.at[i++];
        } else {
            axis[n++] = b.at[k++];
        }
    }
    if (!takes(w, n, axis))
        return false;
    w->arg[0] = inner->arg[0];
    return true;
}

/* expand_dims by no axis -> x */
static bool expand_none(want *w)
{
    return list_of(w, w->attr).count == 0 && becomes(w, w->arg[0]);
}

/* squeeze of no axis -> x */
static bool squeeze_none(want *w)
{
    return list_of(w, w->attr).count == 0 && becomes(w, w->arg[0]);
}

/* squeeze(expand_dims(x)) of the same axes -> x; lists are interned */
static bool squeeze_expand(want *w)
{
    const llfi_node *inner = node(w, w->arg[0]);
    return inner->op == LLF_OP_EXPAND_DIMS && inner->attr == w->attr && becomes(w, inner->arg[0]);
}

/* ---- reductions */

/* A reduction of one element a row is that element, rounded once or twice: x without the axes, or cast. */
static bool reduces_ones(want *w)
{
    int64_t axis[LLFI_RANK], extent;
    llfi_list l = list_of(w, w->attr);
    llfi_type x = llfi_type_of(w->g, w->arg[0]), y = llfi_type_at(w->g, w->type);
    uint32_t n = 0;
    for (uint32_t i = LLFI_REDUCE_AXES; i < l.count; i++) {
        axis[n++] = l.at[i];
        if (!llfi_dim_is_const(w->g->dims, x.dim[l.at[i]], &extent) || extent != 1)
            return false;
    }
    if (x.dtype == y.dtype && x.rank == y.rank)
        return becomes(w, w->arg[0]);
    bool twice = !llfi_dtype_is_float(x.dtype) && llfi_dtype_is_float16(y.dtype); /* through f32 */
    if (twice || (x.dtype != y.dtype && x.rank != y.rank) ||
        (x.dtype == y.dtype && !takes(w, n, axis))) /* two nodes are no simplification */
        return false;
    w->op = x.dtype == y.dtype ? LLF_OP_SQUEEZE : LLF_OP_CAST;
    w->attr = x.dtype == y.dtype ? w->attr : (uint64_t)y.dtype;
    return true;
}

/* sum over axes of constant extent 1 */
static bool sum_ones(want *w)
{
    return reduces_ones(w);
}

/* prod over axes of constant extent 1 */
static bool prod_ones(want *w)
{
    return reduces_ones(w);
}

/* max over axes of constant extent 1 */
static bool max_ones(want *w)
{
    return reduces_ones(w);
}

/* min over axes of constant extent 1 */
static bool min_ones(want *w)
{
    return reduces_ones(w);
}

/* any over axes of constant extent 1 */
static bool any_ones(want *w)
{
    return reduces_ones(w);
}

/* all over axes of constant extent 1 */
static bool all_ones(want *w)
{
    return reduces_ones(w);
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

static llf_status simplify(llfi_pass *p, llfi_rewrite *r, llf_id old, llf_id *arg)
{
    const llfi_node *n = &r->old[old];
    want w = {.g = r->g,
              .op = (llf_op)n->op,
              .arg = arg,
              .args = n->arity,
              .attr = n->attr,
              .type = n->type,
              .is = LLF_NONE};
    for (uint32_t k = 0; k < n->arity; k++)
        w.arg[k] = r->map[llfi_args(r->g, n)[k]];
    bool changed = false;
    while (w.is == LLF_NONE && step(&w, p->fired))
        changed = true;
    LLF_TRY(w.status);
    if (w.is != LLF_NONE) {
        r->map[old] = w.is;
        return LLF_OK;
    }
    return changed ? llfi_rewrite_op_n(r, old, w.op, w.args, w.arg, w.attr, &r->map[old])
                   : llfi_rewrite_copy(r, old);
}

llf_status llfi_pass_simplify(llfi_pass *p, llf_graph *g)
{
    llfi_rewrite r;
    LLF_TRY(llfi_rewrite_begin(&r, g, p->scratch));
    uint32_t most = LLFI_INLINE_ARGS;
    for (llf_id i = 0; i < r.olds; i++)
        most = r.old[i].arity > most ? r.old[i].arity : most;
    llf_id *arg = llfi_arena_alloc(p->scratch, most * sizeof *arg);
    for (llf_id i = 0; i < r.olds; i++) {
        if (r.old[i].op == LLF_OP_INPUT)
            continue;
        llf_status st = arg ? simplify(p, &r, i, arg) : llfi_nomem(&p->cx->diag);
        if (st != LLF_OK) {
            llfi_rewrite_abort(&r);
            return st;
        }
    }
    return llfi_rewrite_end(&r);
}
