/* Demand lists: what is in them, in which order, and that equal kernels hash alike whatever their ids and
 * names. */
#include "limits.h"
#include "lower_graph.h"

#include <stdlib.h>

static llfi_demands make(fixture *f)
{
    llfi_demands d;
    assert_int_equal(llfi_demands_make(f->g, &f->kernel, &f->arena, &d), LLF_OK);
    return d;
}

static void leaves_come_first_and_operands_before_users(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), y = input(&f, "y", LLF_F32), s = llf_scalar(f.g, "s", LLF_F32);
    llf_id two = llf_const(f.g, LLF_F32, 2.0);
    llf_id k = llf_mul(f.g, s, two); /* the same for the whole kernel */
    llf_id a = llf_mul(f.g, x, k), b = llf_add(f.g, a, y), c = llf_add(f.g, b, a);
    assert_int_equal(llf_output(f.g, c), LLF_OK);
    assert_int_equal(llf_output(f.g, a), LLF_OK);
    whole(&f, x);
    llfi_demands d = make(&f);
    const llf_id node[] = {s, two, k, x, y, a, b, c};
    const int leaf[] = {1, 1, 0, 1, 1, 0, 0, 0};
    assert_int_equal(d.count, 8);
    assert_int_equal(d.uniform, 3);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(d.at[i].node, node[i]);
        assert_int_equal(d.at[i].leaf, leaf[i]);
        assert_int_equal(d.at[i].scope, i >= 3);
        assert_int_equal(d.at[i].offset, LLFI_OFFSET_LINEAR);
    }
    assert_int_equal(d.at[2].arg[0], 0);
    assert_int_equal(d.at[2].arg[1], 1);
    assert_int_equal(d.at[5].arg[0], 3);
    assert_int_equal(d.at[5].arg[1], 2);
    assert_int_equal(d.at[7].arg[0], 6);
    assert_int_equal(d.at[7].arg[1], 5);
    assert_null(d.at[0].arg);
    assert_int_equal(d.store[0], 7);
    assert_int_equal(d.store[1], 5);
    fixture_free(&f);
}

static void values_of_other_kernels_are_loaded(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), a = llf_exp(f.g, x), b = llf_neg(f.g, a);
    assert_int_equal(llf_output(f.g, b), LLF_OK);
    whole(&f, x);
    f.kernel.member[0] = b; /* a belongs to another kernel */
    f.kernel.members = 1;
    llfi_demands d = make(&f);
    assert_int_equal(d.count, 2);
    assert_int_equal(d.at[0].node, a);
    assert_int_equal(d.at[0].leaf, 1);
    assert_int_equal(d.at[1].node, b);
    fixture_free(&f);
}

static void what_no_store_needs_is_left_out(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), y = input(&f, "y", LLF_F32);
    (void)llf_exp(f.g, y);
    assert_int_equal(llf_output(f.g, llf_neg(f.g, x)), LLF_OK);
    whole(&f, x);
    llfi_demands d = make(&f);
    assert_int_equal(d.count, 2);
    fixture_free(&f);
}

static void a_kernel_of_rank_0_has_one_element(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = llf_input(f.g, "x", LLF_F32, 0, NULL), s = llf_scalar(f.g, "s", LLF_F32);
    llf_id y = llf_mul(f.g, x, s);
    assert_int_equal(llf_output(f.g, y), LLF_OK);
    whole(&f, x);
    llfi_demands d = make(&f);
    assert_int_equal(d.count, 3);
    assert_int_equal(d.uniform, 1);
    assert_int_equal(d.at[0].node, s);
    assert_int_equal(d.at[1].node, x);
    assert_int_equal(d.at[1].offset, LLFI_OFFSET_LINEAR);
    assert_int_equal(d.at[2].node, y);
    fixture_free(&f);
}

static void a_malformed_kernel_is_refused(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), a = llf_neg(f.g, x);
    llfi_demands d;
    assert_int_equal(llf_output(f.g, a), LLF_OK);
    whole(&f, x);
    f.kernel.store[0] = x; /* not computed here */
    assert_int_equal(llfi_demands_make(f.g, &f.kernel, &f.arena, &d), LLF_E_INTERNAL);
    f.kernel.store[0] = a;
    f.kernel.member[1] = a; /* twice */
    f.kernel.members = 2;
    assert_int_equal(llfi_demands_make(f.g, &f.kernel, &f.arena, &d), LLF_E_INTERNAL);
    fixture_free(&f);
}

/* Depth is not recursion, and each node is made once however often it is used. */
static void a_deep_chain_with_shared_values_stays_linear(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_I32), v = x;
    for (int i = 0; i < DEPTH; i++)
        v = llf_add(f.g, v, v);
    assert_int_equal(llf_output(f.g, v), LLF_OK);
    whole(&f, x);
    llfi_demands d = make(&f);
    assert_int_equal(d.count, DEPTH + 1);
    assert_int_equal(d.at[DEPTH].arg[0], DEPTH - 1);
    fixture_free(&f);
}

