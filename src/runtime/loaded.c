/* loaded.c: a program's modules in one CUDA context or on the CPU. Shared by threads: after llf_program_load
 * only the reference count changes, and the variants, under a lock. */
#include "runtime/fpmode.h"
#include "runtime/program.h"

static const llfi_device *device_of(const llf_program *p)
{
    static const llfi_device *const devices[] = {&llfi_device_host, &llfi_device_cuda};
    for (size_t i = 0; i < LLFI_COUNT(devices); i++)
        if (strcmp(devices[i]->name, p->target.backend->name) == 0)
            return devices[i];
    return NULL;
}

void llfi_loaded_retain(llf_loaded *l)
{
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
}

void llf_loaded_destroy(llf_loaded *l)
{
    if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1)
        return;
    llf_allocator mem = l->mem;
    if (l->device)
        l->device->unload(l);
    llfi_variants_destroy(l);
    llfi_free(&mem, l->info, l->program->modules * sizeof *l->info);
    llf_program_destroy(l->program);
    llfi_free(&mem, l, sizeof *l);
}

llf_status llf_program_load(llf_context *cx, const llf_program *p, int device, llf_loaded **out)
{
    if (!cx)
        return LLF_E_ARG;
    if (!p || !out)
        return llfi_fail(&cx->diag, LLF_E_ARG, "llf_program_load: null %s", !p ? "program" : "result");
    *out = NULL;
    llf_loaded *l = llfi_alloc_zero(&cx->mem, sizeof *l);
    if (!l)
        return llfi_nomem(&cx->diag);
    l->mem = cx->mem;
    atomic_init(&l->refs, 1);
    llfi_program_retain(p);
    l->program = (llf_program *)(uintptr_t)p; /* for its count alone */
    l->info = llfi_alloc_zero(&l->mem, p->modules * sizeof *l->info);
    llf_status status = l->info && llfi_variants_create(l, cx) == LLF_OK ? LLF_OK : llfi_nomem(&cx->diag);
    if (status == LLF_OK) {
        l->device = device_of(p);
        uint64_t mode =
            llfi_fpmode_enter(); /* LLVM and the clocks do arithmetic, which the caller may trap */
        status = l->device
                     ? l->device->load(&cx->diag, l, device)
                     : llfi_fail(&cx->diag, LLF_E_TARGET, "nothing here runs target %s", p->target.name);
        llfi_fpmode_leave(mode);
    }
    if (status != LLF_OK) {
        llf_loaded_destroy(l);
        return status;
    }
    llfi_log(cx, LLFI_LOG_PERF, "load %s: %u modules, start %.3f ms, modules %.3f ms", p->target.name,
             p->modules, l->start_ms, l->load_ms);
    *out = l;
    return LLF_OK;
}
