/* count.c: kernels, transfers, bytes, operations and expectations of a row, from the plans alone. It must not
 * measure anything but the ceiling it is asked for. */
#include "bench/count.h"
#include "bench/moved.h"

#include <math.h>

static const llf_allocator *const mem = &llfi_malloc_allocator;

void bench_row_init(bench_row *row, const bench_run *r, const bench_case *k, const char *heuristic)
{
    *row = (bench_row){.ok = true};
    snprintf(row->case_name, sizeof row->case_name, "%s", k->name);
    snprintf(row->heuristic, sizeof row->heuristic, "%s", heuristic);
    snprintf(row->target, sizeof row->target, "%s", r->target);
    snprintf(row->device, sizeof row->device, "%s", r->device->title);
    row->speedup = row->gbps = row->tflops = row->ceiling_gbps = row->pct_of_ceiling = NAN;
    row->launch_us = row->launch_us_bare = row->max_err = row->ms_openmp = NAN;
}

void bench_row_fault(bench_row *row, const char *fmt, ...)
{
    va_list args;
    if (!row->ok)
        return;
    row->ok = false;
    va_start(args, fmt);
    vsnprintf(row->note, sizeof row->note, fmt, args);
    va_end(args);
}

/* ---- symbols */

static bool find_setting(const bench_setting *set, uint32_t count, const char *name, int64_t *value)
{
    bool found = false;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(set[i].name, name)) { /* the last one holds */
            *value = set[i].value;
            found = true;
        }
    return found;
}

llf_status bench_bind_symbols(bench_run *r, const bench_case *k, const llf_graph *g, const int64_t *sweep,
                              int64_t *symbol)
{
    uint32_t count = llfi_dims_symbols(g->dims);
    if (count > BENCH_SETS)
        return llfi_fail(&r->cx->diag, LLF_E_LIMIT, "%s: more than %u symbols", k->file, BENCH_SETS);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = llfi_dims_symbol_name(g->dims, i);
        if (sweep && !strcmp(name, r->opt->sweep_symbol))
            symbol[i] = *sweep;
        else if (!find_setting(r->opt->set, r->opt->sets, name, &symbol[i]) &&
                 !(r->device && r->device->ops == &bench_host &&
                   find_setting(k->host, k->hosts, name, &symbol[i])) &&
                 !find_setting(k->set, k->sets, name, &symbol[i]))
            return llfi_fail_at(&r->cx->diag, LLF_E_ARG, (llfi_place){k->file, 1, 1}, NULL,
                                "symbol %s has no value; give --set %s=1Mi or a line '; set %s=1Mi'", name,
                                name, name);
    }
    return LLF_OK;
}

/* ---- plans */

/* Symbol values by the program's own order. */
static bool program_symbols(const llf_program *p, const llf_graph *g, const int64_t *symbol, int64_t *out)
{
    for (uint32_t i = 0; i < llfi_dims_symbols(p->graph->dims) && i < BENCH_SETS; i++) {
        const char *name = llfi_dims_symbol_name(p->graph->dims, i);
        out[i] = -1;
        for (uint32_t s = 0; s < llfi_dims_symbols(g->dims); s++)
            if (!strcmp(llfi_dims_symbol_name(g->dims, s), name))
                out[i] = symbol[s];
    }
    return llfi_dims_symbols(p->graph->dims) <= BENCH_SETS;
}

static uint32_t flops_of(llf_op op)
{
    if (llfi_ops[op].cls == LLFI_CLASS_INDEX || llfi_ops[op].cls == LLFI_CLASS_LEAF)
        return 0;
    switch (op) {
    case LLF_OP_COPY:
    case LLF_OP_CAST:
    case LLF_OP_WHERE: return 0; /* moves */
    case LLF_OP_FMA: return 2;
    default: return 1;
    }
}

static double plan_flops(const llf_program *p, const int64_t *symbol)
{
    double sum = 0;
    for (uint32_t k = 0; k < p->plan.kernels; k++)
        for (uint32_t m = 0; m < p->plan.kernel[k].members; m++) {
            llf_id id = p->plan.kernel[k].member[m];
            llf_tensor t;
            int64_t numel;
            if (bench_shape(p->graph, id, symbol, &t, &numel))
                sum += (double)numel * flops_of((llf_op)llfi_node_at(p->graph, id)->op);
        }
    return sum;
}

static void expect(const bench_run *r, const bench_case *k, bench_row *row)
{
    bool greedy = !strcmp(row->heuristic, "greedy"); /* expectations are of the default heuristic */
    if (r->params)
        return; /* other limits, other plans */
    if (k->expect_kernels &&
        (row->kernels_unfused != k->kernels[0] || (greedy && row->kernels_fused != k->kernels[1])))
        bench_row_fault(row, "kernels %u -> %u, expected %u -> %u", row->kernels_unfused, row->kernels_fused,
                        k->kernels[0], k->kernels[1]);
    if (k->expect_transfers &&
        (row->transfers_unfused != k->transfers[0] || (greedy && row->transfers_fused != k->transfers[1])))
        bench_row_fault(row, "transfers %u -> %u, expected %u -> %u", row->transfers_unfused,
                        row->transfers_fused, k->transfers[0], k->transfers[1]);
}

