/* run.c: the pass loop: checks preconditions, runs, times, verifies, dumps, resets scratch. It knows no pass
 * by name but through passes.def, and must not change a graph itself. */
#include "pass.h"

const llfi_pass_info llfi_passes[] = {
#define PASS(id, text, ...) {.name = #id, .meaning = text, .run = llfi_pass_##id, __VA_ARGS__},
#include "passes.def"
#undef PASS
};
const size_t llfi_passes_count = LLFI_COUNT(llfi_passes);

static const llfi_pass_info *find(const char *name)
{
    for (size_t i = 0; i < llfi_passes_count; i++)
        if (!strcmp(llfi_passes[i].name, name))
            return &llfi_passes[i];
    return NULL;
}

static llf_status unknown(llf_context *cx, const char *name)
{
    char legal[256] = "";
    for (size_t i = 0; i < llfi_passes_count; i++)
        llfi_diag_list(legal, sizeof legal, llfi_passes[i].name);
    return llfi_fail(&cx->diag, LLF_E_ARG, "no pass is named \"%.64s\"; the passes are %s", name, legal);
}

/* Names of the missing properties, for the message of E_ORDER. */
static llf_status unmet(llf_context *cx, const llfi_pass_info *pi, uint32_t missing)
{
    return llfi_fail(&cx->diag, LLF_E_ORDER, "%s: unmet precondition:%s%s%s", pi->name,
                     missing & LLFI_P_TYPED ? " types" : "",
                     missing & LLFI_P_PRIMITIVE ? " no composites (run decompose)" : "",
                     missing & LLFI_P_OUTPUTS ? " a node for each output (run outputs)" : "");
}

static llf_status dump(llf_context *cx, size_t index, const llfi_pass_info *pi, const llf_graph *g,
                       const llfi_plan *plan)
{
    if (!cx->dump_dir)
        return LLF_OK;
    char name[64];
    snprintf(name, sizeof name, "%03zu-%s.llf", index, pi->name);
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llf_status st = g->props & LLFI_P_PLANNED ? llfi_plan_print(g, plan, &s) : llfi_print(g, &s, NULL, NULL);
    if (st == LLF_OK && s.failed)
        st = llfi_nomem(&cx->diag);
    if (st == LLF_OK)
        st = llfi_dump(cx, name, s.at, s.len);
    llfi_str_free(&s);
    return st;
}

static llf_status run_one(llfi_pass *p, llf_graph *g, size_t index, llfi_passes_state *state)
{
    const llfi_pass_info *pi = p->info;
    if ((g->props & pi->needs) != pi->needs)
        return unmet(p->cx, pi, pi->needs & ~g->props);
    double start = llfi_now_ms();
    LLF_TRY(pi->run(p, g));
    double ms = llfi_now_ms() - start;
    /* A pass that may have changed the graph leaves no plan that covers it. */
    g->props = (g->props & ~(pi->breaks | LLFI_P_PLANNED)) | pi->makes;
    if (state->times < LLFI_COUNT(state->time))
        state->time[state->times++] = (llfi_pass_time){pi->name, ms};
    LLF_TRY(llfi_verify(g));
    if (g->props & LLFI_P_PLANNED)
        LLF_TRY(llfi_plan_verify(g, p->plan));
    llfi_log(p->cx, LLFI_LOG_PERF, "pass %s %.3f ms, %zu nodes", pi->name, ms, g->nodes.count);
    return dump(p->cx, index, pi, g, p->plan);
}

llf_status llfi_passes_run(llf_context *cx, llf_graph *g, const char *const *names, size_t count,
                           llfi_passes_state *state, llfi_plan *plan)
{
    if (g->poisoned != LLF_OK)
        return g->poisoned;
    if (!names)
        count = llfi_passes_count;
    llfi_arena scratch;
    llfi_arena_init(&scratch, &cx->mem);
    llf_status st = llfi_guards_name(g);
    for (size_t i = 0; i < count && st == LLF_OK; i++) {
        const llfi_pass_info *pi = names ? find(names[i]) : &llfi_passes[i];
        if (!pi) {
            st = unknown(cx, names[i]);
            break;
        }
        llfi_pass p = {cx, &scratch, pi, &state->fuse, plan, state->fired};
        st = run_one(&p, g, i, state);
        llfi_arena_reset(&scratch);
    }
    llfi_arena_destroy(&scratch);
    return st;
}
