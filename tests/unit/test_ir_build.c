/* Builders, misuse of the API, inference, clone, hash, sizes. */
#include "ir_testing.h"

#include <math.h>

static const int64_t four = 4, five = 5;

static void a_graph_by_calls_prints_as_text(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, "calls");
    int64_t shape[2] = {llf_symbol(g, "N"), 4};
    assert_int_equal(shape[0], -1);
    assert_int_equal(llf_symbol(g, "N"), -1);
    assert_int_equal(llf_symbol(g, "M"), -2);
    llf_id x = llf_input(g, "x", LLF_F32, 2, shape), a = llf_scalar(g, "a", LLF_F32);
    llf_id unnamed = llf_input(g, NULL, LLF_BF16, 1, &four), b = llf_input(g, "b", LLF_F32, 0, NULL);
    llf_id y = llf_fma(g, x, a, llf_const(g, LLF_F32, 0.5));
    llf_id c = llf_cast(g, unnamed, LLF_F64);
    llf_id less = llf_lt(g, x, b), wavy = llf_gelu(g, y, LLF_GELU_TANH);
    llf_id w = llf_where(g, less, wavy, llf_const_int(g, LLF_F32, 3));
    assert_int_equal(llf_output(g, w), LLF_OK);
    assert_int_equal(llf_output(g, c), LLF_OK);
    assert_int_equal(llf_output(g, w), LLF_OK);
    assert_int_equal(llfi_verify(g), LLF_OK);
    assert_int_equal(llf_graph_inputs(g), 4);
    assert_int_equal(llf_graph_outputs(g), 3);
    assert_true(g->props & 1u);
    test_printed(cx, g,
                 "graph @calls(%x: f32[N, 4], %a: scalar f32, %0: bf16[4], %b: f32[]) {\n"
                 "  %1 = fma %x, %a, 0.5\n"
                 "  %2 = cast %0, dtype=f64\n"
                 "  %3 = lt %x, %b\n"
                 "  %4 = gelu %1, approximate=tanh\n"
                 "  %5 = where %3, %4, 3.0\n"
                 "  ret %5, %2, %5\n"
                 "}\n");
    llf_graph_destroy(g);
}

/* Every row of ops.def has its builder, and each gives what its signature says. */
static void every_op_has_a_builder(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, NULL);
    llf_id x = llf_input(g, "x", LLF_F32, 1, &four), a = x, b = x, c = x;
    llf_id t = llf_input(g, "t", LLF_BOOL, 1, &four);
    uint32_t built = 0;
