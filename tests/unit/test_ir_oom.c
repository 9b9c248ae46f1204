/* Every allocation fails in turn: a status, no leak, no crash, and the next call works. */
#include "ir_testing.h"

static llfi_str medium(void)
{
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_str_puts(
        &s, "; set N=4\n; data x=normal\n"
            "graph @medium(%x: f32[N, min(4*B+1, N//3)], %y: f32[N, min(1+4*B, N//3)], %a: scalar f32) {\n"
            "  %0 = mul %x, %a !k0\n  %n0 = cast %0, dtype=f16\n");
    for (int i = 1; i < 60; i++)
        llfi_str_printf(&s, "  %%%d = fma %%%d, 0.1, %%y !k%d\n  %%n%d = gelu %%n%d, approximate=tanh\n", i,
                        i - 1, i, i, i - 1);
    llfi_str_puts(&s, "  %v0 = reshape %x, shape=[-1]\n  %v1 = slice %x, at=[1:-1, ::-2]\n"
                      "  %v2 = permute %v1, axes=[-1, 0]\n  %v3 = flip %v2, axes=[0]\n"
                      "  %v4 = expand_dims %v3, axes=[1]\n  %v5 = squeeze %v4, axes=[1]\n"
                      "  %q0, %q1 = split %v0, axis=0, sizes=[2, -1]\n"
                      "  %q2 = concat %q1, %q0, %q0, %q1, %q0, axis=0\n"
                      "  %q3 = roll %q2, shifts=[-3], axes=[0]\n  %q4 = pad %q3, -1, by=[-1:N]\n"
                      "  %q5 = iota dtype=i64, shape=[N], axis=0\n  %q6 = take %q4, %q5, axis=0\n"
                      "  %q7 = stack %q6, %q6, axis=1\n"
                      "  %r0 = max %x, axes=[-1], keepdims\n  %r1 = sum %x, out=f64\n"
                      "  %r2, %r3 = moments %x, axes=[1]\n  %r4 = count dtype=f32, shape=[N, 3]\n"
                      "  %v6 = broadcast_to %v5, shape=[M, 7]\n  %v7 = add %v6, %v0\n");
    llfi_str_puts(&s, "  %w = where true, %59, inf\n  ret %59, %n59, %w, 1.5:bf16\n}\n");
    assert_false(s.failed);
    return s;
}

/* The whole life of a graph; OK, or the first failure. */
static llf_status life(llf_context *cx, const char *text, size_t bytes)
{
    llf_graph *g = NULL, *copy = NULL;
    char *out = NULL;
    size_t n = 0;
    llf_status status = llf_graph_parse(cx, text, bytes, "medium.llf", &g);
    if (status != LLF_OK) {
        assert_null(g);
        return status;
    }
    if (llfi_graph_hash(g) == 0)
        status = llfi_nomem(&cx->diag);
    if (status == LLF_OK)
        status = llfi_verify(g);
    if (status == LLF_OK)
        status = llf_graph_print(cx, g, &out, &n);
    if (out)
        llf_text_free(cx, out, n);
    if (status == LLF_OK) {
        copy = llfi_graph_clone(g, cx);
        status = copy ? LLF_OK : llfi_nomem(&cx->diag);
    }
    if (status == LLF_OK && llf_neg(copy, 3) == LLF_NONE)
        status = copy->poisoned;
    llf_graph_destroy(copy);
    llf_graph_destroy(g);
    return status;
}

static void fail_each(bool forever)
{
    llfi_str text = medium();
    size_t total = 0;
    for (size_t at = 1;; at++) {
        test_heap h = {.fail_at = at, .forever = forever};
        llf_context *cx = test_context(&h);
        if (cx) {
            assert_int_equal(llf_context_status(cx), LLF_OK);
            llf_status status = life(cx, text.at, text.len);
            bool failed = h.requests >= at;
            if (status != (failed ? LLF_E_NOMEM : LLF_OK))
                fail_msg("allocation %zu: %s, %s", at, llf_status_name(status), llf_last_error(cx)->message);
            if (failed) {
                assert_int_equal(llf_last_error(cx)->status, LLF_E_NOMEM);
                assert_string_equal(llf_last_error(cx)->message, "out of host memory");
            }
            h.fail_at = 0;
            assert_int_equal(life(cx, text.at, text.len), LLF_OK);
            llf_context_destroy(cx);
            if (!failed)
                total = at;
        }
        assert_int_equal(h.live, 0);
        assert_false(h.wrong);
        if (total)
            break;
    }
    assert_true(total > 50); /* the loop did fail real allocations */
    llfi_str_free(&text);
}

static void one_allocation_fails(void **state)
{
    (void)state;
    fail_each(false);
}

static void all_later_allocations_fail(void **state)
{
    (void)state;
    fail_each(true);
}

/* The same for a graph that is built by calls. */
static void builders_fail(void **state)
{
    (void)state;
    for (size_t at = 1;; at++) {
        test_heap h = {0};
        llf_context *cx = test_context(&h);
        h.fail_at = h.requests + at;
        llf_graph *g = llf_graph_create(cx, "built");
        bool failed;
        if (g) {
            int64_t shape[2] = {llf_symbol(g, "N"), 3};
            llf_id x = llf_input(g, "x", LLF_F32, 2, shape);
            for (int i = 0; i < 20; i++)
                x = llf_add(g, x, llf_const_int(g, LLF_F32, i));
            x = llf_reshape(g, x, 2, (const int64_t[]){3, LLF_INFER});
            x = llf_slice(g, x, (const llf_range[]){{1, 3, 1, 0, 0}, {1, -1, 2, 0, 0}});
            x = llf_permute(g, x, (const int64_t[]){1, 0});
            x = llf_broadcast_to(g, x, 3, (const int64_t[]){4, llf_symbol(g, "M"), 2});
            llf_status status = llf_output(g, llf_gelu(g, x, LLF_GELU_ERF));
            failed = h.requests >= h.fail_at;
            assert_int_equal(status, failed ? LLF_E_NOMEM : LLF_OK);
            assert_int_equal(g->poisoned, status);
        } else {
            failed = true;
        }
        if (failed)
            assert_int_equal(llf_last_error(cx)->status, LLF_E_NOMEM);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
        assert_int_equal(h.live, 0);
        assert_false(h.wrong);
        if (!failed) {
            assert_true(at > 10);
            break;
        }
    }
}

static void reading_a_file_fails(void **state)
{
    (void)state;
    for (size_t at = 1;; at++) {
        test_heap h = {0};
        llf_context *cx = test_context(&h);
        char *text = NULL;
        size_t bytes = 0;
        h.fail_at = h.requests + at;
        llf_status status = llfi_read_file(&cx->mem, &cx->diag, LLFUSE_SOURCE_DIR "/include/llfuse/llfuse.h",
                                           1 << 20, &text, &bytes);
        bool failed = h.requests >= h.fail_at;
        assert_int_equal(status, failed ? LLF_E_NOMEM : LLF_OK);
        if (!failed)
            llfi_free(&cx->mem, text, bytes + 1);
        llf_context_destroy(cx);
        assert_int_equal(h.live, 0);
        assert_false(h.wrong);
        if (!failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(all_later_allocations_fail),
        cmocka_unit_test(builders_fail),
        cmocka_unit_test(reading_a_file_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
