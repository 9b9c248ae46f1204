/* rows.h: which axes of a space a value lies along. It tells of a kernel with reductions what may be computed
 * once for each of its rows: fusion decides by it, demands are made by it. Nothing here knows of kernels. */
#ifndef LLFI_ROWS_H
#define LLFI_ROWS_H

#include "ir/ir.h"

/* Axes of a space, bit i for axis i. An axis of constant extent 1 is in no set that a value lies along: its
 * index is 0 whoever asks, so x[N], x[N, 1] and x[1, N] all lie along the N of a space. */
typedef uint32_t llfi_axes;
#define LLFI_AXES_NONE UINT32_MAX /* no set of axes says it: other points than the space's own */

/* Those whose extent is not the constant 1. */
llfi_axes llfi_axes_of(const llf_graph *, llfi_type);
/* Do the value's extents but the constant 1s equal those of the space's axes `along`, in order? `at`, unless
 * NULL: by axis of the value the axis of the space; LLFI_RANK for a constant 1. */
bool llfi_axes_lie(const llf_graph *, llfi_type value, llfi_type space, llfi_axes along, uint8_t *at);

/* The type whose dims are the points at which a node reads its operands: of a reduction its operand's, else
 * its own. */
uint32_t llfi_space_of(const llf_graph *, llf_id);
/* The axes of that space that a node reduces; 0: it is no reduction. */
llfi_axes llfi_reduced_of(const llf_graph *, llf_id);

/* Views as what they leave of the axes behind them. */
typedef struct {
    const llf_graph *g;
    const llf_id *source;
    uint32_t *view;           /* by node: its place in `at`, plus 1; 0: it is no view */
    uint8_t (*at)[LLFI_RANK]; /* by axis of what is behind the view: the view's axis that is its index */
} llfi_ways;
bool llfi_ways_init(llfi_ways *, const llf_graph *, const llf_id *source,
                    llfi_arena *); /* false: no memory */
/* The axes of `user`'s space that the value behind operand `k` is read along: each axis of the value at the
 * index of one of them, in order. NONE: it is read at other points, or may be. */
llfi_axes llfi_way(const llfi_ways *, llf_id user, uint32_t k);
/* Axes of `from` as axes of `to`: those at the same places of the two. */
llfi_axes llfi_axes_lift(llfi_axes along, llfi_axes from, llfi_axes to);

#endif
