/* test_lower_narrow.c: when indices of 32 bits are taken for granted, and for which sizes they are right.
 * Every bound by hand. */
#include "lower_graph.h"

#define MOST INT64_C(2147483647)

static llf_graph *parsed(llf_context *cx, const char *text)
{
    llf_graph *g = NULL;
    assert_int_equal(llf_graph_parse(cx, text, strlen(text), NULL, &g), LLF_OK);
    return g;
}

typedef struct {
    int64_t symbol[3]; /* in the text's order */
    bool holds;
    int64_t beyond; /* 0: not looked at */
} size_case;

/* The demands of a graph whose one output is one kernel with all nodes that are neither inputs nor views. */
static void check(const char *text, const size_case *c, size_t cases)
{
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parsed(cx, text);
    llf_id member[16], store = g->outputs.at[0];
    uint32_t members = 0;
    for (llf_id i = 0; i < g->nodes.count; i++)
        if (!llfi_node_is_leaf(llfi_node_at(g, i)) && llfi_ops[llfi_node_at(g, i)->op].cls != LLFI_CLASS_VIEW)
            member[members++] = i;
    llfi_kernel k = {.member = member,
                     .members = members,
                     .store = &store,
                     .stores = 1,
                     .space = llfi_node_at(g, store)->type};
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    llfi_demands d;
    assert_int_equal(llfi_demands_make(g, &k, &arena, &d), LLF_OK);
    assert_true(d.forms > 0);
    assert_true(d.space.narrow && d.space.assumed);
    for (size_t i = 0; i < cases; i++) {
        int64_t beyond = 0;
        if (llfi_narrow_holds(g, &d, c[i].symbol, &beyond) != c[i].holds)
            fail_msg("case %zu of %s", i, text);
        if (c[i].beyond)
            assert_int_equal(beyond, c[i].beyond);
    }
    const llfi_strides none = {0};
    g->strides = &none; /* a variant's graph takes nothing for granted */
    assert_int_equal(llfi_demands_make(g, &k, &arena, &d), LLF_OK);
    assert_false(d.space.narrow);
    g->strides = NULL;
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}
#define CHECK(text, ...) \
    check(text, (const size_case[]){__VA_ARGS__}, LLFI_COUNT(((const size_case[]){__VA_ARGS__})))

static void the_space_and_its_buffers(void **state)
{
    (void)state;
    CHECK("graph @bias(%x: f32[A, B], %w: f32[B]) {\n  %0 = add %x, %w\n  ret %0\n}\n", {{1, 1}, true, 0},
          {{1, MOST}, true, 0}, {{1, MOST + 1}, false, MOST + 1}, {{MOST, 1}, true, 0},
          {{MOST + 1, 1}, false, 0}, {{7, MOST / 7}, true, 0}, {{8, MOST / 7}, false, 0},
          {{46340, 46341}, true, 0}, {{46341, 46341}, false, INT64_C(46341) * 46341},
          {{INT64_C(1) << 32, INT64_C(1) << 32}, false, 0}, {{0, MOST + 1}, true, 0});
}

/* A buffer of which little is read. */
static void a_buffer_beyond_its_space(void **state)
{
    (void)state;
    CHECK("graph @some(%x: f32[A, B]) {\n  %0 = slice %x, at=[:2, :2]\n  %1 = neg %0\n  ret %1\n}\n",
          {{2, 2}, true, 0}, {{2, MOST / 2}, true, 0}, {{2, MOST / 2 + 1}, false, MOST + 1});
}

/* What is compared or limited may be larger than any tensor. */
static void limits_and_conditions(void **state)
{
    (void)state;
    CHECK("graph @joined(%x: f32[A], %y: f32[B]) {\n  %0 = concat %x, %y, axis=0\n  ret %0\n}\n",
          {{1, 1}, true, 0}, {{MOST - 1, 1}, true, 0}, {{MOST - 1, 2}, false, MOST + 1},
          {{1, MOST}, false, 0});
    CHECK("graph @padded(%x: f32[A]) {\n  %0 = pad %x, 0.0, by=[2147483000:0]\n  ret %0\n}\n", {{1}, true, 0},
          {{647}, true, 0}, {{648}, false, MOST + 1});
}

/* A count may be larger than the space: 3 * (N - 1) is at most 2^31 - 1 up to N = 715827883. */
static void counts(void **state)
{
    (void)state;
    CHECK("graph @counted(%x: i64[N]) {\n  %0 = iota dtype=i64, shape=[3*N], axis=0\n"
          "  %1 = slice %0, at=[::3]\n  %2 = add %1, %x\n  ret %2\n}\n",
          {{1}, true, 0}, {{715827883}, true, 0}, {{715827884}, false, INT64_C(2147483649)});
}

/* Constants that alone are too large are not taken for granted. */
static void constants_are_decided(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parsed(cx, "graph @g(%x: f32[A, 2147483648], %w: f32[2147483648]) {\n"
                              "  %0 = add %x, %w\n  ret %0\n}\n");
    llf_id store = g->outputs.at[0];
    llfi_kernel k = {
        .member = &store, .members = 1, .store = &store, .stores = 1, .space = llfi_node_at(g, store)->type};
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    llfi_demands d;
    assert_int_equal(llfi_demands_make(g, &k, &arena, &d), LLF_OK);
    assert_false(d.space.narrow || d.space.assumed);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_space_and_its_buffers), cmocka_unit_test(a_buffer_beyond_its_space),
        cmocka_unit_test(limits_and_conditions),     cmocka_unit_test(counts),
        cmocka_unit_test(constants_are_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
