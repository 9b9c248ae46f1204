/* test_ir_reduce.c: reductions in the graph: types, text, builders, messages, guards, further results through
 * passes that move nodes, and what the verifier sees. */
#include "ir_testing.h"

/* ---- types and text */

static void types_and_text(void **state)
{
    static const struct {
        const char *line, *printed, *type;
    } row[] = {
        {"sum %x", "sum %x", "bf16[]"},
        {"sum %x, axes=[0, 1, 2]", "sum %x", "bf16[]"},
        {"sum %x, axes=[-1, 0], out=f32", "sum %x, axes=[0, 2], out=f32", "f32[N]"},
        {"sum %x, out=bf16, axes = [ 1 ]", "sum %x, axes=[1]", "bf16[B, 8]"},
        {"prod %x, keepdims, axes=[1]", "prod %x, axes=[1], keepdims", "bf16[B, 1, 8]"},
        {"max %x, keepdims", "max %x, keepdims", "bf16[1, 1, 1]"},
        {"min %x, axes=[]", "min %x, axes=[]", "bf16[B, N, 8]"},
        {"any %x, axes=[2]", "any %x, axes=[2]", "bool[B, N]"},
        {"argmax %x, axes=[1, 2]", "argmax %x, axes=[1, 2]", "i64[B]"},
        {"sum %c", "sum %c", "i64[]"},
        {"sum %c, out=i64", "sum %c", "i64[]"},
        {"sum %c, out=i32", "sum %c, out=i32", "i32[]"},
        {"sum %s, axes=[], keepdims", "sum %s, keepdims", "f32[]"},
        {"argmin %s", "argmin %s", "i64[]"},
        {"count dtype=f64, shape=[N, B+1]", "count dtype=f64, shape=[N, B+1]", "f64[]"},
        {"count shape=[],dtype=i32", "count dtype=i32, shape=[]", "i32[]"},
    };
    static const char head[] = "graph @g(%x: bf16[B, N, 8], %c: bool[N], %s: f32[]) {\n  %0 = ";
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(row); i++) {
        char text[256], want[256], *out;
        size_t bytes;
        snprintf(text, sizeof text, "%s%s\n  ret %%0\n}\n", head, row[i].line);
        snprintf(want, sizeof want, "%s%s\n  ret %%0\n}\n", head, row[i].printed);
        llf_graph *g = test_parse(cx, text);
        assert_int_equal(llfi_verify(g), LLF_OK);
        assert_int_equal(llf_graph_print(cx, g, &out, &bytes), LLF_OK);
        assert_string_equal(out, want);
        assert_string_equal(llfi_show_type(g, llfi_node_at(g, g->outputs.at[0])->type).text, row[i].type);
        llf_text_free(cx, out, bytes);
        llf_graph_destroy(g);
    }
}

/* What is accumulated in what. */
static void accumulators(void **state)
{
    static const struct {
        const char *line;
        llf_dtype in, acc, out;
    } row[] = {
        {"sum %h", LLF_F16, LLF_F32, LLF_F16},
        {"sum %h, out=f64", LLF_F16, LLF_F64, LLF_F64},
        {"prod %x", LLF_F32, LLF_F32, LLF_F32},
        {"sum %d, out=f16", LLF_F64, LLF_F64, LLF_F16},
        {"sum %i", LLF_I32, LLF_I32, LLF_I32},
        {"sum %i, out=i64", LLF_I32, LLF_I64, LLF_I64},
        {"sum %i, out=bf16", LLF_I32, LLF_F32, LLF_BF16},
        {"sum %l, out=i32", LLF_I64, LLF_I64, LLF_I32},
        {"prod %c", LLF_BOOL, LLF_I64, LLF_I64},
        {"prod %c, out=i32", LLF_BOOL, LLF_I32, LLF_I32},
        {"max %h", LLF_F16, LLF_F16, LLF_F16},
        {"argmin %h", LLF_F16, LLF_F16, LLF_I64},
        {"all %d", LLF_F64, LLF_BOOL, LLF_BOOL},
    };
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(row); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "graph @g(%%h: f16[4], %%x: f32[4], %%d: f64[4], %%i: i32[4], %%l: i64[4], %%c: bool[4]) {\n"
                 "  %%0 = %s\n  ret %%0\n}\n",
                 row[i].line);
        llf_graph *g = test_parse(cx, text);
        llfi_reduce r = llfi_reduce_of(g, g->outputs.at[0]);
        if (r.in != row[i].in || r.acc != row[i].acc || r.out != row[i].out || r.axes != 1 || r.keepdims)
            fail_msg("%s: %s, %s, %s", row[i].line, llf_dtype_name(r.in), llf_dtype_name(r.acc),
                     llf_dtype_name(r.out));
        llf_graph_destroy(g);
    }
}

