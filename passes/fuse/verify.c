/* verify.c: checks a plan against its graph from the definition alone: it shares no code with the search, and
 * repairs nothing. In: any graph and any plan beside it, imported ones too. Cost: linear in the plan. */
#include "fuse/fuse.h"

typedef struct {
    const llf_graph *g;
    const llfi_plan *p;
    llfi_diag *diag;
    uint32_t *inside;       /* by node: last kernel seen that has it, plus 1 */
    uint32_t *first;        /* by node: lowest-numbered kernel that has it, plus 1; 0: none */
    uint32_t *stored;       /* by node: kernel that stores it, plus 1 */
    uint32_t *used;         /* by node: last kernel seen that reads it, plus 1 */
    uint32_t *looked, look; /* by node: last part that has the scalar as an argument */
    bool *outside;          /* by node: some kernel reads it without computing it */
    bool *live, *output;
    const llf_id *source; /* by node: behind its views */
    llfi_parts *parts;
    llfi_ways ways;
    uint8_t *state; /* by node: for llfi_rows_fault; NULL: no kernel reduces */
} check;

static bool leaf(const check *c, llf_id id)
{
    return llfi_node_is_leaf(llfi_node_at(c->g, id));
}

/* A refusal names the node and its place. */
static llf_status refuse(const check *c, llf_id node, const char *fmt, ...) LLFI_PRINTF(3, 4);
static llf_status refuse(const check *c, llf_id node, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return llfi_fail_at(c->diag, LLF_E_PLAN, llfi_place_of(c->g, node),
                        llfi_ops[llfi_node_at(c->g, node)->op].name, "%s", text);
}
#define NAME(c, id) llfi_show_value((c)->g, id).text

static llf_status ids(const check *c, uint32_t k, const llf_id *id, uint32_t n, const char *what)
{
    for (uint32_t i = 0; i < n; i++) {
        if (id[i] >= c->g->nodes.count)
            return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u: %s %u is no node", k, what, id[i]);
        llfi_class cls = llfi_ops[llfi_node_at(c->g, id[i])->op].cls;
        if (!llfi_kernel_takes(cls))
            return refuse(c, id[i], "kernel k%u: %s %s is no primitive", k, what, NAME(c, id[i]));
        if (cls == LLFI_CLASS_REDUCE && !llfi_reduced_of(c->g, id[i]))
            return refuse(c, id[i], "kernel k%u: %s reduces no axis: decompose gives it one", k,
                          NAME(c, id[i]));
        if (i && id[i] <= id[i - 1])
            return refuse(c, id[i], "kernel k%u: %ss are not in topological order at %s", k, what,
                          NAME(c, id[i]));
    }
    return LLF_OK;
}

static llf_status members(check *c, uint32_t k)
{
    const llfi_kernel *kn = &c->p->kernel[k];
    if (!kn->members)
        return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u has no members", k);
    LLF_TRY(ids(c, k, kn->member, kn->members, "member"));
    LLF_TRY(ids(c, k, kn->store, kn->stores, "store"));
    if (!kn->stores)
        return refuse(
            c, kn->member[0],
            "kernel k%u, of %s, stores nothing: it has no output, and what other kernels read of it an "
            "earlier kernel has or they recompute",
            k, NAME(c, kn->member[0]));
    for (uint32_t i = 0; i < kn->members; i++) {
        llf_id id = kn->member[i];
        c->inside[id] = k + 1;
        if (!c->first[id])
            c->first[id] = k + 1;
    }
    return LLF_OK;
}

static llf_status stores(check *c, uint32_t k)
{
    const llfi_kernel *kn = &c->p->kernel[k];
    for (uint32_t i = 0; i < kn->stores; i++) {
        llf_id id = kn->store[i];
        if (c->inside[id] != k + 1 || c->first[id] != k + 1 || c->stored[id])
            return refuse(c, id,
                          "%s must be stored once, by the lowest-numbered kernel that has it, not by k%u",
                          NAME(c, id), k);
        c->stored[id] = k + 1;
    }
    return LLF_OK;
}

