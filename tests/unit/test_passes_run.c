/* test_passes_run.c: the runner: preconditions, unknown names, times, dumps that parse again, and every
 * allocation failing in turn through all passes. */
#include "passes_util.h"

#include <stdlib.h>
#include <unistd.h>

static const char text[] = "graph @t(%x: f32[N], %s: f32[], %w: scalar f32) {\n"
                           "  %a = mul %s, %w\n"
                           "  %b = add 1.0:f32, 2.0\n"
                           "  %c = mul %x, %a\n"
                           "  %d = gelu %c\n"
                           "  %e = silu %c\n"
                           "  %f = add %d, %b\n"
                           "  %g = neg %e\n"
                           "  %h = add %f, %g\n"
                           "  ret %h, %c, %c, %x\n"
                           "}\n";

static llf_status run(fixture *f, const char *a, const char *b)
{
    const char *const names[] = {a, b};
    return llfi_passes_run(f->cx, f->g, names, b ? 2 : 1, &f->state, &f->plan);
}

static void order_is_checked(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    fixture_parse(&f, text);
    assert_int_equal(run(&f, "fuse", NULL), LLF_E_ORDER);
    assert_non_null(strstr(llf_last_error(f.cx)->message, "run decompose"));
    assert_non_null(strstr(llf_last_error(f.cx)->message, "run outputs"));
    assert_int_equal(run(&f, "decompose", "fuse"), LLF_E_ORDER);
    assert_null(strstr(llf_last_error(f.cx)->message, "run decompose"));
    assert_int_equal(run(&f, "outputs", "fuse"), LLF_OK); /* the next call works */
    assert_true(f.g->props & LLFI_P_PLANNED);
    assert_int_equal(run(&f, "cse", "fuse"), LLF_E_ORDER); /* cse may merge two outputs */
    assert_false(f.g->props & LLFI_P_PLANNED);
    fixture_free(&f);
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    fixture_parse(&f, text);
    assert_int_equal(run(&f, "decompose", "licm"), LLF_E_ARG);
    assert_non_null(strstr(llf_last_error(f.cx)->message, "\"licm\""));
    for (size_t i = 0; i < llfi_passes_count; i++) { /* every legal name stands there, in order */
        const char *after = strstr(llf_last_error(f.cx)->message, "the passes are ");
        for (size_t k = 0; after && k <= i; k++)
            after = strstr(after, llfi_passes[k].name);
        assert_non_null(after);
    }
    fixture_free(&f);
}

static void all_passes_run_in_order(void **state)
{
    (void)state;
    fixture f;
    fixture_plan(&f, text, "greedy", NULL);
    assert_int_equal(f.state.times, llfi_passes_count);
    for (uint32_t i = 0; i < f.state.times; i++) {
        assert_string_equal(f.state.time[i].name, llfi_passes[i].name);
        assert_true(f.state.time[i].ms >= 0);
    }
    fixture_free(&f);
}

static void dumps_parse_again(void **state)
{
    (void)state;
    char dir[] = "/tmp/llfuse-dump-XXXXXX", path[128];
    assert_non_null(mkdtemp(dir));
    llf_context *cx =
        llf_context_create(&(llf_context_options){.size = sizeof(llf_context_options), .dump_dir = dir});
    llf_graph *g = NULL;
    llfi_plan plan;
    llfi_passes_state ps = {0};
    llfi_fuse_options_default(&ps.fuse);
    llfi_plan_init(&plan, &cx->mem);
    assert_int_equal(llf_graph_parse(cx, text, strlen(text), "test", &g), LLF_OK);
    assert_int_equal(llfi_passes_run(cx, g, NULL, 0, &ps, &plan), LLF_OK);
    for (size_t i = 0; i < llfi_passes_count; i++) {
        char *dumped;
        size_t bytes;
        llf_graph *again = NULL;
        snprintf(path, sizeof path, "%s/%03zu-%s.llf", dir, i, llfi_passes[i].name);
        assert_int_equal(llfi_read_file(&cx->mem, &cx->diag, path, 1 << 20, &dumped, &bytes), LLF_OK);
        assert_int_equal(llf_graph_parse(cx, dumped, bytes, path, &again), LLF_OK);
        assert_int_equal(strstr(dumped, "!k0") != NULL, i + 1 == llfi_passes_count);
        llf_graph_destroy(again);
        llfi_free(&cx->mem, dumped, bytes + 1);
        unlink(path);
    }
    rmdir(dir);
    llfi_plan_destroy(&plan);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* Fails the n-th allocation from when it is armed. */
typedef struct {
    long left, live;
} hostile;

static void *resize(void *user, void *p, size_t old, size_t size)
{
    hostile *h = user;
    if (size && h->left >= 0 && h->left-- == 0) {
        h->left = 0; /* stays out of memory */
        return NULL;
    }
    (void)old;
    h->live += (size && !p) - (!size && p);
    if (size)
        return realloc(p, size);
    free(p);
    return NULL;
}

static void fail_each(const char *graph)
{
    bool done = false;
    long n = 0;
    for (; !done && n < 5000; n++) {
        hostile h = {.left = -1};
        llf_allocator mem = {resize, &h};
        llf_context *cx = llf_context_create(
            &(llf_context_options){.size = sizeof(llf_context_options), .allocator = &mem});
        llf_graph *g = NULL;
        llfi_plan plan;
        llfi_passes_state ps = {0};
        llfi_fuse_options_default(&ps.fuse);
        llfi_plan_init(&plan, &cx->mem);
        assert_int_equal(llf_graph_parse(cx, graph, strlen(graph), "test", &g), LLF_OK);
        llfi_str s;
        llfi_str_init(&s, &cx->mem);
        h.left = n;
        llf_status st = llfi_passes_run(cx, g, NULL, 0, &ps, &plan);
        if (st == LLF_OK)
            st = llfi_plan_explain(cx, g, &plan, &ps.fuse, &s);
        if (st == LLF_OK)
            st = llfi_plan_print(g, &plan, &s);
        if (st == LLF_OK && s.failed)
            st = LLF_E_NOMEM;
        h.left = -1;
        done = st == LLF_OK;
        if (!done)
            assert_int_equal(st, LLF_E_NOMEM);
        llfi_str_free(&s);
        llfi_plan_destroy(&plan);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
        assert_int_equal(h.live, 0);
    }
    assert_true(done && n > 20);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each(text);
    fail_each("graph @rows(%x: f32[N, K], %v: f32[K], %s: f32[]) {\n  %0 = sum %x, axes=[0]\n  %1 = tanh %v\n"
              "  %m, %d = moments %x, axes=[0], keepdims\n  %2 = fma %1, %0, %d\n  %3 = sub %x, %2\n"
              "  %4 = permute %3, axes=[1, 0]\n  %5 = max %4, axes=[-1]\n  %6 = sum %s\n  %7 = mul %5, %6\n"
              "  ret %3, %7\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_checked),          cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(all_passes_run_in_order),   cmocka_unit_test(dumps_parse_again),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
