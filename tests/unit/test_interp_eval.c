/* test_interp_eval.c: each row of the interpreter against something else that knows the answer: the
 * processor's f32 and f64 arithmetic, exact comparisons with rounding midpoints, tables from rationals and
 * mpmath (gen_interp_tables.py), and the bits that IEEE 754-2019 or a public report prescribes. */
#include "interp/interp.h"
#include "ir/float.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
// clang-format off
#include <cmocka.h>
#include "interp_tables.h"
// clang-format on

static uint64_t f32(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static float to_f32(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static uint64_t f64(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static double to_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t random_bits(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ *seed >> 33;
}

static uint64_t eval1(llf_op op, llf_dtype dtype, uint64_t a)
{
    return llfi_eval(op, dtype, dtype, &a);
}

static uint64_t eval2(llf_op op, llf_dtype from, llf_dtype to, uint64_t a, uint64_t b)
{
    return llfi_eval(op, from, to, (const uint64_t[]){a, b});
}

static uint64_t eval3(llf_op op, llf_dtype dtype, uint64_t a, uint64_t b, uint64_t c)
{
    return llfi_eval(op, dtype, dtype, (const uint64_t[]){a, b, c});
}

static uint64_t cast(llf_dtype from, llf_dtype to, uint64_t a)
{
    return llfi_eval(LLF_OP_CAST, from, to, &a);
}

#define SAME(dtype, got, want)                                                                              \
    do {                                                                                                    \
        uint64_t got_ = (got), want_ = (want);                                                              \
        if (!(llfi_bits_nan(dtype, got_) && llfi_bits_nan(dtype, want_)) && got_ != want_)                  \
            fail_msg("%s: got %llx, want %llx", #got, (unsigned long long)got_, (unsigned long long)want_); \
    } while (0)

/* Specials, values close to each other, and arbitrary patterns. */
static uint64_t operand(uint64_t *seed, llf_dtype dtype)
{
    static const uint32_t f32_special[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000,
                                           0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000};
    uint64_t r = random_bits(seed), kind = random_bits(seed) % 8;
    int bytes = dtype == LLF_F64 ? 8 : dtype == LLF_F32 ? 4 : 2;
    if (kind == 0 && dtype == LLF_F32)
        return f32_special[r % 10];
    if (kind == 0 && dtype == LLF_F64)
        return (uint64_t)f32_special[r % 10] << 32;
    if (kind < 4 && dtype == LLF_F32) /* near 1, few bits: sums and products tie */
        return (r & 0x803ff000) | 0x3f000000 | (r >> 40 & 0x00800000);
    if (kind < 4 && dtype == LLF_F64)
        return (r & 0x800fffffe0000000u) | 0x3fe0000000000000u;
    return bytes == 8 ? r : r >> 11 & (((uint64_t)1 << 8 * bytes) - 1);
}

static void test_f32_f64_as_processor(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 400000; i++) {
        uint64_t a = operand(&seed, LLF_F32), b = operand(&seed, LLF_F32), c = operand(&seed, LLF_F32);
        volatile float x = to_f32(a), y = to_f32(b), z = to_f32(c);
        SAME(LLF_F32, eval2(LLF_OP_ADD, LLF_F32, LLF_F32, a, b), f32(x + y));
        SAME(LLF_F32, eval2(LLF_OP_SUB, LLF_F32, LLF_F32, a, b), f32(x - y));
        SAME(LLF_F32, eval2(LLF_OP_MUL, LLF_F32, LLF_F32, a, b), f32(x * y));
        SAME(LLF_F32, eval2(LLF_OP_DIV, LLF_F32, LLF_F32, a, b), f32(x / y));
        SAME(LLF_F32, eval1(LLF_OP_SQRT, LLF_F32, a), f32(sqrtf(x)));
        SAME(LLF_F32, eval3(LLF_OP_FMA, LLF_F32, a, b, c), f32(fmaf(x, y, z)));
        assert_int_equal(eval2(LLF_OP_LT, LLF_F32, LLF_BOOL, a, b), x < y);
        assert_int_equal(eval2(LLF_OP_GE, LLF_F32, LLF_BOOL, a, b), x >= y);
    }
    for (int i = 0; i < 200000; i++) {
        uint64_t a = operand(&seed, LLF_F64), b = operand(&seed, LLF_F64), c = operand(&seed, LLF_F64);
        volatile double x = to_f64(a), y = to_f64(b), z = to_f64(c);
        SAME(LLF_F64, eval2(LLF_OP_ADD, LLF_F64, LLF_F64, a, b), f64(x + y));
        SAME(LLF_F64, eval2(LLF_OP_SUB, LLF_F64, LLF_F64, a, b), f64(x - y));
        SAME(LLF_F64, eval2(LLF_OP_MUL, LLF_F64, LLF_F64, a, b), f64(x * y));
        SAME(LLF_F64, eval2(LLF_OP_DIV, LLF_F64, LLF_F64, a, b), f64(x / y));
        SAME(LLF_F64, eval1(LLF_OP_SQRT, LLF_F64, a), f64(sqrt(x)));
        SAME(LLF_F64, eval3(LLF_OP_FMA, LLF_F64, a, b, c), f64(fma(x, y, z)));
    }
}

/* f32 -> bf16 by adding half of the last place but one, the usual trick: not the code under test. */
static uint64_t bf16_of_f32(float x)
{
    uint32_t b = (uint32_t)f32(x);
    if (isnan(x))
        return 0x7fc0;
    return (b + 0x7fff + (b >> 16 & 1)) >> 16;
}

/* bf16 by way of f32 hardware: 24 >= 2 * 8 + 2, so the second rounding is innocuous. Overflow of f32 and
 * subnormals of bf16, which are subnormals of f32 too, are the same in both. */
static void test_bf16_by_f32(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 1000000; i++) {
        uint64_t a = operand(&seed, LLF_BF16), b = operand(&seed, LLF_BF16);
        if (i & 1) /* exponents close to each other */
            b = (b & 0x80ff) | (a & 0x7f00);
        volatile float x = to_f32(a << 16), y = to_f32(b << 16);
        SAME(LLF_BF16, eval2(LLF_OP_ADD, LLF_BF16, LLF_BF16, a, b), bf16_of_f32(x + y));
        SAME(LLF_BF16, eval2(LLF_OP_SUB, LLF_BF16, LLF_BF16, a, b), bf16_of_f32(x - y));
        volatile float product = x * y, quotient = x / y;
        if (fabsf(product) >= 0x1p-126f || product == 0) /* f32 has rounded what lies below */
            SAME(LLF_BF16, eval2(LLF_OP_MUL, LLF_BF16, LLF_BF16, a, b), bf16_of_f32(product));
        if (fabsf(quotient) >= 0x1p-126f || quotient == 0)
            SAME(LLF_BF16, eval2(LLF_OP_DIV, LLF_BF16, LLF_BF16, a, b), bf16_of_f32(quotient));
        SAME(LLF_BF16, eval1(LLF_OP_SQRT, LLF_BF16, a), bf16_of_f32(sqrtf(x)));
    }
}

/* Code `got` of a 16-bit format is the nearest to exact: `side(m)` compares m with the exact result. */
static void nearest(llf_dtype dtype, uint64_t got, int side(double m, double a, double b), double a, double b)
{
    uint64_t magnitude = got & 0x7fff, top = dtype == LLF_F16 ? 0x7c00 : 0x7f80;
    double sign = got & 0x8000 ? -1 : 1;
    double step = dtype == LLF_F16 ? 65536 : 0x1p128; /* what infinity's code would be worth */
    double here = magnitude == top ? step : llfi_bits_to_f64(dtype, magnitude);
    if (magnitude > 0) {
        double low = (here + llfi_bits_to_f64(dtype, magnitude - 1)) / 2;
        int s = side(sign * low, a, b) *
                (int)sign; /* < 0: the exact result is farther from zero, as it must be */
        assert_true(s < 0 || (s == 0 && !(magnitude & 1)));
    }
    if (magnitude < top) {
        double next = magnitude + 1 == top ? step : llfi_bits_to_f64(dtype, magnitude + 1);
        int s = side(sign * ((here + next) / 2), a, b) * (int)sign;
        assert_true(s > 0 || (s == 0 && !(magnitude & 1)));
    }
}

/* m, with at most 12 bits, against a / b: m * b is exact in f64. */
static int side_div(double m, double a, double b)
{
    double product = m * b;
    return ((product > a) - (product < a)) * (b < 0 ? -1 : 1);
}

static int side_sqrt(double m, double a, double b)
{
    (void)b;
    return (m * m > a) - (m * m < a);
}

static int side_mul(double m, double a, double b)
{
    return (m > a * b) - (m < a * b);
}

static int side_add(double m, double a, double b) /* f16 only: a + b is exact in f64 */
{
    return (m > a + b) - (m < a + b);
}

static void test_16bit_nearest(void **state)
{
    (void)state;
    static const llf_dtype dtypes[] = {LLF_F16, LLF_BF16};
    uint64_t seed = 5;
    for (int i = 0; i < 2000000; i++) {
        llf_dtype dtype = dtypes[i & 1];
        uint64_t a = operand(&seed, dtype), b = operand(&seed, dtype);
        double x = llfi_bits_to_f64(dtype, a), y = llfi_bits_to_f64(dtype, b);
        if (!isfinite(x) || !isfinite(y))
            continue;
        if (y != 0 && x != 0)
            nearest(dtype, eval2(LLF_OP_DIV, dtype, dtype, a, b), side_div, x, y);
        if (x > 0)
            nearest(dtype, eval1(LLF_OP_SQRT, dtype, a), side_sqrt, x, 0);
        if (y != 0 && x != 0)
            nearest(dtype, eval2(LLF_OP_MUL, dtype, dtype, a, b), side_mul, x, y);
        if (dtype == LLF_F16 && x + y != 0)
            nearest(dtype, eval2(LLF_OP_ADD, dtype, dtype, a, b), side_add, x, y);
    }
}

static void test_fma_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(fma_table); i++)
        SAME(fma_table[i].dtype,
             eval3(LLF_OP_FMA, fma_table[i].dtype, fma_table[i].a, fma_table[i].b, fma_table[i].c),
             fma_table[i].want);
}

