/* host.c: the CPU backend: LLVM IR -> ELF object for this machine. Must not load or run anything, and must
 * not let floats be contracted, flushed or approximated. */
#include "target/host.h"

#include "lower/llvm.h"
#include "target/soft16.h"

/* Emitters already make good code: what is left is inlining helpers, registers for the slots of reductions,
 * common subexpressions of several ops, and uniform values inside the element loop. instcombine was measured:
 * no faster code, and half of the time of all passes. */
#define PASSES "always-inline,function(mem2reg,early-cse,loop-mssa(licm))"
/* A helper (host_math.c) with more uses is called: code and compile time stay linear. */
#define INLINE_USES 4u

void llfi_host_attributes(LLVMContextRef lx, const llfi_target *t, LLVMValueRef f)
{
    char bits[16];
    (void)snprintf(bits, sizeof bits, "%u", (unsigned)t->simd_bytes * 8);
    llfi_llvm_attribute(lx, f, "target-cpu", t->cpu);
    if (t->features[0])
        llfi_llvm_attribute(lx, f, "target-features", t->features);
    llfi_llvm_attribute(lx, f, "denormal-fp-math", "ieee,ieee");
    /* LLVM prefers half registers on CPUs with AVX-512 for the sake of short bursts; a kernel is no short
     * burst. */
    llfi_llvm_attribute(lx, f, "prefer-vector-width", bits);
    llfi_llvm_attribute(lx, f, "min-legal-vector-width", bits);
    static const char *const enums[] = {"nounwind", "mustprogress", "willreturn"};
    for (size_t i = 0; i < LLFI_COUNT(enums); i++)
        llfi_llvm_enum_attribute(lx, f, enums[i], 0);
}

/* Of no CPU: functions carry theirs (llfi_host_attributes). Reading some 200 features once more for the
 * machine took several percent of compiling a small kernel. */
static llf_status machine(llfi_diag *d, const llfi_target *t, LLVMTargetMachineRef *tm)
{
    char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;
    LLVMTargetRef target;
    llf_status s = LLF_OK;
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        s = llfi_fail(d, LLF_E_TARGET, "host: %s", message ? message : "LLVM has no such target");
    } else {
        *tm = LLVMCreateTargetMachine(target, triple, "", "", LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                      LLVMCodeModelSmall);
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
    for (uint32_t i = 0; i < s->args && (!i || s->arg[i - 1].kind != LLFI_ARG_TABLE); i++) {
        LLVMValueRef at = LLVMConstInt(e->i64, (uint64_t)i * 8, false);
        LLVMValueRef slot = LLVMBuildInBoundsGEP2(e->b, e->i8, slots, &at, 1, "");
        LLVMTypeRef type = LLVMPointerTypeInContext(e->lx, 0);
        if (s->arg[i].kind == LLFI_ARG_DIM || s->arg[i].kind == LLFI_ARG_STRIDE ||
            s->arg[i].kind == LLFI_ARG_RECIPROCAL)
            type = e->i64;
        else if (s->arg[i].kind == LLFI_ARG_SCALAR)
            type = llfi_emit_mem_type(e, s->arg[i].dtype, 1); /* low bytes of the slot: little-endian hosts */
        LLVMValueRef v = LLVMBuildLoad2(e->b, type, slot, "");
        site->arg[i] = s->arg[i].kind == LLFI_ARG_SCALAR ? llfi_emit_unpack(e, s->arg[i].dtype, v) : v;
    }
    return e->status;
}

static llf_status make_function(llfi_site *site)
{
    llfi_emit *e = &site->emit;
    LLVMTypeRef param[] = {LLVMPointerTypeInContext(e->lx, 0), e->i64, e->i64};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->lx), param, 3, false);
    site->function = LLVMAddFunction(e->module, site->name, type);
    llfi_host_attributes(e->lx, e->target, site->function);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->lx, site->function, "entry"));
    site->range[0] = LLVMGetParam(site->function, 1);
    site->range[1] = LLVMGetParam(site->function, 2);
    return site->schedule->parts ? LLF_OK : load_arguments(site, LLVMGetParam(site->function, 0));
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

    return make_function(site);
}

