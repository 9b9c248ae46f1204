/* The command line of llfuse-bench. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/options.c"
#include "tools/cli.c"

const char cli_git_hash[] = "abc";

static const char *files[64];
static char error[256];

/* Splits at spaces; the options keep pointers into `line`. */
static bool parse(char *line, bench_options *o)
{
    char *argv[64] = {(char *)(uintptr_t) "llfuse-bench"};
    int argc = 1;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    error[0] = 0;
    return bench_options_parse(argc, argv, files, o, error, sizeof error);
}

static void counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"8", 8},
                {"1e3", 1000},
                {"12E2", 1200},
                {"64Mi", 67108864},
                {"2k", 2000},
                {"3Ki", 3072},
                {"1G", 1000000000},
                {"1Gi", 1073741824},
                {"9223372036854775807", INT64_MAX}};
    static const char *const bad[] = {"",     "x",      "1x",           "1e",
                                      "e3",   "-1",     "1.5",          "9223372036854775808",
                                      "1e19", "9e18Ki", "8589934592Gi", "1 "};
    int64_t v;
    for (size_t i = 0; i < LLFI_COUNT(good); i++) {
        assert_true(cli_count(good[i].text, strlen(good[i].text), &v));
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < LLFI_COUNT(bad); i++)
        assert_false(cli_count(bad[i], strlen(bad[i]), &v));
}

static void defaults(void **state)
{
    (void)state;
    bench_options o;
    char line[] = "";
    assert_true(parse(line, &o));
    assert_int_equal(o.heuristics, 1);
    assert_string_equal(o.heuristic[0], "greedy");
    assert_int_equal(o.min_samples, 10);
    assert_null(o.target);
    assert_int_equal(o.files, 0);
}

static void everything_at_once(void **state)
{
    (void)state;
    bench_options o;
    char line[] =
        "a.llf --set N=1e3,max_kernel_nodes=4 --heuristic=none,primitive --check --json - --sweep M=8,100 "
        "--target host --warmup 0 --min-samples 12 --threads 3 --vary load_hint=1,3 --budget 50 -- --b.llf";
    assert_true(parse(line, &o));
    assert_int_equal(o.files, 2);
    assert_string_equal(o.file[0], "a.llf");
    assert_string_equal(o.file[1], "--b.llf");
    assert_int_equal(o.sets, 2);
    assert_string_equal(o.set[1].name, "max_kernel_nodes");
    assert_int_equal(o.set[0].value, 1000);
    assert_int_equal(o.heuristics, 2);
    assert_string_equal(o.heuristic[1], "primitive");
    assert_int_equal(o.sweeps, 2);
    assert_string_equal(o.sweep_symbol, "M");
    assert_int_equal(o.sweep[1], 100);
    assert_true(o.check);
    assert_string_equal(o.json, "-");
    assert_int_equal(o.warmup, 0);
    assert_int_equal(o.min_samples, 12);
    assert_int_equal(o.varies, 2);
    assert_string_equal(o.vary[0], "load_hint=1");
    assert_string_equal(o.vary[1], "load_hint=3");
    assert_int_equal(o.budget, 50);
    assert_int_equal(o.threads, 3);
}

static void bad_usage_says_what(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } bad[] = {{"--what", "no option '--what'"},
               {"--json", "--json needs a value"},
               {"--check=1", "--check takes no value"},
               {"--heuristic best", "there are none, primitive, greedy"},
               {"--heuristic none,", "empty"},
               {"--numerics excess", "only 'strict'"},
               {"--set N", "'N' is not NAME=NUMBER"},
               {"--set N=", "is not NAME=NUMBER"},
               {"--sweep 8,100", "is not SYMBOL=N"},
               {"--sweep N=8,x", "'x' is not a count"},
               {"--min-samples 9", "from 10"},
               {"--threads 0", "from 1"},
               {"--emit sass", "plan, llvm, llvm-opt, ptx, asm"},
               {"--emit ptx --explain", "exclude"},
               {"--json - --csv -", "only one"},
               {"--vary 3", "'3' is not NAME=N"},
               {"--vary nodes=3", "no parameter is named \"nodes\""},
               {"--vary load_hint=1,9", "load_hint=9: not an integer"},
               {"--vary load_hint=1 --vary load_hint=2", "given twice"},
               {"--vary load_hint=1,2 --plan-out d", "exclude"},
               {"--vary load_hint=1,2,3 --heuristic none,primitive,greedy", "more than 8"},
               {"--set N=3 --sweep N=4", "both in --set and in --sweep"}};
    for (size_t i = 0; i < LLFI_COUNT(bad); i++) {
        char line[128];
        bench_options o;
        snprintf(line, sizeof line, "%s", bad[i].line);
        assert_false(parse(line, &o));
        if (!strstr(error, bad[i].says))
            fail_msg("'%s' says '%s', expected '%s'", bad[i].line, error, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(defaults),
        cmocka_unit_test(everything_at_once),
        cmocka_unit_test(bad_usage_says_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
