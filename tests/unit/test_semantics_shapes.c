/* Cases of the semantics on shapes, sizes, aliasing and bad arguments, each by its id: B21, B25, B30, B52.
 * (B19, B27, B42: test_runtime_strides; B21 in code: golden target/b21_*; B32: golden fuse/b32_*; B39:
 * test_semantics_gru, test_passes_linear; B52: test_runtime_threads, test_semantics_null, too.) */
#include "runtime_util.h"

static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};

static void open_text(test_road *r, const char *text)
{
    *r = (test_road){.cx = llf_context_create(NULL)};
    if (llf_graph_parse(r->cx, text, strlen(text), "case", &r->g) != LLF_OK ||
        llf_compile(r->cx, r->g, &host, &r->p) != LLF_OK ||
        llf_program_load(r->cx, r->p, 1, &r->l) != LLF_OK ||
        llf_execution_create(r->cx, r->l, &r->e) != LLF_OK)
        fail_msg("%s", llf_last_error(r->cx)->message);
}

static void bind_to(llf_execution *e, uint32_t index, llf_tensor t)
{
    assert_ok(e, llf_bind(e, index, &t));
}

static void prepare_and_run(llf_execution *e)
{
    assert_ok(e, llf_prepare(e));
    assert_ok(e, llf_run(e, NULL));
}

static uint64_t launches(llf_execution *e)
{
    llf_stats s = {.size = sizeof s};
    assert_int_equal(llf_execution_stats(e, &s), LLF_OK);
    return s.launches;
}

/* B21: one-byte elements around 2^31 and 2^32: what is launched covers them all, on both targets. */
static void b21_sizes_around_2_31_and_2_32_are_covered(void **state)
{
    (void)state;
    static const char *const targets[] = {"host", "nvptx:sm_90a"};
    static const int64_t sizes[] = {INT64_C(0x7fffffff), INT64_C(0x80000000), INT64_C(0x80000001),
                                    INT64_C(0x100000005)};
    const char *text = "graph @b21(%x: bool[N], %y: bool[N]) {\n  %0 = eq %x, %y\n  ret %0\n}\n";
    for (size_t t = 0; t < LLFI_COUNT(targets); t++) {
        llf_options o = host;
        llf_context *cx = llf_context_create(NULL);
        llf_graph *g;
        llf_program *p = NULL;
        o.target = targets[t];
        assert_int_equal(llf_graph_parse(cx, text, strlen(text), "b21", &g), LLF_OK);
        llf_status status = llf_compile(cx, g, &o, &p);
        for (size_t i = 0; status == LLF_OK && i < LLFI_COUNT(sizes); i++) {
            const llfi_schedule *s = &p->kernel[0].schedule;
            int64_t extent[8];
            const void *data[3] = {NULL, NULL, NULL};
            assert_true(s->dims <= 8);
            for (uint32_t d = 0; d < s->dims; d++)
                assert_true(llfi_dim_eval(p->graph->dims, s->dim[d], &sizes[i], &extent[d]));
            assert_int_equal(extent[0], sizes[i]);
            llfi_launch l = {.extent = extent, .data = data};
            assert_int_equal(s->skeleton->launch(s, &l), LLF_OK);
            assert_int_equal(l.items, sizes[i]);
            assert_int_equal(l.value[0], sizes[i]); /* the elements; then, on a GPU, the vectors */
            uint64_t threads = (uint64_t)l.grid[0] * l.block[0];
            if (t == 1) /* each does a vector or an element */
                assert_true(threads >= (uint64_t)(sizes[i] - l.value[1] * ((int64_t)s->width - 1)) &&
                            threads < (uint64_t)sizes[i]);
        }
        assert_true(status == LLF_OK || (t == 1 && status == LLF_E_TARGET)); /* built without the target */
        llf_program_destroy(p);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
    }
}

