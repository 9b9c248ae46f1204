/* div.c: correctly rounded f32 division and square root. div.rn and sqrt.rn bring a subroutine into the
 * kernel: the driver's compiler then needs three times as long and twelve registers more. These stay
 * straight: all lanes take the fast road, and what it is not right for is redone in f64 by rare.c. Fast: an
 * approximation, one Newton step, corrections by exact remainders (P. Markstein, "Computation of elementary
 * functions on the IBM RISC System/6000 processor", 1990); right while nothing overflows or loses bits to
 * subnormals. Rare: the same in f64, whose second rounding to f32 is innocuous, since 53 >= 2 * 24 + 2 (S.
 * Figueroa, "When is double rounding innocuous?", 1995), and a quotient of two floats is never within 2^-48
 * of a tie of its own unless it is that tie. Proved on the device by tests/gpu/gpu_division.c. Must not be
 * given f64. */
#include "target/nvptx/nvptx.h"

static LLVMValueRef minus(llfi_emit *e, LLVMValueRef a)
{
    return LLVMBuildFNeg(e->b, a, "");
}

/* A scalar intrinsic on every lane. */
static LLVMValueRef approximate(llfi_emit *e, const char *name, LLVMValueRef x)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id) {
        e->status = llfi_fail(e->diag, LLF_E_LLVM, "this LLVM has no intrinsic %s", name);
        return x;
    }
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, NULL, 0);
    return llfi_emit_by_lane(e, LLVMIntrinsicGetType(e->lx, id, NULL, 0), f, x);
}

static LLVMValueRef bits(llfi_emit *e, LLVMValueRef x)
{
    return llfi_emit_as(e, e->i32, x);
}

/* i1: does any lane of an i32 vector reach `limit`, unsigned, once all are or-ed (their top bits decide)? */
static LLVMValueRef any_reaches(llfi_emit *e, LLVMValueRef v, uint32_t limit)
{
    LLVMValueRef all = v;
    for (uint32_t i = 0; e->width > 1 && i < e->width; i++) {
        LLVMValueRef lane = llfi_emit_lane(e, v, i);
        all = i ? LLVMBuildOr(e->b, all, lane, "") : lane;
    }
    return LLVMBuildICmp(e->b, LLVMIntUGE, all, LLVMConstInt(e->i32, limit, false), "");
}

/* Distance of 2|x| as an integer above `least`; twice the bits drops the sign. With least 0x60000000 the two
 * top bits are clear only for |x| in [2^-31, 2^33), with 0x40000000 the top bit only in [2^-63, 2^65). */
static LLVMValueRef outside(llfi_emit *e, LLVMValueRef b, uint32_t least)
{
    LLVMValueRef twice = LLVMBuildShl(e->b, b, llfi_emit_i32c(e, 1), "");
    return LLVMBuildSub(e->b, twice, llfi_emit_i32c(e, (int32_t)least), "");
}

/* Fast road: |a| and |b| in [2^-31, 2^33), or a = +0 (its quotient comes out signed right; that of -0 does
 * not). */
static LLVMValueRef leaves_fast(llfi_emit *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef zero = llfi_emit_i32c(e, 0), ia = bits(e, a),
                 none = LLVMBuildICmp(e->b, LLVMIntEQ, ia, zero, "");
    LLVMValueRef out = LLVMBuildSelect(e->b, none, zero, outside(e, ia, 0x60000000), "");
    return any_reaches(e, LLVMBuildOr(e->b, out, outside(e, bits(e, b), 0x60000000), ""), 0x40000000);
}

/* Infinities, NaN and a zero divisor make a NaN of the corrections, and a zero loses its sign in them; the
 * first product is then right. */
static LLVMValueRef to_f32(llfi_emit *e, LLVMValueRef corrected, LLVMValueRef first)
{
    LLVMValueRef zero = LLVMConstReal(e->f64, 0.0);
    LLVMValueRef number = LLVMBuildFCmp(e->b, LLVMRealONE, corrected, zero, "");
    return LLVMBuildFPTrunc(e->b, LLVMBuildSelect(e->b, number, corrected, first, ""), e->f32, "");
}

/* 1 / b to the last bit of f64 or next to it: the hardware's 20 bits, doubled twice. */
static LLVMValueRef reciprocal64(llfi_emit *e, LLVMValueRef less, LLVMValueRef first)
{
    LLVMValueRef one = LLVMConstReal(e->f64, 1.0), y = first;
    for (int i = 0; i < 2; i++)
        y = llfi_emit_fma(e, y, llfi_emit_fma(e, less, y, one), y);
    return y;
}

