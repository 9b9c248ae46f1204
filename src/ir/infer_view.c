/* infer_view.c: shapes of views, from the resolved lists that view.c makes: axes count from the front,
 * reshape has no -1, ranges have start, length and step. Must not change the graph but for guards and dims.
 */
#include "ir/ir.h"

typedef struct {
    const llf_graph *g;
    llf_op op;
    llf_id x;
    llfi_list list;
    uint64_t attr;
    llfi_place place;
    llf_graph *guards;
    llfi_shape *s;
} view;

static const char *name(const view *v)
{
    return llfi_op_said(v->g, v->op);
}

static llfi_shown operand(const view *v)
{
    return llfi_show_type(v->g, llfi_node_at(v->g, v->x)->type);
}

static llfi_shown result(const view *v)
{
    llfi_str s;
    llfi_shown out;
    llfi_str_init(&s, &v->g->cx->mem);
    for (uint32_t i = 0; i < v->list.count; i++) {
        llfi_str_puts(&s, i ? ", " : "");
        llfi_dim_print(v->g->dims, (llfi_dim)v->list.at[i], &s);
    }
    snprintf(out.text, sizeof out.text, "[%.150s]", s.at && !s.failed ? s.at : "");
    llfi_str_free(&s);
    return out;
}

#define FAIL(v, ...) llfi_fail_at(&(v)->g->cx->diag, LLF_E_TYPE, (v)->place, name(v), __VA_ARGS__)

static llf_status guard(const view *v, uint32_t axis, llfi_dim a, llfi_dim b)
{
    if (!v->guards)
        return LLF_OK;
    return llfi_guard_add(v->guards, &(llfi_guard){.a = a,
                                                   .b = b,
                                                   .axis = (uint8_t)axis,
                                                   .op = (uint16_t)v->op,
                                                   .line = v->place.line,
                                                   .col = v->place.col});
}

/* The operand, or with `shape` the result, is beyond the limits. */
static llf_status too_large(const view *v, bool shape)
{
    if (llfi_dims_nomem(v->g->dims))
        return llfi_nomem(&v->g->cx->diag);
    return llfi_fail_at(&v->g->cx->diag, LLF_E_LIMIT, v->place, name(v),
                        "%s: %s has more than 2^63-1 elements, or an extent beyond the limits", name(v),
                        shape ? result(v).text : operand(v).text);
}

/* Axes are in range and none stands twice. */
static llf_status check_axes(const view *v, uint32_t rank)
{
    bool seen[LLFI_RANK] = {false};
    for (uint32_t i = 0; i < v->list.count; i++) {
        int64_t a = v->list.at[i];
        if (a < 0 || a >= rank)
            return FAIL(v, "%s: axis %lld is out of range: %s gives %u axes", name(v), (long long)a,
                        operand(v).text, rank);
        if (seen[a])
            return FAIL(v, "%s: axis %lld stands twice", name(v), (long long)a);
        seen[a] = true;
    }
    return LLF_OK;
}

static llf_status broadcast_to(view *v, llfi_type x)
{
    llfi_shape *s = v->s;
    s->rank = v->list.count;
    for (uint32_t i = 0; i < s->rank; i++)
        s->dim[i] = (llfi_dim)v->list.at[i];
    if (x.rank > s->rank)
        return FAIL(v, "%s: %s has rank %u, over the shape's %u", name(v), operand(v).text, x.rank, s->rank);
    uint32_t shift = s->rank - x.rank;
    for (uint32_t i = 0; i < x.rank; i++) {
        int64_t from, to;
        bool is_from = llfi_dim_is_const(v->g->dims, x.dim[i], &from);
        bool is_to = llfi_dim_is_const(v->g->dims, s->dim[shift + i], &to);
        if (x.dim[i] == s->dim[shift + i] || (is_from && from == 1))
            continue;
        if (is_from && is_to)
            return FAIL(v, "%s: axis %u: %lld does not stretch to %lld: %s to %s", name(v), shift + i,
                        (long long)from, (long long)to, operand(v).text, result(v).text);
        LLF_TRY(guard(v, shift + i, x.dim[i], s->dim[shift + i]));
    }
    return LLF_OK;
}