static void test_function_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(function_table); i++) {
        llf_dtype dtype = function_table[i].dtype;
        uint64_t got = eval1(function_table[i].op, dtype, function_table[i].x);
        /* 64 bits of a long double leave one rounding in a thousand undecided. */
        uint64_t off = llfi_ulp_distance(dtype, got, function_table[i].want);
        if (off > (dtype == LLF_F64))
            fail_msg("%s %s(%llx): got %llx, want %llx", llfi_ops[function_table[i].op].name,
                     llfi_dtypes[dtype].name, (unsigned long long)function_table[i].x,
                     (unsigned long long)got, (unsigned long long)function_table[i].want);
    }
}

/* C17 annex F, the same for every float dtype. */
static void test_function_specials(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan = (double)NAN;
    const struct {
        llf_op op;
        double x, want;
    } cases[] = {
        {LLF_OP_RSQRT, 0.0, inf},  {LLF_OP_RSQRT, -0.0, -inf}, {LLF_OP_RSQRT, inf, 0.0},
        {LLF_OP_RSQRT, -1, nan},   {LLF_OP_RSQRT, 4, 0.5},     {LLF_OP_EXP, -inf, 0.0},
        {LLF_OP_EXP, inf, inf},    {LLF_OP_EXP, -0.0, 1},      {LLF_OP_EXP2, -inf, 0.0},
        {LLF_OP_EXP2, inf, inf},   {LLF_OP_EXP2, 3, 8},        {LLF_OP_LOG, 0.0, -inf},
        {LLF_OP_LOG, -0.0, -inf},  {LLF_OP_LOG, 1, 0.0},       {LLF_OP_LOG, -1, nan},
        {LLF_OP_LOG, inf, inf},    {LLF_OP_LOG1P, -0.0, -0.0}, {LLF_OP_LOG1P, -1, -inf},
        {LLF_OP_LOG1P, -2, nan},   {LLF_OP_LOG1P, inf, inf},   {LLF_OP_TANH, -0.0, -0.0},
        {LLF_OP_TANH, inf, 1},     {LLF_OP_TANH, -inf, -1},    {LLF_OP_SIN, -0.0, -0.0},
        {LLF_OP_SIN, inf, nan},    {LLF_OP_COS, -0.0, 1},      {LLF_OP_COS, -inf, nan},
        {LLF_OP_ERF, -0.0, -0.0},  {LLF_OP_ERF, inf, 1},       {LLF_OP_ERF, -inf, -1},
        {LLF_OP_SQRT, -0.0, -0.0}, {LLF_OP_SQRT, -inf, nan},   {LLF_OP_SQRT, inf, inf},
    };
    static const llf_dtype dtypes[] = {LLF_F64, LLF_F32, LLF_F16, LLF_BF16};
    for (size_t d = 0; d < 4; d++) {
        for (size_t i = 0; i < LLFI_COUNT(cases); i++)
            SAME(dtypes[d], eval1(cases[i].op, dtypes[d], llfi_bits_from_f64(dtypes[d], cases[i].x)),
                 llfi_bits_from_f64(dtypes[d], cases[i].want));
        for (int op = LLF_OP_SQRT; op <= LLF_OP_ERF; op++)
            assert_true(
                llfi_bits_nan(dtypes[d], eval1((llf_op)op, dtypes[d], llfi_bits_from_f64(dtypes[d], nan))));
    }
}

