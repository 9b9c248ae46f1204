/* concat, pad, take, iota, and what is made of them: builders against text, shapes, guards, messages;
 * operands beyond those that stand in a node. */
#include "ir_testing.h"
#include "interp/interp.h"
#include "passes/pass.h"

static void builders_and_text_make_the_same_graph(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, "g");
    int64_t n = llf_symbol(g, "N"), v = llf_symbol(g, "V");
    llf_id x = llf_input(g, "x", LLF_F32, 2, (int64_t[]){n, 8}),
           t = llf_input(g, "t", LLF_F32, 2, (int64_t[]){v, 8});
    llf_id i = llf_input(g, "i", LLF_I32, 1, &n), half[2];
    llf_id rows = llf_take(g, t, i, -2);
    if (llf_split(g, rows, 1, 2, (int64_t[]){LLF_INFER, 5}, half) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    llf_id five[] = {half[0], half[1], x, x, half[0]};
    llf_id cat = llf_concat(g, 5, five, -1);
    llf_id pad = llf_pad(g, cat, llf_const(g, LLF_F32, 0.5), (llf_padding[]){{1, 2, n, 0}, {-3, 0, 0, 0}});
    llf_id iota = llf_iota(g, LLF_F32, 2, (int64_t[]){n, 1}, 0);
    llf_id roll = llf_roll(g, x, 2, (llf_shift[]){{1, -9, 0}, {-1, 1, n}});
    llf_id stack = llf_stack(g, 2, (llf_id[]){x, rows}, -1);
    llf_output(g, pad);
    llf_output(g, iota);
    llf_output(g, roll);
    llf_output(g, stack);
    assert_int_equal(g->poisoned, LLF_OK);
    assert_int_equal(llfi_verify(g), LLF_OK);
    static const char text[] = "graph @g(%x: f32[N, 8], %t: f32[V, 8], %i: i32[N]) {\n"
                               "  %0 = take %t, %i, axis=0\n"
                               "  %1, %2 = split %0, axis=-1, sizes=[-1, 5]\n"
                               "  %3 = concat %1, %2, %x, %x, %1, axis=1\n"
                               "  %4 = pad %3, 0.5, by=[1+N:2, -3:]\n"
                               "  %5 = iota dtype=f32, shape=[N, 1], axis=-2\n"
                               "  %6 = roll %x, shifts=[-9, N+1], axes=[1, 1]\n"
                               "  %7 = stack %x, %0, axis=2\n"
                               "  ret %4, %5, %6, %7\n}\n";
    llf_graph *read = test_parse(cx, text);
    assert_true(llfi_graph_hash(read) == llfi_graph_hash(g));
    char *out = NULL;
    size_t bytes = 0;
    assert_int_equal(llf_graph_print(cx, g, &out, &bytes), LLF_OK);
    test_printed(cx, read, out);
    llf_graph *again = test_parse(cx, out);
    test_printed(cx, again, out);
    llf_text_free(cx, out, bytes);
    llf_graph_destroy(again);
    llf_graph_destroy(read);
    llf_graph_destroy(g);
}

/* What a call is refused for; the graph is poisoned and says so once. */
static void bad_calls_are_refused(void **state)
{
    llf_context *cx = *state;
    for (int how = 0; how < 16; how++) {
        llf_graph *g = llf_graph_create(cx, NULL);
        llf_id x = llf_input(g, "x", LLF_F32, 1, (int64_t[]){4}), out[2], bad = LLF_NONE;
        llf_id i = llf_input(g, "i", LLF_I64, 0, NULL);
        switch (how) {
        case 0: bad = llf_concat(g, 0, &x, 0); break;
        case 1: bad = llf_concat(g, 1, NULL, 0); break;
        case 2: bad = llf_concat(g, 2, (llf_id[]){x, 77}, 0); break;
        case 3: bad = llf_concat(g, 1, &x, 1); break;
        case 4: bad = llf_concat(g, 2, (llf_id[]){x, i}, 0); break;
        case 5: bad = llf_pad(g, x, x, (llf_padding[]){{1, 1, 0, 0}}); break;
        case 6: bad = llf_pad(g, x, i, (llf_padding[]){{1, 1, 0, 0}}); break;
        case 7: bad = llf_pad(g, x, 99, (llf_padding[]){{1, 1, 0, 0}}); break;
        case 8: bad = llf_pad(g, x, llf_const(g, LLF_F32, 0), NULL); break;
        case 9: bad = llf_take(g, i, i, 0); break;
        case 10: bad = llf_take(g, x, x, 0); break;
        case 11: bad = llf_iota(g, LLF_BOOL, 1, (int64_t[]){4}, 0); break;
        case 12: bad = llf_iota(g, LLF_F32, 17, (int64_t[17]){0}, 0); break;
        case 13: bad = llf_roll(g, x, 1, (llf_shift[]){{1, 1, 0}}); break;
        case 14: bad = llf_split(g, x, 0, 2, (int64_t[]){1, 2}, out) == LLF_OK ? 0 : out[1]; break;
        default: bad = llf_stack(g, 2, (llf_id[]){x, i}, 0); break;
        }
        if (bad != LLF_NONE || g->poisoned == LLF_OK)
            fail_msg("case %d was taken", how);
        assert_true(llf_last_error(cx)->message[0] != 0);
        llf_graph_destroy(g);
    }
}

