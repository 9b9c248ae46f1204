/* plan_diff.c: what differs between two plans for one graph: kernels joined and split, nodes moved, values
 * recomputed elsewhere, and what each side moves. It judges neither. Cost: linear, but for sorting. */
#include "fuse/fuse.h"

/* Nodes whose first kernel is `a` in one plan and `b` in the other. */
typedef struct {
    uint32_t a, b, nodes;
} pair;

typedef struct {
    const llfi_plan_side *side;
    llfi_homes homes;
    llf_id *line;       /* nodes that are no leaf, in order */
    uint32_t *kinds;    /* by kernel: pairs that it is in */
    uint32_t *touches;  /* by kernel: buffers */
    int64_t *bytes;     /* by kernel */
    uint32_t transfers; /* sums */
    int64_t total;
} half;

typedef struct {
    half a, b;
    uint32_t lines;
    bool bytes; /* are shown */
    llfi_arena *arena;
    llfi_str *s;
    const llfi_value_name *names;
    LLFI_VEC(pair) pairs;
    llfi_map index;        /* (a, b) -> pair */
    uint32_t *by_a, *by_b; /* pairs by (a, b) and by (b, a) */
    uint32_t *main;        /* by kernel of a: where most of it is in b */
} diff;

static const llf_allocator *mem(const diff *d)
{
    return d->arena->mem;
}

/* ---- what there is */

static int64_t value_bytes(const llf_graph *g, llf_id id, const int64_t *symbol)
{
    llfi_type t = llfi_type_of(g, id);
    int64_t bytes;
    return llfi_type_size(g, t, symbol, llfi_dtypes[t.dtype].bytes, &bytes) == LLF_OK ? bytes : -1;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static bool measure(diff *d, half *h)
{
    const llfi_plan *p = h->side->plan;
    h->kinds = llfi_arena_alloc(d->arena, (p->kernels + 1) * sizeof *h->kinds);
    h->touches = llfi_arena_alloc(d->arena, (p->kernels + 1) * sizeof *h->touches);
    h->bytes = llfi_arena_alloc(d->arena, (p->kernels + 1) * sizeof *h->bytes);
    if (!h->kinds || !h->touches || !h->bytes)
        return false;
    for (uint32_t k = 0; k < p->kernels; k++) {
        llf_id *read;
        uint32_t reads;
        if (llfi_kernel_reads(h->side->g, p, k, d->arena, &read, &reads) != LLF_OK)
            return false;
        h->touches[k] = reads + p->kernel[k].stores;
        for (uint32_t i = 0; d->bytes && i < reads; i++)
            h->bytes[k] = plus(h->bytes[k], value_bytes(h->side->g, read[i], h->side->symbol));
        for (uint32_t i = 0; d->bytes && i < p->kernel[k].stores; i++)
            h->bytes[k] = plus(h->bytes[k], value_bytes(h->side->g, p->kernel[k].store[i], h->side->symbol));
        h->transfers += h->touches[k];
        h->total = plus(h->total, h->bytes[k]);
    }
    return true;
}

static bool home(const half *h, uint32_t line, uint32_t *kernel)
{
    uint32_t at = h->homes.first[h->line[line]];
    *kernel = at < h->homes.first[h->line[line] + 1] ? h->homes.kernel[at] : 0;
    return at < h->homes.first[h->line[line] + 1];
}

static bool count(diff *d, uint32_t a, uint32_t b)
{
    uint64_t hash = llfi_hash_u64(llfi_hash_u64(0, a), b);
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&d->index, hash, &cursor)) != UINT32_MAX;)
        if (d->pairs.at[i].a == a && d->pairs.at[i].b == b) {
            d->pairs.at[i].nodes++;
            return true;
        }
    uint32_t at = (uint32_t)d->pairs.count;
    if (!llfi_vec_reserve(mem(d), &d->pairs, 1) || !llfi_map_add(mem(d), &d->index, hash, at))
        return false;
    d->pairs.at[d->pairs.count++] = (pair){a, b, 1};
    d->a.kinds[a]++;
    d->b.kinds[b]++;
    return true;
}

static bool before_a(const void *user, uint32_t x, uint32_t y)
{
    const pair *p = user;
    return p[x].a != p[y].a ? p[x].a < p[y].a : p[x].b < p[y].b;
}

static bool before_b(const void *user, uint32_t x, uint32_t y)
{
    const pair *p = user;
    return p[x].b != p[y].b ? p[x].b < p[y].b : p[x].a < p[y].a;
}

