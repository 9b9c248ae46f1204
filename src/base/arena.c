/* arena.c: bump allocation in blocks that double; freed at once.
 * Must not free single objects, and knows nothing of what lies in it. */
#include "base/base.h"

#define ALIGN ((size_t)16)
#define FIRST_BLOCK ((size_t)4096)
#define LARGEST_STEP ((size_t)1 << 22)

struct llfi_arena_block {
    llfi_arena_block *before;
    size_t size, used; /* of the bytes behind this header */
};

#define HEADER ((sizeof(llfi_arena_block) + ALIGN - 1) / ALIGN * ALIGN)

static bool add_block(llfi_arena *a, size_t want)
{
    size_t size = a->block ? a->block->size * 2 : FIRST_BLOCK - HEADER;
    if (size > LARGEST_STEP)
        size = LARGEST_STEP;
    if (size < want)
        size = want;
    if (size > SIZE_MAX - HEADER)
        return false;
    llfi_arena_block *b = llfi_alloc(a->mem, HEADER + size);
    if (!b)
        return false;
    *b = (llfi_arena_block){a->block, size, 0};
    a->block = b;
    return true;
}

void llfi_arena_init(llfi_arena *a, const llf_allocator *mem)
{
    a->mem = mem;
    a->block = NULL;
}

void *llfi_arena_alloc(llfi_arena *a, size_t size)
{
    if (size > SIZE_MAX - ALIGN)
        return NULL;
    size_t padded = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (padded == 0)
        padded = ALIGN;
    if (!a->block || a->block->size - a->block->used < padded) {
        if (!add_block(a, padded))
            return NULL;
    }
    char *p = (char *)a->block + HEADER + a->block->used;
    a->block->used += padded;
    memset(p, 0, padded);
    return p;
}

char *llfi_arena_copy(llfi_arena *a, const char *text, size_t bytes)
{
    if (bytes == SIZE_MAX)
        return NULL;
    char *p = llfi_arena_alloc(a, bytes + 1);
    if (p && bytes)
        memcpy(p, text, bytes);
    return p;
}

static void free_blocks(llfi_arena *a, llfi_arena_block *b)
{
    while (b) {
        llfi_arena_block *before = b->before;
        llfi_free(a->mem, b, HEADER + b->size);
        b = before;
    }
}

void llfi_arena_reset(llfi_arena *a)
{
    if (!a->block)
        return;
    free_blocks(a, a->block->before);
    a->block->before = NULL;
    a->block->used = 0;
}

void llfi_arena_destroy(llfi_arena *a)
{
    free_blocks(a, a->block);
    a->block = NULL;
}
