/* host_math.c: f32 functions of the host target (f16 and bf16 go through them) as vector code. Each is
 * evaluated in f64 by sums, products, quotients and integer operations alone, then rounded once to f32: the
 * polynomials' errors (host_math_coeffs.h) are far below half an ulp of f32, and subnormal results are
 * rounded by the conversion. Must not use fma (bits would depend on the CPU), tables by gather on the usual
 * path, or anything that differs between lanes, widths and tails.
 *
 * NaN operands: comparisons are written so that NaN passes through clamps; integer arithmetic on a NaN's bits
 * adds multiples of 2^52 times its low mantissa bits, which are zero in every NaN widened from f32. */
#include "target/host.h"
#include "target/host_math_coeffs.h"

#include <math.h>

/* x + MAGIC rounds |x| < 2^51 to an integer, which then stands in the sum's low bits. */
#define MAGIC 0x1.8p52

void llfi_host_reduce(const float *x, double *r, int64_t *quadrant, int64_t n);

/* Short names for what is built below, always at e->width. */
static LLVMValueRef f64c(llfi_emit *e, double v)
{
    return llfi_emit_f64c(e, v);
}

static LLVMValueRef u64c(llfi_emit *e, uint64_t v)
{
    return llfi_emit_i64c(e, (int64_t)v);
}

static LLVMValueRef add(llfi_emit *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFAdd(e->b, a, b, "");
}

static LLVMValueRef sub(llfi_emit *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFSub(e->b, a, b, "");
}

static LLVMValueRef mul(llfi_emit *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFMul(e->b, a, b, "");
}

static LLVMValueRef to_f64(llfi_emit *e, LLVMValueRef v)
{
    return LLVMBuildFPExt(e->b, v, llfi_emit_vec(e->f64, e->width), "");
}

static LLVMValueRef to_f32(llfi_emit *e, LLVMValueRef v)
{
    return LLVMBuildFPTrunc(e->b, v, llfi_emit_vec(e->f32, e->width), "");
}

static LLVMValueRef pick(llfi_emit *e, LLVMRealPredicate p, LLVMValueRef a, LLVMValueRef b, LLVMValueRef yes,
                         LLVMValueRef no)
{
    return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, p, a, b, ""), yes, no, "");
}

/* min(x, hi) and max(x, lo) of f32; NaN stays. */
static LLVMValueRef at_most(llfi_emit *e, LLVMValueRef x, float hi)
{
    LLVMValueRef c = llfi_emit_f32c(e, hi);
    return pick(e, LLVMRealOGT, x, c, c, x);
}

static LLVMValueRef at_least(llfi_emit *e, LLVMValueRef x, float lo)
{
    LLVMValueRef c = llfi_emit_f32c(e, lo);
    return pick(e, LLVMRealOLT, x, c, c, x);
}

static LLVMValueRef horner(llfi_emit *e, const double *c, size_t n, size_t step, LLVMValueRef x)
{
    size_t i = (n - 1) / step * step;
    LLVMValueRef r = f64c(e, c[i]);
    while (i >= step) {
        i -= step;
        r = add(e, mul(e, r, x), f64c(e, c[i]));
    }
    return r;
}

/* c[0] + c[1] x + ...: even and odd powers apart, which halves the latency for one more product. */
static LLVMValueRef poly(llfi_emit *e, const double *c, size_t n, LLVMValueRef x)
{
    LLVMValueRef z = mul(e, x, x);
    LLVMValueRef even = horner(e, c, n, 2, z), odd = horner(e, c + 1, n - 1, 2, z);
    return add(e, mul(e, odd, x), even);
}

/* The sign bit of f32 `from` on top of the magnitude `x`. */
static LLVMValueRef f32_sign(llfi_emit *e, LLVMValueRef x)
{
    return LLVMBuildAnd(e->b, llfi_emit_as(e, e->i32, x), llfi_emit_i32c(e, INT32_MIN), "");
}

static LLVMValueRef with_sign(llfi_emit *e, LLVMValueRef x, LLVMValueRef sign)
{
    return llfi_emit_as(e, e->f32, LLVMBuildOr(e->b, llfi_emit_as(e, e->i32, x), sign, ""));
}

static LLVMValueRef f32_abs(llfi_emit *e, LLVMValueRef x)
{
    return llfi_emit_as(e, e->f32,
                        LLVMBuildAnd(e->b, llfi_emit_as(e, e->i32, x), llfi_emit_i32c(e, INT32_MAX), ""));
}

