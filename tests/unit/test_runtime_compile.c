/* test_runtime_compile.c: llf_compile: options, distinct kernels, dumps, logs, determinism, lifetimes,
 * threads. */
#include "runtime_util.h"

#include "jit/jit.h"
#include "limits.h"

#include <dirent.h>
#include <unistd.h>

static const llf_options host = {.size = sizeof host, .target = "host"};

static llf_status compile(llf_context *cx, const llf_graph *g, const llf_options *o)
{
    llf_program *p = (void *)1;
    llf_status status = llf_compile(cx, g, o, &p);
    assert_true((status == LLF_OK) == (p != NULL));
    llf_program_destroy(p);
    return status;
}

/* ---- options */

static void options(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = test_add_relu(cx);
    const llf_diagnostic *why = llf_last_error(cx);
    llf_options o = host;
    assert_int_equal(compile(cx, g, NULL), LLF_OK);
    static const size_t bad[] = {3, 12, 36, (size_t)1 << 40}; /* half a pointer; more than there is to read */
    for (size_t i = 0; i < LLFI_COUNT(bad); i++) {
        o.size = bad[i];
        assert_refused(compile(cx, g, &o), LLF_E_ARG, why->message, "sizeof(llf_options)");
    }
    o.size = offsetof(llf_options, heuristic); /* an older caller: what follows is not read */
    o.heuristic = (const char *)8;
    assert_int_equal(compile(cx, g, &o), LLF_OK);
    struct {
        llf_options known;
        void *unknown;
    } newer = {.known = host};
    newer.known.size = sizeof newer;
    assert_int_equal(compile(cx, g, &newer.known), LLF_OK);
    newer.unknown = cx;
    assert_refused(compile(cx, g, &newer.known), LLF_E_ARG, why->message, "does not know");
    o = host;
    o.heuristic = "clever";
    assert_refused(compile(cx, g, &o), LLF_E_ARG, why->message, "none, primitive, greedy");
    o = host;
    o.set = "max_kernel_nodes=0";
    assert_int_equal(compile(cx, g, &o), LLF_E_ARG);
    o.set = "nonsense=1";
    assert_refused(compile(cx, g, &o), LLF_E_ARG, why->message, "max_kernel_nodes");
    o = host;
    o.target = "abacus";
    assert_refused(compile(cx, g, &o), LLF_E_TARGET, why->message, "host");
    assert_int_equal(compile(cx, g, &host), LLF_OK); /* nothing of it stays */
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

static void bad_graphs(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    const llf_diagnostic *why = llf_last_error(cx);
    llf_graph *empty = llf_graph_create(cx, "empty");
    assert_refused(compile(cx, empty, &host), LLF_E_GRAPH, why->message, "no output");
    llf_graph *g = llf_graph_create(cx, "bad");
    int64_t n = 4;
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n), i = llf_input(g, "i", LLF_I32, 1, &n);
    llf_id sum = llf_add(g, x, i);
    assert_int_equal(sum, LLF_NONE);
    char first[1024];
    snprintf(first, sizeof first, "%s", why->message);
    assert_int_equal(llf_output(g, llf_neg(g, sum)), LLF_E_TYPE);
    llf_output(g, x);
    assert_refused(compile(cx, g, &host), LLF_E_TYPE, why->message,
                   first); /* the first failure's own words */
    assert_int_equal(llf_compile(NULL, g, NULL, NULL), LLF_E_ARG);
    assert_refused(llf_compile(cx, NULL, NULL, NULL), LLF_E_ARG, why->message, "null graph");
    llf_graph_destroy(empty);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* ---- distinct kernels */

/* Three equal kernels and one other: tanh(x), tanh(tanh(x)) ... unfused. */
static llf_graph *tanh3_neg(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "t");
    int64_t n = llf_symbol(g, "N");
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n);
    for (int i = 0; i < 3; i++)
        x = llf_tanh(g, x);
    llf_output(g, llf_neg(g, x));
    return g;
}

