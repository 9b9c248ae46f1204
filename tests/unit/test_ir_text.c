/* `.llf` text: the grammar accepted, canonical printing, fixpoint, names, labels, places. */
#include "ir_testing.h"

/* `in` parses and prints as `out`, and `out` as itself. */
static void assert_canonical(llf_context *cx, const char *in, const char *out)
{
    llf_graph *g = test_parse(cx, in);
    assert_int_equal(llfi_verify(g), LLF_OK);
    test_printed(cx, g, out);
    uint64_t hash = llfi_graph_hash(g);
    llf_graph_destroy(g);
    g = test_parse(cx, out);
    test_printed(cx, g, out);
    assert_true(llfi_graph_hash(g) == hash);
    llf_graph_destroy(g);
}

static void design_example(void **state)
{
    static const char text[] = "; set N=67108864\n"
                               "; data x=normal\n"
                               "graph @mul_add_sigmoid(%x: f32[N], %w: f32[N], %b: f32[N]) {\n"
                               "  %0 = mul %x, %w\n"
                               "  %1 = add %0, %b\n"
                               "  %2 = sigmoid %1\n"
                               "  ret %2\n"
                               "}\n";
    assert_canonical(*state, text, text);
}

static void spaces_comments_and_directives(void **state)
{
    assert_canonical(*state,
                     "; prose about a set of things\r\n"
                     "  ; set N=4  ; data x=normal ; more prose\r\n"
                     ";data y=ones\r\n"
                     "; settle M=3\r\n"
                     "graph @g ( %x : f32 [ N , 2 ]\n ,\n; inside\n %y: scalar  bf16 ) \r\n{ ; open\r\n"
                     "\n ; set M=1\n"
                     "\t%a=neg %x;set K=1\n"
                     "  ret %a ,%y\n"
                     "} ; done\n; set Z=1\n\n",
                     "; set N=4\n; data x=normal\n; data y=ones\n"
                     "graph @g(%x: f32[N, 2], %y: scalar bf16) {\n"
                     "  %a = neg %x\n"
                     "  ret %a, %y\n"
                     "}\n");
    assert_canonical(*state, "graph @g(){ret 1:i32}", "graph @g() {\n  ret 1:i32\n}\n");
}

static void dims_of_every_kind(void **state)
{
    assert_canonical(
        *state,
        "graph @g(%x: f32[N*1, 1+B*4, (a+b)*c, min(N//2,7), max(N, M), 2*(N//3), (N+1)//2, 0, ((5)), "
        "(N//M)//K, N//(M*K), N*N*M]) { ret %x }",
        "graph @g(%x: f32[N, 4*B+1, a*c+b*c, min(7, N//2), max(M, N), 2*(N//3), (N+1)//2, 0, 5, "
        "(N//M)//K, N//(K*M), M*N*N]) {\n  ret %x\n}\n");
}

static void literals_take_their_partners_dtype(void **state)
{
    assert_canonical(*state,
                     "graph @g(%x: bf16[N], %i: i64[N], %c: bool[N], %d: f64[]) {\n"
                     "  %0 = fma 2, %x, -.1\n"
                     "  %1 = add %i, 9223372036854775807\n"
                     "  %2 = where %c, 1, %x\n"
                     "  %3 = where true, %x, 0x1.8p1\n"
                     "  %4 = where %c, 1:f32, 2\n"
                     "  %5 = add 1:f16, 2:f16\n"
                     "  %6 = eq %c, false\n"
                     "  %7 = eq true:bool, false\n"
                     "  %8 = cast -inf:f32, dtype=i32\n"
                     "  %9 = add %d, 0.1\n"
                     "  %10 = maximum %x, nan\n"
                     "  %11 = mul %x, 1.5:bf16\n"
                     "  ret %0, 0.1:f16, true:bool\n"
                     "}\n",
                     "graph @g(%x: bf16[N], %i: i64[N], %c: bool[N], %d: f64[]) {\n"
                     "  %0 = fma 2.0, %x, -0.1\n"
                     "  %1 = add %i, 9223372036854775807\n"
                     "  %2 = where %c, 1.0, %x\n"
                     "  %3 = where true, %x, 3.0\n"
                     "  %4 = where %c, 1.0:f32, 2.0:f32\n"
                     "  %5 = add 1.0:f16, 2.0:f16\n"
                     "  %6 = eq %c, false\n"
                     "  %7 = eq true:bool, false:bool\n"
                     "  %8 = cast -inf:f32, dtype=i32\n"
                     "  %9 = add %d, 0.1\n"
                     "  %10 = maximum %x, nan\n"
                     "  %11 = mul %x, 1.5\n"
                     "  ret %0, 0.1:f16, true:bool\n"
                     "}\n");
}

