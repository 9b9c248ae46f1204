/* horizontal.c: independent kernels side by side in one launch, as parts of one kernel. legal.c says what
 * fits, the heuristic whether it is wanted; it never takes a kernel apart or puts two into one part.
 * In: kernels of one part each, in order of levels; an edge between kernels leads to a higher level.
 * Out: kernels of one level joined, the order else unchanged.
 * Why: a launch costs as much as a megabyte of traffic.
 * Cost: linear; a kernel is tried with the few latest ones of its level that still grow. */
#include "fuse/fuse.h"

#define NONE UINT32_MAX
#define OPEN 4u    /* kernels of a level that still grow */
#define BODIES 64u /* most of params.def */

/* A kernel before the joining. */
typedef struct {
    uint32_t slots; /* arguments */
    uint64_t cost, body;
    bool permuted, hinted, reduces; /* reads permuted; a hint wants a node of it apart; has reductions */
    uint32_t next, bin;             /* next kernel of its bin */
} unit;

/* Kernels that become one, and still grow; known by the first of them. */
typedef struct {
    uint32_t first, last; /* units */
    llfi_parts_size size;
    uint64_t body[BODIES];
} bin;

/* A value that a bin's part of some space reads or computes. */
typedef struct {
    uint32_t bin, space;
    llf_id id;
} use;

typedef struct {
    llf_context *cx;
    const llfi_fuse_view *view;
    const llfi_needs *extents;
    const llf_graph *g;
    llfi_plan *p;
    llfi_arena *scratch;
    unit *unit;
    bin open[OPEN]; /* oldest first */
    uint32_t opens;
    uint32_t *stamp, *place; /* by node: last unit that met it, plus 1; how many it had met before */
    uint64_t *view_hash;     /* by view: what lies between it and its source; 0: no view. Bit 0: permuted */
    LLFI_VEC(llf_id) met;    /* of the unit looked at */
    LLFI_VEC(use) uses;
    llfi_map index;               /* use */
    const llfi_value_name *names; /* for the log; NULL: off */
} search;

/* ---- units */

static bool hash_views(search *s)
{
    s->view_hash = llfi_arena_alloc(s->scratch, (s->g->nodes.count + 1) * sizeof *s->view_hash);
    for (llf_id id = 0; s->view_hash && id < s->g->nodes.count; id++) {
        const llfi_node *n = llfi_node_at(s->g, id);
        if (llfi_ops[n->op].cls != LLFI_CLASS_VIEW)
            continue;
        uint64_t inner = s->view_hash[llfi_args(s->g, n)[0]];
        uint64_t h = llfi_hash_u64(llfi_needs_dims(s->g, inner, id), (uint64_t)n->op << 32 | n->attr);
        s->view_hash[id] = (h | 2) & ~UINT64_C(1);
        s->view_hash[id] |= n->op == LLF_OP_PERMUTE || inner & 1;
    }
    return s->view_hash != NULL;
}

/* A node met first by unit `k`; 1 of it: its place among those met. */
static bool meet(search *s, uint32_t k, llf_id id, bool *fresh)
{
    *fresh = s->stamp[id] != k + 1;
    if (!*fresh)
        return true;
    s->stamp[id] = k + 1;
    s->place[id] = (uint32_t)s->met.count;
    if (!llfi_vec_reserve(&s->cx->mem, &s->met, 1))
        return false;
    s->met.at[s->met.count++] = id;
    return true;
}

