/* demand.c: builds the demand list of a kernel by an explicit worklist, before LLVM is touched. It decides
 * the order of emission: leaves before what is computed (all loads of a tile stand together), and the walk
 * starts at the stores, so that kernels that are equal but for node ids get equal lists. It must not emit
 * anything, look at a target, or spend time on nodes outside the kernel. */
#include "lower/demand.h"

#define NOT_YET UINT32_MAX

enum { MAP_IDENTITY, MAP_SCALAR, MAPS }; /* of llfi_demands.map */

/* A node of the kernel, or one just outside that it reads. */
typedef struct {
    llf_id node;
    bool leaf, seen;
    uint8_t next; /* operand to visit next */
    uint32_t demand;
} local;

typedef struct {
    const llf_graph *g;
    const llfi_kernel *kernel;
    llfi_arena *arena;
    local *at;
    uint32_t count, leaves, space_rank;
    llfi_map index;  /* node -> local */
    uint32_t *order; /* computed locals, operands first */
    uint32_t *leaf;  /* leaf locals in order of first use */
    uint32_t orders, leafs;
} walk;

static uint32_t find(const walk *w, llf_id node)
{
    uint64_t hash = llfi_hash_u64(0, node);
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&w->index, hash, &cursor)) != UINT32_MAX;)
        if (w->at[i].node == node)
            return i;
    return UINT32_MAX;
}

static llf_status add(walk *w, llf_id node, bool leaf)
{
    if (!llfi_map_add(w->arena->mem, &w->index, llfi_hash_u64(0, node), w->count))
        return LLF_E_NOMEM;
    w->at[w->count++] = (local){.node = node, .leaf = leaf, .demand = NOT_YET};
    w->leaves += leaf;
    return LLF_OK;
}

/* Members first, then what they read from outside. */
static llf_status collect(walk *w)
{
    const llfi_kernel *k = w->kernel;
    for (uint32_t i = 0; i < k->members; i++) {
        if (find(w, k->member[i]) != UINT32_MAX)
            return LLF_E_INTERNAL; /* a member twice */
        LLF_TRY(add(w, k->member[i], llfi_node_is_leaf(llfi_node_at(w->g, k->member[i]))));
    }
    for (uint32_t i = 0; i < k->members; i++) {
        const llfi_node *n = llfi_node_at(w->g, k->member[i]);
        for (uint32_t a = 0; a < n->arity; a++)
            if (find(w, n->arg[a]) == UINT32_MAX)
                LLF_TRY(add(w, n->arg[a], true));
    }
    return LLF_OK;
}

/* Post-order from one store with a stack of our own. */
static void visit(walk *w, uint32_t root, uint32_t *stack)
{
    uint32_t depth = 0;
    if (w->at[root].seen)
        return;
    w->at[root].seen = true;
    stack[depth++] = root;
    while (depth) {
        uint32_t top = stack[depth - 1];
        local *l = &w->at[top];
        const llfi_node *n = llfi_node_at(w->g, l->node);
        if (l->next == n->arity) {
            w->order[w->orders++] = top;
            depth--;
            continue;
        }
        uint32_t child = find(w, n->arg[l->next++]);
        if (w->at[child].seen)
            continue;
        w->at[child].seen = true;
        if (w->at[child].leaf)
            w->leaf[w->leafs++] = child;
        else
            stack[depth++] = child;
    }
}

static bool is_uniform(const walk *w, llf_id node)
{
    const llfi_node *n = llfi_node_at(w->g, node);
    if (!llfi_node_is_buffered(n))
        return true;
    return w->space_rank > 0 && llfi_type_of(w->g, node).rank == 0;
}

/* Appends those of `from` that have the scope. */
static llf_status append(walk *w, llfi_demands *out, const uint32_t *from, uint32_t count, uint16_t scope)
{
    for (uint32_t i = 0; i < count; i++) {
        local *l = &w->at[from[i]];
        bool uniform = is_uniform(w, l->node);
        if (uniform != (scope == 0))
            continue;
        if (out->count >= 2 * w->kernel->members + w->leaves + 32)
            return LLF_E_LIMIT;
        const llfi_node *n = llfi_node_at(w->g, l->node);
        llfi_demand *d = &out->at[out->count];
        *d = (llfi_demand){.node = l->node,
                           .map = uniform ? MAP_SCALAR : MAP_IDENTITY,
                           .scope = scope,
                           .leaf = l->leaf,
                           .arg = {NOT_YET, NOT_YET, NOT_YET}};
        for (uint32_t a = 0; a < n->arity && !l->leaf; a++) {
            d->arg[a] = w->at[find(w, n->arg[a])].demand;
            if (d->arg[a] == NOT_YET)
                return LLF_E_INTERNAL; /* a rank-0 node that reads a larger one */
        }
        l->demand = out->count++;
    }
    return LLF_OK;
}

