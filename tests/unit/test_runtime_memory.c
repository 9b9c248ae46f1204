/* test_runtime_memory.c: each host allocation of the road fails once; many lives of a program leave nothing
 * behind. LLVM's own memory is not ours to fail. */
#include "runtime_util.h"

#include <unistd.h>

static const llf_options unfused = {
    .size = sizeof unfused, .target = "host", .heuristic = "none", .compile_threads = 1};

typedef struct {
    llf_program *p;
    llf_loaded *l;
    llf_execution *e;
} lives;

static llf_status road(llf_context *cx, const llf_graph *g, lives *v, float *data, int64_t n)
{
    LLF_TRY(llf_compile(cx, g, &unfused, &v->p));
    char *text;
    size_t bytes;
    LLF_TRY(llf_plan_export(cx, v->p, &text, &bytes));
    llf_text_free(cx, text, bytes);
    LLF_TRY(llf_program_load(cx, v->p, 2, &v->l));
    LLF_TRY(llf_execution_create(cx, v->l, &v->e));
    for (uint32_t i = 0; i < 3; i++) {
        llf_tensor t = test_vector(LLF_F32, data + i * n, n);
        LLF_TRY(llf_bind(v->e, i, &t));
    }
    LLF_TRY(llf_prepare(v->e));
    return llf_run(v->e, NULL);
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    enum { N = 3000 };
    static float data[3 * N];
    test_memory m = {0};
    llf_allocator hooks = {test_resize, &m};
    llf_context_options co = {.size = sizeof co, .allocator = &hooks};
    llf_context *cx = llf_context_create(&co);
    llf_graph *g = test_add_relu(cx);
    long long before = atomic_load(&m.live), tries = 0;
    for (bool done = false; !done; tries++) {
        lives v = {0};
        atomic_store(&m.failed, false);
        atomic_store(&m.fail_at, atomic_load(&m.calls) + tries + 1);
        llf_status status = road(cx, g, &v, data, N);
        done = !atomic_load(&m.failed);
        atomic_store(&m.fail_at, 0);
        if (done ? status != LLF_OK : status != LLF_E_NOMEM)
            fail_msg("allocation %lld: %s: %s", tries, llf_status_name(status),
                     v.e ? llf_execution_error(v.e)->message : llf_last_error(cx)->message);
        llf_execution_destroy(v.e);
        llf_loaded_destroy(v.l);
        llf_program_destroy(v.p);
        if (atomic_load(&m.live) != before)
            fail_msg("allocation %lld leaves %lld bytes", tries, (long long)atomic_load(&m.live) - before);
    }
    assert_true(tries > 50);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    assert_int_equal(atomic_load(&m.live), 0);
    assert_false(atomic_load(&m.misused));
}

static void run_allocates_nothing(void **state)
{
    (void)state;
    enum { N = 3000 };
    static float data[4 * N];
    test_memory m = {0};
    llf_allocator hooks = {test_resize, &m};
    llf_context_options co = {.size = sizeof co, .allocator = &hooks};
    llf_context *cx = llf_context_create(&co);
    llf_graph *g = test_add_relu(cx);
    lives v = {0};
    assert_int_equal(road(cx, g, &v, data, N), LLF_OK);
    long long calls = atomic_load(&m.calls);
    for (int i = 0; i < 10; i++) {
        llf_tensor t = test_vector(LLF_F32, data + (i % 2 ? 2 : 3) * N, N);
        assert_ok(v.e, llf_bind(v.e, 2, &t));
        assert_ok(v.e, llf_run(v.e, NULL));
    }
    assert_int_equal(atomic_load(&m.calls), calls);
    llf_execution_destroy(v.e);
    llf_loaded_destroy(v.l);
    llf_program_destroy(v.p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    assert_int_equal(atomic_load(&m.live), 0);
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &pages, &resident), 2);
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* LLF_TEST_CYCLES=1000 for the long form. */
static void many_lives_leave_nothing(void **state)
{
    (void)state;
    enum { N = 3000 };
    static float data[3 * N];
    const char *text = getenv("LLF_TEST_CYCLES");
    long cycles = text ? strtol(text, NULL, 10) : 120, settled = 0;
    for (long i = 0; i < cycles; i++) {
        if (i == cycles / 4)
            settled = resident_kib();
        llf_context *cx = llf_context_create(NULL);
        llf_graph *g = test_add_relu(cx);
        lives v = {0};
        assert_int_equal(road(cx, g, &v, data, N), LLF_OK);
        llf_execution_destroy(v.e);
        llf_loaded_destroy(v.l);
        llf_program_destroy(v.p);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
    }
    long drift = resident_kib() - settled;
    print_message("%ld cycles, %ld KiB after the first quarter, drift %ld KiB\n", cycles, settled, drift);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(drift < 4096);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(run_allocates_nothing),
        cmocka_unit_test(many_lives_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
