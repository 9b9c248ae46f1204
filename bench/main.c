/* main.c: llfuse-bench from the command line to the exit code. Measuring, checking and reporting live
 * elsewhere. */
#include "bench/bench.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const llf_allocator *const mem = &llfi_malloc_allocator;

static void progress_end(const bench_run *r)
{
    if (r->live)
        fputs("\r\033[K", stderr);
}

/* One message; its exit code. */
static int complain(const bench_run *r, const llfi_diag *d, llf_status status)
{
    progress_end(r);
    const char *text = d && d->pub.status == status && d->message[0] ? d->message : llf_status_text(status);
    fprintf(stderr, "llfuse-bench: %s\n", text);
    return cli_exit_of(status);
}

/* ---- settings */

static bool is_param(const char *name)
{
    for (size_t i = 0; i < llfi_param_count; i++)
        if (!strcmp(llfi_param_table[i].name, name))
            return true;
    return false;
}

/* The text of --plan-in, which is of one case. */
static llf_status read_plan(bench_run *r, const bench_cases *cases)
{
    const char *file = r->opt->plan_in;
    if (!file)
        return LLF_OK;
    if (cases->count != 1)
        return llfi_fail(&r->cx->diag, LLF_E_ARG,
                         "--plan-in is a plan of one case, and %zu are to be measured; see --case",
                         cases->count);
    return llfi_read_file(mem, &r->cx->diag, file, LLFI_MAX_FILE, &r->plan, &r->plan_bytes);
}

static void mark_symbols(const llf_graph *g, const bench_options *o, bool *known, bool *swept)
{
    for (uint32_t s = 0; s < llfi_dims_symbols(g->dims); s++) {
        const char *name = llfi_dims_symbol_name(g->dims, s);
        for (uint32_t i = 0; i < o->sets; i++)
            known[i] |= !strcmp(o->set[i].name, name);
        *swept |= !strcmp(o->sweep_symbol, name);
    }
}

/* Parses every case, so that bad input is reported before anything is measured; every name of --set and
 * --sweep must mean something to some case. */
static llf_status validate(bench_run *r, const bench_cases *cases)
{
    bool known[BENCH_SETS] = {false}, swept = false;
    int64_t symbol[BENCH_SETS];
    for (size_t i = 0; i < cases->count; i++) {
        llf_graph *g = NULL;
        const bench_case *k = &cases->at[i];
        LLF_TRY(llf_graph_parse(r->cx, k->text, k->bytes, k->file, &g));
        mark_symbols(g, r->opt, known, &swept);
        r->sweep_value = r->opt->sweeps ? &r->opt->sweep[0] : NULL;
        llf_status status = bench_case_fits(&r->cx->diag, k, g);
        if (status == LLF_OK)
            status = bench_bind_symbols(r, k, g, r->sweep_value, symbol);
        llf_graph_destroy(g);
        LLF_TRY(status);
    }
    for (uint32_t i = 0; i < r->opt->sets; i++)
        if (!known[i])
            return llfi_fail(&r->cx->diag, LLF_E_ARG, "--set: no case has a symbol '%s'%s",
                             r->opt->set[i].name,
                             is_param(r->opt->set[i].name) ? "; fusion parameters are set by --param" : "");
    if (r->opt->sweeps && !swept)
        return llfi_fail(&r->cx->diag, LLF_E_ARG, "--sweep: no case has a symbol '%s'", r->opt->sweep_symbol);
    return LLF_OK;
}

/* ---- target and device */

static bool names_backend(const char *target, const char *backend)
{
    size_t n = strlen(backend);
    return !strncmp(target, backend, n) && (!target[n] || target[n] == ':');
}

static llf_status open_device(bench_run *r, bench_device *d)
{
    const char *t = r->opt->target;
    if (t && !names_backend(t, "host") && !names_backend(t, "nvptx"))
        return llfi_fail(&r->cx->diag, LLF_E_TARGET,
                         "--target: '%s' is neither host nor nvptx[:sm_NN[+ptxNN]]", t);
    if (!t || names_backend(t, "nvptx")) {
        llf_status status = bench_cuda.open(&r->cx->diag, d, r->opt->threads);
        r->target = t ? t : "nvptx";
        if (status == LLF_OK || t)
            return status;
        fprintf(stderr, "llfuse-bench: no GPU (%s): measuring the CPU target\n", r->cx->diag.message);
    }
    r->target = t ? t : "host";
    return bench_host.open(&r->cx->diag, d, r->opt->threads);
}

/* For --emit and --explain no device is needed. */
static void pick_target(bench_run *r)
{
    r->target = r->opt->target;
    if (!r->target)
        r->target = r->opt->emit && !strcmp(r->opt->emit, "ptx") ? "nvptx" : "host";
}

