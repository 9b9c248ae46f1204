/* variant_make.c: a kernel for inputs with strides (none: with wide indices), up to its schedule: strides
 * become symbols that no text can have, two for each, since extents are never negative. And back: the values
 * of a schedule's extents. */
#include "runtime/variant.h"

#include <inttypes.h>

#define SYMBOLS (2u * LLFI_RANK) /* of one input */

/* Symbols for the first `inputs` inputs of any variant: they are numbered the same in all, and kernels that
 * are equal but for their inputs stay equal. Above the graph's own, input by input, axis by axis: pos, neg.
 */
static bool make_symbols(llfi_variants *vs, const llf_program *p, uint32_t inputs)
{
    uint32_t own = llfi_dims_symbols(p->graph->dims);
    if (!vs->dims && !(vs->dims = llfi_dims_clone(p->graph->dims, &vs->cx.mem)))
        return false;
    for (uint32_t have; (have = llfi_dims_symbols(vs->dims) - own) < inputs * SYMBOLS;) {
        char name[32];
        int n = snprintf(name, sizeof name, "%" PRIu32 ".%" PRIu32 "%c", have / SYMBOLS, have % SYMBOLS / 2,
                         have % 2 ? '-' : '+');
        if (llfi_dims_symbol(vs->dims, name, (size_t)n) == UINT32_MAX)
            return false;
    }
    return true;
}

static bool make_stride(llfi_dims *d, uint32_t symbol, bool dropped, bool one, llfi_stride *out)
{
    bool known = dropped || one;
    out->pos = known ? llfi_dim_const(d, one) : llfi_dim_sym(d, symbol);
    out->neg = known ? llfi_dim_const(d, 0) : llfi_dim_sym(d, symbol + 1);
    return out->pos != LLFI_DIM_NONE && out->neg != LLFI_DIM_NONE;
}

static llf_status make_strides(llfi_variants *vs, const llf_program *p, const llfi_variant *v,
                               llfi_strides *out)
{
    const llf_graph *g = p->graph;
    llf_id *node = llfi_arena_alloc(&vs->arena, (v->inputs + 1) * sizeof *node);
    llfi_stride(*stride)[LLFI_RANK] = llfi_arena_alloc(&vs->arena, (v->inputs + 1) * sizeof *stride);
    if (!node || !stride || !make_symbols(vs, p, v->inputs))
        return LLF_E_NOMEM;
    for (uint32_t i = 0; i < v->inputs; i++) {
        node[i] = g->inputs.at[v->input[i]];
        llfi_type t = llfi_type_of(g, node[i]);
        for (uint32_t axis = 0; axis < t.rank; axis++) {
            int64_t extent;
            uint32_t symbol = llfi_dims_symbols(g->dims) + i * SYMBOLS + 2 * axis;
            bool dropped = llfi_dim_is_const(g->dims, t.dim[axis], &extent) && extent <= 1;
            if (!make_stride(vs->dims, symbol, dropped, !dropped && v->unit[i] == (int)axis,
                             &stride[i][axis]))
                return LLF_E_NOMEM;
        }
    }
    *out = (llfi_strides){v->inputs, node, (const llfi_stride(*)[LLFI_RANK])stride};
    return LLF_OK;
}

/* The graph is the program's but for its dims, which others read meanwhile, and the strides. */
llf_status llfi_variant_make(llfi_variants *vs, const llf_program *p, llfi_variant *v)
{
    const llfi_kernel *kernel = &p->plan.kernel[v->kernel];
    llfi_strides *strides = llfi_arena_alloc(&vs->arena, sizeof *strides);
    llf_graph *graph = llfi_arena_alloc(&vs->arena, sizeof *graph);
    if (!strides || !graph)
        return LLF_E_NOMEM;
    LLF_TRY(make_strides(vs, p, v, strides));
    *graph = *p->graph;
    graph->dims = vs->dims;
    graph->strides = strides;
    v->graph = graph;
    LLF_TRY(llfi_schedule_make(NULL, graph, &p->plan, v->kernel, &p->target, &vs->arena, &v->schedule));
    v->module.first = v->kernel;
    v->module.hash = llfi_kernel_hash(graph, v->schedule.demands, kernel, &v->schedule, &p->target);
    llfi_kernel_name(graph, kernel, v->schedule.skeleton, v->module.hash, v->module.name,
                     sizeof v->module.name);
    return LLF_OK;
}