/* `p` is read by kernel k and is neither in it nor stored before it. */
static llf_status not_there(const check *c, uint32_t k, llf_id reader, llf_id p)
{
    uint32_t by = k + 1;
    for (; by < c->p->kernels; by++) {
        const llfi_kernel *kn = &c->p->kernel[by];
        uint32_t i = 0;
        while (i < kn->members && kn->member[i] != p)
            i++;
        if (i < kn->members)
            return refuse(c, reader,
                          "kernel k%u: %s reads %s, which k%u makes later: kernels run in the order of "
                          "their numbers",
                          k, NAME(c, reader), NAME(c, p), by);
    }
    return refuse(c, reader, "kernel k%u: %s wants %s, which no earlier kernel stores", k, NAME(c, reader),
                  NAME(c, p));
}

static bool same(const llf_id *a, uint32_t as, const llf_id *b, uint32_t bs)
{
    return as == bs && memcmp(a, b, as * sizeof *a) == 0;
}

static llf_status rows(check *c, uint32_t k)
{
    llf_id at;
    const char *fault = llfi_rows_fault(&c->ways, &c->p->kernel[k], c->inside, k + 1, c->state, &at);
    return fault ? refuse(c, at, "kernel k%u: %s %s", k, NAME(c, at), fault) : LLF_OK;
}

/* The parts are those of the definition, and each has its space. */
static llf_status parts(check *c, uint32_t k, llfi_arena *arena)
{
    const llfi_kernel *kn = &c->p->kernel[k];
    llfi_kernel want = *kn;
    LLF_TRY(llfi_parts_find(c->parts, arena, &want));
    if (kn->parts != want.parts || !kn->part != !want.part)
        return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u has %u parts, not %u", k, want.parts, kn->parts);
    if (kn->reduced != want.reduced || (kn->reduced && kn->space != want.space))
        return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u does not reduce what its labels say", k);
    if (kn->reduced)
        return rows(c, k);
    for (uint32_t i = 0; i < kn->parts; i++) {
        const llfi_kernel *a = llfi_kernel_part(kn, i), *b = llfi_kernel_part(&want, i);
        if (!same(a->member, a->members, b->member, b->members) ||
            !same(a->store, a->stores, b->store, b->stores) || a->parts != 1 || (kn->part && a->part))
            return llfi_fail(c->diag, LLF_E_PLAN, "part %u of kernel k%u is not what its labels say", i, k);
        if (!llfi_type_same_dims(llfi_type_of(c->g, a->store[0]), llfi_type_at(c->g, a->space)))
            return refuse(c, a->store[0], "part %u of kernel k%u stores %s, which is of another space", i, k,
                          NAME(c, a->store[0]));
    }
    return LLF_OK;
}

/* Operands are leaves, members of the same kernel, or stored by a lower kernel. */
static llf_status operands(check *c, uint32_t k)
{
    const llfi_kernel *kn = &c->p->kernel[k];
    for (uint32_t i = 0; i < kn->members; i++) {
        const llfi_node *n = llfi_node_at(c->g, kn->member[i]);
        for (uint32_t a = 0; a < n->arity; a++) {
            llf_id p = c->source[llfi_args(c->g, n)[a]];
            c->used[p] = k + 1;
            if (leaf(c, p) || c->inside[p] == k + 1)
                continue;
            if (!c->stored[p] || c->stored[p] > k)
                return not_there(c, k, kn->member[i], p);
            c->outside[p] = true;
        }
    }
    for (uint32_t i = 0; i < kn->members; i++) {
        llf_id id = kn->member[i], maker = llfi_maker(c->g, id);
        for (uint32_t r = 1; r < llfi_op_results(&llfi_ops[llfi_node_at(c->g, id)->op]); r++)
            if (c->live[id + r] && c->inside[id + r] != k + 1)
                return refuse(c, id, "kernel k%u: %s is there without its op's other results", k,
                              NAME(c, id));
        if (maker != id && (c->inside[maker] != k + 1 || !c->live[id]))
            return refuse(c, id, "kernel k%u: %s is there without its op, or in vain", k, NAME(c, id));
        if (maker == id && c->used[id] != k + 1 && c->stored[id] != k + 1)
            return refuse(c, id, "kernel k%u: %s is neither read nor stored there", k, NAME(c, id));
    }
    return LLF_OK;
}