static bool operand(search *s, unit *u, uint32_t k, llf_id user, uint32_t a)
{
    llf_id given = llfi_args(s->g, llfi_node_at(s->g, user))[a], id = s->view->source[given];
    const llfi_node *n = llfi_node_at(s->g, id);
    bool fresh, moved = llfi_legal_moved(s->g, s->view->source, user, a);
    if (!meet(s, k, id, &fresh))
        return false;
    u->body = llfi_hash_u64(u->body, s->place[id]);
    if (fresh) { /* members come before their users: a leaf, or made by another kernel */
        u->body = llfi_hash_u64(llfi_hash_u64(u->body, llfi_dtype_of(s->g, id)), n->op == LLF_OP_CONST);
        u->body = llfi_hash_u64(u->body, n->op == LLF_OP_CONST ? n->attr : llfi_node_is_scalar(n));
        u->slots += n->op != LLF_OP_CONST;
        if (n->op == LLF_OP_INPUT)
            u->slots += 2 * llfi_type_of(s->g, id).rank; /* room for strides that prepare may find */
    }
    /* Each as if no other needed the same: several parts have no table to fall back on. A value that is
     * recomputed may be evaluated at several places. */
    u->slots += llfi_needs_of(s->extents, user, a) *
                (s->view->role[user] == LLFI_ROLE_RECOMPUTE ? 1 + s->view->spread[user] : 1);
    if (moved) {
        u->body = llfi_needs_dims(
            s->g, llfi_needs_dims(s->g, llfi_hash_u64(u->body, s->view_hash[given]), id), user);
        u->permuted = u->permuted || s->view_hash[given] & 1;
    }
    return true;
}

/* Extents of the space that indices may need as arguments, where an offset is not the linear one. */
static uint32_t space_extents(const search *s, const llfi_kernel *k)
{
    llfi_type t = llfi_type_at(s->g, k->space);
    uint32_t n = 0;
    int64_t value;
    for (uint32_t i = 1; i < t.rank; i++)
        n += !llfi_dim_is_const(s->g->dims, t.dim[i], &value);
    return n;
}

static bool look(search *s, uint32_t k)
{
    const llfi_kernel *kn = &s->p->kernel[k];
    unit *u = &s->unit[k];
    *u = (unit){.slots = kn->stores + 2 + space_extents(s, kn),
                .reduces = kn->reduced != 0,
                .next = NONE,
                .bin = NONE};
    s->met.count = 0;
    for (uint32_t i = 0; i < kn->members; i++) {
        const llfi_node *n = llfi_node_at(s->g, kn->member[i]);
        bool fresh;
        for (uint32_t a = 0; a < n->arity; a++)
            if (!operand(s, u, k, kn->member[i], a))
                return false;
        if (!meet(s, k, kn->member[i], &fresh))
            return false;
        u->body = llfi_hash_u64(llfi_hash_u64(u->body, n->op), llfi_dtype_of(s->g, kn->member[i]));
        u->body = llfi_hash_u64(llfi_hash_u64(u->body, n->attr), llfi_type_of(s->g, kn->member[i]).rank == 0);
        u->cost += llfi_legal_cost(s->g, kn->member[i]);
        u->hinted = u->hinted || s->view->hint[kn->member[i]] == LLF_HINT_APART;
    }
    for (uint32_t i = 0; i < kn->stores; i++)
        u->body = llfi_hash_u64(u->body, s->place[kn->store[i]]);
    return true;
}

/* ---- values that the parts of one space may not have in common, or they would be one part */

static uint64_t use_hash(const search *s, uint32_t to, llf_id id, llf_id store)
{
    return llfi_needs_dims(s->g, llfi_hash_u64(llfi_hash_u64(0, to), id), store);
}

static bool counts(const search *s, llf_id id, bool scalars)
{
    return llfi_node_is_buffered(llfi_node_at(s->g, id)) && (scalars || llfi_type_of(s->g, id).rank);
}

/* Does unit `k`, which was looked at last, read or compute what a part of its space in bin `to` does? */
static bool related(const search *s, uint32_t k, uint32_t to)
{
    llf_id store = s->p->kernel[k].store[0];
    bool scalars = llfi_type_of(s->g, store).rank == 0;
    for (size_t i = 0; i < s->met.count; i++) {
        size_t cursor = 0;
        uint64_t hash = use_hash(s, to, s->met.at[i], store);
        for (uint32_t at;
             counts(s, s->met.at[i], scalars) && (at = llfi_map_next(&s->index, hash, &cursor)) != NONE;) {
            const use *u = &s->uses.at[at];
            if (u->bin == to && u->id == s->met.at[i] &&
                llfi_type_same_dims(llfi_type_at(s->g, u->space), llfi_type_of(s->g, store)))
                return true;
        }
    }
    return false;
}

