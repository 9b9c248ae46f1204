/* emit_ew.c: one emitter per elementwise row of ops.def, shared by all targets. Pure on <w x T> in register
 * form; each rounds to its node's dtype, so that fusing changes no bits. Nothing here may be poison or
 * unselectable: no nsw/nuw, no fast-math flags, no plain fptosi, no sitofp of i1, no llvm.* function that a
 * target lacks. */
#include "lower/lower.h"

#include "ir/float.h"

static llf_dtype dtype_of(llfi_emit *e, llf_id id)
{
    return llfi_dtype_of(e->g, id);
}

static llf_dtype operand_dtype(llfi_emit *e, llf_id id, uint32_t operand)
{
    return llfi_dtype_of(e->g, llfi_node_at(e->g, id)->arg[operand]);
}

/* ---- arithmetic: f32 has 24 >= 2p+2 bits for both 16-bit formats, so + - * / sqrt in f32 and one more
 * rounding give the correctly rounded 16-bit result (Figueroa 1995) */

LLVMValueRef llfi_emit_COPY(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    (void)e, (void)id;
    return arg[0];
}

/* A target may do it on 16-bit numbers as they are in memory: the one rounding is the same. */
static LLVMValueRef arithmetic(llfi_emit *e, llf_id id, LLVMOpcode op, const LLVMValueRef *arg)
{
    llf_dtype t = dtype_of(e, id);
    llf_op what = (llf_op)llfi_node_at(e->g, id)->op;
    const llfi_lowering *l = e->target->backend->lowering;
    LLVMValueRef r = llfi_dtype_is_float16(t) && l->binary16 ? l->binary16(e, what, t, arg[0], arg[1]) : NULL;
    return r ? r : llfi_emit_round(e, t, LLVMBuildBinOp(e->b, op, arg[0], arg[1], ""));
}

LLVMValueRef llfi_emit_ADD(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    llf_dtype t = dtype_of(e, id);
    return llfi_dtype_is_float(t) ? arithmetic(e, id, LLVMFAdd, arg) : LLVMBuildAdd(e->b, arg[0], arg[1], "");
}

LLVMValueRef llfi_emit_SUB(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    llf_dtype t = dtype_of(e, id);
    return llfi_dtype_is_float(t) ? arithmetic(e, id, LLVMFSub, arg) : LLVMBuildSub(e->b, arg[0], arg[1], "");
}

LLVMValueRef llfi_emit_MUL(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    llf_dtype t = dtype_of(e, id);
    return llfi_dtype_is_float(t) ? arithmetic(e, id, LLVMFMul, arg) : LLVMBuildMul(e->b, arg[0], arg[1], "");
}

LLVMValueRef llfi_emit_DIV(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    llf_dtype dtype = dtype_of(e, id);
    return llfi_emit_round(e, dtype, e->target->backend->lowering->divide(e, dtype, arg[0], arg[1]));
}

LLVMValueRef llfi_emit_NEG(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    return llfi_dtype_is_float(dtype_of(e, id)) ? LLVMBuildFNeg(e->b, arg[0], "")
                                                : LLVMBuildNeg(e->b, arg[0], "");
}

LLVMValueRef llfi_emit_ABS(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    LLVMTypeRef type = LLVMTypeOf(arg[0]);
    if (llfi_dtype_is_float(dtype_of(e, id)))
        return llfi_emit_call(e, "llvm.fabs", type, (LLVMValueRef[]){arg[0]}, 1);
    LLVMValueRef keep_min = LLVMConstInt(e->i1, 0, 0); /* is_int_min_poison = false */
    return llfi_emit_call(e, "llvm.abs", type, (LLVMValueRef[]){arg[0], keep_min}, 2);
}

static LLVMValueRef extremum(llfi_emit *e, llf_id id, const LLVMValueRef *arg, bool minimum)
{
    llf_dtype t = dtype_of(e, id);
    if (llfi_dtype_is_float(t))
        return e->target->backend->lowering->maximum(e, t, minimum, arg[0], arg[1]);
    return llfi_emit_call(e, minimum ? "llvm.smin" : "llvm.smax", LLVMTypeOf(arg[0]),
                          (LLVMValueRef[]){arg[0], arg[1]}, 2);
}

