/* fold.c: EXACT operations whose operands are all literals become literals. Never functions: exp(1.5) is
 * computed on the target. Uses the oracle's own evaluation, so folded and run bits agree.
 * In: any graph.
 * Out: no EXACT primitive but copy has literals alone for operands.
 * Why: literals cost nothing.
 * Cost: linear. */
#include "interp/interp.h"
#include "pass.h"

/* `copy` asks for a buffer of its own, so it stays. */
static bool foldable(const llf_graph *g, const llfi_node *n, const llf_id *map)
{
    const llfi_op_info *info = &llfi_ops[n->op];
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
    uint64_t bits[LLFI_INLINE_ARGS] = {0};
    for (uint32_t k = 0; k < n->arity; k++)
        bits[k] = llfi_node_at(r->g, r->map[n->arg[k]])->attr;
    llf_id decides = r->map[n->arg[llfi_eval_operand((llf_op)n->op)]];
    llf_dtype to = llfi_type_at(r->g, n->type).dtype;
    uint64_t value = llfi_eval((llf_op)n->op, llfi_dtype_of(r->g, decides), to, bits);
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
