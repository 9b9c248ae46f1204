/* decompose.c: composites become their lists of primitives. The list IS the definition (docs/ir.md,
 * "Composites"), so nothing here may look at the target, a mode or a neighbour.
 * In: any graph.
 * Out: a graph without composites; no op has more than MOST_OPERANDS operands: wider concats become trees of
 * them, since a kernel has only so many arguments.
 * Why: later passes and both targets know primitives only.
 * Cost: linear. */
#include "decompose.h"
#include "ir/float.h"

#define MOST_OPERANDS 16u

llf_id llfi_decompose_op(llfi_recipe *l, llf_op o, uint32_t count, const llf_id *arg, uint64_t attr)
{
    llf_id out = LLF_NONE;
    if (l->status == LLF_OK)
        l->status = llfi_rewrite_op_n(l->r, l->like, o, count, arg, attr, &out);
    return out;
}

llf_id llfi_decompose_num(llfi_recipe *l, double value)
{
    llf_id out = LLF_NONE;
    uint64_t bits = llfi_dtype_is_float(l->work) ? llfi_bits_from_f64(l->work, value)
                                                 : llfi_bits_from_i64(l->work, (int64_t)value);
    if (l->status == LLF_OK)
        l->status = llfi_rewrite_const(l->r, l->work, bits, &out);
    return out;
}

llf_id llfi_decompose_cast(llfi_recipe *l, llf_id x, llf_dtype to)
{
    if (l->status != LLF_OK || llfi_dtype_of(l->r->g, x) == to)
        return x;
    return llfi_decompose_op(l, LLF_OP_CAST, 1, &x, to);
}

/* Flat dispatch from the op table: a composite without a list fails at link. */
static llfi_decompose_fn *list_of(llf_op o)
{
    switch (o) {
/* clang-format off */
#define COMPOSITE(id, ...) case LLF_OP_##id: return llfi_decompose_##id;
#include "llfuse/ops.def"
        /* clang-format on */
    default: return NULL;
    }
}

/* Floats are computed in f32, or f64 where one is; what is no float stays as it is. */
static llf_dtype work_of(const llf_graph *g, llf_dtype own, uint32_t count, const llf_id *arg)
{
    bool f64 = own == LLF_F64;
    for (uint32_t i = 0; i < count; i++)
        f64 = f64 || llfi_dtype_of(g, arg[i]) == LLF_F64;
    return !llfi_dtype_is_float(own) ? own : f64 ? LLF_F64 : LLF_F32;
}

static llf_status expand(llfi_rewrite *r, llf_id old)
{
    const llfi_node *n = &r->old[old];
    const llf_id *from = llfi_args(r->g, n);
    for (uint32_t i = 0; i < n->arity; i++)
        r->arg[i] = r->map[from[i]];
    llfi_recipe l = {.r = r, .like = old, .arg = r->arg, .args = n->arity};
    l.own = llfi_type_at(r->g, n->type).dtype;
    l.work = work_of(r->g, l.own, l.args, l.arg);
    r->map[old] = list_of((llf_op)n->op)(&l, l.arg[0]);
    for (uint32_t k = 1; k < llfi_op_results(&llfi_ops[n->op]); k++)
        r->map[old + k] = l.more[k - 1];
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
