/* test_runtime_host.c: graph to numbers on the CPU, and every refusal of bind, prepare and run with its
 * words. */
#include "runtime_util.h"

#include <fenv.h>
#include <math.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static const llf_options host = {.size = sizeof host, .target = "host"};

static llf_status bind(llf_execution *e, uint32_t index, llf_tensor t)
{
    return llf_bind(e, index, &t);
}

/* ---- numbers */

static void add_relu(void **state)
{
    (void)state;
    static const char *const heuristics[] = {"none", "primitive", "greedy"};
    static const int64_t sizes[] = {1, 7, 8, 100, 1000, 100003};
    static float a[100003], b[100003], out[100003 + 8];
    for (size_t h = 0; h < 3; h++) {
        llf_options o = host;
        o.heuristic = heuristics[h];
        test_road r = test_open(test_add_relu, &o, h == 1 ? 1 : 3);
        for (size_t s = 0; s < LLFI_COUNT(sizes); s++) {
            int64_t n = sizes[s];
            for (int64_t i = 0; i < n; i++) {
                a[i] = (float)(i % 1013) - 500;
                b[i] = (float)(i % 7) * 0.25f;
            }
            for (int i = 0; i < 8; i++)
                out[n + i] = 77;
            assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, a, n)));
            assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, n)));
            assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, out, n)));
            assert_ok(r.e, llf_prepare(r.e));
            assert_ok(r.e, llf_run(r.e, NULL));
            for (int64_t i = 0; i < n; i++) {
                float want = a[i] + b[i];
                assert_true(out[i] == (want < 0 ? 0 : want));
            }
            for (int i = 0; i < 8; i++)
                assert_true(out[n + i] == 77); /* nothing past the end */
        }
        llf_stats stats = {.size = sizeof stats};
        assert_int_equal(llf_execution_stats(r.e, &stats), LLF_OK);
        static const uint32_t kernels[] = {2, 3, 1};
        assert_int_equal(stats.kernels, kernels[h]);
        assert_int_equal(stats.runs, LLFI_COUNT(sizes));
        assert_int_equal(stats.launches, kernels[h] * LLFI_COUNT(sizes));
        test_close(&r);
    }
}

static void no_elements_no_launch(void **state)
{
    (void)state;
    test_road r = test_open(test_add_relu, &host, 2);
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(r.e, bind(r.e, i, test_vector(LLF_F32, NULL, 0)));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    assert_int_equal(r.e->stats.launches, 0);
    assert_int_equal(r.e->stats.runs, 1);
    test_close(&r);
}

static void scalars_change_without_prepare(void **state)
{
    (void)state;
    test_road r = test_open(test_two_outputs, &host, 2);
    float a[10], b[10], m[10], y[10], s = 2;
    for (int i = 0; i < 10; i++) {
        a[i] = (float)i;
        b[i] = 100;
    }
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, a, 10)));
    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, 10)));
    assert_ok(r.e, bind(r.e, 2, test_scalar(LLF_F32, &s)));
    assert_ok(r.e, bind(r.e, 3, test_vector(LLF_F32, m, 10)));
    assert_ok(r.e, bind(r.e, 4, test_vector(LLF_F32, y, 10)));
    assert_ok(r.e, llf_prepare(r.e));
    for (int round = 0; round < 3; round++) {
        s = (float)(round + 2);
        assert_ok(r.e, bind(r.e, 2, test_scalar(LLF_F32, &s)));
        s = -1; /* the value was copied */
        assert_ok(r.e, llf_run(r.e, NULL));
        for (int i = 0; i < 10; i++) {
            assert_true(m[i] == (float)(i * (round + 2)));
            assert_true(y[i] == (float)(i * (round + 2) + 100));
        }
    }
    test_close(&r);
}

static void buffers_change_without_prepare(void **state)
{
    (void)state;
    test_road r = test_open(test_add_relu, &host, 2);
    float x[3][64];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 64; i++)
            x[k][i] = (float)(k + 1);
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, x[0], 64)));
    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, x[1], 64)));
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, x[2], 64)));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    assert_true(x[2][5] == 3);
    /* round and round: between the binds two of them overlap, which is nobody's business before the run */
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, x[2], 64)));
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, x[0], 64)));
    assert_ok(r.e, llf_run(r.e, NULL));
    assert_true(x[0][63] == 5);
    /* another shape */
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, x[2], 63)));
    assert_refused(llf_run(r.e, NULL), LLF_E_STATE, llf_execution_error(r.e)->message, "llf_prepare");
    /* and back */
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, x[2], 64)));
    assert_ok(r.e, llf_run(r.e, NULL));
    /* overlap that comes by a bind */
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, x[1] + 1, 64)));
    assert_refused(llf_run(r.e, NULL), LLF_E_ALIAS, llf_execution_error(r.e)->message, "and output 0 at");
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, NULL, 64)));
    assert_refused(llf_run(r.e, NULL), LLF_E_ARG, llf_execution_error(r.e)->message, "output 0");
    test_close(&r);
}

