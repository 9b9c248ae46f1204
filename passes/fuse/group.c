/* group.c: the groups of a fusion search: members, what each reads, would store and costs, and levels. It
 * applies what legal.c allows and chooses nothing. Every operation costs at most the caps, merges move the
 * smaller part, and merges that fail draw on a budget that grows with the nodes placed: a search is linear.
 */
#include "fuse/fuse.h"

#define FIRST_BUDGET 4096u
#define BUDGET_A_NODE 64u
#define ANY_OPERAND UINT32_MAX /* behind what is recomputed */

llf_status llfi_groups_init(llfi_groups *gs, llf_context *cx, const llfi_fuse_view *view, llfi_arena *arena)
{
    size_t n = view->g->nodes.count + 1;
    *gs = (llfi_groups){.cx = cx, .view = view, .earned = FIRST_BUDGET};
    gs->group = llfi_arena_alloc(arena, n * sizeof *gs->group);
    gs->of = llfi_arena_alloc(arena, n * sizeof *gs->of);
    gs->next = llfi_arena_alloc(arena, n * sizeof *gs->next);
    gs->rest = llfi_arena_alloc(arena, n * sizeof *gs->rest);
    gs->stamp = llfi_arena_alloc(arena, n * sizeof *gs->stamp);
    for (size_t i = 0; i + 1 < n && !gs->rows; i++)
        gs->rows = llfi_ops[view->g->nodes.at[i].op].cls == LLFI_CLASS_REDUCE;
    if (gs->rows) {
        gs->phase = llfi_arena_alloc(arena, n * sizeof *gs->phase);
        if (!gs->phase || !llfi_ways_init(&gs->ways, view->g, view->source, arena))
            return llfi_nomem(&cx->diag);
    }
    if (!llfi_needs_init(&gs->extents, view->g, view->source, arena, &cx->mem) || !gs->group || !gs->of ||
        !gs->next || !gs->rest || !gs->stamp)
        return llfi_nomem(&cx->diag);
    for (size_t i = 0; i + 1 < n; i++) {
        gs->of[i] = LLFI_GROUP_NONE;
        gs->rest[i] = view->users[i];
    }
    return LLF_OK;
}

void llfi_groups_free(llfi_groups *gs)
{
    llfi_vec_free(&gs->cx->mem, &gs->entries);
    llfi_vec_free(&gs->cx->mem, &gs->want);
    llfi_vec_free(&gs->cx->mem, &gs->work);
    llfi_map_free(&gs->cx->mem, &gs->index);
    llfi_needs_free(&gs->extents);
}

static uint32_t root(const llfi_groups *gs, uint32_t group)
{
    while (gs->group[group].parent != group)
        group = gs->group[group].parent = gs->group[gs->group[group].parent].parent;
    return group;
}

uint32_t llfi_group_find(const llfi_groups *gs, llf_id own)
{
    return gs->of[own] == LLFI_GROUP_NONE ? LLFI_GROUP_NONE : root(gs, gs->of[own]);
}

/* Is it a class of extents, not a node? */
static bool is_class(const llfi_groups *gs, llf_id id)
{
    return id >= gs->view->g->nodes.count;
}

static bool has_role(const llfi_groups *gs, llf_id id, llfi_role role)
{
    return !is_class(gs, id) && gs->view->role[id] == role;
}

/* ---- wants */

/* Axes along which something is read in two ways. */
static llfi_axes both_ways(llfi_axes a, llfi_axes b)
{
    return a == b ? a : LLFI_AXES_NONE;
}

