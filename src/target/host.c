/* host.c: the CPU backend: LLVM IR -> ELF object for this machine. Must not load or run anything, and must
 * not let floats be contracted, flushed or approximated. */
#include "target/host.h"
#include "target/soft16.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* Emitters already make good code: what is left is inlining helpers, common subexpressions of several ops,
 * and uniform values inside the element loop. instcombine was measured: no faster code, and half of the time
 * of all passes. */
#define PASSES "always-inline,function(early-cse,loop-mssa(licm))"
/* A helper (host_math.c) with more uses is called: code and compile time stay linear. */
#define INLINE_USES 4u

static void string_attribute(LLVMContextRef lx, LLVMValueRef f, const char *name, const char *value)
{
    LLVMAddAttributeAtIndex(
        f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(lx, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

void llfi_host_attributes(LLVMContextRef lx, const llfi_target *t, LLVMValueRef f)
{
    char bits[16];
    (void)snprintf(bits, sizeof bits, "%u", (unsigned)t->simd_bytes * 8);
    string_attribute(lx, f, "target-cpu", t->cpu);
    if (t->features[0])
        string_attribute(lx, f, "target-features", t->features);
    string_attribute(lx, f, "denormal-fp-math", "ieee,ieee");
    /* LLVM prefers half registers on CPUs with AVX-512 for the sake of short bursts; a kernel is no short
     * burst. */
    string_attribute(lx, f, "prefer-vector-width", bits);
    string_attribute(lx, f, "min-legal-vector-width", bits);
    static const char *const enums[] = {"nounwind", "mustprogress", "willreturn"};
    for (size_t i = 0; i < LLFI_COUNT(enums); i++)
        LLVMAddAttributeAtIndex(
            f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(lx, LLVMGetEnumAttributeKindForName(enums[i], strlen(enums[i])), 0));
}

static llf_status machine(llfi_diag *d, const llfi_target *t, LLVMTargetMachineRef *tm)
{
    char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;
    LLVMTargetRef target;
    llf_status s = LLF_OK;
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        s = llfi_fail(d, LLF_E_TARGET, "host: %s", message ? message : "LLVM has no such target");
    } else {
        *tm = LLVMCreateTargetMachine(target, triple, t->cpu, t->features, LLVMCodeGenLevelDefault,
                                      LLVMRelocPIC, LLVMCodeModelSmall);
        if (!*tm)
            s = llfi_fail(d, LLF_E_LLVM, "host: no target machine for '%s'", t->name);
    }
    LLVMDisposeMessage(message);
    LLVMDisposeMessage(triple);
    return s;
}

/* e->width is 1 here. */
static llf_status load_arguments(llfi_site *site, LLVMValueRef slots)
{
    llfi_emit *e = &site->emit;
    const llfi_schedule *s = site->schedule;
    for (uint32_t i = 0; i < s->args; i++) {
        LLVMValueRef at = LLVMConstInt(e->i64, (uint64_t)i * 8, false);
        LLVMValueRef slot = LLVMBuildInBoundsGEP2(e->b, e->i8, slots, &at, 1, "");
        LLVMTypeRef type = LLVMPointerTypeInContext(e->lx, 0);
        if (s->arg[i].kind == LLFI_ARG_DIM || s->arg[i].kind == LLFI_ARG_STRIDE)
            type = e->i64;
        else if (s->arg[i].kind == LLFI_ARG_SCALAR)
            type = llfi_emit_mem_type(e, s->arg[i].dtype, 1); /* low bytes of the slot: little-endian hosts */
        LLVMValueRef v = LLVMBuildLoad2(e->b, type, slot, "");
        site->arg[i] = s->arg[i].kind == LLFI_ARG_SCALAR ? llfi_emit_unpack(e, s->arg[i].dtype, v) : v;
    }
    return e->status;
}

static llf_status host_begin(llfi_site *site)
{
    llfi_emit *e = &site->emit;
    LLVMTargetMachineRef tm = NULL;
    LLF_TRY(machine(e->diag, e->target, &tm));
    char *triple = LLVMGetTargetMachineTriple(tm);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    LLVMSetTarget(e->module, triple);
    LLVMSetModuleDataLayout(e->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
    LLVMDisposeTargetMachine(tm);

    LLVMTypeRef param[] = {LLVMPointerTypeInContext(e->lx, 0), e->i64, e->i64};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->lx), param, 3, false);
    site->function = LLVMAddFunction(e->module, site->name, type);
    llfi_host_attributes(e->lx, e->target, site->function);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->lx, site->function, "entry"));
    site->range[0] = LLVMGetParam(site->function, 1);
    site->range[1] = LLVMGetParam(site->function, 2);
    return load_arguments(site, LLVMGetParam(site->function, 0));
}

