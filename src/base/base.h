/* base.h: what every room stands on: memory, growable arrays, strings, hashes, errors, logs, the context.
 * base knows nothing of graphs, LLVM or CUDA. Names: llf_ public, llfi_<file>_<verb> internal, statics bare.
 */
#ifndef LLFI_BASE_H
#define LLFI_BASE_H

#include "llfuse/llfuse.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LLFI_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Propagates a failure. The only macro here that hides a return. */
#define LLF_TRY(expr)                 \
    do {                              \
        llf_status llf_try_ = (expr); \
        if (llf_try_ != LLF_OK)       \
            return llf_try_;          \
    } while (0)

#if defined(__GNUC__)
#define LLFI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define LLFI_PRINTF(fmt, args)
#endif

/* ---- memory (alloc.c): all host memory goes through the context's hooks, so that tests can fail any
 * allocation. NULL means out of memory; nothing here sets a diagnostic. */
void *llfi_alloc(const llf_allocator *, size_t size); /* uninitialised */
void *llfi_alloc_zero(const llf_allocator *, size_t size);
void *llfi_resize(const llf_allocator *, void *p, size_t old, size_t size);
void llfi_free(const llf_allocator *, void *p, size_t size);
extern const llf_allocator llfi_malloc_allocator;

/* ---- arena (arena.c): bump allocation, freed at once; 16-byte aligned. */
typedef struct llfi_arena_block llfi_arena_block;
typedef struct {
    const llf_allocator *mem;
    llfi_arena_block *block;
} llfi_arena;
void llfi_arena_init(llfi_arena *, const llf_allocator *);
void *llfi_arena_alloc(llfi_arena *, size_t size);                   /* zeroed; NULL when out of memory */
char *llfi_arena_copy(llfi_arena *, const char *text, size_t bytes); /* NUL added */
void llfi_arena_reset(llfi_arena *);                                 /* keeps one block */
void llfi_arena_destroy(llfi_arena *);

/* ---- growable array (vec.c): LLFI_VEC(uint32_t) v = {0}; if (!llfi_vec_reserve(mem, &v, n)) ...
 * v.at[v.count++] = x; */
#define LLFI_VEC(T)        \
    struct {               \
        T *at;             \
        size_t count, cap; \
    }
bool llfi_vec_grow(const llf_allocator *, void **at, size_t *cap, size_t want, size_t elem);
/* Room for `extra` more elements; false when out of memory or the size overflows. */
#define llfi_vec_reserve(mem, v, extra)                                                     \
    ((v)->cap - (v)->count >= (size_t)(extra)                                               \
         ? true                                                                             \
         : llfi_vec_grow((mem), (void **)&(v)->at, &(v)->cap, (v)->count + (size_t)(extra), \
                         sizeof *(v)->at))
#define llfi_vec_free(mem, v) \
    (llfi_free((mem), (v)->at, (v)->cap * sizeof *(v)->at), (v)->at = NULL, (v)->count = (v)->cap = 0)

/* Heap sort, ascending by `before` (NULL: numbers): in place, and no allocation that the hooks do not see. */
typedef bool llfi_before_fn(const void *user, uint32_t a, uint32_t b);
void llfi_sort(uint32_t *at, uint32_t count, llfi_before_fn *before, const void *user); /* sort.c */
/* Where a rising list has the value; `count`: nowhere. */
uint32_t llfi_sorted_at(const uint32_t *list, uint32_t count, uint32_t value);
size_t llfi_sorted_at64(const int64_t *list, size_t count, int64_t value);

/* ---- string buffer (str.c): sticky out-of-memory flag, so that a printer checks once at its end. */
typedef struct {
    const llf_allocator *mem;
    char *at; /* always NUL-terminated once anything was written; may be NULL before */
    size_t len, cap;
    bool failed;
} llfi_str;
void llfi_str_init(llfi_str *, const llf_allocator *);
void llfi_str_add(llfi_str *, const char *text, size_t bytes);
void llfi_str_puts(llfi_str *, const char *text);
void llfi_str_printf(llfi_str *, const char *fmt, ...) LLFI_PRINTF(2, 3);
void llfi_str_json(llfi_str *, const char *text); /* quoted and escaped */
void llfi_str_clear(llfi_str *);                  /* keeps the memory */
/* Hands the text over in a block of exactly `bytes` + 1, as llf_text_free expects, and leaves the buffer
 * empty. False: out of memory, and the buffer keeps what it had. */
bool llfi_str_take(llfi_str *, char **text, size_t *bytes);
void llfi_str_free(llfi_str *);

/* ---- hash (hash.c): 64-bit, the same on every machine and in every process. */
uint64_t llfi_hash(uint64_t seed, const void *data, size_t bytes);
uint64_t llfi_hash_u64(uint64_t seed, uint64_t value);
/* Open-addressing map from a 64-bit hash to candidate u32 values; the caller compares what the values stand
 * for. */
