/* eval.c: one element of one primitive: bits in, bits out. Written to be checked by reading: every row
 * decodes its operands to f64 (or int64), computes, and encodes once. It must not be fast, and shares nothing
 * with lowering.
 *
 * Why f64 serves as the intermediate of f32, f16 and bf16: sums, quotients and square roots of p-bit numbers,
 * rounded to 53 bits and then to p bits, are correctly rounded when 53 >= 2p + 2 (Figueroa, "When is double
 * rounding innocuous?", 1995), and products of p-bit numbers are exact. That holds into subnormal results,
 * whose midpoints have fewer bits. It does not hold for fma and for int64 operands: those round to odd first.
 */
#include "interp/interp.h"
#include "ir/float.h"

#include <math.h>

static uint64_t of_f64(llf_dtype dtype, double x)
{
    return llfi_bits_from_f64(dtype, x);
}

/* Wrap-around is defined for unsigned numbers only, so integer rows compute on these. */
static uint64_t of_u64(llf_dtype dtype, uint64_t x)
{
    return llfi_bits_from_i64(dtype, (int64_t)x);
}

static double f64_arg(llf_dtype dtype, uint64_t bits)
{
    return llfi_bits_to_f64(dtype, bits);
}

static uint64_t u64_arg(llf_dtype dtype, uint64_t bits)
{
    return (uint64_t)llfi_bits_to_i64(dtype, bits);
}

static uint64_t sign_bit(llf_dtype dtype)
{
    return (uint64_t)1 << (8 * llfi_dtypes[dtype].bytes - 1);
}

/* ---- moves and casts */

uint64_t llfi_eval_COPY(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)from, (void)to;
    return arg[0];
}

uint64_t llfi_eval_WHERE(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)from, (void)to;
    return arg[0] ? arg[1] : arg[2];
}

static int64_t saturate(llf_dtype to, double x)
{
    int64_t least = to == LLF_I32 ? INT32_MIN : INT64_MIN, most = to == LLF_I32 ? INT32_MAX : INT64_MAX;
    double bound = to == LLF_I32 ? 0x1p31 : 0x1p63; /* one past the greatest; exact, unlike INT64_MAX */
    if (isnan(x))
        return 0;
    x = trunc(x);
    return x >= bound ? most : x < -bound ? least : (int64_t)x;
}

/* An integer as f64 rounded to odd: a later rounding to at most 51 bits is then a single rounding of the
 * integer. */
static double odd_of_i64(int64_t x)
{
    uint64_t magnitude = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    int drop = 0;
    while (magnitude >> drop >> 53)
        drop++;
    uint64_t kept = magnitude >> drop;
    if (kept << drop != magnitude)
        kept |= 1;
    double wide = ldexp((double)kept, drop);
    return x < 0 ? -wide : wide;
}

uint64_t llfi_eval_CAST(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    if (llfi_dtype_is_float(from)) {
        double x = f64_arg(from, arg[0]);
        if (llfi_dtype_is_float(to))
            return of_f64(to, x);
        if (to == LLF_BOOL)
            return x != 0; /* true for NaN */
        return llfi_bits_from_i64(to, saturate(to, x));
    }
    int64_t x = llfi_bits_to_i64(from, arg[0]);
    if (to == LLF_F64)
        return of_f64(to, (double)x);
    if (llfi_dtype_is_float(to))
        return of_f64(to, odd_of_i64(x));
    return llfi_bits_from_i64(to, x);
}

/* ---- arithmetic */

uint64_t llfi_eval_ADD(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    if (llfi_dtype_is_float(from))
        return of_f64(to, f64_arg(from, arg[0]) + f64_arg(from, arg[1]));
    return of_u64(to, u64_arg(from, arg[0]) + u64_arg(from, arg[1]));
}

uint64_t llfi_eval_SUB(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    if (llfi_dtype_is_float(from))
        return of_f64(to, f64_arg(from, arg[0]) - f64_arg(from, arg[1]));
    return of_u64(to, u64_arg(from, arg[0]) - u64_arg(from, arg[1]));
}

uint64_t llfi_eval_MUL(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    if (llfi_dtype_is_float(from))
        return of_f64(to, f64_arg(from, arg[0]) * f64_arg(from, arg[1]));
    return of_u64(to, u64_arg(from, arg[0]) * u64_arg(from, arg[1]));
}

uint64_t llfi_eval_DIV(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    return of_f64(to, f64_arg(from, arg[0]) / f64_arg(from, arg[1]));
}

uint64_t llfi_eval_SQRT(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    return of_f64(to, sqrt(f64_arg(from, arg[0])));
}

uint64_t llfi_eval_NEG(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    if (llfi_dtype_is_float(from))
        return arg[0] ^ sign_bit(from);
    return of_u64(to, 0 - u64_arg(from, arg[0]));
}

uint64_t llfi_eval_ABS(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    if (llfi_dtype_is_float(from))
        return arg[0] & ~sign_bit(from);
    uint64_t x = u64_arg(from, arg[0]);
    return of_u64(to, x >> 63 ? 0 - x : x); /* u64_arg extends the sign of narrower integers */
}

/* x + y rounded to odd: the exact sum's last bit is sticky, so that a later rounding to at most 51 bits is
 * single. The error of a sum is exact (Knuth's TwoSum) because nothing here over- or underflows f64. */
