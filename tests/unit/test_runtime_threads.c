/* SEMANTICS B52: 32 threads that compile and run the same programs and different ones, by contexts of their
 * own and by loadeds that they share, some through variants; a fork after all that; the mode of
 * floating-point arithmetic after each call. (In the middle of calls: test_runtime_host.) Under TSan too. */
#include "runtime_util.h"

#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { THREADS = 32, PROGRAMS = 4, N = 300 };
static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};
static const char *const texts[PROGRAMS] = {
    "graph @p0(%x: f32[A, B]) {\n  %0 = mul %x, 2.0\n  %1 = add %0, 1.0\n  ret %1\n}\n",
    "graph @p1(%x: f32[A, B]) {\n  %0 = flip %x, axes=[1]\n  %1 = neg %0\n  ret %1\n}\n",
    "graph @p2(%x: f32[A, B]) {\n  %0 = roll %x, shifts=[1], axes=[0]\n  %1 = sub %0, %x\n  ret %1\n}\n",
    "graph @p3(%x: f32[A, B]) {\n  %0 = relu %x\n  %1 = sub %x, %0\n  ret %1\n}\n",
};

/* What program k makes of a 3 x B matrix, whose elements are small integers. */
static float expected(int k, const float *x, int64_t columns, int64_t stride, int64_t i, int64_t j)
{
    float v = x[i * stride + j];
    switch (k) {
    case 0: return v * 2 + 1;
    case 1: return -x[i * stride + columns - 1 - j];
    case 2: return x[(i + 2) % 3 * stride + j] - v;
    default: return v < 0 ? v : 0;
    }
}

/* One prepare and run; strided: of rows of a larger matrix. NULL, or what went wrong. */
static const char *use(llf_context *cx, llf_loaded *l, int k, int seed, bool strided, char *why, size_t size)
{
    enum { COLUMNS = 100, STRIDE = 103 };
    float x[3 * STRIDE], y[3 * COLUMNS];
    llf_execution *e = NULL;
    int64_t stride = strided ? STRIDE : COLUMNS;
    for (int i = 0; i < 3 * STRIDE; i++)
        x[i] = (float)((i * 37 + seed) % 19 - 9);
    llf_tensor in = {.data = x, .dtype = LLF_F32, .rank = 2, .strided = strided, .shape = {3, COLUMNS}};
    in.strides[0] = stride;
    in.strides[1] = 1;
    llf_tensor out = {.data = y, .dtype = LLF_F32, .rank = 2, .shape = {3, COLUMNS}};
    bool ok = llf_execution_create(cx, l, &e) == LLF_OK && llf_bind(e, 0, &in) == LLF_OK &&
              llf_bind(e, 1, &out) == LLF_OK && llf_prepare(e) == LLF_OK && llf_run(e, NULL) == LLF_OK;
    why[0] = 0;
    if (!ok)
        snprintf(why, size, "%s", e ? llf_execution_error(e)->message : llf_last_error(cx)->message);
    for (int64_t i = 0; ok && i < 3; i++)
        for (int64_t j = 0; ok && j < COLUMNS; j++) {
            ok = y[i * COLUMNS + j] == expected(k, x, COLUMNS, stride, i, j);
            if (!ok)
                snprintf(why, size, "program %d: element %d, %d is %g", k, (int)i, (int)j,
                         (double)y[i * COLUMNS + j]);
        }
    llf_execution_destroy(e);
    return ok ? NULL : why;
}

static llf_status make(llf_context *cx, int k, int device, llf_program **p, llf_loaded **l)
{
    llf_graph *g = NULL;
    *p = NULL;
    *l = NULL;
    llf_status status = llf_graph_parse(cx, texts[k], strlen(texts[k]), "threads", &g);
    if (status == LLF_OK)
        status = llf_compile(cx, g, &host, p);
    if (status == LLF_OK)
        status = llf_program_load(cx, *p, device, l);
    llf_graph_destroy(g);
    return status;
}

typedef struct {
    pthread_t thread;
    int number;
    llf_loaded *const *shared; /* of each program */
    pthread_barrier_t *start;
    char why[300];
} worker;

static void *work(void *user)
{
    worker *w = user;
    llf_context *cx = llf_context_create(NULL);
    llf_program *p;
    llf_loaded *own;
    int k = w->number % PROGRAMS;
    const char *bad = NULL;
    pthread_barrier_wait(w->start);
    if (make(cx, k, 1, &p, &own) != LLF_OK)
        bad = w->why, snprintf(w->why, sizeof w->why, "%s", llf_last_error(cx)->message);
    for (int i = 0; !bad && i < 4; i++) {
        int other = (w->number + i) % PROGRAMS; /* the variants of shared ones are made by whoever is first */
        bad = use(cx, i % 2 ? own : w->shared[other], i % 2 ? k : other, w->number, w->number / 4 % 2, w->why,
                  sizeof w->why);
    }
    llf_loaded_destroy(own);
    llf_program_destroy(p);
    llf_context_destroy(cx);
    return NULL;
}

