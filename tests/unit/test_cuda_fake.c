/* test_cuda_fake.c: the CUDA road over tests/fake_cuda: contexts, pointers, refusals, and a failure at every
 * driver call. Numbers need a GPU: tests/gpu. */
#include "fake_road.h"

#include <sys/stat.h>

#ifdef LLFUSE_CUDA

/* ---- the good road */

static int good(void)
{
    way w;
    CHECK(start(&w, test_two_outputs, "greedy") == LLF_OK, "%s", error(&w));
    CHECK(load(&w, -1) == LLF_OK && go(&w, N) == LLF_OK, "%s", error(&w));
    CHECK(w.l->info[0].registers == 32 && w.l->start_ms > 0, "nothing read back");
    fake_cuda_state s = now();
    CHECK(s.launches == 1 && s.primaries == 1, "%d launches", s.launches);
    CHECK(w.e->stats.launches == 1, "not counted");
    CHECK(current() == NULL, "a context was left current");
    /* the argument block as the driver got it */
    const llfi_schedule *schedule = &w.p->kernel[0].schedule;
    CHECK(s.last_params == (int)schedule->args, "%d parameters for %u arguments", s.last_params,
          schedule->args);
    int buffers = 0, scalars = 0;
    for (uint32_t i = 0; i < schedule->args; i++) {
        const llfi_arg *a = &schedule->arg[i];
        if (a->kind == LLFI_ARG_BUFFER) {
            CHECK(s.last_param[i] == (uintptr_t)w.e->buffer[a->ref] && s.last_param[i], "argument %u", i);
            buffers++;
        }
        if (a->kind == LLFI_ARG_SCALAR) {
            CHECK(s.last_param[i] == 0x40200000u, "scalar 2.5 is %llx", (unsigned long long)s.last_param[i]);
            scalars++;
        }
        if (a->kind == LLFI_ARG_DIM && a->ref == 0)
            CHECK(s.last_param[i] > 0, "argument %u", i);
    }
    CHECK(buffers == 4 && scalars == 1, "%d buffers, %d scalars", buffers, scalars);
    end(&w);
    nothing_alive();
    return 0;
}

static int run_only_launches(void)
{
    way w;
    CHECK(start(&w, test_add_relu, "none") == LLF_OK, "%s", error(&w));
    CUcontext own = (set_current(NULL), context(1));
    set_current(own);
    CHECK(load(&w, -1) == LLF_OK && go(&w, N) == LLF_OK, "%s", error(&w));
    CHECK(now().primaries == 0 && current() == own, "the caller's context was not taken");
    fake_cuda_state before = now();
    CHECK(llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    fake_cuda_state after = now();
    CHECK(after.launches - before.launches == 2 && after.calls - before.calls == 3 &&
              after.pushes == before.pushes,
          "%d calls for two launches", after.calls - before.calls);
    /* from another context: pushed and popped */
    CUcontext foreign = context(0);
    set_current(foreign);
    CHECK(llf_run(w.e, NULL) == LLF_OK && current() == foreign, "%s", error(&w));
    CHECK(now().pushes == after.pushes + 1, "one push");
    set_current(NULL);
    CHECK(llf_run(w.e, NULL) == LLF_OK && current() == NULL, "%s", error(&w));
    end(&w);
    nothing_alive();
    return 0;
}

static int devices(void)
{
    way w;
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK, "%s", error(&w));
    SAYS(load(&w, 2), LLF_E_ARG, error(&w), "no CUDA device 2: there are 2");
    SAYS(load(&w, -2), LLF_E_ARG, error(&w), "device -2");
    CHECK(load(&w, 1) == LLF_OK && go(&w, N) == LLF_OK, "%s", error(&w));
    end(&w);
    nothing_alive();
    return 0;
}

static int empty(void)
{
    way w;
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK && load(&w, 0) == LLF_OK && go(&w, 0) == LLF_OK, "%s",
          error(&w));
    CHECK(now().launches == 0 && w.e->stats.runs == 1, "something was launched");
    end(&w);
    return 0;
}