static double add_odd(double x, double y)
{
    double sum = x + y;
    if (!isfinite(sum))
        return sum;
    double part = sum - x;
    double error = (x - (sum - part)) + (y - part);
    uint64_t bits = llfi_bits_from_f64(LLF_F64, sum);
    if (error != 0 && !(bits & 1)) /* away from zero when the error has the sum's sign, else towards it */
        bits = signbit(error) == signbit(sum) ? bits + 1 : bits - 1;
    return llfi_bits_to_f64(LLF_F64, bits);
}

uint64_t llfi_eval_FMA(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    double a = f64_arg(from, arg[0]), b = f64_arg(from, arg[1]), c = f64_arg(from, arg[2]);
    if (from == LLF_F64)
        return of_f64(to, fma(a, b, c));
    return of_f64(to, add_odd(a * b, c)); /* the product has at most 48 bits */
}

/* ---- order */

/* -1, 0, 1; 2: unordered. */
static int compare(llf_dtype dtype, uint64_t a, uint64_t b)
{
    if (llfi_dtype_is_float(dtype)) {
        double x = f64_arg(dtype, a), y = f64_arg(dtype, b);
        return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
    }
    int64_t x = llfi_bits_to_i64(dtype, a), y = llfi_bits_to_i64(dtype, b);
    return (x > y) - (x < y);
}

uint64_t llfi_eval_EQ(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)to;
    return compare(from, arg[0], arg[1]) == 0;
}

uint64_t llfi_eval_NE(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)to;
    return compare(from, arg[0], arg[1]) != 0;
}

uint64_t llfi_eval_LT(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)to;
    return compare(from, arg[0], arg[1]) == -1;
}

uint64_t llfi_eval_LE(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)to;
    return compare(from, arg[0], arg[1]) <= 0;
}

uint64_t llfi_eval_GT(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)to;
    return compare(from, arg[0], arg[1]) == 1;
}

uint64_t llfi_eval_GE(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)to;
    int order = compare(from, arg[0], arg[1]);
    return order == 0 || order == 1;
}

/* IEEE 754-2019 section 9.6: a NaN wins; of two zeros the positive one is the greater. */
static uint64_t extreme(llf_dtype dtype, const uint64_t *arg, int sign)
{
    int order = compare(dtype, arg[0], arg[1]) * sign;
    if (order == 2 || order == -2)
        return llfi_bits_nan(dtype, arg[0]) ? arg[0] : arg[1];
    if (order == 0 && llfi_dtype_is_float(dtype)) { /* differ in the sign of zero at most */
        uint64_t both = arg[0] & arg[1], either = arg[0] | arg[1];
        return sign > 0 ? both : either;
    }
    return order >= 0 ? arg[0] : arg[1];
}

uint64_t llfi_eval_MAXIMUM(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)to;
    return extreme(from, arg, 1);
}

uint64_t llfi_eval_MINIMUM(llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    (void)to;
    return extreme(from, arg, -1);
}

/* ---- functions: narrower floats in f64, f64 in long double, rounded once */

static uint64_t function(llf_dtype dtype, uint64_t x, double narrow(double), long double wide(long double))
{
    if (dtype == LLF_F64)
        return of_f64(dtype, (double)wide((long double)f64_arg(dtype, x)));
    return of_f64(dtype, narrow(f64_arg(dtype, x)));
}

static double reciprocal_sqrt(double x)
{
    return 1 / sqrt(x);
}

static long double reciprocal_sqrtl(long double x)
{
    return 1 / sqrtl(x);
}

#define FUNCTION(id, narrow, wide)                                             \
    uint64_t llfi_eval_##id(llf_dtype from, llf_dtype to, const uint64_t *arg) \
    {                                                                          \
        (void)to;                                                              \
        return function(from, arg[0], narrow, wide);                           \
    }
FUNCTION(RSQRT, reciprocal_sqrt, reciprocal_sqrtl)
FUNCTION(EXP, exp, expl)
FUNCTION(EXP2, exp2, exp2l)
FUNCTION(LOG, log, logl)
FUNCTION(LOG1P, log1p, log1pl)
FUNCTION(TANH, tanh, tanhl)
FUNCTION(SIN, sin, sinl)
FUNCTION(COS, cos, cosl)
FUNCTION(ERF, erf, erfl)
#undef FUNCTION

/* ---- the table */

static llfi_eval_fn *const rows[LLF_OPS] = {
#define EW(id, ...) [LLF_OP_##id] = llfi_eval_##id,
#include "llfuse/ops.def"
};

uint64_t llfi_eval(llf_op op, llf_dtype from, llf_dtype to, const uint64_t *arg)
{
    assert(op < LLF_OPS && rows[op] && "an elementwise primitive");
    return rows[op](from, to, arg);
}

uint32_t llfi_eval_operand(llf_op op)
{
    return llfi_ops[op].sig[0] == 'b'; /* a condition stands before the values */
}

llf_dtype llfi_eval_from(const llf_graph *g, llf_id id)
{
    const llfi_node *node = llfi_node_at(g, id);
    if (node->arity == 0)
        return llfi_dtype_of(g, id);
    return llfi_dtype_of(g, llfi_args(g, node)[llfi_eval_operand((llf_op)node->op)]);
}

uint64_t llfi_ulp_bound(llf_op op, llf_dtype dtype)
{
    assert(op < LLF_OPS && llfi_ops[op].cls != LLFI_CLASS_COMPOSITE &&
           "composites have no bound of their own");
    if (op == LLF_OP_SOFTMAX_STATS) /* of S: 2 for its functions, the rest for roundings of the sums of two */
        return 32;
    if (llfi_ops[op].cls != LLFI_CLASS_EW || (llfi_ops[op].flags & LLF_F_EXACT))
        return 0;
    return llfi_dtype_is_float16(dtype) ? 1 : 2;
}
