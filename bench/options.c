/* options.c: the command line of llfuse-bench: the table of its options, and what the values of those mean
 * that have a syntax of their own. It reads no file and prints nothing. */
#include "bench/bench.h"

#define FAIL(...) (snprintf(error, size, __VA_ARGS__), false)

static bool parse_heuristics(void *user, const cli_option *row, const char *list, char *error, size_t size)
{
    bench_options *o = user;
    const char *part;
    size_t bytes;
    (void)row;
    o->heuristics = 0;
    while (cli_part(&list, &part, &bytes)) {
        if (o->heuristics == LLFI_COUNT(o->heuristic) || bytes >= BENCH_NAME || !bytes)
            return FAIL("--heuristic: '%.*s': an empty or overlong name, or more than %zu", (int)bytes, part,
                        LLFI_COUNT(o->heuristic));
        snprintf(o->heuristic[o->heuristics], BENCH_NAME, "%.*s", (int)bytes, part);
        if (!llfi_heuristic_find(o->heuristic[o->heuristics])) {
            int n = snprintf(error, size, "--heuristic: no heuristic '%.*s'; there are", (int)bytes, part);
            for (size_t i = 0; i < llfi_heuristics_count && n > 0 && (size_t)n < size; i++)
                n += snprintf(error + n, size - (size_t)n, "%s %s", i ? "," : "", llfi_heuristics[i].name);
            return false;
        }
        o->heuristics++;
    }
    return true;
}

/* NAME=COUNT, negative allowed for parameters. */
static bool parse_setting(bench_setting *s, const char *part, size_t bytes)
{
    const char *eq = memchr(part, '=', bytes);
    if (!eq || eq == part || (size_t)(eq - part) >= BENCH_NAME)
        return false;
    snprintf(s->name, sizeof s->name, "%.*s", (int)(eq - part), part);
    return cli_count(eq + 1, bytes - (size_t)(eq + 1 - part), &s->value);
}

static bool parse_set(void *user, const cli_option *row, const char *list, char *error, size_t size)
{
    bench_options *o = user;
    const char *part;
    size_t bytes;
    (void)row;
    while (cli_part(&list, &part, &bytes)) {
        if (o->sets == BENCH_SETS)
            return FAIL("--set: more than %u settings", BENCH_SETS);
        if (!parse_setting(&o->set[o->sets], part, bytes))
            return FAIL("--set: '%.*s' is not NAME=NUMBER (numbers: 100, 1e6, 64Mi)", (int)bytes, part);
        if (bench_is_set(o->set, o->sets, o->set[o->sets].name))
            return FAIL("--set: '%s' is set twice; --sweep takes several values", o->set[o->sets].name);
        o->sets++;
    }
    return true;
}

static bool parse_sweep(void *user, const cli_option *row, const char *list, char *error, size_t size)
{
    bench_options *o = user;
    const char *part, *eq = strchr(list, '=');
    size_t bytes;
    (void)row;
    if (!eq || eq == list || (size_t)(eq - list) >= BENCH_NAME)
        return FAIL("--sweep: '%s' is not SYMBOL=N,N,...", list);
    if (o->sweeps)
        return FAIL("--sweep: given twice; one symbol is swept, and its values stand in one list");
    snprintf(o->sweep_symbol, sizeof o->sweep_symbol, "%.*s", (int)(eq - list), list);
    for (list = eq + 1; cli_part(&list, &part, &bytes); o->sweeps++) {
        if (o->sweeps == BENCH_SETS)
            return FAIL("--sweep: more than %u values", BENCH_SETS);
        if (!cli_count(part, bytes, &o->sweep[o->sweeps]))
            return FAIL("--sweep: '%.*s' is not a count (100, 1e6, 64Mi)", (int)bytes, part);
    }
    return true;
}

