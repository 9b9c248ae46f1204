/* What bad views and index ops are told, through text and through calls: the op as it was written, the axis,
 * both sizes, the value; at run time too, and where only compiling can see it. */
#include "ir_testing.h"
#include "llfuse/llfuse.h"

/* The inputs that every case has; behind them stands %0. */
enum { A, B, N8, I, S, E };
static const char head[] = "graph @t(%a: f32[4, 5], %b: f32[3, 5], %n: f32[N, 8], %i: i32[2], %s: f32[], "
                           "%e: f32[3, 0]) {\n  %0 = neg %a\n";

#define BIG INT64_C(4611686018427387904) /* 2^62 */
#define LIST(...) ((const int64_t[]){__VA_ARGS__})

typedef llf_id call_fn(llf_graph *, const llf_id *in, int64_t n);
#define CALL(name, expr)                                          \
    static llf_id name(llf_graph *g, const llf_id *in, int64_t n) \
    {                                                             \
        (void)in, (void)n;                                        \
        return expr;                                              \
    }

static llf_id split(llf_graph *g, llf_id x, int64_t axis, uint32_t parts, const int64_t *sizes)
{
    llf_id out[4];
    return llf_split(g, x, axis, parts, sizes, out) == LLF_OK ? out[0] : LLF_NONE;
}

CALL(pad_negative, llf_pad(g, in[A], in[S], (llf_padding[]){{0, 0, 0, 0}, {1, -7, 0, 0}}))
CALL(pad_rank, llf_pad(g, in[A], in[B], (llf_padding[]){{0, 0, 0, 0}, {1, 0, 0, 0}}))
CALL(pad_least, llf_pad(g, in[A], in[S], (llf_padding[]){{0, 0, 0, 0}, {INT64_MIN, 0, 0, 0}}))
CALL(pad_beside, llf_pad(g, in[A], in[S], (llf_padding[]){{0, 0, 0, 0}, {0, -2, 0, n}}))
CALL(pad_bytes, llf_pad(g, in[N8], in[S], (llf_padding[]){{BIG, 0, 0, 0}, {0, 0, 0, 0}}))
CALL(pad_sum, llf_pad(g, in[N8], in[S], (llf_padding[]){{BIG, BIG, 0, 0}, {0, 0, 0, 0}}))
CALL(pad_cut, llf_pad(g, in[N8], in[S], (llf_padding[]){{-BIG, 5, 0, 0}, {0, 0, 0, 0}}))
CALL(concat_sizes, llf_concat(g, 3, (llf_id[]){in[A], in[A], in[B]}, 1))
CALL(concat_ranks, llf_concat(g, 2, (llf_id[]){in[A], in[S]}, 0))
CALL(concat_axis, llf_concat(g, 1, &in[A], 2))
CALL(take_axis, llf_take(g, in[A], in[I], -3))
CALL(take_dtype, llf_take(g, in[A], in[S], 0))
CALL(take_empty, llf_take(g, in[E], in[I], 1))
CALL(iota_axis, llf_iota(g, LLF_F32, 1, LIST(4), 1))
CALL(iota_extent, llf_iota(g, LLF_F32, 2, LIST(4, -17), 1))
CALL(split_sum, split(g, in[A], 1, 2, LIST(2, 4)))
CALL(split_over, split(g, in[A], 1, 2, LIST(9, LLF_INFER)))
CALL(split_holes, split(g, in[A], 1, 3, LIST(LLF_INFER, 1, LLF_INFER)))
CALL(split_negative, split(g, in[A], 1, 2, LIST(2, -7)))
CALL(split_axis, split(g, in[A], 2, 2, LIST(2, 2)))
CALL(split_sections, split(g, in[A], 0, 3, NULL))
CALL(split_wraps, split(g, in[A], 0, 3, LIST(BIG, BIG, 4)))
CALL(stack_sizes, llf_stack(g, 2, (llf_id[]){in[A], in[B]}, 1))
CALL(stack_ranks, llf_stack(g, 2, (llf_id[]){in[A], in[S]}, 0))
CALL(stack_dtypes, llf_stack(g, 2, (llf_id[]){in[S], llf_cast(g, in[S], LLF_F16)}, 0))
CALL(stack_axis, llf_stack(g, 2, (llf_id[]){in[A], in[A]}, 3))
CALL(roll_axis, llf_roll(g, in[A], 1, (llf_shift[]){{2, 1, 0}}))
CALL(roll_least, llf_roll(g, in[A], 1, (llf_shift[]){{1, INT64_MIN, 0}}))
CALL(roll_far, llf_roll(g, in[N8], 1, (llf_shift[]){{0, BIG, 0}}))
CALL(roll_back, llf_roll(g, in[N8], 1, (llf_shift[]){{0, -BIG, 0}}))
CALL(slice_stop, llf_slice(g, in[A], (llf_range[]){{0, 4, 1, 0, 0}, {2, 6, 1, 0, 0}}))
CALL(slice_start, llf_slice(g, in[A], (llf_range[]){{-9, 4, 1, 0, 0}, {0, 5, 1, 0, 0}}))
CALL(slice_far, llf_slice(g, in[N8], (llf_range[]){{BIG, LLF_DEFAULT, 1, 0, 0}, {0, 8, 1, 0, 0}}))
CALL(slice_step, llf_slice(g, in[N8], (llf_range[]){{0, LLF_DEFAULT, BIG, 0, 0}, {0, 8, 1, 0, 0}}))
CALL(slice_back, llf_slice(g, in[N8], (llf_range[]){{-BIG, LLF_DEFAULT, 1, 0, 0}, {0, 8, 1, 0, 0}}))
CALL(reshape_sizes, llf_reshape(g, in[A], 2, LIST(3, 7)))
CALL(reshape_hole, llf_reshape(g, in[A], 2, LIST(3, LLF_INFER)))
CALL(reshape_holes, llf_reshape(g, in[A], 2, LIST(LLF_INFER, LLF_INFER)))
CALL(reshape_far, llf_reshape(g, in[N8], 2, LIST(BIG, BIG)))
CALL(softmax_axis, llf_softmax(g, in[A], 1, LIST(2)))
CALL(broadcast_sizes, llf_broadcast_to(g, in[A], 3, LIST(2, 4, 6)))
CALL(broadcast_rank, llf_broadcast_to(g, in[A], 1, LIST(5)))
CALL(broadcast_bytes, llf_broadcast_to(g, in[A], 3, LIST(BIG, 4, 5)))

