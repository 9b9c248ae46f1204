/* options.c: the command line. It reads no file and prints nothing but the help. */
#include "bench/bench.h"

#include <errno.h>
#include <stdlib.h>

#define FAIL(...) (snprintf(error, size, __VA_ARGS__), false)

bool bench_parse_count(const char *text, size_t bytes, int64_t *value)
{
    static const struct {
        const char *suffix;
        int64_t factor;
    } unit[] = {{"", 1},           {"k", 1000},     {"K", 1000},     {"M", 1000000},
                {"G", 1000000000}, {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}};
    int64_t n = 0;
    size_t i = 0;
    for (; i < bytes && text[i] >= '0' && text[i] <= '9'; i++)
        if (__builtin_mul_overflow(n, (int64_t)10, &n) ||
            __builtin_add_overflow(n, (int64_t)(text[i] - '0'), &n))
            return false;
    if (i == 0)
        return false;
    if (i + 1 < bytes && (text[i] == 'e' || text[i] == 'E')) {
        int power = 0;
        for (i++; i < bytes && text[i] >= '0' && text[i] <= '9' && power < 100; i++)
            power = power * 10 + (text[i] - '0');
        for (; power > 0; power--)
            if (__builtin_mul_overflow(n, (int64_t)10, &n))
                return false;
        *value = n;
        return i == bytes;
    }
    for (size_t u = 0; u < LLFI_COUNT(unit); u++)
        if (strlen(unit[u].suffix) == bytes - i && !memcmp(unit[u].suffix, text + i, bytes - i))
            return !__builtin_mul_overflow(n, unit[u].factor, value);
    return false;
}

/* Next comma-separated part of *list; false at the end. */
static bool next_part(const char **list, const char **part, size_t *bytes)
{
    if (!*list)
        return false;
    const char *comma = strchr(*list, ',');
    *part = *list;
    *bytes = comma ? (size_t)(comma - *list) : strlen(*list);
    *list = comma ? comma + 1 : NULL;
    return true;
}

