/* ceiling.c: how fast the best of the fixed hand-written kernels moves a read:write mix at a size, once per
 * mix and size. Times an empty kernel takes are taken off, here and in pct_of_ceiling. */
#include "bench/bench.h"

#include <math.h>

#define ROUNDS 15u
#define ROUNDS_HOST 9u /* filling a CPU's caches takes longer than the sample */
#define VARIANTS 8u

static const llf_allocator *const mem = &llfi_malloc_allocator;

typedef struct {
    bench_device *d;
    uint32_t variant, reads, writes;
    void *tensor[BENCH_MAX_READS + BENCH_MAX_WRITES + 1];
    size_t bytes;
} job;

static llf_status run_stream(void *user, void *stream)
{
    job *j = user;
    (void)stream;
    return j->d->ops->stream_kernel(j->d, j->variant, j->reads, j->writes, j->tensor, j->bytes);
}

static llf_status run_empty(void *user, void *stream)
{
    (void)stream;
    bench_device *d = user;
    return d->ops->empty(d);
}

static llf_status run_copy(void *user, void *stream)
{
    (void)stream;
    job *j = user;
    return j->d->ops->copy(j->d, j->tensor[0], j->tensor[1], j->bytes);
}

static llf_status timed(bench_device *d, bench_work *work, void *user, double *ms)
{
    LLF_TRY(bench_flush(d));
    return d->ops->time(d, work, user, ms);
}

static uint32_t rounds_of(const bench_device *d)
{
    return d->ops == &bench_cuda ? ROUNDS : ROUNDS_HOST;
}

/* Median of each variant, samples in turns; the best stays. */
static llf_status measure(job *j, bench_ceiling *c)
{
    double sample[VARIANTS][ROUNDS];
    uint32_t variants = j->d->ops->variants(j->d, j->reads, j->writes);
    uint32_t rounds = rounds_of(j->d);
    for (uint32_t round = 0; round <= rounds; round++)
        for (j->variant = 0; j->variant < variants; j->variant++) {
            double ms;
            LLF_TRY(timed(j->d, run_stream, j, &ms));
            if (round) /* the first warms up */
                sample[j->variant][round - 1] = ms;
        }
    c->ms = INFINITY;
    for (uint32_t v = 0; v < variants; v++) {
        double ms = bench_stat_of(sample[v], rounds).median - j->d->empty_ms;
        if (ms < c->ms) {
            c->ms = ms;
            snprintf(c->variant, sizeof c->variant, "%s",
                     j->d->ops == &bench_cuda ? bench_ceiling_ptx_name(v)
                     : v                      ? "streaming stores"
                                              : "plain");
        }
    }
    c->gbps = (double)c->bytes * (c->reads + c->writes) / c->ms * 1e-6;
    return LLF_OK;
}

static void release(job *j)
{
    for (size_t i = 0; i < LLFI_COUNT(j->tensor); i++)
        if (j->tensor[i])
            j->d->ops->release(j->d, j->tensor[i], j->bytes);
}

/* Random contents: zeros can be faster than data. */
static llf_status acquire(job *j, uint32_t tensors)
{
    static const bench_data data = {.dist = BENCH_UNIFORM};
    bench_tensor t;
    if (!bench_tensor_make(&t, LLF_F32, (int64_t)(j->bytes / 4), &data, 7))
        return llfi_nomem(j->d->diag);
    llf_status status = LLF_OK;
    for (uint32_t i = 0; i < tensors && status == LLF_OK; i++) {
        status = j->d->ops->alloc(j->d, j->bytes, &j->tensor[i]);
        for (size_t at = 0; at < j->bytes && status == LLF_OK; at += t.elements * 4) {
            size_t piece = j->bytes - at < t.elements * 4 ? j->bytes - at : t.elements * 4;
            status = j->d->ops->upload(j->d, (char *)j->tensor[i] + at, t.block, piece);
        }
    }
    bench_tensor_free(&t);
    return status;
}

llf_status bench_ceiling_get(bench_device *d, bench_ceilings *all, uint32_t reads, uint32_t writes,
                             size_t bytes, const bench_ceiling **out)
{
    bytes &= ~(size_t)255;
    bytes = bytes ? bytes : 256;
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].reads == reads && all->at[i].writes == writes && all->at[i].bytes == bytes) {
            *out = &all->at[i];
            return LLF_OK;
        }
    if (!llfi_vec_reserve(mem, all, 1))
        return llfi_nomem(d->diag);
    bench_ceiling c = {.reads = reads, .writes = writes, .bytes = bytes};
    job j = {.d = d, .reads = reads, .writes = writes, .bytes = bytes};
    llf_status status = acquire(&j, reads + (writes ? writes : 1));
    if (status == LLF_OK)
        status = measure(&j, &c);
    release(&j);
    LLF_TRY(status);
    all->at[all->count] = c;
    *out = &all->at[all->count++];
    return LLF_OK;
}

llf_status bench_ceiling_header(bench_device *d)
{
    double empty[2 * ROUNDS], copy[ROUNDS];
    d->empty_ms = 0;
    for (uint32_t i = 0; i <= 2 * ROUNDS; i++)
        LLF_TRY(timed(d, run_empty, d, i ? &empty[i - 1] : &empty[0]));
    d->empty_ms = bench_stat_of(empty, 2 * ROUNDS).median;

    job j = {.d = d, .bytes = d->ops == &bench_cuda ? (size_t)1 << 30 : (size_t)1 << 27};
    llf_status status = acquire(&j, 2);
    uint32_t rounds = rounds_of(d);
    for (uint32_t i = 0; i <= rounds && status == LLF_OK; i++)
        status = timed(d, run_copy, &j, i ? &copy[i - 1] : &copy[0]);
    release(&j);
    LLF_TRY(status);
    d->copy_gbps = 2.0 * (double)j.bytes / (bench_stat_of(copy, rounds).median - d->empty_ms) * 1e-6;
    return LLF_OK;
}

void bench_ceilings_free(bench_ceilings *all)
{
    llfi_vec_free(mem, all);
}
