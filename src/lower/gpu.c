/* gpu.c: threads of a GPU as code (gpu.h), in LLVM's words for NVPTX. LLVM's atomics order nothing by
 * themselves there, so fences stand around them. */
#include "lower/gpu.h"

#include <llvm/Config/llvm-config.h>

#define SHARED 3u /* address space */

static LLVMValueRef number(llfi_emit *e, uint32_t x)
{
    return LLVMConstInt(e->i32, x, 0);
}

LLVMBasicBlockRef llfi_gpu_place(llfi_emit *e)
{
    return LLVMAppendBasicBlockInContext(e->lx, LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->b)), "");
}

LLVMValueRef llfi_gpu_thread(llfi_emit *e)
{
    return llfi_emit_call(e, "llvm.nvvm.read.ptx.sreg.tid.x", NULL, NULL, 0);
}

LLVMValueRef llfi_gpu_block(llfi_emit *e)
{
    return llfi_emit_call(e, "llvm.nvvm.read.ptx.sreg.ctaid.x", NULL, NULL, 0);
}

llf_status llfi_gpu_barrier(llfi_emit *e)
{
    static const char name[] = "llvm.nvvm.barrier.cta.sync.aligned.all"; /* before LLVM 21: barrier0 */
    LLVMValueRef all = number(e, 0);
    LLVMValueRef call = LLVMLookupIntrinsicID(name, sizeof name - 1)
                            ? llfi_emit_call(e, name, NULL, &all, 1)
                            : llfi_emit_call(e, "llvm.nvvm.barrier0", NULL, NULL, 0);
    return call ? LLF_OK : e->status;
}

llf_status llfi_gpu_warp_barrier(llfi_emit *e)
{
    LLVMValueRef all = number(e, UINT32_MAX);
    return llfi_emit_call(e, "llvm.nvvm.bar.warp.sync", NULL, &all, 1) ? LLF_OK : e->status;
}

/* ---- values of other lanes */

static LLVMValueRef word_of(llfi_emit *e, LLVMValueRef x, LLVMValueRef lane, bool is_xor)
{
    LLVMValueRef arg[4] = {number(e, UINT32_MAX), x, lane, number(e, LLFI_WARP - 1)};
    return llfi_emit_call(e, is_xor ? "llvm.nvvm.shfl.sync.bfly.i32" : "llvm.nvvm.shfl.sync.idx.i32", NULL,
                          arg, 4);
}

static LLVMValueRef two_words(llfi_emit *e, LLVMValueRef x, LLVMValueRef lane, bool is_xor)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef half = LLVMConstInt(e->i64, 32, 0);
    LLVMValueRef low = word_of(e, LLVMBuildTrunc(b, x, e->i32, ""), lane, is_xor);
    LLVMValueRef high = LLVMBuildTrunc(b, LLVMBuildLShr(b, x, half, ""), e->i32, "");
    high = low ? word_of(e, high, lane, is_xor) : NULL;
    if (!high)
        return NULL;
    high = LLVMBuildShl(b, LLVMBuildZExt(b, high, e->i64, ""), half, "");
    return LLVMBuildOr(b, LLVMBuildZExt(b, low, e->i64, ""), high, "");
}

static LLVMValueRef shuffle(llfi_emit *e, LLVMValueRef x, LLVMValueRef lane, bool is_xor)
{
    LLVMBuilderRef b = e->b;
    LLVMTypeRef type = LLVMTypeOf(x);
    bool wide = type == e->f64 || type == e->i64;
    LLVMTypeRef bits = wide ? e->i64 : e->i32;
    if (type == e->f64 || type == e->f32)
        x = LLVMBuildBitCast(b, x, bits, "");
    else if (type != bits)
        x = LLVMBuildZExt(b, x, bits, "");
    x = wide ? two_words(e, x, lane, is_xor) : word_of(e, x, lane, is_xor);
    if (!x || type == bits)
        return x;
    return type == e->f64 || type == e->f32 ? LLVMBuildBitCast(b, x, type, "")
                                            : LLVMBuildTrunc(b, x, type, "");
}

