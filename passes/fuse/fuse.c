/* fuse.c: the search: nodes in topological order, each to the best group that legal.c allows, groups that a
 * node brings together merged. It knows no heuristic by name and no cost: roles.c says what is recomputed,
 * the selected score ranks, legal.c refuses.
 * In: primitives, a node for each output.
 * Out: a plan beside the graph.
 * Why: a kernel boundary is a trip through memory.
 * Cost: linear; ties go to the lower id, so the same input gives the same plan. */
#include "fuse/fuse.h"
#include "pass.h"

typedef struct {
    llf_id node; /* that the placed node would join */
    uint32_t group;
    int64_t score;
    bool hinted; /* a hint gave the score */
} candidate;

typedef struct {
    llf_context *cx;
    const llf_graph *g;
    const llfi_fuse_options *o;
    llfi_arena *scratch;
    llfi_fuse_view view;
    llfi_groups groups;
    llf_id *reader; /* by node: the last node placed that reads it */
    candidate *at;  /* a producer and a sibling per operand of the node that has most */
    uint32_t count;
    const llfi_value_name *names; /* for the log; NULL: off */
} search;

/* Roles, users, and what the search remembers by node. */
static llf_status look(search *s)
{
    size_t n = s->g->nodes.count;
    s->view = (llfi_fuse_view){.g = s->g, .options = s->o};
    LLF_TRY(llfi_roles_begin(s->cx, s->scratch, &s->view));
    uint32_t most = LLFI_INLINE_ARGS;
    for (size_t i = 0; i < n; i++)
        most = s->g->nodes.at[i].arity > most ? s->g->nodes.at[i].arity : most;
    s->at = llfi_arena_alloc(s->scratch, 2 * (size_t)most * sizeof *s->at);
    s->reader = llfi_arena_alloc(s->scratch, (n + 1) * sizeof *s->reader);
    if (!s->reader || !s->at)
        return llfi_nomem(&s->cx->diag);
    for (size_t i = 0; i < n; i++)
        s->reader[i] = LLF_NONE;
    LLF_TRY(llfi_groups_init(&s->groups, s->cx, &s->view, s->scratch));
    return llfi_roles_recompute(s->cx, s->scratch, &s->view, &s->groups);
}

/* ---- search */

static llfi_fuse_why unwanted(const candidate *c)
{
    return c->hinted ? LLFI_WHY_HINT : LLFI_WHY_HEURISTIC;
}

/* One line of JSON; names are letters, digits, '_', '.' and '-', so nothing in them needs a quote. */
static void decision(const search *s, const candidate *c, llf_id v, llfi_fuse_why why,
                     const llfi_fuse_size *size)
{
    if (!s->names)
        return;
    llfi_str a, b;
    llfi_str_init(&a, &s->cx->mem);
    llfi_str_init(&b, &s->cx->mem);
    llfi_names_put(s->g, s->names, c->node, &a);
    llfi_names_put(s->g, s->names, v, &b);
    bool fused = why == LLFI_WHY_FUSED;
    llfi_log(s->cx, LLFI_LOG_FUSION,
             "{\"a\":\"%s\",\"b\":\"%s\",\"verdict\":\"%s\",\"reason\":\"%s\",\"score\":%lld,"
             "\"saved_bytes\":%lld,\"nodes\":%u,\"reads\":%u,\"stores\":%u,\"scalars\":%u,\"extents\":%u,"
             "\"moved\":%u,\"phases\":%u,\"cost\":%llu}",
             a.at ? a.at : "", b.at ? b.at : "", fused ? "fuse" : "apart",
             llfi_why_code(fused && c->hinted ? LLFI_WHY_HINT : why), (long long)c->score,
             (long long)llfi_cost_saved(&s->view, c->node, v), size->nodes, size->reads, size->stores,
             size->scalars, size->extents, size->moved, size->phases, (unsigned long long)size->cost);
    llfi_str_free(&a);
    llfi_str_free(&b);
}

