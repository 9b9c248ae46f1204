/* Normal form of dim expressions: equal ids for equal expressions, folding, limits, evaluation, printing. */
#include "ir_testing.h"

static llfi_dims *dims;
static const llf_allocator *mem;
static llfi_dim A, B, C;

static int setup(void **state)
{
    if (test_setup(state))
        return -1;
    mem = &((llf_context *)*state)->mem;
    dims = llfi_dims_create(mem);
    A = llfi_dim_sym(dims, llfi_dims_symbol(dims, "A", 1));
    B = llfi_dim_sym(dims, llfi_dims_symbol(dims, "B", 1));
    C = llfi_dim_sym(dims, llfi_dims_symbol(dims, "C", 1));
    return 0;
}

static int teardown(void **state)
{
    llfi_dims_destroy(dims);
    return test_teardown(state);
}

static llfi_dim k(int64_t v)
{
    return llfi_dim_const(dims, v);
}
static llfi_dim add(llfi_dim a, llfi_dim b)
{
    return llfi_dim_add(dims, a, b);
}
static llfi_dim mul(llfi_dim a, llfi_dim b)
{
    return llfi_dim_mul(dims, a, b);
}
static llfi_dim fdiv(llfi_dim a, llfi_dim b)
{
    return llfi_dim_floordiv(dims, a, b);
}
static llfi_dim min(llfi_dim a, llfi_dim b)
{
    return llfi_dim_min(dims, a, b);
}
static llfi_dim max(llfi_dim a, llfi_dim b)
{
    return llfi_dim_max(dims, a, b);
}

static void sums_and_products_have_one_form(void **state)
{
    (void)state;
    assert_int_equal(add(mul(B, k(4)), k(1)), add(k(1), mul(k(4), B)));
    assert_int_equal(mul(add(A, B), C), add(mul(A, C), mul(B, C)));
    assert_int_equal(mul(C, add(B, A)), add(mul(C, B), mul(C, A)));
    assert_int_equal(add(A, A), mul(k(2), A));
    assert_int_equal(mul(add(A, k(1)), add(A, k(1))), add(add(mul(A, A), mul(k(2), A)), k(1)));
    assert_int_equal(mul(mul(A, B), C), mul(A, mul(C, B)));
    assert_int_equal(mul(A, k(1)), A);
    assert_int_equal(mul(A, k(0)), k(0));
    assert_int_equal(add(A, k(0)), A);
    assert_int_equal(add(k(2), k(3)), k(5));
    assert_int_not_equal(add(A, B), add(A, C));
    assert_int_equal(llfi_dims_symbol(dims, "A", 1), 0);
    assert_int_equal(llfi_dims_symbols(dims), 3);
}

static void divisions_fold(void **state)
{
    (void)state;
    assert_int_equal(fdiv(k(7), k(2)), k(3));
    assert_int_equal(fdiv(A, k(1)), A);
    assert_int_equal(fdiv(add(mul(k(4), B), k(1)), k(4)), B);
    assert_int_equal(fdiv(add(mul(k(4), B), k(6)), k(4)), add(B, k(1)));
    assert_int_equal(fdiv(mul(k(6), A), k(4)), add(A, fdiv(A, k(2)))); /* 6a//4 = a + 2a//4 */
    assert_int_equal(fdiv(add(mul(k(2), A), k(1)), k(4)), fdiv(A, k(2)));
    assert_int_equal(fdiv(fdiv(A, k(3)), k(5)), fdiv(A, k(15)));
    assert_int_equal(fdiv(fdiv(A, k(INT64_MAX)), k(2)), k(0));
    assert_int_equal(fdiv(A, k(0)), LLFI_DIM_NONE);
    assert_int_not_equal(fdiv(A, A), k(1)); /* A may be 0 */
    assert_int_not_equal(fdiv(k(0), A), k(0));
}

