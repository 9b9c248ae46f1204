/* verify.c: checks a plan against its graph from the definition alone: it shares no code with the search, and
 * repairs nothing. In: any graph and any plan beside it, imported ones too. Cost: linear in the plan. */
#include "fuse/fuse.h"

typedef struct {
    const llf_graph *g;
    const llfi_plan *p;
    llfi_diag *diag;
    uint32_t *inside; /* by node: last kernel seen that has it, plus 1 */
    uint32_t *first;  /* by node: lowest-numbered kernel that has it, plus 1; 0: none */
    uint32_t *stored; /* by node: kernel that stores it, plus 1 */
    bool *outside;    /* by node: some kernel reads it without computing it */
    bool *live, *output;
    const llf_id *source; /* by node: behind its views */
} check;

static bool leaf(const check *c, llf_id id)
{
    return llfi_node_is_leaf(llfi_node_at(c->g, id));
}

static llf_status ids(const check *c, uint32_t k, const llf_id *id, uint32_t n, const char *what)
{
    for (uint32_t i = 0; i < n; i++) {
        if (id[i] >= c->g->nodes.count)
            return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u: %s %u is no node", k, what, id[i]);
        if (llfi_ops[llfi_node_at(c->g, id[i])->op].cls != LLFI_CLASS_EW)
            return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u: %s %u is no primitive", k, what, id[i]);
        if (i && id[i] <= id[i - 1])
            return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u: %ss are not in topological order at node %u",
                             k, what, id[i]);
    }
    return LLF_OK;
}

static llf_status members(check *c, uint32_t k)
{
    const llfi_kernel *kn = &c->p->kernel[k];
    if (!kn->members || !kn->stores || kn->parts != 1)
        return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u has no members, no stores or not one part", k);
    LLF_TRY(ids(c, k, kn->member, kn->members, "member"));
    LLF_TRY(ids(c, k, kn->store, kn->stores, "store"));
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
            return llfi_fail(
                c->diag, LLF_E_PLAN,
                "node %u must be stored once, by the lowest-numbered kernel that has it, not by k%u", id, k);
        if (!llfi_type_same_dims(llfi_type_of(c->g, id), llfi_type_at(c->g, kn->space)))
            return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u stores node %u of another space", k, id);
        c->stored[id] = k + 1;
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
            if (leaf(c, p) || c->inside[p] == k + 1)
                continue;
            if (!c->stored[p] || c->stored[p] > k)
                return llfi_fail(c->diag, LLF_E_PLAN,
                                 "kernel k%u: node %u wants node %u, which no earlier kernel stores", k,
                                 kn->member[i], p);
            c->outside[p] = true;
        }
    }
    return LLF_OK;
}

/* A kernel of one stored node and the rank-0 values it recomputes cannot be split: no cap holds for it. */
static bool single(const check *c, const llfi_kernel *kn)
{
    if (kn->stores != 1)
        return false;
    for (uint32_t i = 0; i < kn->members; i++)
        if (kn->member[i] != kn->store[0] && llfi_type_of(c->g, kn->member[i]).rank)
            return false;
    return true;
}

static llf_status caps(check *c, uint32_t k, llfi_arena *arena)
{
    const llfi_kernel *kn = &c->p->kernel[k];
    if (single(c, kn))
        return LLF_OK;
    uint64_t max_nodes = c->p->max_nodes, max_buffers = c->p->max_buffers, scalars = 0;
    for (size_t i = 0; i < llfi_param_count; i++) {
        if (!max_nodes && !strcmp(llfi_param_table[i].name, "max_kernel_nodes"))
            max_nodes = (uint64_t)llfi_param_table[i].max;
        if (!max_buffers && !strcmp(llfi_param_table[i].name, "max_kernel_buffers"))
            max_buffers = (uint64_t)llfi_param_table[i].max;
    }
    llf_id *read;
    uint32_t reads;
    LLF_TRY(llfi_kernel_reads(c->g, c->p, k, arena, &read, &reads));
    for (uint32_t i = 0; i < kn->members; i++) {
        const llfi_node *n = llfi_node_at(c->g, kn->member[i]);
        for (uint32_t a = 0; a < n->arity; a++) {
            llf_id id = c->source[llfi_args(c->g, n)[a]];
            const llfi_node *p = llfi_node_at(c->g, id);
            if (llfi_node_is_scalar(p) && c->inside[id] != k + 1) {
                c->inside[id] = k + 1;
                scalars++;
            }
        }
    }
    uint64_t buffers = (uint64_t)reads + kn->stores;
    if (kn->members > max_nodes)
        return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u has %u nodes, more than %llu", k, kn->members,
                         (unsigned long long)max_nodes);
    if (buffers > max_buffers)
        return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u touches %llu buffers, more than %llu", k,
                         (unsigned long long)buffers, (unsigned long long)max_buffers);
    if (c->p->max_params && 8 * (buffers + scalars) + 16 > c->p->max_params)
        return llfi_fail(c->diag, LLF_E_PLAN, "kernel k%u needs more than %u argument bytes", k,
                         c->p->max_params);
    return LLF_OK;
}

/* Every live primitive is in a kernel; what is used outside or returned, and only that, is stored. */
static llf_status complete(const check *c)
{
    for (llf_id id = 0; id < c->g->nodes.count; id++) {
        if (leaf(c, id) || c->source[id] != id || !c->live[id])
            continue;
        if (!c->first[id])
            return llfi_fail(c->diag, LLF_E_PLAN, "node %u is in no kernel", id);
        if (c->output[id] && !c->stored[id])
            return llfi_fail(c->diag, LLF_E_PLAN, "output node %u is stored by no kernel", id);
        if (c->stored[id] && !c->output[id] && !c->outside[id])
            return llfi_fail(c->diag, LLF_E_PLAN, "node %u is stored, but no other kernel reads it", id);
    }
    return LLF_OK;
}

static llf_status prepare(check *c, llfi_arena *arena)
{
    size_t n = c->g->nodes.count + 1;
    c->inside = llfi_arena_alloc(arena, n * sizeof *c->inside);
    c->first = llfi_arena_alloc(arena, n * sizeof *c->first);
    c->stored = llfi_arena_alloc(arena, n * sizeof *c->stored);
    c->outside = llfi_arena_alloc(arena, n);
    c->live = llfi_arena_alloc(arena, n);
    c->output = llfi_arena_alloc(arena, n);
    c->source = llfi_sources_make(c->g, arena);
    if (!c->inside || !c->first || !c->stored || !c->outside || !c->live || !c->output || !c->source)
        return llfi_nomem(c->diag);
    for (size_t i = 0; i < c->g->outputs.count; i++) {
        if (leaf(c, c->g->outputs.at[i]) || c->output[c->g->outputs.at[i]])
            return llfi_fail(c->diag, LLF_E_PLAN,
                             "output %zu is a leaf or stands twice: run the outputs pass", i);
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
        LLF_TRY(caps(c, k, each));
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
