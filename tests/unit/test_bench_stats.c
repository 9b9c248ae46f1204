/* Order statistics of llfuse-bench and its seeded data. Expected quantiles: numpy.quantile(v, q), worked by
 * hand from its definition: v[k] + f * (v[k + 1] - v[k]) with k + f = q * (n - 1). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/data.c"
#include "bench/stats.c"

static void quantiles_interpolate(void **state)
{
    (void)state;
    double v[] = {9, 1, 4, 16, 25, 36}; /* sorted 1 4 9 16 25 36; 0.2 * 5 = 1, 0.5 * 5 = 2.5, 0.8 * 5 = 4 */
    bench_stat s = bench_stat_of(v, 6);
    assert_true(s.median == 12.5 && s.p20 == 4 && s.p80 == 25);
    assert_int_equal(s.samples, 6);
    double w[] = {3, 1, 2, 4}; /* 0.2 * 3 = 0.6 -> 1.6; 1.5 -> 2.5; 2.4 -> 3.4 */
    s = bench_stat_of(w, 4);
    assert_true(fabs(s.p20 - 1.6) < 1e-12 && s.median == 2.5 && fabs(s.p80 - 3.4) < 1e-12);
}

static void one_sample_and_none(void **state)
{
    (void)state;
    double v[] = {7};
    bench_stat s = bench_stat_of(v, 1);
    assert_true(s.median == 7 && s.p20 == 7 && s.p80 == 7);
    assert_true(isnan(bench_stat_of(v, 0).median));
}

/* Moments of a million draws; the bounds are six standard errors. */
static void normal_data_are_normal(void **state)
{
    (void)state;
    bench_data d = {.dist = BENCH_NORMAL};
    bench_tensor t;
    assert_true(bench_tensor_make(&t, LLF_F32, 1000000, &d, 5));
    double sum = 0, square = 0;
    for (int64_t i = 0; i < t.numel; i++) {
        double x = llfi_bits_to_f64(LLF_F32, bench_tensor_bits(&t, i));
        sum += x;
        square += x * x;
    }
    assert_true(fabs(sum / 1e6) < 0.006);
    assert_true(fabs(square / 1e6 - 1) < 0.0085); /* variance of x^2 is 2 */
    bench_tensor_free(&t);
}

static void data_repeat_after_the_period_and_follow_the_seed(void **state)
{
    (void)state;
    bench_data d = {.dist = BENCH_NORMAL};
    bench_tensor a, b;
    assert_true(bench_tensor_make(&a, LLF_F32, 3000000, &d, 5));
    assert_true(bench_tensor_make(&b, LLF_F32, 100, &d, 6));
    assert_int_equal(a.elements, BENCH_PERIOD);
    assert_int_equal(bench_tensor_bits(&a, 17), bench_tensor_bits(&a, 17 + (int64_t)BENCH_PERIOD));
    assert_int_not_equal(bench_tensor_bits(&a, 17), bench_tensor_bits(&a, 18));
    assert_int_not_equal(bench_tensor_bits(&a, 17), bench_tensor_bits(&b, 17));
    bench_tensor_free(&a);
    bench_tensor_free(&b);
}

/* 7,000 draws of 7 values: 1,000 each, give or take six standard deviations of 29.3. */
static void indices_stay_below_their_bound(void **state)
{
    (void)state;
    bench_data d = {.dist = BENCH_BELOW, .below = 7};
    bench_tensor t;
    int count[7] = {0};
    assert_true(bench_tensor_make(&t, LLF_I64, 7000, &d, 3));
    for (int64_t i = 0; i < 7000; i++) {
        assert_true(bench_tensor_bits(&t, i) < 7);
        count[bench_tensor_bits(&t, i)]++;
    }
    for (int i = 0; i < 7; i++)
        assert_true(count[i] > 824 && count[i] < 1176);
    bench_tensor_free(&t);
}

/* A tensor that shares another's block has its elements, from a place of its own on. */
static void shared_contents_are_shifted(void **state)
{
    (void)state;
    bench_data d = {.dist = BENCH_NORMAL};
    bench_tensor a, b, none;
    assert_true(bench_tensor_make(&a, LLF_F32, 10000, &d, 5));
    b = bench_tensor_like(&a, 1);
    for (int64_t i = 0; i < 10000; i++)
        assert_int_equal(bench_tensor_bits(&b, i), bench_tensor_bits(&a, (i + 7919) % 10000));
    bench_tensor_free(&b);
    bench_tensor_free(&a);
    assert_true(bench_tensor_make(&a, LLF_F32, 0, &d, 5));
    none = bench_tensor_like(&a, 1);
    assert_int_equal(bench_tensor_bits(&none, 0), 0);
    bench_tensor_free(&none);
    bench_tensor_free(&a);
}

static void specials_are_there(void **state)
{
    (void)state;
    bench_data d = {.dist = BENCH_SPECIALS};
    bench_tensor t;
    bool nan = false, inf = false, minus_zero = false, subnormal = false;
    assert_true(bench_tensor_make(&t, LLF_BF16, 1000, &d, 1));
    for (int64_t i = 0; i < 1000; i++) {
        uint64_t bits = bench_tensor_bits(&t, i);
        nan |= (bits & 0x7FFF) > 0x7F80;
        inf |= (bits & 0x7FFF) == 0x7F80;
        minus_zero |= bits == 0x8000;
        subnormal |= (bits & 0x7F80) == 0 && (bits & 0x7F);
    }
    assert_true(nan && inf && minus_zero && subnormal);
    bench_tensor_free(&t);
}

static void a_number_fills_and_absolute_values_are_not_negative(void **state)
{
    (void)state;
    bench_data value = {.dist = BENCH_VALUE, .value = 0.5}, positive = {.dist = BENCH_ABS_NORMAL};
    bench_tensor t;
    assert_true(bench_tensor_make(&t, LLF_F32, 10, &value, 1));
    for (int64_t i = 0; i < 10; i++)
        assert_int_equal(bench_tensor_bits(&t, i), 0x3F000000);
    bench_tensor_free(&t);
    assert_true(bench_tensor_make(&t, LLF_F32, 1000, &positive, 1));
    for (int64_t i = 0; i < 1000; i++)
        assert_false(bench_tensor_bits(&t, i) >> 31);
    bench_tensor_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(one_sample_and_none),
        cmocka_unit_test(normal_data_are_normal),
        cmocka_unit_test(data_repeat_after_the_period_and_follow_the_seed),
        cmocka_unit_test(indices_stay_below_their_bound),
        cmocka_unit_test(shared_contents_are_shifted),
        cmocka_unit_test(specials_are_there),
        cmocka_unit_test(a_number_fills_and_absolute_values_are_not_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
