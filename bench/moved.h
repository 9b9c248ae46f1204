/* moved.h: the bytes that a kernel needs of each buffer, from plan and shapes alone. */
#ifndef LLFI_BENCH_MOVED_H
#define LLFI_BENCH_MOVED_H

#include "passes/fuse/plan.h"

typedef struct {
    llf_id id;
    int64_t bytes; /* -1: over 2^63-1 */
} bench_stream;
typedef struct {
    bench_stream *read, *write; /* in the arena; by rising id */
    uint32_t reads, writes;
} bench_streams;
/* Counts for many kernels of one graph. */
typedef struct {
    const llf_graph *g;
    const int64_t *symbol;
    llfi_arena *arena;
    int64_t *need;  /* by node: elements that the kernel in hand wants of it */
    int64_t *bytes; /* by node: of a buffer that it reads; -1: not read */
} bench_mover;
llf_status bench_mover_init(bench_mover *, const llf_graph *, const int64_t *symbol, llfi_arena *);
/* What a kernel of these members (rising ids) that stores these values moves. */
llf_status bench_moved(bench_mover *, const llf_id *member, uint32_t members, const llf_id *store,
                       uint32_t stores, bench_streams *);
/* Sum of both sides; -1 on overflow. */
int64_t bench_streams_bytes(const bench_streams *);
/* Of all kernels of a plan; and of one kernel that holds the whole graph, below which no plan gets. */
llf_status bench_moved_plan(const llf_graph *, const llfi_plan *, const int64_t *symbol, llfi_arena *,
                            int64_t *bytes);
llf_status bench_moved_least(const llf_graph *, const int64_t *symbol, llfi_arena *, int64_t *bytes);
/* The mix of at most BENCH_MAX_READS and BENCH_MAX_WRITES equal tensors whose bytes have nearest the same
 * ratio; of equally near ones that with the nearest number of streams. Tensors below a sixteenth of the
 * largest are no streams. Both 0: nothing moves. */
void bench_mix(const bench_streams *, uint32_t *reads, uint32_t *writes);

#endif
