/* measure.c: one case at one size: the baseline `none` and the heuristics to compare, compiled, bound to the
 * same inputs, run once from poisoned outputs, checked, and then timed in turns, so that clocks and
 * neighbours affect all alike. */
#include "bench/bench.h"

#include "bench/count.h"
#include "ir/float.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#define OWN_BLOCKS 8u /* inputs that draw their contents for themselves; later ones share */
#define PROGRAMS 9u   /* the baseline and eight heuristics */
#define MAX_SAMPLES 500u
/* Measured time a program after which min_samples is enough; the CPU's samples are longer and fewer would do.
 */
#define BUDGET_MS 400.0
#define BUDGET_HOST_MS 250.0
#define TINY 8 /* elements where only the cost of issuing is left */
#define CALLS 200u
#define ROUNDS 11u
/* Bytes below which launch cost is all there is: no share of a ceiling is given. */
#define CEILING_LEAST ((int64_t)1 << 20)

static const llf_allocator *const mem = &llfi_malloc_allocator;

typedef struct {
    bench_run *r;
    const bench_case *k;
    llf_graph *g;
    int64_t symbol[BENCH_SETS];
    bench_tensor input[BENCH_TENSORS];
    const bench_data *data[BENCH_TENSORS]; /* what the directives say of inputs; NULL: nothing */
    uint64_t scalar[BENCH_TENSORS];
    size_t bytes[BENCH_TENSORS];    /* of each binding */
    void *buffer[2][BENCH_TENSORS]; /* bindings of the baseline and of the others: outputs differ */
    uint32_t inputs, outputs;
    bench_session session[PROGRAMS];
    const char *heuristic[PROGRAMS];
    const char *base;          /* llf_options.set of the baseline */
    llfi_str params[PROGRAMS]; /* and, where one varies, of the others */
    uint32_t programs;
    double *sample[PROGRAMS];
    uint32_t samples;
    double first[PROGRAMS];
    bench_row *row; /* [programs - 1] */
} job;

/* ---- buffers */

static llf_status upload_block(bench_device *d, void *to, const bench_tensor *t)
{
    size_t size = llfi_dtypes[t->dtype].bytes, total = (size_t)t->numel * size, block = t->elements * size;
    size_t from = t->phase * size;
    for (size_t at = 0; at < total; from = 0) {
        size_t piece = block - from < total - at ? block - from : total - at;
        LLF_TRY(d->ops->upload(d, (char *)to + at, (const char *)t->block + from, piece));
        at += piece;
    }
    return LLF_OK;
}

/* Draws the contents of input i, or takes those of one before that asks for the same. */
static bool draw(job *j, uint32_t i, llf_dtype t, int64_t numel, const bench_data *data)
{
    const llf_id *id = j->g->inputs.at;
    for (uint32_t k = 0; i >= OWN_BLOCKS && k < i; k++) {
        const bench_tensor *x = &j->input[k];
        if (j->data[k] == j->data[i] && x->dtype == t && x->numel == numel && !x->shared &&
            llfi_node_at(j->g, id[k])->scalar == llfi_node_at(j->g, id[i])->scalar) {
            j->input[i] = bench_tensor_like(&j->input[k], i);
            return true;
        }
    }
    return bench_tensor_make(&j->input[i], t, numel, data, j->r->opt->seed * 1000 + i);
}

static llf_status make_input(job *j, uint32_t i)
{
    bench_device *d = j->r->device;
    llf_id id = j->g->inputs.at[i];
    const llfi_node *n = llfi_node_at(j->g, id);
    const char *name = llfi_name(j->g, n->name);
    bench_data normal = {.dist = BENCH_NORMAL},
               constant = {.dist = BENCH_VALUE, .value = bench_scalar_value(j->k, name)};
    j->data[i] = bench_data_find(j->k, name);
    bench_data data = n->scalar ? constant : j->data[i] ? *j->data[i] : normal;
    llf_tensor t;
    int64_t numel;
    if (!bench_shape(j->g, id, j->symbol, &t, &numel))
        return llfi_fail(d->diag, LLF_E_LIMIT, "the size of input %%%s overflows", name);
    bench_data_resolve(&data, j->g, j->symbol);
    if (!draw(j, i, t.dtype, numel, &data))
        return llfi_nomem(d->diag);
    j->bytes[i] = (size_t)numel * llfi_dtypes[t.dtype].bytes;
    if (n->scalar) {
        memcpy(&j->scalar[i], j->input[i].block, llfi_dtypes[t.dtype].bytes);
        j->buffer[0][i] = j->buffer[1][i] = &j->scalar[i];
        return LLF_OK;
    }
    LLF_TRY(d->ops->alloc(d, j->bytes[i] ? j->bytes[i] : 1, &j->buffer[0][i]));
    j->buffer[1][i] = j->buffer[0][i];
    return upload_block(d, j->buffer[0][i], &j->input[i]);
}

