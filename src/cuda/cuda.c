/* cuda.c: opens libcuda.so.1 at run time, once per process, and translates its errors. It creates no context
 * and must not be linked against libcuda: the same binary runs where there is no driver. */
#include "cuda/cuda.h"

#include <dlfcn.h>
#include <pthread.h>

/* Oldest driver API: the first whose PTX 7.4 has everything that the emitters use. */
#define OLDEST_DRIVER 11040

/* The one process-wide state: libcuda itself is process-wide. A failure is not remembered, so that a later
 * call may succeed (a driver module loaded meanwhile, a device freed). */
static struct {
    pthread_mutex_t lock;
    bool ready;
    llfi_cuda cuda;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *symbol;
    size_t offset;
} entries[] = {
#define CU(name, symbol, params) {symbol, offsetof(llfi_cuda, name)},
#include "cuda_api.def"
#undef CU
};

/* A data pointer becomes a function pointer by its bytes, as POSIX allows and ISO C has no cast for. */
static bool entry(void *library, const char *symbol, void *slot)
{
    void *address = dlsym(library, symbol);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

static llf_status missing(llfi_diag *d, const char *symbol)
{
    return llfi_fail(
        d, LLF_E_TARGET,
        "libcuda.so.1 has no %s: the driver is too old (11.4 or later is needed); update the NVIDIA "
        "driver or use target host",
        symbol);
}

static llf_status load_entries(llfi_diag *d, llfi_cuda *c)
{
    if (!entry(c->library, "cuDriverGetVersion", &c->DriverGetVersion))
        return missing(d, "cuDriverGetVersion");
    CUresult r = c->DriverGetVersion(&c->version);
    if (r != CUDA_SUCCESS)
        return llfi_fail(d, LLF_E_TARGET, "cuDriverGetVersion failed with error %d", (int)r);
    if (c->version < OLDEST_DRIVER)
        return llfi_fail(
            d, LLF_E_TARGET,
            "the NVIDIA driver is too old: it speaks CUDA %d.%d, 11.4 or later is needed; update it or use "
            "target host",
            c->version / 1000, c->version % 1000 / 10);
    for (size_t i = 0; i < LLFI_COUNT(entries); i++)
        if (!entry(c->library, entries[i].symbol, (char *)c + entries[i].offset))
            return missing(d, entries[i].symbol);
    return LLF_OK;
}

static llf_status start(llfi_diag *d, llfi_cuda *c)
{
    CUresult r = c->Init(0);
    int count = 0;
    if (r == CUDA_SUCCESS)
        r = c->DeviceGetCount(&count);
    if (r == CUDA_ERROR_NO_DEVICE || (r == CUDA_SUCCESS && count == 0))
        return llfi_fail(d, LLF_E_TARGET,
                         "no CUDA device: the NVIDIA driver is here but shows no GPU; use target host");
    if (r == CUDA_SUCCESS)
        return LLF_OK;
    (void)llfi_cuda_check(d, c, r, "cuInit");
    char reason[sizeof d->message] = "";
    if (d)
        memcpy(reason, d->message, sizeof reason);
    return llfi_fail(d, LLF_E_TARGET, "the NVIDIA driver does not start: %s", reason);
}

static llf_status open_driver(llfi_diag *d, llfi_cuda *c)
{
    memset(c, 0, sizeof *c);
    c->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        return llfi_fail(d, LLF_E_TARGET, "libcuda.so.1 not found: no NVIDIA driver here; use target host");
    llf_status status = load_entries(d, c);
    if (status == LLF_OK)
        status = start(d, c);
    if (status != LLF_OK)
        dlclose(c->library);
    return status;
}

llf_status llfi_cuda_check(llfi_diag *d, const llfi_cuda *c, CUresult r, const char *call)
{
    if (r == CUDA_SUCCESS)
        return LLF_OK;
    const char *name = NULL, *text = NULL;
    if (c->GetErrorName(r, &name) != CUDA_SUCCESS || !name)
        name = "unknown error";
    if (c->GetErrorString(r, &text) != CUDA_SUCCESS || !text)
        text = "no description";
    llf_status status = r == CUDA_ERROR_OUT_OF_MEMORY ? LLF_E_DEVICE_NOMEM : LLF_E_DRIVER;
    return llfi_fail(d, status, "%s: %s (%d): %s", call, name, (int)r, text);
}

uint32_t llfi_cuda_ptx_of_driver(int version)
{
    /* CUDA C++ "PTX ISA" release notes, table of release history. */
    static const struct {
        int driver;
        uint32_t ptx;
    } table[] = {{13010, 91}, {13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85},
                 {12040, 84}, {12030, 83}, {12020, 82}, {12010, 81}, {12000, 80}, {11080, 78},
                 {11070, 77}, {11060, 76}, {11050, 75}, {11040, 74}};
    for (size_t i = 0; i < LLFI_COUNT(table); i++)
        if (version >= table[i].driver)
            return table[i].ptx;
    return 0;
}

llf_status llfi_cuda_device_sm(llfi_diag *d, const llfi_cuda *c, CUdevice device, uint32_t *sm)
{
    int major = 0, minor = 0;
    CUresult r = c->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (r == CUDA_SUCCESS)
        r = c->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    LLF_TRY(llfi_cuda_check(d, c, r, "cuDeviceGetAttribute"));
    *sm = (uint32_t)(major * 10 + minor);
    return LLF_OK;
}

llf_status llfi_cuda_get(llfi_diag *d, const llfi_cuda **out)
{
    pthread_mutex_lock(&process.lock);
    llf_status status = LLF_OK;
    if (!process.ready) {
        status = open_driver(d, &process.cuda);
        process.ready = status == LLF_OK;
    }
    pthread_mutex_unlock(&process.lock);
    *out = status == LLF_OK ? &process.cuda : NULL;
    return status;
}
