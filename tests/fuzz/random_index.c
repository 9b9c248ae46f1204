/* random_index.c: concat, pad, take, iota and roll for the generator, legal at the values its symbols have.
 * It knows each by name, since each has a shape rule of its own. */
#include "random_view.h"

#define MAX_RANK 6u
#define MAX_PARTS 24u /* beyond what one kernel takes */

typedef struct {
    rg_random *r;
    llf_graph *g;
    const int64_t *symbol;
    llfi_type t; /* of the operand */
    int64_t extent[LLFI_RANK], elements, most;
    llf_id x, first;
} maker;

static const llfi_place nowhere = {NULL, 0, 0};

static int64_t size_of(const maker *m, llf_id id, int64_t *extent)
{
    llfi_type t = llfi_type_of(m->g, id);
    int64_t elements = 1;
    for (uint32_t i = 0; i < t.rank; i++) {
        if (!llfi_dim_eval(m->g->dims, t.dim[i], m->symbol, &extent[i]))
            return -1;
        elements *= extent[i];
    }
    return elements;
}

/* A symbol that an input tells; false: there is none. */
static bool known_symbol(maker *m, uint32_t *symbol)
{
    uint32_t found = 0, k;
    for (size_t i = 0; i < m->g->inputs.count; i++) {
        llfi_type t = llfi_type_of(m->g, m->g->inputs.at[i]);
        for (uint32_t a = 0; a < t.rank; a++)
            if (llfi_dim_is_symbol(m->g->dims, t.dim[a], &k) && rg_below(m->r, ++found) == 0)
                *symbol = k;
    }
    return found > 0;
}

static llf_id build(maker *m, llf_op op, uint32_t count, const llf_id *arg, const llfi_ask *ask)
{
    uint64_t attr;
    if (llfi_index_attr(m->g, op, count, arg, ask, nowhere, &attr) != LLF_OK)
        return llfi_poison(m->g, LLF_E_INTERNAL);
    return llfi_build_n(m->g, op, count, arg, attr, UINT32_MAX, nowhere);
}

/* May the value stand behind x? */
static bool goes_with(const maker *m, llf_id id, uint32_t axis)
{
    int64_t extent[LLFI_RANK];
    llfi_type t = llfi_type_of(m->g, id);
    if (t.dtype != m->t.dtype || t.rank != m->t.rank || size_of(m, id, extent) < 0)
        return false;
    for (uint32_t i = 0; i < t.rank; i++)
        if (i != axis && extent[i] != m->extent[i])
            return false;
    return true;
}

static llf_id concat(maker *m)
{
    llf_id part[MAX_PARTS] = {m->x};
    int64_t extent[LLFI_RANK], all = m->elements;
    uint32_t axis = rg_below(m->r, m->t.rank), parts = 1;
    uint32_t want = rg_chance(m->r, 5) ? MAX_PARTS : 1 + rg_below(m->r, 4);
    for (uint32_t tries = 0; parts < want && tries < 4 * want; tries++) {
        llf_id id =
            rg_chance(m->r, 30) ? m->x : m->first + rg_below(m->r, (uint32_t)m->g->nodes.count - m->first);
        if (!goes_with(m, id, axis) || all + size_of(m, id, extent) > m->most)
            continue;
        all += size_of(m, id, extent);
        part[parts++] = id;
    }
    if (parts > 1 && rg_chance(m->r, 50)) { /* x is not always the first */
        part[0] = part[parts - 1];
        part[parts - 1] = m->x;
    }
    int64_t along = rg_chance(m->r, 30) ? (int64_t)axis - m->t.rank : (int64_t)axis;
    return build(m, LLF_OP_CONCAT, parts, part, &(llfi_ask){.along = along});
}

/* Shifts of all sizes: numbers, and symbols. */
static llf_id roll(maker *m)
{
    llfi_roll_ask ask = {.count = 1 + rg_below(m->r, 2)};
    llf_id out = LLF_NONE;
    for (uint32_t i = 0; i < ask.count; i++) {
        uint32_t axis = rg_below(m->r, m->t.rank), k;
        ask.axis[i] = rg_chance(m->r, 30) ? (int64_t)axis - m->t.rank : (int64_t)axis;
        ask.back[i] = rg_chance(m->r, 50);
        ask.shift[i] = llfi_dim_const(m->g->dims, rg_below(m->r, rg_chance(m->r, 80) ? 5 : 3000));
        if (!ask.back[i] && rg_chance(m->r, 30) && known_symbol(m, &k))
            ask.shift[i] = llfi_dim_sym(m->g->dims, k);
    }
    if (llfi_make_roll(m->g, m->x, &ask, nowhere, &out) != LLF_OK)
        return llfi_poison(m->g, LLF_E_INTERNAL);
    return out;
}

