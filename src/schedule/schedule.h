/* schedule.h: from a kernel to a skeleton and its parameters. Pure, integer, deterministic, no device needed.
 */
#ifndef LLFI_SCHEDULE_H
#define LLFI_SCHEDULE_H

#include "fuse/plan.h"

typedef struct llfi_target llfi_target;
typedef struct llfi_skeleton llfi_skeleton;
struct llfi_site;
struct llfi_demands;

/* What a kernel needs at launch, in order; each takes one 8-byte slot of the argument block. */
typedef enum {
    LLFI_ARG_BUFFER,     /* ref = node id: address of its buffer */
    LLFI_ARG_DIM,        /* ref = index into llfi_launch.value, computed by the skeleton's launch */
    LLFI_ARG_STRIDE,     /* ref = index into schedule->dim: its value */
    LLFI_ARG_TABLE,      /* address of the values of the STRIDEs behind it, which are no parameters then */
    LLFI_ARG_SCALAR,     /* ref = node id of a scalar INPUT: its bits, zero-extended */
    LLFI_ARG_RECIPROCAL, /* ref = index into schedule->dim: llfi_reciprocal of its value */
    LLFI_ARG_COMPUTED,   /* ref = index into llfi_launch.computed: several parts' DIMs and where they begin */
    LLFI_ARG_SCRATCH,    /* address of llfi_launch.scratch bytes, 256-byte aligned, that hold anything */
    LLFI_ARG_COUNTER /* address of llfi_launch.counters words of 32 bits: 0 when the kernel begins, and the
                        kernel leaves them 0 */
} llfi_arg_kind;
typedef struct {
    llfi_arg_kind kind;
    llf_dtype dtype; /* of the buffer's elements or the scalar */
    uint32_t ref;
    bool written; /* buffer */
    bool vector;  /* buffer accessed by vectors: they need its address to be a multiple of vector_align */
} llfi_arg;

#define LLFI_LAUNCH_VALUES 5
typedef struct {
    /* in: filled by the runtime */
    const int64_t *extent;   /* values of schedule->dim, in order */
    const void *const *data; /* addresses of BUFFER arguments in argument order */
    /* out */
    uint32_t grid[3], block[3], shared; /* grid[0] == 0: nothing to launch. host: unused */
    int64_t items, grain;               /* host: iterations to split over threads, and the least piece */
    int64_t value[LLFI_LAUNCH_VALUES];
    int64_t *computed; /* schedule->computed numbers in memory of the runtime's */
    /* memory of the device's that this launch has for itself: bytes; words of 32 bits */
    int64_t scratch, counters;
} llfi_launch;

/* How accesses are marked for the caches; params.def's load_hint and store_hint are these plus 1. */
typedef enum {
    LLFI_HINT_NONE,
    LLFI_HINT_L1_LAST,  /* evicted last from L1 */
    LLFI_HINT_LAST,     /* evicted last from L1 and L2 */
    LLFI_HINT_L2_LAST,  /* not kept in L1, evicted last from L2 */
    LLFI_HINT_L2_FIRST, /* not kept in L1, evicted first from L2 */
    LLFI_HINTS
} llfi_hint;

typedef struct llfi_schedule llfi_schedule;
typedef struct llfi_schedule_parts llfi_schedule_parts;
struct llfi_schedule {
    const llfi_skeleton *skeleton;
    llfi_arg *arg; /* in memory of the schedule's arena */
    uint32_t args;
    const struct llfi_demands
        *demands;  /* of the kernel; in memory of the schedule's arena, like all arrays here */
    llfi_dim *dim; /* extents that launch and arguments need; pointwise: dim[0] = number of elements */
    uint32_t dims;
    uint32_t
        inner; /* pointwise of several axes: index of the innermost extent, which vectors must divide; else
                  0 */
    uint32_t
        *multiple; /* indices of extents that must be multiples of width, or else no access is a vector */
    uint32_t multiples;
    bool steps;            /* host: vectors begin at multiples of their width where extents allow it */
    uint32_t threads;      /* a block */
    uint32_t width;        /* elements a vector; 1: scalar */
    uint32_t slice;        /* lanes computed at once, a divisor of width; fewer than width: in a loop */
    bool one_body;         /* GPU: threads with a vector and threads with an element share the arithmetic */
    uint32_t runs;         /* GPU: vectors of a thread, a block apart; 0: no runs (pointwise_nvptx.c) */
    uint32_t element_runs; /* with runs: the same of single elements, where there are no vectors */
    uint32_t vector_align; /* bytes that every `vector` buffer's address must be a multiple of for the vector
                              path */
    bool table;            /* there is a TABLE among the arguments */
    uint32_t cost;         /* estimated instructions per element */
    struct {
        llfi_hint load, store;
    } hint; /* GPU: of all accesses of the kernel to global memory; the parts of a kernel have none */
    struct {
        uint32_t x, y;   /* tiled: points of a tile along the innermost axis and along `axis`; else 0 */
        uint32_t lanes;  /* of a warp that lie side by side along the innermost axis */
        uint32_t axis;   /* of the demands' space */
        uint32_t extent; /* index of that axis's extent in dim */
        bool full;       /* a thread holds many registers: fewer blocks rather than spills */
        uint32_t align;  /* elements of the widest vector along `axis`: extents must be multiples of it */
    } tile;
    bool shares; /* host reductions: few and long rows may be cut into parts for several threads */
    struct {
        uint32_t warps, lanes;  /* reductions: of a row; lanes: fewer than 32 where a warp has several rows */
        uint32_t rows;          /* of a block */
        uint32_t kept;          /* chunks of a row that a warp keeps in registers; 0: rows are read again */
        bool split;             /* rows may be split over blocks */
        uint32_t bytes;         /* of a chunk's partial results */
        uint32_t count, length; /* indices of the number of rows and of a row's length in dim */
    } row;
    bool uniform_store; /* a rank-0 value is stored beside larger ones: launch even when there are no elements
                         */
    uint32_t computed;  /* numbers in llfi_launch.computed */
    const llfi_schedule_parts
        *parts; /* of a kernel of several parts, which has no demands of its own; else NULL */
};

