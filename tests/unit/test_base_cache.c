/* test_base_cache.c: what is kept under a key comes back, in full and for that key alone; the limit holds;
 * what is used stays; any allocation may fail; threads. */
#include "runtime_util.h"

static llf_allocator hooks(test_memory *m)
{
    return (llf_allocator){test_resize, m};
}

/* Value i is `bytes` bytes that say i. */
static void put(llfi_cache *c, uint32_t i, size_t bytes)
{
    char value[4096];
    memset(value, (int)(i % 251), bytes);
    llfi_cache_put(c, (const char *)&i, sizeof i, value, bytes);
}

static bool has(llfi_cache *c, const llf_allocator *mem, uint32_t i, size_t bytes)
{
    char *value = NULL;
    size_t got = 0;
    if (!llfi_cache_get(c, mem, (const char *)&i, sizeof i, &value, &got)) {
        assert_null(value);
        return false;
    }
    assert_int_equal(got, bytes);
    for (size_t k = 0; k < got; k++)
        assert_int_equal((unsigned char)value[k], i % 251);
    assert_int_equal(value[got], 0);
    llfi_free(mem, value, got + 1);
    return true;
}

static void what_is_kept_comes_back(void **state)
{
    (void)state;
    test_memory m = {0};
    llf_allocator mem = hooks(&m);
    llfi_cache *c = llfi_cache_create(&mem, 1 << 20);
    for (uint32_t i = 0; i < 100; i++)
        assert_false(has(c, &mem, i, i));
    for (uint32_t i = 0; i < 100; i++)
        put(c, i, i); /* the first is empty */
    for (uint32_t i = 0; i < 100; i++)
        assert_true(has(c, &mem, i, i));
    char *value;
    size_t bytes;
    assert_false(llfi_cache_get(c, &mem, "\1\0\0", 3, &value, &bytes)); /* a key's beginning is none */
    assert_false(llfi_cache_get(c, &mem, "\1\0\0\0", 5, &value, &bytes));
    put(c, 7, 9); /* the first stays: equal keys have equal values */
    assert_true(has(c, &mem, 7, 7));
    llfi_cache_retain(c);
    llfi_cache_release(c);
    assert_true(has(c, &mem, 7, 7));
    llfi_cache_release(c);
    llfi_cache_release(NULL);
    assert_int_equal(atomic_load(&m.live), 0);
    assert_false(atomic_load(&m.misused));
}

static void the_limit_holds_and_what_is_used_stays(void **state)
{
    (void)state;
    enum { LIMIT = 64 << 10, BYTES = 1000 };
    test_memory m = {0};
    llf_allocator mem = hooks(&m);
    llfi_cache *c = llfi_cache_create(&mem, LIMIT);
    long long most = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        put(c, i, BYTES);
        assert_true(has(c, &mem, 0, BYTES)); /* asked for again and again */
        assert_true(has(c, &mem, i, BYTES));
        long long live = atomic_load(&m.live);
        most = live > most ? live : most;
    }
    assert_true(most > LIMIT / 2 && most < LIMIT + 8192); /* tables beside */
    assert_false(has(c, &mem, 1, BYTES));
    assert_true(has(c, &mem, 980, BYTES));
    put(c, 5000, 4000);
    assert_true(has(c, &mem, 5000, 4000));
    llfi_cache_release(c);
    c = llfi_cache_create(&mem,
                          2000); /* too large for half of the limit: not kept, and nothing is lost for it */
    put(c, 1, 100);
    for (uint32_t i = 2; i < 5; i++)
        put(c, i, 1000);
    assert_true(has(c, &mem, 1, 100));
    assert_false(has(c, &mem, 2, 1000));
    llfi_cache_put(c, "k", SIZE_MAX, "", SIZE_MAX);
    llfi_cache_release(c);
    assert_int_equal(atomic_load(&m.live), 0);
    assert_false(atomic_load(&m.misused));
}

/* Without memory less is kept; what is found is right. */
static void any_allocation_may_fail(void **state)
{
    (void)state;
    test_memory m = {0};
    llf_allocator mem = hooks(&m);
    for (long long tries = 0;; tries++) {
        atomic_store(&m.failed, false);
        atomic_store(&m.fail_at, atomic_load(&m.calls) + tries + 1);
        llfi_cache *c = llfi_cache_create(&mem, 8000);
        uint32_t found = 0;
        for (uint32_t i = 0; c && i < 60; i++) {
            put(c, i, 100 + i);
            found += has(c, &mem, i, 100 + i);
            found += has(c, &mem, i / 2, 100 + i / 2);
        }
        assert_true(atomic_load(&m.failed) ? !c || found < 120 : found > 60);
        llfi_cache_release(c);
        assert_int_equal(atomic_load(&m.live), 0);
        if (!atomic_load(&m.failed)) {
            assert_true(tries > 100);
            break;
        }
    }
    atomic_store(&m.fail_at, 0);
    assert_false(atomic_load(&m.misused));
}

static void *use(void *user)
{
    llfi_cache *c = user;
    for (uint32_t i = 0; i < 3000; i++) {
        put(c, i % 97, 50 + i % 97);
        (void)has(c, &llfi_malloc_allocator, i * 31 % 97, 50 + i * 31 % 97);
    }
    llfi_cache_release(c);
    return NULL;
}

static void threads_share_it(void **state)
{
    (void)state;
    llfi_cache *c = llfi_cache_create(&llfi_malloc_allocator, 6000); /* room for about a third */
    pthread_t thread[3];
    for (size_t i = 0; i < LLFI_COUNT(thread); i++) {
        llfi_cache_retain(c);
        assert_int_equal(pthread_create(&thread[i], NULL, use, c), 0);
    }
    llfi_cache_release(c);
    for (size_t i = 0; i < LLFI_COUNT(thread); i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_comes_back),
        cmocka_unit_test(the_limit_holds_and_what_is_used_stays),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(threads_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
