/* buffers.c: which values need workspace, for how long, and where each lies. Lifetimes are the plan's and are
 * found at compile; sizes are known at prepare. Must not look at a device. */
#include "runtime/program.h"

#define ALIGN ((size_t)256)
#define SCAN 64 /* free blocks looked at for one value: keeps placing linear */
#define NIL UINT32_MAX

/* ---- lifetimes */

typedef struct {
    llf_program *p;
    uint32_t *member;   /* by node: the part, of all counted from 1, that computes it right now */
    uint32_t *stored;   /* by node: 1 + kernel that stores it */
    uint32_t *read_end; /* by node: 1 + last kernel that reads it from memory */
    uint32_t *read_part, *stored_part; /* by node: of those kernels */
    bool *output;                      /* by node */
    const llf_id *source;              /* by node: behind its views */
} lives;

static void read_by(const lives *v, llf_id id, uint32_t k, uint32_t part)
{
    bool other = v->read_end[id] == k + 1 && v->read_part[id] != part;
    v->read_end[id] = k + 1;
    v->read_part[id] = other ? LLFI_PARTS_SEVERAL : part;
}

static void walk_part(const lives *v, uint32_t k, uint32_t part, uint32_t stamp)
{
    const llfi_kernel *kernel = llfi_kernel_part(&v->p->plan.kernel[k], part);
    for (uint32_t i = 0; i < kernel->members; i++)
        v->member[kernel->member[i]] = stamp;
    for (uint32_t i = 0; i < kernel->members; i++) {
        const llfi_node *n = llfi_node_at(v->p->graph, kernel->member[i]);
        for (uint32_t a = 0; a < n->arity; a++)
            if (v->member[v->source[llfi_args(v->p->graph, n)[a]]] != stamp)
                read_by(v, v->source[llfi_args(v->p->graph, n)[a]], k, part);
    }
    for (uint32_t i = 0; i < kernel->stores; i++)
        if (!v->stored[kernel->store[i]]) {
            v->stored[kernel->store[i]] = k + 1;
            v->stored_part[kernel->store[i]] = part;
        }
}

static void walk_kernels(const lives *v)
{
    uint32_t stamp = 0;
    for (uint32_t k = 0; k < v->p->plan.kernels; k++)
        for (uint32_t i = 0; i < v->p->plan.kernel[k].parts; i++)
            walk_part(v, k, i, ++stamp);
}

/* Temps in order of the kernel that writes them, which is the order in which they are placed. */
static void list_temps(const lives *v)
{
    llf_program *p = v->p;
    for (uint32_t k = 0; k < p->plan.kernels; k++) {
        const llfi_kernel *kernel = &p->plan.kernel[k];
        for (uint32_t i = 0; i < kernel->stores; i++) {
            llf_id id = kernel->store[i];
            if (v->output[id] || v->stored[id] != k + 1)
                continue;
            uint32_t end = v->read_end[id];
            p->temp[p->temps++] = (llfi_program_temp){id, k, end > k + 1 ? end - 1 : k};
        }
    }
}

