/* execution.c: one stream's worth of a loaded program: bindings, then run. Everything slow is in prepare.c:
 * llf_run patches arguments and launches, without allocation, lock, compile or synchronisation. */
#include "runtime/program.h"

/* Where each kernel's arguments and extents lie, and what never changes about them. */
static void place_blocks(llf_execution *e)
{
    const llf_program *p = e->loaded->program;
    uint32_t slot = 0, extent = 0, at = 0;
    e->align = 1;
    for (uint32_t k = 0; k < p->plan.kernels; k++) {
        const llfi_schedule *s = e->schedule[k];
        e->slot0[k] = slot;
        e->extent0[k] = extent;
        e->launch[k].extent = e->extents + extent;
        e->launch[k].data = e->data + slot;
        e->launch[k].computed = e->computed + at;
        slot += s->args;
        extent += s->dims;
        at += s->computed;
        if (s->vector_align > e->align)
            e->align = s->vector_align;
    }
    e->slot0[p->plan.kernels] = slot;
    e->extent0[p->plan.kernels] = extent;
    for (uint32_t i = 0; i < slot; i++)
        e->params[i] = &e->slots[i];
}

static void release_blocks(llf_execution *e)
{
    llfi_free(&e->mem, e->slots, e->slot_room * sizeof *e->slots);
    llfi_free(&e->mem, e->params, e->slot_room * sizeof *e->params);
    llfi_free(&e->mem, e->data, e->slot_room * sizeof *e->data);
    llfi_free(&e->mem, e->extents, e->extent_room * sizeof *e->extents);
    llfi_free(&e->mem, e->computed, e->computed_room * sizeof *e->computed);
    e->slots = NULL;
    e->params = NULL;
    e->data = NULL;
    e->extents = NULL;
    e->computed = NULL;
    e->slot_room = e->extent_room = e->computed_room = 0;
}

llf_status llfi_execution_lay_out(llf_execution *e)
{
    size_t slots = 0, extents = 0, computed = 0;
    for (uint32_t k = 0; k < e->loaded->program->plan.kernels; k++) {
        slots += e->schedule[k]->args;
        extents += e->schedule[k]->dims;
        computed += e->schedule[k]->computed;
    }
    if (slots > e->slot_room || extents > e->extent_room || computed > e->computed_room || !e->slots) {
        release_blocks(e);
        e->slot_room = slots;
        e->extent_room = extents;
        e->computed_room = computed;
        if (!(e->slots = llfi_alloc_zero(&e->mem, slots * sizeof *e->slots)) ||
            !(e->params = llfi_alloc_zero(&e->mem, slots * sizeof *e->params)) ||
            !(e->data = llfi_alloc_zero(&e->mem, slots * sizeof *e->data)) ||
            !(e->extents = llfi_alloc_zero(&e->mem, extents * sizeof *e->extents)) ||
            !(e->computed = llfi_alloc_zero(&e->mem, computed * sizeof *e->computed))) {
            release_blocks(e);
            return llfi_nomem(&e->diag);
        }
    }
    place_blocks(e);
    return LLF_OK;
}

/* Sizes of the arrays, for allocation and release alike. */
typedef struct {
    size_t binds, outputs, symbols, nodes, kernels;
} sizes;

static sizes sizes_of(const llf_program *p)
{
    return (sizes){.binds = p->graph->inputs.count + p->graph->outputs.count,
                   .outputs = p->graph->outputs.count,
                   .symbols = llfi_dims_symbols(p->graph->dims),
                   .nodes = p->graph->nodes.count,
                   .kernels = p->plan.kernels};
}

