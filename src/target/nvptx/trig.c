/* trig.c: f32 sine and cosine. libdevice's keep an array in local memory and cost a copy of their slow path
 * per lane, so these are our own. Up to LIMIT the argument is reduced by pi/2 in three parts with fma (Cody
 * and Waite); above, rarely, by one function of the module that multiplies by the bits of 2/pi (Payne and
 * Hanek, "Radian reduction for trigonometric functions", 1983). Errors are below 1.5 ulp over all f32:
 * tests/unit/test_target_nvptx_trig.c runs this very code. Must not read memory at a lane-dependent place of
 * an array in registers: that becomes local memory. */
#include "target/nvptx/nvptx.h"

/* Within it q * pi/2's first part is exact enough for cosine; sine alone would do to 117435. */
#define LIMIT 71476.0625f

static LLVMValueRef u32(const llfi_emit *e, uint32_t v)
{
    return LLVMConstInt(e->i32, v, false);
}

static LLVMValueRef u64(const llfi_emit *e, uint64_t v)
{
    return LLVMConstInt(e->i64, v, false);
}

/* 2/pi as a 2.30 fixed-point number and its continuation, a zero word in front. */
static LLVMValueRef table(llfi_emit *e)
{
    static const uint32_t word[8] = {0,          0x28be60db, 0x9391054a, 0x7f09d5f4,
                                     0x7d4d3770, 0x36d8a566, 0x4f10e410, 0x7f9458ea};
    LLVMValueRef t = LLVMGetNamedGlobal(e->module, "llf_two_over_pi");
    if (t)
        return t;
    LLVMValueRef c[8];
    for (uint32_t i = 0; i < 8; i++)
        c[i] = u32(e, word[i]);
    t = LLVMAddGlobalInAddressSpace(e->module, LLVMArrayType2(e->i32, 8), "llf_two_over_pi", 1);
    LLVMSetInitializer(t, LLVMConstArray2(e->i32, c, 8));
    LLVMSetGlobalConstant(t, true);
    LLVMSetLinkage(t, LLVMInternalLinkage);
    LLVMSetAlignment(t, 4);
    return t;
}

static LLVMValueRef funnel(llfi_emit *e, LLVMValueRef high, LLVMValueRef low, LLVMValueRef by)
{
    LLVMValueRef arg[3] = {high, low, by};
    return llfi_emit_call(e, "llvm.fshl", e->i32, arg, 3);
}

/* mantissa (top bit set) * 2/pi * 2^exponent modulo 4, as 2.62 fixed point. `magnitude`: bits of |x|. */
static LLVMValueRef product(llfi_emit *e, LLVMValueRef magnitude)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef exponent = LLVMBuildSub(b, LLVMBuildLShr(b, magnitude, u32(e, 23), ""), u32(e, 126), "");
    LLVMValueRef first = LLVMBuildLShr(b, exponent, u32(e, 5), "");
    LLVMValueRef mantissa =
        LLVMBuildOr(b, LLVMBuildShl(b, magnitude, u32(e, 8), ""), u32(e, 0x80000000u), "");
    LLVMValueRef word[4], part[3], from = table(e);
    for (uint32_t i = 0; i < 4; i++) {
        LLVMValueRef at = LLVMBuildAdd(b, first, u32(e, i), "");
        word[i] = LLVMBuildLoad2(b, e->i32, LLVMBuildGEP2(b, e->i32, from, &at, 1, ""), "");
    }
    LLVMValueRef m = LLVMBuildZExt(b, mantissa, e->i64, "");
    for (uint32_t i = 0; i < 3; i++)
        part[i] = funnel(e, word[i], word[i + 1], exponent);
    LLVMValueRef low = LLVMBuildMul(b, m, LLVMBuildZExt(b, part[2], e->i64, ""), "");
    LLVMValueRef middle = LLVMBuildMul(b, m, LLVMBuildZExt(b, part[1], e->i64, ""), "");
    LLVMValueRef high = LLVMBuildZExt(b, LLVMBuildMul(b, mantissa, part[0], ""), e->i64, ""); /* modulo 4 */
    middle = LLVMBuildAdd(b, middle, LLVMBuildLShr(b, low, u64(e, 32), ""), "");
    return LLVMBuildAdd(b, LLVMBuildShl(b, high, u64(e, 32), ""), middle, "");
}