#define LIMITS ", or have more terms than the limits allow"
static const struct {
    const char *line; /* of text; %y is its first result */
    llf_status status;
    const char *text; /* between the place and the value's name */
    call_fn *call;
    const char *called; /* NULL: the same */
} cases[] = {
    {"%y = pad %a, %s, by=[:, 1:-7]", LLF_E_TYPE, "pad: axis 1: 5 elements and the pads 1:-7 make -1",
     pad_negative, NULL},
    {"%y = pad %a, %b, by=[:, 1:]", LLF_E_TYPE, "pad: operand 2 is f32[3, 5], but must be of rank 0",
     pad_rank, NULL},
    {"%y = pad %a, %s, by=[:, -9223372036854775808:]", LLF_E_LIMIT, "pad: a pad is below -2^63+1", pad_least,
     "pad: axis 1: -9223372036854775808 is below -2^63+1"},
    {"%y = pad %a, %s, by=[:, :9223372036854775808]", LLF_E_LIMIT, "dim 9223372036854775808 is over 2^63-1",
     pad_beside, "pad: axis 1: -2 stands beside a symbol, so it must not be negative"},
    {"%y = pad %n, %s, by=[4611686018427387904:, :]", LLF_E_LIMIT,
     "pad: axis 0: the dims of f32[N+4611686018427387904, 8] multiply to more than 2^63-1 bytes", pad_bytes,
     NULL},
    {"%y = pad %n, %s, by=[4611686018427387904:4611686018427387904, :]", LLF_E_LIMIT,
     "pad: axis 0: N elements and the pads 4611686018427387904:4611686018427387904 make more than "
     "2^63-1" LIMITS,
     pad_sum, NULL},
    {"%y = pad %n, %s, by=[-4611686018427387904:5, :]", LLF_E_LIMIT,
     "pad: axis 0: N elements and the pads -4611686018427387904:5 make less than 0 in every tensor of at "
     "most "
     "2^63-1 bytes",
     pad_cut, NULL},
    {"%y = concat %a, %a, %b, axis=1", LLF_E_TYPE,
     "concat: axis 0: 4 and 3 differ: operand 1 is f32[4, 5], operand 3 is f32[3, 5]", concat_sizes, NULL},
    {"%y = concat %a, %s, axis=0", LLF_E_TYPE,
     "concat: ranks differ: operand 1 is f32[4, 5], operand 2 is f32[]", concat_ranks, NULL},
    {"%y = concat %a, axis=2", LLF_E_TYPE, "concat: axis 2 is out of range: operand 1 is f32[4, 5]",
     concat_axis, NULL},
    {"%y = take %a, %i, axis=-3", LLF_E_TYPE, "take: axis -3 is out of range: operand 1 is f32[4, 5]",
     take_axis, NULL},
    {"%y = take %a, %s, axis=0", LLF_E_TYPE, "take: operand 2 is f32[], but must be i32 or i64", take_dtype,
     NULL},
    {"%y = take %e, %i, axis=1", LLF_E_TYPE,
     "take: axis 1 of f32[3, 0] has no element for the indices i32[2]", take_empty, NULL},
    {"%y = iota dtype=f32, shape=[4], axis=1", LLF_E_TYPE,
     "iota: axis 1 is out of range: the shape has 1 axes", iota_axis, NULL},
    {"%y = iota dtype=f32, shape=[4, -17], axis=1", LLF_E_TYPE, "iota: axis 1: extent -17 is negative",
     iota_extent, "iota: axis 1: -17 is negative and no symbol"},
    {"%y, %z = split %a, axis=1, sizes=[2, 4]", LLF_E_TYPE,
     "split: axis 1: the sizes make 6, which is not provably 5", split_sum, NULL},
    {"%y, %z = split %a, axis=1, sizes=[9, -1]", LLF_E_TYPE,
     "split: axis 1: the sizes make 9, which is over the extent 5", split_over, NULL},
    {"%y, %z, %w = split %a, axis=1, sizes=[-1, 1, -1]", LLF_E_TYPE,
     "split: axis 1: the sizes of parts 0 and 2 are both -1", split_holes, NULL},
    {"%y, %z = split %a, axis=1, sizes=[2, -7]", LLF_E_TYPE,
     "split: part 1: size -7 is negative (-1 stands for what is left)", split_negative,
     "split: size of part 1: -7 is negative and no symbol"},
    {"%y, %z = split %a, axis=2, sizes=[2, 2]", LLF_E_TYPE,
     "split: axis 2 is out of range: operand 1 is f32[4, 5]", split_axis, NULL},
    {"%y, %z, %w = split %a, axis=0, sections=3", LLF_E_TYPE,
     "split: axis 0: 4 does not provably divide into 3 sections", split_sections, NULL},
    {"%y, %z, %w = split %a, axis=0, sizes=[4611686018427387904, 4611686018427387904, 4]", LLF_E_LIMIT,
     "split: axis 0: the sum of sizes of extent 4: over 2^63-1, or more terms than the limits allow",
     split_wraps, NULL},
    {"%y = stack %a, %b, axis=1", LLF_E_TYPE,
     "stack: axis 0: 4 and 3 differ: operand 1 is f32[4, 5], operand 2 is f32[3, 5]", stack_sizes, NULL},
    {"%y = stack %a, %s, axis=0", LLF_E_TYPE,
     "stack: ranks differ: operand 1 is f32[4, 5], operand 2 is f32[]", stack_ranks, NULL},
    {"%y = stack %i, %i, axis=-4", LLF_E_TYPE, "stack: axis -4 is out of range: i32[2] gives 2 axes",
     stack_dtypes, "stack: dtype mismatch: operand 1 is f32[], operand 2 is f16[] (use cast)"},
    {"%y = stack %a, %a, axis=3", LLF_E_TYPE, "stack: axis 3 is out of range: f32[4, 5] gives 3 axes",
     stack_axis, NULL},
    {"%y = roll %a, shifts=[1], axes=[2]", LLF_E_TYPE, "roll: axis 2 is out of range: operand 1 is f32[4, 5]",
     roll_axis, NULL},
    {"%y = roll %a, shifts=[-9223372036854775808], axes=[1]", LLF_E_LIMIT, "roll: a shift is below -2^63+1",
     roll_least, "roll: shift 0: -9223372036854775808 is below -2^63+1"},
    {"%y = roll %n, shifts=[4611686018427387904], axes=[0]", LLF_E_LIMIT,
     "roll: axis 0: extent N shifted by 4611686018427387904: places over 2^63-1, or more terms than the "
     "limits allow",
     roll_far, NULL},
    {"%y = roll %n, shifts=[-4611686018427387904], axes=[0]", LLF_E_LIMIT,
     "roll: axis 0: extent N shifted by -4611686018427387904: places over 2^63-1, or more terms than the "
     "limits allow",
     roll_back, NULL},
    {"%y = slice %a, at=[:, 2:6]", LLF_E_TYPE, "slice: axis 1: stop 6 is out of range for extent 5",
     slice_stop, NULL},
    {"%y = slice %a, at=[-9:, :]", LLF_E_TYPE, "slice: axis 0: start -9 is out of range for extent 4",
     slice_start, NULL},
    {"%y = slice %n, at=[4611686018427387904:, :]", LLF_E_LIMIT,
     "slice: axis 0: start 4611686018427387904 is beyond every f32[N, 8]: it would have more than 2^63-1 "
     "bytes",
     slice_far, NULL},
    {"%y = slice %n, at=[::4611686018427387904, :]", LLF_E_LIMIT,
     "slice: axis 0: step 4611686018427387904 is beyond every f32[N, 8]: it would have more than 2^63-1 "
     "elements",
     slice_step, NULL},
    {"%y = slice %n, at=[-4611686018427387904:, :]", LLF_E_LIMIT,
     "slice: axis 0: start -4611686018427387904 is beyond every f32[N, 8]: it would have more than 2^63-1 "
     "bytes",
     slice_back, NULL},
    {"%y = reshape %a, shape=[3, 7]", LLF_E_TYPE,
     "reshape: f32[4, 5] does not fit [3, 7]: 20 elements against 21", reshape_sizes, NULL},
    {"%y = reshape %a, shape=[3, -1]", LLF_E_TYPE,
     "reshape: axis 1: -1 cannot stand for 20 / 3: f32[4, 5] does not divide", reshape_hole, NULL},
    {"%y = reshape %a, shape=[-1, -1]", LLF_E_TYPE, "reshape: axes 0 and 1 are both -1", reshape_holes, NULL},
    {"%y = reshape %n, shape=[4611686018427387904, 4611686018427387904]", LLF_E_LIMIT,
     "reshape: [4611686018427387904, 4611686018427387904] has more than 2^63-1 elements, or an extent beyond "
     "the limits",
     reshape_far, NULL},
    {"%y = softmax %a, axes=[2]", LLF_E_TYPE, "softmax: axis 2 is out of range: operand 1 is f32[4, 5]",
     softmax_axis, NULL},
    {"%y = broadcast_to %a, shape=[2, 4, 6]", LLF_E_TYPE,
     "broadcast_to: axis 2: 5 does not stretch to 6: f32[4, 5] to [2, 4, 6]", broadcast_sizes, NULL},
    {"%y = broadcast_to %a, shape=[5]", LLF_E_TYPE, "broadcast_to: f32[4, 5] has rank 2, over the shape's 1",
     broadcast_rank, NULL},
    {"%y = broadcast_to %a, shape=[4611686018427387904, 4, 5]", LLF_E_LIMIT,
     "broadcast_to: axis 0: the dims of f32[4611686018427387904, 4, 5] multiply to more than 2^63-1 bytes",
     broadcast_bytes, NULL},
};