static void test_b01_extremes(void **state)
{
    (void)state;
    static const llf_dtype dtypes[] = {LLF_F64, LLF_F32, LLF_F16, LLF_BF16};
    const double nan = (double)NAN;
    const double a[] = {nan, 1, nan, -2, -0.0, 0.0, -0.0}, b[] = {1, nan, nan, 3, 0.0, -0.0, -0.0};
    const double most[] = {nan, nan, nan, 3, 0.0, 0.0, -0.0}, least[] = {nan, nan, nan, -2, -0.0, -0.0, -0.0};
    for (size_t d = 0; d < 4; d++) {
        llf_dtype t = dtypes[d];
        for (size_t i = 0; i < LLFI_COUNT(a); i++) {
            uint64_t x = llfi_bits_from_f64(t, a[i]), y = llfi_bits_from_f64(t, b[i]);
            SAME(t, eval2(LLF_OP_MAXIMUM, t, t, x, y), llfi_bits_from_f64(t, most[i]));
            SAME(t, eval2(LLF_OP_MINIMUM, t, t, x, y), llfi_bits_from_f64(t, least[i]));
        }
        /* relu is where(x < 0, 0, x) */
        const double in[] = {nan, 1, -2, -0.0, 0.0, -1}, want[] = {nan, 1, 0.0, -0.0, 0.0, 0.0};
        for (size_t i = 0; i < LLFI_COUNT(in); i++) {
            uint64_t x = llfi_bits_from_f64(t, in[i]), zero = llfi_bits_from_f64(t, 0);
            uint64_t less = eval2(LLF_OP_LT, t, LLF_BOOL, x, zero);
            SAME(t, eval3(LLF_OP_WHERE, t, less, zero, x), llfi_bits_from_f64(t, want[i]));
        }
        uint64_t inf = llfi_bits_from_f64(t, (double)INFINITY), sign = llfi_bits_from_f64(t, -0.0);
        assert_true(eval1(LLF_OP_NEG, t, 0) == sign && eval1(LLF_OP_NEG, t, inf) == (inf | sign));
        assert_true(eval1(LLF_OP_ABS, t, sign) == 0 && eval1(LLF_OP_ABS, t, inf | sign) == inf);
    }
    assert_true(eval2(LLF_OP_MAXIMUM, LLF_I32, LLF_I32, 0xffffffff, 1) == 1);
    assert_true(eval2(LLF_OP_MINIMUM, LLF_I64, LLF_I64, (uint64_t)1 << 63, 1) == (uint64_t)1 << 63);
}

