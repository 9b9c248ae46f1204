/* demand.c: builds the demand list of a kernel by an explicit worklist, before LLVM is touched. It decides
 * the order of emission: leaves before what is computed (all loads of a tile stand together), and the walk
 * starts at the stores, so that kernels that are equal but for node ids get equal lists. It must not emit
 * anything, look at a target, or spend time on nodes outside the kernel. */
#include "lower/demand.h"

#define NOT_YET UINT32_MAX

/* A node under a map: of the kernel, or one just outside that it reads. */
typedef struct {
    llf_id node;
    uint32_t map;
    bool leaf, uniform;
    uint16_t scope, phase; /* of a kernel with reductions: once its operands are there */
    uint32_t next;         /* operand to visit next */
    uint32_t arg;          /* computed: where its operands begin in walk.arg */
    uint32_t demand;
} local;

typedef struct {
    llf_graph *g;
    const llfi_kernel *kernel;
    const llf_allocator *mem;
    llfi_maps maps;
    LLFI_VEC(local) at;
    llfi_map index;         /* (node, map) -> local */
    llfi_map member, outer; /* node -> itself: of the kernel; leaves met */
    uint32_t leaves;        /* distinct nodes */
    uint32_t none;          /* the map without axes */
    bool points;            /* the space has axes of an extent other than 1 */
    uint32_t rank;
    uint32_t axis[LLFI_RANK]; /* site axis of each axis of the space */
    uint32_t inside;          /* site axes that are reduced, a bit each */
    LLFI_VEC(uint16_t) phase; /* by atom; so far */
    LLFI_VEC(uint32_t) order; /* computed locals, operands first */
    LLFI_VEC(uint32_t) leaf;  /* leaf locals in order of first use */
    LLFI_VEC(uint32_t) stack;
    LLFI_VEC(uint32_t) arg;      /* locals, by operand of computed ones */
    uint32_t *operand, operands; /* the list's, being filled */
} walk;

static bool has(const llfi_map *map, llf_id node)
{
    uint64_t hash = llfi_hash_u64(0, node);
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(map, hash, &cursor)) != UINT32_MAX;)
        if (i == node)
            return true;
    return false;
}

static llf_status members(walk *w)
{
    const llfi_kernel *k = w->kernel;
    for (uint32_t i = 0; i < k->members; i++) {
        if (has(&w->member, k->member[i]))
            return LLF_E_INTERNAL; /* a member twice */
        if (!llfi_map_add(w->mem, &w->member, llfi_hash_u64(0, k->member[i]), k->member[i]))
            return LLF_E_NOMEM;
    }
    return LLF_OK;
}

/* The local of (node, map), made when it is new. */
static llf_status local_of(walk *w, llf_id node, uint32_t map, uint32_t *out, bool *fresh)
{
    uint64_t hash = llfi_hash_u64(map, node);
    size_t cursor = 0;
    *fresh = false;
    while ((*out = llfi_map_next(&w->index, hash, &cursor)) != UINT32_MAX)
        if (w->at.at[*out].node == node && w->at.at[*out].map == map)
            return LLF_OK;
    const llfi_node *n = llfi_node_at(w->g, node);
    bool leaf = llfi_node_is_leaf(n) || !has(&w->member, node);
    bool bare = w->maps.map.at[map].axes == 0;
    bool uniform = (!llfi_node_is_buffered(n) && n->op != LLF_OP_IOTA) ||
                   (w->points && bare); /* in a space of one point all are alike, whatever their rank */
    *out = (uint32_t)w->at.count;
    *fresh = true;
    if (!llfi_vec_reserve(w->mem, &w->at, 1) || !llfi_map_add(w->mem, &w->index, hash, *out))
        return LLF_E_NOMEM;
    w->at.at[w->at.count++] = (local){.node = node,
                                      .map = map,
                                      .leaf = leaf,
                                      .uniform = uniform,
                                      .arg = (uint32_t)w->arg.count,
                                      .demand = NOT_YET};
    if (!leaf) {
        if (!llfi_vec_reserve(w->mem, &w->arg, n->arity))
            return LLF_E_NOMEM;
        w->arg.count += n->arity;
    }
    if (leaf && !has(&w->outer, node)) {
        if (!llfi_map_add(w->mem, &w->outer, llfi_hash_u64(0, node), node))
            return LLF_E_NOMEM;
        w->leaves++;
    }
    uint64_t limit = 2 * (uint64_t)w->kernel->members + w->leaves + 32;
    return w->at.count > limit ? LLF_E_LIMIT : LLF_OK;
}

