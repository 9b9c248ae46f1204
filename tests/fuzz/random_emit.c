/* random_emit.c: the machine code of one random graph into a folder. Runs nothing. */
#include "random_emit.h"

#include "runtime/program.h"

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

static bool emit(llf_context *cx, const llf_graph *g, const char *target, const char *heuristic,
                 const char *folder, uint64_t seed, llfi_str *report)
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
    llf_program_destroy(p);
    return ok;
}

bool emit_graph(llf_context *cx, const char *target, uint32_t views, const char *folder, uint64_t seed,
                llfi_str *report)
{
    static const char *const heuristics[] = {"greedy", "none", "primitive"};
    rg_binding binding;
    rg_limits limits = rg_default_limits;
    limits.views = views;
    llf_graph *g = rg_graph(cx, seed, &limits, &binding);
    if (!g)
        llfi_str_printf(report, "seed %" PRIu64 ": no graph: %s\n", seed, llf_last_error(cx)->message);
    bool ok = g;
    for (size_t i = 0; ok && i < LLFI_COUNT(heuristics); i++)
        ok = emit(cx, g, target, heuristics[i], folder, seed, report);
    llf_graph_destroy(g);
    return ok;
}
