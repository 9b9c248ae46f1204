/* sort.c: heap sort of ids and indices. Must not allocate: it also runs inside llf_run. */
#include "base/base.h"

static void sink(uint32_t *heap, uint32_t root, uint32_t count, llfi_before_fn *before, const void *user)
{
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && before(user, heap[child], heap[child + 1]))
            child++;
        if (!before(user, heap[root], heap[child]))
            return;
        uint32_t t = heap[root];
        heap[root] = heap[child];
        heap[child] = t;
    }
}

void llfi_sort(uint32_t *at, uint32_t count, llfi_before_fn *before, const void *user)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sink(at, i, count, before, user);
    for (uint32_t end = count; end > 1;) {
        uint32_t t = at[0];
        at[0] = at[--end];
        at[end] = t;
        sink(at, 0, end, before, user);
    }
}