/* A part's arguments are slots like a kernel's, from its row of the block on. */
static llf_status host_begin_part(llfi_site *site)
{
    LLF_TRY(make_function(site));
    LLVMSetLinkage(site->function, LLVMInternalLinkage);
    return LLF_OK;
}

static void choose_inlining(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        uint32_t uses = 0;
        for (LLVMUseRef u = LLVMGetFirstUse(f); u && uses <= INLINE_USES; u = LLVMGetNextUse(u))
            uses++;
        if (LLVMGetLinkage(f) == LLVMInternalLinkage && uses <= INLINE_USES)
            llfi_llvm_enum_attribute(LLVMGetModuleContext(module), f, "alwaysinline", 0);
    }
}

/* Code generation changes the module, so that the text is made of a copy. */
static llf_status emit_assembly(llfi_diag *d, LLVMTargetMachineRef tm, const llf_allocator *mem,
                                LLVMModuleRef module, llfi_str *out)
{
    char *text;
    size_t bytes;
    LLVMModuleRef copy = LLVMCloneModule(module);
    llf_status s = llfi_llvm_emit(d, "host", copy, tm, LLVMAssemblyFile, mem, &text, &bytes);
    LLVMDisposeModule(copy);
    LLF_TRY(s);
    llfi_str_add(out, text, bytes);
    llfi_free(mem, text, bytes + 1);
    return out->failed ? llfi_nomem(d) : LLF_OK;
}

static llf_status stages(llfi_diag *d, LLVMTargetMachineRef tm, const llf_allocator *mem,
                         LLVMModuleRef module, llfi_code *code, llfi_str *llvm_opt, llfi_str *assembly)
{
    LLF_TRY(llfi_llvm_verify(d, "host", module));
    double start = llfi_now_ms();
    choose_inlining(module);
    LLF_TRY(llfi_llvm_optimise(d, "host", module, tm, PASSES));
    code->opt_ms = llfi_now_ms() - start;
    if (llvm_opt)
        LLF_TRY(llfi_llvm_print(d, module, llvm_opt));
    if (assembly)
        LLF_TRY(emit_assembly(d, tm, mem, module, assembly));
    start = llfi_now_ms();
    LLF_TRY(llfi_llvm_emit(d, "host", module, tm, LLVMObjectFile, mem, &code->code, &code->bytes));
    LLF_TRY(llfi_host_object_check(d, code->code, code->bytes));
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
    llfi_llvm_errors errors;
    llfi_llvm_listen(lx, &errors);
    llf_status s = stages(d, tm, mem, module, code, llvm_opt, assembly);
    llf_status heard = llfi_llvm_heard(s == LLF_OK ? d : NULL, "host", lx, &errors);
    LLVMDisposeTargetMachine(tm);
    s = s == LLF_OK ? heard : s;
    if (s != LLF_OK) {
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
    (void)dtype;
    /* LLVM 22 loses signaling NaNs where it knows that the other operand is no NaN (a converted integer): it
     * may not know. */
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef arg[2] = {llfi_emit_call(e, "llvm.arithmetic.fence", type, &a, 1),
                           llfi_emit_call(e, "llvm.arithmetic.fence", type, &b, 1)};
    return llfi_emit_call(e, minimum ? "llvm.minimum" : "llvm.maximum", type, arg, 2);
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
static const llfi_skeleton *const skeletons[] = {&llfi_skeleton_reduce_host, &llfi_skeleton_parts_host,
                                                 &llfi_skeleton_tiled_host, &llfi_skeleton_pointwise_host,
                                                 NULL};

const llfi_backend llfi_backend_host = {
    .name = "host",
    .lowering = &lowering,
    .skeletons = skeletons,
    .init = llfi_host_init,
    .begin = host_begin,
    .begin_part = host_begin_part,
    .compile = host_compile,
};
