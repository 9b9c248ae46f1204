/* module.c: PTX text -> module and kernel function in the current context, with the driver's own words when
 * it refuses. Must not change the current context. */
#include "cuda/cuda.h"

#define LOG_BYTES 4096

/* What the driver says when the code, not the device or the context, is at fault. */
static bool refuses_code(CUresult r)
{
    return r == CUDA_ERROR_INVALID_PTX || r == CUDA_ERROR_INVALID_IMAGE ||
           r == CUDA_ERROR_NO_BINARY_FOR_GPU || r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
           r == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || r == CUDA_ERROR_JIT_COMPILATION_DISABLED ||
           r == CUDA_ERROR_INVALID_SOURCE;
}

/* One line of it: newlines become "; ", so that the diagnostic stays one sentence. */
static void one_line(char *log)
{
    size_t to = 0;
    for (size_t at = 0; log[at]; at++) {
        char c = log[at];
        if (c == '\n' || c == '\r' || c == '\t')
            c = ' ';
        if (c == ' ' && (to == 0 || log[to - 1] == ' '))
            continue;
        log[to++] = c;
    }
    while (to > 0 && log[to - 1] == ' ')
        to--;
    log[to] = 0;
}

static llf_status load_failed(llfi_diag *d, const llfi_cuda *c, CUresult r, const char *name,
                              const char *where, char *log)
{
    llf_status status = llfi_cuda_check(d, c, r, "cuModuleLoadDataEx");
    if (refuses_code(r))
        status = LLF_E_PTX;
    char reason[200] = "";
    if (d)
        snprintf(reason, sizeof reason, "%.199s", d->message);
    one_line(log);
    return llfi_fail(d, status, "kernel %s%s%s%s: %s; the driver's log: %s", name, where ? " (" : "",
                     where ? where : "", where ? ")" : "", reason, log[0] ? log : "(empty)");
}

static llf_status read_back(llfi_diag *d, const llfi_cuda *c, llfi_cuda_kernel *k)
{
    CUresult r = c->FuncGetAttribute(&k->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, k->function);
    if (r == CUDA_SUCCESS)
        r = c->FuncGetAttribute(&k->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, k->function);
    if (r == CUDA_SUCCESS)
        r = c->FuncGetAttribute(&k->shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k->function);
    return llfi_cuda_check(d, c, r, "cuFuncGetAttribute");
}

llf_status llfi_cuda_kernel_load(llfi_diag *d, const llfi_cuda *c, const char *ptx, const char *name,
                                 const char *where, llfi_cuda_kernel *k)
{
    char log[LOG_BYTES] = "";
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    memset(k, 0, sizeof *k);
    double start = llfi_now_ms();
    CUresult r = c->ModuleLoadDataEx(&k->module, ptx, LLFI_COUNT(option), option, value);
    if (r != CUDA_SUCCESS) {
        k->module = NULL;
        log[sizeof log - 1] = 0;
        return load_failed(d, c, r, name, where, log);
    }
    llf_status status = LLF_OK;
    r = c->ModuleGetFunction(&k->function, k->module, name);
    if (r == CUDA_ERROR_NOT_FOUND)
        status = llfi_fail(d, LLF_E_PTX, "the PTX has no kernel named %s%s%s", name, where ? ": " : "",
                           where ? where : "");
    else
        status = llfi_cuda_check(d, c, r, "cuModuleGetFunction");
    if (status == LLF_OK)
        status = read_back(d, c, k);
    if (status != LLF_OK)
        llfi_cuda_kernel_unload(c, k);
    k->load_ms = llfi_now_ms() - start;
    return status;
}

void llfi_cuda_kernel_unload(const llfi_cuda *c, llfi_cuda_kernel *k)
{
    if (k->module)
        (void)c->ModuleUnload(k->module);
    k->module = NULL;
    k->function = NULL;
}
