/* program.h: program (immutable, no device) -> loaded (modules in one context, and the variants that
 * executions asked for) -> execution (bindings, workspace, argument blocks). jit/compile.c makes programs;
 * this room runs them. */
#ifndef LLFI_PROGRAM_H
#define LLFI_PROGRAM_H

#include "lower/lower.h"
#include "passes/pass.h"

#include <stdatomic.h>

typedef struct {
    uint64_t hash;  /* content: demand list, schedule, target */
    char name[160]; /* kernel function */
    uint32_t first; /* lowest plan kernel that uses it */
    llfi_code code;
    double lower_ms;
    bool kept; /* found in the context's cache */
} llfi_program_module;

typedef struct {
    uint32_t module;
    llfi_schedule schedule; /* arrays in program->arena */
} llfi_program_kernel;

/* A value that lives in the workspace: stored, not an output. */
typedef struct {
    llf_id node;
    uint32_t first, last; /* kernels that write and last read it */
} llfi_program_temp;

/* One kernel to be compiled: `module` has its name and receives its code. */
typedef struct {
    const llf_graph *graph;
    const llfi_kernel *kernel;
    const llfi_schedule *schedule;
    llfi_program_module *module;
} llfi_program_job;
/* Compiles for the program's target, in parallel, on stacks of their own; all fail when one does. Code is in
 * the program's memory; diagnostics, logs and dumps are the context's. */
typedef llf_status llfi_program_compile_fn(llf_context *, const llf_program *, const llfi_program_job *,
                                           uint32_t jobs);

#define LLFI_PARTS_SEVERAL UINT32_MAX
struct llf_program {
    llf_allocator mem;
    /* The program's own: its allocator outlives the caller's context, its diagnostic serves llf_compile. */
    llf_context cx;
    llfi_arena arena;
    llf_graph *graph; /* optimised; owned; graph->cx == &program->cx */
    llfi_plan plan;
    llfi_params params; /* that the plan is held to */
    llfi_target target;
    llfi_program_module *module;
    uint32_t modules;
    llfi_program_kernel *kernel; /* by plan kernel */
    llfi_program_temp *temp;     /* by first, then node */
    uint32_t temps;
    /* For llfi_program_inplace: by input, one past the last kernel that reads it (0: none); by output, the
     * kernel that stores it. Of that kernel: the part that stores the output, the only part that reads the
     * input (LLFI_PARTS_SEVERAL: several do). */
    uint32_t *read_end, *stored_by;
    llfi_program_compile_fn *compile; /* jit's, which this room may not include */
    uint32_t compile_threads;
    uint32_t *read_part, *stored_part;
    char *override_dir; /* copied from the context; NULL: off */
    char *dump_dir;
    struct {
        double passes_ms, plan_ms, total_ms;
        double lower_ms, opt_ms, emit_ms; /* summed over modules */
    } phase;
    llfi_pass_time pass_time[16];
    uint32_t pass_times;
    atomic_int refs; /* the caller's and each loaded's */
};

/* program.c */
llf_program *llfi_program_create(const llf_context *); /* one reference; NULL: out of memory */
void llfi_program_retain(const llf_program *);
/* May that output be the very buffer of that input? */
bool llfi_program_inplace(const llf_program *, uint32_t input, uint32_t output);

/* buffers.c: lifetimes at compile, places at prepare. */
llf_status llfi_buffers_describe(llf_program *, llfi_arena *scratch);
/* 256-byte aligned offsets of temps of the given sizes, no two that live at once overlapping. E_LIMIT: the
 * sum overflows. */
llf_status llfi_buffers_place(llfi_diag *, const llf_allocator *, const llfi_program_temp *, uint32_t temps,
                              const size_t *bytes, size_t *offset, size_t *total);

/* overlap.c: buffers that may not overlap. */
typedef struct {
    uintptr_t at;
    size_t bytes; /* 0: overlaps nothing */
} llfi_span;
/* First forbidden pair: an output with an output, or with an input that is not in place. `order` has room for
 * `outputs`. No allocation. Inputs may overlap one another. `may` is asked for an input and an output whose
 * spans meet: are they `whole`, the same span, and that is right; or do they share no byte, whatever their
 * spans say? */