/* ---- in place */

static void in_place_where_the_plan_allows(void **state)
{
    (void)state;
    static const char *const heuristics[] = {"none", "greedy"};
    for (int h = 0; h < 2; h++) {
        llf_options o = host;
        o.heuristic = heuristics[h];
        test_road r = test_open(test_add_relu, &o, 3);
        enum { N = 50000 };
        float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
        for (int i = 0; i < N; i++) {
            a[i] = (float)i - 100;
            b[i] = 1;
        }
        assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, a, N)));
        assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, N)));
        assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, a, N)));
        assert_ok(r.e, llf_prepare(r.e));
        assert_ok(r.e, llf_run(r.e, NULL));
        for (int i = 0; i < N; i++)
            assert_true(a[i] == (i < 99 ? 0 : (float)i - 99));
        free(a);
        free(b);
        test_close(&r);
    }
}

/* Unfused, output 0 = a * s is stored before the second kernel reads b: b may not be output 0, a may. */
static void in_place_follows_the_plan(void **state)
{
    (void)state;
    llf_options o = host;
    o.heuristic = "none";
    test_road r = test_open(test_two_outputs, &o, 1);
    assert_int_equal(r.p->plan.kernels, 2);
    assert_true(llfi_program_inplace(r.p, 0, 0));
    assert_false(llfi_program_inplace(r.p, 1, 0));
    assert_true(llfi_program_inplace(r.p, 1, 1));
    assert_true(llfi_program_inplace(r.p, 0, 1)); /* a is read by the first kernel alone */
    float a[8] = {0}, b[8] = {0}, y[8], s = 2;
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, a, 8)));
    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, 8)));
    assert_ok(r.e, bind(r.e, 2, test_scalar(LLF_F32, &s)));
    assert_ok(r.e, bind(r.e, 3, test_vector(LLF_F32, b, 8)));
    assert_ok(r.e, bind(r.e, 4, test_vector(LLF_F32, y, 8)));
    assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "input b at [0x");
    assert_non_null(strstr(llf_execution_error(r.e)->message, "output 0"));
    assert_ok(r.e, bind(r.e, 3, test_vector(LLF_F32, y, 8)));
    assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "each output needs");
    assert_ok(r.e, bind(r.e, 3, test_vector(LLF_F32, a, 8)));
    assert_ok(r.e, llf_prepare(r.e));
    test_close(&r);
}

/* out = a + b where b has rank 0: every element reads b, so b's buffer is nobody's output. And a cast to a
 * narrower dtype moves elements. */
static llf_graph *broadcast_and_cast(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "g");
    int64_t n = llf_symbol(g, "N");
    llf_id a = llf_input(g, "a", LLF_F32, 1, &n), b = llf_input(g, "b", LLF_F32, 0, NULL);
    llf_id h = llf_input(g, "h", LLF_BF16, 1, &n);
    llf_output(g, llf_add(g, a, b));
    llf_output(g, llf_mul(g, llf_cast(g, h, LLF_F32), a));
    return g;
}

static void in_place_needs_the_same_index(void **state)
{
    (void)state;
    test_road r = test_open(broadcast_and_cast, &host, 1);
    assert_int_equal(r.p->plan.kernels, 1);
    assert_true(llfi_program_inplace(r.p, 0, 0));
    assert_false(llfi_program_inplace(r.p, 1, 0));
    assert_false(llfi_program_inplace(r.p, 2, 0)); /* two bytes an element against four */
    test_close(&r);
}

static void partial_overlap_is_refused(void **state)
{
    (void)state;
    test_road r = test_open(test_add_relu, &host, 1);
    float x[100] = {0}, b[50] = {0};
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, x, 50)));
    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, 50)));
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, x + 1, 50)));
    assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "input a");
    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, x + 3, 50))); /* inputs may overlap */
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, b, 50)));
    assert_ok(r.e, llf_prepare(r.e));
    test_close(&r);
}

/* ---- refusals */

