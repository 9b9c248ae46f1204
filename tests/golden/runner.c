/* runner.c: runs golden .llf files: a graph, what passes make of it, what it computes, what it is refused
 * for, in one file. Files are found, not registered. It must not pass a file that expects nothing.
 *
 *   ; first line: why this file exists
 *   ; test passes a,b,c             those passes; the graph printed (with plan labels after fuse) is the `;=
 * ` lines ; test plan [heuristic=H] [set=k=v,...]      all passes; the plan ; test explain [heuristic=H]
 * [set=k=v,...]   all passes; the explanation
 *   ;= LINE                         expected text; LLF_BLESS=1 rewrites it
 *   ;run (ARG, ...) == VALUE, ... [tol=ULP]      ARG, VALUE: one literal (rank 0) or [literal ...]; on the
 * interpreter and on each target that opens, under every heuristic; bitwise unless tol says otherwise ;error
 * LINE:COL TEXT            parsing or compiling fails there, with TEXT in the message ;ptx-count TEXT N
 * occurrences in the PTX for sm_90a under greedy, without cache hints; no device needed ;llvm-count TEXT N
 * occurrences in the LLVM IR for the host, before optimisation
 */
#include "golden.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char usage[] = "usage: golden-runner [FILE.llf|FOLDER ...]\n";

/* ---- failures */

void golden_fail(golden *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("FAIL %s: ", t->path);
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    t->failed = true;
}

void golden_skip(golden *t, const char *why)
{
    printf("SKIP %s: %s\n", t->path, why);
    t->skips++;
}

const char *golden_error(const golden *t)
{
    return llf_last_error(t->cx)->message;
}

llf_graph *golden_parse(golden *t)
{
    llf_graph *g = NULL;
    if (llf_graph_parse(t->cx, t->text, t->bytes, t->path, &g) != LLF_OK)
        golden_fail(t, "does not parse: %s", golden_error(t));
    return g;
}

/* ---- ; test and ;= */

typedef struct {
    char kind[16]; /* passes, plan, explain; "": none */
    char passes[256], heuristic[64], set[256];
} test;

static bool word(const char **at, const char *w)
{
    size_t n = strlen(w);
    if (strncmp(*at, w, n))
        return false;
    *at += n;
    return true;
}

static void take(const char **at, char *to, size_t size)
{
    size_t n = strcspn(*at, " ");
    snprintf(to, size, "%.*s", (int)n, *at);
    *at += n;
}

static bool read_test(golden *t, const char *at, test *out)
{
    if (out->kind[0]) {
        golden_fail(t, "two `; test` lines");
        return false;
    }
    take(&at, out->kind, sizeof out->kind);
    bool passes = !strcmp(out->kind, "passes");
    if (!passes && strcmp(out->kind, "plan") && strcmp(out->kind, "explain")) {
        golden_fail(t, "unknown `; test %s`", out->kind);
        return false;
    }
    while (*at == ' ') {
        at++;
        if (word(&at, "heuristic="))
            take(&at, out->heuristic, sizeof out->heuristic);
        else if (word(&at, "set="))
            take(&at, out->set, sizeof out->set);
        else if (passes && !out->passes[0])
            take(&at, out->passes, sizeof out->passes);
        else
            break;
    }
    if (*at || (passes && !out->passes[0])) {
        golden_fail(t, "malformed `; test %s`: \"%s\"", out->kind, at);
        return false;
    }
    return true;
}

static llf_status run_passes(golden *t, llf_graph *g, const test *e, llfi_passes_state *state,
                             llfi_plan *plan)
{
    const char *name[32];
    char copy[256], *save = NULL;
    size_t n = 0;
    if (strcmp(e->kind, "passes"))
        return llfi_passes_run(t->cx, g, NULL, 0, state, plan);
    strcpy(copy, e->passes);
    for (char *p = strtok_r(copy, ",", &save); p && n < LLFI_COUNT(name); p = strtok_r(NULL, ",", &save))
        name[n++] = p;
    return llfi_passes_run(t->cx, g, name, n, state, plan);
}

/* Text that the `; test` line asks for. */
static bool make_text(golden *t, llf_graph *g, const test *e, llfi_str *s)
{
    llfi_passes_state state = {0};
    llfi_plan plan;
    llfi_plan_init(&plan, &t->cx->mem);
    llfi_fuse_options_default(&state.fuse);
    if (e->heuristic[0])
        state.fuse.heuristic = llfi_heuristic_find(e->heuristic);
    if (!state.fuse.heuristic)
        golden_fail(t, "no heuristic %s", e->heuristic);
    llf_status st = t->failed ? LLF_E_ARG : llfi_params_set(&t->cx->diag, &state.fuse.params, e->set);
    if (st == LLF_OK)
        st = run_passes(t, g, e, &state, &plan);
    if (st == LLF_OK && !strcmp(e->kind, "explain"))
        st = llfi_plan_explain(t->cx, g, &plan, &state.fuse, s);
    else if (st == LLF_OK)
        st = g->props & LLFI_P_PLANNED ? llfi_plan_print(g, &plan, s) : llfi_print(g, s, NULL, NULL);
    if (st != LLF_OK && !t->failed)
        golden_fail(t, "passes: %s", golden_error(t));
    llfi_plan_destroy(&plan);
    return st == LLF_OK;
}