/* The node behind the views from `p` on, and the map that it is wanted under where `p` is under `ix`. */
static llf_status look_through(walk *w, llf_id p, llfi_ix *ix, bool ok, llf_id *node, uint32_t *map)
{
    const llf_graph *g = w->g;
    for (; ok && llfi_ops[llfi_node_at(g, p)->op].cls == LLFI_CLASS_VIEW; p = llfi_node_at(g, p)->arg[0])
        ok = llfi_ix_view(&w->maps, g, p, ix);
    *node = p;
    *map = ok ? llfi_maps_add(&w->maps, llfi_type_of(g, p).rank, ix) : UINT32_MAX;
    return w->maps.status;
}

/* ---- kernels with reductions */

/* A value of the space's dims under its own points; else one of the rows. False: neither. */
static bool own_map(walk *w, llfi_type t, uint32_t *map)
{
    llfi_type space = llfi_type_at(w->g, w->kernel->space);
    uint8_t at[LLFI_RANK];
    llfi_ix ix[LLFI_RANK];
    bool all = llfi_type_same_dims(t, space);
    llfi_axes outer = llfi_axes_of(w->g, space) & ~w->kernel->reduced;
    if (!all && !llfi_axes_lie(w->g, t, space, outer, at))
        return false;
    for (uint32_t i = 0; i < t.rank; i++)
        ix[i] = all || at[i] < LLFI_RANK ? llfi_ix_axis(&w->maps, w->axis[all ? i : at[i]]) : 0;
    *map = llfi_maps_add(&w->maps, t.rank, ix);
    return true;
}

/* The operand of a reduction, wanted in its row at all points. */
static llf_status resolve_reduce(walk *w, const local *l, llf_id *node, uint32_t *map)
{
    llfi_reduce r = llfi_reduce_of(w->g, l->node);
    llfi_type in = llfi_type_of(w->g, r.x);
    uint32_t own;
    if (!own_map(w, llfi_type_of(w->g, l->node), &own) || own != l->map || r.axes != w->kernel->reduced ||
        !llfi_type_same_dims(in, llfi_type_at(w->g, w->kernel->space)))
        return w->maps.status != LLF_OK ? w->maps.status : LLF_E_INTERNAL; /* of another row, or space */
    llfi_ix ix[LLFI_RANK];
    for (uint32_t i = 0; i < in.rank; i++)
        ix[i] = llfi_ix_axis(&w->maps, w->axis[i]);
    return look_through(w, r.x, ix, w->maps.status == LLF_OK, node, map);
}

/* The phase in which what indices of this map are made of is there. Atoms refer to older ones. */
static llf_status map_phase(walk *w, uint32_t map, uint16_t *phase)
{
    const llfi_maps *m = &w->maps;
    for (uint32_t i = (uint32_t)w->phase.count; i < m->atom.count; i++) {
        const llfi_atom *a = &m->atom.at[i];
        uint16_t p = a->kind == LLFI_ATOM_VALUE ? w->at.at[a->arg].phase : 0;
        bool form = a->kind != LLFI_ATOM_VALUE && a->kind != LLFI_ATOM_AXIS;
        for (uint32_t k = 0; form && k < m->form.at[a->arg].terms; k++) {
            uint16_t of = w->phase.at[m->term.at[m->form.at[a->arg].first + k].atom];
            p = of > p ? of : p;
        }
        if (!llfi_vec_reserve(w->mem, &w->phase, 1))
            return LLF_E_NOMEM;
        w->phase.at[w->phase.count++] = p;
    }
    for (uint32_t i = 0; i < m->map.at[map].rank; i++) {
        const llfi_ix_form *f = &m->form.at[m->map.at[map].ix[i]];
        for (uint32_t k = 0; k < f->terms; k++) {
            uint16_t of = w->phase.at[m->term.at[f->first + k].atom];
            *phase = of > *phase ? of : *phase;
        }
    }
    return LLF_OK;
}