/* ---- messages */

static void every_mistake_has_its_message(void **state)
{
    static const struct {
        const char *line;
        llf_status status;
        const char *message;
    } row[] = {
        {"sum %x, axes=[2]", LLF_E_TYPE, "2:8: sum: axis 2 is out of range: operand 1 is f32[3, 4], in %0"},
        {"sum %x, axes=[-3]", LLF_E_TYPE, "2:8: sum: axis -3 is out of range: operand 1 is f32[3, 4], in %0"},
        {"max %s, axes=[0]", LLF_E_TYPE, "2:8: max: axis 0 is out of range: operand 1 is f32[], in %0"},
        {"any %x, axes=[1, -1]", LLF_E_TYPE,
         "2:8: any: axis 1 stands twice in axes: operand 1 is f32[3, 4], in %0"},
        {"argmax %z, axes=[0]", LLF_E_TYPE,
         "2:8: argmax: axis 0 of f32[0, 3] has no element to take the argmax of, in %0"},
        {"min %z", LLF_E_TYPE, "2:8: min: axis 0 of f32[0, 3] has no element to take the min of, in %0"},
        {"sum %x, out=i32", LLF_E_TYPE,
         "2:8: sum: out is i32, but must be float: operand 1 is f32[3, 4], in %0"},
        {"sum %i, out=bool", LLF_E_TYPE,
         "2:8: sum: out is bool, but must be float or integer: operand 1 is i32[5], in %0"},
        {"max %x, out=f64", LLF_E_PARSE, "2:16: max: unknown attribute 'out'; it takes axes keepdims"},
        {"sum %x, keepdims=1", LLF_E_PARSE, "2:16: sum: keepdims stands alone, without a value"},
        {"sum %x, keepdims, keepdims", LLF_E_PARSE, "2:26: sum: attribute keepdims stands twice"},
        {"sum %x, axis=1", LLF_E_PARSE, "2:16: sum: unknown attribute 'axis'; it takes axes keepdims out"},
        {"sum %x, keepdims, %x", LLF_E_PARSE, "2:26: sum: operands stand before attributes"},
        {"sum %x, %x", LLF_E_PARSE, "2:8: sum takes 1 operand, not 2"},
        {"sum %x, out=f8", LLF_E_PARSE, "2:20: unknown dtype 'f8'"},
        {"add %x, keepdims", LLF_E_PARSE, "2:16: add: expected an operand"},
        {"moments %x", LLF_E_PARSE, "2:6: moments has 2 results, not 1"},
        {"moments %i", LLF_E_PARSE, "2:6: moments has 2 results, not 1"},
        {"result %x", LLF_E_PARSE, "2:8: 'result' is not written as a line: results stand before '='"},
        {"count dtype=f32", LLF_E_PARSE, "2:8: count needs the attribute shape="},
        {"count dtype=bool, shape=[3]", LLF_E_TYPE,
         "2:8: count: dtype is bool, but must be float or integer, in %0"},
        {"count dtype=f32, shape=[-1]", LLF_E_TYPE, "2:8: count: axis 0: -1 is for reshape alone, in %0"},
        {"count dtype=f32, shape=[4294967296, 4294967296]", LLF_E_LIMIT, "2:8: count: axis 1"},
    };
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(row); i++) {
        char text[256];
        llf_graph *g;
        snprintf(
            text, sizeof text,
            "graph @g(%%x: f32[3, 4], %%z: f32[0, 3], %%s: f32[], %%i: i32[5]) {\n  %%0 = %s\n  ret %%0\n}",
            row[i].line);
        llf_status got = llf_graph_parse(cx, text, strlen(text), "t", &g);
        const char *message = llf_last_error(cx)->message;
        if (got != row[i].status || strncmp(message + 2, row[i].message, strlen(row[i].message)) != 0)
            fail_msg("%s: %s, %s", row[i].line, llf_status_name(got), message);
    }
    llf_graph *g;
    static const char ints[] = "graph @g(%i: i32[5]) {\n  %0, %1 = moments %i\n  ret %0\n}";
    assert_int_equal(llf_graph_parse(cx, ints, strlen(ints), "t", &g), LLF_E_TYPE);
    assert_string_equal(llf_last_error(cx)->message,
                        "t:2:12: moments: operand 1 is i32[5], but must be float, in %0");
}

