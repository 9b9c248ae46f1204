/* variant.c: what the program's kernels take for granted, and what is done where it does not hold: the kernel
 * is compiled once more, from the same members and in the same order of operations. Inputs lie row-major:
 * else they are addressed by strides, which are arguments. At most two such variants of a kernel are made:
 * the first for the inputs that asked for it, with what is known of them (an axis of stride 1); the second
 * for any strides of any input. Indices fit 31 bits: else one variant has 64; those for strides have, too.
 * Everything here happens in llf_prepare; llf_run must not come here. */
#include "runtime/variant.h"

#include <inttypes.h>

/* One kernel's wish. */
typedef struct {
    llf_execution *e;
    llf_loaded *l;
    llfi_variants *vs;
    uint32_t *binding; /* by node: 1 + the input that it is; 0: none */
    uint32_t kernel;
    uint32_t *read; /* inputs that the kernel reads from memory, rising */
    uint32_t reads;
    bool strided;   /* one of them does not lie row-major */
    int64_t beyond; /* llfi_narrow_holds */
} wish;

/* ---- life */

/* A context of their own, which may outlive the caller's. */
llf_status llfi_variants_create(llf_loaded *l, const llf_context *cx)
{
    llfi_variants *vs = l->variants = llfi_alloc_zero(&l->mem, sizeof *vs);
    if (vs && pthread_mutex_init(&vs->lock, NULL) != 0) {
        llfi_free(&l->mem, vs, sizeof *vs);
        l->variants = vs = NULL;
    }
    if (!vs)
        return LLF_E_NOMEM;
    vs->cx = *cx;
    memset(&vs->cx.diag, 0, sizeof vs->cx.diag);
    (void)llfi_fail(&vs->cx.diag, LLF_OK, "%s", "");
    llfi_log_lock_retain(vs->cx.lock);
    llfi_cache_retain(vs->cx.kernels);
    vs->cx.dump_dir = l->program->dump_dir;
    vs->cx.override_dir = l->program->override_dir;
    llfi_arena_init(&vs->arena, &vs->cx.mem);
    return LLF_OK;
}

void llfi_variants_destroy(llf_loaded *l)
{
    llfi_variants *vs = l->variants;
    if (!vs)
        return;
    for (size_t i = 0; i < vs->made.count; i++)
        llfi_free(&l->program->mem, vs->made.at[i]->module.code.code, vs->made.at[i]->module.code.bytes + 1);
    llfi_vec_free(&l->mem, &vs->made);
    llfi_map_free(&l->mem, &vs->codes);
    llfi_dims_destroy(vs->dims);
    llfi_arena_destroy(&vs->arena);
    llfi_log_lock_release(vs->cx.lock);
    llfi_cache_release(vs->cx.kernels);
    pthread_mutex_destroy(&vs->lock);
    llfi_free(&l->mem, vs, sizeof *vs);
}

void llfi_variants_count(const llf_loaded *l, uint32_t *variants, uint32_t *modules)
{
    *variants = atomic_load_explicit(&l->variants->count, memory_order_relaxed);
    *modules = atomic_load_explicit(&l->variants->modules, memory_order_relaxed);
}

/* Before the first variant: lists, and the modules that are there. */
static llf_status begin(const wish *w)
{
    llfi_variants *vs = w->vs;
    const llf_program *p = w->l->program;
    if (vs->of)
        return LLF_OK;
    vs->of = llfi_arena_alloc(&vs->arena, p->plan.kernels * sizeof *vs->of);
    bool ok = vs->of != NULL;
    for (uint32_t m = 0; ok && m < p->modules; m++)
        ok = llfi_map_add(&w->l->mem, &vs->codes, p->module[m].hash, m);
    if (ok)
        return LLF_OK;
    vs->of = NULL;
    llfi_map_free(&w->l->mem, &vs->codes);
    vs->codes = (llfi_map){0};
    return llfi_nomem(&vs->cx.diag);
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
        uint32_t at = w->reads;
        while (at > 0 && w->read[at - 1] > b - 1)
            at--;
        if (at > 0 && w->read[at - 1] == b - 1)
            continue; /* read by several parts */
        memmove(w->read + at + 1, w->read + at, (w->reads - at) * sizeof *w->read);
        w->read[at] = b - 1;
        w->reads++;
    }
}

