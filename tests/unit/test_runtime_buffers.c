/* test_runtime_buffers.c: places of temporaries and forbidden overlaps, against the obvious quadratic
 * answers. */
#include "runtime_util.h"

static uint64_t seed = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % below;
}

/* ---- places */

static bool alive_together(llfi_program_temp a, llfi_program_temp b)
{
    return a.first <= b.last && b.first <= a.last;
}

static void random_lifetimes_never_share(void **state)
{
    (void)state;
    enum { N = 300 };
    for (int round = 0; round < 50; round++) {
        llfi_program_temp t[N];
        size_t bytes[N], offset[N], total, sum = 0;
        uint32_t kernel = 0;
        for (uint32_t i = 0; i < N; i++) {
            kernel += draw(2);
            t[i] = (llfi_program_temp){i, kernel, kernel + draw(round % 2 ? 3 : 60)};
            bytes[i] = draw(8) == 0 ? 0 : draw(round % 3 ? 5000 : 300);
            sum += (bytes[i] + 255) / 256 * 256;
        }
        assert_int_equal(llfi_buffers_place(NULL, &llfi_malloc_allocator, t, N, bytes, offset, &total),
                         LLF_OK);
        assert_true(total <= sum);
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(offset[i] % 256, 0);
            assert_true(offset[i] + bytes[i] <= total);
            for (uint32_t k = 0; k < i; k++)
                if (bytes[i] && bytes[k] && alive_together(t[i], t[k]))
                    assert_true(offset[i] + bytes[i] <= offset[k] || offset[k] + bytes[k] <= offset[i]);
        }
    }
}

static void a_chain_needs_two(void **state)
{
    (void)state;
    enum { N = 10000 };
    static llfi_program_temp t[N];
    static size_t bytes[N], offset[N];
    size_t total;
    for (uint32_t i = 0; i < N; i++) { /* written by i, read by i + 1 */
        t[i] = (llfi_program_temp){i, i, i + 1};
        bytes[i] = 4096;
    }
    assert_int_equal(llfi_buffers_place(NULL, &llfi_malloc_allocator, t, N, bytes, offset, &total), LLF_OK);
    assert_int_equal(total, 2 * 4096);
}

static void freed_neighbours_merge(void **state)
{
    (void)state;
    /* two small ones die before a large one is written: it takes their place */
    llfi_program_temp t[] = {{0, 0, 1}, {1, 0, 1}, {2, 2, 3}};
    size_t bytes[] = {1024, 1024, 2048}, offset[3], total;
    assert_int_equal(llfi_buffers_place(NULL, &llfi_malloc_allocator, t, 3, bytes, offset, &total), LLF_OK);
    assert_int_equal(total, 2048);
}

static void too_large_a_sum_is_refused(void **state)
{
    (void)state;
    llfi_program_temp t[] = {{0, 0, 2}, {1, 1, 2}, {2, 1, 2}};
    size_t bytes[] = {SIZE_MAX / 3, SIZE_MAX / 3, SIZE_MAX / 3}, offset[3], total;
    llfi_diag d = {0};
    assert_int_equal(llfi_buffers_place(&d, &llfi_malloc_allocator, t, 3, bytes, offset, &total),
                     LLF_E_LIMIT);
}

/* ---- overlap */

static bool odd_pairs(const void *user, uint32_t input, uint32_t output, bool whole)
{
    (void)user;
    return whole && (input + output) % 2 == 1;
}

static bool forbidden(const llfi_span *in, uint32_t i, const llfi_span *out, uint32_t o)
{
    if (!in[i].bytes || !out[o].bytes)
        return false;
    bool meet = in[i].at < out[o].at + out[o].bytes && out[o].at < in[i].at + in[i].bytes;
    bool same = in[i].at == out[o].at && in[i].bytes == out[o].bytes;
    return meet && !(odd_pairs(NULL, i, o, same));
}

static void overlaps_as_the_obvious_search(void **state)
{
    (void)state;
    int found = 0;
    for (int round = 0; round < 20000; round++) {
        enum { I = 5, O = 4 };
        llfi_span in[I], out[O];
        uint32_t order[O], a, b;
        bool a_is_input;
        for (int i = 0; i < I; i++)
            in[i] = (llfi_span){1000 + 8 * draw(40), 8 * draw(4)};
        for (int o = 0; o < O; o++)
            out[o] = (llfi_span){1000 + 8 * draw(40), 8 * draw(4)};
        if (draw(2))
            out[0] = in[draw(I)];
        bool want = false;
        for (uint32_t o = 0; o < O; o++) {
            for (uint32_t i = 0; i < I; i++)
                want |= forbidden(in, i, out, o);
            for (uint32_t k = 0; k < o; k++)
                want |= out[o].bytes && out[k].bytes && out[o].at < out[k].at + out[k].bytes &&
                        out[k].at < out[o].at + out[o].bytes;
        }
        bool got = llfi_overlap_find(in, I, out, O, order, odd_pairs, NULL, &a, &a_is_input, &b);
        assert_int_equal(got, want);
        found += got;
        if (got && a_is_input)
            assert_true(forbidden(in, a, out, b));
        if (got && !a_is_input)
            assert_true(out[a].at < out[b].at + out[b].bytes && out[b].at < out[a].at + out[a].bytes &&
                        a != b);
    }
    assert_in_range(found, 1000, 19900); /* both answers were seen often */
}

