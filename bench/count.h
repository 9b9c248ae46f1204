/* count.h: what a row says without a clock: kernels, transfers, bytes, operations, expectations, symbols. */
#ifndef LLFI_BENCH_COUNT_H
#define LLFI_BENCH_COUNT_H

#include "bench/bench.h"

void bench_row_init(bench_row *, const bench_run *, const bench_case *, const char *heuristic);
/* Marks a row as failed and says why; the first reason stays. */
void bench_row_fault(bench_row *, const char *fmt, ...) LLFI_PRINTF(2, 3);
/* Kernels, transfers, bytes, operations, registers and phases of a row; holds them against the case's
 * expectations. */
llf_status bench_count(bench_run *, const bench_case *, const llf_graph *, const int64_t *symbol,
                       const bench_session *unfused, const bench_session *fused, bench_row *);
/* Time that the hand-written kernels of each kernel's own mix and size need for the plan's bytes. */
llf_status bench_count_ceiling(bench_run *, const bench_session *, const llf_graph *, const int64_t *symbol,
                               double *ms);

#endif