static void text_is_told(void **state)
{
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(cases); i++) {
        char text[600], want[600];
        llf_graph *g = NULL;
        snprintf(text, sizeof text, "%s  %s\n  ret %%y\n}\n", head, cases[i].line);
        llf_status status = llf_graph_parse(cx, text, strlen(text), "t.llf", &g);
        const llf_diagnostic *e = llf_last_error(cx);
        snprintf(want, sizeof want, "t.llf:3:%u: %s, in %%y", e->col, cases[i].text);
        if (status != cases[i].status || e->line != 3 || strcmp(e->message, want) != 0)
            fail_msg("%s\nis told '%s'\ninstead '%s'", cases[i].line, status ? e->message : "nothing", want);
        assert_null(g);
    }
}

static llf_graph *called(llf_context *cx, llf_id *in, int64_t *n)
{
    llf_graph *g = llf_graph_create(cx, "t");
    *n = llf_symbol(g, "N");
    in[A] = llf_input(g, "a", LLF_F32, 2, LIST(4, 5));
    in[B] = llf_input(g, "b", LLF_F32, 2, LIST(3, 5));
    in[N8] = llf_input(g, "n", LLF_F32, 2, LIST(*n, 8));
    in[I] = llf_input(g, "i", LLF_I32, 1, LIST(2));
    in[S] = llf_input(g, "s", LLF_F32, 0, NULL);
    in[E] = llf_input(g, "e", LLF_F32, 2, LIST(3, 0));
    llf_neg(g, in[A]);
    assert_int_equal(g->poisoned, LLF_OK);
    return g;
}