static void equal_kernels_once(void **state)
{
    (void)state;
    llf_options o = host;
    o.heuristic = "none";
    test_road r = test_open(tanh3_neg, &o, 1);
    llf_stats s = {.size = sizeof s};
    assert_int_equal(llf_execution_stats(r.e, &s), LLF_OK);
    assert_int_equal(s.kernels, 4);
    assert_int_equal(s.modules, 2);
    assert_true(s.compile_ms > 0);
    assert_true(r.p->phase.emit_ms > 0);
    for (uint32_t k = 0; k < 4; k++)
        assert_int_equal(r.p->kernel[k].module, k == 3);
    assert_int_equal(r.p->temps, 3);
    float x[2] = {0, 0}, y[2] = {1, 1};
    llf_tensor t = test_vector(LLF_F32, x, 2);
    assert_ok(r.e, llf_bind(r.e, 0, &t));
    t.data = y;
    assert_ok(r.e, llf_bind(r.e, 1, &t));
    assert_ok(r.e, llf_prepare(r.e));
    assert_int_equal(r.e->workspace_bytes, 512); /* two places serve the chain of three */
    assert_ok(r.e, llf_run(r.e, NULL));
    assert_true(y[0] == 0 && y[1] == 0);
    /* a smaller version of the struct: nothing behind it is written */
    llf_stats old;
    memset(&old, 0x55, sizeof old);
    old.size = offsetof(llf_stats, launches);
    assert_int_equal(llf_execution_stats(r.e, &old), LLF_OK);
    assert_int_equal(old.kernels, 4);
    assert_int_equal(old.launches, 0x5555555555555555u);
    test_close(&r);
}

/* Many distinct kernels, some compile jobs at once: the same code as by one thread. */
static llf_graph *many(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "many");
    int64_t n = llf_symbol(g, "N");
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n);
    for (int i = 1; i <= 12; i++)
        x = llf_add(g, x, llf_const(g, LLF_F32, i));
    llf_output(g, x);
    return g;
}

static void threads_do_not_show(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = many(cx);
    llf_program *p[2];
    for (uint32_t i = 0; i < 2; i++) {
        llf_options o = host;
        o.heuristic = "none";
        o.compile_threads = i ? 5 : 1;
        assert_int_equal(llf_compile(cx, g, &o, &p[i]), LLF_OK);
        assert_int_equal(p[i]->modules, 12);
    }
    for (uint32_t m = 0; m < 12; m++) {
        const llfi_program_module *a = &p[0]->module[m], *b = &p[1]->module[m];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->code.bytes, b->code.bytes);
        assert_memory_equal(a->code.code, b->code.code, a->code.bytes);
    }
    llf_program_destroy(p[0]);
    llf_program_destroy(p[1]);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* A backend that refuses kernels 3 and up, the later the sooner: always the lowest is reported. */
static llf_status refuse_some(llfi_diag *d, const llfi_target *t, const llf_allocator *mem,
                              LLVMModuleRef module, llfi_code *code, llfi_str *llvm_opt, llfi_str *assembly)
{
    (void)t;
    (void)llvm_opt;
    (void)assembly;
    size_t bytes;
    const char *name = LLVMGetModuleIdentifier(module, &bytes);
    int which = name[bytes - 1] - '0';
    struct timespec nap = {0, which < 3 ? 0 : (9 - which) * 3000000};
    nanosleep(&nap, NULL);
    if (which >= 3)
        return llfi_fail(d, LLF_E_LLVM, "kernel %d", which);
    code->code = llfi_alloc_zero(mem, 1);
    return code->code ? LLF_OK : LLF_E_NOMEM;
}

