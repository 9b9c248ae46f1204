/* test_runtime_pool.c: every item once, whatever the threads; pieces at multiples of the grain; several
 * callers. */
#include "runtime_util.h"

#include "runtime/fpmode.h"
#include "runtime/pool.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    atomic_uchar *hit;
    int64_t grain, items;
    atomic_bool uneven;
    atomic_llong pieces;
} seen;

static void touch(void *user, int64_t from, int64_t to)
{
    seen *s = user;
    if (from % s->grain || (to % s->grain && to != s->items))
        atomic_store(&s->uneven, true);
    for (int64_t i = from; i < to; i++)
        atomic_fetch_add_explicit(&s->hit[i], 1, memory_order_relaxed);
    atomic_fetch_add(&s->pieces, 1);
}

static void check_once(llfi_pool *p, int64_t items, int64_t grain)
{
    seen s = {.hit = calloc((size_t)items + 1, 1), .grain = grain, .items = items};
    assert_non_null(s.hit);
    llfi_pool_run(p, items, grain, touch, &s);
    assert_false(atomic_load(&s.uneven));
    for (int64_t i = 0; i < items; i++)
        assert_int_equal(s.hit[i], 1);
    if (items == 0)
        assert_int_equal(atomic_load(&s.pieces), 0);
    free(s.hit);
}

static void every_item_once(void **state)
{
    (void)state;
    static const int64_t items[] = {0, 1, 63, 64, 65, 1000, 65536, 100003};
    static const int64_t grains[] = {1, 16, 64, 4096};
    for (int threads = 1; threads <= 5; threads += 2) {
        llfi_pool *p = llfi_pool_create(&llfi_malloc_allocator, threads);
        assert_non_null(p);
        assert_int_equal(llfi_pool_threads(p), threads);
        llfi_pool_start(p);
        for (size_t i = 0; i < LLFI_COUNT(items); i++)
            for (size_t k = 0; k < LLFI_COUNT(grains); k++)
                check_once(p, items[i], grains[k]);
        llfi_pool_destroy(p);
    }
}

static void unstarted_and_small_run_on_the_caller(void **state)
{
    (void)state;
    llfi_pool *p = llfi_pool_create(&llfi_malloc_allocator, 4);
    check_once(p, 1000, 10);
    seen s = {.hit = calloc(1000, 1), .grain = 1000, .items = 1000};
    llfi_pool_start(p);
    llfi_pool_run(p, 1000, 1000, touch, &s);
    assert_int_equal(atomic_load(&s.pieces), 1);
    free(s.hit);
    llfi_pool_destroy(p);
}

static void remember_thread(void *user, int64_t from, int64_t to)
{
    (void)to;
    ((pthread_t *)user)[from] = pthread_self();
    struct timespec nap = {0, 2000000};
    nanosleep(&nap, NULL);
}

static void others_take_part(void **state)
{
    (void)state;
    llfi_pool *p = llfi_pool_create(&llfi_malloc_allocator, 3);
    llfi_pool_start(p);
    pthread_t by[60];
    llfi_pool_run(p, 60, 1, remember_thread, by);
    int foreign = 0;
    for (int i = 0; i < 60; i++)
        foreign += !pthread_equal(by[i], pthread_self());
    assert_true(foreign > 0);
    assert_true(foreign < 60); /* and the caller does too */
    llfi_pool_destroy(p);
}

static void remember_mode(void *user, int64_t from, int64_t to)
{
    (void)to;
    uint64_t mode = llfi_fpmode_enter();
    llfi_fpmode_leave(mode);
    ((uint64_t *)user)[from] = mode;
    struct timespec nap = {0, 2000000};
    nanosleep(&nap, NULL);
}

/* Threads inherit the mode of whoever starts the pool; only the caller itself may still have it. */
static void pool_threads_round_to_nearest(void **state)
{
    (void)state;
#if defined(__x86_64__)
    llfi_pool *p = llfi_pool_create(&llfi_malloc_allocator, 3);
    uint64_t modes[60];
    unsigned before = _mm_getcsr(), odd = 0x1F80u | 0x8040u | 0x6000u;
    _mm_setcsr(odd);
    llfi_pool_start(p);
    llfi_pool_run(p, 60, 1, remember_mode, modes);
    _mm_setcsr(before);
    int ieee = 0;
    for (int i = 0; i < 60; i++)
        ieee += (modes[i] & 0xFFC0u) == LLFI_FPMODE_IEEE;
    assert_in_range(ieee, 1, 59);
    llfi_pool_destroy(p);
#else
    skip();
#endif
}

typedef struct {
    llfi_pool *p;
    pthread_t thread;
    bool ok;
} caller;

static void add_one(void *user, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        ((int *)user)[i]++;
}

static void *call_often(void *user)
{
    caller *c = user;
    int *data = calloc(5000, sizeof *data);
    c->ok = data != NULL;
    for (int round = 0; c->ok && round < 200; round++)
        llfi_pool_run(c->p, 5000, 16, add_one, data);
    for (int i = 0; c->ok && i < 5000; i++)
        c->ok = data[i] == 200;
    free(data);
    return NULL;
}

static void several_callers(void **state)
{
    (void)state;
    llfi_pool *p = llfi_pool_create(&llfi_malloc_allocator, 3);
    caller c[4];
    llfi_pool_start(p);
    for (int i = 0; i < 4; i++) {
        c[i] = (caller){.p = p};
        assert_int_equal(pthread_create(&c[i].thread, NULL, call_often, &c[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(c[i].thread, NULL);
        assert_true(c[i].ok);
    }
    llfi_pool_destroy(p);
}

/* The child has a copy of the pool, perhaps locked, and none of its threads. */
static void a_forked_child_works_alone(void **state)
{
    (void)state;
    llfi_pool *p = llfi_pool_create(&llfi_malloc_allocator, 3);
    llfi_pool_start(p);
    check_once(p, 1000, 10);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        seen s = {.hit = calloc(1001, 1), .grain = 10, .items = 1000};
        alarm(20); /* hanging is the failure */
        llfi_pool_run(p, 1000, 10, touch, &s);
        llfi_pool_start(p);
        llfi_pool_destroy(p);
        _exit(s.pieces == 1 && s.hit[0] == 1 && s.hit[999] == 1 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    check_once(p, 1000, 10);
    llfi_pool_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_once),  cmocka_unit_test(unstarted_and_small_run_on_the_caller),
        cmocka_unit_test(others_take_part), cmocka_unit_test(pool_threads_round_to_nearest),
        cmocka_unit_test(several_callers),  cmocka_unit_test(a_forked_child_works_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
