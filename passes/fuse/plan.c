/* plan.c: the plan as an object and as text. It neither makes nor judges plans. */
#include "fuse/fuse.h"

void llfi_plan_init(llfi_plan *p, const llf_allocator *mem)
{
    *p = (llfi_plan){.mem = mem};
    llfi_arena_init(&p->arena, mem);
}

void llfi_plan_destroy(llfi_plan *p)
{
    llfi_arena_destroy(&p->arena);
    p->kernel = NULL;
    p->kernels = 0;
}

bool llfi_homes_make(const llf_graph *g, const llfi_plan *p, llfi_arena *arena, llfi_homes *l)
{
    size_t n = g->nodes.count, total = 0;
    l->first = llfi_arena_alloc(arena, (n + 2) * sizeof *l->first);
    for (uint32_t k = 0; l->first && k < p->kernels; k++)
        for (uint32_t m = 0; m < p->kernel[k].members; m++, total++)
            l->first[p->kernel[k].member[m] + 2]++;
    l->kernel = llfi_arena_alloc(arena, (total + 1) * sizeof *l->kernel);
    if (!l->first || !l->kernel)
        return false;
    for (size_t i = 2; i < n + 2; i++)
        l->first[i] += l->first[i - 1];
    for (uint32_t k = 0; k < p->kernels; k++)
        for (uint32_t m = 0; m < p->kernel[k].members; m++)
            l->kernel[l->first[p->kernel[k].member[m] + 1]++] = k;
    return true;
}

static void label(void *user, llf_id id, bool more, llfi_str *s)
{
    const llfi_homes *l = user;
    for (uint32_t i = l->first[id]; i < l->first[id + 1]; i++)
        llfi_str_printf(s, "%sk%u", i == l->first[id] && !more ? " !" : ",", l->kernel[i]);
}

llf_status llfi_plan_print(const llf_graph *g, const llfi_plan *p, llfi_str *s)
{
    llfi_arena arena;
    llfi_arena_init(&arena, p->mem);
    llfi_homes l;
    llf_status st = llfi_homes_make(g, p, &arena, &l) ? llfi_print(g, s, label, &l)
                                                      : llfi_nomem(g->cx ? &g->cx->diag : NULL);
    llfi_arena_destroy(&arena);
    return st;
}

llf_status llfi_plan_write(const llf_graph *g, const llfi_plan *p, const char *target,
                           const llfi_params *params, llfi_str *s)
{
    llfi_str_printf(s, "; plan graph=%016llx llfuse=%s", (unsigned long long)p->graph_hash, llf_version());
    if (target)
        llfi_str_printf(s, " target=%s", target);
    for (size_t i = 0; i < llfi_param_count; i++) {
        int64_t value = llfi_param_value(params, &llfi_param_table[i]);
        if (value != llfi_param_table[i].def)
            llfi_str_printf(s, " %s=%lld", llfi_param_table[i].name, (long long)value);
    }
    llfi_str_puts(s, "\n");
    return llfi_plan_print(g, p, s);
}
