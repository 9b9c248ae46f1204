/* Extents that guards hold equal become one (passes/unify.c): which symbol stays, what is left alone, what
 * the guards still say, kernels that come of it, memory that fails. */
#include "passes_util.h"

#include "limits.h"

#include <stdlib.h>

static llf_status unify(fixture *f)
{
    static const char *const names[] = {"unify"};
    return llfi_passes_run(f->cx, f->g, names, 1, &f->state, &f->plan);
}

/* Body of a graph with an output, before and after; "" after: nothing changes. */
static const struct {
    const char *before, *after;
} cases[] = {
    {"(%x: f32[N], %y: f32[M]) {\n  %0 = add %x, %y\n", "(%x: f32[N], %y: f32[N]) {\n  %0 = add %x, %y\n"},
    {"(%x: f32[M], %y: f32[N], %z: f32[N]) {\n  %0 = mul %y, %z\n  %1 = add %0, %x\n",
     "(%x: f32[M], %y: f32[M], %z: f32[M]) {\n  %0 = mul %y, %z\n  %1 = add %0, %x\n"},
    {"(%x: f32[N], %y: f32[M], %z: f32[4]) {\n  %0 = add %x, %y\n  %1 = add %y, %z\n",
     "(%x: f32[4], %y: f32[4], %z: f32[4]) {\n  %0 = add %x, %y\n  %1 = add %y, %z\n"},
    {"(%x: f32[N], %y: f32[K, 4]) {\n  %0 = reshape %y, shape=[4*K]\n  %1 = add %x, %0\n",
     "(%x: f32[4*K], %y: f32[K, 4]) {\n  %0 = reshape %y, shape=[4*K]\n  %1 = add %x, %0\n"},
    /* expressions on expressions, told from the bottom */
    {"(%a: f32[A], %b: f32[B, 2], %c: f32[C, 2]) {\n  %0 = reshape %b, shape=[2*B]\n  %1 = add %a, %0\n"
     "  %2 = reshape %c, shape=[2*C]\n  %3 = reshape %2, shape=[B]\n  %4 = reshape %3, shape=[2*C]\n",
     "(%a: f32[4*C], %b: f32[2*C, 2], %c: f32[C, 2]) {\n  %0 = reshape %b, shape=[4*C]\n  %1 = add %a, %0\n"
     "  %2 = reshape %c, shape=[2*C]\n  %3 = reshape %2, shape=[2*C]\n  %4 = reshape %3, shape=[2*C]\n"},
    /* the same taken from both sides */
    {"(%x: f32[N], %y: f32[M]) {\n  %0 = slice %x, at=[1:]\n  %1 = slice %y, at=[1:]\n  %2 = add %0, %1\n",
     "(%x: f32[N], %y: f32[N]) {\n  %0 = slice %x, at=[1:]\n  %1 = slice %y, at=[1:]\n  %2 = add %0, %1\n"},
    /* ranges are resolved anew for a constant extent */
    {"(%x: f32[N], %y: f32[4]) {\n  %0 = add %x, %y\n  %1 = slice %x, at=[1:N-1]\n  %2 = slice %x, "
     "at=[::-2]\n"
     "  %3 = slice %x, at=[N-1:]\n",
     "(%x: f32[4], %y: f32[4]) {\n  %0 = add %x, %y\n  %1 = slice %x, at=[1:3]\n  %2 = slice %x, at=[::-2]\n"
     "  %3 = slice %x, at=[3:]\n"},
    {"(%x: f32[N], %y: f32[M], %z: f32[2*M]) {\n  %0 = add %x, %y\n  %1 = slice %z, at=[N:]\n",
     "(%x: f32[N], %y: f32[N], %z: f32[2*N]) {\n  %0 = add %x, %y\n  %1 = slice %z, at=[N:]\n"},
    {"(%x: f32[N, 4]) {\n  %0 = squeeze %x, axes=[0]\n", "(%x: f32[1, 4]) {\n  %0 = squeeze %x, axes=[0]\n"},
    /* index ops: pads (what is cut is no extent), iota, extents of concat */
    {"(%x: f32[N], %y: f32[M], %z: f32[5]) {\n  %0 = add %x, %y\n  %1 = pad %z, 0.0, by=[M:-2]\n",
     "(%x: f32[N], %y: f32[N], %z: f32[5]) {\n  %0 = add %x, %y\n  %1 = pad %z, 0.0, by=[N:-2]\n"},
    {"(%x: f32[N], %y: f32[M]) {\n  %0 = add %x, %y\n  %1 = iota dtype=f32, shape=[2, M+1], axis=1\n",
     "(%x: f32[N], %y: f32[N]) {\n  %0 = add %x, %y\n  %1 = iota dtype=f32, shape=[2, N+1], axis=1\n"},
    {"(%x: f32[N], %y: f32[M], %z: f32[M+N]) {\n  %0 = add %x, %y\n  %1 = concat %x, %y, axis=0\n"
     "  %2 = add %1, %z\n",
     "(%x: f32[N], %y: f32[N], %z: f32[2*N]) {\n  %0 = add %x, %y\n  %1 = concat %x, %y, axis=0\n"
     "  %2 = add %1, %z\n"},
    /* left alone: no symbol by itself on a side, products, at most */
    {"(%x: f32[N, M], %y: f32[K]) {\n  %0 = reshape %x, shape=[2*K]\n", ""},
    {"(%x: f32[N, K], %y: f32[M, K]) {\n  %0 = reshape %x, shape=[K*M]\n", ""},
    {"(%x: f32[N]) {\n  %0 = slice %x, at=[1:]\n", ""},
    /* N is N // 2: only 0 fits; two symbols told by each other */
    {"(%x: f32[N], %y: f32[N//2]) {\n  %0 = add %x, %y\n", ""},
    {"(%x: f32[N], %y: f32[M//2+1], %z: f32[M], %u: f32[N//2]) {\n  %0 = add %x, %y\n  %1 = add %z, %u\n",
     "(%x: f32[M//2+1], %y: f32[M//2+1], %z: f32[M], %u: f32[(M//2+1)//2]) {\n  %0 = add %x, %y\n"
     "  %1 = add %z, %u\n"},
    /* no sizes fit, which is said of the sizes given */
    {"(%x: f32[N], %y: f32[4]) {\n  %0 = add %x, %y\n  %1 = slice %x, at=[5:]\n", ""},
};

