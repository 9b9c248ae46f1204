/* explain.c: a plan for people: each kernel, what it reads and writes, and why its neighbours were not taken,
 * judged anew from the plan by legal.c and the heuristic. It changes nothing. Cost: linear in the plan and
 * its edges; at most SHOWN neighbours a kernel are judged. */
#include "fuse/fuse.h"

#define SHOWN 8u

typedef enum { PRODUCER, CONSUMER, SIBLING } relation;

/* What a kernel is made of, each list rising. */
typedef struct {
    llfi_fuse_size size;
    llf_id *read, *scalar;
    uint32_t *kind; /* of needs.at, distinct */
    uint32_t reads, scalars, kinds;
} content;

/* Kernel `to` reads what `from` stores at other points than its own. */
typedef struct {
    uint32_t from, to;
} moved_pair;

typedef struct {
    llf_context *cx;
    const llf_graph *g;
    const llfi_plan *p;
    const llfi_fuse_options *o;
    llfi_fuse_view view;
    llfi_arena *arena;
    uint32_t *store;  /* by node: kernel that stores it, plus 1 */
    uint32_t *first;  /* by node + 1: where its readers start in `reader` */
    uint32_t *reader; /* kernels that read a buffer, by node */
    llf_id *user;     /* beside each: its first member that does */
    uint32_t *met;    /* by kernel: last kernel that met it, plus 1 */
    uint32_t *mark;   /* by node: last kernel that counted it */
    uint32_t stamp;
    llfi_needs needs;
    llfi_ways ways;
    uint32_t *phase; /* by node: reductions before it in the last kernel looked at that has it, itself too */
    content *of;     /* by kernel */
    LLFI_VEC(moved_pair) moved;
    llfi_map moved_index;
} explain;

/* ---- what is where */

static bool fresh(explain *x, llf_id id)
{
    if (x->mark[id] == x->stamp)
        return false;
    x->mark[id] = x->stamp;
    return true;
}

static uint64_t pair_hash(uint32_t from, uint32_t to)
{
    return llfi_hash_u64(llfi_hash_u64(0, from), to);
}

/* Does kernel `to` read what `from` stores at other points than its own? */
static bool reads_moved(const explain *x, uint32_t from, uint32_t to)
{
    size_t cursor = 0;
    for (uint32_t at; (at = llfi_map_next(&x->moved_index, pair_hash(from, to), &cursor)) != UINT32_MAX;)
        if (x->moved.at[at].from == from && x->moved.at[at].to == to)
            return true;
    return false;
}

static bool note_moved(explain *x, uint32_t from, uint32_t to)
{
    if (reads_moved(x, from, to))
        return true;
    if (!llfi_vec_reserve(&x->cx->mem, &x->moved, 1) ||
        !llfi_map_add(&x->cx->mem, &x->moved_index, pair_hash(from, to), (uint32_t)x->moved.count))
        return false;
    x->moved.at[x->moved.count++] = (moved_pair){from, to};
    return true;
}

/* Operand `a` of a member of kernel k. */
static bool operand(explain *x, uint32_t k, llf_id id, uint32_t a)
{
    content *c = &x->of[k];
    llf_id p = llfi_fuse_operand(&x->view, id, a);
    uint32_t kind, from = x->store[p];
    if (from && from != k + 1 && llfi_legal_moved(x->g, x->view.source, id, a) && !note_moved(x, from - 1, k))
        return false;
    if (llfi_node_is_scalar(llfi_node_at(x->g, p)) && fresh(x, p))
        c->scalar[c->scalars++] = p;
    if (!llfi_needs_class(&x->needs, id, a, 0, &kind))
        return false;
    if (kind == LLFI_NEEDS_NONE || x->needs.at.at[kind].stamp == x->stamp)
        return true;
    x->needs.at.at[kind].stamp = x->stamp;
    c->kind[c->kinds++] = kind;
    c->size.extents += x->needs.at.at[kind].most;
    return true;
}

static bool in(const uint32_t *list, uint32_t count, uint32_t id)
{
    return llfi_sorted_at(list, count, id) < count;
}