/* Scope and phase, once the operands have theirs. */
static llf_status place(walk *w, uint32_t at)
{
    local *l = &w->at.at[at];
    const llfi_node *n = llfi_node_at(w->g, l->node);
    bool reduces = !l->leaf && llfi_ops[n->op].cls == LLFI_CLASS_REDUCE;
    l->uniform = l->uniform && !reduces;
    for (uint32_t a = 0; !l->leaf && a < n->arity; a++) {
        const local *x = &w->at.at[w->arg.at[l->arg + a]];
        l->phase = x->phase > l->phase ? x->phase : l->phase;
        l->uniform = l->uniform && x->uniform;
    }
    LLF_TRY(map_phase(w, l->map, &l->phase));
    l->uniform = l->uniform && !l->phase; /* also where an index is what a whole-tensor reduction gave */
    if (reduces && l->phase++ == UINT16_MAX)
        return LLF_E_LIMIT;
    bool inside = w->maps.map.at[l->map].axes & w->inside;
    l->scope = l->uniform ? LLFI_SCOPE_UNIFORM : inside ? LLFI_SCOPE_POINT : LLFI_SCOPE_ROW;
    return LLF_OK;
}

/* Operand `a` of a node under `map`: the node behind its views and the map that it is wanted under. */
static llf_status resolve(walk *w, const local *l, uint32_t a, llf_id *node, uint32_t *map)
{
    const llf_graph *g = w->g;
    llf_id p = llfi_args(g, llfi_node_at(g, l->node))[a];
    llfi_type out = llfi_type_of(g, l->node), in = llfi_type_of(g, p);
    bool view = llfi_ops[llfi_node_at(g, p)->op].cls == LLFI_CLASS_VIEW;
    bool chooses = llfi_ops[llfi_node_at(g, l->node)->op].cls == LLFI_CLASS_INDEX, ok;
    if (w->kernel->reduced && llfi_ops[llfi_node_at(g, l->node)->op].cls == LLFI_CLASS_REDUCE)
        return resolve_reduce(w, l, node, map);
    *node = p;
    *map = in.rank ? l->map : w->none;
    if (!view && (!in.rank || (!chooses && llfi_type_same_dims(in, out))))
        return LLF_OK;
    if (in.rank > out.rank && !chooses)
        return LLF_E_INTERNAL; /* a rank-0 node that reads a larger one */
    llfi_ix ix[LLFI_RANK];
    llfi_index_map *from = &w->maps.map.at[l->map];
    memcpy(ix, from->ix, from->rank * sizeof *ix);
    if (chooses) {
        uint32_t value = llfi_node_at(g, l->node)->op == LLF_OP_TAKE && a == 0 ? w->arg.at[l->arg + 1] : 0;
        ok = llfi_ix_operand(&w->maps, g, l->node, a, value, w->at.at[value].map, ix);
    } else {
        ok = llfi_ix_broadcast(&w->maps, ix, out.rank, out.dim, in.rank, in.dim);
    }
    return look_through(w, p, ix, ok, node, map);
}

static bool push(const llf_allocator *mem, uint32_t **at, size_t *count, size_t *cap, uint32_t value)
{
    if (*count == *cap && !llfi_vec_grow(mem, (void **)at, cap, *count + 1, sizeof **at))
        return false;
    (*at)[(*count)++] = value;
    return true;
}
#define PUSH(w, v, value) push((w)->mem, &(w)->v.at, &(w)->v.count, &(w)->v.cap, value)

/* Post-order from one store with a stack of our own. */
static llf_status visit(walk *w, uint32_t root)
{
    if (!PUSH(w, stack, root))
        return LLF_E_NOMEM;
    while (w->stack.count) {
        uint32_t top = w->stack.at[w->stack.count - 1], child, map;
        local *l = &w->at.at[top];
        llf_id node;
        bool fresh;
        if (l->next == llfi_node_at(w->g, l->node)->arity) {
            if (w->kernel->reduced)
                LLF_TRY(place(w, top));
            if (!PUSH(w, order, top))
                return LLF_E_NOMEM;
            w->stack.count--;
            continue;
        }
        uint32_t a = l->next++;
        if (llfi_node_at(w->g, l->node)->op ==
            LLF_OP_TAKE) /* indices first: what they choose waits for them */
            a = 1 - a;
        LLF_TRY(resolve(w, l, a, &node, &map));
        LLF_TRY(local_of(w, node, map, &child, &fresh));
        w->arg.at[w->at.at[top].arg + a] = child;
        bool early = fresh && w->at.at[child].leaf && !llfi_map_waits(&w->maps, map);
        bool late = fresh && w->at.at[child].leaf && !early;
        if (w->kernel->reduced && (early || late))
            LLF_TRY(place(w, child));
        if (fresh && !(early ? PUSH(w, leaf, child) : late ? PUSH(w, order, child) : PUSH(w, stack, child)))
            return LLF_E_NOMEM;
    }
    return LLF_OK;
}