static void make(char *text, size_t size, const char *body)
{
    const char *last = strrchr(body, '%'); /* an operand of the last line; any value will do */
    int n = snprintf(text, size, "graph @t%s  ret %%%.*s\n}\n", body, 1, last + 1);
    assert_true(n > 0 && (size_t)n < size);
}

static char *printed(const fixture *f, const llf_graph *g)
{
    llfi_str s;
    llfi_str_init(&s, &f->cx->mem);
    assert_int_equal(llfi_print(g, &s, NULL, NULL), LLF_OK);
    char *text = strdup(s.at);
    llfi_str_free(&s);
    assert_non_null(text);
    return text;
}

static void equal_extents_become_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(cases); i++) {
        char before[1024], after[1024];
        fixture f, again;
        make(before, sizeof before, cases[i].before);
        make(after, sizeof after, cases[i].after[0] ? cases[i].after : cases[i].before);
        fixture_init(&f);
        fixture_parse(&f, before);
        size_t guards = f.g->guards.count;
        assert_int_equal(unify(&f), LLF_OK);
        char *text = printed(&f, f.g);
        assert_string_equal(text, after);
        assert_int_equal(f.g->asked.count, cases[i].after[0] ? f.g->inputs.count : 0);
        assert_true(f.g->guards.count >= guards); /* what was asked is asked still */
        /* what is printed is the graph, lists included */
        fixture_init(&again);
        fixture_parse(&again, text);
        assert_true(llfi_graph_hash(again.g) == llfi_graph_hash(f.g));
        /* once is enough */
        assert_int_equal(unify(&f), LLF_OK);
        char *twice = printed(&f, f.g);
        assert_string_equal(twice, text);
        free(twice);
        free(text);
        fixture_free(&again);
        fixture_free(&f);
    }
}

