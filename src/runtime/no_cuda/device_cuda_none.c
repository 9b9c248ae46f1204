/* device_cuda_none.c: stands for runtime/cuda/ in a build without a CUDA toolkit. Must answer, not crash. */
#include "runtime/program.h"

static llf_status load(llfi_diag *d, llf_loaded *l, int device)
{
    (void)l;
    (void)device;
    return llfi_fail(d, LLF_E_TARGET,
                     "this llfuse was built without a CUDA toolkit: only target host is here");
}

static void unload(llf_loaded *l)
{
    (void)l;
}

/* Nothing is ever loaded, so nothing else is ever called. */
const llfi_device llfi_device_cuda = {.name = "nvptx", .load = load, .unload = unload};