/* The guards of a text, at the values of its symbols in order: E_GUARD with this in the message, or none. */
static void at_values(llf_context *cx, const char *text, const int64_t *symbol, const char *message)
{
    llf_graph *g = test_parse(cx, text);
    llf_status status = llfi_guards_check(g, &cx->diag, symbol);
    if (status != (message ? LLF_E_GUARD : LLF_OK) ||
        (message && !strstr(llf_last_error(cx)->message, message)))
        fail_msg("%s: %s", text, status ? llf_last_error(cx)->message : "taken");
    llf_graph_destroy(g);
}

static void symbols_are_guarded(void **state)
{
    static const char cat[] =
        "graph @g(%x: f32[N, 2], %y: f32[M, 3]) {\n  %0 = concat %x, %y, axis=1\n  ret %0\n}\n";
    static const char pad[] = "graph @g(%x: f32[N]) {\n  %0 = pad %x, 0.0, by=[-2:-1]\n  ret %0\n}\n";
    static const char take[] =
        "graph @g(%x: f32[N], %i: i32[M]) {\n  %0 = take %x, %i, axis=0\n  ret %0\n}\n";
    at_values(*state, cat, (const int64_t[]){4, 4}, NULL);
    at_values(*state, cat, (const int64_t[]){4, 5}, "concat: axis 0: N (4) must be equal to M (5)");
    at_values(*state, pad, (const int64_t[]){3}, NULL);
    at_values(*state, pad, (const int64_t[]){2}, "pad: axis 0: 3 (3) must be at most N (2)");
    at_values(*state, take, (const int64_t[]){0, 0}, NULL);
    at_values(*state, take, (const int64_t[]){1, 7}, NULL);
    at_values(*state, take, (const int64_t[]){0, 7}, "take: axis 0");
}

/* SEMANTICS B52: the sum of extents is not one modulo 2^32. */
static void extents_add_up_in_64_bits(void **state)
{
    llf_graph *g = test_parse(*state, "graph @g(%x: i32[1073741824]) {\n"
                                      "  %0 = concat %x, %x, %x, %x, axis=0\n  ret %0\n}\n");
    int64_t extent;
    assert_true(llfi_dim_is_const(g->dims, llfi_type_of(g, 1).dim[0], &extent));
    assert_true(extent == INT64_C(1) << 32);
    llf_graph_destroy(g);
}

/* ---- operands in the pool */

static const char wide[] = "graph @g(%a: f32[1], %b: f32[2]) {\n"
                           "  %0 = concat %a, %b, %a, %b, axis=0\n"
                           "  %1 = concat %a, %b, %a, %b, axis=0\n"
                           "  %2 = concat %a, %b, %a, %b, %a, axis=0\n"
                           "  %3 = concat %b, %a, %a, %b, axis=0\n"
                           "  %n = neg %1\n"
                           "  %4 = concat %0, %n, %0, %3, %2, axis=0\n"
                           "  ret %4\n}\n";

