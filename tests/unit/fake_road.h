/* fake_road.h: what tests over tests/fake_cuda share: children that fail on their own, the fake's state, one
 * program's road. Such a test executes itself anew with the fake in LD_LIBRARY_PATH (FAKE_MAIN); each case
 * runs in a child, since a process opens libcuda once. Without a toolkit it is such a test's main. */
#ifndef FAKE_ROAD_H
#define FAKE_ROAD_H

#include "runtime_util.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef LLFUSE_CUDA
int main(void)
{
    puts("SKIPPED: built without a CUDA toolkit");
    return 0;
}
#else

#include "../fake_cuda/fake_cuda.h"

#include "cuda/cuda.h"

#define SKIPPED 77
#define DONE 42
enum { N = 1000 };

/* In a child cmocka's own checks would run the rest of the suite twice. */
#define CHECK(cond, ...)                                               \
    do {                                                               \
        if (!(cond)) {                                                 \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond); \
            fprintf(stderr, __VA_ARGS__);                              \
            fputc('\n', stderr);                                       \
            _exit(1);                                                  \
        }                                                              \
    } while (0)
#define SAYS(status, want, message, part)                                                      \
    do {                                                                                       \
        llf_status got_ = (status);                                                            \
        CHECK(got_ == (want) && strstr((message), (part)), "wanted %s and \"%s\", got %s: %s", \
              llf_status_name(want), (part), llf_status_name(got_), (message));                \
    } while (0)

