/* report.c: rows as a table for people, as JSON and as CSV. It computes nothing. */
#include "bench/bench.h"

#include <math.h>

/* ---- JSON */

static void put_number(llfi_str *s, const char *name, double v)
{
    if (isfinite(v))
        llfi_str_printf(s, ", \"%s\": %.9g", name, v);
    else
        llfi_str_printf(s, ", \"%s\": null", name);
}

static void put_count(llfi_str *s, const char *name, int64_t v)
{
    llfi_str_printf(s, ", \"%s\": %lld", name, (long long)v);
}

static void put_text(llfi_str *s, const char *name, const char *text)
{
    llfi_str_printf(s, ", \"%s\": ", name);
    llfi_str_json(s, text);
}

static void put_dims(llfi_str *s, const bench_row *r)
{
    llfi_str_puts(s, ", \"dims\": {");
    for (uint32_t i = 0; i < r->symbols; i++) {
        llfi_str_puts(s, i ? ", " : "");
        llfi_str_json(s, r->symbol[i]);
        llfi_str_printf(s, ": %lld", (long long)r->extent[i]);
    }
    llfi_str_puts(s, "}");
}

static void put_phases(llfi_str *s, const bench_row *r)
{
    llfi_str_printf(s, ", \"compile_phases\": {\"passes\": %.4g", r->passes_ms);
    put_number(s, "plan", r->plan_ms);
    put_number(s, "lower", r->lower_ms);
    put_number(s, "opt", r->opt_ms);
    put_number(s, "emit", r->emit_ms);
    put_number(s, "load", r->load_ms);
    put_number(s, "driver_start", r->start_ms);
    llfi_str_puts(s, "}");
}

static void put_times(llfi_str *s, const bench_row *r)
{
    put_number(s, "ms_unfused", r->unfused.median);
    put_number(s, "ms_fused", r->fused.median);
    put_number(s, "p20_unfused", r->unfused.p20);
    put_number(s, "p80_unfused", r->unfused.p80);
    put_number(s, "p20", r->fused.p20);
    put_number(s, "p80", r->fused.p80);
    put_count(s, "samples", r->fused.samples);
    put_number(s, "ms_first", r->ms_first);
    put_number(s, "speedup", r->speedup);
    put_number(s, "gbps", r->gbps);
    put_number(s, "tflops", r->tflops);
    put_number(s, "ceiling_gbps", r->ceiling_gbps);
    put_number(s, "pct_of_ceiling", r->pct_of_ceiling);
    put_number(s, "ms_openmp", r->ms_openmp);
}

static void put_row(llfi_str *s, const bench_row *r)
{
    llfi_str_puts(s, "{\"case\": ");
    llfi_str_json(s, r->case_name);
    put_text(s, "target", r->target);
    put_text(s, "device", r->device);
    put_text(s, "heuristic", r->heuristic);
    put_text(s, "numerics", "strict");
    put_dims(s, r);
    put_count(s, "nodes", r->nodes);
    put_count(s, "kernels_unfused", r->kernels_unfused);
    put_count(s, "kernels_fused", r->kernels_fused);
    put_number(s, "launches", r->launches);
    put_count(s, "transfers_unfused", r->transfers_unfused);
    put_count(s, "transfers_fused", r->transfers_fused);
    put_count(s, "bytes_unfused", r->bytes_unfused);
    put_count(s, "bytes_fused", r->bytes_fused);
    put_count(s, "bytes_min", r->bytes_min);
    put_number(s, "flops", r->flops);
    put_times(s, r);
    put_number(s, "compile_ms", r->compile_ms);
    put_phases(s, r);
    put_number(s, "launch_us", r->launch_us);
    put_number(s, "launch_us_bare", r->launch_us_bare);
    put_count(s, "registers", r->registers);
    put_count(s, "spills", r->spills);
    put_number(s, "max_err", r->max_err);
    llfi_str_printf(s, ", \"ok\": %s", r->ok ? "true" : "false");
    put_text(s, "note", r->note);
    llfi_str_puts(s, "}");
}

