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
