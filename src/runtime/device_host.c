/* device_host.c: a program's machine code on the CPU, linked by LLVM's ORC, run by a thread pool. Generated
 * code finds llfi_host_symbols and nothing else: no symbol of the process is searched. */
#include "lower/llvm.h"
#include "runtime/fpmode.h"
#include "runtime/pool.h"
#include "runtime/program.h"
#include "target/host.h"

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

typedef void kernel_fn(const uint64_t *slot, int64_t from, int64_t to);

typedef struct {
    LLVMOrcLLJITRef jit;
    llfi_pool *pool;
    void **function; /* by module: a kernel_fn */
} state;

/* ---- load */

/* ORC reports here what it also returns; its own reporter prints to stderr. */
static void quiet(void *user, LLVMErrorRef error)
{
    (void)user;
    LLVMConsumeError(error);
}

static llf_status define_symbols(llfi_diag *d, llf_loaded *l)
{
    const state *st = l->state;
    size_t n = llfi_host_symbols_count;
    LLVMOrcCSymbolMapPair *pair = llfi_alloc_zero(&l->mem, n * sizeof *pair);
    if (!pair)
        return llfi_nomem(d);
    for (size_t i = 0; i < n; i++) {
        pair[i].Name = LLVMOrcLLJITMangleAndIntern(st->jit, llfi_host_symbols[i].name);
        pair[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)llfi_host_symbols[i].address;
        pair[i].Sym.Flags.GenericFlags =
            LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    }
    LLVMErrorRef error =
        LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(st->jit), LLVMOrcAbsoluteSymbols(pair, n));
    llfi_free(&l->mem, pair, n * sizeof *pair);
    return error ? llfi_llvm_error(d, "ORC refuses the host symbols", error) : LLF_OK;
}

static llf_status add_object(llfi_diag *d, llf_loaded *l, const llfi_program_module *module)
{
    const state *st = l->state;
    LLVMMemoryBufferRef object =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(module->code.code, module->code.bytes, module->name);
    LLVMErrorRef error = LLVMOrcLLJITAddObjectFile(st->jit, LLVMOrcLLJITGetMainJITDylib(st->jit), object);
    return error ? llfi_llvm_error(d, module->name, error) : LLF_OK;
}

static llf_status look_up(llfi_diag *d, llf_loaded *l, const char *name, void **code)
{
    const state *st = l->state;
    LLVMOrcExecutorAddress address = 0;
    LLVMErrorRef error = LLVMOrcLLJITLookup(st->jit, &address, name);
    if (error)
        return llfi_llvm_error(d, name, error);
    *code = (void *)(uintptr_t)address;
    return LLF_OK;
}

static llf_status start_orc(llfi_diag *d, llf_loaded *l)
{
    state *st = l->state;
    LLVMErrorRef error = LLVMOrcCreateLLJIT(&st->jit, NULL);
    if (error) {
        st->jit = NULL;
        return llfi_llvm_error(d, "ORC does not start", error);
    }
    LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(st->jit), quiet, NULL);
    return define_symbols(d, l);
}

static llf_status load(llfi_diag *d, llf_loaded *l, int device)
{
    double start = llfi_now_ms();
    state *st = l->state = llfi_alloc_zero(&l->mem, sizeof *st);
    if (!st)
        return llfi_nomem(d);
    uint32_t modules = l->program->modules;
    st->function = llfi_alloc_zero(&l->mem, modules * sizeof *st->function);
    st->pool = llfi_pool_create(&l->mem, device);
    if (!st->function || !st->pool)
        return llfi_nomem(d);
    LLF_TRY(start_orc(d, l));
    double linking = llfi_now_ms();
    l->start_ms = linking - start;
    for (uint32_t m = 0; m < modules; m++)
        LLF_TRY(add_object(d, l, &l->program->module[m]));
    for (uint32_t m = 0; m < modules; m++) {
        double start_one = llfi_now_ms();
        LLF_TRY(look_up(d, l, l->program->module[m].name, &st->function[m]));
        l->info[m].load_ms = llfi_now_ms() - start_one;
    }
    l->load_ms = llfi_now_ms() - linking;
    return LLF_OK;
}

