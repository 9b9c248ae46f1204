/* Views at run time on the host: guards, aliasing under index maps, sizes of one program, pieces of rows. */
#include "runtime_util.h"

static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};

static llf_tensor matrix(float *data, int64_t a, int64_t b)
{
    return (llf_tensor){.data = data, .dtype = LLF_F32, .rank = 2, .shape = {a, b}};
}

static void bind_to(llf_execution *e, uint32_t index, llf_tensor t)
{
    assert_ok(e, llf_bind(e, index, &t));
}

/* x[B, N] + w[M]: M must be N */
static llf_graph *guarded(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "guarded");
    int64_t b = llf_symbol(g, "B"), n = llf_symbol(g, "N"), m = llf_symbol(g, "M");
    llf_id x = llf_input(g, "x", LLF_F32, 2, (int64_t[]){b, n}), w = llf_input(g, "w", LLF_F32, 1, &m);
    llf_output(g, llf_add(g, x, w));
    return g;
}

static void a_broken_guard_names_both_extents_and_values(void **state)
{
    (void)state;
    test_road r = test_open(guarded, &host, 1);
    float x[12] = {0}, w[4] = {1, 2, 3, 4}, y[12];
    bind_to(r.e, 0, matrix(x, 3, 4));
    bind_to(r.e, 1, test_vector(LLF_F32, w, 3));
    bind_to(r.e, 2, matrix(y, 3, 4));
    assert_refused(llf_prepare(r.e), LLF_E_GUARD, llf_execution_error(r.e)->message, "N (4)");
    assert_non_null(strstr(llf_execution_error(r.e)->message, "M (3)"));
    bind_to(r.e, 1, test_vector(LLF_F32, w, 4));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    for (int i = 0; i < 12; i++)
        assert_true(y[i] == (float)(i % 4 + 1));
    test_close(&r);
}

/* exp(y[M]) + x[N], then the rows c[K, 2] as one axis, then what is left of v[P] without its first element */
static llf_graph *equal_by_guards(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "equal");
    int64_t n = llf_symbol(g, "N"), m = llf_symbol(g, "M"), k = llf_symbol(g, "K"), p = llf_symbol(g, "P");
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n), y = llf_input(g, "y", LLF_F32, 1, &m);
    llf_id c = llf_input(g, "c", LLF_F32, 2, (int64_t[]){k, 2}), v = llf_input(g, "v", LLF_F32, 1, &p);
    llf_id sum = llf_add(g, llf_neg(g, y), x);
    sum = llf_sub(g, sum, llf_reshape(g, c, 1, (int64_t[]){LLF_INFER}));
    llf_output(g, llf_mul(g, sum, llf_slice(g, v, (llf_range[]){{1, LLF_DEFAULT, 1, 0, 0}})));
    return g;
}

/* One kernel over one iteration space; a size that does not fit is told by the symbols as given, with op and
 * axis, whichever of them it is. */
static void extents_equal_by_guard_share_a_kernel(void **state)
{
    (void)state;
    test_road r = test_open(equal_by_guards, &host, 1);
    assert_int_equal(r.p->plan.kernels, 1);
    float x[9], y[9], c[9], v[9], out[9];
    for (int i = 0; i < 9; i++) {
        x[i] = (float)(i * 10);
        y[i] = (float)i;
        c[i] = (float)(i * i);
        v[i] = (float)(i + 1);
    }
    const struct {
        int64_t n, m, k, p, out;
        const char *message; /* NULL: runs */
    } size[] = {
        {4, 4, 2, 5, 4, NULL},
        {4, 3, 2, 5, 4, "add: axis 0: M (3) must be equal to N (4)"},
        {4, 4, 3, 5, 4, "sub: axis 0: M (4) must be equal to 2*K (6)"},
        {4, 4, 2, 4, 4, "mul: axis 0: M (4) must be equal to P-1 (3)"},
        {4, 4, 2, 5, 6, "output 0: axis 0 has extent 6"},
        {0, 0, 0, 0, 0, "slice: axis 0: 1 (1) must be at most P (0)"},
        {0, 0, 0, 1, 0, NULL},
        {6, 6, 3, 7, 6, NULL},
    };
    for (size_t i = 0; i < LLFI_COUNT(size); i++) {
        bind_to(r.e, 0, test_vector(LLF_F32, x, size[i].n));
        bind_to(r.e, 1, test_vector(LLF_F32, y, size[i].m));
        bind_to(r.e, 2, matrix(c, size[i].k, 2));
        bind_to(r.e, 3, test_vector(LLF_F32, v, size[i].p));
        bind_to(r.e, 4, test_vector(LLF_F32, out, size[i].out));
        if (size[i].message) {
            assert_refused(llf_prepare(r.e), LLF_E_GUARD, llf_execution_error(r.e)->message, size[i].message);
            continue;
        }
        assert_ok(r.e, llf_prepare(r.e));
        assert_ok(r.e, llf_run(r.e, NULL));
        for (int64_t j = 0; j < size[i].out; j++)
            assert_true(out[j] == (float)((9 * j - j * j) * (j + 2)));
    }
    test_close(&r);
}