LLVMValueRef llfi_gpu_lane_xor(llfi_emit *e, LLVMValueRef x, uint32_t mask)
{
    return shuffle(e, x, number(e, mask), true);
}

LLVMValueRef llfi_gpu_lane_of(llfi_emit *e, LLVMValueRef x, LLVMValueRef lane)
{
    return shuffle(e, x, lane, false);
}

/* ---- memory */

LLVMValueRef llfi_gpu_shared(llfi_emit *e)
{
    static const char name[] = "llf_shared";
    LLVMValueRef shared = LLVMGetNamedGlobal(e->module, name);
    if (shared)
        return shared;
    shared = LLVMAddGlobalInAddressSpace(e->module, LLVMArrayType2(e->i8, 0), name, SHARED);
    LLVMSetLinkage(shared, LLVMExternalLinkage); /* without an initialiser: the launch says how large */
    LLVMSetAlignment(shared, 16);
    return shared;
}

/* A word of the block's, besides. */
static LLVMValueRef shared_word(llfi_emit *e)
{
    static const char name[] = "llf_word";
    LLVMValueRef word = LLVMGetNamedGlobal(e->module, name);
    if (word)
        return word;
    word = LLVMAddGlobalInAddressSpace(e->module, e->i32, name, SHARED);
    LLVMSetLinkage(word, LLVMInternalLinkage);
    LLVMSetInitializer(word, LLVMGetUndef(e->i32));
    LLVMSetAlignment(word, 4);
    return word;
}

static void fence(llfi_emit *e)
{
#if LLVM_VERSION_MAJOR >= 20
    LLVMBuildFenceSyncScope(e->b, LLVMAtomicOrderingAcquireRelease, LLVMGetSyncScopeID(e->lx, "device", 6),
                            "");
#else
    LLVMBuildFence(e->b, LLVMAtomicOrderingAcquireRelease, 0, "");
#endif
}

static LLVMValueRef count(llfi_emit *e, LLVMValueRef counter)
{
#if LLVM_VERSION_MAJOR >= 20
    return LLVMBuildAtomicRMWSyncScope(e->b, LLVMAtomicRMWBinOpAdd, counter, number(e, 1),
                                       LLVMAtomicOrderingMonotonic, LLVMGetSyncScopeID(e->lx, "device", 6));
#else
    return LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpAdd, counter, number(e, 1), LLVMAtomicOrderingMonotonic,
                              0);
#endif
}

/* The barrier before makes the block's writes one thread's past, whose fence puts them before the count; the
 * others' are brought in by the fence behind it and the barrier after. */
LLVMValueRef llfi_gpu_is_last(llfi_emit *e, LLVMValueRef counter, LLVMValueRef blocks)
{
    LLVMBuilderRef b = e->b;
    LLVMValueRef word = shared_word(e), thread = llfi_gpu_thread(e);
    if (!thread || llfi_gpu_barrier(e) != LLF_OK)
        return NULL;
    LLVMBasicBlockRef first = llfi_gpu_place(e), reset = llfi_gpu_place(e), told = llfi_gpu_place(e),
                      all = llfi_gpu_place(e);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, thread, number(e, 0), ""), first, all);
    LLVMPositionBuilderAtEnd(b, first);
    fence(e);
    LLVMValueRef before = count(e, counter);
    LLVMValueRef last = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAdd(b, before, number(e, 1), ""), blocks, "");
    fence(e);
    LLVMBuildStore(b, LLVMBuildZExt(b, last, e->i32, ""), word);
    LLVMBuildCondBr(b, last, reset, told);
    LLVMPositionBuilderAtEnd(b, reset);
    LLVMBuildStore(b, number(e, 0), counter);
    LLVMBuildBr(b, told);
    LLVMPositionBuilderAtEnd(b, told);
    LLVMBuildBr(b, all);
    LLVMPositionBuilderAtEnd(b, all);
    if (llfi_gpu_barrier(e) != LLF_OK)
        return NULL;
    LLVMValueRef told_word = LLVMBuildLoad2(b, e->i32, word, "");
    return LLVMBuildICmp(b, LLVMIntNE, told_word, number(e, 0), "");
}
