/* roles.c: what each node is to fusion (llfi_role): dead, a leaf, a member of one kernel, or recomputed where
 * it is wanted: small rank-0 values, and cheap values that are read at other points than their users'.
 * legal.c says which may be. It must not form groups: it asks group.c only what a node would bring into one.
 */
#include "fuse/fuse.h"

typedef struct {
    llf_context *cx;
    const llf_graph *g;
    llfi_fuse_view *view;
    llfi_groups *groups;
    bool *moved;           /* by node: read at other points by some user */
    bool *alone;           /* by node: by a hint not wanted beside some user */
    bool *rows;            /* by node: a reduction, or made of one at its own points: never recomputed */
    uint32_t *behind;      /* by node: views between it and memory, where it is a view or recomputed */
    LLFI_VEC(llf_id) cone; /* a value and what only it is made of */
} roles;

llf_status llfi_roles_begin(llf_context *cx, llfi_arena *scratch, llfi_fuse_view *view)
{
    const llf_graph *g = view->g;
    size_t n = g->nodes.count;
    view->role = llfi_arena_alloc(scratch, n + 1);
    view->output = llfi_arena_alloc(scratch, n + 1);
    view->users = llfi_arena_alloc(scratch, (n + 1) * sizeof *view->users);
    view->spread = llfi_arena_alloc(scratch, (n + 1) * sizeof *view->spread);
    view->source = llfi_sources_make(g, scratch);
    view->hint = llfi_hints_make(g, scratch);
    if (!view->role || !view->output || !view->users || !view->spread || !view->source || !view->hint)
        return llfi_nomem(&cx->diag);
    for (size_t i = 0; i < g->outputs.count; i++)
        view->output[g->outputs.at[i]] = true;
    for (size_t i = n; i-- > 0;) {
        const llfi_node *node = &g->nodes.at[i];
        if (llfi_node_is_leaf(node))
            view->role[i] = LLFI_ROLE_LEAF;
        else if (llfi_ops[node->op].cls == LLFI_CLASS_VIEW)
            continue; /* its users use what is behind it */
        else if (view->output[i] || view->users[i])
            view->role[i] = LLFI_ROLE_OWN;
        for (uint32_t k = 0; k < node->arity && view->role[i] == LLFI_ROLE_OWN; k++)
            view->users[view->source[llfi_args(g, node)[k]]]++;
    }
    return LLF_OK;
}

/* Where and beside whom values are read. */
static void look_at_users(roles *r)
{
    bool hinted;
    for (llf_id u = 0; u < r->g->nodes.count; u++) {
        const llfi_node *n = llfi_node_at(r->g, u);
        for (uint32_t k = 0; k < n->arity && r->view->role[u] != LLFI_ROLE_DEAD; k++) {
            llf_id p = llfi_fuse_operand(r->view, u, k);
            if (r->view->role[p] == LLFI_ROLE_OWN && llfi_hint_score(r->view, p, u, &hinted) < 0)
                r->alone[p] = true;
            if (llfi_legal_moved(r->g, r->view->source, u, k))
                r->moved[p] = true;
        }
    }
}

/* Demands of one evaluation of `v`. */
static uint32_t spread_of(const roles *r, llf_id v)
{
    uint32_t spread = 1;
    for (uint32_t k = 0; k < llfi_node_at(r->g, v)->arity; k++) {
        llf_id p = llfi_fuse_operand(r->view, v, k);
        bool again = r->view->role[p] == LLFI_ROLE_RECOMPUTE && llfi_type_of(r->g, p).rank;
        spread += again ? r->view->spread[p] : llfi_type_of(r->g, p).rank > 0;
    }
    return spread;
}

/* Size of `v` with what it recomputes, and demands of one evaluation; `from_memory`: all that it reads is
 * stored anyway, so that recomputing it does not store another value in its stead. */