/* body(x) as an internal function of the module, made once per width. compile() inlines helpers with few
 * uses; the others keep the code of long chains small. A body may branch: skeletons never see its blocks. */
typedef LLVMValueRef helper_body(llfi_emit *, LLVMValueRef x);

static LLVMValueRef helper(llfi_emit *e, const char *what, LLVMTypeRef result, helper_body *body,
                           LLVMValueRef x)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%s.w%u", what, (unsigned)e->width);
    LLVMTypeRef param = LLVMTypeOf(x), type = LLVMFunctionType(result, &param, 1, false);
    LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
    if (!f) {
        f = LLVMAddFunction(e->module, name, type);
        LLVMSetLinkage(f, LLVMInternalLinkage);
        llfi_host_attributes(e->lx, e->target, f);
        LLVMBasicBlockRef back = LLVMGetInsertBlock(e->b);
        LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->lx, f, ""));
        LLVMBuildRet(e->b, body(e, LLVMGetParam(f, 0)));
        LLVMPositionBuilderAtEnd(e->b, back);
    }
    return LLVMBuildCall2(e->b, type, f, &x, 1, "");
}

/* ---- 2^t: t = k + f, k integer, |f| <= 1/2 */
typedef struct {
    LLVMValueRef shift; /* k << 52: added to a double's bits it multiplies by 2^k */
    LLVMValueRef p;     /* 2^f - 1 */
} power;

static power split_power(llfi_emit *e, LLVMValueRef t)
{
    LLVMValueRef sum = add(e, t, f64c(e, MAGIC));
    LLVMValueRef f = sub(e, t, sub(e, sum, f64c(e, MAGIC)));
    return (power){LLVMBuildShl(e->b, llfi_emit_as(e, e->i64, sum), u64c(e, 52), ""),
                   mul(e, f, poly(e, coef_exp2m1, LLFI_COUNT(coef_exp2m1), f))};
}

static LLVMValueRef scale(llfi_emit *e, LLVMValueRef x, LLVMValueRef shift)
{
    return llfi_emit_as(e, e->f64, LLVMBuildAdd(e->b, llfi_emit_as(e, e->i64, x), shift, ""));
}

static LLVMValueRef power_of(llfi_emit *e, LLVMValueRef t)
{
    power w = split_power(e, t);
    return scale(e, add(e, w.p, f64c(e, 1.0)), w.shift);
}

/* 2^t - 1 = 2^k (2^f - 1) + (2^k - 1): accurate relative to itself near 0. p = 0 must not be scaled by adding
 * to its exponent: 2^k p is made by a multiplication. */
static LLVMValueRef power_less_one(llfi_emit *e, LLVMValueRef t)
{
    power w = split_power(e, t);
    LLVMValueRef unit = scale(e, f64c(e, 1.0), w.shift);
    return add(e, mul(e, w.p, unit), sub(e, unit, f64c(e, 1.0)));
}

static LLVMValueRef emit_exp(llfi_emit *e, LLVMValueRef x)
{
    x = at_least(e, at_most(e, x, 90.0f), -105.0f); /* beyond: inf and 0 after rounding */
    return to_f32(e, power_of(e, mul(e, to_f64(e, x), f64c(e, CONST_LOG2E))));
}

static LLVMValueRef emit_exp2(llfi_emit *e, LLVMValueRef x)
{
    x = at_least(e, at_most(e, x, 129.0f), -151.0f);
    return to_f32(e, power_of(e, to_f64(e, x)));
}

/* tanh |x| = (e^2|x| - 1) / (e^2|x| + 1); 1 in f32 from 9.02 on. */
static LLVMValueRef emit_tanh(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef a = to_f64(e, at_most(e, f32_abs(e, x), 10.0f));
    LLVMValueRef m = power_less_one(e, mul(e, a, f64c(e, 2 * CONST_LOG2E)));
    LLVMValueRef r = LLVMBuildFDiv(e->b, m, add(e, m, f64c(e, 2.0)), "");
    return with_sign(e, to_f32(e, r), f32_sign(e, x));
}

/* erf |x| = 1 - 2^(-|x| q(|x|)); 1 in f32 from 3.92 on. The sign of 1 - .. is + even at 0. */
static LLVMValueRef emit_erf(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef a = to_f64(e, at_most(e, f32_abs(e, x), 4.0f));
    LLVMValueRef q = poly(e, coef_erf, LLFI_COUNT(coef_erf), a);
    LLVMValueRef m = power_less_one(e, mul(e, LLVMBuildFNeg(e->b, a, ""), q));
    LLVMValueRef r = to_f32(e, sub(e, f64c(e, 0.0), m));
    return with_sign(e, r, f32_sign(e, x));
}