static void assert_text(llfi_dim d, const char *want)
{
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_dim_print(dims, d, &s);
    assert_string_equal(s.at, want);
    llfi_str_free(&s);
}

static llfi_dim sub(llfi_dim a, llfi_dim b)
{
    return llfi_dim_sub(dims, a, b);
}

/* What is subtracted keeps the normal form, and evaluation refuses values below 0. */
static void subtractions_fold(void **state)
{
    (void)state;
    const int64_t at[3] = {5, 3, 0}, low[3] = {0, 3, 0};
    int64_t v;
    assert_int_equal(sub(k(7), k(2)), k(5));
    assert_int_equal(sub(A, A), k(0));
    assert_int_equal(sub(add(A, B), A), B);
    assert_int_equal(sub(mul(k(3), A), A), mul(k(2), A));
    assert_int_equal(add(sub(A, k(1)), k(1)), A);
    assert_int_equal(mul(sub(A, k(1)), add(A, k(1))), sub(mul(A, A), k(1)));
    assert_int_equal(fdiv(sub(mul(k(4), A), k(4)), k(4)), sub(A, k(1)));
    assert_int_equal(fdiv(sub(A, k(1)), k(2)), sub(fdiv(add(A, k(1)), k(2)), k(1)));
    assert_int_equal(sub(k(2), k(3)), LLFI_DIM_NONE);
    assert_int_equal(sub(k(0), A), LLFI_DIM_NONE);
    assert_int_equal(sub(sub(A, A), k(1)), LLFI_DIM_NONE);
    assert_true(llfi_dim_eval(dims, sub(A, B), at, &v) && v == 2);
    assert_true(llfi_dim_eval(dims, fdiv(sub(A, k(2)), k(2)), at, &v) && v == 1);
    assert_true(llfi_dim_eval(dims, sub(k(9), A), at, &v) && v == 4);
    assert_false(llfi_dim_eval(dims, sub(A, k(1)), low, &v));
    assert_text(sub(A, k(1)), "A-1");
    assert_text(sub(k(9), A), "9-A");
    assert_text(sub(sub(mul(k(2), B), A), k(1)), "2*B-A-1");
    assert_text(sub(B, mul(k(3), fdiv(A, k(2)))), "B-3*(A//2)");
    assert_text(mul(C, max(sub(A, k(1)), B)), "C*max(B, A-1)");
}

static void order_is_proved_where_it_is_plain(void **state)
{
    (void)state;
    assert_true(llfi_dim_never_above(dims, fdiv(A, k(2)), A));
    assert_true(llfi_dim_never_above(dims, min(A, B), A));
    assert_true(llfi_dim_never_above(dims, A, max(A, B)));
    assert_true(llfi_dim_never_above(dims, sub(A, k(1)), A));
    assert_true(llfi_dim_never_above(dims, sub(A, B), A));
    assert_true(llfi_dim_never_above(dims, k(3), add(A, k(3))));
    assert_false(llfi_dim_never_above(dims, A, sub(A, k(1))));
    assert_false(llfi_dim_never_above(dims, k(0), sub(A, k(1))));
    assert_false(llfi_dim_never_above(dims, A, B));
    assert_false(llfi_dim_never_above(dims, A, sub(mul(k(2), A), B)));
    assert_int_equal(min(sub(A, B), A), sub(A, B));
}

static void min_and_max_fold(void **state)
{
    (void)state;
    assert_int_equal(min(k(3), k(5)), k(3));
    assert_int_equal(max(k(3), k(5)), k(5));
    assert_int_equal(min(A, B), min(B, A));
    assert_int_equal(max(A, A), A);
    assert_int_equal(max(A, k(0)), A);
    assert_int_equal(min(A, k(0)), k(0));
    assert_int_equal(min(A, add(A, B)), A);
    assert_int_equal(max(A, add(A, k(1))), add(A, k(1)));
    assert_int_not_equal(min(A, k(1)), k(1));
}

