/* legal.c: what may share a kernel. Correctness and caps alone: it must never include the cost model or look
 * at a heuristic. The demand limit (2 x members + leaves + 32) holds because one demand per member and leaf
 * is in it anyway, and `moved` counts what index maps add: at most nodes + 32. */
#include "fuse/fuse.h"

static const struct {
    const char *code, *text;
} why_table[] = {
#define REASON(id, code, text) {code, text},
#include "fuse/reasons.def"
#undef REASON
};

const char *llfi_why_code(llfi_fuse_why w)
{
    return why_table[w].code;
}

const char *llfi_why_text(llfi_fuse_why w)
{
    return why_table[w].text;
}

bool llfi_legal_space(const llf_graph *g, llf_id a, llf_id b)
{
    return llfi_type_same_dims(llfi_type_of(g, a), llfi_type_of(g, b));
}

/* ---- reductions */

static llfi_axes rows_of(const llf_graph *g, llfi_frame f)
{
    return llfi_axes_of(g, llfi_type_at(g, f.space)) & ~f.reduced;
}

llfi_axes llfi_legal_along(const llf_graph *g, llfi_frame f, llfi_type t)
{
    llfi_type space = llfi_type_at(g, f.space);
    if (llfi_type_same_dims(t, space))
        return llfi_axes_of(g, space);
    llfi_axes rows = rows_of(g, f);
    return f.reduced && llfi_axes_lie(g, t, space, rows, NULL) ? rows : LLFI_AXES_NONE;
}

llfi_fuse_why llfi_legal_frames(const llf_graph *g, llfi_frame a, llfi_frame b, llfi_frame *both)
{
    *both = a.reduced ? a : b;
    if (a.reduced && b.reduced && a.reduced != b.reduced)
        return LLFI_WHY_AXES;
    if (llfi_type_same_dims(llfi_type_at(g, a.space), llfi_type_at(g, b.space)))
        return LLFI_WHY_FUSED;
    llfi_frame other = a.reduced ? b : a;
    bool rows = !other.reduced && llfi_legal_along(g, *both, llfi_type_at(g, other.space)) != LLFI_AXES_NONE;
    return rows ? LLFI_WHY_FUSED : LLFI_WHY_SPACE;
}

bool llfi_legal_after(const llf_graph *g, llfi_frame f)
{
    llfi_type t = llfi_type_at(g, f.space);
    int64_t rows = 1, row = 1, extent;
    bool known = true, any = false;
    for (uint32_t i = 0; i < t.rank; i++) {
        bool constant = llfi_dim_is_const(g->dims, t.dim[i], &extent);
        if (f.reduced >> i & 1)
            known = known && constant && !__builtin_mul_overflow(row, extent, &row);
        else if (!constant || __builtin_mul_overflow(rows, extent, &rows))
            return true;
        any = any || !(f.reduced >> i & 1);
    }
    return any && (rows >= LLFI_ROWS_FEW || (known && row <= LLFI_ROW_LONG));
}

llfi_fuse_why llfi_legal_read(const llf_graph *g, llfi_frame f, llf_id p, llfi_axes way, bool wide,
                              bool moved)
{
    if (!f.reduced)
        return moved ? LLFI_WHY_MAP : LLFI_WHY_FUSED;
    llfi_axes along = llfi_legal_along(g, f, llfi_type_of(g, p));
    if (way != along)
        return along == llfi_axes_of(g, llfi_type_at(g, f.space)) ? LLFI_WHY_MAP : LLFI_WHY_ROW;
    return wide && !llfi_legal_after(g, f) ? LLFI_WHY_ROWS : LLFI_WHY_FUSED;
}

uint32_t llfi_legal_cost(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    uint32_t cost = llfi_op_cost((llf_op)n->op, llfi_dtype_of(g, id));
    return llfi_ops[n->op].arity == LLFI_VARIADIC ? cost * n->arity : cost;
}

bool llfi_legal_moved(const llf_graph *g, const llf_id *source, llf_id id, uint32_t k)
{
    const llfi_node *n = llfi_node_at(g, id);
    llf_id p = llfi_args(g, n)[k];
    return llfi_type_of(g, source[p]).rank &&
           (source[p] != p || (llfi_ops[n->op].cls != LLFI_CLASS_REDUCE && !llfi_same_space(g, id, k)));
}

uint32_t llfi_legal_moves(const llfi_fuse_view *v, llf_id id)
{
    uint32_t moves = 0;
    for (uint32_t k = 0; k < llfi_node_at(v->g, id)->arity; k++) {
        llf_id p = llfi_fuse_operand(v, id, k);
        bool again = v->role[p] == LLFI_ROLE_RECOMPUTE && llfi_type_of(v->g, p).rank;
        if (again)
            moves += v->spread[p];
        else
            moves += llfi_legal_moved(v->g, v->source, id, k);
    }
    return moves;
}

/* Of a kernel with reductions: extents, counts and numbers of its rows, and where blocks leave what they have
 * for one another. */
