/* index.c: see index.h. */
#include "interp/index.h"

llf_status llfi_extents_of(const llf_graph *g, llf_id id, const int64_t *symbol, llfi_extents *e)
{
    llfi_type type = llfi_type_of(g, id);
    llfi_diag *d = g->cx ? &g->cx->diag : NULL;
    const char *op = llfi_ops[llfi_node_at(g, id)->op].name;
    bool overflow = false, empty = false;
    e->rank = type.rank;
    e->elements = 1;
    for (uint32_t i = 0; i < type.rank; i++) {
        if (!llfi_dim_eval(g->dims, type.dim[i], symbol, &e->extent[i]))
            return llfi_fail_at(d, LLF_E_GUARD, llfi_place_of(g, id), op,
                                "extent %u of the result has no value for these symbols", i);
        empty |= e->extent[i] == 0;
        overflow |= __builtin_mul_overflow(e->elements, e->extent[i], &e->elements);
    }
    if (overflow && !empty)
        return llfi_fail_at(d, LLF_E_LIMIT, llfi_place_of(g, id), op, "the number of elements is over 2^63");
    e->elements = empty ? 0 : e->elements;
    return LLF_OK;
}

static void unravel(const llfi_extents *e, int64_t at, int64_t *x)
{
    for (uint32_t i = e->rank; i-- > 0; at /= e->extent[i])
        x[i] = at % e->extent[i];
}

static int64_t ravel(const llfi_extents *e, const int64_t *x)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < e->rank; i++)
        at = at * e->extent[i] + x[i];
    return at;
}

static bool listed(llfi_list l, uint32_t axis)
{
    for (uint32_t i = 0; i < l.count; i++) {
        if (l.at[i] == axis)
            return true;
    }
    return false;
}

/* Aligned at the end; an extent of 1 has one element for all. */
static void broadcast(const llfi_extents *out, const llfi_extents *in, const int64_t *x, int64_t *y)
{
    for (uint32_t i = 0; i < in->rank; i++)
        y[i] = in->extent[i] == 1 ? 0 : x[i + out->rank - in->rank];
}

static bool slice(const llf_graph *g, const llfi_node *n, const int64_t *symbol, const llfi_extents *in,
                  const int64_t *x, int64_t *y)
{
    for (uint32_t i = 0; i < in->rank; i++) {
        llfi_range r = llfi_range_at(g, n->attr, i);
        if (!llfi_dim_eval(g->dims, r.start, symbol, &y[i]))
            return false;
        y[i] += x[i] * r.step;
    }
    return true;
}

/* Coordinates x of the result to coordinates y of the operand. */
static bool map(const llf_graph *g, const llfi_node *n, const int64_t *symbol, const llfi_extents *out,
                const llfi_extents *in, const int64_t *x, int64_t *y)
{
    llfi_list l = {0, NULL};
    if (llfi_ops[n->op].cls == LLFI_CLASS_VIEW)
        l = llfi_list_at(g, n->attr);
    uint32_t from = 0;
    switch (n->op) {
    case LLF_OP_PERMUTE:
        for (uint32_t i = 0; i < out->rank; i++)
            y[l.at[i]] = x[i];
        return true;
    case LLF_OP_SLICE: return slice(g, n, symbol, in, x, y);
    case LLF_OP_FLIP:
        for (uint32_t i = 0; i < in->rank; i++)
            y[i] = listed(l, i) ? in->extent[i] - 1 - x[i] : x[i];
        return true;
    case LLF_OP_EXPAND_DIMS:
        for (uint32_t i = 0; i < out->rank; i++) {
            if (!listed(l, i))
                y[from++] = x[i];
        }
        return true;
    case LLF_OP_SQUEEZE:
        for (uint32_t i = 0; i < in->rank; i++)
            y[i] = listed(l, i) ? 0 : x[from++];
        return true;
    default: broadcast(out, in, x, y); return true; /* broadcast_to and elementwise ops */
    }
}

/* ---- ops that choose */

static llf_status in_extents(const llf_graph *g, llf_id id, uint32_t operand, const int64_t *symbol,
                             llfi_extents *in)
{
    return llfi_extents_of(g, llfi_args(g, llfi_node_at(g, id))[operand], symbol, in);
}

static llf_status choose_concat(const llf_graph *g, llf_id id, const int64_t *symbol, int64_t *x,
                                uint32_t *operand, int64_t *from)
{
    const llfi_node *n = llfi_node_at(g, id);
    llfi_extents in;
    for (*operand = 0; *operand < n->arity; ++*operand) {
        LLF_TRY(in_extents(g, id, *operand, symbol, &in));
        if (x[n->attr] < in.extent[n->attr]) {
            *from = ravel(&in, x);
            return LLF_OK;
        }
        x[n->attr] -= in.extent[n->attr];
    }
    return LLF_E_INTERNAL; /* beyond the last: the shape is wrong */
}

static llf_status choose_pad(const llf_graph *g, llf_id id, const int64_t *symbol, int64_t *x,
                             uint32_t *operand, int64_t *from)
{
    llfi_list l = llfi_list_at(g, llfi_node_at(g, id)->attr);
    llfi_extents in;
    bool inside = true;
    LLF_TRY(in_extents(g, id, 0, symbol, &in));
    for (uint32_t i = 0; i < in.rank; i++) {
        int64_t low = l.at[LLFI_PAD_WORDS * i];
        if (low >= 0 && !llfi_dim_eval(g->dims, (llfi_dim)low, symbol, &low))
            return LLF_E_GUARD;
        x[i] -= low;
        inside &= x[i] >= 0 && x[i] < in.extent[i];
    }
    *operand = !inside;
    *from = inside ? ravel(&in, x) : 0;
    return LLF_OK;
}

