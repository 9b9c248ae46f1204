/* compile.c: module set-up, passes and PTX of one kernel. Touches only the module it is given; prints
 * nothing. */
#include "target/nvptx/nvptx.h"

#include "lower/llvm.h"

/* llvm::CallingConv::PTX_Kernel; nvvm.annotations are ignored in modules built in memory. */
#define PTX_KERNEL 71u

/* Chosen for time: one cheap round each, libdevice being simplified already (tools/embed_libdevice.c). */
static const char pipeline[] = "always-inline,globaldce,"
                               "function(early-cse,instcombine<max-iterations=1;no-verify-fixpoint>,"
                               "simplifycfg,early-cse<memssa>,dce),strip-dead-prototypes";

/* CodeGenLevelNone: half the time of instruction selection, and the driver's compiler makes the same machine
 * code of it (docs/performance.md). Kernels that use wgmma will need Aggressive: there ptxas does not
 * recover. */
#define LEVEL LLVMCodeGenLevelNone

static llf_status machine(llfi_diag *d, const llfi_target *t, LLVMCodeGenOptLevel level,
                          LLVMTargetMachineRef *tm)
{
    LLVMTargetRef target = NULL;
    char *message = NULL;
    *tm = NULL;
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &message)) {
        llf_status s = llfi_fail(d, LLF_E_TARGET, "LLVM has no NVPTX target: %.200s", message ? message : "");
        LLVMDisposeMessage(message);
        return s;
    }
    *tm = LLVMCreateTargetMachine(target, "nvptx64-nvidia-cuda", t->cpu, t->features, level, LLVMRelocDefault,
                                  LLVMCodeModelDefault);
    return *tm ? LLF_OK : llfi_fail(d, LLF_E_LLVM, "%s: LLVM makes no target machine", t->name);
}

static void attributes(llfi_site *s, bool part)
{
    char text[32];
    const llfi_target *t = s->emit.target;
    LLVMContextRef lx = s->emit.lx;
    llfi_llvm_enum_attribute(lx, s->function, "nounwind", 0);
    if (part) {
        LLVMSetLinkage(s->function, LLVMInternalLinkage);
        llfi_llvm_enum_attribute(lx, s->function, "alwaysinline", 0);
    } else {
        LLVMSetFunctionCallConv(s->function, PTX_KERNEL);
        snprintf(text, sizeof text, "%u,1,1", s->schedule->threads);
        llfi_llvm_attribute(lx, s->function, "nvvm.maxntid", text);
        bool old_runs = s->schedule->runs && s->emit.target->sm < 90;
        if (s->schedule->tile.full || s->schedule->row.rows ||
            old_runs) /* else ptxas may spill two words for one block more */
            llfi_llvm_attribute(lx, s->function, "nvvm.minctasm", "1");
        llfi_nvptx_want_hints(lx, s->function, s->schedule);
        llfi_nvptx_annotate_threads(lx, s->emit.module, s->function, s->schedule->threads);
    }
    llfi_llvm_attribute(lx, s->function, "denormal-fp-math", "ieee,ieee");
    llfi_llvm_attribute(lx, s->function, "target-cpu", t->cpu);
    llfi_llvm_attribute(lx, s->function, "target-features", t->features);
}

static LLVMTypeRef arg_type(llfi_site *s, const llfi_arg *a)
{
    switch (a->kind) {
    case LLFI_ARG_TABLE:
    case LLFI_ARG_SCRATCH:
    case LLFI_ARG_COUNTER:
    case LLFI_ARG_BUFFER: return LLVMPointerTypeInContext(s->emit.lx, 1);
    case LLFI_ARG_SCALAR: return llfi_emit_mem_type(&s->emit, a->dtype, 1);
    default: return s->emit.i64; /* DIM */
    }
}

