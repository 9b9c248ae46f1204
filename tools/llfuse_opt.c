/* llfuse_opt.c: runs named passes over a .llf file and prints the graph or the plan; or compiles it and
 * prints what LLVM makes. It holds no compiler logic of its own. */
#include "jit/jit.h"
#include "tools/cli.h"

#include <errno.h>
#include <stdlib.h>

typedef struct {
    const char *file, *passes, *target, *heuristic, *emit, *plan_in, *plan_out;
    const char *other; /* second file of --plan-diff */
    llfi_str param;    /* "name=value,...": what --param gave */
    bool plan_diff, list_passes, help, help_env, version;
} args;

#define AT(field) .at = offsetof(args, field)
static const cli_option table[] = {
    {"--passes", "a,b,c", "the passes to run, in that order (default: all; \"\": none)", cli_text,
     AT(passes)},
    {"--emit", "STAGE",
     "graph, plan, explain, llvm, llvm-opt, ptx or asm\n(default: plan once fuse ran, else graph)", cli_text,
     AT(emit)},
    {"--target", "T", "host (default), nvptx, nvptx:sm_80, nvptx:sm_90a+ptx83", cli_text, AT(target)},
    {"--heuristic", "H", cli_heuristics, cli_text, AT(heuristic)},
    {"--param", "NAME=N,...", "fusion parameters, below; may be repeated", cli_param, AT(param)},
    {"--plan-out", "FILE", "write the plan, for --plan-in", cli_text, AT(plan_out)},
    {"--plan-in", "FILE", "take this plan instead of searching; without FILE.llf its own graph", cli_text,
     AT(plan_in)},
    {"--plan-diff", NULL, "say how the plans of two files differ; exit 0: they are equal, 1: they are not",
     cli_flag, AT(plan_diff)},
    {"--list-passes", NULL, "names and meanings of the passes", cli_flag, AT(list_passes)},
    {"--help", NULL, "this text", cli_flag, AT(help)},
    {"--help-env", NULL, "the environment variables", cli_flag, AT(help_env)},
    {"--version", NULL, "versions of llfuse and LLVM, and the commit", cli_flag, AT(version)},
};
#undef AT

static const cli_command command = {
    .name = "llfuse-opt",
    .usage = "usage: llfuse-opt [option...] FILE.llf|-\n"
             "       llfuse-opt --plan-diff A.llf B.llf\n"
             "Runs passes over a graph and prints it, or what is compiled from it.\n\n",
    .notes = "",
    .params = true,
    .option = table,
    .options = LLFI_COUNT(table),
};

static void list_passes(void)
{
    for (size_t i = 0; i < llfi_passes_count; i++)
        printf("%-10s %s\n", llfi_passes[i].name, llfi_passes[i].meaning);
}

static int failed(const llf_context *cx, llf_status st)
{
    const llf_diagnostic *d = llf_last_error(cx);
    fprintf(stderr, "llfuse-opt: %s\n", d && d->message && d->message[0] ? d->message : llf_status_text(st));
    return cli_exit_of(st);
}

static bool diff_fits(const args *a, uint32_t files, char *error, size_t size)
{
    if (files != 2)
        snprintf(error, size, "--plan-diff takes two files, not %u", files);
    else if (a->plan_in || a->plan_out || a->emit || a->passes || a->heuristic)
        snprintf(error, size, "--plan-diff stands with --target and --param alone");
    else
        return true;
    return false;
}

static bool parse(int argc, char **argv, args *a, char *error, size_t size)
{
    uint32_t files;
    const char **file = calloc((size_t)argc + 1, sizeof *file);
    bool fine = false;
    if (!file)
        snprintf(error, size, "out of host memory");
    else if (!cli_parse(&command, argc, argv, a, file, &files, error, size))
        ;
    else if (a->plan_diff)
        fine = diff_fits(a, files, error, size);
    else if (files > 1)
        snprintf(error, size, "a second file, '%s'; see --help", file[1]);
    else if (!files && !a->plan_in && !a->list_passes && !a->help && !a->help_env && !a->version)
        snprintf(error, size, "no file; see --help");
    else
        fine = true;
    a->file = fine && files ? file[0] : NULL;
    a->other = fine && a->plan_diff ? file[1] : NULL;
    free(file);
    return fine;
}

