/* variant.c: inputs that do not lie row-major. The program's kernels take them for granted to be; one that
 * reads such an input is compiled once more, from the same members and in the same order of operations, with
 * that input addressed by strides, which are arguments. At most two such variants of a kernel are made: the
 * first for the inputs that asked for it, with what is known of them (an axis of stride 1); the second for
 * any strides of any input. Everything here happens in llf_prepare; llf_run must not come here. */
#include "runtime/program.h"

#include <inttypes.h>

/* One kernel's wish, and the list that variants are found in. */
typedef struct {
    llf_execution *e;
    llf_loaded *l;
    uint32_t *binding; /* by node: 1 + the input that it is; 0: none */
    uint32_t kernel;
    uint32_t *read; /* inputs that the kernel reads from memory, rising */
    uint32_t reads;
    bool strided; /* one of them does not lie row-major */
} wish;

void llfi_variant_destroy(llf_loaded *l, llfi_variant *v)
{
    if (!v)
        return;
    llfi_free(&l->program->mem, v->module.code.code, v->module.code.bytes + 1);
    llfi_dims_destroy(v->dims);
    llfi_arena_destroy(&v->arena);
    llfi_free(&l->mem, v, sizeof *v);
}

/* ---- what a kernel wants */

static void read_by(wish *w, uint32_t kernel)
{
    const llfi_schedule *s = &w->l->program->kernel[kernel].schedule;
    w->kernel = kernel;
    w->reads = 0;
    w->strided = false;
    for (uint32_t i = 0; i < s->args; i++) {
        const llfi_arg *a = &s->arg[i];
        uint32_t b = a->kind == LLFI_ARG_BUFFER ? w->binding[a->ref] : 0;
        if (!b)
            continue;
        w->strided |= w->e->bind[b - 1].strided;
        uint32_t at = w->reads++;
        for (; at > 0 && w->read[at - 1] > b - 1; at--)
            w->read[at] = w->read[at - 1];
        w->read[at] = b - 1;
    }
}

/* Is `axis` one along which this input's elements stand side by side, as far as it has any? */
static bool is_unit(const llf_tensor *t, int axis)
{
    int64_t stride[LLF_MAX_RANK];
    llfi_stride_of(t, stride);
    return axis < 0 || t->shape[axis] <= 1 || stride[axis] == 1;
}

static int8_t unit_axis(const llf_tensor *t)
{
    int64_t stride[LLF_MAX_RANK];
    llfi_stride_of(t, stride);
    for (uint32_t i = t->rank; i-- > 0;)
        if (stride[i] == 1)
            return (int8_t)i;
    return -1;
}

/* Every strided input among those that the variant addresses so, and each as it expects. */
static bool serves(const wish *w, const llfi_variant *v)
{
    uint32_t at = 0;
    if (v->kernel != w->kernel)
        return false;
    for (uint32_t i = 0; i < v->inputs; i++)
        if (!is_unit(&w->e->bind[v->input[i]].tensor, v->unit[i]))
            return false;
    for (uint32_t i = 0; i < w->reads; i++) {
        while (at < v->inputs && v->input[at] < w->read[i])
            at++;
        if (w->e->bind[w->read[i]].strided && (at == v->inputs || v->input[at] != w->read[i]))
            return false;
    }
    return true;
}

/* ---- a new one */

/* The first variant of a kernel knows what it is for. `all`: the last one, which serves everything. */
static bool choose_inputs(const wish *w, bool all, llfi_variant *v)
{
    uint32_t *input = llfi_arena_alloc(&v->arena, (w->reads + 1) * sizeof *input);
    int8_t *unit = llfi_arena_alloc(&v->arena, w->reads + 1);
    v->input = input;
    v->unit = unit;
    if (!input || !unit)
        return false;
    for (uint32_t i = 0; i < w->reads; i++) {
        const llfi_binding *b = &w->e->bind[w->read[i]];
        if (!b->strided && !all)
            continue;
        unit[v->inputs] = all ? -1 : unit_axis(&b->tensor);
        input[v->inputs++] = w->read[i];
    }
    return true;
}

/* Two symbols for each stride, in names that no text can have: `i` counts the variant's inputs, so that
 * kernels that are equal but for their inputs stay equal. */