static bool allocate(llf_execution *e)
{
    const sizes n = sizes_of(e->loaded->program);
    const llf_allocator *mem = &e->mem;
    return (e->bind = llfi_alloc_zero(mem, n.binds * sizeof *e->bind)) &&
           (e->span = llfi_alloc_zero(mem, n.binds * sizeof *e->span)) &&
           (e->order = llfi_alloc_zero(mem, n.outputs * sizeof *e->order)) &&
           (e->symbol = llfi_alloc_zero(mem, n.symbols * sizeof *e->symbol)) &&
           (e->buffer = llfi_alloc_zero(mem, n.nodes * sizeof *e->buffer)) &&
           (e->launch = llfi_alloc_zero(mem, n.kernels * sizeof *e->launch)) &&
           (e->schedule = llfi_alloc_zero(mem, n.kernels * sizeof *e->schedule)) &&
           (e->variant = llfi_alloc_zero(mem, n.kernels * sizeof *e->variant)) &&
           (e->code = llfi_alloc_zero(mem, n.kernels * sizeof *e->code)) &&
           (e->slot0 = llfi_alloc_zero(mem, (n.kernels + 1) * sizeof *e->slot0)) &&
           (e->extent0 = llfi_alloc_zero(mem, (n.kernels + 1) * sizeof *e->extent0));
}

static void release_workspace(llf_execution *e)
{
    llf_loaded *l = e->loaded;
    uint64_t token;
    if ((!e->workspace && !e->table && !e->scratch && !e->counter) ||
        l->device->enter(NULL, l, &token) != LLF_OK)
        return;
    if (e->workspace)
        l->device->free(l, e->workspace, e->workspace_bytes);
    if (e->table)
        l->device->free(l, e->table, e->table_bytes);
    llfi_scratch_free(e);
    l->device->leave(l, token);
    e->workspace = e->table = NULL;
}

void llf_execution_destroy(llf_execution *e)
{
    if (!e)
        return;
    const sizes n = sizes_of(e->loaded->program);
    llf_allocator mem = e->mem;
    release_workspace(e);
    llfi_free(&mem, e->bind, n.binds * sizeof *e->bind);
    llfi_free(&mem, e->span, n.binds * sizeof *e->span);
    llfi_free(&mem, e->order, n.outputs * sizeof *e->order);
    llfi_free(&mem, e->symbol, n.symbols * sizeof *e->symbol);
    llfi_free(&mem, e->buffer, n.nodes * sizeof *e->buffer);
    llfi_free(&mem, e->launch, n.kernels * sizeof *e->launch);
    llfi_free(&mem, e->schedule, n.kernels * sizeof *e->schedule);
    llfi_free(&mem, e->variant, n.kernels * sizeof *e->variant);
    llfi_free(&mem, e->code, n.kernels * sizeof *e->code);
    release_blocks(e);
    llfi_free(&mem, e->slot0, (n.kernels + 1) * sizeof *e->slot0);
    llfi_free(&mem, e->extent0, (n.kernels + 1) * sizeof *e->extent0);
    llf_loaded_destroy(e->loaded);
    llfi_free(&mem, e, sizeof *e);
}

llf_status llf_execution_create(llf_context *cx, llf_loaded *l, llf_execution **out)
{
    if (!cx)
        return LLF_E_ARG;
    if (!l || !out)
        return llfi_fail(&cx->diag, LLF_E_ARG, "llf_execution_create: null %s", !l ? "loaded" : "result");
    *out = NULL;
    llf_execution *e = llfi_alloc_zero(&cx->mem, sizeof *e);
    if (!e)
        return llfi_nomem(&cx->diag);
    const llf_program *p = l->program;
    e->mem = cx->mem;
    llfi_loaded_retain(l);
    e->loaded = l;
    e->inputs = (uint32_t)p->graph->inputs.count;
    e->binds = e->inputs + (uint32_t)p->graph->outputs.count;
    (void)llfi_fail(&e->diag, LLF_OK, "%s", "");
    llf_status status = allocate(e) ? llfi_variant_choose(e) : LLF_E_NOMEM;
    if (status != LLF_OK) {
        llf_execution_destroy(e);
        return llfi_nomem(&cx->diag);
    }
    e->stats.kernels = p->plan.kernels;
    e->stats.modules = p->modules;
    e->stats.compile_ms = p->phase.total_ms;
    e->stats.load_ms = l->load_ms;
    *out = e;
    return LLF_OK;
}

