/* Memory of the base room: allocation hooks, arenas, arrays, strings, hashes, maps. */
#include "ir_testing.h"

static const llf_allocator *mem(void **state)
{
    return &((llf_context *)*state)->mem;
}

static void empty_blocks_have_addresses(void **state)
{
    void *a = llfi_alloc(mem(state), 0), *b = llfi_alloc_zero(mem(state), 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    b = llfi_resize(mem(state), b, 0, 0);
    assert_non_null(b);
    llfi_free(mem(state), a, 0);
    llfi_free(mem(state), b, 0);
    llfi_free(mem(state), NULL, 12);
}

static void malloc_hook_behaves_as_realloc(void **state)
{
    (void)state;
    char *p = llfi_alloc(&llfi_malloc_allocator, 4);
    memcpy(p, "abc", 4);
    p = llfi_resize(&llfi_malloc_allocator, p, 4, 4000);
    assert_string_equal(p, "abc");
    llfi_free(&llfi_malloc_allocator, p, 4000);
}

static void arena_is_aligned_zeroed_and_reset(void **state)
{
    llfi_arena a;
    llfi_arena_init(&a, mem(state));
    for (size_t round = 0; round < 3; round++) {
        for (size_t size = 0; size < 3000; size += 7) {
            unsigned char *p = llfi_arena_alloc(&a, size);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xee, size);
        }
        llfi_arena_reset(&a);
    }
    assert_null(llfi_arena_alloc(&a, SIZE_MAX));
    assert_null(llfi_arena_alloc(&a, SIZE_MAX - 40));
    assert_null(llfi_arena_copy(&a, "", SIZE_MAX));
    assert_string_equal(llfi_arena_copy(&a, "abcdef", 3), "abc");
    llfi_arena_destroy(&a);
}

static void vec_grows_and_refuses_overflow(void **state)
{
    LLFI_VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(llfi_vec_reserve(mem(state), &v, 1));
        v.at[v.count++] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(v.at[i], i);
    assert_false(llfi_vec_reserve(mem(state), &v, SIZE_MAX));
    assert_false(llfi_vec_reserve(mem(state), &v, SIZE_MAX / 4));
    assert_int_equal(v.count, 1000);
    llfi_vec_free(mem(state), &v);
    assert_null(v.at);
}

static void strings_format_and_escape(void **state)
{
    llfi_str s;
    llfi_str_init(&s, mem(state));
    llfi_str_printf(&s, "%d-%s", 12, "x");
    assert_string_equal(s.at, "12-x");
    char wide[400];
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    llfi_str_printf(&s, "%s", wide);
    assert_int_equal(s.len, 4 + 399);
    assert_string_equal(s.at + 4, wide);
    llfi_str_clear(&s);
    llfi_str_json(&s, "a\"b\\c\n\x01\t");
    assert_string_equal(s.at, "\"a\\\"b\\\\c\\n\\u0001\\t\"");
    llfi_str_free(&s);
}

static void a_failed_string_stays_failed(void **state)
{
    test_heap *h = mem(state)->user;
    llfi_str s;
    llfi_str_init(&s, mem(state));
    h->fail_at = h->requests + 1;
    llfi_str_puts(&s, "lost");
    assert_true(s.failed);
    llfi_str_puts(&s, "too");
    assert_true(s.failed);
    assert_int_equal(s.len, 0);
    llfi_str_free(&s);
}

/* The values name kernels in files: they may never change. Computed once by a Python transcription of the
 * algorithm. */
static void a_taken_string_has_its_exact_size(void **state)
{
    llfi_str s;
    char *text;
    size_t bytes;
    llfi_str_init(&s, mem(state));
    for (int round = 0; round < 2; round++) { /* the buffer can be used again, and an empty one be taken */
        if (round == 0)
            llfi_str_puts(&s, "four");
        assert_true(llfi_str_take(&s, &text, &bytes));
        assert_string_equal(text, round ? "" : "four");
        assert_int_equal(bytes, strlen(text));
        llfi_free(mem(state), text, bytes + 1); /* the heap of the test checks the size */
        assert_true(!s.at && !s.len && !s.failed);
    }
    s.failed = true;
    assert_false(llfi_str_take(&s, &text, &bytes));
}

static bool descending(const void *user, uint32_t a, uint32_t b)
{
    const uint32_t *value = user;
    return value[a] != value[b] ? value[a] > value[b] : a < b;
}