/* ---- log u, u > 0 a normal double: u = 2^k m, m in [sqrt 1/2, sqrt 2), log m = 2 atanh((m - 1) / (m + 1)).
 * `small`: where k = 0, m - 1 exactly (log1p: 1 + x may have been rounded); NULL: m - 1 is exact. */
static LLVMValueRef log_of(llfi_emit *e, LLVMValueRef u, LLVMValueRef small)
{
    const uint64_t half_root = 0x3fe6a09e667f3bcdu, one = 0x3ff0000000000000u; /* sqrt(1/2), 1 */
    LLVMBuilderRef b = e->b;
    LLVMValueRef bits = LLVMBuildAdd(b, llfi_emit_as(e, e->i64, u), u64c(e, one - half_root), "");
    LLVMValueRef mantissa = LLVMBuildAnd(b, bits, u64c(e, 0xfffffffffffffu), "");
    LLVMValueRef m = llfi_emit_as(e, e->f64, LLVMBuildAdd(b, mantissa, u64c(e, half_root), ""));
    /* the biased exponent as a double: below 2^52's leading bit, then that and the bias taken off */
    LLVMValueRef exponent =
        LLVMBuildOr(b, LLVMBuildLShr(b, bits, u64c(e, 52), ""), u64c(e, 0x4330000000000000u), "");
    LLVMValueRef k = sub(e, llfi_emit_as(e, e->f64, exponent), f64c(e, 0x1p52 + 1023));
    LLVMValueRef f = sub(e, m, f64c(e, 1.0));
    if (small)
        f = pick(e, LLVMRealOEQ, k, f64c(e, 0.0), small, f);
    LLVMValueRef s = LLVMBuildFDiv(b, f, add(e, f, f64c(e, 2.0)), "");
    LLVMValueRef r = mul(e, s, poly(e, coef_log, LLFI_COUNT(coef_log), mul(e, s, s)));
    return add(e, mul(e, k, f64c(e, CONST_LN2)), r);
}

/* `r` where lo < x < inf; -inf at lo, NaN below, inf and NaN as they are. */
static LLVMValueRef log_edges(llfi_emit *e, LLVMValueRef x, float lo, LLVMValueRef r)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef low = llfi_emit_f32c(e, lo), inf = llfi_emit_f32c(e, INFINITY);
    LLVMValueRef edge = pick(e, LLVMRealOLT, x, low, llfi_emit_f32c(e, NAN), x);
    edge = pick(e, LLVMRealOEQ, x, low, llfi_emit_f32c(e, -INFINITY), edge);
    LLVMValueRef inside = LLVMBuildAnd(b, LLVMBuildFCmp(b, LLVMRealOGT, x, low, ""),
                                       LLVMBuildFCmp(b, LLVMRealOLT, x, inf, ""), "");
    return LLVMBuildSelect(b, inside, r, edge, "");
}

static LLVMValueRef emit_log(llfi_emit *e, LLVMValueRef x)
{
    return log_edges(e, x, 0.0f, to_f32(e, log_of(e, to_f64(e, x), NULL)));
}

static LLVMValueRef emit_log1p(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef wide = to_f64(e, x);
    LLVMValueRef r = to_f32(e, log_of(e, add(e, wide, f64c(e, 1.0)), wide));
    /* log1p has its operand's sign; k * ln 2 + r lost that of -0 */
    return log_edges(e, x, -1.0f, with_sign(e, r, f32_sign(e, x)));
}

/* ---- 1 / sqrt: an f32 estimate (two roundings), one Newton step in f64. The estimate itself is right for 0,
 * inf, negative numbers and NaN. */
static LLVMValueRef emit_rsqrt(llfi_emit *e, LLVMValueRef x)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef root = llfi_emit_call(e, "llvm.sqrt", llfi_emit_vec(e->f32, e->width), &x, 1);
    LLVMValueRef y = LLVMBuildFDiv(b, llfi_emit_f32c(e, 1.0f), root, "");
    LLVMValueRef yd = to_f64(e, y);
    LLVMValueRef h = mul(e, mul(e, mul(e, to_f64(e, x), f64c(e, 0.5)), yd), yd);
    LLVMValueRef r = to_f32(e, mul(e, yd, sub(e, f64c(e, 1.5), h)));
    LLVMValueRef zero = llfi_emit_f32c(e, 0.0f), inf = llfi_emit_f32c(e, INFINITY);
    LLVMValueRef inside = LLVMBuildAnd(b, LLVMBuildFCmp(b, LLVMRealOGT, x, zero, ""),
                                       LLVMBuildFCmp(b, LLVMRealOLT, x, inf, ""), "");
    return LLVMBuildSelect(b, inside, r, y, "");
}

