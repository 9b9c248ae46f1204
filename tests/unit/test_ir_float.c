/* test_ir_float.c: number formats against exact arithmetic: every 16-bit value is built from its integer
 * fields with ldexp in f64, where all of them and the midpoints between them are exact. */
#include "ir/float.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

typedef struct {
    llf_dtype dtype;
    int exponent_bits, fraction_bits;
} layout;
static const layout layouts[] = {{LLF_F16, 5, 10}, {LLF_BF16, 8, 7}};

static uint32_t f32_bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static uint64_t f64_bits(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static uint16_t from_f64(llf_dtype dtype, double x)
{
    return dtype == LLF_F16 ? llfi_f16_from_f64(x) : llfi_bf16_from_f64(x);
}

static float to_f32(llf_dtype dtype, uint16_t bits)
{
    return dtype == LLF_F16 ? llfi_f32_from_f16(bits) : llfi_f32_from_bf16(bits);
}

/* Value of a non-negative finite code by the definition of the format. */
static double value_of(const layout *l, uint32_t code)
{
    int bias = (1 << (l->exponent_bits - 1)) - 1;
    int exponent = (int)(code >> l->fraction_bits);
    int fraction = (int)(code & ((1u << l->fraction_bits) - 1));
    if (exponent == 0)
        return ldexp(fraction, 1 - bias - l->fraction_bits);
    return ldexp(fraction + (1 << l->fraction_bits), exponent - bias - l->fraction_bits);
}

static uint32_t infinity_of(const layout *l)
{
    return ((1u << l->exponent_bits) - 1) << l->fraction_bits;
}

static void test_every_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const layout *l = &layouts[i];
        for (uint32_t code = 0; code < 0x10000; code++) {
            uint32_t magnitude = code & 0x7fff;
            float wide = to_f32(l->dtype, (uint16_t)code);
            double exact = llfi_bits_to_f64(l->dtype, code);
            if (magnitude > infinity_of(l)) {
                assert_true(isnan(wide) && isnan(exact));
                assert_true(llfi_bits_nan(l->dtype, code));
                uint16_t back = from_f64(l->dtype, exact);
                assert_int_equal(back & 0x8000, code & 0x8000);
                assert_true(llfi_bits_nan(l->dtype, back));
                continue;
            }
            assert_false(llfi_bits_nan(l->dtype, code));
            double want = magnitude == infinity_of(l) ? (double)INFINITY : value_of(l, magnitude);
            if (code & 0x8000)
                want = -want;
            assert_int_equal(f64_bits(exact), f64_bits(want));
            assert_int_equal(f32_bits(wide), f32_bits((float)want));
            assert_int_equal(from_f64(l->dtype, (double)wide), code);
            assert_int_equal(llfi_bits_from_f64(l->dtype, exact), code);
        }
    }
}

/* Between neighbours: the midpoint goes to the even one, one f64 ulp to either side goes to the nearer. The
 * last neighbour of the largest finite value is the first power of two beyond, which is infinity. */
static void test_every_midpoint(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const layout *l = &layouts[i];
        for (uint32_t low = 0; low < infinity_of(l); low++) {
            double a = value_of(l, low), b = value_of(l, low + 1);
            double mid = a + (b - a) / 2;
            uint32_t even = low & 1 ? low + 1 : low;
            assert_int_equal(from_f64(l->dtype, mid), even);
            assert_int_equal(from_f64(l->dtype, -mid), even | 0x8000);
            assert_int_equal(from_f64(l->dtype, nextafter(mid, 0)), low);
            assert_int_equal(from_f64(l->dtype, nextafter(mid, INFINITY)), low + 1);
            assert_int_equal(from_f64(l->dtype, -nextafter(mid, 0)), low | 0x8000);
            assert_int_equal(from_f64(l->dtype, -nextafter(mid, INFINITY)), (low + 1) | 0x8000);
            assert_int_equal(from_f64(l->dtype, (double)nextafterf((float)mid, 0)), low);
            assert_int_equal(from_f64(l->dtype, (double)nextafterf((float)mid, INFINITY)), low + 1);
        }
    }
}

/* f32 against the processor's own conversion, over patterns of all exponents. */
static void test_f32_from_f64(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (uint32_t i = 0; i < 2000000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = seed ^ seed >> 29;
        if (i & 1) /* exponents near f32's range, where rounding happens */
            bits = (bits & 0x800fffffffffffffu) | (uint64_t)(1023 - 155 + (seed >> 33) % 290) << 52;
        if (i & 2) /* midpoints of f32 and their neighbours */
            bits = (bits & ~(uint64_t)0x1fffffff) | (0x10000000 + (i >> 2) % 3 - 1);
        double x;
        memcpy(&x, &bits, sizeof x);
        uint64_t got = llfi_bits_from_f64(LLF_F32, x);
        if (isnan(x)) {
            assert_true(llfi_bits_nan(LLF_F32, got));
            continue;
        }
        volatile double operand = x;
        float want = (float)operand;
        assert_int_equal(got, f32_bits(want));
        assert_int_equal(f64_bits(llfi_bits_to_f64(LLF_F32, got)), f64_bits((double)want));
        assert_int_equal(llfi_bits_from_f64(LLF_F64, x), bits);
    }
    assert_int_equal(f64_bits(llfi_bits_to_f64(LLF_F32, 1)), f64_bits(0x1p-149));
    assert_int_equal(f64_bits(llfi_bits_to_f64(LLF_F32, 0x807fffff)), f64_bits(-0x1.fffffcp-127));
}

