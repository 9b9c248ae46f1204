/* stats.c: order statistics of samples. It must not know what is measured. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Hyndman and Fan's type 7, as numpy's default. */
static double quantile(const double *v, size_t count, double q)
{
    double at = q * (double)(count - 1);
    size_t low = (size_t)at;
    size_t high = low + 1 < count ? low + 1 : low;
    return v[low] + (v[high] - v[low]) * (at - (double)low);
}

bench_stat bench_stat_of(double *v, size_t count)
{
    bench_stat s = {NAN, NAN, NAN, (uint32_t)count};
    if (!count)
        return s;
    qsort(v, count, sizeof *v, ascending);
    s.median = quantile(v, count, 0.5);
    s.p20 = quantile(v, count, 0.2);
    s.p80 = quantile(v, count, 0.8);
    return s;
}
