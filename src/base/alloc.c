/* alloc.c: the one place where host memory is asked for, through the hooks of llf_allocator.
 * Must not set diagnostics, and must never hand size 0 to a hook except to free. */
#include "base/base.h"

#include <stdlib.h>

static void *malloc_resize(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

const llf_allocator llfi_malloc_allocator = {malloc_resize, NULL};

/* An empty block still needs an address of its own, so it is one byte long on both ways. */
static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

void *llfi_alloc(const llf_allocator *mem, size_t size)
{
    return mem->resize(mem->user, NULL, 0, at_least_one(size));
}

void *llfi_alloc_zero(const llf_allocator *mem, size_t size)
{
    void *p = llfi_alloc(mem, size);
    if (p)
        memset(p, 0, at_least_one(size));
    return p;
}

void *llfi_resize(const llf_allocator *mem, void *p, size_t old, size_t size)
{
    return mem->resize(mem->user, p, p ? at_least_one(old) : 0, at_least_one(size));
}

void llfi_free(const llf_allocator *mem, void *p, size_t size)
{
    if (p)
        mem->resize(mem->user, p, at_least_one(size), 0);
}