/* The conditions of an op that chooses, and whether the point itself is asked for. */
static llf_status choices(walk *w, llfi_demands *out, llfi_demand *d)
{
    const llfi_node *n = llfi_node_at(w->g, d->node);
    uint32_t count = d->leaf ? 0 : llfi_ix_conditions(w->g, d->node);
    out->placed = out->placed || count || n->op == LLF_OP_IOTA || llfi_map_waits(&w->maps, d->map);
    d->cond = out->conds;
    d->late = d->leaf && llfi_map_waits(&w->maps, d->map);
    for (uint32_t k = 0; k < count; k++) {
        llfi_ix ix[LLFI_RANK];
        memcpy(ix, w->maps.map.at[d->map].ix, w->maps.map.at[d->map].rank * sizeof *ix);
        if (!llfi_ix_condition(&w->maps, w->g, d->node, ix, k, &out->cond[out->conds++]))
            return w->maps.status;
    }
    return LLF_OK;
}

/* VALUE atoms name demands from here on. */
static void name_values(walk *w)
{
    for (size_t i = 0; i < w->maps.atom.count; i++) {
        llfi_atom *a = &w->maps.atom.at[i];
        if (a->kind == LLFI_ATOM_VALUE)
            a->arg = w->at.at[a->arg].demand;
    }
}

/* Appends those of `from` that have the scope. */
static llf_status append(walk *w, llfi_demands *out, const uint32_t *from, size_t count, uint16_t scope)
{
    for (size_t i = 0; i < count; i++) {
        local *l = &w->at.at[from[i]];
        if (l->uniform != (scope == 0))
            continue;
        llfi_demand *d = &out->at[out->count];
        *d = (llfi_demand){.node = l->node,
                           .map = l->map,
                           .scope = w->kernel->reduced ? l->scope : scope,
                           .phase = l->phase,
                           .leaf = l->leaf,
                           .offset = LLFI_OFFSET_LINEAR,
                           .number = LLFI_DIM_NONE,
                           .alive = LLFI_DIM_NONE};
        LLF_TRY(choices(w, out, d));
        uint32_t *arg = w->operand + w->operands, arity = l->leaf ? 0 : llfi_node_at(w->g, l->node)->arity;
        d->arg = l->leaf ? NULL : arg;
        w->operands += arity;
        for (uint32_t a = 0; a < arity; a++) {
            arg[a] = w->at.at[w->arg.at[l->arg + a]].demand;
            if (arg[a] == NOT_YET)
                return LLF_E_INTERNAL; /* a rank-0 node that reads a larger one */
        }
        l->demand = out->count++;
    }
    return LLF_OK;
}