static llf_status make_buffers(job *j)
{
    bench_device *d = j->r->device;
    j->inputs = llf_graph_inputs(j->g);
    j->outputs = llf_graph_outputs(j->g);
    if (j->inputs + j->outputs > BENCH_TENSORS)
        return llfi_fail(d->diag, LLF_E_LIMIT, "more than %u inputs and outputs", BENCH_TENSORS);
    for (uint32_t i = 0; i < j->inputs; i++)
        LLF_TRY(make_input(j, i));
    for (uint32_t i = 0; i < j->outputs; i++) {
        llf_tensor t;
        int64_t numel;
        uint32_t at = j->inputs + i;
        if (!bench_shape(j->g, j->g->outputs.at[i], j->symbol, &t, &numel))
            return llfi_fail(d->diag, LLF_E_LIMIT, "the size of output %u overflows", i);
        j->bytes[at] = (size_t)numel * llfi_dtypes[t.dtype].bytes;
        for (uint32_t side = 0; side < 2; side++)
            LLF_TRY(d->ops->alloc(d, j->bytes[at] ? j->bytes[at] : 1, &j->buffer[side][at]));
    }
    return LLF_OK;
}

static void release(job *j)
{
    bench_device *d = j->r->device;
    for (uint32_t p = 0; p < j->programs; p++) {
        bench_session_close(&j->session[p]);
        llfi_free(mem, j->sample[p], MAX_SAMPLES * sizeof(double));
    }
    for (uint32_t p = 0; p < PROGRAMS; p++)
        llfi_str_free(&j->params[p]);
    for (uint32_t i = 0; i < BENCH_TENSORS; i++) {
        size_t bytes = j->bytes[i] ? j->bytes[i] : 1;
        bool scalar = j->buffer[0][i] == &j->scalar[i];
        if (j->buffer[0][i] && !scalar)
            d->ops->release(d, j->buffer[0][i], bytes);
        if (j->buffer[1][i] && !scalar && j->buffer[1][i] != j->buffer[0][i])
            d->ops->release(d, j->buffer[1][i], bytes);
        if (j->input[i].block)
            bench_tensor_free(&j->input[i]);
    }
    if (j->g)
        llf_graph_destroy(j->g);
    llfi_free(mem, j->row, PROGRAMS * sizeof *j->row);
}

/* ---- running */

static llf_status run_session(void *user, void *stream)
{
    bench_session *s = user;
    return llf_run(s->execution, stream);
}

static llf_status explain_failure(job *j, uint32_t p, llf_status status)
{
    if (status == LLF_OK)
        return LLF_OK;
    const llf_diagnostic *e = llf_execution_error(j->session[p].execution);
    return llfi_fail(&j->r->cx->diag, status, "%s",
                     e && e->status == status ? e->message : llf_status_text(status));
}

/* DIR/CASE.HEURISTIC.llf */
static llf_status write_plan(job *j, uint32_t p)
{
    char path[4096], *text;
    size_t bytes;
    const char *dir = j->r->opt->plan_out;
    llfi_diag *d = &j->r->cx->diag;
    if (!dir)
        return LLF_OK;
    if (mkdir(dir, 0777) && errno != EEXIST)
        return llfi_fail(d, LLF_E_IO, "--plan-out: %s cannot be made: %s", dir, strerror(errno));
    LLF_TRY(llf_plan_export(j->r->cx, j->session[p].program, &text, &bytes));
    snprintf(path, sizeof path, "%s/%s.%s.llf", dir, j->k->name, j->heuristic[p]);
    FILE *f = fopen(path, "w");
    bool fine = f && fwrite(text, 1, bytes, f) == bytes;
    fine = f && !fclose(f) && fine;
    llf_text_free(j->r->cx, text, bytes);
    return fine ? LLF_OK
                : llfi_fail(d, LLF_E_IO, "--plan-out: %s cannot be written: %s", path, strerror(errno));
}