/* Parts side by side. The argument block is a header that says where each part's blocks (or items) begin,
 * then a row a part: the part's own arguments, DIM ones as COMPUTED. Parts that do the same to
 * other tensors share a body, which finds its tensors in their rows; rows of a body stand together. */
typedef struct {
    llfi_schedule schedule;
    uint32_t part;        /* of the kernel */
    uint32_t dim0, data0; /* its first extent, buffer and computed number among those of all */
    uint32_t computed0;
} llfi_schedule_row;
typedef struct {
    uint32_t row, rows; /* first row; their number */
    uint32_t slot;      /* of the first row; every row has as many slots as the part has arguments */
    uint64_t hash;      /* llfi_kernel_hash of each of these parts */
} llfi_schedule_body;
struct llfi_schedule_parts {
    llfi_schedule_row *row;
    llfi_schedule_body *body;
    uint32_t rows, bodies;
    uint32_t starts; /* entries of the header, a power of two: unused ones are beyond every block */
};

/* reciprocal.c: of 1 <= d < 2^31 (else 0): a multiplier m below 2^32, and above it a shift s below 32, with
 * floor(x / d) = floor(2 * x * m / 2^32) >> s for every x below 2^31. */
uint64_t llfi_reciprocal(int64_t d);

/* The reason for a refusal, for explain and the decision log. */
typedef struct {
    char text[200];
} llfi_why;

struct llfi_skeleton {
    const char *name;   /* "pointwise" */
    const char *prefix; /* of kernel names: "poi" */
    bool (*match)(const llf_graph *, const llfi_kernel *, const llfi_target *, llfi_why *);
    /* E_UNSUPPORTED: does not match after all, seen only now */
    llf_status (*plan)(llf_graph *, const llfi_kernel *, const llfi_target *, llfi_arena *, llfi_schedule *);
    /* lower/lower.h: emits the kernel function into an llfi_module */
    llf_status (*emit)(struct llfi_site *);
    /* pure arithmetic, called by prepare; E_LIMIT when the extents exceed what the skeleton can launch */
    llf_status (*launch)(const llfi_schedule *, llfi_launch *);
    /* How loads are best marked (measured, docs/performance.md), where the target can and nobody asks for
     * anything else; NULL: not at all. */
    llfi_hint (*load_hint)(const llfi_schedule *);
};
extern const llfi_skeleton llfi_skeleton_pointwise_nvptx; /* lower/pointwise_nvptx.c */
extern const llfi_skeleton llfi_skeleton_tiled_nvptx;     /* lower/tiled_nvptx.c */
extern const llfi_skeleton llfi_skeleton_columns_nvptx;   /* lower/columns_gpu.c */
extern const llfi_skeleton llfi_skeleton_rows_nvptx;      /* lower/rows_gpu.c */
extern const llfi_skeleton llfi_skeleton_tiled_host;      /* lower/tiled_host.c */
extern const llfi_skeleton llfi_skeleton_pointwise_host;  /* lower/pointwise_host.c */
extern const llfi_skeleton llfi_skeleton_reduce_host;     /* lower/reduce_host.c */
extern const llfi_skeleton llfi_skeleton_parts_nvptx;     /* lower/parts_nvptx.c */
extern const llfi_skeleton llfi_skeleton_parts_host;      /* lower/parts_host.c */

/* First skeleton of the target that matches; E_INTERNAL with the reasons when none does (legal.c must have
 * refused). */
llf_status llfi_schedule_make(llf_context *, llf_graph *, const llfi_plan *, uint32_t kernel,
                              const llfi_target *, llfi_arena *, llfi_schedule *);
/* One line for LLF_LOGS=schedule and explain. */
void llfi_schedule_print(const llfi_schedule *, llfi_str *);

#endif