static bool pair_up(diff *d)
{
    for (uint32_t i = 0; i < d->lines; i++) {
        uint32_t a, b;
        if (home(&d->a, i, &a) && home(&d->b, i, &b) && !count(d, a, b))
            return false;
    }
    uint32_t n = (uint32_t)d->pairs.count;
    d->by_a = llfi_arena_alloc(d->arena, (n + 1) * sizeof *d->by_a);
    d->by_b = llfi_arena_alloc(d->arena, (n + 1) * sizeof *d->by_b);
    d->main = llfi_arena_alloc(d->arena, (d->a.side->plan->kernels + 1) * sizeof *d->main);
    if (!d->by_a || !d->by_b || !d->main)
        return false;
    for (uint32_t i = 0; i < n; i++)
        d->by_a[i] = d->by_b[i] = i;
    llfi_sort(d->by_a, n, before_a, d->pairs.at);
    llfi_sort(d->by_b, n, before_b, d->pairs.at);
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        const pair *p = &d->pairs.at[d->by_a[i]];
        bool first = i == 0 || d->pairs.at[d->by_a[i - 1]].a != p->a;
        if (first || p->nodes > most) {
            most = p->nodes;
            d->main[p->a] = p->b;
        }
    }
    return true;
}

/* ---- the text */

static void kernel(diff *d, const half *h, uint32_t k, bool more)
{
    llfi_str_printf(d->s, "%sk%u (%u transfers", more ? ", " : "", k, h->touches[k]);
    if (d->bytes)
        llfi_str_printf(d->s, ", %lld bytes", (long long)h->bytes[k]);
    llfi_str_puts(d->s, ")");
}

static void head(diff *d, const half *h)
{
    llfi_str_printf(d->s, "%s: %u kernel%s, %u transfers", h->side->name, h->side->plan->kernels,
                    h->side->plan->kernels == 1 ? "" : "s", h->transfers);
    if (d->bytes)
        llfi_str_printf(d->s, ", %lld bytes", (long long)h->total);
    llfi_str_puts(d->s, "\n");
}

/* Kernels of a run of pairs that share their other end: is each wholly in it? */
static bool whole(const diff *d, const uint32_t *run, uint32_t n, bool of_a)
{
    bool all = true;
    for (uint32_t i = 0; i < n; i++)
        all = all && (of_a ? d->a.kinds[d->pairs.at[run[i]].a] : d->b.kinds[d->pairs.at[run[i]].b]) == 1;
    return all;
}

static void joined(diff *d)
{
    uint32_t n = (uint32_t)d->pairs.count;
    for (uint32_t at = 0, runs; at < n; at += runs) {
        uint32_t b = d->pairs.at[d->by_b[at]].b;
        for (runs = 0; at + runs < n && d->pairs.at[d->by_b[at + runs]].b == b;)
            runs++;
        if (runs == 1 || !whole(d, d->by_b + at, runs, true))
            continue;
        llfi_str_puts(d->s, "joined: ");
        for (uint32_t i = 0; i < runs; i++)
            kernel(d, &d->a, d->pairs.at[d->by_b[at + i]].a, i > 0);
        llfi_str_puts(d->s, " -> ");
        kernel(d, &d->b, b, false);
        llfi_str_puts(d->s, "\n");
    }
}

/* Kernels of a whose nodes are in several of b, and are all that these have. */
static void split(diff *d, bool *clean)
{
    uint32_t n = (uint32_t)d->pairs.count;
    for (uint32_t at = 0, runs; at < n; at += runs) {
        uint32_t a = d->pairs.at[d->by_a[at]].a;
        for (runs = 0; at + runs < n && d->pairs.at[d->by_a[at + runs]].a == a;)
            runs++;
        clean[a] = runs == 1 || whole(d, d->by_a + at, runs, false);
        if (runs == 1 || !clean[a])
            continue;
        llfi_str_puts(d->s, "split: ");
        kernel(d, &d->a, a, false);
        llfi_str_puts(d->s, " -> ");
        for (uint32_t i = 0; i < runs; i++)
            kernel(d, &d->b, d->pairs.at[d->by_a[at + i]].b, i > 0);
        llfi_str_puts(d->s, "\n");
    }
}

static void moved(diff *d, const bool *clean)
{
    for (uint32_t i = 0; i < d->lines; i++) {
        uint32_t a, b;
        if (!home(&d->a, i, &a) || !home(&d->b, i, &b) || clean[a] || d->main[a] == b)
            continue;
        llfi_str_puts(d->s, "moved: ");
        llfi_names_put(d->a.side->g, d->names, d->a.line[i], d->s);
        llfi_str_printf(d->s, " from k%u to k%u\n", a, b);
    }
}

/* Kernels that are the same, but run in another order. */
static void reordered(diff *d)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < d->pairs.count; i++) {
        const pair *p = &d->pairs.at[d->by_a[i]];
        if (d->a.kinds[p->a] != 1 || d->b.kinds[p->b] != 1)
            continue;
        if (p->b < last)
            llfi_str_printf(d->s, "reordered: k%u -> k%u\n", p->a, p->b);
        last = p->b > last ? p->b : last;
    }
}

