/* dce.c: what no output needs goes. Inputs stay: they are the graph's signature.
 * In: any graph.
 * Out: every node but an input reaches an output, or is a further result of one that does.
 * Why: later passes assume users.
 * Cost: linear. */
#include "pass.h"

/* Marks what outputs need, users before operands. */
static bool *mark(const llf_graph *g, llfi_arena *arena)
{
    bool *live = llfi_arena_alloc(arena, g->nodes.count + 1);
    if (!live)
        return NULL;
    for (size_t i = 0; i < g->outputs.count; i++)
        live[g->outputs.at[i]] = true;
    for (size_t i = g->nodes.count; i-- > 0;)
        if (live[i]) {
            const llfi_node *n = &g->nodes.at[i];
            for (uint32_t k = 0; k < n->arity; k++)
                live[llfi_args(g, n)[k]] = true;
        }
    return live;
}

llf_status llfi_pass_dce(llfi_pass *p, llf_graph *g)
{
    bool *live = mark(g, p->scratch);
    if (!live)
        return llfi_nomem(&p->cx->diag);
    llfi_rewrite r;
    LLF_TRY(llfi_rewrite_begin(&r, g, p->scratch));
    for (llf_id i = 0; i < r.olds; i++) {
        if (!live[i] || r.old[i].op == LLF_OP_INPUT)
            continue;
        llf_status st = llfi_rewrite_copy(&r, i);
        if (st != LLF_OK) {
            llfi_rewrite_abort(&r);
            return st;
        }
    }
    return llfi_rewrite_end(&r);
}
