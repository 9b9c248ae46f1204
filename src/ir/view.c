/* view.c: the attribute of a view as the text or a call asks for it, made into the list that the graph keeps:
 * axes counted from the front, the -1 of reshape and the bounds of ranges resolved. What it cannot prove of a
 * range becomes a guard. Shapes are infer_view.c's. */
#include "ir/ir.h"

typedef struct {
    llf_graph *g;
    llf_op op;
    llf_id x;
    llfi_place place;
} asked;

static const char *name(const asked *a)
{
    return llfi_op_said(a->g, a->op);
}

static llfi_shown operand(const asked *a)
{
    return llfi_show_type(a->g, llfi_node_at(a->g, a->x)->type);
}

#define FAIL(a, ...) llfi_fail_at(&(a)->g->cx->diag, LLF_E_TYPE, (a)->place, name(a), __VA_ARGS__)

static llf_status no_dim(const asked *a, uint32_t axis)
{
    if (llfi_dims_nomem(a->g->dims))
        return llfi_nomem(&a->g->cx->diag);
    return llfi_fail_at(&a->g->cx->diag, LLF_E_LIMIT, a->place, name(a),
                        "%s: axis %u: an extent is over 2^63-1, or has more terms than the limits allow",
                        name(a), axis);
}

static llf_status keep(const asked *a, uint32_t count, const int64_t *word, uint64_t *attr)
{
    uint32_t at = llfi_list_make(a->g, count, word);
    *attr = at;
    return at == UINT32_MAX ? llfi_nomem(&a->g->cx->diag) : LLF_OK;
}

/* ---- axes */

static llf_status make_axes(const asked *a, const llfi_ask *ask, uint64_t *attr)
{
    uint32_t rank = llfi_type_of(a->g, a->x).rank;
    int64_t axis[LLFI_RANK];
    if (a->op == LLF_OP_EXPAND_DIMS) {
        rank += ask->count;
        if (rank > LLFI_RANK)
            return llfi_fail_at(&a->g->cx->diag, LLF_E_LIMIT, a->place, name(a),
                                "%s: %u axes more than %s are over the rank limit of %u", name(a), ask->count,
                                operand(a).text, LLFI_RANK);
    }
    for (uint32_t i = 0; i < ask->count; i++) {
        int64_t k = ask->axis[i];
        if (k < -(int64_t)rank || k >= rank)
            return FAIL(a, "%s: axis %lld is out of range: %s gives %u axes", name(a), (long long)k,
                        operand(a).text, rank);
        k = k < 0 ? k + rank : k;
        uint32_t at = i;
        for (; a->op != LLF_OP_PERMUTE && at > 0 && axis[at - 1] > k; at--)
            axis[at] = axis[at - 1];
        axis[at] = k;
    }
    return keep(a, ask->count, axis, attr);
}

/* ---- shapes */

/* The extent that -1 at `hole` stands for: the elements divided by the other extents. */
static llf_status fill_hole(const asked *a, const llfi_ask *ask, uint32_t hole, llfi_dim *out)
{
    llfi_dims *d = a->g->dims;
    llfi_type t = llfi_type_of(a->g, a->x);
    llfi_dim left[LLFI_RANK], all = llfi_dim_const(d, 1), rest = all;
    uint32_t lefts = t.rank;
    int64_t n, k;
    if (t.rank)
        memcpy(left, t.dim, t.rank * sizeof *left);
    for (uint32_t i = 0; i < ask->count; i++) {
        uint32_t j = 0;
        if (i == hole)
            continue;
        if (llfi_dim_is_const(d, ask->dim[i], &k) && k == 0)
            return FAIL(a, "%s: axis %u: -1 says nothing beside axis %u, whose extent is 0", name(a), hole,
                        i);
        while (j < lefts && left[j] != ask->dim[i])
            j++;
        if (j < lefts)
            left[j] = left[--lefts]; /* stands on both sides */
        else
            rest = llfi_dim_mul(d, rest, ask->dim[i]);
    }
    for (uint32_t j = 0; j < lefts; j++)
        all = llfi_dim_mul(d, all, left[j]);
    if (all == LLFI_DIM_NONE || rest == LLFI_DIM_NONE)
        return no_dim(a, hole);
    if (llfi_dim_is_const(d, all, &n) && llfi_dim_is_const(d, rest, &k) && n % k != 0)
        return FAIL(a, "%s: axis %u: -1 cannot stand for %lld / %lld: %s does not divide%s", name(a), hole,
                    (long long)n, (long long)k, operand(a).text,
                    lefts < t.rank ? " (apart from equal extents)" : "");
    llfi_dim over;
    if (!llfi_dim_divide(d, all, rest, out, &over) || over != llfi_dim_const(d, 0))
        *out = llfi_dim_floordiv(d, all, rest);
    return *out == LLFI_DIM_NONE ? no_dim(a, hole) : LLF_OK;
}

