/* arch.c: from the text after "nvptx:" to architecture and PTX version. LLVM answers a pair it does not know
 * with a line on stderr, or by ending the process, so everything is decided here, by table. Must not create a
 * context or keep one. */
#include "target/nvptx/nvptx.h"

#include "cuda/cuda.h"

#include <llvm/Config/llvm-config.h>

/* What the LLVM we are built with knows (NVPTX.td of each release). */
#if LLVM_VERSION_MAJOR >= 22
#define PTX_OF_LLVM 90
#elif LLVM_VERSION_MAJOR == 21
#define PTX_OF_LLVM 88
#elif LLVM_VERSION_MAJOR == 20
#define PTX_OF_LLVM 87
#else
#define PTX_OF_LLVM 85
#endif

static const uint32_t ptx_versions[] = {63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77,
                                        78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

/* PTX version that first knew the architecture (PTX ISA, release notes). Ascending; the plain form before the
 * `a` form. */
static const struct {
    uint32_t sm;
    bool a;
    uint32_t ptx;
} archs[] = {
    {75, false, 63}, {80, false, 70},  {86, false, 71}, {87, false, 74},  {89, false, 78}, {90, false, 78},
    {90, true, 80},  {100, false, 86}, {100, true, 86}, {103, false, 88}, {103, true, 88}, {110, false, 90},
    {110, true, 90}, {120, false, 87}, {120, true, 87}, {121, false, 88}, {121, true, 88},
};

/* Below this nothing we emit is missing, and drivers from CUDA 11.5 on take it. */
#define PTX_PREFERRED 75

/* Most bytes of a kernel's parameters, from PTX 8.1 on and before (PTX ISA, parameter state space); a driver
 * that takes PTX 8.1 launches that many. */
#define PARAM_BYTES 32764u
#define PARAM_BYTES_BEFORE_81 4096u

static llf_status bad_arch(llfi_diag *d, const char *text)
{
    char list[256] = "", name[16];
    for (size_t i = 0; i < LLFI_COUNT(archs); i++) {
        snprintf(name, sizeof name, "sm_%u%s", archs[i].sm, archs[i].a ? "a" : "");
        if (archs[i].ptx <= PTX_OF_LLVM)
            llfi_diag_list(list, sizeof list, name);
    }
    return llfi_fail(d, LLF_E_TARGET, "target nvptx: unknown architecture '%.48s'; legal: %s", text, list);
}

/* Decimal digits at *text; false without one or over 9999. */
static bool number(const char **text, uint32_t *value)
{
    const char *at = *text;
    uint32_t v = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        v = v * 10 + (uint32_t)(*at - '0');
        if (v > 9999)
            return false;
    }
    if (at == *text || **text == '0')
        return false;
    *text = at;
    *value = v;
    return true;
}

/* "sm_90a", "sm_90a+ptx83"; *ptx 0 when not named; *at: index into archs. */
static llf_status parse(llfi_diag *d, const char *text, size_t *arch, uint32_t *ptx)
{
    const char *at = text;
    uint32_t sm = 0;
    if (strncmp(at, "sm_", 3) != 0)
        return bad_arch(d, text);
    at += 3;
    if (!number(&at, &sm))
        return bad_arch(d, text);
    bool a = *at == 'a';
    at += a;
    if (*at && *at != '+')
        return bad_arch(d, text);
    for (*arch = 0; *arch < LLFI_COUNT(archs); ++*arch)
        if (archs[*arch].sm == sm && archs[*arch].a == a && archs[*arch].ptx <= PTX_OF_LLVM)
            break;
    if (*arch == LLFI_COUNT(archs))
        return bad_arch(d, text);
    *ptx = 0;
    if (!*at)
        return LLF_OK;
    if (strncmp(at, "+ptx", 4) != 0)
        return llfi_fail(d, LLF_E_TARGET,
                         "target nvptx: unknown suffix '%.32s'; legal: +ptxNN, such as +ptx83", at);
    at += 4;
    if (!number(&at, ptx) || *at)
        return llfi_fail(d, LLF_E_TARGET,
                         "target nvptx: '%.48s' is not an architecture and a PTX version; write sm_90a+ptx83",
                         text);
    return LLF_OK;
}

static bool ptx_known(uint32_t ptx)
{
    for (size_t i = 0; i < LLFI_COUNT(ptx_versions); i++)
        if (ptx_versions[i] == ptx)
            return ptx <= PTX_OF_LLVM;
    return false;
}

/* Highest version known here that is not above `limit`. */
static uint32_t ptx_at_most(uint32_t limit)
{
    uint32_t best = 0;
    for (size_t i = 0; i < LLFI_COUNT(ptx_versions); i++)
        if (ptx_versions[i] <= limit && ptx_versions[i] <= PTX_OF_LLVM)
            best = ptx_versions[i];
    return best;
}

