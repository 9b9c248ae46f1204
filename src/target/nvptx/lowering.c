/* lowering.c: how functions and roundings are made on NVIDIA GPUs. Must not emit anything check.c refuses. */
#include "target/nvptx/nvptx.h"

#include "lower/llvm.h"
#include "target/soft16.h"

/* One call per lane: libdevice is scalar. */
static LLVMValueRef call_lanes(llfi_emit *e, const char *name, LLVMTypeRef scalar, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMFunctionType(scalar, &scalar, 1, false);
    LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
    if (!f) {
        f = LLVMAddFunction(e->module, name, type);
        llfi_llvm_enum_attribute(e->lx, f, "nounwind", 0);
    }
    return llfi_emit_by_lane(e, type, f, x);
}

/* libdevice's exp2 for everything but subnormals, which come out as 0: ex2.approx.ftz alone, without the
 * scaling of arguments below -126. */
static LLVMValueRef exp2_flushed(llfi_emit *e, LLVMValueRef x)
{
    static const char name[] = "llvm.nvvm.ex2.approx.ftz.f"; /* newer LLVM: one name for all types, .f32 */
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    if (!id) {
        e->status = llfi_fail(e->diag, LLF_E_LLVM, "this LLVM has no intrinsic %s", name);
        return x;
    }
    size_t overloaded = LLVMIntrinsicIsOverloaded(id) ? 1 : 0;
    LLVMTypeRef type = e->f32;
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &type, overloaded);
    return llfi_emit_by_lane(e, LLVMIntrinsicGetType(e->lx, id, &type, overloaded), f, x);
}

static LLVMValueRef function(llfi_emit *e, llf_op op, llf_dtype compute, LLVMValueRef x)
{
    bool wide = compute == LLF_F64;
    const char *name = NULL;
    if (!wide && op == LLF_OP_EXP2 && e->may_flush)
        return exp2_flushed(e, x);
    if (!wide && (op == LLF_OP_SIN || op == LLF_OP_COS))
        return llfi_nvptx_sincos(e, op == LLF_OP_COS, x);
    switch (op) {
#define LIBDEVICE(id, f32, f64)  \
    case LLF_OP_##id:            \
        name = wide ? f64 : f32; \
        break;
#include "target/libdevice.def"
#undef LIBDEVICE
    default: break;
    }
    if (!name) {
        e->status = llfi_fail(e->diag, LLF_E_INTERNAL, "nvptx has no function for op %d", (int)op);
        return LLVMGetPoison(LLVMTypeOf(x));
    }
    return call_lanes(e, name, wide ? e->f64 : e->f32, x);
}

static bool is_double(const llfi_emit *e, LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    return (LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t) == e->f64;
}

static LLVMTypeRef sixteen(llfi_emit *e, llf_dtype dtype)
{
    return llfi_emit_vec(dtype == LLF_F16 ? e->f16 : e->bf16, e->width);
}

static bool has_bf16(const llfi_emit *e)
{
    return e->target->sm >= 80;
}

/* bf16 pairs as they lie in 32-bit registers: a shift for one, a mask for the other, where taking the halves
 * out first would be another instruction each. */
static LLVMValueRef widen_pairs(llfi_emit *e, LLVMValueRef bits)
{
    LLVMBuilderRef b = e->b;
    uint32_t pairs = e->width / 2;
    LLVMTypeRef words = llfi_emit_vec(e->i32, pairs), floats = llfi_emit_vec(e->f32, pairs);
    LLVMValueRef mask[64], half[64], high[64];
    for (uint32_t i = 0; i < pairs; i++) {
        half[i] = LLVMConstInt(e->i32, 16, 0);
        high[i] = LLVMConstInt(e->i32, 0xffff0000, 0);
        mask[2 * i] = LLVMConstInt(e->i32, i, 0);
        mask[2 * i + 1] = LLVMConstInt(e->i32, pairs + i, 0);
    }
    LLVMValueRef word = LLVMBuildBitCast(b, bits, words, "");
    LLVMValueRef even = LLVMBuildShl(b, word, LLVMConstVector(half, pairs), "");
    LLVMValueRef odd = LLVMBuildAnd(b, word, LLVMConstVector(high, pairs), "");
    return LLVMBuildShuffleVector(b, LLVMBuildBitCast(b, even, floats, ""),
                                  LLVMBuildBitCast(b, odd, floats, ""), LLVMConstVector(mask, e->width), "");
}

