/* test_runtime_scratch.c: memory that launches ask for while they run (LLFI_ARG_SCRATCH, LLFI_ARG_COUNTER):
 * how much, who gets it, counters that begin at 0, and each of the device's failures. The skeleton is a
 * test's own, around the pointwise one, so that no kernel has to need it. */
#include "runtime_util.h"

#define KERNELS 2

static int64_t want_scratch[KERNELS], want_counters[KERNELS];

/* How launch knows one kernel from the other. */
static const llfi_schedule *first;

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    int k = s != first;
    l->scratch = want_scratch[k];
    l->counters = want_counters[k];
    return llfi_skeleton_pointwise_host.launch(s, l);
}

/* ---- a device that counts and fails */

static llfi_device device;
static struct {
    int allocs, frees, uploads;
    int fail_alloc, fail_upload; /* this one, counted from 1 */
    uint64_t slot[KERNELS][2];   /* of the last run: scratch, counter */
} seen;

static llf_status alloc_counted(llfi_diag *d, llf_loaded *l, size_t bytes, void **out)
{
    if (++seen.allocs == seen.fail_alloc)
        return llfi_fail(d, LLF_E_DEVICE_NOMEM, "no %zu bytes", bytes);
    llf_status status = llfi_device_host.alloc(d, l, bytes, out);
    if (status == LLF_OK)
        memset(*out, 0xa5, bytes);
    return status;
}

static void free_counted(llf_loaded *l, void *p, size_t bytes)
{
    seen.frees++;
    llfi_device_host.free(l, p, bytes);
}

static llf_status upload_counted(llfi_diag *d, llf_loaded *l, void *to, const void *from, size_t bytes)
{
    if (++seen.uploads == seen.fail_upload)
        return llfi_fail(d, LLF_E_DRIVER, "no upload");
    return llfi_device_host.upload(d, l, to, from, bytes);
}

/* Counts the launches as a kernel does: counters up, and back to 0. */
static llf_status launch_counted(llfi_diag *d, llf_loaded *l, void *code, const llfi_launch *n,
                                 uint64_t *slot, void **param, void *stream)
{
    const llf_program *p = l->program;
    int k = code != llfi_device_host.code(l, p->kernel[0].module);
    const llfi_schedule *s = &p->kernel[k].schedule;
    seen.slot[k][0] = slot[s->args - 2];
    seen.slot[k][1] = slot[s->args - 1];
    assert_ptr_equal(param[s->args - 1], &slot[s->args - 1]);
    uint32_t *counter = (uint32_t *)(uintptr_t)slot[s->args - 1];
    for (int64_t i = 0; i < n->counters; i++)
        assert_int_equal(counter[i], 0);
    if (n->scratch)
        memset((void *)(uintptr_t)slot[s->args - 2], 0x5a, (size_t)n->scratch);
    return llfi_device_host.launch(d, l, code, n, slot, param, stream);
}

/* ---- the road: two kernels, whose schedules get the two arguments more */

static llfi_skeleton skeleton;

static test_road open_road(void)
{
    static const llf_options unfused = {
        .size = sizeof unfused, .target = "host", .heuristic = "none", .compile_threads = 1};
    test_road r = {.cx = llf_context_create(NULL)};
    r.g = test_add_relu(r.cx);
    assert_int_equal(llf_compile(r.cx, r.g, &unfused, &r.p), LLF_OK);
    assert_int_equal(r.p->plan.kernels, KERNELS);
    skeleton = llfi_skeleton_pointwise_host;
    skeleton.launch = launch;
    for (int k = 0; k < KERNELS; k++) {
        llfi_schedule *s = &r.p->kernel[k].schedule;
        assert_ptr_equal(s->skeleton, &llfi_skeleton_pointwise_host);
        llfi_arg *arg = llfi_arena_alloc(&r.p->arena, (s->args + 2) * sizeof *arg);
        assert_non_null(arg);
        memcpy(arg, s->arg, s->args * sizeof *arg);
        arg[s->args] = (llfi_arg){.kind = LLFI_ARG_SCRATCH, .dtype = LLF_I64};
        arg[s->args + 1] = (llfi_arg){.kind = LLFI_ARG_COUNTER, .dtype = LLF_I64};
        s->arg = arg;
        s->args += 2;
        s->skeleton = &skeleton;
    }
    first = &r.p->kernel[0].schedule;
    assert_int_equal(llf_program_load(r.cx, r.p, 1, &r.l), LLF_OK);
    device = llfi_device_host;
    device.alloc = alloc_counted;
    device.free = free_counted;
    device.upload = upload_counted;
    device.launch = launch_counted;
    r.l->device = &device;
    assert_int_equal(llf_execution_create(r.cx, r.l, &r.e), LLF_OK);
    return r;
}

