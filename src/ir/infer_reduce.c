/* infer_reduce.c: shapes of reductions, from what reduce.c resolved. Must not change the graph but for guards
 * and dims. */
#include "ir/ir.h"

typedef struct {
    const llf_graph *g;
    llf_op op;
    uint32_t type; /* of the operand */
    llfi_place place;
    llf_graph *guards;
} reduction;

static const char *name(const reduction *r)
{
    return llfi_ops[r->op].name;
}

static llfi_shown operand(const reduction *r)
{
    return llfi_show_type(r->g, r->type);
}

#define FAIL(r, ...) llfi_fail_at(&(r)->g->cx->diag, LLF_E_TYPE, (r)->place, name(r), __VA_ARGS__)

/* `out` may be anything that numbers can be summed in: not bool, and of floats no integer. */
static llf_status result_dtype(const reduction *r, llfi_list l, llf_dtype *out)
{
    bool takes = llfi_ops[r->op].attr == LLFI_ATTR_SUM;
    bool floats = llfi_dtype_is_float(llfi_type_at(r->g, r->type).dtype);
    if (takes != (l.at[LLFI_REDUCE_OUT] != LLFI_REDUCE_NO_OUT))
        return FAIL(r, "%s: out is %s", name(r), takes ? "missing" : "an attribute it does not take");
    if (!takes)
        return LLF_OK;
    *out = (llf_dtype)l.at[LLFI_REDUCE_OUT];
    if (*out != LLF_BOOL && (llfi_dtype_is_float(*out) || !floats))
        return LLF_OK;
    return FAIL(r, "%s: out is %s, but must be %s: operand 1 is %s", name(r), llf_dtype_name(*out),
                floats ? "float" : "float or integer", operand(r).text);
}

/* max, min, argmax and argmin of nothing are no value. */
static bool needs_element(llf_op op)
{
    return op == LLF_OP_MAX || op == LLF_OP_MIN || op == LLF_OP_ARGMAX || op == LLF_OP_ARGMIN;
}

static llf_status not_empty(const reduction *r, uint32_t axis, llfi_dim extent)
{
    llfi_dims *d = r->g->dims;
    llfi_dim one = llfi_dim_const(d, 1);
    int64_t n;
    if (one == LLFI_DIM_NONE)
        return llfi_nomem(&r->g->cx->diag);
    if (llfi_dim_is_const(d, extent, &n))
        return n > 0 ? LLF_OK
                     : FAIL(r, "%s: axis %u of %s has no element to take the %s of", name(r), axis,
                            operand(r).text, name(r));
    if (!r->guards || llfi_dim_never_above(d, one, extent))
        return LLF_OK;
    return llfi_guard_add(r->guards, &(llfi_guard){.a = one,
                                                   .b = extent,
                                                   .at_most = true,
                                                   .axis = (uint8_t)axis,
                                                   .op = (uint16_t)r->op,
                                                   .line = r->place.line,
                                                   .col = r->place.col});
}

llf_status llfi_infer_reduce(const llf_graph *g, llf_op op, llf_id x, uint64_t attr, llfi_place at,
                             llf_graph *guards, llfi_shape *s)
{
    const reduction r = {g, op, llfi_node_at(g, x)->type, at, guards};
    llfi_list l = llfi_list_at(g, attr);
    llfi_type t = llfi_type_at(g, r.type);
    uint32_t next = LLFI_REDUCE_AXES;
    LLF_TRY(result_dtype(&r, l, &s->dtype));
    s->rank = 0;
    for (uint32_t k = 0; k < t.rank; k++) {
        if (next == l.count || l.at[next] != k) {
            s->dim[s->rank++] = t.dim[k];
            continue;
        }
        next++;
        if (needs_element(op))
            LLF_TRY(not_empty(&r, k, t.dim[k]));
        if (!l.at[LLFI_REDUCE_KEEPDIMS])
            continue;
        s->dim[s->rank] = llfi_dim_const(g->dims, 1);
        if (s->dim[s->rank++] == LLFI_DIM_NONE)
            return llfi_nomem(&g->cx->diag);
    }
    if (next < l.count)
        return FAIL(&r, "%s: axis %lld is out of range: operand 1 is %s", name(&r), (long long)l.at[next],
                    operand(&r).text);
    return LLF_OK;
}
