/* random_plan.c: see random_plan.h. The rules are written down here once more, on sets of nodes and by brute
 * force: nothing is shared with the search, the reader or the verifier of plans. */
#include "random_plan.h"

#include "lower/demand.h"
#include "passes/pass.h"

#define MOST 400u      /* nodes; larger graphs are given up */
#define MOST_NODES 512 /* defaults of params.def */
#define MOST_BUFFERS 96

typedef struct {
    bool has[MOST][MOST]; /* by kernel, by node */
    uint32_t owner[MOST]; /* by node: the kernel that stores it, if any must */
} state;

typedef struct {
    llf_graph *g;
    uint32_t n;
    const llf_id *source;
    bool computes[MOST]; /* live, and in some kernel */
    bool output[MOST];
    state now, before;
    bool stored[MOST];
    uint32_t order[MOST], kernels; /* kernels in launch order */
    rg_random *random;
} planner;

/* ---- what a state means */

static bool reads(const planner *p, llf_id u, llf_id v)
{
    const llfi_node *node = llfi_node_at(p->g, u);
    bool any = false;
    for (uint32_t k = 0; k < node->arity; k++)
        any = any || p->source[llfi_args(p->g, node)[k]] == v;
    return any;
}

/* Further results aside: they are where their op is. */
static bool used_inside(const planner *p, uint32_t kernel, llf_id v)
{
    bool any = false;
    for (llf_id u = v + 1; u < p->n && !any; u++)
        any = p->now.has[kernel][u] && reads(p, u, v) && llfi_maker(p->g, u) == u;
    return any;
}

/* The values that go with one: its op's. */
static uint32_t group_of(const planner *p, llf_id v, llf_id *first)
{
    uint32_t n = 1;
    *first = llfi_maker(p->g, v);
    while (*first + n < p->n && llfi_maker(p->g, *first + n) == *first)
        n++;
    return n;
}

static void put(planner *p, uint32_t kernel, llf_id v, bool has)
{
    llf_id first;
    uint32_t n = group_of(p, v, &first);
    for (llf_id u = first; u < first + n; u++)
        p->now.has[kernel][u] = has && p->computes[u];
}

static void own(planner *p, uint32_t kernel, llf_id v)
{
    llf_id first;
    uint32_t n = group_of(p, v, &first);
    for (llf_id u = first; u < first + n; u++)
        p->now.owner[u] = kernel;
}

/* Is a label of `v` there for something? */
static bool serves(const planner *p, uint32_t kernel, llf_id v)
{
    llf_id first;
    uint32_t n = group_of(p, v, &first);
    bool any = false;
    for (llf_id u = first; u < first + n && !any; u++)
        any = (p->stored[u] && p->now.owner[u] == kernel) || used_inside(p, kernel, u);
    return any;
}

static void find_stored(planner *p)
{
    memcpy(p->stored, p->output, sizeof p->stored);
    for (uint32_t k = 0; k < p->n; k++)
        for (llf_id u = 0; u < p->n; u++) {
            const llfi_node *node = llfi_node_at(p->g, u);
            for (uint32_t a = 0; p->now.has[k][u] && a < node->arity; a++) {
                llf_id v = p->source[llfi_args(p->g, node)[a]];
                p->stored[v] = p->stored[v] || (p->computes[v] && !p->now.has[k][v]);
            }
        }
}

/* Takes labels away that serve nothing; the owner of a value moves to a kernel that still has it. */
static void clean(planner *p)
{
    for (bool more = true; more;) {
        more = false;
        find_stored(p);
        for (uint32_t k = 0; k < p->n; k++)
            for (llf_id v = 0; v < p->n; v++) {
                if (!p->now.has[k][v] || serves(p, k, v))
                    continue;
                put(p, k, v, false);
                more = true;
                for (uint32_t o = 0; p->now.owner[v] == k && o < p->n; o++)
                    if (p->now.has[o][v])
                        own(p, o, v);
            }
    }
}

/* Must kernel a run before kernel b? */
static bool before(const planner *p, uint32_t a, uint32_t b)
{
    for (llf_id v = 0; v < p->n; v++) {
        if (!p->stored[v] || p->now.owner[v] != a)
            continue;
        if (p->now.has[b][v])
            return true; /* the lowest number stores */
        for (llf_id u = v + 1; u < p->n; u++)
            if (p->now.has[b][u] && reads(p, u, v))
                return true;
    }
    return false;
}