static void lowest_failure_is_reported(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = many(cx);
    llf_options o = host;
    o.heuristic = "none";
    for (int round = 0; round < 5; round++) {
        llf_program *p;
        assert_int_equal(llf_compile(cx, g, &o, &p), LLF_OK);
        llfi_backend odd = *p->target.backend;
        odd.compile = refuse_some;
        p->target.backend = &odd;
        llfi_program_job job[32];
        assert_true(p->modules <= LLFI_COUNT(job));
        for (uint32_t m = 0; m < p->modules; m++) {
            uint32_t k = p->module[m].first;
            job[m] = (llfi_program_job){p->graph, &p->plan.kernel[k], &p->kernel[k].schedule, &p->module[m]};
            llfi_free(&p->mem, p->module[m].code.code, p->module[m].code.bytes + 1);
            p->module[m].code = (llfi_code){0};
            snprintf(p->module[m].name, sizeof p->module[m].name, "k%u", m < 9 ? m : 9);
        }
        p->compile_threads = 6;
        assert_refused(p->compile(&p->cx, p, job, p->modules), LLF_E_LLVM, p->cx.diag.pub.message,
                       "kernel 3");
        llf_program_destroy(p);
    }
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* ---- looking inside */

typedef struct {
    int lines[4];
} topics;

static void count_topic(void *user, const char *topic, const char *line)
{
    static const char *const names[] = {"output_code", "schedule", "recompiles", "perf"};
    for (int i = 0; i < 4; i++)
        ((topics *)user)->lines[i] += !strcmp(topic, names[i]) && line[0];
}

static int count_files(const char *dir, const char *suffix)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        size_t a = strlen(f->d_name), b = strlen(suffix);
        n += a >= b && !strcmp(f->d_name + a - b, suffix);
    }
    closedir(d);
    return n;
}