static bool pairs_fit(const llfi_emit *e)
{
    return e->width >= 4 && e->width <= 64 && e->width % 2 == 0;
}

static LLVMValueRef operand_of(LLVMValueRef x, LLVMOpcode opcode)
{
    bool is = x && LLVMIsAInstruction(x) && LLVMGetInstructionOpcode(x) == opcode;
    return is ? LLVMGetOperand(x, 0) : NULL;
}

/* The bits that `x` was widened from, so that storing a value already rounded converts nothing; NULL when not
 * known. LLVM folds the f16 case itself (fptrunc of fpext), but not a bf16 that went through a shift. */
static LLVMValueRef bits_of_bf16(llfi_emit *e, LLVMValueRef x)
{
    bool pairs = LLVMIsAInstruction(x) && LLVMGetInstructionOpcode(x) == LLVMShuffleVector;
    if (pairs && !pairs_fit(e))
        return NULL;
    LLVMTypeRef type = llfi_emit_vec(e->i16, e->width);
    LLVMValueRef shift = operand_of(pairs ? LLVMGetOperand(x, 0) : x, LLVMBitCast);
    LLVMValueRef wide = operand_of(shift, LLVMShl);
    if (!wide)
        return NULL;
    if (pairs) /* only widen_pairs makes this shape: a shuffle of so many shifted words */
        return LLVMTypeOf(wide) == llfi_emit_vec(e->i32, e->width / 2) &&
                       LLVMTypeOf(x) == llfi_emit_vec(e->f32, e->width)
                   ? LLVMBuildBitCast(e->b, wide, type, "")
                   : NULL;
    if (LLVMGetOperand(shift, 1) != llfi_emit_i32c(e, 16))
        return NULL;
    LLVMValueRef bits = operand_of(wide, LLVMZExt);
    return bits && LLVMTypeOf(bits) == type ? bits : NULL;
}

static LLVMValueRef narrow(llfi_emit *e, llf_dtype to, LLVMValueRef x)
{
    LLVMValueRef known = to == LLF_BF16 ? bits_of_bf16(e, x) : NULL;
    if (known)
        return known;
    if (is_double(e, x) && to == LLF_BF16 && e->target->sm < 90)
        x = llfi_soft16_round_odd(e, x);
    if (to == LLF_BF16 && !has_bf16(e))
        return llfi_soft16_narrow_f32(e, to, x);
    LLVMValueRef r = LLVMBuildFPTrunc(e->b, x, sixteen(e, to), "");
    return LLVMBuildBitCast(e->b, r, llfi_emit_vec(e->i16, e->width), "");
}

static LLVMValueRef widen(llfi_emit *e, llf_dtype from, LLVMValueRef bits)
{
    if (from == LLF_BF16 && pairs_fit(e))
        return widen_pairs(e, bits);
    if (from == LLF_BF16)
        return llfi_soft16_widen(e, from, bits); /* a shift or prmt; cheaper than a conversion */
    LLVMValueRef half = LLVMBuildBitCast(e->b, bits, sixteen(e, from), "");
    return LLVMBuildFPExt(e->b, half, llfi_emit_vec(e->f32, e->width), "");
}

/* add.rn.bf16x2 and its kin (PTX ISA 7.8, sm_90): two lanes an instruction, subnormals kept. Only for
 * operands whose 16 bits are at hand. f16 needs nothing: LLVM narrows its arithmetic itself. */