/* The literal is rounded to its dtype once: through f64 this one would lose its last digit and tie down to 1.
 */
static void literals_are_not_rounded_twice(void **state)
{
    llf_graph *g = test_parse(*state, "graph @g(%x: bf16[N], %y: f16[N]) {\n"
                                      "  %0 = add %x, 1.00390625000000000000001\n"
                                      "  %1 = add %y, 1.00048828125000000000001\n"
                                      "  ret %0, %1\n}\n");
    assert_int_equal(llfi_node_at(g, 2)->op, LLF_OP_CONST);
    assert_true(llfi_node_at(g, 2)->attr == 0x3f81);
    assert_true(llfi_node_at(g, 4)->attr == 0x3c01);
    llf_graph_destroy(g);
}

static void names_are_kept_and_numbers_renumbered(void **state)
{
    assert_canonical(
        *state,
        "graph @g-1.x(%7: f32[N], %y.z: f32[N]) {\n"
        "  %99 = neg %7\n  %_t-1 = abs %99\n  %00 = exp %_t-1\n  %1.5 = log %00\n  ret %99, %1.5\n}\n",
        "graph @g-1.x(%0: f32[N], %y.z: f32[N]) {\n"
        "  %1 = neg %0\n  %_t-1 = abs %1\n  %2 = exp %_t-1\n  %1.5 = log %2\n  ret %1, %1.5\n}\n");
}

static void colliding_names_become_unique(void **state)
{
    llf_context *cx = *state;
    char wide[256];
    memset(wide, 'w', 255);
    wide[255] = 0;
    llf_graph *g =
        test_parse(cx, "graph @g(%x: f32[N], %x_1: f32[N]) {\n"
                       "  %a = neg %x\n  %b = abs %a\n  %c = exp %b\n  %d = log %c\n  %e = sin %d\n"
                       "  ret %e\n}\n");
    uint32_t x = llfi_node_at(g, 0)->name, long_name = llfi_name_add(g, wide, 255);
    g->nodes.at[2].name = x; /* as after passes */
    g->nodes.at[3].name = x;
    g->nodes.at[4].name = llfi_node_at(g, 1)->name;
    g->nodes.at[5].name = long_name;
    g->nodes.at[6].name = long_name;
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llfi_str_printf(&s,
                    "graph @g(%%x: f32[N], %%x_1: f32[N]) {\n"
                    "  %%x_2 = neg %%x\n  %%x_3 = abs %%x_2\n  %%x_1_1 = exp %%x_3\n  %%%s = log %%x_1_1\n"
                    "  %%0 = sin %%%s\n  ret %%0\n}\n",
                    wide, wide);
    test_printed(cx, g, s.at);
    llf_graph *again = test_parse(cx, s.at);
    test_printed(cx, again, s.at);
    llf_graph_destroy(again);
    llf_graph_destroy(g);
    llfi_str_free(&s);
}

static void show_label(void *user, llf_id id, bool more, llfi_str *s)
{
    const llf_graph *g = user;
    for (size_t i = 0; i < g->labels.count; i++) {
        if (g->labels.at[i].node != id)
            continue;
        llfi_str_printf(s, "%sk%u", more ? "," : " !", g->labels.at[i].kernel);
        more = true;
    }
}