typedef struct {
    uint64_t *hash;
    uint32_t *value; /* UINT32_MAX: empty */
    size_t count, cap;
} llfi_map;
/* First candidate for `hash`; *cursor 0 at first. UINT32_MAX when there are no more. */
uint32_t llfi_map_next(const llfi_map *, uint64_t hash, size_t *cursor);
bool llfi_map_add(const llf_allocator *, llfi_map *, uint64_t hash,
                  uint32_t value); /* false: out of memory */
void llfi_map_free(const llf_allocator *, llfi_map *);

/* ---- bytes kept under a key (cache.c): at most `limit` of them, keys included, the older forgotten. From
 * any thread; shared by reference. Keeping may fail silently, finding too: then the value is made once more.
 */
typedef struct llfi_cache llfi_cache;
llfi_cache *llfi_cache_create(const llf_allocator *, size_t limit); /* NULL: out of memory */
void llfi_cache_retain(llfi_cache *);                               /* NULL is allowed */
void llfi_cache_release(llfi_cache *);                              /* NULL is allowed */
/* A copy in memory of `mem`, with a NUL behind. */
bool llfi_cache_get(llfi_cache *, const llf_allocator *mem, const char *key, size_t key_bytes, char **value,
                    size_t *bytes);
void llfi_cache_put(llfi_cache *, const char *key, size_t key_bytes, const char *value, size_t bytes);

/* ---- diagnostics (diag.c) */
typedef struct {
    const char *file; /* owned elsewhere; NULL: none */
    uint32_t line, col;
} llfi_place;
typedef struct {
    llf_diagnostic pub;
    char message[1024];
    char file[256];
    char op[32];
} llfi_diag;
/* Sets the diagnostic and returns `status`, so that callers write `return llfi_fail(d, ...)`. Long messages
 * are cut with "...". Never allocates. `d` may be NULL. */
llf_status llfi_fail(llfi_diag *, llf_status, const char *fmt, ...) LLFI_PRINTF(3, 4);
llf_status llfi_fail_at(llfi_diag *, llf_status, llfi_place, const char *op, const char *fmt, ...)
    LLFI_PRINTF(5, 6);
llf_status llfi_nomem(llfi_diag *); /* E_NOMEM, "out of host memory" */
/* Appends "word" or ", word" to a list of legal names for a message; what does not fit is left out. */
void llfi_diag_list(char *list, size_t size, const char *word);
void llfi_diag_in(llfi_diag *, const char *name, size_t bytes); /* says of which value: ", in %name" */
void llfi_diag_copy(llfi_diag *to, const llfi_diag *from);

/* ---- environment (env.c) and logs (log.c) */
typedef enum {
#define ENV(id, name, meaning) LLFI_ENV_##id,
#include "env.def"
#undef ENV
    LLFI_ENVS
} llfi_env_id;
const char *llfi_env_get(llfi_env_id); /* NULL when unset or empty */
void llfi_env_help(llfi_str *);

typedef enum {
#define LOG(id, text, meaning) LLFI_LOG_##id,
#include "log.def"
#undef LOG
    LLFI_LOGS
} llfi_log_id;
/* Parses "a,b" into a mask; an unknown topic fails with the legal ones. */
llf_status llfi_log_parse(llfi_diag *, const char *text, uint32_t *mask);

/* ---- context (context.c) */
struct llf_context {
    llf_allocator mem;
    llfi_diag diag;
    llf_status status; /* of creation; returned by llf_compile and llf_context_status */
    uint32_t log_mask;
    void (*log)(void *user, const char *topic, const char *line);
    void *log_user;
    char *dump_dir, *override_dir; /* NULL: off */
    struct llfi_log_lock *lock;    /* workers log; shared with what outlives the context */
    llfi_cache *kernels;           /* code of kernels; NULL: not kept. Shared likewise */
};
bool llfi_log_on(const llf_context *, llfi_log_id);
/* The lock behind "never twice at once": one, however many contexts log to the same place. */
struct llfi_log_lock *llfi_log_lock_create(const llf_allocator *); /* NULL: out of memory */
void llfi_log_lock_retain(struct llfi_log_lock *);
void llfi_log_lock_release(struct llfi_log_lock *); /* NULL is allowed */
/* One or more lines; multi-line text is split so that each line carries its topic. */
void llfi_log(const llf_context *, llfi_log_id, const char *fmt, ...) LLFI_PRINTF(3, 4);
void llfi_log_text(const llf_context *, llfi_log_id, const char *text, size_t bytes);
/* Writes `dump_dir`/`name` when dumping is on; a failure to write is E_IO. */
llf_status llfi_dump(llf_context *, const char *name, const char *text, size_t bytes);
/* Can that be the size of some version of a public struct? Half a field, or what an unset field held, cannot.
 */
bool llfi_struct_size_possible(size_t);
/* Whole file into memory of `mem` (NUL added, not counted). E_IO with the reason, E_LIMIT over `limit` bytes.
 */
llf_status llfi_read_file(const llf_allocator *, llfi_diag *, const char *path, size_t limit, char **text,
                          size_t *bytes);

double llfi_now_ms(void); /* monotonic clock */

#endif