/* One side: some elements more or fewer, seldom as many as a symbol says; how many. */
static int64_t side(maker *m, int64_t have, int64_t room, llfi_bound *b)
{
    uint32_t k;
    *b = (llfi_bound){LLFI_DIM_NONE, 0};
    if (rg_chance(m->r, 40))
        return 0;
    if (rg_chance(m->r, 15) && known_symbol(m, &k) && m->symbol[k] <= room) {
        b->dim = llfi_dim_sym(m->g->dims, k);
        return m->symbol[k];
    }
    if (have > 0 && rg_chance(m->r, 30)) {
        b->back = 1 + rg_below(m->r, have < 3 ? (uint32_t)have : 3);
        return -b->back;
    }
    int64_t more = rg_below(m->r, room < 8 ? (uint32_t)room + 1 : 9);
    b->dim = llfi_dim_const(m->g->dims, more);
    return more;
}

static llf_id pad(maker *m, llf_id value)
{
    llfi_ask ask = {.count = m->t.rank};
    int64_t others = 1; /* elements of the axes that are done */
    for (uint32_t i = 0; i < m->t.rank; i++) {
        int64_t rest = 1, n = m->extent[i];
        for (uint32_t k = i + 1; k < m->t.rank; k++)
            rest *= m->extent[k] ? m->extent[k] : 1;
        int64_t room = m->most / (others * rest) - n;
        n += side(m, n, room > 0 ? room : 0, &ask.range[i].start);
        room = m->most / (others * rest) - n;
        n += side(m, n, room > 0 ? room : 0, &ask.range[i].stop);
        ask.range[i].step = 1;
        others *= n ? n : 1;
    }
    return build(m, LLF_OP_PAD, 2, (const llf_id[]){m->x, value}, &ask);
}

static llf_id take(maker *m, llf_id index)
{
    int64_t extent[LLFI_RANK], more = size_of(m, index, extent);
    uint32_t axis = rg_below(m->r, m->t.rank), rank = llfi_type_of(m->g, index).rank + m->t.rank - 1;
    int64_t rest = 1;
    for (uint32_t i = 0; i < m->t.rank; i++)
        rest *= i == axis ? 1 : m->extent[i];
    if (more < 0 || rank > MAX_RANK || more * rest > m->most || (m->extent[axis] == 0 && more > 0))
        return LLF_NONE;
    int64_t along = rg_chance(m->r, 30) ? (int64_t)axis - m->t.rank : (int64_t)axis;
    return build(m, LLF_OP_TAKE, 2, (const llf_id[]){m->x, index}, &(llfi_ask){.along = along});
}

/* Of the operand's shape, so that it goes with others. */
static llf_id iota(maker *m)
{
    llfi_ask ask = {.count = m->t.rank, .along = rg_below(m->r, m->t.rank)};
    ask.dtype = m->t.dtype == LLF_BOOL ? LLF_I64 : m->t.dtype;
    memcpy(ask.dim, m->t.dim, m->t.rank * sizeof *ask.dim);
    return build(m, LLF_OP_IOTA, 0, NULL, &ask);
}

llf_id rg_index(rg_random *r, llf_graph *g, const int64_t *symbol, llf_op op, llf_id x, llf_id other,
                llf_id first, int64_t most)
{
    maker m = {
        .r = r, .g = g, .symbol = symbol, .t = llfi_type_of(g, x), .most = most, .x = x, .first = first};
    m.elements = size_of(&m, x, m.extent);
    if (m.t.rank == 0 || m.elements < 0)
        return LLF_NONE;
    switch (op) {
    case LLF_OP_CONCAT: return rg_chance(r, 30) ? roll(&m) : concat(&m);
    case LLF_OP_PAD: return pad(&m, other);
    case LLF_OP_TAKE: return take(&m, other);
    case LLF_OP_IOTA: return iota(&m);
    default: return LLF_NONE;
    }
}
