/* random_stride.h: how a random input lies in memory when it does not lie row-major. */
#ifndef RANDOM_STRIDE_H
#define RANDOM_STRIDE_H

#include "random_graph.h"

typedef struct {
    int64_t stride[LLF_MAX_RANK]; /* elements */
    int64_t first, count;         /* element [0, ...] and size of the span, in elements from its lowest */
} rg_layout;

/* Gaps, other orders, backwards, stretched, overlapping, or several of these. */
void rg_layout_make(rg_random *, uint32_t rank, const int64_t *shape, rg_layout *);
/* Row-major elements of `size` bytes to a span and back. Where several share a place, the last one stays. */
void rg_layout_scatter(const rg_layout *, uint32_t rank, const int64_t *shape, size_t size, const void *dense,
                       void *span);
void rg_layout_gather(const rg_layout *, uint32_t rank, const int64_t *shape, size_t size, const void *span,
                      void *dense);

#endif