static void refusals_of_bind(void **state)
{
    (void)state;
    test_road r = test_open(test_two_outputs, &host, 1);
    float x[4];
    double d = 1;
    llf_tensor t = test_vector(LLF_F32, x, 4);
    assert_refused(llf_bind(r.e, 5, &t), LLF_E_ARG, llf_execution_error(r.e)->message,
                   "3 inputs and 2 outputs");
    assert_refused(llf_bind(r.e, 0, NULL), LLF_E_ARG, llf_execution_error(r.e)->message, "null");
    t.rank = 17;
    assert_refused(llf_bind(r.e, 0, &t), LLF_E_ARG, llf_execution_error(r.e)->message, "input a");
    assert_refused(bind(r.e, 2, test_scalar(LLF_F64, &d)), LLF_E_TYPE, llf_execution_error(r.e)->message,
                   "input s");
    assert_refused(bind(r.e, 2, test_scalar(LLF_F32, NULL)), LLF_E_ARG, llf_execution_error(r.e)->message,
                   "NULL");
    assert_int_equal(llf_bind(NULL, 0, &t), LLF_E_ARG);
    test_close(&r);
}

static void refusals_of_prepare(void **state)
{
    (void)state;
    test_road r = test_open(test_add_relu, &host, 1);
    float a[8] = {0}, b[8] = {0}, y[9] = {0};
    const llf_diagnostic *why = llf_execution_error(r.e);
    assert_refused(llf_run(r.e, NULL), LLF_E_STATE, why->message, "llf_prepare");
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, a, 8)));
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, y, 8)));
    assert_refused(llf_prepare(r.e), LLF_E_ARG, why->message, "input b: not bound");

    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F64, b, 8)));
    assert_refused(llf_prepare(r.e), LLF_E_TYPE, why->message, "input b: bound to f64");
    llf_tensor square = {.data = b, .dtype = LLF_F32, .rank = 2, .shape = {2, 4}};
    assert_ok(r.e, llf_bind(r.e, 1, &square));
    assert_refused(llf_prepare(r.e), LLF_E_TYPE, why->message, "rank 2");
    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, -1)));
    assert_refused(llf_prepare(r.e), LLF_E_ARG, why->message, "negative");

    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, 7)));
    assert_refused(llf_prepare(r.e), LLF_E_GUARD, why->message,
                   "input b: axis 0 has extent 7, but N is 8 by input a");
    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, 8)));
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, y, 9)));
    assert_refused(llf_prepare(r.e), LLF_E_GUARD, why->message, "output 0");

    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, NULL, 8)));
    assert_refused(llf_prepare(r.e), LLF_E_ARG, why->message, "output 0: data is NULL");
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, (char *)y + 1, 8)));
    assert_refused(llf_prepare(r.e), LLF_E_ARG, why->message, "misaligned");
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, y, 8)));

    int64_t huge = INT64_MAX / 2;
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(r.e, bind(r.e, i, test_vector(LLF_F32, a, huge)));
    assert_refused(llf_prepare(r.e), LLF_E_LIMIT, why->message, "more bytes");
    assert_refused(llf_run(r.e, NULL), LLF_E_STATE, why->message, "llf_prepare");

    /* and after all of that it works */
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, a, 8)));
    assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, b, 8)));
    assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, y, 8)));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    test_close(&r);
}

static llf_graph *rank3(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "rank3");
    int64_t shape[] = {llf_symbol(g, "B"), 1, 4};
    llf_output(g, llf_neg(g, llf_input(g, "x", LLF_F32, 3, shape)));
    return g;
}

static void strides(void **state)
{
    (void)state;
    test_road r = test_open(rank3, &host, 1);
    float x[24], y[24];
    llf_tensor in = {
        .data = x, .dtype = LLF_F32, .rank = 3, .strided = true, .shape = {3, 1, 4}, .strides = {4, 4, 1}};
    llf_tensor out = {.data = y, .dtype = LLF_F32, .rank = 3, .shape = {3, 1, 4}};
    assert_ok(r.e, llf_bind(r.e, 0, &in));
    assert_ok(r.e, llf_bind(r.e, 1, &out));
    assert_ok(r.e, llf_prepare(r.e));
    in.strides[1] = -77; /* of an axis of extent 1: never used */
    assert_ok(r.e, llf_bind(r.e, 0, &in));
    assert_ok(r.e, llf_run(r.e, NULL));
    in.shape[0] = out.shape[0] = 0; /* no elements: no strides */
    assert_ok(r.e, llf_bind(r.e, 0, &in));
    assert_ok(r.e, llf_bind(r.e, 1, &out));
    assert_ok(r.e, llf_prepare(r.e));
    in.shape[0] = out.shape[0] = 3;
    in.shape[2] = 5;
    in.strided = false;
    assert_ok(r.e, llf_bind(r.e, 0, &in));
    assert_refused(llf_prepare(r.e), LLF_E_GUARD, llf_execution_error(r.e)->message,
                   "axis 2 has extent 5, the program has 4");
    test_close(&r);
}

/* ---- the caller's floating-point mode */