static bool want(llfi_groups *gs, llf_id v, llfi_want w)
{
    if (gs->stamp[w.id] == v + 1) {
        for (size_t i = 0; w.moved && i < gs->want.count; i++) { /* else the axes are all, and so they were */
            llfi_want *have = &gs->want.at[i];
            if (have->id != w.id)
                continue;
            have->moved = true;
            have->wide = have->wide || w.wide;
            have->way = both_ways(have->way, w.way);
        }
        return true;
    }
    gs->stamp[w.id] = v + 1;
    if (!llfi_vec_reserve(&gs->cx->mem, &gs->want, 1) || !llfi_vec_reserve(&gs->cx->mem, &gs->work, 1))
        return false;
    gs->want.at[gs->want.count++] = w;
    if (gs->view->role[w.id] == LLFI_ROLE_RECOMPUTE)
        gs->work.at[gs->work.count++] = w.id;
    return true;
}

/* How `v` reads `id`, which is behind its operand `k`, or ANY_OPERAND. */
static llfi_want way_of(const llfi_groups *gs, llf_id v, llf_id id, uint32_t k, uint32_t uses, bool moved)
{
    llfi_want w = {.id = id, .uses = uses, .moved = moved};
    if (!gs->rows)
        return w;
    if (k != ANY_OPERAND)
        w.way = llfi_way(&gs->ways, v, k);
    else if (moved)
        w.way = LLFI_AXES_NONE;
    w.wide = w.way != llfi_axes_of(gs->view->g, llfi_type_at(gs->view->g, llfi_space_of(gs->view->g, v)));
    return w;
}

/* The extents that operand `k` of `user`, wanted by `v`, needs. */
static bool want_extents(llfi_groups *gs, llf_id v, llf_id user, uint32_t k, uint64_t within)
{
    uint32_t c;
    if (gs->extents.none)
        return true;
    if (!llfi_needs_class(&gs->extents, user, k, within, &c))
        return false;
    if (c == LLFI_NEEDS_NONE || gs->extents.at.at[c].stamp == v)
        return true;
    gs->extents.at.at[c].stamp = v;
    if (!llfi_vec_reserve(&gs->cx->mem, &gs->want, 1))
        return false;
    gs->want.at[gs->want.count++] = (llfi_want){.id = (llf_id)gs->view->g->nodes.count + c};
    return true;
}

/* How `v` reads what it reads: by what is between. */
static uint64_t ways(const llfi_groups *gs, llf_id v)
{
    const llfi_node *n = llfi_node_at(gs->view->g, v);
    uint64_t h = llfi_hash_u64(1, n->type);
    for (uint32_t k = 0; k < n->arity && !gs->extents.none; k++)
        h = llfi_hash_u64(h, gs->extents.view[llfi_args(gs->view->g, n)[k]]);
    return h | 1;
}

llf_status llfi_group_wants(llfi_groups *gs, llf_id v)
{
    const llf_graph *g = gs->view->g;
    const llfi_node *n = llfi_node_at(g, v);
    gs->want.count = gs->work.count = 0;
    for (uint32_t k = 0; k < n->arity; k++) { /* direct edges first: they count uses */
        uint32_t uses = 0;
        llf_id p = llfi_fuse_operand(gs->view, v, k);
        for (uint32_t j = 0; j < n->arity; j++) /* few: decompose splits wide ones */
            uses += llfi_fuse_operand(gs->view, v, j) == p;
        if (!llfi_node_is_free(llfi_node_at(g, p)) &&
            !want(gs, v, way_of(gs, v, p, k, uses, llfi_legal_moved(g, gs->view->source, v, k))))
            return llfi_nomem(&gs->cx->diag);
    }
    for (uint32_t k = 0; k < n->arity; k++)
        if (!want_extents(gs, v, v, k, 0))
            return llfi_nomem(&gs->cx->diag);
    uint64_t within = gs->work.count ? ways(gs, v) : 0;
    while (gs->work.count) {
        llf_id r = gs->work.at[--gs->work.count];
        bool anywhere = llfi_type_of(g, r).rank > 0; /* at which points it is wanted is not looked into */
        for (uint32_t k = 0; k < llfi_node_at(g, r)->arity; k++) {
            llf_id p = llfi_fuse_operand(gs->view, r, k);
            bool moved = llfi_type_of(g, p).rank && (anywhere || llfi_legal_moved(g, gs->view->source, r, k));
            if ((!llfi_node_is_free(llfi_node_at(g, p)) &&
                 !want(gs, v, way_of(gs, v, p, ANY_OPERAND, 0, moved))) ||
                !want_extents(gs, v, r, k, anywhere ? within : 0))
                return llfi_nomem(&gs->cx->diag);
        }
    }
    return LLF_OK;
}

