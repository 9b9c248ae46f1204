/* check.c: the gate before code generation. LLVM ends the process on a node it cannot select, so only what is
 * known to select passes: opcodes, types and callees are whitelisted. Must not change the module. */
#include "target/nvptx/nvptx.h"

/* Intrinsics by element type. tests/unit/test_target_nvptx_select.c compiles every one of them for every type
 * on three architectures: a new row here is a new row there. */
static const char *const any_float[] = {"llvm.fma.", "llvm.fabs.", "llvm.arithmetic.fence.", NULL};
static const char *const full_float[] = {
    "llvm.sqrt.", "llvm.copysign.",  "llvm.trunc.",      "llvm.floor.",      "llvm.ceil.",
    "llvm.rint.", "llvm.roundeven.", "llvm.fptosi.sat.", "llvm.fptoui.sat.", NULL};
static const char *const f32_sm80[] = {"llvm.maximum.", "llvm.minimum.", NULL};
static const char *const integer[] = {"llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin.",
                                      "llvm.abs.",  "llvm.ctlz.", "llvm.cttz.", "llvm.ctpop.",
                                      "llvm.fshl.", "llvm.fshr.", NULL};
static const char *const registers[] = {"llvm.nvvm.read.ptx.sreg.tid.", "llvm.nvvm.read.ptx.sreg.ntid.",
                                        "llvm.nvvm.read.ptx.sreg.ctaid.", "llvm.nvvm.read.ptx.sreg.nctaid.",
                                        NULL};

/* Exact names: approximations that div.c refines, and exp2 where subnormals are lost anyway. */
static const char *const approximations[] = {"llvm.nvvm.rcp.approx.ftz.f",   "llvm.nvvm.rcp.approx.ftz.d",
                                             "llvm.nvvm.rsqrt.approx.ftz.f", "llvm.nvvm.rsqrt.approx.ftz.d",
                                             "llvm.nvvm.ex2.approx.ftz.f",   NULL};

/* Exact names: barriers of a block and of a warp, and words of other lanes. */
static const char *const barriers[] = {
    "llvm.nvvm.barrier.cta.sync.aligned.all", "llvm.nvvm.barrier0",          "llvm.nvvm.bar.warp.sync",
    "llvm.nvvm.shfl.sync.bfly.i32",           "llvm.nvvm.shfl.sync.idx.i32", NULL};

static bool starts(const char *name, const char *const *prefix)
{
    for (; *prefix; prefix++)
        if (strncmp(name, *prefix, strlen(*prefix)) == 0)
            return true;
    return false;
}

/* *scalar: the element's kind. Vectors only up to 16 lanes, and not of pointers. */
static bool type_ok(const llfi_target *t, LLVMTypeRef type, LLVMTypeKind *scalar)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMVectorTypeKind) {
        if (LLVMGetVectorSize(type) > 16)
            return false;
        type = LLVMGetElementType(type);
        kind = LLVMGetTypeKind(type);
        if (kind == LLVMPointerTypeKind)
            return false;
    }
    *scalar = kind;
    if (kind == LLVMIntegerTypeKind) {
        unsigned bits = LLVMGetIntTypeWidth(type); /* 128-bit division would be a library call */
        return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
    }
    if (kind == LLVMBFloatTypeKind)
        return t->sm >= 80;
    return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMHalfTypeKind ||
           kind == LLVMPointerTypeKind || kind == LLVMVoidTypeKind || kind == LLVMLabelTypeKind;
}