/* Leaves the builder at the end of the entry block. */
static void add_function(llfi_site *s, LLVMTypeRef *type, uint32_t types, bool part)
{
    LLVMTypeRef ft = LLVMFunctionType(LLVMVoidTypeInContext(s->emit.lx), type, types, false);
    s->function = LLVMAddFunction(s->emit.module, s->name, ft);
    attributes(s, part);
    LLVMPositionBuilderAtEnd(s->emit.b, LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "entry"));
}

/* A parameter an argument, scalars unpacked; a part's come after the index of its block. s->arg has room for
 * the schedule's arguments. */
static llf_status make_function(llfi_site *s, bool part)
{
    const llfi_schedule *sc = s->schedule;
    LLVMTypeRef *type = llfi_arena_alloc(s->arena, (sc->args + 1) * sizeof *type);
    if (!type)
        return llfi_nomem(s->emit.diag);
    type[0] = s->emit.i64;
    uint32_t params = 0; /* what a table holds is none */
    for (; params < sc->args && (!params || sc->arg[params - 1].kind != LLFI_ARG_TABLE); params++)
        type[params + part] = arg_type(s, &sc->arg[params]);
    add_function(s, type, params + part, part);
    if (part)
        s->block = LLVMGetParam(s->function, 0);
    uint32_t width = s->emit.width;
    s->emit.width = 1;
    for (uint32_t i = 0; i < params; i++) {
        s->arg[i] = LLVMGetParam(s->function, i + part);
        if (sc->arg[i].kind == LLFI_ARG_SCALAR)
            s->arg[i] = llfi_emit_unpack(&s->emit, sc->arg[i].dtype, s->arg[i]);
    }
    s->emit.width = width;
    return s->emit.status;
}

/* One parameter: the argument block by value. It stays in parameter space as long as nothing but loads of
 * computed addresses uses it; otherwise LLVM would copy it to local memory. */
static void make_block_function(llfi_site *s)
{
    LLVMTypeRef type = LLVMPointerTypeInContext(s->emit.lx, 0);
    LLVMTypeRef block = LLVMArrayType2(s->emit.i64, s->schedule->args);
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    unsigned align = LLVMGetEnumAttributeKindForName("align", 5);
    add_function(s, &type, 1, false);
    LLVMAddAttributeAtIndex(s->function, 1, LLVMCreateTypeAttribute(s->emit.lx, byval, block));
    LLVMAddAttributeAtIndex(s->function, 1, LLVMCreateEnumAttribute(s->emit.lx, align, 8));
}

static llf_status begin_part(struct llfi_site *s)
{
    return make_function(s, true);
}

static llf_status begin(struct llfi_site *s)
{
    LLVMTargetMachineRef tm;
    LLF_TRY(machine(s->emit.diag, s->emit.target, LEVEL, &tm));
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    LLVMSetModuleDataLayout(s->emit.module, layout);
    LLVMSetTarget(s->emit.module, "nvptx64-nvidia-cuda");
    LLVMDisposeTargetData(layout);
    LLVMDisposeTargetMachine(tm);
    if (!s->schedule->parts)
        return make_function(s, false);
    make_block_function(s);
    return LLF_OK;
}

/* A libdevice function that was too big to inline is called by the ABI, and spills unless LLVM tidies it. */
static bool calls_libdevice(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t length;
        if (!LLVMIsDeclaration(f) && strncmp(LLVMGetValueName2(f, &length), "__", 2) == 0)
            return true;
    }
    return false;
}

/* Where a function is called (rare.c), ptxas would spill a word or two for one block more on a
 * multiprocessor. */
static void keep_registers(LLVMModuleRef module)
{
    LLVMValueRef kernel = NULL;
    bool calls = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMGetFunctionCallConv(f) == PTX_KERNEL)
            kernel = f;
        else
            calls = calls || !LLVMIsDeclaration(f);
    }
    if (kernel && calls)
        llfi_llvm_attribute(LLVMGetModuleContext(module), kernel, "nvvm.minctasm", "1");
}