static llf_graph *tiny_product(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "tiny");
    int64_t n = llf_symbol(g, "N");
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n);
    llf_output(g, llf_mul(g, x, llf_const(g, LLF_F32, 0.1875)));
    llf_output(g, llf_div(g, x, llf_const(g, LLF_F32, 3.0)));
    return g;
}

static void kernels_ignore_the_callers_mode(void **state)
{
    (void)state;
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();
    /* flush to zero, denormals are zero, round towards zero; then every exception traps */
    static const unsigned odds[] = {0x1F80u | 0x8040u | 0x6000u, 0};
    for (int round = 0; round < 4; round++) {
        int threads = round / 2 * 2 + 1;
        unsigned odd = odds[round % 2];
        _mm_setcsr(odd);
        test_road r = test_open(tiny_product, &host, threads);
        enum { N = 40000 };
        static float x[N], y[N], z[N];
        for (int i = 0; i < N; i++) {
            uint32_t bits = i % 2 ? 0x01800000u : 0x3F800000u; /* 2^-124; 1 */
            memcpy(&x[i], &bits, 4);
        }
        assert_ok(r.e, bind(r.e, 0, test_vector(LLF_F32, x, N)));
        assert_ok(r.e, bind(r.e, 1, test_vector(LLF_F32, y, N)));
        assert_ok(r.e, bind(r.e, 2, test_vector(LLF_F32, z, N)));
        assert_ok(r.e, llf_prepare(r.e));
        assert_int_equal(_mm_getcsr() & 0xFFC0u, odd & 0xFFC0u);
        assert_ok(r.e, llf_run(r.e, NULL));
        assert_int_equal(_mm_getcsr() & 0xFFC0u, odd & 0xFFC0u);
        test_close(&r);
        _mm_setcsr(before);
        for (int i = 0; i < N; i++) {
            uint32_t got[2];
            memcpy(&got[0], &y[i], 4);
            memcpy(&got[1], &z[i], 4);
            /* 0.1875 * 2^-124 is subnormal; 1 / 3 is 0x3EAAAAAB to nearest, 0x3EAAAAAA towards zero */
            if (i % 2)
                assert_int_equal(got[0], 0x00600000u);
            else
                assert_int_equal(got[1], 0x3EAAAAABu);
        }
    }
#else
    skip();
#endif
}

/* Memory holds what it holds: a bool's byte that is neither 0 nor 1 is true everywhere, and leaves as 1. */
static void any_byte_but_zero_is_true(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = llf_graph_create(cx, "bytes");
    int64_t n = 256;
    llf_id b = llf_input(g, "b", LLF_BOOL, 1, &n), t = llf_const(g, LLF_BOOL, 1);
    llf_output(g, b);
    llf_output(g, llf_copy(g, b));
    llf_output(g, llf_eq(g, b, t));
    llf_output(g, llf_cast(g, b, LLF_BOOL));
    llf_output(g, llf_where(g, b, t, llf_const(g, LLF_BOOL, 0)));
    llf_output(g, llf_cast(g, b, LLF_I32));
    test_road r = {.cx = cx, .g = g};
    if (llf_compile(cx, g, &host, &r.p) || llf_program_load(cx, r.p, 1, &r.l) ||
        llf_execution_create(cx, r.l, &r.e))
        fail_msg("%s", llf_last_error(cx)->message);
    unsigned char in[256], out[5][256];
    int32_t wide[256];
    for (int i = 0; i < 256; i++)
        in[i] = (unsigned char)i;
    assert_ok(r.e, bind(r.e, 0, test_vector(LLF_BOOL, in, n)));
    for (uint32_t o = 0; o < 5; o++)
        assert_ok(r.e, bind(r.e, 1 + o, test_vector(LLF_BOOL, out[o], n)));
    assert_ok(r.e, bind(r.e, 6, test_vector(LLF_I32, wide, n)));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    for (int i = 0; i < 256; i++) {
        for (int o = 0; o < 5; o++)
            assert_int_equal(out[o][i], i != 0);
        assert_int_equal(wide[i], i != 0);
    }
    test_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_relu),
        cmocka_unit_test(no_elements_no_launch),
        cmocka_unit_test(scalars_change_without_prepare),
        cmocka_unit_test(buffers_change_without_prepare),
        cmocka_unit_test(in_place_where_the_plan_allows),
        cmocka_unit_test(in_place_follows_the_plan),
        cmocka_unit_test(in_place_needs_the_same_index),
        cmocka_unit_test(partial_overlap_is_refused),
        cmocka_unit_test(refusals_of_bind),
        cmocka_unit_test(refusals_of_prepare),
        cmocka_unit_test(strides),
        cmocka_unit_test(kernels_ignore_the_callers_mode),
        cmocka_unit_test(any_byte_but_zero_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
