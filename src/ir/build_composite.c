/* build_composite.c: the public builders of composites with several attributes: arguments of a call as an
 * llfi_ask. Must not judge shapes: settings.c and infer_composite.c do. */
#include "ir/float.h"
#include "ir/ir.h"

static const llfi_place nowhere = {NULL, 0, 0};

static bool alive(const llf_graph *g)
{
    return g && g->poisoned == LLF_OK;
}

static llf_status fail(llf_graph *g, llf_status code, llf_op op, const char *what)
{
    return llfi_fail_at(&g->cx->diag, code, nowhere, llfi_ops[op].name, "%s: %s", llfi_ops[op].name, what);
}

/* Those that are not LLF_ABSENT; none may be behind one that is. */
static llf_status operands(llf_graph *g, llf_op op, uint32_t most, const llf_id *arg, uint32_t *count)
{
    *count = 0;
    while (*count < most && arg[*count] != LLF_ABSENT)
        ++*count;
    for (uint32_t i = *count; i < most; i++)
        if (arg[i] != LLF_ABSENT)
            return fail(g, LLF_E_ARG, op, "a bias without a weight");
    return LLF_OK;
}

static llf_status axes_of(llf_graph *g, llf_op op, uint32_t count, const int64_t *axes, llfi_ask *ask)
{
    ask->all = count == LLF_ALL_AXES;
    ask->count = ask->all ? 0 : count;
    if (ask->count > LLFI_RANK)
        return fail(g, LLF_E_LIMIT, op, "more axes than the rank limit");
    if (ask->count && !axes)
        return fail(g, LLF_E_ARG, op, "the list is NULL");
    if (ask->count)
        memcpy(ask->axis, axes, ask->count * sizeof *axes);
    return LLF_OK;
}

static llf_id finish(llf_graph *g, llf_op op, uint32_t most, const llf_id *arg, const llfi_ask *ask)
{
    uint64_t attr = 0;
    uint32_t count;
    llf_status status = operands(g, op, most, arg, &count);
    if (status == LLF_OK && ask->has_dtype && (uint32_t)ask->dtype >= LLF_DTYPES)
        status = fail(g, LLF_E_ARG, op, "no such dtype");
    if (status == LLF_OK && ask->reduction > LLF_REDUCTION_NONE)
        status = fail(g, LLF_E_ARG, op, "no such reduction");
    if (status == LLF_OK)
        status = llfi_settings_attr(g, op, count, arg, ask, nowhere, &attr);
    llf_id id = LLF_NONE;
    if (status == LLF_OK)
        id = llfi_build_n(g, op, count, arg, attr, UINT32_MAX, nowhere);
    return id == LLF_NONE ? llfi_build_failed(g, status == LLF_OK ? g->poisoned : status) : id;
}

static llf_id with_axes(llf_graph *g, llf_op op, uint32_t most, const llf_id *arg, uint32_t count,
                        const int64_t *axes, llfi_ask *ask)
{
    llf_status status = axes_of(g, op, count, axes, ask);
    return status == LLF_OK ? finish(g, op, most, arg, ask) : llfi_build_failed(g, status);
}

static uint64_t bits(double x)
{
    return llfi_bits_from_f64(LLF_F64, x);
}

/* ---- reductions */

llf_id llf_mean(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, bool keepdims)
{
    return alive(g) ? with_axes(g, LLF_OP_MEAN, 1, &x, count, axes, &(llfi_ask){.keepdims = keepdims})
                    : LLF_NONE;
}

llf_id llf_mean_as(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, bool keepdims, llf_dtype out)
{
    llfi_ask ask = {.keepdims = keepdims, .has_dtype = true, .dtype = out};
    return alive(g) ? with_axes(g, LLF_OP_MEAN, 1, &x, count, axes, &ask) : LLF_NONE;
}

llf_id llf_logsumexp(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, bool keepdims)
{
    llfi_ask ask = {.keepdims = keepdims};
    return alive(g) ? with_axes(g, LLF_OP_LOGSUMEXP, 1, &x, count, axes, &ask) : LLF_NONE;
}

llf_id llf_var(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, bool keepdims, int64_t correction)
{
    llfi_ask ask = {.keepdims = keepdims, .correction = correction};
    return alive(g) ? with_axes(g, LLF_OP_VAR, 1, &x, count, axes, &ask) : LLF_NONE;
}

