/* program.c: a program's life and what can be asked of it. A program is immutable once llf_compile has
 * returned it: nothing here may write to one, save its reference count. */
#include "runtime/program.h"

llf_program *llfi_program_create(const llf_context *cx)
{
    llf_program *p = llfi_alloc_zero(&cx->mem, sizeof *p);
    if (!p)
        return NULL;
    p->mem = cx->mem;
    /* A copy, so that graph, plan and arena refer to an allocator that lives as long as they. */
    p->cx = *cx;
    memset(&p->cx.diag, 0, sizeof p->cx.diag);
    llfi_arena_init(&p->arena, &p->cx.mem);
    llfi_plan_init(&p->plan, &p->cx.mem);
    atomic_init(&p->refs, 1);
    return p;
}

/* Immutable but for the count, which is what const cannot say. */
static atomic_int *refs(const llf_program *p)
{
    return (atomic_int *)(uintptr_t)&p->refs;
}

void llfi_program_retain(const llf_program *p)
{
    atomic_fetch_add_explicit(refs(p), 1, memory_order_relaxed);
}

void llf_program_destroy(llf_program *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    llf_allocator mem = p->mem;
    for (uint32_t i = 0; i < p->modules; i++)
        llfi_free(&mem, p->module[i].code.code, p->module[i].code.bytes + 1);
    llfi_plan_destroy(&p->plan);
    llf_graph_destroy(p->graph);
    llfi_arena_destroy(&p->arena);
    llfi_free(&mem, p, sizeof *p);
}

/* The demands of a kernel's part. */
static const llfi_demands *demands_of(const llf_program *p, uint32_t kernel, uint32_t part)
{
    const llfi_schedule *s = &p->kernel[kernel].schedule;
    for (uint32_t i = 0; s->parts && i < s->parts->rows; i++)
        if (s->parts->row[i].part == part)
            return s->parts->row[i].schedule.demands;
    return s->demands;
}

/* Does the kernel read this value only where it stores, element by element? */
static bool reads_in_place(const llfi_demands *list, llf_id node)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i].node == node && list->at[i].leaf &&
            (list->at[i].offset != LLFI_OFFSET_LINEAR || list->at[i].scope == 0))
            return false;
    return true;
}

bool llfi_program_inplace(const llf_program *p, uint32_t input, uint32_t output)
{
    uint32_t end = p->read_end[input], by = p->stored_by[output];
    if (end <= by) /* every reader comes before the writer */
        return true;
    if (end != by + 1)
        return false;
    /* Read and written by one kernel: each element by one thread, which reads it first, when both are indexed
     * alike and the iteration space is theirs. */
    uint32_t part = p->stored_part[output];
    const llfi_kernel *k = llfi_kernel_part(&p->plan.kernel[by], part);
    llfi_type in = llfi_type_of(p->graph, p->graph->inputs.at[input]);
    llfi_type out = llfi_type_of(p->graph, p->graph->outputs.at[output]);
    return p->read_part[input] == part &&
           reads_in_place(demands_of(p, by, part), p->graph->inputs.at[input]) &&
           llf_dtype_size(in.dtype) == llf_dtype_size(out.dtype) && llfi_type_same_dims(in, out) &&
           llfi_type_same_dims(out, llfi_type_at(p->graph, k->space));
}

/* The graph is printed from a clone in the caller's context: diagnostics go there, and the program stays
 * untouched. */
llf_status llf_plan_export(llf_context *cx, const llf_program *p, char **text, size_t *bytes)
{
    if (!cx)
        return LLF_E_ARG;
    if (!p || !text || !bytes)
        return llfi_fail(&cx->diag, LLF_E_ARG, "llf_plan_export: null %s", !p ? "program" : "result");
    *text = NULL;
    *bytes = 0;
    llf_graph *g = llfi_graph_clone(p->graph, cx);
    if (!g)
        return llfi_nomem(&cx->diag);
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llf_status status = llfi_plan_write(g, &p->plan, p->target.name, &p->params, &s);
    if (status == LLF_OK && !llfi_str_take(&s, text, bytes))
        status = llfi_nomem(&cx->diag);
    llfi_str_free(&s);
    llf_graph_destroy(g);
    return status;
}