static llf_status order(walk *w, llfi_arena *arena, llfi_demands *out)
{
    const llfi_kernel *k = w->kernel;
    uint32_t identity = llfi_maps_identity(&w->maps); /* of no use with reductions */
    w->none = llfi_maps_add(&w->maps, 0, NULL);
    LLF_TRY(w->maps.status);
    uint32_t *root = llfi_arena_alloc(arena, (k->stores + 1) * sizeof *root);
    if (!root)
        return LLF_E_NOMEM;
    out->store = root;
    for (uint32_t i = 0; i < k->stores; i++) {
        bool fresh;
        uint32_t rank = llfi_type_of(w->g, k->store[i]).rank, map = rank ? identity : w->none;
        if (!has(&w->member, k->store[i]) || (rank && rank != w->rank && !k->reduced) ||
            (k->reduced && rank && !own_map(w, llfi_type_of(w->g, k->store[i]), &map)))
            return LLF_E_INTERNAL; /* stores what it does not compute, or of another space */
        LLF_TRY(w->maps.status);
        LLF_TRY(local_of(w, k->store[i], map, &root[i], &fresh));
        if (w->at.at[root[i]].leaf)
            return LLF_E_INTERNAL;
        if (fresh)
            LLF_TRY(visit(w, root[i]));
    }
    out->at = llfi_arena_alloc(arena, (w->at.count + 1) * sizeof *out->at);
    w->operand = llfi_arena_alloc(arena, (w->arg.count + 1) * sizeof *w->operand);
    size_t conds = 1;
    for (size_t i = 0; i < w->at.count; i++)
        conds += w->at.at[i].leaf ? 0 : llfi_ix_conditions(w->g, w->at.at[i].node);
    out->cond = llfi_arena_alloc(arena, conds * sizeof *out->cond);
    if (!out->at || !w->operand || !out->cond)
        return LLF_E_NOMEM;
    LLF_TRY(append(w, out, w->leaf.at, w->leaf.count, 0));
    LLF_TRY(append(w, out, w->order.at, w->order.count, 0));
    out->uniform = out->count;
    LLF_TRY(append(w, out, w->leaf.at, w->leaf.count, 1));
    LLF_TRY(append(w, out, w->order.at, w->order.count, 1));
    for (uint32_t i = 0; i < k->stores; i++)
        out->store[i] = w->at.at[root[i]].demand;
    for (uint32_t i = 0; k->reduced && i < out->count; i++)
        out->phases = out->at[i].phase > out->phases ? out->at[i].phase : out->phases;
    name_values(w);
    return llfi_access_make(w->g, k, &w->maps, arena, out);
}

llf_status llfi_demands_make(llf_graph *g, const llfi_kernel *kernel, llfi_arena *arena, llfi_demands *out)
{
    *out = (llfi_demands){0};
    llfi_type space = llfi_type_at(g, kernel->space);
    llfi_dim extent[LLFI_RANK] = {0};
    walk w = {.g = g, .kernel = kernel, .mem = arena->mem, .rank = space.rank};
    for (uint32_t side = 0, axes = 0; side < 2; side++) /* outer axes, then reduced ones */
        for (uint32_t i = 0; i < space.rank; i++)
            if ((kernel->reduced >> i & 1) == side) {
                w.inside |= side << axes;
                w.axis[i] = axes++;
                extent[w.axis[i]] = space.dim[i];
            }
    llf_status status = llfi_maps_init(&w.maps, w.mem, g->dims, space.rank, extent);
    for (uint32_t i = 0; i < space.rank; i++)
        w.points = w.points || extent[i] != w.maps.one;
    if (status == LLF_OK)
        status = members(&w);
    if (status == LLF_OK)
        status = order(&w, arena, out);
    if (w.maps.status == LLF_E_LIMIT)
        llfi_blame(&w.maps, g, kernel);
    llfi_maps_free(&w.maps);
    llfi_vec_free(w.mem, &w.at);
    llfi_vec_free(w.mem, &w.order);
    llfi_vec_free(w.mem, &w.leaf);
    llfi_vec_free(w.mem, &w.stack);
    llfi_vec_free(w.mem, &w.arg);
    llfi_vec_free(w.mem, &w.phase);
    llfi_map_free(w.mem, &w.index);
    llfi_map_free(w.mem, &w.member);
    llfi_map_free(w.mem, &w.outer);
    return status;
}

/* ---- hash */

/* A constant is in the code; another extent is an argument, known by its place alone. */
static uint64_t hash_dim(const llf_graph *g, const llfi_demands *list, uint64_t h, llfi_dim d)
{
    int64_t value;
    if (llfi_dim_is_const(g->dims, d, &value))
        return llfi_hash_u64(llfi_hash_u64(h, 0), (uint64_t)value);
    uint32_t i = 0;
    while (i < list->dims && list->dim[i] != d)
        i++;
    return llfi_hash_u64(llfi_hash_u64(h, 1), i);
}

