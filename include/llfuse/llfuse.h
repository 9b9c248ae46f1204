/* llfuse.h: the whole public API.
 *
 * A tensor graph is built (or parsed), compiled to a program, loaded into a CUDA context or onto the
 * CPU, and run. Complete use, the body of examples/embed.c; `target` is "host" or "nvptx", and `in` and `out`
 * hold N floats where that target can read them:
 *
 *     llf_context *cx = llf_context_create(NULL);
 *     llf_graph *g = llf_graph_create(cx, "scale");
 *     int64_t n = N;
 *     llf_id x = llf_input(g, "x", LLF_F32, 1, &n);
 *     llf_id two = llf_const(g, LLF_F32, 2.0);
 *     llf_id y = llf_mul(g, x, two);
 *     llf_id z = llf_relu(g, y);
 *     llf_output(g, z);
 *     llf_options opt = {.size = sizeof opt, .target = target};
 *     llf_program *p = NULL;
 *     llf_loaded *l = NULL;
 *     llf_execution *e = NULL;
 *     llf_tensor from = {.data = in, .dtype = LLF_F32, .rank = 1, .shape = {n}};
 *     llf_tensor to = {.data = out, .dtype = LLF_F32, .rank = 1, .shape = {n}};
 *     const char *error = NULL;
 *     if (llf_compile(cx, g, &opt, &p) || llf_program_load(cx, p, -1, &l) || llf_execution_create(cx, l, &e))
 *         error = llf_last_error(cx)->message;
 *     else if (llf_bind(e, 0, &from) || llf_bind(e, 1, &to) || llf_prepare(e) || llf_run(e, NULL))
 *         error = llf_execution_error(e)->message;
 *     if (error)
 *         fprintf(stderr, "%s\n", error);
 *     int code = !error ? 0 : llf_last_error(cx)->status == LLF_E_TARGET ? 3 : 1;
 *     llf_execution_destroy(e);
 *     llf_loaded_destroy(l);
 *     llf_program_destroy(p);
 *     llf_graph_destroy(g);
 *     llf_context_destroy(cx);
 *     return code;
 *
 * One statement per node: C leaves the order in which a call's arguments are evaluated to the compiler, and
 * nodes are numbered in the order of the calls, so nested calls may give another graph with another compiler.
 *
 * Errors: every fallible call returns an llf_status; the context keeps one diagnostic for the last
 * failure. No call aborts, exits or prints. After a failure the next call works.
 * Threads: a context and its graphs belong to one thread at a time. A program is immutable and may be
 * shared by threads; so may a loaded. An execution belongs to one thread and one stream at a time.
 * fork: the child may compile, run what the parent prepared for the host (alone, without the parent's pool)
 * and destroy it, if no other thread was inside a call at the fork: LLVM's locks would stay held. CUDA
 * survives no fork. Numbers: shapes are elements, strides are elements, sizes are bytes, times are
 * milliseconds.
 */
#ifndef LLFUSE_LLFUSE_H
#define LLFUSE_LLFUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LLF_API __attribute__((visibility("default")))
#else
#define LLF_API
#endif

/* Largest rank of a tensor. */
#define LLF_MAX_RANK 16

typedef enum {
#define STATUS(id, meaning) LLF_##id,
#include "llfuse/status.def"
#undef STATUS
} llf_status;

typedef enum {
#define DTYPE(id, text, bytes, kind) LLF_##id,
#include "llfuse/dtypes.def"
#undef DTYPE
    LLF_DTYPES
} llf_dtype;

/* Op flags, see ops.def. */
#define LLF_F_EXACT 1u
#define LLF_F_COMM 2u

typedef enum {
#define LEAF(id, ...) LLF_OP_##id,
#define EW(id, ...) LLF_OP_##id,
#define COMPOSITE(id, ...) LLF_OP_##id,
#define VIEW(id, ...) LLF_OP_##id,
#define INDEX(id, ...) LLF_OP_##id,
#define REDUCE(id, ...) LLF_OP_##id,
#define RESULT(id, ...) LLF_OP_##id,
#include "llfuse/ops.def"
    LLF_OPS
} llf_op;