void llfi_group_forget(llfi_groups *gs)
{
    for (size_t i = 0; i < gs->want.count; i++) {
        llf_id id = gs->want.at[i].id;
        if (is_class(gs, id))
            gs->extents.at.at[id - gs->view->g->nodes.count].stamp = UINT32_MAX;
        else
            gs->stamp[id] = 0;
    }
}

/* ---- entries */

static uint64_t key(uint32_t group, llf_id id)
{
    return llfi_hash_u64(llfi_hash_u64(0, group), id);
}

static llfi_fuse_entry *lookup(const llfi_groups *gs, uint32_t group, llf_id id)
{
    size_t cursor = 0;
    uint64_t h = key(group, id);
    for (uint32_t at; (at = llfi_map_next(&gs->index, h, &cursor)) != UINT32_MAX;)
        if (gs->entries.at[at].owner == group && gs->entries.at[at].id == id)
            return &gs->entries.at[at];
    return NULL;
}

/* Appends entry `at` to the group's list and index. */
static bool attach(llfi_groups *gs, uint32_t group, uint32_t at)
{
    llfi_group *gr = &gs->group[group];
    llfi_fuse_entry *e = &gs->entries.at[at];
    if (!llfi_map_add(&gs->cx->mem, &gs->index, key(group, e->id), at))
        return false;
    e->owner = group;
    e->next = UINT32_MAX;
    if (gr->entry == UINT32_MAX)
        gr->entry = at;
    else
        gs->entries.at[gr->entry_last].next = at;
    gr->entry_last = at;
    gr->entries++;
    return true;
}

/* Adds (sign 1) or takes away (sign -1) what an entry means for a size. */
static void weigh(const llfi_groups *gs, llf_id id, bool add, llfi_fuse_size *s)
{
    uint32_t one = add ? 1u : (uint32_t)-1;
    if (is_class(gs, id)) {
        s->extents += one * gs->extents.at.at[id - gs->view->g->nodes.count].most;
        return;
    }
    const llfi_node *n = llfi_node_at(gs->view->g, id);
    if (gs->view->role[id] == LLFI_ROLE_RECOMPUTE) {
        uint64_t cost = llfi_legal_cost(gs->view->g, id);
        s->nodes += one;
        if (!llfi_type_of(gs->view->g, id).rank)
            s->moved += one * llfi_legal_moves(gs->view, id);
        s->cost = add ? s->cost + cost : s->cost - cost;
    } else if (llfi_node_is_scalar(n)) {
        s->scalars += one;
    } else {
        s->reads += one;
    }
}

/* ---- consumers and levels */

static void note_consumer(llfi_groups *gs, uint32_t producer, uint32_t consumer, uint32_t level)
{
    llfi_group *p = &gs->group[producer];
    if (consumer != UINT32_MAX && p->consumer != UINT32_MAX && root(gs, p->consumer) == consumer) {
        p->consumer_level = level < p->consumer_level ? level : p->consumer_level;
    } else if (consumer != UINT32_MAX && level < p->consumer_level) {
        p->other_level = p->consumer_level < p->other_level ? p->consumer_level : p->other_level;
        p->consumer = consumer;
        p->consumer_level = level;
    } else {
        p->other_level = level < p->other_level ? level : p->other_level;
    }
}

/* Lowest level of a consumer other than group `but`. */
static uint32_t earliest(const llfi_groups *gs, uint32_t group, uint32_t but)
{
    const llfi_group *gr = &gs->group[group];
    if (gr->consumer == UINT32_MAX || root(gs, gr->consumer) == but)
        return gr->other_level;
    return gr->consumer_level < gr->other_level ? gr->consumer_level : gr->other_level;
}

