/* prepare.c: everything that llf_run must not do: checks of shapes, alignment, reach and overlap, symbols,
 * workspace, launches, argument blocks. A failed prepare leaves the execution unprepared and usable. */
#include "runtime/program.h"

#include <inttypes.h>

static bool is_scalar(const llf_execution *e, uint32_t binding)
{
    const llf_graph *g = e->loaded->program->graph;
    return binding < e->inputs && llfi_node_at(g, g->inputs.at[binding])->scalar;
}

static llf_id node_of(const llf_execution *e, uint32_t binding)
{
    const llf_graph *g = e->loaded->program->graph;
    return binding < e->inputs ? g->inputs.at[binding] : g->outputs.at[binding - e->inputs];
}

const char *llfi_prepare_name(const llf_execution *e, uint32_t binding, char *text, size_t size)
{
    const llf_graph *g = e->loaded->program->graph;
    const char *name = llfi_name(g, llfi_node_at(g, node_of(e, binding))->name);
    if (binding < e->inputs)
        snprintf(text, size, "input %s", name);
    else if (name[0])
        snprintf(text, size, "output %u (%s)", binding - e->inputs, name);
    else
        snprintf(text, size, "output %u", binding - e->inputs);
    return text;
}

/* Fails with the binding's name in front. */
static llf_status refuse(llf_execution *e, llf_status status, uint32_t binding, const char *fmt, ...)
    LLFI_PRINTF(4, 5);
static llf_status refuse(llf_execution *e, llf_status status, uint32_t binding, const char *fmt, ...)
{
    char name[300], text[640];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return llfi_fail(&e->diag, status, "%s: %s", llfi_prepare_name(e, binding, name, sizeof name), text);
}

static llf_status check_form(llf_execution *e, uint32_t binding)
{
    const llf_tensor *t = &e->bind[binding].tensor;
    llfi_type type = llfi_type_of(e->loaded->program->graph, node_of(e, binding));
    e->bind[binding].strided = false;
    if (!e->bind[binding].bound)
        return refuse(e, LLF_E_ARG, binding, "not bound");
    if (is_scalar(e, binding))
        return LLF_OK;
    if (t->dtype != type.dtype)
        return refuse(e, LLF_E_TYPE, binding, "bound to %s, the program has %s", llf_dtype_name(t->dtype),
                      llf_dtype_name(type.dtype));
    if (t->rank != type.rank)
        return refuse(e, LLF_E_TYPE, binding, "bound to a tensor of rank %u, the program has rank %u",
                      t->rank, type.rank);
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] < 0)
            return refuse(e, LLF_E_ARG, binding, "extent %" PRId64 " of axis %u is negative", t->shape[i], i);
    e->bind[binding].strided = !llfi_stride_contiguous(t);
    if (e->bind[binding].strided && binding >= e->inputs)
        return refuse(e, LLF_E_UNSUPPORTED, binding,
                      "its strides are not those of a contiguous row-major tensor: inputs may have any, but "
                      "outputs are written without gaps (strides of axes of extent 1 do not matter)");
    return LLF_OK;
}

/* ---- symbols */

/* The type that the caller knows. */
static llfi_type type_asked(const llf_execution *e, uint32_t binding)
{
    const llf_graph *g = e->loaded->program->graph;
    return binding < e->inputs ? llfi_input_asked(g, binding) : llfi_type_of(g, node_of(e, binding));
}

static const int64_t *bound_shape(const void *user, uint32_t input)
{
    const llf_execution *e = user;
    return e->bind[input].tensor.shape;
}

/* The input that bound a symbol: the first whose extent it is; UINT32_MAX: an expression did. */
static uint32_t bound_by(const llf_execution *e, uint32_t symbol)
{
    const llf_graph *g = e->loaded->program->graph;
    for (uint32_t b = 0; b < e->inputs; b++) {
        llfi_type type = llfi_input_asked(g, b);
        for (uint32_t i = 0; i < type.rank; i++) {
            uint32_t s;
            if (llfi_dim_is_symbol(g->dims, type.dim[i], &s) && s == symbol)
                return b;
        }
    }
    return UINT32_MAX;
}

