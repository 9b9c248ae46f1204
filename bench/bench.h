/* bench.h: what the parts of llfuse-bench share. llfuse-bench measures what fusion gains: it compiles a graph
 * with the heuristic `none` and with others, checks that both give the same bits, times them in turns, and
 * says how far the fused kernel is from the memory's ceiling. It must use nothing of the code generator to
 * find that ceiling. */
#ifndef LLFI_BENCH_H
#define LLFI_BENCH_H

#include "base/base.h"
#include "bench/host_ref.h"
#include "runtime/program.h"
#include "tools/cli.h"

#define BENCH_NAME 64u
#define BENCH_SETS 64u
#define BENCH_PATTERNS 64u
#define BENCH_TENSORS 1024u /* most inputs and outputs of a case's graph, together */
#define BENCH_DATAS 64u     /* most inputs or patterns that its directives describe */

typedef struct {
    char name[BENCH_NAME];
    int64_t value;
    uint32_t line; /* of a directive; 0: of the command line */
} bench_setting;
/* Is the name set already? One name, two values: which was meant is anyone's guess. */
static inline bool bench_is_set(const bench_setting *set, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(set[i].name, name))
            return true;
    return false;
}

/* ---- options.c */
typedef struct {
    const char **file; /* into argv; the caller's array of argc entries */
    uint32_t files;
    const char *pattern[BENCH_PATTERNS], *target, *json, *csv, *emit, *plan_in, *plan_out;
    char heuristic[8][BENCH_NAME];
    uint32_t heuristics;
    uint32_t patterns;
    bench_setting set[BENCH_SETS];
    uint32_t sets;
    llfi_str param;           /* "name=value,...": what --param gave */
    char vary[8][BENCH_NAME]; /* "name=value" each, of one parameter */
    uint32_t varies;
    char sweep_symbol[BENCH_NAME];
    int64_t sweep[BENCH_SETS];
    uint32_t sweeps;
    uint32_t warmup, min_samples, budget, threads;
    uint64_t seed;
    bool list, check, explain, ceiling, compare_openmp, warm, help, help_env, version;
} bench_options;
/* False: `error` holds one sentence. `files` must hold argc entries. */
bool bench_options_parse(int argc, char **argv, const char **files, bench_options *, char *error,
                         size_t size);
void bench_options_free(bench_options *);
extern const cli_command bench_command;

/* ---- cases.c */
typedef enum {
    BENCH_NORMAL,
    BENCH_ABS_NORMAL,
    BENCH_UNIFORM,
    BENCH_SPECIALS,
    BENCH_ZEROS,
    BENCH_BELOW,
    BENCH_VALUE
} bench_dist;
typedef struct {
    char input[BENCH_NAME]; /* name or pattern */
    bench_dist dist;
    double value;           /* BENCH_VALUE */
    char bound[BENCH_NAME]; /* BENCH_BELOW: a symbol or a number */
    int64_t below;          /* the same as a number, once symbols have values */
    uint32_t line;
} bench_data;
typedef struct {
    char name[BENCH_NAME];
    char *file; /* what diagnostics call it */
    char *text;
    size_t bytes;
    bench_setting set[16], host[16]; /* `; set`, and `; set.host`: instead, on the CPU target */
    uint32_t sets, hosts;
    bench_data data[BENCH_DATAS];
    uint32_t datas;
    bool expect_kernels, expect_transfers;
    uint32_t kernels[2], transfers[2]; /* unfused, fused */
} bench_case;
typedef struct {
    bench_case *at;
    size_t count, cap;
} bench_cases;
/* Built-in cases, or the options' files, that match one of the patterns. */
llf_status bench_cases_load(llfi_diag *, const bench_options *, bench_cases *);
/* Reads the `;` directives of a case's text. */
llf_status bench_case_read(llfi_diag *, bench_case *);
/* Do its directives name symbols and inputs that the graph has, and numbers that these can hold? */
llf_status bench_case_fits(llfi_diag *, const bench_case *, const llf_graph *);
/* The first description that an input's name matches; NULL: none. */
const bench_data *bench_data_find(const bench_case *, const char *input);
/* Host value of a scalar input. */
double bench_scalar_value(const bench_case *, const char *name);
/* The bound of `below:` for these values of the graph's symbols. */
void bench_data_resolve(bench_data *, const llf_graph *, const int64_t *symbol);
void bench_cases_free(bench_cases *);
/* cases/<name>.llf, embedded at build time, sorted by name. */
typedef struct {
    const char *name;
    const char *text;
    size_t bytes;
} bench_builtin;
extern const bench_builtin bench_builtins[];
extern const size_t bench_builtins_count;