static void wish(int64_t scratch0, int64_t counters0, int64_t scratch1, int64_t counters1)
{
    want_scratch[0] = scratch0;
    want_scratch[1] = scratch1;
    want_counters[0] = counters0;
    want_counters[1] = counters1;
}

enum { N = 100 };
static float data[3 * N];

static void bind_all(test_road *r)
{
    for (uint32_t i = 0; i < 3; i++) {
        llf_tensor t = test_vector(LLF_F32, data + i * N, N);
        assert_ok(r->e, llf_bind(r->e, i, &t));
    }
}

static void run_twice(test_road *r)
{
    for (int i = 0; i < N; i++) {
        data[i] = (float)(i - 50);
        data[N + i] = 1;
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(r->e, llf_run(r->e, NULL));
        for (int k = 0; k < N; k++)
            assert_true(data[2 * N + k] == (k > 49 ? (float)(k - 49) : 0));
    }
}

static void kernels_share_the_largest_wish(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    test_road r = open_road();
    bind_all(&r);
    wish(1000, 3, 2000, 700);
    assert_ok(r.e, llf_prepare(r.e));
    assert_int_equal(seen.allocs, 3); /* and the workspace */
    run_twice(&r);
    for (int k = 0; k < KERNELS; k++) {
        assert_int_equal(seen.slot[k][0], (uintptr_t)r.e->scratch);
        assert_int_equal(seen.slot[k][1], (uintptr_t)r.e->counter);
        assert_int_equal(seen.slot[k][0] % 256, 0);
    }
    llf_stats stats = {.size = sizeof stats};
    assert_int_equal(llf_execution_stats(r.e, &stats), LLF_OK);
    assert_int_equal(stats.scratch_bytes, 2000 + 4 * 700);
    /* less, or bound anew: nothing moves */
    uint64_t scratch = seen.slot[0][0], counter = seen.slot[0][1];
    wish(0, 0, 900, 2);
    assert_ok(r.e, llf_prepare(r.e));
    bind_all(&r);
    run_twice(&r);
    assert_int_equal(seen.allocs, 3);
    assert_true(seen.slot[1][0] == scratch && seen.slot[1][1] == counter);
    /* more, of one */
    wish(5000, 1, 1, 1);
    assert_ok(r.e, llf_prepare(r.e));
    run_twice(&r);
    assert_int_equal(seen.allocs, 4);
    assert_true(seen.slot[0][1] == counter);
    assert_int_equal(llf_execution_stats(r.e, &stats), LLF_OK);
    assert_int_equal(stats.scratch_bytes, 5000 + 4 * 700);
    test_close(&r);
    assert_int_equal(seen.frees, seen.allocs);
}

static void nobody_asks_and_nothing_is_there(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    test_road r = open_road();
    bind_all(&r);
    wish(0, 0, 0, 0);
    assert_ok(r.e, llf_prepare(r.e));
    run_twice(&r);
    assert_int_equal(seen.allocs, 1);
    assert_true(seen.slot[0][0] == 0 && seen.slot[0][1] == 0);
    test_close(&r);
    assert_int_equal(seen.frees, seen.allocs);
}

static void each_failure_of_the_device(void **state)
{
    (void)state;
    for (int what = 0; what < 2; what++)
        for (int at = 1;; at++) {
            memset(&seen, 0, sizeof seen);
            test_road r = open_road();
            bind_all(&r);
            wish(1000, 3, 2000, 700);
            *(what ? &seen.fail_upload : &seen.fail_alloc) = at;
            llf_status status = llf_prepare(r.e);
            bool done = status == LLF_OK;
            if (!done) {
                assert_int_equal(status, what ? LLF_E_DRIVER : LLF_E_DEVICE_NOMEM);
                assert_int_equal(llf_run(r.e, NULL), LLF_E_STATE);
                assert_ok(r.e,
                          llf_prepare(r.e)); /* the next one finds counters that are 0, or makes them so */
                run_twice(&r);
            }
            test_close(&r);
            assert_int_equal(seen.frees + (!what && !done), seen.allocs);
            if (done) {
                assert_int_equal(at, 4); /* three of each: allocations; pieces of 2800 bytes of counters */
                break;
            }
        }
}

static void wishes_beyond_all_memory_are_refused(void **state)
{
    (void)state;
    for (int what = 0; what < 2; what++) {
        memset(&seen, 0, sizeof seen);
        test_road r = open_road();
        bind_all(&r);
        wish(what ? 0 : INT64_MAX, what ? INT64_MAX : 0, 1, 1);
        assert_int_equal(llf_prepare(r.e), LLF_E_LIMIT);
        assert_int_equal(llf_run(r.e, NULL), LLF_E_STATE);
        test_close(&r);
        assert_int_equal(seen.frees, seen.allocs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_share_the_largest_wish),
        cmocka_unit_test(nobody_asks_and_nothing_is_there),
        cmocka_unit_test(each_failure_of_the_device),
        cmocka_unit_test(wishes_beyond_all_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
