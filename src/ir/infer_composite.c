/* infer_composite.c: shapes of composites with several attributes, from what settings.c resolved. They are
 * those that the composite's list gives, but a message names the composite. Must not change the graph but for
 * guards and dims. */
#include "ir/ir.h"

typedef struct {
    const llf_graph *g;
    llf_op op;
    uint32_t count;
    const llf_id *arg;
    llfi_settings set;
    llfi_place place;
    llf_graph *guards;
    llfi_shape *s;
} composite;

static const char *name(const composite *c)
{
    return llfi_ops[c->op].name;
}

static llfi_shown show(const composite *c, uint32_t operand)
{
    return llfi_show_type(c->g, llfi_node_at(c->g, c->arg[operand])->type);
}

#define FAIL(c, ...) llfi_fail_at(&(c)->g->cx->diag, LLF_E_TYPE, (c)->place, name(c), __VA_ARGS__)

static llf_status check_axis(const composite *c, uint32_t axis)
{
    if (axis < llfi_type_of(c->g, c->arg[0]).rank)
        return LLF_OK;
    return FAIL(c, "%s: axis %u is out of range: operand 1 is %s", name(c), axis, show(c, 0).text);
}

static llf_status check_axes(const composite *c)
{
    for (uint32_t k = 0; k < LLFI_RANK; k++)
        if (c->set.axes >> k & 1)
            LLF_TRY(check_axis(c, k));
    return LLF_OK;
}

static llf_status guard(const composite *c, uint32_t axis, bool at_most, llfi_dim a, llfi_dim b)
{
    if (!c->guards)
        return LLF_OK;
    return llfi_guard_add(c->guards, &(llfi_guard){.a = a,
                                                   .b = b,
                                                   .at_most = at_most,
                                                   .axis = (uint8_t)axis,
                                                   .op = (uint16_t)c->op,
                                                   .line = c->place.line,
                                                   .col = c->place.col});
}

/* Two extents that must be equal: the constant, else the first, becomes that of the result. */
static llf_status equal(const composite *c, uint32_t axis, llfi_dim *have, uint32_t operand, llfi_dim dim)
{
    int64_t x, y;
    bool is_x = llfi_dim_is_const(c->g->dims, *have, &x), is_y = llfi_dim_is_const(c->g->dims, dim, &y);
    if (*have == dim)
        return LLF_OK;
    /* an extent of 1 beside another would stretch */
    if ((is_x && is_y) || (is_x && x == 1) || (is_y && y == 1))
        return FAIL(c, "%s: axis %u of operand 1, %s, is not operand %u, %s", name(c), axis, show(c, 0).text,
                    operand + 1, show(c, operand).text);
    LLF_TRY(guard(c, axis, false, *have, dim));
    *have = is_y ? dim : *have;
    return LLF_OK;
}

/* The shape of the first operand, which the others broadcast to. */
static llf_status same(const composite *c)
{
    llfi_type x = llfi_type_of(c->g, c->arg[0]);
    int64_t one;
    LLF_TRY(llfi_infer_broadcast(c->g, c->op, c->count, c->arg, c->place, c->guards, c->s));
    uint32_t wide = c->s->rank - x.rank;
    for (uint32_t k = 0; wide == 0 && k < x.rank; k++)
        if (c->s->dim[k] != x.dim[k] && llfi_dim_is_const(c->g->dims, x.dim[k], &one) && one == 1)
            wide++;
    if (!wide)
        return LLF_OK;
    uint32_t k = c->count == 2 ? 1 : 2;
    if (c->count > 2 && llfi_type_of(c->g, c->arg[1]).rank == c->s->rank)
        k = 1;
    return FAIL(c, "%s: operand %u, %s, does not broadcast to operand 1, %s", name(c), k + 1, show(c, k).text,
                show(c, 0).text);
}

/* Without the axes, or with extents of 1 there. */
static llf_status reduced(const composite *c)
{
    llfi_type x = llfi_type_of(c->g, c->arg[0]);
    llfi_dim one = llfi_dim_const(c->g->dims, 1);
    if (one == LLFI_DIM_NONE)
        return llfi_nomem(&c->g->cx->diag);
    c->s->rank = 0;
    for (uint32_t k = 0; k < x.rank; k++) {
        bool gone = c->set.axes >> k & 1;
        if (!gone || c->set.keepdims)
            c->s->dim[c->s->rank++] = gone ? one : x.dim[k];
    }
    return LLF_OK;
}