static void first_difference(golden *t, const char *want, const char *got)
{
    unsigned line = 1;
    while (*want && *want == *got) {
        line += *want == '\n';
        want++, got++;
    }
    golden_fail(t, "text differs at line %u of %s", line, "the `;= ` lines");
}

/* The file with its `;= ` lines replaced: where the first stood, or after the line "}". */
static void bless(golden *t, const char *got)
{
    FILE *f = fopen(t->path, "w");
    if (!f) {
        golden_fail(t, "cannot be written");
        return;
    }
    bool has = strstr(t->text, "\n;=") != NULL, done = false;
    for (const char *at = t->text; *at;) {
        size_t n = strcspn(at, "\n");
        bool old = n >= 2 && at[0] == ';' && at[1] == '=', close = n == 1 && *at == '}';
        if (!old)
            fprintf(f, "%.*s\n", (int)n, at);
        if (!done && (has ? old : close)) {
            for (const char *l = got; *l;) {
                size_t m = strcspn(l, "\n");
                fprintf(f, m ? ";= %.*s\n" : ";=%.*s\n", (int)m, l);
                l += m + (l[m] == '\n');
            }
            done = true;
        }
        at += n + (at[n] == '\n');
    }
    if (fclose(f) || !done)
        golden_fail(t, "cannot be blessed");
    else
        printf("BLESSED %s\n", t->path);
}

static void check_test(golden *t, const test *e, const char *want)
{
    llf_graph *g = golden_parse(t);
    if (!g)
        return;
    llfi_str s;
    llfi_str_init(&s, &t->cx->mem);
    if (make_text(t, g, e, &s)) {
        const char *got = s.at ? s.at : "";
        if (strcmp(want, got)) {
            if (t->bless)
                bless(t, got);
            else {
                first_difference(t, want, got);
                printf("---- expected\n%s---- got\n%s----\n", want, got);
            }
        }
    }
    llfi_str_free(&s);
    llf_graph_destroy(g);
}

/* ---- ;error */

static void check_error(golden *t, const char *at)
{
    unsigned line, col;
    int used = 0;
    if (sscanf(at, "%u:%u %n", &line, &col, &used) < 2 || !used || !at[used]) {
        golden_fail(t, "malformed ;error %s", at);
        return;
    }
    llf_graph *g = NULL;
    llf_program *p = NULL;
    llf_status st = llf_graph_parse(t->cx, t->text, t->bytes, t->path, &g);
    if (st == LLF_OK)
        st = llf_compile(t->cx, g, &(llf_options){.size = sizeof(llf_options), .target = "host"}, &p);
    const llf_diagnostic *d = llf_last_error(t->cx);
    if (st == LLF_OK)
        golden_fail(t, "no error, but expected \"%s\"", at);
    else if (d->line != line || d->col != col || !strstr(d->message, at + used))
        golden_fail(t, "expected %u:%u \"%s\", got %u:%u \"%s\"", line, col, at + used, d->line, d->col,
                    d->message);
    llf_program_destroy(p);
    llf_graph_destroy(g);
}

/* ---- ;ptx-count, ;llvm-count */

static void check_count(golden *t, const char *at, const char *target, const char *stage)
{
    const char *space = strrchr(at, ' ');
    char *end;
    unsigned long want = space ? strtoul(space + 1, &end, 10) : 0;
    if (!space || space == at || end == space + 1 || *end) {
        golden_fail(t, "malformed count: %s", at);
        return;
    }
    char pattern[256];
    snprintf(pattern, sizeof pattern, "%.*s", (int)(space - at), at);
    llf_graph *g = golden_parse(t);
    llf_program *p = NULL;
    /* cache hints stand inside of the instructions' names, and their table is tuned */
    const llf_options o = {
        .size = sizeof o, .target = target, .set = "load_hint=1,store_hint=1", .compile_threads = 1};
    llf_status st = g ? llf_compile(t->cx, g, &o, &p) : LLF_OK;
    if (st == LLF_E_TARGET)
        golden_skip(t, golden_error(t));
    else if (st != LLF_OK)
        golden_fail(t, "%s: %s", target, golden_error(t));
    llfi_str s;
    llfi_str_init(&s, &t->cx->mem);
    for (uint32_t k = 0; p && k < p->plan.kernels && st == LLF_OK; k++)
        st = llfi_program_emit(t->cx, p, k, stage, &s);
    if (p && (st != LLF_OK || s.failed))
        golden_fail(t, "%s of %s: %s", stage, target, golden_error(t));
    unsigned long n = 0;
    for (const char *f = s.at; f && (f = strstr(f, pattern)); f += strlen(pattern))
        n++;
    if (p && n != want)
        golden_fail(t, "\"%s\" stands %lu times in the %s of %s, expected %lu", pattern, n, stage, target,
                    want);
    llfi_str_free(&s);
    llf_program_destroy(p);
    llf_graph_destroy(g);
}

