/* map_index.c: what ops that choose (concat, pad, take) do to index expressions: limits and values of other
 * demands. It knows the graph's attributes; it must not know what is loaded or emitted. */
#include "lower/map_form.h"

llfi_dim llfi_alive_both(llfi_maps *m, llfi_dim a, llfi_dim b)
{
    if (a == LLFI_DIM_NONE || a == b)
        return b;
    if (b == LLFI_DIM_NONE)
        return a;
    llfi_dim least = llfi_dim_min(m->dims, a, b);
    if (least == LLFI_DIM_NONE)
        llfi_maps_fail(m, llfi_dims_nomem(m->dims) ? LLF_E_NOMEM : LLF_E_LIMIT);
    return least;
}

/* The sum without the limits that are terms of it. Where one of those would have changed its index, the point
 * is none of that operand's, and the op that chose puts something else in place of all that is computed
 * there: so another limit behind it needs only to stay inside of its own extent, and a condition may say
 * anything. */
static llfi_ix unlimited(llfi_maps *m, llfi_ix ix)
{
    llfi_sum s;
    if (ix == LLFI_IX_NONE)
        return ix;
    const llfi_ix_form f = m->form.at[ix];
    bool any = false;
    uint32_t room = LLFI_IX_TERMS - f.terms;
    llfi_sum_clear(m, &s);
    s.c = f.constant;
    for (uint32_t i = 0; i < f.terms; i++) {
        const llfi_ix_term t = m->term.at[f.first + i];
        const llfi_atom a = m->atom.at[t.atom];
        if (a.kind == LLFI_ATOM_CLAMP && m->form.at[a.arg].terms <= room) { /* nothing below it is limited */
            llfi_sum_add(m, &s, a.arg, t.coef);
            room -= m->form.at[a.arg].terms;
            any = true;
        } else {
            llfi_sum_atom(m, &s, t.atom, t.coef);
        }
    }
    return any ? llfi_sum_intern(m, &s) : ix;
}

llfi_ix llfi_ix_clamp(llfi_maps *m, llfi_ix ix, llfi_dim extent)
{
    if (ix == LLFI_IX_NONE || extent == m->one || llfi_ix_within(m, ix, extent))
        return ix == LLFI_IX_NONE || extent != m->one ? ix : 0;
    ix = unlimited(m, ix);
    if (ix == LLFI_IX_NONE)
        return ix;
    return llfi_ix_of_atom(m, llfi_atom_add(m, LLFI_ATOM_CLAMP, ix, extent, extent));
}

llfi_ix llfi_ix_value(llfi_maps *m, uint32_t value, uint32_t map, llfi_dim extent)
{
    if (extent == m->one)
        return m->status == LLF_OK ? 0 : LLFI_IX_NONE;
    uint32_t atom = llfi_atom_add(m, LLFI_ATOM_VALUE, value, extent, extent);
    if (atom == UINT32_MAX)
        return LLFI_IX_NONE;
    m->atom.at[atom].axes = m->map.at[map].axes; /* before a form is made of it */
    m->atom.at[atom].alive = llfi_map_alive(m, map);
    return llfi_ix_of_atom(m, atom);
}

llfi_dim llfi_map_alive(llfi_maps *m, uint32_t map)
{
    llfi_dim alive = LLFI_DIM_NONE;
    for (uint32_t i = 0; i < m->map.at[map].rank; i++)
        alive = llfi_alive_both(m, alive, m->form.at[m->map.at[map].ix[i]].alive);
    return alive;
}

bool llfi_map_waits(const llfi_maps *m, uint32_t map)
{
    for (uint32_t i = 0; i < m->map.at[map].rank; i++)
        if (m->form.at[m->map.at[map].ix[i]].waits)
            return true;
    return false;
}

/* ix - amount, where the amount is a dim or, negative, a number. */
static llfi_ix shifted(llfi_maps *m, llfi_ix ix, int64_t amount)
{
    return amount < 0 ? llfi_ix_add(m, ix, llfi_ix_const(m, llfi_dim_const(m->dims, -amount)))
                      : llfi_ix_sub(m, ix, llfi_ix_const(m, (llfi_dim)amount));
}

/* Extents of the operands before operand `k`, along the axis. */
static llfi_dim before(llfi_maps *m, const llf_graph *g, const llfi_node *n, uint32_t k)
{
    llfi_dim sum = m->zero;
    for (uint32_t i = 0; i < k; i++)
        sum = llfi_dim_add(m->dims, sum, llfi_type_of(g, llfi_args(g, n)[i]).dim[n->attr]);
    if (sum == LLFI_DIM_NONE)
        llfi_maps_fail(m, llfi_dims_nomem(m->dims) ? LLF_E_NOMEM : LLF_E_LIMIT);
    return sum == LLFI_DIM_NONE ? m->zero : sum;
}