/* ---- values */

/* Of a variant's own symbols. `zero`: as if every stride were 0. */
static void fill_strides(const llf_execution *e, const llfi_variant *v, bool zero, int64_t *symbol)
{
    for (uint32_t i = 0; i < v->inputs; i++) {
        const llf_tensor *t = &e->bind[v->input[i]].tensor;
        int64_t stride[LLF_MAX_RANK];
        llfi_stride_of(t, stride);
        for (uint32_t a = 0; a < t->rank; a++) {
            symbol[i * SYMBOLS + 2 * a] = !zero && stride[a] > 0 ? stride[a] : 0;
            symbol[i * SYMBOLS + 2 * a + 1] = !zero && stride[a] < 0 ? -stride[a] : 0;
        }
    }
}

static bool evaluate(const llfi_schedule *s, const llfi_dims *dims, const int64_t *symbol, int64_t *extent)
{
    for (uint32_t i = 0; i < s->dims; i++)
        if (!llfi_dim_eval(dims, s->dim[i], symbol, &extent[i]))
            return false;
    return true;
}

/* `symbol` has room for the strides behind the graph's own. */
static llf_status evaluate_kernel(llf_execution *e, uint32_t k, const llfi_dims *dims, int64_t *symbol)
{
    const llf_program *p = e->loaded->program;
    const llfi_variant *v = e->variant[k];
    const char *name = p->module[p->kernel[k].module].name;
    uint32_t own = llfi_dims_symbols(p->graph->dims);
    int64_t *extent = e->extents + e->extent0[k];
    if (v)
        fill_strides(e, v, false, symbol + own);
    if (evaluate(e->schedule[k], v ? dims : p->graph->dims, symbol, extent))
        return LLF_OK;
    if (v)
        fill_strides(e, v, true, symbol + own);
    if (!v || !evaluate(e->schedule[k], dims, symbol, extent)) /* the strides are not at fault */
        return llfi_fail(&e->diag, LLF_E_GUARD,
                         "kernel %s: an extent cannot be computed from the inputs' shapes", name);
    char input[300];
    uint32_t b = v->input[0];
    for (uint32_t i = 0; i < v->inputs && !e->bind[b].strided; i++)
        b = v->input[i];
    return llfi_fail(&e->diag, LLF_E_LIMIT, "%s: kernel %s computes offsets beyond 2^63 from its strides",
                     llfi_prepare_name(e, b, input, sizeof input), name);
}

llf_status llfi_variant_extents(llf_execution *e)
{
    const llf_program *p = e->loaded->program;
    llfi_variants *vs = e->loaded->variants;
    size_t own = llfi_dims_symbols(p->graph->dims), most = 0;
    for (uint32_t k = 0; k < p->plan.kernels; k++)
        if (e->variant[k] && e->variant[k]->inputs > most)
            most = e->variant[k]->inputs;
    size_t bytes = (own + (most + 1) * SYMBOLS) * sizeof(int64_t);
    int64_t *symbol = llfi_alloc_zero(&e->mem, bytes);
    if (!symbol)
        return llfi_nomem(&e->diag);
    memcpy(symbol, e->symbol, own * sizeof *symbol);
    llf_status status = LLF_OK;
    pthread_mutex_lock(&vs->lock); /* others may add to the dims */
    for (uint32_t k = 0; status == LLF_OK && k < p->plan.kernels; k++)
        status = evaluate_kernel(e, k, vs->dims, symbol);
    pthread_mutex_unlock(&vs->lock);
    llfi_free(&e->mem, symbol, bytes);
    return status;
}