static void labels_are_kept(void **state)
{
    static const char text[] = "graph @g(%x: f32[N]) {\n"
                               "  %0 = neg %x !k0,k2\n"
                               "  %1 = exp %0\n"
                               "  %2 = cast %1, dtype=f16 !apart,k17\n"
                               "  ret %2\n"
                               "}\n";
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, text);
    assert_int_equal(g->labels.count, 3);
    assert_int_equal(g->labels.at[0].node, 1);
    assert_int_equal(g->labels.at[0].col, 16);
    assert_int_equal(g->labels.at[1].col, 19);
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    assert_int_equal(llfi_print(g, &s, show_label, g), LLF_OK);
    assert_string_equal(s.at, text);
    llfi_str_free(&s);
    llf_graph_destroy(g);
}

static void nodes_know_their_places(void **state)
{
    llf_graph *g =
        test_parse(*state, "; c\ngraph @g(%x: f32[N],\n    %y: f32[N]) {\n  %0 = mul %x, 2.0\n  ret %0\n}\n");
    static const uint32_t place[4][2] = {{2, 10}, {3, 5}, {4, 16}, {4, 8}};
    for (uint32_t i = 0; i < 4; i++) {
        llfi_place p = llfi_place_of(g, i);
        assert_string_equal(p.file, "t.llf");
        assert_int_equal(p.line, place[i][0]);
        assert_int_equal(p.col, place[i][1]);
    }
    llf_graph_destroy(g);
}

/* Every op, with every dtype that its set has, goes through text. */
/* All of them, and none as it is when not given. */
static void put_settings(llfi_str *s, const llfi_op_info *o, llf_dtype dtype)
{
    static const char *const value[][2] = {{"axes", ", axes=[]"},
                                           {"keepdims", ", keepdims"},
                                           {"out", NULL},
                                           {"axis", ", axis=0"},
                                           {"eps", ", eps=0.001953125"},
                                           {"correction", ", correction=2"},
                                           {"momentum", ", momentum=-1e99"},
                                           {"reduction", ", reduction=sum"}};
    const char *word = llfi_attr_name(o->attr);
    while (*word) {
        size_t bytes = strcspn(word, " "), k = 0;
        while (strlen(value[k][0]) != bytes || memcmp(value[k][0], word, bytes) != 0)
            k++;
        llfi_str_puts(s, value[k][1] ? value[k][1] : dtype == LLF_F64 ? ", out=f32" : ", out=f64");
        word += bytes + (word[bytes] == ' ');
    }
}

