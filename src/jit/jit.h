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

/* import.c: a plan's text, checked against graph, law and target; E_PLAN with the place in the text. */
typedef struct {
    const char *text;
    size_t bytes;
    const char *file; /* NULL: "<plan>" */
} llfi_import;
llf_status llfi_import_text(llf_context *, const llfi_import *, llf_graph **text);
/* Parameters: the defaults, then those of the plan's line, then the options'. */
llf_status llfi_import_options(const llf_graph *text, const llf_options *, const llfi_target *,
                               llfi_fuse_options *);
/* The plan over the nodes of `g`, which is optimised; NULL: over those of the text. */
llf_status llfi_import_plan(llf_graph *text, const llf_graph *g, const llfi_fuse_options *,
                            const llfi_target *, llfi_plan *);
/* The pipeline's steps up to the plan; a program without a graph takes the text's. */
llf_status llfi_import_run(llf_program *, const llf_options *, const llfi_import *, llfi_passes_state *);

/* compile.c: llf_compile; `in` not NULL: with its plan, and `g` may be NULL. */
llf_status llfi_compile(llf_context *, const llf_graph *g, const llf_options *, const llfi_import *in,
                        llf_program **);

/* workers.c: one kernel, from plan to code. `scratch` is left reset. `cache` is asked where no stage is
 * wanted; NULL: none. */
llf_status llfi_workers_kernel(llfi_diag *, const llf_program *, const llfi_program_job *,
                               llfi_arena *scratch, const llfi_stages *, llfi_cache *cache);
llfi_program_job llfi_workers_job(const llf_program *, uint32_t kernel, llfi_program_module *);
/* Jobs in parallel. The failure reported is that of the first of them, whatever the threads did. `stages`:
 * NULL or by job. */
llf_status llfi_workers_run(llf_context *, const llf_program *, const llfi_program_job *, uint32_t jobs,
                            uint32_t threads, const llfi_stages *);

#endif