/* A kernel that stores what one op gives, and recomputes rank-0 values, cannot be split: no cap holds for it.
 */
static bool single(const check *c, const llfi_kernel *kn)
{
    llf_id maker = llfi_maker(c->g, kn->store[0]);
    for (uint32_t i = 0; i < kn->stores; i++)
        if (llfi_maker(c->g, kn->store[i]) != maker)
            return false;
    for (uint32_t i = 0; i < kn->members; i++)
        if (llfi_maker(c->g, kn->member[i]) != maker && llfi_type_of(c->g, kn->member[i]).rank)
            return false;
    return true;
}

/* What a kernel, or part of one, takes of the argument block. */
static llf_status slots(check *c, const llfi_kernel *kn, llfi_arena *arena, uint64_t *buffers,
                        uint64_t *scalars)
{
    llf_id *read;
    uint32_t reads;
    llfi_plan alone = {.mem = c->p->mem, .kernel = (llfi_kernel *)(uintptr_t)kn, .kernels = 1};
    LLF_TRY(llfi_kernel_reads(c->g, &alone, 0, arena, &read, &reads));
    *buffers = (uint64_t)reads + kn->stores;
    *scalars = 0;
    c->look++;
    for (uint32_t i = 0; i < kn->members; i++) {
        const llfi_node *n = llfi_node_at(c->g, kn->member[i]);
        for (uint32_t a = 0; a < n->arity; a++) {
            llf_id id = c->source[llfi_args(c->g, n)[a]];
            if (llfi_node_is_scalar(llfi_node_at(c->g, id)) && c->looked[id] != c->look) {
                c->looked[id] = c->look;
                ++*scalars;
            }
        }
    }
    return LLF_OK;
}

/* Of one part, whose argument slots are added up. */
static llf_status caps(check *c, uint32_t k, const llfi_kernel *kn, llfi_arena *arena, uint64_t *all)
{
    uint64_t max_nodes = c->p->max_nodes, max_buffers = c->p->max_buffers, buffers, scalars;
    for (size_t i = 0; i < llfi_param_count; i++) {
        if (!max_nodes && !strcmp(llfi_param_table[i].name, "max_kernel_nodes"))
            max_nodes = (uint64_t)llfi_param_table[i].max;
        if (!max_buffers && !strcmp(llfi_param_table[i].name, "max_kernel_buffers"))
            max_buffers = (uint64_t)llfi_param_table[i].max;
    }
    LLF_TRY(slots(c, kn, arena, &buffers, &scalars));
    *all += buffers + scalars + 2;
    if (single(c, kn))
        return LLF_OK;
    llf_id at = kn->store[0];
    if (kn->members > max_nodes)
        return refuse(c, at, "kernel k%u, of %s, has %u nodes, more than max_kernel_nodes=%llu", k,
                      NAME(c, at), kn->members, (unsigned long long)max_nodes);
    if (buffers > max_buffers)
        return refuse(c, at, "kernel k%u, of %s, touches %llu buffers, more than max_kernel_buffers=%llu", k,
                      NAME(c, at), (unsigned long long)buffers, (unsigned long long)max_buffers);
    return LLF_OK;
}

/* Several parts also have where each begins, 4 bytes a part and a power of two of them. */
static llf_status all_caps(check *c, uint32_t k, llfi_arena *arena)
{
    const llfi_kernel *kn = &c->p->kernel[k];
    uint64_t all = 0, bytes, header = 2;
    for (uint32_t i = 0; i < kn->parts; i++)
        LLF_TRY(caps(c, k, llfi_kernel_part(kn, i), arena, &all));
    while (header < kn->parts)
        header *= 2;
    bytes = 8 * all + (kn->parts > 1 ? 4 * header : 0);
    if (c->p->max_params && bytes > c->p->max_params && (kn->parts > 1 || !single(c, kn)))
        return refuse(c, kn->store[0],
                      "kernel k%u, of %s, needs %llu argument bytes, more than the target's %u", k,
                      NAME(c, kn->store[0]), (unsigned long long)bytes, c->p->max_params);
    return LLF_OK;
}