/* Reductions of the kernel that wait for one another. */
static uint32_t phases(explain *x, const llfi_kernel *kn)
{
    uint32_t most = 0;
    for (uint32_t m = 0; m < kn->members && kn->reduced; m++)
        x->phase[kn->member[m]] = 0;
    for (uint32_t m = 0; m < kn->members && kn->reduced; m++) {
        llf_id id = kn->member[m];
        uint32_t phase = 0;
        for (uint32_t a = 0; a < llfi_node_at(x->g, id)->arity; a++) {
            llf_id p = llfi_fuse_operand(&x->view, id, a);
            if (x->phase[p] > phase && in(kn->member, kn->members, p))
                phase = x->phase[p];
        }
        x->phase[id] = phase + (llfi_reduced_of(x->g, id) != 0);
        most = x->phase[id] > most ? x->phase[id] : most;
    }
    return most;
}

static llf_status look(explain *x, uint32_t k)
{
    const llfi_kernel *kn = &x->p->kernel[k];
    content *c = &x->of[k];
    size_t edges = 1;
    for (uint32_t m = 0; m < kn->members; m++)
        edges += llfi_node_at(x->g, kn->member[m])->arity;
    LLF_TRY(llfi_kernel_reads(x->g, x->p, k, x->arena, &c->read, &c->reads));
    c->scalar = llfi_arena_alloc(x->arena, edges * sizeof *c->scalar);
    c->kind = llfi_arena_alloc(x->arena, edges * sizeof *c->kind);
    if (!c->scalar || !c->kind)
        return LLF_E_NOMEM;
    c->size = (llfi_fuse_size){
        .nodes = kn->members, .reads = c->reads, .stores = kn->stores, .phases = phases(x, kn)};
    x->stamp++;
    for (uint32_t m = 0; m < kn->members; m++) {
        c->size.cost += llfi_legal_cost(x->g, kn->member[m]);
        for (uint32_t a = 0; a < llfi_node_at(x->g, kn->member[m])->arity; a++)
            if (!operand(x, k, kn->member[m], a))
                return LLF_E_NOMEM;
    }
    c->size.scalars = c->scalars;
    llfi_sort(c->scalar, c->scalars, NULL, NULL);
    llfi_sort(c->kind, c->kinds, NULL, NULL);
    return LLF_OK;
}

/* Notes kernel k beside each buffer that it reads, with its first member that does. */
static void add_readers(explain *x, uint32_t k)
{
    const llfi_kernel *kn = &x->p->kernel[k];
    x->stamp++;
    for (uint32_t i = 0; i < x->of[k].reads; i++) {
        llf_id id = x->of[k].read[i];
        uint32_t at = x->first[id + 1]++;
        x->reader[at] = k;
        x->user[at] = LLF_NONE;
        x->mark[id] = x->stamp;
    }
    for (uint32_t m = 0; m < kn->members; m++)
        for (uint32_t a = 0; a < llfi_node_at(x->g, kn->member[m])->arity; a++) {
            llf_id p = llfi_fuse_operand(&x->view, kn->member[m], a);
            if (x->mark[p] == x->stamp && x->user[x->first[p + 1] - 1] == LLF_NONE)
                x->user[x->first[p + 1] - 1] = kn->member[m];
        }
}

static llf_status index_readers(explain *x)
{
    size_t n = x->g->nodes.count, total = 0;
    for (uint32_t k = 0; k < x->p->kernels; k++)
        for (uint32_t i = 0; i < x->p->kernel[k].stores; i++)
            x->store[x->p->kernel[k].store[i]] = k + 1;
    for (uint32_t k = 0; k < x->p->kernels; k++) {
        LLF_TRY(look(x, k));
        for (uint32_t i = 0; i < x->of[k].reads; i++, total++)
            x->first[x->of[k].read[i] + 2]++;
    }
    x->reader = llfi_arena_alloc(x->arena, (total + 1) * sizeof *x->reader);
    x->user = llfi_arena_alloc(x->arena, (total + 1) * sizeof *x->user);
    if (!x->reader || !x->user)
        return LLF_E_NOMEM;
    for (size_t i = 2; i < n + 2; i++)
        x->first[i] += x->first[i - 1];
    for (uint32_t k = 0; k < x->p->kernels; k++)
        add_readers(x, k);
    return LLF_OK;
}

