/* The verifier sees every broken invariant; rewriting keeps them. */
#include "ir_testing.h"

static const char sample[] = "graph @s(%x: f32[N], %b: f32[N], %a: scalar f32) {\n"
                             "  %0 = mul %x, %a\n"
                             "  %h = add %0, 0.5\n"
                             "  %1 = cast %h, dtype=f16\n"
                             "  ret %1, %b\n"
                             "}\n"; /* 0 x, 1 b, 2 a, 3 mul, 4 const, 5 add, 6 cast */

static void break_node(llf_graph *g, int how)
{
    llfi_node *n = g->nodes.at;
    switch (how) {
    case 0: n[3].op = LLF_OPS; break;
    case 1: n[3].arity = 1; break;
    case 2: n[3].arg[1] = 3; break;
    case 3: n[3].arg[0] = 5; break;
    case 4: n[5].arg[0] = LLF_NONE; break;
    case 5: n[5].type = n[6].type; break;
    case 6: n[3].type = (uint32_t)g->types.count; break;
    case 7: n[3].type = UINT32_MAX - 1; break;
    case 8: n[5].name = 3; break;
    case 9: n[5].name = UINT32_MAX; break;
    case 10: n[3].origin = 99; break;
    case 11: n[0].origin = 0; break;
    case 12: n[3].attr = 1; break;
    case 13: n[6].attr = LLF_DTYPES; break;
    case 14: n[6].attr = LLF_BF16; break;
    case 15: n[4].attr = UINT64_C(1) << 32; break;
    case 16: n[0].scalar = true; break;
    case 17: n[3].scalar = true; break;
    case 18: n[4].type = n[0].type; break;
    case 19: g->outputs.at[0] = 7; break;
    case 20: g->outputs.count = 0; break;
    case 21: g->inputs.at[1] = 0; break;
    case 22: g->inputs.at[1] = 3; break;
    case 23: g->inputs.at[1] = 77; break;
    case 24: g->inputs.count = 2; break;
    case 25: g->name = 0; break;
    case 26: n[2].attr = 5; break;
    case 27: g->origin.at[0] = LLF_OPS; break;
    case 28: g->poisoned = LLF_E_GRAPH; break;
    case 29: g->asked.count = 2; break;
    case 30: g->asked.at[1] = (uint32_t)g->types.count; break;
    default: break;
    }
}

static void every_broken_invariant_is_seen(void **state)
{
    llf_context *cx = *state;
    for (int how = 0; how < 31; how++) {
        llf_graph *g = test_parse(cx, sample);
        assert_true(llfi_vec_reserve(&cx->mem, &g->asked, 3));
        for (size_t i = 0; i < 3; i++)
            g->asked.at[g->asked.count++] = g->nodes.at[i].type;
        assert_int_equal(llfi_verify(g), LLF_OK);
        break_node(g, how);
        if (llfi_verify(g) != LLF_E_GRAPH)
            fail_msg("case %d: %s", how, llf_last_error(cx)->message);
        assert_true(llf_last_error(cx)->message[0] != 0);
        llf_graph_destroy(g);
    }
}

static void types_that_do_not_fit_are_seen(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, "graph @s(%x: f32[N], %y: f16[N]) {\n  %0 = add %x, %x\n  ret %0\n}\n");
    g->nodes.at[2].arg[1] = 1;
    assert_int_equal(llfi_verify(g), LLF_E_TYPE);
    assert_int_equal(llf_last_error(cx)->line, 2);
    llf_graph_destroy(g);
}

/* ---- rewriting ------------------------------------------------------------------------------------------
 */

static llf_status copy_all(llfi_rewrite *rw)
{
    for (llf_id i = 0; i < rw->olds; i++)
        LLF_TRY(llfi_rewrite_copy(rw, i));
    return LLF_OK;
}

static void copying_changes_nothing(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, sample);
    uint64_t hash = llfi_graph_hash(g);
    llfi_arena arena;
    llfi_rewrite rw;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llfi_rewrite_begin(&rw, g, &arena), LLF_OK);
    assert_int_equal(copy_all(&rw), LLF_OK);
    assert_int_equal(llfi_rewrite_end(&rw), LLF_OK);
    assert_int_equal(llfi_verify(g), LLF_OK);
    assert_true(llfi_graph_hash(g) == hash);
    assert_int_equal(llfi_place_of(g, 3).line, 2);
    test_printed(cx, g, sample);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
}