static void limits_give_none_and_not_nonsense(void **state)
{
    (void)state;
    llfi_dim big = k(INT64_MAX);
    assert_int_equal(k(-1), LLFI_DIM_NONE);
    assert_int_equal(add(big, k(1)), LLFI_DIM_NONE);
    assert_int_equal(mul(big, k(2)), LLFI_DIM_NONE);
    assert_int_equal(mul(mul(big, A), k(2)), LLFI_DIM_NONE);
    assert_int_equal(add(LLFI_DIM_NONE, k(1)), LLFI_DIM_NONE);
    llfi_dim x = A; /* (A + B + C)^n grows without end unless it is stopped */
    for (int i = 0; i < 60; i++)
        x = mul(x, add(add(A, B), C));
    assert_int_equal(x, LLFI_DIM_NONE);
    x = A;
    for (int i = 0; i < 60; i++)
        x = fdiv(x, B);
    assert_int_equal(x, LLFI_DIM_NONE);
    x = A; /* doubles its printed size at every step */
    for (int i = 0; i < 25; i++)
        x = min(mul(x, add(B, C)), k(1000));
    assert_int_equal(x, LLFI_DIM_NONE);
    assert_false(llfi_dims_nomem(dims));
    assert_int_equal(add(A, k(1)), add(k(1), A)); /* and the next call works */
}

