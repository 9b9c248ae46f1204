/* import.c: a plan's text in place of a search: reads it, holds it to the graph, to what is legal and to what
 * the target's skeletons can do, and says where it fails. It optimises nothing and repairs nothing. */
#include "jit/jit.h"

/* Whatever is wrong with the text, it is no plan. */
static llf_status no_plan(llfi_diag *d, llf_status status)
{
    if (status == LLF_OK || status == LLF_E_NOMEM)
        return status;
    d->pub.status = LLF_E_PLAN;
    return LLF_E_PLAN;
}

llf_status llfi_import_text(llf_context *cx, const llfi_import *in, llf_graph **text)
{
    return no_plan(&cx->diag, llf_graph_parse(cx, in->text, in->bytes, in->file ? in->file : "<plan>", text));
}

llf_status llfi_import_options(const llf_graph *text, const llf_options *o, const llfi_target *t,
                               llfi_fuse_options *fuse)
{
    llfi_diag *d = &text->cx->diag;
    LLF_TRY(llfi_options_fuse(d, o, t, fuse));
    llfi_params_default(&fuse->params);
    LLF_TRY(llfi_plan_line_read(text, &fuse->params));
    return o->set ? llfi_params_set(d, &fuse->params, o->set) : LLF_OK;
}

/* Can each kernel be made? The demands of a kernel are counted here, exactly. */
static llf_status check_kernels(llf_graph *text, const llfi_plan *p, const llfi_target *t)
{
    llf_context *cx = text->cx;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    llf_status status = LLF_OK;
    for (uint32_t k = 0; k < p->kernels && status == LLF_OK; k++) {
        llfi_schedule s;
        llf_id at = p->kernel[k].store[0];
        status = llfi_schedule_make(cx, text, p, k, t, &arena, &s);
        if (status != LLF_OK && status != LLF_E_NOMEM)
            status = llfi_fail_at(
                &cx->diag, LLF_E_PLAN, llfi_place_of(text, at), NULL,
                "kernel k%u, of %s, cannot be made for %s: %s", k, llfi_show_value(text, at).text, t->name,
                status == LLF_E_LIMIT ? "it wants too many values under different index maps, or needs more "
                                        "argument bytes than the target's kernels may have"
                                      : cx->diag.message);
        llfi_arena_reset(&arena);
    }
    llfi_arena_destroy(&arena);
    return status;
}

llf_status llfi_import_plan(llf_graph *text, const llf_graph *g, const llfi_fuse_options *fuse,
                            const llfi_target *t, llfi_plan *plan)
{
    if (!g) {
        LLF_TRY(llfi_plan_read(text, fuse, plan));
        return check_kernels(text, plan, t);
    }
    llfi_plan read;
    llfi_plan_init(&read, plan->mem);
    llf_status status = llfi_plan_read(text, fuse, &read);
    if (status == LLF_OK)
        status = check_kernels(text, &read, t);
    if (status == LLF_OK)
        status = llfi_plan_move(text, &read, g, plan);
    llfi_plan_destroy(&read);
    return status;
}

/* All passes but the one that plans. */
static llf_status optimise(llf_program *p, llfi_passes_state *state)
{
    const char *name[LLFI_COUNT(state->time)];
    size_t count = 0;
    for (size_t i = 0; i < llfi_passes_count && count < LLFI_COUNT(name); i++)
        if (!(llfi_passes[i].makes & LLFI_P_PLANNED))
            name[count++] = llfi_passes[i].name;
    return llfi_passes_run(&p->cx, p->graph, name, count, state, &p->plan);
}

llf_status llfi_import_run(llf_program *p, const llf_options *o, const llfi_import *in,
                           llfi_passes_state *state)
{
    llf_graph *text = NULL;
    bool alone = !p->graph;
    LLF_TRY(llfi_import_text(&p->cx, in, &text));
    llf_status status = llfi_import_options(text, o, &p->target, &state->fuse);
    if (status == LLF_OK && !alone)
        status = optimise(p, state);
    if (status == LLF_OK)
        status = llfi_import_plan(text, p->graph, &state->fuse, &p->target, &p->plan);
    if (alone)
        p->graph = text; /* the program's, whatever became of it */
    else
        llf_graph_destroy(text);
    if (status == LLF_OK)
        p->graph->props |= LLFI_P_PRIMITIVE | LLFI_P_OUTPUTS | LLFI_P_PLANNED;
    return status;
}

llf_status llf_plan_import(llf_context *cx, const llf_graph *g, const llf_options *given, const char *text,
                           size_t bytes, const char *file, llf_program **out)
{
    if (!cx)
        return LLF_E_ARG;
    if (!text || !out)
        return llfi_fail(&cx->diag, LLF_E_ARG, "llf_plan_import: null %s", !text ? "text" : "result");
    return llfi_compile(cx, g, given, &(llfi_import){text, bytes, file}, out);
}