static bool make_stride(llfi_variant *v, uint32_t i, uint32_t axis, bool dropped, bool one, llfi_stride *out)
{
    llfi_dim d[2];
    for (int half = 0; half < 2; half++) {
        char name[32];
        int n = snprintf(name, sizeof name, "%" PRIu32 ".%" PRIu32 "%c", i, axis, half ? '-' : '+');
        uint32_t symbol = llfi_dims_symbol(v->dims, name, (size_t)n);
        if (symbol == UINT32_MAX)
            return false;
        d[half] = dropped || one ? llfi_dim_const(v->dims, one && !half) : llfi_dim_sym(v->dims, symbol);
        if (d[half] == LLFI_DIM_NONE)
            return false;
    }
    *out = (llfi_stride){d[0], d[1]};
    return true;
}

static llf_status make_strides(const wish *w, llfi_variant *v, llfi_strides *out)
{
    const llf_graph *g = w->l->program->graph;
    llf_id *node = llfi_arena_alloc(&v->arena, (v->inputs + 1) * sizeof *node);
    llfi_stride(*stride)[LLFI_RANK] = llfi_arena_alloc(&v->arena, (v->inputs + 1) * sizeof *stride);
    if (!node || !stride)
        return LLF_E_NOMEM;
    for (uint32_t i = 0; i < v->inputs; i++) {
        node[i] = g->inputs.at[v->input[i]];
        llfi_type t = llfi_type_of(g, node[i]);
        for (uint32_t axis = 0; axis < t.rank; axis++) {
            int64_t extent;
            bool dropped = llfi_dim_is_const(g->dims, t.dim[axis], &extent) && extent <= 1;
            if (!make_stride(v, i, axis, dropped, !dropped && v->unit[i] == (int)axis, &stride[i][axis]))
                return LLF_E_NOMEM;
        }
    }
    *out = (llfi_strides){v->inputs, node, (const llfi_stride(*)[LLFI_RANK])stride};
    return LLF_OK;
}

/* The program's graph with strides, in dims of the variant's own: others read the program's meanwhile. */
static llf_status make_schedule(const wish *w, llfi_variant *v, llf_graph *graph)
{
    const llf_program *p = w->l->program;
    llfi_strides *strides = llfi_arena_alloc(&v->arena, sizeof *strides);
    v->dims = llfi_dims_clone(p->graph->dims, &w->l->mem);
    if (!strides || !v->dims)
        return LLF_E_NOMEM;
    LLF_TRY(make_strides(w, v, strides));
    *graph = *p->graph;
    graph->dims = v->dims;
    graph->strides = strides;
    LLF_TRY(llfi_schedule_make(NULL, graph, &p->plan, v->kernel, &p->target, &v->arena, &v->schedule));
    v->module.first = v->kernel;
    v->module.hash =
        llfi_kernel_hash(graph, v->schedule.demands, &p->plan.kernel[v->kernel], &v->schedule, &p->target);
    llfi_kernel_name(p->graph, &p->plan.kernel[v->kernel], v->schedule.skeleton, v->module.hash,
                     v->module.name, sizeof v->module.name);
    return LLF_OK;
}

/* Code that is there already. */
static void *find_code(const llf_loaded *l, uint64_t hash)
{
    const llf_program *p = l->program;
    for (uint32_t m = 0; m < p->modules; m++)
        if (p->module[m].hash == hash)
            return l->device->code(l, m);
    for (const llfi_variant *v = l->variant; v; v = v->next)
        if (v->code && v->module.hash == hash)
            return v->code;
    return NULL;
}