/* B25: no elements, no launch; rank 0 is one element. */
static void b25_nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    test_road r;
    float x[5] = {1, 2, 3, 4, 5}, y[5] = {9, 9, 9, 9, 9};
    open_text(&r, "graph @b25(%x: f32[N, 5]) {\n  %0 = mul %x, 2.0\n  ret %0\n}\n");
    for (int64_t n = 0; n < 2; n++) {
        llf_tensor t = {.data = n ? x : NULL, .dtype = LLF_F32, .rank = 2, .shape = {n, 5}};
        bind_to(r.e, 0, t);
        t.data = n ? y : NULL;
        bind_to(r.e, 1, t);
        prepare_and_run(r.e);
        assert_int_equal(launches(r.e), n);
        assert_true(y[4] == (n ? 10.0F : 9.0F));
    }
    test_close(&r);
    open_text(&r, "graph @b25(%x: f32[0, 5], %s: f32[]) {\n  %0 = neg %x\n  %1 = neg %s\n  ret %0, %1\n}\n");
    llf_tensor none = {.data = NULL, .dtype = LLF_F32, .rank = 2, .shape = {0, 5}};
    bind_to(r.e, 0, none);
    bind_to(r.e, 1, test_scalar(LLF_F32, x));
    bind_to(r.e, 2, none);
    bind_to(r.e, 3, test_scalar(LLF_F32, y));
    prepare_and_run(r.e);
    assert_int_equal(launches(r.e), 1);
    assert_true(y[0] == -1.0F && y[1] == 10.0F - 6.0F);
    test_close(&r);
}

/* B30 (a), (c): a copy is not what it was copied from; equal outputs are two buffers. */
static void b30_outputs_are_buffers_of_their_own(void **state)
{
    (void)state;
    test_road r;
    float x[4] = {1, 2, 3, 4}, out[4][4];
    open_text(&r, "graph @b30(%x: f32[N]) {\n  %0 = copy %x\n  %1 = add %x, 1.0\n  %2 = mul %x, 2.0\n"
                  "  %3 = mul %x, 2.0\n  ret %0, %1, %2, %3\n}\n");
    bind_to(r.e, 0, test_vector(LLF_F32, x, 4));
    for (uint32_t i = 0; i < 4; i++)
        bind_to(r.e, 1 + i, test_vector(LLF_F32, out[i], 4));
    prepare_and_run(r.e);
    for (int i = 0; i < 4; i++)
        assert_true(out[0][i] == x[i] && out[1][i] == x[i] + 1 && out[2][i] == 2 * x[i] &&
                    out[3][i] == 2 * x[i]);
    bind_to(r.e, 4, test_vector(LLF_F32, out[2], 4)); /* (f) */
    assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "output 2");
    bind_to(r.e, 4, test_vector(LLF_F32, out[3], 4));
    bind_to(r.e, 2, test_vector(LLF_F32, x, 4)); /* (a): x += 1 in place, and the copy is the old x */
    prepare_and_run(r.e);
    for (int i = 0; i < 4; i++)
        assert_true(out[0][i] == (float)(i + 1) && x[i] == (float)(i + 2) &&
                    out[3][i] == 2.0F * (float)(i + 1));
    test_close(&r);
}

/* B30 (b), (d): in place where each element is read and written at one index, an error everywhere else. */
static void b30_in_place_only_at_the_same_index(void **state)
{
    (void)state;
    test_road r;
    float x[40];
    for (int i = 0; i < 40; i++)
        x[i] = (float)i;
    open_text(&r, "graph @flip(%x: f32[N]) {\n  %0 = flip %x, axes=[0]\n  ret %0\n}\n");
    bind_to(r.e, 0, test_vector(LLF_F32, x, 32));
    bind_to(r.e, 1, test_vector(LLF_F32, x, 32));
    assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "input x");
    test_close(&r);
    open_text(&r, "graph @add(%x: f32[N]) {\n  %0 = add %x, 1.0\n  ret %0\n}\n");
    bind_to(r.e, 0, test_vector(LLF_F32, x, 32));
    for (int k = 1; k <= 8; k++) { /* overlapping by all but k elements */
        bind_to(r.e, 1, test_vector(LLF_F32, x + k, 32));
        assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "overlap");
    }
    bind_to(r.e, 1, test_vector(LLF_F32, x, 32));
    prepare_and_run(r.e);
    for (int i = 0; i < 40; i++)
        assert_true(x[i] == (float)(i < 32 ? i + 1 : i));
    test_close(&r);
}

/* B30 (e): a window of x replaced, then x zeroed, by the caller and by the program itself, in place where the
 * plan proves that every read comes first: the result is what it was, or the buffer is refused. */
