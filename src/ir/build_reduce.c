/* build_reduce.c: the public builders of reductions: arguments of a call as an llfi_ask. Must not judge
 * shapes: reduce.c and infer_reduce.c do. */
#include "ir/ir.h"

static const llfi_place nowhere = {NULL, 0, 0};

static llf_status fill(llf_graph *g, llf_op op, uint32_t count, const int64_t *axes, llfi_ask *ask)
{
    const char *name = llfi_ops[op].name;
    ask->all = count == LLF_ALL_AXES;
    if (ask->all)
        return LLF_OK;
    if (count > LLFI_RANK)
        return llfi_fail_at(&g->cx->diag, LLF_E_LIMIT, nowhere, name,
                            "%s: %u list items are over the rank limit of %u", name, count, LLFI_RANK);
    if (count && !axes)
        return llfi_fail_at(&g->cx->diag, LLF_E_ARG, nowhere, name, "%s: the list is NULL", name);
    ask->count = count;
    if (count)
        memcpy(ask->axis, axes, count * sizeof *axes);
    return LLF_OK;
}

static llf_id reduce(llf_graph *g, llf_op op, llf_id x, uint32_t count, const int64_t *axes, bool keepdims,
                     const llf_dtype *out)
{
    llfi_ask ask = {.keepdims = keepdims, .has_dtype = out != NULL, .dtype = out ? *out : LLF_F32};
    uint64_t attr;
    if (!g || g->poisoned != LLF_OK)
        return LLF_NONE;
    llf_status status = fill(g, op, count, axes, &ask);
    if (status == LLF_OK && (uint32_t)ask.dtype >= LLF_DTYPES)
        status = llfi_fail_at(&g->cx->diag, LLF_E_ARG, nowhere, llfi_ops[op].name, "%s: no dtype %u",
                              llfi_ops[op].name, (unsigned)ask.dtype);
    if (status == LLF_OK)
        status = llfi_reduce_attr(g, op, x, &ask, nowhere, &attr);
    llf_id id = status == LLF_OK ? llfi_build(g, op, &x, attr, UINT32_MAX, nowhere) : LLF_NONE;
    return id == LLF_NONE ? llfi_build_failed(g, status == LLF_OK ? g->poisoned : status) : id;
}

static llf_status several(llf_graph *g, llf_op op, llf_id x, uint32_t count, const int64_t *axes,
                          bool keepdims, llf_id *out)
{
    if (!g)
        return LLF_E_ARG;
    if (out)
        out[0] = out[1] = LLF_NONE;
    if (g->poisoned == LLF_OK && !out)
        llfi_poison(g, llfi_fail_at(&g->cx->diag, LLF_E_ARG, nowhere, llfi_ops[op].name,
                                    "%s: the results are NULL", llfi_ops[op].name));
    llf_id id = reduce(g, op, x, count, axes, keepdims, NULL);
    if (id == LLF_NONE)
        return g->poisoned;
    out[0] = id;
    out[1] = id + 1;
    return LLF_OK;
}

#define BUILDER_REDUCE(id, name)                                                                  \
    llf_id llf_##name(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, bool keepdims) \
    {                                                                                             \
        return reduce(g, LLF_OP_##id, x, count, axes, keepdims, NULL);                            \
    }
#define BUILDER_SUM(id, name)                                                                          \
    BUILDER_REDUCE(id, name)                                                                           \
    llf_id llf_##name##_as(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, bool keepdims, \
                           llf_dtype out)                                                              \
    {                                                                                                  \
        return reduce(g, LLF_OP_##id, x, count, axes, keepdims, &out);                                 \
    }
#define BUILDER_STATS(id, name)                                                                       \
    llf_status llf_##name(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, bool keepdims, \
                          llf_id out[2])                                                              \
    {                                                                                                 \
        return several(g, LLF_OP_##id, x, count, axes, keepdims, out);                                \
    }
#define REDUCE(id, name, arity, sig, set, flags, attr, meaning) BUILDER_##attr(id, name)
#include "llfuse/ops.def"
