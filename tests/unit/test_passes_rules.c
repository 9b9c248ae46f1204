/* test_passes_rules.c: every rule of rules.def fires on the graph written for it, and does not on its near
 * misses. A new rule without a row here fails to compile. */
#include "passes_util.h"

#define UNARY(dtype, body) "graph @t(%x: " dtype "[4]) {\n" body "  ret %r\n}\n"

/* By rule: a graph on which it fires, and the least count. */
static const char *const firing[] = {
    [LLFI_RULE_neg_neg] = UNARY("f32", "  %a = neg %x\n  %r = neg %a\n"),
    [LLFI_RULE_abs_abs] = UNARY("f32", "  %a = abs %x\n  %r = abs %a\n"),
    [LLFI_RULE_abs_neg] = UNARY("f32", "  %a = neg %x\n  %r = abs %a\n"),
    [LLFI_RULE_mul_one] = UNARY("f16", "  %r = mul %x, 1.0\n"),
    [LLFI_RULE_div_one] = UNARY("f64", "  %r = div %x, 1.0\n"),
    [LLFI_RULE_sub_zero] = UNARY("bf16", "  %r = sub %x, 0.0\n"),
    [LLFI_RULE_add_neg_zero] = UNARY("f32", "  %r = add -0.0, %x\n"),
    [LLFI_RULE_add_neg] = UNARY("f32", "  %a = neg %x\n  %r = add %a, 2.0\n"),
    [LLFI_RULE_sub_neg] = UNARY("f32", "  %a = neg %x\n  %r = sub 2.0, %a\n"),
    [LLFI_RULE_max_same] = UNARY("i32", "  %r = maximum %x, %x\n"),
    [LLFI_RULE_min_same] = UNARY("i64", "  %r = minimum %x, %x\n"),
    [LLFI_RULE_where_same] = UNARY("f32", "  %c = lt %x, 0.0\n  %r = where %c, %x, %x\n"),
    [LLFI_RULE_where_const] = UNARY("f32", "  %a = exp %x\n  %r = where false, %a, %x\n"),
    [LLFI_RULE_cast_same] = UNARY("bool", "  %r = cast %x, dtype=bool\n"),
    [LLFI_RULE_cast_widen_back] = UNARY("f16", "  %a = cast %x, dtype=f64\n  %r = cast %a, dtype=f16\n"),
    [LLFI_RULE_copy_gone] = UNARY("f32", "  %a = copy %x\n  %r = exp %a\n"),
    [LLFI_RULE_reshape_same] = UNARY("f32", "  %r = reshape %x, shape=[4]\n"),
    [LLFI_RULE_reshape_reshape] =
        UNARY("f32", "  %a = reshape %x, shape=[2, 2]\n  %r = reshape %a, shape=[1, 4]\n"),
    [LLFI_RULE_permute_same] = UNARY("f32", "  %r = permute %x, axes=[0]\n"),
    [LLFI_RULE_permute_permute] = "graph @t(%x: f32[2, 3, 4]) {\n  %a = permute %x, axes=[1, 2, 0]\n"
                                  "  %r = permute %a, axes=[0, 2, 1]\n  ret %r\n}\n",
    [LLFI_RULE_broadcast_same] = UNARY("f32", "  %r = broadcast_to %x, shape=[4]\n"),
    [LLFI_RULE_broadcast_broadcast] =
        UNARY("f32", "  %a = broadcast_to %x, shape=[2, 4]\n  %r = broadcast_to %a, shape=[3, 2, 4]\n"),
    [LLFI_RULE_slice_whole] = UNARY("f32", "  %r = slice %x, at=[0:4:1]\n"),
    [LLFI_RULE_slice_slice] = UNARY("f32", "  %a = slice %x, at=[1:]\n  %r = slice %a, at=[::-2]\n"),
    [LLFI_RULE_flip_none] = UNARY("f32", "  %r = flip %x, axes=[]\n"),
    [LLFI_RULE_flip_flip] = "graph @t(%x: f32[2, 3, 4]) {\n  %a = flip %x, axes=[1, 2]\n"
                            "  %r = flip %a, axes=[0, 1]\n  ret %r\n}\n",
    [LLFI_RULE_expand_none] = UNARY("f32", "  %r = expand_dims %x, axes=[]\n"),
    [LLFI_RULE_squeeze_none] = UNARY("f32", "  %r = squeeze %x, axes=[]\n"),
    [LLFI_RULE_squeeze_expand] =
        UNARY("f32", "  %a = expand_dims %x, axes=[-1]\n  %r = squeeze %a, axes=[1]\n"),
    [LLFI_RULE_sum_ones] = "graph @t(%x: f32[N, 1]) {\n  %r = sum %x, axes=[1]\n  ret %r\n}\n",
    [LLFI_RULE_prod_ones] = "graph @t(%x: i32[1]) {\n  %r = prod %x, keepdims, out=f32\n  ret %r\n}\n",
    [LLFI_RULE_max_ones] = "graph @t(%x: bf16[1, N, 1]) {\n  %r = max %x, axes=[0, 2]\n  ret %r\n}\n",
    [LLFI_RULE_min_ones] = "graph @t(%x: bool[1, N]) {\n  %r = min %x, axes=[0], keepdims\n  ret %r\n}\n",
    [LLFI_RULE_any_ones] = "graph @t(%x: f32[N, 1]) {\n  %r = any %x, axes=[1], keepdims\n  ret %r\n}\n",
    [LLFI_RULE_all_ones] = "graph @t(%x: bool[1]) {\n  %r = all %x\n  ret %r\n}\n",
    [LLFI_RULE_fold_exact] = UNARY("f32", "  %a = add 1.0:f32, 2.0\n  %r = mul %x, %a\n"),
};
_Static_assert(LLFI_COUNT(firing) == LLFI_RULES, "a rule of rules.def has no graph here");

