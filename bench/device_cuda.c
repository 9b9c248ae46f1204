/* device_cuda.c: a GPU as a device to measure, through the driver alone. Times are CUDA events on one stream.
 */
#include "bench/bench.h"

#ifdef LLFUSE_CUDA
#include "cuda/cuda.h"

#define FOREIGN ((size_t)256 << 20) /* at least; must exceed twice the L2 */
#define EMPTIES 8u

typedef struct {
    const llfi_cuda *cu;
    CUdevice device;
    CUcontext context;
    bool pushed;
    uint32_t sm;
    CUstream stream;
    CUevent before, after;
    CUdeviceptr foreign;
    size_t foreign_bytes;
    int multiprocessors;
    llfi_cuda_kernel flush;
    llfi_cuda_kernel ceiling[BENCH_PTX_VARIANTS][BENCH_MAX_READS + 1][BENCH_MAX_WRITES + 1];
    struct {
        uint32_t args;
        llfi_cuda_kernel kernel;
    } empty[EMPTIES];
    uint32_t empties;
} gpu;

static const llf_allocator *const mem = &llfi_malloc_allocator;

#define CHECK(d, call, name) llfi_cuda_check((d)->diag, ((gpu *)(d)->state)->cu, (call), name)

static CUdeviceptr address(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

static llf_status gpu_alloc(bench_device *d, size_t bytes, void **out)
{
    gpu *g = d->state;
    CUdeviceptr p;
    LLF_TRY(CHECK(d, g->cu->MemAlloc(&p, bytes), "cuMemAlloc"));
    *out = (void *)(uintptr_t)p;
    return LLF_OK;
}

static void gpu_release(bench_device *d, void *p, size_t bytes)
{
    (void)bytes;
    ((gpu *)d->state)->cu->MemFree(address(p));
}

static llf_status gpu_sync(bench_device *d)
{
    gpu *g = d->state;
    return CHECK(d, g->cu->StreamSynchronize(g->stream), "cuStreamSynchronize");
}

static llf_status gpu_upload(bench_device *d, void *to, const void *from, size_t bytes)
{
    gpu *g = d->state;
    LLF_TRY(gpu_sync(d));
    if (!bytes)
        return LLF_OK;
    LLF_TRY(CHECK(d, g->cu->MemcpyHtoD(address(to), from, bytes), "cuMemcpyHtoD"));
    /* a small copy may return before it has arrived, and our stream does not wait for the default one */
    return CHECK(d, g->cu->CtxSynchronize(), "cuCtxSynchronize");
}

static llf_status gpu_download(bench_device *d, void *to, const void *from, size_t bytes)
{
    gpu *g = d->state;
    LLF_TRY(gpu_sync(d));
    return bytes ? CHECK(d, g->cu->MemcpyDtoH(to, address(from), bytes), "cuMemcpyDtoH") : LLF_OK;
}

static llf_status gpu_fill(bench_device *d, void *p, unsigned char byte, size_t bytes)
{
    gpu *g = d->state;
    return bytes ? CHECK(d, g->cu->MemsetD8Async(address(p), byte, bytes, g->stream), "cuMemsetD8Async")
                 : LLF_OK;
}

static llf_status launch(bench_device *d, const llfi_cuda_kernel *k, uint32_t blocks, uint32_t threads,
                         void **param)
{
    gpu *g = d->state;
    return CHECK(d, g->cu->LaunchKernel(k->function, blocks, 1, 1, threads, 1, 1, 0, g->stream, param, NULL),
                 "cuLaunchKernel");
}

static llf_status gpu_flush(bench_device *d)
{
    gpu *g = d->state;
    uint64_t vectors = g->foreign_bytes / 16;
    void *param[] = {&g->foreign, &vectors};
    /* Lines that a kernel marked evict_last would outlive the foreign ones; a device that knows no such lines
     * refuses. */
    (void)g->cu->CtxResetPersistingL2Cache();
    return launch(d, &g->flush, (uint32_t)g->multiprocessors * 8, 512, param);
}

static llf_status gpu_time(bench_device *d, bench_work *work, void *user, double *ms)
{
    gpu *g = d->state;
    float elapsed;
    LLF_TRY(CHECK(d, g->cu->EventRecord(g->before, g->stream), "cuEventRecord"));
    LLF_TRY(work(user, g->stream));
    LLF_TRY(CHECK(d, g->cu->EventRecord(g->after, g->stream), "cuEventRecord"));
    LLF_TRY(CHECK(d, g->cu->EventSynchronize(g->after), "cuEventSynchronize"));
    LLF_TRY(CHECK(d, g->cu->EventElapsedTime(&elapsed, g->before, g->after), "cuEventElapsedTime"));
    *ms = elapsed;
    return LLF_OK;
}

static llf_status load(bench_device *d, llfi_str *ptx, const char *name, llfi_cuda_kernel *k)
{
    gpu *g = d->state;
    llf_status status =
        ptx->failed ? llfi_nomem(d->diag) : llfi_cuda_kernel_load(d->diag, g->cu, ptx->at, name, NULL, k);
    llfi_str_free(ptx);
    return status;
}

static llf_status gpu_stream(bench_device *d, uint32_t variant, uint32_t reads, uint32_t writes,
                             void *const *tensor, size_t bytes)
{
    gpu *g = d->state;
    llfi_cuda_kernel *k = &g->ceiling[variant][reads][writes];
    uint32_t tensors = reads + (writes ? writes : 1);
    if (!k->function) {
        llfi_str ptx;
        llfi_str_init(&ptx, mem);
        bench_ceiling_ptx(&ptx, g->sm, variant, reads, writes);
        LLF_TRY(load(d, &ptx, "llfuse_ceiling", k));
    }
    uint64_t vectors = bytes / 16;
    void *param[BENCH_MAX_READS + BENCH_MAX_WRITES + 2];
    for (uint32_t i = 0; i < tensors; i++)
        param[i] = (void *)(uintptr_t)&tensor[i];
    param[tensors] = &vectors;
    uint32_t threads = bench_ceiling_ptx_threads(variant);
    return launch(d, k, (uint32_t)((vectors + threads - 1) / threads), threads, param);
}

static uint32_t gpu_variants(const bench_device *d, uint32_t reads, uint32_t writes)
{
    (void)writes;
    const gpu *g = d->state;
    return g->sm >= 80 && reads ? BENCH_PTX_VARIANTS : BENCH_PTX_VARIANTS / 2;
}

static llf_status gpu_copy(bench_device *d, void *to, const void *from, size_t bytes)
{
    gpu *g = d->state;
    return CHECK(d, g->cu->MemcpyDtoDAsync(address(to), address(from), bytes, g->stream),
                 "cuMemcpyDtoDAsync");
}

static llf_status empty_kernel(bench_device *d, uint32_t args, const llfi_cuda_kernel **out)
{
    gpu *g = d->state;
    for (uint32_t i = 0; i < g->empties; i++)
        if (g->empty[i].args == args) {
            *out = &g->empty[i].kernel;
            return LLF_OK;
        }
    if (g->empties == EMPTIES) /* forget one that is not the header's */
        llfi_cuda_kernel_unload(g->cu, &g->empty[--g->empties].kernel);
    llfi_str ptx;
    llfi_str_init(&ptx, mem);
    bench_empty_ptx(&ptx, args);
    LLF_TRY(load(d, &ptx, "llfuse_empty", &g->empty[g->empties].kernel));
    g->empty[g->empties].args = args;
    *out = &g->empty[g->empties++].kernel;
    return LLF_OK;
}

#define MAX_ARGS 500u /* 4,000 bytes of parameters */

static llf_status gpu_empty(bench_device *d)
{
    const llfi_cuda_kernel *k;
    LLF_TRY(empty_kernel(d, 0, &k));
    return launch(d, k, 1, 32, NULL);
}

static llf_status gpu_bare(bench_device *d, uint32_t args, uint32_t calls, double *us)
{
    const llfi_cuda_kernel *k;
    uint64_t zero = 0;
    void *param[MAX_ARGS];
    args = args < MAX_ARGS ? args : MAX_ARGS;
    for (uint32_t i = 0; i < args; i++)
        param[i] = &zero;
    LLF_TRY(empty_kernel(d, args, &k));
    LLF_TRY(gpu_sync(d));
    double start = llfi_now_ms();
    for (uint32_t i = 0; i < calls; i++)
        LLF_TRY(launch(d, k, 1, 512, param));
    *us = (llfi_now_ms() - start) * 1e3 / calls;
    return gpu_sync(d);
}

static void gpu_close(bench_device *d)
{
    gpu *g = d->state;
    if (!g)
        return;
    if (g->pushed) {
        CUcontext out;
        llfi_cuda_kernel_unload(g->cu, &g->flush);
        for (uint32_t i = 0; i < g->empties; i++)
            llfi_cuda_kernel_unload(g->cu, &g->empty[i].kernel);
        llfi_cuda_kernel *all = &g->ceiling[0][0][0];
        for (size_t i = 0; i < sizeof g->ceiling / sizeof *all; i++)
            if (all[i].function)
                llfi_cuda_kernel_unload(g->cu, &all[i]);
        if (g->foreign)
            g->cu->MemFree(g->foreign);
        if (g->before)
            g->cu->EventDestroy(g->before);
        if (g->after)
            g->cu->EventDestroy(g->after);
        if (g->stream)
            g->cu->StreamDestroy(g->stream);
        g->cu->CtxPopCurrent(&out);
    }
    if (g->context)
        g->cu->DevicePrimaryCtxRelease(g->device);
    llfi_free(mem, g, sizeof *g);
    d->state = NULL;
}

static llf_status make_ready(bench_device *d, gpu *g)
{
    const llfi_cuda *cu = g->cu;
    int l2 = 0;
    LLF_TRY(CHECK(d, cu->DeviceGet(&g->device, 0), "cuDeviceGet"));
    LLF_TRY(CHECK(d, cu->DeviceGetName(d->title, (int)sizeof d->title, g->device), "cuDeviceGetName"));
    LLF_TRY(CHECK(d, cu->DeviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, g->device),
                  "cuDeviceGetAttribute"));
    LLF_TRY(CHECK(
        d, cu->DeviceGetAttribute(&g->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, g->device),
        "cuDeviceGetAttribute"));
    LLF_TRY(llfi_cuda_device_sm(d->diag, cu, g->device, &g->sm));
    snprintf(d->driver, sizeof d->driver, "CUDA %d.%d", cu->version / 1000, cu->version % 1000 / 10);
    d->cache_bytes = (size_t)l2;
    LLF_TRY(CHECK(d, cu->DevicePrimaryCtxRetain(&g->context, g->device), "cuDevicePrimaryCtxRetain"));
    LLF_TRY(CHECK(d, cu->CtxPushCurrent(g->context), "cuCtxPushCurrent"));
    g->pushed = true;
    LLF_TRY(CHECK(d, cu->StreamCreate(&g->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
    LLF_TRY(CHECK(d, cu->EventCreate(&g->before, CU_EVENT_DEFAULT), "cuEventCreate"));
    LLF_TRY(CHECK(d, cu->EventCreate(&g->after, CU_EVENT_DEFAULT), "cuEventCreate"));
    g->foreign_bytes = 2 * (size_t)l2 > FOREIGN ? 2 * (size_t)l2 : FOREIGN;
    LLF_TRY(CHECK(d, cu->MemAlloc(&g->foreign, g->foreign_bytes), "cuMemAlloc"));
    LLF_TRY(CHECK(d, cu->MemsetD8Async(g->foreign, 1, g->foreign_bytes, g->stream), "cuMemsetD8Async"));
    LLF_TRY(gpu_sync(d));
    return LLF_OK;
}

static llf_status gpu_open(llfi_diag *diag, bench_device *d, uint32_t threads)
{
    (void)threads;
    const llfi_cuda *cu;
    *d = (bench_device){.ops = &bench_cuda, .diag = diag};
    LLF_TRY(llfi_cuda_get(diag, &cu));
    gpu *g = llfi_alloc_zero(mem, sizeof *g);
    if (!g)
        return llfi_nomem(diag);
    g->cu = cu;
    d->state = g;
    llf_status status = make_ready(d, g);
    if (status == LLF_OK) {
        llfi_str ptx;
        llfi_str_init(&ptx, mem);
        bench_flush_ptx(&ptx);
        status = load(d, &ptx, "llfuse_flush", &g->flush);
    }
    if (status != LLF_OK)
        gpu_close(d);
    d->stream = status == LLF_OK ? g->stream : NULL;
    return status;
}

const bench_device_ops bench_cuda = {.name = "nvptx",
                                     .open = gpu_open,
                                     .close = gpu_close,
                                     .alloc = gpu_alloc,
                                     .release = gpu_release,
                                     .upload = gpu_upload,
                                     .download = gpu_download,
                                     .fill = gpu_fill,
                                     .flush = gpu_flush,
                                     .sync = gpu_sync,
                                     .time = gpu_time,
                                     .stream_kernel = gpu_stream,
                                     .variants = gpu_variants,
                                     .copy = gpu_copy,
                                     .empty = gpu_empty,
                                     .bare_launch = gpu_bare};
#else
static llf_status gpu_open(llfi_diag *diag, bench_device *d, uint32_t threads)
{
    (void)threads;
    *d = (bench_device){.ops = &bench_cuda, .diag = diag};
    return llfi_fail(diag, LLF_E_TARGET,
                     "this build has no CUDA support (no toolkit was found when it was configured)");
}
static void gpu_close(bench_device *d)
{
    (void)d;
}
const bench_device_ops bench_cuda = {.name = "nvptx", .open = gpu_open, .close = gpu_close};
#endif