llf_status llfi_buffers_describe(llf_program *p, llfi_arena *scratch)
{
    const llf_graph *g = p->graph;
    size_t nodes = g->nodes.count, inputs = g->inputs.count, outputs = g->outputs.count, stores = 0;
    for (uint32_t k = 0; k < p->plan.kernels; k++)
        stores += p->plan.kernel[k].stores;
    lives v = {.p = p,
               .member = llfi_arena_alloc(scratch, nodes * sizeof *v.member),
               .stored = llfi_arena_alloc(scratch, nodes * sizeof *v.stored),
               .read_end = llfi_arena_alloc(scratch, nodes * sizeof *v.read_end),
               .read_part = llfi_arena_alloc(scratch, nodes * sizeof *v.read_part),
               .stored_part = llfi_arena_alloc(scratch, nodes * sizeof *v.stored_part),
               .output = llfi_arena_alloc(scratch, nodes * sizeof *v.output),
               .source = llfi_sources_make(g, scratch)};
    p->temp = llfi_arena_alloc(&p->arena, stores * sizeof *p->temp);
    p->read_end = llfi_arena_alloc(&p->arena, inputs * sizeof *p->read_end);
    p->stored_by = llfi_arena_alloc(&p->arena, outputs * sizeof *p->stored_by);
    p->read_part = llfi_arena_alloc(&p->arena, inputs * sizeof *p->read_part);
    p->stored_part = llfi_arena_alloc(&p->arena, outputs * sizeof *p->stored_part);
    if (!v.member || !v.stored || !v.read_end || !v.read_part || !v.stored_part || !v.output || !v.source ||
        !p->temp || !p->read_end || !p->stored_by || !p->read_part || !p->stored_part)
        return llfi_nomem(&p->cx.diag);
    for (size_t i = 0; i < outputs; i++)
        v.output[g->outputs.at[i]] = true;
    walk_kernels(&v);
    list_temps(&v);
    for (size_t i = 0; i < inputs; i++) {
        p->read_end[i] = v.read_end[g->inputs.at[i]];
        p->read_part[i] = v.read_part[g->inputs.at[i]];
    }
    for (size_t i = 0; i < outputs; i++) {
        uint32_t by = v.stored[g->outputs.at[i]];
        if (!by)
            return llfi_fail(&p->cx.diag, LLF_E_INTERNAL, "no kernel stores output %zu", i);
        p->stored_by[i] = by - 1;
        p->stored_part[i] = v.stored_part[g->outputs.at[i]];
    }
    return LLF_OK;
}

/* ---- places: first fit over blocks that free and merge as their values die */

typedef struct {
    size_t at, bytes;
    uint32_t below, above;           /* neighbours by address */
    uint32_t free_before, free_next; /* in the free list */
    bool free;
} block;

typedef struct {
    block *at;
    uint32_t count, top, free_head;
    size_t total;
} space;

static void unlink_free(space *s, uint32_t b)
{
    block *x = &s->at[b];
    if (x->free_before != NIL)
        s->at[x->free_before].free_next = x->free_next;
    else
        s->free_head = x->free_next;
    if (x->free_next != NIL)
        s->at[x->free_next].free_before = x->free_before;
    x->free = false;
}

static void link_free(space *s, uint32_t b)
{
    block *x = &s->at[b];
    x->free = true;
    x->free_before = NIL;
    x->free_next = s->free_head;
    if (s->free_head != NIL)
        s->at[s->free_head].free_before = b;
    s->free_head = b;
}

/* Block `b` takes over the one above it. */
static void swallow(space *s, uint32_t b)
{
    block *x = &s->at[b], *y = &s->at[x->above];
    x->bytes += y->bytes;
    x->above = y->above;
    if (x->above != NIL)
        s->at[x->above].below = b;
    else
        s->top = b;
}

static void give(space *s, uint32_t b)
{
    uint32_t below = s->at[b].below, above = s->at[b].above;
    if (above != NIL && s->at[above].free) {
        unlink_free(s, above);
        swallow(s, b);
    }
    if (below != NIL && s->at[below].free) {
        unlink_free(s, below);
        swallow(s, below);
        b = below;
    }
    link_free(s, b);
}

/* Cuts block `b` to `bytes`; the rest becomes a free block. */
static void cut(space *s, uint32_t b, size_t bytes)
{
    block *x = &s->at[b];
    if (x->bytes == bytes)
        return;
    uint32_t r = s->count++;
    s->at[r] = (block){.at = x->at + bytes, .bytes = x->bytes - bytes, .below = b, .above = x->above};
    if (x->above != NIL)
        s->at[x->above].below = r;
    else
        s->top = r;
    x->above = r;
    x->bytes = bytes;
    link_free(s, r);
}

