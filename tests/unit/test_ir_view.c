/* test_ir_view.c: views and broadcasting in the graph: what is accepted, with what type, lists, guards and
 * text, and what is refused, with which message. Values are numpy's: tests/unit/test_interp_view.c. */
#include "ir_testing.h"

/* Parses one op on a few inputs. */
#define GRAPH(line)                                                                                    \
    "graph @g(%x: f32[4, 5], %n: f32[N], %m: f32[M], %t: f32[2, N, 1], %s: f32[], %e: f32[0, 3], %k: " \
    "f32[B*N]) {\n"                                                                                    \
    "  %y = " line "\n  ret %y\n}\n"

static llf_graph *accept(llf_context *cx, const char *text)
{
    llf_graph *g = NULL;
    if (llf_graph_parse(cx, text, strlen(text), "t", &g) != LLF_OK)
        fail_msg("%s\n%s", llf_last_error(cx)->message, text);
    assert_int_equal(llfi_verify(g), LLF_OK);
    return g;
}

static void print_line(llf_context *cx, const llf_graph *g, char *line, size_t size)
{
    char *text;
    size_t bytes;
    assert_int_equal(llf_graph_print(cx, g, &text, &bytes), LLF_OK);
    const char *at = strstr(text, "%y = ") + 5;
    snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
    llf_graph *again = accept(cx, text);
    char *second;
    size_t more;
    assert_int_equal(llf_graph_print(cx, again, &second, &more), LLF_OK);
    assert_string_equal(text, second);
    assert_true(llfi_graph_hash(g) == llfi_graph_hash(again));
    llf_text_free(cx, second, more);
    llf_graph_destroy(again);
    llf_text_free(cx, text, bytes);
}

