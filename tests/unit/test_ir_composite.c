/* Composites over axes: calls against text, defaults that are not printed, shapes of all results, guards,
 * what calls are refused for, and every allocation of building and decomposing failing in turn. Lists and
 * values are golden files (tests/golden/decompose). */
#include "ir_testing.h"
#include "passes/pass.h"

static const char *const all =
    "graph @g(%x: bf16[N, C, 7], %k: i32[N, 7], %m: f32[C], %v: f32[C], %w: f64[7], %b: f32[C, 1]) {\n"
    "  %0 = mean %x, keepdims\n"
    "  %1 = mean %x, axes=[0, 2], out=f64\n"
    "  %2 = var %x, axes=[1], correction=1\n"
    "  %3 = std %x, axes=[0, 1, 2], keepdims, correction=0\n"
    "  %4 = softmax %x, axes=[-1]\n"
    "  %5 = log_softmax %x, axes=[1, 0]\n"
    "  %6 = logsumexp %x, axes=[1], keepdims\n"
    "  %7 = layer_norm %x, %w, %b, axes=[2], eps=1e-6\n"
    "  %8 = layer_norm %x, axes=[-1, -2], eps=0.00001\n"
    "  %9 = rms_norm %x, %w, axes=[2], eps=1e-5\n"
    "  %10 = l2_normalize %x, axes=[1], eps=0\n"
    "  %11 = batch_norm %x, %m, %v, %m, axis=-2\n"
    "  %12, %13, %14 = batch_norm_train %x, %m, %v, %m, %v, axis=1, momentum=0.25\n"
    "  %15 = cross_entropy %x, %k, axis=1, out=f32\n"
    "  %16 = cross_entropy %x, %k, axis=1, reduction=none\n"
    "  %17 = mse %x, %12, reduction=sum\n"
    "  ret %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17\n}\n";

/* The same by calls, in the same order. */
static llf_status call_all(llf_graph *g)
{
    int64_t n = llf_symbol(g, "N"), c = llf_symbol(g, "C");
    llf_id x = llf_input(g, "x", LLF_BF16, 3, (int64_t[]){n, c, 7}),
           k = llf_input(g, "k", LLF_I32, 2, (int64_t[]){n, 7});
    llf_id m = llf_input(g, "m", LLF_F32, 1, &c), v = llf_input(g, "v", LLF_F32, 1, &c),
           w = llf_input(g, "w", LLF_F64, 1, (int64_t[]){7}),
           b = llf_input(g, "b", LLF_F32, 2, (int64_t[]){c, 1}), y[18];
    y[0] = llf_mean(g, x, LLF_ALL_AXES, NULL, true);
    y[1] = llf_mean_as(g, x, 2, (int64_t[]){2, 0}, false, LLF_F64);
    y[2] = llf_var(g, x, 1, (int64_t[]){1}, false, 1);
    y[3] = llf_std(g, x, LLF_ALL_AXES, NULL, true, 0);
    y[4] = llf_softmax(g, x, 1, (int64_t[]){2});
    y[5] = llf_log_softmax(g, x, 2, (int64_t[]){0, -2});
    y[6] = llf_logsumexp(g, x, 1, (int64_t[]){1}, true);
    y[7] = llf_layer_norm(g, x, w, b, 1, (int64_t[]){2}, 1e-6);
    y[8] = llf_layer_norm(g, x, LLF_ABSENT, LLF_ABSENT, 2, (int64_t[]){1, 2}, 1e-5);
    y[9] = llf_rms_norm(g, x, w, 1, (int64_t[]){-1}, 1e-5);
    y[10] = llf_l2_normalize(g, x, 1, (int64_t[]){1}, 0);
    y[11] = llf_batch_norm(g, x, m, v, m, LLF_ABSENT, 1, 1e-5);
    if (llf_batch_norm_train(g, x, m, v, m, v, -2, 1e-5, 0.25, y + 12) != LLF_OK)
        return g->poisoned;
    y[15] = llf_cross_entropy_as(g, x, k, 1, LLF_REDUCTION_MEAN, LLF_F32);
    y[16] = llf_cross_entropy(g, x, k, -2, LLF_REDUCTION_NONE);
    y[17] = llf_mse(g, x, y[12], LLF_REDUCTION_SUM);
    for (int i = 0; i < 18; i++)
        llf_output(g, y[i]);
    return g->poisoned;
}

static llf_status decompose(llf_context *cx, llf_graph *g)
{
    const char *pass = "decompose";
    llfi_passes_state passes = {0};
    llfi_plan plan;
    llfi_plan_init(&plan, &cx->mem);
    llfi_fuse_options_default(&passes.fuse);
    llf_status status = llfi_passes_run(cx, g, &pass, 1, &passes, &plan);
    llfi_plan_destroy(&plan);
    return status;
}