static llf_status prepare(explain *x)
{
    size_t n = x->g->nodes.count + 2, k = (size_t)x->p->kernels + 1;
    x->view = (llfi_fuse_view){.g = x->g, .options = x->o};
    x->view.role = llfi_arena_alloc(x->arena, n);
    x->view.output = llfi_arena_alloc(x->arena, n);
    x->view.users = llfi_arena_alloc(x->arena, n * sizeof *x->view.users);
    x->view.source = llfi_sources_make(x->g, x->arena);
    x->view.hint = llfi_hints_make(x->g, x->arena);
    x->view.spread = llfi_arena_alloc(x->arena, n * sizeof *x->view.spread);
    x->store = llfi_arena_alloc(x->arena, n * sizeof *x->store);
    x->first = llfi_arena_alloc(x->arena, n * sizeof *x->first);
    x->mark = llfi_arena_alloc(x->arena, n * sizeof *x->mark);
    x->phase = llfi_arena_alloc(x->arena, n * sizeof *x->phase);
    x->met = llfi_arena_alloc(x->arena, k * sizeof *x->met);
    x->of = llfi_arena_alloc(x->arena, k * sizeof *x->of);
    if (!x->view.role || !x->view.output || !x->view.users || !x->view.source || !x->view.hint ||
        !x->view.spread || !x->store || !x->first || !x->mark || !x->phase || !x->met || !x->of)
        return LLF_E_NOMEM;
    for (size_t i = 0; i < x->g->outputs.count; i++)
        x->view.output[x->g->outputs.at[i]] = true;
    for (size_t i = 0; i < x->g->nodes.count; i++) {
        const llfi_node *node = &x->g->nodes.at[i];
        llfi_class cls = llfi_ops[node->op].cls;
        x->view.role[i] = (uint8_t)(cls == LLFI_CLASS_LEAF   ? LLFI_ROLE_LEAF
                                    : cls == LLFI_CLASS_VIEW ? LLFI_ROLE_DEAD
                                                             : LLFI_ROLE_OWN);
        for (uint32_t a = 0; a < node->arity && cls != LLFI_CLASS_VIEW; a++)
            x->view.users[x->view.source[llfi_args(x->g, node)[a]]]++;
    }
    if (!llfi_ways_init(&x->ways, x->g, x->view.source, x->arena) ||
        !llfi_needs_init(&x->needs, x->g, x->view.source, x->arena, x->p->mem))
        return LLF_E_NOMEM;
    return index_readers(x);
}

/* ---- why not */

/* Size of two kernels as one; stores at most: some may become internal. What both have is looked for from the
 * smaller one, so that a large kernel is not gone through for each of its many neighbours. */
static llfi_fuse_size both(const explain *x, uint32_t a, uint32_t b)
{
    bool swap = x->p->kernel[a].members + x->of[a].reads > x->p->kernel[b].members + x->of[b].reads;
    const llfi_kernel *little = &x->p->kernel[swap ? b : a], *big = &x->p->kernel[swap ? a : b];
    const content *l = &x->of[swap ? b : a], *m = &x->of[swap ? a : b];
    llfi_fuse_size s = m->size;
    s.stores += l->size.stores;
    s.phases += l->size.phases;
    for (uint32_t i = 0; i < little->members; i++)
        if (!in(big->member, big->members, little->member[i])) {
            s.nodes++;
            s.cost += llfi_legal_cost(x->g, little->member[i]);
        }
    for (uint32_t i = 0; i < l->reads; i++)
        s.reads += !in(m->read, m->reads, l->read[i]) && !in(big->member, big->members, l->read[i]);
    for (uint32_t i = 0; i < little->stores; i++)
        s.reads -= in(m->read, m->reads, little->store[i]);
    for (uint32_t i = 0; i < l->scalars; i++)
        s.scalars += !in(m->scalar, m->scalars, l->scalar[i]);
    for (uint32_t i = 0; i < l->kinds; i++)
        s.extents += in(m->kind, m->kinds, l->kind[i]) ? 0 : x->needs.at.at[l->kind[i]].most;
    return s;
}