static void log_reason(const wish *w, const llfi_variant *v)
{
    const llf_context *cx = &w->l->cx;
    if (!llfi_log_on(cx, LLFI_LOG_RECOMPILES))
        return;
    llfi_str s;
    llfi_str_init(&s, &w->l->mem);
    llfi_str_printf(&s, "compile %s, kernel %" PRIu32 " again:", v->module.name, v->kernel);
    for (uint32_t i = 0; i < w->reads; i++) {
        const llf_tensor *t = &w->e->bind[w->read[i]].tensor;
        char name[300];
        if (!w->e->bind[w->read[i]].strided)
            continue;
        llfi_str_printf(&s, " %s of shape [", llfi_prepare_name(w->e, w->read[i], name, sizeof name));
        for (uint32_t a = 0; a < t->rank; a++)
            llfi_str_printf(&s, "%s%" PRId64, a ? ", " : "", t->shape[a]);
        llfi_str_puts(&s, "] has strides [");
        for (uint32_t a = 0; a < t->rank; a++)
            llfi_str_printf(&s, "%s%" PRId64, a ? ", " : "", t->strides[a]);
        llfi_str_puts(&s, "],");
    }
    llfi_str_puts(&s, " which no kernel takes yet");
    if (!s.failed)
        llfi_log_text(cx, LLFI_LOG_RECOMPILES, s.at, s.len);
    llfi_str_free(&s);
}

static llf_status compile(const wish *w, llfi_variant *v, const llf_graph *graph)
{
    llf_loaded *l = w->l;
    const llf_program *p = l->program;
    const llfi_program_job job = {graph, &p->plan.kernel[v->kernel], &v->schedule, &v->module};
    log_reason(w, v);
    LLF_TRY(p->compile(&l->cx, p, &job, 1));
    LLF_TRY(l->device->add(&l->cx.diag, l, &v->module, &v->code));
    atomic_fetch_add_explicit(&l->variant_modules, 1, memory_order_relaxed);
    return LLF_OK;
}

static llf_status describe_failure(const wish *w, llf_status status)
{
    llfi_diag *d = &w->l->cx.diag;
    const llf_program *p = w->l->program;
    if (status == LLF_E_NOMEM)
        return llfi_nomem(d);
    return llfi_fail(d, status, "kernel %s cannot be made for inputs with strides: %s",
                     p->module[p->kernel[w->kernel].module].name,
                     status == LLF_E_LIMIT ? "too many kernel parameters" : llf_status_text(status));
}

static llf_status make(const wish *w, bool all, llfi_variant **out)
{
    llf_loaded *l = w->l;
    llf_graph graph;
    llfi_variant *v = *out = llfi_alloc_zero(&l->mem, sizeof *v);
    if (!v)
        return llfi_nomem(&l->cx.diag);
    v->kernel = w->kernel;
    llfi_arena_init(&v->arena, &l->mem);
    llf_status status = choose_inputs(w, all, v) ? make_schedule(w, v, &graph) : LLF_E_NOMEM;
    if (status != LLF_OK) {
        status = describe_failure(w, status);
    } else {
        v->code = find_code(l, v->module.hash);
        status = v->code ? LLF_OK : compile(w, v, &graph);
    }
    if (status != LLF_OK) {
        llfi_variant_destroy(l, v);
        *out = NULL;
    }
    return status;
}

/* The list's end, where a new one goes, unless one serves. Under the lock. */
static llf_status find(const wish *w, const llfi_variant **out)
{
    llfi_variant **end = &w->l->variant;
    uint32_t before = 0;
    for (; *end; end = &(*end)->next) {
        before += (*end)->kernel == w->kernel;
        if (serves(w, *end)) {
            *out = *end;
            return LLF_OK;
        }
    }
    llf_status status = make(w, before > 0, end);
    if (status == LLF_E_LIMIT && before) /* not all at once: then what is needed now */
        status = make(w, false, end);
    if (status == LLF_OK)
        atomic_fetch_add_explicit(&w->l->variants, 1, memory_order_relaxed);
    *out = *end;
    return status;
}

/* ---- the choice */

static void choose_own(llf_execution *e, uint32_t k)
{
    const llf_program *p = e->loaded->program;
    e->variant[k] = NULL;
    e->schedule[k] = &p->kernel[k].schedule;
    e->code[k] = e->loaded->device->code(e->loaded, p->kernel[k].module);
}

static llf_status choose_kernel(wish *w, uint32_t k)
{
    llf_execution *e = w->e;
    const llfi_variant *v = NULL;
    read_by(w, k);
    choose_own(e, k);
    if (!w->strided)
        return LLF_OK;
    llf_status status = find(w, &v);
    if (status != LLF_OK) {
        llfi_diag_copy(&e->diag, &w->l->cx.diag);
        return status;
    }
    e->variant[k] = v;
    e->schedule[k] = &v->schedule;
    e->code[k] = v->code;
    return LLF_OK;
}