/* ---- stats.c */
typedef struct {
    double median, p20, p80;
    uint32_t samples;
} bench_stat;
/* Sorts `v`. Quantiles interpolate linearly between order statistics. */
bench_stat bench_stat_of(double *v, size_t count);

/* ---- data.c: seeded input data. A tensor repeats a block of at most BENCH_PERIOD drawn elements. */
#define BENCH_PERIOD 1048583u /* prime: no alignment with tiles or pages */
typedef struct {
    llf_dtype dtype;
    int64_t numel;
    void *block;
    size_t elements; /* in the block: numel or BENCH_PERIOD, the smaller */
    size_t phase;    /* where in the block the tensor begins */
    bool shared;     /* the block is another tensor's */
} bench_tensor;
bool bench_tensor_make(bench_tensor *, llf_dtype, int64_t numel, const bench_data *, uint64_t seed);
/* A tensor with the contents of `like`, which must outlive it, from another place on: for graphs with
 * hundreds of inputs, where drawing all of them takes longer than measuring. */
bench_tensor bench_tensor_like(const bench_tensor *like, uint32_t index);
void bench_tensor_free(bench_tensor *);
uint64_t bench_tensor_bits(const bench_tensor *, int64_t at);
uint64_t bench_random(uint64_t seed, uint64_t counter); /* splitmix64 */

/* ---- devices: device_host.c, device_cuda.c behind one table */
typedef struct bench_device bench_device;
typedef llf_status bench_work(void *user, void *stream);
typedef struct {
    const char *name;
    llf_status (*open)(llfi_diag *, bench_device *, uint32_t threads);
    void (*close)(bench_device *);
    llf_status (*alloc)(bench_device *, size_t, void **);
    void (*release)(bench_device *, void *, size_t);
    llf_status (*upload)(bench_device *, void *to, const void *from, size_t);
    llf_status (*download)(bench_device *, void *to, const void *from, size_t);
    llf_status (*fill)(bench_device *, void *, unsigned char, size_t);
    /* Reads foreign memory larger than the last cache, so that it holds clean lines of no use to the next
     * run. */
    llf_status (*flush)(bench_device *);
    llf_status (*sync)(bench_device *);
    /* Milliseconds of one call of `work`, which issues on the stream it is given. */
    llf_status (*time)(bench_device *, bench_work *, void *user, double *ms);
    /* Runs the hand-written reads:writes kernel of a variant over `bytes` per tensor, without waiting. */
    llf_status (*stream_kernel)(bench_device *, uint32_t variant, uint32_t reads, uint32_t writes,
                                void *const *tensor, size_t bytes);
    uint32_t (*variants)(const bench_device *, uint32_t reads, uint32_t writes);
    llf_status (*copy)(bench_device *, void *to, const void *from, size_t);
    llf_status (*empty)(bench_device *); /* issues an empty kernel; host: wakes and joins the threads */
    /* Microseconds to issue a bare kernel with `args` 8-byte parameters, mean over `calls`; below 0: no such
     * thing. */
    llf_status (*bare_launch)(bench_device *, uint32_t args, uint32_t calls, double *us);
} bench_device_ops;
struct bench_device {
    const bench_device_ops *ops;
    llfi_diag *diag;
    char title[160], driver[64];
    int load_arg; /* `device` of llf_program_load */
    void *stream;
    uint32_t threads;
    size_t cache_bytes;
    bool warm;       /* leave the caches as they are */
    double empty_ms; /* ceiling.c */
    double copy_gbps;
    void *state;
};
extern const bench_device_ops bench_host, bench_cuda;
static inline llf_status bench_flush(bench_device *d)
{
    return d->warm ? LLF_OK : d->ops->flush(d);
}

/* ---- ceiling.c: how fast a fixed hand-written kernel of the same read:write mix is */
typedef struct {
    uint32_t reads, writes;
    size_t bytes; /* per tensor */
    double ms;    /* best variant, an empty kernel's time taken off */
    double gbps;
    char variant[32];
} bench_ceiling;
typedef struct {
    bench_ceiling *at;
    size_t count, cap;
} bench_ceilings;
#define BENCH_MAX_READS 6u
#define BENCH_MAX_WRITES 4u
/* Measured once per mix and size. */
llf_status bench_ceiling_get(bench_device *, bench_ceilings *, uint32_t reads, uint32_t writes, size_t bytes,
                             const bench_ceiling **);
/* Empty kernel and device-to-device copy, for the header. */
llf_status bench_ceiling_header(bench_device *);
void bench_ceilings_free(bench_ceilings *);
/* ceiling_ptx.c: the PTX text, written by hand, of a variant; false when this sm has no such variant. */
#define BENCH_PTX_VARIANTS 6u
bool bench_ceiling_ptx(llfi_str *, uint32_t sm, uint32_t variant, uint32_t reads, uint32_t writes);
const char *bench_ceiling_ptx_name(uint32_t variant);
uint32_t bench_ceiling_ptx_threads(uint32_t variant);
void bench_flush_ptx(llfi_str *);
void bench_empty_ptx(llfi_str *, uint32_t args);

