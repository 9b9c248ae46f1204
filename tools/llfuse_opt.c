/* llfuse_opt.c: runs named passes over a .llf file and prints the graph or the plan; or compiles it and
 * prints what LLVM makes. It holds no compiler logic of its own. Exit codes: 0 done, 2 bad usage or input, 3
 * no such target here, 1 the rest. */
#include "jit/jit.h"

#include <stdlib.h>

typedef struct {
    const char *file, *passes, *target, *heuristic, *set, *emit;
} args;

static int usage(FILE *to)
{
    fputs("usage: llfuse-opt FILE.llf|- [options]\n"
          "Runs passes over a graph and prints it.\n"
          "  --passes a,b,c    the passes to run, in that order (default: all; \"\": none)\n"
          "  --emit STAGE      graph, plan, explain, llvm, llvm-opt, ptx or asm (default: plan once fuse "
          "ran, else graph)\n"
          "  --target T        host (default), nvptx, nvptx:sm_80, nvptx:sm_90a+ptx83: for llvm, llvm-opt, "
          "ptx, asm\n"
          "  --heuristic H     none, primitive, greedy (default)\n"
          "  --set k=v,...     fusion parameters\n"
          "  --list-passes     names and meanings of the passes\n"
          "  --help            this text\n"
          "LLF_LOGS and LLF_DUMP_DIR are heeded.\n",
          to);
    return to == stdout ? 0 : 2;
}

static int list_passes(void)
{
    for (size_t i = 0; i < llfi_passes_count; i++)
        printf("%-10s %s\n", llfi_passes[i].name, llfi_passes[i].meaning);
    return 0;
}

static int failed(const llf_context *cx, llf_status st)
{
    const llf_diagnostic *d = llf_last_error(cx);
    fprintf(stderr, "llfuse-opt: %s\n", d && d->message && d->message[0] ? d->message : llf_status_text(st));
    switch (st) {
    case LLF_E_TARGET: return 3;
    case LLF_E_ARG:
    case LLF_E_PARSE:
    case LLF_E_TYPE:
    case LLF_E_GRAPH:
    case LLF_E_LIMIT:
    case LLF_E_IO:
    case LLF_E_ORDER: return 2;
    default: return 1;
    }
}

/* 0: go on; else 1 + exit code. */
static int parse(int argc, char **argv, args *a)
{
    static const char *const flags[] = {"--passes", "--target", "--heuristic", "--set", "--emit"};
    const char **value[] = {&a->passes, &a->target, &a->heuristic, &a->set, &a->emit};
    for (int i = 1; i < argc; i++) {
        size_t f = 0;
        if (!strcmp(argv[i], "--help"))
            return 1 + usage(stdout);
        if (!strcmp(argv[i], "--list-passes"))
            return 1 + list_passes();
        while (f < LLFI_COUNT(flags) && strcmp(flags[f], argv[i]))
            f++;
        if (f < LLFI_COUNT(flags) && i + 1 < argc) {
            *value[f] = argv[++i];
        } else if (argv[i][0] == '-' && argv[i][1]) {
            fprintf(stderr, "llfuse-opt: %s \"%s\"\n",
                    f < LLFI_COUNT(flags) ? "no value after" : "no such option", argv[i]);
            return 1 + usage(stderr);
        } else if (a->file) {
            fprintf(stderr, "llfuse-opt: a second file, \"%s\"\n", argv[i]);
            return 1 + usage(stderr);
        } else {
            a->file = argv[i];
        }
    }
    if (a->file)
        return 0;
    fputs("llfuse-opt: no file\n", stderr);
    return 1 + usage(stderr);
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

int main(int argc, char **argv)
{
    args a = {0};
    int stop = parse(argc, argv, &a);
    if (stop)
        return stop - 1;
    llf_context *cx = llf_context_create(NULL);
    if (!cx) {
        fputs("llfuse-opt: out of host memory\n", stderr);
        return 1;
    }
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llf_status st = produce(cx, &a, &s);
    int code = st == LLF_OK ? 0 : failed(cx, st);
    if (st == LLF_OK && s.len && (fwrite(s.at, 1, s.len, stdout) != s.len || fflush(stdout))) {
        fputs("llfuse-opt: cannot write\n", stderr);
        code = 1;
    }
    llfi_str_free(&s);
    llf_context_destroy(cx);
    return code;
}