/* ---- hashes */

typedef struct {
    llf_dtype t;
    double literal;
    bool sub, shuffled, scalar, twice;
} variant;

static uint64_t hash(variant v)
{
    fixture f = fixture_make();
    llf_id a, b;
    if (v.shuffled) { /* other ids, other names, other shape; the same kernel */
        (void)input(&f, "unused", LLF_I64);
        int64_t dims[2] = {3, 5};
        b = llf_input(f.g, "q", v.t, 2, dims);
        a = v.scalar ? llf_scalar(f.g, "p", v.t) : llf_input(f.g, "p", v.t, 2, dims);
    } else {
        a = v.scalar ? llf_scalar(f.g, "a", v.t) : input(&f, "a", v.t);
        b = input(&f, "b", v.t);
    }
    llf_id c = llf_const(f.g, v.t, v.literal);
    llf_id m = v.sub ? llf_sub(f.g, a, b) : llf_add(f.g, a, b);
    llf_id r = llf_mul(f.g, m, c);
    assert_int_equal(llf_output(f.g, r), LLF_OK);
    if (v.twice)
        assert_int_equal(llf_output(f.g, m), LLF_OK);
    whole(&f, b);
    llfi_demands d = make(&f);
    uint64_t h = llfi_demands_hash(f.g, &d, &f.kernel);
    fixture_free(&f);
    return h;
}

static void equal_kernels_hash_alike(void **state)
{
    (void)state;
    assert_true(hash((variant){.t = LLF_F32, .literal = 2}) ==
                hash((variant){.t = LLF_F32, .literal = 2, .shuffled = true}));
    assert_true(hash((variant){.t = LLF_BF16, .literal = 2, .scalar = true}) ==
                hash((variant){.t = LLF_BF16, .literal = 2, .scalar = true, .shuffled = true}));
}

static void different_kernels_hash_apart(void **state)
{
    (void)state;
    const variant all[] = {{.t = LLF_F32, .literal = 2},
                           {.t = LLF_F32, .literal = 3},
                           {.t = LLF_F32, .literal = 0.0},
                           {.t = LLF_F32, .literal = -0.0},
                           {.t = LLF_F16, .literal = 2},
                           {.t = LLF_BF16, .literal = 2},
                           {.t = LLF_F32, .literal = 2, .sub = true},
                           {.t = LLF_F32, .literal = 2, .scalar = true},
                           {.t = LLF_F32, .literal = 2, .twice = true}};
    for (size_t i = 0; i < LLFI_COUNT(all); i++)
        for (size_t j = 0; j < i; j++)
            assert_false(hash(all[i]) == hash(all[j]));
}

/* The order of a non-commuting op's operands is part of the kernel. */
static void operand_order_is_hashed(void **state)
{
    (void)state;
    uint64_t h[2];
    for (int swap = 0; swap < 2; swap++) {
        fixture f = fixture_make();
        llf_id a = input(&f, "a", LLF_F32), e = llf_exp(f.g, a);
        assert_int_equal(llf_output(f.g, swap ? llf_sub(f.g, e, a) : llf_sub(f.g, a, e)), LLF_OK);
        whole(&f, a);
        llfi_demands d = make(&f);
        h[swap] = llfi_demands_hash(f.g, &d, &f.kernel);
        fixture_free(&f);
    }
    assert_false(h[0] == h[1]);
}

/* ---- out of memory: each allocation in turn */

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), v = x;
    for (int i = 0; i < 40; i++)
        v = llf_exp(f.g, v);
    assert_int_equal(llf_output(f.g, v), LLF_OK);
    whole(&f, x);
    int64_t allowed;
    const llf_allocator tight = {limits_resize, &allowed};
    int failures = 0;
    for (int n = 0;; n++) {
        llfi_arena arena;
        llfi_demands d;
        allowed = n;
        llfi_arena_init(&arena, &tight);
        llf_status status = llfi_demands_make(f.g, &f.kernel, &arena, &d);
        llfi_arena_destroy(&arena);
        if (status == LLF_OK)
            break;
        assert_int_equal(status, LLF_E_NOMEM);
        failures++;
    }
    assert_true(failures >= 2); /* the arena and the map at least */
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_come_first_and_operands_before_users),
        cmocka_unit_test(values_of_other_kernels_are_loaded),
        cmocka_unit_test(what_no_store_needs_is_left_out),
        cmocka_unit_test(a_kernel_of_rank_0_has_one_element),
        cmocka_unit_test(a_malformed_kernel_is_refused),
        cmocka_unit_test(a_deep_chain_with_shared_values_stays_linear),
        cmocka_unit_test(equal_kernels_hash_alike),
        cmocka_unit_test(different_kernels_hash_apart),
        cmocka_unit_test(operand_order_is_hashed),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