llf_status llfi_variant_choose(llf_execution *e)
{
    llf_loaded *l = e->loaded;
    const llf_program *p = l->program;
    bool strided = false;
    for (uint32_t b = 0; b < e->inputs; b++)
        strided |= e->bind[b].strided;
    for (uint32_t k = 0; k < p->plan.kernels && !strided; k++)
        choose_own(e, k);
    if (!strided)
        return llfi_execution_lay_out(e);
    size_t nodes = p->graph->nodes.count;
    wish w = {.e = e, .l = l};
    w.binding = llfi_alloc_zero(&e->mem, nodes * sizeof *w.binding);
    w.read = llfi_alloc_zero(&e->mem, (e->inputs + 1) * sizeof *w.read);
    llf_status status = w.binding && w.read ? LLF_OK : llfi_nomem(&e->diag);
    for (uint32_t b = 0; status == LLF_OK && b < e->inputs; b++)
        w.binding[p->graph->inputs.at[b]] = b + 1;
    pthread_mutex_lock(&l->lock);
    for (uint32_t k = 0; status == LLF_OK && k < p->plan.kernels; k++)
        status = choose_kernel(&w, k);
    pthread_mutex_unlock(&l->lock);
    llfi_free(&e->mem, w.binding, nodes * sizeof *w.binding);
    llfi_free(&e->mem, w.read, (e->inputs + 1) * sizeof *w.read);
    return status == LLF_OK ? llfi_execution_lay_out(e) : status;
}

/* ---- extents */

/* The graph's symbols, then two for each input and axis. `zero`: as if every stride were 0. */
static void fill_symbols(const llf_execution *e, const llfi_variant *v, bool zero, int64_t *symbol)
{
    uint32_t n = llfi_dims_symbols(e->loaded->program->graph->dims);
    memcpy(symbol, e->symbol, n * sizeof *symbol);
    for (uint32_t i = 0; i < v->inputs; i++) {
        const llf_tensor *t = &e->bind[v->input[i]].tensor;
        int64_t stride[LLF_MAX_RANK];
        llfi_stride_of(t, stride);
        for (uint32_t a = 0; a < t->rank; a++) {
            symbol[n++] = !zero && stride[a] > 0 ? stride[a] : 0;
            symbol[n++] = !zero && stride[a] < 0 ? -stride[a] : 0;
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

llf_status llfi_variant_extents(llf_execution *e, uint32_t k, int64_t *extent)
{
    const llf_program *p = e->loaded->program;
    const llfi_variant *v = e->variant[k];
    const char *name = p->module[p->kernel[k].module].name;
    bool ok, strides = false;
    if (!v) {
        ok = evaluate(e->schedule[k], p->graph->dims, e->symbol, extent);
    } else {
        size_t n = llfi_dims_symbols(v->dims);
        int64_t *symbol = llfi_alloc(&e->mem, n * sizeof *symbol);
        if (!symbol)
            return llfi_nomem(&e->diag);
        fill_symbols(e, v, false, symbol);
        ok = evaluate(e->schedule[k], v->dims, symbol, extent);
        if (!ok) { /* are the strides at fault? */
            fill_symbols(e, v, true, symbol);
            strides = evaluate(e->schedule[k], v->dims, symbol, extent);
        }
        llfi_free(&e->mem, symbol, n * sizeof *symbol);
    }
    if (ok)
        return LLF_OK;
    if (!strides)
        return llfi_fail(&e->diag, LLF_E_GUARD,
                         "kernel %s: an extent cannot be computed from the inputs' shapes", name);
    char input[300];
    uint32_t b = v->input[0];
    for (uint32_t i = 0; i < v->inputs && !e->bind[b].strided; i++)
        b = v->input[i];
    return llfi_fail(&e->diag, LLF_E_LIMIT, "%s: kernel %s computes offsets beyond 2^63 from its strides",
                     llfi_prepare_name(e, b, input, sizeof input), name);
}
