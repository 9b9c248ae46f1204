/* hash.c: a 64-bit hash (bytes read as little-endian words, multiplied and folded) and an open-addressing
 * map. Must give the same values on every machine: names of kernels and plans carry them. Never iterate a
 * map. */
#include "base/base.h"

#define EMPTY UINT32_MAX

/* splitmix64's finaliser: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t llfi_hash_u64(uint64_t seed, uint64_t value)
{
    return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ value);
}

uint64_t llfi_hash(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t h = llfi_hash_u64(seed, (uint64_t)bytes);
    while (bytes) {
        size_t n = bytes < 8 ? bytes : 8;
        uint64_t word = 0;
        for (size_t i = 0; i < n; i++)
            word |= (uint64_t)p[i] << (8 * i);
        h = mix(h * UINT64_C(0x9e3779b97f4a7c15) ^ word);
        p += n;
        bytes -= n;
    }
    return h;
}

uint32_t llfi_map_next(const llfi_map *m, uint64_t hash, size_t *cursor)
{
    while (*cursor < m->cap) {
        size_t i = ((size_t)hash + *cursor) & (m->cap - 1);
        ++*cursor;
        if (m->value[i] == EMPTY)
            break;
        if (m->hash[i] == hash)
            return m->value[i];
    }
    return EMPTY;
}

static void put(llfi_map *m, uint64_t hash, uint32_t value)
{
    size_t i = (size_t)hash & (m->cap - 1);
    while (m->value[i] != EMPTY)
        i = (i + 1) & (m->cap - 1);
    m->hash[i] = hash;
    m->value[i] = value;
}

bool llfi_map_add(const llf_allocator *mem, llfi_map *m, uint64_t hash, uint32_t value)
{
    if (m->count >= m->cap / 2) {
        llfi_map bigger = {.count = m->count, .cap = m->cap ? m->cap * 2 : 16};
        bigger.hash = llfi_alloc(mem, bigger.cap * sizeof *bigger.hash);
        bigger.value = llfi_alloc(mem, bigger.cap * sizeof *bigger.value);
        if (!bigger.hash || !bigger.value) {
            llfi_map_free(mem, &bigger);
            return false;
        }
        memset(bigger.value, 0xff, bigger.cap * sizeof *bigger.value);
        for (size_t i = 0; i < m->cap; i++) {
            if (m->value[i] != EMPTY)
                put(&bigger, m->hash[i], m->value[i]);
        }
        llfi_map_free(mem, m);
        *m = bigger;
    }
    put(m, hash, value);
    m->count++;
    return true;
}

void llfi_map_free(const llf_allocator *mem, llfi_map *m)
{
    llfi_free(mem, m->hash, m->cap * sizeof *m->hash);
    llfi_free(mem, m->value, m->cap * sizeof *m->value);
    *m = (llfi_map){0};
}