static bool any_in(const planner *p, uint32_t k)
{
    bool any = false;
    for (llf_id v = 0; v < p->n; v++)
        any = any || p->now.has[k][v];
    return any;
}

/* A random order of launches; false: there is none. */
static bool find_order(planner *p)
{
    static _Thread_local bool edge[MOST][MOST];
    bool left[MOST];
    uint32_t alive = 0;
    p->kernels = 0;
    for (uint32_t k = 0; k < p->n; k++)
        alive += left[k] = any_in(p, k);
    for (uint32_t a = 0; a < p->n; a++)
        for (uint32_t b = 0; left[a] && b < p->n; b++)
            edge[a][b] = a != b && left[b] && before(p, a, b);
    while (p->kernels < alive) {
        uint32_t ready[MOST], readies = 0;
        for (uint32_t b = 0; b < p->n; b++) {
            bool free = left[b];
            for (uint32_t a = 0; a < p->n && free; a++)
                free = !left[a] || !edge[a][b];
            if (free)
                ready[readies++] = b;
        }
        if (!readies)
            return false;
        uint32_t next = ready[rg_below(p->random, readies)];
        left[next] = false;
        p->order[p->kernels++] = next;
    }
    return true;
}

/* What one stored value is computed from inside its kernel, and what tells its part from others of its dims:
 * members and tensors of rank > 0, or of rank 0 where it has that rank itself. */
typedef struct {
    bool has[MOST], touches[MOST];
} cone;

static void look_back(const planner *p, uint32_t k, llf_id store, cone *c)
{
    bool scalars = llfi_type_of(p->g, store).rank == 0;
    *c = (cone){0};
    c->has[store] = true;
    for (llf_id v = store + 1; v-- > 0;) {
        const llfi_node *node = llfi_node_at(p->g, v);
        bool ranked = llfi_type_of(p->g, v).rank > 0;
        c->touches[v] = (c->has[v] || c->touches[v]) && (scalars || ranked) && llfi_node_is_buffered(node);
        for (uint32_t a = 0; c->has[v] && a < node->arity; a++) {
            llf_id from = p->source[llfi_args(p->g, node)[a]];
            c->has[from] = p->now.has[k][from];
            c->touches[from] = true;
        }
    }
}

/* Parts by the definition in docs/plans.md: part[i] of store[i], each the lowest store of its part. */
static void find_parts(const planner *p, const llf_id *store, const cone *c, uint32_t stores, uint32_t *part)
{
    for (uint32_t i = 0; i < stores; i++)
        part[i] = i;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < stores; i++)
            for (uint32_t j = 0; j < i; j++) {
                bool meet = false;
                for (llf_id v = 0; v < p->n && part[j] != part[i]; v++)
                    meet = meet || (c[i].touches[v] && c[j].touches[v]);
                if (!meet || !llfi_type_same_dims(llfi_type_of(p->g, store[i]), llfi_type_of(p->g, store[j])))
                    continue;
                part[i] = part[j] = part[i] < part[j] ? part[i] : part[j];
                more = true;
            }
    }
}

/* ---- reductions: one part, whatever its stores have in common */

/* What a kernel with reductions goes over. */
typedef struct {
    uint32_t space;
    uint32_t reduced; /* 0: it has none */
    bool waits[MOST]; /* by node: it has a reduction before it, or is one */
} rows;

static bool is_reduce(const planner *p, llf_id v)
{
    return llfi_ops[llfi_node_at(p->g, v)->op].cls == LLFI_CLASS_REDUCE;
}

static bool one(const planner *p, llfi_dim dim)
{
    int64_t extent;
    return llfi_dim_is_const(p->g->dims, dim, &extent) && extent == 1;
}