/* Does a kernel between the two read from one and feed the other? */
static bool between(const explain *x, uint32_t a, uint32_t b)
{
    uint32_t lo = a < b ? a : b, hi = a < b ? b : a, looked = 0, met = 0;
    for (uint32_t i = 0; i < x->p->kernel[lo].stores; i++) {
        llf_id v = x->p->kernel[lo].store[i];
        for (uint32_t r = x->first[v]; r < x->first[v + 1] && met < 64; r++, met++) {
            uint32_t c = x->reader[r];
            for (uint32_t j = 0; c > lo && c < hi && j < x->of[hi].reads && looked < 4096; j++, looked++)
                if (x->store[x->of[hi].read[j]] == c + 1)
                    return true;
        }
    }
    return false;
}

/* Two kernels of which neither feeds the other, as parts of one: what can be told from the plan. */
static llfi_fuse_why why_not_parts(explain *x, uint32_t ka, uint32_t kb)
{
    const llfi_kernel *a = &x->p->kernel[ka], *b = &x->p->kernel[kb];
    llfi_fuse_size both_size = both(x, ka, kb);
    llfi_parts_size s = {.parts = a->parts + b->parts,
                         .bodies = 1,
                         .slots = (uint64_t)both_size.reads + both_size.stores + both_size.scalars + 4};
    llfi_fuse_why why = llfi_legal_parts(x->o, &s);
    return why != LLFI_WHY_FUSED ? why : between(x, ka, kb) ? LLFI_WHY_CYCLE : LLFI_WHY_ORDER;
}

/* Two kernels of which one reduces at least: their frame, were they one, and how `to` reads what `from`
 * stores there. */
static llfi_fuse_why why_no_row(const explain *x, llfi_frame f, uint32_t from, uint32_t to)
{
    const llfi_kernel *kn = &x->p->kernel[to];
    llfi_fuse_why why = LLFI_WHY_FUSED;
    for (uint32_t m = 0; m < kn->members && why == LLFI_WHY_FUSED; m++) {
        llfi_type space = llfi_type_at(x->g, llfi_space_of(x->g, kn->member[m]));
        llfi_axes own = llfi_axes_of(x->g, space), at = llfi_legal_along(x->g, f, space);
        for (uint32_t a = 0; a < llfi_node_at(x->g, kn->member[m])->arity && why == LLFI_WHY_FUSED; a++) {
            llf_id p = llfi_fuse_operand(&x->view, kn->member[m], a);
            if (x->store[p] != from + 1 || in(kn->member, kn->members, p))
                continue;
            llfi_axes way = llfi_way(&x->ways, kn->member[m], a);
            bool none = way == LLFI_AXES_NONE || at == LLFI_AXES_NONE;
            why = llfi_legal_read(x->g, f, p, none ? LLFI_AXES_NONE : llfi_axes_lift(way, own, at),
                                  way != own, llfi_legal_moved(x->g, x->view.source, kn->member[m], a));
        }
    }
    return why;
}

static llfi_frame frame_of(const explain *x, uint32_t k, llf_id met)
{
    const llfi_kernel *kn = &x->p->kernel[k];
    return (llfi_frame){kn->reduced ? kn->space : llfi_node_at(x->g, met)->type, kn->reduced};
}

static llfi_fuse_why why_no_rows(const explain *x, uint32_t ka, uint32_t kb, llf_id in_a, llf_id in_b)
{
    llfi_frame f;
    llfi_fuse_why why = llfi_legal_frames(x->g, frame_of(x, ka, in_a), frame_of(x, kb, in_b), &f);
    if (why == LLFI_WHY_FUSED)
        why = why_no_row(x, f, ka, kb);
    return why == LLFI_WHY_FUSED ? why_no_row(x, f, kb, ka) : why;
}

