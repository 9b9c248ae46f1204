/* stride.c: how a bound tensor lies in memory: whether without gaps, and how far it reaches. Arithmetic on
 * descriptors alone; it must not touch what they point to. */
#include "runtime/program.h"

static bool has_elements(const llf_tensor *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            return false;
    return true;
}

bool llfi_stride_contiguous(const llf_tensor *t)
{
    int64_t want = 1;
    if (!t->strided || !has_elements(t))
        return true;
    for (uint32_t i = t->rank; i-- > 0;) {
        if (t->shape[i] != 1 && t->strides[i] != want)
            return false;
        if (__builtin_mul_overflow(want, t->shape[i], &want))
            return false;
    }
    return true;
}

void llfi_stride_of(const llf_tensor *t, int64_t *stride)
{
    bool row_major = llfi_stride_contiguous(t), empty = !has_elements(t);
    int64_t next = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        bool moves = !empty && t->shape[i] > 1;
        stride[i] = !moves ? 0 : row_major ? next : t->strides[i];
        if (moves && row_major) /* its bytes were found to fit */
            next *= t->shape[i];
    }
}

bool llfi_stride_span(const llf_tensor *t, int64_t *low, int64_t *bytes)
{
    int64_t stride[LLF_MAX_RANK], size = (int64_t)llf_dtype_size(t->dtype), high = 0, far;
    *low = *bytes = 0;
    if (!has_elements(t))
        return true;
    llfi_stride_of(t, stride);
    for (uint32_t i = 0; i < t->rank; i++) {
        /* one step more than is taken: kernels also multiply by extents */
        if (__builtin_mul_overflow(stride[i], size, &far) || __builtin_mul_overflow(far, t->shape[i], &far))
            return false;
        far -= stride[i] * size;
        if (__builtin_add_overflow(far < 0 ? *low : high, far, far < 0 ? low : &high))
            return false;
    }
    return !__builtin_add_overflow(high, size, &high) && !__builtin_sub_overflow(high, *low, bytes);
}

/* An axis of the comb that a tensor is in memory: `count` teeth of `width` bytes, `step` bytes apart. */
typedef struct {
    uint64_t step, width, count;
} comb;

/* The combs, the innermost first; the teeth of one hold the one before it. The innermost teeth are solid. */
static uint32_t combs(const llf_tensor *t, comb *c)
{
    int64_t stride[LLF_MAX_RANK];
    uint64_t width = llf_dtype_size(t->dtype), step[LLF_MAX_RANK], count[LLF_MAX_RANK];
    uint32_t axes = 0, n = 0;
    llfi_stride_of(t, stride);
    for (uint32_t i = 0; i < t->rank; i++) {
        uint64_t one = (uint64_t)(stride[i] < 0 ? -stride[i] : stride[i]) * width;
        uint32_t at = axes;
        if (one == 0)
            continue;
        for (axes++; at > 0 && step[at - 1] > one; at--) {
            step[at] = step[at - 1];
            count[at] = count[at - 1];
        }
        step[at] = one;
        count[at] = (uint64_t)t->shape[i];
    }
    for (uint32_t i = 0; i < axes; i++) {
        if (step[i] < width ||
            (step[i] == width && n == 0)) /* leaves no gap; or runs through those of combs */
            n = 0;
        else
            c[n++] = (comb){step[i], width, count[i]};
        width += (count[i] - 1) * step[i];
    }
    return n;
}

bool llfi_stride_touches(const llf_tensor *t, uintptr_t at, size_t bytes)
{
    comb c[LLF_MAX_RANK];
    int64_t low, span;
    if (bytes == 0 || !has_elements(t) || !llfi_stride_span(t, &low, &span))
        return bytes != 0 && has_elements(t);
    uintptr_t first = (uintptr_t)t->data + (uintptr_t)low;
    if (at < first)
        return first - at < bytes;
    uint64_t from = at - first; /* the first byte, counted from that of the tooth that it may be in */
    if (from >= (uint64_t)span)
        return false;
    for (uint32_t i = combs(t, c); i-- > 0;) {
        uint64_t k = from / c[i].step;
        k = k < c[i].count ? k : c[i].count - 1;
        from -= k * c[i].step;
        if (k + 1 < c[i].count && c[i].step - from < bytes)
            return true; /* reaches the next tooth, which begins with an element */
        if (from >= c[i].width)
            return false;
    }
    return true;
}
