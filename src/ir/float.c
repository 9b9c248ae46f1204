/* float.c: conversions between number formats in integer code, so that neither the caller's rounding mode nor
 * a flush-to-zero bit can change a literal, a fold or the oracle. It must not do floating-point arithmetic.
 */
#include "ir/float.h"

#include <assert.h>
#include <string.h>

/* A binary interchange format: stored fraction bits and exponent bias (IEEE 754-2019 table 3.5; bf16 is the
 * upper half of binary32). */
typedef struct {
    int fraction, bias;
} format;

static const format f64 = {52, 1023}, f32 = {23, 127}, f16 = {10, 15}, bf16 = {7, 127};

static const format *format_of(llf_dtype dtype)
{
    switch (dtype) {
    case LLF_F64: return &f64;
    case LLF_F32: return &f32;
    case LLF_F16: return &f16;
    case LLF_BF16: return &bf16;
    case LLF_I32:
    case LLF_I64:
    case LLF_BOOL:
    case LLF_DTYPES: break;
    }
    return NULL;
}

static int sign_shift(const format *f)
{
    return f == &f64 ? 63 : f == &f32 ? 31 : 15;
}

/* Bits of +infinity: the biased exponent is all ones, 2 * bias + 1. */
static uint64_t infinity(const format *f)
{
    return ((uint64_t)f->bias * 2 + 1) << f->fraction;
}

static uint64_t bits_of_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double f64_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The f64 bits of a value of a narrower format; exact. NaNs keep sign and payload. */
static uint64_t widen(const format *f, uint64_t bits)
{
    uint64_t sign = bits >> sign_shift(f) & 1;
    uint64_t magnitude = bits & (((uint64_t)1 << sign_shift(f)) - 1);
    uint64_t exponent = magnitude >> f->fraction;
    uint64_t fraction = magnitude & (((uint64_t)1 << f->fraction) - 1);
    int up = f64.fraction - f->fraction;

    if (magnitude >= infinity(f))
        return sign << 63 | infinity(&f64) | fraction << up;
    if (magnitude == 0)
        return sign << 63;
    if (exponent == 0) { /* subnormal: shift the leading one up to where the hidden bit stands */
        exponent = 1;
        while (!(fraction >> f->fraction)) {
            fraction <<= 1;
            exponent--; /* may wrap below 0; the sum below is taken modulo 2^64 */
        }
        fraction &= ((uint64_t)1 << f->fraction) - 1;
    }
    exponent += (uint64_t)(f64.bias - f->bias);
    return sign << 63 | exponent << f64.fraction | fraction << up;
}

/* f64 bits to the nearest value of a narrower format, ties to even. NaNs become quiet and keep what fits of
 * the payload. */
static uint64_t narrow(const format *f, uint64_t bits)
{
    uint64_t sign = (bits >> 63) << sign_shift(f);
    uint64_t magnitude = bits & (UINT64_MAX >> 1);
    int exponent = (int)(magnitude >> f64.fraction) - f64.bias;
    uint64_t fraction = magnitude & (((uint64_t)1 << f64.fraction) - 1);
    int drop = f64.fraction - f->fraction;

    if (magnitude > infinity(&f64))
        return sign | infinity(f) | (uint64_t)1 << (f->fraction - 1) | fraction >> drop;
    if (exponent > f->bias)
        return sign | infinity(f);

    /* Below the least normal exponent the last place no longer moves: more bits are dropped. */
    int least = 1 - f->bias;
    bool normal = exponent >= least;
    if (!normal)
        drop += least - exponent;
    if (drop > f64.fraction + 2) /* under half of the least subnormal; f64's own zeros and subnormals too */
        return sign;
    uint64_t significand = fraction | (uint64_t)1 << f64.fraction;
    uint64_t kept = significand >> drop;
    uint64_t lost = significand & (((uint64_t)1 << drop) - 1);
    uint64_t half = (uint64_t)1 << (drop - 1);
    kept += lost > half || (lost == half && (kept & 1));
    /* `kept` holds the hidden bit of a normal, which raises the exponent field by one; a carry out of the
     * fraction does the same, up to infinity. */
    if (normal)
        kept += (uint64_t)(exponent + f->bias - 1) << f->fraction;
    return sign | kept;
}

float llfi_f32_from_bf16(uint16_t bits)
{
    return f32_of_bits((uint32_t)bits << 16);
}