/* A node of a graph, and its value. LLF_NONE is the poison id: builders return it on error and accept it,
 * so that a whole expression is checked once, at llf_output or llf_compile. */
typedef uint32_t llf_id;
#define LLF_NONE UINT32_MAX

typedef struct llf_context llf_context;
typedef struct llf_graph llf_graph;
typedef struct llf_program llf_program;
typedef struct llf_loaded llf_loaded;
typedef struct llf_execution llf_execution;

/* Name of a status ("E_TYPE") and its meaning. Never NULL, static. */
LLF_API const char *llf_status_name(llf_status);
LLF_API const char *llf_status_text(llf_status);

/* Text of a dtype ("bf16") and its size in bytes; "?" and 0 for what is none. Static. */
LLF_API const char *llf_dtype_name(llf_dtype);
LLF_API size_t llf_dtype_size(llf_dtype);

/* Library version, "MAJOR.MINOR.PATCH", and the LLVM it is built with. Static. */
LLF_API const char *llf_version(void);
LLF_API const char *llf_llvm_version(void);

/* ---- context ---------------------------------------------------------------------------------- */

/* Host memory hooks. `resize(user, p, old, size)` behaves as realloc (p NULL: allocate; size 0: free, returns
 * NULL); `old` is the size that p was given. Must be callable from any thread. */
typedef struct {
    void *(*resize)(void *user, void *p, size_t old, size_t size);
    void *user;
} llf_allocator;

typedef struct {
    size_t size;                    /* sizeof(llf_context_options); all else may be zero */
    const llf_allocator *allocator; /* NULL: malloc. Copied. */
    /* Receives log lines without a newline. NULL: stderr. May be called by compile workers and by
     * llf_prepare, never twice at once, until the context and every loaded made with it are gone. */
    void (*log)(void *user, const char *topic, const char *line);
    void *log_user;
    /* As the variables LLF_LOGS, LLF_DUMP_DIR and LLF_OVERRIDE_DIR; NULL: take the variable. Copied. */
    const char *logs, *dump_dir, *override_dir;
    /* Code of kernels is kept, in at most so many bytes, and a kernel that is compiled again takes it,
     * whichever graph it is from: also for what outlives the context. The code is the same as without. 0:
     * none is kept. */
    size_t kernel_cache_bytes;
} llf_context_options;

/* The last failure in a context. Strings are owned by the context, valid until its next failing call. */
typedef struct {
    llf_status status;
    const char *message; /* one sentence, with "file:line:col: " in front where there is a place */
    const char *file;    /* "" when the graph was built by calls */
    uint32_t line, col;  /* from 1, bytes; 0 when there is none */
    const char *op;      /* "" or the op's name */
} llf_diagnostic;

/* Creates a context. `options` may be NULL. Returns NULL only when out of memory; a bad option or environment
 * variable is reported by llf_context_status and by every later call that needs it. */
LLF_API llf_context *llf_context_create(const llf_context_options *options);
LLF_API llf_status llf_context_status(const llf_context *);
/* Frees the context. Its graphs must have been destroyed; programs, loadeds and executions may outlive it
 * only if a later context is passed to their calls, and the allocator's `user` lives as long. NULL is
 * allowed. */
LLF_API void llf_context_destroy(llf_context *);
LLF_API const llf_diagnostic *llf_last_error(const llf_context *);

/* ---- graph ------------------------------------------------------------------------------------ */

/* Names of graphs and inputs: 1 to 255 letters, digits, '_', '.', '-'; copied. */

/* An empty graph; `name` NULL: "main". NULL on failure: E_ARG for a bad name, E_NOMEM. */
LLF_API llf_graph *llf_graph_create(llf_context *, const char *name);
/* NULL is allowed. Programs keep nothing of the graph. */
LLF_API void llf_graph_destroy(llf_graph *);

/* Reads `.llf` text (docs/ir.md). `file` names it in diagnostics (NULL: "<text>"). `text` need not end in
 * NUL. Destroy the graph; after a failure there is none. E_PARSE, E_TYPE, E_GRAPH, E_LIMIT, with the place.
 */
