/* host_jit.h: runs what the host target makes, without graph, scheduler or runtime: a loop over a run of
 * points around one emitter-like callback, compiled by llfi_backend_host and loaded by LLVM's ORC. For tests
 * and tests/accuracy only. */
#ifndef HOST_JIT_H
#define HOST_JIT_H

#include "target/host.h"

#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <stdlib.h>

#define HOST_JIT_INPUTS 3

/* args: register form at e->width; result: register form of `out`. */
typedef LLVMValueRef host_jit_make(llfi_emit *, const LLVMValueRef *arg, void *user);

typedef struct {
    llf_dtype in, out;
    uint32_t inputs, width;
    bool scalars; /* inputs are SCALAR arguments: one value for all points */
    host_jit_make *make;
    void *user;
} host_jit_kernel;

typedef struct {
    LLVMOrcLLJITRef jit;
    void (*run)(void **slots, int64_t begin, int64_t end); /* slots: inputs, then the output */
    llfi_code code;
    llfi_str llvm_opt, assembly;
} host_jit;

static inline void host_jit_types(llfi_emit *e, LLVMContextRef lx, const llfi_target *t, uint32_t width)
{
    *e = (llfi_emit){.target = t, .width = width};
    llfi_emit_types(e, lx);
}

/* for (i = begin; i < end; i += width) out[i..] = make(in[i..]); end - begin must be a multiple of width, > 0
 */
static inline void host_jit_loop(llfi_site *site, const host_jit_kernel *k)
{
    llfi_emit *e = &site->emit;
    e->width = k->width;
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(e->lx, site->function, "body");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->lx, site->function, "done");
    LLVMBuildBr(e->b, body);
    LLVMPositionBuilderAtEnd(e->b, body);
    LLVMValueRef i = LLVMBuildPhi(e->b, e->i64, ""), arg[HOST_JIT_INPUTS];
    for (uint32_t a = 0; a < k->inputs; a++) {
        if (k->scalars) {
            arg[a] = llfi_emit_splat(e, site->arg[a], k->width);
            continue;
        }
        LLVMValueRef at = LLVMBuildGEP2(e->b, llfi_emit_mem_type(e, k->in, 1), site->arg[a], &i, 1, "");
        LLVMValueRef v = LLVMBuildLoad2(e->b, llfi_emit_mem_type(e, k->in, k->width), at, "");
        LLVMSetAlignment(v, 1);
        arg[a] = llfi_emit_unpack(e, k->in, v);
    }
    LLVMValueRef out = llfi_emit_pack(e, k->out, k->make(e, arg, k->user));
    LLVMValueRef at = LLVMBuildGEP2(e->b, llfi_emit_mem_type(e, k->out, 1), site->arg[k->inputs], &i, 1, "");
    LLVMSetAlignment(LLVMBuildStore(e->b, out, at), 1);
    LLVMValueRef next = LLVMBuildAdd(e->b, i, LLVMConstInt(e->i64, k->width, false), "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(e->b); /* `make` may have left the body's first block */
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, next, site->range[1], ""), body, done);
    LLVMAddIncoming(i, (LLVMValueRef[]){site->range[0], next}, (LLVMBasicBlockRef[]){entry, last}, 2);
    LLVMPositionBuilderAtEnd(e->b, done);
    LLVMBuildRetVoid(e->b);
}

static inline llf_status host_jit_compile(host_jit *j, const llfi_target *t, const host_jit_kernel *k,
                                          llfi_diag *d)
{
    llfi_arena arena;
    llfi_arena_init(&arena, &llfi_malloc_allocator);
    llfi_arg args[HOST_JIT_INPUTS + 1];
    for (uint32_t i = 0; i <= k->inputs; i++)
        args[i] = (llfi_arg){.kind = k->scalars && i < k->inputs ? LLFI_ARG_SCALAR : LLFI_ARG_BUFFER,
                             .dtype = i < k->inputs ? k->in : k->out};
    llfi_schedule schedule = {.arg = args, .args = k->inputs + 1, .width = k->width};
    LLVMContextRef lx = LLVMContextCreate();
    llfi_site site = {.schedule = &schedule, .name = "kernel", .arena = &arena};
    host_jit_types(&site.emit, lx, t, 1);
    LLVMValueRef slot[HOST_JIT_INPUTS + 1];
    site.arg = slot;
    site.emit.diag = d;
    site.emit.module = LLVMModuleCreateWithNameInContext("kernel", lx);
    site.emit.b = LLVMCreateBuilderInContext(lx);
    *j = (host_jit){0};
    llfi_str_init(&j->llvm_opt, &llfi_malloc_allocator);
    llfi_str_init(&j->assembly, &llfi_malloc_allocator);
    llf_status s = llfi_backend_host.begin(&site);
    if (s == LLF_OK) {
        host_jit_loop(&site, k);
        s = site.emit.status;
    }
    if (s == LLF_OK)
        s = llfi_backend_host.compile(d, t, &llfi_malloc_allocator, site.emit.module, &j->code, &j->llvm_opt,
                                      &j->assembly);
    LLVMDisposeBuilder(site.emit.b);
    LLVMDisposeModule(site.emit.module);
    LLVMContextDispose(lx);
    llfi_arena_destroy(&arena);
    return s;
}

static inline void host_jit_fatal(LLVMErrorRef error)
{
    if (error) {
        (void)fprintf(stderr, "%s\n", LLVMGetErrorMessage(error));
        exit(1);
    }
}

static inline void host_jit_load(host_jit *j)
{
    host_jit_fatal(LLVMOrcCreateLLJIT(&j->jit, NULL));
    LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(j->jit);
    LLVMOrcCSymbolMapPair *pair = calloc(llfi_host_symbols_count, sizeof *pair);
    for (size_t i = 0; i < llfi_host_symbols_count; i++) {
        pair[i].Name = LLVMOrcLLJITMangleAndIntern(j->jit, llfi_host_symbols[i].name);
        pair[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)llfi_host_symbols[i].address;
        pair[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
    }
    host_jit_fatal(LLVMOrcJITDylibDefine(lib, LLVMOrcAbsoluteSymbols(pair, llfi_host_symbols_count)));
    free(pair);
    LLVMMemoryBufferRef object =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(j->code.code, j->code.bytes, "kernel");
    host_jit_fatal(LLVMOrcLLJITAddObjectFile(j->jit, lib, object));
    LLVMOrcExecutorAddress at = 0;
    host_jit_fatal(LLVMOrcLLJITLookup(j->jit, &at, "kernel"));
    *(void **)&j->run = (void *)(uintptr_t)at;
}

static inline void host_jit_free(host_jit *j)
{
    if (j->jit)
        host_jit_fatal(LLVMOrcDisposeLLJIT(j->jit));
    llfi_free(&llfi_malloc_allocator, j->code.code, j->code.bytes);
    llfi_str_free(&j->llvm_opt);
    llfi_str_free(&j->assembly);
}

/* ---- the two callbacks that everybody needs */
static inline LLVMValueRef host_jit_function(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    return llfi_backend_host.lowering->function(e, *(llf_op *)user, LLF_F32, arg[0]);
}

static inline LLVMValueRef host_jit_function64(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    return llfi_backend_host.lowering->function(e, *(llf_op *)user, LLF_F64, arg[0]);
}

#endif