static llf_status order(walk *w, llfi_demands *out)
{
    const llfi_kernel *k = w->kernel;
    uint32_t *stack = llfi_arena_alloc(w->arena, (k->members + 1) * sizeof *stack);
    w->order = llfi_arena_alloc(w->arena, (k->members + 1) * sizeof *w->order);
    w->leaf = llfi_arena_alloc(w->arena, (w->count + 1) * sizeof *w->leaf);
    out->at = llfi_arena_alloc(w->arena, (w->count + 1) * sizeof *out->at);
    out->store = llfi_arena_alloc(w->arena, (k->stores + 1) * sizeof *out->store);
    out->map = llfi_arena_alloc(w->arena, MAPS * sizeof *out->map);
    if (!stack || !w->order || !w->leaf || !out->at || !out->store || !out->map)
        return LLF_E_NOMEM;
    out->maps = MAPS;
    out->map[MAP_IDENTITY].kind = LLFI_MAP_IDENTITY;
    out->map[MAP_SCALAR].kind = LLFI_MAP_SCALAR;
    for (uint32_t i = 0; i < k->stores; i++) {
        uint32_t root = find(w, k->store[i]);
        if (root == UINT32_MAX || w->at[root].leaf)
            return LLF_E_INTERNAL; /* stores what it does not compute */
        visit(w, root, stack);
    }
    LLF_TRY(append(w, out, w->leaf, w->leafs, 0));
    LLF_TRY(append(w, out, w->order, w->orders, 0));
    out->uniform = out->count;
    LLF_TRY(append(w, out, w->leaf, w->leafs, 1));
    LLF_TRY(append(w, out, w->order, w->orders, 1));
    for (uint32_t i = 0; i < k->stores; i++)
        out->store[i] = w->at[find(w, k->store[i])].demand;
    return LLF_OK;
}

llf_status llfi_demands_make(const llf_graph *g, const llfi_kernel *kernel, llfi_arena *arena,
                             llfi_demands *out)
{
    *out = (llfi_demands){0};
    walk w = {.g = g, .kernel = kernel, .arena = arena, .space_rank = llfi_type_at(g, kernel->space).rank};
    w.at = llfi_arena_alloc(arena, ((size_t)kernel->members * (1 + LLFI_ARGS) + 1) * sizeof *w.at);
    llf_status status = w.at ? collect(&w) : LLF_E_NOMEM;
    if (status == LLF_OK)
        status = order(&w, out);
    llfi_map_free(arena->mem, &w.index);
    return status;
}

uint64_t llfi_demands_hash(const llf_graph *g, const llfi_demands *list, const llfi_kernel *kernel)
{
    enum { COMPUTED, BUFFER, SCALAR, LITERAL };
    uint64_t h = llfi_hash_u64(0x6c6c6664656d616e, list->count);
    h = llfi_hash_u64(h, list->uniform);
    for (uint32_t i = 0; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        const llfi_node *n = llfi_node_at(g, d->node);
        unsigned kind = !d->leaf                 ? COMPUTED
                        : n->op == LLF_OP_CONST  ? LITERAL
                        : llfi_node_is_scalar(n) ? SCALAR
                                                 : BUFFER;
        h = llfi_hash_u64(h, kind);
        h = llfi_hash_u64(h, llfi_dtype_of(g, d->node));
        h = llfi_hash_u64(h, list->map[d->map].kind);
        h = llfi_hash_u64(h, d->scope);
        if (kind == LITERAL)
            h = llfi_hash_u64(h, n->attr);
        if (kind != COMPUTED)
            continue;
        h = llfi_hash_u64(h, n->op);
        h = llfi_hash_u64(h, n->attr);
        for (uint32_t a = 0; a < n->arity; a++)
            h = llfi_hash_u64(h, d->arg[a]);
    }
    h = llfi_hash_u64(h, kernel->stores);
    for (uint32_t i = 0; i < kernel->stores; i++)
        h = llfi_hash_u64(h, list->store[i]);
    return h;
}