/* Adds a candidate, best score first, one per group. Strangers may still share a launch: horizontal.c. */
static void propose(search *s, llf_id node, llf_id v)
{
    if (node == LLF_NONE || s->view.role[node] != LLFI_ROLE_OWN)
        return;
    candidate c = {.node = node, .group = llfi_group_find(&s->groups, node)};
    c.score = llfi_hint_score(&s->view, node, v, &c.hinted);
    if (!llfi_legal_related(&s->view, node, v)) {
        decision(s, &c, v, LLFI_WHY_STRANGERS, &s->groups.group[c.group].size);
        return;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        candidate *d = &s->at[i];
        if (d->group != c.group)
            continue;
        if (d->score > c.score || (d->score == c.score && d->node <= c.node))
            return;
        memmove(d, d + 1, (--s->count - i) * sizeof *d);
        break;
    }
    uint32_t at = s->count++;
    for (; at > 0 &&
           (s->at[at - 1].score < c.score || (s->at[at - 1].score == c.score && s->at[at - 1].node > c.node));
         at--)
        s->at[at] = s->at[at - 1];
    s->at[at] = c;
}

static void candidates(search *s, llf_id v)
{
    const llfi_node *n = llfi_node_at(s->g, v);
    s->count = 0;
    for (uint32_t k = 0; k < n->arity; k++) {
        llf_id p = llfi_fuse_operand(&s->view, v, k);
        propose(s, p, v);
        if (!llfi_node_is_free(llfi_node_at(s->g, p)))
            propose(s, s->reader[p], v);
    }
}

/* Puts `v` into the best group that may have it; `joined` is that candidate's index, or `count`. */
static llf_status join_best(search *s, llf_id v, uint32_t *group, uint32_t *joined)
{
    for (*joined = 0; *joined < s->count; ++*joined) {
        candidate *c = &s->at[*joined];
        llfi_fuse_size size = {0};
        uint32_t level = 0;
        llfi_fuse_why why =
            c->score < 0 ? unwanted(c) : llfi_group_may_join(&s->groups, c->group, v, &size, &level);
        decision(s, c, v, why, &size);
        if (why != LLFI_WHY_FUSED)
            continue;
        *group = c->group;
        return llfi_group_join(&s->groups, c->group, v, &size, level);
    }
    return llfi_group_open(&s->groups, v, group);
}

/* A further result is where its op is, which made room for it. */
static llf_status place_result(search *s, llf_id v)
{
    llfi_fuse_size size;
    uint32_t level, group = llfi_group_find(&s->groups, llfi_maker(s->g, v));
    (void)llfi_group_may_join(&s->groups, group, v, &size, &level);
    return llfi_group_join(&s->groups, group, v, &size, level);
}

static llf_status place(search *s, llf_id v)
{
    uint32_t group, joined;
    LLF_TRY(llfi_group_wants(&s->groups, v));
    if (llfi_maker(s->g, v) != v)
        return place_result(s, v);
    candidates(s, v);
    LLF_TRY(join_best(s, v, &group, &joined));
    for (uint32_t i = joined + 1; i < s->count; i++) { /* the others are brought together by v */
        candidate *c = &s->at[i];
        llfi_fuse_why why = unwanted(c);
        if (c->score >= 0)
            LLF_TRY(llfi_group_merge(&s->groups, group, llfi_group_find(&s->groups, c->node), &why, &group));
        decision(s, c, v, why, &s->groups.group[group].size);
    }
    const llfi_node *n = llfi_node_at(s->g, v);
    for (uint32_t k = 0; k < n->arity; k++)
        s->reader[llfi_fuse_operand(&s->view, v, k)] = v;
    return LLF_OK;
}

/* ---- plan */

/* Numbers groups by level, then by lowest member: kernel[group] for roots, level[kernel]. */
static uint32_t *number(search *s, uint32_t *kernels, uint32_t **level)
{
    const llf_graph *g = s->g;
    uint32_t n = s->groups.groups;
    uint32_t *kernel = llfi_arena_alloc(s->scratch, (n + 1) * sizeof *kernel);
    uint32_t *first =
        llfi_arena_alloc(s->scratch, ((size_t)n + 3) * sizeof *first); /* levels are at most n */
    *level = llfi_arena_alloc(s->scratch, (n + 1) * sizeof **level);
    if (!kernel || !first || !*level)
        return NULL;
    *kernels = 0;
    for (uint32_t i = 0; i < n; i++)
        if (s->groups.group[i].parent == i) {
            first[s->groups.group[i].level + 1]++;
            ++*kernels;
        }
    for (uint32_t l = 1; l < n + 3; l++)
        first[l] += first[l - 1];
    for (llf_id v = 0; v < g->nodes.count; v++) {
        if (s->view.role[v] != LLFI_ROLE_OWN)
            continue;
        uint32_t at = llfi_group_find(&s->groups, v);
        if (s->groups.group[at].lowest == v) {
            kernel[at] = first[s->groups.group[at].level]++;
            (*level)[kernel[at]] = s->groups.group[at].level;
        }
    }
    return kernel;
}

