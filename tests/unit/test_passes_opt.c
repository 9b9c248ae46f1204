/* test_passes_opt.c: llfuse-opt as a user runs it: exit codes, where messages go, stages, stdin. */
#include "passes_util.h"

#include <stdlib.h>
#include <sys/wait.h>

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
                                       cmocka_unit_test(bad_use_is_2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