/* SEMANTICS B03: one rounding only. */
static void test_b03_one_rounding(void **state)
{
    (void)state;
    assert_int_equal(llfi_f16_from_f64(1 + 0x1p-11 + 0x1p-30), 0x3c01); /* 1.00097656; by way of f32: 1.0 */
    assert_int_equal(llfi_bf16_from_f64(1 + 0x1p-8 + 0x1p-40), 0x3f81); /* 1.0078125; by way of f32: 1.0 */
    static const float in[] = {3.14159274f, 1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 0.1f};
    static const double want[] = {3.140625, 1.0, 1.015625, 0.10009765625};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(f32_bits(llfi_f32_from_bf16(llfi_bf16_from_f64((double)in[i]))),
                         f32_bits((float)want[i]));
    assert_int_equal(f32_bits(llfi_f32_from_f16(llfi_f16_from_f64(1.0 / 3))), f32_bits(0.333251953125f));
    /* the same at the edge of subnormals: 2^-25 is half of the least f16 */
    assert_int_equal(llfi_f16_from_f64(0x1p-25), 0);
    assert_int_equal(llfi_f16_from_f64(0x1p-25 + 0x1p-70), 1);
    assert_int_equal(llfi_f16_from_f64(-0x1p-26), 0x8000);
    assert_int_equal(llfi_bf16_from_f64(0x1p-134), 0);
    assert_int_equal(llfi_bf16_from_f64(-(0x1p-134 + 0x1p-180)), 0x8001);
    assert_int_equal(llfi_f16_from_f64(0x1p-1074), 0);
    assert_int_equal(llfi_bf16_from_f64(-0x1p-1074), 0x8000);
    assert_int_equal(llfi_f16_from_f64(65520), 0x7c00);
    assert_int_equal(llfi_f16_from_f64(65519.99), 0x7bff);
    assert_int_equal(llfi_f16_from_f64(-1e308), 0xfc00);
}

static void test_integers(void **state)
{
    (void)state;
    assert_int_equal(llfi_bits_from_i64(LLF_I32, -1), 0xffffffffu);
    assert_int_equal(llfi_bits_from_i64(LLF_I32, ((int64_t)1 << 32) + 5), 5);
    assert_true(llfi_bits_from_i64(LLF_I64, INT64_MIN) == (uint64_t)1 << 63);
    assert_true(llfi_bits_to_i64(LLF_I32, 0x80000000u) == INT32_MIN);
    assert_true(llfi_bits_to_i64(LLF_I64, UINT64_MAX) == -1);
    assert_int_equal(llfi_bits_from_i64(LLF_BOOL, 256), 1);
    assert_int_equal(llfi_bits_from_i64(LLF_BOOL, 0), 0);
    assert_true(llfi_bits_to_i64(LLF_BOOL, 1) == 1);
    assert_false(llfi_bits_nan(LLF_I32, 0x7fc00000u));
}

static void test_load_store(void **state)
{
    (void)state;
    static const llf_dtype dtypes[] = {LLF_F64, LLF_F32, LLF_F16, LLF_BF16, LLF_I32, LLF_I64, LLF_BOOL};
    static const unsigned bytes[] = {8, 4, 2, 2, 4, 8, 1};
    uint64_t pattern = 0xf1e2d3c4b5a69788u;
    for (size_t i = 0; i < 7; i++) {
        unsigned char buffer[24];
        memset(buffer, 0x5a, sizeof buffer);
        llfi_bits_store(dtypes[i], buffer + 9, pattern); /* an odd address */
        uint64_t mask = bytes[i] == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * bytes[i]) - 1;
        uint64_t want = dtypes[i] == LLF_BOOL ? 1 : pattern & mask; /* any byte but 0 is true */
        assert_true(llfi_bits_load(dtypes[i], buffer + 9) == want);
        for (size_t at = 0; at < sizeof buffer; at++)
            if (at < 9 || at >= 9 + bytes[i])
                assert_int_equal(buffer[at], 0x5a);
    }
}

static void test_ulp_distance(void **state)
{
    (void)state;
    assert_int_equal(llfi_ulp_distance(LLF_F32, 0, 0x80000000u), 0);
    assert_int_equal(llfi_ulp_distance(LLF_F32, 1, 0x80000001u), 2);
    assert_int_equal(llfi_ulp_distance(LLF_F32, 0x3f800000, 0x3f7fffff), 1);
    assert_int_equal(llfi_ulp_distance(LLF_F32, 0x7f7fffff, 0x7f800000), 1);
    assert_int_equal(llfi_ulp_distance(LLF_F32, 0x7fc00001, 0xffc00000u), 0);
    assert_true(llfi_ulp_distance(LLF_F32, 0x7fc00001, 0x7f800000) == UINT64_MAX);
    assert_int_equal(llfi_ulp_distance(LLF_BF16, 0x3f80, 0x3f83), 3);
    assert_int_equal(llfi_ulp_distance(LLF_F16, 0xfc00, 0xfbfe), 2);
    assert_true(llfi_ulp_distance(LLF_F64, f64_bits(-INFINITY), f64_bits(INFINITY)) ==
                2 * 0x7ff0000000000000u);
    assert_true(llfi_ulp_distance(LLF_I64, (uint64_t)1 << 63, (uint64_t)INT64_MAX) == UINT64_MAX);
    assert_int_equal(llfi_ulp_distance(LLF_I32, 0xffffffffu, 1), 2);
    assert_int_equal(llfi_ulp_distance(LLF_BOOL, 0, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code),   cmocka_unit_test(test_every_midpoint),
        cmocka_unit_test(test_f32_from_f64), cmocka_unit_test(test_b03_one_rounding),
        cmocka_unit_test(test_integers),     cmocka_unit_test(test_load_store),
        cmocka_unit_test(test_ulp_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