static llf_status wrong_extent(llf_execution *e, uint32_t binding, uint32_t axis, llfi_dim dim, int64_t want)
{
    const llf_graph *g = e->loaded->program->graph;
    int64_t got = e->bind[binding].tensor.shape[axis];
    uint32_t s;
    char other[300];
    if (llfi_dim_is_symbol(g->dims, dim, &s) && bound_by(e, s) != UINT32_MAX)
        return refuse(e, LLF_E_GUARD, binding, "axis %u has extent %" PRId64 ", but %s is %" PRId64 " by %s",
                      axis, got, llfi_dims_symbol_name(g->dims, s), want,
                      llfi_prepare_name(e, bound_by(e, s), other, sizeof other));
    int64_t c;
    if (!llfi_dim_is_const(g->dims, dim, &c))
        return refuse(e, LLF_E_GUARD, binding, "axis %u has extent %" PRId64 ", but %s is %" PRId64, axis,
                      got, llfi_show_dim(g, dim).text, want);
    return refuse(e, LLF_E_GUARD, binding, "axis %u has extent %" PRId64 ", the program has %" PRId64, axis,
                  got, want);
}

/* An extent without a value: a symbol in it that nothing binds, else a division by 0 or an overflow. */
static llf_status no_extent(llf_execution *e, uint32_t binding, uint32_t axis)
{
    const llfi_dims *dims = e->loaded->program->graph->dims;
    for (uint32_t s = 0; s < llfi_dims_symbols(dims); s++)
        if (e->symbol[s] < 0)
            return refuse(e, LLF_E_GUARD, binding,
                          "axis %u: its extent cannot be computed: the inputs' shapes do not tell symbol %s",
                          axis, llfi_dims_symbol_name(dims, s));
    return refuse(e, LLF_E_GUARD, binding, "axis %u: its extent cannot be computed from the inputs' shapes",
                  axis);
}

/* Every extent against its expression, and the size in bytes. */
static llf_status check_extents(llf_execution *e, uint32_t binding)
{
    const llf_graph *g = e->loaded->program->graph;
    const llf_tensor *t = &e->bind[binding].tensor;
    llfi_type type = type_asked(e, binding);
    int64_t want, bytes;
    for (uint32_t i = 0; i < type.rank; i++) {
        if (!llfi_dim_eval(g->dims, type.dim[i], e->symbol, &want))
            return no_extent(e, binding, i);
        if (want != t->shape[i])
            return wrong_extent(e, binding, i, type.dim[i], want);
    }
    if (llfi_type_size(g, type, e->symbol, llfi_dtypes[type.dtype].bytes, &bytes) != LLF_OK)
        return refuse(e, LLF_E_LIMIT, binding, "its elements take more bytes than there are addresses");
    int64_t *low = &e->bind[binding].low;
    *low = 0;
    if (e->bind[binding].strided && !llfi_stride_span(t, low, &bytes))
        return refuse(e, LLF_E_LIMIT, binding, "its strides times its extents are beyond 2^63 bytes");
    e->span[binding] = (llfi_span){(uintptr_t)t->data + (uintptr_t)*low, (size_t)bytes};
    return LLF_OK;
}

/* ---- addresses */

/* Spans may have wrapped around; their sizes have not. */
static llf_status check_address(llf_execution *e, uint32_t binding)
{
    const llfi_span s = e->span[binding];
    uintptr_t data = (uintptr_t)e->bind[binding].tensor.data;
    size_t element = llf_dtype_size(e->bind[binding].tensor.dtype);
    if (s.bytes == 0)
        return LLF_OK;
    if (data == 0)
        return refuse(e, LLF_E_ARG, binding, "data is NULL, but the tensor has elements");
    if (data % element != 0)
        return refuse(e, LLF_E_ARG, binding,
                      "data is misaligned: 0x%" PRIxPTR " is no multiple of %zu, the size of %s", data,
                      element, llf_dtype_name(e->bind[binding].tensor.dtype));
    if (s.at > data || s.at == 0)
        return refuse(e, LLF_E_ARG, binding,
                      "0x%" PRIxPTR " - %" PRId64 " bytes is before the beginning of memory", data,
                      -e->bind[binding].low);
    if (s.bytes > UINTPTR_MAX - s.at)
        return refuse(e, LLF_E_ARG, binding, "0x%" PRIxPTR " + %zu bytes is past the end of memory", s.at,
                      s.bytes);
    return LLF_OK;
}

static llf_status check_binding(llf_execution *e, uint32_t binding)
{
    if (is_scalar(e, binding))
        return LLF_OK;
    LLF_TRY(check_extents(e, binding));
    return check_address(e, binding);
}