static int bound_anew(void)
{
    way w;
    CHECK(start(&w, test_two_outputs, NULL) == LLF_OK && load(&w, 0) == LLF_OK && go(&w, N) == LLF_OK, "%s",
          error(&w));
    CHECK(w.p->kernel[0].schedule.vector_align >= 8, "no vectors: nothing to test");
    llf_tensor t = test_vector(LLF_F32, (char *)w.data[0] + 16, N);
    CHECK(llf_bind(w.e, 0, &t) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    t.data = (char *)w.data[0] + 4;
    CHECK(llf_bind(w.e, 0, &t) == LLF_OK, "%s", error(&w));
    SAYS(llf_run(w.e, NULL), LLF_E_STATE, error(&w), "llf_prepare");
    CHECK(llf_prepare(w.e) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    float s = 1;
    t = test_scalar(LLF_F32, &s);
    CHECK(llf_bind(w.e, 2, &t) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    bool seen = false;
    for (int i = 0; i < now().last_params; i++)
        seen |= now().last_param[i] == 0x3F800000u;
    CHECK(seen, "the new scalar did not arrive");
    end(&w);
    nothing_alive();
    return 0;
}

/* One kernel of 16-byte vectors, one of 8-byte ones. */
static llf_graph *two_alignments(llf_context *cx)
{
    static const char text[] = "graph @two(%a: f32[N], %b: f32[N]) {\n  %y = add %a, %a\n  %0 = sin %b\n"
                               "  %1 = sin %0\n  %2 = sin %1\n  %z = sin %2\n  ret %y, %z\n}\n";
    llf_graph *g = NULL;
    CHECK(llf_graph_parse(cx, text, sizeof text - 1, "two", &g) == LLF_OK, "%s", llf_last_error(cx)->message);
    return g;
}

/* 8 and 4 are both no multiples of 16, but the second kernel looks at 8. */
static int bound_anew_within_16_bytes(void)
{
    way w;
    CHECK(start(&w, two_alignments, NULL) == LLF_OK && load(&w, 0) == LLF_OK && bind_all(&w, N) == LLF_OK,
          "%s", error(&w));
    uint32_t align[2] = {w.p->kernel[0].schedule.vector_align, w.p->kernel[1].schedule.vector_align};
    CHECK(align[0] + align[1] == 24, "alignments %u and %u: nothing to test", align[0], align[1]);
    llf_tensor t = test_vector(LLF_F32, (char *)w.data[1] + 8, N);
    CHECK(llf_bind(w.e, 1, &t) == LLF_OK && llf_prepare(w.e) == LLF_OK, "%s", error(&w));
    t.data = (char *)w.data[1] + 24;
    CHECK(llf_bind(w.e, 1, &t) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    t.data = (char *)w.data[1] + 4;
    CHECK(llf_bind(w.e, 1, &t) == LLF_OK, "%s", error(&w));
    SAYS(llf_run(w.e, NULL), LLF_E_STATE, error(&w), "llf_prepare");
    end(&w);
    nothing_alive();
    return 0;
}

static void the_good_road(void **state)
{
    (void)state;
    CHILD(good);
    CHILD(run_only_launches);
    CHILD(devices);
    CHILD(empty);
    CHILD(bound_anew);
    CHILD(bound_anew_within_16_bytes);
}

/* ---- what is missing */

static const char *expected;

static int load_refused(void)
{
    way w;
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK, "%s", error(&w));
    SAYS(load(&w, -1), LLF_E_TARGET, error(&w), expected);
    SAYS(load(&w, 0), LLF_E_TARGET, error(&w), expected);
    CHECK(!w.l && !w.e, "something came of it");
    end(&w);
    nothing_alive();
    return 0;
}

/* Once: the next try may succeed. */
static int init_fails(void)
{
    way w;
    CHECK(now().calls == 0, "the fake is held open, so that it remembers");
    target = "nvptx:sm_90a+ptx83"; /* whose compile asks no driver */
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK, "%s", error(&w));
    SAYS(load(&w, -1), LLF_E_TARGET, error(&w), expected);
    CHECK(load(&w, -1) == LLF_OK, "%s", error(&w));
    end(&w);
    nothing_alive();
    return 0;
}

static void missing_drivers_and_devices(void **state)
{
    (void)state;
    expected = "CUDA 11.2, 11.4 or later is needed";
    CHILD(load_refused, "FAKE_CUDA_DRIVER", "11020");
    expected = "no CUDA device";
    CHILD(load_refused, "FAKE_CUDA_DEVICES", "0");
    expected = "the NVIDIA driver does not start: cuInit";
    CHILD(init_fails, "FAKE_CUDA_FAIL", "cuInit:1:999");
}

static int wrong_device(void)
{
    way w;
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK, "%s", error(&w));
    SAYS(load(&w, -1), LLF_E_TARGET, error(&w), expected);
    end(&w);
    nothing_alive();
    return 0;
}

static void the_program_is_for_another_device(void **state)
{
    (void)state;
    expected = "compiled for sm_90a, the device is sm_100";
    CHILD(wrong_device, "FAKE_CUDA_SM", "100");
    expected = "the device is sm_80";
    CHILD(wrong_device, "FAKE_CUDA_SM", "80");
    target = "nvptx:sm_90a+ptx83";
    expected = "the program is PTX 8.3, the driver (CUDA 12.1) takes 8.1";
    CHILD(wrong_device, "FAKE_CUDA_DRIVER", "12010");
    target = "nvptx:sm_80";
    CHILD(empty, "FAKE_CUDA_SM", "90"); /* an older architecture's PTX runs on */
    target = "nvptx:sm_90a";
}

static int no_library(void)
{
    way w;
    if (dlopen("libcuda.so.1", RTLD_NOW))
        return SKIPPED; /* this machine has a driver */
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK, "%s", error(&w));
    SAYS(load(&w, -1), LLF_E_TARGET, error(&w),
         "libcuda.so.1 not found: no NVIDIA driver here; use target host");
    end(&w);
    return 0;
}