/* ---- measure.c: one case at one size: baseline and heuristics */
typedef struct {
    char case_name[BENCH_NAME], heuristic[BENCH_NAME], target[64], device[160];
    char symbol[8][BENCH_NAME];
    int64_t extent[8];
    uint32_t symbols;
    uint32_t nodes, kernels_unfused, kernels_fused, transfers_unfused, transfers_fused;
    double launches; /* per run, counted where they are issued */
    int64_t bytes_unfused, bytes_fused, bytes_min;
    double flops;
    bench_stat unfused, fused;
    double ms_first, speedup, gbps, tflops, ceiling_gbps, pct_of_ceiling;
    double compile_ms, passes_ms, plan_ms, lower_ms, opt_ms, emit_ms, load_ms, start_ms;
    double launch_us, launch_us_bare;
    int registers, spills; /* most of any kernel; spills in bytes of local memory */
    double max_err, ms_openmp;
    bool ok;
    char note[240]; /* why it is not ok */
} bench_row;        /* NaN: not measured */
typedef struct {
    bench_row *at;
    size_t count, cap;
} bench_rows;

typedef struct {
    llf_context *cx;
    const bench_options *opt;
    bench_device *device;
    const char *target;
    const char *params; /* llf_options.set; NULL */
    char *plan;         /* text of --plan-in; NULL */
    size_t plan_bytes;
    bench_ceilings ceilings;
    bench_rows rows;
    const int64_t *sweep_value; /* NULL: no sweep */
    bool live;                  /* progress on stderr */
} bench_run;
/* Symbols of a graph bound by --set, a sweep value, the directives; E_ARG names an unbound one. */
llf_status bench_bind_symbols(bench_run *, const bench_case *, const llf_graph *, const int64_t *sweep,
                              int64_t *symbol);
/* Adds one row per heuristic. */
llf_status bench_measure(bench_run *, const bench_case *);
void bench_progress(const bench_run *, const char *fmt, ...) LLFI_PRINTF(2, 3);

/* ---- session.c: a compiled, loaded and bound program */
typedef struct {
    llf_program *program;
    llf_loaded *loaded;
    llf_execution *execution;
    double compile_ms;
} bench_session;
llf_options bench_session_options(const bench_run *, const char *heuristic);
/* By the search of a heuristic, or from --plan-in where it is BENCH_PLAN. */
#define BENCH_PLAN "plan"
llf_status bench_compile(bench_run *, const llf_graph *, const char *heuristic, llf_program **);
llf_status bench_session_open(bench_run *, const llf_graph *, const char *heuristic, bench_session *);
/* Binds the tensors at shapes given by the symbols of `g` and prepares. */
llf_status bench_session_bind(bench_run *, llf_execution *, const llf_graph *g, const int64_t *symbol,
                              void *const *buffer);
void bench_session_close(bench_session *);
/* Shape and element count of a node for given symbol values, by the graph's own symbol order. */
bool bench_shape(const llf_graph *, llf_id, const int64_t *symbol, llf_tensor *, int64_t *numel);

/* ---- check.c, check_nodes.c: the truth of the outputs; max_err in ulp against the interpreter. See there
 * what holds and why. */
#define BENCH_SAMPLES 4096
typedef struct {
    bool same;  /* fused = unfused, bitwise */
    bool sound; /* every node within its bound of the interpreter */
    double max_err;
    char why[200];
} bench_verdict;
llf_status bench_check_same(bench_run *, const llf_graph *, const int64_t *symbol, void *const *a,
                            void *const *b, bench_verdict *);
llf_status bench_check_nodes(bench_run *, const llf_graph *, const int64_t *symbol, const bench_tensor *input,
                             void *const *output, bench_verdict *);

/* ---- report.c */
typedef struct {
    const char *device, *driver, *target;
    double empty_us, copy_gbps;
    size_t cache_bytes;
    uint32_t threads;
    bool check, warm;
} bench_header;
void bench_report_table(FILE *, const bench_header *, const bench_rows *, bool colour);
void bench_report_json(llfi_str *, const bench_header *, const bench_rows *, const bench_ceilings *);
void bench_report_csv(llfi_str *, const bench_rows *);

/* ---- inspect.c: --explain and --emit, for one case; text to stdout */
llf_status bench_explain(bench_run *, const bench_case *, llfi_str *);
llf_status bench_emit(bench_run *, const bench_case *, llfi_str *);

#endif