static bool parse_heuristics(bench_options *o, const char *list, char *error, size_t size)
{
    const char *part;
    size_t bytes;
    o->heuristics = 0;
    while (next_part(&list, &part, &bytes)) {
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
    return bench_parse_count(eq + 1, bytes - (size_t)(eq + 1 - part), &s->value);
}

static bool parse_set(bench_options *o, const char *list, char *error, size_t size)
{
    const char *part;
    size_t bytes;
    while (next_part(&list, &part, &bytes)) {
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

static bool parse_sweep(bench_options *o, const char *list, char *error, size_t size)
{
    const char *part, *eq = strchr(list, '=');
    size_t bytes;
    if (!eq || eq == list || (size_t)(eq - list) >= BENCH_NAME)
        return FAIL("--sweep: '%s' is not SYMBOL=N,N,...", list);
    if (o->sweeps)
        return FAIL("--sweep: given twice; one symbol is swept, and its values stand in one list");
    snprintf(o->sweep_symbol, sizeof o->sweep_symbol, "%.*s", (int)(eq - list), list);
    for (list = eq + 1; next_part(&list, &part, &bytes); o->sweeps++) {
        if (o->sweeps == BENCH_SETS)
            return FAIL("--sweep: more than %u values", BENCH_SETS);
        if (!bench_parse_count(part, bytes, &o->sweep[o->sweeps]))
            return FAIL("--sweep: '%.*s' is not a count (100, 1e6, 64Mi)", (int)bytes, part);
    }
    return true;
}

static bool parse_number(const char *option, const char *text, int64_t least, int64_t most, int64_t *value,
                         char *error, size_t size)
{
    if (!bench_parse_count(text, strlen(text), value) || *value < least || *value > most)
        return FAIL("%s: '%s' is not a number from %lld to %lld", option, text, (long long)least,
                    (long long)most);
    return true;
}

static bool parse_emit(bench_options *o, const char *text, char *error, size_t size)
{
    static const char *const stage[] = {"plan", "llvm", "llvm-opt", "ptx", "asm"};
    for (size_t i = 0; i < LLFI_COUNT(stage); i++)
        if (!strcmp(text, stage[i])) {
            o->emit = text;
            return true;
        }
    return FAIL("--emit: '%s' is not one of plan, llvm, llvm-opt, ptx, asm", text);
}

static bool parse_valued(bench_options *o, const char *name, const char *value, char *error, size_t size)
{
    int64_t n = 0;
    if (!strcmp(name, "--case")) {
        if (o->patterns == BENCH_PATTERNS)
            return FAIL("--case: more than %u patterns", BENCH_PATTERNS);
        o->pattern[o->patterns++] = value;
    } else if (!strcmp(name, "--target"))
        o->target = value;
    else if (!strcmp(name, "--json"))
        o->json = value;
    else if (!strcmp(name, "--csv"))
        o->csv = value;
    else if (!strcmp(name, "--emit"))
        return parse_emit(o, value, error, size);
    else if (!strcmp(name, "--heuristic"))
        return parse_heuristics(o, value, error, size);
    else if (!strcmp(name, "--set"))
        return parse_set(o, value, error, size);
    else if (!strcmp(name, "--sweep"))
        return parse_sweep(o, value, error, size);
    else if (!strcmp(name, "--numerics")) {
        if (strcmp(value, "strict"))
            return FAIL("--numerics: only 'strict' exists in this version, not '%s'", value);
    } else if (!strcmp(name, "--warmup")) {
        if (!parse_number(name, value, 0, 1000000, &n, error, size))
            return false;
        o->warmup = (uint32_t)n;
    } else if (!strcmp(name, "--min-samples")) {
        if (!parse_number(name, value, 10, 1000000, &n, error, size))
            return false;
        o->min_samples = (uint32_t)n;
    } else if (!strcmp(name, "--threads")) {
        if (!parse_number(name, value, 1, 4096, &n, error, size))
            return false;
        o->threads = (uint32_t)n;
    } else if (!strcmp(name, "--seed")) {
        if (!parse_number(name, value, 0, INT64_MAX, &n, error, size))
            return false;
        o->seed = (uint64_t)n;
    }
    return true;
}

static bool is_valued(const char *name)
{
    static const char *const valued[] = {"--case",        "--target",  "--json",  "--csv",      "--emit",
                                         "--heuristic",   "--set",     "--sweep", "--numerics", "--warmup",
                                         "--min-samples", "--threads", "--seed"};
    for (size_t i = 0; i < LLFI_COUNT(valued); i++)
        if (!strcmp(name, valued[i]))
            return true;
    return false;
}

static bool *flag_of(bench_options *o, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } flag[] = {
        {"--list", &o->list},       {"--warm", &o->warm},         {"--check", &o->check},
        {"--explain", &o->explain}, {"--ceiling", &o->ceiling},   {"--help", &o->help},
        {"-h", &o->help},           {"--help-env", &o->help_env}, {"--compare-openmp", &o->compare_openmp}};
    for (size_t i = 0; i < LLFI_COUNT(flag); i++)
        if (!strcmp(name, flag[i].name))
            return flag[i].flag;
    return NULL;
}

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
    for (uint32_t i = 0; i < o->sets; i++)
        if (o->sweeps && !strcmp(o->set[i].name, o->sweep_symbol))
            return FAIL("'%s' is both in --set and in --sweep", o->sweep_symbol);
    return true;
}

bool bench_options_parse(int argc, char **argv, const char **files, bench_options *o, char *error,
                         size_t size)
{
    *o = (bench_options){.file = files, .warmup = 3, .min_samples = 10, .seed = 1, .heuristics = 1};
    snprintf(o->heuristic[0], BENCH_NAME, "greedy");
    bool plain = false; /* after "--" */
    for (int i = 1; i < argc; i++) {
        char name[BENCH_NAME];
        const char *arg = argv[i], *eq = strchr(arg, '=');
        if (plain || arg[0] != '-' || !arg[1]) {
            o->file[o->files++] = arg;
            continue;
        }
        if (!strcmp(arg, "--")) {
            plain = true;
            continue;
        }
        size_t length = eq ? (size_t)(eq - arg) : strlen(arg);
        snprintf(name, sizeof name, "%.*s", length < BENCH_NAME ? (int)length : (int)BENCH_NAME - 1, arg);
        bool *flag = flag_of(o, name);
        if (flag && eq)
            return FAIL("%s takes no value", name);
        if (flag) {
            *flag = true;
            continue;
        }
        if (!is_valued(name))
            return FAIL("no option '%s'; see --help", name);
        if (!eq && i + 1 == argc)
            return FAIL("%s needs a value; see --help", name);
        if (!parse_valued(o, name, eq ? eq + 1 : argv[++i], error, size))
            return false;
    }
    return combine(o, error, size);
}

void bench_help(FILE *f)
{
    fputs(
        "usage: llfuse-bench [option...] [FILE.llf ...]\n"
        "Compiles each case unfused and fused, times both in turns and says what fusion gains.\n"
        "Without files: the built-in cases.\n\n"
        "what to run\n"
        "  --list                  name the cases and stop\n"
        "  --case PATTERN          only cases with this name, glob or part of a name; may be repeated\n"
        "  --target T              host, nvptx, nvptx:sm_90a+ptx83 (default: nvptx if a GPU opens, else "
        "host)\n"
        "  --heuristic H,...       what to compare with none: none, primitive, greedy (default greedy)\n"
        "  --set NAME=N,...        symbols (N=64Mi, N=1e6) and fusion parameters (max_kernel_nodes=16)\n"
        "  --sweep SYMBOL=N,N,...  one row per value\n"
        "  --numerics strict       the numerics contract (only strict exists)\n"
        "  --threads N             threads of the target host (default: one per core)\n"
        "  --seed N                of the input data (default 1)\n"
        "what to do\n"
        "  --check                 compare fused with unfused bitwise, and every node with the interpreter\n"
        "  --explain               show each kernel, its nodes and bytes, and why it ended there; measure "
        "nothing\n"
        "  --emit STAGE            print plan, llvm, llvm-opt, ptx or asm of every kernel; measure nothing\n"
        "  --ceiling               measure the memory's ceiling for every read:write mix and stop\n"
        "  --compare-openmp        host: time a hand-written OpenMP loop too, where there is one\n"
        "how to measure\n"
        "  --warmup N              runs before the samples (default 3)\n"
        "  --warm                  leave the caches as the last run left them\n"
        "  --min-samples N         at least 10 (default 10); more are taken while they are cheap\n"
        "what to write\n"
        "  --json FILE|-           rows and header as JSON\n"
        "  --csv FILE|-            rows as CSV\n"
        "  --help, --help-env      this text; the environment variables\n\n"
        "exit codes: 0 done, 1 a check or expectation failed, 2 bad usage or input, 3 no such target here\n",
        f);
}
