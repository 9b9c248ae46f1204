/* Directives in the head comments of a case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/cases.c"
#include "bench/options.c"
#include "tools/cli.c"

const char cli_git_hash[] = "abc";

const bench_builtin bench_builtins[] = {{"one", "; set N=4\n", 10}, {"two", "; set N=5\n", 10}};
const size_t bench_builtins_count = 2;

static llfi_diag diag;

static llf_status read_text(const char *text, bench_case *k)
{
    static char copy[512];
    snprintf(copy, sizeof copy, "%s", text);
    *k = (bench_case){.file = (char *)(uintptr_t) "f.llf", .text = copy, .bytes = strlen(copy)};
    return bench_case_read(&diag, k);
}

static void directives_are_read(void **state)
{
    (void)state;
    bench_case k;
    assert_int_equal(read_text("; Prose; set nothing here but this is: see below\n"
                               "; set N=64Mi M=3   ; data x=uniform lr=0.25\n"
                               "  ;set.host N=1e3\n"
                               "; expect kernels 2 -> 1\r\n; expect transfers 5 -> 3\n"
                               "graph @x(%a: f32[N]) { ; set Q=1 is a comment of another kind\n",
                               &k),
                     LLF_E_PARSE); /* "set nothing" is a directive gone wrong, and is said */
    assert_non_null(strstr(diag.message, "f.llf:1:"));
    assert_int_equal(read_text("; Prose, and more of it\n"
                               "; set N=64Mi M=3   ; data x=uniform lr=0.25 i=below:N\n"
                               "  ;set.host N=1e3\n"
                               "; expect kernels 2 -> 1\r\n; expect transfers 5 -> 3\n"
                               "graph @x(%a: f32[N]) {\n",
                               &k),
                     LLF_OK);
    assert_int_equal(k.data[2].dist, BENCH_BELOW);
    assert_string_equal(k.data[2].bound, "N");
    assert_int_equal(k.sets, 2);
    assert_true(k.set[0].value == 67108864 && k.set[1].value == 3);
    assert_int_equal(k.hosts, 1);
    assert_int_equal(k.host[0].value, 1000);
    assert_int_equal(k.datas, 3);
    assert_int_equal(k.data[0].dist, BENCH_UNIFORM);
    assert_int_equal(k.data[1].dist, BENCH_VALUE);
    assert_true(k.data[1].value == 0.25);
    assert_true(k.expect_kernels && k.expect_transfers);
    assert_true(k.kernels[0] == 2 && k.kernels[1] == 1 && k.transfers[0] == 5 && k.transfers[1] == 3);
}

static void bad_directives_have_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {{"; prose\n; set N\n", "f.llf:2:1: 'N' is not SYMBOL=NUMBER"},
               {"; set N=1.5\n", "f.llf:1:1: 'N=1.5' is not SYMBOL=NUMBER"},
               {"; set N=4 ; data x=gaussian\n", "f.llf:1:11: 'x=gaussian' is not INPUT="},
               {"; expect kernels 2 > 1\n", "an expectation reads"},
               {"; expect launches 2 -> 1\n", "an expectation reads"},
               {"; expect kernels 2 -> 1 today\n", "an expectation reads"},
               {"; expect\n", "an expectation reads"}};
    for (size_t i = 0; i < LLFI_COUNT(bad); i++) {
        bench_case k;
        assert_int_equal(read_text(bad[i].text, &k), LLF_E_PARSE);
        if (!strstr(diag.message, bad[i].says))
            fail_msg("'%s' says '%s'", bad[i].text, diag.message);
    }
}

static void limits_hold(void **state)
{
    (void)state;
    char text[512] = "; set";
    bench_case k;
    for (int i = 0; i < 17; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " N%d=1", i);
    assert_int_equal(read_text(text, &k), LLF_E_LIMIT);
    assert_int_equal(read_text("", &k), LLF_OK);
}

static void patterns_choose(void **state)
{
    (void)state;
    bench_options o = {.pattern = {"t*"}, .patterns = 1};
    bench_cases list = {0};
    assert_int_equal(bench_cases_load(&diag, &o, &list), LLF_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.at[0].name, "two");
    assert_int_equal(list.at[0].set[0].value, 5);
    bench_cases_free(&list);
    o.pattern[o.patterns++] = "three"; /* one that matches does not excuse it */
    assert_int_equal(bench_cases_load(&diag, &o, &list), LLF_E_ARG);
    assert_non_null(strstr(diag.message, "no case matches 'three'"));
    bench_cases_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directives_are_read),
        cmocka_unit_test(bad_directives_have_a_place),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(patterns_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
