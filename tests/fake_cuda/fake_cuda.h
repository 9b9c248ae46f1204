/* fake_cuda.h: what tests may ask of the fake driver beside CUDA's own entry points (found by dlsym).
 * It is told what to do by the environment, read when the fake is loaded:
 *   FAKE_CUDA_DRIVER=11020        version that it gives itself (13000)
 *   FAKE_CUDA_DEVICES=0           number of devices (2)
 *   FAKE_CUDA_SM=80               their compute capability (90)
 *   FAKE_CUDA_MEMORY=4096         bytes of each device (1 GiB)
 *   FAKE_CUDA_PTX_LOG=text        every module is refused as invalid PTX, with this log
 *   FAKE_CUDA_FAIL=cuMemAlloc_v2:2:3  the second such call returns CUresult 3
 *   FAKE_CUDA_FAIL_AT=7           the seventh call of any kind returns CUDA_ERROR_UNKNOWN */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int modules, buffers, primaries; /* alive: loaded, allocated, retained */
    int failed;                      /* injected failures that came to pass */
    char failed_call[40];            /* the last of them */
    int launches, misuses;           /* misuses: calls that a real driver may answer with a crash */
    int calls;
    int pushes, pops;
    uint64_t last_param[4096]; /* of the last launch, zero-extended; an array's words one by one */
    int last_params;
    unsigned last_grid, last_block;
} fake_cuda_state;

CUresult fake_cuda_get(fake_cuda_state *);
CUcontext fake_cuda_context(int device); /* a context that is nobody's primary */
void fake_cuda_set_current(CUcontext); /* replaces the top of the calling thread's stack; NULL: empties it */
void fake_cuda_pin(void *, size_t, int mapped);

typedef CUresult fake_cuda_get_fn(fake_cuda_state *);
typedef CUcontext fake_cuda_context_fn(int);
typedef void fake_cuda_set_current_fn(CUcontext);
typedef void fake_cuda_pin_fn(void *, size_t, int);

#endif
