/* pointwise.h: what the pointwise skeletons of all targets share: which kernels they take, the argument list,
 * and the body of a tile. The iteration space is flattened to one axis of numel elements. */
#ifndef LLFI_POINTWISE_H
#define LLFI_POINTWISE_H

#include "lower/lower.h"

/* Every member elementwise and either rank 0 or of the kernel's own shape. */
bool llfi_pointwise_match(const llf_graph *, const llfi_kernel *, const llfi_target *, llfi_why *);

/* Sums over a kernel that schedules are chosen by; only values of scope 1 count. */
typedef struct {
    uint32_t least, most;      /* bytes of an element among buffers; 0: no buffers */
    uint32_t bytes;            /* of one element of every buffer */
    uint32_t values4, values8; /* values by register size: 4 bytes or fewer, 8 */
    uint32_t cost;
} llfi_pointwise_sums;

/* Fills arg, args, dim, dims, cost and uniform_store: buffers read, buffers written, scalars, then `values`
 * DIMs. */
llf_status llfi_pointwise_plan(llf_graph *, const llfi_kernel *, const llfi_target *, uint32_t values,
                               llfi_arena *, llfi_schedule *, llfi_pointwise_sums *);
/* DIM argument holding launch value `index`. */
LLVMValueRef llfi_pointwise_dim(const llfi_site *, uint32_t index);
/* Lowers scope 1 for a tile, all loads first, and stores. */
llf_status llfi_pointwise_body(llfi_site *, const llfi_tile *);
/* Stores the values of scope 0 that the kernel owes. */
llf_status llfi_pointwise_uniform(llfi_site *);

/* Fills the axes of a tile whose first point has this index (i64); nothing where every offset is linear. */
void llfi_pointwise_axes(llfi_site *, LLVMValueRef linear, LLVMValueRef *axis);
/* The same of axes [from, to) alone, from an index of the type of indices into them. */
void llfi_pointwise_unravel(llfi_site *, LLVMValueRef index, uint32_t from, uint32_t to, LLVMValueRef *axis);
/* After the width: which buffers are accessed by aligned vectors, and what that asks of extents. */
llf_status llfi_pointwise_vectors(const llf_graph *, const llfi_demands *, llfi_arena *, llfi_schedule *);

/* Adds the reciprocals of the extents by which llfi_pointwise_axes and index expressions divide and that are
 * no constants, for targets whose division is slow. Without room for them there are none. */
llf_status llfi_pointwise_reciprocals(const llf_graph *, const llfi_demands *, const llfi_target *,
                                      llfi_arena *, llfi_schedule *);

/* pointwise_runs.c, for GPUs: chooses schedule->runs and element_runs, after width and slice. */
void llfi_pointwise_choose_runs(const llf_graph *, llfi_schedule *);
/* Sums of buffers that vectors are chosen by, without those whose element is the same for a whole vector. */
void llfi_pointwise_vector_sums(const llf_graph *, const llfi_kernel *, const llfi_demands *,
                                llfi_pointwise_sums *);
/* One thread's `runs` tiles of `width` elements, from elements `first`, first + space ... on: all loads
 * before anything is stored, those that wait for an index after all others. Ends the function. */
llf_status llfi_pointwise_runs(llfi_site *, uint32_t runs, uint32_t width, LLVMValueRef first,
                               uint64_t space);

/* pointwise_nvptx.c, for launches of all GPU skeletons: is every buffer that is accessed by vectors aligned
 * for them? One dimension of `blocks` blocks for n elements; E_LIMIT: more than a grid may have. */
#define LLFI_GRID_MAX INT64_C(0x7fffffff)
bool llfi_pointwise_aligned(const llfi_schedule *, const llfi_launch *);
llf_status llfi_pointwise_grid(const llfi_schedule *, int64_t n, int64_t blocks, llfi_launch *);

/* pointwise_host.c: elements of a vector on the CPU. */
uint32_t llfi_pointwise_host_width(const llfi_target *, const llfi_pointwise_sums *);

/* pointwise_tile.c, for GPUs: one thread's schedule->width elements from element `first` on, accessed as
 * aligned vectors, computed schedule->slice lanes at a time. `whole` NULL: always; else an i1, and where it
 * is false the thread owns element `first` alone. Ends the function. */
llf_status llfi_pointwise_tile(llfi_site *, LLVMValueRef whole, LLVMValueRef first);

#endif
