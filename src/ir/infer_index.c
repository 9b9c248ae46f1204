/* infer_index.c: shapes of INDEX ops, of iota and count, from what index.c resolved. Must not change the
 * graph but for guards and dims. Linear in the operands. */
#include "ir/ir.h"

typedef struct {
    const llf_graph *g;
    llf_op op;
    uint32_t count;
    const llf_id *arg;
    uint64_t attr;
    llfi_place place;
    llf_graph *guards;
    llfi_shape *s;
} index_op;

static const char *name(const index_op *x)
{
    return llfi_op_said(x->g, x->op);
}

static llfi_shown show(const index_op *x, uint32_t operand)
{
    return llfi_show_type(x->g, llfi_node_at(x->g, x->arg[operand])->type);
}

#define FAIL(x, ...) llfi_fail_at(&(x)->g->cx->diag, LLF_E_TYPE, (x)->place, name(x), __VA_ARGS__)

static llf_status guard(const index_op *x, uint32_t axis, bool at_most, llfi_dim a, llfi_dim b)
{
    if (!x->guards)
        return LLF_OK;
    return llfi_guard_add(x->guards, &(llfi_guard){.a = a,
                                                   .b = b,
                                                   .at_most = at_most,
                                                   .axis = (uint8_t)axis,
                                                   .op = (uint16_t)x->op,
                                                   .line = x->place.line,
                                                   .col = x->place.col});
}

static llf_status no_dim(const index_op *x, uint32_t axis, const char *what)
{
    if (llfi_dims_nomem(x->g->dims))
        return llfi_nomem(&x->g->cx->diag);
    return llfi_fail_at(&x->g->cx->diag, LLF_E_LIMIT, x->place, name(x),
                        "%s: axis %u: %s that is over 2^63-1, or has more terms than the limits allow",
                        name(x), axis, what);
}

/* ---- concat */

/* Extent of operand `i` along another axis than the one that grows. */
static llf_status join(const index_op *x, uint32_t axis, uint32_t i, llfi_dim dim, uint32_t *from)
{
    llfi_dim *have = &x->s->dim[axis];
    int64_t a, b;
    bool is_a = llfi_dim_is_const(x->g->dims, *have, &a), is_b = llfi_dim_is_const(x->g->dims, dim, &b);
    if (*have == dim)
        return LLF_OK;
    if (is_a && is_b)
        return FAIL(x, "%s: axis %u: %lld and %lld differ: operand %u is %s, operand %u is %s", name(x), axis,
                    (long long)a, (long long)b, *from + 1, show(x, *from).text, i + 1, show(x, i).text);
    LLF_TRY(guard(x, axis, false, *have, dim));
    if (is_b) {
        *have = dim;
        *from = i;
    }
    return LLF_OK;
}

/* The operands' extents along the axis, pairwise, so that a sum of many symbols is made few times. */
static llf_status sum(const index_op *x, uint32_t axis)
{
    llfi_dim part[32];
    uint32_t parts = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        part[parts++] = llfi_type_of(x->g, x->arg[i]).dim[axis];
        for (uint32_t k = i + 1; !(k & 1); k >>= 1, parts--)
            part[parts - 2] = llfi_dim_add(x->g->dims, part[parts - 2], part[parts - 1]);
    }
    for (; parts > 1; parts--)
        part[parts - 2] = llfi_dim_add(x->g->dims, part[parts - 2], part[parts - 1]);
    x->s->dim[axis] = part[0];
    if (part[0] != LLFI_DIM_NONE)
        return LLF_OK;
    char what[400];
    snprintf(what, sizeof what,
             "the extents of %u operands, of which the first is %s and the last is %s, make a sum", x->count,
             show(x, 0).text, show(x, x->count - 1).text);
    return no_dim(x, axis, what);
}

static llf_status concat(const index_op *x)
{
    llfi_type first = llfi_type_of(x->g, x->arg[0]);
    uint32_t from[LLFI_RANK] = {0}, axis = (uint32_t)x->attr;
    if (x->attr >= first.rank)
        return FAIL(x, "%s: axis %llu is out of range: operand 1 is %s", name(x), (unsigned long long)x->attr,
                    show(x, 0).text);
    x->s->rank = first.rank;
    memcpy(x->s->dim, first.dim, first.rank * sizeof *first.dim);
    for (uint32_t i = 1; i < x->count; i++) {
        llfi_type t = llfi_type_of(x->g, x->arg[i]);
        if (t.rank != first.rank)
            return FAIL(x, "%s: ranks differ: operand 1 is %s, operand %u is %s", name(x), show(x, 0).text,
                        i + 1, show(x, i).text);
        for (uint32_t k = 0; k < t.rank; k++)
            if (k != axis)
                LLF_TRY(join(x, k, i, t.dim[k], &from[k]));
    }
    return sum(x, axis);
}

