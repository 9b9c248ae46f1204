/* blame.c: which op of a kernel makes indices that nothing can hold. Only failures come here, so it may
 * search. It must not change anything but the diagnostic. */
#include "lower/demand.h"

/* A view or an op that chooses, between `leaf` and a member that reads it; LLF_NONE: none. */
static llf_id reader(const llf_graph *g, const llfi_kernel *k, llf_id leaf)
{
    for (uint32_t i = 0; i < k->members; i++) {
        const llfi_node *n = llfi_node_at(g, k->member[i]);
        for (uint32_t a = 0; a < n->arity; a++) {
            llf_id x = llfi_args(g, n)[a];
            if (llfi_source(g, x) != leaf)
                continue;
            if (x != leaf)
                return x;
            if (llfi_ops[n->op].cls == LLFI_CLASS_INDEX)
                return k->member[i];
        }
    }
    return LLF_NONE;
}

void llfi_blame(const llfi_maps *m, const llf_graph *g, const llfi_kernel *k)
{
    llf_id node = m->node, by;
    uint32_t axis = m->axis;
    char where[32] = "";
    const llfi_node *n = llfi_node_at(g, node);
    bool moves = llfi_ops[n->op].cls == LLFI_CLASS_VIEW || llfi_ops[n->op].cls == LLFI_CLASS_INDEX;
    if (!moves && (by = reader(g, k, node)) != LLF_NONE)
        node = by;
    n = llfi_node_at(g, node);
    if (axis < LLFI_RANK)
        snprintf(where, sizeof where, "axis %u: ", axis);
    const char *op = llfi_ops[n->op].name, *name = llfi_name(g, n->name);
    llfi_shown from = {"nothing"};
    if (n->arity)
        from = llfi_show_type(g, llfi_node_at(g, llfi_args(g, n)[0])->type);
    llfi_fail_at(
        &g->cx->diag, LLF_E_LIMIT, llfi_place_of(g, node), op,
        "%s: %s%s is read through %s at places that are over 2^63-1, or have more terms than the limits "
        "allow",
        op, where, from.text, llfi_show_type(g, n->type).text);
    llfi_diag_in(&g->cx->diag, name, strlen(name));
}