/* The dims of the space without the reduced axes, with 1s anywhere. */
static bool is_row(const planner *p, const rows *r, llfi_type t)
{
    llfi_type s = llfi_type_at(p->g, r->space);
    llfi_dim left[LLFI_RANK], have[LLFI_RANK];
    uint32_t lefts = 0, haves = 0;
    for (uint32_t i = 0; i < s.rank; i++)
        if (!(r->reduced >> i & 1) && !one(p, s.dim[i]))
            left[lefts++] = s.dim[i];
    for (uint32_t i = 0; i < t.rank; i++)
        if (!one(p, t.dim[i]))
            have[haves++] = t.dim[i];
    return lefts == haves && (!lefts || !memcmp(left, have, lefts * sizeof *left));
}

static bool is_point(const planner *p, const rows *r, llfi_type t)
{
    return llfi_type_same_dims(t, llfi_type_at(p->g, r->space));
}

/* Rows that points may wait for: many, or short ones. */
static bool worth(const planner *p, const rows *r)
{
    llfi_type s = llfi_type_at(p->g, r->space);
    int64_t many = 1, length = 1, extent;
    for (uint32_t i = 0; i < s.rank; i++) {
        bool known = llfi_dim_is_const(p->g->dims, s.dim[i], &extent);
        int64_t *to = r->reduced >> i & 1 ? &length : &many;
        *to = !known || *to < 0 || __builtin_mul_overflow(*to, extent, to) ? -1 : *to;
    }
    return r->reduced != (1u << s.rank) - 1 && (many < 0 || many >= 64 || (length >= 0 && length <= 16384));
}

/* May `u` read `v`, which waits, as its operand `k`? In fewer ways than are legal: a point from a point, a
 * row from a row, a point from its row where the reduced axes are 1, or new ones in front. */
static bool in_place(const planner *p, const rows *r, llf_id u, uint32_t k, llf_id v)
{
    llf_id given = llfi_args(p->g, llfi_node_at(p->g, u))[k];
    llfi_type t = llfi_type_of(p->g, given), s = llfi_type_at(p->g, r->space), of = llfi_type_of(p->g, v);
    llfi_type at = is_reduce(p, u) ? s : llfi_type_of(p->g, u);
    if (given == v && llfi_type_same_dims(t, at) &&
        llfi_ops[llfi_node_at(p->g, u)->op].cls != LLFI_CLASS_INDEX)
        return is_point(p, r, of) || (is_row(p, r, of) && !is_reduce(p, u));
    while (llfi_node_at(p->g, given)->op == LLF_OP_EXPAND_DIMS)
        given = llfi_args(p->g, llfi_node_at(p->g, given))[0];
    if (given != v || !is_row(p, r, of) || !is_point(p, r, at) || is_reduce(p, u) ||
        llfi_ops[llfi_node_at(p->g, u)->op].cls != LLFI_CLASS_EW)
        return false;
    bool same = worth(p, r);
    for (uint32_t i = 0; i < s.rank && same; i++) {
        uint32_t missing = s.rank - t.rank;
        bool ones = i < missing || one(p, t.dim[i - missing]);
        same = r->reduced >> i & 1 ? ones : ones ? one(p, s.dim[i]) : t.dim[i - missing] == s.dim[i];
    }
    return same;
}

/* Finds what kernel k goes over. False: it has reductions that may not be together, or are read elsewhere. */
static bool look_at_rows(const planner *p, uint32_t k, rows *r)
{
    *r = (rows){0};
    for (llf_id v = 0; v < p->n; v++) {
        if (!p->now.has[k][v] || !is_reduce(p, v))
            continue;
        llfi_reduce reduce = llfi_reduce_of(p->g, v);
        uint32_t space = llfi_node_at(p->g, reduce.x)->type;
        if (r->reduced && (r->reduced != reduce.axes || !is_point(p, r, llfi_type_at(p->g, space))))
            return false;
        r->space = space;
        r->reduced = reduce.axes;
    }
    for (llf_id u = 0; r->reduced && u < p->n; u++) {
        const llfi_node *n = llfi_node_at(p->g, u);
        llfi_type t = llfi_type_of(p->g, u);
        if (!p->now.has[k][u])
            continue;
        r->waits[u] = is_reduce(p, u);
        for (uint32_t a = 0; a < n->arity; a++) {
            llf_id v = p->source[llfi_args(p->g, n)[a]];
            if (!p->now.has[k][v] || !r->waits[v])
                continue;
            if (!in_place(p, r, u, a, v))
                return false;
            r->waits[u] = true;
        }
        if ((r->waits[u] || (p->stored[u] && p->now.owner[u] == k)) && !is_point(p, r, t) && !is_row(p, r, t))
            return false;
    }
    return true;
}