typedef bool llfi_overlap_fn(const void *user, uint32_t input, uint32_t output, bool whole);
bool llfi_overlap_find(const llfi_span *input, uint32_t inputs, const llfi_span *output, uint32_t outputs,
                       uint32_t *order, llfi_overlap_fn *may, const void *user, uint32_t *a, bool *a_is_input,
                       uint32_t *b);

/* Where the code runs: vtable of loaded: device_host.c, device_cuda.c. */
typedef struct llfi_device llfi_device;
struct llfi_device {
    const char *name;
    llf_status (*load)(llfi_diag *, llf_loaded *, int device);
    void (*unload)(llf_loaded *); /* also after a failed load */
    /* Around every use: makes the context current (or the FP mode the default), and restores the caller's. */
    llf_status (*enter)(llfi_diag *, llf_loaded *, uint64_t *token);
    void (*leave)(llf_loaded *, uint64_t token);
    /* The rest run between enter and leave. */
    llf_status (*alloc)(llfi_diag *, llf_loaded *, size_t bytes, void **); /* 256-byte aligned */
    void (*free)(llf_loaded *, void *, size_t bytes);
    llf_status (*upload)(llfi_diag *, llf_loaded *, void *to, const void *from,
                         size_t bytes); /* done at return */
    /* Can kernels reach this memory? `what` names it. NULL: every pointer is taken. */
    llf_status (*reach)(llfi_diag *, llf_loaded *, const char *what, const void *data);
    /* What launch takes for a module of the program. */
    void *(*code)(const llf_loaded *, uint32_t module);
    /* Loads one module more, until unload. One call at a time; others may launch meanwhile. */
    llf_status (*add)(llfi_diag *, llf_loaded *, const llfi_program_module *, void **code);
    /* What the first run of these launches would otherwise pay for. NULL: nothing. */
    void (*ready)(llf_loaded *, const llfi_launch *, uint32_t launches);
    bool (*idle)(const llfi_launch *); /* nothing to launch */
    /* Launches code with its argument block of 8-byte slots; param[i] is the address of slot i. */
    llf_status (*launch)(llfi_diag *, llf_loaded *, void *code, const llfi_launch *, uint64_t *slot,
                         void **param, void *stream);
};
extern const llfi_device llfi_device_host, llfi_device_cuda;

/* Kernels of the plan compiled once more, where what they take for granted does not hold (variant.h). */
typedef struct llfi_variant llfi_variant;
typedef struct llfi_variants llfi_variants;

struct llf_loaded {
    llf_allocator mem;
    llf_program *program; /* a reference */
    const llfi_device *device;
    void *state;     /* device's own */
    double load_ms;  /* modules only */
    double start_ms; /* the driver's or ORC's first start, measured apart */
    atomic_int refs;
    llfi_variants *variants; /* what prepares add */
    /* per module, for bench: registers, spill bytes; host: 0 */
    struct llfi_loaded_info {
        int registers, local_bytes;
        double load_ms;
    } * info;
};

/* loaded.c */
void llfi_loaded_retain(llf_loaded *);

typedef struct {
    llf_tensor tensor, ready; /* as bound; as prepare saw it */
    bool bound;
    bool strided;    /* an input that does not lie row-major without gaps */
    int64_t low;     /* bytes from `data` down to the lowest element: 0 or less */
    uint64_t scalar; /* bits, for scalar inputs */
} llfi_binding;