static void sort_orders_any_number(void **state)
{
    (void)state;
    uint32_t value[50], at[50];
    for (uint32_t n = 0; n <= 50; n++) {
        for (uint32_t i = 0; i < n; i++) {
            value[i] = i * 37 % 11; /* each several times */
            at[i] = i;
        }
        llfi_sort(at, n, descending, value);
        for (uint32_t i = 1; i < n; i++)
            assert_true(descending(value, at[i - 1], at[i]));
    }
}

static void numbers_rise_and_are_found(void **state)
{
    (void)state;
    uint32_t at[50];
    int64_t wide[50];
    for (uint32_t n = 0; n <= 50; n++) {
        for (uint32_t i = 0; i < n; i++)
            at[i] = 3 * (i * 53 % n) + 1; /* each once: 53 shares no factor with n */
        llfi_sort(at, n, NULL, NULL);
        for (uint32_t i = 0; i < n; i++)
            wide[i] = (int64_t)at[i] * INT64_C(-1000000000000); /* falling */
        for (uint32_t i = 0; i < n / 2; i++) {
            int64_t t = wide[i];
            wide[i] = wide[n - 1 - i];
            wide[n - 1 - i] = t;
        }
        for (uint32_t v = 0; v <= 3 * n + 1; v++) {
            uint32_t place = 0;
            while (place < n && at[place] != v)
                place++;
            assert_int_equal(llfi_sorted_at(at, n, v), place);
            assert_int_equal(llfi_sorted_at64(wide, n, (int64_t)v * INT64_C(-1000000000000)),
                             place < n ? n - 1 - place : n);
        }
    }
    const uint32_t twice[] = {4, 4, UINT32_MAX, UINT32_MAX};
    assert_int_equal(llfi_sorted_at(twice, 4, 4), 0);
    assert_int_equal(llfi_sorted_at(twice, 4, UINT32_MAX), 2);
}

static void lists_leave_out_what_does_not_fit(void **state)
{
    (void)state;
    char list[12] = "";
    llfi_diag_list(list, sizeof list, "one");
    llfi_diag_list(list, sizeof list, "seventeen");
    llfi_diag_list(list, sizeof list, "twelve"); /* 3 + 2 + 6 and the NUL: just */
    llfi_diag_list(list, sizeof list, "");
    assert_string_equal(list, "one, twelve");
}

static void hashes_are_the_same_everywhere(void **state)
{
    (void)state;
    assert_true(llfi_hash_u64(0, 0) == UINT64_C(0x48218226ff3cd4bf));
    assert_true(llfi_hash_u64(1, 2) == UINT64_C(0x081a5c1377856b73));
    assert_true(llfi_hash(0, "", 0) == UINT64_C(0x48218226ff3cd4bf));
    assert_true(llfi_hash(0, "abc", 3) == UINT64_C(0x4ce22cad4e806392));
    assert_true(llfi_hash(7, "0123456789abcdef!", 17) == UINT64_C(0x7b9e8bfe7f1aeacd));
}

static void map_finds_all_candidates(void **state)
{
    llfi_map m = {0};
    size_t cursor = 0;
    assert_int_equal(llfi_map_next(&m, 5, &cursor), UINT32_MAX);
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(llfi_map_add(mem(state), &m, i % 100 * 1024, i)); /* long runs and equal hashes */
    for (uint32_t h = 0; h < 100; h++) {
        uint32_t seen = 0;
        cursor = 0;
        for (uint32_t v; (v = llfi_map_next(&m, (uint64_t)h * 1024, &cursor)) != UINT32_MAX; seen++)
            assert_int_equal(v % 100, h);
        assert_int_equal(seen, 10);
    }
    cursor = 0;
    assert_int_equal(llfi_map_next(&m, 77, &cursor), UINT32_MAX);
    llfi_map_free(mem(state), &m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(empty_blocks_have_addresses),       TEST(malloc_hook_behaves_as_realloc),
        TEST(arena_is_aligned_zeroed_and_reset), TEST(vec_grows_and_refuses_overflow),
        TEST(strings_format_and_escape),         TEST(a_failed_string_stays_failed),
        TEST(a_taken_string_has_its_exact_size), TEST(sort_orders_any_number),
        TEST(numbers_rise_and_are_found),        TEST(lists_leave_out_what_does_not_fit),
        TEST(hashes_are_the_same_everywhere),    TEST(map_finds_all_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