/* Every live primitive is in a kernel; what is used outside or returned, and only that, is stored. */
static llf_status complete(const check *c)
{
    for (llf_id id = 0; id < c->g->nodes.count; id++) {
        if (leaf(c, id) || c->source[id] != id || !c->live[id])
            continue;
        if (!c->first[id])
            return refuse(c, id, "%s is in no kernel", NAME(c, id));
        if (c->output[id] && !c->stored[id])
            return refuse(c, id, "output %s is stored by no kernel", NAME(c, id));
        if (c->stored[id] && !c->output[id] && !c->outside[id])
            return refuse(c, id, "%s is stored, but no other kernel reads it", NAME(c, id));
    }
    return LLF_OK;
}

static llf_status prepare(check *c, llfi_arena *arena)
{
    size_t n = c->g->nodes.count + 1;
    c->inside = llfi_arena_alloc(arena, n * sizeof *c->inside);
    c->first = llfi_arena_alloc(arena, n * sizeof *c->first);
    c->stored = llfi_arena_alloc(arena, n * sizeof *c->stored);
    c->used = llfi_arena_alloc(arena, n * sizeof *c->used);
    c->looked = llfi_arena_alloc(arena, n * sizeof *c->looked);
    c->outside = llfi_arena_alloc(arena, n);
    c->live = llfi_arena_alloc(arena, n);
    c->output = llfi_arena_alloc(arena, n);
    c->source = llfi_sources_make(c->g, arena);
    c->parts = c->source ? llfi_parts_begin(c->g, c->source, arena) : NULL;
    if (!c->inside || !c->first || !c->stored || !c->used || !c->looked || !c->outside || !c->live ||
        !c->output || !c->parts)
        return llfi_nomem(c->diag);
    for (uint32_t k = 0; k < c->p->kernels && !c->state; k++) {
        if (!c->p->kernel[k].reduced)
            continue;
        c->state = llfi_arena_alloc(arena, n);
        if (!c->state || !llfi_ways_init(&c->ways, c->g, c->source, arena))
            return llfi_nomem(c->diag);
    }
    for (size_t i = 0; i < c->g->outputs.count; i++) {
        llf_id out = c->g->outputs.at[i];
        if (leaf(c, out) || c->source[out] != out || c->output[c->g->outputs.at[i]])
            return llfi_fail(c->diag, LLF_E_PLAN,
                             "output %zu is a leaf or a view, or stands twice: run the outputs pass", i);
        c->live[c->g->outputs.at[i]] = c->output[c->g->outputs.at[i]] = true;
    }
    for (size_t i = c->g->nodes.count; i-- > 0;)
        for (uint32_t k = 0; k < c->g->nodes.at[i].arity && c->live[i]; k++)
            c->live[llfi_args(c->g, &c->g->nodes.at[i])[k]] = true;
    return LLF_OK;
}

static llf_status verify(check *c, llfi_arena *arena, llfi_arena *each)
{
    LLF_TRY(prepare(c, arena));
    uint64_t hash = llfi_graph_hash(c->g);
    if (!hash)
        return llfi_nomem(c->diag);
    if (c->p->graph_hash != hash)
        return llfi_fail(c->diag, LLF_E_PLAN, "the plan belongs to another graph");
    for (uint32_t k = 0; k < c->p->kernels; k++) {
        LLF_TRY(members(c, k));
        LLF_TRY(stores(c, k));
        LLF_TRY(operands(c, k));
        LLF_TRY(parts(c, k, each));
        LLF_TRY(all_caps(c, k, each));
        llfi_arena_reset(each);
    }
    return complete(c);
}

llf_status llfi_plan_verify(const llf_graph *g, const llfi_plan *p)
{
    check c = {.g = g, .p = p, .diag = g->cx ? &g->cx->diag : NULL};
    llfi_arena arena, each;
    llfi_arena_init(&arena, p->mem);
    llfi_arena_init(&each, p->mem);
    llf_status st = verify(&c, &arena, &each);
    llfi_arena_destroy(&arena);
    llfi_arena_destroy(&each);
    return st;
}