#define LLF_CALL_1 x
#define LLF_CALL_2 a, b
#define LLF_CALL_3 c, a, b
#define CALL_NONE(id, name, arity, sig)                                                          \
    c = sig[0] == 'b' ? t : x;                                                                   \
    {                                                                                            \
        llf_id y = llf_##name(g, LLF_CALL_##arity);                                              \
        assert_int_not_equal(y, LLF_NONE);                                                       \
        assert_int_equal(llfi_node_at(g, y)->op, LLF_OP_##id);                                   \
        assert_int_equal(llfi_dtype_of(g, y), sig[strlen(sig) - 1] == 'b' ? LLF_BOOL : LLF_F32); \
        assert_int_equal(llfi_type_of(g, y).rank, 1);                                            \
        assert_int_equal(g->origin.at[llfi_node_at(g, y)->origin], LLF_OP_##id);                 \
        built++;                                                                                 \
    }
#define CALL_DTYPE(id, name, arity, sig)
#define CALL_APPROXIMATE(id, name, arity, sig)
#define CALL_MEAN(id, name, arity, sig)
#define CALL_VAR(id, name, arity, sig)
#define CALL_SOFTMAX(id, name, arity, sig)
#define CALL_NORM(id, name, arity, sig)
#define CALL_L2(id, name, arity, sig)
#define CALL_BATCH(id, name, arity, sig)
#define CALL_BATCH_TRAIN(id, name, arity, sig)
#define CALL_LOSS(id, name, arity, sig)
#define CALL_CLASS_LOSS(id, name, arity, sig)
#define EW(id, name, arity, sig, set, flags, attr, meaning) CALL_##attr(id, name, arity, sig)
#define COMPOSITE EW
#define CALL_REDUCE_STATS(id, name)                                              \
    {                                                                            \
        llf_id y[2];                                                             \
        assert_int_equal(llf_##name(g, x, LLF_ALL_AXES, NULL, true, y), LLF_OK); \
        assert_int_equal(llfi_node_at(g, y[0])->op, LLF_OP_##id);                \
        assert_int_equal(llfi_node_at(g, y[1])->op, LLF_OP_RESULT);              \
        assert_int_equal(llfi_maker(g, y[1]), y[0]);                             \
        assert_int_equal(llfi_type_of(g, y[1]).rank, 1);                         \
        built++;                                                                 \
    }
#define CALL_REDUCE_REDUCE(id, name)                                             \
    {                                                                            \
        llf_id y = llf_##name(g, x, LLF_ALL_AXES, NULL, false);                  \
        assert_int_not_equal(y, LLF_NONE);                                       \
        assert_int_equal(llfi_node_at(g, y)->op, LLF_OP_##id);                   \
        assert_int_equal(llfi_type_of(g, y).rank, 0);                            \
        assert_int_equal(g->origin.at[llfi_node_at(g, y)->origin], LLF_OP_##id); \
        built++;                                                                 \
    }
#define CALL_REDUCE_SUM CALL_REDUCE_REDUCE
#define REDUCE(id, name, arity, sig, set, flags, attr, meaning) CALL_REDUCE_##attr(id, name)
#include "llfuse/ops.def"
    assert_int_equal(built + 30, LLF_OPS); /* all but input, const, cast, gelu, views, index ops, iota, count,
                                              result, composites over axes (test_ir_composite.c) */
    llf_graph_destroy(g);
}

static void rank_zero_meets_any_shape(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, NULL);
    llf_id x = llf_input(g, "x", LLF_F32, 1, &four), s = llf_input(g, "s", LLF_F32, 0, NULL);
    assert_int_equal(llfi_node_at(g, llf_add(g, s, x))->type, llfi_node_at(g, x)->type);
    assert_int_equal(llfi_node_at(g, llf_add(g, x, s))->type, llfi_node_at(g, x)->type);
    assert_int_equal(llfi_type_of(g, llf_add(g, s, s)).rank, 0);
    assert_int_equal(llfi_type_of(g, llf_where(g, llf_const_int(g, LLF_BOOL, 1), s, x)).rank, 1);
    assert_int_equal(llfi_node_at(g, llf_fma(g, s, s, x))->type, llfi_node_at(g, x)->type);
    llf_graph_destroy(g);
}

static void assert_error(llf_context *cx, llf_graph *g, llf_id got, llf_status status, const char *part)
{
    assert_int_equal(got, LLF_NONE);
    assert_int_equal(g->poisoned, status);
    assert_int_equal(llf_last_error(cx)->status, status);
    if (!strstr(llf_last_error(cx)->message, part))
        fail_msg("'%s' not in '%s'", part, llf_last_error(cx)->message);
    llf_graph_destroy(g);
}

static void misuse_is_an_error_and_no_crash(void **state)
{
    llf_context *cx = *state;
#define GRAPH llf_graph *g = llf_graph_create(cx, NULL)
    {
        GRAPH;
        assert_error(cx, g, llf_relu(g, 7), LLF_E_ARG, "relu: operand 1");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_relu(g, LLF_NONE), LLF_E_ARG, "relu: operand 1");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_input(g, "x", (llf_dtype)77, 0, NULL), LLF_E_ARG, "dtype");
    }
    {
        GRAPH;
        int64_t shape[17] = {0};
        assert_error(cx, g, llf_input(g, "x", LLF_F32, 17, shape), LLF_E_LIMIT, "16");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_input(g, "x", LLF_F32, 1, NULL), LLF_E_ARG, "NULL");
    }
    {
        GRAPH;
        int64_t shape = -1;
        assert_error(cx, g, llf_input(g, "x", LLF_F32, 1, &shape), LLF_E_ARG, "-1");
    }
    {
        GRAPH;
        int64_t shape = INT64_MIN;
        assert_error(cx, g, llf_input(g, "x", LLF_F32, 1, &shape), LLF_E_ARG, "negative");
    }
    {
        GRAPH;
        int64_t shape[3] = {INT64_C(1) << 31, 0,
                            INT64_C(1) << 31}; /* 2^62 elements of 4 bytes, but for the 0 */
        assert_error(cx, g, llf_input(g, "x", LLF_F32, 3, shape), LLF_E_LIMIT, "2^63-1");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_input(g, "a b", LLF_F32, 0, NULL), LLF_E_ARG, "name");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_input(g, "", LLF_F32, 0, NULL), LLF_E_ARG, "name");
    }
    {
        GRAPH;
        llf_scalar(g, "x", LLF_F32);
        assert_error(cx, g, llf_input(g, "x", LLF_F32, 0, NULL), LLF_E_GRAPH, "duplicate name 'x'");
    }
    {
        GRAPH;
        llf_id x = llf_scalar(g, "x", LLF_F32);
        assert_error(cx, g, llf_cast(g, x, (llf_dtype)40), LLF_E_ARG, "dtype");
    }
    {
        GRAPH;
        llf_id x = llf_scalar(g, "x", LLF_F32);
        assert_error(cx, g, llf_gelu(g, x, (llf_gelu_form)2), LLF_E_ARG, "approximate");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_const(g, LLF_I32, 0.5), LLF_E_ARG, "i32");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_const(g, LLF_I32, (double)NAN), LLF_E_ARG, "i32");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_const_int(g, LLF_I32, INT64_C(1) << 31), LLF_E_ARG, "i32");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_const_int(g, LLF_BOOL, 2), LLF_E_ARG, "bool");
    }
    {
        GRAPH;
        assert_error(cx, g, llf_const(g, (llf_dtype)-1, 1), LLF_E_ARG, "dtype");
    }
    {
        GRAPH;
        assert_int_equal(llf_output(g, 0), LLF_E_ARG);
        assert_error(cx, g, LLF_NONE, LLF_E_ARG, "llf_output");
    }
    {
        GRAPH;
        assert_int_equal(llf_symbol(g, "min"), 0);
        assert_error(cx, g, LLF_NONE, LLF_E_ARG, "llf_symbol");
    }
    {
        GRAPH;
        assert_int_equal(llf_symbol(g, "2N"), 0);
        assert_error(cx, g, LLF_NONE, LLF_E_ARG, "llf_symbol");
    }
}