static llf_status check_reach(llf_execution *e)
{
    llf_loaded *l = e->loaded;
    char name[300];
    for (uint32_t b = 0; b < e->binds && l->device->reach; b++) {
        if (is_scalar(e, b) || !e->span[b].bytes)
            continue;
        llfi_prepare_name(e, b, name, sizeof name);
        LLF_TRY(l->device->reach(&e->diag, l, name, e->bind[b].tensor.data));
        if (!e->bind[b].strided)
            continue;
        uintptr_t low = e->span[b].at; /* strides lead away from `data`, at worst out of its allocation */
        LLF_TRY(l->device->reach(&e->diag, l, name, (const void *)low));
        LLF_TRY(l->device->reach(&e->diag, l, name, (const void *)(low + e->span[b].bytes - 1)));
    }
    return LLF_OK;
}

/* Elements of an input with strides are read in another order than outputs are written: never in place, but
 * an output may lie in a gap between them. */
static bool may_meet(const void *execution, uint32_t input, uint32_t output, bool whole)
{
    const llf_execution *e = execution;
    const llfi_span *out = &e->span[e->inputs + output];
    if (e->bind[input].strided)
        return !llfi_stride_touches(&e->bind[input].tensor, out->at, out->bytes);
    return whole && llfi_program_inplace(e->loaded->program, input, output);
}

static llf_status check_overlap(llf_execution *e)
{
    uint32_t a, b;
    bool a_is_input;
    if (!llfi_overlap_find(e->span, e->inputs, e->span + e->inputs, e->binds - e->inputs, e->order, may_meet,
                           e, &a, &a_is_input, &b))
        return LLF_OK;
    bool strided = a_is_input && e->bind[a].strided;
    a = a_is_input ? a : a + e->inputs;
    b += e->inputs;
    llfi_span x = e->span[a], y = e->span[b];
    char na[300], nb[300];
    return llfi_fail(
        &e->diag, LLF_E_ALIAS,
        "%s at [0x%" PRIxPTR ", 0x%" PRIxPTR ") and %s at [0x%" PRIxPTR ", 0x%" PRIxPTR ") overlap; %s",
        llfi_prepare_name(e, a, na, sizeof na), x.at, x.at + x.bytes, llfi_prepare_name(e, b, nb, sizeof nb),
        y.at, y.at + y.bytes,
        strided ? "an output may lie in a gap between the elements of an input with strides, but not on "
                  "them, nor "
                  "where its axes do not nest"
        : a_is_input
            ? "an output may only be the whole buffer of an input that this plan has read by then at "
              "the same index"
            : "each output needs a buffer of its own");
}

/* ---- workspace */

static llf_status bad_temp(llf_execution *e, llf_id node, llf_status status)
{
    const llf_graph *g = e->loaded->program->graph;
    const llfi_node *n = llfi_node_at(g, node);
    const char *op = llfi_ops[n->op].name, *name = llfi_name(g, n->name);
    status = llfi_fail_at(&e->diag, status, llfi_place_of(g, node), op, "%s: the intermediate value %s %s",
                          op, llfi_show_type(g, n->type).text,
                          status == LLF_E_GUARD ? "has an extent that cannot be computed"
                                                : "takes more bytes than there are addresses");
    llfi_diag_in(&e->diag, name, strlen(name));
    return status;
}

static llf_status temp_bytes(llf_execution *e, size_t *bytes)
{
    const llf_program *p = e->loaded->program;
    for (uint32_t i = 0; i < p->temps; i++) {
        llfi_type type = llfi_type_of(p->graph, p->temp[i].node);
        int64_t size;
        llf_status status = llfi_type_size(p->graph, type, e->symbol, llfi_dtypes[type.dtype].bytes, &size);
        if (status != LLF_OK)
            return bad_temp(e, p->temp[i].node, status);
        bytes[i] = (size_t)size;
    }
    return LLF_OK;
}

static llf_status resize_workspace(llf_execution *e, size_t total)
{
    llf_loaded *l = e->loaded;
    if (total == e->workspace_bytes && (total == 0 || e->workspace))
        return LLF_OK;
    if (e->workspace)
        l->device->free(l, e->workspace, e->workspace_bytes);
    e->workspace = NULL;
    e->workspace_bytes = 0;
    if (total)
        LLF_TRY(l->device->alloc(&e->diag, l, total, &e->workspace));
    e->workspace_bytes = total;
    return LLF_OK;
}