static void use_params(job *j, uint32_t p)
{
    j->r->params = j->params[p].len ? j->params[p].at : j->base;
}

/* Compiles and binds program p; the first run after loading, from poisoned outputs. The two sides' poisons
 * differ, so that an element neither side wrote shows. */
static llf_status start_program(job *j, uint32_t p)
{
    bench_device *d = j->r->device;
    bench_session *s = &j->session[p];
    uint32_t side = p ? 1 : 0;
    bench_progress(j->r, "%s: compiling %s", j->k->name, j->heuristic[p]);
    use_params(j, p);
    LLF_TRY(bench_session_open(j->r, j->g, j->heuristic[p], s));
    LLF_TRY(write_plan(j, p));
    LLF_TRY(bench_session_bind(j->r, s->execution, j->g, j->symbol, j->buffer[side]));
    for (uint32_t i = j->inputs; i < j->inputs + j->outputs; i++)
        LLF_TRY(d->ops->fill(d, j->buffer[side][i], side ? 0xA5 : 0x5A, j->bytes[i]));
    LLF_TRY(d->ops->sync(d));
    llf_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    LLF_TRY(llf_execution_stats(s->execution, &before));
    double start = llfi_now_ms();
    LLF_TRY(explain_failure(j, p, llf_run(s->execution, d->stream)));
    LLF_TRY(d->ops->sync(d));
    j->first[p] = llfi_now_ms() - start;
    LLF_TRY(llf_execution_stats(s->execution, &after));
    if (p)
        j->row[p - 1].launches = (double)(after.launches - before.launches);
    return LLF_OK;
}

static llf_status check(job *j, uint32_t p)
{
    bench_row *row = &j->row[p - 1];
    bench_verdict v = {.same = true, .sound = true, .max_err = NAN};
    if (!j->r->opt->check)
        return LLF_OK;
    bench_progress(j->r, "%s: checking %s", j->k->name, j->heuristic[p]);
    LLF_TRY(bench_check_same(j->r, j->g, j->symbol, &j->buffer[0][j->inputs], &j->buffer[1][j->inputs], &v));
    if (v.same)
        LLF_TRY(bench_check_nodes(j->r, j->g, j->symbol, j->input, &j->buffer[1][j->inputs], &v));
    row->max_err = v.max_err;
    if (!v.same || !v.sound)
        bench_row_fault(row, "%s", v.why);
    return LLF_OK;
}

static llf_status sample_all(job *j)
{
    bench_device *d = j->r->device;
    double spent = 0;
    for (uint32_t i = 0; i < j->r->opt->warmup; i++)
        for (uint32_t p = 0; p < j->programs; p++)
            LLF_TRY(explain_failure(j, p, llf_run(j->session[p].execution, d->stream)));
    LLF_TRY(d->ops->sync(d));
    uint32_t least = j->r->opt->min_samples < MAX_SAMPLES ? j->r->opt->min_samples : MAX_SAMPLES;
    double budget = d->ops == &bench_host ? BUDGET_HOST_MS : BUDGET_MS;
    if (j->r->opt->budget)
        budget = j->r->opt->budget;
    while (j->samples < least || (spent < budget && j->samples < MAX_SAMPLES / 2)) {
        bench_progress(j->r, "%s: sample %u", j->k->name, j->samples + 1);
        double start = llfi_now_ms();
        for (uint32_t p = 0; p < j->programs; p++) {
            LLF_TRY(bench_flush(d));
            LLF_TRY(explain_failure(j, p,
                                    d->ops->time(d, run_session, &j->session[p], &j->sample[p][j->samples])));
        }
        spent += (llfi_now_ms() - start) / j->programs;
        j->samples++;
    }
    return LLF_OK;
}

/* ---- what issuing costs */

