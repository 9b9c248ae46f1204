/* program.h: program (immutable, no device) -> loaded (modules in one context) -> execution (bindings, workspace,
 * argument blocks). jit/compile.c makes programs; this room runs them. */
#ifndef LLFI_PROGRAM_H
#define LLFI_PROGRAM_H

#include "lower/lower.h"
#include "passes/pass.h"

typedef struct {
    uint64_t hash;     /* content: demand list, schedule, target */
    char name[160];    /* kernel function */
    llfi_code code;
    double lower_ms;
} llfi_program_module;

typedef struct {
    uint32_t module;
    llfi_schedule schedule; /* arrays in program->arena */
} llfi_program_kernel;

struct llf_program {
    llf_allocator mem;
    llfi_arena arena;
    llf_graph *graph;  /* optimised; owned; cx NULL */
    llfi_plan plan;
    llfi_target target;
    llfi_program_module *module;
    uint32_t modules;
    llfi_program_kernel *kernel; /* by plan kernel */
    /* Values that live in the workspace (stored, not outputs), and for each the kernels that write and last read it. */
    struct {
        llf_id node;
        uint32_t first, last;
    } *temp;
    uint32_t temps;
    /* [input * outputs + output]: may that output be the very buffer of that input? */
    bool *inplace;
    char *override_dir; /* copied from the context; NULL: off */
    char *dump_dir;
    struct {
        double passes_ms, plan_ms, lower_ms, opt_ms, emit_ms, total_ms; /* lower, opt, emit: summed over modules */
    } phase;
    llfi_pass_time pass_time[16];
    uint32_t pass_times;
    int refs; /* atomic: the caller's and each loaded's */
};

/* Where an INPUT or output's tensor stands in llf_bind's numbering: node -> buffer. */
typedef struct llfi_device llfi_device; /* vtable of loaded: device_host.c, device_cuda.c */
struct llfi_device {
    const char *name;
    llf_status (*load)(llfi_diag *, struct llf_loaded *, int device);
    void (*unload)(struct llf_loaded *);
    llf_status (*alloc)(llfi_diag *, struct llf_loaded *, size_t bytes, void **); /* 256-byte aligned */
    void (*free)(struct llf_loaded *, void *, size_t bytes);
    /* launches kernel k with its argument block of 8-byte slots */
    llf_status (*launch)(llfi_diag *, struct llf_loaded *, uint32_t module, const llfi_schedule *, const llfi_launch *,
                         uint64_t *slot, void *stream);
};
extern const llfi_device llfi_device_host, llfi_device_cuda;

struct llf_loaded {
    llf_allocator mem;
    llf_program *program; /* a reference */
    const llfi_device *device;
    void *state;          /* device's own */
    double load_ms;       /* modules only */
    double start_ms;      /* the driver's or ORC's first start, measured apart */
    int refs;
    /* per module, for bench: registers, spill bytes; host: 0 */
    struct {
        int registers, local_bytes;
        double load_ms;
    } *info;
};

struct llf_execution {
    llf_allocator mem;
    llf_loaded *loaded;
    llfi_diag diag;
    struct {
        llf_tensor tensor;
        bool bound;
        uint64_t scalar; /* bits, for scalar inputs */
    } *bind;             /* inputs, then outputs */
    uint32_t binds;
    bool prepared;
    int64_t *symbol;
    void *workspace;
    size_t workspace_bytes;
    void **buffer;       /* by node id: address, for INPUT, outputs and temps; NULL otherwise */
    llfi_launch *launch; /* by kernel */
    uint64_t *slots;     /* argument blocks, back to back */
    uint32_t *slot0;     /* by kernel: first slot */
    llf_stats stats;
};

/* Stages of one kernel as text, for --emit: "llvm", "llvm-opt", "asm" (PTX or assembly). Recompiles; deterministic. */
llf_status llfi_program_emit(llf_context *, const llf_program *, uint32_t kernel, const char *stage, llfi_str *);

#endif