/* Index of a block of `bytes`, or NIL when the space would overflow. */
static uint32_t take(space *s, size_t bytes)
{
    uint32_t b = s->free_head;
    for (int seen = 0; b != NIL && seen < SCAN; seen++, b = s->at[b].free_next) {
        if (s->at[b].bytes >= bytes) {
            unlink_free(s, b);
            cut(s, b, bytes);
            return b;
        }
    }
    size_t reuse = s->top != NIL && s->at[s->top].free ? s->at[s->top].bytes : 0;
    if (reuse >= bytes) { /* beyond the scan, but there */
        b = s->top;
        unlink_free(s, b);
        cut(s, b, bytes);
        return b;
    }
    if (bytes - reuse > SIZE_MAX / 2 - s->total)
        return NIL;
    size_t start = s->total - reuse;
    s->total = start + bytes;
    if (reuse) {
        b = s->top;
        unlink_free(s, b);
        s->at[b].bytes = bytes;
        return b;
    }
    b = s->count++;
    s->at[b] = (block){.at = start, .bytes = bytes, .below = s->top, .above = NIL};
    if (s->top != NIL)
        s->at[s->top].above = b;
    s->top = b;
    return b;
}

static bool place_all(space *s, const llfi_program_temp *temp, uint32_t temps, const uint32_t *dying,
                      const size_t *bytes, uint32_t *held, size_t *offset)
{
    uint32_t next_death = 0;
    for (uint32_t i = 0; i < temps; i++) {
        /* What was last read by an earlier kernel is free; what this kernel reads is not. */
        for (; next_death < temps && temp[dying[next_death]].last < temp[i].first; next_death++)
            if (held[dying[next_death]] != NIL)
                give(s, held[dying[next_death]]);
        held[i] = NIL;
        offset[i] = 0;
        if (bytes[i] == 0)
            continue;
        if (bytes[i] > SIZE_MAX / 2)
            return false;
        held[i] = take(s, (bytes[i] + ALIGN - 1) / ALIGN * ALIGN);
        if (held[i] == NIL)
            return false;
        offset[i] = s->at[held[i]].at;
    }
    return true;
}

/* Temps by last reader: a counting sort, since both ends are kernel numbers. */
static bool sort_deaths(llfi_arena *a, const llfi_program_temp *temp, uint32_t temps, uint32_t *dying)
{
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < temps; i++)
        kernels = temp[i].last >= kernels ? temp[i].last + 1 : kernels;
    uint32_t *start = llfi_arena_alloc(a, ((size_t)kernels + 1) * sizeof *start);
    if (!start)
        return false;
    for (uint32_t i = 0; i < temps; i++)
        start[temp[i].last + 1]++;
    for (uint32_t k = 0; k < kernels; k++)
        start[k + 1] += start[k];
    for (uint32_t i = 0; i < temps; i++)
        dying[start[temp[i].last]++] = i;
    return true;
}

llf_status llfi_buffers_place(llfi_diag *d, const llf_allocator *mem, const llfi_program_temp *temp,
                              uint32_t temps, const size_t *bytes, size_t *offset, size_t *total)
{
    *total = 0;
    if (temps == 0)
        return LLF_OK;
    llfi_arena scratch;
    llfi_arena_init(&scratch, mem);
    /* Each value adds at most its own block and a rest. */
    space s = {.at = llfi_arena_alloc(&scratch, ((size_t)temps * 2 + 1) * sizeof *s.at),
               .top = NIL,
               .free_head = NIL};
    uint32_t *dying = llfi_arena_alloc(&scratch, temps * sizeof *dying);
    uint32_t *held = llfi_arena_alloc(&scratch, temps * sizeof *held);
    llf_status status = LLF_OK;
    if (!s.at || !dying || !held || !sort_deaths(&scratch, temp, temps, dying))
        status = llfi_nomem(d);
    else if (!place_all(&s, temp, temps, dying, bytes, held, offset))
        status =
            llfi_fail(d, LLF_E_LIMIT, "the intermediate values need more memory than there are addresses");
    *total = s.total;
    llfi_arena_destroy(&scratch);
    return status;
}