struct llf_execution {
    llf_allocator mem;
    llf_loaded *loaded;
    llfi_diag diag;
    llfi_binding *bind; /* inputs, then outputs */
    uint32_t binds, inputs;
    bool prepared;
    bool moved;      /* bound anew since the slots were filled */
    uintptr_t align; /* largest vector alignment that a kernel looks at */
    int64_t *symbol;
    void *workspace;
    size_t workspace_bytes;
    void *table; /* in memory of the device: what kernels take by LLFI_ARG_TABLE */
    size_t table_bytes;
    void *scratch,
        *counter; /* in memory of the device: LLFI_ARG_SCRATCH and LLFI_ARG_COUNTER of every kernel */
    size_t scratch_bytes, counter_bytes;
    llfi_span *span; /* by binding */
    uint32_t *order; /* by output: room for the overlap check */
    void **buffer;   /* by node id: address, for INPUT (scalars: of their bits), outputs and temps */
    const llfi_schedule **schedule; /* by kernel: the program's, or a variant's */
    const llfi_variant **variant;   /* by kernel: NULL: the program's own */
    void **code;                    /* by kernel: what is launched */
    llfi_launch *launch;            /* by kernel */
    size_t slot_room, extent_room, computed_room;
    uint64_t *slots;   /* argument blocks, back to back */
    void **params;     /* addresses of the slots */
    const void **data; /* launch->data of all kernels, back to back */
    int64_t *extents;  /* launch->extent of all kernels, back to back */
    int64_t *computed; /* launch->computed of all kernels, back to back */
    uint32_t *slot0;   /* by kernel: first slot; [kernels]: their number */
    uint32_t *extent0; /* by kernel: first extent; [kernels]: their number */
    llf_stats stats;
};

/* execution.c: argument blocks for the schedules that are chosen. E_NOMEM leaves those of before. */
llf_status llfi_execution_lay_out(llf_execution *);

/* scratch.c: what the launches want, for all kernels together, which run one after another. A run under way
 * may still use what was there: it is kept while it suffices. Between enter and leave. */
llf_status llfi_scratch_make(llf_execution *);
void llfi_scratch_free(llf_execution *);

/* variant.c: created and destroyed with the loaded; E_NOMEM. */
llf_status llfi_variants_create(llf_loaded *, const llf_context *);
void llfi_variants_destroy(llf_loaded *);
void llfi_variants_count(const llf_loaded *, uint32_t *variants, uint32_t *modules);
/* Chooses code for each kernel by how the inputs lie and how large indices are, and compiles what is not
 * there yet. Between enter and leave. */
llf_status llfi_variant_choose(llf_execution *);
/* variant_make.c: values of the extents of the schedules that are chosen. E_GUARD, E_LIMIT. */
llf_status llfi_variant_extents(llf_execution *);

/* stride.c */
/* Where element [0, ...] stands in a tensor's span, and its bytes; `stride` of axes of extent 1 is 0. False:
 * beyond 2^63. */
bool llfi_stride_span(const llf_tensor *, int64_t *low, int64_t *bytes);
/* May an element of the tensor share a byte with [at, at + bytes)? Exact where the axes nest, each stride at
 * least what the axes of smaller ones span together; where they do not, gaps among those count as taken. */
bool llfi_stride_touches(const llf_tensor *, uintptr_t at, size_t bytes);
/* Row-major without gaps? Strides of axes of extent 1, and all of a tensor without elements, do not matter.
 */
bool llfi_stride_contiguous(const llf_tensor *);
/* Strides as kernels may take them: 0 where the extent is 1 or less. */
void llfi_stride_of(const llf_tensor *, int64_t *stride);

/* prepare.c */
/* "input x" or "output 0 (y)" into `text`; returns it. */
const char *llfi_prepare_name(const llf_execution *, uint32_t binding, char *text, size_t size);
/* Checks and argument blocks anew after a bind without prepare; E_STATE when more than addresses and scalars
 * changed. No allocation. */
llf_status llfi_prepare_moved(llf_execution *);

/* jit/emit.c: stages of one kernel as text, for --emit: "llvm", "llvm-opt", "asm" (PTX or assembly).
 * Recompiles; deterministic. */
llf_status llfi_program_emit(llf_context *, const llf_program *, uint32_t kernel, const char *stage,
                             llfi_str *);

#endif
