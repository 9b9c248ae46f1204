/* workers.c: distinct kernels to code, in parallel: one LLVM context and module per kernel, one diagnostic
 * and arena per worker. Workers have stacks of their own size, so that LLVM never runs on the caller's. They
 * write to their own modules only: a program's at compile, a variant's when its execution prepares. */
#include "jit/jit.h"

#include "lower/llvm.h"
#include "runtime/fpmode.h"
#include "runtime/pool.h"

#include <pthread.h>
#include <signal.h>

#define STACK ((size_t)16 << 20) /* LLVM's selection recurses over a block's values */

typedef struct {
    const llf_program *program;
    const llfi_program_job *job;
    uint32_t jobs;
    const llfi_stages *stages;
    llfi_cache *cache;
    _Atomic uint32_t next;
    atomic_bool failed;
} work;

typedef struct {
    work *shared;
    pthread_t thread;
    llf_status status;
    uint32_t job; /* that failed */
    llfi_diag diag;
} worker;

/* The key is all that a backend's code depends on: target and module, the kernel's name included. So what is
 * found is what would have been made. */
static llf_status compile_or_find(llfi_diag *d, const llf_program *p, LLVMModuleRef module,
                                  llfi_program_module *out, llfi_cache *cache)
{
    const llfi_target *t = &p->target;
    const char *target[] = {t->name, t->cpu, t->features};
    llfi_str key;
    llfi_str_init(&key, &p->mem);
    for (size_t i = 0; i < LLFI_COUNT(target); i++)
        llfi_str_add(&key, target[i], strlen(target[i]) + 1);
    llf_status status = llfi_llvm_bitcode(d, module, &key);
    if (status == LLF_OK)
        out->kept = llfi_cache_get(cache, &p->mem, key.at, key.len, &out->code.code, &out->code.bytes);
    if (status == LLF_OK && !out->kept) {
        status = t->backend->compile(d, t, &p->mem, module, &out->code, NULL, NULL);
        if (status == LLF_OK)
            llfi_cache_put(cache, key.at, key.len, out->code.code, out->code.bytes);
    }
    llfi_str_free(&key);
    return status;
}

llf_status llfi_workers_kernel(llfi_diag *d, const llf_program *p, const llfi_program_job *job,
                               llfi_arena *scratch, const llfi_stages *stages, llfi_cache *cache)
{
    static const llfi_stages none = {0};
    llfi_module module = {0};
    llfi_program_module *out = job->module;
    if (!stages)
        stages = &none;
    else
        cache = NULL;
    double start = llfi_now_ms();
    llf_status status =
        llfi_lower_kernel(job->graph, job->kernel, job->schedule, &p->target, out->name, scratch, d, &module);
    out->lower_ms = llfi_now_ms() - start;
    if (status == LLF_OK && stages->llvm)
        status = llfi_llvm_print(d, module.module, stages->llvm);
    if (status == LLF_OK && cache)
        status = compile_or_find(d, p, module.module, out, cache);
    else if (status == LLF_OK)
        status = p->target.backend->compile(d, &p->target, &p->mem, module.module, &out->code,
                                            stages->llvm_opt, stages->assembly);
    llfi_module_destroy(&module);
    llfi_arena_reset(scratch);
    return status;
}

static void *worker_main(void *user)
{
    worker *w = user;
    work *s = w->shared;
    const llf_program *p = s->program;
    llfi_arena scratch;
    llfi_arena_init(&scratch, &p->mem);
    uint64_t mode = llfi_fpmode_enter();
    /* Jobs are taken in order, so every earlier one than a failed one is being compiled or done: stopping
     * here cannot hide an earlier failure. */
    while (w->status == LLF_OK && !atomic_load_explicit(&s->failed, memory_order_relaxed)) {
        uint32_t i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
        if (i >= s->jobs)
            break;
        w->job = i;
        w->status = llfi_workers_kernel(&w->diag, p, &s->job[i], &scratch, s->stages ? &s->stages[i] : NULL,
                                        s->cache);
    }
    if (w->status != LLF_OK)
        atomic_store_explicit(&s->failed, true, memory_order_relaxed);
    llfi_fpmode_leave(mode);
    llfi_arena_destroy(&scratch);
    return NULL;
}

/* Starts up to `threads` workers; none at all: the caller works. Signals are for the host program's threads.
 */
static uint32_t start(worker *w, uint32_t threads)
{
    pthread_attr_t attr;
    sigset_t all, before;
    uint32_t started = 0;
    if (pthread_attr_init(&attr) != 0)
        return 0;
    pthread_attr_setstacksize(&attr, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < threads && pthread_create(&w[started].thread, &attr, worker_main, &w[started]) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

llf_status llfi_workers_run(llf_context *cx, const llf_program *p, const llfi_program_job *job, uint32_t jobs,
                            uint32_t threads, const llfi_stages *stages)
{
    if (jobs == 0)
        return LLF_OK;
    if (threads == 0)
        threads = (uint32_t)llfi_pool_cores();
    if (threads > jobs)
        threads = jobs;
    worker *w = llfi_alloc_zero(&p->mem, threads * sizeof *w);
    if (!w)
        return llfi_nomem(&cx->diag);
    work shared = {.program = p, .job = job, .jobs = jobs, .stages = stages, .cache = cx->kernels};
    atomic_init(&shared.next, 0);
    atomic_init(&shared.failed, false);
    for (uint32_t i = 0; i < threads; i++)
        w[i].shared = &shared;
    uint32_t started = start(w, threads);
    if (started == 0)
        worker_main(&w[0]);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(w[i].thread, NULL);
    const worker *first = NULL;
    for (uint32_t i = 0; i < threads; i++)
        if (w[i].status != LLF_OK && (!first || w[i].job < first->job))
            first = &w[i];
    llf_status status = first ? first->status : LLF_OK;
    if (first)
        llfi_diag_copy(&cx->diag, &first->diag);
    llfi_free(&p->mem, w, threads * sizeof *w);
    return status;
}

llfi_program_job llfi_workers_job(const llf_program *p, uint32_t kernel, llfi_program_module *module)
{
    return (llfi_program_job){p->graph, &p->plan.kernel[kernel], &p->kernel[kernel].schedule, module};
}