static llf_status issue_cost(job *j, uint32_t p)
{
    bench_device *d = j->r->device;
    bench_session *s = &j->session[p];
    bench_row *row = &j->row[p - 1];
    int64_t tiny[BENCH_SETS];
    double ours[ROUNDS], bare[ROUNDS];
    const llf_program *program = s->program;
    if (!llfi_dims_symbols(j->g->dims))
        return LLF_OK; /* fixed extents: there is no tiny size */
    for (uint32_t i = 0; i < llfi_dims_symbols(j->g->dims); i++)
        tiny[i] = j->symbol[i] < TINY ? j->symbol[i] : TINY;
    llf_execution *e = NULL;
    LLF_TRY(llf_execution_create(j->r->cx, s->loaded, &e));
    llf_status status = bench_session_bind(j->r, e, j->g, tiny, j->buffer[1]);
    bool has_bare = true;
    uint32_t calls = CALLS / (program->plan.kernels ? program->plan.kernels : 1) + 1;
    for (uint32_t round = 0; round < ROUNDS && status == LLF_OK; round++) {
        double start = llfi_now_ms();
        for (uint32_t i = 0; i < calls && status == LLF_OK; i++)
            status = llf_run(e, d->stream);
        ours[round] = (llfi_now_ms() - start) * 1e3 / calls;
        bare[round] = 0;
        for (uint32_t k = 0; k < program->plan.kernels && status == LLF_OK && has_bare; k++) {
            double us = -1;
            status = d->ops->bare_launch(d, program->kernel[k].schedule.args, calls, &us);
            has_bare = us >= 0;
            bare[round] += us;
        }
        if (status == LLF_OK)
            status = d->ops->sync(d);
    }
    llf_execution_destroy(e);
    if (status == LLF_OK) {
        row->launch_us = bench_stat_of(ours, ROUNDS).median;
        row->launch_us_bare = has_bare ? bench_stat_of(bare, ROUNDS).median : NAN;
    }
    return status;
}

/* ---- the CPU's reference */

typedef struct {
    bench_openmp_fn *fn;
    const float *in[BENCH_TENSORS];
    float *out[BENCH_TENSORS];
    long n;
} openmp_job;

static llf_status run_openmp(void *user, void *stream)
{
    (void)stream;
    openmp_job *o = user;
    o->fn(o->in, o->out, o->n);
    return LLF_OK;
}

/* After the turns, not among them: OpenMP's threads keep spinning for a while and would slow down ours. */
static llf_status time_openmp(job *j)
{
    bench_device *d = j->r->device;
    bench_openmp_fn *fn = bench_openmp_find(j->k->name);
    double sample[MAX_SAMPLES];
    if (!j->r->opt->compare_openmp || !fn)
        return LLF_OK;
    openmp_job o = {.fn = fn, .n = (long)j->input[0].numel};
    for (uint32_t i = 0; i < j->inputs; i++)
        o.in[i] = j->buffer[1][i];
    for (uint32_t i = 0; i < j->outputs; i++)
        o.out[i] = j->buffer[1][j->inputs + i];
    bench_openmp_threads((int)d->threads);
    for (uint32_t i = 0; i <= j->samples && i < MAX_SAMPLES; i++) {
        LLF_TRY(bench_flush(d));
        LLF_TRY(d->ops->time(d, run_openmp, &o, &sample[i ? i - 1 : 0]));
    }
    for (uint32_t p = 1; p < j->programs; p++)
        j->row[p - 1].ms_openmp = bench_stat_of(sample, j->samples).median;
    return LLF_OK;
}

/* ---- rows */