static void guards_speak_of_the_callers_sizes(void **state)
{
    (void)state;
    fixture f;
    fixture_plan(
        &f,
        "graph @t(%x: f32[B, N], %w: f32[M], %y: f32[B, K]) {\n  %0 = add %x, %w\n  %1 = mul %0, %y\n"
        "  ret %1\n}\n",
        "greedy", "");
    assert_int_equal(f.plan.kernels, 1);
    const int64_t good[] = {3, 5, 5, 5}, first[] = {3, 5, 4, 5}, second[] = {3, 5, 5, 4}; /* B N M K */
    assert_int_equal(llfi_guards_check(f.g, &f.cx->diag, good), LLF_OK);
    assert_int_equal(llfi_guards_check(f.g, &f.cx->diag, first), LLF_E_GUARD);
    assert_non_null(strstr(llf_last_error(f.cx)->message, "add: axis 1: N (5) must be equal to M (4)"));
    assert_int_equal(llfi_guards_check(f.g, &f.cx->diag, second), LLF_E_GUARD);
    assert_non_null(strstr(llf_last_error(f.cx)->message, "mul: axis 1: N (5) must be equal to K (4)"));
    fixture_free(&f);
}

/* Nodes over N and over M in one kernel, and the middle value is not stored. */
static void what_is_equal_fuses(void **state)
{
    (void)state;
    fixture f;
    fixture_plan(&f, "graph @t(%x: f32[N], %y: f32[M]) {\n  %0 = exp %y\n  %1 = add %x, %0\n  ret %1\n}\n",
                 "greedy", "");
    assert_int_equal(f.plan.kernels, 1);
    assert_int_equal(f.plan.kernel[0].members, 2);
    assert_int_equal(f.plan.kernel[0].stores, 1);
    fixture_free(&f);
}

/* ---- many symbols: each the double of the next, and a ring of equals */

static void *many(void *out)
{
    enum { SYMBOLS = 50000 };
    bool *ok = out;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = llf_graph_create(cx, "many");
    llf_id ring = LLF_NONE, first = LLF_NONE;
    for (int i = 0; i < SYMBOLS; i++) {
        char name[16];
        snprintf(name, sizeof name, "N%d", i);
        int64_t n = llf_symbol(g, name);
        llf_id x = llf_input(g, name, LLF_F32, 1, &n);
        ring = i ? llf_add(g, x, ring) : x;
        first = i ? first : x;
    }
    llf_output(g, llf_add(g, ring, first));
    llfi_passes_state ps = {0};
    llfi_plan plan;
    llfi_fuse_options_default(&ps.fuse);
    llfi_plan_init(&plan, &cx->mem);
    *ok = llfi_passes_run(cx, g, NULL, 0, &ps, &plan) == LLF_OK;
    uint32_t symbol = 1;
    llfi_type t = llfi_type_of(g, g->outputs.at[0]);
    *ok = *ok && llfi_dim_is_symbol(g->dims, t.dim[0], &symbol) && symbol == 0;
    llfi_plan_destroy(&plan);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    return NULL;
}

static void many_symbols_take_a_small_stack(void **state)
{
    (void)state;
    bool ok = false;
    limits_small_stack(many, &ok);
    assert_true(ok);
}

/* ---- memory */

static void build(fixture *f)
{
    fixture_parse(f, "graph @t(%a: f32[N], %b: f32[M], %c: f32[K, 2], %d: f32[4*M]) {\n"
                     "  %0 = add %a, %b\n  %1 = slice %a, at=[1:-1]\n  %2 = reshape %c, shape=[-1]\n"
                     "  %3 = mul %2, %0\n  %4 = slice %d, at=[M:N+M]\n"
                     "  %5 = pad %d, 0.0, by=[M:]\n  %6 = iota dtype=f32, shape=[M], axis=0\n"
                     "  ret %3, %1, %4, %5, %6\n}\n");
}

static void check(fixture *f, bool failed)
{
    if (failed)
        assert_int_equal(unify(f), LLF_OK); /* the graph is as it was */
    char *text = printed(f, f->g);
    assert_non_null(strstr(text, "%a: f32[2*K], %b: f32[2*K], %c: f32[K, 2], %d: f32[8*K]"));
    free(text);
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fixture_starve(build, unify, check) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_extents_become_one), cmocka_unit_test(guards_speak_of_the_callers_sizes),
        cmocka_unit_test(what_is_equal_fuses),      cmocka_unit_test(many_symbols_take_a_small_stack),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
