/* check.c: fused = unfused, bitwise, on every element of every output (all NaNs are equal). Both output sets
 * were poisoned with different patterns, so that an element neither wrote differs. Whether the nodes are
 * right is check_nodes.c's question. */
#include "bench/bench.h"

#include "ir/float.h"

#define PIECE ((size_t)16 << 20)

static const llf_allocator *const mem = &llfi_malloc_allocator;

static bool equal_bits(llf_dtype t, const char *a, const char *b, size_t count, size_t *where)
{
    size_t size = llfi_dtypes[t].bytes;
    if (!memcmp(a, b, count * size))
        return true;
    for (size_t i = 0; i < count; i++) {
        uint64_t x = llfi_bits_load(t, a + i * size), y = llfi_bits_load(t, b + i * size);
        bool nans = llfi_dtype_is_float(t) && llfi_bits_nan(t, x) && llfi_bits_nan(t, y);
        if (x != y && !nans) {
            *where = i;
            return false;
        }
    }
    return true;
}

static llf_status compare_output(bench_run *r, llf_dtype t, int64_t numel, const void *a, const void *b,
                                 char *stage, bool *same, int64_t *where)
{
    size_t size = llfi_dtypes[t].bytes, step = PIECE / size, at_piece = 0;
    bench_device *d = r->device;
    *same = true;
    for (int64_t at = 0; at < numel && *same; at += (int64_t)step) {
        size_t count = numel - at < (int64_t)step ? (size_t)(numel - at) : step;
        LLF_TRY(d->ops->download(d, stage, (const char *)a + (size_t)at * size, count * size));
        LLF_TRY(d->ops->download(d, stage + PIECE, (const char *)b + (size_t)at * size, count * size));
        *same = equal_bits(t, stage, stage + PIECE, count, &at_piece);
        *where = at + (int64_t)at_piece;
    }
    return LLF_OK;
}

llf_status bench_check_same(bench_run *r, const llf_graph *g, const int64_t *symbol, void *const *a,
                            void *const *b, bench_verdict *v)
{
    char *stage = llfi_alloc(mem, 2 * PIECE);
    if (!stage)
        return llfi_nomem(&r->cx->diag);
    llf_status status = LLF_OK;
    v->same = true;
    for (uint32_t i = 0; i < g->outputs.count && v->same && status == LLF_OK; i++) {
        llf_tensor t;
        int64_t numel, where = 0;
        bench_shape(g, g->outputs.at[i], symbol, &t, &numel);
        status = compare_output(r, t.dtype, numel, a[i], b[i], stage, &v->same, &where);
        if (status == LLF_OK && !v->same)
            snprintf(v->why, sizeof v->why, "output %u differs from the unfused run at element %lld", i,
                     (long long)where);
    }
    llfi_free(mem, stage, 2 * PIECE);
    return status;
}