/* Takes dims that stand on both sides away; the products of what is left must be equal. */
static void cancel(llfi_dim *a, uint32_t *n, llfi_dim *b, uint32_t *m)
{
    for (uint32_t i = 0; i < *n;) {
        uint32_t j = 0;
        while (j < *m && b[j] != a[i])
            j++;
        if (j == *m) {
            i++;
            continue;
        }
        a[i] = a[--*n];
        b[j] = b[--*m];
    }
}

static llfi_dim product(const llf_graph *g, const llfi_dim *dim, uint32_t n)
{
    llfi_dim p = llfi_dim_const(g->dims, 1);
    for (uint32_t i = 0; i < n; i++)
        p = llfi_dim_mul(g->dims, p, dim[i]);
    return p;
}

static bool has_zero(const llf_graph *g, const llfi_dim *dim, uint32_t n)
{
    int64_t c;
    for (uint32_t i = 0; i < n; i++) {
        if (llfi_dim_is_const(g->dims, dim[i], &c) && c == 0)
            return true;
    }
    return false;
}

static llf_status reshape(view *v, llfi_type x)
{
    llfi_shape *s = v->s;
    const llf_graph *g = v->g;
    llfi_dim a[LLFI_RANK], b[LLFI_RANK];
    uint32_t n = x.rank, m = s->rank = v->list.count;
    for (uint32_t i = 0; i < m; i++)
        s->dim[i] = b[i] = (llfi_dim)v->list.at[i];
    if (n)
        memcpy(a, x.dim, n * sizeof *a);
    bool zero_x = has_zero(g, a, n), zero_s = has_zero(g, b, m);
    if (zero_x && zero_s)
        return LLF_OK;
    cancel(a, &n, b, &m);
    llfi_dim p = zero_x ? llfi_dim_const(g->dims, 0) : product(g, a, n);
    llfi_dim q = zero_s ? llfi_dim_const(g->dims, 0) : product(g, b, m);
    if (p == LLFI_DIM_NONE || q == LLFI_DIM_NONE)
        return too_large(v, p != LLFI_DIM_NONE);
    int64_t have, want;
    if (p == q)
        return LLF_OK;
    if (llfi_dim_is_const(g->dims, p, &have) && llfi_dim_is_const(g->dims, q, &want))
        return FAIL(v, "%s: %s does not fit %s: %lld elements against %lld%s", name(v), operand(v).text,
                    result(v).text, (long long)have, (long long)want,
                    n < x.rank ? ", apart from equal extents" : "");
    return guard(v, LLFI_RANK, p, q);
}

static llf_status permute(view *v, llfi_type x)
{
    if (v->list.count != x.rank)
        return FAIL(v, "%s: %u axes given, but %s has %u", name(v), v->list.count, operand(v).text, x.rank);
    LLF_TRY(check_axes(v, x.rank));
    v->s->rank = x.rank;
    for (uint32_t i = 0; i < x.rank; i++)
        v->s->dim[i] = x.dim[v->list.at[i]];
    return LLF_OK;
}