LLVMValueRef llfi_emit_MAXIMUM(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    return extremum(e, id, arg, false);
}

LLVMValueRef llfi_emit_MINIMUM(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    return extremum(e, id, arg, true);
}

LLVMValueRef llfi_emit_FMA(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    llf_dtype t = dtype_of(e, id);
    if (llfi_dtype_is_float16(t)) /* the exact product and sum need more than f32 and a second rounding */
        return e->target->backend->lowering->fma16(e, t, arg[0], arg[1], arg[2]);
    return llfi_emit_fma(e, arg[0], arg[1], arg[2]);
}

LLVMValueRef llfi_emit_SQRT(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    llf_dtype dtype = dtype_of(e, id);
    return llfi_emit_round(e, dtype, e->target->backend->lowering->root(e, dtype, arg[0]));
}

/* ---- comparisons and selection; bool as boolean algebra, since i1 vectors compare poorly */

LLVMValueRef llfi_emit_EQ(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    llf_dtype t = operand_dtype(e, id, 0);
    if (t == LLF_BOOL)
        return LLVMBuildNot(e->b, LLVMBuildXor(e->b, arg[0], arg[1], ""), "");
    return llfi_dtype_is_float(t) ? LLVMBuildFCmp(e->b, LLVMRealOEQ, arg[0], arg[1], "")
                                  : LLVMBuildICmp(e->b, LLVMIntEQ, arg[0], arg[1], "");
}

LLVMValueRef llfi_emit_NE(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    llf_dtype t = operand_dtype(e, id, 0);
    if (t == LLF_BOOL)
        return LLVMBuildXor(e->b, arg[0], arg[1], "");
    return llfi_dtype_is_float(t) ? LLVMBuildFCmp(e->b, LLVMRealUNE, arg[0], arg[1], "")
                                  : LLVMBuildICmp(e->b, LLVMIntNE, arg[0], arg[1], "");
}

/* a < b or a <= b */
static LLVMValueRef less(llfi_emit *e, llf_dtype t, bool or_equal, LLVMValueRef a, LLVMValueRef b)
{
    if (t == LLF_BOOL) {
        LLVMValueRef not_a = LLVMBuildNot(e->b, a, "");
        return or_equal ? LLVMBuildOr(e->b, not_a, b, "") : LLVMBuildAnd(e->b, not_a, b, "");
    }
    return llfi_dtype_is_float(t) ? LLVMBuildFCmp(e->b, or_equal ? LLVMRealOLE : LLVMRealOLT, a, b, "")
                                  : LLVMBuildICmp(e->b, or_equal ? LLVMIntSLE : LLVMIntSLT, a, b, "");
}

LLVMValueRef llfi_emit_LT(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    return less(e, operand_dtype(e, id, 0), false, arg[0], arg[1]);
}

LLVMValueRef llfi_emit_LE(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    return less(e, operand_dtype(e, id, 0), true, arg[0], arg[1]);
}

LLVMValueRef llfi_emit_GT(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    return less(e, operand_dtype(e, id, 0), false, arg[1], arg[0]);
}

LLVMValueRef llfi_emit_GE(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    return less(e, operand_dtype(e, id, 0), true, arg[1], arg[0]);
}

static LLVMValueRef as_cast(LLVMValueRef x, LLVMOpcode opcode)
{
    return LLVMIsAInstruction(x) && LLVMGetInstructionOpcode(x) == opcode ? x : NULL;
}

/* The same value, of which LLVM no longer knows that it is a conversion. InstCombine draws conversions out of
 * `x < 0 ? 0 : cast(x)` and then, for zeros, chooses the other side: -0 would become +0 (seen in 19 and 22).
 */