llf_id llf_std(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, bool keepdims, int64_t correction)
{
    llfi_ask ask = {.keepdims = keepdims, .correction = correction};
    return alive(g) ? with_axes(g, LLF_OP_STD, 1, &x, count, axes, &ask) : LLF_NONE;
}

/* ---- rows */

llf_id llf_softmax(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes)
{
    return alive(g) ? with_axes(g, LLF_OP_SOFTMAX, 1, &x, count, axes, &(llfi_ask){.all = false}) : LLF_NONE;
}

llf_id llf_log_softmax(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes)
{
    return alive(g) ? with_axes(g, LLF_OP_LOG_SOFTMAX, 1, &x, count, axes, &(llfi_ask){.all = false})
                    : LLF_NONE;
}

llf_id llf_l2_normalize(llf_graph *g, llf_id x, uint32_t count, const int64_t *axes, double eps)
{
    llfi_ask ask = {.eps = bits(eps)};
    return alive(g) ? with_axes(g, LLF_OP_L2_NORMALIZE, 1, &x, count, axes, &ask) : LLF_NONE;
}

llf_id llf_layer_norm(llf_graph *g, llf_id x, llf_id weight, llf_id bias, uint32_t count, const int64_t *axes,
                      double eps)
{
    llfi_ask ask = {.eps = bits(eps)};
    const llf_id arg[] = {x, weight, bias};
    return alive(g) ? with_axes(g, LLF_OP_LAYER_NORM, 3, arg, count, axes, &ask) : LLF_NONE;
}

llf_id llf_rms_norm(llf_graph *g, llf_id x, llf_id weight, uint32_t count, const int64_t *axes, double eps)
{
    llfi_ask ask = {.eps = bits(eps)};
    const llf_id arg[] = {x, weight};
    return alive(g) ? with_axes(g, LLF_OP_RMS_NORM, 2, arg, count, axes, &ask) : LLF_NONE;
}

/* ---- channels */

llf_id llf_batch_norm(llf_graph *g, llf_id x, llf_id mean, llf_id var, llf_id weight, llf_id bias,
                      int64_t axis, double eps)
{
    llfi_ask ask = {.along = axis, .eps = bits(eps)};
    const llf_id arg[] = {x, mean, var, weight, bias};
    return alive(g) ? finish(g, LLF_OP_BATCH_NORM, 5, arg, &ask) : LLF_NONE;
}

llf_status llf_batch_norm_train(llf_graph *g, llf_id x, llf_id mean, llf_id var, llf_id weight, llf_id bias,
                                int64_t axis, double eps, double momentum, llf_id out[3])
{
    llfi_ask ask = {.along = axis, .eps = bits(eps), .momentum = bits(momentum)};
    const llf_id arg[] = {x, mean, var, weight, bias};
    if (!g)
        return LLF_E_ARG;
    if (out)
        out[0] = out[1] = out[2] = LLF_NONE;
    if (g->poisoned == LLF_OK && !out)
        llfi_poison(g, fail(g, LLF_E_ARG, LLF_OP_BATCH_NORM_TRAIN, "the results are NULL"));
    llf_id id = alive(g) ? finish(g, LLF_OP_BATCH_NORM_TRAIN, 5, arg, &ask) : LLF_NONE;
    for (uint32_t k = 0; k < 3 && id != LLF_NONE; k++)
        out[k] = id + k;
    return g->poisoned;
}

/* ---- losses */

llf_id llf_cross_entropy(llf_graph *g, llf_id x, llf_id labels, int64_t axis, llf_reduction reduction)
{
    llfi_ask ask = {.along = axis, .reduction = (uint32_t)reduction};
    const llf_id arg[] = {x, labels};
    return alive(g) ? finish(g, LLF_OP_CROSS_ENTROPY, 2, arg, &ask) : LLF_NONE;
}

llf_id llf_cross_entropy_as(llf_graph *g, llf_id x, llf_id labels, int64_t axis, llf_reduction reduction,
                            llf_dtype out)
{
    llfi_ask ask = {.along = axis, .reduction = (uint32_t)reduction, .has_dtype = true, .dtype = out};
    const llf_id arg[] = {x, labels};
    return alive(g) ? finish(g, LLF_OP_CROSS_ENTROPY, 2, arg, &ask) : LLF_NONE;
}

llf_id llf_mse(llf_graph *g, llf_id a, llf_id b, llf_reduction reduction)
{
    llfi_ask ask = {.reduction = (uint32_t)reduction};
    return alive(g) ? finish(g, LLF_OP_MSE, 2, (const llf_id[]){a, b}, &ask) : LLF_NONE;
}