static llf_status choose_take(const llf_graph *g, llf_id id, const int64_t *symbol, const int64_t *x,
                              const int64_t *index, uint32_t *operand, int64_t *from)
{
    uint64_t axis = llfi_node_at(g, id)->attr;
    llfi_extents in[2];
    int64_t y[LLFI_RANK];
    LLF_TRY(in_extents(g, id, 0, symbol, &in[0]));
    LLF_TRY(in_extents(g, id, 1, symbol, &in[1]));
    *operand = index == NULL;
    if (!index) {
        *from = ravel(&in[1], x + axis);
        return LLF_OK;
    }
    int64_t k = *index, n = in[0].extent[axis];
    k = k < 0 ? k + n : k;
    k = k >= n ? n - 1 : k;
    k = k < 0 ? 0 : k;
    for (uint32_t i = 0; i < in[0].rank; i++)
        y[i] = i < axis ? x[i] : i == axis ? k : x[i - 1 + in[1].rank];
    *from = ravel(&in[0], y);
    return LLF_OK;
}

llf_status llfi_index_choose(const llf_graph *g, llf_id id, const int64_t *symbol, const llfi_extents *out,
                             int64_t at, const int64_t *index, uint32_t *operand, int64_t *from)
{
    int64_t x[LLFI_RANK] = {0};
    unravel(out, at, x);
    switch (llfi_node_at(g, id)->op) {
    case LLF_OP_CONCAT: return choose_concat(g, id, symbol, x, operand, from);
    case LLF_OP_PAD: return choose_pad(g, id, symbol, x, operand, from);
    case LLF_OP_TAKE: return choose_take(g, id, symbol, x, index, operand, from);
    default: return LLF_E_INTERNAL;
    }
}

int64_t llfi_index_count(const llf_graph *g, llf_id id, const llfi_extents *out, int64_t at)
{
    int64_t x[LLFI_RANK] = {0};
    unravel(out, at, x);
    return x[llfi_list_at(g, llfi_node_at(g, id)->attr).at[LLFI_IOTA_AXIS]];
}

llf_status llfi_index_operand(const llf_graph *g, llf_id id, uint32_t k, const int64_t *symbol,
                              const llfi_extents *out, const llfi_extents *in, int64_t at, int64_t *from)
{
    const llfi_node *n = llfi_node_at(g, id);
    int64_t x[LLFI_RANK] = {0}, y[LLFI_RANK] = {0};
    *from = at; /* reshape keeps the order */
    if (n->op == LLF_OP_RESHAPE)
        return LLF_OK;
    unravel(out, at, x);
    bool ok = map(g, n, symbol, out, in, x, y);
    for (uint32_t i = 0; ok && i < in->rank; i++)
        ok = y[i] >= 0 && y[i] < in->extent[i];
    *from = ravel(in, y);
    if (ok)
        return LLF_OK;
    return llfi_fail_at(g->cx ? &g->cx->diag : NULL, LLF_E_GUARD, llfi_place_of(g, id), llfi_ops[n->op].name,
                        "element %lld is made from one outside operand %u", (long long)at, k + 1);
}

/* ---- count */

llf_status llfi_index_elements(const llf_graph *g, llf_id id, const int64_t *symbol, uint64_t *elements)
{
    llfi_list l = llfi_list_at(g, llfi_node_at(g, id)->attr);
    llfi_dim dim[LLFI_RANK];
    llfi_type t = {.dtype = LLF_BOOL, .rank = l.count - LLFI_COUNT_DIMS, .dim = dim};
    int64_t product = 0;
    for (uint32_t i = 0; i < t.rank; i++)
        dim[i] = (llfi_dim)l.at[LLFI_COUNT_DIMS + i];
    llf_status status = llfi_type_size(g, t, symbol, 1, &product);
    *elements = (uint64_t)product;
    return status == LLF_OK ? LLF_OK
                            : llfi_fail_at(g->cx ? &g->cx->diag : NULL, status, llfi_place_of(g, id), "count",
                                           "count: the shape has no number of elements for these symbols");
}

/* ---- reductions */

/* Elements are numbered row-major over the axes that go. */
static void row_extents(const llf_graph *g, llf_id id, const llfi_extents *in, llfi_extents *row)
{
    uint32_t axes = llfi_reduce_of(g, id).axes;
    *row = (llfi_extents){.elements = 1};
    for (uint32_t i = 0; i < in->rank; i++)
        if (axes >> i & 1)
            row->extent[row->rank++] = in->extent[i];
    for (uint32_t i = 0; i < row->rank; i++)
        if (row->extent[i] == 0)
            row->elements = 0; /* whatever the others multiply to */
    for (uint32_t i = 0; row->elements && i < row->rank; i++)
        row->elements *= row->extent[i];
}

int64_t llfi_index_row(const llf_graph *g, llf_id id, const llfi_extents *in)
{
    llfi_extents row;
    row_extents(g, id, in, &row);
    return row.elements;
}

int64_t llfi_index_reduced(const llf_graph *g, llf_id id, const llfi_extents *out, const llfi_extents *in,
                           int64_t at, int64_t i)
{
    llfi_reduce r = llfi_reduce_of(g, id);
    llfi_extents row;
    int64_t x[LLFI_RANK] = {0}, z[LLFI_RANK] = {0}, y[LLFI_RANK] = {0};
    uint32_t kept = 0, gone = 0;
    row_extents(g, id, in, &row);
    unravel(out, at, x);
    unravel(&row, i, z);
    for (uint32_t k = 0; k < in->rank; k++) {
        bool goes = r.axes >> k & 1;
        y[k] = goes ? z[gone++] : x[kept];
        kept += !goes || r.keepdims;
    }
    return ravel(in, y);
}