static llf_status make_shape(const asked *a, const llfi_ask *ask, uint64_t *attr)
{
    int64_t word[LLFI_RANK];
    uint32_t hole = LLFI_RANK;
    for (uint32_t i = 0; i < ask->count; i++) {
        word[i] = ask->dim[i];
        if (ask->dim[i] != LLFI_DIM_NONE)
            continue;
        if (a->op != LLF_OP_RESHAPE)
            return FAIL(a, "%s: axis %u: -1 is for reshape alone", name(a), i);
        if (hole != LLFI_RANK)
            return FAIL(a, "%s: axes %u and %u are both -1", name(a), hole, i);
        hole = i;
    }
    if (hole != LLFI_RANK) {
        llfi_dim filled;
        LLF_TRY(fill_hole(a, ask, hole, &filled));
        word[hole] = filled;
    }
    return keep(a, ask->count, word, attr);
}

/* ---- ranges */

static llf_status bad_bound(const asked *a, uint32_t axis, const char *which, int64_t value, int64_t extent)
{
    return FAIL(a, "%s: axis %u: %s %lld is out of range for extent %lld", name(a), axis, which,
                (long long)value, (long long)extent);
}

/* A bound of an axis of constant extent; `*value` has the default. */
static llf_status const_bound(const asked *a, uint32_t axis, const char *which, llfi_bound b, int64_t extent,
                              int64_t least, int64_t most, int64_t *value)
{
    int64_t v;
    if (b.back) {
        if (b.back + least > extent)
            return bad_bound(a, axis, which, -b.back, extent);
        *value = extent - b.back;
    } else if (b.dim != LLFI_DIM_NONE && llfi_dim_is_const(a->g->dims, b.dim, &v)) {
        if (v > most)
            return bad_bound(a, axis, which, v, extent);
        *value = v;
    }
    return LLF_OK;
}

static llf_status const_range(const asked *a, uint32_t axis, const llfi_range_ask *ask, int64_t extent,
                              llfi_range *r)
{
    bool up = ask->step > 0;
    int64_t start = up ? 0 : extent - 1, stop = up ? extent : -1, length = 0;
    /* An empty axis has no last element: backwards it starts before the first one. */
    LLF_TRY(
        const_bound(a, axis, "start", ask->start, extent, 0, up || !extent ? extent : extent - 1, &start));
    LLF_TRY(const_bound(a, axis, "stop", ask->stop, extent, up ? 0 : -1, extent, &stop));
    if (up && stop > start)
        length = 1 + (stop - start - 1) / ask->step;
    if (!up && start > stop && extent)
        length = 1 + (start - stop - 1) / -ask->step;
    r->start = llfi_dim_const(a->g->dims, length ? start : 0);
    r->length = llfi_dim_const(a->g->dims, length);
    r->step = length > 1 ? ask->step : 1;
    r->stop = LLFI_STOP_NONE;
    return r->start == LLFI_DIM_NONE || r->length == LLFI_DIM_NONE ? no_dim(a, axis) : LLF_OK;
}

/* `low` <= `high`, by proof or by guard. */
static llf_status at_most(const asked *a, uint32_t axis, llfi_dim low, llfi_dim high)
{
    int64_t c;
    if ((llfi_dim_is_const(a->g->dims, low, &c) && c == 0) || llfi_dim_never_above(a->g->dims, low, high))
        return LLF_OK;
    return llfi_guard_add(a->g, &(llfi_guard){.a = low,
                                              .b = high,
                                              .at_most = true,
                                              .axis = (uint8_t)axis,
                                              .op = (uint16_t)a->op,
                                              .line = a->place.line,
                                              .col = a->place.col});
}