LLF_API llf_status llf_graph_parse(llf_context *, const char *text, size_t bytes, const char *file,
                                   llf_graph **);
/* Writes the graph as text into memory of the context's allocator; free with llf_text_free. Parsing the text
 * and printing again gives the same bytes. */
LLF_API llf_status llf_graph_print(llf_context *, const llf_graph *, char **text, size_t *bytes);
LLF_API void llf_text_free(llf_context *, char *text, size_t bytes);

/* A symbolic extent for llf_input: -(k+1) stands for the graph's k-th symbol. Returns that negative number,
 * or 0 on failure. The same name gives the same symbol: letters, digits, '_', no digit first, not min or max.
 */
LLF_API int64_t llf_symbol(llf_graph *, const char *name);

/* The builders below return LLF_NONE on failure, which poisons the graph: the first failure's diagnostic
 * stays, and its status is what llf_output and llf_compile return. */

/* A tensor bound at run time. shape[i] >= 0, or a value of llf_symbol. rank 0: shape may be NULL. No two
 * inputs have the same name; NULL, or digits alone: none. */
LLF_API llf_id llf_input(llf_graph *, const char *name, llf_dtype, uint32_t rank, const int64_t *shape);
/* A host value passed in the argument block at every run: new values, no compile. Its type is rank 0. */
LLF_API llf_id llf_scalar(llf_graph *, const char *name, llf_dtype);
/* A literal of rank 0. Float dtypes: `value` rounded once. Others take an integer of the dtype, for llf_const
 * up to 2^53 in magnitude; all else is E_ARG. */
LLF_API llf_id llf_const(llf_graph *, llf_dtype, double value);
LLF_API llf_id llf_const_int(llf_graph *, llf_dtype, int64_t value);

/* One builder per row of ops.def without attributes: llf_add(g, a, b), llf_relu(g, x), ... */
#define LLF_PARAMS_1 llf_id x
#define LLF_PARAMS_2 llf_id a, llf_id b
#define LLF_PARAMS_3 llf_id a, llf_id b, llf_id c
#define LLF_BUILDER_NONE(name, arity) LLF_API llf_id llf_##name(llf_graph *, LLF_PARAMS_##arity);
#define LLF_BUILDER_DTYPE(name, arity)
#define LLF_BUILDER_APPROXIMATE(name, arity)
#define LLF_BUILDER_MEAN(name, arity)
#define LLF_BUILDER_VAR(name, arity)
#define LLF_BUILDER_SOFTMAX(name, arity)
#define LLF_BUILDER_NORM(name, arity)
#define LLF_BUILDER_L2(name, arity)
#define LLF_BUILDER_BATCH(name, arity)
#define LLF_BUILDER_BATCH_TRAIN(name, arity)
#define LLF_BUILDER_LOSS(name, arity)
#define LLF_BUILDER_CLASS_LOSS(name, arity)
#define EW(id, name, arity, sig, set, flags, attrs, meaning) LLF_BUILDER_##attrs(name, arity)
#define COMPOSITE EW
#include "llfuse/ops.def"
#undef LLF_BUILDER_NONE
#undef LLF_BUILDER_DTYPE
#undef LLF_BUILDER_APPROXIMATE
#undef LLF_BUILDER_MEAN
#undef LLF_BUILDER_VAR
#undef LLF_BUILDER_SOFTMAX
#undef LLF_BUILDER_NORM
#undef LLF_BUILDER_L2
#undef LLF_BUILDER_BATCH
#undef LLF_BUILDER_BATCH_TRAIN
#undef LLF_BUILDER_LOSS
#undef LLF_BUILDER_CLASS_LOSS
/* And those with an attribute. */
LLF_API llf_id llf_cast(llf_graph *, llf_id x, llf_dtype);
typedef enum { LLF_GELU_ERF, LLF_GELU_TANH } llf_gelu_form;
LLF_API llf_id llf_gelu(llf_graph *, llf_id x, llf_gelu_form);

