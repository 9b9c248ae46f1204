/* test_runtime_variants.c: how many kernels are compiled for strides and sizes, when, and for whom: counters,
 * sharing by kernels and by threads, parameters that run out, the log, memory that runs out. */
#include "strided_memory.h"

/* ---- counters */

/* B41: new host scalars are no reason to compile. */
static void scalars_are_not_compiled(void **state)
{
    (void)state;
    test_road r = open_text("graph @scale(%x: f32[N], %s: scalar f32) {\n  %0 = mul %x, %s\n  ret %0\n}\n");
    float x[5] = {1, 2, 3, 4, 5}, y[5];
    bind_to(&r, 0, test_vector(LLF_F32, x, 5));
    bind_to(&r, 2, test_vector(LLF_F32, y, 5));
    for (int k = 0; k < 300; k++) {
        float s = (float)k;
        bind_to(&r, 1, test_scalar(LLF_F32, &s));
        if (k % 2)
            assert_ok(r.e, llf_run(r.e, NULL));
        else
            go(&r);
        assert_true(y[4] == 5 * s);
    }
    assert_int_equal(stats_of(r.e).modules, 1);
    assert_int_equal(stats_of(r.e).runs, 300);
    test_close(&r);
}

/* B42: neither are sizes; 0 and 1 first, so that they could poison what follows. */
static void sizes_are_not_compiled(void **state)
{
    (void)state;
    test_road r = open_text(neg2);
    for (int64_t n = 0; n <= 300; n++)
        NEGATED(&r, LIST(n % 4, n), LIST(n, 1));
    assert_int_equal(stats_of(r.e).modules, 1);
    for (int64_t n = 0; n <= 300; n++)
        NEGATED(&r, LIST(n % 4, n), LIST(n + 3, 1));
    assert_int_equal(stats_of(r.e).modules, 2);
    test_close(&r);
}

/* Kernels that are equal but for their inputs share the module of their variants, as they do their own. */
static void equal_kernels_share_a_variant(void **state)
{
    (void)state;
    enum { KERNELS = 40 };
    char text[8192] = "graph @many(";
    for (int i = 0; i < KERNELS; i++)
        snprintf(text + strlen(text), 100, "%s%%x%d: f32[A%d, B%d]", i ? ", " : "", i, i, i);
    snprintf(text + strlen(text), 10, ") {\n");
    for (int i = 0; i < KERNELS; i++)
        snprintf(text + strlen(text), 100, "  %%y%d = neg %%x%d\n", i, i);
    for (int i = 0; i < KERNELS; i++)
        snprintf(text + strlen(text), 100, "%s%%y%d", i ? ", " : "  ret ", i);
    snprintf(text + strlen(text), 10, "\n}\n");
    test_road r = open_text(text);
    static float x[64], y[KERNELS][6];
    uint32_t kernels = stats_of(r.e).kernels, modules = stats_of(r.e).modules;
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    for (uint32_t i = 0; i < KERNELS; i++) {
        llf_tensor in = {.data = x + i % 5, .dtype = LLF_F32, .rank = 2, .strided = true, .shape = {2, 3}};
        in.strides[0] = i < KERNELS - 1 ? 20 + i % 4 : 3; /* the last is row-major */
        in.strides[1] = 1;
        bind_to(&r, i, in);
        bind_to(&r, KERNELS + i, (llf_tensor){.data = y[i], .dtype = LLF_F32, .rank = 2, .shape = {2, 3}});
    }
    go(&r);
    for (uint32_t i = 0; i < KERNELS; i++)
        for (uint32_t j = 0; j < 6; j++)
            assert_true(y[i][j] == -(float)(i % 5 + j / 3 * (i < KERNELS - 1 ? 20 + i % 4 : 3) + j % 3));
    llf_stats now = stats_of(r.e);
    assert_true(kernels == KERNELS ? now.modules == modules + 1 : now.modules <= 2 * modules);
    assert_true(kernels < KERNELS || now.variants == KERNELS - 1);
    test_close(&r);
}