/* ---- one node */

/* The frame of a group with `v` in it, and the axes of its space that `v` reads at. */
static llfi_fuse_why frame_with(const llfi_groups *gs, const llfi_group *gr, llf_id v, llfi_frame *f,
                                llfi_axes *at)
{
    const llf_graph *g = gs->view->g;
    llfi_frame own = {llfi_space_of(g, v), llfi_reduced_of(g, v)};
    llfi_fuse_why why = LLFI_WHY_FUSED;
    *f = own;
    if (gr->size.nodes && own.reduced &&
        !llfi_type_same_dims(llfi_type_at(g, own.space), llfi_type_at(g, gr->frame.space)))
        why = LLFI_WHY_SPACE; /* a reduction gives the space */
    else if (gr->size.nodes)
        why = llfi_legal_frames(g, gr->frame, own, f);
    *at = !gs->rows     ? 0
          : own.reduced ? llfi_axes_of(g, llfi_type_at(g, own.space))
                        : llfi_legal_along(g, *f, llfi_type_at(g, own.space));
    return why;
}

/* Axes of `v`'s space as axes of the group's, of which it reads at `at`. */
static llfi_axes lifted(const llfi_groups *gs, llf_id v, llfi_axes at, llfi_axes way)
{
    if (way == LLFI_AXES_NONE || !gs->rows)
        return way;
    return llfi_axes_lift(
        way, llfi_axes_of(gs->view->g, llfi_type_at(gs->view->g, llfi_space_of(gs->view->g, v))), at);
}

/* Reductions that `v`, whose wants are filled, waits for in a group, with itself. */
static uint32_t phase_in(const llfi_groups *gs, uint32_t group, llf_id v)
{
    uint32_t phase = 0;
    for (size_t i = 0; gs->rows && i < gs->want.count; i++) {
        llf_id p = gs->want.at[i].id;
        if (has_role(gs, p, LLFI_ROLE_OWN) && llfi_group_find(gs, p) == group && gs->phase[p] > phase)
            phase = gs->phase[p];
    }
    return phase + (llfi_reduced_of(gs->view->g, v) != 0);
}

llfi_fuse_why llfi_group_may_join(const llfi_groups *gs, uint32_t group, llf_id v, llfi_fuse_size *size,
                                  uint32_t *level)
{
    const llfi_fuse_view *view = gs->view;
    const llfi_group *gr = &gs->group[group];
    llfi_fuse_size s = gr->size;
    uint32_t need = 1;
    llfi_frame frame;
    llfi_axes at;
    llfi_fuse_why why = frame_with(gs, gr, v, &frame, &at);
    uint32_t phase = phase_in(gs, group, v);
    bool fits = why == LLFI_WHY_FUSED;
    s.phases = phase > s.phases ? phase : s.phases;
    s.moved += llfi_legal_moves(view, v);
    uint32_t results = llfi_maker(view->g, v) == v ? llfi_live_results(view, v) : 0; /* with the op itself */
    s.nodes += results;
    s.stores += results;
    s.cost += llfi_legal_cost(view->g, v);
    for (size_t i = 0; i < gs->want.count; i++) {
        llf_id p = gs->want.at[i].id;
        if (has_role(gs, p, LLFI_ROLE_OWN)) {
            uint32_t other = llfi_group_find(gs, p);
            if (other == group) {
                const llfi_want *w = &gs->want.at[i];
                if (fits && why == LLFI_WHY_FUSED)
                    why = llfi_legal_read(view->g, frame, p, lifted(gs, v, at, w->way), w->wide, w->moved);
                s.stores -= gs->rest[p] == gs->want.at[i].uses && !view->output[p];
                continue;
            }
            need = gs->group[other].level + 1 > need ? gs->group[other].level + 1 : need;
        }
        if (!lookup(gs, group, p))
            weigh(gs, p, true, &s);
    }
    *size = s;
    *level = need > gr->level ? need : gr->level;
    if (gr->size.nodes == 0) /* a node alone is always legal */
        return LLFI_WHY_FUSED;
    if (why != LLFI_WHY_FUSED)
        return why;
    why = llfi_legal_level(gr->level, need, earliest(gs, group, UINT32_MAX));
    return why == LLFI_WHY_FUSED ? llfi_legal_size(view->options, &s) : why;
}