float llfi_f32_from_f16(uint16_t bits)
{
    uint64_t wide = widen(&f16, bits);
    /* Every f16 is a normal f32 (or zero, infinity, NaN): rebias instead of rounding. */
    uint32_t sign = (uint32_t)(wide >> 63) << 31;
    uint64_t magnitude = wide & (UINT64_MAX >> 1);
    if (magnitude == 0)
        return f32_of_bits(sign);
    uint32_t fraction = (uint32_t)(magnitude >> (f64.fraction - f32.fraction)) & ((1u << f32.fraction) - 1);
    uint32_t exponent = (uint32_t)(magnitude >> f64.fraction);
    exponent = magnitude >= infinity(&f64) ? 255 : exponent - (uint32_t)(f64.bias - f32.bias);
    return f32_of_bits(sign | exponent << f32.fraction | fraction);
}

uint16_t llfi_f16_from_f64(double x)
{
    return (uint16_t)narrow(&f16, bits_of_f64(x));
}

uint16_t llfi_bf16_from_f64(double x)
{
    return (uint16_t)narrow(&bf16, bits_of_f64(x));
}

double llfi_bits_to_f64(llf_dtype dtype, uint64_t bits)
{
    const format *f = format_of(dtype);
    assert(f && "a float dtype");
    if (!f)
        return 0;
    return f64_of_bits(f == &f64 ? bits : widen(f, bits));
}

uint64_t llfi_bits_from_f64(llf_dtype dtype, double x)
{
    const format *f = format_of(dtype);
    assert(f && "a float dtype");
    if (!f)
        return 0;
    return f == &f64 ? bits_of_f64(x) : narrow(f, bits_of_f64(x));
}

int64_t llfi_bits_to_i64(llf_dtype dtype, uint64_t bits)
{
    if (dtype == LLF_I64)
        return (int64_t)bits;
    if (dtype == LLF_I32)
        return (int32_t)(uint32_t)bits;
    assert(dtype == LLF_BOOL && "an integer dtype or bool");
    return bits != 0;
}

uint64_t llfi_bits_from_i64(llf_dtype dtype, int64_t value)
{
    if (dtype == LLF_I64)
        return (uint64_t)value;
    if (dtype == LLF_I32)
        return (uint32_t)(uint64_t)value;
    assert(dtype == LLF_BOOL && "an integer dtype or bool");
    return value != 0;
}

uint64_t llfi_bits_load(llf_dtype dtype, const void *p)
{
    uint64_t wide;
    uint32_t word;
    uint16_t half;
    switch (llf_dtype_size(dtype)) {
    case 8: memcpy(&wide, p, sizeof wide); return wide;
    case 4: memcpy(&word, p, sizeof word); return word;
    case 2: memcpy(&half, p, sizeof half); return half;
    default: break;
    }
    unsigned char byte = *(const unsigned char *)p;
    return dtype == LLF_BOOL ? byte != 0 : byte; /* any byte but 0 is true, as on the targets */
}

void llfi_bits_store(llf_dtype dtype, void *p, uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    uint16_t half = (uint16_t)bits;
    switch (llf_dtype_size(dtype)) {
    case 8: memcpy(p, &bits, sizeof bits); break;
    case 4: memcpy(p, &word, sizeof word); break;
    case 2: memcpy(p, &half, sizeof half); break;
    default: *(unsigned char *)p = (unsigned char)bits; break;
    }
}

bool llfi_bits_nan(llf_dtype dtype, uint64_t bits)
{
    const format *f = format_of(dtype);
    return f && (bits & (((uint64_t)1 << sign_shift(f)) - 1)) > infinity(f);
}

uint64_t llfi_ulp_distance(llf_dtype dtype, uint64_t a, uint64_t b)
{
    const format *f = format_of(dtype);
    if (!f) {
        int64_t x = llfi_bits_to_i64(dtype, a), y = llfi_bits_to_i64(dtype, b);
        return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    }
    bool nan_a = llfi_bits_nan(dtype, a), nan_b = llfi_bits_nan(dtype, b);
    if (nan_a || nan_b)
        return nan_a && nan_b ? 0 : UINT64_MAX;
    uint64_t sign = (uint64_t)1 << sign_shift(f);
    uint64_t up_a = a & (sign - 1), up_b = b & (sign - 1);
    if ((a & sign) != (b & sign))
        return up_a + up_b;
    return up_a > up_b ? up_a - up_b : up_b - up_a;
}
