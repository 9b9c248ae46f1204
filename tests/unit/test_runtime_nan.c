/* A signaling NaN beside a number that is known to be none (a count) wins like any NaN, at every vector width
 * and in tails, in both orders. */
#include "runtime_util.h"

#include <math.h>

static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};

static llf_graph *counted(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "counted");
    const int64_t shape[2] = {7, 103};
    llf_id x = llf_input(g, "x", LLF_F32, 2, shape), n = llf_iota(g, LLF_F32, 2, shape, 1);
    llf_output(g, llf_minimum(g, x, n));
    llf_output(g, llf_maximum(g, n, x));
    return g;
}

static void signaling_nans_win(void **state)
{
    (void)state;
    test_road r = test_open(counted, &host, 1);
    static float out[2][7 * 103];
    static uint32_t x[7 * 103];
    for (int i = 0; i < 7 * 103; i++)
        x[i] = i % 2 ? 0xff8e1c39u : 0x7f800001u;
    const int64_t a = 7, b = 103;
    const llf_tensor bind[] = {{.data = x, .dtype = LLF_F32, .rank = 2, .shape = {a, b}},
                               {.data = out[0], .dtype = LLF_F32, .rank = 2, .shape = {a, b}},
                               {.data = out[1], .dtype = LLF_F32, .rank = 2, .shape = {a, b}}};
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(r.e, llf_bind(r.e, i, &bind[i]));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    for (int i = 0; i < 7 * 103; i++)
        assert_true(isnan(out[0][i]) && isnan(out[1][i]));
    test_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(signaling_nans_win)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