llf_status llfi_group_join(llfi_groups *gs, uint32_t group, llf_id v, const llfi_fuse_size *size,
                           uint32_t level)
{
    llfi_group *gr = &gs->group[group];
    llfi_axes at;
    llfi_frame frame;
    frame_with(gs, gr, v, &frame, &at);
    if (gs->rows)
        gs->phase[v] = phase_in(gs, group, v);
    gr->frame = frame;
    gs->of[v] = group;
    gs->next[v] = LLF_NONE;
    if (gr->member == LLF_NONE)
        gr->member = gr->lowest = v;
    else
        gs->next[gr->last] = v;
    gr->last = v;
    gr->size = *size;
    gr->level = level;
    gs->earned += BUDGET_A_NODE;
    for (size_t i = 0; i < gs->want.count; i++) {
        llfi_want w = gs->want.at[i];
        if (has_role(gs, w.id, LLFI_ROLE_OWN)) {
            uint32_t other = llfi_group_find(gs, w.id);
            if (other == group) {
                gs->rest[w.id] -= w.uses;
                continue;
            }
            note_consumer(gs, other, group, level);
        }
        llfi_fuse_entry *e = lookup(gs, group, w.id);
        w.way = lifted(gs, v, at, w.way);
        if (e) {
            e->uses += w.uses;
            e->moved = e->moved || w.moved;
            e->wide = e->wide || w.wide;
            e->way = both_ways(e->way, w.way);
            continue;
        }
        if (!llfi_vec_reserve(&gs->cx->mem, &gs->entries, 1))
            return llfi_nomem(&gs->cx->diag);
        gs->entries.at[gs->entries.count++] =
            (llfi_fuse_entry){.id = w.id, .uses = w.uses, .moved = w.moved, .wide = w.wide, .way = w.way};
        if (!attach(gs, group, (uint32_t)gs->entries.count - 1))
            return llfi_nomem(&gs->cx->diag);
    }
    return LLF_OK;
}

llf_status llfi_group_open(llfi_groups *gs, llf_id v, uint32_t *group)
{
    uint32_t at = gs->groups++, level;
    gs->group[at] = (llfi_group){.parent = at,
                                 .level = 1,
                                 .member = LLF_NONE,
                                 .entry = UINT32_MAX,
                                 .consumer = UINT32_MAX,
                                 .consumer_level = UINT32_MAX,
                                 .other_level = UINT32_MAX,
                                 .refused = UINT32_MAX};
    llfi_fuse_size size;
    llfi_group_may_join(gs, at, v, &size, &level);
    *group = at;
    return llfi_group_join(gs, at, v, &size, level);
}

/* ---- two groups */

/* A value of `from` read by `to`, entry `e`, becomes internal to their union. */
static void internal(const llfi_groups *gs, const llfi_fuse_entry *e, llfi_fuse_size *s)
{
    s->reads--;
    s->stores -= gs->rest[e->id] == e->uses && e->uses && !gs->view->output[e->id];
}

static bool made_by(const llfi_groups *gs, llf_id id, uint32_t group)
{
    return has_role(gs, id, LLFI_ROLE_OWN) && llfi_group_find(gs, id) == group;
}

/* Axes of a group's space as axes of that of the frame which it joins. */
static llfi_axes joining(const llfi_groups *gs, const llfi_group *gr, llfi_frame f, llfi_axes way)
{
    const llf_graph *g = gs->view->g;
    if (!gs->rows || way == LLFI_AXES_NONE || !f.reduced || gr->frame.reduced)
        return way;
    llfi_type t = llfi_type_at(g, gr->frame.space);
    return llfi_axes_lift(way, llfi_axes_of(g, t), llfi_legal_along(g, f, t));
}