static llf_status read_stdin(llf_context *cx, llfi_str *s)
{
    char block[65536];
    size_t n;
    while ((n = fread(block, 1, sizeof block, stdin)) > 0) {
        llfi_str_add(s, block, n);
        if (s->failed || s->len > LLFI_MAX_FILE)
            return s->failed ? llfi_nomem(&cx->diag) : llfi_fail(&cx->diag, LLF_E_LIMIT, "stdin: too long");
    }
    return ferror(stdin) ? llfi_fail(&cx->diag, LLF_E_IO, "stdin: cannot be read") : LLF_OK;
}

static llf_status read_graph(llf_context *cx, const char *file, llf_graph **g)
{
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    char *text = NULL;
    size_t bytes = 0;
    bool from_stdin = !strcmp(file, "-");
    llf_status st = from_stdin ? read_stdin(cx, &s)
                               : llfi_read_file(&cx->mem, &cx->diag, file, LLFI_MAX_FILE, &text, &bytes);
    if (st == LLF_OK)
        st = llf_graph_parse(cx, from_stdin ? (s.at ? s.at : "") : text, from_stdin ? s.len : bytes,
                             from_stdin ? "<stdin>" : file, g);
    if (text)
        llfi_free(&cx->mem, text, bytes + 1);
    llfi_str_free(&s);
    return st;
}

/* Splits "a,b" in place; NULL: all passes. */
static llf_status run_passes(llf_context *cx, llf_graph *g, const char *list, llfi_passes_state *state,
                             llfi_plan *plan)
{
    const char *name[64];
    char copy[1024];
    size_t n = 0;
    if (!list)
        return llfi_passes_run(cx, g, NULL, 0, state, plan);
    if (strlen(list) >= sizeof copy)
        return llfi_fail(&cx->diag, LLF_E_ARG, "--passes: too long");
    strcpy(copy, list);
    char *save = NULL;
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        if (n == LLFI_COUNT(name))
            return llfi_fail(&cx->diag, LLF_E_ARG, "--passes: more than %zu passes", LLFI_COUNT(name));
        name[n++] = p;
    }
    return llfi_passes_run(cx, g, name, n, state, plan);
}

static const char *params(const args *a)
{
    return a->param.len ? a->param.at : NULL;
}

/* ---- plans */

static llf_status read_text(llf_context *cx, const char *file, char **text, size_t *bytes)
{
    return llfi_read_file(&cx->mem, &cx->diag, file, LLFI_MAX_FILE, text, bytes);
}

static llf_status write_plan(llf_context *cx, const char *file, const llfi_str *s)
{
    FILE *f = fopen(file, "w");
    bool fine = f && fwrite(s->at, 1, s->len, f) == s->len;
    fine = f && !fclose(f) && fine;
    return fine ? LLF_OK
                : llfi_fail(&cx->diag, LLF_E_IO, "--plan-out %s: cannot be written: %s", file,
                            strerror(errno));
}

static llf_status plan_out(llf_context *cx, const llf_graph *g, const llfi_plan *plan, const char *target,
                           const llfi_params *p, const char *file)
{
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llf_status st = llfi_plan_write(g, plan, target, p, &s);
    if (st == LLF_OK && s.failed)
        st = llfi_nomem(&cx->diag);
    if (st == LLF_OK)
        st = write_plan(cx, file, &s);
    llfi_str_free(&s);
    return st;
}

/* Symbols that `; set` names. */
static int64_t *symbols(const llf_graph *g, llfi_arena *arena)
{
    uint32_t n = llfi_dims_symbols(g->dims), known = 0;
    int64_t *value = llfi_arena_alloc(arena, (n + 1) * sizeof *value);
    for (uint32_t s = 0; value && s < n; s++) {
        const char *name = llfi_dims_symbol_name(g->dims, s);
        size_t bytes = strlen(name);
        value[s] = -1;
        for (size_t i = 0; i < g->directives.count; i++) {
            const char *at = llfi_name(g, g->directives.at[i]);
            bool set = !strncmp(at, "set ", 4);
            while (set && *at) {
                at += strcspn(at, " ");
                at += strspn(at, " ");
                if (!strncmp(at, name, bytes) && at[bytes] == '=')
                    value[s] = strtoll(at + bytes + 1, NULL, 10);
            }
        }
        known += value[s] >= 0;
    }
    return known == n ? value : NULL;
}