static void test_comparisons(void **state)
{
    (void)state;
    static const llf_op ops[] = {LLF_OP_EQ, LLF_OP_NE, LLF_OP_LT, LLF_OP_LE, LLF_OP_GT, LLF_OP_GE};
    const double nan = (double)NAN, inf = (double)INFINITY;
    const struct {
        double a, b;
        int want[6];
    } cases[] = {
        {1, 2, {0, 1, 1, 1, 0, 0}},      {2, 1, {0, 1, 0, 0, 1, 1}},     {1, 1, {1, 0, 0, 1, 0, 1}},
        {0.0, -0.0, {1, 0, 0, 1, 0, 1}}, {nan, 1, {0, 1, 0, 0, 0, 0}},   {1, nan, {0, 1, 0, 0, 0, 0}},
        {nan, nan, {0, 1, 0, 0, 0, 0}},  {inf, inf, {1, 0, 0, 1, 0, 1}}, {-inf, inf, {0, 1, 1, 1, 0, 0}},
    };
    static const llf_dtype dtypes[] = {LLF_F64, LLF_F32, LLF_F16, LLF_BF16};
    for (size_t d = 0; d < 4; d++)
        for (size_t i = 0; i < LLFI_COUNT(cases); i++)
            for (size_t k = 0; k < 6; k++)
                assert_int_equal(eval2(ops[k], dtypes[d], LLF_BOOL, llfi_bits_from_f64(dtypes[d], cases[i].a),
                                       llfi_bits_from_f64(dtypes[d], cases[i].b)),
                                 cases[i].want[k]);
    static const int minus_one_vs_one[] = {0, 1, 1, 1, 0, 0}, true_vs_false[] = {0, 1, 0, 0, 1, 1};
    for (size_t k = 0; k < 6; k++) {
        assert_int_equal(eval2(ops[k], LLF_I32, LLF_BOOL, 0xffffffff, 1), minus_one_vs_one[k]);
        assert_int_equal(eval2(ops[k], LLF_I64, LLF_BOOL, UINT64_MAX, 1), minus_one_vs_one[k]);
        assert_int_equal(eval2(ops[k], LLF_BOOL, LLF_BOOL, 1, 0), true_vs_false[k]);
    }
}

