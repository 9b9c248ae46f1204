/* random_stride.c: random strides, and the copies between a row-major tensor and one that has them, by plain
 * indexing. */
#include "random_stride.h"

#define SMALL 4096 /* most elements of a span that is stretched for the sake of gaps */

/* Axes in a random order, each over what the ones before it span, with gaps. */
static void nested(rg_random *r, uint32_t rank, const int64_t *shape, int64_t *stride)
{
    uint32_t order[LLF_MAX_RANK];
    bool turned = rg_chance(r, 50);
    int64_t next = rg_chance(r, 70) ? 1 : 1 + rg_below(r, 3);
    for (uint32_t i = 0; i < rank; i++)
        order[i] = rank - 1 - i;
    for (uint32_t i = rank; turned && i > 1; i--) {
        uint32_t other = rg_below(r, i), was = order[i - 1];
        order[i - 1] = order[other];
        order[other] = was;
    }
    for (uint32_t i = 0; i < rank; i++) {
        stride[order[i]] = next;
        next *= shape[order[i]] > 1 ? shape[order[i]] : 1;
        if (next < SMALL && rg_chance(r, 40))
            next += rg_chance(r, 50) ? 8 - next % 8 : 1 + rg_below(r, 9); /* rows of whole vectors, or not */
    }
}

void rg_layout_make(rg_random *r, uint32_t rank, const int64_t *shape, rg_layout *l)
{
    *l = (rg_layout){.count = 1};
    bool any = rg_chance(r, 25);
    nested(r, rank, shape, l->stride);
    for (uint32_t i = 0; i < rank; i++) {
        if (any)
            l->stride[i] = (int64_t)rg_below(r, 11) - 5;
        else if (rg_chance(r, 15))
            l->stride[i] = 0;
        else if (rg_chance(r, 25))
            l->stride[i] = -l->stride[i];
        if (shape[i] <= 1 && rg_chance(r, 50)) /* never used */
            l->stride[i] = (int64_t)rg_below(r, 2000001) - 1000000;
    }
    for (uint32_t i = 0; i < rank; i++) {
        int64_t far = shape[i] > 1 ? (shape[i] - 1) * l->stride[i] : 0;
        l->count += far < 0 ? -far : far;
        l->first -= far < 0 ? far : 0;
    }
    for (uint32_t i = 0; i < rank; i++)
        l->count = shape[i] == 0 ? 0 : l->count;
    l->first = l->count ? l->first : 0;
}

/* The place of row-major element `at`. */
static int64_t place(const rg_layout *l, uint32_t rank, const int64_t *shape, int64_t at)
{
    int64_t to = l->first;
    for (uint32_t i = rank; i-- > 0; at /= shape[i])
        to += at % shape[i] * l->stride[i];
    return to;
}

static int64_t elements(uint32_t rank, const int64_t *shape)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= shape[i];
    return n;
}

void rg_layout_scatter(const rg_layout *l, uint32_t rank, const int64_t *shape, size_t size,
                       const void *dense, void *span)
{
    for (int64_t i = 0, n = elements(rank, shape); i < n; i++)
        memcpy((char *)span + (size_t)place(l, rank, shape, i) * size, (const char *)dense + (size_t)i * size,
               size);
}

void rg_layout_gather(const rg_layout *l, uint32_t rank, const int64_t *shape, size_t size, const void *span,
                      void *dense)
{
    for (int64_t i = 0, n = elements(rank, shape); i < n; i++)
        memcpy((char *)dense + (size_t)i * size, (const char *)span + (size_t)place(l, rank, shape, i) * size,
               size);
}