static llf_status emit(llfi_diag *d, const llfi_target *t, const llf_allocator *mem, LLVMModuleRef module,
                       LLVMTargetMachineRef tm, llfi_code *code)
{
    LLF_TRY(llfi_llvm_emit(d, t->name, module, tm, LLVMAssemblyFile, mem, &code->code, &code->bytes));
    size_t whole = code->bytes;
    llfi_nvptx_drop_call_numbers(code->code, &code->bytes);
    if (code->bytes == whole)
        return llfi_nvptx_hint(d, mem, module, code);
    char *shorter = llfi_resize(mem, code->code, whole + 1, code->bytes + 1);
    if (!shorter) {
        code->bytes = whole; /* what is to be freed */
        return llfi_nomem(d);
    }
    code->code = shorter;
    return llfi_nvptx_hint(d, mem, module, code);
}

static llf_status emit_tidy(llfi_diag *d, const llfi_target *t, const llf_allocator *mem,
                            LLVMModuleRef module, llfi_code *code)
{
    LLVMTargetMachineRef tm;
    LLF_TRY(machine(d, t, LLVMCodeGenLevelDefault, &tm));
    llf_status s = emit(d, t, mem, module, tm, code);
    LLVMDisposeTargetMachine(tm);
    return s;
}

static llf_status run(llfi_diag *d, const llfi_target *t, const llf_allocator *mem, LLVMModuleRef module,
                      LLVMTargetMachineRef tm, llfi_code *code, llfi_str *llvm_opt, llfi_str *assembly)
{
    double start = llfi_now_ms();
    LLF_TRY(llfi_llvm_verify(d, t->name, module));
    LLF_TRY(llfi_nvptx_check(d, t, module));
    LLF_TRY(llfi_nvptx_link(d, module));
    LLF_TRY(llfi_llvm_optimise(d, t->name, module, tm, pipeline));
    keep_registers(module);
    code->opt_ms = llfi_now_ms() - start;
    if (llvm_opt)
        LLF_TRY(llfi_llvm_print(d, module, llvm_opt));
    start = llfi_now_ms();
    LLF_TRY(calls_libdevice(module) ? emit_tidy(d, t, mem, module, code) : emit(d, t, mem, module, tm, code));
    code->emit_ms = llfi_now_ms() - start;
    if (assembly)
        llfi_str_add(assembly, code->code, code->bytes);
    return assembly && assembly->failed ? llfi_nomem(d) : LLF_OK;
}

static llf_status compile(llfi_diag *d, const llfi_target *t, const llf_allocator *mem, LLVMModuleRef module,
                          llfi_code *code, llfi_str *llvm_opt, llfi_str *assembly)
{
    LLVMTargetMachineRef tm;
    llfi_llvm_errors errors;
    memset(code, 0, sizeof *code);
    LLF_TRY(machine(d, t, LEVEL, &tm));
    LLVMContextRef lx = LLVMGetModuleContext(module);
    llfi_llvm_listen(lx, &errors);
    llf_status s = run(d, t, mem, module, tm, code, llvm_opt, assembly);
    llf_status heard = llfi_llvm_heard(s == LLF_OK ? d : NULL, t->name, lx, &errors);
    LLVMDisposeTargetMachine(tm);
    s = s == LLF_OK ? heard : s;
    if (s != LLF_OK) {
        llfi_free(mem, code->code, code->bytes + 1);
        memset(code, 0, sizeof *code);
    }
    return s;
}

static const llfi_skeleton *const skeletons[] = {&llfi_skeleton_columns_nvptx,   &llfi_skeleton_rows_nvptx,
                                                 &llfi_skeleton_parts_nvptx,     &llfi_skeleton_tiled_nvptx,
                                                 &llfi_skeleton_pointwise_nvptx, NULL};

const llfi_backend llfi_backend_nvptx = {
    .name = "nvptx",
    .lowering = &llfi_nvptx_lowering,
    .skeletons = skeletons,
    .init = llfi_nvptx_init,
    .begin = begin,
    .begin_part = begin_part,
    .compile = compile,
};