static llf_status read_side(llf_context *cx, const args *a, const char *file, llf_graph **g, llfi_plan *plan)
{
    char *text = NULL;
    size_t bytes = 0;
    llfi_fuse_options o;
    llf_options given = {.size = sizeof given, .set = params(a)};
    LLF_TRY(read_text(cx, file, &text, &bytes));
    llf_status st = llfi_import_text(cx, &(llfi_import){text, bytes, file}, g);
    llfi_free(&cx->mem, text, bytes + 1);
    llfi_target t;
    if (st == LLF_OK && a->target)
        st = llfi_target_make(cx, a->target, &t);
    if (st == LLF_OK)
        st = llfi_import_options(*g, &given, a->target ? &t : NULL, &o);
    if (st == LLF_OK && !a->target)
        o.param_bytes = 0; /* of no target: no limit */
    return st == LLF_OK ? llfi_plan_read(*g, &o, plan) : st;
}

static llf_status diff_text(llf_context *cx, const args *a, llfi_str *s, bool *equal)
{
    llf_graph *g[2] = {NULL, NULL};
    llfi_plan plan[2];
    llfi_arena arena;
    llf_status st = LLF_OK;
    llfi_arena_init(&arena, &cx->mem);
    for (size_t i = 0; i < 2; i++)
        llfi_plan_init(&plan[i], &cx->mem);
    for (size_t i = 0; i < 2 && st == LLF_OK; i++)
        st = read_side(cx, a, i ? a->other : a->file, &g[i], &plan[i]);
    if (st == LLF_OK)
        st = llfi_plan_diff(&(llfi_plan_side){a->file, g[0], &plan[0], symbols(g[0], &arena)},
                            &(llfi_plan_side){a->other, g[1], &plan[1], symbols(g[1], &arena)}, s, equal);
    for (size_t i = 0; i < 2; i++) {
        llfi_plan_destroy(&plan[i]);
        llf_graph_destroy(g[i]);
    }
    llfi_arena_destroy(&arena);
    return st;
}

/* ---- what is asked for */

static llf_status options(llf_context *cx, const args *a, llfi_fuse_options *o, llfi_target *t)
{
    llf_options given = {.size = sizeof given, .heuristic = a->heuristic, .set = params(a)};
    if (a->target) /* its parameter limit counts */
        LLF_TRY(llfi_target_make(cx, a->target, t));
    return llfi_options_fuse(&cx->diag, &given, a->target ? t : NULL, o);
}

static llf_status passes_text(llf_context *cx, llf_graph *g, const args *a, llfi_str *s)
{
    llfi_passes_state state = {0};
    llfi_plan plan;
    llfi_target t;
    llfi_plan_init(&plan, &cx->mem);
    llf_status st = options(cx, a, &state.fuse, &t);
    if (st == LLF_OK)
        st = run_passes(cx, g, a->passes, &state, &plan);
    bool planned = st == LLF_OK && g->props & LLFI_P_PLANNED;
    bool want_plan = a->emit && strcmp(a->emit, "graph");
    if (st == LLF_OK && (want_plan || a->plan_out) && !planned)
        st = llfi_fail(&cx->diag, LLF_E_ORDER, "%s %s: the fuse pass did not run last",
                       want_plan ? "--emit" : "--plan-out", want_plan ? a->emit : a->plan_out);
    if (st == LLF_OK && a->plan_out)
        st = plan_out(cx, g, &plan, a->target ? t.name : NULL, &state.fuse.params, a->plan_out);
    if (st == LLF_OK && a->emit && !strcmp(a->emit, "explain"))
        st = llfi_plan_explain(cx, g, &plan, &state.fuse, s);
    else if (st == LLF_OK)
        st = planned && (want_plan || !a->emit) ? llfi_plan_print(g, &plan, s) : llfi_print(g, s, NULL, NULL);
    llfi_plan_destroy(&plan);
    return st;
}

/* What a compiled program is asked for. */
static llf_status program_text(llf_context *cx, const llf_program *p, const args *a, llfi_str *s)
{
    const char *emit = a->emit ? a->emit : "plan";
    llf_status st = LLF_OK;
    if (a->plan_out)
        LLF_TRY(plan_out(cx, p->graph, &p->plan, a->target ? p->target.name : NULL, &p->params, a->plan_out));
    if (!strcmp(emit, "graph"))
        return llfi_print(p->graph, s, NULL, NULL);
    if (!strcmp(emit, "plan"))
        return llfi_plan_print(p->graph, &p->plan, s);
    if (!strcmp(emit, "explain")) {
        llfi_fuse_options o;
        llfi_fuse_options_default(&o);
        o.params = p->params;
        o.param_bytes = p->target.param_bytes;
        return llfi_plan_explain(cx, p->graph, &p->plan, &o, s);
    }
    for (uint32_t k = 0; k < p->plan.kernels && st == LLF_OK; k++)
        st = llfi_program_emit(cx, p, k, strcmp(emit, "ptx") ? emit : "asm", s);
    return st;
}