static bool note(search *s, uint32_t k, uint32_t to)
{
    llf_id store = s->p->kernel[k].store[0];
    bool scalars = llfi_type_of(s->g, store).rank == 0;
    for (size_t i = 0; i < s->met.count; i++) {
        llf_id id = s->met.at[i];
        if (!counts(s, id, scalars))
            continue;
        if (!llfi_vec_reserve(&s->cx->mem, &s->uses, 1) ||
            !llfi_map_add(&s->cx->mem, &s->index, use_hash(s, to, id, store), (uint32_t)s->uses.count))
            return false;
        s->uses.at[s->uses.count++] = (use){to, llfi_node_at(s->g, store)->type, id};
    }
    return true;
}

/* ---- bins */

/* The size that bin `to` would have with unit `k`. */
static llfi_parts_size grown(const search *s, const bin *b, uint32_t k, bool *fresh)
{
    const unit *u = &s->unit[k];
    llfi_parts_size z = b->size;
    *fresh = true;
    for (uint32_t i = 0; i < b->size.bodies && *fresh; i++)
        *fresh = b->body[i] != u->body;
    z.parts++;
    z.slots += u->slots;
    z.bodies += *fresh;
    z.nodes += *fresh ? s->p->kernel[k].members : 0;
    z.cost += *fresh ? u->cost : 0;
    z.least = u->cost < z.least ? u->cost : z.least;
    z.most = u->cost > z.most ? u->cost : z.most;
    return z;
}

static void decision(const search *s, uint32_t k, const bin *b, llfi_fuse_why why, int64_t score,
                     const llfi_parts_size *z)
{
    llf_id x = s->p->kernel[b->first].store[0], y = s->p->kernel[k].store[0];
    if (!s->names)
        return;
    llfi_str first, second;
    llfi_str_init(&first, &s->cx->mem);
    llfi_str_init(&second, &s->cx->mem);
    llfi_names_put(s->g, s->names, x < y ? x : y, &first);
    llfi_names_put(s->g, s->names, x < y ? y : x, &second);
    llfi_log(s->cx, LLFI_LOG_FUSION,
             "{\"a\":\"%s\",\"b\":\"%s\",\"verdict\":\"%s\",\"reason\":\"%s\",\"score\":%lld,\"parts\":%u,"
             "\"bodies\":%u,\"argument_bytes\":%llu,\"nodes\":%llu,\"cost\":%llu}",
             first.at ? first.at : "", second.at ? second.at : "", why == LLFI_WHY_FUSED ? "fuse" : "apart",
             llfi_why_code(why), (long long)score, z->parts, z->bodies,
             (unsigned long long)llfi_legal_parts_bytes(z->parts, z->slots), (unsigned long long)z->nodes,
             (unsigned long long)z->cost);
    llfi_str_free(&first);
    llfi_str_free(&second);
}

static llfi_fuse_why may_join(const search *s, uint32_t k, uint32_t to, const llfi_parts_size *z,
                              int64_t score)
{
    if (s->unit[k].hinted)
        return LLFI_WHY_HINT;
    if (score < 0)
        return LLFI_WHY_HEURISTIC;
    if (s->unit[k].permuted)
        return LLFI_WHY_PERMUTED;
    if (s->unit[k].reduces)
        return LLFI_WHY_REDUCES;
    llfi_fuse_why why = llfi_legal_parts(s->view->options, z);
    return why != LLFI_WHY_FUSED ? why : related(s, k, to) ? LLFI_WHY_RELATED : LLFI_WHY_FUSED;
}

static void open_bin(search *s, uint32_t k)
{
    const unit *u = &s->unit[k];
    if (s->opens == OPEN)
        memmove(s->open, s->open + 1, --s->opens * sizeof *s->open);
    bin *b = &s->open[s->opens++];
    b->first = b->last = k;
    b->size = (llfi_parts_size){.parts = 1,
                                .bodies = 1,
                                .slots = u->slots,
                                .nodes = s->p->kernel[k].members,
                                .cost = u->cost,
                                .least = u->cost,
                                .most = u->cost};
    b->body[0] = u->body;
}

