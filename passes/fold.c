/* fold.c: EXACT operations whose operands are all literals become literals. Never functions: exp(1.5) is
 * computed on the target. Uses the oracle's own evaluation, so folded and run bits agree.
 * In: any graph.
 * Out: no EXACT primitive but copy has literals alone for operands, no count constant extents alone.
 * Why: literals cost nothing.
 * Cost: linear. */
#include "interp/interp.h"
#include "pass.h"

/* The elements that `count` counts, where no symbol decides. */
static bool counted(const llf_graph *g, const llfi_node *n, int64_t *elements)
{
    llfi_list l = llfi_list_at(g, n->attr);
    int64_t extent, zero = 1;
    bool all = true;
    *elements = 1;
    for (uint32_t i = LLFI_COUNT_DIMS; i < l.count; i++) {
        if (!llfi_dim_is_const(g->dims, (llfi_dim)l.at[i], &extent))
            all = false;
        else if (extent)
            *elements *= extent; /* fits: inference looked */
        else
            zero = 0;
    }
    *elements *= zero;
    return all || !zero;
}

/* `copy` asks for a buffer of its own, so it stays. */
static bool foldable(const llf_graph *g, const llfi_node *n, const llf_id *map)
{
    const llfi_op_info *info = &llfi_ops[n->op];
    int64_t elements;
    if (n->op == LLF_OP_COUNT)
        return counted(g, n, &elements);
    if (info->cls != LLFI_CLASS_EW || !(info->flags & LLF_F_EXACT) || n->op == LLF_OP_COPY)
        return false;
    for (uint32_t k = 0; k < n->arity; k++)
        if (llfi_node_at(g, map[n->arg[k]])->op != LLF_OP_CONST)
            return false;
    return true;
}

static llf_status fold(llfi_pass *p, llfi_rewrite *r, llf_id old)
{
    const llfi_node *n = &r->old[old];
    llf_dtype to = llfi_type_at(r->g, n->type).dtype, from = LLF_I64;
    llf_op op = (llf_op)n->op;
    uint64_t bits[LLFI_INLINE_ARGS] = {0};
    int64_t elements;
    if (op == LLF_OP_COUNT) {
        (void)counted(r->g, n, &elements);
        bits[0] = (uint64_t)elements;
        op = LLF_OP_CAST;
    } else {
        from = llfi_dtype_of(r->g, r->map[n->arg[llfi_eval_operand(op)]]);
    }
    for (uint32_t k = 0; k < n->arity; k++)
        bits[k] = llfi_node_at(r->g, r->map[n->arg[k]])->attr;
    uint64_t value = llfi_eval(op, from, to, bits);
    p->fired[LLFI_RULE_fold_exact]++;
    return llfi_rewrite_const(r, to, value, &r->map[old]);
}

llf_status llfi_pass_fold(llfi_pass *p, llf_graph *g)
{
    llfi_rewrite r;
    LLF_TRY(llfi_rewrite_begin(&r, g, p->scratch));
    for (llf_id i = 0; i < r.olds; i++) {
        const llfi_node *n = &r.old[i];
        if (n->op == LLF_OP_INPUT)
            continue;
        llf_status st = foldable(g, n, r.map) ? fold(p, &r, i) : llfi_rewrite_copy(&r, i);
        if (st != LLF_OK) {
            llfi_rewrite_abort(&r);
            return st;
        }
    }
    return llfi_rewrite_end(&r);
}
