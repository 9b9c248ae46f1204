/* plan.c: the plan as an object and as text. It neither makes nor judges plans. */
#include "fuse/fuse.h"
#include "runtime/program.h"

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

/* Kernels of each node as CSR over memberships. */
typedef struct {
    uint32_t *first, *kernel;
} labels;

static bool collect(const llf_graph *g, const llfi_plan *p, llfi_arena *arena, labels *l)
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

static void label(void *user, llf_id id, llfi_str *s)
{
    const labels *l = user;
    for (uint32_t i = l->first[id]; i < l->first[id + 1]; i++)
        llfi_str_printf(s, "%sk%u", i == l->first[id] ? " !" : ",", l->kernel[i]);
}

llf_status llfi_plan_print(const llf_graph *g, const llfi_plan *p, llfi_str *s)
{
    llfi_arena arena;
    llfi_arena_init(&arena, p->mem);
    labels l;
    llf_status st =
        collect(g, p, &arena, &l) ? llfi_print(g, s, label, &l) : llfi_nomem(g->cx ? &g->cx->diag : NULL);
    llfi_arena_destroy(&arena);
    return st;
}

llf_status llf_plan_export(llf_context *cx, const llf_program *program, char **text, size_t *bytes)
{
    if (!cx)
        return LLF_E_ARG;
    if (!program || !text || !bytes)
        return llfi_fail(&cx->diag, LLF_E_ARG, "llf_plan_export: a null argument");
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llf_status st = llfi_plan_print(program->graph, &program->plan, &s);
    if (st == LLF_OK && !s.failed) {
        *text = llfi_resize(&cx->mem, s.at, s.cap, s.len + 1);
        if (*text) {
            *bytes = s.len;
            return LLF_OK;
        }
    }
    llfi_str_free(&s);
    *text = NULL;
    *bytes = 0;
    return st != LLF_OK && st != LLF_E_NOMEM
               ? llfi_fail(&cx->diag, st, "llf_plan_export: the plan cannot be printed")
               : llfi_nomem(&cx->diag);
}