/* The expressions and axes; nothing of them where every offset is the linear index. */
static uint64_t hash_access(const llf_graph *g, const llfi_demands *list, uint64_t h)
{
    const llfi_space *s = &list->space;
    if (list->forms == 0)
        return h;
    h = llfi_hash_u64(llfi_hash_u64(h, s->axes), s->used | (uint64_t)s->narrow << 32);
    if (list->phases)
        h = llfi_hash_u64(llfi_hash_u64(llfi_hash_u64(h, s->outer), s->along), list->phases);
    for (uint32_t i = 0; i < s->axes; i++)
        h = hash_dim(g, list, h, s->extent[i]);
    for (uint32_t i = 0; i < LLFI_RANK; i++)
        h = llfi_hash_u64(h, (uint64_t)s->of[i]);
    for (uint32_t i = 0; i < list->atoms; i++) {
        const llfi_atom *a = &list->atom[i];
        h = llfi_hash_u64(llfi_hash_u64(h, a->kind), a->arg);
        if (a->kind != LLFI_ATOM_AXIS)
            h = hash_dim(g, list, h, a->by);
    }
    for (uint32_t i = 0; i < list->forms; i++) {
        const llfi_ix_form *f = &list->form[i];
        h = hash_dim(g, list, hash_dim(g, list, llfi_hash_u64(h, f->terms), f->constant.pos),
                     f->constant.neg);
        for (uint32_t k = 0; k < f->terms; k++) {
            const llfi_ix_term *t = &list->term[f->first + k];
            h = hash_dim(g, list, hash_dim(g, list, llfi_hash_u64(h, t->atom), t->coef.pos), t->coef.neg);
        }
    }
    return h;
}

uint64_t llfi_demands_hash(const llf_graph *g, const llfi_demands *list, const llfi_kernel *kernel)
{
    enum { COMPUTED, BUFFER, SCALAR, LITERAL, PLACE, NUMBER };
    uint64_t h = llfi_hash_u64(0x6c6c6664656d616e, list->count);
    h = llfi_hash_u64(h, list->uniform);
    for (uint32_t i = 0; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        const llfi_node *n = llfi_node_at(g, d->node);
        unsigned kind = !d->leaf                 ? COMPUTED
                        : n->op == LLF_OP_CONST  ? LITERAL
                        : n->op == LLF_OP_IOTA   ? PLACE
                        : n->op == LLF_OP_COUNT  ? NUMBER
                        : llfi_node_is_scalar(n) ? SCALAR
                                                 : BUFFER;
        h = llfi_hash_u64(h, kind);
        h = llfi_hash_u64(h, llfi_dtype_of(g, d->node));
        h = llfi_hash_u64(h, d->scope == 0);
        h = llfi_hash_u64(h, d->scope);
        if (kind == LITERAL)
            h = llfi_hash_u64(h, n->attr);
        if (kind == NUMBER)
            h = hash_dim(g, list, h, d->number);
        if ((kind == BUFFER || kind == PLACE) && d->offset != LLFI_OFFSET_LINEAR)
            h = llfi_hash_u64(h, d->offset);
        if (d->alive != LLFI_DIM_NONE)
            h = hash_dim(g, list, llfi_hash_u64(h, LLFI_ATOM_CLAMP), d->alive);
        if (kind == BUFFER && d->same != i) /* one argument for both */
            h = llfi_hash_u64(h, d->same);
        if (kind != COMPUTED)
            continue;
        h = llfi_hash_u64(h, n->op);
        if (d->offset != LLFI_OFFSET_LINEAR) /* a store, of a kernel with reductions */
            h = llfi_hash_u64(h, d->offset);
        if (llfi_demand_reduces(g, d)) { /* what and how its operand's dtype and its own tell */
            h = llfi_hash_u64(h, d->arg[0]);
            continue;
        }
        bool chooses = llfi_ops[n->op].cls == LLFI_CLASS_INDEX; /* how stands in conditions and offsets */
        h = llfi_hash_u64(h, chooses ? n->arity : n->attr);
        for (uint32_t k = 0; chooses && k < llfi_ix_conditions(g, d->node); k++)
            h = llfi_hash_u64(h, list->cond[d->cond + k]);
        for (uint32_t a = 0; a < n->arity; a++)
            h = llfi_hash_u64(h, d->arg[a]);
    }
    h = hash_access(g, list, h);
    h = llfi_hash_u64(h, kernel->stores);
    for (uint32_t i = 0; i < kernel->stores; i++)
        h = llfi_hash_u64(h, list->store[i]);
    return h;
}