/* Compiles the text; the message of a refusal goes to `why`. */
static llf_status compiles(const char *text, char *why, size_t size, test_road *r)
{
    *r = (test_road){.cx = llf_context_create(NULL)};
    llf_status status = llf_graph_parse(r->cx, text, strlen(text), "test", &r->g);
    if (status == LLF_OK)
        status = llf_compile(r->cx, r->g, &host, &r->p);
    snprintf(why, size, "%s", status == LLF_OK ? "" : llf_last_error(r->cx)->message);
    return status;
}

static void what_no_input_tells_is_refused_at_compile(void **state)
{
    (void)state;
    const struct {
        const char *text, *symbol; /* NULL: compiles */
    } graphs[] = {
        {"graph @t(%x: f32[2*N]) {\n  %0 = neg %x\n  ret %0\n}\n", NULL},
        {"graph @t(%x: f32[B*4+N], %y: f32[B, 3]) {\n  %0 = neg %x\n  ret %0, %y\n}\n", NULL},
        {"graph @t(%x: f32[N*M], %y: f32[M*K], %z: f32[2*K]) {\n  %0 = neg %x\n  ret %0, %y, %z\n}\n", NULL},
        {"graph @t(%x: f32[N*N]) {\n  %0 = neg %x\n  ret %0\n}\n", "symbol N"},
        {"graph @t(%x: f32[N//2]) {\n  %0 = neg %x\n  ret %0\n}\n", "symbol N"},
        {"graph @t(%x: f32[A+B]) {\n  %0 = neg %x\n  ret %0\n}\n", "symbol A"},
        {"graph @t(%x: f32[4]) {\n  %0 = broadcast_to %x, shape=[Rows, 4]\n  ret %0\n}\n", "symbol Rows"},
        /* dead, but what it asked of the sizes is asked still */
        {"graph @t(%x: f32[4]) {\n  %0 = slice %x, at=[K:]\n  ret %x\n}\n", "symbol K"},
    };
    for (size_t i = 0; i < LLFI_COUNT(graphs); i++) {
        char why[600];
        test_road r;
        llf_status status = compiles(graphs[i].text, why, sizeof why, &r);
        if (!graphs[i].symbol)
            assert_int_equal(status, LLF_OK);
        else
            assert_refused(status, LLF_E_GRAPH, why, graphs[i].symbol);
        test_close(&r);
    }
}

/* y[B*4 + N] - w[2*N], B known by b; sizes that do not divide are told */
static void symbols_are_told_by_expressions(void **state)
{
    (void)state;
    const char *text = "graph @t(%w: f32[2*N], %b: f32[B], %y: f32[B*4+M]) {\n  %0 = slice %y, at=[B*4:]\n"
                       "  %1 = reshape %w, shape=[2, N]\n  %both = add %1, %0\n  ret %both, %b\n}\n";
    char why[600];
    test_road r;
    assert_int_equal(compiles(text, why, sizeof why, &r), LLF_OK);
    assert_int_equal(llf_program_load(r.cx, r.p, 1, &r.l), LLF_OK);
    assert_int_equal(llf_execution_create(r.cx, r.l, &r.e), LLF_OK);
    float w[8], b[4], y[24], sum[8], copy[4];
    for (int i = 0; i < 24; i++) {
        w[i % 8] = (float)(i % 8);
        b[i % 4] = (float)(i % 4);
        y[i] = (float)(100 * i);
    }
    const struct {
        int64_t w, b, y, rows, n;
        const char *message;
    } size[] = {
        {6, 2, 11, 2, 3, NULL}, /* N 3, B 2, M 3 */
        {8, 0, 4, 2, 4, NULL},
        {0, 3, 12, 2, 0, NULL},
        {7, 2, 11, 2, 3, "input w: axis 0 has extent 7, but 2*N is 6"},
        {6, 2, 12, 2, 3, "add: axis 1: N (3) must be equal to M (4), in %both"},
        {6, 3, 11, 2, 3, "symbol M"}, /* it would be negative */
        {6, 2, 11, 2, 4, "axis 1 has extent 4, but N is 3"},
    };
    for (size_t i = 0; i < LLFI_COUNT(size); i++) {
        bind_to(r.e, 0, test_vector(LLF_F32, w, size[i].w));
        bind_to(r.e, 1, test_vector(LLF_F32, b, size[i].b));
        bind_to(r.e, 2, test_vector(LLF_F32, y, size[i].y));
        bind_to(r.e, 3, matrix(sum, size[i].rows, size[i].n));
        bind_to(r.e, 4, test_vector(LLF_F32, copy, size[i].b));
        if (size[i].message) {
            assert_refused(llf_prepare(r.e), LLF_E_GUARD, llf_execution_error(r.e)->message, size[i].message);
            continue;
        }
        assert_ok(r.e, llf_prepare(r.e));
        assert_ok(r.e, llf_run(r.e, NULL));
        for (int64_t j = 0; j < 2 * size[i].n; j++)
            assert_true(sum[j] == (float)(j + 100 * (4 * size[i].b + j % size[i].n)));
    }
    test_close(&r);
}