static inline int in_child(const char *const *env, int (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (; env && *env; env += 2)
            setenv(env[0], env[1], 1);
        _exit(body());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("the child died of signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

#define CHILD(...)    \
    assert_int_equal( \
        in_child((const char *const[]){CHILD_ENV(__VA_ARGS__, NULL)}, CHILD_BODY(__VA_ARGS__, 0)), 0)
#define CHILD_BODY(body, ...) body
#define CHILD_ENV(body, ...) __VA_ARGS__

static inline void *fake(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(library, "the fake is not there: %s", dlerror());
    void *address = dlsym(library, name);
    CHECK(address, "%s: not the fake driver", name);
    return address;
}

static inline fake_cuda_state now(void)
{
    fake_cuda_state s;
    fake_cuda_get_fn *get;
    void *address = fake("fake_cuda_get");
    memcpy(&get, &address, sizeof get);
    get(&s);
    return s;
}

static inline CUcontext context(int device)
{
    fake_cuda_context_fn *make;
    void *address = fake("fake_cuda_context");
    memcpy(&make, &address, sizeof make);
    return make(device);
}

static inline void set_current(CUcontext c)
{
    fake_cuda_set_current_fn *set;
    void *address = fake("fake_cuda_set_current");
    memcpy(&set, &address, sizeof set);
    set(c);
}

static inline void pin(void *p, size_t bytes, int mapped)
{
    fake_cuda_pin_fn *f;
    void *address = fake("fake_cuda_pin");
    memcpy(&f, &address, sizeof f);
    f(p, bytes, mapped);
}

static inline CUcontext current(void)
{
    const llfi_cuda *c;
    CUcontext x = NULL;
    CHECK(llfi_cuda_get(NULL, &c) == LLF_OK, "no fake");
    c->CtxGetCurrent(&x);
    return x;
}

/* ---- one program's road; everything may fail */
typedef struct {
    llf_context *cx;
    llf_graph *g;
    llf_program *p;
    llf_loaded *l;
    llf_execution *e;
    void *data[8];
    uint32_t datas;
} way;

static const char *target = "nvptx:sm_90a";

static inline llf_status start(way *w, llf_graph *(*make)(llf_context *), const char *heuristic)
{
    llf_options o = {.size = sizeof o, .target = target, .heuristic = heuristic};
    *w = (way){.cx = llf_context_create(NULL)};
    w->g = make(w->cx);
    return llf_compile(w->cx, w->g, &o, &w->p);
}

static inline const char *error(const way *w)
{
    return w->e && w->e->diag.message[0] ? llf_execution_error(w->e)->message
                                         : llf_last_error(w->cx)->message;
}

static inline llf_status load(way *w, int device)
{
    LLF_TRY(llf_program_load(w->cx, w->p, device, &w->l));
    return llf_execution_create(w->cx, w->l, &w->e);
}

/* Device memory of the program's own device through its own vtable. */
static inline llf_status bind_all(way *w, int64_t n)
{
    const llf_graph *g = w->p->graph;
    static float scalar = 2.5f;
    uint64_t token;
    for (uint32_t i = 0; i < w->e->binds; i++) {
        llf_tensor t = test_vector(LLF_F32, NULL, n);
        if (i < w->e->inputs && llfi_node_at(g, g->inputs.at[i])->scalar) {
            t = test_scalar(LLF_F32, &scalar);
        } else if (n) {
            LLF_TRY(w->l->device->enter(&w->e->diag, w->l, &token));
            llf_status status = w->l->device->alloc(&w->e->diag, w->l, (size_t)n * 4 + 64, &t.data);
            w->l->device->leave(w->l, token);
            LLF_TRY(status);
            w->data[w->datas++] = t.data;
        }
        LLF_TRY(llf_bind(w->e, i, &t));
    }
    return LLF_OK;
}

static inline llf_status go(way *w, int64_t n)
{
    LLF_TRY(bind_all(w, n));
    LLF_TRY(llf_prepare(w->e));
    return llf_run(w->e, NULL);
}

static inline void end(way *w)
{
    uint64_t token;
    for (uint32_t i = 0; i < w->datas; i++)
        if (w->l->device->enter(NULL, w->l, &token) == LLF_OK) {
            w->l->device->free(w->l, w->data[i], N);
            w->l->device->leave(w->l, token);
        }
    llf_execution_destroy(w->e);
    llf_loaded_destroy(w->l);
    llf_program_destroy(w->p);
    llf_graph_destroy(w->g);
    llf_context_destroy(w->cx);
}

static inline void nothing_alive(void)
{
    fake_cuda_state s = now();
    CHECK(s.modules == 0 && s.buffers == 0 && s.primaries == 0 && s.misuses == 0 && s.pushes == s.pops,
          "%d modules, %d buffers, %d primaries, %d misuses, %d pushes, %d pops", s.modules, s.buffers,
          s.primaries, s.misuses, s.pushes, s.pops);
}

/* Runs the body once for each driver call, which fails, until it is DONE: no call failed. How often that was.
 */
static inline int fail_each_call(int (*body)(void))
{
    char nth[16];
    int n = 0;
    for (int code = 0; code != DONE; n++) {
        snprintf(nth, sizeof nth, "%d", n + 1);
        code = in_child((const char *const[]){"FAKE_CUDA_FAIL_AT", nth, NULL}, body);
        if (code != 0 && code != DONE)
            fail_msg("a failure at call %d", n + 1);
        assert_true(n < 500);
    }
    return n;
}

/* Was the call that failed one that gives something back? What it could not is the driver's loss. */
static inline bool gives_back(const fake_cuda_state *s)
{
    return strstr(s->failed_call, "Unload") || strstr(s->failed_call, "Pop") ||
           strstr(s->failed_call, "Free") || strstr(s->failed_call, "Release");
}

/* In front of the tests' list: nothing is left to do when it returns. */
#define FAKE_MAIN(argc, argv)                                                   \
    do {                                                                        \
        if ((argc) == 1) {                                                      \
            setenv("LD_LIBRARY_PATH", LLFUSE_BINARY_DIR "/tests/fake_cuda", 1); \
            execl("/proc/self/exe", (argv)[0], "--with-fake", (char *)NULL);    \
            _exit(1);                                                           \
        }                                                                       \
    } while (0)

#endif /* LLFUSE_CUDA */
#endif