/* `gr` reads `id`, entry `e`, which the other group makes. */
static void meet(const llfi_groups *gs, const llfi_group *gr, const llfi_fuse_entry *e, llfi_frame f,
                 llfi_fuse_size *s, llfi_fuse_why *why)
{
    if (*why == LLFI_WHY_FUSED)
        *why = llfi_legal_read(gs->view->g, f, e->id, joining(gs, gr, f, e->way), e->wide, e->moved);
    internal(gs, e, s);
}

static llfi_fuse_size union_size(const llfi_groups *gs, uint32_t big, uint32_t small, llfi_frame f,
                                 llfi_fuse_why *why)
{
    const llfi_group *a = &gs->group[big], *b = &gs->group[small];
    llfi_fuse_size s = {.nodes = a->size.nodes + b->size.nodes,
                        .reads = a->size.reads + b->size.reads,
                        .stores = a->size.stores + b->size.stores,
                        .scalars = a->size.scalars + b->size.scalars,
                        .moved = a->size.moved + b->size.moved,
                        .extents = a->size.extents + b->size.extents,
                        .cost = a->size.cost + b->size.cost};
    bool fed = false;
    *why = LLFI_WHY_FUSED;
    for (uint32_t at = b->entry; at != UINT32_MAX; at = gs->entries.at[at].next) {
        const llfi_fuse_entry *e = &gs->entries.at[at];
        if (e->owner != small)
            continue;
        if (made_by(gs, e->id, big)) {
            meet(gs, b, e, f, &s, why);
            fed = true;
        } else if (lookup(gs, big, e->id))
            weigh(gs, e->id, false, &s);
    }
    for (uint32_t m = b->member; m != LLF_NONE; m = gs->next[m]) {
        const llfi_fuse_entry *e = lookup(gs, big, m);
        if (e) {
            meet(gs, a, e, f, &s, why);
            fed = true;
        }
    }
    uint32_t most = a->size.phases > b->size.phases ? a->size.phases : b->size.phases;
    s.phases = fed ? a->size.phases + b->size.phases : most;
    return s;
}

/* The group takes a frame in which its own space may be that of the rows: once at most. */
static void reframe(llfi_groups *gs, uint32_t group, llfi_frame f)
{
    llfi_group *gr = &gs->group[group];
    bool same = gr->frame.space == f.space || gr->frame.reduced;
    for (uint32_t at = gr->entry; at != UINT32_MAX && !same; at = gs->entries.at[at].next)
        if (gs->entries.at[at].owner == group)
            gs->entries.at[at].way = joining(gs, gr, f, gs->entries.at[at].way);
    gr->frame = f;
}

/* Moves the entries of `small` to `big`: internal ones end, shared ones add their uses. */
static bool move_entries(llfi_groups *gs, uint32_t big, uint32_t small)
{
    llfi_group *b = &gs->group[small];
    for (uint32_t at = b->entry, next; at != UINT32_MAX; at = next) {
        llfi_fuse_entry *e = &gs->entries.at[at], *shared;
        next = e->next;
        if (e->owner != small)
            continue;
        if (made_by(gs, e->id, big)) {
            gs->rest[e->id] -= e->uses;
            e->owner = LLFI_GROUP_NONE;
        } else if ((shared = lookup(gs, big, e->id)) != NULL) {
            shared->uses += e->uses;
            shared->moved = shared->moved || e->moved;
            shared->wide = shared->wide || e->wide;
            shared->way = both_ways(shared->way, e->way);
            e->owner = LLFI_GROUP_NONE;
        } else if (!attach(gs, big, at)) {
            return false;
        }
    }
    for (uint32_t m = b->member; m != LLF_NONE; m = gs->next[m]) {
        llfi_fuse_entry *e = lookup(gs, big, m);
        if (!e)
            continue;
        gs->rest[m] -= e->uses;
        e->owner = LLFI_GROUP_NONE;
        gs->group[big].entries--;
    }
    return true;
}