#define ROW_SLOTS (2 * LLFI_RANK + 8)

/* One 8-byte slot a buffer or scalar and two for the extent; where indices are taken apart, what that takes,
 * the space's own extents among it. */
uint64_t llfi_legal_bytes(const llfi_fuse_size *s)
{
    uint64_t extents = s->extents ? (uint64_t)s->extents + LLFI_RANK - 1 : 0;
    return 8 * ((uint64_t)s->reads + s->stores + s->scalars + extents + (s->phases ? ROW_SLOTS : 0)) + 16;
}

llfi_fuse_why llfi_legal_size(const llfi_fuse_options *o, const llfi_fuse_size *s)
{
    if (s->nodes > o->params.max_kernel_nodes)
        return LLFI_WHY_NODES;
    if ((int64_t)s->reads + s->stores > o->params.max_kernel_buffers)
        return LLFI_WHY_BUFFERS;
    if (llfi_legal_bytes(s) > o->param_bytes)
        return LLFI_WHY_PARAMS;
    if (s->moved > s->nodes + 32)
        return LLFI_WHY_DEMANDS;
    uint64_t times = s->phases ? s->phases + 1u : 1; /* rows that fit nowhere are computed anew */
    if (s->cost * times > (uint64_t)o->params.max_kernel_cost)
        return LLFI_WHY_COST;
    return LLFI_WHY_FUSED;
}

static bool reads(const llfi_fuse_view *v, llf_id id, llf_id operand)
{
    for (uint32_t k = 0; k < llfi_node_at(v->g, id)->arity; k++)
        if (llfi_fuse_operand(v, id, k) == operand)
            return true;
    return false;
}

bool llfi_legal_related(const llfi_fuse_view *v, llf_id a, llf_id b)
{
    bool scalars = llfi_type_of(v->g, b).rank == 0, related = reads(v, b, a);
    for (uint32_t k = 0; k < llfi_node_at(v->g, b)->arity && !related; k++) {
        llf_id p = llfi_fuse_operand(v, b, k);
        related = llfi_node_is_buffered(llfi_node_at(v->g, p)) && (scalars || llfi_type_of(v->g, p).rank) &&
                  reads(v, a, p);
    }
    return related;
}

/* Parts above these costs differ at most so many times. */
#define LIKE_COST 64u
#define LIKE 4u

uint64_t llfi_legal_parts_bytes(uint32_t parts, uint64_t slots)
{
    uint64_t starts = 1; /* a power of two of 4 bytes each, as the search wants them */
    while (starts < parts)
        starts *= 2;
    return 4 * (starts < 2 ? 2 : starts) + 8 * slots;
}

llfi_fuse_why llfi_legal_parts(const llfi_fuse_options *o, const llfi_parts_size *s)
{
    if (s->parts > o->params.max_kernel_parts)
        return LLFI_WHY_PARTS;
    if (s->bodies > o->params.max_kernel_bodies)
        return LLFI_WHY_BODIES;
    if (s->most > LIKE_COST && s->most > LIKE * s->least)
        return LLFI_WHY_UNLIKE;
    if (s->nodes > (uint64_t)o->params.max_kernel_nodes)
        return LLFI_WHY_NODES;
    if (s->cost > (uint64_t)o->params.max_kernel_cost)
        return LLFI_WHY_COST;
    return llfi_legal_parts_bytes(s->parts, s->slots) > o->param_bytes ? LLFI_WHY_PARAMS : LLFI_WHY_FUSED;
}

llfi_fuse_why llfi_legal_level(uint32_t level, uint32_t need, uint32_t consumer)
{
    return need <= level || need < consumer ? LLFI_WHY_FUSED : LLFI_WHY_CYCLE;
}

/* A quarter of each cap: an operation of three recomputed operands must fit a kernel of its own. */
bool llfi_legal_recompute(const llfi_fuse_options *o, const llfi_fuse_size *s)
{
    return s->nodes <= o->params.recompute_scalar_nodes && s->nodes <= o->params.max_kernel_nodes / 4 &&
           s->reads <= o->params.max_kernel_buffers / 4 && llfi_legal_bytes(s) <= o->param_bytes / 4 &&
           s->cost <= (uint64_t)o->params.max_kernel_cost / 4;
}

bool llfi_legal_behind(uint32_t views)
{
    return views <= LLFI_VIEWS_MAX;
}

bool llfi_legal_spread(const llfi_fuse_options *o, const llfi_fuse_size *s, uint32_t spread)
{
    return spread <= LLFI_SPREAD_MAX && s->cost <= (uint64_t)o->params.recompute_moved_cost &&
           s->nodes <= o->params.max_kernel_nodes / 4 && s->reads <= o->params.max_kernel_buffers / 4 &&
           llfi_legal_bytes(s) <= o->param_bytes / 4 && s->cost <= (uint64_t)o->params.max_kernel_cost / 4;
}