/* Views: the same elements in other places, as numpy has them; no memory moves unless a view is returned.
 * Axes may be negative: -1 is the last. Extents are numbers >= 0 or values of llf_symbol. */

/* Another shape in row-major order. One extent may be LLF_INFER: what the number of elements leaves. */
#define LLF_INFER INT64_MIN
LLF_API llf_id llf_reshape(llf_graph *, llf_id x, uint32_t rank, const int64_t *shape);
/* Stretches extents of 1 and adds axes in front. */
LLF_API llf_id llf_broadcast_to(llf_graph *, llf_id x, uint32_t rank, const int64_t *shape);
/* Axis i of the result is axis axes[i] of x; one item for each axis of x. */
LLF_API llf_id llf_permute(llf_graph *, llf_id x, const int64_t *axes);
/* x[start:stop:step] along one axis. Negative bounds count from the end. LLF_DEFAULT: no bound, which is the
 * end that the step comes from or goes to. A symbol adds its value: {.start = 1, .stop_symbol = n, .step = 1}
 * is [1:n]. Bounds outside the axis are errors (E_TYPE; for symbols E_GUARD at llf_prepare). */
#define LLF_DEFAULT INT64_MIN
typedef struct {
    int64_t start, stop;
    int64_t step;                      /* not 0 */
    int64_t start_symbol, stop_symbol; /* 0 or a value of llf_symbol; the number beside it is >= 0 then */
} llf_range;
/* One range for each axis of x. */
LLF_API llf_id llf_slice(llf_graph *, llf_id x, const llf_range *);
/* Backwards along `count` axes. */
LLF_API llf_id llf_flip(llf_graph *, llf_id x, uint32_t count, const int64_t *axes);
/* Axes of extent 1 at these places of the result; without these axes, whose extents must be 1. */
LLF_API llf_id llf_expand_dims(llf_graph *, llf_id x, uint32_t count, const int64_t *axes);
LLF_API llf_id llf_squeeze(llf_graph *, llf_id x, uint32_t count, const int64_t *axes);

/* Reductions over `count` axes, in the one order of docs/ir.md, whatever computes them: llf_sum, llf_prod,
 * llf_max, llf_min, llf_any, llf_all, llf_argmax, llf_argmin. Axes may be negative; count 0: none, so that
 * each element is reduced by itself. keepdims: the axes stay, with extent 1. */
#define LLF_ALL_AXES UINT32_MAX /* for `count`: all axes; the list may be NULL */
#define LLF_BUILDER_REDUCE(name) \
    LLF_API llf_id llf_##name(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, bool keepdims);
/* llf_softmax_stats, llf_moments: two results, written to out. Failure: also poisons the graph, out holds
 * LLF_NONE. */
#define LLF_BUILDER_STATS(name)                                                                              \
    LLF_API llf_status llf_##name(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, bool keepdims, \
                                  llf_id out[2]);
/* llf_sum_as, llf_prod_as: with the dtype of the result; what the elements are cast to first is in
 * docs/ir.md. Without: that of x, and i64 for bool. */
#define LLF_BUILDER_SUM(name)                                                                  \
    LLF_BUILDER_REDUCE(name)                                                                   \
    LLF_API llf_id llf_##name##_as(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, \
                                   bool keepdims, llf_dtype out);
#define REDUCE(id, name, arity, sig, set, flags, attrs, meaning) LLF_BUILDER_##attrs(name)
#include "llfuse/ops.def"
#undef LLF_BUILDER_REDUCE
#undef LLF_BUILDER_SUM
#undef LLF_BUILDER_STATS
/* The number of elements of a shape, of rank 0: what a mean divides by. */
LLF_API llf_id llf_count(llf_graph *, llf_dtype, uint32_t rank, const int64_t *shape);

/* Composites over axes, each a fixed list of primitives (docs/ir.md). Axes as above; x, weights and
 * statistics are of any float dtype. Computed in f32 (f64 where an operand or the result is f64), cast once,
 * last. LLF_ABSENT: no weight, or neither weight nor bias. */
