/* pool.c: see pool.h. Must not allocate while running: a job lives on its caller's stack. */
#include "runtime/pool.h"

#include "runtime/fpmode.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_THREADS 1024
#define SPINS 400           /* looks before sleeping: some 10 us */
#define PIECES_PER_THREAD 4 /* so that a late thread leaves little to wait for */
#define STACK ((size_t)1 << 20)

typedef struct job {
    llfi_pool_fn *fn;
    void *user;
    int64_t items, piece;
    _Atomic int64_t next;    /* first item that nobody has taken */
    _Atomic uint32_t inside; /* pool threads at work on it; changed under the lock */
    struct job *after;       /* under the lock */
} job;

struct llfi_pool {
    llf_allocator mem;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    pthread_t *thread;
    int threads;         /* wanted, callers' own included */
    int started;         /* pool threads; under the lock */
    _Atomic int running; /* the same, for llfi_pool_run's first look */
    int asleep;          /* under the lock */
    bool stop, tried;    /* under the lock */
    pid_t owner;         /* process of the threads: a forked child has a copy of the pool, and none of them */
    job *first;          /* jobs that may have items left; under the lock */
    _Atomic uint32_t news; /* bumped for each job and at stop: what idle threads watch */
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void work(job *j)
{
    for (;;) {
        int64_t from = atomic_fetch_add_explicit(&j->next, j->piece, memory_order_relaxed);
        if (from >= j->items)
            return;
        int64_t left = j->items - from;
        j->fn(j->user, from, left < j->piece ? j->items : from + j->piece);
    }
}

static bool has_work(job *j)
{
    return atomic_load_explicit(&j->next, memory_order_relaxed) < j->items;
}

/* Both under the lock. */
static job *find_work(llfi_pool *p)
{
    for (job *j = p->first; j; j = j->after)
        if (has_work(j))
            return j;
    return NULL;
}

static void remove_job(llfi_pool *p, job *j)
{
    job **at = &p->first;
    while (*at != j)
        at = &(*at)->after;
    *at = j->after;
}

/* Under the lock, which it gives up while it waits. */
static void wait_for_news(llfi_pool *p, uint32_t seen)
{
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->news, memory_order_relaxed) != seen)
            break;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->news, memory_order_relaxed) == seen) {
        p->asleep++;
        pthread_cond_wait(&p->wake, &p->lock);
        p->asleep--;
    }
}

static void *thread_main(void *user)
{
    llfi_pool *p = user;
    (void)llfi_fpmode_enter(); /* inherited from whoever started the pool */
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        job *j = find_work(p);
        if (!j) {
            wait_for_news(p, atomic_load_explicit(&p->news, memory_order_relaxed));
            continue;
        }
        atomic_fetch_add_explicit(&j->inside, 1, memory_order_relaxed);
        pthread_mutex_unlock(&p->lock);
        work(j);
        pthread_mutex_lock(&p->lock);
        /* Once nobody is inside, the job may be gone: it is not touched again. */
        if (atomic_fetch_sub_explicit(&j->inside, 1, memory_order_release) == 1)
            pthread_cond_broadcast(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int llfi_pool_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < MAX_THREADS ? (int)n : 1;
}

llfi_pool *llfi_pool_create(const llf_allocator *mem, int threads)
{
    if (threads <= 0)
        threads = llfi_pool_cores();
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    llfi_pool *p = llfi_alloc_zero(mem, sizeof *p);
    if (!p)
        return NULL;
    p->mem = *mem;
    p->threads = threads;
    p->owner = getpid();
    p->thread = llfi_alloc_zero(mem, (size_t)threads * sizeof *p->thread);
    if (!p->thread) {
        llfi_free(mem, p, sizeof *p);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    return p;
}

/* In a child of the process that made the pool its callers work alone. */
static bool forked(const llfi_pool *p)
{
    return p->owner != getpid();
}

int llfi_pool_threads(const llfi_pool *p)
{
    return p->threads;
}

/* Pool threads take no signals: those are for the host program's own. */
static void start_threads(llfi_pool *p)
{
    pthread_attr_t attr;
    sigset_t all, before;
    if (pthread_attr_init(&attr) != 0)
        return;
    pthread_attr_setstacksize(&attr, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->started < p->threads - 1 && pthread_create(&p->thread[p->started], &attr, thread_main, p) == 0)
        p->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    atomic_store_explicit(&p->running, p->started, memory_order_relaxed);
}

void llfi_pool_start(llfi_pool *p)
{
    if (forked(p))
        return;
    pthread_mutex_lock(&p->lock);
    if (!p->tried)
        start_threads(p);
    p->tried = true;
    pthread_mutex_unlock(&p->lock);
}

void llfi_pool_destroy(llfi_pool *p)
{
    if (!p)
        return;
    if (forked(p)) /* no thread to stop, and the lock may be held for ever */
        goto memory;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    atomic_fetch_add_explicit(&p->news, 1, memory_order_relaxed);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->started; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
memory:;
    llf_allocator mem = p->mem;
    llfi_free(&mem, p->thread, (size_t)p->threads * sizeof *p->thread);
    llfi_free(&mem, p, sizeof *p);
}

static void publish(llfi_pool *p, job *j, int64_t helpers)
{
    pthread_mutex_lock(&p->lock);
    job **last = &p->first;
    while (*last)
        last = &(*last)->after;
    *last = j;
    atomic_fetch_add_explicit(&p->news, 1, memory_order_relaxed);
    if (helpers >= p->asleep)
        pthread_cond_broadcast(&p->wake);
    else
        for (int64_t i = 0; i < helpers; i++)
            pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

/* The last pieces are usually nearly done: looking beats sleeping. */
static void wait_until_done(llfi_pool *p, job *j)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&j->inside, memory_order_acquire) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&j->inside, memory_order_acquire))
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void llfi_pool_run(llfi_pool *p, int64_t items, int64_t grain, llfi_pool_fn *fn, void *user)
{
    int helpers = atomic_load_explicit(&p->running, memory_order_relaxed);
    if (grain < 1)
        grain = 1;
    if (items <= grain || helpers == 0 || forked(p)) {
        if (items > 0)
            fn(user, 0, items);
        return;
    }
    int64_t grains = (items - 1) / grain + 1;
    int64_t pieces = ((int64_t)helpers + 1) * PIECES_PER_THREAD;
    /* The last fetch of each thread overshoots by a piece: kept far from overflow by the division. */
    int64_t piece = (grains <= pieces ? 1 : (grains - 1) / pieces + 1) * grain;
    job j = {.fn = fn, .user = user, .items = items, .piece = piece};
    atomic_init(&j.next, 0);
    atomic_init(&j.inside, 0);
    publish(p, &j, grains - 1);
    work(&j);
    pthread_mutex_lock(&p->lock);
    remove_job(p, &j); /* nobody enters from here on */
    pthread_mutex_unlock(&p->lock);
    wait_until_done(p, &j);
}