static void b30_what_was_returned_stays(void **state)
{
    (void)state;
    static const char *const heuristics[] = {"none", "primitive", "greedy"};
    static const char text[] =
        "graph @scatter(%x: f32[N], %w: f32[8]) {\n  %a = slice %x, at=[:4]\n  %b = slice %x, at=[12:]\n"
        "  %0 = concat %a, %w, %b, axis=0\n  %1 = mul %x, 0.0\n  ret %0, %1\n}\n";
    enum { N = 1000 };
    for (size_t h = 0; h < LLFI_COUNT(heuristics); h++) {
        float x[N], w[8], y[N], zero[N];
        test_road r = {.cx = llf_context_create(NULL)};
        llf_options o = host;
        o.heuristic = heuristics[h];
        if (llf_graph_parse(r.cx, text, strlen(text), "case", &r.g) != LLF_OK ||
            llf_compile(r.cx, r.g, &o, &r.p) != LLF_OK || llf_program_load(r.cx, r.p, 1, &r.l) != LLF_OK ||
            llf_execution_create(r.cx, r.l, &r.e) != LLF_OK)
            fail_msg("%s", llf_last_error(r.cx)->message);
        bind_to(r.e, 0, test_vector(LLF_F32, x, N));
        bind_to(r.e, 1, test_vector(LLF_F32, w, 8));
        bind_to(r.e, 2, test_vector(LLF_F32, y, N));
        for (int inside = 0; inside < 3;
             inside++) { /* zeroed by the caller; by the program; y in place of x */
            for (int i = 0; i < N; i++)
                x[i] = (float)(i + 1);
            for (int i = 0; i < 8; i++)
                w[i] = (float)(-i - 1);
            bind_to(r.e, 2, test_vector(LLF_F32, inside == 2 ? x : y, N));
            bind_to(r.e, 3, test_vector(LLF_F32, inside == 1 ? x : zero, N));
            llf_status status = llf_prepare(r.e);
            assert_true(status == LLF_OK || (inside && status == LLF_E_ALIAS));
            if (status != LLF_OK)
                continue;
            assert_ok(r.e, llf_run(r.e, NULL));
            if (!inside)
                memset(x, 0, sizeof x);
            for (int i = 0; i < N; i++) {
                float got = inside == 2 ? x[i] : y[i];
                if (got != (i >= 4 && i < 12 ? (float)(3 - i) : (float)(i + 1)))
                    fail_msg("%s, %d: element %d is %g", heuristics[h], inside, i, (double)got);
                assert_true((inside == 1 ? x[i] : zero[i]) == 0.0F);
            }
        }
        test_close(&r);
    }
}

/* B52: four times 2^30 are 2^32, not 0: where it is compiled, launched and bound. No byte is touched. */
static void b52_extents_do_not_wrap(void **state)
{
    (void)state;
    static const char text[] = "graph @wide(%a: bool[N], %b: bool[1073741824]) {\n"
                               "  %0 = concat %a, %b, %a, %b, axis=0\n  ret %0\n}\n";
    const int64_t part = INT64_C(1) << 30;
    test_road r;
    open_text(&r, text);
    for (int i = 0; i < 2; i++) /* far from each other, and from NULL */
        bind_to(r.e, (uint32_t)i, test_vector(LLF_BOOL, (void *)((uintptr_t)(i + 1) << 34), part));
    const int64_t wrong[] = {0, 1, part, (INT64_C(1) << 32) - 1, (INT64_C(1) << 32) + part};
    for (size_t i = 0; i < LLFI_COUNT(wrong); i++) {
        bind_to(r.e, 2, test_vector(LLF_BOOL, (void *)((uintptr_t)1 << 36), wrong[i]));
        assert_refused(llf_prepare(r.e), LLF_E_GUARD, llf_execution_error(r.e)->message, "4294967296");
    }
    bind_to(r.e, 2, test_vector(LLF_BOOL, (void *)((uintptr_t)1 << 36), INT64_C(1) << 32));
    assert_ok(r.e, llf_prepare(r.e));
    const llfi_schedule *s = r.e->schedule[0];
    int64_t extent[8];
    const void *data[8] = {NULL};
    assert_in_range(s->dims, 1, 8);
    for (uint32_t d = 0; d < s->dims; d++)
        assert_true(llfi_dim_eval(r.p->graph->dims, s->dim[d], &part, &extent[d]));
    llfi_launch l = {.extent = extent, .data = data};
    assert_int_equal(s->skeleton->launch(s, &l), LLF_OK);
    assert_int_equal(l.value[0], INT64_C(1) << 32);
    test_close(&r);
}

