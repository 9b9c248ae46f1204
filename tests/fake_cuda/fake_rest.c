/* fake_rest.c: entry points of cuda_api.def that fake_cuda.c does not know: there, and refusing. Weak, so
 * that fake_cuda.c's own come first. */
#include <cuda.h>

#define CU(name, symbol, params)                                                                  \
    __attribute__((weak, visibility("default"))) CUresult fake_rest_##name(void) __asm__(symbol); \
    CUresult fake_rest_##name(void)                                                               \
    {                                                                                             \
        return CUDA_ERROR_NOT_SUPPORTED;                                                          \
    }
#include "cuda/cuda_api.def"