static void slow_quotient(llfi_emit *e, const LLVMValueRef *in, const LLVMValueRef *so_far, LLVMValueRef *out)
{
    (void)so_far;
    LLVMValueRef a = LLVMBuildFPExt(e->b, in[0], e->f64, ""), b = LLVMBuildFPExt(e->b, in[1], e->f64, "");
    LLVMValueRef first = approximate(e, "llvm.nvvm.rcp.approx.ftz.d", b), less = minus(e, b);
    LLVMValueRef y = reciprocal64(e, less, first), q = LLVMBuildFMul(e->b, a, y, "");
    q = llfi_emit_fma(e, llfi_emit_fma(e, less, q, a), y, q);
    out[0] = to_f32(e, q, LLVMBuildFMul(e->b, a, first, ""));
}

static void slow_reciprocal(llfi_emit *e, const LLVMValueRef *in, const LLVMValueRef *so_far,
                            LLVMValueRef *out)
{
    (void)so_far;
    LLVMValueRef b = LLVMBuildFPExt(e->b, in[0], e->f64, "");
    LLVMValueRef first = approximate(e, "llvm.nvvm.rcp.approx.ftz.d", b);
    out[0] = to_f32(e, reciprocal64(e, minus(e, b), first), first);
}

/* 1 / b: one Newton step from the approximation rounds correctly for |b| in [2^-63, 2^65). */
static LLVMValueRef reciprocal(llfi_emit *e, LLVMValueRef one, LLVMValueRef b)
{
    LLVMValueRef y = approximate(e, "llvm.nvvm.rcp.approx.ftz.f", b);
    y = llfi_emit_fma(e, y, llfi_emit_fma(e, minus(e, b), y, one), y);
    LLVMValueRef leaves = any_reaches(e, outside(e, bits(e, b), 0x40000000), 0x80000000);
    llfi_nvptx_rarely(e, leaves, &b, 1, &y, 1, slow_reciprocal);
    return y;
}

LLVMValueRef llfi_nvptx_divide(llfi_emit *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef one = llfi_emit_f32c(e, 1.0f);
    if (a == one) /* constants are unique */
        return reciprocal(e, one, b);
    LLVMValueRef y = approximate(e, "llvm.nvvm.rcp.approx.ftz.f", b), less = minus(e, b);
    y = llfi_emit_fma(e, y, llfi_emit_fma(e, less, y, one), y);
    LLVMValueRef q = LLVMBuildFMul(e->b, a, y, "");
    for (int i = 0; i < 2; i++)
        q = llfi_emit_fma(e, y, llfi_emit_fma(e, less, q, a), q);
    LLVMValueRef in[2] = {a, b};
    llfi_nvptx_rarely(e, leaves_fast(e, a, b), in, 2, &q, 1, slow_quotient);
    return q;
}

static void slow_root(llfi_emit *e, const LLVMValueRef *in, const LLVMValueRef *so_far, LLVMValueRef *out)
{
    (void)so_far;
    LLVMValueRef a = LLVMBuildFPExt(e->b, in[0], e->f64, "");
    LLVMValueRef y = approximate(e, "llvm.nvvm.rsqrt.approx.ftz.d", a);
    LLVMValueRef half = LLVMBuildFMul(e->b, y, LLVMConstReal(e->f64, 0.5), "");
    LLVMValueRef s = LLVMBuildFMul(e->b, a, y, "");
    for (int i = 0; i < 4; i++)
        s = llfi_emit_fma(e, llfi_emit_fma(e, minus(e, s), s, a), half, s);
    /* zero and infinity are their own roots; 0 * inf above made a NaN of them, as of negative numbers */
    LLVMValueRef own = LLVMBuildFCmp(e->b, LLVMRealOEQ, a, LLVMConstReal(e->f64, 0.0), "");
    LLVMValueRef infinity = LLVMConstBitCast(LLVMConstInt(e->i64, 0x7ff0000000000000, false), e->f64);
    own = LLVMBuildOr(e->b, own, LLVMBuildFCmp(e->b, LLVMRealOEQ, a, infinity, ""), "");
    out[0] = LLVMBuildFPTrunc(e->b, LLVMBuildSelect(e->b, own, a, s, ""), e->f32, "");
}

/* Fast road: a in [2^-101, inf). */
LLVMValueRef llfi_nvptx_sqrt(llfi_emit *e, LLVMValueRef a)
{
    LLVMValueRef y = approximate(e, "llvm.nvvm.rsqrt.approx.ftz.f", a);
    LLVMValueRef s = LLVMBuildFMul(e->b, a, y, "");
    LLVMValueRef half = LLVMBuildFMul(e->b, y, llfi_emit_f32c(e, 0.5f), "");
    s = llfi_emit_fma(e, llfi_emit_fma(e, minus(e, s), s, a), half, s);
    LLVMValueRef from = LLVMBuildSub(e->b, bits(e, a), llfi_emit_i32c(e, 0x0d000000), "");
    LLVMValueRef out = LLVMBuildICmp(e->b, LLVMIntUGE, from, llfi_emit_i32c(e, 0x72800000), "");
    out = LLVMBuildSExt(e->b, out, llfi_emit_vec(e->i32, e->width), "");
    llfi_nvptx_rarely(e, any_reaches(e, out, 1), &a, 1, &s, 1, slow_root);
    return s;
}