static int execute_without_library(void)
{
    unsetenv("LD_LIBRARY_PATH");
    execl("/proc/self/exe", "test_cuda_fake", "--no-library", (char *)NULL);
    return 1;
}

static void no_library_at_all(void **state)
{
    (void)state;
    int code = in_child(NULL, execute_without_library);
    if (code == SKIPPED) {
        print_message("SKIPPED: this machine has an NVIDIA driver\n");
        skip();
    }
    assert_int_equal(code, 0);
}

static int out_of_device_memory(void)
{
    way w;
    CHECK(start(&w, test_add_relu, "none") == LLF_OK && load(&w, 0) == LLF_OK, "%s", error(&w));
    CHECK(bind_all(&w, N) == LLF_OK, "%s", error(&w));
    SAYS(llf_prepare(w.e), LLF_E_DEVICE_NOMEM, error(&w), "4096 bytes requested, 2808 of 15000 free");
    SAYS(llf_run(w.e, NULL), LLF_E_STATE, error(&w), "llf_prepare");
    setenv("FAKE_CUDA_MEMORY", "100000", 1);
    CHECK(llf_prepare(w.e) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    end(&w);
    nothing_alive();
    return 0;
}

static void device_memory_runs_out(void **state)
{
    (void)state;
    CHILD(out_of_device_memory, "FAKE_CUDA_MEMORY", "15000");
}

static int ptx_refused(void)
{
    way w;
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK, "%s", error(&w));
    unsetenv("FAKE_CUDA_PTX_LOG");
    CHECK(load(&w, 0) == LLF_OK, "%s", error(&w)); /* the driver has started */
    llf_execution_destroy(w.e);
    llf_loaded_destroy(w.l);
    w.l = NULL;
    w.e = NULL;
    setenv("FAKE_CUDA_PTX_LOG", "ptxas x, line 3; error:\n  Feature 'frobnicate' requires .target sm_999\n",
           1);
    SAYS(load(&w, 0), LLF_E_PTX, error(&w), "error: Feature 'frobnicate' requires .target sm_999");
    CHECK(strstr(error(&w), w.p->module[0].name) && strstr(error(&w), "CUDA_ERROR_INVALID_PTX"), "%s",
          error(&w));
    unsetenv("FAKE_CUDA_PTX_LOG");
    CHECK(load(&w, 0) == LLF_OK, "%s", error(&w));
    end(&w);
    nothing_alive();
    return 0;
}

static void the_drivers_log_is_in_the_message(void **state)
{
    (void)state;
    CHILD(ptx_refused);
}

/* ---- LLF_OVERRIDE_DIR */

static char override[] = "/tmp/llfuse-test-XXXXXX";

static void write_override(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.ptx", override, name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

static int overridden(void)
{
    way w;
    char path[512], text[600];
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK, "%s", error(&w));
    const char *name = w.p->module[0].name;
    CHECK(load(&w, 0) == LLF_OK, "%s", error(&w)); /* nothing there: our own */
    llf_execution_destroy(w.e);
    llf_loaded_destroy(w.l);
    w.l = NULL;
    w.e = NULL;
    write_override(name, "this is no PTX\n");
    SAYS(load(&w, 0), LLF_E_PTX, error(&w), override);
    snprintf(text, sizeof text, ".version 8.0\n.target sm_90\n.visible .entry %s() { ret; }\n", name);
    write_override(name, text);
    CHECK(load(&w, 0) == LLF_OK && go(&w, N) == LLF_OK, "%s", error(&w));
    CHECK(now().last_params == 0, "our own PTX was loaded");
    write_override(name, ".version 8.0\n.target sm_90\n.visible .entry other() { ret; }\n");
    llf_loaded *l = NULL;
    SAYS(llf_program_load(w.cx, w.p, 0, &l), LLF_E_PTX, llf_last_error(w.cx)->message, "no kernel named");
    snprintf(path, sizeof path, "%s/%s.ptx", override, name);
    unlink(path);
    mkdir(path, 0700); /* there, and cannot be read */
    SAYS(llf_program_load(w.cx, w.p, 0, &l), LLF_E_IO, llf_last_error(w.cx)->message, path);
    rmdir(path);
    rmdir(override);
    SAYS(llf_program_load(w.cx, w.p, 0, &l), LLF_E_IO, llf_last_error(w.cx)->message, "LLF_OVERRIDE_DIR");
    end(&w);
    nothing_alive();
    return 0;
}