/* `a` and `b` are the nodes through which the kernels meet, `a` the first; `mine` is the one in ka. */
static llfi_fuse_why why_apart(explain *x, uint32_t ka, uint32_t kb, relation rel, llf_id a, llf_id b,
                               llf_id mine)
{
    bool hinted;
    if (llfi_hint_score(&x->view, a, b, &hinted) < 0)
        return hinted ? LLFI_WHY_HINT : LLFI_WHY_HEURISTIC;
    if (x->p->kernel[ka].reduced || x->p->kernel[kb].reduced) {
        llfi_fuse_why why = why_no_rows(x, ka, kb, mine, a == mine ? b : a);
        if (why != LLFI_WHY_FUSED)
            return why;
    } else if (!llfi_legal_space(x->g, a, b))
        return rel == SIBLING ? why_not_parts(x, ka, kb) : LLFI_WHY_SPACE;
    else if (reads_moved(x, ka, kb) || reads_moved(x, kb, ka))
        return LLFI_WHY_MAP;
    llfi_fuse_size s = both(x, ka, kb);
    llfi_fuse_why why = llfi_legal_size(x->o, &s);
    if (why != LLFI_WHY_FUSED)
        return why;
    return between(x, ka, kb) ? LLFI_WHY_CYCLE : LLFI_WHY_ORDER;
}

/* First member of kernel `k` that has `operand`, or its first. */
static llf_id user_in(const explain *x, uint32_t k, llf_id operand)
{
    const llfi_kernel *kn = &x->p->kernel[k];
    for (uint32_t m = 0; m < kn->members; m++) {
        const llfi_node *n = llfi_node_at(x->g, kn->member[m]);
        for (uint32_t a = 0; a < n->arity; a++)
            if (x->view.source[llfi_args(x->g, n)[a]] == operand)
                return kn->member[m];
    }
    return kn->store[0];
}

/* One neighbour `j` of kernel `k`, met through the buffer `via`, which `user` reads if `j` does not make it.
 */
static void neighbour(explain *x, uint32_t k, uint32_t j, relation rel, llf_id via, llf_id user,
                      uint32_t *shown, llfi_str *s)
{
    static const char *const text[] = {"producer", "consumer", "sibling"};
    if (j == k || x->met[j] == k + 1)
        return;
    x->met[j] = k + 1;
    if ((*shown)++ >= SHOWN)
        return;
    llf_id mine = rel == CONSUMER ? via : user_in(x, k, via), other = rel == PRODUCER ? via : user;
    llf_id a = rel == CONSUMER ? mine : other, b = rel == CONSUMER ? other : mine;
    if (rel == SIBLING && a > b) {
        a = mine;
        b = other;
    }
    llfi_str_printf(s, "  not with k%u (%s): %s\n", j, text[rel],
                    llfi_why_text(why_apart(x, k, j, rel, a, b, mine)));
}

static void neighbours(explain *x, uint32_t k, llfi_str *s)
{
    uint32_t shown = 0, scanned = 0;
    const llfi_kernel *kn = &x->p->kernel[k];
    for (uint32_t i = 0; i < x->of[k].reads; i++)
        if (x->store[x->of[k].read[i]])
            neighbour(x, k, x->store[x->of[k].read[i]] - 1, PRODUCER, x->of[k].read[i], LLF_NONE, &shown, s);
    for (uint32_t i = 0; i < kn->stores; i++)
        for (uint32_t r = x->first[kn->store[i]]; r < x->first[kn->store[i] + 1] && scanned < 256;
             r++, scanned++)
            neighbour(x, k, x->reader[r], CONSUMER, kn->store[i], x->user[r], &shown, s);
    scanned = 0;
    for (uint32_t i = 0; i < x->of[k].reads; i++)
        for (uint32_t r = x->first[x->of[k].read[i]]; r < x->first[x->of[k].read[i] + 1] && scanned < 256;
             r++, scanned++)
            neighbour(x, k, x->reader[r], SIBLING, x->of[k].read[i], x->user[r], &shown, s);
    if (shown > SHOWN)
        llfi_str_printf(s, "  and %u more neighbours\n", shown - SHOWN);
}

/* ---- the text */