#define LLF_ABSENT (UINT32_MAX - 1)
LLF_API llf_id llf_mean(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, bool keepdims);
LLF_API llf_id llf_mean_as(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, bool keepdims,
                           llf_dtype out);
/* Of `elements - correction`, but not below 0. */
LLF_API llf_id llf_var(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, bool keepdims,
                       int64_t correction);
LLF_API llf_id llf_std(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, bool keepdims,
                       int64_t correction);
LLF_API llf_id llf_softmax(llf_graph *, llf_id x, uint32_t count, const int64_t *axes);
LLF_API llf_id llf_log_softmax(llf_graph *, llf_id x, uint32_t count, const int64_t *axes);
LLF_API llf_id llf_logsumexp(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, bool keepdims);
/* Weight and bias broadcast to x: for the last axes they have those axes alone. */
LLF_API llf_id llf_layer_norm(llf_graph *, llf_id x, llf_id weight, llf_id bias, uint32_t count,
                              const int64_t *axes, double eps);
LLF_API llf_id llf_rms_norm(llf_graph *, llf_id x, llf_id weight, uint32_t count, const int64_t *axes,
                            double eps);
/* x / max(norm, eps) */
LLF_API llf_id llf_l2_normalize(llf_graph *, llf_id x, uint32_t count, const int64_t *axes, double eps);
/* By given statistics; mean, var, weight and bias have one element for each channel, an index of `axis`. */
LLF_API llf_id llf_batch_norm(llf_graph *, llf_id x, llf_id mean, llf_id var, llf_id weight, llf_id bias,
                              int64_t axis, double eps);
/* By those of x. out: the result, and the running mean and var, moved by `momentum` towards those of x (var
 * with correction 1). Failure: also poisons the graph, out holds LLF_NONE. */
LLF_API llf_status llf_batch_norm_train(llf_graph *, llf_id x, llf_id mean, llf_id var, llf_id weight,
                                        llf_id bias, int64_t axis, double eps, double momentum,
                                        llf_id out[3]);
/* -log_softmax(x) along the axis, at i32 or i64 labels of the other axes. Labels outside are treated as take
 * treats indices. The mean or sum over all labels, or a loss for each. */
typedef enum { LLF_REDUCTION_MEAN, LLF_REDUCTION_SUM, LLF_REDUCTION_NONE } llf_reduction;
LLF_API llf_id llf_cross_entropy(llf_graph *, llf_id x, llf_id labels, int64_t axis, llf_reduction);
LLF_API llf_id llf_cross_entropy_as(llf_graph *, llf_id x, llf_id labels, int64_t axis, llf_reduction,
                                    llf_dtype out);
/* (a - b)^2, broadcasting; its mean, its sum, or all of it. */
LLF_API llf_id llf_mse(llf_graph *, llf_id a, llf_id b, llf_reduction);

/* What is wanted of fusion at one node, whatever the heuristic says. APART: the op shares its kernel with
 * nothing that another op made, and nothing recomputes it. FUSE: it joins the kernels of the values it reads
 * wherever that is legal. APART is the stronger. Text: `!apart`, `!fuse`. E_ARG: no node that computes. */
typedef enum { LLF_HINT_NONE, LLF_HINT_FUSE, LLF_HINT_APART } llf_hint_kind;
LLF_API llf_status llf_hint(llf_graph *, llf_id, llf_hint_kind);

/* Elements of operands put together. Unlike views these compute values: each is a kernel of its own unless it
 * is fused. */

/* One behind the other along the axis; the other extents are equal. */
LLF_API llf_id llf_concat(llf_graph *, uint32_t count, const llf_id *values, int64_t axis);
/* Along a new axis of the result. */
LLF_API llf_id llf_stack(llf_graph *, uint32_t count, const llf_id *values, int64_t axis);
/* Along one axis: elements before and after; negative: so many are cut off. A symbol adds its value; the
 * number beside it is >= 0 then. */