static bool parse_vary(void *user, const cli_option *row, const char *list, char *error, size_t size)
{
    bench_options *o = user;
    const char *part, *eq = strchr(list, '=');
    size_t bytes, name = eq ? (size_t)(eq - list) : 0;
    llfi_diag why = {0};
    llfi_params check;
    (void)row;
    if (!eq || eq == list || name >= BENCH_NAME / 2)
        return FAIL("--vary: '%s' is not NAME=N,N,...", list);
    if (o->varies)
        return FAIL("--vary: given twice; the values of one parameter stand in one list");
    const char *values = eq + 1;
    for (; cli_part(&values, &part, &bytes); o->varies++) {
        char *text = o->vary[o->varies];
        if (o->varies == LLFI_COUNT(o->vary) || bytes >= BENCH_NAME / 2)
            return FAIL("--vary: more than %zu values, or one too long", LLFI_COUNT(o->vary));
        snprintf(text, BENCH_NAME, "%.*s=%.*s", (int)name, list, (int)bytes, part);
        llfi_params_default(&check);
        if (llfi_params_set(&why, &check, text) != LLF_OK)
            return FAIL("--vary: %s", why.message);
    }
    return true;
}

static bool parse_emit(void *user, const cli_option *row, const char *text, char *error, size_t size)
{
    static const char *const stage[] = {"plan", "llvm", "llvm-opt", "ptx", "asm"};
    (void)row;
    for (size_t i = 0; i < LLFI_COUNT(stage); i++)
        if (!strcmp(text, stage[i])) {
            ((bench_options *)user)->emit = text;
            return true;
        }
    return FAIL("--emit: '%s' is not one of plan, llvm, llvm-opt, ptx, asm", text);
}

static bool parse_case(void *user, const cli_option *row, const char *text, char *error, size_t size)
{
    bench_options *o = user;
    (void)row;
    if (o->patterns == BENCH_PATTERNS)
        return FAIL("--case: more than %u patterns", BENCH_PATTERNS);
    o->pattern[o->patterns++] = text;
    return true;
}

static bool parse_numerics(void *user, const cli_option *row, const char *text, char *error, size_t size)
{
    (void)user, (void)row;
    return !strcmp(text, "strict") ||
           FAIL("--numerics: only 'strict' exists in this version, not '%s'", text);
}

static bool parse_seed(void *user, const cli_option *row, const char *text, char *error, size_t size)
{
    int64_t n;
    if (!cli_count(text, strlen(text), &n))
        return FAIL("%s: '%s' is not a number from 0 to %lld", row->name, text, (long long)INT64_MAX);
    ((bench_options *)user)->seed = (uint64_t)n;
    return true;
}

/* ---- the table */

#define AT(field) .at = offsetof(bench_options, field)
static const cli_option table[] = {
    {"--list", NULL, "name the cases and stop", cli_flag, AT(list), .group = "what to run"},
    {"--case", "PATTERN", "only cases with this name, glob or part of a name; may be repeated",
     .read = parse_case},
    {"--target", "T", "host, nvptx, nvptx:sm_90a+ptx83 (default: nvptx if a GPU opens, else host)", cli_text,
     AT(target)},
    {"--heuristic", "H,...", cli_heuristics, .read = parse_heuristics},
    {"--set", "SYMBOL=N,...", "values of symbols (N=64Mi, N=1e6)", .read = parse_set},
    {"--sweep", "SYMBOL=N,N,...", "one row per value", .read = parse_sweep},
    {"--param", "NAME=N,...", "fusion parameters, below; may be repeated", cli_param, AT(param)},
    {"--vary", "NAME=N,N,...", "one row per value of a fusion parameter, timed in turns", .read = parse_vary},
    {"--plan-in", "FILE", "measure this plan of the case (one case alone), as the heuristic \"plan\"",
     cli_text, AT(plan_in)},
    {"--numerics", "strict", "the numerics contract (only strict exists)", .read = parse_numerics},
    {"--threads", "N", "threads of the target host (default: one per core)", cli_number, AT(threads),
     .least = 1, .most = 4096},
    {"--seed", "N", "of the input data (default 1)", .read = parse_seed},
    {"--check", NULL, "compare fused with unfused bitwise, and every node with the interpreter", cli_flag,
     AT(check), .group = "what to do"},
    {"--explain", NULL, "show each kernel, its nodes and bytes, and why it ended there; measure nothing",
     cli_flag, AT(explain)},
    {"--emit", "STAGE", "print plan, llvm, llvm-opt, ptx or asm of every kernel; measure nothing",
     .read = parse_emit},
    {"--ceiling", NULL, "measure the memory's ceiling for every read:write mix and stop", cli_flag,
     AT(ceiling)},
    {"--compare-openmp", NULL, "host: time a hand-written OpenMP loop too, where there is one", cli_flag,
     AT(compare_openmp)},
    {"--warmup", "N", "runs before the samples (default 3)", cli_number, AT(warmup), .least = 0,
     .most = 1000000, .group = "how to measure"},
    {"--warm", NULL, "leave the caches as the last run left them", cli_flag, AT(warm)},
    {"--min-samples", "N", "at least 10 (default 10); more are taken while they are cheap", cli_number,
     AT(min_samples), .least = 10, .most = 1000000},
    {"--budget", "MS", "more than --min-samples while a program has taken less (default 400, host 250)",
     cli_number, AT(budget), .least = 1, .most = 1000000},
    {"--json", "FILE|-", "rows and header as JSON", cli_text, AT(json), .group = "what to write"},
    {"--csv", "FILE|-", "rows as CSV", cli_text, AT(csv)},
    {"--plan-out", "DIR", "the plans of what is measured, as CASE.HEURISTIC.llf", cli_text, AT(plan_out)},
    {"--help", NULL, "this text", cli_flag, AT(help), .group = "about"},
    {"--help-env", NULL, "the environment variables", cli_flag, AT(help_env)},
    {"--version", NULL, "versions of llfuse and LLVM, and the commit", cli_flag, AT(version)},
};
#undef AT