/* op as written; as printed; the type; guards "a <= b" or "a == b", joined by "; ". */
static const struct {
    const char *text, *printed, *type, *guards;
} accepted[] = {
    {GRAPH("reshape %x, shape=[2, -1]"), "reshape %x, shape=[2, 10]", "f32[2, 10]", ""},
    {GRAPH("reshape %x, shape=[20]"), "reshape %x, shape=[20]", "f32[20]", ""},
    {GRAPH("reshape %s, shape=[1, -1]"), "reshape %s, shape=[1, 1]", "f32[1, 1]", ""},
    {GRAPH("reshape %t, shape=[-1]"), "reshape %t, shape=[2*N]", "f32[2*N]", ""},
    {GRAPH("reshape %t, shape=[-1, N]"), "reshape %t, shape=[2, N]", "f32[2, N]", ""},
    {GRAPH("reshape %k, shape=[B, -1]"), "reshape %k, shape=[B, N]", "f32[B, N]", ""},
    {GRAPH("reshape %k, shape=[N, B]"), "reshape %k, shape=[N, B]", "f32[N, B]", ""},
    {GRAPH("reshape %n, shape=[-1, 4]"), "reshape %n, shape=[N//4, 4]", "f32[N//4, 4]", "N == 4*(N//4)"},
    {GRAPH("reshape %n, shape=[3, 4]"), "reshape %n, shape=[3, 4]", "f32[3, 4]", "N == 12"},
    {GRAPH("reshape %e, shape=[7, 0]"), "reshape %e, shape=[7, 0]", "f32[7, 0]", ""},
    {GRAPH("permute %t, axes=[2, 0, 1]"), "permute %t, axes=[2, 0, 1]", "f32[1, 2, N]", ""},
    {GRAPH("permute %t, axes=[-1, 0, -2]"), "permute %t, axes=[2, 0, 1]", "f32[1, 2, N]", ""},
    {GRAPH("permute %s, axes=[]"), "permute %s, axes=[]", "f32[]", ""},
    {GRAPH("broadcast_to %n, shape=[3, N]"), "broadcast_to %n, shape=[3, N]", "f32[3, N]", ""},
    {GRAPH("broadcast_to %t, shape=[2, N, 7]"), "broadcast_to %t, shape=[2, N, 7]", "f32[2, N, 7]", ""},
    {GRAPH("broadcast_to %n, shape=[M, M+1]"), "broadcast_to %n, shape=[M, M+1]", "f32[M, M+1]", "N == M+1"},
    {GRAPH("broadcast_to %s, shape=[0]"), "broadcast_to %s, shape=[0]", "f32[0]", ""},
    {GRAPH("flip %t, axes=[-1, 0]"), "flip %t, axes=[0, 2]", "f32[2, N, 1]", ""},
    {GRAPH("expand_dims %n, axes=[-1, 0]"), "expand_dims %n, axes=[0, 2]", "f32[1, N, 1]", ""},
    {GRAPH("squeeze %t, axes=[-1]"), "squeeze %t, axes=[2]", "f32[2, N]", ""},
    {GRAPH("squeeze %t, axes=[1, 2]"), "squeeze %t, axes=[1, 2]", "f32[2]", "N == 1"},
    /* ranges of constant extents: numpy's */
    {GRAPH("slice %x, at=[:, :]"), "slice %x, at=[:, :]", "f32[4, 5]", ""},
    {GRAPH("slice %x, at=[1:3, -2:]"), "slice %x, at=[1:3, 3:]", "f32[2, 2]", ""},
    {GRAPH("slice %x, at=[::2, 1::3]"), "slice %x, at=[::2, 1::3]", "f32[2, 2]", ""},
    {GRAPH("slice %x, at=[::-1, 3:0:-2]"), "slice %x, at=[::-1, 3::-2]", "f32[4, 2]", ""},
    {GRAPH("slice %x, at=[3:1, 5:]"), "slice %x, at=[0:0, 0:0]", "f32[0, 0]", ""},
    {GRAPH("slice %x, at=[2:-5:-1, -1:-6:-4]"), "slice %x, at=[2::-1, ::-4]", "f32[3, 2]", ""},
    {GRAPH("slice %x, at=[3:4:7, 0:1:-1]"), "slice %x, at=[3:, 0:0]", "f32[1, 0]", ""},
    {GRAPH("slice %x, at=[::9223372036854775807, ::-9223372036854775807]"), "slice %x, at=[:1, 4:]",
     "f32[1, 1]", ""},
    {GRAPH("slice %e, at=[::-1, 0:3]"), "slice %e, at=[0:0, :]", "f32[0, 3]", ""},
    {GRAPH("slice %s, at=[]"), "slice %s, at=[]", "f32[]", ""},
    /* of symbols: bounds are guards */
    {GRAPH("slice %n, at=[:]"), "slice %n, at=[:]", "f32[N]", ""},
    {GRAPH("slice %n, at=[0:N:1]"), "slice %n, at=[:]", "f32[N]", ""},
    {GRAPH("slice %n, at=[1:]"), "slice %n, at=[1:]", "f32[N-1]", "1 <= N"},
    {GRAPH("slice %n, at=[:-1]"), "slice %n, at=[:N-1]", "f32[N-1]", "1 <= N"},
    {GRAPH("slice %n, at=[:N//2]"), "slice %n, at=[:N//2]", "f32[N//2]", ""},
    {GRAPH("slice %n, at=[N//2:]"), "slice %n, at=[N//2:]", "f32[N-N//2]", ""},
    {GRAPH("slice %n, at=[2:5]"), "slice %n, at=[2:5]", "f32[3]", "2 <= N; 5 <= N"},
    {GRAPH("slice %n, at=[M:]"), "slice %n, at=[M:]", "f32[N-M]", "M <= N"},
    {GRAPH("slice %n, at=[1:-1]"), "slice %n, at=[1:N-1]", "f32[max(1, N-1)-1]", "1 <= N"},
    {GRAPH("slice %n, at=[::2]"), "slice %n, at=[::2]", "f32[(N+1)//2]", ""},
    {GRAPH("slice %n, at=[::-1]"), "slice %n, at=[::-1]", "f32[N]", ""},
    {GRAPH("slice %n, at=[::-3]"), "slice %n, at=[::-3]", "f32[(N+2)//3]", ""},
    {GRAPH("slice %n, at=[-1::-2]"), "slice %n, at=[N-1::-2]", "f32[(N+1)//2]", "1 <= N"},
    {GRAPH("slice %n, at=[3::-1]"), "slice %n, at=[3::-1]", "f32[4]", "4 <= N"},
    {GRAPH("slice %n, at=[3:3]"), "slice %n, at=[:0]", "f32[0]", "3 <= N"},
    {GRAPH("slice %x, at=[M:, :]"), "slice %x, at=[M:, :]", "f32[4-M, 5]", "M <= 4"},
    /* broadcasting: numpy's; a constant wins, then the first operand */
    {GRAPH("add %x, 1.0"), "add %x, 1.0", "f32[4, 5]", ""},
    {GRAPH("add %n, %t"), "add %n, %t", "f32[2, N, N]", ""},
    {GRAPH("mul %t, %m"), "mul %t, %m", "f32[2, N, M]", ""},
    {GRAPH("add %n, %m"), "add %n, %m", "f32[N]", "N == M"},
    {GRAPH("add %m, %n"), "add %m, %n", "f32[M]", "M == N"},
    {GRAPH("add %x, %n"), "add %x, %n", "f32[4, 5]", "5 == N"},
    {GRAPH("add %n, %x"), "add %n, %x", "f32[4, 5]", "N == 5"},
    {GRAPH("fma %n, %m, %x"), "fma %n, %m, %x", "f32[4, 5]", "N == M; N == 5"},
    {GRAPH("lt %t, %m"), "lt %t, %m", "bool[2, N, M]", ""},
};