/* No tensor goes as far as that: `amount` elements along the axis. A step may be larger than the axis. */
static llf_status reach(const asked *a, uint32_t axis, const char *which, int64_t amount)
{
    uint32_t type = llfi_node_at(a->g, a->x)->type, worst;
    bool is_step = strcmp(which, "step") == 0;
    int64_t unit = is_step ? 1 : llfi_dtypes[llfi_type_at(a->g, type).dtype].bytes;
    if (llfi_type_fits(a->g, type, axis, amount < 0 ? -amount : amount, unit, &worst))
        return LLF_OK;
    return llfi_fail_at(&a->g->cx->diag, LLF_E_LIMIT, a->place, name(a),
                        "%s: axis %u: %s %lld is beyond every %s: it would have more than 2^63-1 %s", name(a),
                        axis, which, (long long)amount, operand(a).text, is_step ? "elements" : "bytes");
}

/* A bound where extents or bounds are symbols: within 0 .. extent. */
static llf_status symbolic_bound(const asked *a, uint32_t axis, const char *which, llfi_bound b,
                                 llfi_dim extent, llfi_dim *out)
{
    LLF_TRY(reach(a, axis, which, b.back ? -b.back : llfi_dim_least(a->g->dims, b.dim)));
    if (b.back) {
        llfi_dim back = llfi_dim_const(a->g->dims, b.back);
        if (back == LLFI_DIM_NONE)
            return no_dim(a, axis);
        LLF_TRY(at_most(a, axis, back, extent));
        *out = llfi_dim_sub(a->g->dims, extent, back);
    } else {
        LLF_TRY(at_most(a, axis, b.dim, extent));
        *out = b.dim;
    }
    return *out == LLFI_DIM_NONE ? no_dim(a, axis) : LLF_OK;
}

static llfi_dim ceil_div(llfi_dims *d, llfi_dim n, int64_t k)
{
    return llfi_dim_floordiv(d, llfi_dim_add(d, n, llfi_dim_const(d, k - 1)), llfi_dim_const(d, k));
}

/* Forwards: start .. stop, both within the extent; nothing where stop <= start. */
static llf_status symbolic_up(const asked *a, uint32_t axis, const llfi_range_ask *ask, llfi_dim extent,
                              bool has_start, bool has_stop, llfi_range *r)
{
    llfi_dims *d = a->g->dims;
    llfi_dim start = llfi_dim_const(d, 0), stop = extent;
    int64_t zero;
    if (start == LLFI_DIM_NONE)
        return no_dim(a, axis);
    if (has_start)
        LLF_TRY(symbolic_bound(a, axis, "start", ask->start, extent, &start));
    if (has_stop)
        LLF_TRY(symbolic_bound(a, axis, "stop", ask->stop, extent, &stop));
    has_stop = stop != extent;
    bool from_zero = llfi_dim_is_const(d, start, &zero) && zero == 0;
    llfi_dim n = stop;
    if (start == stop)
        n = llfi_dim_const(d, 0);
    else if (!from_zero) /* to the end the start's guard suffices */
        n = llfi_dim_sub(d, has_stop ? llfi_dim_max(d, start, stop) : stop, start);
    r->start = start;
    r->step = ask->step;
    r->length = ask->step == 1 ? n : ceil_div(d, n, ask->step);
    r->stop = has_stop ? (int64_t)stop : LLFI_STOP_NONE;
    return r->length == LLFI_DIM_NONE ? no_dim(a, axis) : LLF_OK;
}