/* ---- what to do */

static void list_cases(const bench_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        const bench_case *k = &cases->at[i];
        printf("%-22s", k->name);
        int width = 0;
        for (uint32_t s = 0; s < k->sets; s++)
            width += printf(" %s=%lld", k->set[s].name, (long long)k->set[s].value);
        if (k->expect_kernels)
            printf("%*s  kernels %2u -> %u", width < 12 ? 12 - width : 0, "", k->kernels[0], k->kernels[1]);
        if (k->expect_transfers)
            printf("  transfers %u -> %u", k->transfers[0], k->transfers[1]);
        putchar('\n');
    }
}

static int inspect(bench_run *r, const bench_cases *cases)
{
    llfi_str out;
    llf_status status = LLF_OK;
    pick_target(r);
    llfi_str_init(&out, mem);
    for (size_t i = 0; i < cases->count && status == LLF_OK; i++) {
        llfi_str_clear(&out);
        status = r->opt->emit ? bench_emit(r, &cases->at[i], &out) : bench_explain(r, &cases->at[i], &out);
        if (status == LLF_OK && out.failed)
            status = llfi_nomem(&r->cx->diag);
        if (status == LLF_OK && r->opt->explain && i)
            putchar('\n');
        if (status == LLF_OK && out.at)
            fwrite(out.at, 1, out.len, stdout);
    }
    llfi_str_free(&out);
    return status == LLF_OK ? CLI_DONE : complain(r, &r->cx->diag, status);
}

/* A failure of one case is a row that says so; the others go on. */
static int measure_case(bench_run *r, const bench_case *k)
{
    llf_status status = bench_measure(r, k);
    if (status == LLF_OK)
        return CLI_DONE;
    progress_end(r);
    fprintf(stderr, "llfuse-bench: %s: ", k->name);
    fprintf(stderr, "%s\n", r->cx->diag.pub.status == status ? r->cx->diag.message : llf_status_text(status));
    return cli_exit_of(status);
}

static int measure_all(bench_run *r, const bench_cases *cases)
{
    int code = CLI_DONE;
    for (size_t i = 0; i < cases->count; i++)
        for (uint32_t s = 0; s < (r->opt->sweeps ? r->opt->sweeps : 1); s++) {
            r->sweep_value = r->opt->sweeps ? &r->opt->sweep[s] : NULL;
            int one = measure_case(r, &cases->at[i]);
            code = code ? code : one;
        }
    for (size_t i = 0; i < r->rows.count; i++)
        code = code || r->rows.at[i].ok ? code : CLI_FAILED;
    progress_end(r);
    return code;
}

static int ceiling_table(bench_run *r)
{
    const bench_device *d = r->device;
    size_t bytes = d->ops == &bench_cuda ? (size_t)256 << 20 : (size_t)64 << 20;
    printf("%s%s%s, copy %.0f GB/s, empty kernel %.2f us, %zu MiB a tensor\n", d->title,
           d->driver[0] ? ", " : "", d->driver, d->copy_gbps, d->empty_ms * 1e3, bytes >> 20);
    for (uint32_t reads = 0; reads <= BENCH_MAX_READS; reads++)
        for (uint32_t writes = 0; writes <= BENCH_MAX_WRITES; writes++) {
            const bench_ceiling *c;
            if (!reads && !writes)
                continue;
            bench_progress(r, "%u reads, %u writes", reads, writes);
            llf_status status = bench_ceiling_get(r->device, &r->ceilings, reads, writes, bytes, &c);
            if (status != LLF_OK)
                return complain(r, &r->cx->diag, status);
            progress_end(r);
            printf("%u reads : %u writes  %8.1f GB/s  %s\n", reads, writes, c->gbps, c->variant);
        }
    return CLI_DONE;
}

/* ---- reports */

/* Before anything is measured: a run of minutes must not end in a report that nobody gets. What is there
 * stays as it is until the report is ready. */
static bool can_write(const char *path)
{
    if (!path || !strcmp(path, "-"))
        return true;
    bool new = access(path, F_OK) != 0;
    FILE *f = fopen(path, "a");
    if (!f) {
        fprintf(stderr, "llfuse-bench: cannot write %s: %s\n", path, strerror(errno));
        return false;
    }
    fclose(f);
    if (new)
        remove(path);
    return true;
}