/* LLVM prints what nobody handles; errors are ours to report. */
typedef struct {
    char text[512];
} collected;

static void collect(LLVMDiagnosticInfoRef info, void *user)
{
    collected *c = user;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || c->text[0])
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    (void)snprintf(c->text, sizeof c->text, "%s", text ? text : "error");
    LLVMDisposeMessage(text);
}

static llf_status verify(llfi_diag *d, LLVMModuleRef module)
{
    char *message = NULL;
    llf_status s = LLF_OK;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
        s = llfi_fail(d, LLF_E_LLVM, "host: invalid module: %s", message ? message : "");
    LLVMDisposeMessage(message);
    return s;
}

static void choose_inlining(LLVMModuleRef module)
{
    LLVMAttributeRef always = LLVMCreateEnumAttribute(LLVMGetModuleContext(module),
                                                      LLVMGetEnumAttributeKindForName("alwaysinline", 12), 0);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        uint32_t uses = 0;
        for (LLVMUseRef u = LLVMGetFirstUse(f); u && uses <= INLINE_USES; u = LLVMGetNextUse(u))
            uses++;
        if (LLVMGetLinkage(f) == LLVMInternalLinkage && uses <= INLINE_USES)
            LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, always);
    }
}

static llf_status optimise(llfi_diag *d, LLVMModuleRef module, LLVMTargetMachineRef tm)
{
    choose_inlining(module);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, PASSES, tm, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error)
        return LLF_OK;
    char *message = LLVMGetErrorMessage(error);
    llf_status s = llfi_fail(d, LLF_E_LLVM, "host: passes: %s", message);
    LLVMDisposeErrorMessage(message);
    return s;
}

/* Code generation changes the module, so that each kind of output works on a copy of its own. */
static llf_status emit(llfi_diag *d, LLVMTargetMachineRef tm, LLVMModuleRef module, LLVMCodeGenFileType kind,
                       LLVMMemoryBufferRef *out)
{
    char *message = NULL;
    llf_status s = LLF_OK;
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, module, kind, &message, out))
        s = llfi_fail(d, LLF_E_LLVM, "host: code generation: %s", message ? message : "");
    LLVMDisposeMessage(message);
    return s;
}

