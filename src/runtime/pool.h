/* pool.h: a small thread pool for the host target: pinned to nothing, sized by the caller, asleep when idle.
 * Several threads may run jobs at once; each takes part in its own. Knows nothing of kernels. */
#ifndef LLFI_POOL_H
#define LLFI_POOL_H

#include "base/base.h"

typedef struct llfi_pool llfi_pool;
typedef void llfi_pool_fn(void *user, int64_t from, int64_t to);

/* For `threads` threads in all, callers' own included; 0 or less: one per core that this process may use.
 * Starts none yet. NULL: out of memory. */
llfi_pool *llfi_pool_create(const llf_allocator *, int threads);
void llfi_pool_destroy(llfi_pool *); /* no job may be running; NULL is allowed */
int llfi_pool_threads(const llfi_pool *);
int llfi_pool_cores(void); /* that this process may use; in a container fewer than the machine's */
/* Starts the threads, once; with fewer when the system gives fewer. Thread-safe. */
void llfi_pool_start(llfi_pool *);
/* fn over [0, items) in pieces that start at multiples of `grain`; returns when all is done. On the caller
 * alone when one grain holds it all or the pool is not started. */
void llfi_pool_run(llfi_pool *, int64_t items, int64_t grain, llfi_pool_fn *, void *user);

#endif