/* What only run time can tell is a guard, and its message names the axis and the size. */
static void guards(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, "graph @g(%x: f32[N, M, K+1]) {\n  %0 = argmax %x, axes=[1, 2]\n"
                                  "  %1 = sum %x, axes=[0]\n  ret %0, %1\n}");
    assert_int_equal(g->guards.count, 1); /* 1 <= M alone: K+1 is 1 at least, and a sum may be empty */
    const int64_t good[] = {0, 1, 0}, bad[] = {4, 0, 3};
    assert_int_equal(llfi_guards_check(g, &cx->diag, good), LLF_OK);
    assert_int_equal(llfi_guards_check(g, &cx->diag, bad), LLF_E_GUARD);
    assert_string_equal(llf_last_error(cx)->message,
                        "t.llf:2:8: argmax: axis 1: 1 (1) must be at most M (0), in %0");
    llf_graph_destroy(g);
}

/* ---- calls */

static void calls_are_checked(void **state)
{
    llf_context *cx = *state;
    const int64_t shape[] = {3, 4}, axes[17] = {1};
    for (int how = 0; how < 10; how++) {
        llf_graph *g = llf_graph_create(cx, NULL);
        llf_id x = llf_input(g, "x", LLF_F32, 2, shape), out[2] = {7, 7};
        llf_status want = LLF_E_ARG;
        switch (how) {
        case 0: assert_int_equal(llf_sum(g, 9, 1, axes, false), LLF_NONE); break;
        case 1: assert_int_equal(llf_sum(g, x, 1, NULL, false), LLF_NONE); break;
        case 2:
            assert_int_equal(llf_sum(g, x, 17, axes, false), LLF_NONE);
            want = LLF_E_LIMIT;
            break;
        case 3:
            assert_int_equal(llf_max(g, x, 1, (const int64_t[]){5}, false), LLF_NONE);
            want = LLF_E_TYPE;
            break;
        case 4: assert_int_equal(llf_sum_as(g, x, 1, axes, false, (llf_dtype)99), LLF_NONE); break;
        case 5: assert_int_equal(llf_moments(g, x, 1, axes, false, NULL), LLF_E_ARG); break;
        case 6:
            assert_int_equal(llf_softmax_stats(g, LLF_NONE, 1, axes, false, out), LLF_E_ARG);
            assert_true(out[0] == LLF_NONE && out[1] == LLF_NONE);
            break;
        case 7: assert_int_equal(llf_count(g, LLF_F32, 2, NULL), LLF_NONE); break;
        case 8: assert_int_equal(llf_count(g, LLF_F32, 1, (const int64_t[]){-5}), LLF_NONE); break;
        default:
            assert_int_equal(llfi_build(g, LLF_OP_RESULT, &x, 1, UINT32_MAX, (llfi_place){0}), LLF_NONE);
            break;
        }
        assert_int_equal(g->poisoned, want);
        llf_graph_destroy(g);
    }
    assert_int_equal(llf_sum(NULL, 0, 0, NULL, false), LLF_NONE);
    assert_int_equal(llf_moments(NULL, 0, 0, NULL, false, NULL), LLF_E_ARG);
}