void bench_report_json(llfi_str *s, const bench_header *h, const bench_rows *rows,
                       const bench_ceilings *ceilings)
{
    llfi_str_puts(s, "{\"header\": {\"device\": ");
    llfi_str_json(s, h->device);
    put_text(s, "driver", h->driver);
    put_text(s, "target", h->target);
    put_text(s, "llfuse", llf_version());
    put_text(s, "llvm", llf_llvm_version());
    put_text(s, "git", cli_git_hash);
    put_count(s, "threads", h->threads);
    put_count(s, "cache_bytes", (int64_t)h->cache_bytes);
    put_number(s, "empty_kernel_us", h->empty_us);
    put_number(s, "copy_gbps", h->copy_gbps);
    llfi_str_puts(s, ",\n \"ceilings\": [");
    for (size_t i = 0; i < ceilings->count; i++) {
        const bench_ceiling *c = &ceilings->at[i];
        llfi_str_printf(s, "%s{\"reads\": %u, \"writes\": %u", i ? ",\n  " : "", c->reads, c->writes);
        put_count(s, "bytes_per_tensor", (int64_t)c->bytes);
        put_number(s, "gbps", c->gbps);
        put_text(s, "variant", c->variant);
        llfi_str_puts(s, "}");
    }
    llfi_str_puts(s, "]},\n\"rows\": [");
    for (size_t i = 0; i < rows->count; i++) {
        llfi_str_puts(s, i ? ",\n " : "\n ");
        put_row(s, &rows->at[i]);
    }
    llfi_str_puts(s, "]}\n");
}

/* ---- CSV: one line a row, RFC 4180 */

static void csv_text(llfi_str *s, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        llfi_str_puts(s, text);
        return;
    }
    llfi_str_puts(s, "\"");
    for (; *text; text++)
        llfi_str_printf(s, *text == '"' ? "\"\"" : "%c", *text);
    llfi_str_puts(s, "\"");
}

static void csv_number(llfi_str *s, double v)
{
    if (isfinite(v))
        llfi_str_printf(s, ",%.9g", v);
    else
        llfi_str_puts(s, ",");
}

static void csv_dims(llfi_str *s, const bench_row *r)
{
    llfi_str_puts(s, ",");
    for (uint32_t i = 0; i < r->symbols; i++)
        llfi_str_printf(s, "%s%s=%lld", i ? " " : "", r->symbol[i], (long long)r->extent[i]);
}

static void csv_row(llfi_str *s, const bench_row *r)
{
    csv_text(s, r->case_name);
    llfi_str_puts(s, ",");
    csv_text(s, r->target);
    llfi_str_puts(s, ",");
    csv_text(s, r->device);
    llfi_str_printf(s, ",%s,strict", r->heuristic);
    csv_dims(s, r);
    llfi_str_printf(s, ",%u,%u,%u", r->nodes, r->kernels_unfused, r->kernels_fused);
    csv_number(s, r->launches);
    llfi_str_printf(s, ",%u,%u,%lld,%lld,%lld", r->transfers_unfused, r->transfers_fused,
                    (long long)r->bytes_unfused, (long long)r->bytes_fused, (long long)r->bytes_min);
    const double v[] = {r->flops,          r->unfused.median, r->fused.median, r->fused.p20, r->fused.p80,
                        r->ms_first,       r->speedup,        r->gbps,         r->tflops,    r->ceiling_gbps,
                        r->pct_of_ceiling, r->ms_openmp,      r->compile_ms,   r->passes_ms, r->plan_ms,
                        r->lower_ms,       r->opt_ms,         r->emit_ms,      r->load_ms,   r->start_ms,
                        r->launch_us,      r->launch_us_bare};
    for (size_t i = 0; i < LLFI_COUNT(v); i++)
        csv_number(s, v[i]);
    llfi_str_printf(s, ",%d,%d", r->registers, r->spills);
    csv_number(s, r->max_err);
    llfi_str_printf(s, ",%s,", r->ok ? "true" : "false");
    csv_text(s, r->note);
    llfi_str_puts(s, "\n");
}

void bench_report_csv(llfi_str *s, const bench_rows *rows)
{
    llfi_str_puts(
        s,
        "case,target,device,heuristic,numerics,dims,nodes,kernels_unfused,kernels_fused,launches,"
        "transfers_unfused,transfers_fused,bytes_unfused,bytes_fused,bytes_min,flops,ms_unfused,ms_fused,"
        "p20,p80,ms_first,speedup,gbps,tflops,ceiling_gbps,pct_of_ceiling,ms_openmp,compile_ms,passes_ms,"
        "plan_ms,lower_ms,opt_ms,emit_ms,load_ms,driver_start_ms,launch_us,launch_us_bare,registers,spills,"
        "max_err,ok,note\n");
    for (size_t i = 0; i < rows->count; i++)
        csv_row(s, &rows->at[i]);
}

/* ---- the table */

enum { COLUMNS = 14, CELL = 48 };
static const char *const title[COLUMNS] = {"case",     "size",      "heuristic", "kernels", "transfers",
                                           "MB",       "ms",        "speedup",   "GB/s",    "% ceiling",
                                           "ready ms", "launch us", "max ulp",   "ok"};