static void calls_and_text_make_the_same_graph(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, "g"), *read = test_parse(cx, all);
    if (call_all(g) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    assert_int_equal(llfi_verify(g), LLF_OK);
    assert_true(llfi_graph_hash(read) == llfi_graph_hash(g));
    /* what is as when not given is not printed, and what is resolved is */
    test_printed(
        cx, read,
        "graph @g(%x: bf16[N, C, 7], %k: i32[N, 7], %m: f32[C], %v: f32[C], %w: f64[7], %b: f32[C, 1]) {\n"
        "  %0 = mean %x, keepdims\n"
        "  %1 = mean %x, axes=[0, 2], out=f64\n"
        "  %2 = var %x, axes=[1], correction=1\n"
        "  %3 = std %x, keepdims\n"
        "  %4 = softmax %x, axes=[2]\n"
        "  %5 = log_softmax %x, axes=[0, 1]\n"
        "  %6 = logsumexp %x, axes=[1], keepdims\n"
        "  %7 = layer_norm %x, %w, %b, axes=[2], eps=1e-6\n"
        "  %8 = layer_norm %x, axes=[1, 2]\n"
        "  %9 = rms_norm %x, %w, axes=[2]\n"
        "  %10 = l2_normalize %x, axes=[1], eps=0.0\n"
        "  %11 = batch_norm %x, %m, %v, %m, axis=1\n"
        "  %12, %13, %14 = batch_norm_train %x, %m, %v, %m, %v, axis=1, momentum=0.25\n"
        "  %15 = cross_entropy %x, %k, axis=1, out=f32\n"
        "  %16 = cross_entropy %x, %k, axis=1, reduction=none\n"
        "  %17 = mse %x, %12, reduction=sum\n"
        "  ret %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17\n}\n");
    llf_graph_destroy(read);
    llf_graph_destroy(g);
}

static void results_have_their_types(void **state)
{
    static const char *const type[] = {
        "bf16[1, 1, 1]", "f64[C]",        "bf16[N, 7]",    "bf16[1, 1, 1]", "bf16[N, C, 7]", "bf16[N, C, 7]",
        "bf16[N, 1, 7]", "bf16[N, C, 7]", "bf16[N, C, 7]", "bf16[N, C, 7]", "bf16[N, C, 7]", "bf16[N, C, 7]",
        "bf16[N, C, 7]", "f32[C]",        "f32[C]",        "f32[]",         "bf16[N, 7]",    "bf16[]"};
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, all);
    for (int decomposed = 0; decomposed < 2; decomposed++) {
        for (size_t i = 0; i < LLFI_COUNT(type); i++) {
            llf_id id = g->outputs.at[i];
            assert_string_equal(llfi_show_type(g, llfi_node_at(g, id)->type).text, type[i]);
        }
        if (!decomposed && decompose(cx, g) != LLF_OK)
            fail_msg("%s", llf_last_error(cx)->message);
    }
    for (llf_id i = 0; i < g->nodes.count; i++)
        assert_true(llfi_ops[llfi_node_at(g, i)->op].cls != LLFI_CLASS_COMPOSITE);
    llf_graph_destroy(g);
}

/* What symbols cannot prove is checked at run time, with the composite's name. */
static void guards_name_the_composite(void **state)
{
    static const struct {
        const char *text, *message;
        int64_t symbol[2];
    } cases[] = {{"graph @g(%x: f32[2, N], %w: f32[M]) {\n  %y = rms_norm %x, %w, axes=[1]\n  ret %y\n}",
                  "rms_norm: axis 1: N (3) must be equal to M (4)",
                  {3, 4}},
                 {"graph @g(%x: f32[2, N], %w: f32[M]) {\n  %y = batch_norm %x, %w, %w, axis=1\n  ret %y\n}",
                  "batch_norm: axis 1: N (3) must be equal to M (4)",
                  {3, 4}},
                 {"graph @g(%x: f32[N, M], %k: i64[N]) {\n  %y = cross_entropy %x, %k, axis=1\n  ret %y\n}",
                  "cross_entropy: axis 1: 1 (1) must be at most M (0)",
                  {3, 0}},
                 {"graph @g(%x: f32[N, 8], %k: i64[M]) {\n  %y = cross_entropy %x, %k, axis=1\n  ret %y\n}",
                  "cross_entropy: axis 0: N (3) must be equal to M (4)",
                  {3, 4}}};
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(cases); i++) {
        llf_graph *g = test_parse(cx, cases[i].text);
        for (int decomposed = 0; decomposed < 2; decomposed++) {
            if (llfi_guards_check(g, &cx->diag, cases[i].symbol) != LLF_E_GUARD ||
                !strstr(llf_last_error(cx)->message, cases[i].message))
                fail_msg("%s", llf_last_error(cx)->message);
            assert_int_equal(decomposed ? LLF_OK : decompose(cx, g), LLF_OK);
        }
        llf_graph_destroy(g);
    }
}