/* Operands from the second on have one value for each channel. */
static llf_status batch(const composite *c)
{
    llfi_type x = llfi_type_of(c->g, c->arg[0]);
    uint32_t axis = c->set.axis;
    LLF_TRY(check_axis(c, axis));
    c->s->rank = x.rank;
    memcpy(c->s->dim, x.dim, x.rank * sizeof *x.dim);
    for (uint32_t i = 1; i < c->count; i++) {
        llfi_type p = llfi_type_of(c->g, c->arg[i]);
        if (p.rank != 1)
            return FAIL(c, "%s: operand %u is %s, but must have one axis, that of the channels", name(c),
                        i + 1, show(c, i).text);
        LLF_TRY(equal(c, axis, &c->s->dim[axis], i, p.dim[0]));
    }
    return LLF_OK;
}

/* A label for each point of the other axes; a class where there is a label. */
static llf_status labels(const composite *c)
{
    llfi_type x = llfi_type_of(c->g, c->arg[0]), t = llfi_type_of(c->g, c->arg[1]);
    uint32_t axis = c->set.axis;
    llfi_dim one = llfi_dim_const(c->g->dims, 1);
    int64_t classes;
    LLF_TRY(check_axis(c, axis));
    if (one == LLFI_DIM_NONE)
        return llfi_nomem(&c->g->cx->diag);
    if (t.rank + 1 != x.rank)
        return FAIL(c, "%s: operand 2 is %s, but must have the axes of operand 1, %s, without axis %u",
                    name(c), show(c, 1).text, show(c, 0).text, axis);
    c->s->rank = t.rank;
    for (uint32_t k = 0; k < t.rank; k++) {
        c->s->dim[k] = x.dim[k + (k >= axis)];
        LLF_TRY(equal(c, k + (k >= axis), &c->s->dim[k], 1, t.dim[k]));
    }
    if (!llfi_dim_is_const(c->g->dims, x.dim[axis], &classes))
        return llfi_dim_never_above(c->g->dims, one, x.dim[axis]) ? LLF_OK
                                                                  : guard(c, axis, true, one, x.dim[axis]);
    return classes > 0 ? LLF_OK : FAIL(c, "%s: axis %u of %s has no class", name(c), axis, show(c, 0).text);
}

static llf_status out_dtype(const composite *c)
{
    if (c->set.has_out != (strchr(llfi_ops[c->op].sig, ':')[1] == 'o'))
        return FAIL(c, "%s: out is %s", name(c),
                    c->set.has_out ? "an attribute it does not take" : "missing");
    if (!c->set.has_out)
        return LLF_OK;
    c->s->dtype = c->set.out;
    return llfi_dtype_is_float(c->set.out)
               ? LLF_OK
               : FAIL(c, "%s: out is %s, but must be float", name(c), llf_dtype_name(c->set.out));
}

llf_status llfi_infer_composite(const llf_graph *g, llf_op op, uint32_t count, const llf_id *arg,
                                uint64_t attr, llfi_place at, llf_graph *guards, llfi_shape *s)
{
    const composite c = {g, op, count, arg, llfi_settings_of(g, attr), at, guards, s};
    LLF_TRY(check_axes(&c));
    LLF_TRY(out_dtype(&c));
    switch (llfi_ops[op].attr) {
    case LLFI_ATTR_MEAN:
    case LLFI_ATTR_VAR: return reduced(&c);
    case LLFI_ATTR_BATCH:
    case LLFI_ATTR_BATCH_TRAIN: return batch(&c);
    case LLFI_ATTR_CLASS_LOSS: LLF_TRY(labels(&c)); break;
    case LLFI_ATTR_LOSS: LLF_TRY(llfi_infer_broadcast(g, op, count, arg, at, guards, s)); break;
    default: return same(&c);
    }
    if (c.set.reduction != LLF_REDUCTION_NONE)
        s->rank = 0;
    return LLF_OK;
}

/* The running statistic in the same place, as long as the result has channels. */
void llfi_infer_composite_result(const llf_graph *g, llf_id of, uint64_t which, llfi_shape *s)
{
    const llfi_node *n = llfi_node_at(g, of);
    s->dtype = llfi_dtype_of(g, llfi_args(g, n)[which]);
    s->dim[0] = s->dim[llfi_settings_of(g, n->attr).axis];
    s->rank = 1;
}