/* Kernels of each recomputed node, as CSR: kernel[first[id] .. first[id + 1]). */
typedef struct {
    uint32_t *first, *kernel;
} homes;

/* Of a group, a node that it recomputes? */
static bool recomputed_entry(const search *s, const llfi_fuse_entry *e)
{
    return e->owner != LLFI_GROUP_NONE && e->id < s->g->nodes.count &&
           s->view.role[e->id] == LLFI_ROLE_RECOMPUTE;
}

static llf_status find_homes(search *s, const uint32_t *kernel_of, homes *h)
{
    size_t n = s->g->nodes.count, total = 0;
    h->first = llfi_arena_alloc(s->scratch, (n + 2) * sizeof *h->first);
    if (!h->first)
        return llfi_nomem(&s->cx->diag);
    for (size_t i = 0; i < s->groups.entries.count; i++) {
        const llfi_fuse_entry *e = &s->groups.entries.at[i];
        if (recomputed_entry(s, e)) {
            h->first[e->id + 2]++;
            total++;
        }
    }
    h->kernel = llfi_arena_alloc(s->scratch, (total + 1) * sizeof *h->kernel);
    if (!h->kernel)
        return llfi_nomem(&s->cx->diag);
    for (size_t i = 2; i < n + 2; i++)
        h->first[i] += h->first[i - 1];
    for (size_t i = 0; i < s->groups.entries.count; i++) {
        const llfi_fuse_entry *e = &s->groups.entries.at[i];
        if (recomputed_entry(s, e))
            h->kernel[h->first[e->id + 1]++] = kernel_of[e->owner];
    }
    return LLF_OK;
}

/* The kernels that node `v` is a member of. */
static uint32_t homes_of(const search *s, const homes *h, const uint32_t *kernel_of, llf_id v,
                         const uint32_t **list, uint32_t *own)
{
    if (s->view.role[v] == LLFI_ROLE_RECOMPUTE) {
        *list = h->kernel + h->first[v];
        return h->first[v + 1] - h->first[v];
    }
    if (s->view.role[v] != LLFI_ROLE_OWN)
        return 0;
    *own = kernel_of[llfi_group_find(&s->groups, v)];
    *list = own;
    return 1;
}

/* Marks the values that some kernel reads without computing them. */
static bool *find_stored(const search *s, const homes *h, const uint32_t *kernel_of)
{
    const llf_graph *g = s->g;
    bool *stored = llfi_arena_alloc(s->scratch, g->nodes.count + 1);
    for (llf_id u = 0; stored && u < g->nodes.count; u++) {
        const uint32_t *list = NULL;
        uint32_t own, n = homes_of(s, h, kernel_of, u, &list, &own);
        const llfi_node *node = llfi_node_at(g, u);
        stored[u] = stored[u] || (n && s->view.output[u]);
        for (uint32_t k = 0; k < node->arity; k++) {
            llf_id p = llfi_fuse_operand(&s->view, u, k);
            for (uint32_t i = 0; i < n && s->view.role[p] == LLFI_ROLE_OWN; i++)
                stored[p] = stored[p] || list[i] != kernel_of[llfi_group_find(&s->groups, p)];
        }
    }
    return stored;
}

static llf_status fill(search *s, llfi_plan *p, const homes *h, const uint32_t *kernel_of, const bool *stored)
{
    const llf_graph *g = s->g;
    const uint32_t *list = NULL;
    uint32_t own;
    for (int round = 0; round < 2; round++) { /* count, then write, in id order: topological */
        for (llf_id v = 0; v < g->nodes.count; v++) {
            uint32_t n = homes_of(s, h, kernel_of, v, &list, &own);
            for (uint32_t i = 0; i < n; i++) {
                llfi_kernel *k = &p->kernel[list[i]];
                if (round) {
                    k->member[k->members] = v;
                    if (stored[v])
                        k->store[k->stores] = v;
                }
                k->members++;
                k->stores += stored[v];
                if (llfi_reduced_of(g, v))
                    k->reduced = llfi_reduced_of(g, v);
                if (stored[v] && !k->reduced)
                    k->space = llfi_node_at(g, v)->type;
                if (llfi_reduced_of(g, v))
                    k->space = llfi_space_of(g, v);
            }
        }
        for (uint32_t i = 0; i < p->kernels && round == 0; i++) {
            llfi_kernel *k = &p->kernel[i];
            k->parts = 1;
            k->member = llfi_arena_alloc(&p->arena, (k->members + 1) * sizeof *k->member);
            k->store = llfi_arena_alloc(&p->arena, (k->stores + 1) * sizeof *k->store);
            if (!k->member || !k->store)
                return llfi_nomem(&s->cx->diag);
            k->members = k->stores = 0;
        }
    }
    return LLF_OK;
}