static llf_status place_temps(llf_execution *e)
{
    const llf_program *p = e->loaded->program;
    size_t n = p->temps, total = 0;
    size_t *size = llfi_alloc_zero(&e->mem, 2 * n * sizeof *size), *offset = size + n;
    if (!size)
        return llfi_nomem(&e->diag);
    llf_status status = temp_bytes(e, size);
    if (status == LLF_OK)
        status = llfi_buffers_place(&e->diag, &e->mem, p->temp, p->temps, size, offset, &total);
    if (status == LLF_OK)
        status = resize_workspace(e, total);
    for (size_t i = 0; status == LLF_OK && i < n; i++)
        e->buffer[p->temp[i].node] = size[i] ? (char *)e->workspace + offset[i] : NULL;
    llfi_free(&e->mem, size, 2 * n * sizeof *size);
    return status;
}

/* ---- launches and argument blocks */

static void point_buffers(llf_execution *e)
{
    for (uint32_t b = 0; b < e->binds; b++)
        e->buffer[node_of(e, b)] = is_scalar(e, b) ? (void *)&e->bind[b].scalar : e->bind[b].tensor.data;
}

static void fill_buffers(llf_execution *e, uint32_t k)
{
    const llfi_schedule *s = e->schedule[k];
    const void **data = e->data + e->slot0[k];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->args; i++)
        if (s->arg[i].kind == LLFI_ARG_BUFFER)
            data[n++] = e->buffer[s->arg[i].ref];
}

static void fill_slots(llf_execution *e, uint32_t k)
{
    const llfi_schedule *s = e->schedule[k];
    uint64_t *slot = e->slots + e->slot0[k];
    for (uint32_t i = 0; i < s->args; i++) {
        const llfi_arg *a = &s->arg[i];
        if (a->kind == LLFI_ARG_BUFFER)
            slot[i] = (uintptr_t)e->buffer[a->ref];
        else if (a->kind == LLFI_ARG_SCALAR)
            slot[i] = *(const uint64_t *)e->buffer[a->ref];
        else if (a->kind == LLFI_ARG_STRIDE)
            slot[i] = (uint64_t)e->launch[k].extent[a->ref];
        else if (a->kind == LLFI_ARG_RECIPROCAL)
            slot[i] = llfi_reciprocal(e->launch[k].extent[a->ref]);
        else if (a->kind == LLFI_ARG_COMPUTED)
            slot[i] = (uint64_t)e->launch[k].computed[a->ref];
        else if (a->kind == LLFI_ARG_SCRATCH)
            slot[i] = (uintptr_t)e->scratch;
        else if (a->kind == LLFI_ARG_COUNTER)
            slot[i] = (uintptr_t)e->counter;
        else if (a->kind == LLFI_ARG_DIM) /* a TABLE's is make_tables' */
            slot[i] = (uint64_t)e->launch[k].value[a->ref];
    }
}

static llf_status plan_launch(llf_execution *e, uint32_t k)
{
    const llf_program *p = e->loaded->program;
    const llfi_schedule *s = e->schedule[k];
    const int64_t *extent = e->launch[k].extent;
    fill_buffers(e, k);
    e->launch[k].scratch = e->launch[k].counters = 0;
    llf_status status = s->skeleton->launch(s, &e->launch[k]);
    if (status != LLF_OK)
        return llfi_fail(&e->diag, status, "kernel %s: %" PRId64 " elements are more than one launch can do",
                         p->module[p->kernel[k].module].name, s->dims ? extent[0] : 0);
    return LLF_OK;
}

/* The argument that is a table; s->args: none. */
static uint32_t table_of(const llfi_schedule *s)
{
    uint32_t i = 0;
    while (i < s->args && s->arg[i].kind != LLFI_ARG_TABLE)
        i++;
    return i;
}

static size_t table_bytes(const llfi_schedule *s)
{
    uint32_t t = table_of(s);
    return t < s->args ? (s->args - t - 1) * sizeof(uint64_t) : 0;
}

/* Never in the place of the one before, which a run may still be reading. */
static llf_status make_tables(llf_execution *e)
{
    llf_loaded *l = e->loaded;
    uint32_t kernels = l->program->plan.kernels;
    size_t total = 0, at = 0;
    for (uint32_t k = 0; k < kernels; k++)
        total += table_bytes(e->schedule[k]);
    if (e->table)
        l->device->free(l, e->table, e->table_bytes);
    e->table = NULL;
    e->table_bytes = total;
    if (total)
        LLF_TRY(l->device->alloc(&e->diag, l, total, &e->table));
    for (uint32_t k = 0; k < kernels; k++) {
        size_t bytes = table_bytes(e->schedule[k]);
        uint64_t *slot = e->slots + e->slot0[k] + table_of(e->schedule[k]);
        if (!bytes)
            continue;
        *slot = (uintptr_t)e->table + at;
        LLF_TRY(l->device->upload(&e->diag, l, (char *)e->table + at, slot + 1, bytes));
        at += bytes;
    }
    return LLF_OK;
}

