/* needs.c: extents that only run time knows and that a kernel must be given as arguments beside its
 * buffers: strides, starts, what indices are divided by. Told from the graph alone and rather too high:
 * lowering decides what is needed (src/lower/access.c), and where that is more than was foreseen, a kernel of
 * one part still takes them from memory. Operands of one shape that are read in the same way, from the same
 * space, need the same ones: they are one class, which a kernel counts once. Cost: linear in the nodes and
 * edges asked about. */
#include "fuse/fuse.h"

static uint32_t open_dims(const llf_graph *g, llfi_type t, uint32_t from)
{
    uint32_t n = 0;
    int64_t value;
    for (uint32_t i = from; i < t.rank; i++)
        n += !llfi_dim_is_const(g->dims, t.dim[i], &value);
    return n;
}

/* Row-major strides of which some later extent is not known: as many as axes stand before the last such. */
static uint32_t open_strides(const llf_graph *g, llfi_type t)
{
    int64_t value;
    for (uint32_t i = t.rank; i-- > 1;)
        if (!llfi_dim_is_const(g->dims, t.dim[i], &value))
            return i;
    return 0;
}

uint64_t llfi_needs_dims(const llf_graph *g, uint64_t h, llf_id id)
{
    llfi_type t = llfi_type_of(g, id);
    h = llfi_hash_u64(h, t.rank);
    for (uint32_t i = 0; i < t.rank; i++)
        h = llfi_hash_u64(h, t.dim[i]);
    return h;
}

/* What one view may add: a reshape's index in memory order (terms and what is constant in it) and the
 * quotients and remainders that take it apart; where a slice or flip starts. */
static uint32_t of_view(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    llfi_type to = llfi_type_of(g, id), from = llfi_type_of(g, llfi_args(g, n)[0]);
    bool any = open_dims(g, to, 0) || open_dims(g, from, 0);
    if (any && n->op == LLF_OP_RESHAPE)
        return 2 * (open_strides(g, to) + open_strides(g, from) + open_dims(g, from, 0) + 1);
    return any && (n->op == LLF_OP_SLICE || n->op == LLF_OP_FLIP) ? 2 + from.rank : 0;
}

bool llfi_needs_init(llfi_needs *x, const llf_graph *g, const llf_id *source, llfi_arena *arena,
                     const llf_allocator *mem)
{
    *x = (llfi_needs){.g = g, .source = source, .mem = mem, .none = llfi_dims_symbols(g->dims) == 0};
    if (x->none)
        return true;
    x->view = llfi_arena_alloc(arena, (g->nodes.count + 1) * sizeof *x->view);
    x->behind = llfi_arena_alloc(arena, (g->nodes.count + 1) * sizeof *x->behind);
    for (llf_id id = 0; x->view && x->behind && id < g->nodes.count; id++) {
        const llfi_node *n = llfi_node_at(g, id);
        if (llfi_ops[n->op].cls != LLFI_CLASS_VIEW)
            continue;
        llf_id p = llfi_args(g, n)[0];
        x->view[id] = llfi_hash_u64(llfi_needs_dims(g, x->view[p], id), (uint64_t)n->op << 32 | n->attr);
        x->behind[id] = x->behind[p] + of_view(g, id);
    }
    return x->view && x->behind;
}

void llfi_needs_free(llfi_needs *x)
{
    llfi_vec_free(x->mem, &x->at);
    llfi_map_free(x->mem, &x->index);
}

uint32_t llfi_needs_of(const llfi_needs *x, llf_id user, uint32_t k)
{
    const llf_graph *g = x->g;
    const llfi_node *n = llfi_node_at(g, user);
    bool index = llfi_ops[n->op].cls == LLFI_CLASS_INDEX;
    if (x->none || (!index && !llfi_legal_moved(g, x->source, user, k)))
        return 0;
    llf_id given = llfi_args(g, n)[k];
    llfi_type from = llfi_type_of(g, x->source[given]), space = llfi_type_at(g, llfi_space_of(g, user));
    uint32_t most = open_strides(g, from) + x->behind[given];
    if (index && (open_dims(g, from, 0) || open_dims(g, space, 0)))
        most += 4; /* a limit, where it begins and ends, and whether there is anything */
    return most || !open_dims(g, space, 1) ? most : 1;
}

bool llfi_needs_class(llfi_needs *x, llf_id user, uint32_t k, uint64_t within, uint32_t *out)
{
    const llf_graph *g = x->g;
    const llfi_node *n = llfi_node_at(g, user);
    uint32_t most = llfi_needs_of(x, user, k);
    *out = LLFI_NEEDS_NONE;
    if (!most)
        return true;
    llf_id given = llfi_args(g, n)[k];
    uint64_t h = llfi_needs_dims(g, llfi_hash_u64(x->view[given], within), x->source[given]);
    h = llfi_needs_dims(g, h, llfi_ops[n->op].cls == LLFI_CLASS_REDUCE ? llfi_args(g, n)[0] : user);
    if (llfi_ops[n->op].cls == LLFI_CLASS_INDEX)
        h = llfi_hash_u64(llfi_hash_u64(h, (uint64_t)user << 32 | k), 1);
    size_t cursor = 0;
    while ((*out = llfi_map_next(&x->index, h, &cursor)) != UINT32_MAX && x->at.at[*out].hash != h)
        ;
    if (*out != UINT32_MAX)
        return true;
    if (!llfi_vec_reserve(x->mem, &x->at, 1) || !llfi_map_add(x->mem, &x->index, h, (uint32_t)x->at.count))
        return false;
    *out = (uint32_t)x->at.count;
    x->at.at[x->at.count++] = (llfi_needs_kind){.hash = h, .most = most, .stamp = UINT32_MAX};
    return true;
}