/* ---- sin, cos: x = k pi/2 + r, |r| <= pi/4 */
#define BIG 0x1p20f /* from here on by Payne and Hanek's table */

/* Called by generated code when a lane is big, inf or NaN; small lanes are left as they are. */
void llfi_host_reduce(const float *x, double *r, int64_t *quadrant, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (fabsf(x[i]) < BIG)
            continue;
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        uint32_t exponent = bits >> 23 & 255;
        if (exponent == 255) {
            r[i] = (double)x[i] - (double)x[i]; /* inf, NaN -> NaN */
            quadrant[i] = 0;
            continue;
        }
        const double *part = reduce_table[exponent - REDUCE_FIRST];
        double wide = (double)x[i], top = wide * part[0]; /* exact, as is wide * part[1] */
        double k = (top + MAGIC) - MAGIC;
        double f = (top - k) + wide * part[1];
        double carry = (f + MAGIC) - MAGIC;
        f = (f - carry) + wide * part[2];
        r[i] = f * CONST_PI_2;
        quadrant[i] = (int64_t)(k + carry);
    }
}

/* i1: is any lane not below BIG in magnitude? */
static LLVMValueRef any_big(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef big = LLVMBuildFCmp(e->b, LLVMRealUGE, f32_abs(e, x), llfi_emit_f32c(e, BIG), "");
    if (e->width == 1)
        return big;
    LLVMTypeRef mask = LLVMIntTypeInContext(e->lx, e->width);
    LLVMValueRef lanes = LLVMBuildBitCast(e->b, big, mask, "");
    return LLVMBuildICmp(e->b, LLVMIntNE, lanes, LLVMConstInt(mask, 0, false), "");
}

/* The call in the rare block: operands and results go through the stack. */
static void reduce_big(llfi_emit *e, LLVMValueRef x, const LLVMValueRef stack[3])
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(e->lx, 0);
    LLVMTypeRef param[] = {pointer, pointer, pointer, e->i64};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->lx), param, 4, false);
    LLVMValueRef f = llfi_host_declare(e, "llfi_host_reduce", type, false);
    LLVMValueRef arg[] = {stack[0], stack[1], stack[2], LLVMConstInt(e->i64, e->width, false)};
    LLVMBuildStore(e->b, x, stack[0]);
    LLVMBuildCall2(e->b, type, f, arg, 4, "");
}

static void unlikely(llfi_emit *e, LLVMValueRef branch)
{
    LLVMMetadataRef word[] = {
        LLVMMDStringInContext2(e->lx, "branch_weights", 14),
        LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, false)),
        LLVMValueAsMetadata(LLVMConstInt(e->i32, 1u << 20, false)),
    };
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->lx, "prof", 4),
                    LLVMMetadataAsValue(e->lx, LLVMMDNodeInContext2(e->lx, word, 3)));
}

static LLVMTypeRef reduced_type(llfi_emit *e)
{
    LLVMTypeRef part[] = {llfi_emit_vec(e->f64, e->width), llfi_emit_vec(e->i64, e->width)};
    return LLVMStructTypeInContext(e->lx, part, 2, false);
}