static llf_status commit(llfi_groups *gs, uint32_t big, uint32_t small, llfi_frame frame,
                         const llfi_fuse_size *size)
{
    llfi_group *a = &gs->group[big], *b = &gs->group[small];
    uint32_t level = a->level > b->level ? a->level : b->level;
    uint32_t early[2] = {earliest(gs, big, small), earliest(gs, small, big)};
    reframe(gs, big, frame);
    reframe(gs, small, frame);
    if (!move_entries(gs, big, small))
        return llfi_nomem(&gs->cx->diag);
    gs->next[a->last] = b->member;
    a->last = b->last;
    a->lowest = b->lowest < a->lowest ? b->lowest : a->lowest;
    a->size = *size;
    a->level = level;
    a->consumer = UINT32_MAX; /* whose consumers they are no longer matters: keep the bound */
    a->consumer_level = UINT32_MAX;
    a->other_level = early[0] < early[1] ? early[0] : early[1];
    b->parent = big;
    return LLF_OK;
}

static uint32_t buffers(const llfi_group *gr)
{
    return gr->size.reads + gr->size.stores;
}

/* Everything but the union's exact size. */
static llfi_fuse_why may_meet(llfi_groups *gs, uint32_t big, uint32_t small, llfi_frame *frame)
{
    const llfi_group *a = &gs->group[big], *b = &gs->group[small];
    llfi_fuse_why why = llfi_legal_frames(gs->view->g, a->frame, b->frame, frame);
    if (why != LLFI_WHY_FUSED)
        return why;
    uint32_t lo = a->level < b->level ? big : small, hi = lo == big ? small : big;
    why = llfi_legal_level(gs->group[lo].level, gs->group[hi].level, earliest(gs, lo, hi));
    if (why != LLFI_WHY_FUSED)
        return why;
    uint32_t shared = a->entries < b->entries ? a->entries : b->entries; /* at most, of recomputed values */
    if ((int64_t)a->size.nodes + b->size.nodes - shared > gs->view->options->params.max_kernel_nodes)
        return LLFI_WHY_NODES;
    if (b->refused != UINT32_MAX && root(gs, b->refused) == big && buffers(a) + buffers(b) > b->refused_size)
        return LLFI_WHY_BUFFERS; /* nothing has become better since */
    return gs->spent > gs->earned ? LLFI_WHY_BUDGET : LLFI_WHY_FUSED;
}

llf_status llfi_group_merge(llfi_groups *gs, uint32_t x, uint32_t y, llfi_fuse_why *why, uint32_t *merged)
{
    x = root(gs, x);
    y = root(gs, y);
    const llfi_group *gx = &gs->group[x], *gy = &gs->group[y];
    bool x_big = gx->size.nodes + gx->entries >= gy->size.nodes + gy->entries;
    uint32_t big = x_big ? x : y, small = x_big ? y : x;
    *merged = x;
    llfi_frame frame;
    if ((*why = may_meet(gs, big, small, &frame)) != LLFI_WHY_FUSED)
        return LLF_OK;
    llfi_fuse_size size = union_size(gs, big, small, frame, why);
    if (*why == LLFI_WHY_FUSED)
        *why = llfi_legal_size(gs->view->options, &size);
    if (*why != LLFI_WHY_FUSED) {
        llfi_group *b = &gs->group[small];
        gs->spent += b->size.nodes + b->entries;
        if (*why == LLFI_WHY_BUFFERS) {
            uint32_t over = size.reads + size.stores - (uint32_t)gs->view->options->params.max_kernel_buffers;
            b->refused = big;
            b->refused_size = buffers(&gs->group[big]) + buffers(b) - over;
        }
        return LLF_OK;
    }
    *merged = big;
    return commit(gs, big, small, frame, &size);
}