#ifndef NDEBUG
/* What the search believed of a group's size must be what came out. A value of rank above 0 never shares a
 * kernel with a recomputed user, so there its store is foreseen exactly; others at most. */
static void check_sizes(const search *s, const llfi_plan *p, const uint32_t *kernel_of, const bool *stored)
{
    for (uint32_t i = 0; i < s->groups.groups; i++) {
        const llfi_group *gr = &s->groups.group[i];
        if (gr->parent != i)
            continue;
        const llfi_kernel *k = &p->kernel[kernel_of[i]];
        llf_id *read;
        uint32_t reads;
        assert(gr->size.nodes == k->members && gr->size.stores >= k->stores);
        if (llfi_kernel_reads(s->g, p, kernel_of[i], s->scratch, &read, &reads) == LLF_OK)
            assert(gr->size.reads == reads);
    }
    for (llf_id v = 0; v < s->g->nodes.count; v++)
        if (s->view.role[v] == LLFI_ROLE_OWN && llfi_type_of(s->g, v).rank)
            assert(stored[v] == (s->groups.rest[v] > 0 || s->view.output[v]));
}
#endif

static llf_status write_plan(search *s, llfi_plan *p)
{
    homes h;
    uint32_t *level;
    const uint32_t *kernel_of = number(s, &p->kernels, &level);
    if (!kernel_of)
        return llfi_nomem(&s->cx->diag);
    LLF_TRY(find_homes(s, kernel_of, &h));
    const bool *stored = find_stored(s, &h, kernel_of);
    p->kernel = llfi_arena_alloc(&p->arena, (p->kernels + 1) * sizeof *p->kernel);
    if (!stored || !p->kernel)
        return llfi_nomem(&s->cx->diag);
    p->graph_hash = llfi_graph_hash(s->g);
    if (!p->graph_hash)
        return llfi_nomem(&s->cx->diag);
    p->max_nodes = (uint32_t)s->o->params.max_kernel_nodes;
    p->max_buffers = (uint32_t)s->o->params.max_kernel_buffers;
    p->max_params = s->o->param_bytes;
    p->load_hint = (uint32_t)s->o->params.load_hint;
    p->store_hint = (uint32_t)s->o->params.store_hint;
    LLF_TRY(fill(s, p, &h, kernel_of, stored));
#ifndef NDEBUG
    check_sizes(s, p, kernel_of, stored);
#endif
    LLF_TRY(llfi_fuse_horizontal(s->cx, &s->view, &s->groups.extents, s->names, level, s->scratch, p));
    return llfi_plan_parts(s->g, p);
}

static llf_status run(search *s, llfi_plan *plan)
{
    LLF_TRY(look(s));
    for (llf_id v = 0; v < s->g->nodes.count; v++)
        if (s->view.role[v] == LLFI_ROLE_OWN)
            LLF_TRY(place(s, v));
    return write_plan(s, plan);
}

llf_status llfi_pass_fuse(llfi_pass *p, llf_graph *g)
{
    llfi_fuse_options o = *p->fuse;
    if (!o.heuristic)
        o.heuristic = llfi_heuristic_find("greedy");
    const llf_allocator *mem = p->plan->mem;
    llfi_plan_destroy(p->plan); /* a plan of an earlier run */
    llfi_plan_init(p->plan, mem);
    search s = {.cx = p->cx, .g = g, .o = &o, .scratch = p->scratch};
    s.groups.cx = p->cx;
    if (llfi_log_on(p->cx, LLFI_LOG_FUSION) && !(s.names = llfi_names_make(g, p->scratch)))
        return llfi_nomem(&p->cx->diag);
    llf_status st = run(&s, p->plan);
    llfi_groups_free(&s.groups);
    return st;
}
