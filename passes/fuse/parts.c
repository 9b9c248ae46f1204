/* parts.c: which part of its kernel each node is in: the definition in plan.h, from members and stores alone,
 * so that a plan read from labels has the parts of the plan that was printed. It judges nothing and moves no
 * node between kernels. Cost: linear in the members of the parts, a value in several parts counted in each.
 */
#include "fuse/fuse.h"

#define NONE UINT32_MAX

typedef struct {
    uint32_t inside; /* last kernel that has it, plus 1 */
    uint32_t seen;   /* last walk that met it */
    uint32_t parent; /* union-find of that walk */
    uint32_t part;   /* of its root, where `walk` is that walk */
    uint32_t walk;
} state;

struct llfi_parts {
    const llf_graph *g;
    const llf_id *source;
    llfi_arena *scratch;
    state *at;     /* by node */
    llf_id *stack; /* room for every node */
    uint32_t kernels, walks;
};

llfi_parts *llfi_parts_begin(const llf_graph *g, const llf_id *source, llfi_arena *scratch)
{
    llfi_parts *p = llfi_arena_alloc(scratch, sizeof *p);
    size_t n = g->nodes.count + 1;
    if (!p)
        return NULL;
    *p = (llfi_parts){.g = g, .source = source, .scratch = scratch};
    p->at = llfi_arena_alloc(scratch, n * sizeof *p->at);
    p->stack = llfi_arena_alloc(scratch, n * sizeof *p->stack);
    return p->at && p->stack ? p : NULL;
}

static uint32_t root(const llfi_parts *p, uint32_t id)
{
    while (p->at[id].parent != id)
        id = p->at[id].parent = p->at[p->at[id].parent].parent;
    return id;
}

static bool inside(const llfi_parts *p, llf_id id)
{
    return p->at[id].inside == p->kernels;
}

/* First meeting in this walk? */
static bool fresh(llfi_parts *p, llf_id id)
{
    if (p->at[id].seen == p->walks)
        return false;
    p->at[id].seen = p->walks;
    p->at[id].parent = id;
    return true;
}

/* Joins what one space's stored values are computed from: `store` are those values. */
static void join(llfi_parts *p, const llf_id *store, const uint32_t *next, uint32_t first)
{
    uint32_t depth = 0;
    p->walks++;
    for (uint32_t i = first; i != NONE; i = next[i])
        if (fresh(p, store[i]))
            p->stack[depth++] = store[i];
    bool scalars = llfi_type_of(p->g, store[first]).rank == 0;
    while (depth) {
        llf_id id = p->stack[--depth];
        const llfi_node *n = llfi_node_at(p->g, id);
        for (uint32_t a = 0; a < n->arity; a++) {
            llf_id from = p->source[llfi_args(p->g, n)[a]];
            if (!llfi_node_is_buffered(llfi_node_at(p->g, from)) ||
                (!scalars && !llfi_type_of(p->g, from).rank))
                continue;
            if (fresh(p, from) && inside(p, from))
                p->stack[depth++] = from;
            p->at[root(p, from)].parent = root(p, id);
        }
    }
}

/* Part of each store; their number. */
static uint32_t label(llfi_parts *p, const llf_id *store, const uint32_t *next, uint32_t first,
                      uint32_t *part, uint32_t parts)
{
    for (uint32_t i = first; i != NONE; i = next[i]) {
        state *r = &p->at[root(p, store[i])];
        if (r->walk != p->walks) {
            r->walk = p->walks;
            r->part = parts++;
        }
        part[i] = r->part;
    }
    return parts;
}

typedef struct {
    uint32_t first, last; /* stores, by llfi_parts_find's next */
} space;

/* Lists the stores of each space; their number, or NONE without memory. */
static uint32_t spaces(llfi_parts *p, const llfi_kernel *k, space *s, uint32_t *next)
{
    llfi_map map = {0};
    uint32_t n = 0;
    bool ok = true;
    for (uint32_t i = 0; i < k->stores && ok; i++) {
        llfi_type t = llfi_type_of(p->g, k->store[i]);
        uint64_t hash = llfi_hash_u64(0, t.rank);
        for (uint32_t d = 0; d < t.rank; d++)
            hash = llfi_hash_u64(hash, t.dim[d]);
        size_t cursor = 0;
        uint32_t at;
        while ((at = llfi_map_next(&map, hash, &cursor)) != NONE &&
               !llfi_type_same_dims(t, llfi_type_of(p->g, k->store[s[at].first])))
            ;
        next[i] = NONE;
        if (at == NONE) {
            ok = llfi_map_add(p->scratch->mem, &map, hash, n);
            s[n++] = (space){i, i};
        } else {
            next[s[at].last] = i;
            s[at].last = i;
        }
    }
    llfi_map_free(p->scratch->mem, &map);
    return ok ? n : NONE;
}