const cli_command bench_command = {
    .name = "llfuse-bench",
    .usage = "usage: llfuse-bench [option...] [FILE.llf ...]\n"
             "Compiles each case unfused and fused, times both in turns and says what fusion gains.\n"
             "Without files: the built-in cases.\n\n",
    .notes = "",
    .params = true,
    .option = table,
    .options = LLFI_COUNT(table),
};

/* ---- all of them together */

/* "--json add_relu.llf" forgot its value, and would cost the user a graph. */
static bool report_path(const char *option, const char *path, char *error, size_t size)
{
    size_t n = path ? strlen(path) : 0;
    if (path && !n)
        return FAIL("%s needs a file's name or -", option);
    if (n > 4 && !strcmp(path + n - 4, ".llf"))
        return FAIL("%s: '%s' is named as a graph is; a report would replace it", option, path);
    return true;
}

static bool combine(const bench_options *o, char *error, size_t size)
{
    if (!report_path("--json", o->json, error, size) || !report_path("--csv", o->csv, error, size))
        return false;
    if (o->json && o->csv && !strcmp(o->json, "-") && !strcmp(o->csv, "-"))
        return FAIL("--json - and --csv -: only one can take the standard output");
    if (o->emit && o->explain)
        return FAIL("--emit and --explain exclude each other");
    if (o->varies && o->plan_out)
        return FAIL("--vary and --plan-out exclude each other: the plans would have one name");
    if ((o->heuristics ? o->heuristics : 1) * (o->varies ? o->varies : 1) > LLFI_COUNT(o->heuristic))
        return FAIL("more than %zu heuristics and values of --vary together", LLFI_COUNT(o->heuristic));
    for (uint32_t i = 0; i < o->sets; i++)
        if (o->sweeps && !strcmp(o->set[i].name, o->sweep_symbol))
            return FAIL("'%s' is both in --set and in --sweep", o->sweep_symbol);
    return true;
}

bool bench_options_parse(int argc, char **argv, const char **files, bench_options *o, char *error,
                         size_t size)
{
    *o = (bench_options){.file = files, .warmup = 3, .min_samples = 10, .seed = 1};
    if (!cli_parse(&bench_command, argc, argv, o, files, &o->files, error, size))
        return false;
    if (!o->heuristics && !o->plan_in)
        snprintf(o->heuristic[o->heuristics++], BENCH_NAME, "greedy");
    if (o->plan_in && o->heuristics == LLFI_COUNT(o->heuristic))
        return FAIL("--plan-in: beside %zu heuristics there is no room for it", LLFI_COUNT(o->heuristic));
    if (o->plan_in)
        snprintf(o->heuristic[o->heuristics++], BENCH_NAME, BENCH_PLAN);
    return combine(o, error, size);
}

void bench_options_free(bench_options *o)
{
    if (o->param.mem)
        llfi_str_free(&o->param);
}