/* where and copy move bits: NaN payloads too. */
static void test_moves(void **state)
{
    (void)state;
    assert_true(eval3(LLF_OP_WHERE, LLF_F32, 1, 0x7fc12345, 0) == 0x7fc12345);
    assert_true(eval3(LLF_OP_WHERE, LLF_F32, 0, 0x7fc12345, 0x80000000) == 0x80000000);
    assert_true(eval1(LLF_OP_COPY, LLF_F64, 0xfff8000000000123u) == 0xfff8000000000123u);
}

static void test_b02_b04_b15(void **state)
{
    (void)state;
    /* B02 repro B, bf16: s = x + y; e = y - (s - x) is 1, not 0 */
    uint64_t x = 0x4380, y = 0x3f80;
    uint64_t s = eval2(LLF_OP_ADD, LLF_BF16, LLF_BF16, x, y);
    assert_true(s == 0x4380);
    uint64_t d = eval2(LLF_OP_SUB, LLF_BF16, LLF_BF16, s, x);
    assert_true(eval2(LLF_OP_SUB, LLF_BF16, LLF_BF16, y, d) == 0x3f80);
    /* B02: [1,2,3,4] / 3 in bf16 */
    static const double numerator[] = {1, 2, 3, 4}, want[] = {0.333984375, 0.66796875, 1, 1.3359375};
    for (size_t i = 0; i < 4; i++)
        assert_true(eval2(LLF_OP_DIV, LLF_BF16, LLF_BF16, llfi_bits_from_f64(LLF_BF16, numerator[i]),
                          0x4040) == llfi_bits_from_f64(LLF_BF16, want[i]));
    /* B04: a * x + b * x is 0 with separate roundings */
    uint64_t p = eval2(LLF_OP_MUL, LLF_F32, LLF_F32, f32(1e20f), f32(1e10f));
    uint64_t q = eval2(LLF_OP_MUL, LLF_F32, LLF_F32, f32(-1e20f), f32(1e10f));
    assert_true(eval2(LLF_OP_ADD, LLF_F32, LLF_F32, p, q) == 0);
    uint64_t contracted = eval3(LLF_OP_FMA, LLF_F32, f32(-1e20f), f32(1e10f), p);
    assert_true(contracted == f32(4.99341112e21f) || contracted == f32(-4.99341112e21f));
    /* B15: subnormals */
    static const float exponent[] = {-126, -127, -149, -150};
    static const uint64_t bits[] = {0x00800000, 0x00400000, 0x00000001, 0};
    for (size_t i = 0; i < 4; i++)
        assert_true(eval1(LLF_OP_EXP2, LLF_F32, f32(exponent[i])) == bits[i]);
    assert_true(eval2(LLF_OP_MUL, LLF_F32, LLF_F32, f32(1e-38f), f32(0.1f)) == 0x000ae398);
    assert_true(eval2(LLF_OP_MUL, LLF_F32, LLF_F32, f32(0.1875f), f32(0x1p-124f)) == 0x00600000);
}