static void edited_ptx_is_loaded(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(override));
    CHILD(overridden, "LLF_OVERRIDE_DIR", override);
}

/* ---- pointers */

static llf_status with_pointer(way *w, void *p)
{
    llf_tensor t = test_vector(LLF_F32, p, N);
    LLF_TRY(llf_bind(w->e, 0, &t));
    return llf_prepare(w->e);
}

static int pointers(void)
{
    way w, v;
    static float host[N], mapped[N], unmapped[N];
    CHECK(start(&w, test_add_relu, NULL) == LLF_OK && load(&w, 0) == LLF_OK && bind_all(&w, N) == LLF_OK,
          "%s", error(&w));
    SAYS(with_pointer(&w, host), LLF_E_ARG, error(&w), "input a: ");
    SAYS(with_pointer(&w, host), LLF_E_ARG, error(&w), "host memory");
    pin(mapped, sizeof mapped, 1);
    pin(unmapped, sizeof unmapped, 0);
    CHECK(with_pointer(&w, mapped) == LLF_OK, "%s", error(&w));
    SAYS(with_pointer(&w, unmapped), LLF_E_ARG, error(&w), "not mapped");
    CHECK(start(&v, test_add_relu, NULL) == LLF_OK && load(&v, 1) == LLF_OK && bind_all(&v, N) == LLF_OK,
          "%s", error(&v));
    SAYS(with_pointer(&w, v.data[0]), LLF_E_ARG, error(&w),
         "memory of device 1, the program is loaded on device 0");
    CHECK(with_pointer(&w, w.data[0]) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    end(&v);
    end(&w);
    nothing_alive();
    return 0;
}

static void foreign_pointers_are_refused(void **state)
{
    (void)state;
    CHILD(pointers);
}

/* ---- a failure at every call */

static int fail_somewhere(void)
{
    way w;
    CHECK(now().calls == 0, "the fake is held open, so that it remembers");
    CHECK(start(&w, test_add_relu, "none") == LLF_OK, "%s", error(&w));
    llf_status status = load(&w, -1);
    if (status == LLF_OK)
        status = go(&w, N);
    fake_cuda_state s = now();
    if (s.failed == 0) {
        CHECK(status == LLF_OK, "%s", error(&w));
        return DONE;
    }
    if (status != LLF_OK) {
        CHECK(status == LLF_E_DRIVER || status == LLF_E_TARGET, "%s: %s", llf_status_name(status), error(&w));
        CHECK(strstr(error(&w), "cu") && (strstr(error(&w), "UNKNOWN") || strstr(error(&w), "999")), "%s",
              error(&w));
    }
    unsetenv("FAKE_CUDA_FAIL_AT");
    end(&w);
    if (!gives_back(&s))
        nothing_alive();
    CHECK(start(&w, test_add_relu, "none") == LLF_OK && load(&w, -1) == LLF_OK && go(&w, N) == LLF_OK, "%s",
          error(&w));
    int before = now().modules + now().buffers + now().primaries;
    end(&w);
    fake_cuda_state last = now();
    CHECK(last.misuses == 0 && before > last.modules + last.buffers + last.primaries, "leaks");
    return 0;
}

static void each_call_fails_once(void **state)
{
    (void)state;
    assert_true(fail_each_call(fail_somewhere) > 30);
}

/* ---- versions */

static void ptx_of_drivers(void **state)
{
    (void)state;
    /* NVIDIA's PTX ISA release notes */
    assert_int_equal(llfi_cuda_ptx_of_driver(11030), 0);
    assert_int_equal(llfi_cuda_ptx_of_driver(11040), 74);
    assert_int_equal(llfi_cuda_ptx_of_driver(11080), 78);
    assert_int_equal(llfi_cuda_ptx_of_driver(12000), 80);
    assert_int_equal(llfi_cuda_ptx_of_driver(12060), 85);
    assert_int_equal(llfi_cuda_ptx_of_driver(12080), 87);
    assert_int_equal(llfi_cuda_ptx_of_driver(13000), 90);
    assert_true(llfi_cuda_ptx_of_driver(99000) >= 90);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--no-library"))
        return no_library();
    FAKE_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_good_road),
        cmocka_unit_test(missing_drivers_and_devices),
        cmocka_unit_test(the_program_is_for_another_device),
        cmocka_unit_test(no_library_at_all),
        cmocka_unit_test(device_memory_runs_out),
        cmocka_unit_test(the_drivers_log_is_in_the_message),
        cmocka_unit_test(edited_ptx_is_loaded),
        cmocka_unit_test(foreign_pointers_are_refused),
        cmocka_unit_test(each_call_fails_once),
        cmocka_unit_test(ptx_of_drivers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
