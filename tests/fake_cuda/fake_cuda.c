/* fake_cuda.c: every entry point of cuda_api.def over malloc. It runs no kernel, but checks what it is given
 * as a driver would and counts what is alive. It must stay stricter than the real driver. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef cuCtxGetDevice /* cuda.h renames some; the exports are named by hand below */

#define MOST 4096
#define STACK 16
#define EXPORT __attribute__((visibility("default")))

typedef struct {
    int device;
    int retained; /* primary only */
    bool primary;
} context;

typedef struct module module;
struct CUfunc_st {
    module *of;
    int sizes[64], params;
    bool used;
};
struct module {
    context *in;
    char *text;
    struct CUfunc_st function;
    bool live;
};

typedef struct {
    char *at;
    size_t bytes;
    int device; /* -1: pinned host memory, -2: pinned and not mapped */
    bool live;
} buffer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fake_cuda_state state;
static context primary[8] = {{0, 0, true}, {1, 0, true}, {2, 0, true}, {3, 0, true}};
static context other[64];
static int others;
static module *modules[MOST];
static buffer buffers[MOST];
static int module_count, buffer_count;
static size_t used[8];
static bool started;
static __thread context *stack[STACK];
static __thread int depth;

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static int devices(void)
{
    return (int)number("FAKE_CUDA_DEVICES", 2);
}

static void failed(const char *name)
{
    state.failed++;
    snprintf(state.failed_call, sizeof state.failed_call, "%s", name);
}

/* Counts the call; an injected failure, or success. */
static CUresult enter(const char *name)
{
    static char counted[64][40];
    static int times[64], names;
    int i = 0;
    state.calls++;
    while (i < names && strcmp(counted[i], name))
        i++;
    if (i == names && names < 64)
        snprintf(counted[names++], sizeof counted[0], "%s", name);
    times[i]++;
    if (state.calls == number("FAKE_CUDA_FAIL_AT", -1)) {
        failed(name);
        return CUDA_ERROR_UNKNOWN;
    }
    const char *fail = getenv("FAKE_CUDA_FAIL");
    char which[40];
    int nth, error;
    if (fail && sscanf(fail, "%39[^:]:%d:%d", which, &nth, &error) == 3 && !strcmp(which, name) &&
        nth == times[i]) {
        failed(name);
        return (CUresult)error;
    }
    return CUDA_SUCCESS;
}

static context *current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

/* Every entry point is a body between lock and unlock. */
#define CALL(name, params, ...)         \
    EXPORT CUresult name params;        \
    static CUresult do_##name params;   \
    EXPORT CUresult name params         \
    {                                   \
        pthread_mutex_lock(&lock);      \
        CUresult r = enter(#name);      \
        if (r == CUDA_SUCCESS)          \
            r = do_##name(__VA_ARGS__); \
        pthread_mutex_unlock(&lock);    \
        return r;                       \
    }                                   \
    static CUresult do_##name params

#define NEED_CONTEXT \
    if (!current())  \
    return CUDA_ERROR_INVALID_CONTEXT

CALL(cuDriverGetVersion, (int *v), v)
{
    *v = (int)number("FAKE_CUDA_DRIVER", 13000);
    return CUDA_SUCCESS;
}

CALL(cuInit, (unsigned flags), flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (devices() == 0)
        return CUDA_ERROR_NO_DEVICE;
    started = true;
    return CUDA_SUCCESS;
}

/* Translations do not fail. */
EXPORT CUresult cuGetErrorName(CUresult r, const char **text)
{
    *text = r == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : r == CUDA_ERROR_INVALID_PTX ? "CUDA_ERROR_INVALID_PTX"
            : r == CUDA_ERROR_UNKNOWN     ? "CUDA_ERROR_UNKNOWN"
                                          : "CUDA_ERROR_SOMETHING";
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorString(CUresult r, const char **text)
{
    *text = r == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "something the fake was told to say";
    return CUDA_SUCCESS;
}

CALL(cuDeviceGetCount, (int *n), n)
{
    *n = devices();
    return started ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CALL(cuDeviceGet, (CUdevice * d, int i), d, i)
{
    *d = i;
    return i < devices() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CALL(cuDeviceGetName, (char *name, int size, CUdevice d), name, size, d)
{
    snprintf(name, (size_t)size, "fake %d", d);
    return CUDA_SUCCESS;
}

CALL(cuDeviceGetAttribute, (int *value, CUdevice_attribute a, CUdevice d), value, a, d)
{
    int sm = (int)number("FAKE_CUDA_SM", 90);
    if (d >= devices())
        return CUDA_ERROR_INVALID_DEVICE;
    *value = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? sm / 10
             : a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? sm % 10
             : a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
                                                                 : 0;
    return CUDA_SUCCESS;
}

CALL(cuDeviceTotalMem_v2, (size_t * n, CUdevice d), n, d)
{
    (void)d;
    *n = (size_t)number("FAKE_CUDA_MEMORY", 1 << 30);
    return CUDA_SUCCESS;
}

CALL(cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice d), c, d)
{
    if (!started || d >= devices())
        return CUDA_ERROR_INVALID_DEVICE;
    primary[d].retained++;
    state.primaries++;
    *c = (CUcontext)&primary[d];
    return CUDA_SUCCESS;
}

CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice d), d)
{
    if (primary[d].retained == 0) {
        state.misuses++;
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    primary[d].retained--;
    state.primaries--;
    return CUDA_SUCCESS;
}

CALL(cuCtxGetCurrent, (CUcontext * c), c)
{
    *c = (CUcontext)current();
    return CUDA_SUCCESS;
}

CALL(cuCtxPushCurrent_v2, (CUcontext c), c)
{
    if (!c || depth == STACK)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = (context *)c;
    state.pushes++;
    return CUDA_SUCCESS;
}

CALL(cuCtxPopCurrent_v2, (CUcontext * c), c)
{
    NEED_CONTEXT;
    *c = (CUcontext)stack[--depth];
    state.pops++;
    return CUDA_SUCCESS;
}

CALL(cuCtxGetDevice, (CUdevice * d), d)
{
    NEED_CONTEXT;
    *d = current()->device;
    return CUDA_SUCCESS;
}

CALL(cuCtxSynchronize, (void))
{
    NEED_CONTEXT;
    return CUDA_SUCCESS;
}

static void write_log(unsigned n, const CUjit_option *option, void **value, const char *text)
{
    char *log = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < n; i++) {
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER)
            log = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            size = (size_t)(uintptr_t)value[i];
    }
    if (log && size)
        snprintf(log, size, "%s", text);
}