/* SEMANTICS B03 and rule 4: every cast rounds once. */
static void test_casts_to_float(void **state)
{
    (void)state;
    assert_true(cast(LLF_F64, LLF_F16, f64(1 + 0x1p-11 + 0x1p-30)) == 0x3c01);
    assert_true(cast(LLF_F64, LLF_BF16, f64(1 + 0x1p-8 + 0x1p-40)) == 0x3f81);
    assert_true(cast(LLF_BF16, LLF_F32, cast(LLF_F32, LLF_BF16, f32(3.14159274f))) == f32(3.140625f));
    assert_true(cast(LLF_F16, LLF_F32, cast(LLF_F64, LLF_F16, f64(1.0 / 3))) == f32(0.333251953125f));
    assert_true(cast(LLF_F16, LLF_BF16, 0x3fff) == 0x4000); /* 1.999: up to 2 */
    assert_true(cast(LLF_BF16, LLF_F16, 0x4780) == 0x7c00); /* 65536: infinity */
    assert_true(
        llfi_bits_nan(LLF_F16, cast(LLF_F64, LLF_F16, 0x7ff0000000000001u))); /* payload that does not fit */
    assert_true(cast(LLF_BOOL, LLF_BF16, 1) == 0x3f80 && cast(LLF_BOOL, LLF_BF16, 0) == 0);
    assert_true(cast(LLF_BOOL, LLF_F64, 1) == f64(1) && cast(LLF_BOOL, LLF_F16, 1) == 0x3c00);

    /* a tie of the narrow format and one more, which f64 would lose */
    int64_t tie = ((int64_t)1 << 62) + ((int64_t)1 << 38);
    assert_true(cast(LLF_I64, LLF_F32, (uint64_t)tie) == f32(0x1p62f));
    assert_true(cast(LLF_I64, LLF_F32, (uint64_t)tie + 1) == f32(0x1.000002p62f));
    assert_true(cast(LLF_I64, LLF_F32, 0 - ((uint64_t)tie + 1)) == f32(-0x1.000002p62f));
    int64_t bf16_tie = ((int64_t)1 << 62) + ((int64_t)1 << 54);
    assert_true(cast(LLF_I64, LLF_BF16, (uint64_t)bf16_tie) == 0x5e80);
    assert_true(cast(LLF_I64, LLF_BF16, (uint64_t)bf16_tie + 1) == 0x5e81);
    assert_true(cast(LLF_I64, LLF_F16, 2049) == 0x6800 && cast(LLF_I32, LLF_F16, 2051) == 0x6802);
    assert_true(cast(LLF_I64, LLF_F16, 65519) == 0x7bff && cast(LLF_I64, LLF_F16, 65520) == 0x7c00);
    assert_true(cast(LLF_I64, LLF_F64, (uint64_t)1 << 63) == f64(-0x1p63));
    assert_true(cast(LLF_I64, LLF_F32, (uint64_t)1 << 63) == f32(-0x1p63f));
    uint64_t seed = 11;
    for (int i = 0; i < 300000; i++) {
        int64_t x = (int64_t)random_bits(&seed) >> (i % 64);
        if (i & 1) /* a tie of f32 and its neighbours */
            x = (int64_t)(((uint64_t)x & ~(uint64_t)0x7fffffffff) | 0x4000000000) + i % 5 - 2;
        volatile int64_t v = x;
        SAME(LLF_F32, cast(LLF_I64, LLF_F32, (uint64_t)x), f32((float)v));
        SAME(LLF_F64, cast(LLF_I64, LLF_F64, (uint64_t)x), f64((double)v));
    }
}

