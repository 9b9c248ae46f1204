/* soft16.c: see soft16.h. Must not emit fptrunc/fpext to or from half or bfloat, calls, or branches. All
 * float arithmetic below is exact or rounds normal numbers only, so that a flush mode of the host could not
 * change it, save f64 -> f32 of values under 2^-126. */
#include "target/soft16.h"

static LLVMValueRef u32c(llfi_emit *e, uint32_t v)
{
    return llfi_emit_splat(e, LLVMConstInt(e->i32, v, false), e->width);
}

static LLVMValueRef u64c(llfi_emit *e, uint64_t v)
{
    return llfi_emit_splat(e, LLVMConstInt(e->i64, v, false), e->width);
}

/* Exponents are rebased by integer addition; a subnormal gets an implicit one and has it subtracted again in
 * f32, exactly. */
static LLVMValueRef widen_f16(llfi_emit *e, LLVMValueRef bits)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef wide = LLVMBuildZExt(b, bits, llfi_emit_vec(e->i32, e->width), "");
    LLVMValueRef sign = LLVMBuildShl(b, LLVMBuildAnd(b, wide, u32c(e, 0x8000), ""), u32c(e, 16), "");
    LLVMValueRef mag = LLVMBuildShl(b, LLVMBuildAnd(b, wide, u32c(e, 0x7fff), ""), u32c(e, 13), "");
    LLVMValueRef normal = LLVMBuildAdd(b, mag, u32c(e, 112u << 23), "");
    LLVMValueRef special = LLVMBuildAdd(b, mag, u32c(e, 224u << 23), "");
    LLVMValueRef lifted = llfi_emit_as(e, e->f32, LLVMBuildAdd(b, mag, u32c(e, 113u << 23), ""));
    LLVMValueRef base = llfi_emit_as(e, e->f32, u32c(e, 113u << 23)); /* 2^-14 */
    LLVMValueRef subnormal = llfi_emit_as(e, e->i32, LLVMBuildFSub(b, lifted, base, ""));
    LLVMValueRef is_special = LLVMBuildICmp(b, LLVMIntUGE, mag, u32c(e, 31u << 23), "");
    LLVMValueRef is_small = LLVMBuildICmp(b, LLVMIntULT, mag, u32c(e, 1u << 23), "");
    LLVMValueRef r = LLVMBuildSelect(b, is_special, special, normal, "");
    r = LLVMBuildSelect(b, is_small, subnormal, r, "");
    return llfi_emit_as(e, e->f32, LLVMBuildOr(b, r, sign, ""));
}

LLVMValueRef llfi_soft16_widen(llfi_emit *e, llf_dtype from, LLVMValueRef bits)
{
    if (from == LLF_F16)
        return widen_f16(e, bits);
    LLVMValueRef wide = LLVMBuildZExt(e->b, bits, llfi_emit_vec(e->i32, e->width), "");
    return llfi_emit_as(e, e->f32, LLVMBuildShl(e->b, wide, u32c(e, 16), ""));
}

static LLVMValueRef narrow_bf16(llfi_emit *e, LLVMValueRef x)
{
    LLVMBuilderRef b = e->b;
    LLVMTypeRef i16v = llfi_emit_vec(e->i16, e->width);
    LLVMValueRef u = llfi_emit_as(e, e->i32, x);
    LLVMValueRef top = LLVMBuildLShr(b, u, u32c(e, 16), "");
    LLVMValueRef even = LLVMBuildAnd(b, top, u32c(e, 1), "");
    LLVMValueRef up = LLVMBuildAdd(b, LLVMBuildAdd(b, u, u32c(e, 0x7fff), ""), even, "");
    LLVMValueRef rounded = LLVMBuildLShr(b, up, u32c(e, 16), "");
    LLVMValueRef quiet = LLVMBuildOr(b, top, u32c(e, 0x40), "");
    LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
    return LLVMBuildTrunc(b, LLVMBuildSelect(b, nan, quiet, rounded, ""), i16v, "");
}

/* Adding 0.5 lines a subnormal result's unit up with the last place of f32, so that the add itself rounds. */
static LLVMValueRef narrow_f16(llfi_emit *e, LLVMValueRef x)
{
    LLVMBuilderRef b = e->b;
    LLVMTypeRef i16v = llfi_emit_vec(e->i16, e->width);
    LLVMValueRef u = llfi_emit_as(e, e->i32, x);
    LLVMValueRef mag = LLVMBuildAnd(b, u, u32c(e, 0x7fffffff), "");
    LLVMValueRef sign = LLVMBuildLShr(b, LLVMBuildAnd(b, u, u32c(e, 0x80000000u), ""), u32c(e, 16), "");
    LLVMValueRef half = llfi_emit_as(e, e->f32, u32c(e, 126u << 23));
    LLVMValueRef small = llfi_emit_as(e, e->i32, LLVMBuildFAdd(b, llfi_emit_as(e, e->f32, mag), half, ""));
    small = LLVMBuildSub(b, small, u32c(e, 126u << 23), "");
    LLVMValueRef even = LLVMBuildAnd(b, LLVMBuildLShr(b, mag, u32c(e, 13), ""), u32c(e, 1), "");
    /* (15 - 127) << 23, plus half a unit less one */
    LLVMValueRef rebased = LLVMBuildAdd(b, mag, u32c(e, 0xc8000fffu), "");
    LLVMValueRef normal = LLVMBuildLShr(b, LLVMBuildAdd(b, rebased, even, ""), u32c(e, 13), "");
    LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntUGT, mag, u32c(e, 0x7f800000), "");
    LLVMValueRef special = LLVMBuildSelect(b, is_nan, u32c(e, 0x7e00), u32c(e, 0x7c00), "");
    LLVMValueRef is_big = LLVMBuildICmp(b, LLVMIntUGE, mag, u32c(e, 143u << 23), "");
    LLVMValueRef is_small = LLVMBuildICmp(b, LLVMIntULT, mag, u32c(e, 113u << 23), "");
    LLVMValueRef r = LLVMBuildSelect(b, is_big, special, normal, "");
    r = LLVMBuildSelect(b, is_small, small, r, "");
    return LLVMBuildTrunc(b, LLVMBuildOr(b, r, sign, ""), i16v, "");
}

