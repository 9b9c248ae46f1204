/* host_ref.c: loops that a careful C programmer would write by hand with OpenMP: the CPU target is measured
 * against these. Compiled by itself with -O3 -march=native -fopenmp; it must use nothing of llfuse. */
#include "bench/host_ref.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef _OPENMP
static void add_relu(const float *const *in, float *const *out, long n)
{
    const float *restrict a = in[0], *restrict b = in[1];
    float *restrict y = out[0];
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++) {
        float s = a[i] + b[i];
        y[i] = s < 0 ? 0 : s;
    }
}

static void mul_add_sigmoid(const float *const *in, float *const *out, long n)
{
    const float *restrict x = in[0], *restrict w = in[1], *restrict b = in[2];
    float *restrict y = out[0];
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++)
        y[i] = 1.0f / (1.0f + expf(-(x[i] * w[i] + b[i])));
}

static void swiglu(const float *const *in, float *const *out, long n)
{
    const float *restrict g = in[0], *restrict u = in[1];
    float *restrict y = out[0];
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++)
        y[i] = g[i] / (1.0f + expf(-g[i])) * u[i];
}
#endif

bench_openmp_fn *bench_openmp_find(const char *case_name)
{
#ifdef _OPENMP
    static const struct {
        const char *name;
        bench_openmp_fn *fn;
    } loop[] = {{"add_relu", add_relu}, {"mul_add_sigmoid", mul_add_sigmoid}, {"swiglu", swiglu}};
    for (unsigned i = 0; i < sizeof loop / sizeof *loop; i++)
        if (!strcmp(loop[i].name, case_name))
            return loop[i].fn;
#endif
    (void)case_name;
    return 0;
}

void bench_openmp_threads(int threads)
{
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}
