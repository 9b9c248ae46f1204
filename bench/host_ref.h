/* host_ref.h: the hand-written OpenMP loops by case. */
#ifndef LLFI_BENCH_HOST_REF_H
#define LLFI_BENCH_HOST_REF_H

typedef void bench_openmp_fn(const float *const *in, float *const *out, long n);
/* The loop of a case; NULL: there is none, or no OpenMP when this was built. */
bench_openmp_fn *bench_openmp_find(const char *case_name);
void bench_openmp_threads(int threads);

#endif