/* More strides than a kernel may have parameters: the same bits from a table. */
static void strides_beyond_the_parameters(void **state)
{
    (void)state;
    test_road r = open_text("graph @sub4(%x: f32[A, B, C, D], %y: f32[A, B, C, D]) {\n"
                            "  %0 = flip %y, axes=[1, 3]\n  %1 = sub %x, %0\n  ret %1\n}\n");
    const int64_t shape[] = {3, 4, 5, 7}, s[] = {-1, 9, 300, 3}, u[] = {200, -40, 8, 1};
    r.p->target.param_bytes = 72; /* fewer than the strides alone */
    strided_memory x = strided_open(4, shape, s, false), y = strided_open(4, shape, u, true);
    strided_output o = strided_result(4, shape);
    bind_to(&r, 0, x.t);
    bind_to(&r, 1, y.t);
    bind_to(&r, 2, o.t);
    for (int again = 0; again < 2; again++) {
        memset(o.t.data, 0, o.count * sizeof(float));
        go(&r);
        assert_int_equal(r.e->table_bytes > 0, 1);
        int64_t i[LLF_MAX_RANK] = {0};
        for (size_t k = 0; k < o.count; k++) {
            int64_t from = i[0] * u[0] + (3 - i[1]) * u[1] + i[2] * u[2] + (6 - i[3]) * u[3];
            assert_true(((float *)o.t.data)[k] ==
                        strided_value(strided_place(&x.t, i)) - strided_value(from));
            (void)strided_next(&x.t, i);
        }
    }
    bind_to(&r, 2, o.t); /* bound anew: the table stays */
    memset(o.t.data, 0, o.count * sizeof(float));
    assert_ok(r.e, llf_run(r.e, NULL));
    int64_t last[] = {2, 3, 4, 6};
    assert_true(((float *)o.t.data)[o.count - 1] ==
                strided_value(strided_place(&x.t, last)) - strided_value(2 * u[0] + 4 * u[2]));
    strided_done(&o);
    strided_close(&x);
    strided_close(&y);
    test_close(&r);
}

/* ---- indices that take more than 31 bits */

/* The last elements of a buffer of which little is there: its pages are made as they are touched. */
static void offsets_beyond_31_bits(void **state)
{
    (void)state;
    const size_t n = (size_t)INT32_MAX + 9;
    test_road r = open_text("graph @last(%x: bool[N], %y: bool[8]) {\n  %0 = flip %x, axes=[0]\n"
                            "  %1 = slice %0, at=[:8]\n  %2 = ne %1, %y\n  ret %2\n}\n");
    bool *x = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool y[8] = {0, 0, 0, 0, 1, 1, 1, 1}, z[8];
    if (x == MAP_FAILED) {
        test_close(&r);
        skip();
    }
    const bool last[8] = {1, 0, 0, 1, 1, 1, 0, 0}; /* upwards */
    memcpy(x + n - 8, last, sizeof last);
    bind_to(&r, 1, test_vector(LLF_BOOL, y, 8));
    bind_to(&r, 2, test_vector(LLF_BOOL, z, 8));
    for (int again = 0; again < 2; again++) {
        bind_to(&r, 0, test_vector(LLF_BOOL, x, (int64_t)n));
        go(&r);
        for (int i = 0; i < 8; i++)
            assert_int_equal(z[i], last[7 - i] ^ y[i]);
        assert_int_equal(stats_of(r.e).variants, 1);
        bind_to(&r, 0, test_vector(LLF_BOOL, x + n - 100, 100)); /* small again */
        go(&r);
        for (int i = 0; i < 8; i++)
            assert_int_equal(z[i], last[7 - i] ^ y[i]);
        assert_null(r.e->variant[0]);
    }
    assert_int_equal(munmap(x, n), 0);
    test_close(&r);
}

/* ---- shared by threads */

typedef struct {
    llf_loaded *l;
    llf_context *cx;
    int wrong;
} sharer;

static void *share(void *user)
{
    sharer *s = user;
    float x[64], y[12];
    llf_execution *e = NULL;
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    s->wrong = llf_execution_create(s->cx, s->l, &e) != LLF_OK;
    for (int k = 0; k < 20 && !s->wrong; k++) {
        llf_tensor in = {.data = x + 30, .dtype = LLF_F32, .rank = 2, .strided = true, .shape = {3, 4}};
        llf_tensor out = {.data = y, .dtype = LLF_F32, .rank = 2, .shape = {3, 4}};
        in.strides[0] = k % 3 == 0 ? 4 : k % 3 == 1 ? 8 : -7;
        in.strides[1] = k % 3 == 2 ? 2 : 1;
        s->wrong = llf_bind(e, 0, &in) || llf_bind(e, 1, &out) || llf_prepare(e) || llf_run(e, NULL);
        for (int i = 0; i < 12; i++)
            s->wrong |= y[i] != -(float)(30 + i / 4 * in.strides[0] + i % 4 * in.strides[1]);
    }
    llf_execution_destroy(e);
    return NULL;
}