/* Scalar: bits of x, of any size, to (rest, quadrant); NaN for infinity. */
static void reduce_big(llfi_emit *e, LLVMValueRef bits, LLVMValueRef *rest, LLVMValueRef *quadrant)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef magnitude = LLVMBuildAnd(b, bits, u32(e, 0x7fffffff), "");
    LLVMValueRef p = product(e, magnitude);
    /* to the nearest quadrant: half of one is 2^61 */
    LLVMValueRef nearest = LLVMBuildLShr(b, LLVMBuildAdd(b, p, u64(e, 1ull << 61), ""), u64(e, 62), "");
    LLVMValueRef fraction = LLVMBuildSub(b, p, LLVMBuildShl(b, nearest, u64(e, 62), ""), "");
    LLVMValueRef d = LLVMBuildSIToFP(b, fraction, e->f64, "");
    d = LLVMBuildFMul(b, d, LLVMConstReal(e->f64, 0x1.921fb54442d18p-62), ""); /* pi/2 * 2^-62 */
    LLVMValueRef r = LLVMBuildFPTrunc(b, d, e->f32, "");
    LLVMValueRef q = LLVMBuildTrunc(b, nearest, e->i32, "");
    LLVMValueRef negative = LLVMBuildICmp(b, LLVMIntSLT, bits, u32(e, 0), "");
    r = LLVMBuildSelect(b, negative, LLVMBuildFNeg(b, r, ""), r, "");
    LLVMValueRef infinite = LLVMBuildICmp(b, LLVMIntEQ, magnitude, u32(e, 0x7f800000), "");
    *rest = LLVMBuildSelect(b, infinite, LLVMConstBitCast(u32(e, 0x7fc00000), e->f32), r, "");
    *quadrant = LLVMBuildSelect(b, negative, LLVMBuildNeg(b, q, ""), q, "");
}

/* The same as a function of the module, compiled once however many tiles there are: i64, rest's bits above
 * the quadrant. */
static LLVMValueRef reduce_function(llfi_emit *e, LLVMTypeRef type)
{
    LLVMValueRef f = LLVMGetNamedFunction(e->module, "llf_reduce_big");
    if (f)
        return f;
    LLVMBasicBlockRef back = LLVMGetInsertBlock(e->b);
    LLVMValueRef rest, quadrant;
    f = LLVMAddFunction(e->module, "llf_reduce_big", type);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->lx, f, ""));
    reduce_big(e, LLVMGetParam(f, 0), &rest, &quadrant);
    LLVMValueRef high = LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, rest, e->i32, ""), e->i64, "");
    high = LLVMBuildShl(e->b, high, u64(e, 32), "");
    LLVMBuildRet(e->b, LLVMBuildOr(e->b, high, LLVMBuildZExt(e->b, quadrant, e->i64, ""), ""));
    LLVMPositionBuilderAtEnd(e->b, back);
    return f;
}

static void call_reduce_big(llfi_emit *e, LLVMValueRef bits, LLVMValueRef *rest, LLVMValueRef *quadrant)
{
    LLVMTypeRef type = LLVMFunctionType(e->i64, &e->i32, 1, false);
    LLVMValueRef both = LLVMBuildCall2(e->b, type, reduce_function(e, type), &bits, 1, "");
    LLVMValueRef high = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, both, u64(e, 32), ""), e->i32, "");
    *rest = LLVMBuildBitCast(e->b, high, e->f32, "");
    *quadrant = LLVMBuildTrunc(e->b, both, e->i32, "");
}

static LLVMValueRef any(llfi_emit *e, LLVMValueRef mask)
{
    LLVMValueRef r = llfi_emit_lane(e, mask, 0);
    for (uint32_t i = 1; i < e->width; i++)
        r = LLVMBuildOr(e->b, r, llfi_emit_lane(e, mask, i), "");
    return r;
}

/* One lane of the rare road: in[0] bits of x; a small lane, or NaN, keeps what it has. */
static void slow_lane(llfi_emit *e, const LLVMValueRef *in, const LLVMValueRef *so_far, LLVMValueRef *out)
{
    LLVMBuilderRef b = e->b;
    uint32_t limit;
    float value = LIMIT;
    memcpy(&limit, &value, sizeof limit);
    LLVMValueRef magnitude = LLVMBuildAnd(b, in[0], u32(e, 0x7fffffff), "");
    LLVMValueRef big = LLVMBuildICmp(b, LLVMIntUGE, magnitude, u32(e, limit), "");
    big = LLVMBuildAnd(b, big, LLVMBuildICmp(b, LLVMIntULE, magnitude, u32(e, 0x7f800000), ""), "");
    /* the others are replaced by LIMIT, so that they read inside the table */
    call_reduce_big(e, LLVMBuildSelect(b, big, in[0], u32(e, limit), ""), &out[0], &out[1]);
    for (uint32_t k = 0; k < 2; k++)
        out[k] = LLVMBuildSelect(b, big, out[k], so_far[k], "");
}