static llf_status bind_scalar(llf_execution *e, uint32_t index, const llf_tensor *t, llf_dtype dtype)
{
    char name[300];
    if (!t->data)
        return llfi_fail(&e->diag, LLF_E_ARG,
                         "%s: data is NULL; a scalar is bound by a host pointer to its value",
                         llfi_prepare_name(e, index, name, sizeof name));
    if (t->dtype != dtype || t->rank != 0)
        return llfi_fail(&e->diag, LLF_E_TYPE, "%s: a %s scalar of rank 0 is expected, not %s of rank %u",
                         llfi_prepare_name(e, index, name, sizeof name), llf_dtype_name(dtype),
                         llf_dtype_name(t->dtype), t->rank);
    uint64_t bits = 0;
    memcpy(&bits, t->data, llf_dtype_size(dtype)); /* little-endian hosts alone have these targets */
    e->bind[index].scalar = dtype == LLF_BOOL ? bits != 0 : bits;
    return LLF_OK;
}

llf_status llf_bind(llf_execution *e, uint32_t index, const llf_tensor *t)
{
    if (!e)
        return LLF_E_ARG;
    char name[300];
    if (!t)
        return llfi_fail(&e->diag, LLF_E_ARG, "llf_bind: null tensor");
    if (index >= e->binds)
        return llfi_fail(&e->diag, LLF_E_ARG, "llf_bind: index %u; the program has %u inputs and %u outputs",
                         index, e->inputs, e->binds - e->inputs);
    if ((unsigned)t->dtype >= LLF_DTYPES || t->rank > LLFI_RANK)
        return llfi_fail(&e->diag, LLF_E_ARG, "%s: dtype %d of rank %u is no tensor's",
                         llfi_prepare_name(e, index, name, sizeof name), (int)t->dtype, t->rank);
    const llf_graph *g = e->loaded->program->graph;
    llfi_binding *b = &e->bind[index];
    if (index < e->inputs && llfi_node_at(g, g->inputs.at[index])->scalar)
        LLF_TRY(bind_scalar(e, index, t, llfi_dtype_of(g, g->inputs.at[index])));
    b->tensor = *t;
    b->bound = true;
    e->moved = true;
    return LLF_OK;
}

/* A kernel after another on one stream: the stream, or the host's sequence, is the order that the plan relies
 * on. */
static llf_status launch_all(llf_execution *e, void *stream)
{
    llf_loaded *l = e->loaded;
    const llfi_device *dev = l->device;
    for (uint32_t k = 0; k < l->program->plan.kernels; k++) {
        const llfi_launch *launch = &e->launch[k];
        if (dev->idle(launch))
            continue;
        uint32_t slot = e->slot0[k];
        LLF_TRY(dev->launch(&e->diag, l, e->code[k], launch, e->slots + slot, e->params + slot, stream));
        e->stats.launches++;
    }
    return LLF_OK;
}

llf_status llf_run(llf_execution *e, void *stream)
{
    if (!e)
        return LLF_E_ARG;
    if (!e->prepared)
        return llfi_fail(&e->diag, LLF_E_STATE,
                         "llf_run before llf_prepare: call llf_prepare once everything is bound");
    if (e->moved)
        LLF_TRY(llfi_prepare_moved(e));
    uint64_t token;
    LLF_TRY(e->loaded->device->enter(&e->diag, e->loaded, &token));
    llf_status status = launch_all(e, stream);
    e->loaded->device->leave(e->loaded, token);
    if (status == LLF_OK)
        e->stats.runs++;
    return status;
}

const llf_diagnostic *llf_execution_error(const llf_execution *e)
{
    static const llf_diagnostic none = {LLF_E_ARG, "the execution is NULL", "", 0, 0, ""};
    return e ? &e->diag.pub : &none;
}

llf_status llf_execution_stats(const llf_execution *e, llf_stats *out)
{
    if (!e || !out || out->size < sizeof out->size)
        return LLF_E_ARG;
    llf_stats now = e->stats;
    size_t size = out->size; /* the caller's version of the struct */
    now.workspace_bytes = e->workspace_bytes;
    now.scratch_bytes = e->scratch_bytes + e->counter_bytes;
    uint32_t variants, modules;
    llfi_variants_count(e->loaded, &variants, &modules);
    now.modules += modules;
    now.variants = variants;
    now.size = size;
    memcpy(out, &now, size < sizeof now ? size : sizeof now);
    return LLF_OK;
}