/* "2 x f32[N], bf16[N]" of ids, equal types counted together in order of appearance. */
static void types(const explain *x, const llf_id *id, uint32_t n, llfi_str *s)
{
    uint32_t type[SHOWN], count[SHOWN], kinds = 0, rest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t t = llfi_node_at(x->g, id[i])->type, at = 0;
        while (at < kinds && type[at] != t)
            at++;
        if (at == SHOWN) {
            rest++;
            continue;
        }
        if (at == kinds) {
            type[kinds] = t;
            count[kinds++] = 0;
        }
        count[at]++;
    }
    for (uint32_t i = 0; i < kinds; i++) {
        llfi_str_puts(s, i ? ", " : "");
        if (count[i] > 1)
            llfi_str_printf(s, "%u x ", count[i]);
        llfi_type_print(x->g, type[i], s);
    }
    if (rest)
        llfi_str_printf(s, " and %u more", rest);
    if (!n)
        llfi_str_puts(s, "nothing");
}

/* One part, whose buffers are read. */
static void part(const explain *x, const llfi_kernel *kn, const llf_id *read, uint32_t reads, llfi_str *s)
{
    llfi_str_printf(s, "  %u node%s over ", kn->members, kn->members > 1 ? "s" : "");
    llfi_type_print(x->g, kn->space, s);
    for (uint32_t i = 0, some = 0; i < LLFI_RANK; i++)
        if (kn->reduced >> i & 1)
            llfi_str_printf(s, "%s%u", some++ ? ", " : " reduced over axes [", i);
    llfi_str_puts(s, kn->reduced ? "]" : "");
    uint64_t cost = 0;
    for (uint32_t m = 0; m < kn->members; m++)
        cost += llfi_legal_cost(x->g, kn->member[m]);
    llfi_str_printf(s, ", about %llu instructions an element\n  reads ", (unsigned long long)cost);
    types(x, read, reads, s);
    llfi_str_puts(s, "; writes ");
    types(x, kn->store, kn->stores, s);
    llfi_str_puts(s, "\n");
}

static llf_status one(explain *x, uint32_t k, llfi_str *s)
{
    const llfi_kernel *kn = &x->p->kernel[k];
    llfi_str_printf(s, "k%u: ", k);
    for (uint32_t m = 0; m < kn->members && m < 10; m++)
        if (llfi_maker(x->g, kn->member[m]) == kn->member[m])
            llfi_str_printf(s, "%s%s", m ? " " : "", llfi_ops[llfi_node_at(x->g, kn->member[m])->op].name);
    llfi_str_printf(s, "%s\n", kn->members > 10 ? " ..." : "");
    if (kn->parts > 1)
        llfi_str_printf(s, "  %u parts side by side\n", kn->parts);
    for (uint32_t i = 0; i < kn->parts && i < SHOWN; i++) {
        const llfi_kernel *p = llfi_kernel_part(kn, i);
        const llfi_plan alone = {.mem = x->p->mem, .kernel = (llfi_kernel *)(uintptr_t)p, .kernels = 1};
        llf_id *read;
        uint32_t reads;
        LLF_TRY(llfi_kernel_reads(x->g, &alone, 0, x->arena, &read, &reads));
        part(x, p, read, reads, s);
    }
    if (kn->parts > SHOWN)
        llfi_str_printf(s, "  and %u more parts\n", kn->parts - SHOWN);
    neighbours(x, k, s);
    return LLF_OK;
}

llf_status llfi_plan_explain(llf_context *cx, const llf_graph *g, const llfi_plan *p,
                             const llfi_fuse_options *options, llfi_str *s)
{
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    llfi_fuse_options o = *options;
    if (!o.heuristic)
        o.heuristic = llfi_heuristic_find("greedy");
    explain x = {.cx = cx, .g = g, .p = p, .o = &o, .arena = &arena};
    llf_status st = prepare(&x);
    for (uint32_t k = 0; st == LLF_OK && k < p->kernels; k++)
        st = one(&x, k, s);
    if (st == LLF_OK && s->failed)
        st = LLF_E_NOMEM;
    llfi_needs_free(&x.needs);
    llfi_vec_free(&cx->mem, &x.moved);
    llfi_map_free(&cx->mem, &x.moved_index);
    llfi_arena_destroy(&arena);
    return st == LLF_E_NOMEM ? llfi_nomem(&cx->diag) : st;
}
