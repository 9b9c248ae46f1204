/* device_memory.c: the two memories. Built without a CUDA toolkit, nvptx answers that there is no device. */
#include "device_memory.h"

#include <stdlib.h>

static bool host_start(char *why, size_t size)
{
    (void)why, (void)size;
    return true;
}

static void host_stop(void)
{
}

static void *host_alloc(size_t bytes)
{
    return aligned_alloc(256, (bytes + 255) & ~(size_t)255);
}

static bool host_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return true;
}

static bool host_sync(void)
{
    return true;
}

const device_memory device_memory_host = {"host", host_start, host_stop, host_alloc,
                                          free,   host_copy,  host_copy, host_sync};

#ifdef LLFUSE_CUDA
#include "cuda/cuda.h"

static const llfi_cuda *cuda(void)
{
    const llfi_cuda *c = NULL;
    return llfi_cuda_get(NULL, &c) == LLF_OK ? c : NULL;
}

static bool nvptx_start(char *why, size_t size)
{
    llfi_diag diag = {0};
    const llfi_cuda *c;
    CUdevice device;
    CUcontext context;
    llf_status status = llfi_cuda_get(&diag, &c);
    if (status == LLF_OK)
        status = llfi_cuda_check(&diag, c, c->DeviceGet(&device, 0), "cuDeviceGet");
    if (status == LLF_OK)
        status = llfi_cuda_check(&diag, c, c->DevicePrimaryCtxRetain(&context, device),
                                 "cuDevicePrimaryCtxRetain");
    if (status == LLF_OK)
        status = llfi_cuda_check(&diag, c, c->CtxPushCurrent(context), "cuCtxPushCurrent");
    if (status != LLF_OK)
        snprintf(why, size, "%s", diag.message);
    return status == LLF_OK;
}

static void nvptx_stop(void)
{
    CUcontext context;
    CUdevice device;
    const llfi_cuda *c = cuda();
    if (c && c->CtxPopCurrent(&context) == CUDA_SUCCESS && c->DeviceGet(&device, 0) == CUDA_SUCCESS)
        c->DevicePrimaryCtxRelease(device);
}

static void *nvptx_alloc(size_t bytes)
{
    CUdeviceptr p = 0;
    return cuda()->MemAlloc(&p, bytes) == CUDA_SUCCESS ? (void *)(uintptr_t)p : NULL;
}

static void nvptx_release(void *p)
{
    if (p)
        cuda()->MemFree((CUdeviceptr)(uintptr_t)p);
}

static bool nvptx_write(void *device, const void *host, size_t bytes)
{
    return cuda()->MemcpyHtoD((CUdeviceptr)(uintptr_t)device, host, bytes) == CUDA_SUCCESS;
}

static bool nvptx_read(void *host, const void *device, size_t bytes)
{
    return cuda()->MemcpyDtoH(host, (CUdeviceptr)(uintptr_t)device, bytes) == CUDA_SUCCESS;
}

static bool nvptx_sync(void)
{
    return cuda()->StreamSynchronize(NULL) == CUDA_SUCCESS;
}
#else
static bool nvptx_start(char *why, size_t size)
{
    snprintf(why, size, "built without a CUDA toolkit");
    return false;
}
#define nvptx_stop host_stop
#define nvptx_alloc host_alloc
#define nvptx_release free
#define nvptx_write host_copy
#define nvptx_read host_copy
#define nvptx_sync host_sync
#endif

const device_memory device_memory_nvptx = {"nvptx",       nvptx_start, nvptx_stop, nvptx_alloc,
                                           nvptx_release, nvptx_write, nvptx_read, nvptx_sync};

const device_memory *device_memory_find(const char *target)
{
    if (strcmp(target, "host") == 0)
        return &device_memory_host;
    return strncmp(target, "nvptx", 5) == 0 ? &device_memory_nvptx : NULL;
}