CALL(cuModuleLoadDataEx, (CUmodule * out, const void *image, unsigned n, CUjit_option *option, void **value),
     out, image, n, option, value)
{
    NEED_CONTEXT;
    const char *log = getenv("FAKE_CUDA_PTX_LOG");
    if (log || !strstr(image, ".version") || !strstr(image, ".target")) {
        write_log(n, option, value, log ? log : "ptxas fatal: no PTX");
        return CUDA_ERROR_INVALID_PTX;
    }
    module *m = calloc(1, sizeof *m);
    if (!m || module_count == MOST)
        abort();
    m->in = current();
    m->text = strdup(image);
    m->live = true;
    modules[module_count++] = m;
    state.modules++;
    *out = (CUmodule)m;
    return CUDA_SUCCESS;
}

CALL(cuModuleUnload, (CUmodule handle), handle)
{
    NEED_CONTEXT;
    module *m = (module *)handle;
    if (!m->live || m->in != current()) {
        state.misuses++;
        return CUDA_ERROR_INVALID_HANDLE;
    }
    m->live = false;
    free(m->text);
    m->text = NULL;
    state.modules--;
    return CUDA_SUCCESS;
}

/* Parameter sizes from the entry's head: the digits of each `.param .u64`; of `.b8 name[216]` those in
 * brackets. */
static void read_params(struct CUfunc_st *f, const char *head)
{
    const char *end = strchr(head, ')');
    f->params = 0;
    for (const char *p = head; (p = strstr(p, ".param")) && p < end && f->params < 64; p += 6) {
        const char *type = p + 6;
        while (*type == ' ' || *type == '.')
            type++;
        const char *line = strpbrk(type, ",)\n"), *array = memchr(type, '[', (size_t)(line - type));
        int bytes = (int)strtol(array ? array + 1 : type + 1, NULL, 10);
        f->sizes[f->params++] = array ? bytes : bytes / 8;
    }
}

CALL(cuModuleGetFunction, (CUfunction * out, CUmodule handle, const char *name), out, handle, name)
{
    NEED_CONTEXT;
    module *m = (module *)handle;
    char wanted[300];
    snprintf(wanted, sizeof wanted, ".entry %s(", name);
    const char *head = m->live ? strstr(m->text, wanted) : NULL;
    if (!head)
        return CUDA_ERROR_NOT_FOUND;
    m->function.of = m;
    read_params(&m->function, head);
    *out = &m->function;
    return CUDA_SUCCESS;
}

CALL(cuFuncGetAttribute, (int *value, CUfunction_attribute a, CUfunction f), value, a, f)
{
    (void)f;
    *value = a == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
    return CUDA_SUCCESS;
}

CALL(cuLaunchKernel,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned shared, CUstream stream, void **param, void **extra),
     f, gx, gy, gz, bx, by, bz, shared, stream, param, extra)
{
    (void)stream;
    NEED_CONTEXT;
    if (!f->of->live || f->of->in != current()) {
        state.misuses++;
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || gy > 65535 || gz > 65535 ||
        gx > 2147483647u || shared > 49152 || extra || (f->params && !param))
        return CUDA_ERROR_INVALID_VALUE;
    state.last_params = 0;
    for (int i = 0; i < f->params; i++) {
        int words = (f->sizes[i] + 7) / 8;
        if (state.last_params + words > (int)(sizeof state.last_param / sizeof *state.last_param))
            return CUDA_ERROR_INVALID_VALUE;
        uint64_t *at = state.last_param + state.last_params;
        memset(at, 0, (size_t)words * sizeof *at);
        memcpy(at, param[i], (size_t)f->sizes[i]);
        state.last_params += words;
    }
    state.last_grid = gx;
    state.last_block = bx;
    state.launches++;
    return CUDA_SUCCESS;
}