/* B52: sizes and strides over 2^63, and NULL: an error, never a crash or a size that wrapped. */
static void b52_sizes_do_not_wrap(void **state)
{
    (void)state;
    test_road r;
    float x[4] = {0};
    const int64_t big = INT64_C(1) << 62;
    open_text(&r, "graph @b52(%x: f32[A, B]) {\n  %0 = neg %x\n  ret %0\n}\n");
    const int64_t shape[][2] = {
        {big, 2}, {big, 4}, {INT64_C(1) << 32, INT64_C(1) << 32}, {INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < LLFI_COUNT(shape); i++)
        for (int strided = 0; strided < 2; strided++) {
            llf_tensor t = {.data = x, .dtype = LLF_F32, .rank = 2, .shape = {shape[i][0], shape[i][1]}};
            t.strided = strided;
            t.strides[0] = strided ? big : 0;
            t.strides[1] = strided ? 2 : 0;
            bind_to(r.e, 0, t);
            t.strided = false;
            bind_to(r.e, 1, t);
            assert_refused(llf_prepare(r.e), LLF_E_LIMIT, llf_execution_error(r.e)->message, "addresses");
        }
    llf_tensor t = {
        .data = x, .dtype = LLF_F32, .rank = 2, .shape = {3, 2}, .strided = true, .strides = {big, 1}};
    bind_to(r.e, 0, t);
    t.strided = false;
    bind_to(r.e, 1, t);
    llf_status status = llf_prepare(r.e);
    assert_true(status == LLF_E_LIMIT || status == LLF_E_ARG);
    t = (llf_tensor){.data = NULL, .dtype = LLF_F32, .rank = 2, .shape = {2, 2}};
    bind_to(r.e, 0, t);
    assert_refused(llf_prepare(r.e), LLF_E_ARG, llf_execution_error(r.e)->message, "NULL");
    assert_int_equal(llf_bind(r.e, 0, NULL), LLF_E_ARG);
    assert_int_equal(llf_bind(NULL, 0, &t), LLF_E_ARG);
    assert_int_equal(llf_prepare(NULL), LLF_E_ARG);
    assert_int_equal(llf_run(NULL, NULL), LLF_E_ARG);
    test_close(&r);
}

/* B52: axes that are not there, or stand twice. */
static void b52_axes_are_checked(void **state)
{
    (void)state;
    const struct {
        uint32_t count;
        int64_t axes[2];
        const char *message;
    } bad[] = {
        {1, {5, 0}, "flip: axis 5 is out of range"},
        {1, {-9, 0}, "flip: axis -9 is out of range"},
        {1, {INT64_MIN, 0}, "flip: axis -9223372036854775808 is out of range"},
        {2, {1, -4}, "flip: axis 1 stands twice"},
    };
    for (size_t i = 0; i < LLFI_COUNT(bad); i++) {
        llf_context *cx = llf_context_create(NULL);
        llf_graph *g = llf_graph_create(cx, "b52");
        llf_id x = llf_input(g, "x", LLF_F32, 5, (int64_t[]){1, 2, 3, 4, 5});
        assert_true(llf_flip(g, x, bad[i].count, bad[i].axes) == LLF_NONE);
        assert_refused(llf_last_error(cx)->status, LLF_E_TYPE, llf_last_error(cx)->message, bad[i].message);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(b21_sizes_around_2_31_and_2_32_are_covered),
        cmocka_unit_test(b25_nothing_is_launched_for_nothing),
        cmocka_unit_test(b30_outputs_are_buffers_of_their_own),
        cmocka_unit_test(b30_in_place_only_at_the_same_index),
        cmocka_unit_test(b30_what_was_returned_stays),
        cmocka_unit_test(b52_extents_do_not_wrap),
        cmocka_unit_test(b52_sizes_do_not_wrap),
        cmocka_unit_test(b52_axes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
