/* data.c: seeded contents of inputs. Drawing a quarter of a gigabyte of normal numbers would take longer than
 * measuring, so a tensor repeats one block of a prime number of drawn elements: no tile, page or vector sees
 * the same values at the same place twice, and an element's value is known without keeping a copy of the
 * tensor on the host. */
#include "bench/bench.h"
#include "ir/float.h"
#include "ir/ir.h"

#include <float.h>
#include <math.h>

uint64_t bench_random(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed * 0xD1342543DE82EF95u + (counter + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double unit(uint64_t seed, uint64_t counter) /* (0, 1) */
{
    return ((double)(bench_random(seed, counter) >> 12) + 0.5) * 0x1p-52;
}

/* Box and Muller, one of the pair. */
static double normal(uint64_t seed, uint64_t counter)
{
    return sqrt(-2.0 * log(unit(seed, 2 * counter))) * cos(6.283185307179586 * unit(seed, 2 * counter + 1));
}

static double special_float(llf_dtype t, uint64_t pick)
{
    double tiny = t == LLF_F64 ? 0x1p-1074 : t == LLF_F32 ? 0x1p-149 : t == LLF_F16 ? 0x1p-24 : 0x1p-133;
    double least = t == LLF_F64 ? DBL_MIN : t == LLF_F16 ? 0x1p-14 : 0x1p-126;
    double most = t == LLF_F64 ? DBL_MAX : t == LLF_F32 ? FLT_MAX : t == LLF_F16 ? 65504.0 : 0x1.FEp127;
    const double value[] = {NAN, INFINITY, 0.0, tiny, 3 * tiny, least, most, 1.0, 0.5, 88.8, 1e5};
    double v = value[pick % LLFI_COUNT(value)];
    return pick / LLFI_COUNT(value) % 2 ? -v : v;
}

static int64_t special_int(llf_dtype t, uint64_t pick)
{
    int64_t most = t == LLF_I64 ? INT64_MAX : INT32_MAX;
    const int64_t value[] = {0, 1, -1, most, -most - 1, most - 1, 2, 46341};
    return value[pick % LLFI_COUNT(value)];
}

static uint64_t draw_float(llf_dtype t, const bench_data *d, uint64_t seed, uint64_t i)
{
    switch (d->dist) {
    case BENCH_ABS_NORMAL: return llfi_bits_from_f64(t, fabs(normal(seed, i)));
    case BENCH_UNIFORM: return llfi_bits_from_f64(t, unit(seed, i));
    case BENCH_SPECIALS:
        return llfi_bits_from_f64(t, i % 4 == 3 ? normal(seed, i) : special_float(t, bench_random(seed, i)));
    case BENCH_ZEROS: return llfi_bits_from_f64(t, 0.0);
    case BENCH_VALUE: return llfi_bits_from_f64(t, d->value);
    default: return llfi_bits_from_f64(t, normal(seed, i));
    }
}

static uint64_t draw_int(llf_dtype t, const bench_data *d, uint64_t seed, uint64_t i)
{
    switch (d->dist) {
    case BENCH_ABS_NORMAL: return llfi_bits_from_i64(t, (int64_t)fabs(100 * normal(seed, i)));
    case BENCH_UNIFORM: return llfi_bits_from_i64(t, (int64_t)(bench_random(seed, i) % 100));
    case BENCH_SPECIALS: return llfi_bits_from_i64(t, special_int(t, bench_random(seed, i)));
    case BENCH_ZEROS: return 0;
    case BENCH_BELOW:
        return llfi_bits_from_i64(t,
                                  d->below > 0 ? (int64_t)(bench_random(seed, i) % (uint64_t)d->below) : 0);
    case BENCH_VALUE: return llfi_bits_from_i64(t, (int64_t)d->value);
    default: return llfi_bits_from_i64(t, (int64_t)(100 * normal(seed, i)));
    }
}

static uint64_t draw_bool(const bench_data *d, uint64_t seed, uint64_t i)
{
    if (d->dist == BENCH_ZEROS)
        return 0;
    return d->dist == BENCH_VALUE ? d->value != 0 : bench_random(seed, i) >> 63;
}

bool bench_tensor_make(bench_tensor *t, llf_dtype dtype, int64_t numel, const bench_data *data, uint64_t seed)
{
    size_t size = llfi_dtypes[dtype].bytes;
    *t = (bench_tensor){.dtype = dtype, .numel = numel};
    t->elements = numel < (int64_t)BENCH_PERIOD ? (size_t)numel : BENCH_PERIOD;
    t->block = llfi_alloc(&llfi_malloc_allocator, t->elements * size + 1);
    if (!t->block)
        return false;
    for (size_t i = 0; i < t->elements; i++) {
        uint64_t bits;
        switch (llfi_dtypes[dtype].kind) {
        case LLFI_KIND_FLOAT: bits = draw_float(dtype, data, seed, i); break;
        case LLFI_KIND_INT: bits = draw_int(dtype, data, seed, i); break;
        default: bits = draw_bool(data, seed, i); break;
        }
        llfi_bits_store(dtype, (char *)t->block + i * size, bits);
    }
    return true;
}

bench_tensor bench_tensor_like(const bench_tensor *like, uint32_t index)
{
    bench_tensor t = *like;
    t.shared = true;
    t.phase = t.elements ? (size_t)index * 7919u % t.elements : 0;
    return t;
}

void bench_tensor_free(bench_tensor *t)
{
    if (!t->shared)
        llfi_free(&llfi_malloc_allocator, t->block, t->elements * llfi_dtypes[t->dtype].bytes + 1);
    t->block = NULL;
}

uint64_t bench_tensor_bits(const bench_tensor *t, int64_t at)
{
    if (!t->elements)
        return 0;
    size_t i = ((size_t)at + t->phase) % t->elements;
    return llfi_bits_load(t->dtype, (const char *)t->block + i * llfi_dtypes[t->dtype].bytes);
}