/* Members of a part, whose stores are there: all ranks. */
static bool gather(llfi_parts *p, llfi_arena *arena, llfi_kernel *part)
{
    uint32_t depth = 0, n = 0;
    llf_id *found =
        p->stack + p->g->nodes.count; /* the stack grows from below: each node is on one of them */
    p->walks++;
    for (uint32_t i = 0; i < part->stores; i++)
        if (fresh(p, part->store[i]))
            p->stack[depth++] = part->store[i];
    while (depth) {
        llf_id id = p->stack[--depth];
        const llfi_node *node = llfi_node_at(p->g, id);
        *--found = id;
        n++;
        for (uint32_t a = 0; a < node->arity; a++) {
            llf_id from = p->source[llfi_args(p->g, node)[a]];
            if (inside(p, from) && fresh(p, from))
                p->stack[depth++] = from;
        }
    }
    part->members = n;
    part->member = llfi_arena_alloc(arena, n * sizeof *part->member);
    if (!part->member)
        return false;
    memcpy(part->member, found, n * sizeof *part->member);
    llfi_sort(part->member, n, NULL, NULL);
    return true;
}

/* `of` gives each store's part, numbered in order of the stores. */
static bool fill(llfi_parts *p, llfi_arena *arena, llfi_kernel *k, const uint32_t *of)
{
    k->part = llfi_arena_alloc(arena, k->parts * sizeof *k->part);
    llf_id *store = llfi_arena_alloc(arena, k->stores * sizeof *store);
    if (!k->part || !store)
        return false;
    for (uint32_t i = 0; i < k->stores; i++)
        k->part[of[i]].stores++;
    for (uint32_t i = 0; i < k->parts; i++) {
        k->part[i].store = store;
        store += k->part[i].stores;
        k->part[i].stores = 0;
        k->part[i].parts = 1;
    }
    for (uint32_t i = 0; i < k->stores; i++) {
        llfi_kernel *part = &k->part[of[i]];
        part->store[part->stores++] = k->store[i];
        part->space = llfi_node_at(p->g, k->store[i])->type;
    }
    for (uint32_t i = 0; i < k->parts; i++)
        if (!gather(p, arena, &k->part[i]))
            return false;
    k->space = k->part[0].space;
    return true;
}

llf_status llfi_parts_find(llfi_parts *p, llfi_arena *arena, llfi_kernel *k)
{
    k->parts = 1;
    k->part = NULL;
    k->reduced = 0;
    for (uint32_t i = 0; i < k->members && !k->reduced; i++) {
        k->reduced = llfi_reduced_of(p->g, k->member[i]);
        k->space = k->reduced ? llfi_space_of(p->g, k->member[i]) : k->space;
    }
    if (k->stores < 2 || k->reduced)
        return LLF_OK;
    p->kernels++;
    for (uint32_t i = 0; i < k->members; i++)
        p->at[k->member[i]].inside = p->kernels;
    uint32_t *next = llfi_alloc_zero(p->scratch->mem, 3 * (size_t)k->stores * sizeof *next);
    space *s = llfi_alloc_zero(p->scratch->mem, k->stores * sizeof *s);
    uint32_t *part = next ? next + k->stores : NULL, *number = next ? part + k->stores : NULL, parts = 0;
    uint32_t n = next && s ? spaces(p, k, s, next) : NONE;
    for (uint32_t i = 0; i < n && n != NONE; i++) {
        join(p, k->store, next, s[i].first);
        parts = label(p, k->store, next, s[i].first, part, parts);
    }
    k->parts = 0;
    for (uint32_t i = 0; i < k->stores && n != NONE; i++) { /* in order of the lowest store */
        if (!number[part[i]])
            number[part[i]] = ++k->parts;
        part[i] = number[part[i]] - 1;
    }
    bool ok = n != NONE && (k->parts == 1 || fill(p, arena, k, part));
    llfi_free(p->scratch->mem, next, 3 * (size_t)k->stores * sizeof *next);
    llfi_free(p->scratch->mem, s, k->stores * sizeof *s);
    return ok ? LLF_OK : llfi_nomem(p->g->cx ? &p->g->cx->diag : NULL);
}

llf_status llfi_plan_parts(const llf_graph *g, llfi_plan *plan)
{
    llfi_arena scratch;
    llfi_arena_init(&scratch, plan->mem);
    const llf_id *source = llfi_sources_make(g, &scratch);
    llfi_parts *p = source ? llfi_parts_begin(g, source, &scratch) : NULL;
    llf_status status = p ? LLF_OK : llfi_nomem(g->cx ? &g->cx->diag : NULL);
    for (uint32_t k = 0; status == LLF_OK && k < plan->kernels; k++)
        status = llfi_parts_find(p, &plan->arena, &plan->kernel[k]);
    llfi_arena_destroy(&scratch);
    return status;
}