static llf_status finish_row(job *j, uint32_t p)
{
    bench_row *row = &j->row[p - 1];
    bench_device *d = j->r->device;
    use_params(j, p);
    LLF_TRY(bench_count(j->r, j->k, j->g, j->symbol, &j->session[0], &j->session[p], row));
    row->ms_first = j->first[p];
    row->fused = bench_stat_of(j->sample[p], j->samples);
    row->speedup = row->unfused.median / row->fused.median;
    row->gbps = (double)row->bytes_fused / row->fused.median * 1e-6;
    row->tflops = row->flops / row->fused.median * 1e-9;
    double net = row->fused.median - d->empty_ms; /* as the ceiling's time is taken */
    if (row->bytes_fused >= CEILING_LEAST && net > 0) {
        double ceiling_ms;
        bench_progress(j->r, "%s: the memory's ceiling", j->k->name);
        LLF_TRY(bench_count_ceiling(j->r, &j->session[p], j->g, j->symbol, &ceiling_ms));
        if (ceiling_ms < d->empty_ms) /* what is left after taking off an empty kernel's time is noise */
            return LLF_OK;
        row->ceiling_gbps = (double)row->bytes_fused / ceiling_ms * 1e-6;
        row->pct_of_ceiling = 100 * ceiling_ms / net;
    }
    return LLF_OK;
}

static llf_status measure(job *j)
{
    LLF_TRY(llf_graph_parse(j->r->cx, j->k->text, j->k->bytes, j->k->file, &j->g));
    LLF_TRY(bench_bind_symbols(j->r, j->k, j->g, j->r->sweep_value, j->symbol));
    for (uint32_t p = 0; p < j->programs; p++) {
        j->sample[p] = llfi_alloc_zero(mem, MAX_SAMPLES * sizeof(double));
        if (!j->sample[p])
            return llfi_nomem(&j->r->cx->diag);
    }
    LLF_TRY(make_buffers(j));
    for (uint32_t p = 0; p < j->programs; p++) {
        LLF_TRY(start_program(j, p));
        if (p)
            LLF_TRY(check(j, p));
    }
    LLF_TRY(sample_all(j));
    for (uint32_t p = 1; p < j->programs; p++)
        LLF_TRY(issue_cost(j, p));
    LLF_TRY(time_openmp(j));
    bench_stat unfused = bench_stat_of(j->sample[0], j->samples);
    for (uint32_t p = 1; p < j->programs; p++) {
        j->row[p - 1].unfused = unfused;
        LLF_TRY(finish_row(j, p));
    }
    return LLF_OK;
}

/* One of a heuristic, or one a value of the parameter that varies. */
static llf_status add_programs(job *j, const char *heuristic)
{
    const bench_options *o = j->r->opt;
    for (uint32_t i = 0; i < (o->varies ? o->varies : 1); i++) {
        uint32_t p = j->programs++;
        j->heuristic[p] = heuristic;
        bench_row_init(&j->row[p - 1], j->r, j->k, heuristic);
        if (!o->varies)
            continue;
        bench_row *row = &j->row[p - 1];
        size_t used = o->heuristics > 1 ? strlen(row->heuristic) : 0;
        snprintf(row->heuristic + used, sizeof row->heuristic - used, "%s%s", used ? " " : "", o->vary[i]);
        llfi_str_printf(&j->params[p], "%s%s%s", j->base ? j->base : "", j->base ? "," : "", o->vary[i]);
        if (j->params[p].failed)
            return llfi_nomem(&j->r->cx->diag);
    }
    return LLF_OK;
}

llf_status bench_measure(bench_run *r, const bench_case *k)
{
    job *j = llfi_alloc_zero(mem, sizeof *j);
    if (!j)
        return llfi_nomem(&r->cx->diag);
    j->r = r;
    j->k = k;
    j->row = llfi_alloc_zero(mem, PROGRAMS * sizeof *j->row);
    j->heuristic[0] = "none";
    j->programs = 1;
    j->base = r->params;
    for (uint32_t p = 0; p < PROGRAMS; p++)
        llfi_str_init(&j->params[p], mem);
    llf_status status = j->row ? LLF_OK : llfi_nomem(&r->cx->diag);
    for (uint32_t i = 0; i < r->opt->heuristics && status == LLF_OK; i++)
        status = add_programs(j, r->opt->heuristic[i]);
    if (status == LLF_OK)
        status = measure(j);
    if (status == LLF_OK && !llfi_vec_reserve(mem, &r->rows, j->programs - 1))
        status = llfi_nomem(&r->cx->diag);
    for (uint32_t p = 1; p < j->programs && status == LLF_OK; p++)
        r->rows.at[r->rows.count++] = j->row[p - 1];
    release(j);
    r->params = j->base;
    llfi_free(mem, j, sizeof *j);
    return status;
}
