/* device_host.c: the CPU as a device to measure: memory, cache filling, clock, and the hand-written streaming
 * loops that are its ceiling. It must not call the generator's thread pool: it has threads of its own, as
 * many. */
#include "bench/bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LINE 64u
#define PRIVATE_CACHE ((size_t)8 << 20)

typedef struct pool pool;
typedef void part_fn(pool *, uint32_t thread);
struct pool {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    part_fn *fn;
    uint64_t round;
    uint32_t threads, left;
    bool stop;
    /* the job */
    uint32_t variant, reads, writes;
    void *tensor[BENCH_MAX_READS + BENCH_MAX_WRITES + 1];
    size_t bytes;
    uint64_t sink;
};
typedef struct {
    pool pool;
    pthread_t *thread;
    struct worker {
        pool *pool;
        uint32_t index;
    } * worker;
    char *foreign;
    size_t foreign_bytes;
    uint32_t started;
} host;

static const llf_allocator *const mem = &llfi_malloc_allocator;

/* ---- threads */

static void *work(void *user)
{
    struct worker *w = user;
    pool *p = w->pool;
    uint64_t seen = 0;
    for (;;) {
        pthread_mutex_lock(&p->lock);
        while (p->round == seen && !p->stop)
            pthread_cond_wait(&p->start, &p->lock);
        seen = p->round;
        bool stop = p->stop;
        pthread_mutex_unlock(&p->lock);
        if (stop)
            return NULL;
        p->fn(p, w->index);
        pthread_mutex_lock(&p->lock);
        if (!--p->left)
            pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->lock);
    }
}