/* The same of a call; the value would have been %1 (%2, where the call made another before). */
static void calls_are_told(void **state)
{
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(cases); i++) {
        char want[600];
        llf_id in[6];
        int64_t n;
        llf_graph *g = called(cx, in, &n);
        llf_id id = cases[i].call(g, in, n);
        const llf_diagnostic *e = llf_last_error(cx);
        snprintf(want, sizeof want, "%s, in %%%d", cases[i].called ? cases[i].called : cases[i].text,
                 cases[i].call == stack_dtypes ? 2 : 1);
        if (id != LLF_NONE || strcmp(e->message, want) != 0)
            fail_msg("%s, called,\nis told '%s'\ninstead '%s'", cases[i].line,
                     id == LLF_NONE ? e->message : "nothing", want);
        assert_int_equal(g->poisoned, e->status);
        assert_int_equal(llf_output(g, in[A]), e->status);
        char op[16];
        snprintf(op, sizeof op, "%.*s", (int)strcspn(want, ":"), want);
        assert_string_equal(e->op, op);
        llf_graph_destroy(g);
    }
}

/* ---- at run time */

/* What guards say, before passes and of a program, once symbols are known. */
static void guarded(llf_context *cx, const char *text, const int64_t *symbol, const char *want)
{
    llf_graph *g = test_parse(cx, text);
    llfi_diag d = {.message = ""};
    assert_int_equal(llfi_guards_check(g, &d, symbol), LLF_E_GUARD);
    assert_string_equal(d.message, want);
    assert_int_equal(llfi_guards_name(g), LLF_OK);
    g->nodes.at[g->nodes.count - 1].name = llfi_name_add(g, "other", 5); /* as passes may */
    assert_int_equal(llfi_guards_check(g, &d, symbol), LLF_E_GUARD);
    assert_string_equal(d.message, want);
    llf_graph_destroy(g);
}