/* x + x^T, and v + x read in order beside it */
static llf_graph *mirrored(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "mirrored");
    int64_t n = llf_symbol(g, "N");
    llf_id x = llf_input(g, "x", LLF_F32, 2, (int64_t[]){n, n}),
           v = llf_input(g, "v", LLF_F32, 2, (int64_t[]){n, n});
    llf_output(g, llf_add(g, llf_add(g, v, x), llf_permute(g, x, (int64_t[]){1, 0})));
    return g;
}

static void an_output_may_not_be_an_input_read_elsewhere(void **state)
{
    (void)state;
    test_road r = test_open(mirrored, &host, 1);
    assert_int_equal(r.p->plan.kernels, 1);
    assert_false(llfi_program_inplace(r.p, 0, 0)); /* other points of x are still to be read */
    assert_true(llfi_program_inplace(r.p, 1, 0));
    float x[4] = {1, 2, 3, 4}, v[4] = {10, 20, 30, 40};
    bind_to(r.e, 0, matrix(x, 2, 2));
    bind_to(r.e, 1, matrix(v, 2, 2));
    bind_to(r.e, 2, matrix(x, 2, 2));
    assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "input x");
    bind_to(r.e, 2, matrix(v, 2, 2));
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    const float want[] = {12, 25, 35, 48};
    for (int i = 0; i < 4; i++)
        assert_true(v[i] == want[i]);
    test_close(&r);
}

/* (x * r) + w over columns turned round: stretched, by rows, by columns and backwards */
static llf_graph *all_ways(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "all_ways");
    int64_t b = llf_symbol(g, "B"), n = llf_symbol(g, "N");
    llf_id x = llf_input(g, "x", LLF_F32, 2, (int64_t[]){b, n}),
           r = llf_input(g, "r", LLF_F32, 2, (int64_t[]){b, 1});
    llf_id w = llf_input(g, "w", LLF_F32, 1, &n);
    llf_output(g, llf_add(g, llf_mul(g, x, r), llf_flip(g, w, 1, (int64_t[]){0})));
    return g;
}

/* One program, many sizes: rows shorter and longer than vectors, pieces that begin inside rows, none at all.
 */
static void one_program_serves_all_sizes(void **state)
{
    (void)state;
    const int64_t size[][2] = {{0, 5}, {5, 0}, {1, 1}, {3, 1}, {1, 100}, {7, 3}, {64, 65}, {1001, 333}};
    test_road t = test_open(all_ways, &host, 3);
    for (size_t k = 0; k < LLFI_COUNT(size); k++) {
        int64_t b = size[k][0], n = size[k][1];
        float *x = malloc((size_t)(b * n + 1) * sizeof *x), *y = malloc((size_t)(b * n + 1) * sizeof *y);
        float *r = malloc((size_t)(b + 1) * sizeof *r), *w = malloc((size_t)(n + 1) * sizeof *w);
        assert_true(x && y && r && w);
        for (int64_t i = 0; i < b * n; i++)
            x[i] = (float)(i % 251);
        for (int64_t i = 0; i < b; i++)
            r[i] = (float)(i % 17);
        for (int64_t i = 0; i < n; i++)
            w[i] = (float)(i * 8);
        y[b * n] = -1;
        bind_to(t.e, 0, matrix(x, b, n));
        bind_to(t.e, 1, matrix(r, b, 1));
        bind_to(t.e, 2, test_vector(LLF_F32, w, n));
        bind_to(t.e, 3, matrix(y, b, n));
        assert_ok(t.e, llf_prepare(t.e));
        assert_ok(t.e, llf_run(t.e, NULL));
        for (int64_t i = 0; i < b * n; i++)
            if (y[i] != x[i] * r[i / n] + w[n - 1 - i % n])
                fail_msg("[%lld, %lld]: element %lld", (long long)b, (long long)n, (long long)i);
        assert_true(y[b * n] == -1);
        free(x);
        free(y);
        free(r);
        free(w);
    }
    test_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_guard_names_both_extents_and_values),
        cmocka_unit_test(extents_equal_by_guard_share_a_kernel),
        cmocka_unit_test(what_no_input_tells_is_refused_at_compile),
        cmocka_unit_test(symbols_are_told_by_expressions),
        cmocka_unit_test(an_output_may_not_be_an_input_read_elsewhere),
        cmocka_unit_test(one_program_serves_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