static void run_all(pool *p, part_fn *fn)
{
    pthread_mutex_lock(&p->lock);
    p->fn = fn;
    p->left = p->threads - 1;
    p->round++;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    fn(p, 0);
    pthread_mutex_lock(&p->lock);
    while (p->left)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

/* [*from, *to) of thread `t`, in whole cache lines. */
static void share(size_t bytes, uint32_t threads, uint32_t t, size_t *from, size_t *to)
{
    size_t lines = bytes / LINE;
    *from = lines * t / threads * LINE;
    *to = t + 1 == threads ? bytes : lines * (t + 1) / threads * LINE;
}

/* ---- streaming loops, one per mix; 16 bytes a step */

typedef uint64_t vec __attribute__((vector_size(16), may_alias, aligned(16)));
typedef struct {
    const vec *in[BENCH_MAX_READS];
    vec *out[BENCH_MAX_WRITES];
    size_t from, to;
    uint64_t sink;
} piece;
typedef void loop_fn(piece *);

#define SUM_0 \
    (vec)     \
    {         \
        i, i  \
    }
#define SUM_1 a[i]
#define SUM_2 SUM_1 ^ b[i]
#define SUM_3 SUM_2 ^ c[i]
#define SUM_4 SUM_3 ^ d[i]
#define SUM_5 SUM_4 ^ e[i]
#define SUM_6 SUM_5 ^ f[i]
#define PUT_0(PUT) sink ^= v;
#define PUT_1(PUT) PUT(w + i, v);
#define PUT_2(PUT) PUT_1(PUT) PUT(x + i, v + one);
#define PUT_3(PUT) PUT_2(PUT) PUT(y + i, v - one);
#define PUT_4(PUT) PUT_3(PUT) PUT(z + i, v ^ one);
#define PLAIN(at, value) *(at) = (value)
#if defined(__SSE2__)
#define STREAM(at, value) _mm_stream_si128((__m128i *)(at), (__m128i)(value))
#define FENCE _mm_sfence()
#else
#define STREAM PLAIN
#define FENCE (void)0
#endif
#define LOOP(name, R, W, PUT)                                                                                \
    static void name##_##R##_##W(piece *p)                                                                   \
    {                                                                                                        \
        const vec *restrict a = p->in[0], *restrict b = p->in[1], *restrict c = p->in[2];                    \
        const vec *restrict d = p->in[3], *restrict e = p->in[4], *restrict f = p->in[5];                    \
        vec *restrict w = p->out[0], *restrict x = p->out[1], *restrict y = p->out[2],                       \
                      *restrict z = p->out[3];                                                               \
        vec sink = {0, 0};                                                                                   \
        const vec one = {1, 1};                                                                              \
        (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)w, (void)x, (void)y, (void)z, (void)one; \
        for (size_t i = p->from; i < p->to; i++) {                                                           \
            vec v = SUM_##R;                                                                                 \
            PUT_##W(PUT)                                                                                     \
        }                                                                                                    \
        p->sink = sink[0] ^ sink[1];                                                                         \
    }
#define LOOPS(name, W, PUT) \
    LOOP(name, 0, W, PUT)   \
    LOOP(name, 1, W, PUT)   \
    LOOP(name, 2, W, PUT)   \
    LOOP(name, 3, W, PUT)   \
    LOOP(name, 4, W, PUT)   \
    LOOP(name, 5, W, PUT)   \
    LOOP(name, 6, W, PUT)
LOOPS(plain, 0, PLAIN)
LOOPS(plain, 1, PLAIN)
LOOPS(plain, 2, PLAIN)
LOOPS(plain, 3, PLAIN)
LOOPS(plain, 4, PLAIN)
LOOPS(streaming, 1, STREAM)
LOOPS(streaming, 2, STREAM)
LOOPS(streaming, 3, STREAM)
LOOPS(streaming, 4, STREAM)

#define ROW(name, W)                                                                                     \
    {                                                                                                    \
        name##_0_##W, name##_1_##W, name##_2_##W, name##_3_##W, name##_4_##W, name##_5_##W, name##_6_##W \
    }
static loop_fn *const loops[2][BENCH_MAX_WRITES + 1][BENCH_MAX_READS + 1] = {
    {ROW(plain, 0), ROW(plain, 1), ROW(plain, 2), ROW(plain, 3), ROW(plain, 4)},
    {ROW(plain, 0), ROW(streaming, 1), ROW(streaming, 2), ROW(streaming, 3), ROW(streaming, 4)}};

static void stream_part(pool *p, uint32_t t)
{
    size_t from, to;
    share(p->bytes, p->threads, t, &from, &to);
    piece part = {.from = from / sizeof(vec), .to = to / sizeof(vec)};
    for (uint32_t i = 0; i < p->reads; i++)
        part.in[i] = p->tensor[i];
    for (uint32_t i = 0; i < p->writes; i++)
        part.out[i] = p->tensor[p->reads + i];
    loops[p->variant][p->writes][p->reads](&part);
    if (p->variant)
        FENCE;
    __atomic_fetch_xor(&p->sink, part.sink, __ATOMIC_RELAXED);
}

static llf_status host_stream(bench_device *d, uint32_t variant, uint32_t reads, uint32_t writes,
                              void *const *tensor, size_t bytes)
{
    pool *p = &((host *)d->state)->pool;
    p->variant = variant;
    p->reads = reads;
    p->writes = writes;
    p->bytes = bytes;
    memcpy(p->tensor, tensor, (reads + writes) * sizeof *tensor);
    run_all(p, stream_part);
    return LLF_OK;
}

static uint32_t host_variants(const bench_device *d, uint32_t reads, uint32_t writes)
{
    (void)d, (void)reads;
#if defined(__SSE2__)
    return writes ? 2 : 1;
#else
    (void)writes;
    return 1;
#endif
}

static llf_status host_copy(bench_device *d, void *to, const void *from, size_t bytes)
{
    void *const tensor[2] = {(void *)(uintptr_t)from, to};
    return host_stream(d, host_variants(d, 1, 1) - 1, 1, 1, tensor, bytes);
}

/* ---- the rest of the table */

static void flush_part(pool *p, uint32_t t)
{
    host *h = (host *)(void *)p; /* pool is its first member */
    size_t from, to;
    share(h->foreign_bytes, p->threads, t, &from, &to);
    /* a thread's share may be less than its private cache */
    to = to - from < PRIVATE_CACHE ? from + PRIVATE_CACHE : to;
    to = to > h->foreign_bytes ? h->foreign_bytes : to;
    uint64_t sum = 0;
    for (size_t i = from; i < to; i += LINE)
        sum += *(const volatile uint64_t *)(const void *)(h->foreign + i);
    __atomic_fetch_xor(&p->sink, sum, __ATOMIC_RELAXED);
}

static void empty_part(pool *p, uint32_t t)
{
    (void)p, (void)t;
}

static llf_status host_empty(bench_device *d)
{
    run_all(d->state, empty_part);
    return LLF_OK;
}

static llf_status host_sync(bench_device *d)
{
    (void)d;
    return LLF_OK;
}

static llf_status host_time(bench_device *d, bench_work *fn, void *user, double *ms)
{
    double start = llfi_now_ms();
    llf_status status = fn(user, d->stream);
    *ms = llfi_now_ms() - start;
    return status;
}

/* Mapped, so that huge pages may serve it as they serve any program's large arrays. */
static llf_status host_alloc(bench_device *d, size_t bytes, void **out)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return llfi_fail(d->diag, LLF_E_NOMEM, "out of host memory (%zu bytes)", bytes);
    *out = p;
    return LLF_OK;
}