static void guards_name_values(void **state)
{
    llf_context *cx = *state;
    guarded(cx, "graph @g(%x: f32[N], %y: f32[M]) {\n  %0 = neg %x\n  %9 = add %x, %y\n  ret %9\n}\n",
            LIST(3, 4), "t.llf:3:8: add: axis 0: N (3) must be equal to M (4), in %1");
    guarded(cx, "graph @g(%x: f32[N], %y: f32[M]) {\n  %both = add %x, %y\n  ret %both\n}\n", LIST(3, 4),
            "t.llf:2:11: add: axis 0: N (3) must be equal to M (4), in %both");
    guarded(cx, "graph @g(%x: f32[N]) {\n  %a, %b = split %x, axis=0, sizes=[5, -1]\n  ret %b\n}\n", LIST(3),
            "t.llf:2:12: split: axis 0: 5 (5) must be at most N (3), in %a");
    guarded(cx, "graph @g(%x: f32[N], %y: f32[M]) {\n  %0 = stack %x, %y, axis=0\n  ret %0\n}\n", LIST(3, 4),
            "t.llf:2:8: stack: axis 1: N (3) must be equal to M (4), in %2");
    guarded(cx,
            "graph @g(%x: f32[N], %y: f32[M]) {\n  %0 = concat %x, %y, axis=0\n"
            "  %1 = reshape %0, shape=[7]\n  ret %1\n}\n",
            LIST(3, 5), "t.llf:3:8: reshape: the number of elements: M+N (8) must be equal to 7 (7), in %1");
    guarded(cx, "graph @g(%x: f32[N]) {\n  %0 = pad %x, 0.0, by=[-2:-1]\n  ret %0\n}\n", LIST(2),
            "t.llf:2:8: pad: axis 0: 3 (3) must be at most N (2), in %0");
}