/* ---- pad */

static llfi_shown pad_text(const index_op *x, int64_t word)
{
    llfi_shown out;
    if (word >= 0)
        return llfi_show_dim(x->g, (llfi_dim)word);
    snprintf(out.text, sizeof out.text, "%lld", (long long)word);
    return out;
}

static llf_status bad_pads(const index_op *x, llf_status status, uint32_t axis, const int64_t *word,
                           llfi_dim extent, const char *make)
{
    if (llfi_dims_nomem(x->g->dims))
        return llfi_nomem(&x->g->cx->diag);
    return llfi_fail_at(&x->g->cx->diag, status, x->place, name(x),
                        "%s: axis %u: %s elements and the pads %s:%s make %s", name(x), axis,
                        llfi_show_dim(x->g, extent).text, pad_text(x, word[0]).text,
                        pad_text(x, word[1]).text, make);
}

static llf_status pad_axis(const index_op *x, uint32_t axis, const int64_t *word, llfi_dim extent)
{
    static const char over[] = "more than 2^63-1, or have more terms than the limits allow";
    llfi_dims *d = x->g->dims;
    llfi_dim more = extent, *out = &x->s->dim[axis];
    int64_t cut = 0, all;
    for (uint32_t i = 0; i < LLFI_PAD_WORDS; i++) {
        if (word[i] >= 0)
            more = llfi_dim_add(d, more, (llfi_dim)word[i]);
        else if (__builtin_sub_overflow(cut, word[i], &cut))
            return bad_pads(x, LLF_E_LIMIT, axis, word, extent, "fewer than -2^63");
    }
    *out = more;
    if (!cut || more == LLFI_DIM_NONE)
        return more == LLFI_DIM_NONE ? bad_pads(x, LLF_E_LIMIT, axis, word, extent, over) : LLF_OK;
    if (llfi_dim_is_const(d, more, &all)) {
        char made[32];
        snprintf(made, sizeof made, "%lld", (long long)(all - cut));
        if (all < cut)
            return bad_pads(x, LLF_E_TYPE, axis, word, extent, made);
        *out = llfi_dim_const(d, all - cut);
    } else {
        uint32_t type = llfi_node_at(x->g, x->arg[0])->type, worst;
        int64_t added = llfi_dim_least(d, more), unit = llfi_dtypes[x->s->dtype].bytes;
        if (cut > added && !llfi_type_fits(x->g, type, axis, cut - added, unit, &worst))
            return bad_pads(x, LLF_E_LIMIT, axis, word, extent,
                            "less than 0 in every tensor of at most 2^63-1 bytes");
        llfi_dim least = llfi_dim_const(d, cut);
        *out = llfi_dim_sub(d, more, least);
        if (*out != LLFI_DIM_NONE && !llfi_dim_never_above(d, least, more))
            LLF_TRY(guard(x, axis, true, least, more));
    }
    return *out == LLFI_DIM_NONE ? bad_pads(x, LLF_E_LIMIT, axis, word, extent, over) : LLF_OK;
}

static llf_status pad(const index_op *x)
{
    llfi_type t = llfi_type_of(x->g, x->arg[0]);
    llfi_list l = llfi_list_at(x->g, x->attr);
    if (llfi_type_of(x->g, x->arg[1]).rank)
        return FAIL(x, "%s: operand 2 is %s, but must be of rank 0", name(x), show(x, 1).text);
    if (l.count != LLFI_PAD_WORDS * t.rank)
        return FAIL(x, "%s: %u pairs given, but operand 1 is %s", name(x), l.count / LLFI_PAD_WORDS,
                    show(x, 0).text);
    x->s->rank = t.rank;
    for (uint32_t i = 0; i < t.rank; i++) { /* dims may move while sums are made */
        llfi_dim extent = llfi_type_of(x->g, x->arg[0]).dim[i];
        int64_t word[LLFI_PAD_WORDS] = {llfi_list_at(x->g, x->attr).at[LLFI_PAD_WORDS * i],
                                        llfi_list_at(x->g, x->attr).at[LLFI_PAD_WORDS * i + 1]};
        LLF_TRY(pad_axis(x, i, word, extent));
    }
    return LLF_OK;
}

/* ---- take */