static void pooled_operands_are_compared_copied_and_dropped(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, wide), *copy = llfi_graph_clone(g, cx);
    assert_int_equal(g->operands.count, 4 + 4 + 5 + 4 + 5);
    assert_true(llfi_graph_hash(copy) == llfi_graph_hash(g));
    static const char *const names[] = {"cse", "dce"};
    llfi_passes_state passes = {0};
    llfi_plan plan;
    llfi_plan_init(&plan, &cx->mem);
    llfi_fuse_options_default(&passes.fuse);
    if (llfi_passes_run(cx, g, names, 2, &passes, &plan) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    llfi_plan_destroy(&plan);
    assert_int_equal(g->operands.count, 4 + 5 + 4 + 5); /* equal ones are one, others are not */
    assert_int_equal(llfi_verify(g), LLF_OK);
    test_printed(cx, g,
                 "graph @g(%a: f32[1], %b: f32[2]) {\n"
                 "  %0 = concat %a, %b, %a, %b, axis=0\n"
                 "  %1 = concat %a, %b, %a, %b, %a, axis=0\n"
                 "  %2 = concat %b, %a, %a, %b, axis=0\n"
                 "  %n = neg %0\n"
                 "  %3 = concat %0, %n, %0, %2, %1, axis=0\n"
                 "  ret %3\n}\n");
    test_printed(cx, copy, wide);
    llf_graph_destroy(copy);
    llf_graph_destroy(g);
}

static void broken_pools_are_seen(void **state)
{
    llf_context *cx = *state;
    for (int how = 0; how < 6; how++) {
        llf_graph *g = test_parse(cx, wide);
        llfi_node *n = &g->nodes.at[2];
        switch (how) {
        case 0: n->arity = 0; break;
        case 1: n->arg[0] = (llf_id)g->operands.count; break;
        case 2: n->arg[0] = UINT32_MAX; break;
        case 3: n->arity = UINT32_MAX; break;
        case 4: g->operands.at[n->arg[0] + 1] = 2; break;
        default: n->attr = 16; break;
        }
        if (llfi_verify(g) != LLF_E_GRAPH)
            fail_msg("case %d: %s", how, llf_last_error(cx)->message);
        llf_graph_destroy(g);
    }
}

/* Wider than a kernel's arguments: a tree of concats that gives the same. */
static void wide_concats_become_trees(void **state)
{
    llf_context *cx = *state;
    enum { PARTS = 5000 };
    llf_graph *g = llf_graph_create(cx, NULL);
    llf_id *part = malloc(PARTS * sizeof *part), in[2];
    assert_non_null(part);
    in[0] = llf_input(g, "a", LLF_I32, 1, (int64_t[]){1});
    in[1] = llf_input(g, "b", LLF_I32, 1, (int64_t[]){2});
    for (int i = 0; i < PARTS; i++)
        part[i] = in[i % 3 == 2];
    llf_output(g, llf_concat(g, PARTS, part, 0));
    free(part);
    static const char *const names[] = {"decompose", "dce"};
    llfi_passes_state passes = {0};
    llfi_plan plan;
    llfi_plan_init(&plan, &cx->mem);
    llfi_fuse_options_default(&passes.fuse);
    if (llfi_passes_run(cx, g, names, 2, &passes, &plan) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    llfi_plan_destroy(&plan);
    uint32_t edges = 0;
    for (llf_id id = 0; id < g->nodes.count; id++) {
        assert_true(llfi_node_at(g, id)->arity <= 16);
        edges += llfi_node_at(g, id)->arity;
    }
    assert_true(edges < PARTS + PARTS / 8);
    const int32_t a = 7, b[] = {8, 9};
    const void *data[] = {&a, b};
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    void **value = llfi_arena_alloc(&arena, g->nodes.count * sizeof *value);
    assert_int_equal(llfi_interp(g, NULL, data, &arena, value), LLF_OK);
    const int32_t *out = value[g->outputs.at[0]];
    for (int i = 0, at = 0; i < PARTS; i++) {
        assert_int_equal(out[at++], i % 3 == 2 ? 8 : 7);
        if (i % 3 == 2)
            assert_int_equal(out[at++], 9);
    }
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)
    const struct CMUnitTest tests[] = {
        TEST(builders_and_text_make_the_same_graph),
        TEST(bad_calls_are_refused),
        TEST(symbols_are_guarded),
        TEST(extents_add_up_in_64_bits),
        TEST(broken_pools_are_seen),
        TEST(pooled_operands_are_compared_copied_and_dropped),
        TEST(wide_concats_become_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