static void evaluation_is_exact_or_refused(void **state)
{
    (void)state;
    int64_t v, s[3] = {7, 3, -1};
    assert_true(llfi_dim_eval(dims, add(mul(A, B), k(2)), s, &v));
    assert_int_equal(v, 23);
    assert_true(llfi_dim_eval(dims, fdiv(A, B), s, &v));
    assert_int_equal(v, 2);
    assert_true(llfi_dim_eval(dims, min(A, B), s, &v));
    assert_int_equal(v, 3);
    assert_true(llfi_dim_eval(dims, max(A, B), s, &v));
    assert_int_equal(v, 7);
    assert_false(llfi_dim_eval(dims, C, s, &v)); /* unbound */
    s[1] = 0;
    assert_false(llfi_dim_eval(dims, fdiv(A, B), s, &v));
    s[0] = INT64_MAX;
    s[1] = 2;
    assert_false(llfi_dim_eval(dims, mul(A, B), s, &v));
    assert_false(llfi_dim_eval(dims, add(A, B), s, &v));
    assert_false(llfi_dim_eval(dims, LLFI_DIM_NONE, s, &v));
    s[2] = 0;
    assert_true(llfi_dim_eval(dims, mul(mul(A, A), C), s, &v)); /* 0, though A * A overflows */
    assert_int_equal(v, 0);
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* Random expressions: the normal form has the value of the plain expression, and prints to text of the same
 * id. */
static void random_expressions_keep_their_value(void **state)
{
    llf_context *cx = *state;
    uint64_t seed = 12345;
    for (int round = 0; round < 2000; round++) {
        int64_t s[3] = {(int64_t)(next(&seed) % 50), (int64_t)(next(&seed) % 50) + 1,
                        (int64_t)(next(&seed) % 9) + 1};
        llfi_dim dim[12] = {A, B, C, k(2), k(3), k(1)};
        int64_t value[12] = {s[0], s[1], s[2], 2, 3, 1};
        llfi_str text;
        llfi_str_init(&text, &cx->mem);
        llfi_str_puts(&text, "graph @g(%x: f32[A, B, C");
        for (int i = 6; i < 12; i++) {
            uint64_t a = next(&seed) % (uint64_t)i, b = next(&seed) % (uint64_t)i, op = next(&seed) % 5;
            if (op == 2 && value[b] == 0)
                op = 0;
            dim[i] = op == 0   ? add(dim[a], dim[b])
                     : op == 1 ? mul(dim[a], dim[b])
                     : op == 2 ? fdiv(dim[a], dim[b])
                     : op == 3 ? min(dim[a], dim[b])
                               : max(dim[a], dim[b]);
            value[i] = op == 0   ? value[a] + value[b]
                       : op == 1 ? value[a] * value[b]
                       : op == 2 ? value[a] / value[b]
                       : op == 3 ? (value[a] < value[b] ? value[a] : value[b])
                                 : (value[a] > value[b] ? value[a] : value[b]);
            if (value[i] > 1000000 || dim[i] == LLFI_DIM_NONE) {
                dim[i] = A;
                value[i] = s[0];
            }
            int64_t got;
            assert_true(llfi_dim_eval(dims, dim[i], s, &got));
            assert_int_equal(got, value[i]);
            llfi_str_puts(&text, ", ");
            llfi_dim_print(dims, dim[i], &text);
        }
        llfi_str_puts(&text, "]) {\n  ret %x\n}\n");
        llf_graph *g = test_parse(cx, text.at);
        test_printed(cx, g, text.at);
        llf_graph_destroy(g);
        llfi_str_free(&text);
    }
}

static void order_does_not_hang_on_what_was_made_first(void **state)
{
    llf_context *cx = *state;
    llfi_dims *other = llfi_dims_create(&cx->mem);
    llfi_dim b = llfi_dim_sym(other, llfi_dims_symbol(other, "B", 1));
    llfi_dim a = llfi_dim_sym(other, llfi_dims_symbol(other, "A", 1));
    llfi_dim y = llfi_dim_add(other, llfi_dim_mul(other, b, a), llfi_dim_add(other, b, a));
    llfi_dim x = add(mul(A, B), add(A, B));
    llfi_str s, t;
    llfi_str_init(&s, &cx->mem);
    llfi_str_init(&t, &cx->mem);
    llfi_dim_print(dims, x, &s);
    llfi_dim_print(other, y, &t);
    assert_string_equal(s.at, "A+B+A*B");
    assert_string_equal(t.at, "A+B+A*B");
    assert_true(llfi_dim_hash(dims, x) == llfi_dim_hash(other, y));
    llfi_dims *copy = llfi_dims_clone(dims, &cx->mem);
    assert_int_equal(llfi_dim_add(copy, llfi_dim_mul(copy, A, B), llfi_dim_add(copy, A, B)), x);
    llfi_dims_destroy(copy);
    llfi_dims_destroy(other);
    llfi_str_free(&s);
    llfi_str_free(&t);
}

/* What a == b says, as "pos == neg". */
static void assert_says(llfi_dim a, llfi_dim b, llfi_dim pos, llfi_dim neg)
{
    llfi_dim p, n;
    assert_true(llfi_dim_equation(dims, a, b, &p, &n));
    assert_int_equal(p, pos);
    assert_int_equal(n, neg);
}

static void equations_lose_what_stands_on_both_sides(void **state)
{
    (void)state;
    assert_says(add(A, k(3)), add(B, k(3)), A, B);
    assert_says(mul(k(4), A), mul(k(6), B), mul(k(2), A), mul(k(3), B));
    assert_says(mul(k(4), A), k(12), A, k(3));
    assert_says(add(A, k(1)), k(5), A, k(4));
    assert_says(mul(k(4), A), k(6), mul(k(2), A), k(3));
    assert_says(add(A, C), add(mul(k(2), B), C), A, mul(k(2), B));
    assert_says(A, A, k(0), k(0));
    assert_says(mul(A, B), mul(A, C), mul(A, B), mul(A, C)); /* A may be 0 */
}

/* value[A], value[B], value[C] -> what the three become */
static void assert_stands(llfi_dim a, llfi_dim b, llfi_dim c, llfi_dim want_a, llfi_dim want_b,
                          llfi_dim want_c)
{
    llfi_arena scratch;
    llfi_dim value[] = {a, b, c}, out[1000];
    uint32_t count = llfi_dims_count(dims);
    assert_true(count < 1000);
    llfi_arena_init(&scratch, mem);
    assert_true(llfi_dims_substitute(dims, value, out, count, &scratch));
    assert_int_equal(out[A], want_a);
    assert_int_equal(out[B], want_b);
    assert_int_equal(out[C], want_c);
    llfi_arena_destroy(&scratch);
}

static void symbols_are_replaced_through_and_through(void **state)
{
    (void)state;
    const llfi_dim no = LLFI_DIM_NONE, two_b = mul(k(2), B), c3 = add(C, k(3));
    assert_stands(no, no, no, A, B, C);
    assert_stands(B, C, no, C, C, C);
    assert_stands(two_b, c3, no, add(mul(k(2), C), k(6)), c3, C);
    assert_stands(two_b, c3, k(1), k(8), k(4), k(1));
    assert_stands(min(B, C), no, B, B, B, B);
    assert_stands(fdiv(mul(B, C), k(4)), k(8), no, mul(k(2), C), k(8), C);
    assert_stands(llfi_dim_sub(dims, max(B, C), k(1)), k(4), k(9), k(8), k(4), k(9));
    /* cycles: one of the symbols stays, and the others are told by it */
    assert_stands(add(A, k(1)), no, no, A, B, C);
    assert_stands(two_b, fdiv(A, k(2)), no, two_b, B, C);
    /* too large: A stays */
    llfi_dim huge = k(INT64_MAX);
    assert_stands(mul(k(4), B), huge, no, A, huge, C);
    /* divided by 0: A stays */
    assert_stands(fdiv(C, B), k(0), no, A, k(0), C);
}

static void one_unknown_is_found(void **state)
{
    (void)state;
    int64_t s[] = {-1, 5, 0}, v = 0; /* A unknown, B 5, C 0 */
    uint32_t who = 9;
    const struct {
        llfi_dim dim;
        int64_t extent, value; /* -1: nothing is told */
    } cases[] = {
        {A, 7, 7},
        {mul(k(2), A), 8, 4},
        {mul(k(2), A), 9, 4}, /* the comparison afterwards refuses it */
        {add(mul(k(4), B), A), 23, 3},
        {add(mul(A, B), k(3)), 28, 5},
        {llfi_dim_sub(dims, B, A), 2, 3},
        {llfi_dim_sub(dims, mul(k(3), A), k(6)), 9, 5},
        {add(max(B, k(9)), A), 10, 1},
        {add(mul(k(4), B), A), 19, -1}, /* negative */
        {mul(A, C), 0, -1},             /* any would do */
        {mul(A, A), 9, -1},
        {fdiv(A, k(2)), 3, -1},
        {add(A, max(A, B)), 9, -1},
        {mul(A, fdiv(A, k(2))), 9, -1},
        {B, 5, -1},
        {k(3), 3, -1},
    };
    for (size_t i = 0; i < LLFI_COUNT(cases); i++) {
        bool told = llfi_dim_solve(dims, cases[i].dim, s, cases[i].extent, &who, &v);
        if (told != (cases[i].value >= 0) || (told && (who != 0 || v != cases[i].value)))
            fail_msg("case %zu: %d, symbol %u is %lld", i, told, who, (long long)v);
    }
    s[1] = -1;
    assert_false(llfi_dim_unknown(dims, add(A, B), s, &who));
    assert_true(llfi_dim_unknown(dims, add(mul(k(2), B), C), s, &who));
    assert_int_equal(who, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sums_and_products_have_one_form),
        TEST(divisions_fold),
        TEST(subtractions_fold),
        TEST(order_is_proved_where_it_is_plain),
        TEST(min_and_max_fold),
        TEST(equations_lose_what_stands_on_both_sides),
        TEST(symbols_are_replaced_through_and_through),
        TEST(one_unknown_is_found),
        TEST(limits_give_none_and_not_nonsense),
        TEST(evaluation_is_exact_or_refused),
        TEST(random_expressions_keep_their_value),
        TEST(order_does_not_hang_on_what_was_made_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
