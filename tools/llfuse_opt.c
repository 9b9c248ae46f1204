/* llfuse_opt.c: runs named passes over a .llf file and prints the graph or the plan; or compiles it and
 * prints what LLVM makes. It holds no compiler logic of its own. */
#include "jit/jit.h"
#include "tools/cli.h"

#include <stdlib.h>

typedef struct {
    const char *file, *passes, *target, *heuristic, *set, *emit;
    bool list_passes, help, help_env, version;
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
    {"--set", "k=v,...", "fusion parameters", cli_text, AT(set)},
    {"--list-passes", NULL, "names and meanings of the passes", cli_flag, AT(list_passes)},
    {"--help", NULL, "this text", cli_flag, AT(help)},
    {"--help-env", NULL, "the environment variables", cli_flag, AT(help_env)},
    {"--version", NULL, "versions of llfuse and LLVM, and the commit", cli_flag, AT(version)},
};
#undef AT

static const cli_command command = {
    .name = "llfuse-opt",
    .usage = "usage: llfuse-opt [option...] FILE.llf|-\n"
             "Runs passes over a graph and prints it, or what is compiled from it.\n\n",
    .notes = "",
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

static bool parse(int argc, char **argv, args *a, char *error, size_t size)
{
    uint32_t files;
    const char **file = calloc((size_t)argc + 1, sizeof *file);
    bool fine = false;
    if (!file)
        snprintf(error, size, "out of host memory");
    else if (!cli_parse(&command, argc, argv, a, file, &files, error, size))
        ;
    else if (files > 1)
        snprintf(error, size, "a second file, '%s'; see --help", file[1]);
    else if (!files && !a->list_passes && !a->help && !a->help_env && !a->version)
        snprintf(error, size, "no file; see --help");
    else
        fine = true;
    a->file = fine ? file[0] : NULL;
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

static llf_status options(llf_context *cx, const args *a, llfi_fuse_options *o)
{
    llf_options given = {.size = sizeof given, .heuristic = a->heuristic, .set = a->set};
    llfi_target t;
    if (a->target) /* its parameter limit counts */
        LLF_TRY(llfi_target_make(cx, a->target, &t));
    return llfi_options_fuse(&cx->diag, &given, a->target ? &t : NULL, o);
}

static llf_status passes_text(llf_context *cx, llf_graph *g, const args *a, llfi_str *s)
{
    llfi_passes_state state = {0};
    llfi_plan plan;
    llfi_plan_init(&plan, &cx->mem);
    llf_status st = options(cx, a, &state.fuse);
    if (st == LLF_OK)
        st = run_passes(cx, g, a->passes, &state, &plan);
    bool planned = st == LLF_OK && g->props & LLFI_P_PLANNED;
    bool want_plan = a->emit && strcmp(a->emit, "graph");
    if (st == LLF_OK && want_plan && !planned)
        st = llfi_fail(&cx->diag, LLF_E_ORDER, "--emit %s: the fuse pass did not run last", a->emit);
    if (st == LLF_OK && a->emit && !strcmp(a->emit, "explain"))
        st = llfi_plan_explain(cx, g, &plan, &state.fuse, s);
    else if (st == LLF_OK)
        st = planned && (want_plan || !a->emit) ? llfi_plan_print(g, &plan, s) : llfi_print(g, s, NULL, NULL);
    llfi_plan_destroy(&plan);
    return st;
}

static llf_status stage_text(llf_context *cx, llf_graph *g, const args *a, llfi_str *s)
{
    if (a->passes)
        return llfi_fail(&cx->diag, LLF_E_ARG,
                         "--passes cannot stand with --emit %s: compiling runs all passes", a->emit);
    bool nvptx = a->target && !strncmp(a->target, "nvptx", 5), ptx = !strcmp(a->emit, "ptx");
    if (ptx && !nvptx)
        return llfi_fail(&cx->diag, LLF_E_ARG, "--emit ptx needs --target nvptx");
    llf_options o = {.size = sizeof o, .target = a->target, .heuristic = a->heuristic, .set = a->set};
    llf_program *p = NULL;
    LLF_TRY(llf_compile(cx, g, &o, &p));
    llf_status st = LLF_OK;
    for (uint32_t k = 0; k < p->plan.kernels && st == LLF_OK; k++)
        st = llfi_program_emit(cx, p, k, ptx ? "asm" : a->emit, s);
    llf_program_destroy(p);
    return st;
}

static llf_status produce(llf_context *cx, const args *a, llfi_str *s)
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
    llf_graph *g = NULL;
    LLF_TRY(read_graph(cx, a->file, &g));
    llf_status st = a->emit && at >= 3 ? stage_text(cx, g, a, s) : passes_text(cx, g, a, s);
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
    llfi_str_init(&s, &cx->mem);
    llf_status st = produce(cx, a, &s);
    int code = st == LLF_OK ? CLI_DONE : failed(cx, st);
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
    return cli_finish(&command, code);
}
