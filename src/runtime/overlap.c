/* overlap.c: finds two buffers that may not share memory. Must not allocate: it also runs inside llf_run
 * after a bind. Cost: (inputs + outputs) log outputs, and each output that lies in a gap of an input once
 * more. */
#include "runtime/program.h"

/* Outputs by address, then index. */
static bool before(const void *spans, uint32_t a, uint32_t b)
{
    const llfi_span *s = spans;
    return s[a].at != s[b].at ? s[a].at < s[b].at : a < b;
}

static uint32_t sorted(const llfi_span *s, uint32_t spans, uint32_t *order)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < spans; i++)
        if (s[i].bytes)
            order[n++] = i;
    llfi_sort(order, n, before, s);
    return n;
}

static bool meet(llfi_span a, llfi_span b)
{
    return a.at < b.at ? b.at - a.at < a.bytes : a.at - b.at < b.bytes;
}

bool llfi_overlap_find(const llfi_span *input, uint32_t inputs, const llfi_span *output, uint32_t outputs,
                       uint32_t *order, llfi_overlap_fn *may, const void *user, uint32_t *a, bool *a_is_input,
                       uint32_t *b)
{
    uint32_t n = sorted(output, outputs, order);
    *a_is_input = false;
    for (uint32_t i = 1; i < n; i++)
        if (meet(output[order[i - 1]], output[order[i]])) {
            *a = order[i - 1] < order[i] ? order[i - 1] : order[i];
            *b = order[i - 1] < order[i] ? order[i] : order[i - 1];
            return true;
        }
    /* Outputs are disjoint now, so those that an input meets stand side by side. */
    for (uint32_t i = 0; i < inputs; i++) {
        if (!input[i].bytes)
            continue;
        uint32_t low = 0, high = n; /* first output that ends after the input starts */
        while (low < high) {
            uint32_t mid = low + (high - low) / 2;
            llfi_span o = output[order[mid]];
            if (o.at < input[i].at && input[i].at - o.at >= o.bytes)
                low = mid + 1;
            else
                high = mid;
        }
        for (; low < n && meet(input[i], output[order[low]]); low++) {
            llfi_span o = output[order[low]];
            if (may(user, i, order[low], o.at == input[i].at && o.bytes == input[i].bytes))
                continue;
            *a = i;
            *a_is_input = true;
            *b = order[low];
            return true;
        }
    }
    return false;
}
