/* lower_run.h: runs a graph on the CPU through the public interface. N of rank-1 inputs is `n`. */
#ifndef LOWER_RUN_H
#define LOWER_RUN_H

#include "lower_graph.h"

#define RUN_OK(expr)                                                   \
    do {                                                               \
        if ((expr) != LLF_OK)                                          \
            fail_msg("%s: %s", #expr, llf_last_error(f->cx)->message); \
    } while (0)

static inline void run_bind(fixture *f, llf_execution *e, uint32_t index, llf_id node, int64_t n,
                            const void *data)
{
    llfi_type t = llfi_type_of(f->g, node);
    llf_tensor tensor = {.data = (void *)(uintptr_t)data, .dtype = t.dtype, .rank = t.rank, .shape = {n}};
    RUN_OK(llf_bind(e, index, &tensor));
}

static inline void run_host(fixture *f, int64_t n, const void *const *in, void *const *out)
{
    llf_program *p;
    llf_loaded *l;
    llf_execution *e;
    const llf_options options = {.size = sizeof options, .target = "host", .compile_threads = 1};
    RUN_OK(llf_compile(f->cx, f->g, &options, &p));
    RUN_OK(llf_program_load(f->cx, p, 1, &l));
    RUN_OK(llf_execution_create(f->cx, l, &e));
    uint32_t inputs = (uint32_t)f->g->inputs.count;
    for (uint32_t i = 0; i < inputs; i++)
        run_bind(f, e, i, f->g->inputs.at[i], n, in[i]);
    for (uint32_t i = 0; i < f->g->outputs.count; i++)
        run_bind(f, e, inputs + i, f->g->outputs.at[i], n, out[i]);
    if (llf_prepare(e) != LLF_OK || llf_run(e, NULL) != LLF_OK)
        fail_msg("%s", llf_execution_error(e)->message);
    llf_execution_destroy(e);
    llf_loaded_destroy(l);
    llf_program_destroy(p);
}

#endif
