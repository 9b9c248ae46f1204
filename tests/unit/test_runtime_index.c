/* Index ops at run time on the host: what must not explode when maps multiply, empty operands that may not be
 * read, and wide concats. */
#include "runtime_util.h"

static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};

/* Demands of all kernels: each is at most a load or an op of the code. */
static uint32_t demands_of(const llf_program *p)
{
    uint32_t all = 0;
    for (uint32_t k = 0; k < p->plan.kernels; k++) {
        const llfi_schedule *s = &p->kernel[k].schedule;
        for (uint32_t i = 0; s->parts && i < s->parts->rows; i++)
            all += s->parts->row[i].schedule.demands->count;
        all += s->parts ? 0 : s->demands->count;
    }
    return all;
}

static llf_program *compile(llf_context *cx, llf_graph *g)
{
    llf_program *p = NULL;
    if (llf_compile(cx, g, &host, &p) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    return p;
}

/* x = x + roll(x, k), `folds` times with distinct k: 2^folds loads if every map were followed to the input.
 */
static llf_graph *rolls(llf_context *cx, uint32_t folds)
{
    llf_graph *g = llf_graph_create(cx, "rolls");
    int64_t n = llf_symbol(g, "N");
    llf_id x = llf_input(g, "x", LLF_I64, 1, &n);
    for (uint32_t i = 0; i < folds; i++)
        x = llf_add(g, x, llf_roll(g, x, 1, &(llf_shift){.by = 3 * (int64_t)i + 1}));
    llf_output(g, x);
    return g;
}

static void folded_rolls_stay_linear(void **state)
{
    llf_context *cx = llf_context_create(NULL);
    (void)state;
    uint32_t demands[2], instructions = 20;
    for (int i = 0; i < 2; i++) {
        llf_graph *g = rolls(cx, 10u << i);
        llf_program *p = compile(cx, g);
        demands[i] = demands_of(p);
        assert_true(p->plan.kernels <= 10u << i);
        llf_program_destroy(p);
        llf_graph_destroy(g);
    }
    assert_true(demands[1] <= instructions * 20);
    assert_true(demands[1] <= 2 * demands[0] + instructions);
    llf_context_destroy(cx);
}

/* What they compute, from the definition. */
static void folded_rolls_are_right(void **state)
{
    enum { N = 37, FOLDS = 20 };
    int64_t x[N], want[N], next[N], got[N];
    llf_context *cx = llf_context_create(NULL);
    (void)state;
    llf_graph *g = rolls(cx, FOLDS);
    llf_program *p = compile(cx, g);
    llf_loaded *l = NULL;
    llf_execution *e = NULL;
    assert_int_equal(llf_program_load(cx, p, 1, &l), LLF_OK);
    assert_int_equal(llf_execution_create(cx, l, &e), LLF_OK);
    for (int i = 0; i < N; i++)
        x[i] = want[i] = (i * 7919) % 101 - 50;
    for (int f = 0; f < FOLDS; f++) {
        for (int i = 0; i < N; i++)
            next[i] = want[i] + want[((i - 3 * f - 1) % N + N) % N];
        memcpy(want, next, sizeof want);
    }
    llf_tensor in = test_vector(LLF_I64, x, N), out = test_vector(LLF_I64, got, N);
    assert_ok(e, llf_bind(e, 0, &in));
    assert_ok(e, llf_bind(e, 1, &out));
    assert_ok(e, llf_prepare(e));
    assert_ok(e, llf_run(e, NULL));
    assert_memory_equal(got, want, sizeof want);
    llf_execution_destroy(e);
    llf_loaded_destroy(l);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* concat(concat(concat(a, b), a), b) ..., and takes of takes: as many demands as nodes, times a constant. */
static void nested_ops_stay_linear(void **state)
{
    llf_context *cx = llf_context_create(NULL);
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        uint32_t demands[2];
        for (uint32_t k = 0; k < 2; k++) {
            llf_graph *g = llf_graph_create(cx, "nested");
            int64_t n = llf_symbol(g, "N");
            llf_id a = llf_input(g, "a", LLF_F32, 1, &n), i = llf_input(g, "i", LLF_I32, 1, &n), x = a;
            for (uint32_t d = 0; d < 30u << k; d++)
                x = kind == 0   ? llf_concat(g, 2, d % 2 ? (llf_id[]){x, a} : (llf_id[]){a, x}, 0)
                    : kind == 1 ? llf_take(g, llf_neg(g, x), i, 0)
                                : llf_pad(g, x, llf_const(g, LLF_F32, d), (llf_padding[]){{d % 3, 1, 0, 0}});
            llf_output(g, x);
            llf_program *p = compile(cx, g);
            demands[k] = demands_of(p);
            llf_program_destroy(p);
            llf_graph_destroy(g);
        }
        if (demands[1] > 2 * demands[0] + 16 || demands[0] > 30 * 12)
            fail_msg("kind %d: %u and %u demands", kind, demands[0], demands[1]);
    }
    llf_context_destroy(cx);
}

/* Operands without elements are bound to no memory at all, under views that divide by their extents. */
static llf_graph *empties(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "empties");
    int64_t n = llf_symbol(g, "N"), m = llf_symbol(g, "M");
    llf_id a = llf_input(g, "a", LLF_F64, 1, (int64_t[]){n}), b = llf_input(g, "b", LLF_F64, 1, &m);
    llf_id i = llf_input(g, "i", LLF_I64, 1, &n);
    llf_id shape = llf_input(g, "s", LLF_F64, 2, (int64_t[]){n, 3}); /* N x 3 as 3 x N, as one axis */
    llf_id turned = llf_reshape(g, llf_permute(g, shape, (int64_t[]){1, 0}), 1, (int64_t[]){LLF_INFER});
    llf_id taken = llf_take(g, a, i, 0);
    llf_output(g, llf_concat(g, 4, (llf_id[]){a, b, turned, taken}, 0));
    llf_output(g, llf_pad(g, a, llf_const(g, LLF_F64, 5), (llf_padding[]){{1, 1, 0, 0}}));
    return g;
}