static bool write_text(const char *path, llfi_str *s)
{
    bool out = !strcmp(path, "-");
    FILE *f = out ? stdout : fopen(path, "w");
    bool fine = f && !s->failed && fwrite(s->at, 1, s->len, f) == s->len;
    fine = f && (out ? !fflush(f) : !fclose(f)) && fine;
    if (!fine)
        fprintf(stderr, "llfuse-bench: cannot write %s: %s\n", path, strerror(errno));
    return fine;
}

static int report(bench_run *r)
{
    const bench_device *d = r->device;
    const bench_options *o = r->opt;
    bench_header h = {.device = d->title,
                      .driver = d->driver,
                      .target = r->target,
                      .empty_us = d->empty_ms * 1e3,
                      .copy_gbps = d->copy_gbps,
                      .cache_bytes = d->cache_bytes,
                      .threads = d->threads,
                      .check = o->check,
                      .warm = o->warm};
    bool taken = (o->json && !strcmp(o->json, "-")) || (o->csv && !strcmp(o->csv, "-"));
    FILE *people = taken ? stderr : stdout;
    const char *no_color = getenv("NO_COLOR"); /* no-color.org: any value that is not empty */
    bool colour = isatty(fileno(people)) && !(no_color && *no_color);
    if (r->rows.count)
        h.target = r->rows.at[0].target;
    if (r->rows.count) /* each case that has no row has said why */
        bench_report_table(people, &h, &r->rows, colour);
    llfi_str s;
    llfi_str_init(&s, mem);
    bool fine = true;
    if (o->json) {
        bench_report_json(&s, &h, &r->rows, &r->ceilings);
        fine = write_text(o->json, &s);
    }
    llfi_str_clear(&s);
    if (o->csv) {
        bench_report_csv(&s, &r->rows);
        fine = write_text(o->csv, &s) && fine;
    }
    llfi_str_free(&s);
    return fine ? CLI_DONE : CLI_USAGE;
}

static int measure(bench_run *r, const bench_cases *cases)
{
    bench_device device = {0};
    r->device = &device;
    llf_status status = open_device(r, &device);
    if (status != LLF_OK)
        return complain(r, &r->cx->diag, status);
    device.warm = r->opt->warm;
    bench_progress(r, "measuring an empty kernel and a copy");
    status = validate(r, cases);
    if (status == LLF_OK)
        status = bench_ceiling_header(&device);
    int code;
    if (status != LLF_OK)
        code = complain(r, &r->cx->diag, status);
    else if (r->opt->ceiling)
        code = ceiling_table(r);
    else {
        code = measure_all(r, cases);
        int written = report(r);
        code = code ? code : written;
    }
    bench_ceilings_free(&r->ceilings);
    device.ops->close(&device);
    llfi_vec_free(mem, &r->rows);
    return code;
}

static int run(const bench_options *o)
{
    bench_cases cases = {0};
    bench_run r = {.opt = o, .params = o->param.len ? o->param.at : NULL, .live = isatty(STDERR_FILENO) != 0};
    r.cx = llf_context_create(NULL);
    if (!r.cx)
        return complain(&r, NULL, LLF_E_NOMEM);
    int code;
    llf_status status = llf_context_status(r.cx);
    if (status == LLF_OK)
        status = bench_cases_load(&r.cx->diag, o, &cases);
    if (status == LLF_OK)
        status = read_plan(&r, &cases);
    if (status == LLF_OK && !o->list && (o->emit || o->explain)) {
        status = validate(&r, &cases);
        code = status == LLF_OK ? inspect(&r, &cases) : complain(&r, &r.cx->diag, status);
    } else if (status != LLF_OK) {
        code = complain(&r, &r.cx->diag, status);
    } else if (o->list) {
        list_cases(&cases);
        code = CLI_DONE;
    } else if (!can_write(o->json) || !can_write(o->csv)) {
        code = CLI_USAGE;
    } else {
        code = measure(&r, &cases);
    }
    if (r.plan)
        llfi_free(mem, r.plan, r.plan_bytes + 1);
    bench_cases_free(&cases);
    llf_context_destroy(r.cx);
    return code;
}

int main(int argc, char **argv)
{
    char error[512];
    bench_options o = {0};
    const char **files = calloc((size_t)argc + 1, sizeof *files);
    int code = CLI_DONE;
    if (!files || !bench_options_parse(argc, argv, files, &o, error, sizeof error)) {
        fprintf(stderr, "llfuse-bench: %s\n", files ? error : "out of host memory");
        code = CLI_USAGE;
    } else if (o.help) {
        cli_help(&bench_command, stdout);
    } else if (o.version) {
        cli_version(&bench_command, stdout);
    } else if (o.help_env) {
        cli_help_env(stdout);
    } else {
        code = run(&o);
    }
    bench_options_free(&o);
    free(files);
    return cli_finish(&bench_command, code);
}