static llf_status slice(view *v, llfi_type x)
{
    if (v->list.count != x.rank * LLFI_RANGE_WORDS)
        return FAIL(v, "%s: %u ranges given, but %s has %u axes", name(v), v->list.count / LLFI_RANGE_WORDS,
                    operand(v).text, x.rank);
    v->s->rank = x.rank;
    for (uint32_t i = 0; i < x.rank; i++) {
        llfi_range r = llfi_range_at(v->g, v->attr, i);
        int64_t extent, start, length, last;
        v->s->dim[i] = r.length;
        if (r.step == 0)
            return FAIL(v, "%s: axis %u: the step is 0", name(v), i);
        if (!llfi_dim_is_const(v->g->dims, x.dim[i], &extent) ||
            !llfi_dim_is_const(v->g->dims, r.start, &start) ||
            !llfi_dim_is_const(v->g->dims, r.length, &length))
            continue; /* view.c has guarded what it could not prove */
        bool in = length == 0 ? start == 0
                              : start < extent && !__builtin_mul_overflow(length - 1, r.step, &last) &&
                                    !__builtin_add_overflow(last, start, &last) && last >= 0 && last < extent;
        if (!in)
            return FAIL(v, "%s: axis %u: %lld elements from %lld by %lld are out of range for extent %lld",
                        name(v), i, (long long)length, (long long)start, (long long)r.step,
                        (long long)extent);
    }
    return LLF_OK;
}

static llf_status flip(view *v, llfi_type x)
{
    LLF_TRY(check_axes(v, x.rank));
    v->s->rank = x.rank;
    if (x.rank)
        memcpy(v->s->dim, x.dim, x.rank * sizeof *x.dim);
    return LLF_OK;
}

static bool listed(const view *v, uint32_t axis)
{
    for (uint32_t i = 0; i < v->list.count; i++) {
        if (v->list.at[i] == axis)
            return true;
    }
    return false;
}

static llf_status expand_dims(view *v, llfi_type x)
{
    uint32_t rank = x.rank + v->list.count;
    if (rank > LLFI_RANK)
        return llfi_fail_at(&v->g->cx->diag, LLF_E_LIMIT, v->place, name(v),
                            "%s: %u axes more than %s are over the rank limit of %u", name(v), v->list.count,
                            operand(v).text, LLFI_RANK);
    LLF_TRY(check_axes(v, rank));
    llfi_dim one = llfi_dim_const(v->g->dims, 1);
    if (one == LLFI_DIM_NONE)
        return too_large(v, false);
    v->s->rank = rank;
    for (uint32_t i = 0, from = 0; i < rank; i++)
        v->s->dim[i] = listed(v, i) ? one : x.dim[from++];
    return LLF_OK;
}

static llf_status squeeze(view *v, llfi_type x)
{
    LLF_TRY(check_axes(v, x.rank));
    llfi_dim one = llfi_dim_const(v->g->dims, 1);
    if (one == LLFI_DIM_NONE)
        return too_large(v, false);
    v->s->rank = 0;
    for (uint32_t i = 0; i < x.rank; i++) {
        int64_t extent;
        if (!listed(v, i)) {
            v->s->dim[v->s->rank++] = x.dim[i];
        } else if (llfi_dim_is_const(v->g->dims, x.dim[i], &extent)) {
            if (extent != 1)
                return FAIL(v, "%s: axis %u of %s has extent %lld, but must have 1", name(v), i,
                            operand(v).text, (long long)extent);
        } else {
            LLF_TRY(guard(v, i, x.dim[i], one));
        }
    }
    return LLF_OK;
}

llf_status llfi_infer_view(const llf_graph *g, llf_op op, llf_id x, uint64_t attr, llfi_place at,
                           llf_graph *guards, llfi_shape *s)
{
    view v = {g, op, x, llfi_list_at(g, attr), attr, at, guards, s};
    llfi_type t = llfi_type_of(g, x);
    switch (op) {
    case LLF_OP_BROADCAST_TO: return broadcast_to(&v, t);
    case LLF_OP_RESHAPE: return reshape(&v, t);
    case LLF_OP_PERMUTE: return permute(&v, t);
    case LLF_OP_SLICE: return slice(&v, t);
    case LLF_OP_FLIP: return flip(&v, t);
    case LLF_OP_EXPAND_DIMS: return expand_dims(&v, t);
    case LLF_OP_SQUEEZE: return squeeze(&v, t);
    default:
        return llfi_fail_at(&g->cx->diag, LLF_E_INTERNAL, at, llfi_ops[op].name,
                            "%s: a view without a shape rule", llfi_ops[op].name);
    }
}