typedef struct {
    int64_t low, high;
    int64_t low_symbol, high_symbol; /* 0 or a value of llf_symbol */
} llf_padding;
/* x within copies of the rank-0 `value`; one item for each axis of x. */
LLF_API llf_id llf_pad(llf_graph *, llf_id x, llf_id value, const llf_padding *);
/* x at i32 or i64 indices along the axis: numpy's take. Negative indices count from the end; what is still
 * outside is clamped. */
LLF_API llf_id llf_take(llf_graph *, llf_id x, llf_id indices, int64_t axis);
/* 0, 1, 2, ... along the axis. */
LLF_API llf_id llf_iota(llf_graph *, llf_dtype, uint32_t rank, const int64_t *shape, int64_t axis);
/* `parts` slices along the axis, written to out; `sizes` NULL: equal ones; one size may be LLF_INFER: the
 * rest. Failure: also poisons the graph, out holds LLF_NONE. */
LLF_API llf_status llf_split(llf_graph *, llf_id x, int64_t axis, uint32_t parts, const int64_t *sizes,
                             llf_id *out);
/* Element i goes to i + by modulo the extent, for each of `count` axes in turn. A symbol adds its value. */
typedef struct {
    int64_t axis;
    int64_t by, by_symbol;
} llf_shift;
LLF_API llf_id llf_roll(llf_graph *, llf_id x, uint32_t count, const llf_shift *);

/* Appends a result; index 0 is the first. The same value may be returned twice: two buffers. Returns the
 * first failure of the graph, if there was one. */
LLF_API llf_status llf_output(llf_graph *, llf_id);

LLF_API uint32_t llf_graph_inputs(const llf_graph *);
LLF_API uint32_t llf_graph_outputs(const llf_graph *);

/* ---- compile ---------------------------------------------------------------------------------- */

typedef struct {
    size_t size; /* sizeof(llf_options) */
    /* "host", "nvptx" (the device of the calling thread, else sm_90a), "nvptx:sm_80", "nvptx:sm_90a+ptx83".
     * NULL: "host". */
    const char *target;
    const char *heuristic;    /* none, primitive, greedy (default) */
    const char *set;          /* "name=value,..." over passes/fuse/params.def */
    uint32_t compile_threads; /* 0: one per core */
} llf_options;

/* Compiles a copy of the graph: passes, plan, machine code or PTX. No device is needed. `options` NULL: all
 * defaults. E_ARG, E_GRAPH, E_TARGET, E_LIMIT, E_NOMEM. */
LLF_API llf_status llf_compile(llf_context *, const llf_graph *, const llf_options *, llf_program **);
/* NULL is allowed. A program that is loaded lives on until its last loaded is gone. */
LLF_API void llf_program_destroy(llf_program *);

/* ---- run -------------------------------------------------------------------------------------- */

/* Loads the modules. nvptx: device >= 0 retains that device's primary context; -1 takes the context current
 * on the calling thread, and primary context 0 when there is none. The caller's current context is the same
 * before and after every call. host: `device` is the number of threads, -1 or 0: one per core. E_TARGET: no
 * driver or device for the program's target; E_PTX: with the driver's log. */
LLF_API llf_status llf_program_load(llf_context *, const llf_program *, int device, llf_loaded **);
/* NULL is allowed. A loaded that has executions lives on until the last is gone; then its modules are
 * unloaded, after what still runs in their context. */
LLF_API void llf_loaded_destroy(llf_loaded *);

/* Bindings, argument blocks and workspace for one stream at a time. */
LLF_API llf_status llf_execution_create(llf_context *, llf_loaded *, llf_execution **);
/* NULL is allowed. Its runs must have finished: the workspace is freed. */
LLF_API void llf_execution_destroy(llf_execution *);

/* Memory the caller owns. `data` is a device pointer for nvptx, a host pointer for host, a host pointer to
 * one value for a scalar. A bool is a byte: 0 is false, every other one true; 0 and 1 are what is written.
 * May be NULL only when the tensor has no elements. `strides` in elements, used when `strided`; otherwise
 * row-major. An input may have any: 0, negative (`data` is element [0, ..., 0], wherever that lies),
 * overlapping; those of axes of extent 1 do not matter. Outputs are row-major without gaps. */