static void every_op_round_trips(void **state)
{
    static const char *const more[] = {"", ", %1", ", %1, %2"};
    llf_context *cx = *state;
    for (uint32_t op = 0; op < LLF_OPS; op++) {
        const llfi_op_info *o = &llfi_ops[op];
        for (uint32_t d = 0;
             d < LLF_DTYPES && op != LLF_OP_INPUT && op != LLF_OP_CONST && op != LLF_OP_RESULT; d++) {
            if (!llfi_set_has(o->set, (llf_dtype)d))
                continue;
            llfi_str s;
            llfi_str_init(&s, &cx->mem);
            llfi_str_printf(&s, "graph @g(%%x: %s[N], %%c: bool[N], %%i: i64[N]) {\n  %%0%s = %s",
                            llf_dtype_name((llf_dtype)d), more[llfi_op_results(o) - 1], o->name);
            uint32_t arity = o->arity == LLFI_VARIADIC ? 5 : llfi_op_most(o);
            for (uint32_t i = 0; i < arity; i++) {
                char letter = llfi_op_letter(o, i);
                bool literal = op == LLF_OP_PAD && i; /* of rank 0 */
                llfi_str_printf(&s, "%s%s", i ? ", " : " ",
                                literal         ? d == LLF_BOOL   ? "true"
                                                  : d <= LLF_BF16 ? "1.0"
                                                                  : "1"
                                : letter == 'b' ? "%c"
                                : letter == 'i' ? (op == LLF_OP_CROSS_ENTROPY ? "1:i64" : "%i")
                                                : "%x");
            }
            if (o->attr == LLFI_ATTR_AXIS)
                llfi_str_puts(&s, ", axis=0");
            if (llfi_attr_kind_of(o->attr) == LLFI_ATTR_KIND_SETTINGS)
                put_settings(&s, o, (llf_dtype)d);
            if (o->attr == LLFI_ATTR_BY)
                llfi_str_puts(&s, ", by=[1:N]");
            if (o->attr == LLFI_ATTR_IOTA)
                llfi_str_printf(&s, " dtype=%s, shape=[2, N], axis=1", llf_dtype_name((llf_dtype)d));
            if (o->attr == LLFI_ATTR_COUNT)
                llfi_str_printf(&s, " dtype=%s, shape=[2, N]", llf_dtype_name((llf_dtype)d));
            if (o->attr == LLFI_ATTR_SHAPE)
                llfi_str_puts(&s, op == LLF_OP_RESHAPE ? ", shape=[1, N]" : ", shape=[2, N]");
            if (o->attr == LLFI_ATTR_AXES)
                llfi_str_puts(&s, op == LLF_OP_SQUEEZE ? ", axes=[]" : ", axes=[0]");
            if (o->cls == LLFI_CLASS_REDUCE)
                llfi_str_puts(&s, ", axes=[], keepdims");
            if (o->attr == LLFI_ATTR_SUM)
                llfi_str_puts(&s, d == LLF_F64 ? ", out=f32" : ", out=f64");
            if (o->attr == LLFI_ATTR_AT)
                llfi_str_puts(&s, ", at=[1:N//2:3]");
            if (o->attr == LLFI_ATTR_DTYPE)
                llfi_str_puts(&s, ", dtype=f16");
            if (o->attr == LLFI_ATTR_APPROXIMATE)
                llfi_str_puts(&s, ", approximate=tanh");
            llfi_str_puts(&s, "\n  ret %0\n}\n");
            assert_canonical(cx, s.at, s.at);
            llfi_str_free(&s);
        }
    }
}

static void a_default_word_is_not_printed(void **state)
{
    assert_canonical(*state, "graph @g(%x: f32[]) {\n  %0 = gelu %x, approximate = none\n  ret %0\n}",
                     "graph @g(%x: f32[]) {\n  %0 = gelu %x\n  ret %0\n}\n");
}

/* A million nodes: linear, and no recursion on depth. */
static void a_million_nodes(void **state)
{
    llf_context *cx = *state;
    double ms[2];
    for (int round = 0; round < 2; round++) {
        uint32_t n = round ? 1000000 : 250000;
        llfi_str s;
        llfi_str_init(&s, &llfi_malloc_allocator);
        llfi_str_puts(&s, "graph @big(%x: f32[N]) {\n  %0 = neg %x\n");
        for (uint32_t i = 1; i < n; i++)
            llfi_str_printf(&s, "  %%%u = add %%%u, 1.5\n", i, i - 1);
        llfi_str_printf(&s, "  ret %%%u\n}\n", n - 1);
        double start = llfi_now_ms();
        llf_graph *g = NULL;
        char *text;
        size_t bytes;
        assert_int_equal(llf_graph_parse(cx, s.at, s.len, NULL, &g), LLF_OK);
        assert_int_equal(llf_graph_print(cx, g, &text, &bytes), LLF_OK);
        ms[round] = llfi_now_ms() - start;
        assert_int_equal(bytes, s.len);
        assert_memory_equal(text, s.at, bytes);
        llf_text_free(cx, text, bytes);
        llf_graph_destroy(g);
        llfi_str_free(&s);
    }
    /* Four times the nodes; generous, since other programs run beside this one. */
    assert_true(ms[1] < 16 * ms[0] + 200);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(design_example),
        TEST(spaces_comments_and_directives),
        TEST(dims_of_every_kind),
        TEST(literals_take_their_partners_dtype),
        TEST(literals_are_not_rounded_twice),
        TEST(names_are_kept_and_numbers_renumbered),
        TEST(colliding_names_become_unique),
        TEST(labels_are_kept),
        TEST(nodes_know_their_places),
        TEST(every_op_round_trips),
        TEST(a_default_word_is_not_printed),
        TEST(a_million_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
