/* emit_util.c: what op emitters share: types, constants, intrinsics by name, and the step between register
 * and memory form. It knows no op and no target; how bits are rounded is the target's (llfi_lowering). */
#include "lower/lower.h"

#include "ir/float.h"

#define MAX_WIDTH 64

LLVMTypeRef llfi_emit_vec(LLVMTypeRef scalar, uint32_t width)
{
    return width == 1 ? scalar : LLVMVectorType(scalar, width);
}

LLVMTypeRef llfi_emit_reg_type(const llfi_emit *e, llf_dtype dtype, uint32_t width)
{
    LLVMTypeRef t = e->f32;
    switch (dtype) {
    case LLF_F64: t = e->f64; break;
    case LLF_I32: t = e->i32; break;
    case LLF_I64: t = e->i64; break;
    case LLF_BOOL: t = e->i1; break;
    default: break; /* f32, and the 16-bit floats already rounded */
    }
    return llfi_emit_vec(t, width);
}

LLVMTypeRef llfi_emit_mem_type(const llfi_emit *e, llf_dtype dtype, uint32_t width)
{
    switch (dtype) {
    case LLF_F16:
    case LLF_BF16: return llfi_emit_vec(e->i16, width);
    case LLF_BOOL: return llfi_emit_vec(e->i8, width);
    default: return llfi_emit_reg_type(e, dtype, width);
    }
}

LLVMValueRef llfi_emit_splat(llfi_emit *e, LLVMValueRef scalar, uint32_t width)
{
    if (width == 1 || !scalar)
        return scalar;
    if (LLVMIsConstant(scalar)) {
        LLVMValueRef lane[MAX_WIDTH];
        for (uint32_t i = 0; i < width; i++)
            lane[i] = scalar;
        return LLVMConstVector(lane, width);
    }
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), width);
    LLVMValueRef poison = LLVMGetPoison(type); /* never read: every lane takes lane 0 */
    LLVMValueRef one = LLVMBuildInsertElement(e->b, poison, scalar, LLVMConstInt(e->i32, 0, 0), "");
    return LLVMBuildShuffleVector(e->b, one, poison, LLVMConstNull(LLVMVectorType(e->i32, width)), "");
}

/* By bits: LLVMConstReal would pass a NaN through a conversion. */
LLVMValueRef llfi_emit_f32c(llfi_emit *e, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return llfi_emit_splat(e, LLVMConstBitCast(LLVMConstInt(e->i32, bits, 0), e->f32), e->width);
}

LLVMValueRef llfi_emit_f64c(llfi_emit *e, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return llfi_emit_splat(e, LLVMConstBitCast(LLVMConstInt(e->i64, bits, 0), e->f64), e->width);
}

LLVMValueRef llfi_emit_i32c(llfi_emit *e, int32_t x)
{
    return llfi_emit_splat(e, LLVMConstInt(e->i32, (uint32_t)x, 0), e->width);
}

LLVMValueRef llfi_emit_i64c(llfi_emit *e, int64_t x)
{
    return llfi_emit_splat(e, LLVMConstInt(e->i64, (uint64_t)x, 0), e->width);
}

LLVMValueRef llfi_emit_literal(llfi_emit *e, llf_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case LLF_F64:
        return llfi_emit_splat(e, LLVMConstBitCast(LLVMConstInt(e->i64, bits, 0), e->f64), e->width);
    case LLF_F32:
        return llfi_emit_splat(e, LLVMConstBitCast(LLVMConstInt(e->i32, bits & UINT32_MAX, 0), e->f32),
                               e->width);
    case LLF_F16: return llfi_emit_f32c(e, llfi_f32_from_f16((uint16_t)bits));
    case LLF_BF16: return llfi_emit_f32c(e, llfi_f32_from_bf16((uint16_t)bits));
    case LLF_I32: return llfi_emit_splat(e, LLVMConstInt(e->i32, bits & UINT32_MAX, 0), e->width);
    case LLF_I64: return llfi_emit_splat(e, LLVMConstInt(e->i64, bits, 0), e->width);
    case LLF_BOOL: return llfi_emit_splat(e, LLVMConstInt(e->i1, bits & 1, 0), e->width);
    default: e->status = llfi_fail(e->diag, LLF_E_INTERNAL, "literal of dtype %d", (int)dtype); return NULL;
    }
}

LLVMValueRef llfi_emit_call(llfi_emit *e, const char *intrinsic, LLVMTypeRef overload, LLVMValueRef *arg,
                            uint32_t n)
{
    unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
    if (!id) {
        e->status = llfi_fail(e->diag, LLF_E_LLVM, "this LLVM has no intrinsic %s", intrinsic);
        return NULL;
    }
    size_t overloads = overload ? 1 : 0;
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &overload, overloads);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->lx, id, &overload, overloads), f, arg, n, "");
}

LLVMValueRef llfi_emit_round(llfi_emit *e, llf_dtype dtype, LLVMValueRef x)
{
    if (!x || (dtype != LLF_F16 && dtype != LLF_BF16))
        return x;
    LLVMValueRef bits = e->target->backend->lowering->narrow(e, dtype, x);
    return bits ? e->target->backend->lowering->widen(e, dtype, bits) : NULL;
}

LLVMValueRef llfi_emit_pack(llfi_emit *e, llf_dtype dtype, LLVMValueRef x)
{
    switch (dtype) {
    case LLF_F16:
    case LLF_BF16: return e->target->backend->lowering->narrow(e, dtype, x);
    case LLF_BOOL: return LLVMBuildZExt(e->b, x, llfi_emit_vec(e->i8, e->width), "");
    default: return x;
    }
}

LLVMValueRef llfi_emit_unpack(llfi_emit *e, llf_dtype dtype, LLVMValueRef bits)
{
    switch (dtype) {
    case LLF_F16:
    case LLF_BF16: return e->target->backend->lowering->widen(e, dtype, bits);
    case LLF_BOOL: return LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
    default: return bits;
    }
}