static void host_release(bench_device *d, void *p, size_t bytes)
{
    (void)d;
    munmap(p, bytes);
}

/* The foreign lines are there from the first flush on: a run that leaves the caches as they are needs none.
 */
static llf_status host_flush(bench_device *d)
{
    host *h = d->state;
    if (!h->foreign) {
        size_t bytes = 2 * d->cache_bytes;
        void *p = NULL;
        bytes = bytes < (size_t)64 << 20  ? (size_t)64 << 20
                : bytes > (size_t)1 << 30 ? (size_t)1 << 30
                                          : bytes;
        LLF_TRY(host_alloc(d, bytes, &p));
        memset(p, 1, bytes); /* pages of its own, not the zero page */
        h->foreign = p;
        h->foreign_bytes = bytes;
    }
    run_all(&h->pool, flush_part);
    return LLF_OK;
}

static llf_status host_move(bench_device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
    memcpy(to, from, bytes);
    return LLF_OK;
}

static llf_status host_fill(bench_device *d, void *p, unsigned char byte, size_t bytes)
{
    (void)d;
    memset(p, byte, bytes);
    return LLF_OK;
}

static llf_status host_bare(bench_device *d, uint32_t args, uint32_t calls, double *us)
{
    (void)d, (void)args, (void)calls;
    *us = -1;
    return LLF_OK;
}

static void cpu_title(char *title, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    snprintf(title, size, "CPU");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(title, size, "%s", colon + 2);
        break;
    }
    if (f)
        fclose(f);
}

static void host_close(bench_device *d)
{
    host *h = d->state;
    if (!h)
        return;
    pthread_mutex_lock(&h->pool.lock);
    h->pool.stop = true;
    pthread_cond_broadcast(&h->pool.start);
    pthread_mutex_unlock(&h->pool.lock);
    for (uint32_t i = 0; i < h->started; i++)
        pthread_join(h->thread[i], NULL);
    if (h->foreign)
        munmap(h->foreign, h->foreign_bytes);
    llfi_free(mem, h->thread, d->threads * sizeof *h->thread);
    llfi_free(mem, h->worker, d->threads * sizeof *h->worker);
    pthread_cond_destroy(&h->pool.start);
    pthread_cond_destroy(&h->pool.done);
    pthread_mutex_destroy(&h->pool.lock);
    llfi_free(mem, h, sizeof *h);
    d->state = NULL;
}

static llf_status start_threads(bench_device *d, host *h)
{
    h->thread = llfi_alloc_zero(mem, d->threads * sizeof *h->thread);
    h->worker = llfi_alloc_zero(mem, d->threads * sizeof *h->worker);
    if (!h->thread || !h->worker)
        return llfi_nomem(d->diag);
    h->pool.threads = d->threads;
    for (uint32_t i = 1; i < d->threads; i++, h->started++) {
        h->worker[i] = (struct worker){&h->pool, i};
        if (pthread_create(&h->thread[h->started], NULL, work, &h->worker[i]))
            return llfi_fail(d->diag, LLF_E_LIMIT, "cannot start %u threads", d->threads);
    }
    return LLF_OK;
}

static llf_status host_open(llfi_diag *diag, bench_device *d, uint32_t threads)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN), cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    *d = (bench_device){.ops = &bench_host, .diag = diag};
    d->threads = threads ? threads : cores > 0 ? (uint32_t)cores : 1;
    d->load_arg = (int)d->threads;
    d->cache_bytes = cache > 0 ? (size_t)cache : (size_t)32 << 20;
    cpu_title(d->title, sizeof d->title);
    host *h = llfi_alloc_zero(mem, sizeof *h);
    if (!h)
        return llfi_nomem(diag);
    d->state = h;
    pthread_mutex_init(&h->pool.lock, NULL);
    pthread_cond_init(&h->pool.start, NULL);
    pthread_cond_init(&h->pool.done, NULL);
    llf_status status = start_threads(d, h);
    if (status != LLF_OK)
        host_close(d);
    return status;
}

const bench_device_ops bench_host = {.name = "host",
                                     .open = host_open,
                                     .close = host_close,
                                     .alloc = host_alloc,
                                     .release = host_release,
                                     .upload = host_move,
                                     .download = host_move,
                                     .fill = host_fill,
                                     .flush = host_flush,
                                     .sync = host_sync,
                                     .time = host_time,
                                     .stream_kernel = host_stream,
                                     .variants = host_variants,
                                     .copy = host_copy,
                                     .empty = host_empty,
                                     .bare_launch = host_bare};