static void kernels_of(diff *d, const half *h, llf_id id)
{
    for (uint32_t i = h->homes.first[id]; i < h->homes.first[id + 1]; i++)
        llfi_str_printf(d->s, "%sk%u", i > h->homes.first[id] ? ", " : "", h->homes.kernel[i]);
}

/* Does a value have other kernels, beyond what joining, splitting and moving its first says? `room` has room
 * for all kernels of a. */
static bool elsewhere(diff *d, uint32_t line, uint32_t *room)
{
    const llfi_homes *a = &d->a.homes, *b = &d->b.homes;
    uint32_t n = 0, distinct = 0, at = b->first[d->b.line[line]], end = b->first[d->b.line[line] + 1], own;
    uint32_t from = a->first[d->a.line[line]], to = a->first[d->a.line[line] + 1];
    if (to - from < 2 && end - at < 2)
        return false;
    home(&d->b, line, &own);
    for (uint32_t i = from; i < to; i++)
        room[n++] = i == from ? own : d->main[a->kernel[i]];
    llfi_sort(room, n, NULL, NULL);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || room[i] != room[i - 1])
            room[distinct++] = room[i];
    bool same = distinct == end - at;
    for (uint32_t i = 0; same && i < distinct; i++)
        same = room[i] == b->kernel[at + i];
    return !same;
}

static void recomputed(diff *d, uint32_t *room)
{
    for (uint32_t i = 0; i < d->lines; i++) {
        if (!elsewhere(d, i, room))
            continue;
        llfi_str_puts(d->s, "recomputed: ");
        llfi_names_put(d->a.side->g, d->names, d->a.line[i], d->s);
        llfi_str_puts(d->s, " in ");
        kernels_of(d, &d->a, d->a.line[i]);
        llfi_str_puts(d->s, " -> ");
        kernels_of(d, &d->b, d->b.line[i]);
        llfi_str_puts(d->s, "\n");
    }
}

static bool same_homes(const diff *d)
{
    bool same = true;
    for (uint32_t i = 0; same && i < d->lines; i++) {
        uint32_t a = d->a.homes.first[d->a.line[i]], b = d->b.homes.first[d->b.line[i]];
        uint32_t n = d->a.homes.first[d->a.line[i] + 1] - a;
        same = n == d->b.homes.first[d->b.line[i] + 1] - b &&
               (n == 0 || !memcmp(d->a.homes.kernel + a, d->b.homes.kernel + b, n * sizeof(uint32_t)));
    }
    return same;
}

static bool prepare(diff *d)
{
    const llf_graph *g = d->a.side->g;
    uint32_t lines;
    d->names = llfi_names_make(g, d->arena);
    d->a.line = llfi_lines_make(g, d->arena, &d->lines);
    d->b.line = llfi_lines_make(d->b.side->g, d->arena, &lines);
    return d->names && d->a.line && d->b.line && measure(d, &d->a) && measure(d, &d->b) &&
           llfi_homes_make(g, d->a.side->plan, d->arena, &d->a.homes) &&
           llfi_homes_make(d->b.side->g, d->b.side->plan, d->arena, &d->b.homes) && pair_up(d);
}

static llf_status compare(diff *d, bool *equal)
{
    llfi_difference other;
    llfi_diag *diag = &d->a.side->g->cx->diag;
    LLF_TRY(llfi_same(d->a.side->g, d->a.side->name, d->b.side->g, d->b.side->name, d->arena, &other));
    if (other.differs)
        return llfi_fail(diag, LLF_E_PLAN, "the plans are for different graphs: %s", other.text);
    bool *clean = llfi_arena_alloc(d->arena, d->a.side->plan->kernels + 1u);
    uint32_t *room = llfi_arena_alloc(d->arena, (d->a.side->plan->kernels + 1) * sizeof *room);
    if (!clean || !room || !prepare(d))
        return llfi_nomem(diag);
    *equal = same_homes(d);
    head(d, &d->a);
    head(d, &d->b);
    if (!*equal) {
        joined(d);
        split(d, clean);
        moved(d, clean);
        reordered(d);
        recomputed(d, room);
    }
    return d->s->failed ? llfi_nomem(diag) : LLF_OK;
}

llf_status llfi_plan_diff(const llfi_plan_side *a, const llfi_plan_side *b, llfi_str *s, bool *equal)
{
    llfi_arena arena;
    llfi_arena_init(&arena, &a->g->cx->mem);
    diff d = {.a = {.side = a}, .b = {.side = b}, .bytes = a->symbol && b->symbol, .arena = &arena, .s = s};
    llf_status st = compare(&d, equal);
    llfi_vec_free(mem(&d), &d.pairs);
    llfi_map_free(mem(&d), &d.index);
    llfi_arena_destroy(&arena);
    return st;
}