/* What legality asks of one part: its stores are those of part `number`. */
static bool part_fits(const planner *p, const rows *over, const llf_id *store, const cone *c,
                      const uint32_t *part, uint32_t stores, uint32_t number)
{
    llf_id member[MOST], own[MOST];
    llfi_kernel kn = {.member = member, .store = own, .parts = 1};
    bool has[MOST] = {false}, touched[MOST] = {false};
    uint32_t buffers = 0;
    for (uint32_t i = 0; i < stores; i++) {
        if (part[i] != number)
            continue;
        kn.store[kn.stores++] = store[i];
        for (llf_id v = 0; v < p->n; v++)
            has[v] = has[v] || c[i].has[v];
    }
    for (llf_id v = 0; v < p->n; v++) {
        if (!has[v])
            continue;
        const llfi_node *node = llfi_node_at(p->g, v);
        kn.member[kn.members++] = v;
        for (uint32_t a = 0; a < node->arity; a++) {
            llf_id r = p->source[llfi_args(p->g, node)[a]];
            buffers += !touched[r] && !has[r] && llfi_node_is_buffered(llfi_node_at(p->g, r));
            touched[r] = true;
        }
    }
    if (kn.members > MOST_NODES || buffers + kn.stores > MOST_BUFFERS)
        return false;
    kn.space = over ? over->space : llfi_node_at(p->g, own[0])->type;
    kn.reduced = over ? over->reduced : 0;
    llfi_arena arena;
    llfi_demands list;
    llfi_arena_init(&arena, &p->g->cx->mem);
    llf_status st = llfi_demands_make(p->g, &kn, &arena, &list);
    llfi_arena_destroy(&arena);
    return st == LLF_OK;
}

/* What legality asks of one kernel alone. */
static bool kernel_fits(planner *p, uint32_t k)
{
    llf_id store[MOST];
    uint32_t part[MOST], stores = 0;
    for (llf_id v = 0; v < p->n; v++)
        if (p->now.has[k][v] && p->stored[v] && p->now.owner[v] == k)
            store[stores++] = v;
    rows r;
    if (!stores)
        return !any_in(p, k);
    if (!look_at_rows(p, k, &r))
        return false;
    cone *c = llfi_alloc_zero(&p->g->cx->mem, stores * sizeof *c);
    bool ok = c != NULL;
    for (uint32_t i = 0; ok && i < stores; i++)
        look_back(p, k, store[i], &c[i]);
    for (uint32_t i = 0; i < stores; i++)
        part[i] = 0;
    if (ok && !r.reduced)
        find_parts(p, store, c, stores, part);
    for (uint32_t i = 0; ok && i < stores; i++)
        ok = part[i] != i || part_fits(p, r.reduced ? &r : NULL, store, c, part, stores, i);
    llfi_free(&p->g->cx->mem, c, stores * sizeof *c);
    return ok;
}

static bool legal(planner *p)
{
    clean(p);
    bool ok = true;
    for (uint32_t k = 0; k < p->n && ok; k++)
        ok = kernel_fits(p, k);
    return ok && find_order(p);
}

/* ---- steps */

static uint32_t some_kernel(const planner *p)
{
    uint32_t found[MOST], n = 0;
    for (uint32_t k = 0; k < p->n; k++)
        if (any_in(p, k))
            found[n++] = k;
    return found[rg_below(p->random, n)];
}

static void merge(planner *p)
{
    uint32_t a = some_kernel(p), b = some_kernel(p);
    for (llf_id u = rg_below(p->random, p->n); u < p->n && rg_chance(p->random, 70);
         u++) { /* with what it reads */
        const llfi_node *n = llfi_node_at(p->g, u);
        llf_id v = n->arity ? p->source[llfi_args(p->g, n)[rg_below(p->random, n->arity)]] : u;
        if (!p->now.has[b][u] || !p->computes[v])
            continue;
        a = p->now.owner[v];
        break;
    }
    for (llf_id v = 0; v < p->n && a != b; v++) {
        p->now.has[a][v] = p->now.has[a][v] || p->now.has[b][v];
        p->now.has[b][v] = false;
        if (p->now.owner[v] == b)
            p->now.owner[v] = a;
    }
}