LLVMValueRef llfi_soft16_narrow_f32(llfi_emit *e, llf_dtype to, LLVMValueRef x)
{
    return to == LLF_F16 ? narrow_f16(e, x) : narrow_bf16(e, x);
}

LLVMValueRef llfi_soft16_round_odd(llfi_emit *e, LLVMValueRef x)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef f = LLVMBuildFPTrunc(b, x, llfi_emit_vec(e->f32, e->width), "");
    LLVMValueRef back = LLVMBuildFPExt(b, f, llfi_emit_vec(e->f64, e->width), "");
    LLVMValueRef bits = llfi_emit_as(e, e->i32, f);
    LLVMValueRef mask = u64c(e, INT64_MAX);
    LLVMValueRef had = LLVMBuildAnd(b, llfi_emit_as(e, e->i64, x), mask, "");
    LLVMValueRef got = LLVMBuildAnd(b, llfi_emit_as(e, e->i64, back), mask, "");
    LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, back, x, "");
    LLVMValueRef is_even = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, bits, u32c(e, 1), ""), u32c(e, 0), "");
    LLVMValueRef above = LLVMBuildICmp(b, LLVMIntUGT, got, had, "");
    LLVMValueRef step = LLVMBuildSelect(b, above, u32c(e, UINT32_MAX), u32c(e, 1), "");
    LLVMValueRef move = LLVMBuildAnd(b, inexact, is_even, "");
    LLVMValueRef odd = LLVMBuildAdd(b, bits, step, "");
    return llfi_emit_as(e, e->f32, LLVMBuildSelect(b, move, odd, bits, ""));
}

LLVMValueRef llfi_soft16_narrow_f64(llfi_emit *e, llf_dtype to, LLVMValueRef x)
{
    return llfi_soft16_narrow_f32(e, to, llfi_soft16_round_odd(e, x));
}

/* a * b + c exact to a rounding to odd in f64. The product is exact there; Knuth's TwoSum gives the sum's
 * error, whose sign decides the rounding to odd.
 */
static LLVMValueRef fma_odd(llfi_emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMBuilderRef lb = e->b;
    LLVMTypeRef f64v = llfi_emit_vec(e->f64, e->width);
    LLVMValueRef p = LLVMBuildFMul(lb, LLVMBuildFPExt(lb, a, f64v, ""), LLVMBuildFPExt(lb, b, f64v, ""), "");
    LLVMValueRef q = LLVMBuildFPExt(lb, c, f64v, "");
    LLVMValueRef s = LLVMBuildFAdd(lb, p, q, "");
    LLVMValueRef q1 = LLVMBuildFSub(lb, s, p, "");
    LLVMValueRef p1 = LLVMBuildFSub(lb, s, q1, "");
    LLVMValueRef err = LLVMBuildFAdd(lb, LLVMBuildFSub(lb, p, p1, ""), LLVMBuildFSub(lb, q, q1, ""), "");
    LLVMValueRef bits = llfi_emit_as(e, e->i64, s);
    LLVMValueRef inexact = LLVMBuildFCmp(lb, LLVMRealONE, err, llfi_emit_f64c(e, 0.0), "");
    LLVMValueRef is_even =
        LLVMBuildICmp(lb, LLVMIntEQ, LLVMBuildAnd(lb, bits, u64c(e, 1), ""), u64c(e, 0), "");
    LLVMValueRef differ = LLVMBuildXor(lb, bits, llfi_emit_as(e, e->i64, err), "");
    LLVMValueRef below = LLVMBuildICmp(lb, LLVMIntSLT, differ, u64c(e, 0), ""); /* |exact| < |s| */
    LLVMValueRef step = LLVMBuildSelect(lb, below, u64c(e, UINT64_MAX), u64c(e, 1), "");
    LLVMValueRef move = LLVMBuildAnd(lb, inexact, is_even, "");
    return llfi_emit_as(e, e->f64, LLVMBuildSelect(lb, move, LLVMBuildAdd(lb, bits, step, ""), bits, ""));
}

LLVMValueRef llfi_soft16_fma(llfi_emit *e, llf_dtype dtype, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef sum = fma_odd(e, a, b, c);
    return llfi_soft16_widen(e, dtype, llfi_soft16_narrow_f64(e, dtype, sum));
}
