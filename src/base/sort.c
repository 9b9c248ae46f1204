/* sort.c: heap sort of ids and indices, and searches in what rises. Must not allocate: it also runs inside
 * llf_run. */
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

static bool lower(const void *user, uint32_t a, uint32_t b)
{
    (void)user;
    return a < b;
}

void llfi_sort(uint32_t *at, uint32_t count, llfi_before_fn *before, const void *user)
{
    before = before ? before : lower;
    for (uint32_t i = count / 2; i-- > 0;)
        sink(at, i, count, before, user);
    for (uint32_t end = count; end > 1;) {
        uint32_t t = at[0];
        at[0] = at[--end];
        at[end] = t;
        sink(at, 0, end, before, user);
    }
}

static bool below(const void *list, size_t i, int64_t value)
{
    return ((const uint32_t *)list)[i] < value;
}

static bool below64(const void *list, size_t i, int64_t value)
{
    return ((const int64_t *)list)[i] < value;
}

static size_t find(const void *list, size_t count, int64_t value, bool (*less)(const void *, size_t, int64_t))
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (less(list, mid, value))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint32_t llfi_sorted_at(const uint32_t *list, uint32_t count, uint32_t value)
{
    uint32_t at = (uint32_t)find(list, count, value, below);
    return at < count && list[at] == value ? at : count;
}

size_t llfi_sorted_at64(const int64_t *list, size_t count, int64_t value)
{
    size_t at = find(list, count, value, below64);
    return at < count && list[at] == value ? at : count;
}