static void threads_share_variants(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    test_road r = open_text(neg2);
    sharer s[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        s[i] = (sharer){r.l, llf_context_create(NULL), 0};
        assert_int_equal(pthread_create(&thread[i], NULL, share, &s[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        llf_context_destroy(s[i].cx);
        assert_int_equal(s[i].wrong, 0);
    }
    assert_int_equal(stats_of(r.e).modules, 3);
    test_close(&r);
}

/* ---- the log, and contexts that are gone */

typedef struct {
    int lines;
    char last[600];
} heard;

static void hear(void *user, const char *topic, const char *line)
{
    heard *h = user;
    h->lines += strcmp(topic, "recompiles") == 0;
    snprintf(h->last, sizeof h->last, "%s", line);
}

static void the_log_says_why(void **state)
{
    (void)state;
    heard h = {0};
    llf_context_options co = {.size = sizeof co, .log = hear, .log_user = &h, .logs = "recompiles"};
    test_road r = {.cx = llf_context_create(&co)};
    assert_int_equal(llf_graph_parse(r.cx, neg2, strlen(neg2), NULL, &r.g), LLF_OK);
    assert_int_equal(llf_compile(r.cx, r.g, &host, &r.p), LLF_OK);
    assert_int_equal(llf_program_load(r.cx, r.p, 1, &r.l), LLF_OK);
    assert_int_equal(llf_execution_create(r.cx, r.l, &r.e), LLF_OK);
    llf_graph_destroy(r.g);
    llf_context_destroy(r.cx); /* the execution lives on, and so does the log */
    r.g = NULL;
    r.cx = NULL;
    assert_int_equal(h.lines, 1);
    NEGATED(&r, LIST(3, 4), LIST(4, 1));
    assert_int_equal(h.lines, 1);
    NEGATED(&r, LIST(3, 4), LIST(-8, 1));
    assert_int_equal(h.lines, 2);
    assert_non_null(strstr(h.last, "input x of shape [3, 4] has strides [-8, 1]"));
    NEGATED(&r, LIST(3, 4), LIST(16, 1));
    assert_int_equal(h.lines, 2);
    NEGATED(&r, LIST(3, 4), LIST(1, 3));
    assert_int_equal(h.lines, 3);
    test_close(&r);
}

/* ---- memory */

static void each_allocation_fails_once(void **state)
{
    (void)state;
    test_memory m = {0};
    llf_allocator hooks = {test_resize, &m};
    llf_context_options co = {.size = sizeof co, .allocator = &hooks};
    llf_context *cx = llf_context_create(&co);
    llf_graph *g = NULL;
    llf_program *p = NULL;
    float x[64], y[12];
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    assert_int_equal(llf_graph_parse(cx, neg2, strlen(neg2), NULL, &g), LLF_OK);
    assert_int_equal(llf_compile(cx, g, &host, &p), LLF_OK);
    llf_tensor in = {
        .data = x, .dtype = LLF_F32, .rank = 2, .strided = true, .shape = {3, 4}, .strides = {8, 1}};
    llf_tensor out = {.data = y, .dtype = LLF_F32, .rank = 2, .shape = {3, 4}};
    long long before = atomic_load(&m.live), tries = 0;
    for (bool done = false; !done; tries++) {
        llf_loaded *l = NULL;
        llf_execution *e = NULL;
        assert_int_equal(llf_program_load(cx, p, 1, &l), LLF_OK);
        assert_int_equal(llf_execution_create(cx, l, &e), LLF_OK);
        assert_int_equal(llf_bind(e, 0, &in), LLF_OK);
        assert_int_equal(llf_bind(e, 1, &out), LLF_OK);
        atomic_store(&m.failed, false);
        atomic_store(&m.fail_at, atomic_load(&m.calls) + tries + 1);
        llf_status status = llf_prepare(e);
        done = !atomic_load(&m.failed);
        atomic_store(&m.fail_at, 0);
        if (status != (done ? LLF_OK : LLF_E_NOMEM))
            fail_msg("allocation %lld: %s", tries, llf_execution_error(e)->message);
        if (!done && tries % 2) /* half of them try again */
            assert_ok(e, llf_prepare(e));
        if (done || tries % 2) {
            memset(y, 0, sizeof y);
            assert_ok(e, llf_run(e, NULL));
            assert_true(y[11] == -19);
        } else {
            assert_int_equal(llf_run(e, NULL), LLF_E_STATE);
        }
        llf_execution_destroy(e);
        llf_loaded_destroy(l);
        if (atomic_load(&m.live) != before)
            fail_msg("allocation %lld leaves %lld bytes", tries, (long long)atomic_load(&m.live) - before);
    }
    assert_true(tries > 20);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    assert_int_equal(atomic_load(&m.live), 0);
    assert_false(atomic_load(&m.misused));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_not_compiled),
        cmocka_unit_test(sizes_are_not_compiled),
        cmocka_unit_test(equal_kernels_share_a_variant),
        cmocka_unit_test(strides_beyond_the_parameters),
        cmocka_unit_test(offsets_beyond_31_bits),
        cmocka_unit_test(threads_share_variants),
        cmocka_unit_test(the_log_says_why),
        cmocka_unit_test(each_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