static llf_status emit_assembly(llfi_diag *d, LLVMTargetMachineRef tm, LLVMModuleRef module, llfi_str *text)
{
    LLVMModuleRef copy = LLVMCloneModule(module);
    LLVMMemoryBufferRef buffer = NULL;
    llf_status s = emit(d, tm, copy, LLVMAssemblyFile, &buffer);
    LLVMDisposeModule(copy);
    if (s != LLF_OK)
        return s;
    llfi_str_add(text, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return text->failed ? llfi_nomem(d) : LLF_OK;
}

static llf_status emit_object(llfi_diag *d, LLVMTargetMachineRef tm, const llf_allocator *mem,
                              LLVMModuleRef module, llfi_code *code)
{
    LLVMMemoryBufferRef buffer = NULL;
    LLF_TRY(emit(d, tm, module, LLVMObjectFile, &buffer));
    size_t bytes = LLVMGetBufferSize(buffer);
    llf_status s = llfi_host_object_check(d, LLVMGetBufferStart(buffer), bytes);
    if (s == LLF_OK) {
        code->code = llfi_alloc(mem, bytes + 1);
        if (code->code) {
            memcpy(code->code, LLVMGetBufferStart(buffer), bytes);
            code->code[bytes] = 0;
            code->bytes = bytes;
        } else {
            s = llfi_nomem(d);
        }
    }
    LLVMDisposeMemoryBuffer(buffer);
    return s;
}

static llf_status stages(llfi_diag *d, LLVMTargetMachineRef tm, const llf_allocator *mem,
                         LLVMModuleRef module, llfi_code *code, llfi_str *llvm_opt, llfi_str *assembly)
{
    LLF_TRY(verify(d, module));
    double start = llfi_now_ms();
    LLF_TRY(optimise(d, module, tm));
    double optimised = llfi_now_ms();
    code->opt_ms = optimised - start;
    if (llvm_opt) {
        char *text = LLVMPrintModuleToString(module);
        llfi_str_puts(llvm_opt, text);
        LLVMDisposeMessage(text);
        if (llvm_opt->failed)
            return llfi_nomem(d);
    }
    if (assembly)
        LLF_TRY(emit_assembly(d, tm, module, assembly));
    start = llfi_now_ms();
    LLF_TRY(emit_object(d, tm, mem, module, code));
    code->emit_ms = llfi_now_ms() - start;
    return LLF_OK;
}

static llf_status host_compile(llfi_diag *d, const llfi_target *t, const llf_allocator *mem,
                               LLVMModuleRef module, llfi_code *code, llfi_str *llvm_opt, llfi_str *assembly)
{
    *code = (llfi_code){0};
    LLVMTargetMachineRef tm = NULL;
    LLF_TRY(machine(d, t, &tm));
    LLVMContextRef lx = LLVMGetModuleContext(module);
    LLVMDiagnosticHandler old = LLVMContextGetDiagnosticHandler(lx);
    void *old_user = LLVMContextGetDiagnosticContext(lx);
    collected errors = {{0}};
    LLVMContextSetDiagnosticHandler(lx, collect, &errors);
    llf_status s = stages(d, tm, mem, module, code, llvm_opt, assembly);
    LLVMContextSetDiagnosticHandler(lx, old, old_user);
    LLVMDisposeTargetMachine(tm);
    if (s == LLF_OK && errors.text[0])
        s = llfi_fail(d, LLF_E_LLVM, "host: %s", errors.text);
    if (s != LLF_OK && code->code) {
        llfi_free(mem, code->code, code->bytes + 1);
        *code = (llfi_code){0};
    }
    return s;
}

/* ---- lowering */
static LLVMValueRef host_function(llfi_emit *e, llf_op op, llf_dtype compute, LLVMValueRef x)
{
    return compute == LLF_F64 ? llfi_host_f64(e, op, x) : llfi_host_f32(e, op, x);
}

static LLVMValueRef host_narrow(llfi_emit *e, llf_dtype to, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    return type == e->f64 ? llfi_soft16_narrow_f64(e, to, x) : llfi_soft16_narrow_f32(e, to, x);
}

static LLVMValueRef host_divide(llfi_emit *e, llf_dtype dtype, LLVMValueRef a, LLVMValueRef b)
{
    (void)dtype;
    return LLVMBuildFDiv(e->b, a, b, "");
}

static LLVMValueRef host_root(llfi_emit *e, llf_dtype dtype, LLVMValueRef a)
{
    (void)dtype;
    return llfi_emit_call(e, "llvm.sqrt", LLVMTypeOf(a), &a, 1);
}

static LLVMValueRef host_maximum(llfi_emit *e, llf_dtype dtype, bool minimum, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef arg[] = {a, b};
    return llfi_emit_call(e, minimum ? "llvm.minimum" : "llvm.maximum",
                          llfi_emit_reg_type(e, dtype, e->width), arg, 2);
}

static const llfi_lowering lowering = {
    .function = host_function,
    .narrow = host_narrow,
    .widen = llfi_soft16_widen,
    .fma16 = llfi_soft16_fma,
    .divide = host_divide,
    .root = host_root,
    .maximum = host_maximum,
};
static const llfi_skeleton *const skeletons[] = {&llfi_skeleton_pointwise_host, NULL};

const llfi_backend llfi_backend_host = {
    .name = "host",
    .lowering = &lowering,
    .skeletons = skeletons,
    .init = llfi_host_init,
    .begin = host_begin,
    .compile = host_compile,
};