static LLVMValueRef binary16(llfi_emit *e, llf_op op, llf_dtype dtype, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef arg[2] = {a, b};
    if (dtype != LLF_BF16 || e->target->sm < 90 || e->width < 2)
        return NULL;
    for (int i = 0; i < 2; i++) {
        LLVMValueRef bits = bits_of_bf16(e, arg[i]);
        if (!bits && !LLVMIsConstant(arg[i]))
            return NULL;
        arg[i] = bits ? LLVMBuildBitCast(e->b, bits, sixteen(e, dtype), "")
                      : LLVMBuildFPTrunc(e->b, arg[i], sixteen(e, dtype), ""); /* folds, exactly */
    }
    LLVMOpcode code = op == LLF_OP_ADD ? LLVMFAdd : op == LLF_OP_SUB ? LLVMFSub : LLVMFMul;
    LLVMValueRef r = LLVMBuildBinOp(e->b, code, arg[0], arg[1], "");
    return widen(e, dtype, LLVMBuildBitCast(e->b, r, llfi_emit_vec(e->i16, e->width), ""));
}

static LLVMValueRef fma16(llfi_emit *e, llf_dtype dtype, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    if (dtype == LLF_BF16 && !has_bf16(e))
        return llfi_soft16_fma(e, dtype, a, b, c);
    LLVMTypeRef type = sixteen(e, dtype);
    LLVMValueRef arg[3] = {narrow(e, dtype, a), narrow(e, dtype, b), narrow(e, dtype, c)};
    for (int i = 0; i < 3; i++)
        arg[i] = LLVMBuildBitCast(e->b, arg[i], type, "");
    LLVMValueRef r = llfi_emit_fma(e, arg[0], arg[1], arg[2]);
    return widen(e, dtype, LLVMBuildBitCast(e->b, r, llfi_emit_vec(e->i16, e->width), ""));
}

/* Where max.NaN is missing. Equal operands differ at most in the sign of zero, which `and` and `or` settle.
 */
static LLVMValueRef maximum_by_select(llfi_emit *e, bool minimum, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef lb = e->b;
    LLVMTypeRef type = LLVMTypeOf(a), bits = llfi_emit_vec(is_double(e, a) ? e->i64 : e->i32, e->width);
    LLVMValueRef ia = LLVMBuildBitCast(lb, a, bits, ""), ib = LLVMBuildBitCast(lb, b, bits, "");
    LLVMValueRef both = minimum ? LLVMBuildOr(lb, ia, ib, "") : LLVMBuildAnd(lb, ia, ib, "");
    LLVMValueRef first = LLVMBuildFCmp(lb, minimum ? LLVMRealOLT : LLVMRealOGT, a, b, "");
    LLVMValueRef equal = LLVMBuildFCmp(lb, LLVMRealOEQ, a, b, "");
    LLVMValueRef nan = LLVMBuildFCmp(lb, LLVMRealUNO, a, b, "");
    LLVMValueRef r = LLVMBuildSelect(lb, first, a, b, "");
    r = LLVMBuildSelect(lb, equal, LLVMBuildBitCast(lb, both, type, ""), r, "");
    return LLVMBuildSelect(lb, nan, LLVMBuildFAdd(lb, a, b, ""), r, "");
}

static LLVMValueRef maximum(llfi_emit *e, llf_dtype dtype, bool minimum, LLVMValueRef a, LLVMValueRef b)
{
    if (dtype == LLF_F64 || e->target->sm < 80)
        return maximum_by_select(e, minimum, a, b);
    LLVMValueRef arg[2] = {a, b};
    return llfi_emit_call(e, minimum ? "llvm.minimum" : "llvm.maximum", LLVMTypeOf(a), arg, 2);
}

static LLVMValueRef divide(llfi_emit *e, llf_dtype dtype, LLVMValueRef a, LLVMValueRef b)
{
    return dtype == LLF_F64 ? LLVMBuildFDiv(e->b, a, b, "") : llfi_nvptx_divide(e, a, b);
}

static LLVMValueRef root(llfi_emit *e, llf_dtype dtype, LLVMValueRef a)
{
    return dtype == LLF_F64 ? llfi_emit_call(e, "llvm.sqrt", LLVMTypeOf(a), &a, 1) : llfi_nvptx_sqrt(e, a);
}

const llfi_lowering llfi_nvptx_lowering = {.function = function,
                                           .divide = divide,
                                           .root = root,
                                           .narrow = narrow,
                                           .widen = widen,
                                           .fma16 = fma16,
                                           .binary16 = binary16,
                                           .maximum = maximum,
                                           .hides_constants = true};