static void calls_are_what_text_is(void **state)
{
    llf_context *cx = *state;
    const int64_t shape[] = {3, 4};
    llf_graph *g = llf_graph_create(cx, "g");
    llf_id x = llf_input(g, "x", LLF_F16, 2, shape), out[2];
    llf_id a = llf_sum_as(g, x, 1, (const int64_t[]){-1}, true, LLF_F32);
    llf_id b = llf_argmax(g, x, LLF_ALL_AXES, NULL, false);
    assert_int_equal(llf_softmax_stats(g, x, 1, (const int64_t[]){0}, false, out), LLF_OK);
    llf_id n = llf_count(g, LLF_F32, 2, shape);
    assert_int_equal(llf_hint(g, out[1], LLF_HINT_APART), LLF_OK); /* its op's */
    assert_int_equal(llf_output(g, a) | llf_output(g, b) | llf_output(g, out[1]) | llf_output(g, n), LLF_OK);
    char *text;
    size_t bytes;
    assert_int_equal(llf_graph_print(cx, g, &text, &bytes), LLF_OK);
    assert_string_equal(text, "graph @g(%x: f16[3, 4]) {\n"
                              "  %0 = sum %x, axes=[1], keepdims, out=f32\n"
                              "  %1 = argmax %x\n"
                              "  %2, %3 = softmax_stats %x, axes=[0] !apart\n"
                              "  %4 = count dtype=f32, shape=[3, 4]\n"
                              "  ret %0, %1, %3, %4\n"
                              "}\n");
    llf_graph *again = test_parse(cx, text);
    assert_true(llfi_graph_hash(g) == llfi_graph_hash(again));
    llfi_arena arena;
    llfi_difference d;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llfi_same(g, "a", again, "b", &arena, &d), LLF_OK);
    assert_false(d.differs);
    llf_graph *other = test_parse(cx, "graph @g(%x: f16[3, 4]) {\n"
                                      "  %0 = sum %x, axes=[1], keepdims, out=f32\n"
                                      "  %1 = argmax %x\n"
                                      "  %2, %3 = softmax_stats %x, axes=[0] !apart\n"
                                      "  %4 = count dtype=f32, shape=[3, 4]\n"
                                      "  ret %0, %1, %2, %4\n"
                                      "}\n");
    assert_true(llfi_graph_hash(g) != llfi_graph_hash(other));
    assert_int_equal(llfi_same(g, "a", other, "b", &arena, &d), LLF_OK);
    assert_true(d.differs);
    llfi_arena_destroy(&arena);
    llf_text_free(cx, text, bytes);
    llf_graph_destroy(other);
    llf_graph_destroy(again);
    llf_graph_destroy(g);
}

/* ---- the verifier */

static void break_node(llf_graph *g, int how)
{
    llfi_node *n = g->nodes.at; /* 0 x, 1 sum, 2 moments, 3 its second result, 4 count, 5 y = add 3, 4 */
    int64_t *list = g->lists.at;
    switch (how) {
    case 0: n[3].attr = 0; break;
    case 1: n[3].attr = 2; break;
    case 2: n[3].arg[0] = 1; break;
    case 3: n[3].op = LLF_OP_NEG; break;
    case 4: n[2].op = LLF_OP_MAX; break;
    case 5: n[1].op = LLF_OP_MOMENTS; break;
    case 6: list[n[1].attr + 1 + LLFI_REDUCE_KEEPDIMS] = 2; break;
    case 7: list[n[1].attr + 1 + LLFI_REDUCE_OUT] = LLF_DTYPES; break;
    case 8: list[n[1].attr + 1 + LLFI_REDUCE_OUT] = -2; break;
    case 9: list[n[1].attr + 1 + LLFI_REDUCE_AXES] = LLFI_RANK; break;
    case 10: list[n[1].attr + 1 + LLFI_REDUCE_AXES + 1] = 0; break;
    case 11: list[n[1].attr] = 1; break;
    case 12: n[1].attr = g->lists.count; break;
    case 13: list[n[4].attr + 1] = LLF_DTYPES; break;
    case 14: list[n[4].attr + 2] = INT32_MAX; break;
    case 15: n[4].origin = 0; break;
    case 16: n[1].type = n[0].type; break;
    case 17: n[3].type = n[0].type; break;
    default: break;
    }
}

static void every_broken_invariant_is_seen(void **state)
{
    llf_context *cx = *state;
    for (int how = 0; how < 18; how++) {
        llf_graph *g = test_parse(cx, "graph @g(%x: f32[3, N]) {\n  %0 = sum %x\n  %1, %2 = moments %x\n"
                                      "  %3 = count dtype=f32, shape=[N]\n  %4 = add %2, %3\n  ret %4\n}");
        assert_int_equal(g->nodes.count, 6);
        assert_int_equal(llfi_verify(g), LLF_OK);
        break_node(g, how);
        llf_status got = llfi_verify(g);
        if (got != LLF_E_GRAPH && got != LLF_E_TYPE)
            fail_msg("case %d: %s", how, llf_status_name(got));
        llf_graph_destroy(g);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(types_and_text),
        TEST(accumulators),
        TEST(every_mistake_has_its_message),
        TEST(guards),
        TEST(calls_are_checked),
        TEST(calls_are_what_text_is),
        TEST(every_broken_invariant_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