/* ---- one file */

/* Handles one line; `want` collects `;= ` lines. Anything else that begins with ';' and no space is unknown.
 */
static void directive(golden *t, const char *line, test *e, llfi_str *want, unsigned *expectations)
{
    if (word(&line, "; test ")) {
        read_test(t, line, e);
        return;
    }
    if (line[0] != ';' || line[1] == ' ' || !line[1])
        return;
    if (word(&line, ";=")) {
        llfi_str_puts(want, line + (*line == ' '));
        llfi_str_puts(want, "\n");
        return;
    }
    ++*expectations;
    if (word(&line, ";run "))
        golden_run(t, line);
    else if (word(&line, ";error "))
        check_error(t, line);
    else if (word(&line, ";ptx-count "))
        check_count(t, line, "nvptx:sm_90a", "asm");
    else if (word(&line, ";llvm-count "))
        check_count(t, line, "host", "llvm");
    else
        golden_fail(t, "unknown directive %s", line);
}

static void check_file(golden *t)
{
    test e = {0};
    unsigned expectations = 0;
    llfi_str want;
    llfi_str_init(&want, &t->cx->mem);
    if (strncmp(t->text, "; ", 2) || !strncmp(t->text, "; test", 6))
        golden_fail(t, "the first line must say why the file exists");
    for (const char *at = t->text; *at;) {
        char line[4096];
        size_t n = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        if (*at == ';' && n >= sizeof line)
            golden_fail(t, "a directive is too long");
        directive(t, line, &e, &want, &expectations);
        at += n + (at[n] == '\n');
    }
    if (!e.kind[0] && want.len)
        golden_fail(t, "`;= ` lines without a `; test` line");
    if (e.kind[0] && !want.len && !t->bless)
        golden_fail(t, "a `; test` line without `;= ` lines (LLF_BLESS=1 writes them)");
    else if (e.kind[0])
        check_test(t, &e, want.at ? want.at : "");
    else if (!expectations)
        golden_fail(t, "expects nothing");
    llfi_str_free(&want);
}

typedef struct {
    unsigned passed, failed, skipped;
    bool bless;
} totals;

static void run_file(const char *path, totals *sum)
{
    golden t = {.path = path, .bless = sum->bless, .cx = llf_context_create(NULL)};
    if (!t.cx || llf_context_status(t.cx) != LLF_OK) {
        golden_fail(&t, "no context");
    } else if (llfi_read_file(&t.cx->mem, &t.cx->diag, path, LLFI_MAX_FILE, &t.text, &t.bytes) != LLF_OK) {
        golden_fail(&t, "%s", golden_error(&t));
    } else {
        check_file(&t);
        llfi_free(&t.cx->mem, t.text, t.bytes + 1);
    }
    llf_context_destroy(t.cx);
    sum->skipped += t.skips;
    if (t.failed)
        sum->failed++;
    else
        sum->passed++;
}

static void walk(const char *path, totals *sum)
{
    struct stat st;
    struct dirent **entry;
    if (stat(path, &st)) {
        printf("FAIL %s: no such file or folder\n", path);
        sum->failed++;
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        run_file(path, sum);
        return;
    }
    int n = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char sub[4096];
        size_t len = strlen(entry[i]->d_name);
        bool llf = len > 4 && !strcmp(entry[i]->d_name + len - 4, ".llf");
        snprintf(sub, sizeof sub, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.' && (llf || (!stat(sub, &st) && S_ISDIR(st.st_mode))))
            walk(sub, sum);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

int main(int argc, char **argv)
{
    const char *b = llfi_env_get(LLFI_ENV_BLESS);
    totals sum = {.bless = b && !strcmp(b, "1")};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        fputs(usage, stdout);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        walk(argv[i], &sum);
    if (argc == 1)
        walk(LLFUSE_SOURCE_DIR "/tests/golden", &sum);
    printf("%u passed, %u failed, %u skipped\n", sum.passed, sum.failed, sum.skipped);
    if (!sum.passed && !sum.failed)
        printf("FAIL: no .llf file was found\n");
    return sum.failed || !sum.passed ? 1 : 0;
}
