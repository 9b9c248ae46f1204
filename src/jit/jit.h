/* jit.h: what the files of this room share. */
#ifndef LLFI_JIT_H
#define LLFI_JIT_H

#include "runtime/program.h"

/* Text wanted of one kernel; NULL: not wanted. */
typedef struct {
    llfi_str *llvm, *llvm_opt, *assembly;
} llfi_stages;

/* options.c: the caller's struct, of whatever version, checked and completed; fuse options from it,
 * with the parameter limit of the target (NULL: the default's). */
llf_status llfi_options_read(llfi_diag *, const llf_options *given, llf_options *out);
llf_status llfi_options_fuse(llfi_diag *, const llf_options *, const llfi_target *, llfi_fuse_options *);

/* workers.c: one kernel, from plan to code. `scratch` is left reset. */
llf_status llfi_workers_kernel(llfi_diag *, const llf_program *, const llfi_program_job *,
                               llfi_arena *scratch, const llfi_stages *);
llfi_program_job llfi_workers_job(const llf_program *, uint32_t kernel, llfi_program_module *);
/* Jobs in parallel. The failure reported is that of the first of them, whatever the threads did. `stages`:
 * NULL or by job. */
llf_status llfi_workers_run(llf_context *, const llf_program *, const llfi_program_job *, uint32_t jobs,
                            uint32_t threads, const llfi_stages *);

#endif
