/* test_passes_opt.c: llfuse-opt as a user runs it: exit codes, where messages go, stages, stdin. */
#include "passes_util.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char graph[] =
    "graph @t(%x: f32[N], %y: f32[N]) {\n  %0 = add %x, %y\n  %1 = relu %0\n  ret %1\n}\n";
static char out[1 << 20];

/* Runs `llfuse-opt - args` with `text` on stdin; stdout in `out`. */
static int run(const char *text, const char *args)
{
    char command[1024], path[] = "/tmp/llfuse-opt-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    fputs(text, f);
    fclose(f);
    snprintf(command, sizeof command, "%s/bin/llfuse-opt %s <%s 2>/dev/null", LLFUSE_BINARY_DIR, args, path);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(out, 1, sizeof out - 1, p);
    out[n] = 0;
    int status = pclose(p);
    remove(path);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void graphs_and_plans(void **state)
{
    (void)state;
    assert_int_equal(run(graph, "- --passes \"\""), 0);
    assert_string_equal(out, graph);
    assert_int_equal(run(graph, "-"), 0);
    assert_non_null(strstr(out, "%2 = where %1, 0.0, %0 !k0\n"));
    assert_int_equal(run(graph, "- --heuristic none"), 0);
    assert_non_null(strstr(out, "!k1\n"));
    assert_int_equal(run(graph, "- --param max_kernel_nodes=1"), 0);
    assert_non_null(strstr(out, "!k2\n"));
    assert_int_equal(run(graph, "- --emit graph"), 0);
    assert_null(strstr(out, "!k"));
    assert_int_equal(run(graph, "- --emit explain"), 0);
    assert_non_null(strstr(out, "reads 2 x f32[N]; writes f32[N]\n"));
    assert_int_equal(run(graph, "--list-passes"), 0);
    assert_non_null(strstr(out, "decompose "));
    assert_int_equal(run(graph, "--help"), 0);
    assert_non_null(strstr(out, "usage: llfuse-opt"));
}

static void stages(void **state)
{
    (void)state;
    assert_int_equal(run(graph, "- --emit llvm"), 0);
    assert_non_null(strstr(out, "define "));
    assert_int_equal(run(graph, "- --emit llvm-opt"), 0);
    assert_non_null(strstr(out, "define "));
    assert_int_equal(run(graph, "- --emit asm"), 0);
    assert_non_null(strstr(out, ".text"));
#ifdef LLFUSE_CUDA
    assert_int_equal(run(graph, "- --emit ptx --target nvptx:sm_90a"), 0);
    assert_non_null(strstr(out, ".target sm_90a"));
#endif
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

#define PLAN "; set N=100\ngraph @g(%x: f32[N], %y: f32[N]) {\n"

/* Plans for one graph; what differs is counted by hand. */
static const struct {
    const char *a, *b, *says;
    int code;
} pairs[] = {
    {"  %0 = add %x, %y !k0\n  %1 = exp %0 !k0\n  %2 = neg %0 !k1\n",
     "  %0 = add %x, %y !k0\n  %1 = exp %0 !k0\n  %2 = neg %0 !k1\n",
     "a.llf: 2 kernels, 6 transfers, 2400 bytes\nb.llf: 2 kernels, 6 transfers, 2400 bytes\n", 0},
    {"  %0 = add %x, %y !k0\n  %1 = exp %0 !k0\n  %2 = neg %0 !k1\n",
     "  %0 = add %x, %y !k0\n  %1 = exp %0 !k0\n  %2 = neg %0 !k0\n",
     "a.llf: 2 kernels, 6 transfers, 2400 bytes\nb.llf: 1 kernel, 4 transfers, 1600 bytes\n"
     "joined: k0 (4 transfers, 1600 bytes), k1 (2 transfers, 800 bytes) -> k0 (4 transfers, 1600 bytes)\n",
     1},
    {"  %0 = add %x, %y !k0\n  %1 = exp %0 !k0\n  %2 = neg %0 !k0\n",
     "  %0 = add %x, %y !k0\n  %1 = exp %0 !k1\n  %2 = neg %0 !k1\n",
     "a.llf: 1 kernel, 4 transfers, 1600 bytes\nb.llf: 2 kernels, 6 transfers, 2400 bytes\n"
     "split: k0 (4 transfers, 1600 bytes) -> k0 (3 transfers, 1200 bytes), k1 (3 transfers, 1200 bytes)\n",
     1},
    {"  %0 = add %x, %y !k0\n  %1 = exp %0 !k0\n  %2 = neg %1 !k1\n  %3 = abs %2 !k1\n",
     "  %0 = add %x, %y !k0\n  %1 = exp %0 !k1\n  %2 = neg %1 !k1\n  %3 = abs %2 !k1\n",
     "moved: %1 from k0 to k1\n", 1},
    {"  %0 = add %x, %y !k0\n  %1 = exp %0 !k0\n  %2 = neg %0 !k1\n",
     "  %0 = add %x, %y !k0,k1\n  %1 = exp %0 !k0\n  %2 = neg %0 !k1\n", "recomputed: %0 in k0 -> k0, k1\n",
     1},
    {"  %0 = neg %x !k0\n  %1 = exp %y !k1\n", "  %0 = neg %x !k1\n  %1 = exp %y !k0\n",
     "reordered: k1 -> k0\n", 1},
    {"  %0 = neg %x !k0\n  %1 = exp %y !k1\n", "  %0 = abs %x !k0\n  %1 = exp %y !k1\n", "", 2},
    {"  %0 = neg %x !k0\n  %1 = exp %y !k1\n", "  %0 = neg %x\n  %1 = exp %y !k1\n", "", 2},
};

/* Which values come back: the last, and those that nothing reads. */
static const char *returned(const char *lines)
{
    return strstr(lines, "%3 = ")   ? "  ret %1, %3\n}\n"
           : strstr(lines, "%2 = ") ? "  ret %1, %2\n}\n"
                                    : "  ret %0, %1\n}\n";
}

static void differences_of_plans(void **state)
{
    (void)state;
    assert_int_equal(chdir(LLFUSE_BINARY_DIR), 0);
    for (size_t i = 0; i < LLFI_COUNT(pairs); i++) {
        char text[2000];
        snprintf(text, sizeof text, "%s%s%s", PLAN, pairs[i].a, returned(pairs[i].a));
        put("a.llf", text);
        snprintf(text, sizeof text, "%s%s%s", PLAN, pairs[i].b, returned(pairs[i].b));
        put("b.llf", text);
        int code = run("", "--plan-diff a.llf b.llf");
        if (code != pairs[i].code || !strstr(out, pairs[i].says))
            fail_msg("pair %zu: exit code %d, wanted %d and \"%s\"; got\n%s", i, code, pairs[i].code,
                     pairs[i].says, out);
    }
    remove("b.llf");
    assert_int_equal(run("", "--plan-diff a.llf b.llf"), 2);
    assert_int_equal(run("", "--plan-diff a.llf"), 2);
    remove("a.llf");
}

static void plans_go_out_and_in(void **state)
{
    (void)state;
    assert_int_equal(chdir(LLFUSE_BINARY_DIR), 0);
    assert_int_equal(run(graph, "- --heuristic none --plan-out opt_plan.llf"), 0);
    assert_int_equal(run(graph, "- --plan-in opt_plan.llf --plan-out opt_again.llf"), 0);
    assert_non_null(strstr(out, "!k1\n"));
    assert_int_equal(system("cmp -s opt_plan.llf opt_again.llf"), 0);
    assert_int_equal(run("", "--plan-in opt_plan.llf --plan-out opt_again.llf"), 0);
    assert_int_equal(system("cmp -s opt_plan.llf opt_again.llf"), 0);
    assert_int_equal(run("graph @o(%x: f32[N]) {\n  %0 = exp %x\n  ret %0\n}\n", "- --plan-in opt_plan.llf"),
                     2);
    assert_int_equal(run(graph, "- --plan-in opt_plan.llf --passes dce"), 2);
    assert_int_equal(run(graph, "- --plan-out /nonexistent/plan.llf"), 2);
    remove("opt_plan.llf");
    remove("opt_again.llf");
}

static void bad_use_is_2(void **state)
{
    static const char *const bad[] = {"",
                                      "- --passes licm",
                                      "- --passes fuse",
                                      "- --heuristic best",
                                      "- --param nodes=1",
                                      "- --emit dot",
                                      "- --emit plan --passes dce",
                                      "- --emit ptx",
                                      "- --emit llvm --passes dce",
                                      "- --passes",
                                      "- --nonsense",
                                      "- -",
                                      "/nonexistent.llf"};
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(bad); i++) {
        int code = run(graph, bad[i]);
        if (code != 2)
            fail_msg("llfuse-opt %s: exit code %d", bad[i], code);
        assert_string_equal(out, "");
    }
    assert_int_equal(run("graph @t(", "-"), 2);
    assert_int_equal(run("", "-"), 2);
    assert_int_equal(run(graph, "- --target vulkan --emit llvm"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_and_plans), cmocka_unit_test(stages),
                                       cmocka_unit_test(differences_of_plans),
                                       cmocka_unit_test(plans_go_out_and_in), cmocka_unit_test(bad_use_is_2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