static void pair(char *cell, double from, double to, int digits)
{
    snprintf(cell, CELL, "%.*f -> %.*f", digits, from, digits, to);
}

static void maybe(char *cell, double v, int digits)
{
    if (isfinite(v))
        snprintf(cell, CELL, "%.*f", digits, v);
    else
        snprintf(cell, CELL, "-");
}

static void fill_cells(char cell[COLUMNS][CELL], const bench_row *r)
{
    snprintf(cell[0], CELL, "%.40s", r->case_name);
    cell[1][0] = 0;
    for (uint32_t i = 0; i < r->symbols; i++) {
        size_t at = strlen(cell[1]);
        snprintf(cell[1] + at, CELL - at, "%s%.16s=%lld", i ? " " : "", r->symbol[i],
                 (long long)r->extent[i]);
    }
    snprintf(cell[2], CELL, "%.20s", r->heuristic);
    pair(cell[3], r->kernels_unfused, r->kernels_fused, 0);
    pair(cell[4], r->transfers_unfused, r->transfers_fused, 0);
    double mb = (double)r->bytes_unfused * 1e-6;
    pair(cell[5], mb, (double)r->bytes_fused * 1e-6, mb < 10 ? 3 : 0);
    pair(cell[6], r->unfused.median, r->fused.median, r->unfused.median < 1 ? 4 : 3);
    maybe(cell[7], r->speedup, 2);
    maybe(cell[8], r->gbps, 0);
    maybe(cell[9], r->pct_of_ceiling, 1);
    maybe(cell[10], r->compile_ms + r->load_ms, 1); /* graph to launchable, the driver's start apart */
    maybe(cell[11], r->launch_us, 2);
    maybe(cell[12], r->max_err, 0);
    snprintf(cell[13], CELL, "%s", r->ok ? "yes" : "NO");
}

static void print_header(FILE *f, const bench_header *h)
{
    fprintf(f, "llfuse %s (%s), LLVM %s, %s%s%s, target %s", llf_version(), cli_git_hash, llf_llvm_version(),
            h->device, h->driver[0] ? ", " : "", h->driver, h->target);
    if (!h->driver[0])
        fprintf(f, ", %u threads", h->threads);
    fprintf(
        f, "\ncopy %.0f GB/s, empty kernel %.2f us (in ms as it is; taken off on both sides of %% ceiling)\n",
        h->copy_gbps, h->empty_us);
    fprintf(f,
            "unfused (heuristic none) -> fused; medians, caches filled with foreign lines before each "
            "sample%s\n\n",
            h->check ? "" : "; results unchecked (--check)");
}

void bench_report_table(FILE *f, const bench_header *h, const bench_rows *rows, bool colour)
{
    size_t width[COLUMNS];
    char cell[COLUMNS][CELL];
    for (size_t c = 0; c < COLUMNS; c++)
        width[c] = strlen(title[c]);
    for (size_t i = 0; i < rows->count; i++) {
        fill_cells(cell, &rows->at[i]);
        for (size_t c = 0; c < COLUMNS; c++)
            width[c] = strlen(cell[c]) > width[c] ? strlen(cell[c]) : width[c];
    }
    print_header(f, h);
    for (size_t c = 0; c < COLUMNS; c++)
        fprintf(f, c < 3 ? "%-*s%s" : "%*s%s", (int)width[c], title[c], c + 1 < COLUMNS ? "  " : "\n");
    for (size_t i = 0; i < rows->count; i++) {
        const bench_row *r = &rows->at[i];
        const char *on = !colour ? "" : r->ok ? "\033[32m" : "\033[31m";
        fill_cells(cell, r);
        for (size_t c = 0; c + 1 < COLUMNS; c++)
            fprintf(f, c < 3 ? "%-*s  " : "%*s  ", (int)width[c], cell[c]);
        fprintf(f, "%s%*s%s%s%s\n", on, (int)width[COLUMNS - 1], cell[COLUMNS - 1], colour ? "\033[0m" : "",
                r->note[0] ? "  " : "", r->note);
        if (isfinite(r->ms_openmp))
            fprintf(f, "%-*s  hand-written OpenMP loop: %.4f ms; ours runs at %.2fx of it\n", (int)width[0],
                    "", r->ms_openmp, r->ms_openmp / r->fused.median);
    }
}

void bench_progress(const bench_run *r, const char *fmt, ...)
{
    va_list args;
    if (!r->live)
        return;
    fputs("\r\033[K", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fflush(stderr);
}
