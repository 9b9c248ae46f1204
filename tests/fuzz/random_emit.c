/* random_emit.c: the machine code of one random graph into a folder. Runs nothing. */
#include "random_emit.h"

#include "runtime/variant.h"

#include <errno.h>
#include <inttypes.h>

/* A kernel's name ends in the hash of what it does: who made it first is as good as any other. */
static bool write_module(const llfi_program_module *m, const char *folder, uint64_t seed,
                         const char *heuristic, llfi_str *report)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s.ptx", folder, m->name);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "wx") : NULL;
    if (!f && errno == EEXIST)
        return true;
    bool ok = f && fprintf(f, "// seed %" PRIu64 ", heuristic %s\n", seed, heuristic) > 0 &&
              fwrite(m->code.code, 1, m->code.bytes, f) == m->code.bytes;
    if (f && fclose(f))
        ok = false;
    if (!ok)
        llfi_str_printf(report, "seed %" PRIu64 ": cannot write %s\n", seed, path);
    return ok;
}

/* A kernel for strides of some of its inputs, on whose last axes it may count. */
static llf_status make_variant(llfi_variants *vs, const llf_program *p, rg_random *random, uint32_t strides,
                               llfi_variant *v)
{
    const llfi_schedule *s = &p->kernel[v->kernel].schedule;
    uint32_t *input = llfi_arena_alloc(&vs->arena, (p->graph->inputs.count + 1) * sizeof *input);
    int8_t *unit = llfi_arena_alloc(&vs->arena, p->graph->inputs.count + 1);
    if (!input || !unit)
        return LLF_E_NOMEM;
    v->input = input;
    v->unit = unit;
    for (uint32_t b = 0; b < p->graph->inputs.count; b++)
        for (uint32_t i = 0; i < s->args; i++) {
            uint32_t rank = llfi_type_of(p->graph, p->graph->inputs.at[b]).rank;
            if (s->arg[i].kind != LLFI_ARG_BUFFER || s->arg[i].ref != p->graph->inputs.at[b] ||
                !rg_chance(random, strides))
                continue;
            unit[v->inputs] = rank && rg_chance(random, 50) ? (int8_t)rg_below(random, rank) : -1;
            input[v->inputs++] = b;
        }
    return llfi_variant_make(vs, p, v);
}

static bool emit_variants(llf_context *cx, const llf_program *p, const char *heuristic, uint32_t strides,
                          const char *folder, uint64_t seed, llfi_str *report)
{
    llfi_variants vs = {.cx = *cx};
    rg_random random = rg_seeded(~seed);
    llf_status status = LLF_OK;
    bool ok = true;
    llfi_arena_init(&vs.arena, &vs.cx.mem);
    for (uint32_t k = 0; ok && k < p->plan.kernels; k++) {
        llfi_variant v = {.kernel = k};
        status = make_variant(&vs, p, &random, strides, &v);
        llfi_program_job job = {v.graph, &p->plan.kernel[k], &v.schedule, &v.module};
        if (status == LLF_OK)
            status = p->compile(cx, p, &job, 1);
        ok = status == LLF_OK && write_module(&v.module, folder, seed, heuristic, report);
        llfi_free(&p->mem, v.module.code.code, v.module.code.bytes + 1);
    }
    if (status != LLF_OK)
        llfi_str_printf(report, "seed %" PRIu64 ": a variant (heuristic %s): %s: %s\n", seed, heuristic,
                        llf_status_name(status), llf_last_error(cx)->message);
    llfi_dims_destroy(vs.dims);
    llfi_arena_destroy(&vs.arena);
    return ok;
}

static bool emit(llf_context *cx, const llf_graph *g, const char *target, const char *heuristic,
                 uint32_t strides, const char *folder, uint64_t seed, llfi_str *report)
{
    llf_options options = {
        .size = sizeof options, .target = target, .heuristic = heuristic, .compile_threads = 1};
    llf_program *p = NULL;
    if (llf_compile(cx, g, &options, &p) != LLF_OK) {
        llfi_str_printf(report, "seed %" PRIu64 ": llf_compile (heuristic %s): %s\n", seed, heuristic,
                        llf_last_error(cx)->message);
        return false;
    }
    bool ok = true;
    for (uint32_t m = 0; ok && m < p->modules; m++)
        ok = write_module(&p->module[m], folder, seed, heuristic, report);
    ok = ok && (!strides || emit_variants(cx, p, heuristic, strides, folder, seed, report));
    llf_program_destroy(p);
    return ok;
}

bool emit_graph(llf_context *cx, const char *target, const rg_limits *limits, uint32_t strides,
                const char *folder, uint64_t seed, llfi_str *report)
{
    static const char *const heuristics[] = {"greedy", "none", "primitive"};
    rg_binding binding;
    llf_graph *g = rg_graph(cx, seed, limits, &binding);
    if (!g)
        llfi_str_printf(report, "seed %" PRIu64 ": no graph: %s\n", seed, llf_last_error(cx)->message);
    bool ok = g;
    for (size_t i = 0; ok && i < LLFI_COUNT(heuristics); i++)
        ok = emit(cx, g, target, heuristics[i], strides, folder, seed, report);
    llf_graph_destroy(g);
    return ok;
}