/* Backwards to the beginning. */
static llf_status symbolic_down(const asked *a, uint32_t axis, const llfi_range_ask *ask, llfi_dim extent,
                                bool has_start, bool has_stop, llfi_range *r)
{
    llfi_dims *d = a->g->dims;
    llfi_dim one = llfi_dim_const(d, 1);
    if (has_stop)
        return FAIL(a, "%s: axis %u: a negative step on extent %s goes to the beginning: write no stop",
                    name(a), axis, llfi_show_dim(a->g, extent).text);
    r->step = ask->step;
    r->stop = has_start ? LLFI_STOP_NONE : LLFI_STOP_WHOLE;
    if (!has_start) { /* an empty axis has no last element */
        r->start = llfi_dim_sub(d, llfi_dim_max(d, extent, one), one);
        r->length = ceil_div(d, extent, -ask->step);
    } else {
        if (ask->start.back) {
            LLF_TRY(symbolic_bound(a, axis, "start", ask->start, extent, &r->start));
        } else {
            r->start = ask->start.dim;
            LLF_TRY(reach(a, axis, "start", llfi_dim_least(d, r->start)));
            llfi_dim behind = llfi_dim_add(d, r->start, one);
            if (behind == LLFI_DIM_NONE)
                return no_dim(a, axis);
            LLF_TRY(at_most(a, axis, behind, extent));
        }
        r->length = llfi_dim_floordiv(d, r->start, llfi_dim_const(d, -ask->step));
        r->length = llfi_dim_add(d, r->length, one);
    }
    return r->start == LLFI_DIM_NONE || r->length == LLFI_DIM_NONE ? no_dim(a, axis) : LLF_OK;
}

static bool is_symbolic(const asked *a, llfi_bound b)
{
    int64_t v;
    return !b.back && b.dim != LLFI_DIM_NONE && !llfi_dim_is_const(a->g->dims, b.dim, &v);
}

static llf_status make_range(const asked *a, uint32_t axis, const llfi_range_ask *ask, llfi_range *r)
{
    llfi_dim extent = llfi_type_of(a->g, a->x).dim[axis];
    int64_t known, n;
    if (ask->step == 0 || ask->step == INT64_MIN)
        return FAIL(a, "%s: axis %u: the step is %lld", name(a), axis, (long long)ask->step);
    bool constant = llfi_dim_is_const(a->g->dims, extent, &known);
    if (constant && !is_symbolic(a, ask->start) && !is_symbolic(a, ask->stop))
        return const_range(a, axis, ask, known, r);
    LLF_TRY(reach(a, axis, "step", ask->step));
    bool start = ask->start.back || ask->start.dim != LLFI_DIM_NONE;
    bool stop = ask->stop.back || ask->stop.dim != LLFI_DIM_NONE;
    if (ask->step > 0)
        LLF_TRY(symbolic_up(a, axis, ask, extent, start, stop, r));
    else
        LLF_TRY(symbolic_down(a, axis, ask, extent, start, stop, r));
    if (!llfi_dim_is_const(a->g->dims, r->length, &n) || n > 1)
        return LLF_OK;
    r->step = 1;
    if (n == 0)
        r->start = r->length;
    llfi_dim behind = llfi_dim_add(a->g->dims, r->start, r->length);
    r->stop = constant && llfi_dim_is_const(a->g->dims, r->start, &n) ? LLFI_STOP_NONE : (int64_t)behind;
    return behind == LLFI_DIM_NONE ? no_dim(a, axis) : LLF_OK;
}

static llf_status make_ranges(const asked *a, const llfi_ask *ask, uint64_t *attr)
{
    int64_t word[LLFI_RANK * LLFI_RANGE_WORDS];
    uint32_t rank = llfi_type_of(a->g, a->x).rank;
    if (ask->count != rank)
        return FAIL(a, "%s: %u ranges given, but %s has %u axes", name(a), ask->count, operand(a).text, rank);
    for (uint32_t i = 0; i < rank; i++) {
        llfi_range r;
        LLF_TRY(make_range(a, i, &ask->range[i], &r));
        int64_t *w = word + i * LLFI_RANGE_WORDS;
        w[0] = r.start;
        w[1] = r.length;
        w[2] = r.step;
        w[3] = r.stop;
    }
    return keep(a, rank * LLFI_RANGE_WORDS, word, attr);
}

llf_status llfi_view_attr(llf_graph *g, llf_op op, llf_id x, const llfi_ask *ask, llfi_place at,
                          uint64_t *attr)
{
    asked a = {g, op, x, at};
    switch (llfi_attr_kind_of(llfi_ops[op].attr)) {
    case LLFI_ATTR_KIND_INTS: return make_axes(&a, ask, attr);
    case LLFI_ATTR_KIND_DIMS: return make_shape(&a, ask, attr);
    case LLFI_ATTR_KIND_RANGES: return make_ranges(&a, ask, attr);
    default:
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, at, llfi_ops[op].name, "%s: no view", llfi_ops[op].name);
    }
}