static void empty_operands_are_never_read(void **state)
{
    (void)state;
    test_road r = test_open(empties, &host, 1);
    double b[4] = {1, 2, 3, 4}, out[4] = {0}, padded[2] = {0};
    llf_tensor t[] = {test_vector(LLF_F64, NULL, 0), test_vector(LLF_F64, b, 4),
                      test_vector(LLF_I64, NULL, 0), {.dtype = LLF_F64, .rank = 2, .shape = {0, 3}},
                      test_vector(LLF_F64, out, 4),  test_vector(LLF_F64, padded, 2)};
    for (uint32_t i = 0; i < 6; i++)
        assert_ok(r.e, llf_bind(r.e, i, &t[i]));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    for (int i = 0; i < 4; i++)
        assert_true(out[i] == i + 1);
    assert_true(padded[0] == 5 && padded[1] == 5);
    double a[2] = {10, 20}, s[6] = {1, 2, 3, 4, 5, 6}, all[14] = {0}, more[4];
    int64_t i[2] = {-1, 9};
    const double want[14] = {10, 20, 1, 2, 3, 4, 1, 4, 2, 5, 3, 6, 20, 20};
    llf_tensor u[] = {
        test_vector(LLF_F64, a, 2),    test_vector(LLF_F64, b, 4),
        test_vector(LLF_I64, i, 2),    {.data = s, .dtype = LLF_F64, .rank = 2, .shape = {2, 3}},
        test_vector(LLF_F64, all, 14), test_vector(LLF_F64, more, 4)};
    for (uint32_t k = 0; k < 6; k++)
        assert_ok(r.e, llf_bind(r.e, k, &u[k]));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    assert_memory_equal(all, want, sizeof want);
    assert_true(more[0] == 5 && more[1] == 10 && more[2] == 20 && more[3] == 5);
    test_close(&r);
}

/* Three thousand operands: several kernels, each within a kernel's arguments. */
static void a_concat_of_thousands_runs(void **state)
{
    enum { PARTS = 3000 };
    llf_context *cx = llf_context_create(NULL);
    (void)state;
    llf_graph *g = llf_graph_create(cx, "wide");
    llf_id in[2], part[PARTS];
    in[0] = llf_input(g, "a", LLF_I32, 1, (int64_t[]){1});
    in[1] = llf_input(g, "b", LLF_I32, 1, (int64_t[]){2});
    for (int i = 0; i < PARTS; i++)
        part[i] = in[i % 3 == 2];
    llf_output(g, llf_concat(g, PARTS, part, 0));
    llf_program *p = compile(cx, g);
    llf_loaded *l = NULL;
    llf_execution *e = NULL;
    assert_int_equal(llf_program_load(cx, p, 1, &l), LLF_OK);
    assert_int_equal(llf_execution_create(cx, l, &e), LLF_OK);
    static int32_t out[PARTS / 3 * 4];
    int32_t a = 7, b[] = {8, 9};
    llf_tensor t[] = {test_vector(LLF_I32, &a, 1), test_vector(LLF_I32, b, 2),
                      test_vector(LLF_I32, out, LLFI_COUNT(out))};
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(e, llf_bind(e, i, &t[i]));
    assert_ok(e, llf_prepare(e));
    assert_ok(e, llf_run(e, NULL));
    for (size_t i = 0; i < LLFI_COUNT(out); i++)
        assert_true(out[i] == (i % 4 < 2 ? 7 : i % 4 == 2 ? 8 : 9));
    llf_execution_destroy(e);
    llf_loaded_destroy(l);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded_rolls_stay_linear),   cmocka_unit_test(folded_rolls_are_right),
        cmocka_unit_test(nested_ops_stay_linear),     cmocka_unit_test(empty_operands_are_never_read),
        cmocka_unit_test(a_concat_of_thousands_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