/* Some kernel computes something that it reads. */
static void recompute(planner *p)
{
    uint32_t k = some_kernel(p), count = 0;
    llf_id wanted[MOST];
    for (llf_id v = 0; v < p->n; v++)
        if (p->computes[v] && !p->now.has[k][v] && used_inside(p, k, v))
            wanted[count++] = v;
    if (count)
        put(p, k, wanted[rg_below(p->random, count)], true);
}

/* Moves a node to another kernel. */
static void move(planner *p)
{
    uint32_t from = some_kernel(p), to = some_kernel(p);
    llf_id v = rg_below(p->random, p->n);
    if (!p->now.has[from][v])
        return;
    put(p, from, v, false);
    put(p, to, v, true);
    if (p->now.owner[v] == from)
        own(p, to, v);
}

static void step(planner *p)
{
    uint32_t what = rg_below(p->random, 10);
    p->before = p->now;
    if (what < 5)
        merge(p);
    else if (what < 8)
        recompute(p);
    else
        move(p);
    if (!legal(p))
        p->now = p->before;
}

/* ---- the plan */

static llf_status optimise(llf_context *cx, llf_graph *g)
{
    const char *name[32];
    size_t count = 0;
    llfi_passes_state *ps = llfi_alloc_zero(&cx->mem, sizeof *ps);
    llfi_plan none;
    if (!ps)
        return llfi_nomem(&cx->diag);
    llfi_plan_init(&none, &cx->mem);
    for (size_t i = 0; i < llfi_passes_count; i++)
        if (strcmp(llfi_passes[i].name, "fuse"))
            name[count++] = llfi_passes[i].name;
    llf_status st = llfi_passes_run(cx, g, name, count, ps, &none);
    llfi_plan_destroy(&none);
    llfi_free(&cx->mem, ps, sizeof *ps);
    return st;
}

static void begin(planner *p, llfi_arena *arena)
{
    bool live[MOST] = {false};
    p->n = (uint32_t)p->g->nodes.count;
    p->source = llfi_sources_make(p->g, arena);
    for (size_t i = 0; i < p->g->outputs.count; i++)
        live[p->g->outputs.at[i]] = p->output[p->g->outputs.at[i]] = true;
    for (llf_id v = p->n; v-- > 0;) {
        const llfi_node *node = llfi_node_at(p->g, v);
        for (uint32_t a = 0; live[v] && a < node->arity; a++)
            live[llfi_args(p->g, node)[a]] = true;
        uint32_t first = llfi_maker(p->g, v); /* its kernel */
        p->computes[v] = live[v] && llfi_kernel_takes(llfi_ops[node->op].cls);
        p->now.has[first][v] = p->computes[v];
        p->now.owner[v] = first;
    }
}

static void put_labels(void *user, llf_id v, bool more, llfi_str *s)
{
    const planner *p = user;
    for (uint32_t i = 0; i < p->kernels; i++)
        if (p->now.has[p->order[i]][v]) {
            llfi_str_printf(s, "%sk%u", more ? "," : " !", i);
            more = true;
        }
}

bool rp_plan(llf_context *cx, const llf_graph *user, rg_random *random, llfi_str *text)
{
    planner *p = llfi_alloc_zero(&cx->mem, sizeof *p);
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    bool ok =
        p && (p->g = llfi_graph_clone(user, cx)) && optimise(cx, p->g) == LLF_OK && p->g->nodes.count < MOST;
    if (ok) {
        p->random = random;
        begin(p, &arena);
        ok = p->source && legal(p); /* a kernel a node */
        for (uint32_t steps = rg_below(random, 2 * p->n + 1); ok && steps; steps--)
            step(p);
        ok = ok && legal(p) && llfi_print(p->g, text, put_labels, p) == LLF_OK;
    }
    if (p)
        llf_graph_destroy(p->g);
    llfi_free(&cx->mem, p, sizeof *p);
    llfi_arena_destroy(&arena);
    return ok;
}
