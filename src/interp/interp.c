/* interp.c: whole graphs and single elements by the rows of eval.c. Nodes stand in topological order, so both
 * walk the array once; neither recurses. It must not simplify, share or reorder anything. */
#include "interp/interp.h"
#include "ir/float.h"

static llfi_diag *diag_of(const llf_graph *g)
{
    return g->cx ? &g->cx->diag : NULL;
}

/* Number of elements of a node for the given symbols; rank 0: 1. */
static llf_status count(const llf_graph *g, llf_id id, const int64_t *symbol, int64_t *elements)
{
    llf_status status = llfi_type_size(g, llfi_type_of(g, id), symbol, 1, elements);
    if (status == LLF_OK)
        return LLF_OK;
    return llfi_fail_at(diag_of(g), status, llfi_place_of(g, id), llfi_ops[llfi_node_at(g, id)->op].name,
                        status == LLF_E_GUARD ? "an extent of the result has no value for these symbols"
                                              : "the number of elements is over 2^63");
}

static llf_status primitive(const llf_graph *g, llf_id id)
{
    llf_op op = (llf_op)llfi_node_at(g, id)->op;
    if (llfi_ops[op].cls == LLFI_CLASS_COMPOSITE)
        return llfi_fail_at(diag_of(g), LLF_E_ORDER, llfi_place_of(g, id), llfi_ops[op].name,
                            "the interpreter knows primitives only: run the decompose pass first");
    return LLF_OK;
}

/* One operation on all elements. Operands of rank 0 stand for every element. */
static llf_status apply(const llf_graph *g, llf_id id, const int64_t *symbol, int64_t elements, void **value)
{
    const llfi_node *node = llfi_node_at(g, id);
    llf_dtype from = llfi_eval_from(g, id), to = llfi_dtype_of(g, id);
    const char *operand[3] = {0};
    size_t step[3] = {0};
    llf_dtype dtype[3] = {to, to, to};

    for (uint32_t i = 0; i < node->arity; i++) {
        llfi_type type = llfi_type_of(g, node->arg[i]);
        int64_t have;
        LLF_TRY(count(g, node->arg[i], symbol, &have));
        if (type.rank && have != elements)
            return llfi_fail_at(diag_of(g), LLF_E_GUARD, llfi_place_of(g, id), llfi_ops[node->op].name,
                                "operand %u has %lld elements, the result %lld", i, (long long)have,
                                (long long)elements);
        operand[i] = value[node->arg[i]];
        dtype[i] = type.dtype;
        step[i] = type.rank ? llf_dtype_size(type.dtype) : 0;
    }
    for (int64_t at = 0; at < elements; at++) {
        uint64_t arg[3] = {0};
        for (uint32_t i = 0; i < node->arity; i++)
            arg[i] = llfi_bits_load(dtype[i], operand[i] + (size_t)at * step[i]);
        llfi_bits_store(to, (char *)value[id] + (size_t)at * llf_dtype_size(to),
                        llfi_eval(node->op, from, to, arg));
    }
    return LLF_OK;
}

/* The buffer of a node, zeroed. */
static llf_status make(const llf_graph *g, llf_id id, const int64_t *symbol, llfi_arena *arena,
                       int64_t *elements, void **value)
{
    size_t bytes;
    LLF_TRY(count(g, id, symbol, elements));
    if (__builtin_mul_overflow((size_t)*elements, llf_dtype_size(llfi_dtype_of(g, id)), &bytes))
        return llfi_nomem(diag_of(g));
    value[id] = llfi_arena_alloc(arena, bytes ? bytes : 1);
    return value[id] ? LLF_OK : llfi_nomem(diag_of(g));
}

llf_status llfi_interp(const llf_graph *g, const int64_t *symbol, const void *const *data, llfi_arena *arena,
                       void **value)
{
    int64_t elements;
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        LLF_TRY(make(g, id, symbol, arena, &elements, value));
        if (elements)
            memcpy(value[id], data[i], (size_t)elements * llf_dtype_size(llfi_dtype_of(g, id)));
    }
    for (llf_id id = 0; id < g->nodes.count; id++) {
        const llfi_node *node = llfi_node_at(g, id);
        if (node->op == LLF_OP_INPUT)
            continue;
        LLF_TRY(primitive(g, id));
        LLF_TRY(make(g, id, symbol, arena, &elements, value));
        if (node->op == LLF_OP_CONST)
            llfi_bits_store(llfi_dtype_of(g, id), value[id], node->attr);
        else
            LLF_TRY(apply(g, id, symbol, elements, value));
    }
    return LLF_OK;
}

/* Marks what the wanted nodes need: users stand after operands, so one walk down the ids reaches everything.
 */
static llf_status mark(const llf_graph *g, bool *need, llf_id last)
{
    for (llf_id id = last + 1; id-- > 0;) {
        if (!need[id])
            continue;
        const llfi_node *node = llfi_node_at(g, id);
        LLF_TRY(primitive(g, id));
        for (uint32_t i = 0; i < node->arity; i++)
            need[node->arg[i]] = true;
    }
    return LLF_OK;
}

static void element(const llf_graph *g, const void *const *data, const bool *need, llf_id last, int64_t at,
                    uint64_t *bits)
{
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        llfi_type type = llfi_type_of(g, id);
        if (id <= last && need[id])
            bits[id] = llfi_bits_load(type.dtype, (const char *)data[i] + (type.rank ? (size_t)at : 0) *
                                                                              llf_dtype_size(type.dtype));
    }
    for (llf_id id = 0; id <= last; id++) {
        const llfi_node *node = llfi_node_at(g, id);
        if (!need[id] || node->op == LLF_OP_INPUT)
            continue;
        uint64_t arg[3] = {0};
        for (uint32_t i = 0; i < node->arity; i++)
            arg[i] = bits[node->arg[i]];
        bits[id] = node->op == LLF_OP_CONST
                       ? node->attr
                       : llfi_eval(node->op, llfi_eval_from(g, id), llfi_dtype_of(g, id), arg);
    }
}

llf_status llfi_interp_at(const llf_graph *g, const int64_t *symbol, const void *const *data,
                          llfi_arena *arena, const llf_id *ids, uint32_t ids_count, int64_t at,
                          uint64_t *bits)
{
    llf_id last = 0;
    for (uint32_t i = 0; i < ids_count; i++) {
        int64_t elements;
        LLF_TRY(count(g, ids[i], symbol, &elements));
        if (llfi_type_of(g, ids[i]).rank && (at < 0 || at >= elements))
            return llfi_fail(diag_of(g), LLF_E_ARG, "element %lld of a value of %lld", (long long)at,
                             (long long)elements);
        last = ids[i] > last ? ids[i] : last;
    }
    if (ids_count == 0)
        return LLF_OK;
    /* Straight from the hooks and given back, so that sampling many elements does not grow the arena. */
    size_t nodes = (size_t)last + 1;
    bool *need = llfi_alloc_zero(arena->mem, nodes * sizeof *need);
    uint64_t *all = llfi_alloc(arena->mem, nodes * sizeof *all);
    llf_status status = need && all ? LLF_OK : llfi_nomem(diag_of(g));
    for (uint32_t i = 0; !status && i < ids_count; i++)
        need[ids[i]] = true;
    if (!status)
        status = mark(g, need, last);
    if (!status) {
        element(g, data, need, last, at, all);
        for (uint32_t i = 0; i < ids_count; i++)
            bits[i] = all[ids[i]];
    }
    llfi_free(arena->mem, need, nodes * sizeof *need);
    llfi_free(arena->mem, all, nodes * sizeof *all);
    return status;
}