/* Compiles; `g` NULL: the graph of --plan-in. */
static llf_status stage_text(llf_context *cx, llf_graph *g, const args *a, llfi_str *s)
{
    if (a->passes)
        return llfi_fail(&cx->diag, LLF_E_ARG, "--passes cannot stand with %s%s: compiling runs all passes",
                         a->plan_in ? "--plan-in" : "--emit ", a->plan_in ? "" : a->emit);
    bool nvptx = a->target && !strncmp(a->target, "nvptx", 5);
    if (a->emit && !strcmp(a->emit, "ptx") && !nvptx)
        return llfi_fail(&cx->diag, LLF_E_ARG, "--emit ptx needs --target nvptx");
    llf_options o = {.size = sizeof o, .target = a->target, .heuristic = a->heuristic, .set = params(a)};
    llf_program *p = NULL;
    char *text = NULL;
    size_t bytes = 0;
    if (a->plan_in)
        LLF_TRY(read_text(cx, a->plan_in, &text, &bytes));
    llf_status st =
        a->plan_in ? llf_plan_import(cx, g, &o, text, bytes, a->plan_in, &p) : llf_compile(cx, g, &o, &p);
    if (text)
        llfi_free(&cx->mem, text, bytes + 1);
    if (st == LLF_OK)
        st = program_text(cx, p, a, s);
    llf_program_destroy(p);
    return st;
}

static llf_status produce(llf_context *cx, const args *a, llfi_str *s, bool *equal)
{
    static const char *const stages[] = {"graph", "plan", "explain", "llvm", "llvm-opt", "ptx", "asm"};
    size_t at = 0;
    while (a->emit && at < LLFI_COUNT(stages) && strcmp(stages[at], a->emit))
        at++;
    if (at == LLFI_COUNT(stages))
        return llfi_fail(&cx->diag, LLF_E_ARG,
                         "--emit \"%.64s\": not one of graph, plan, explain, llvm, llvm-opt, ptx, asm",
                         a->emit);
    LLF_TRY(llf_context_status(cx));
    if (a->plan_diff)
        return diff_text(cx, a, s, equal);
    llf_graph *g = NULL;
    if (a->file)
        LLF_TRY(read_graph(cx, a->file, &g));
    llf_status st = a->plan_in || (a->emit && at >= 3) ? stage_text(cx, g, a, s) : passes_text(cx, g, a, s);
    if (st == LLF_OK && s->failed)
        st = llfi_nomem(&cx->diag);
    llf_graph_destroy(g);
    return st;
}

static int run(const args *a)
{
    llf_context *cx = llf_context_create(NULL);
    if (!cx) {
        fputs("llfuse-opt: out of host memory\n", stderr);
        return CLI_FAILED;
    }
    llfi_str s;
    bool equal = true;
    llfi_str_init(&s, &cx->mem);
    llf_status st = produce(cx, a, &s, &equal);
    int code = st != LLF_OK ? failed(cx, st) : equal ? CLI_DONE : CLI_FAILED;
    if (st == LLF_OK && s.len)
        fwrite(s.at, 1, s.len, stdout);
    llfi_str_free(&s);
    llf_context_destroy(cx);
    return code;
}

int main(int argc, char **argv)
{
    args a = {0};
    char error[512];
    int code = CLI_DONE;
    if (!parse(argc, argv, &a, error, sizeof error)) {
        fprintf(stderr, "llfuse-opt: %s\n", error);
        code = CLI_USAGE;
    } else if (a.help) {
        cli_help(&command, stdout);
    } else if (a.help_env) {
        cli_help_env(stdout);
    } else if (a.version) {
        cli_version(&command, stdout);
    } else if (a.list_passes) {
        list_passes();
    } else {
        code = run(&a);
    }
    if (a.param.mem)
        llfi_str_free(&a.param);
    return cli_finish(&command, code);
}