static void every_rule_fires(void **state)
{
    static const char *const passes[] = {"fold", "simplify"};
    (void)state;
    for (uint32_t rule = 0; rule < LLFI_RULES; rule++) {
        fixture f;
        fixture_init(&f);
        assert_non_null(firing[rule]);
        fixture_parse(&f, firing[rule]);
        size_t before = f.g->nodes.count;
        assert_int_equal(llfi_passes_run(f.cx, f.g, passes, 2, &f.state, &f.plan), LLF_OK);
        for (uint32_t other = 0; other < LLFI_RULES; other++)
            assert_int_equal(f.state.fired[other], other == rule);
        assert_true(f.g->nodes.count <= before);
        fixture_free(&f);
    }
}

/* Real-number identities that do not hold: nothing may fire. */
static const char *const silent[] = {
    UNARY("f32", "  %r = add %x, 0.0\n"),
    UNARY("f32", "  %r = sub %x, -0.0\n"),
    UNARY("f32", "  %r = sub 0.0, %x\n"),
    UNARY("f32", "  %r = mul %x, 0.0\n"),
    UNARY("f32", "  %r = mul %x, -1.0\n"),
    UNARY("f32", "  %r = sub %x, %x\n"),
    UNARY("f32", "  %r = div %x, %x\n"),
    UNARY("f32", "  %r = div 1.0, %x\n"),
    UNARY("f32", "  %r = eq %x, %x\n"),
    UNARY("f32", "  %a = abs %x\n  %r = neg %a\n"),
    UNARY("f32", "  %a = cast %x, dtype=bf16\n  %r = cast %a, dtype=f32\n"),
    UNARY("f16", "  %a = cast %x, dtype=bf16\n  %r = cast %a, dtype=f16\n"),
    UNARY("i64", "  %a = cast %x, dtype=f64\n  %r = cast %a, dtype=i64\n"),
    UNARY("i64", "  %a = cast %x, dtype=i32\n  %r = cast %a, dtype=i64\n"),
    UNARY("i32", "  %a = cast %x, dtype=f32\n  %r = cast %a, dtype=i32\n"),
    UNARY("f32", "  %a = cast %x, dtype=f64\n  %r = cast %a, dtype=f16\n"),
    UNARY("f32", "  %a = exp 1.0:f32\n  %r = mul %x, %a\n"),
    UNARY("f32", "  %a = mul %x, 3.0\n  %r = mul %a, 0.5\n"),
    UNARY("f32", "  %a = expand_dims %x, axes=[0]\n  %r = expand_dims %a, axes=[0]\n"),
    UNARY("f32", "  %a = expand_dims %x, axes=[0, 1]\n  %r = squeeze %a, axes=[0]\n"),
    UNARY("f32", "  %a = reshape %x, shape=[2, 2]\n  %r = permute %a, axes=[1, 0]\n"),
    UNARY("f32", "  %a = flip %x, axes=[0]\n  %r = slice %a, at=[1:]\n"),
    UNARY("f32", "  %r = slice %x, at=[::-1]\n"),
    "graph @t(%x: f32[N]) {\n  %a = slice %x, at=[1:]\n  %r = slice %a, at=[1:]\n  ret %r\n}\n",
    "graph @t(%x: f32[N]) {\n  %a = broadcast_to %x, shape=[1]\n  %r = broadcast_to %a, shape=[4]\n  ret "
    "%r\n}\n",
    /* Two nodes in place of one; two roundings; extents that only run time knows; places are no elements. */
    "graph @t(%x: f32[N, 1]) {\n  %r = sum %x, axes=[1], out=f64\n  ret %r\n}\n",
    "graph @t(%x: i32[1]) {\n  %r = sum %x, keepdims, out=f16\n  ret %r\n}\n",
    UNARY("f32", "  %r = max %x\n"),
    "graph @t(%x: f32[N, 1]) {\n  %r = sum %x\n  ret %r\n}\n",
    "graph @t(%x: f32[1]) {\n  %r = argmax %x\n  ret %r\n}\n",
    /* The result would have extent M, not N. */
    "graph @t(%x: f32[N], %y: f32[M]) {\n  %a = neg %x\n  %r = add %a, %y\n  ret %r\n}\n",
    "graph @t(%x: f32[4], %y: f32[1]) {\n  %c = lt %x, 0.0\n  %r = where %c, %y, %y\n  ret %r\n}\n",
    "graph @t(%x: f32[4], %s: f32[]) {\n  %r = where true, %s, %x\n  ret %r\n}\n",
};

static void near_misses_stay(void **state)
{
    static const char *const passes[] = {"fold", "simplify"};
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(silent); i++) {
        fixture f;
        fixture_init(&f);
        fixture_parse(&f, silent[i]);
        size_t before = f.g->nodes.count;
        assert_int_equal(llfi_passes_run(f.cx, f.g, passes, 2, &f.state, &f.plan), LLF_OK);
        for (uint32_t rule = 0; rule < LLFI_RULES; rule++)
            if (f.state.fired[rule])
                fail_msg("rule %u fired on\n%s", rule, silent[i]);
        assert_int_equal(f.g->nodes.count, before);
        fixture_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rule_fires),
                                       cmocka_unit_test(near_misses_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