static void *code_of(const llf_loaded *l, uint32_t module)
{
    return ((const state *)l->state)->function[module];
}

static llf_status add(llfi_diag *d, llf_loaded *l, const llfi_program_module *module, void **code)
{
    LLF_TRY(add_object(d, l, module));
    return look_up(d, l, module->name, code);
}

static void unload(llf_loaded *l)
{
    state *st = l->state;
    if (!st)
        return;
    llfi_pool_destroy(st->pool);
    if (st->jit) {
        LLVMErrorRef error = LLVMOrcDisposeLLJIT(st->jit);
        if (error)
            LLVMConsumeError(error);
    }
    llfi_free(&l->mem, st->function, l->program->modules * sizeof *st->function);
    llfi_free(&l->mem, st, sizeof *st);
    l->state = NULL;
}

/* ---- memory */

#define ALIGN ((size_t)256)

static llf_status allocate(llfi_diag *d, llf_loaded *l, size_t bytes, void **out)
{
    *out = NULL;
    /* Room to align, and the block's own address just below what is handed out. */
    char *block = bytes < SIZE_MAX - 2 * ALIGN ? llfi_alloc(&l->mem, bytes + 2 * ALIGN) : NULL;
    if (!block)
        return llfi_fail(d, LLF_E_NOMEM, "out of host memory: %zu bytes of workspace", bytes);
    char *p = (char *)(((uintptr_t)block + 2 * ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    memcpy(p - sizeof block, &block, sizeof block);
    *out = p;
    return LLF_OK;
}

static void release(llf_loaded *l, void *p, size_t bytes)
{
    char *block;
    memcpy(&block, (char *)p - sizeof block, sizeof block);
    llfi_free(&l->mem, block, bytes + 2 * ALIGN);
}

static llf_status upload(llfi_diag *d, llf_loaded *l, void *to, const void *from, size_t bytes)
{
    (void)d;
    (void)l;
    memcpy(to, from, bytes);
    return LLF_OK;
}

/* ---- run */

static llf_status enter(llfi_diag *d, llf_loaded *l, uint64_t *token)
{
    (void)d;
    (void)l;
    *token = llfi_fpmode_enter();
    return LLF_OK;
}

static void leave(llf_loaded *l, uint64_t token)
{
    (void)l;
    llfi_fpmode_leave(token);
}

/* Threads are started by the first prepare that has work for them, not by loads of small programs. */
static void ready(llf_loaded *l, const llfi_launch *launch, uint32_t launches)
{
    const state *st = l->state;
    bool large = false;
    for (uint32_t i = 0; i < launches; i++)
        large |= launch[i].items > launch[i].grain;
    if (large)
        llfi_pool_start(st->pool);
}

static bool idle(const llfi_launch *launch)
{
    return launch->items <= 0;
}

typedef struct {
    kernel_fn *function;
    const uint64_t *slot;
} call;

static void piece(void *user, int64_t from, int64_t to)
{
    const call *c = user;
    c->function(c->slot, from, to);
}

static llf_status launch(llfi_diag *d, llf_loaded *l, void *code, const llfi_launch *n, uint64_t *slot,
                         void **param, void *stream)
{
    (void)d;
    (void)param;
    (void)stream;
    const state *st = l->state;
    call c = {.slot = slot};
    memcpy(&c.function, &code, sizeof code); /* ISO C has no cast from data to code */
    llfi_pool_run(st->pool, n->items, n->grain, piece, &c);
    return LLF_OK;
}

const llfi_device llfi_device_host = {.name = "host",
                                      .load = load,
                                      .unload = unload,
                                      .enter = enter,
                                      .leave = leave,
                                      .alloc = allocate,
                                      .free = release,
                                      .upload = upload,
                                      .reach = NULL,
                                      .code = code_of,
                                      .add = add,
                                      .ready = ready,
                                      .idle = idle,
                                      .launch = launch};
