/* rows.c: see rows.h. Exact for what it finds: a view's axis that it names is the index behind the view at
 * every point. What it does not see through (a reshape that moves elements, a slice that starts elsewhere) is
 * NONE. */
#include "ir/rows.h"

enum { ONE = LLFI_RANK, OTHER }; /* index 0 whatever the point; none of the axes */

static bool is_one(const llf_graph *g, llfi_dim dim)
{
    int64_t extent;
    return llfi_dim_is_const(g->dims, dim, &extent) && extent == 1;
}

llfi_axes llfi_axes_of(const llf_graph *g, llfi_type t)
{
    llfi_axes axes = 0;
    for (uint32_t i = 0; i < t.rank; i++)
        axes |= is_one(g, t.dim[i]) ? 0 : 1u << i;
    return axes;
}

bool llfi_axes_lie(const llf_graph *g, llfi_type value, llfi_type space, llfi_axes along, uint8_t *at)
{
    uint32_t axis = 0;
    for (uint32_t i = 0; i < value.rank; i++) {
        bool one = is_one(g, value.dim[i]);
        while (!one && axis < space.rank && (!(along >> axis & 1) || is_one(g, space.dim[axis])))
            axis++;
        if (!one && (axis == space.rank || space.dim[axis] != value.dim[i]))
            return false;
        if (at)
            at[i] = (uint8_t)(one ? LLFI_RANK : axis);
        axis += !one;
    }
    for (; axis < space.rank; axis++)
        if (along >> axis & 1 && !is_one(g, space.dim[axis]))
            return false;
    return true;
}

llfi_axes llfi_axes_lift(llfi_axes along, llfi_axes from, llfi_axes to)
{
    llfi_axes lifted = 0;
    for (; from && to; from &= from - 1, to &= to - 1)
        lifted |= along & (from & -from) ? to & -to : 0;
    return lifted;
}

/* ---- views */

static void nowhere(const llf_graph *g, llfi_type x, uint8_t *at)
{
    for (uint32_t i = 0; i < x.rank; i++)
        at[i] = is_one(g, x.dim[i]) ? ONE : OTHER;
}

static bool whole(const llf_graph *g, llfi_type x, uint64_t attr, uint32_t axis)
{
    llfi_range r = llfi_range_at(g, attr, axis);
    int64_t start;
    return r.length == x.dim[axis] && r.step == 1 && llfi_dim_is_const(g->dims, r.start, &start) &&
           start == 0;
}

/* The axis of view `n` that is the index of axis `i` of its operand `x`, unless that is ONE. */
static uint8_t axis_of(const llf_graph *g, const llfi_node *n, llfi_type x, uint32_t i)
{
    llfi_type y = llfi_type_at(g, n->type);
    llfi_list l = n->op == LLF_OP_SLICE ? (llfi_list){0} : llfi_list_at(g, n->attr);
    uint32_t to = n->op == LLF_OP_BROADCAST_TO ? y.rank - x.rank : 0;
    switch (n->op) {
    case LLF_OP_BROADCAST_TO: to += i; break;
    case LLF_OP_PERMUTE:
        while (to < l.count && l.at[to] != i)
            to++;
        break;
    case LLF_OP_SLICE: to = whole(g, x, n->attr, i) ? i : y.rank; break;
    case LLF_OP_FLIP:
        to = i;
        for (uint32_t k = 0; k < l.count; k++)
            to = l.at[k] == i ? y.rank : to;
        break;
    case LLF_OP_EXPAND_DIMS: /* new axes, by their places in the result, rising */
        to = i;
        for (uint32_t k = 0; k < l.count; k++)
            to += l.at[k] <= to;
        break;
    case LLF_OP_SQUEEZE:
        to = i;
        for (uint32_t k = 0; k < l.count; k++)
            to = l.at[k] == i ? y.rank : l.at[k] < i ? to - 1 : to;
        break;
    default: return OTHER;
    }
    return to < y.rank && y.dim[to] == x.dim[i] ? (uint8_t)to : OTHER;
}

static void look(const llf_graph *g, const llfi_node *n, uint8_t *at)
{
    llfi_type x = llfi_type_of(g, llfi_args(g, n)[0]);
    nowhere(g, x, at);
    if (n->op == LLF_OP_RESHAPE) { /* by constant 1s alone no element moves */
        uint8_t of[LLFI_RANK];
        llfi_type y = llfi_type_at(g, n->type);
        if (llfi_axes_lie(g, x, y, llfi_axes_of(g, y), of))
            memcpy(at, of, x.rank);
        return;
    }
    for (uint32_t i = 0; i < x.rank; i++)
        at[i] = at[i] == ONE ? ONE : axis_of(g, n, x, i);
}

bool llfi_ways_init(llfi_ways *w, const llf_graph *g, const llf_id *source, llfi_arena *arena)
{
    uint32_t views = 0;
    *w = (llfi_ways){.g = g, .source = source};
    w->view = llfi_arena_alloc(arena, (g->nodes.count + 1) * sizeof *w->view);
    for (llf_id id = 0; w->view && id < g->nodes.count; id++)
        if (llfi_ops[llfi_node_at(g, id)->op].cls == LLFI_CLASS_VIEW)
            w->view[id] = ++views;
    w->at = w->view ? llfi_arena_alloc(arena, (views + 1) * sizeof *w->at) : NULL;
    for (llf_id id = 0; w->at && id < g->nodes.count; id++) {
        if (!w->view[id])
            continue;
        uint8_t here[LLFI_RANK], *at = w->at[w->view[id] - 1];
        const llfi_node *n = llfi_node_at(g, id);
        llf_id x = llfi_args(g, n)[0];
        look(g, n, here);
        for (uint32_t i = 0; i < llfi_type_of(g, source[id]).rank; i++) {
            uint8_t of = w->view[x] ? w->at[w->view[x] - 1][i] : (uint8_t)i;
            at[i] = of < LLFI_RANK ? here[of] : of;
        }
    }
    return w->at != NULL;
}

llfi_axes llfi_way(const llfi_ways *w, llf_id user, uint32_t k)
{
    const llf_graph *g = w->g;
    const llfi_node *n = llfi_node_at(g, user);
    llf_id given = llfi_args(g, n)[k];
    llfi_type p = llfi_type_of(g, w->source[given]), x = llfi_type_of(g, given),
              space = llfi_type_at(g, llfi_space_of(g, user));
    bool elementwise = llfi_ops[n->op].cls != LLFI_CLASS_INDEX || llfi_same_space(g, user, k);
    uint32_t shift = space.rank - x.rank, last = 0; /* aligned at their ends */
    llfi_axes along = 0;
    for (uint32_t i = 0; i < p.rank; i++) {
        uint32_t at = w->view[given] ? w->at[w->view[given] - 1][i] : i;
        if (is_one(g, p.dim[i]) || at == ONE)
            continue;
        if (at >= LLFI_RANK || !elementwise || x.dim[at] != space.dim[at + shift] || at + shift + 1 <= last)
            return LLFI_AXES_NONE;
        last = at + shift + 1;
        along |= 1u << (at + shift);
    }
    return along;
}

uint32_t llfi_space_of(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    return llfi_ops[n->op].cls == LLFI_CLASS_REDUCE ? llfi_node_at(g, llfi_args(g, n)[0])->type : n->type;
}

llfi_axes llfi_reduced_of(const llf_graph *g, llf_id id)
{
    return llfi_ops[llfi_node_at(g, id)->op].cls == LLFI_CLASS_REDUCE ? llfi_reduce_of(g, id).axes : 0;
}
