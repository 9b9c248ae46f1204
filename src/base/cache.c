/* cache.c: bytes kept under a key of bytes, compared in full, within a limit; shared by threads and by what
 * outlives its context. Must not fail its user: what finds no memory is not kept. Two generations: when the
 * young one has half of the limit, the old one is forgotten; what is found in the old one becomes young. */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct {
    size_t key_bytes, bytes;
    char data[]; /* key, value */
} entry;

typedef struct {
    llfi_map map;
    LLFI_VEC(entry *) entry; /* NULL: became young */
    size_t bytes;
} generation;

struct llfi_cache {
    llf_allocator mem;
    size_t limit;
    pthread_mutex_t mutex;
    atomic_int refs;
    generation young, old;
};

llfi_cache *llfi_cache_create(const llf_allocator *mem, size_t limit)
{
    llfi_cache *c = llfi_alloc_zero(mem, sizeof *c);
    if (c && pthread_mutex_init(&c->mutex, NULL) != 0) {
        llfi_free(mem, c, sizeof *c);
        return NULL;
    }
    if (c) {
        c->mem = *mem;
        c->limit = limit;
        atomic_init(&c->refs, 1);
    }
    return c;
}

void llfi_cache_retain(llfi_cache *c)
{
    if (c)
        atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

static size_t size_of(const entry *e)
{
    return sizeof *e + e->key_bytes + e->bytes;
}

static void forget(const llf_allocator *mem, generation *g)
{
    for (size_t i = 0; i < g->entry.count; i++)
        if (g->entry.at[i])
            llfi_free(mem, g->entry.at[i], size_of(g->entry.at[i]));
    llfi_vec_free(mem, &g->entry);
    llfi_map_free(mem, &g->map);
    *g = (generation){0};
}

void llfi_cache_release(llfi_cache *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    llf_allocator mem = c->mem;
    forget(&mem, &c->young);
    forget(&mem, &c->old);
    pthread_mutex_destroy(&c->mutex);
    llfi_free(&mem, c, sizeof *c);
}

static entry **find(generation *g, uint64_t hash, const char *key, size_t key_bytes)
{
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&g->map, hash, &cursor)) != UINT32_MAX;) {
        entry *e = g->entry.at[i];
        if (e && e->key_bytes == key_bytes && memcmp(e->data, key, key_bytes) == 0)
            return &g->entry.at[i];
    }
    return NULL;
}

/* Takes the entry, which fits a generation, or frees it. */
static void add(llfi_cache *c, uint64_t hash, entry *e)
{
    generation *g = &c->young;
    if (g->bytes + size_of(e) > c->limit / 2) {
        forget(&c->mem, &c->old);
        c->old = c->young;
        *g = (generation){0};
    }
    if (!llfi_vec_reserve(&c->mem, &g->entry, 1) ||
        !llfi_map_add(&c->mem, &g->map, hash, (uint32_t)g->entry.count)) {
        llfi_free(&c->mem, e, size_of(e));
        return;
    }
    g->entry.at[g->entry.count++] = e;
    g->bytes += size_of(e);
}

bool llfi_cache_get(llfi_cache *c, const llf_allocator *mem, const char *key, size_t key_bytes, char **value,
                    size_t *bytes)
{
    uint64_t hash = llfi_hash(0, key, key_bytes);
    *value = NULL;
    pthread_mutex_lock(&c->mutex);
    entry **at = find(&c->young, hash, key, key_bytes), *e = at ? *at : NULL;
    entry **aged = at ? NULL : find(&c->old, hash, key, key_bytes);
    if (aged)
        e = *aged;
    if (e && (*value = llfi_alloc(mem, e->bytes + 1))) {
        memcpy(*value, e->data + e->key_bytes, e->bytes);
        (*value)[e->bytes] = 0;
        *bytes = e->bytes;
    }
    if (aged) {
        *aged = NULL;
        add(c, hash, e);
    }
    pthread_mutex_unlock(&c->mutex);
    return *value != NULL;
}

void llfi_cache_put(llfi_cache *c, const char *key, size_t key_bytes, const char *value, size_t bytes)
{
    entry *e;
    size_t room = c->limit / 2; /* what fits no generation must not push out what does */
    if (room < sizeof *e || key_bytes > room - sizeof *e || bytes > room - sizeof *e - key_bytes)
        return;
    e = llfi_alloc(&c->mem, sizeof *e + key_bytes + bytes);
    if (!e)
        return;
    e->key_bytes = key_bytes;
    e->bytes = bytes;
    memcpy(e->data, key, key_bytes);
    memcpy(e->data + key_bytes, value, bytes);
    uint64_t hash = llfi_hash(0, key, key_bytes);
    pthread_mutex_lock(&c->mutex);
    if (find(&c->young, hash, key, key_bytes) ||
        find(&c->old, hash, key, key_bytes)) /* two at once made it */
        llfi_free(&c->mem, e, size_of(e));
    else
        add(c, hash, e);
    pthread_mutex_unlock(&c->mutex);
}