static void show_guards(const llf_graph *g, char *out, size_t size)
{
    *out = 0;
    for (size_t i = 0; i < g->guards.count; i++) {
        const llfi_guard *u = &g->guards.at[i];
        size_t n = strlen(out);
        int more = snprintf(out + n, size - n, "%s%s %s %s", i ? "; " : "", llfi_show_dim(g, u->a).text,
                            u->at_most ? "<=" : "==", llfi_show_dim(g, u->b).text);
        assert_true(more > 0 && (size_t)more < size - n);
        assert_int_equal(u->node, g->outputs.at[0]);
    }
}

static void types_lists_guards_and_text(void **state)
{
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(accepted); i++) {
        char line[256], guards[256];
        llf_graph *g = accept(cx, accepted[i].text);
        print_line(cx, g, line, sizeof line);
        assert_string_equal(line, accepted[i].printed);
        assert_string_equal(llfi_show_type(g, llfi_node_at(g, g->outputs.at[0])->type).text,
                            accepted[i].type);
        show_guards(g, guards, sizeof guards);
        assert_string_equal(guards, accepted[i].guards);
        llf_graph_destroy(g);
    }
}

static const struct {
    const char *text, *message;
} refused[] = {
    {GRAPH("reshape %x, shape=[3, -1]"),
     "reshape: axis 1: -1 cannot stand for 20 / 3: f32[4, 5] does not divide"},
    {GRAPH("reshape %x, shape=[4, 6]"),
     "reshape: f32[4, 5] does not fit [4, 6]: 5 elements against 6, apart from equal extents"},
    {GRAPH("reshape %x, shape=[7]"), "reshape: f32[4, 5] does not fit [7]: 20 elements against 7"},
    {GRAPH("reshape %x, shape=[-1, -1]"), "reshape: axes 0 and 1 are both -1"},
    {GRAPH("reshape %e, shape=[0, -1]"), "reshape: axis 1: -1 says nothing beside axis 0, whose extent is 0"},
    {GRAPH("reshape %x, shape=[-2]"), "reshape: axis 0: extent -2 is negative"},
    {GRAPH("broadcast_to %x, shape=[-1, 5]"), "broadcast_to: axis 0: -1 is for reshape alone"},
    {GRAPH("broadcast_to %x, shape=[4, 6]"),
     "broadcast_to: axis 1: 5 does not stretch to 6: f32[4, 5] to [4, 6]"},
    {GRAPH("broadcast_to %x, shape=[5]"), "broadcast_to: f32[4, 5] has rank 2, over the shape's 1"},
    {GRAPH("broadcast_to %x, shape=[9223372036854775807, 4, 5]"), "multiply to more than 2^63-1 bytes"},
    {GRAPH("permute %x, axes=[0]"), "permute: 1 axes given, but f32[4, 5] has 2"},
    {GRAPH("permute %x, axes=[0, 2]"), "permute: axis 2 is out of range: f32[4, 5] gives 2 axes"},
    {GRAPH("permute %x, axes=[1, -1]"), "permute: axis 1 stands twice"},
    {GRAPH("flip %x, axes=[-3]"), "flip: axis -3 is out of range: f32[4, 5] gives 2 axes"},
    {GRAPH("flip %x, axes=[0, 0]"), "flip: axis 0 stands twice"},
    {GRAPH("expand_dims %x, axes=[3]"), "expand_dims: axis 3 is out of range: f32[4, 5] gives 3 axes"},
    {GRAPH("expand_dims %x, axes=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]"),
     "expand_dims: 15 axes more than f32[4, 5] are over the rank limit of 16"},
    {GRAPH("squeeze %x, axes=[1]"), "squeeze: axis 1 of f32[4, 5] has extent 5, but must have 1"},
    {GRAPH("slice %x, at=[:]"), "slice: 1 ranges given, but f32[4, 5] has 2 axes"},
    {GRAPH("slice %x, at=[:, 6:]"), "slice: axis 1: start 6 is out of range for extent 5"},
    {GRAPH("slice %x, at=[:7, :]"), "slice: axis 0: stop 7 is out of range for extent 4"},
    {GRAPH("slice %x, at=[:, -6:]"), "slice: axis 1: start -6 is out of range for extent 5"},
    {GRAPH("slice %x, at=[4::-1, :]"), "slice: axis 0: start 4 is out of range for extent 4"},
    {GRAPH("slice %x, at=[:-6:-1, :]"), "slice: axis 0: stop -6 is out of range for extent 4"},
    {GRAPH("slice %x, at=[::0, :]"), "slice: axis 0: the step is 0"},
    {GRAPH("slice %n, at=[5:2:-1]"), "slice: axis 0: a negative step on extent N goes to the beginning"},
    {GRAPH("slice %x, at=[3, :]"), "expected ':' in a range"},
    {GRAPH("slice %x, at=[::N, :]"), "slice: expected a step, found 'N'"},
    {GRAPH("slice %x, at=[::9223372036854775808, :]"), "slice: a step is over 2^63-1"},
    {GRAPH("permute %x, axes=[N]"), "permute: expected an axis, found 'N'"},
    {GRAPH("permute %x, axes=1"), "expected '[' before a list, found '1'"},
    {GRAPH("permute %x, axes=[0 1]"), "expected ']' or ',' behind a list item, found '1'"},
    {GRAPH("permute %x"), "permute needs the attribute axes="},
    {GRAPH("flip %x, axes=[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
     "flip: more list items than the rank limit of 16"},
    {GRAPH("flip %x, shape=[1]"), "flip: unknown attribute 'shape'; it takes axes"},
    {GRAPH("add %x, %e"), "add: axis 0: 4 and 0 do not broadcast"},
};

static void errors_name_op_axis_and_sizes(void **state)
{
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(refused); i++) {
        llf_graph *g = NULL;
        llf_status status = llf_graph_parse(cx, refused[i].text, strlen(refused[i].text), "t", &g);
        if (status == LLF_OK || !strstr(llf_last_error(cx)->message, refused[i].message))
            fail_msg("expected '%s', got '%s'", refused[i].message,
                     status == LLF_OK ? "a graph" : llf_last_error(cx)->message);
        assert_int_equal(llf_last_error(cx)->line, 2);
    }
}