typedef struct {
    void *data;
    llf_dtype dtype;
    uint32_t rank;
    bool strided;
    int64_t shape[LLF_MAX_RANK];
    int64_t strides[LLF_MAX_RANK];
} llf_tensor;

/* Binds input `index`, or output `index - inputs`. The descriptor is copied; the data are the caller's and
 * must stay until the run has finished. An output may be the very buffer of an input where the plan proves
 * that every read comes first; any other overlap is E_ALIAS at llf_prepare. An output may lie in a gap
 * between elements of an input with strides; where its axes do not nest (a stride is less than what the axes
 * of smaller strides span, as with overlapping windows) gaps count as elements. A scalar's value is copied at
 * llf_bind and may be bound anew between runs without llf_prepare; so may a tensor whose shape, strides and
 * alignment stay. */
LLF_API llf_status llf_bind(llf_execution *, uint32_t index, const llf_tensor *);

/* Checks shapes, alignment and overlap, binds symbols, allocates the workspace. Everything slow is here:
 * a kernel that meets an input that is not row-major without gaps is compiled once more, for strides as
 * arguments, and once again at most when other inputs or other kinds of strides follow; all executions of the
 * loaded share these variants, and row-major inputs run the program's own kernels. So is, once, a kernel
 * whose indices fit 31 bits for some sizes, when it meets sizes for which they do not. The bits are the
 * same. After a failure (E_ARG, E_TYPE, E_GUARD, E_ALIAS, E_LIMIT, E_NOMEM, E_DEVICE_NOMEM, E_PTX) the
 * execution is unprepared; bind what was wrong and call it again. */
LLF_API llf_status llf_prepare(llf_execution *);

/* Launches all kernels on `stream` (a CUstream; host: ignored, returns when done). No allocation, compile,
 * lock or synchronisation: allowed inside the caller's stream capture. E_STATE: not prepared, or bound anew
 * with another shape, dtype, layout or alignment. */
LLF_API llf_status llf_run(llf_execution *, void *stream);

/* The diagnostic of the last failing bind, prepare or run of this execution (they may run on a thread that
 * does not own the context). */
LLF_API const llf_diagnostic *llf_execution_error(const llf_execution *);

/* Counters of one execution and its program. */
typedef struct {
    size_t size;       /* sizeof(llf_stats), set by the caller */
    uint32_t kernels;  /* in the plan */
    uint32_t modules;  /* distinct kernels compiled, variants included */
    uint64_t launches; /* since creation, counted where they are issued */
    uint64_t runs;     /* since creation, that succeeded */
    uint64_t workspace_bytes;
    double compile_ms, load_ms; /* of the program and of its modules, without the driver's start */
    /* Kernels of the plan made again for strides or large sizes, by this execution or another of its loaded.
     */
    uint64_t variants;
    uint64_t scratch_bytes; /* that kernels have for partial results while they run, beside the workspace */
} llf_stats;
/* Fills as much of the struct as `size` says. */
LLF_API llf_status llf_execution_stats(const llf_execution *, llf_stats *);

/* The plan as text (docs/plans.md): the optimised graph with !k labels, below a line that says for which
 * graph it is. Free with llf_text_free. */
LLF_API llf_status llf_plan_export(llf_context *, const llf_program *, char **text, size_t *bytes);

/* As llf_compile, with the plan of a text instead of a search: heuristics and hints are not asked. Of
 * `options`, `set` counts for the limits that the plan is held to. The text need not be as it was exported:
 * any legal assignment of nodes to kernels is taken. `graph`: the graph that was compiled when it was
 * exported, or one that comes to the same after simplification; NULL: the text's own graph, which is compiled
 * as it stands. `file` names the text in diagnostics (NULL: "<plan>"). E_PLAN: it is no plan, for another
 * graph, or illegal, with the place in the text and the reason; else as llf_compile. */
LLF_API llf_status llf_plan_import(llf_context *, const llf_graph *, const llf_options *, const char *text,
                                   size_t bytes, const char *file, llf_program **);

#ifdef __cplusplus
}
#endif
#endif
