/* device_cuda.c: a program's modules in a CUDA context. Never creates a context of its own (it retains the
 * primary one or takes the caller's), and leaves the calling thread's current context as it was. */
#include "cuda/cuda.h"
#include "runtime/program.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

typedef struct added {
    struct added *next;
    llfi_cuda_kernel kernel;
} added;

typedef struct {
    const llfi_cuda *cuda;
    CUcontext context;
    CUdevice device;
    bool primary;             /* retained, to be released */
    bool pageable;            /* kernels may read any host memory */
    llfi_cuda_kernel *kernel; /* by module */
    added *added;             /* since the load */
} state;

/* Any kernel at all: the first module that a process loads costs some 90 ms whatever it is, which is the
 * driver's start and not the program's. */
static const char first_ptx[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry llf_start() { ret; }\n";

static struct {
    pthread_mutex_t lock;
    bool started;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- contexts */

static llf_status enter(llfi_diag *d, llf_loaded *l, uint64_t *token)
{
    const state *st = l->state;
    CUcontext now = NULL;
    *token = 0;
    /* Already current is the usual case, and cheaper than push and pop. */
    if (st->cuda->CtxGetCurrent(&now) == CUDA_SUCCESS && now == st->context)
        return LLF_OK;
    LLF_TRY(llfi_cuda_check(d, st->cuda, st->cuda->CtxPushCurrent(st->context), "cuCtxPushCurrent"));
    *token = 1;
    return LLF_OK;
}

static void leave(llf_loaded *l, uint64_t token)
{
    const state *st = l->state;
    CUcontext ours;
    if (token)
        (void)st->cuda->CtxPopCurrent(&ours);
}

static llf_status retain_primary(llfi_diag *d, state *st, int device)
{
    const llfi_cuda *c = st->cuda;
    int count = 0;
    LLF_TRY(llfi_cuda_check(d, c, c->DeviceGetCount(&count), "cuDeviceGetCount"));
    if (device >= count)
        return llfi_fail(d, LLF_E_ARG, "no CUDA device %d: there are %d, counted from 0", device, count);
    LLF_TRY(llfi_cuda_check(d, c, c->DeviceGet(&st->device, device), "cuDeviceGet"));
    LLF_TRY(llfi_cuda_check(d, c, c->DevicePrimaryCtxRetain(&st->context, st->device),
                            "cuDevicePrimaryCtxRetain"));
    st->primary = true;
    return LLF_OK;
}

static llf_status choose_context(llfi_diag *d, state *st, int device)
{
    const llfi_cuda *c = st->cuda;
    if (device >= 0)
        return retain_primary(d, st, device);
    LLF_TRY(llfi_cuda_check(d, c, c->CtxGetCurrent(&st->context), "cuCtxGetCurrent"));
    if (!st->context)
        return retain_primary(d, st, 0);
    return llfi_cuda_check(d, c, c->CtxGetDevice(&st->device), "cuCtxGetDevice");
}

/* ---- load */

static llf_status check_target(llfi_diag *d, const state *st, const llfi_target *t)
{
    uint32_t sm = 0;
    LLF_TRY(llfi_cuda_device_sm(d, st->cuda, st->device, &sm));
    if (t->sm_a ? sm != t->sm : sm < t->sm)
        return llfi_fail(
            d, LLF_E_TARGET,
            "the program is compiled for sm_%u%s, the device is sm_%u%s; compile for target nvptx:sm_%u",
            t->sm, t->sm_a ? "a" : "", sm,
            t->sm_a ? " (code of an `a` target runs on that architecture alone)" : "", sm);
    uint32_t ptx = llfi_cuda_ptx_of_driver(st->cuda->version);
    if (t->ptx > ptx)
        return llfi_fail(
            d, LLF_E_TARGET,
            "the program is PTX %u.%u, the driver (CUDA %d.%d) takes %u.%u at most; compile for target "
            "nvptx:sm_%u%s+ptx%u or update the driver",
            t->ptx / 10, t->ptx % 10, st->cuda->version / 1000, st->cuda->version % 1000 / 10, ptx / 10,
            ptx % 10, t->sm, t->sm_a ? "a" : "", ptx);
    return LLF_OK;
}

/* Runs once per process, in some context. */
static llf_status start_driver(llfi_diag *d, const state *st)
{
    pthread_mutex_lock(&process.lock);
    llf_status status = LLF_OK;
    if (!process.started) {
        llfi_cuda_kernel first;
        status = llfi_cuda_kernel_load(d, st->cuda, first_ptx, "llf_start", "llfuse's first module", &first);
        if (status == LLF_OK)
            llfi_cuda_kernel_unload(st->cuda, &first);
        process.started = status == LLF_OK;
    }
    pthread_mutex_unlock(&process.lock);
    return status;
}

/* LLF_OVERRIDE_DIR: an edited <kernel>.ptx in place of ours. *text NULL: there is none. */
static llf_status read_override(llfi_diag *d, const llf_loaded *l, const char *path, char **text,
                                size_t *bytes)
{
    *text = NULL;
    FILE *f = fopen(path, "rb");
    if (!f && errno == ENOENT)
        return LLF_OK;
    if (f)
        fclose(f);
    return llfi_read_file(&l->mem, d, path, (size_t)64 << 20, text, bytes);
}

/* A directory that is not there holds no edited kernel: a slip of the pen, and our own would run in silence.
 */
static llf_status check_override_dir(llfi_diag *d, const char *dir)
{
    struct stat st;
    if (!dir || (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
        return LLF_OK;
    return llfi_fail(d, LLF_E_IO, "LLF_OVERRIDE_DIR: %s is no directory", dir);
}

static llf_status load_code(llfi_diag *d, llf_loaded *l, const llfi_program_module *module,
                            llfi_cuda_kernel *kernel)
{
    const state *st = l->state;
    const llf_program *p = l->program;
    llfi_str path;
    llfi_str_init(&path, &l->mem);
    char *edited = NULL;
    size_t bytes = 0;
    llf_status status = LLF_OK;
    const char *where = NULL;
    if (p->override_dir) {
        llfi_str_printf(&path, "%s/%s.ptx", p->override_dir, module->name);
        status = path.failed ? llfi_nomem(d) : read_override(d, l, path.at, &edited, &bytes);
        where = edited ? path.at : NULL;
    }
    if (status == LLF_OK && !edited && p->dump_dir) {
        llfi_str_clear(&path);
        llfi_str_printf(&path, "%s/%s.ptx", p->dump_dir, module->name);
        where = path.failed ? NULL : path.at;
    }
    if (status == LLF_OK)
        status = llfi_cuda_kernel_load(d, st->cuda, edited ? edited : module->code.code, module->name, where,
                                       kernel);
    if (edited)
        llfi_free(&l->mem, edited, bytes + 1);
    llfi_str_free(&path);
    return status;
}

static llf_status load_module(llfi_diag *d, llf_loaded *l, uint32_t m)
{
    llfi_cuda_kernel *k = &((state *)l->state)->kernel[m];
    LLF_TRY(load_code(d, l, &l->program->module[m], k));
    l->info[m] = (struct llfi_loaded_info){k->registers, k->local_bytes, k->load_ms};
    return LLF_OK;
}

static void *code_of(const llf_loaded *l, uint32_t module)
{
    return &((const state *)l->state)->kernel[module];
}

static llf_status add(llfi_diag *d, llf_loaded *l, const llfi_program_module *module, void **code)
{
    state *st = l->state;
    added *a = llfi_alloc_zero(&l->mem, sizeof *a);
    llf_status status = a ? load_code(d, l, module, &a->kernel) : llfi_nomem(d);
    if (status != LLF_OK) {
        llfi_free(&l->mem, a, sizeof *a);
        return status;
    }
    a->next = st->added;
    st->added = a;
    *code = &a->kernel;
    return LLF_OK;
}

static llf_status load_modules(llfi_diag *d, llf_loaded *l)
{
    state *st = l->state;
    int pageable = 0;
    LLF_TRY(check_override_dir(d, l->program->override_dir));
    LLF_TRY(check_target(d, st, &l->program->target));
    LLF_TRY(llfi_cuda_check(
        d, st->cuda,
        st->cuda->DeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, st->device),
        "cuDeviceGetAttribute"));
    st->pageable = pageable != 0;
    double start = llfi_now_ms();
    LLF_TRY(start_driver(d, st));
    double modules = llfi_now_ms();
    l->start_ms += modules - start;
    for (uint32_t m = 0; m < l->program->modules; m++)
        LLF_TRY(load_module(d, l, m));
    l->load_ms = llfi_now_ms() - modules;
    return LLF_OK;
}

static llf_status load(llfi_diag *d, llf_loaded *l, int device)
{
    double start = llfi_now_ms();
    state *st = l->state = llfi_alloc_zero(&l->mem, sizeof *st);
    if (!st)
        return llfi_nomem(d);
    st->kernel = llfi_alloc_zero(&l->mem, l->program->modules * sizeof *st->kernel);
    if (!st->kernel)
        return llfi_nomem(d);
    if (device < -1)
        return llfi_fail(d, LLF_E_ARG, "device %d: -1 or a device's number is expected", device);
    LLF_TRY(llfi_cuda_get(d, &st->cuda));
    LLF_TRY(choose_context(d, st, device));
    uint64_t token;
    LLF_TRY(enter(d, l, &token));
    l->start_ms = llfi_now_ms() - start;
    llf_status status = load_modules(d, l);
    leave(l, token);
    return status;
}

static void unload_modules(llf_loaded *l)
{
    state *st = l->state;
    uint64_t token;
    if (enter(NULL, l, &token) != LLF_OK)
        return; /* the context is gone, and its modules with it */
    bool any = false;
    for (uint32_t m = 0; m < l->program->modules; m++)
        any |= st->kernel[m].module != NULL;
    if (any || st->added) /* kernels may still run */
        (void)st->cuda->CtxSynchronize();
    for (uint32_t m = 0; m < l->program->modules; m++)
        llfi_cuda_kernel_unload(st->cuda, &st->kernel[m]);
    for (added *a = st->added; a; a = a->next)
        llfi_cuda_kernel_unload(st->cuda, &a->kernel);
    leave(l, token);
}

static void unload(llf_loaded *l)
{
    state *st = l->state;
    if (!st)
        return;
    if (st->context)
        unload_modules(l);
    if (st->primary)
        (void)st->cuda->DevicePrimaryCtxRelease(st->device);
    for (added *a = st->added, *next; a; a = next) {
        next = a->next;
        llfi_free(&l->mem, a, sizeof *a);
    }
    llfi_free(&l->mem, st->kernel, l->program->modules * sizeof *st->kernel);
    llfi_free(&l->mem, st, sizeof *st);
    l->state = NULL;
}

/* ---- memory */

static llf_status allocate(llfi_diag *d, llf_loaded *l, size_t bytes, void **out)
{
    const llfi_cuda *c = ((const state *)l->state)->cuda;
    CUdeviceptr p = 0;
    *out = NULL;
    /* at least 256-byte aligned: CUDA C++ Programming Guide, device memory accesses */
    CUresult r = c->MemAlloc(&p, bytes);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        size_t unused = 0, total = 0;
        (void)c->MemGetInfo(&unused, &total);
        return llfi_fail(d, LLF_E_DEVICE_NOMEM, "out of device memory: %zu bytes requested, %zu of %zu free",
                         bytes, unused, total);
    }
    LLF_TRY(llfi_cuda_check(d, c, r, "cuMemAlloc"));
    *out = (void *)(uintptr_t)p;
    return LLF_OK;
}

static void release(llf_loaded *l, void *p, size_t bytes)
{
    (void)bytes;
    (void)((const state *)l->state)->cuda->MemFree((CUdeviceptr)(uintptr_t)p);
}

/* From pageable memory the copy may still be under way when the call returns. */
static llf_status upload(llfi_diag *d, llf_loaded *l, void *to, const void *from, size_t bytes)
{
    const llfi_cuda *c = ((const state *)l->state)->cuda;
    LLF_TRY(llfi_cuda_check(d, c, c->MemcpyHtoD((CUdeviceptr)(uintptr_t)to, from, bytes), "cuMemcpyHtoD"));
    return llfi_cuda_check(d, c, c->StreamSynchronize(NULL), "cuStreamSynchronize");
}

/* Device, managed, pinned and mapped memory of this context's device is taken. */
static llf_status reach(llfi_diag *d, llf_loaded *l, const char *what, const void *data)
{
    const state *st = l->state;
    const llfi_cuda *c = st->cuda;
    CUdeviceptr p = (CUdeviceptr)(uintptr_t)data;
    unsigned kind = 0;
    CUresult r = c->PointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    if (r == CUDA_ERROR_INVALID_VALUE) { /* no allocation of the driver's */
        if (st->pageable)
            return LLF_OK;
        return llfi_fail(
            d, LLF_E_ARG,
            "%s: %p is ordinary host memory, which this device cannot read; pass device, managed or pinned "
            "memory",
            what, data);
    }
    LLF_TRY(llfi_cuda_check(d, c, r, "cuPointerGetAttribute"));
    if (kind == CU_MEMORYTYPE_HOST) {
        CUdeviceptr seen = 0;
        r = c->PointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p);
        if (r == CUDA_SUCCESS && seen == p)
            return LLF_OK;
        return llfi_fail(
            d, LLF_E_ARG,
            "%s: %p is host memory that is not mapped at that address on the device; pass its device pointer "
            "(cuMemHostGetDevicePointer)",
            what, data);
    }
    unsigned managed = 0;
    int ordinal = -1;
    (void)c->PointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
    if (managed)
        return LLF_OK;
    LLF_TRY(llfi_cuda_check(d, c, c->PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p),
                            "cuPointerGetAttribute"));
    if (ordinal != (int)st->device)
        return llfi_fail(d, LLF_E_ARG, "%s: %p is memory of device %d, the program is loaded on device %d",
                         what, data, ordinal, (int)st->device);
    return LLF_OK;
}

/* ---- launch */

static bool idle(const llfi_launch *launch)
{
    return launch->grid[0] == 0; /* a grid of 0 is an error to the driver */
}

static llf_status launch(llfi_diag *d, llf_loaded *l, void *code, const llfi_launch *n, uint64_t *slot,
                         void **param, void *stream)
{
    (void)slot;
    const state *st = l->state;
    const llfi_cuda_kernel *kernel = code;
    CUresult r = st->cuda->LaunchKernel(kernel->function, n->grid[0], n->grid[1], n->grid[2], n->block[0],
                                        n->block[1], n->block[2], n->shared, stream, param, NULL);
    return r == CUDA_SUCCESS ? LLF_OK : llfi_cuda_check(d, st->cuda, r, "cuLaunchKernel");
}

const llfi_device llfi_device_cuda = {.name = "nvptx",
                                      .load = load,
                                      .unload = unload,
                                      .enter = enter,
                                      .leave = leave,
                                      .alloc = allocate,
                                      .free = release,
                                      .upload = upload,
                                      .reach = reach,
                                      .code = code_of,
                                      .add = add,
                                      .ready = NULL,
                                      .idle = idle,
                                      .launch = launch};