/* x = quadrant * pi/2 + rest; only the quadrant's low two bits matter. */
static void reduce(llfi_emit *e, LLVMValueRef x, LLVMValueRef *rest, LLVMValueRef *quadrant)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef magic = llfi_emit_f32c(e, 12582912.0f); /* 1.5 * 2^23: the sum's last place is 1 */
    LLVMValueRef sum = llfi_emit_fma(e, x, llfi_emit_f32c(e, 0x1.45f306p-1f), magic);
    LLVMValueRef q = LLVMBuildFSub(b, sum, magic, "");
    LLVMValueRef r = llfi_emit_fma(e, q, llfi_emit_f32c(e, -0x1.921fb0p+0f), x);
    r = llfi_emit_fma(e, q, llfi_emit_f32c(e, -0x1.5110b4p-22f), r);
    *rest = llfi_emit_fma(e, q, llfi_emit_f32c(e, -0x1.846988p-48f), r);
    *quadrant = llfi_emit_as(e, e->i32, sum);
    LLVMValueRef big = LLVMBuildFCmp(b, LLVMRealOGE, x, llfi_emit_f32c(e, LIMIT), "");
    big = LLVMBuildOr(b, big, LLVMBuildFCmp(b, LLVMRealOLE, x, llfi_emit_f32c(e, -LIMIT), ""), "");
    LLVMValueRef in = llfi_emit_as(e, e->i32, x), result[2] = {*rest, *quadrant};
    llfi_nvptx_rarely(e, any(e, big), &in, 1, result, 2, slow_lane);
    *rest = result[0];
    *quadrant = result[1];
}

/* On [-pi/4, pi/4]; minimax by N. Juffa (public domain). The +0 keeps sin(-0) = -0. */
static LLVMValueRef sine(llfi_emit *e, LLVMValueRef r, LLVMValueRef s)
{
    LLVMValueRef p = llfi_emit_f32c(e, 0x1.80a000p-19f);
    p = llfi_emit_fma(e, p, s, llfi_emit_f32c(e, -0x1.a06bbap-13f));
    p = llfi_emit_fma(e, p, s, llfi_emit_f32c(e, 0x1.11119ap-7f));
    p = llfi_emit_fma(e, p, s, llfi_emit_f32c(e, -0x1.555556p-3f));
    return llfi_emit_fma(e, p, llfi_emit_fma(e, r, s, llfi_emit_f32c(e, 0.0f)), r);
}

static LLVMValueRef cosine(llfi_emit *e, LLVMValueRef s)
{
    LLVMValueRef p = llfi_emit_f32c(e, 0x1.9a8000p-16f);
    p = llfi_emit_fma(e, p, s, llfi_emit_f32c(e, -0x1.6c0efap-10f));
    p = llfi_emit_fma(e, p, s, llfi_emit_f32c(e, 0x1.555550p-5f));
    p = llfi_emit_fma(e, p, s, llfi_emit_f32c(e, -0.5f));
    return llfi_emit_fma(e, p, s, llfi_emit_f32c(e, 1.0f));
}

/* Odd quadrants take `odd`; the sign is bit 1 of `quadrant`. */
static LLVMValueRef choose(llfi_emit *e, LLVMValueRef quadrant, LLVMValueRef swapped, LLVMValueRef odd,
                           LLVMValueRef even)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef r = llfi_emit_as(e, e->i32, LLVMBuildSelect(b, swapped, odd, even, ""));
    LLVMValueRef sign = LLVMBuildAnd(b, quadrant, llfi_emit_i32c(e, 2), "");
    sign = LLVMBuildShl(b, sign, llfi_emit_i32c(e, 30), "");
    return llfi_emit_as(e, e->f32, LLVMBuildXor(b, r, sign, ""));
}

LLVMValueRef llfi_nvptx_sincos(llfi_emit *e, bool want_cosine, LLVMValueRef x)
{
    static const char key;
    const LLVMValueRef *known = llfi_emit_memo(e, &key, x);
    if (known)
        return known[want_cosine];
    LLVMValueRef rest, quadrant, result[2];
    reduce(e, x, &rest, &quadrant);
    LLVMValueRef s = LLVMBuildFMul(e->b, rest, rest, "");
    LLVMValueRef one = llfi_emit_i32c(e, 1), zero = llfi_emit_i32c(e, 0);
    LLVMValueRef swapped = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, quadrant, one, ""), zero, "");
    LLVMValueRef si = sine(e, rest, s), co = cosine(e, s);
    /* both are made; the one that nobody asks for is dead code */
    result[0] = choose(e, quadrant, swapped, co, si);
    result[1] = choose(e, LLVMBuildAdd(e->b, quadrant, one, ""), swapped, si, co);
    llfi_emit_memo_keep(e, &key, x, result);
    return result[want_cosine];
}