static void many_threads_compile_and_run(void **state)
{
    (void)state;
    worker w[THREADS];
    llf_context *cx = llf_context_create(NULL);
    llf_program *p[PROGRAMS];
    llf_loaded *l[PROGRAMS];
    pthread_barrier_t start;
    for (int k = 0; k < PROGRAMS; k++)
        if (make(cx, k, 2, &p[k], &l[k]) != LLF_OK)
            fail_msg("%s", llf_last_error(cx)->message);
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){.number = i, .shared = l, .start = &start};
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(w[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        if (w[i].why[0])
            fail_msg("thread %d: %s", i, w[i].why);
    for (int k = 0; k < PROGRAMS; k++) {
        uint32_t variants, modules;
        llfi_variants_count(l[k], &variants, &modules);
        assert_int_equal(variants, 1); /* made once, whoever asked */
        llf_loaded_destroy(l[k]);
        llf_program_destroy(p[k]);
    }
    pthread_barrier_destroy(&start);
    llf_context_destroy(cx);
}

/* The child compiles, runs its own and what the parent had prepared, and destroys both. */
static void a_child_compiles_and_runs(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_program *p;
    llf_loaded *l;
    llf_execution *e = NULL;
    static float x[N], y[N];
    if (make(cx, 0, 3, &p, &l) != LLF_OK || llf_execution_create(cx, l, &e) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    llf_tensor t = {.data = x, .dtype = LLF_F32, .rank = 2, .shape = {3, N / 3}};
    assert_ok(e, llf_bind(e, 0, &t));
    t.data = y;
    assert_ok(e, llf_bind(e, 1, &t));
    assert_ok(e, llf_prepare(e));
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char why[300];
        llf_program *own = NULL;
        llf_loaded *loaded = NULL;
        alarm(60); /* hanging is the failure */
        bool ok = llf_run(e, NULL) == LLF_OK;
        for (int i = 0; i < N; i++)
            ok = ok && y[i] == 2.0F * (float)i + 1;
        ok = ok && make(cx, 2, 1, &own, &loaded) == LLF_OK;
        ok = ok && !use(cx, loaded, 2, 5, false, why, sizeof why);
        ok = ok && !use(cx, loaded, 2, 5, true, why, sizeof why); /* compiles a variant */
        llf_loaded_destroy(loaded);
        llf_program_destroy(own);
        llf_execution_destroy(e);
        llf_loaded_destroy(l);
        llf_program_destroy(p);
        llf_context_destroy(cx);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(y[1] == 0.0F); /* the child's memory is its own */
    assert_ok(e, llf_run(e, NULL));
    assert_true(y[1] == 3.0F);
    llf_execution_destroy(e);
    llf_loaded_destroy(l);
    llf_program_destroy(p);
    llf_context_destroy(cx);
}

#if defined(__x86_64__)
#define MODE 0xFFC0u /* all but the flags of what has happened */
static void kept(unsigned mode, const char *call)
{
    unsigned now = _mm_getcsr();
    if ((now & MODE) == (mode & MODE))
        return;
    _mm_setcsr(0x1F80u);
    fail_msg("%s leaves the mode %x, not %x", call, now & MODE, mode & MODE);
}
#define KEPT(call)         \
    do {                   \
        (void)(call);      \
        kept(mode, #call); \
    } while (0)
#endif

static void the_callers_arithmetic_stays(void **state)
{
    (void)state;
#if defined(__x86_64__)
    /* IEEE; flush to zero, denormals are zero; rounded up; down, and dividing by 0 traps */
    static const unsigned modes[] = {0x1F80u, 0x1F80u | 0x8040u, 0x1F80u | 0x4000u,
                                     (0x1F80u & ~0x200u) | 0x2000u};
    unsigned before = _mm_getcsr();
    for (size_t i = 0; i < LLFI_COUNT(modes); i++) {
        unsigned mode = modes[i];
        llf_context *cx = NULL;
        llf_graph *g = NULL, *bad = NULL;
        llf_program *p = NULL;
        llf_loaded *l = NULL;
        llf_execution *e = NULL;
        llf_stats stats = {.size = sizeof stats};
        char *text = NULL;
        size_t bytes = 0;
        float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
        llf_tensor t = {.data = x, .dtype = LLF_F32, .rank = 2, .shape = {3, 2}};
        _mm_setcsr(mode);
        KEPT(cx = llf_context_create(NULL));
        KEPT(llf_graph_parse(cx, "graph @x(", 9, NULL, &bad));
        KEPT(llf_graph_parse(cx, texts[0], strlen(texts[0]), NULL, &g));
        KEPT(llf_const(g, LLF_F16, 0.1));
        KEPT(llf_graph_print(cx, g, &text, &bytes));
        KEPT(llf_text_free(cx, text, bytes));
        KEPT(llf_compile(cx, g, &(llf_options){.size = sizeof host, .target = "nowhere"}, &p));
        KEPT(llf_compile(cx, g, &host, &p));
        KEPT(llf_plan_export(cx, p, &text, &bytes));
        KEPT(llf_text_free(cx, text, bytes));
        KEPT(llf_program_load(cx, p, 2, &l));
        KEPT(llf_execution_create(cx, l, &e));
        KEPT(llf_bind(e, 0, &t));
        KEPT(llf_prepare(e)); /* which fails: an output is missing */
        t.data = y;
        KEPT(llf_bind(e, 1, &t));
        KEPT(llf_prepare(e));
        KEPT(llf_run(e, NULL));
        KEPT(llf_execution_stats(e, &stats));
        KEPT(llf_execution_destroy(e));
        KEPT(llf_loaded_destroy(l));
        KEPT(llf_program_destroy(p));
        KEPT(llf_graph_destroy(g));
        KEPT(llf_context_destroy(cx));
        _mm_setcsr(before);
        for (int k = 0; k < 6; k++)
            assert_true(y[k] == 2.0F * x[k] + 1);
    }
    volatile float small = 0x1p-124F, factor = 0.1875F;
    float product = small * factor;
    uint32_t bits;
    memcpy(&bits, &product, sizeof bits);
    assert_int_equal(bits, 0x00600000u);
#else
    print_message("SKIPPED: the mode is read on x86-64 only\n");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_compile_and_run),
        cmocka_unit_test(a_child_compiles_and_runs),
        cmocka_unit_test(the_callers_arithmetic_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