static bool holds(const llf_execution *e, uint32_t kernel, int64_t *beyond)
{
    const llf_program *p = e->loaded->program;
    const llfi_schedule *s = &p->kernel[kernel].schedule;
    if (!s->parts)
        return llfi_narrow_holds(p->graph, s->demands, e->symbol, beyond);
    for (uint32_t i = 0; i < s->parts->rows; i++)
        if (!llfi_narrow_holds(p->graph, s->parts->row[i].schedule.demands, e->symbol, beyond))
            return false;
    return true;
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
    if (!w->strided)
        return v->inputs == 0;
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

/* ---- a new one, without code */

/* The first variant of a kernel knows what it is for. `all`: the last one, which serves everything. */
static bool choose_inputs(const wish *w, bool all, llfi_variant *v)
{
    uint32_t *input = llfi_arena_alloc(&w->vs->arena, (w->reads + 1) * sizeof *input);
    int8_t *unit = llfi_arena_alloc(&w->vs->arena, w->reads + 1);
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

/* Code that is there, or in the making: the program's, or that of a variant. */
static llf_status share_code(const wish *w, llfi_variant *v)
{
    llfi_variants *vs = w->vs;
    const llf_program *p = w->l->program;
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&vs->codes, v->module.hash, &cursor)) != UINT32_MAX;) {
        if (i < p->modules) {
            v->code = w->l->device->code(w->l, i);
            return LLF_OK;
        }
        const llfi_variant *other = vs->made.at[i - p->modules]; /* dead ones own nothing */
        if (other->owner == other && other->module.hash == v->module.hash) {
            v->owner = other;
            return LLF_OK;
        }
    }
    v->owner = v;
    uint32_t place = p->modules + (uint32_t)vs->made.count;
    return llfi_map_add(&w->l->mem, &vs->codes, v->module.hash, place) ? LLF_OK : LLF_E_NOMEM;
}

static llf_status make(const wish *w, bool all, llfi_variant **out)
{
    llfi_variants *vs = w->vs;
    llfi_variant *v = llfi_arena_alloc(&vs->arena, sizeof *v);
    *out = NULL;
    if (!v || !llfi_vec_reserve(&w->l->mem, &vs->made, 1))
        return LLF_E_NOMEM;
    v->kernel = w->kernel;
    v->beyond = w->beyond;
    if (!choose_inputs(w, all, v))
        return LLF_E_NOMEM;
    LLF_TRY(llfi_variant_make(vs, w->l->program, v));
    LLF_TRY(share_code(w, v));
    vs->made.at[vs->made.count++] = v;
    *out = v;
    return LLF_OK;
}

static llf_status describe_failure(const wish *w, llf_status status)
{
    const llf_program *p = w->l->program;
    if (status == LLF_E_NOMEM)
        return llfi_nomem(&w->vs->cx.diag);
    return llfi_fail(&w->vs->cx.diag, status, "kernel %s cannot be made for %s: %s",
                     p->module[p->kernel[w->kernel].module].name,
                     w->strided ? "inputs with strides" : "indices of 64 bits",
                     status == LLF_E_LIMIT ? "too many kernel parameters or index expressions"
                                           : llf_status_text(status));
}

/* One that serves, or a new one at the list's end. */
static llf_status find(const wish *w, llfi_variant **out)
{
    llfi_variant **end = &w->vs->of[w->kernel];
    bool all = false;
    for (; *end; end = &(*end)->next) {
        if (serves(w, *end)) {
            *out = *end;
            return LLF_OK;
        }
        all = w->strided && (all || (*end)->inputs);
    }
    llf_status status = make(w, all, end);
    if (status == LLF_E_LIMIT && all) /* not all at once: then what is needed now */
        status = make(w, false, end);
    *out = *end;
    return status == LLF_OK ? LLF_OK : describe_failure(w, status);
}

/* ---- code */

static void log_reason(const wish *w, const llfi_variant *v)
{
    const llf_context *cx = &w->vs->cx;
    if (!llfi_log_on(cx, LLFI_LOG_RECOMPILES))
        return;
    llfi_str s;
    llfi_str_init(&s, &w->l->mem);
    llfi_str_printf(&s, "compile %s, kernel %" PRIu32 " again:", v->module.name, v->kernel);
    for (uint32_t i = 0; i < v->inputs; i++) {
        const llf_tensor *t = &w->e->bind[v->input[i]].tensor;
        char name[300];
        if (!w->e->bind[v->input[i]].strided)
            continue;
        llfi_str_printf(&s, " %s of shape [", llfi_prepare_name(w->e, v->input[i], name, sizeof name));
        for (uint32_t a = 0; a < t->rank; a++)
            llfi_str_printf(&s, "%s%" PRId64, a ? ", " : "", t->shape[a]);
        llfi_str_puts(&s, "] has strides [");
        for (uint32_t a = 0; a < t->rank; a++)
            llfi_str_printf(&s, "%s%" PRId64, a ? ", " : "", t->strides[a]);
        llfi_str_puts(&s, "],");
    }
    if (v->inputs == 0 && v->beyond < INT64_MAX)
        llfi_str_printf(&s, " its indices reach %" PRId64 ", beyond 31 bits,", v->beyond);
    else if (v->inputs == 0)
        llfi_str_puts(&s, " its indices are not known to fit 31 bits,");
    llfi_str_puts(&s, " which no kernel takes yet");
    if (!s.failed)
        llfi_log_text(cx, LLFI_LOG_RECOMPILES, s.at, s.len);
    llfi_str_free(&s);
}

