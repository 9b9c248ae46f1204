/* emit_util.c: what op emitters share: types, constants, intrinsics by name, and the step between register
 * and memory form. It knows no op and no target; how bits are rounded is the target's (llfi_lowering). */
#include "lower/lower.h"

#include "ir/float.h"

#include <llvm-c/DebugInfo.h>

#define MAX_WIDTH 64

void llfi_emit_types(llfi_emit *e, LLVMContextRef lx)
{
    e->lx = lx;
    e->f16 = LLVMHalfTypeInContext(lx);
    e->bf16 = LLVMBFloatTypeInContext(lx);
    e->f32 = LLVMFloatTypeInContext(lx);
    e->f64 = LLVMDoubleTypeInContext(lx);
    e->i1 = LLVMInt1TypeInContext(lx);
    e->i8 = LLVMInt8TypeInContext(lx);
    e->i16 = LLVMInt16TypeInContext(lx);
    e->i32 = LLVMInt32TypeInContext(lx);
    e->i64 = LLVMInt64TypeInContext(lx);
}

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

LLVMValueRef llfi_emit_as(llfi_emit *e, LLVMTypeRef scalar, LLVMValueRef v)
{
    return LLVMBuildBitCast(e->b, v, llfi_emit_vec(scalar, e->width), "");
}

static bool is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

LLVMValueRef llfi_emit_lane(llfi_emit *e, LLVMValueRef v, uint32_t lane)
{
    return is_vector(v) ? LLVMBuildExtractElement(e->b, v, LLVMConstInt(e->i32, lane, 0), "") : v;
}

LLVMValueRef llfi_emit_by_lane(llfi_emit *e, LLVMTypeRef type, LLVMValueRef function, LLVMValueRef x)
{
    if (!is_vector(x))
        return LLVMBuildCall2(e->b, type, function, &x, 1, "");
    LLVMValueRef r = LLVMGetPoison(LLVMTypeOf(x)); /* every lane is set */
    for (uint32_t i = 0; i < LLVMGetVectorSize(LLVMTypeOf(x)); i++) {
        LLVMValueRef lane = llfi_emit_lane(e, x, i);
        lane = LLVMBuildCall2(e->b, type, function, &lane, 1, "");
        r = LLVMBuildInsertElement(e->b, r, lane, LLVMConstInt(e->i32, i, 0), "");
    }
    return r;
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

LLVMValueRef llfi_emit_fma(llfi_emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    return llfi_emit_call(e, "llvm.fma", LLVMTypeOf(a), (LLVMValueRef[]){a, b, c}, 3);
}

const LLVMValueRef *llfi_emit_memo(const llfi_emit *e, const void *key, LLVMValueRef arg)
{
    for (uint32_t i = 0; i < e->memos; i++)
        if (e->memo[i].key == key && e->memo[i].arg == arg)
            return e->memo[i].result;
    return NULL;
}

void llfi_emit_memo_keep(llfi_emit *e, const void *key, LLVMValueRef arg, const LLVMValueRef result[2])
{
    if (e->memos == LLFI_COUNT(e->memo))
        return;
    e->memo[e->memos].key = key;
    e->memo[e->memos].arg = arg;
    memcpy(e->memo[e->memos].result, result, sizeof e->memo[0].result);
    e->memos++;
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

void llfi_emit_keep_loop(llfi_emit *e, LLVMValueRef branch)
{
    LLVMContextRef lx = e->lx;
    LLVMMetadataRef property[3];
    property[0] = LLVMTemporaryMDNode(lx, NULL, 0);
    const char *const text[2] = {"llvm.loop.vectorize.enable", "llvm.loop.unroll.disable"};
    for (int i = 0; i < 2; i++) {
        LLVMMetadataRef part[2] = {LLVMMDStringInContext2(lx, text[i], strlen(text[i])),
                                   LLVMValueAsMetadata(LLVMConstInt(e->i1, 0, 0))};
        property[i + 1] = LLVMMDNodeInContext2(lx, part, i == 0 ? 2 : 1);
    }
    LLVMMetadataRef loop = LLVMMDNodeInContext2(lx, property, 3);
    LLVMMetadataReplaceAllUsesWith(property[0],
                                   loop); /* a loop's node names itself first; this frees the temporary */
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(lx, "llvm.loop", 9), LLVMMetadataAsValue(lx, loop));
}
