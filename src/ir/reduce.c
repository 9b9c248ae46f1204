/* reduce.c: the attribute of a reduction as the text or a call asks for it, made into the list that the graph
 * keeps: axes counted from the front and sorted, the default dtype of the result; and that list read. Shapes
 * are infer_reduce.c's. */
#include "ir/ir.h"

llf_dtype llfi_reduce_default(llf_dtype in)
{
    return in == LLF_BOOL ? LLF_I64 : in; /* bools are counted */
}

static bool takes_out(llf_op op)
{
    return llfi_ops[op].attr == LLFI_ATTR_SUM;
}

llf_status llfi_reduce_axes(llf_graph *g, llf_op op, uint32_t type, const llfi_ask *ask, llfi_place at,
                            uint32_t *axes)
{
    const char *name = llfi_ops[op].name;
    uint32_t rank = llfi_type_at(g, type).rank;
    *axes = ask->all ? (1u << rank) - 1 : 0;
    for (uint32_t i = 0; i < ask->count && !ask->all; i++) {
        int64_t k = ask->axis[i];
        if (k < -(int64_t)rank || k >= rank)
            return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, name,
                                "%s: axis %lld is out of range: operand 1 is %s", name, (long long)k,
                                llfi_show_type(g, type).text);
        k = k < 0 ? k + rank : k;
        if (*axes >> k & 1)
            return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, name,
                                "%s: axis %lld stands twice in axes: operand 1 is %s", name, (long long)k,
                                llfi_show_type(g, type).text);
        *axes |= 1u << k;
    }
    return LLF_OK;
}

llf_status llfi_reduce_attr(llf_graph *g, llf_op op, llf_id x, const llfi_ask *ask, llfi_place at,
                            uint64_t *attr)
{
    const char *name = llfi_ops[op].name;
    if (x == LLF_NONE && g->poisoned != LLF_OK)
        return g->poisoned;
    if (x >= g->nodes.count)
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, at, name, "%s: operand 1 is no value of this graph",
                            name);
    uint32_t type = llfi_node_at(g, x)->type, axes, words = LLFI_REDUCE_AXES;
    int64_t word[LLFI_REDUCE_AXES + LLFI_RANK];
    LLF_TRY(llfi_reduce_axes(g, op, type, ask, at, &axes));
    llf_dtype out = ask->has_dtype ? ask->dtype : llfi_reduce_default(llfi_type_at(g, type).dtype);
    word[LLFI_REDUCE_KEEPDIMS] = ask->keepdims;
    word[LLFI_REDUCE_OUT] = takes_out(op) ? (int64_t)out : LLFI_REDUCE_NO_OUT;
    for (uint32_t k = 0; k < LLFI_RANK; k++)
        if (axes >> k & 1)
            word[words++] = k;
    uint32_t list = llfi_list_make(g, words, word);
    *attr = list;
    return list == UINT32_MAX ? llfi_nomem(&g->cx->diag) : LLF_OK;
}

/* What a sum is kept in. 16-bit floats are summed in f32. */
static llf_dtype accumulator(llf_dtype in, llf_dtype out)
{
    if (llfi_dtype_is_float(in) || llfi_dtype_is_float(out))
        return in == LLF_F64 || out == LLF_F64 ? LLF_F64 : LLF_F32;
    return in == LLF_I64 || out == LLF_I64 ? LLF_I64 : LLF_I32;
}

llfi_reduce llfi_reduce_of(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    assert(llfi_ops[n->op].cls == LLFI_CLASS_REDUCE);
    llfi_list l = llfi_list_at(g, n->attr);
    llfi_reduce r = {.x = n->arg[0],
                     .keepdims = l.at[LLFI_REDUCE_KEEPDIMS] != 0,
                     .in = llfi_dtype_of(g, n->arg[0]),
                     .out = llfi_dtype_of(g, id)};
    for (uint32_t i = LLFI_REDUCE_AXES; i < l.count; i++)
        r.axes |= 1u << l.at[i];
    bool truth = llfi_ops[n->op].sig[2] == 'b'; /* any, all */
    if (llfi_op_results(&llfi_ops[n->op]) > 1) {
        r.acc = r.out;
        return r;
    }
    r.acc = takes_out((llf_op)n->op) ? accumulator(r.in, r.out) : truth ? LLF_BOOL : r.in;
    return r;
}