static void null_graphs_are_harmless(void **state)
{
    llf_context *cx = *state;
    assert_null(llf_graph_create(NULL, "x"));
    assert_null(llf_graph_create(cx, "a/b"));
    assert_int_equal(llf_last_error(cx)->status, LLF_E_ARG);
    assert_int_equal(llf_add(NULL, 0, 1), LLF_NONE);
    assert_int_equal(llf_input(NULL, "x", LLF_F32, 0, NULL), LLF_NONE);
    assert_int_equal(llf_const(NULL, LLF_F32, 1), LLF_NONE);
    assert_int_equal(llf_const_int(NULL, LLF_F32, 1), LLF_NONE);
    assert_int_equal(llf_symbol(NULL, "N"), 0);
    assert_int_equal(llf_output(NULL, 0), LLF_E_ARG);
    assert_int_equal(llf_graph_inputs(NULL), 0);
    assert_int_equal(llf_graph_outputs(NULL), 0);
    llf_graph_destroy(NULL);
    llf_text_free(NULL, NULL, 0);
    llf_graph *g = NULL;
    char *t;
    size_t n;
    assert_int_equal(llf_graph_parse(NULL, "", 0, NULL, &g), LLF_E_ARG);
    assert_int_equal(llf_graph_parse(cx, NULL, 3, NULL, &g), LLF_E_ARG);
    assert_int_equal(llf_graph_parse(cx, "", 0, NULL, NULL), LLF_E_ARG);
    assert_int_equal(llf_graph_print(cx, NULL, &t, &n), LLF_E_ARG);
    assert_int_equal(llf_graph_print(NULL, NULL, &t, &n), LLF_E_ARG);
}

static void poison_keeps_the_first_message(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, NULL);
    llf_id x = llf_input(g, "x", LLF_F32, 1, &four), y = llf_input(g, "y", LLF_F32, 1, &five);
    llf_id bad = llf_add(g, x, y);
    assert_int_equal(bad, LLF_NONE);
    const char *first =
        "add: axis 0: 4 and 5 do not broadcast: operand 1 is f32[4], operand 2 is f32[5], in %0";
    assert_string_equal(llf_last_error(cx)->message, first);
    assert_string_equal(llf_last_error(cx)->op, "add");
    assert_int_equal(llf_relu(g, bad), LLF_NONE);
    assert_int_equal(llf_symbol(g, "2N"), 0);
    assert_int_equal(llf_cast(g, 1000, (llf_dtype)99), LLF_NONE);
    assert_int_equal(llf_const(g, (llf_dtype)99, 1), LLF_NONE);
    assert_int_equal(llf_output(g, llf_mul(g, bad, x)), LLF_E_TYPE);
    assert_string_equal(llf_last_error(cx)->message, first);
    llf_graph_destroy(g);
}