/* SEMANTICS B17 (signed ones) and rule 4. */
static void test_casts_to_integer(void **state)
{
    (void)state;
    const float in[] = {-1.5f, -0.9f, -1, 255.9f, 256, 300, -200, -0.0f};
    const int32_t want[] = {-1, 0, -1, 255, 256, 300, -200, 0};
    for (size_t i = 0; i < LLFI_COUNT(in); i++) {
        assert_true(cast(LLF_F32, LLF_I32, f32(in[i])) == (uint32_t)want[i]);
        assert_true(cast(LLF_F32, LLF_I64, f32(in[i])) == (uint64_t)(int64_t)want[i]);
    }
    static const llf_dtype dtypes[] = {LLF_F64, LLF_F32, LLF_F16, LLF_BF16};
    for (size_t d = 0; d < 4; d++) {
        uint64_t inf = llfi_bits_from_f64(dtypes[d], (double)INFINITY);
        uint64_t minus = llfi_bits_from_f64(dtypes[d], -(double)INFINITY);
        uint64_t nan = llfi_bits_from_f64(dtypes[d], (double)NAN);
        assert_true(cast(dtypes[d], LLF_I32, nan) == 0 && cast(dtypes[d], LLF_I64, nan) == 0);
        assert_true(cast(dtypes[d], LLF_I32, inf) == INT32_MAX && cast(dtypes[d], LLF_I64, inf) == INT64_MAX);
        assert_true(cast(dtypes[d], LLF_I32, minus) == 0x80000000u);
        assert_true(cast(dtypes[d], LLF_I64, minus) == (uint64_t)1 << 63);
        assert_true(cast(dtypes[d], LLF_BOOL, nan) == 1 && cast(dtypes[d], LLF_BOOL, minus) == 1);
        assert_true(cast(dtypes[d], LLF_BOOL, llfi_bits_from_f64(dtypes[d], -0.0)) == 0);
        assert_true(cast(dtypes[d], LLF_BOOL, 1) == 1); /* the least subnormal */
    }
    assert_true(cast(LLF_F32, LLF_I64, f32(0x1p63f)) == INT64_MAX);
    assert_true(cast(LLF_F32, LLF_I64, f32(-0x1p63f)) == (uint64_t)1 << 63);
    assert_true(cast(LLF_F64, LLF_I64, f64(0x1.fffffffffffffp62)) == 0x7ffffffffffffc00u);
    assert_true(cast(LLF_F64, LLF_I32, f64(2147483647.5)) == INT32_MAX);
    assert_true(cast(LLF_F64, LLF_I32, f64(2147483648.0)) == INT32_MAX);
    assert_true(cast(LLF_F64, LLF_I32, f64(-2147483648.9)) == 0x80000000u);
    assert_true(cast(LLF_F32, LLF_I32, f32(0x1p31f)) == INT32_MAX);
    assert_true(cast(LLF_I64, LLF_I32, 0x1ffffffffu) == 0xffffffffu); /* wraps */
    assert_true(cast(LLF_I32, LLF_I64, 0x80000000u) == 0xffffffff80000000u);
    assert_true(cast(LLF_I64, LLF_BOOL, (uint64_t)1 << 32) == 1 && cast(LLF_I32, LLF_BOOL, 0) == 0);
    assert_true(cast(LLF_BOOL, LLF_I64, 1) == 1 && cast(LLF_BOOL, LLF_BOOL, 1) == 1);
}

