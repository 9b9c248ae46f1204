/* rows.c: what kernels with reductions ask of their demand lists. It emits nothing and knows no target. */
#include "lower/demand.h"

bool llfi_demand_reduces(const llf_graph *g, const llfi_demand *d)
{
    return !d->leaf && llfi_ops[llfi_node_at(g, d->node)->op].cls == LLFI_CLASS_REDUCE;
}

bool llfi_demands_points(const llf_graph *g, const llfi_kernel *kernel, const llfi_demands *list,
                         uint32_t phase, bool *mark)
{
    bool any = false;
    memset(mark, 0, list->count * sizeof *mark);
    for (uint32_t i = 0; i < list->count && phase < list->phases; i++)
        if (llfi_demand_reduces(g, &list->at[i]) && list->at[i].phase == phase + 1)
            any = mark[list->at[i].arg[0]] = true;
    for (uint32_t i = 0; i < kernel->stores && phase == list->phases; i++)
        if (list->at[list->store[i]].scope == LLFI_SCOPE_POINT)
            any = mark[list->store[i]] = true;
    for (uint32_t i = list->count; i-- > 0;) {
        const llfi_demand *d = &list->at[i];
        mark[i] = mark[i] && d->scope == LLFI_SCOPE_POINT;
        for (uint32_t a = 0; mark[i] && !d->leaf && a < llfi_node_at(g, d->node)->arity; a++)
            mark[d->arg[a]] = true;
    }
    return any;
}