static void constants_round_once(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, NULL);
    /* 2^53 + 1 as f64 ties down to 2^53; 2^24 + 1 as f32 likewise; 2^62 + 2^38 + 1 is above the middle of two
     * f32's */
    assert_true(llfi_node_at(g, llf_const_int(g, LLF_F64, (INT64_C(1) << 53) + 1))->attr ==
                UINT64_C(0x4340000000000000));
    assert_true(llfi_node_at(g, llf_const_int(g, LLF_F32, (1 << 24) + 1))->attr == 0x4b800000);
    assert_true(
        llfi_node_at(g, llf_const_int(g, LLF_F32, (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1))->attr ==
        0x5e800001);
    assert_true(llfi_node_at(g, llf_const_int(g, LLF_I64, INT64_MIN))->attr == UINT64_C(1) << 63);
    assert_true(llfi_node_at(g, llf_const_int(g, LLF_I32, -1))->attr == 0xffffffff);
    assert_true(llfi_node_at(g, llf_const(g, LLF_I32, -3.0))->attr == 0xfffffffd);
    assert_true(llfi_node_at(g, llf_const(g, LLF_BF16, 1.00390625))->attr == 0x3f80); /* a tie, to even */
    assert_true(llfi_node_at(g, llf_const(g, LLF_BOOL, 1.0))->attr == 1);
    llf_graph_destroy(g);
}

static const char sample[] = "graph @s(%x: f32[N], %b: f32[N], %a: scalar f32) {\n"
                             "  %0 = mul %x, %a\n"
                             "  %h = add %0, %b\n"
                             "  %1 = mul %h, %h\n"
                             "  %2 = maximum %1, 0.25\n"
                             "  ret %2, %h, %x\n"
                             "}\n";

static void a_clone_is_the_same_graph_on_its_own(void **state)
{
    llf_context *cx = *state;
    test_heap heap = {0};
    llf_context *other = test_context(&heap);
    llf_graph *g = test_parse(cx, sample);
    llf_graph *copy = llfi_graph_clone(g, other);
    assert_non_null(copy);
    assert_true(llfi_graph_hash(g) == llfi_graph_hash(copy));
    llf_graph_destroy(g);
    test_printed(other, copy, sample);
    assert_int_equal(llfi_verify(copy), LLF_OK);
    assert_int_not_equal(llf_neg(copy, 0), LLF_NONE); /* its pools still find names and types */
    assert_string_equal(llfi_place_of(copy, 3).file, "t.llf");
    assert_int_equal(llfi_place_of(copy, 3).line, 2);
    llf_graph_destroy(copy);
    llf_context_destroy(other);
    assert_int_equal(heap.live, 0);
    assert_false(heap.wrong);
}

static uint64_t hash_of(llf_context *cx, const char *text)
{
    llf_graph *g = test_parse(cx, text);
    uint64_t h = llfi_graph_hash(g);
    llf_graph_destroy(g);
    return h;
}