static void touching_is_not_overlapping(void **state)
{
    (void)state;
    llfi_span in[] = {{1000, 8}}, out[] = {{1008, 8}, {992, 8}};
    uint32_t order[2], a, b;
    bool a_is_input;
    assert_false(llfi_overlap_find(in, 1, out, 2, order, odd_pairs, NULL, &a, &a_is_input, &b));
    out[1].bytes = 9;
    assert_true(llfi_overlap_find(in, 1, out, 2, order, odd_pairs, NULL, &a, &a_is_input, &b));
    assert_true(a_is_input && a == 0 && b == 1);
}

/* Every byte of every element, marked. */
static void mark(const llf_tensor *t, bool *byte)
{
    int64_t at[3] = {0};
    for (bool more = true; more;) {
        const char *p = t->data;
        for (uint32_t i = 0; i < t->rank; i++)
            p += at[i] * t->strides[i] * (int64_t)llf_dtype_size(t->dtype);
        for (size_t k = 0; k < llf_dtype_size(t->dtype); k++)
            byte[(uintptr_t)p + k] = true;
        more = false;
        for (uint32_t i = 0; i < t->rank && !more; i++) {
            more = ++at[i] < t->shape[i];
            at[i] = more ? at[i] : 0;
        }
    }
}

/* Each stride is at least what all smaller ones span. */
static bool nests(const llf_tensor *t)
{
    int64_t total = 1;
    bool used[3] = {false};
    for (uint32_t round = 0; round < t->rank; round++) {
        uint32_t least = UINT32_MAX;
        for (uint32_t i = 0; i < t->rank; i++)
            if (!used[i] && (least == UINT32_MAX || llabs(t->strides[i]) < llabs(t->strides[least])))
                least = i;
        used[least] = true;
        if (t->shape[least] == 1 || t->strides[least] == 0)
            continue;
        if (llabs(t->strides[least]) < total)
            return false;
        total += (t->shape[least] - 1) * llabs(t->strides[least]);
    }
    return true;
}

/* A tensor around address 4000 against every place of an interval. */
static void gaps_are_seen(void **state)
{
    (void)state;
    enum { MEMORY = 8192, MIDDLE = 4000 };
    static bool byte[MEMORY];
    int nested = 0, refused = 0, gaps = 0;
    for (int round = 0; round < 400; round++) {
        llf_tensor t = {.data = (void *)(uintptr_t)MIDDLE,
                        .dtype = draw(2) ? LLF_F32 : LLF_F16,
                        .rank = 1 + draw(3),
                        .strided = true};
        int64_t low, span, reach = 1;
        for (uint32_t i = 0; i < t.rank; i++) {
            t.shape[i] = 1 + draw(4);
            t.strides[i] =
                draw(3) ? reach + draw(4) : draw(12); /* mostly they nest, in this or another order */
            reach = reach > t.strides[i] * t.shape[i] ? reach : t.strides[i] * t.shape[i];
            t.strides[i] = draw(4) ? t.strides[i] : -t.strides[i];
        }
        memset(byte, 0, sizeof byte);
        mark(&t, byte);
        assert_true(llfi_stride_span(&t, &low, &span));
        bool exact = nests(&t);
        nested += exact;
        size_t bytes = 2 * draw(8);
        for (uintptr_t at = (uintptr_t)(MIDDLE + low) - 18; at < (uintptr_t)(MIDDLE + low + span) + 2;
             at += 2) {
            bool truth = false;
            for (size_t k = 0; k < bytes; k++)
                truth |= byte[at + k];
            bool got = llfi_stride_touches(&t, at, bytes);
            if (exact ? got != truth : truth && !got)
                fail_msg("round %d: %zu bytes at %zu: %d, in truth %d", round, bytes, (size_t)at, got, truth);
            refused += got;
            gaps += !got && at >= (uintptr_t)(MIDDLE + low) && at + bytes <= (uintptr_t)(MIDDLE + low + span);
        }
    }
    assert_in_range(nested, 100, 390); /* all of it was seen often */
    assert_true(refused > 1000 && gaps > 500);
    llf_tensor far = {
        .data = (void *)(uintptr_t)64, .dtype = LLF_F32, .rank = 1, .strided = true, .shape = {2}};
    far.strides[0] = INT64_C(1) << 58;
    assert_false(llfi_stride_touches(&far, 68, ((size_t)1 << 60) - 4));
    assert_true(llfi_stride_touches(&far, 68, ((size_t)1 << 60) - 3));
    assert_true(llfi_stride_touches(&far, 67, 1));
    assert_false(llfi_stride_touches(&far, 60, 4));
    assert_true(llfi_stride_touches(&far, 60, 5));
    assert_false(llfi_stride_touches(&far, 64, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lifetimes_never_share),
        cmocka_unit_test(a_chain_needs_two),
        cmocka_unit_test(freed_neighbours_merge),
        cmocka_unit_test(too_large_a_sum_is_refused),
        cmocka_unit_test(overlaps_as_the_obvious_search),
        cmocka_unit_test(touching_is_not_overlapping),
        cmocka_unit_test(gaps_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