static void remember(void *p, size_t bytes, int device)
{
    if (buffer_count == MOST)
        abort();
    buffers[buffer_count++] = (buffer){p, bytes, device, true};
}

CALL(cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes), out, bytes)
{
    NEED_CONTEXT;
    int d = current()->device;
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > (size_t)number("FAKE_CUDA_MEMORY", 1 << 30) - used[d])
        return CUDA_ERROR_OUT_OF_MEMORY;
    void *p = NULL;
    if (posix_memalign(&p, 256, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    used[d] += bytes;
    remember(p, bytes, d);
    state.buffers++;
    *out = (CUdeviceptr)(uintptr_t)p;
    return CUDA_SUCCESS;
}

static buffer *find(CUdeviceptr p)
{
    char *at = (char *)(uintptr_t)p;
    for (int i = 0; i < buffer_count; i++)
        if (buffers[i].live && at >= buffers[i].at && at < buffers[i].at + buffers[i].bytes)
            return &buffers[i];
    return NULL;
}

CALL(cuMemFree_v2, (CUdeviceptr p), p)
{
    NEED_CONTEXT;
    buffer *b = find(p);
    if (!b || b->at != (char *)(uintptr_t)p || b->device < 0) {
        state.misuses++;
        return CUDA_ERROR_INVALID_VALUE;
    }
    b->live = false;
    used[b->device] -= b->bytes;
    state.buffers--;
    free(b->at);
    return CUDA_SUCCESS;
}

CALL(cuMemGetInfo_v2, (size_t * unused, size_t *total), unused, total)
{
    NEED_CONTEXT;
    *total = (size_t)number("FAKE_CUDA_MEMORY", 1 << 30);
    *unused = *total - used[current()->device];
    return CUDA_SUCCESS;
}

CALL(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t n), to, from, n)
{
    memcpy((void *)(uintptr_t)to, from, n);
    return CUDA_SUCCESS;
}

CALL(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t n), to, from, n)
{
    memcpy(to, (void *)(uintptr_t)from, n);
    return CUDA_SUCCESS;
}

CALL(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t n, CUstream s), to, value, n, s)
{
    (void)s;
    memset((void *)(uintptr_t)to, value, n);
    return CUDA_SUCCESS;
}

CALL(cuPointerGetAttribute, (void *value, CUpointer_attribute a, CUdeviceptr p), value, a, p)
{
    NEED_CONTEXT;
    const buffer *b = find(p);
    if (!b)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)a) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = b->device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        if (b->device == -2)
            return CUDA_ERROR_INVALID_VALUE;
        *(CUdeviceptr *)value = p;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)value = 0; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = b->device; return CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CALL(cuStreamCreate, (CUstream * s, unsigned flags), s, flags)
{
    (void)flags;
    *s = NULL;
    return CUDA_SUCCESS;
}

CALL(cuStreamDestroy_v2, (CUstream s), s)
{
    (void)s;
    return CUDA_SUCCESS;
}

CALL(cuStreamSynchronize, (CUstream s), s)
{
    (void)s;
    return CUDA_SUCCESS;
}

CALL(cuEventCreate, (CUevent * e, unsigned flags), e, flags)
{
    (void)flags;
    *e = NULL;
    return CUDA_SUCCESS;
}

CALL(cuEventDestroy_v2, (CUevent e), e)
{
    (void)e;
    return CUDA_SUCCESS;
}

CALL(cuEventRecord, (CUevent e, CUstream s), e, s)
{
    (void)e;
    (void)s;
    return CUDA_SUCCESS;
}

CALL(cuEventSynchronize, (CUevent e), e)
{
    (void)e;
    return CUDA_SUCCESS;
}

EXPORT CUresult fake_event_time(float *ms, CUevent from, CUevent to) __asm__("cuEventElapsedTime");
EXPORT CUresult fake_event_time(float *ms, CUevent from, CUevent to)
{
    (void)from;
    (void)to;
    *ms = 1;
    return CUDA_SUCCESS;
}

/* ---- for tests */

EXPORT CUresult fake_cuda_get(fake_cuda_state *out)
{
    pthread_mutex_lock(&lock);
    *out = state;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

EXPORT CUcontext fake_cuda_context(int device)
{
    other[others] = (context){device, 0, false};
    return (CUcontext)&other[others++];
}

EXPORT void fake_cuda_set_current(CUcontext c)
{
    if (depth)
        depth--;
    if (c)
        stack[depth++] = (context *)c;
}

EXPORT void fake_cuda_pin(void *p, size_t bytes, int mapped)
{
    pthread_mutex_lock(&lock);
    remember(p, bytes, mapped ? -1 : -2);
    pthread_mutex_unlock(&lock);
}