static LLVMValueRef reduce_body(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->b));
    LLVMTypeRef f64v = llfi_emit_vec(e->f64, e->width), i64v = llfi_emit_vec(e->i64, e->width);
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef rare = LLVMAppendBasicBlockInContext(e->lx, f, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->lx, f, "");
    LLVMValueRef stack[] = {LLVMBuildAlloca(e->b, LLVMTypeOf(x), ""), LLVMBuildAlloca(e->b, f64v, ""),
                            LLVMBuildAlloca(e->b, i64v, "")};
    LLVMValueRef wide = to_f64(e, x);
    LLVMValueRef sum = add(e, mul(e, wide, f64c(e, CONST_2_PI)), f64c(e, MAGIC));
    LLVMValueRef k = sub(e, sum, f64c(e, MAGIC));
    LLVMValueRef r =
        sub(e, sub(e, wide, mul(e, k, f64c(e, CONST_PI_2_HI))), mul(e, k, f64c(e, CONST_PI_2_LO)));
    LLVMValueRef q = llfi_emit_as(e, e->i64, sum);
    unlikely(e, LLVMBuildCondBr(e->b, any_big(e, x), rare, done));

    LLVMPositionBuilderAtEnd(e->b, rare);
    LLVMBuildStore(e->b, r, stack[1]);
    LLVMBuildStore(e->b, q, stack[2]);
    reduce_big(e, x, stack);
    LLVMValueRef r2 = LLVMBuildLoad2(e->b, f64v, stack[1], "");
    LLVMValueRef q2 = LLVMBuildLoad2(e->b, i64v, stack[2], "");
    LLVMBuildBr(e->b, done);

    LLVMPositionBuilderAtEnd(e->b, done);
    LLVMValueRef rp = LLVMBuildPhi(e->b, f64v, ""), qp = LLVMBuildPhi(e->b, i64v, "");
    LLVMAddIncoming(rp, (LLVMValueRef[]){r, r2}, (LLVMBasicBlockRef[]){entry, rare}, 2);
    LLVMAddIncoming(qp, (LLVMValueRef[]){q, q2}, (LLVMBasicBlockRef[]){entry, rare}, 2);
    LLVMValueRef both = LLVMBuildInsertValue(e->b, LLVMGetPoison(reduced_type(e)), rp, 0, "");
    return LLVMBuildInsertValue(e->b, both, qp, 1, "");
}

/* r and quadrant of x; sin and cos of one value share them. */
static void reduce(llfi_emit *e, LLVMValueRef x, LLVMValueRef out[2])
{
    static const char key;
    const LLVMValueRef *known = llfi_emit_memo(e, &key, x);
    if (known) {
        out[0] = known[0];
        out[1] = known[1];
        return;
    }
    LLVMValueRef both = helper(e, "reduce", reduced_type(e), reduce_body, x);
    out[0] = LLVMBuildExtractValue(e->b, both, 0, "");
    out[1] = LLVMBuildExtractValue(e->b, both, 1, "");
    llfi_emit_memo_keep(e, &key, x, out);
}

/* Quadrant by quadrant: sin r, cos r, -sin r, -cos r. `ahead` 1: cos. */
static LLVMValueRef emit_sin_cos(llfi_emit *e, LLVMValueRef x, uint64_t ahead)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef rq[2];
    reduce(e, x, rq);
    LLVMValueRef r = rq[0], z = mul(e, r, r);
    /* r times 1 + .., not r plus ..: keeps the sign of zero */
    LLVMValueRef s = mul(e, r, add(e, mul(e, z, poly(e, coef_sin, LLFI_COUNT(coef_sin), z)), f64c(e, 1.0)));
    LLVMValueRef c = add(e, mul(e, z, poly(e, coef_cos, LLFI_COUNT(coef_cos), z)), f64c(e, 1.0));
    LLVMValueRef q = ahead ? LLVMBuildAdd(b, rq[1], u64c(e, ahead), "") : rq[1];
    LLVMValueRef odd = LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, q, u64c(e, 1), ""), u64c(e, 0), "");
    LLVMValueRef sign = LLVMBuildShl(b, LLVMBuildAnd(b, q, u64c(e, 2), ""), u64c(e, 62), "");
    LLVMValueRef y = llfi_emit_as(e, e->i64, LLVMBuildSelect(b, odd, c, s, ""));
    return to_f32(e, llfi_emit_as(e, e->f64, LLVMBuildXor(b, y, sign, "")));
}

LLVMValueRef llfi_host_f32(llfi_emit *e, llf_op op, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    switch (op) {
    case LLF_OP_EXP: return helper(e, "exp", type, emit_exp, x);
    case LLF_OP_EXP2: return helper(e, "exp2", type, emit_exp2, x);
    case LLF_OP_LOG: return helper(e, "log", type, emit_log, x);
    case LLF_OP_LOG1P: return helper(e, "log1p", type, emit_log1p, x);
    case LLF_OP_TANH: return helper(e, "tanh", type, emit_tanh, x);
    case LLF_OP_SIN: return emit_sin_cos(e, x, 0);
    case LLF_OP_COS: return emit_sin_cos(e, x, 1);
    case LLF_OP_ERF: return helper(e, "erf", type, emit_erf, x);
    case LLF_OP_RSQRT: return emit_rsqrt(e, x);
    default: e->status = llfi_fail(e->diag, LLF_E_INTERNAL, "host: op %d is no function", (int)op); return x;
    }
}