static void bad_calls_are_refused(void **state)
{
    llf_context *cx = *state;
    static const char *const message[] = {"a bias without a weight",
                                          "operand 1 is no value",
                                          "axis 2 is out of range: operand 1 is f32[4, 3]",
                                          "stands twice",
                                          "the list is NULL",
                                          "more axes than the rank limit",
                                          "eps must be finite and not negative",
                                          "eps must be finite and not negative",
                                          "momentum must be finite",
                                          "correction is -1",
                                          "no such dtype",
                                          "out is i32, but must be float",
                                          "no such reduction",
                                          "0 is no number of operands",
                                          "the results are NULL",
                                          "operand 2 is f32[4, 3], but must be i32 or i64",
                                          "1 is no number of operands"};
    for (int how = 0; how < 17; how++) {
        llf_graph *g = llf_graph_create(cx, NULL);
        llf_id x = llf_input(g, "x", LLF_F32, 2, (int64_t[]){4, 3}),
               v = llf_input(g, "v", LLF_F32, 1, (int64_t[]){3});
        llf_id bad = LLF_NONE, out[3];
        const int64_t one[] = {1, 1, 2};
        switch (how) {
        case 0: bad = llf_layer_norm(g, x, LLF_ABSENT, v, 1, one, 1e-5); break;
        case 1: bad = llf_softmax(g, 77, 1, one); break;
        case 2: bad = llf_softmax(g, x, 1, one + 2); break;
        case 3: bad = llf_mean(g, x, 2, one, false); break;
        case 4: bad = llf_softmax(g, x, 1, NULL); break;
        case 5: bad = llf_softmax(g, x, 17, one); break;
        case 6: bad = llf_rms_norm(g, x, v, 1, one, -1e-5); break;
        case 7: bad = llf_l2_normalize(g, x, 1, one, (double)__builtin_nanf("")); break;
        case 8: bad = llf_batch_norm_train(g, x, v, v, v, v, 1, 0, (double)__builtin_inff(), out); break;
        case 9: bad = llf_var(g, x, 1, one, false, -1); break;
        case 10: bad = llf_mean_as(g, x, 1, one, false, (llf_dtype)99); break;
        case 11: bad = llf_mean_as(g, x, 1, one, false, LLF_I32); break;
        case 12: bad = llf_mse(g, x, x, (llf_reduction)3); break;
        case 13: bad = llf_mean(g, LLF_ABSENT, 1, one, false); break;
        case 14: bad = llf_batch_norm_train(g, x, v, v, v, v, 1, 0, 0, NULL); break;
        case 15: bad = llf_cross_entropy(g, x, x, 1, LLF_REDUCTION_MEAN); break;
        default: bad = llf_batch_norm(g, x, LLF_ABSENT, LLF_ABSENT, LLF_ABSENT, LLF_ABSENT, 1, 1e-5); break;
        }
        bool several = how == 8 || how == 14; /* these return a status */
        if ((several ? bad == LLF_OK : bad != LLF_NONE) || g->poisoned == LLF_OK)
            fail_msg("case %d was taken", how);
        if (!strstr(llf_last_error(cx)->message, message[how]))
            fail_msg("case %d: %s", how, llf_last_error(cx)->message);
        llf_graph_destroy(g);
    }
}

/* Building, and the pass, until no allocation fails. */
static void every_allocation_fails(void **state)
{
    (void)state;
    for (size_t at = 1;; at++) {
        test_heap h = {.fail_at = 0};
        llf_context *cx = test_context(&h);
        assert_non_null(cx);
        size_t before = h.requests;
        h.fail_at = before + at;
        llf_graph *g = llf_graph_create(cx, "g");
        llf_status status = g ? call_all(g) : LLF_E_NOMEM;
        if (status == LLF_OK)
            status = decompose(cx, g);
        bool failed = h.requests >= h.fail_at;
        if (status != (failed ? LLF_E_NOMEM : LLF_OK))
            fail_msg("allocation %zu: %s, %s", at, llf_status_name(status), llf_last_error(cx)->message);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
        assert_int_equal(h.live, 0);
        if (!failed) {
            assert_true(at > 50);
            break;
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(calls_and_text_make_the_same_graph),
                                       TEST(results_have_their_types), TEST(guards_name_the_composite),
                                       TEST(bad_calls_are_refused), cmocka_unit_test(every_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