static llf_status put(search *s, uint32_t k)
{
    uint32_t to = NONE;
    for (uint32_t i = 0; i < s->opens && to == NONE; i++) {
        bin *b = &s->open[i];
        bool fresh;
        llfi_parts_size z = grown(s, b, k, &fresh);
        llf_id a = s->p->kernel[b->first].store[0], c = s->p->kernel[k].store[0];
        int64_t score = s->view->options->heuristic->score(s->view, a < c ? a : c, a < c ? c : a);
        llfi_fuse_why why = may_join(s, k, b->first, &z, score);
        decision(s, k, b, why, score, &z);
        if (why != LLFI_WHY_FUSED)
            continue;
        to = b->first;
        if (fresh)
            b->body[b->size.bodies] = s->unit[k].body;
        b->size = z;
        s->unit[b->last].next = k;
        b->last = k;
    }
    s->unit[k].bin = to == NONE ? k : to;
    if (to == NONE && !s->unit[k].permuted && !s->unit[k].hinted && !s->unit[k].reduces)
        open_bin(s, k);
    return note(s, k, s->unit[k].bin) ? LLF_OK : llfi_nomem(&s->cx->diag);
}

/* ---- the plan */

static llfi_kernel joined(const search *s, uint32_t first, bool *ok)
{
    llfi_kernel out = {.parts = 1, .space = s->p->kernel[first].space};
    size_t members = 0, stores = 0;
    for (uint32_t u = first; u != NONE; u = s->unit[u].next) {
        members += s->p->kernel[u].members;
        stores += s->p->kernel[u].stores;
    }
    out.member = llfi_arena_alloc(&s->p->arena, members * sizeof *out.member);
    out.store = llfi_arena_alloc(&s->p->arena, stores * sizeof *out.store);
    if (!out.member || !out.store) {
        *ok = false;
        return out;
    }
    for (uint32_t u = first; u != NONE; u = s->unit[u].next) {
        const llfi_kernel *k = &s->p->kernel[u];
        memcpy(out.member + out.members, k->member, k->members * sizeof *k->member);
        memcpy(out.store + out.stores, k->store, k->stores * sizeof *k->store);
        out.members += k->members;
        out.stores += k->stores;
    }
    llfi_sort(out.member, out.members, NULL, NULL);
    llfi_sort(out.store, out.stores, NULL, NULL);
    uint32_t n = 0;
    for (uint32_t i = 0; i < out.members; i++) /* a recomputed value may have been in several */
        if (i == 0 || out.member[i] != out.member[i - 1])
            out.member[n++] = out.member[i];
    out.members = n;
    return out;
}

static llf_status write_plan(search *s)
{
    uint32_t n = 0;
    bool ok = true;
    for (uint32_t k = 0; k < s->p->kernels && ok; k++) { /* at or before the kernels it is made of */
        if (s->unit[k].bin != k)
            continue;
        s->p->kernel[n++] = s->unit[k].next == NONE ? s->p->kernel[k] : joined(s, k, &ok);
    }
    s->p->kernels = n;
    return ok ? LLF_OK : llfi_nomem(&s->cx->diag);
}

static llf_status run(search *s, const uint32_t *level)
{
    size_t nodes = s->g->nodes.count + 1;
    s->unit = llfi_arena_alloc(s->scratch, s->p->kernels * sizeof *s->unit);
    s->stamp = llfi_arena_alloc(s->scratch, nodes * sizeof *s->stamp);
    s->place = llfi_arena_alloc(s->scratch, nodes * sizeof *s->place);
    if (!s->unit || !s->stamp || !s->place || !hash_views(s))
        return llfi_nomem(&s->cx->diag);
    for (uint32_t k = 0; k < s->p->kernels; k++) {
        if (k && level[k] != level[k - 1])
            s->opens = 0;
        if (!look(s, k))
            return llfi_nomem(&s->cx->diag);
        LLF_TRY(put(s, k));
    }
    return write_plan(s);
}

llf_status llfi_fuse_horizontal(llf_context *cx, const llfi_fuse_view *view, const llfi_needs *extents,
                                const llfi_value_name *names, const uint32_t *level, llfi_arena *scratch,
                                llfi_plan *p)
{
    search s = {
        .cx = cx, .view = view, .extents = extents, .g = view->g, .p = p, .scratch = scratch, .names = names};
    if (p->kernels < 2 || view->options->params.max_kernel_parts < 2)
        return LLF_OK;
    llf_status status = run(&s, level);
    llfi_vec_free(&cx->mem, &s.met);
    llfi_vec_free(&cx->mem, &s.uses);
    llfi_map_free(&cx->mem, &s.index);
    return status;
}