/* A program's execution says the same, whatever passes made of the graph. */
static void executions_name_values(void **state)
{
    llf_context *cx = *state;
    llf_graph *g =
        test_parse(cx, "graph @g(%x: f32[N], %y: f32[M], %z: f32[N]) {\n  %0 = neg %z\n  %1 = neg %z\n"
                       "  %2 = mul %x, 1.0\n  %3 = add %2, %y\n  ret %3, %1\n}\n");
    llf_program *p;
    llf_loaded *l;
    llf_execution *e;
    llf_options o = {.size = sizeof o, .target = "host"};
    if (llf_compile(cx, g, &o, &p) != LLF_OK || llf_program_load(cx, p, -1, &l) != LLF_OK ||
        llf_execution_create(cx, l, &e) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    float data[5][8];
    const int64_t size[] = {3, 4, 3, 3, 3};
    for (uint32_t i = 0; i < 5; i++) {
        llf_tensor t = {.data = data[i], .dtype = LLF_F32, .rank = 1, .shape = {size[i]}};
        assert_int_equal(llf_bind(e, i, &t), LLF_OK);
    }
    assert_int_equal(llf_prepare(e), LLF_E_GUARD);
    assert_string_equal(llf_execution_error(e)->message,
                        "t.llf:5:8: add: axis 0: N (3) must be equal to M (4), in %3");
    llf_execution_destroy(e);
    llf_loaded_destroy(l);
    llf_program_destroy(p);
    llf_graph_destroy(g);
}

/* An intermediate value that no memory can hold is told by its op and type. */
static void temporaries_are_named(void **state)
{
    llf_context *cx = *state;
    llf_graph *g = test_parse(cx, "graph @g(%x: f32[N], %y: f32[M], %s: f32[]) {\n"
                                  "  %0 = broadcast_to %s, shape=[N, M]\n  %wide = neg %0\n"
                                  "  %2 = slice %wide, at=[0:1, 0:3]\n  %3 = exp %2\n  ret %3\n}\n");
    llf_program *p;
    llf_loaded *l;
    llf_execution *e;
    llf_options o = {.size = sizeof o, .target = "host", .heuristic = "none"};
    if (llf_compile(cx, g, &o, &p) != LLF_OK || llf_program_load(cx, p, 1, &l) != LLF_OK ||
        llf_execution_create(cx, l, &e) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    float one = 1, out[3];
    llf_tensor t = {.data = &one, .dtype = LLF_F32, .rank = 1, .strided = true};
    t.shape[0] = INT64_C(1) << 32; /* one element, again and again */
    assert_int_equal(llf_bind(e, 0, &t), LLF_OK);
    assert_int_equal(llf_bind(e, 1, &t), LLF_OK);
    t = (llf_tensor){.data = &one, .dtype = LLF_F32};
    assert_int_equal(llf_bind(e, 2, &t), LLF_OK);
    t = (llf_tensor){.data = out, .dtype = LLF_F32, .rank = 2, .shape = {1, 3}};
    assert_int_equal(llf_bind(e, 3, &t), LLF_OK);
    assert_int_equal(llf_prepare(e), LLF_E_LIMIT);
    assert_string_equal(llf_execution_error(e)->message,
                        "t.llf:3:11: neg: the intermediate value f32[N, M] takes more bytes than there are "
                        "addresses, in %wide");
    llf_execution_destroy(e);
    llf_loaded_destroy(l);
    llf_program_destroy(p);
    llf_graph_destroy(g);
}

/* ---- when it is compiled */

static void compiling_names_op_and_axis(void **state)
{
    static const struct {
        const char *line, *want;
    } c[] = {
        {"%x: f32[N]) {\n  %a = slice %x, at=[::1099511627776]\n  %y = slice %a, at=[::1099511627776]",
         "t.llf:2:8: slice: axis 0: "},
        {"%x: f32[N, 8], %m: f32[M]) {\n  %y = roll %x, shifts=[4611686018427387903*M], axes=[0]",
         "t.llf:2:8: slice: axis 0: f32[N, 8] is read through "},
        {"%x: f32[N, M, 8]) {\n  %y = slice %x, at=[2305843009213693952*M:, :, :]",
         "t.llf:2:8: slice: axis 0: f32[N, M, 8] is read through f32[N-2305843009213693952*M, M, 8] at "},
    };
    llf_context *cx = *state;
    for (size_t i = 0; i < LLFI_COUNT(c); i++) {
        char text[300];
        snprintf(text, sizeof text, "graph @g(%s\n  %%r = neg %%y\n  ret %%r\n}\n", c[i].line);
        llf_graph *g = test_parse(cx, text);
        llf_program *p;
        llf_options o = {.size = sizeof o, .target = "host"};
        assert_int_equal(llf_compile(cx, g, &o, &p), LLF_E_LIMIT);
        if (!strstr(llf_last_error(cx)->message, c[i].want))
            fail_msg("'%s' instead of '%s'", llf_last_error(cx)->message, c[i].want);
        llf_graph_destroy(g);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)
    const struct CMUnitTest tests[] = {
        TEST(text_is_told),           TEST(calls_are_told),        TEST(guards_name_values),
        TEST(executions_name_values), TEST(temporaries_are_named), TEST(compiling_names_op_and_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