/* A literal index, if the extent is known. */
static bool literal_index(llfi_maps *m, const llf_graph *g, llf_id index, llfi_dim extent, llfi_ix *out)
{
    const llfi_node *n = llfi_node_at(g, index);
    int64_t count, at;
    if (n->op != LLF_OP_CONST || !llfi_dim_is_const(m->dims, extent, &count) || count == 0)
        return false;
    at = llfi_dtype_of(g, index) == LLF_I32 ? (int32_t)(uint32_t)n->attr : (int64_t)n->attr;
    at = at < 0 ? at + count : at;
    at = at >= count ? count - 1 : at < 0 ? 0 : at;
    *out = llfi_ix_const(m, llfi_dim_const(m->dims, at));
    return true;
}

static void take(llfi_maps *m, const llf_graph *g, const llfi_node *n, uint32_t operand, uint32_t value,
                 uint32_t map, llfi_ix *ix)
{
    llf_id x = llfi_args(g, n)[0], index = llfi_args(g, n)[1];
    uint32_t rank = llfi_type_of(g, x).rank, more = llfi_type_of(g, index).rank, axis = (uint32_t)n->attr;
    llfi_dim extent = llfi_type_of(g, x).dim[axis];
    llfi_ix made[LLFI_RANK];
    if (operand == 1) {
        memmove(ix, ix + axis, more * sizeof *ix);
        return;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (i != axis)
            made[i] = ix[i < axis ? i : i - 1 + more];
    if (!literal_index(m, g, index, extent, &made[axis]))
        made[axis] = llfi_ix_value(m, value, map, extent);
    memcpy(ix, made, rank * sizeof *ix);
}

/* Are all operands of a concat as long as each other, by a number? Then all may be read at the remainder, and
 * what they have in common is one value (rope: both halves of a row are made of both). */
static bool all_equal(const llfi_maps *m, const llf_graph *g, const llfi_node *n)
{
    llfi_dim first = llfi_type_of(g, llfi_args(g, n)[0]).dim[n->attr];
    int64_t value;
    for (uint32_t i = 1; i < n->arity; i++)
        if (llfi_type_of(g, llfi_args(g, n)[i]).dim[n->attr] != first)
            return false;
    return llfi_dim_is_const(m->dims, first, &value) && value > 0;
}

bool llfi_ix_operand(llfi_maps *m, const llf_graph *g, llf_id id, uint32_t operand, uint32_t value,
                     uint32_t map, llfi_ix *ix)
{
    const llfi_node *n = llfi_node_at(g, id);
    llf_id x = llfi_args(g, n)[operand];
    uint32_t axis = (uint32_t)n->attr;
    llfi_maps_at(m, id, n->op == LLF_OP_PAD ? LLFI_RANK : axis);
    if (n->op == LLF_OP_TAKE)
        take(m, g, n, operand, value, map, ix);
    if (n->op == LLF_OP_CONCAT && all_equal(m, g, n))
        ix[axis] = llfi_ix_mod(m, ix[axis], llfi_type_of(g, x).dim[axis]);
    else if (n->op == LLF_OP_CONCAT)
        ix[axis] =
            llfi_ix_clamp(m, shifted(m, ix[axis], before(m, g, n, operand)), llfi_type_of(g, x).dim[axis]);
    for (uint32_t i = 0; n->op == LLF_OP_PAD && i < llfi_type_of(g, x).rank; i++) {
        int64_t low = llfi_list_at(g, n->attr).at[LLFI_PAD_WORDS * i];
        llfi_maps_at(m, id, i);
        ix[i] = llfi_ix_clamp(m, shifted(m, ix[i], low), llfi_type_of(g, x).dim[i]);
    }
    return m->status == LLF_OK;
}

static bool is_positive(const llfi_maps *m, int64_t word)
{
    return word >= 0 && (llfi_dim)word != m->zero;
}

uint32_t llfi_ix_conditions(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    return n->op == LLF_OP_CONCAT ? n->arity - 1
           : n->op == LLF_OP_PAD  ? LLFI_PAD_WORDS * llfi_type_at(g, n->type).rank
                                  : 0;
}

bool llfi_ix_condition(llfi_maps *m, const llf_graph *g, llf_id id, const llfi_ix *ix, uint32_t k,
                       llfi_ix *out)
{
    const llfi_node *n = llfi_node_at(g, id);
    *out = LLFI_IX_NONE;
    llfi_maps_at(m, id, n->op == LLF_OP_CONCAT ? (uint32_t)n->attr : k / LLFI_PAD_WORDS);
    if (n->op == LLF_OP_CONCAT) {
        *out = unlimited(m, shifted(m, ix[n->attr], before(m, g, n, k + 1)));
        return *out != LLFI_IX_NONE;
    }
    uint32_t axis = k / LLFI_PAD_WORDS;
    const int64_t *word = llfi_list_at(g, n->attr).at + LLFI_PAD_WORDS * axis;
    int64_t low = word[0];
    if (!is_positive(m, word[k % LLFI_PAD_WORDS])) /* nothing is added on that side */
        return true;
    *out = shifted(m, ix[axis], low);
    if (k % LLFI_PAD_WORDS)
        *out = shifted(m, *out, llfi_type_of(g, llfi_args(g, n)[0]).dim[axis]);
    *out = unlimited(m, *out);
    return *out != LLFI_IX_NONE;
}