static llf_status check_pair(llfi_diag *d, size_t arch, uint32_t ptx)
{
    const char *suffix = archs[arch].a ? "a" : "";
    if (!ptx_known(ptx))
        return llfi_fail(d, LLF_E_TARGET,
                         "target nvptx: PTX version %u.%u is not known here; legal: 6.3 to %u.%u", ptx / 10,
                         ptx % 10, PTX_OF_LLVM / 10, PTX_OF_LLVM % 10);
    if (ptx < archs[arch].ptx)
        return llfi_fail(d, LLF_E_TARGET, "target nvptx: sm_%u%s needs PTX %u.%u or later, not %u.%u",
                         archs[arch].sm, suffix, archs[arch].ptx / 10, archs[arch].ptx % 10, ptx / 10,
                         ptx % 10);
    return LLF_OK;
}

/* The device of the calling thread's context, else device 0. */
static llf_status device_arch(const llfi_cuda *cuda, size_t *arch)
{
    CUcontext current = NULL;
    CUdevice device = 0;
    uint32_t sm = 0;
    bool have = cuda->CtxGetCurrent(&current) == CUDA_SUCCESS && current &&
                cuda->CtxGetDevice(&device) == CUDA_SUCCESS;
    if (!have && cuda->DeviceGet(&device, 0) != CUDA_SUCCESS)
        return LLF_E_TARGET;
    llfi_diag quiet = {0};
    LLF_TRY(llfi_cuda_device_sm(&quiet, cuda, device, &sm));
    uint32_t limit = ptx_at_most(llfi_cuda_ptx_of_driver(cuda->version));
    bool found = false;
    for (size_t i = 0; i < LLFI_COUNT(archs); i++) {
        /* `a` code runs on exactly its own architecture; plain PTX also on later ones */
        bool runs = archs[i].a ? archs[i].sm == sm : archs[i].sm <= sm;
        if (runs && archs[i].ptx <= limit) {
            *arch = i;
            found = true;
        }
    }
    return found ? LLF_OK : LLF_E_TARGET;
}

static llf_status choose(llfi_diag *d, const char *text, size_t *arch, uint32_t *ptx)
{
    const llfi_cuda *cuda = NULL;
    llfi_diag quiet = {0};
    if (*text) {
        LLF_TRY(parse(d, text, arch, ptx));
        if (*ptx)
            return LLF_OK;
    }
    if (llfi_cuda_get(&quiet, &cuda) != LLF_OK)
        cuda = NULL;
    uint32_t driver = cuda ? ptx_at_most(llfi_cuda_ptx_of_driver(cuda->version)) : PTX_OF_LLVM;
    if (!*text && cuda) {
        if (device_arch(cuda, arch) != LLF_OK)
            return llfi_fail(
                d, LLF_E_TARGET,
                "target nvptx: the device is older than sm_75 or its architecture cannot be read");
        *ptx = driver;
        return LLF_OK;
    }
    if (!*text)
        LLF_TRY(parse(d, "sm_90a", arch, ptx));
    *ptx = archs[*arch].ptx > PTX_PREFERRED ? archs[*arch].ptx : PTX_PREFERRED;
    if (*ptx > driver && archs[*arch].ptx <= driver)
        *ptx = driver;
    if (*ptx > driver)
        return llfi_fail(d, LLF_E_TARGET,
                         "target nvptx: sm_%u%s needs PTX %u.%u, but the driver takes %u.%u at most; update "
                         "the driver or name "
                         "the PTX version to compile for another machine",
                         archs[*arch].sm, archs[*arch].a ? "a" : "", *ptx / 10, *ptx % 10, driver / 10,
                         driver % 10);
    return LLF_OK;
}

llf_status llfi_nvptx_init(llfi_diag *d, const char *text, llfi_target *t)
{
    size_t arch = 0;
    uint32_t ptx = 0;
    LLF_TRY(choose(d, text, &arch, &ptx));
    LLF_TRY(check_pair(d, arch, ptx));
    if (!llfi_libdevice_present())
        return llfi_fail(d, LLF_E_TARGET, "target nvptx: built without libdevice");
    t->sm = archs[arch].sm;
    t->sm_a = archs[arch].a;
    t->ptx = ptx;
    t->cache_hints = t->sm >= 80 && ptx >= 74; /* PTX ISA: .level::cache_hint, createpolicy */
    t->param_bytes = ptx >= 81 ? PARAM_BYTES : PARAM_BYTES_BEFORE_81;
    snprintf(t->cpu, sizeof t->cpu, "sm_%u%s", t->sm, t->sm_a ? "a" : "");
    snprintf(t->features, sizeof t->features, "+ptx%u", ptx);
    snprintf(t->name, sizeof t->name, "nvptx:%s+ptx%u", t->cpu, ptx);
    return LLF_OK;
}