/* Where there is an index, there must be an element: least(elements of the indices, 1) <= extent. */
static llf_status not_empty(const index_op *x, uint32_t axis, llfi_type t, llfi_type index)
{
    llfi_dims *d = x->g->dims;
    llfi_dim one = llfi_dim_const(d, 1), wanted = one;
    int64_t n;
    for (uint32_t i = 0; i < index.rank; i++) {
        if (llfi_dim_is_const(d, index.dim[i], &n) && n > 0)
            continue;
        wanted = llfi_dim_min(d, wanted, index.dim[i]);
    }
    if (wanted == LLFI_DIM_NONE)
        return no_dim(x, axis, "the indices have an extent");
    bool sure = llfi_dim_is_const(d, wanted, &n);
    if (sure && n == 0)
        return LLF_OK;
    int64_t extent;
    if (llfi_dim_is_const(d, t.dim[axis], &extent)) {
        if (extent > 0)
            return LLF_OK;
        if (sure)
            return FAIL(x, "%s: axis %u of %s has no element for the indices %s", name(x), axis,
                        show(x, 0).text, show(x, 1).text);
    }
    return llfi_dim_never_above(d, wanted, t.dim[axis]) ? LLF_OK : guard(x, axis, true, wanted, t.dim[axis]);
}

static llf_status take(const index_op *x)
{
    llfi_type t = llfi_type_of(x->g, x->arg[0]), index = llfi_type_of(x->g, x->arg[1]);
    llfi_shape *s = x->s;
    uint32_t axis = (uint32_t)x->attr;
    if (x->attr >= t.rank)
        return FAIL(x, "%s: axis %llu is out of range: operand 1 is %s", name(x), (unsigned long long)x->attr,
                    show(x, 0).text);
    s->rank = t.rank - 1 + index.rank;
    if (s->rank > LLFI_RANK)
        return llfi_fail_at(&x->g->cx->diag, LLF_E_LIMIT, x->place, name(x),
                            "%s: %s at %s is over the rank limit of %u", name(x), show(x, 0).text,
                            show(x, 1).text, LLFI_RANK);
    for (uint32_t i = 0; i < s->rank; i++)
        s->dim[i] = i < axis                ? t.dim[i]
                    : i < axis + index.rank ? index.dim[i - axis]
                                            : t.dim[i - index.rank + 1];
    return not_empty(x, axis, t, index);
}

/* ---- iota */

static llf_status iota(const index_op *x)
{
    llfi_list l = llfi_list_at(x->g, x->attr);
    llfi_shape *s = x->s;
    s->rank = l.count - LLFI_IOTA_DIMS;
    s->dtype = (llf_dtype)l.at[LLFI_IOTA_DTYPE];
    for (uint32_t i = 0; i < s->rank; i++)
        s->dim[i] = (llfi_dim)l.at[LLFI_IOTA_DIMS + i];
    if (!llfi_set_has(llfi_ops[x->op].set, s->dtype))
        return FAIL(x, "%s: dtype is %s, but must be float or integer", name(x), llf_dtype_name(s->dtype));
    if (s->rank > LLFI_RANK || l.at[LLFI_IOTA_AXIS] >= s->rank)
        return FAIL(x, "%s: axis %lld is out of range: the shape has %u axes", name(x),
                    (long long)l.at[LLFI_IOTA_AXIS], s->rank);
    return LLF_OK;
}

/* ---- count */

static llf_status product(const index_op *x)
{
    llfi_list l = llfi_list_at(x->g, x->attr);
    x->s->rank = 0;
    x->s->dtype = (llf_dtype)l.at[LLFI_COUNT_DTYPE];
    int64_t elements = 1, extent;
    for (uint32_t i = LLFI_COUNT_DIMS; i < l.count; i++)
        if (llfi_dim_is_const(x->g->dims, (llfi_dim)l.at[i], &extent) && extent &&
            __builtin_mul_overflow(elements, extent, &elements))
            return no_dim(x, i - LLFI_COUNT_DIMS, "the extents make a product");
    return llfi_set_has(llfi_ops[x->op].set, x->s->dtype)
               ? LLF_OK
               : FAIL(x, "%s: dtype is %s, but must be float or integer", name(x),
                      llf_dtype_name(x->s->dtype));
}

llf_status llfi_infer_index(const llf_graph *g, llf_op op, uint32_t count, const llf_id *arg, uint64_t attr,
                            llfi_place at, llf_graph *guards, llfi_shape *s)
{
    const index_op x = {g, op, count, arg, attr, at, guards, s};
    switch (op) {
    case LLF_OP_CONCAT: return concat(&x);
    case LLF_OP_PAD: return pad(&x);
    case LLF_OP_TAKE: return take(&x);
    case LLF_OP_IOTA: return iota(&x);
    case LLF_OP_COUNT: return product(&x);
    default: return FAIL(&x, "%s: no shape rule", name(&x));
    }
}
