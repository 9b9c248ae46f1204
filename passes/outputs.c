/* outputs.c: every output gets a node of its own: a returned leaf or view, and a value returned twice, become
 * copies.
 * It adds copies and does nothing else.
 * In: any graph.
 * Out: every output is an operation, none stands twice.
 * Why: an output is a buffer that exactly one kernel stores.
 * Cost: linear. */
#include "pass.h"

llf_status llfi_pass_outputs(llfi_pass *p, llf_graph *g)
{
    bool *taken = llfi_arena_alloc(p->scratch, g->nodes.count + 1);
    if (!taken)
        return llfi_nomem(&p->cx->diag);
    size_t olds = g->nodes.count;
    for (size_t i = 0; i < g->outputs.count; i++) {
        llf_id id = g->outputs.at[i];
        llfi_class cls = llfi_ops[llfi_node_at(g, id)->op].cls;
        bool none = cls == LLFI_CLASS_LEAF || cls == LLFI_CLASS_VIEW; /* has no buffer that a kernel stores */
        if (!none && (id >= olds || !taken[id])) {
            if (id < olds)
                taken[id] = true;
            continue;
        }
        llf_id copy = llfi_build(g, LLF_OP_COPY, &id, 0, UINT32_MAX, llfi_place_of(g, id));
        if (copy == LLF_NONE)
            return g->poisoned;
        g->outputs.at[i] = copy;
    }
    return LLF_OK;
}