static llf_status recomputed_size(roles *r, llf_id v, llfi_fuse_size *size, uint32_t *spread,
                                  bool *from_memory)
{
    const llf_graph *g = r->g;
    LLF_TRY(llfi_group_wants(r->groups, v));
    *size = (llfi_fuse_size){.nodes = 1, .cost = llfi_legal_cost(g, v)};
    *from_memory = true;
    for (size_t i = 0; i < r->groups->want.count; i++) {
        llf_id w = r->groups->want.at[i].id;
        if (w >= g->nodes.count) {
            size->extents += r->groups->extents.at.at[w - g->nodes.count].most;
            continue;
        }
        bool inside = r->view->role[w] == LLFI_ROLE_RECOMPUTE;
        bool scalar = llfi_node_at(g, w)->op == LLF_OP_INPUT && llfi_node_at(g, w)->scalar;
        size->nodes += inside;
        size->cost += inside ? llfi_legal_cost(g, w) : 0;
        size->scalars += scalar;
        size->reads += !inside && !scalar;
        *from_memory = *from_memory &&
                       (inside || r->view->role[w] == LLFI_ROLE_LEAF || r->view->output[w] || r->moved[w]);
    }
    *spread = spread_of(r, v);
    return LLF_OK;
}

/* Reading what it is made of, instead of it, in each of its users: no more traffic than storing it? */
static bool saves_traffic(const roles *r, llf_id v, uint32_t reads)
{
    uint64_t users = r->view->users[v];
    return users * reads <= reads + 1u + users;
}

/* Views that a reader of `v` goes through at most before it comes to memory, if `v` is a view or recomputed.
 */
static uint32_t views_behind(const roles *r, llf_id v)
{
    const llfi_node *n = llfi_node_at(r->g, v);
    uint32_t most = 0;
    for (uint32_t k = 0; k < n->arity; k++) {
        uint32_t b = r->behind[llfi_args(r->g, n)[k]];
        most = b > most ? b : most;
    }
    return most + (llfi_ops[n->op].cls == LLFI_CLASS_VIEW);
}

/* May `v` be recomputed as it stands? Then it is marked so. */
static llf_status try_recompute(roles *r, llf_id v, uint32_t views)
{
    bool point = llfi_type_of(r->g, v).rank == 0, from_memory;
    llfi_fuse_size size;
    uint32_t spread;
    LLF_TRY(recomputed_size(r, v, &size, &spread, &from_memory));
    if (point ? llfi_legal_moves(r->view, v) <= 1 && llfi_legal_recompute(r->view->options, &size)
              : from_memory && llfi_legal_spread(r->view->options, &size, spread) &&
                    saves_traffic(r, v, size.reads)) {
        r->view->role[v] = LLFI_ROLE_RECOMPUTE;
        r->view->spread[v] = spread;
        r->behind[v] = views;
    }
    return LLF_OK;
}

/* The values that only `v` is made of: recomputed with it, or not at all. Each has one user, so over all `v`
 * they are as many as there are nodes. Fills r->cone, operands after users; nothing where they are too many.
 */
static llf_status find_cone(roles *r, llf_id v)
{
    r->cone.count = 0;
    if (!llfi_vec_reserve(&r->cx->mem, &r->cone, 1))
        return llfi_nomem(&r->cx->diag);
    r->cone.at[r->cone.count++] = v;
    for (size_t i = 0; i < r->cone.count && r->cone.count <= LLFI_SPREAD_MAX; i++) {
        llf_id u = r->cone.at[i];
        for (uint32_t k = 0; k < llfi_node_at(r->g, u)->arity; k++) {
            llf_id p = llfi_fuse_operand(r->view, u, k);
            if (r->view->role[p] != LLFI_ROLE_OWN || r->moved[p] || r->alone[p] || r->view->output[p] ||
                r->rows[p] || r->view->users[p] != 1 || llfi_type_of(r->g, p).rank == 0)
                continue;
            if (!llfi_vec_reserve(&r->cx->mem, &r->cone, 1))
                return llfi_nomem(&r->cx->diag);
            r->cone.at[r->cone.count++] = p;
        }
    }
    if (r->cone.count > LLFI_SPREAD_MAX)
        r->cone.count = 0;
    return LLF_OK;
}