/* add becomes two ops; mul is dropped; inputs that were made late come first. */
static void ops_are_replaced_and_names_follow(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, "graph @s(%x: f32[N], %b: f32[N]) {\n"
                                  "  %dead = mul %x, %b !k0\n"
                                  "  %sum = add %x, %b !k1\n"
                                  "  %r = neg %sum\n"
                                  "  ret %r, %sum\n"
                                  "}\n");
    int64_t shape = -1;
    assert_int_not_equal(llf_input(g, "late", LLF_F32, 1, &shape), LLF_NONE);
    llfi_arena arena;
    llfi_rewrite rw;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llfi_rewrite_begin(&rw, g, &arena), LLF_OK);
    for (llf_id i = 0; i < rw.olds; i++) {
        if (rw.old[i].op == LLF_OP_MUL)
            continue;
        if (rw.old[i].op != LLF_OP_ADD) {
            assert_int_equal(llfi_rewrite_copy(&rw, i), LLF_OK);
            continue;
        }
        llf_id t, one, arg[3] = {rw.map[rw.old[i].arg[1]]};
        assert_int_equal(llfi_rewrite_op(&rw, i, LLF_OP_ABS, arg, 0, &t), LLF_OK);
        assert_int_equal(llfi_rewrite_const(&rw, LLF_F32, 0x3f800000, &one), LLF_OK);
        arg[0] = rw.map[rw.old[i].arg[0]];
        arg[1] = one;
        arg[2] = t;
        assert_int_equal(llfi_rewrite_op(&rw, i, LLF_OP_FMA, arg, 0, &rw.map[i]), LLF_OK);
    }
    assert_int_equal(llfi_rewrite_end(&rw), LLF_OK);
    assert_int_equal(llfi_verify(g), LLF_OK);
    test_printed(cx, g,
                 "graph @s(%x: f32[N], %b: f32[N], %late: f32[N]) {\n"
                 "  %0 = abs %b\n"
                 "  %sum = fma %x, 1.0, %0\n"
                 "  %r = neg %sum\n"
                 "  ret %r, %sum\n"
                 "}\n");
    assert_int_equal(g->origin.at[llfi_node_at(g, 3)->origin], LLF_OP_ADD);
    assert_int_equal(llfi_node_at(g, 3)->origin, llfi_node_at(g, 5)->origin);
    assert_int_equal(llfi_place_of(g, 5).line, 3);
    assert_int_equal(g->labels.count, 1);
    assert_int_equal(g->labels.at[0].node, 5);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
}

static void an_aborted_rewrite_restores_the_graph(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, "s");
    int64_t four = 4;
    llf_id x = llf_input(g, "x", LLF_F32, 1, &four), y = llf_neg(g, x),
           z = llf_input(g, "z", LLF_F32, 1, &four);
    llf_output(g, llf_add(g, y, z));
    uint64_t hash = llfi_graph_hash(g);
    llfi_arena arena;
    llfi_rewrite rw;
    llfi_arena_init(&arena, &cx->mem);

    assert_int_equal(llfi_rewrite_begin(&rw, g, &arena), LLF_OK);
    llf_id out, arg[2] = {rw.map[x], LLF_NONE};
    assert_int_equal(llfi_rewrite_copy(&rw, 3), LLF_E_INTERNAL); /* its operand is not there yet */
    assert_int_equal(llfi_rewrite_op(&rw, 3, LLF_OP_ADD, arg, 0, &out), LLF_E_ARG);
    llfi_rewrite_abort(&rw);
    assert_int_equal(g->poisoned, LLF_OK);
    assert_int_equal(llfi_verify(g), LLF_OK);
    assert_true(llfi_graph_hash(g) == hash);
    assert_int_equal(g->inputs.at[1], 2);

    assert_int_equal(llfi_rewrite_begin(&rw, g, &arena), LLF_OK);
    assert_int_equal(llfi_rewrite_end(&rw), LLF_E_INTERNAL); /* the output was dropped */
    llfi_rewrite_abort(&rw);
    assert_int_equal(llfi_verify(g), LLF_OK);
    assert_true(llfi_graph_hash(g) == hash);

    test_heap *h = cx->mem.user;
    h->fail_at = h->requests + 1;
    llfi_arena fresh;
    llfi_arena_init(&fresh, &cx->mem);
    assert_int_equal(llfi_rewrite_begin(&rw, g, &fresh), LLF_E_NOMEM);
    llfi_rewrite_abort(&rw);
    assert_int_equal(llfi_verify(g), LLF_OK);
    llfi_arena_destroy(&fresh);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_broken_invariant_is_seen),
        TEST(types_that_do_not_fit_are_seen),
        TEST(copying_changes_nothing),
        TEST(ops_are_replaced_and_names_follow),
        TEST(an_aborted_rewrite_restores_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
