/* cuda.h: the CUDA driver, opened at run time through one table. Only src/runtime/cuda, bench
 * and, for the device that a target text leaves open, src/target/nvptx/arch.c include this. */
#ifndef LLFI_CUDA_H
#define LLFI_CUDA_H

#include "base/base.h"

#include <cuda.h>

typedef struct {
    void *library;
    int version; /* of the driver's API: 13000 = 13.0 */
#define CU(name, symbol, params) CUresult(CUDAAPI *name) params;
#include "cuda_api.def"
#undef CU
} llfi_cuda;

/* Opens libcuda.so.1 and initialises it once per process (thread-safe). E_TARGET: no library, a symbol is
 * missing (named), the driver is too old (needs 11.4), or no device; the message says which and what to do.
 */
llf_status llfi_cuda_get(llfi_diag *, const llfi_cuda **);
/* CUresult -> status and message ("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory"). CUDA_SUCCESS ->
 * LLF_OK. */
llf_status llfi_cuda_check(llfi_diag *, const llfi_cuda *, CUresult, const char *call);
/* Highest PTX version (83 = 8.3) that a driver API version takes. */
uint32_t llfi_cuda_ptx_of_driver(int driver_version);
/* Compute capability of a device: 90. */
llf_status llfi_cuda_device_sm(llfi_diag *, const llfi_cuda *, CUdevice, uint32_t *sm);

typedef struct {
    CUmodule module;
    CUfunction function;
    int registers, local_bytes, shared_bytes; /* read back; local > 0: a stack frame or spills */
    double load_ms;
} llfi_cuda_kernel;
/* In the current context. E_PTX: the driver's JIT log is in the message, and `where` (a dump path or NULL).
 */
llf_status llfi_cuda_kernel_load(llfi_diag *, const llfi_cuda *, const char *ptx, const char *name,
                                 const char *where, llfi_cuda_kernel *);
void llfi_cuda_kernel_unload(const llfi_cuda *, llfi_cuda_kernel *);

#endif