static void read_code(const bench_session *s, bench_row *row)
{
    const llf_program *p = s->program;
    row->registers = row->spills = 0;
    row->load_ms = s->loaded->load_ms;
    row->start_ms = s->loaded->start_ms;
    for (uint32_t i = 0; i < p->modules && s->loaded->info; i++) {
        int registers = s->loaded->info[i].registers, local = s->loaded->info[i].local_bytes;
        row->registers = registers > row->registers ? registers : row->registers;
        row->spills = local > row->spills ? local : row->spills;
    }
    row->compile_ms = s->compile_ms;
    row->passes_ms = p->phase.passes_ms;
    row->plan_ms = p->phase.plan_ms;
    row->lower_ms = p->phase.lower_ms;
    row->opt_ms = p->phase.opt_ms;
    row->emit_ms = p->phase.emit_ms;
}

static void name_symbols(const llf_graph *g, const int64_t *symbol, bench_row *row)
{
    row->symbols = 0;
    for (uint32_t i = 0; i < llfi_dims_symbols(g->dims) && i < LLFI_COUNT(row->symbol); i++) {
        snprintf(row->symbol[i], BENCH_NAME, "%s", llfi_dims_symbol_name(g->dims, i));
        row->extent[i] = symbol[i];
        row->symbols++;
    }
}

/* No elements at all: nothing may be launched. */
static bool is_empty(const llf_graph *g, const int64_t *symbol)
{
    for (uint32_t i = 0; i < g->outputs.count; i++) {
        llf_tensor t;
        int64_t numel;
        if (bench_shape(g, g->outputs.at[i], symbol, &t, &numel) && numel)
            return false;
    }
    return true;
}

llf_status bench_count(bench_run *r, const bench_case *k, const llf_graph *g, const int64_t *symbol,
                       const bench_session *unfused, const bench_session *fused, bench_row *row)
{
    int64_t own[2][BENCH_SETS], stored;
    const llf_program *p[2] = {unfused->program, fused->program};
    int64_t *bytes[2] = {&row->bytes_unfused, &row->bytes_fused};
    uint32_t *transfers[2] = {&row->transfers_unfused, &row->transfers_fused};
    llfi_arena scratch;
    llfi_arena_init(&scratch, mem);
    llf_status status = LLF_OK;
    for (uint32_t i = 0; i < 2 && status == LLF_OK; i++) {
        if (!program_symbols(p[i], g, symbol, own[i]))
            status = llfi_fail(&r->cx->diag, LLF_E_LIMIT, "%s: too many symbols", k->file);
        else
            status = llfi_plan_bytes(p[i]->graph, &p[i]->plan, own[i], &scratch, &stored, transfers[i]);
        if (status == LLF_OK)
            status = bench_moved_plan(p[i]->graph, &p[i]->plan, own[i], &scratch, bytes[i]);
    }
    if (status == LLF_OK)
        status = bench_moved_least(p[1]->graph, own[1], &scratch, &row->bytes_min);
    llfi_arena_destroy(&scratch);
    LLF_TRY(status);
    row->nodes = (uint32_t)g->nodes.count;
    row->kernels_unfused = p[0]->plan.kernels;
    row->kernels_fused = p[1]->plan.kernels;
    row->flops = plan_flops(p[1], own[1]);
    snprintf(row->target, sizeof row->target, "%s", p[1]->target.name);
    read_code(fused, row);
    name_symbols(g, symbol, row);
    uint32_t planned = is_empty(g, symbol) ? 0 : row->kernels_fused;
    if (row->launches != planned)
        bench_row_fault(row, "%.0f launches counted, the plan has %u", row->launches, planned);
    if (row->spills)
        bench_row_fault(row, "a kernel uses %d bytes of local memory a thread", row->spills);
    expect(r, k, row);
    return LLF_OK;
}

/* ---- ceiling */

static llf_status kernel_ceiling(bench_run *r, bench_mover *m, const llfi_kernel *k, double *ms)
{
    bench_streams s;
    uint32_t reads, writes;
    const bench_ceiling *c;
    LLF_TRY(bench_moved(m, k->member, k->members, k->store, k->stores, &s));
    int64_t bytes = bench_streams_bytes(&s);
    bench_mix(&s, &reads, &writes);
    *ms = 0;
    if (bytes <= 0 || (!reads && !writes))
        return LLF_OK;
    LLF_TRY(bench_ceiling_get(r->device, &r->ceilings, reads, writes, (size_t)bytes / (reads + writes), &c));
    *ms = (double)bytes / c->gbps * 1e-6;
    return LLF_OK;
}

llf_status bench_count_ceiling(bench_run *r, const bench_session *s, const llf_graph *g,
                               const int64_t *symbol, double *ms)
{
    int64_t own[BENCH_SETS];
    llfi_arena scratch;
    bench_mover m;
    *ms = 0;
    program_symbols(s->program, g, symbol, own);
    llfi_arena_init(&scratch, mem);
    llf_status status = bench_mover_init(&m, s->program->graph, own, &scratch);
    for (uint32_t k = 0; k < s->program->plan.kernels && status == LLF_OK; k++) {
        double one = 0;
        status = kernel_ceiling(r, &m, &s->program->plan.kernel[k], &one);
        *ms += one;
    }
    llfi_arena_destroy(&scratch);
    return status;
}
