/* vec.c: growth of LLFI_VEC arrays by doubling. Must not shrink or move elements it was not asked to. */
#include "base/base.h"

bool llfi_vec_grow(const llf_allocator *mem, void **at, size_t *cap, size_t want, size_t elem)
{
    /* Only called when `want` does not fit: a smaller one means that count + extra wrapped around. */
    if (want <= *cap || want > SIZE_MAX / 2 / elem)
        return false;
    size_t size = *cap ? *cap * 2 : 8;
    if (size < want)
        size = want;
    /* `at` is really a T **: copied bytewise, since void * and T * may not alias. */
    void *old;
    memcpy(&old, at, sizeof old);
    void *p = llfi_resize(mem, old, *cap * elem, size * elem);
    if (!p)
        return false;
    memcpy(at, &p, sizeof p);
    *cap = size;
    return true;
}
