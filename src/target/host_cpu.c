/* host_cpu.c: which CPU the host target compiles for. Must not let a CPU name reach LLVM that LLVM does not
 * know (it would print to stderr), nor accept one whose instructions this machine lacks. */
#include "target/host.h"

#include <stdlib.h>

#if defined(__x86_64__)
#define HOST_ARCH "x86-64"
static const struct {
    const char *name, *needs; /* features of this machine, all of them */
    uint32_t simd_bytes;
} levels[] = {
    {"x86-64", "+sse2", 16},
    {"x86-64-v2", "+sse4.2,+popcnt", 16},
    {"x86-64-v3", "+avx2,+fma,+bmi2,+f16c,+lzcnt,+movbe", 32},
    {"x86-64-v4", "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl", 64},
};
#else
#define HOST_ARCH "this CPU's architecture"
static const struct {
    const char *name, *needs;
    uint32_t simd_bytes;
} levels[] = {{"generic", "", 16}};
#endif

/* Is the word [at, at + n) among the comma-separated words of `list`? */
static bool has(const char *list, const char *at, size_t n)
{
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, at, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

static bool has_all(const char *list, const char *needs)
{
    while (*needs) {
        size_t n = strcspn(needs, ",");
        if (!has(list, needs, n))
            return false;
        needs += n + (needs[n] == ',');
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = strcmp(x + 1, y + 1); /* behind the sign */
    return order ? order : strcmp(x, y);
}

/* LLVM lists features in the order of a hash table: sorted here, so that the text is the same everywhere. */
static bool sort_features(char *text, char *out, size_t size)
{
    char *word[512], *rest = NULL;
    size_t words = 0, used = 0;
    for (char *w = strtok_r(text, ",", &rest); w && words < LLFI_COUNT(word); w = strtok_r(NULL, ",", &rest))
        word[words++] = w;
    qsort(word, words, sizeof word[0], by_name);
    out[0] = '\0';
    for (size_t i = 0; i < words; i++) {
        int n = snprintf(out + used, size - used, "%s%s", i ? "," : "", word[i]);
        if (n < 0 || (size_t)n >= size - used)
            return false;
        used += (size_t)n;
    }
    return true;
}

static uint32_t simd_of(const char *features)
{
    if (has_all(features, "+avx512f,+avx512bw,+avx512dq,+avx512vl"))
        return 64;
    return has_all(features, "+avx") ? 32 : 16;
}

static llf_status init_native(llfi_diag *d, llfi_target *t, const char *want)
{
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    llf_status s = LLF_OK;
    if (!cpu || !features || strlen(cpu) >= sizeof t->cpu ||
        !sort_features(features, t->features, sizeof t->features)) {
        s = llfi_fail(d, LLF_E_TARGET, "host: LLVM's name or features of this CPU are too long");
        goto out;
    }
    memcpy(t->cpu, cpu, strlen(cpu) + 1);
    /* One model's features differ between machines (virtual ones above all), so that its name is not enough.
     */
    uint64_t hash = llfi_hash(0, t->features, strlen(t->features));
    (void)snprintf(t->name, sizeof t->name, "host:%.40s+%08x", t->cpu,
                   (unsigned)(uint32_t)(hash ^ hash >> 32));
    t->simd_bytes = simd_of(t->features);
    if (*want && strcmp(t->name + strlen("host:"), want) != 0 && strcmp(cpu, want) != 0) {
        char legal[160] = "";
        for (size_t i = 0; i < LLFI_COUNT(levels); i++)
            llfi_diag_list(legal, sizeof legal, levels[i].name);
        s = llfi_fail(d, LLF_E_TARGET, "host: no CPU '%.60s' here; this one is '%s', and %s knows %s", want,
                      t->name + strlen("host:"), HOST_ARCH, legal);
    }
out:
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return s;
}

llf_status llfi_host_init(llfi_diag *d, const char *want, llfi_target *t)
{
    LLF_TRY(init_native(d, t, ""));
    t->param_bytes = UINT32_MAX; /* the argument block is ordinary memory */
    for (size_t i = 0; i < LLFI_COUNT(levels); i++) {
        if (strcmp(want, levels[i].name) != 0)
            continue;
        if (!has_all(t->features, levels[i].needs))
            return llfi_fail(d, LLF_E_TARGET, "host: this CPU lacks some of %s, which '%s' needs",
                             levels[i].needs, want);
        (void)snprintf(t->cpu, sizeof t->cpu, "%s", want);
        (void)snprintf(t->name, sizeof t->name, "host:%s", want);
        t->features[0] = '\0';
        t->simd_bytes = levels[i].simd_bytes;
        return LLF_OK;
    }
    return *want ? init_native(d, t, want) : LLF_OK;
}