static void test_integers_wrap(void **state)
{
    (void)state;
    const uint64_t min64 = (uint64_t)1 << 63, min32 = 0x80000000u;
    assert_true(eval2(LLF_OP_ADD, LLF_I32, LLF_I32, INT32_MAX, 1) == min32);
    assert_true(eval2(LLF_OP_ADD, LLF_I64, LLF_I64, INT64_MAX, 1) == min64);
    assert_true(eval2(LLF_OP_SUB, LLF_I32, LLF_I32, min32, 1) == INT32_MAX);
    assert_true(eval2(LLF_OP_SUB, LLF_I64, LLF_I64, 0, 1) == UINT64_MAX);
    assert_true(eval2(LLF_OP_MUL, LLF_I32, LLF_I32, 65537, 65537) == 131073);
    assert_true(eval2(LLF_OP_MUL, LLF_I32, LLF_I32, min32, 0xffffffffu) == min32);
    assert_true(eval2(LLF_OP_MUL, LLF_I64, LLF_I64, min64, UINT64_MAX) == min64);
    assert_true(eval2(LLF_OP_MUL, LLF_I64, LLF_I64, 0x100000001u, 0x100000001u) == 0x200000001u);
    assert_true(eval1(LLF_OP_NEG, LLF_I32, min32) == min32 && eval1(LLF_OP_ABS, LLF_I32, min32) == min32);
    assert_true(eval1(LLF_OP_NEG, LLF_I64, min64) == min64 && eval1(LLF_OP_ABS, LLF_I64, min64) == min64);
    assert_true(eval1(LLF_OP_NEG, LLF_I32, 1) == 0xffffffffu && eval1(LLF_OP_ABS, LLF_I32, 0xfffffffbu) == 5);
    assert_true(eval1(LLF_OP_ABS, LLF_I64, UINT64_MAX - 6) == 7);
}

static void test_bounds(void **state)
{
    (void)state;
    assert_int_equal(llfi_ulp_bound(LLF_OP_EXP, LLF_F32), 2);
    assert_int_equal(llfi_ulp_bound(LLF_OP_ERF, LLF_F64), 2);
    assert_int_equal(llfi_ulp_bound(LLF_OP_TANH, LLF_F16), 1);
    assert_int_equal(llfi_ulp_bound(LLF_OP_SIN, LLF_BF16), 1);
    assert_int_equal(llfi_ulp_bound(LLF_OP_SQRT, LLF_F32), 0);
    assert_int_equal(llfi_ulp_bound(LLF_OP_FMA, LLF_BF16), 0);
    assert_int_equal(llfi_ulp_bound(LLF_OP_CAST, LLF_F16), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32_f64_as_processor),
        cmocka_unit_test(test_bf16_by_f32),
        cmocka_unit_test(test_16bit_nearest),
        cmocka_unit_test(test_fma_table),
        cmocka_unit_test(test_function_table),
        cmocka_unit_test(test_function_specials),
        cmocka_unit_test(test_b01_extremes),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_b02_b04_b15),
        cmocka_unit_test(test_casts_to_float),
        cmocka_unit_test(test_casts_to_integer),
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
