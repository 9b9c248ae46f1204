/* session.c: from a graph to an execution that is bound and ready; the one place of llfuse-bench that drives
 * the public API's compile, load, bind and prepare. */
#include "bench/bench.h"

#include "ir/float.h"

static llf_status carry(bench_run *r, const llf_execution *e, llf_status status)
{
    if (status != LLF_OK && e) {
        const llf_diagnostic *d = llf_execution_error(e);
        return llfi_fail(&r->cx->diag, status, "%s",
                         d && d->message[0] ? d->message : llf_status_text(status));
    }
    return status;
}

llf_options bench_session_options(const bench_run *r, const char *heuristic)
{
    return (llf_options){.size = sizeof(llf_options),
                         .target = r->target,
                         .heuristic = heuristic,
                         .set = r->params,
                         .compile_threads = r->opt->threads};
}

llf_status bench_compile(bench_run *r, const llf_graph *g, const char *heuristic, llf_program **p)
{
    bool given = !strcmp(heuristic, BENCH_PLAN);
    llf_options o = bench_session_options(r, given ? NULL : heuristic);
    return given ? llf_plan_import(r->cx, g, &o, r->plan, r->plan_bytes, r->opt->plan_in, p)
                 : llf_compile(r->cx, g, &o, p);
}

llf_status bench_session_open(bench_run *r, const llf_graph *g, const char *heuristic, bench_session *s)
{
    *s = (bench_session){0};
    double start = llfi_now_ms();
    LLF_TRY(bench_compile(r, g, heuristic, &s->program));
    s->compile_ms = llfi_now_ms() - start;
    LLF_TRY(llf_program_load(r->cx, s->program, r->device->load_arg, &s->loaded));
    return llf_execution_create(r->cx, s->loaded, &s->execution);
}

void bench_session_close(bench_session *s)
{
    llf_execution_destroy(s->execution);
    llf_loaded_destroy(s->loaded);
    llf_program_destroy(s->program);
    *s = (bench_session){0};
}

bool bench_shape(const llf_graph *g, llf_id id, const int64_t *symbol, llf_tensor *t, int64_t *numel)
{
    llfi_type type = llfi_type_of(g, id);
    *t = (llf_tensor){.dtype = type.dtype, .rank = type.rank};
    int64_t bytes;
    for (uint32_t i = 0; i < type.rank; i++)
        if (!llfi_dim_eval(g->dims, type.dim[i], symbol, &t->shape[i]))
            return false;
    return llfi_type_size(g, type, symbol, 1, numel) == LLF_OK &&
           llfi_type_size(g, type, symbol, llfi_dtypes[type.dtype].bytes, &bytes) == LLF_OK;
}

llf_status bench_session_bind(bench_run *r, llf_execution *e, const llf_graph *g, const int64_t *symbol,
                              void *const *buffer)
{
    uint32_t inputs = llf_graph_inputs(g), outputs = llf_graph_outputs(g);
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        llf_id id = i < inputs ? g->inputs.at[i] : g->outputs.at[i - inputs];
        llf_tensor t;
        int64_t numel;
        if (!bench_shape(g, id, symbol, &t, &numel))
            return llfi_fail(&r->cx->diag, LLF_E_LIMIT, "a tensor's size overflows");
        t.data = buffer[i];
        LLF_TRY(carry(r, e, llf_bind(e, i, &t)));
    }
    return carry(r, e, llf_prepare(e));
}