static void remove_files(const char *dir)
{
    char path[512];
    DIR *d = opendir(dir);
    for (struct dirent *f; (f = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        if (f->d_name[0] != '.')
            unlink(path);
    }
    closedir(d);
    rmdir(dir);
}

static void dumps_and_logs(void **state)
{
    (void)state;
    char dir[] = "/tmp/llfuse-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    topics seen = {{0}};
    llf_context_options co = {.size = sizeof co,
                              .dump_dir = dir,
                              .logs = "output_code,schedule,recompiles,perf",
                              .log = count_topic,
                              .log_user = &seen};
    llf_context *cx = llf_context_create(&co);
    llf_graph *g = tanh3_neg(cx);
    llf_options o = host;
    o.heuristic = "none";
    llf_program *p;
    assert_int_equal(llf_compile(cx, g, &o, &p), LLF_OK);
    assert_int_equal(count_files(dir, ".ll"), 2);
    assert_int_equal(count_files(dir, ".s"), 2);
    assert_int_equal(count_files(dir, "plan.llf"), 1);
    assert_true(seen.lines[0] > 20);
    assert_int_equal(seen.lines[1], 4);
    assert_int_equal(seen.lines[2], 1);
    assert_true(seen.lines[3] > 0);

    /* the dump of the LLVM IR is what emit says, and the program outlives what it was made with */
    char path[512], *text;
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s.ll", dir, p->module[0].name);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    cx = llf_context_create(NULL);
    assert_int_equal(llfi_read_file(&llfi_malloc_allocator, NULL, path, 1 << 20, &text, &bytes), LLF_OK);
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    assert_int_equal(llfi_program_emit(cx, p, 1, "llvm", &s), LLF_OK);
    assert_int_equal(s.len, bytes);
    assert_memory_equal(s.at, text, bytes);
    llfi_str_clear(&s);
    assert_int_equal(llfi_program_emit(cx, p, 0, "asm", &s), LLF_OK);
    assert_non_null(strstr(s.at, p->module[0].name));
    llfi_str_clear(&s);
    assert_int_equal(llfi_program_emit(cx, p, 3, "llvm-opt", &s), LLF_OK);
    assert_non_null(strstr(s.at, "fneg"));
    assert_refused(llfi_program_emit(cx, p, 0, "sass", &s), LLF_E_ARG, llf_last_error(cx)->message,
                   "llvm-opt");
    assert_refused(llfi_program_emit(cx, p, 9, "asm", &s), LLF_E_ARG, llf_last_error(cx)->message, "4");
    llfi_str_free(&s);
    llfi_free(&llfi_malloc_allocator, text, bytes + 1);

    assert_int_equal(llf_plan_export(cx, p, &text, &bytes), LLF_OK);
    assert_int_equal(strlen(text), bytes);
    assert_non_null(strstr(text, "!k3"));
    llf_text_free(cx, text, bytes);
    llf_program_destroy(p);
    llf_context_destroy(cx);
    remove_files(dir);
}

static void a_dump_that_cannot_be_written(void **state)
{
    (void)state;
    llf_context_options co = {.size = sizeof co, .dump_dir = "/dev/null/x"};
    llf_context *cx = llf_context_create(&co);
    llf_graph *g = test_add_relu(cx);
    assert_refused(compile(cx, g, &host), LLF_E_IO, llf_last_error(cx)->message, "/dev/null/x");
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* ---- threads: two contexts compile; both run one loaded program */

typedef struct {
    llf_loaded *shared;
    pthread_t thread;
    int seed;
    char why[512];
} runner;

static bool run_once(runner *r, llf_context *cx, llf_loaded *l, float *a, float *b, float *y, int64_t n)
{
    llf_execution *e = NULL;
    llf_tensor t[] = {test_vector(LLF_F32, a, n), test_vector(LLF_F32, b, n), test_vector(LLF_F32, y, n)};
    bool ok = llf_execution_create(cx, l, &e) == LLF_OK;
    for (uint32_t i = 0; ok && i < 3; i++)
        ok = llf_bind(e, i, &t[i]) == LLF_OK;
    ok = ok && llf_prepare(e) == LLF_OK && llf_run(e, NULL) == LLF_OK;
    if (!ok)
        snprintf(r->why, sizeof r->why, "%s",
                 e ? llf_execution_error(e)->message : llf_last_error(cx)->message);
    for (int64_t i = 0; ok && i < n; i++)
        ok = y[i] == (a[i] + b[i] < 0 ? 0 : a[i] + b[i]);
    llf_execution_destroy(e);
    return ok;
}

static void *run_many(void *user)
{
    runner *r = user;
    enum { N = 40000 };
    float *a = malloc(3 * N * sizeof *a);
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = test_add_relu(cx);
    llf_program *p = NULL;
    llf_loaded *own = NULL;
    bool ok = a && llf_compile(cx, g, &host, &p) == LLF_OK && llf_program_load(cx, p, 2, &own) == LLF_OK;
    for (int i = 0; ok && i < 2 * N; i++)
        a[i] = (float)(i % 1000 - 500 + r->seed);
    for (int round = 0; ok && round < 20; round++)
        ok = run_once(r, cx, round % 4 ? r->shared : own, a, a + N, a + 2 * N, N - round);
    if (!ok && !r->why[0])
        snprintf(r->why, sizeof r->why, "wrong numbers or: %s", llf_last_error(cx)->message);
    llf_loaded_destroy(own);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    free(a);
    return NULL;
}

static void two_threads_one_program(void **state)
{
    (void)state;
    test_road r = test_open(test_add_relu, &host, 3);
    runner t[3] = {{0}};
    for (int i = 0; i < 3; i++) {
        t[i].shared = r.l;
        t[i].seed = i;
        assert_int_equal(pthread_create(&t[i].thread, NULL, run_many, &t[i]), 0);
    }
    /* the makers go before the users: the program first, the loaded when the last execution has gone */
    llf_program_destroy(r.p);
    r.p = NULL;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i].thread, NULL);
    for (int i = 0; i < 3; i++)
        if (t[i].why[0])
            fail_msg("%s", t[i].why);
    test_close(&r);
}

static void *compile_on_a_small_stack(void *user)
{
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = llf_graph_create(cx, "deep");
    int64_t n = llf_symbol(g, "N");
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n);
    for (int i = 0; i < 20000; i++)
        x = i % 2 ? llf_neg(g, x) : llf_add(g, x, llf_const(g, LLF_F32, i % 3 + 1));
    llf_output(g, x);
    *(llf_status *)user = compile(cx, g, &host);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    return NULL;
}

static void small_stacks_suffice(void **state)
{
    (void)state;
    llf_status status = LLF_E_INTERNAL;
    limits_small_stack(compile_on_a_small_stack, &status);
    assert_int_equal(status, LLF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options),
        cmocka_unit_test(bad_graphs),
        cmocka_unit_test(equal_kernels_once),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(lowest_failure_is_reported),
        cmocka_unit_test(dumps_and_logs),
        cmocka_unit_test(a_dump_that_cannot_be_written),
        cmocka_unit_test(two_threads_one_program),
        cmocka_unit_test(small_stacks_suffice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
