/* index.c: the attribute of an INDEX op, iota or count as the text or a call asks for it, made into what the
 * graph keeps: axes counted from the front, pads as dims or cut numbers. Shapes are infer_index.c's. */
#include "ir/ir.h"

typedef struct {
    llf_graph *g;
    llf_op op;
    uint32_t count;
    const llf_id *arg;
    llfi_place place;
} asked;

static const char *name(const asked *a)
{
    return llfi_op_said(a->g, a->op);
}

#define FAIL(a, ...) llfi_fail_at(&(a)->g->cx->diag, LLF_E_TYPE, (a)->place, name(a), __VA_ARGS__)

static llf_status check_operands(const asked *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->arg[i] == LLF_NONE && a->g->poisoned != LLF_OK)
            return a->g->poisoned;
        if (a->arg[i] >= a->g->nodes.count)
            return llfi_fail_at(&a->g->cx->diag, LLF_E_ARG, a->place, name(a),
                                "%s: operand %u is no value of this graph", name(a), i + 1);
    }
    return LLF_OK;
}

static llf_status keep(const asked *a, uint32_t count, const int64_t *word, uint64_t *attr)
{
    uint32_t at = llfi_list_make(a->g, count, word);
    *attr = at;
    return at == UINT32_MAX ? llfi_nomem(&a->g->cx->diag) : LLF_OK;
}

static llf_status make_axis(const asked *a, int64_t axis, uint64_t *attr)
{
    uint32_t type = llfi_node_at(a->g, a->arg[0])->type, rank = llfi_type_at(a->g, type).rank;
    if (axis < -(int64_t)rank || axis >= rank)
        return FAIL(a, "%s: axis %lld is out of range: operand 1 is %s", name(a), (long long)axis,
                    llfi_show_type(a->g, type).text);
    *attr = (uint64_t)(axis < 0 ? axis + rank : axis);
    return LLF_OK;
}

/* A bound from a text or a call: nothing is 0, "-k" cuts k. */
static llf_status pad_word(const asked *a, llfi_bound b, int64_t *word)
{
    llfi_dim d = b.dim == LLFI_DIM_NONE && !b.back ? llfi_dim_const(a->g->dims, 0) : b.dim;
    *word = b.back ? -b.back : (int64_t)d;
    return b.back || d != LLFI_DIM_NONE ? LLF_OK : llfi_nomem(&a->g->cx->diag);
}

static llf_status make_pads(const asked *a, const llfi_ask *ask, uint64_t *attr)
{
    int64_t word[LLFI_RANK * LLFI_PAD_WORDS];
    uint32_t type = llfi_node_at(a->g, a->arg[0])->type;
    if (ask->count != llfi_type_at(a->g, type).rank)
        return FAIL(a, "%s: %u pairs given, but operand 1 is %s", name(a), ask->count,
                    llfi_show_type(a->g, type).text);
    for (uint32_t i = 0; i < ask->count; i++) {
        const llfi_range_ask *r = &ask->range[i];
        if (r->step != 1)
            return FAIL(a, "%s: axis %u: low:high takes no step", name(a), i);
        LLF_TRY(pad_word(a, r->start, &word[LLFI_PAD_WORDS * i]));
        LLF_TRY(pad_word(a, r->stop, &word[LLFI_PAD_WORDS * i + 1]));
    }
    return keep(a, LLFI_PAD_WORDS * ask->count, word, attr);
}

static llf_status make_iota(const asked *a, const llfi_ask *ask, uint64_t *attr)
{
    int64_t word[LLFI_IOTA_DIMS + LLFI_RANK], axis = ask->along;
    if (axis < -(int64_t)ask->count || axis >= ask->count)
        return FAIL(a, "%s: axis %lld is out of range: the shape has %u axes", name(a), (long long)axis,
                    ask->count);
    word[LLFI_IOTA_DTYPE] = ask->dtype;
    word[LLFI_IOTA_AXIS] = axis < 0 ? axis + ask->count : axis;
    for (uint32_t i = 0; i < ask->count; i++) {
        if (ask->dim[i] == LLFI_DIM_NONE)
            return FAIL(a, "%s: axis %u: -1 is for reshape alone", name(a), i);
        word[LLFI_IOTA_DIMS + i] = ask->dim[i];
    }
    return keep(a, LLFI_IOTA_DIMS + ask->count, word, attr);
}

static llf_status make_count(const asked *a, const llfi_ask *ask, uint64_t *attr)
{
    int64_t word[LLFI_COUNT_DIMS + LLFI_RANK];
    word[LLFI_COUNT_DTYPE] = ask->dtype;
    for (uint32_t i = 0; i < ask->count; i++) {
        if (ask->dim[i] == LLFI_DIM_NONE)
            return FAIL(a, "%s: axis %u: -1 is for reshape alone", name(a), i);
        word[LLFI_COUNT_DIMS + i] = ask->dim[i];
    }
    return keep(a, LLFI_COUNT_DIMS + ask->count, word, attr);
}

llf_status llfi_index_attr(llf_graph *g, llf_op op, uint32_t count, const llf_id *arg, const llfi_ask *ask,
                           llfi_place at, uint64_t *attr)
{
    asked a = {g, op, count, arg, at};
    LLF_TRY(check_operands(&a));
    switch (llfi_attr_kind_of(llfi_ops[op].attr)) {
    case LLFI_ATTR_KIND_INT: return make_axis(&a, ask->along, attr);
    case LLFI_ATTR_KIND_PADS: return make_pads(&a, ask, attr);
    case LLFI_ATTR_KIND_IOTA: return make_iota(&a, ask, attr);
    case LLFI_ATTR_KIND_COUNT: return make_count(&a, ask, attr);
    default:
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, at, llfi_ops[op].name, "%s: no index op",
                            llfi_ops[op].name);
    }
}
