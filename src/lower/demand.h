/* demand.h: kernel -> demand list: the distinct (node, index map) pairs in emission order. Built by a
 * worklist before LLVM is touched; read by legality, cost, explain and lowering. Views are no demands: their
 * operands are demanded under composed maps. */
#ifndef LLFI_DEMAND_H
#define LLFI_DEMAND_H

#include "fuse/plan.h"
#include "lower/map.h"

/* Where a leaf's element lies: the linear index of the point, or an expression. */
#define LLFI_OFFSET_LINEAR UINT32_MAX

/* Where a value is the same. Kernels without reductions have no rows. */
enum {
    LLFI_SCOPE_UNIFORM, /* in the whole kernel */
    LLFI_SCOPE_POINT,
    LLFI_SCOPE_ROW /* in a row: it depends on outer axes alone, or is made of reductions */
};

typedef struct {
    llf_id node;
    uint32_t map;   /* equal for the same index map */
    uint16_t scope; /* LLFI_SCOPE_* */
    uint16_t phase; /* reductions one after another that must be there before it; a reduction: with itself */
    uint16_t leaf;  /* 1: loaded (input or stored elsewhere), literal or scalar argument; not computed here */
    bool late;      /* leaf that waits for a computed index */
    const uint32_t *arg; /* earlier demands, one an operand; leaf: NULL */
    llfi_ix offset;      /* leaf in memory: its element, an expression of the list's; iota: its value */
    uint32_t same;       /* leaf in memory: the first demand of the same buffer */
    uint32_t cond;       /* INDEX op: where its conditions begin in the list's */
    llfi_dim number;     /* count: the number; else LLFI_DIM_NONE */
    llfi_dim alive; /* leaf in memory: LLFI_DIM_NONE, or where this is 0 there is no element to load, and what
                       is loaded in its stead is chosen by no select */
} llfi_demand;

/* The iteration space as loops: site axes that every offset takes as one are one axis. The site axes of a
 * kernel with reductions are the outer axes of its space, then the reduced ones, which never become one with
 * them. */
typedef struct {
    uint32_t axes;  /* at least 1; with reductions at least 1 reduced one */
    uint32_t outer; /* with reductions: how many are outer; else 0 */
    uint32_t along; /* the axis that vectors lie along: the last, unless a skeleton chooses another one */
    llfi_dim extent[LLFI_RANK];
    int8_t of[LLFI_RANK]; /* by site axis: the axis that it is the value of, or -1: it is never needed */
    uint32_t used;        /* bit k: some offset needs axis k */
    bool narrow;          /* indices have 32 bits: every index, offset and quotient is below 2^31 */
    bool assumed;         /* which is not proved, but asked at prepare: llfi_narrow_holds */
} llfi_space;

typedef struct llfi_demands {
    llfi_demand *at; /* scope 0 first, then all others; of either leaves first, but for those that wait
                        for an index, and operands before users */
    uint32_t count, uniform; /* `uniform`: how many are of scope 0 */
    uint32_t *store;         /* demand of each kernel->store, in that order */
    uint32_t phases;         /* of reductions; 0: the kernel has none */
    llfi_space space;
    /* expressions that offsets need, in order of need: atoms refer to earlier forms, forms to earlier atoms
     */
    const llfi_ix_form *form;
    const llfi_ix_term *term;
    const llfi_atom *atom;
    uint32_t forms, atoms;
    llfi_ix *cond; /* conditions of INDEX ops, by demand.cond; LLFI_IX_NONE: none */
    uint32_t conds;
    bool placed; /* some value but early loads depends on its point: a condition, a gathered leaf, an iota */
    /* extents that are no constants and that axes or expressions need, in order of first use */
    llfi_dim *dim;
    uint32_t dims;
    llfi_dim *size; /* of the space, then of buffers: what must be below 2^31 beside the expressions */
    uint32_t sizes;
} llfi_demands;

/* E_LIMIT when the list would exceed 2 x members + leaves + 32. */
llf_status llfi_demands_make(llf_graph *, const llfi_kernel *, llfi_arena *, llfi_demands *);
/* Content hash: ops, dtypes, structure, literals' bits, offsets; not names, not node ids. Equal kernels are
 * equal. */
uint64_t llfi_demands_hash(const llf_graph *, const llfi_demands *, const llfi_kernel *);

/* rows.c, of kernels with reductions. Is it a reduction computed here? Its further results are none. */
bool llfi_demand_reduces(const llf_graph *, const llfi_demand *);
/* Marks (by demand, and sets every other mark to false) the POINT demands that the reductions with operands
 * of phase `phase` go over, or with `phase` = list->phases those that POINT stores want; true: there are such
 * reductions or stores. Lowered in the list's order they are there in time, when ROW demands of up to that
 * phase are. */
bool llfi_demands_points(const llf_graph *, const llfi_kernel *, const llfi_demands *, uint32_t phase,
                         bool *mark);

/* How a leaf's `width` elements along the innermost axis lie. */
typedef enum {
    LLFI_ACCESS_VECTOR, /* side by side */
    LLFI_ACCESS_BACK,   /* side by side, the last one first */
    LLFI_ACCESS_SPLAT,  /* all the same */
    LLFI_ACCESS_LANES   /* anything else: one by one */
} llfi_access;
/* `aligned`: VECTOR and BACK also promise that the first in memory is a multiple of width, given that every
 * extent of `dim` that `multiple` (NULL: not wanted; else as many flags as dims, only set here) names is one.
 */
llfi_access llfi_access_of(const llf_graph *, const llfi_demands *, uint32_t demand, uint32_t width,
                           bool aligned, bool *multiple);
/* The same for elements along any axis of the space; a leaf of linear offset lies along the innermost. */
llfi_access llfi_access_along(const llf_graph *, const llfi_demands *, uint32_t demand, uint32_t axis,
                              uint32_t width, bool aligned, bool *multiple);
/* Does an atom change along the innermost axis? */
bool llfi_access_inner(const llfi_demands *, const llfi_atom *);
/* Is an expression the innermost axis plus multiples of width, given as for llfi_access_of? */
bool llfi_access_steps(const llf_graph *, const llfi_demands *, llfi_ix form, uint32_t width, bool *multiple);
/* blame.c: tells the graph's context which op and axis of the kernel made expressions that fail with E_LIMIT.
 */
void llfi_blame(const llfi_maps *, const llf_graph *, const llfi_kernel *);
/* access.c: offsets, axes and extents of a list whose demands are there; `map` are those of the demands. */
llf_status llfi_access_make(llf_graph *, const llfi_kernel *, llfi_maps *, llfi_arena *, llfi_demands *);
/* narrow.c: fills space.narrow, space.assumed and the sizes. */
llf_status llfi_narrow_decide(llf_graph *, const llfi_kernel *, llfi_arena *, llfi_demands *);
/* Does what was assumed hold for these symbols? *beyond: else a number that does not fit, or INT64_MAX. */
bool llfi_narrow_holds(const llf_graph *, const llfi_demands *, const int64_t *symbol, int64_t *beyond);

#endif