static llf_status compile(const wish *w, size_t from)
{
    llfi_variants *vs = w->vs;
    llf_loaded *l = w->l;
    const llf_program *p = l->program;
    size_t most = vs->made.count - from;
    uint32_t jobs = 0;
    llfi_program_job *job = llfi_alloc_zero(&l->mem, most * sizeof *job);
    if (!job)
        return llfi_nomem(&vs->cx.diag);
    for (size_t i = from; i < vs->made.count; i++) {
        llfi_variant *v = vs->made.at[i];
        if (v->owner != v)
            continue;
        log_reason(w, v);
        job[jobs++] = (llfi_program_job){v->graph, &p->plan.kernel[v->kernel], &v->schedule, &v->module};
    }
    llf_status status = jobs ? p->compile(&vs->cx, p, job, jobs) : LLF_OK;
    for (size_t i = from; status == LLF_OK && i < vs->made.count; i++) {
        llfi_variant *v = vs->made.at[i];
        if (v->owner == v)
            status = l->device->add(&vs->cx.diag, l, &v->module, &v->code);
        else if (v->owner) /* older, so it has been added */
            v->code = v->owner->code;
    }
    llfi_free(&l->mem, job, most * sizeof *job);
    return status;
}

/* Those of this prepare that have no code now will never have any. */
static void drop_failed(const wish *w, size_t from)
{
    llfi_variants *vs = w->vs;
    for (size_t i = from; i < vs->made.count; i++) {
        llfi_variant *v = vs->made.at[i], **at = &vs->of[v->kernel];
        if (v->code) {
            atomic_fetch_add_explicit(&vs->count, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&vs->modules, v->owner == v, memory_order_relaxed);
            continue;
        }
        while (*at != v)
            at = &(*at)->next;
        *at = v->next;
        v->owner = NULL;
    }
}

/* ---- the choice */

static void choose_own(llf_execution *e, uint32_t k)
{
    const llf_program *p = e->loaded->program;
    e->variant[k] = NULL;
    e->schedule[k] = &p->kernel[k].schedule;
    e->code[k] = e->loaded->device->code(e->loaded, p->kernel[k].module);
}

/* Under the lock. */
static llf_status choose_all(wish *w)
{
    llf_execution *e = w->e;
    uint32_t kernels = w->l->program->plan.kernels;
    LLF_TRY(begin(w));
    size_t from = w->vs->made.count;
    llf_status status = LLF_OK;
    for (uint32_t k = 0; status == LLF_OK && k < kernels; k++) {
        llfi_variant *v = NULL;
        read_by(w, k);
        bool wide = !holds(e, k, &w->beyond);
        if (w->strided || wide)
            status = find(w, &v);
        e->variant[k] = v;
    }
    if (status == LLF_OK && w->vs->made.count > from)
        status = compile(w, from);
    drop_failed(w, from);
    for (uint32_t k = 0; k < kernels; k++) {
        const llfi_variant *v = e->variant[k];
        if (status != LLF_OK || !v) {
            choose_own(e, k);
            continue;
        }
        e->schedule[k] = &v->schedule;
        e->code[k] = v->code;
    }
    return status;
}

static llf_status choose_variants(llf_execution *e)
{
    llf_loaded *l = e->loaded;
    const llf_program *p = l->program;
    size_t nodes = p->graph->nodes.count;
    wish w = {.e = e, .l = l, .vs = l->variants};
    w.binding = llfi_alloc_zero(&e->mem, nodes * sizeof *w.binding);
    w.read = llfi_alloc_zero(&e->mem, (e->inputs + 1) * sizeof *w.read);
    llf_status status = w.binding && w.read ? LLF_OK : llfi_nomem(&e->diag);
    for (uint32_t b = 0; status == LLF_OK && b < e->inputs; b++)
        w.binding[p->graph->inputs.at[b]] = b + 1;
    if (status == LLF_OK) {
        pthread_mutex_lock(&w.vs->lock);
        status = choose_all(&w);
        if (status != LLF_OK)
            llfi_diag_copy(&e->diag, &w.vs->cx.diag);
        pthread_mutex_unlock(&w.vs->lock);
    }
    llfi_free(&e->mem, w.binding, nodes * sizeof *w.binding);
    llfi_free(&e->mem, w.read, (e->inputs + 1) * sizeof *w.read);
    return status;
}

/* Do the program's own kernels do? */
static bool own_do(const llf_execution *e)
{
    int64_t beyond;
    for (uint32_t b = 0; b < e->inputs; b++)
        if (e->bind[b].strided)
            return false;
    for (uint32_t k = 0; k < e->loaded->program->plan.kernels; k++)
        if (!holds(e, k, &beyond))
            return false;
    return true;
}

llf_status llfi_variant_choose(llf_execution *e)
{
    bool own = own_do(e);
    for (uint32_t k = 0; k < e->loaded->program->plan.kernels && own; k++)
        choose_own(e, k);
    if (!own)
        LLF_TRY(choose_variants(e));
    return llfi_execution_lay_out(e);
}