static bool opcode_ok(LLVMValueRef inst)
{
    switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMRet:
    case LLVMBr:
    case LLVMAdd:
    case LLVMFAdd:
    case LLVMSub:
    case LLVMFSub:
    case LLVMMul:
    case LLVMFMul:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMFDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMLoad:
    case LLVMStore:
    case LLVMGetElementPtr:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMFPToUI:
    case LLVMFPToSI:
    case LLVMUIToFP:
    case LLVMSIToFP:
    case LLVMFPTrunc:
    case LLVMFPExt:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMPHI:
    case LLVMCall:
    case LLVMSelect:
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMShuffleVector:
    case LLVMFNeg:
    case LLVMFreeze:
    case LLVMFence: return true;
    case LLVMAtomicRMW: /* counters; the order is that of the fences around it */
        return LLVMGetAtomicRMWBinOp(inst) == LLVMAtomicRMWBinOpAdd &&
               LLVMGetOrdering(inst) == LLVMAtomicOrderingMonotonic &&
               LLVMTypeOf(inst) == LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(inst)));
    default:
        return false; /* frem (wrong for large quotients), alloca (local memory), unreachable (a trap),
                         other atomics, ... */
    }
}

static llf_status refuse(llfi_diag *d, const llfi_target *t, LLVMValueRef inst, const char *why)
{
    char *text = LLVMPrintValueToString(inst);
    llf_status s = llfi_fail(d, LLF_E_LLVM, "%s: %s: %.300s", t->name, why, text ? text : "?");
    LLVMDisposeMessage(text);
    return s;
}

static llf_status check_call(llfi_diag *d, const llfi_target *t, LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (!callee || !LLVMIsAFunction(callee))
        return refuse(d, t, call, "an indirect call or inline assembly cannot be selected");
    size_t length = 0;
    const char *name = LLVMGetValueName2(callee, &length);
    if (length > 5 && memcmp(name, "__nv_", 5) == 0) {
        const unsigned char *bitcode;
        size_t bytes;
        if (!LLVMIsDeclaration(callee) || llfi_libdevice_get(name, &bitcode, &bytes))
            return LLF_OK;
        return refuse(d, t, call, "not an embedded libdevice function");
    }
    if (!LLVMIsDeclaration(callee))
        return LLF_OK; /* its body is walked too */
    if (starts(name, registers) || starts(name, approximations) || starts(name, barriers))
        return LLF_OK;
    LLVMTypeKind kind = LLVMVoidTypeKind;
    if (!LLVMGetNumArgOperands(call) || !type_ok(t, LLVMTypeOf(LLVMGetOperand(call, 0)), &kind))
        return refuse(d, t, call, "a call that code generation cannot select");
    bool full = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
    bool half = kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
    if ((starts(name, any_float) && (full || half)) || (starts(name, full_float) && full) ||
        (starts(name, f32_sm80) && kind == LLVMFloatTypeKind && t->sm >= 80) ||
        (starts(name, integer) && kind == LLVMIntegerTypeKind))
        return LLF_OK;
    return refuse(d, t, call, "a call that code generation cannot select");
}

static llf_status check_inst(llfi_diag *d, const llfi_target *t, LLVMValueRef inst)
{
    LLVMTypeKind kind;
    LLVMOpcode op = LLVMGetInstructionOpcode(inst);
    if (!opcode_ok(inst))
        return refuse(d, t, inst, "an instruction that code generation cannot select");
    if (!type_ok(t, LLVMTypeOf(inst), &kind))
        return refuse(d, t, inst, "a type that this architecture lacks");
    unsigned operands = (unsigned)LLVMGetNumOperands(inst);
    for (unsigned i = 0; i < operands && op != LLVMCall && op != LLVMBr; i++)
        if (!type_ok(t, LLVMTypeOf(LLVMGetOperand(inst, i)), &kind))
            return refuse(d, t, inst, "a type that this architecture lacks");
    if (op == LLVMSIToFP) {
        LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(inst, 0));
        if (LLVMGetTypeKind(from) == LLVMVectorTypeKind)
            from = LLVMGetElementType(from);
        if (LLVMGetIntTypeWidth(from) == 1) /* LLVM 22 gives +1, not -1 */
            return refuse(d, t, inst, "sitofp of i1 is selected wrongly");
    }
    return op == LLVMCall ? check_call(d, t, inst) : LLF_OK;
}

llf_status llfi_nvptx_check(llfi_diag *d, const llfi_target *t, LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef inst = LLVMGetFirstInstruction(bb); inst; inst = LLVMGetNextInstruction(inst))
                LLF_TRY(check_inst(d, t, inst));
    return LLF_OK;
}
