/* emit.c: one kernel's stages as text, by compiling it again; the program keeps only what runs. Must not
 * touch the program. */
#include "jit/jit.h"

#include "runtime/fpmode.h"

llf_status llfi_program_emit(llf_context *cx, const llf_program *p, uint32_t kernel, const char *stage,
                             llfi_str *out)
{
    llfi_stages wanted = {0};
    if (kernel >= p->plan.kernels)
        return llfi_fail(&cx->diag, LLF_E_ARG, "no kernel %u: the plan has %u", kernel, p->plan.kernels);
    if (strcmp(stage, "llvm") == 0)
        wanted.llvm = out;
    else if (strcmp(stage, "llvm-opt") == 0)
        wanted.llvm_opt = out;
    else if (strcmp(stage, "asm") == 0)
        wanted.assembly = out;
    else
        return llfi_fail(&cx->diag, LLF_E_ARG, "no stage '%.40s'; there are llvm, llvm-opt and asm", stage);
    llfi_arena scratch;
    llfi_arena_init(&scratch, &cx->mem);
    llfi_program_module made = {0};
    const llfi_program_job job = llfi_workers_job(p, kernel, &made);
    snprintf(made.name, sizeof made.name, "%s", p->module[p->kernel[kernel].module].name);
    uint64_t mode = llfi_fpmode_enter();
    llf_status status = llfi_workers_kernel(&cx->diag, p, &job, &scratch, &wanted, NULL);
    llfi_fpmode_leave(mode);
    llfi_free(&p->mem, made.code.code, made.code.bytes + 1);
    llfi_arena_destroy(&scratch);
    return status;
}
