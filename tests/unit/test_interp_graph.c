/* test_interp_graph.c: graphs in the interpreter: symbols, rank-0 operands, empty tensors, depth, refusals,
 * and every allocation failing in turn. Random graphs are compared in tests/fuzz/test_random_graph.c. */
#include "interp/interp.h"
#include "limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static llf_graph *parse(llf_context *cx, const char *text)
{
    llf_graph *g = NULL;
    if (llf_graph_parse(cx, text, strlen(text), "test.llf", &g) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    return g;
}

static const char small[] = "graph @small(%x: f32[N, 2], %s: f32[], %i: i32[N, 2]) {\n"
                            "  %0 = mul %x, %s\n"
                            "  %1 = add %0, 1.0\n"
                            "  %2 = lt %1, %s\n"
                            "  %3 = cast %i, dtype=f32\n"
                            "  %4 = where %2, %3, %1\n"
                            "  %5 = mul %s, %s\n"
                            "  ret %4, %2, %5, %x\n"
                            "}\n";

static void test_small(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parse(cx, small);
    const float x[] = {1, -1, 0.5f, NAN, -0.0f, 4}, s = 3;
    const int32_t i[] = {10, 20, 30, 40, 50, 60};
    /* x * 3 + 1 = {4, -2, 2.5, NaN, 1, 13}; below 3: the integer instead */
    const float want[] = {4, 20, 30, NAN, 50, 13};
    const unsigned char less[] = {0, 1, 1, 0, 1, 0};
    const void *data[] = {x, &s, i};
    const int64_t n = 3;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    void **value = llfi_arena_alloc(&arena, g->nodes.count * sizeof *value);
    assert_int_equal(llfi_interp(g, &n, data, &arena, value), LLF_OK);
    const float *got = value[g->outputs.at[0]];
    for (size_t k = 0; k < 6; k++)
        assert_true(isnan(want[k]) ? isnan(got[k]) : got[k] == want[k]);
    assert_memory_equal(value[g->outputs.at[1]], less, sizeof less);
    assert_true(*(const float *)value[g->outputs.at[2]] == 9);
    assert_memory_equal(value[g->outputs.at[3]], x, sizeof x);
    uint64_t bits[3];
    assert_int_equal(llfi_interp_at(g, &n, data, &arena, g->outputs.at, 3, 2, bits), LLF_OK);
    assert_true(bits[0] == 0x41f00000 && bits[1] == 1 && bits[2] == 0x41100000);

    const int64_t none = 0, unbound = -1; /* rank-0 values exist without elements */
    assert_int_equal(llfi_interp(g, &none, data, &arena, value), LLF_OK);
    assert_true(*(const float *)value[g->outputs.at[2]] == 9);
    assert_int_equal(llfi_interp(g, &unbound, data, &arena, value), LLF_E_GUARD);
    assert_int_equal(llfi_interp_at(g, &n, data, &arena, g->outputs.at, 1, 6, bits), LLF_E_ARG);
    assert_int_equal(llfi_interp_at(g, &n, data, &arena, g->outputs.at, 1, -1, bits), LLF_E_ARG);
    assert_non_null(strstr(llf_last_error(cx)->message, "element -1"));
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* An element reads only what it needs: other inputs may be missing. */
static void test_reads_only_what_it_needs(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parse(cx, small);
    const float s = 3;
    const void *data[] = {NULL, &s, NULL};
    const int64_t n = 3;
    uint64_t bits;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llfi_interp_at(g, &n, data, &arena, &g->outputs.at[2], 1, 0, &bits), LLF_OK);
    assert_true(bits == 0x41100000);
    assert_null(arena.block); /* and leaves nothing behind, however many elements are sampled */
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* More operands than stand in the node itself: its first word is a place in a pool, not a node. */
static void test_dtype_of_many_operands(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parse(cx, "graph @many(%i: i32[2], %x: f16[2]) {\n"
                             "  %0 = concat %x, %x, %x, %x, %x, %x, %x, %x, %x, axis=0\n"
                             "  %1 = concat %0, %0, %0, %0, axis=0\n"
                             "  ret %i, %1\n"
                             "}\n");
    for (llf_id id = 0; id < g->nodes.count; id++)
        assert_int_equal(llfi_eval_from(g, id), id == g->inputs.at[0] ? LLF_I32 : LLF_F16);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

static void test_composite_is_refused(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parse(cx, "graph @r(%x: f32[2]) {\n  %0 = relu %x\n  ret %0\n}\n");
    const float x[2] = {1, 2};
    const void *data[] = {x};
    void *value[2];
    uint64_t bits;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llfi_interp(g, NULL, data, &arena, value), LLF_E_ORDER);
    assert_int_equal(llfi_interp_at(g, NULL, data, &arena, g->outputs.at, 1, 0, &bits), LLF_E_ORDER);
    assert_non_null(strstr(llf_last_error(cx)->message, "decompose"));
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

#define DEPTH 100000

static void *deep(void *user)
{
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = llf_graph_create(cx, NULL);
    const int64_t n = 2, x[2] = {5, -7};
    const void *data[] = {x};
    llf_id id = llf_input(g, "x", LLF_I64, 1, &n);
    for (int i = 0; i < DEPTH; i++)
        id = llf_add(g, id, i % 2 == 0 ? id : llf_const_int(g, LLF_I64, 3));
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    uint64_t bits = 0;
    bool ok = id != LLF_NONE && llfi_interp_at(g, NULL, data, &arena, &id, 1, 1, &bits) == LLF_OK;
    uint64_t want = (uint64_t)-7;
    for (int i = 0; i < DEPTH; i++)
        want += i % 2 == 0 ? want : 3;
    *(bool *)user = ok && bits == want;
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    return NULL;
}

/* No recursion: 100,000 nodes on a stack of 256 KiB. */
static void test_deep_on_a_small_stack(void **state)
{
    (void)state;
    bool ok = false;
    limits_small_stack(deep, &ok);
    assert_true(ok);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    int64_t left = INT64_MAX;
    const llf_allocator hooks = {limits_resize, &left};
    llf_context *cx =
        llf_context_create(&(llf_context_options){.size = sizeof(llf_context_options), .allocator = &hooks});
    llf_graph *g = parse(cx, small);
    const float x[6] = {0}, s = 3;
    const int32_t i[6] = {0};
    const void *data[] = {x, &s, i};
    const int64_t n = 3;
    void *value[16];
    uint64_t bits;
    int failures = 0;
    for (int64_t allowed = 0; allowed < 40; allowed++) {
        llfi_arena arena;
        llfi_arena_init(&arena, &cx->mem);
        left = allowed;
        llf_status whole = llfi_interp(g, &n, data, &arena, value);
        left = allowed;
        llf_status one = llfi_interp_at(g, &n, data, &arena, g->outputs.at, 1, 0, &bits);
        left = INT64_MAX;
        llfi_arena_destroy(&arena);
        assert_true(whole == LLF_OK || whole == LLF_E_NOMEM);
        assert_int_equal(one, allowed < 4 ? LLF_E_NOMEM : LLF_OK);
        failures += whole != LLF_OK;
        if (allowed == 39)
            assert_int_equal(whole, LLF_OK);
    }
    assert_true(failures > 0);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_reads_only_what_it_needs),
        cmocka_unit_test(test_dtype_of_many_operands),
        cmocka_unit_test(test_composite_is_refused),
        cmocka_unit_test(test_deep_on_a_small_stack),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