static llf_status prepare_all(llf_execution *e)
{
    const llf_program *p = e->loaded->program;
    LLF_TRY(check_reach(e));
    LLF_TRY(check_overlap(e));
    LLF_TRY(llfi_variant_choose(e));
    LLF_TRY(place_temps(e));
    point_buffers(e);
    LLF_TRY(llfi_variant_extents(e));
    for (uint32_t k = 0; k < p->plan.kernels; k++)
        LLF_TRY(plan_launch(e, k));
    LLF_TRY(llfi_scratch_make(e));
    for (uint32_t k = 0; k < p->plan.kernels; k++)
        fill_slots(e, k);
    LLF_TRY(make_tables(e));
    if (e->loaded->device->ready)
        e->loaded->device->ready(e->loaded, e->launch, p->plan.kernels);
    return LLF_OK;
}

llf_status llf_prepare(llf_execution *e)
{
    if (!e)
        return LLF_E_ARG;
    e->prepared = false;
    for (uint32_t b = 0; b < e->binds; b++)
        LLF_TRY(check_form(e, b));
    llfi_bind_symbols(e->loaded->program->graph, bound_shape, e, e->symbol);
    for (uint32_t b = 0; b < e->inputs; b++)
        LLF_TRY(check_binding(e, b));
    LLF_TRY(llfi_guards_check(e->loaded->program->graph, &e->diag, e->symbol));
    for (uint32_t b = e->inputs; b < e->binds; b++) /* their types rely on the guards */
        LLF_TRY(check_binding(e, b));
    uint64_t token;
    LLF_TRY(e->loaded->device->enter(&e->diag, e->loaded, &token));
    llf_status status = prepare_all(e);
    e->loaded->device->leave(e->loaded, token);
    LLF_TRY(status);
    for (uint32_t b = 0; b < e->binds; b++)
        e->bind[b].ready = e->bind[b].tensor;
    e->prepared = true;
    e->moved = false;
    return LLF_OK;
}

/* ---- bound anew */

/* Largest power of two up to `most` that divides the address. */
static uintptr_t alignment(const void *data, uintptr_t most)
{
    uintptr_t bits = (uintptr_t)data | most;
    return bits & (~bits + 1);
}

static bool same_strides(const llf_tensor *a, const llf_tensor *b)
{
    int64_t x[LLF_MAX_RANK], y[LLF_MAX_RANK];
    llfi_stride_of(a, x);
    llfi_stride_of(b, y);
    return memcmp(x, y, a->rank * sizeof *x) == 0;
}

/* Is it what prepare saw, but for the address? Kernels look at different alignments up to e->align, so it
 * must be the same, not just as much above or below the largest. */
static bool same_form(const llf_execution *e, const llf_tensor *before, const llf_tensor *now)
{
    return now->dtype == before->dtype && now->rank == before->rank &&
           memcmp(now->shape, before->shape, now->rank * sizeof now->shape[0]) == 0 &&
           llfi_stride_contiguous(now) == llfi_stride_contiguous(before) && same_strides(before, now) &&
           alignment(before->data, e->align) == alignment(now->data, e->align);
}

llf_status llfi_prepare_moved(llf_execution *e)
{
    for (uint32_t b = 0; b < e->binds; b++) {
        if (is_scalar(e, b))
            continue;
        if (!same_form(e, &e->bind[b].ready, &e->bind[b].tensor))
            return refuse(e, LLF_E_STATE, b,
                          "bound anew with another shape, dtype, layout or alignment: call llf_prepare");
        e->span[b].at = (uintptr_t)e->bind[b].tensor.data + (uintptr_t)e->bind[b].low;
        LLF_TRY(check_address(e, b));
    }
    LLF_TRY(check_overlap(e));
    point_buffers(e);
    for (uint32_t k = 0; k < e->loaded->program->plan.kernels; k++) {
        fill_buffers(e, k);
        fill_slots(e, k);
    }
    e->moved = false;
    return LLF_OK;
}