static void hashes_see_structure_and_not_names(void **state)
{
    llf_context *cx = *state;
    uint64_t h = hash_of(cx, "graph @a(%x: f32[N]) {\n  %0 = add %x, 1.0\n  ret %0\n}\n");
    assert_true(h == hash_of(cx, "graph @b(%y: f32[N]) { ; other\n\n  %name = add %y, 1\n  ret %name }"));
    const char *others[] = {
        "graph @a(%x: f32[N]) {\n  %0 = add %x, 2.0\n  ret %0\n}\n",
        "graph @a(%x: f32[N]) {\n  %0 = add 1.0, %x\n  ret %0\n}\n",
        "graph @a(%x: f32[N]) {\n  %0 = sub %x, 1.0\n  ret %0\n}\n",
        "graph @a(%x: f32[M]) {\n  %0 = add %x, 1.0\n  ret %0\n}\n",
        "graph @a(%x: f32[N, N]) {\n  %0 = add %x, 1.0\n  ret %0\n}\n",
        "graph @a(%x: f16[N]) {\n  %0 = add %x, 1.0\n  ret %0\n}\n",
        "graph @a(%x: f32[N]) {\n  %0 = add %x, 1.0\n  ret %0, %0\n}\n",
        "graph @a(%x: f32[N]) {\n  %0 = add %x, 1.0\n  ret %x\n}\n",
        "graph @a(%x: f32[N], %y: f32[]) {\n  %0 = add %x, 1.0\n  ret %0\n}\n",
    };
    for (size_t i = 0; i < LLFI_COUNT(others); i++)
        assert_true(h != hash_of(cx, others[i]));
    assert_true(hash_of(cx, "graph @a(%x: f32[]) {\n  ret %x\n}\n") !=
                hash_of(cx, "graph @a(%x: scalar f32) {\n  ret %x\n}\n"));
    assert_true(hash_of(cx, "graph @a(%x: f32[N]) {\n  %0 = gelu %x\n  ret %0\n}\n") !=
                hash_of(cx, "graph @a(%x: f32[N]) {\n  %0 = gelu %x, approximate=tanh\n  ret %0\n}\n"));

    /* Built with inputs late and one literal shared, then printed and parsed: the same hash. */
    llf_graph *g = llf_graph_create(cx, "shared");
    llf_id one = llf_const(g, LLF_F32, 1), x = llf_input(g, "x", LLF_F32, 1, &four);
    llf_id y = llf_add(g, x, one), z = llf_input(g, "z", LLF_F32, 1, &four);
    llf_output(g, llf_fma(g, y, one, z));
    char *text;
    size_t bytes;
    assert_int_equal(llf_graph_print(cx, g, &text, &bytes), LLF_OK);
    assert_true(llfi_graph_hash(g) == hash_of(cx, text));
    llf_text_free(cx, text, bytes);
    llf_graph_destroy(g);
}

static void sizes_multiply_or_say_why_not(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, "graph @n(%x: f32[N, 3], %r: f32[], %m: f32[N, N, M]) {\n  ret %x\n}\n");
    int64_t symbol[] = {1000, 0}, size = 7; /* N, M */
    assert_int_equal(llfi_type_size(g, llfi_type_of(g, 0), symbol, 4, &size), LLF_OK);
    assert_int_equal(size, 12000);
    assert_int_equal(llfi_type_size(g, llfi_type_of(g, 1), symbol, 4, &size), LLF_OK);
    assert_int_equal(size, 4);
    symbol[0] = INT64_C(1) << 40; /* the first two alone are over 2^63, but there are no elements */
    assert_int_equal(llfi_type_size(g, llfi_type_of(g, 2), symbol, 1, &size), LLF_OK);
    assert_int_equal(size, 0);
    symbol[1] = 1;
    assert_int_equal(llfi_type_size(g, llfi_type_of(g, 2), symbol, 1, &size), LLF_E_LIMIT);
    symbol[0] = (INT64_MAX / 3) / 4; /* the last that fits as bytes */
    assert_int_equal(llfi_type_size(g, llfi_type_of(g, 0), symbol, 4, &size), LLF_OK);
    symbol[0]++;
    assert_int_equal(llfi_type_size(g, llfi_type_of(g, 0), symbol, 4, &size), LLF_E_LIMIT);
    symbol[0] = -1;
    assert_int_equal(llfi_type_size(g, llfi_type_of(g, 0), symbol, 4, &size), LLF_E_GUARD);
    llf_graph_destroy(g);
}

static void numel_multiplies(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, "graph @n(%x: f32[N, 4, N+1], %z: f32[0, N], %r: f32[]) {\n  ret %x\n}\n");
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llfi_dim_print(g->dims, llfi_numel(g, llfi_node_at(g, 0)->type), &s);
    assert_string_equal(s.at, "4*N+4*N*N");
    llfi_str_free(&s);
    int64_t v = -1;
    assert_true(llfi_dim_is_const(g->dims, llfi_numel(g, llfi_node_at(g, 1)->type), &v));
    assert_int_equal(v, 0);
    assert_true(llfi_dim_is_const(g->dims, llfi_numel(g, llfi_node_at(g, 2)->type), &v));
    assert_int_equal(v, 1);
    llf_graph_destroy(g);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_graph_by_calls_prints_as_text),
        TEST(every_op_has_a_builder),
        TEST(rank_zero_meets_any_shape),
        TEST(misuse_is_an_error_and_no_crash),
        TEST(null_graphs_are_harmless),
        TEST(poison_keeps_the_first_message),
        TEST(constants_round_once),
        TEST(a_clone_is_the_same_graph_on_its_own),
        TEST(hashes_see_structure_and_not_names),
        TEST(sizes_multiply_or_say_why_not),
        TEST(numel_multiplies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
