/* inspect.c: --explain and --emit: what was decided and what was generated, as text. Nothing is run. */
#include "bench/bench.h"

#include "jit/jit.h"

static llf_status compile(bench_run *r, const bench_case *k, const char *heuristic, llf_graph **g,
                          llf_program **p)
{
    LLF_TRY(llf_graph_parse(r->cx, k->text, k->bytes, k->file, g));
    return bench_compile(r, *g, heuristic, p);
}

static llf_status explain_one(bench_run *r, const bench_case *k, const char *heuristic, llfi_str *out)
{
    llf_graph *g = NULL;
    llf_program *p = NULL;
    llf_options given = bench_session_options(r, strcmp(heuristic, BENCH_PLAN) ? heuristic : NULL);
    llfi_fuse_options o;
    llf_status status = compile(r, k, heuristic, &g, &p);
    if (status == LLF_OK)
        status = llfi_options_fuse(&r->cx->diag, &given, &p->target, &o);
    if (status == LLF_OK) {
        llfi_str_printf(out, "%s, heuristic %s, target %s\n", k->name, heuristic, p->target.name);
        status = llfi_plan_explain(r->cx, p->graph, &p->plan, &o, out);
    }
    llf_program_destroy(p);
    if (g)
        llf_graph_destroy(g);
    return status;
}

static llf_status emit_one(bench_run *r, const bench_case *k, const char *heuristic, llfi_str *out)
{
    llf_graph *g = NULL;
    llf_program *p = NULL;
    const char *stage = r->opt->emit;
    llf_status status = compile(r, k, heuristic, &g, &p);
    if (status == LLF_OK && !strcmp(stage, "plan"))
        status = llfi_plan_print(p->graph, &p->plan, out);
    else if (status == LLF_OK && !strcmp(stage, "ptx") && p->target.backend != &llfi_backend_nvptx)
        status = llfi_fail(&r->cx->diag, LLF_E_ARG, "--emit ptx needs --target nvptx; %s has --emit asm",
                           p->target.name);
    else if (status == LLF_OK)
        for (uint32_t i = 0; i < p->plan.kernels && status == LLF_OK; i++)
            status = llfi_program_emit(r->cx, p, i, strcmp(stage, "ptx") ? stage : "asm", out);
    llf_program_destroy(p);
    if (g)
        llf_graph_destroy(g);
    return status;
}

llf_status bench_explain(bench_run *r, const bench_case *k, llfi_str *out)
{
    for (uint32_t i = 0; i < r->opt->heuristics; i++) {
        llfi_str_puts(out, i ? "\n" : "");
        LLF_TRY(explain_one(r, k, r->opt->heuristic[i], out));
    }
    return LLF_OK;
}

llf_status bench_emit(bench_run *r, const bench_case *k, llfi_str *out)
{
    for (uint32_t i = 0; i < r->opt->heuristics; i++)
        LLF_TRY(emit_one(r, k, r->opt->heuristic[i], out));
    return LLF_OK;
}
