/* view.c: a VIEW node of the graph as a step of index maps: attributes in, expressions out. It must not know
 * what the expressions are used for. */
#include "lower/map.h"

static bool permute(llfi_maps *m, const llf_graph *g, const llfi_node *n, llfi_ix *ix)
{
    llfi_list axes = llfi_list_at(g, n->attr);
    uint32_t perm[LLFI_RANK];
    for (uint32_t i = 0; i < axes.count; i++)
        perm[i] = (uint32_t)axes.at[i];
    return llfi_ix_permute(m, ix, axes.count, perm);
}

static bool slice(llfi_maps *m, const llf_graph *g, llf_id view, const llfi_node *n, llfi_ix *ix)
{
    uint32_t rank = llfi_type_at(g, n->type).rank;
    bool ok = true;
    for (uint32_t i = 0; ok && i < rank; i++) {
        llfi_range r = llfi_range_at(g, n->attr, i);
        llfi_maps_at(m, view, i);
        if (r.start != m->zero || r.step != 1)
            ok = llfi_ix_slice(m, ix, i, r.start, r.step);
    }
    return ok;
}

static bool flip(llfi_maps *m, const llf_graph *g, const llfi_node *n, llfi_ix *ix)
{
    llfi_list axes = llfi_list_at(g, n->attr);
    llfi_type t = llfi_type_at(g, n->type);
    bool ok = true;
    for (uint32_t i = 0; ok && i < axes.count; i++)
        ok = llfi_ix_flip(m, ix, (uint32_t)axes.at[i], t.dim[axes.at[i]]);
    return ok;
}

/* Axes of the longer side that `axes` does not list are those of the shorter one, in order. */
static bool unit_axes(llfi_maps *m, const llf_graph *g, const llfi_node *n, uint32_t longer, bool squeeze,
                      llfi_ix *ix)
{
    llfi_list axes = llfi_list_at(g, n->attr);
    llfi_ix made[LLFI_RANK];
    uint32_t listed = 0, other = 0; /* squeeze: operand axes are made; expand_dims: result axes are dropped */
    for (uint32_t i = 0; i < longer; i++) {
        bool unit = listed < axes.count && axes.at[listed] == (int64_t)i;
        listed += unit;
        if (squeeze)
            made[i] = unit ? 0 : ix[other++];
        else if (!unit)
            made[other++] = ix[i];
    }
    memcpy(ix, made, (squeeze ? longer : other) * sizeof *ix);
    return m->status == LLF_OK;
}

bool llfi_ix_view(llfi_maps *m, const llf_graph *g, llf_id view, llfi_ix *ix)
{
    const llfi_node *n = llfi_node_at(g, view);
    llfi_type out = llfi_type_at(g, n->type), in = llfi_type_of(g, n->arg[0]);
    llfi_maps_at(m, view, LLFI_RANK);
    switch ((llf_op)n->op) {
    case LLF_OP_PERMUTE: return permute(m, g, n, ix);
    case LLF_OP_SLICE: return slice(m, g, view, n, ix);
    case LLF_OP_FLIP: return flip(m, g, n, ix);
    case LLF_OP_BROADCAST_TO: return llfi_ix_broadcast(m, ix, out.rank, out.dim, in.rank, in.dim);
    case LLF_OP_EXPAND_DIMS: return unit_axes(m, g, n, out.rank, false, ix);
    case LLF_OP_SQUEEZE: return unit_axes(m, g, n, in.rank, true, ix);
    case LLF_OP_RESHAPE: return llfi_ix_reshape(m, ix, out.rank, out.dim, in.rank, in.dim);
    default: break;
    }
    m->status = m->status == LLF_OK ? LLF_E_INTERNAL : m->status;
    return false;
}