/* `v` is read at other points than its users': with what only it is made of, it is cheap to recompute there,
 * or nothing of it is. */
static llf_status try_cone(roles *r, llf_id v)
{
    LLF_TRY(find_cone(r, v));
    size_t n = r->cone.count;
    for (size_t i = n; i-- > 1;) {
        llf_id p = r->cone.at[i];
        r->view->spread[p] = spread_of(r, p);
        r->view->role[p] = LLFI_ROLE_RECOMPUTE;
        r->behind[p] = views_behind(r, p);
    }
    uint32_t views = views_behind(r, v);
    llfi_group_forget(r->groups); /* what v wants is another question now */
    if (n > 1 && llfi_legal_behind(views))
        LLF_TRY(try_recompute(r, v, views));
    for (size_t i = 1; i < n && r->view->role[v] == LLFI_ROLE_OWN; i++) {
        r->view->role[r->cone.at[i]] = LLFI_ROLE_OWN;
        r->behind[r->cone.at[i]] = 0;
    }
    return LLF_OK;
}

/* A reduction, or values made of one at its own points? What it would be computed again for is as dear. */
static bool of_rows(const roles *r, llf_id v)
{
    const llfi_node *n = llfi_node_at(r->g, v);
    bool any = llfi_ops[n->op].cls == LLFI_CLASS_REDUCE;
    for (uint32_t k = 0; k < n->arity && !any && r->view->role[v] == LLFI_ROLE_OWN; k++) {
        llf_id p = llfi_fuse_operand(r->view, v, k);
        any = r->rows[p] && llfi_legal_space(r->g, p, v) && !llfi_legal_moved(r->g, r->view->source, v, k);
    }
    return any;
}

static llf_status find_recomputed(roles *r)
{
    const llf_graph *g = r->g;
    for (llf_id v = 0; v < g->nodes.count; v++) {
        bool point = llfi_type_of(g, v).rank == 0;
        uint32_t views = views_behind(r, v);
        if (llfi_ops[llfi_node_at(g, v)->op].cls == LLFI_CLASS_VIEW)
            r->behind[v] = views;
        r->rows[v] = of_rows(r, v);
        if (r->rows[v] || r->view->role[v] != LLFI_ROLE_OWN || (!point && !r->moved[v]) ||
            r->view->output[v] || r->alone[v] || !llfi_legal_behind(views))
            continue;
        LLF_TRY(try_recompute(r, v, views));
        if (!point && r->view->role[v] == LLFI_ROLE_OWN)
            LLF_TRY(try_cone(r, v));
    }
    return LLF_OK;
}

llf_status llfi_roles_recompute(llf_context *cx, llfi_arena *scratch, llfi_fuse_view *view,
                                llfi_groups *groups)
{
    size_t n = view->g->nodes.count;
    roles r = {.cx = cx, .g = view->g, .view = view, .groups = groups};
    r.moved = llfi_arena_alloc(scratch, n + 1);
    r.alone = llfi_arena_alloc(scratch, n + 1);
    r.rows = llfi_arena_alloc(scratch, n + 1);
    r.behind = llfi_arena_alloc(scratch, (n + 1) * sizeof *r.behind);
    if (!r.moved || !r.alone || !r.rows || !r.behind)
        return llfi_nomem(&cx->diag);
    look_at_users(&r);
    llf_status st = find_recomputed(&r);
    llfi_vec_free(&cx->mem, &r.cone);
    memset(groups->stamp, 0, n * sizeof *groups->stamp); /* the search asks anew */
    for (size_t i = 0; i < groups->extents.at.count; i++)
        groups->extents.at.at[i].stamp = UINT32_MAX;
    return st;
}