/* The same graph by calls. */
static void builders_make_what_text_makes(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = llf_graph_create(cx, "g");
    int64_t n = llf_symbol(g, "N"), m = llf_symbol(g, "M");
    const int64_t xs[] = {4, n};
    llf_id x = llf_input(g, "x", LLF_F32, 2, xs);
    llf_id a = llf_reshape(g, x, 2, (const int64_t[]){n, LLF_INFER});
    llf_id b = llf_permute(g, a, (const int64_t[]){-1, 0});
    llf_id c = llf_broadcast_to(g, b, 3, (const int64_t[]){m, 4, n});
    llf_id d = llf_slice(g, c,
                         (const llf_range[]){{LLF_DEFAULT, -1, 1, 0, 0},
                                             {LLF_DEFAULT, LLF_DEFAULT, -1, 0, 0},
                                             {.start = 1, .stop_symbol = n, .step = 1}});
    llf_id e = llf_flip(g, d, 1, (const int64_t[]){-2});
    llf_id f = llf_expand_dims(g, e, 1, (const int64_t[]){0});
    llf_id h = llf_squeeze(g, f, 1, (const int64_t[]){-4});
    assert_int_equal(llf_output(g, h), LLF_OK);
    char *text;
    size_t bytes;
    assert_int_equal(llf_graph_print(cx, g, &text, &bytes), LLF_OK);
    assert_string_equal(text, "graph @g(%x: f32[4, N]) {\n"
                              "  %0 = reshape %x, shape=[N, 4]\n"
                              "  %1 = permute %0, axes=[1, 0]\n"
                              "  %2 = broadcast_to %1, shape=[M, 4, N]\n"
                              "  %3 = slice %2, at=[:M-1, ::-1, 1:]\n"
                              "  %4 = flip %3, axes=[1]\n"
                              "  %5 = expand_dims %4, axes=[0]\n"
                              "  %6 = squeeze %5, axes=[0]\n"
                              "  ret %6\n"
                              "}\n");
    llf_text_free(cx, text, bytes);
    llf_graph_destroy(g);
}