static LLVMValueRef hide_cast(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef from = x;
    while (as_cast(from, LLVMBitCast))
        from = LLVMGetOperand(from, 0);
    if (!as_cast(from, LLVMFPExt) && !as_cast(from, LLVMFPTrunc))
        return x;
    return llfi_emit_call(e, "llvm.arithmetic.fence", LLVMTypeOf(x), &x, 1);
}

/* 16-bit values that stand widened in registers, or constants: chosen as they were before, so that a kernel
 * which only moves them converts nothing. */
static bool narrow_arms(llfi_emit *e, const LLVMValueRef *wide, LLVMValueRef *arm)
{
    LLVMTypeRef type = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        arm[i] = as_cast(wide[i], LLVMFPExt) ? LLVMGetOperand(wide[i], 0) : NULL;
        if (!arm[i] && !LLVMIsConstant(wide[i]))
            return false;
        if (arm[i] && type && LLVMTypeOf(arm[i]) != type)
            return false;
        type = arm[i] ? LLVMTypeOf(arm[i]) : type;
    }
    for (uint32_t i = 0; type && i < 2; i++)
        if (!arm[i])
            arm[i] = LLVMBuildFPTrunc(e->b, wide[i], type, ""); /* folds, exactly */
    return type != NULL;
}

LLVMValueRef llfi_emit_WHERE(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    LLVMValueRef arm[2] = {arg[1], arg[2]};
    bool narrow = llfi_dtype_is_float16(llfi_dtype_of(e->g, id)) && narrow_arms(e, arg + 1, arm);
    for (uint32_t i = 0; i < 2; i++)
        arm[i] = hide_cast(e, narrow ? arm[i] : arg[i + 1]);
    LLVMValueRef chosen = LLVMBuildSelect(e->b, arg[0], arm[0], arm[1], "");
    return narrow ? LLVMBuildFPExt(e->b, chosen, LLVMTypeOf(arg[1]), "") : chosen;
}

/* ---- casts */

/* |x| >= 2^53 does not fit f64; dropping 11 bits but keeping "was anything there" in the last one (which
 * rounds to odd, for both signs of an arithmetic shift) leaves every later rounding to a 16-bit format as if
 * it had seen all bits. Without |x|: ptxas takes abs.s64 for positive, so -2^63 would lose its sign. */
static LLVMValueRef i64_to_16(llfi_emit *e, llf_dtype to, LLVMValueRef x)
{
    LLVMTypeRef f64 = llfi_emit_reg_type(e, LLF_F64, e->width);
    LLVMValueRef dropped = LLVMBuildAnd(e->b, x, llfi_emit_i64c(e, 0x7ff), "");
    LLVMValueRef sticky = LLVMBuildICmp(e->b, LLVMIntNE, dropped, llfi_emit_i64c(e, 0), "");
    LLVMValueRef high = LLVMBuildAShr(e->b, x, llfi_emit_i64c(e, 11), "");
    high = LLVMBuildOr(e->b, high, LLVMBuildZExt(e->b, sticky, LLVMTypeOf(x), ""), "");
    LLVMValueRef biased = LLVMBuildAdd(e->b, x, llfi_emit_i64c(e, INT64_C(1) << 53), "");
    LLVMValueRef large = LLVMBuildICmp(e->b, LLVMIntUGE, biased, llfi_emit_i64c(e, INT64_C(1) << 54), "");
    LLVMValueRef f = LLVMBuildSIToFP(e->b, LLVMBuildSelect(e->b, large, high, x, ""), f64, ""); /* exact */
    f = LLVMBuildSelect(e->b, large, LLVMBuildFMul(e->b, f, llfi_emit_f64c(e, 2048.0), ""), f, "");
    return llfi_emit_round(e, to, f);
}

static LLVMValueRef cast_int(llfi_emit *e, llf_dtype from, llf_dtype to, LLVMValueRef x)
{
    LLVMTypeRef type = llfi_emit_reg_type(e, to, e->width);
    if (!llfi_dtype_is_float(to))
        return from == LLF_I32 ? LLVMBuildSExt(e->b, x, type, "") : LLVMBuildTrunc(e->b, x, type, "");
    if (!llfi_dtype_is_float16(to))
        return LLVMBuildSIToFP(e->b, x, type, "");
    if (from == LLF_I64)
        return i64_to_16(e, to, x);
    LLVMTypeRef f64 = llfi_emit_reg_type(e, LLF_F64, e->width);
    return llfi_emit_round(e, to, LLVMBuildSIToFP(e->b, x, f64, "")); /* i32 is exact in f64 */
}