static void builders_refuse(void **state)
{
    llf_context *cx = *state;
    const int64_t four = 4, far[17] = {0};
    for (int how = 0; how < 9; how++) {
        llf_graph *g = llf_graph_create(cx, NULL);
        llf_id x = llf_input(g, "x", LLF_F32, 1, &four), y = LLF_NONE;
        const char *part = "";
        switch (how) {
        case 0: y = llf_reshape(g, 7, 1, &four), part = "reshape: operand 1 is no value"; break;
        case 1: y = llf_reshape(g, x, 1, NULL), part = "reshape: the list is NULL"; break;
        case 2: y = llf_reshape(g, x, 17, far), part = "17 list items are over the rank limit"; break;
        case 3:
            y = llf_reshape(g, x, 1, (const int64_t[]){-1}), part = "-1 of axis 0 is negative and no symbol";
            break;
        case 4: y = llf_permute(g, x, NULL), part = "permute: the list is NULL"; break;
        case 5: y = llf_slice(g, x, NULL), part = "slice: the list is NULL"; break;
        case 6: y = llf_slice(g, x, (const llf_range[]){{0, 4, 0, 0, 0}}), part = "the step is 0"; break;
        case 7: y = llf_slice(g, x, (const llf_range[]){{0, 0, 1, 0, -3}}), part = "no symbol"; break;
        case 8: y = llf_flip(g, x, 1, &four), part = "flip: axis 4 is out of range"; break;
        default: break;
        }
        assert_int_equal(y, LLF_NONE);
        assert_int_not_equal(g->poisoned, LLF_OK);
        if (!strstr(llf_last_error(cx)->message, part))
            fail_msg("case %d: '%s'", how, llf_last_error(cx)->message);
        assert_int_equal(llf_flip(g, x, 0, NULL), LLF_NONE); /* poisoned */
        llf_graph_destroy(g);
    }
    assert_int_equal(llf_flip(NULL, 0, 0, NULL), LLF_NONE);
}

static void guards_are_checked(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = accept(cx, "graph @g(%x: f32[N], %y: f32[M]) {\n  %0 = add %x, %y\n"
                              "  %1 = slice %0, at=[2:]\n  %2 = mul %x, %y\n  ret %1, %2\n}\n");
    assert_int_equal(g->guards.count, 2); /* the product's is the sum's */
    assert_int_equal(llfi_guards_check(g, &cx->diag, (const int64_t[]){3, 3}), LLF_OK);
    assert_int_equal(llfi_guards_check(g, &cx->diag, (const int64_t[]){3, 4}), LLF_E_GUARD);
    assert_string_equal(llf_last_error(cx)->message,
                        "t:2:8: add: axis 0: N (3) must be equal to M (4), in %0");
    assert_int_equal(llfi_guards_check(g, &cx->diag, (const int64_t[]){1, 1}), LLF_E_GUARD);
    assert_string_equal(llf_last_error(cx)->message,
                        "t:3:8: slice: axis 0: 2 (2) must be at most N (1), in %1");
    assert_int_equal(llfi_guards_check(g, &cx->diag, (const int64_t[]){3, -1}), LLF_E_GUARD);
    llf_graph *copy = llfi_graph_clone(g, cx);
    assert_int_equal(llfi_guards_check(copy, &cx->diag, (const int64_t[]){3, 4}), LLF_E_GUARD);
    assert_true(llfi_graph_hash(copy) == llfi_graph_hash(g));
    llf_graph_destroy(copy);
    llf_graph_destroy(g);
}