/* Saturates; NaN gives 0: the definition of the intrinsic. */
static LLVMValueRef float_to_int(llfi_emit *e, llf_dtype to, LLVMValueRef x)
{
    static const char name[] = "llvm.fptosi.sat";
    unsigned intrinsic = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMTypeRef overload[2] = {llfi_emit_reg_type(e, to, e->width), LLVMTypeOf(x)};
    if (!intrinsic) {
        e->status = llfi_fail(e->diag, LLF_E_LLVM, "this LLVM has no intrinsic %s", name);
        return NULL;
    }
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, intrinsic, overload, 2);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->lx, intrinsic, overload, 2), f, &x, 1, "");
}

static LLVMValueRef cast_float(llfi_emit *e, llf_dtype from, llf_dtype to, LLVMValueRef x)
{
    LLVMTypeRef type = llfi_emit_reg_type(e, to, e->width);
    if (!llfi_dtype_is_float(to))
        return float_to_int(e, to, x);
    if (llfi_dtype_is_float16(to))
        return llfi_emit_round(e, to, x); /* from f64 or f32 register form, one rounding */
    if (from == LLF_F64)
        return LLVMBuildFPTrunc(e->b, x, type, "");
    return to == LLF_F64 ? LLVMBuildFPExt(e->b, x, type, "") : x;
}

LLVMValueRef llfi_emit_CAST(llfi_emit *e, llf_id id, const LLVMValueRef *arg)
{
    return llfi_emit_convert(e, operand_dtype(e, id, 0), dtype_of(e, id), arg[0]);
}

LLVMValueRef llfi_emit_convert(llfi_emit *e, llf_dtype from, llf_dtype to, LLVMValueRef x)
{
    if (from == to)
        return x;
    if (to == LLF_BOOL) {
        LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
        return llfi_dtype_is_float(from) ? LLVMBuildFCmp(e->b, LLVMRealUNE, x, zero, "")
                                         : LLVMBuildICmp(e->b, LLVMIntNE, x, zero, "");
    }
    if (from == LLF_BOOL) { /* never sitofp: true would be -1, or wrong (SEMANTICS B18) */
        if (!llfi_dtype_is_float(to))
            return LLVMBuildZExt(e->b, x, llfi_emit_reg_type(e, to, e->width), "");
        LLVMValueRef one = to == LLF_F64 ? llfi_emit_f64c(e, 1) : llfi_emit_f32c(e, 1);
        return LLVMBuildSelect(e->b, x, one, LLVMConstNull(LLVMTypeOf(one)), "");
    }
    return llfi_dtype_is_float(from) ? cast_float(e, from, to, x) : cast_int(e, from, to, x);
}

/* ---- functions: how is the target's business, rounding to 16 bits is ours */

static LLVMValueRef function(llfi_emit *e, llf_id id, LLVMValueRef x)
{
    llf_dtype t = dtype_of(e, id);
    llf_dtype compute = t == LLF_F64 ? LLF_F64 : LLF_F32;
    llf_op op = (llf_op)llfi_node_at(e->g, id)->op;
    return llfi_emit_round(e, t, e->target->backend->lowering->function(e, op, compute, x));
}

#define FUNCTION(ID)                                                              \
    LLVMValueRef llfi_emit_##ID(llfi_emit *e, llf_id id, const LLVMValueRef *arg) \
    {                                                                             \
        return function(e, id, arg[0]);                                           \
    }
FUNCTION(RSQRT)
FUNCTION(EXP)
FUNCTION(EXP2)
FUNCTION(LOG)
FUNCTION(LOG1P)
FUNCTION(TANH)
FUNCTION(SIN)
FUNCTION(COS)
FUNCTION(ERF)