static void equal_lists_are_one(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = accept(cx, "graph @g(%x: f32[4, 4], %n: f32[N, 2*N+1]) {\n"
                              "  %a = flip %x, axes=[1, 0]\n  %b = flip %x, axes=[-2, -1]\n"
                              "  %c = slice %x, at=[:, 2:4]\n  %d = slice %x, at=[0:4:1, -2:]\n"
                              "  %e = reshape %n, shape=[2*N+1, N]\n  %f = reshape %n, shape=[1+N+N, N]\n"
                              "  ret %a, %b, %c, %d, %e, %f\n}\n");
    for (uint32_t i = 0; i < 6; i += 2)
        assert_true(llfi_node_at(g, g->outputs.at[i])->attr == llfi_node_at(g, g->outputs.at[i + 1])->attr);
    llfi_range r = llfi_range_at(g, llfi_node_at(g, g->outputs.at[2])->attr, 1);
    int64_t start, length;
    assert_true(llfi_dim_is_const(g->dims, r.start, &start) && start == 2);
    assert_true(llfi_dim_is_const(g->dims, r.length, &length) && length == 2 && r.step == 1);
    llf_graph_destroy(g);
}

/* The verifier looks at lists before it reads them. */
static void broken_lists_are_seen(void **state)
{
    llf_context *cx = *state;
    for (int how = 0; how < 9; how++) {
        llf_graph *g = accept(cx, "graph @g(%x: f32[4, N]) {\n  %0 = slice %x, at=[1:3, :]\n"
                                  "  %1 = reshape %x, shape=[2, -1]\n  %2 = permute %x, axes=[1, 0]\n"
                                  "  ret %0, %1, %2\n}\n"); /* nodes 1, 2, 3 */
        int64_t *slice = g->lists.at + g->nodes.at[1].attr, *axes = g->lists.at + g->nodes.at[3].attr;
        switch (how) {
        case 0: g->nodes.at[1].attr = g->lists.count; break;
        case 1: g->nodes.at[1].attr = UINT64_MAX; break;
        case 2: slice[0] = 1000; break;
        case 3: slice[1] = llfi_dims_count(g->dims); break;
        case 4: slice[3] = 0; break;
        case 5: slice[4] = -3; break;
        case 6: axes[1] = 0; break;
        case 7: axes[1] = 2; break;
        case 8: slice[0] = 7; break;
        default: break;
        }
        llf_status status = llfi_verify(g);
        if (status != LLF_E_GRAPH && status != LLF_E_TYPE)
            fail_msg("case %d: %s", how, llf_status_name(status));
        llf_graph_destroy(g);
    }
}

/* Through rewriting, guards follow their node, and stay when it goes. */
static void guards_survive_rewriting(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = accept(cx, "graph @g(%x: f32[N], %y: f32[M]) {\n  %0 = add %x, %y\n  %1 = mul %0, %x\n"
                              "  %2 = slice %y, at=[1:]\n  ret %1\n}\n");
    llfi_arena arena;
    llfi_rewrite r;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llfi_rewrite_begin(&r, g, &arena), LLF_OK);
    assert_int_equal(llfi_rewrite_copy(&r, 2), LLF_OK);
    assert_int_equal(llfi_rewrite_copy(&r, 3), LLF_OK);
    assert_int_equal(llfi_rewrite_end(&r), LLF_OK);
    assert_int_equal(llfi_verify(g), LLF_OK);
    assert_int_equal(g->guards.count, 2);
    assert_int_equal(g->guards.at[0].node, 2);
    assert_int_equal(g->guards.at[1].node, LLF_NONE);
    assert_int_equal(llfi_guards_check(g, &cx->diag, (const int64_t[]){0, 0}), LLF_E_GUARD);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(types_lists_guards_and_text),
        TEST(errors_name_op_axis_and_sizes),
        TEST(builders_make_what_text_makes),
        TEST(builders_refuse),
        TEST(guards_are_checked),
        TEST(equal_lists_are_one),
        TEST(broken_lists_are_seen),
        TEST(guards_survive_rewriting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
