/* check.c: are the measured outputs right? Two questions, both sound:
 *
 * 1. Fused = unfused, bitwise, on every element of every output (all NaNs are equal). Both output sets were
 * poisoned with different patterns, so that an element neither wrote differs.
 * 2. Is every node right? Errors of functions grow along a chain (the last tanh of twenty sees the rounding
 * of all before it), so no bound on the end result that holds for every graph is worth having. Instead up to
 * 4,096 points are taken out of the inputs, the graph is rebuilt over just these with every node an output,
 * compiled for the same target, one kernel per primitive, and each node's bits are compared with the
 * interpreter's value for the operand bits that this node really had: EXACT ops bitwise, functions within
 * llfi_ulp_bound. Then the rebuilt graph's outputs must have the bits that the measured outputs have at these
 * points. Together: the measured outputs are the composition of nodes that each keep their bound, which is
 * the numerics contract.
 *
 * max_err is the distance of the outputs from the interpreter run end to end over the same points: a number
 * to read, not a verdict. Holds for pointwise graphs, where a point of an output needs one point of each
 * input. */
#include "bench/bench.h"

#include "interp/interp.h"
#include "ir/float.h"

#include <math.h>

#define MAX_NODES 4096u
#define PIECE ((size_t)16 << 20)

static const llf_allocator *const mem = &llfi_malloc_allocator;

/* ---- fused against unfused */

static bool equal_bits(llf_dtype t, const char *a, const char *b, size_t count, size_t *where)
{
    size_t size = llfi_dtypes[t].bytes;
    if (!memcmp(a, b, count * size))
        return true;
    for (size_t i = 0; i < count; i++) {
        uint64_t x = llfi_bits_load(t, a + i * size), y = llfi_bits_load(t, b + i * size);
        bool nans = llfi_dtype_is_float(t) && llfi_bits_nan(t, x) && llfi_bits_nan(t, y);
        if (x != y && !nans) {
            *where = i;
            return false;
        }
    }
    return true;
}

static llf_status compare_output(bench_run *r, llf_dtype t, int64_t numel, const void *a, const void *b,
                                 char *stage, bool *same, int64_t *where)
{
    size_t size = llfi_dtypes[t].bytes, step = PIECE / size, at_piece = 0;
    bench_device *d = r->device;
    *same = true;
    for (int64_t at = 0; at < numel && *same; at += (int64_t)step) {
        size_t count = numel - at < (int64_t)step ? (size_t)(numel - at) : step;
        LLF_TRY(d->ops->download(d, stage, (const char *)a + (size_t)at * size, count * size));
        LLF_TRY(d->ops->download(d, stage + PIECE, (const char *)b + (size_t)at * size, count * size));
        *same = equal_bits(t, stage, stage + PIECE, count, &at_piece);
        *where = at + (int64_t)at_piece;
    }
    return LLF_OK;
}

llf_status bench_check_same(bench_run *r, const llf_graph *g, const int64_t *symbol, void *const *a,
                            void *const *b, bench_verdict *v)
{
    char *stage = llfi_alloc(mem, 2 * PIECE);
    if (!stage)
        return llfi_nomem(&r->cx->diag);
    llf_status status = LLF_OK;
    v->same = true;
    for (uint32_t i = 0; i < g->outputs.count && v->same && status == LLF_OK; i++) {
        llf_tensor t;
        int64_t numel, where = 0;
        bench_shape(g, g->outputs.at[i], symbol, &t, &numel);
        status = compare_output(r, t.dtype, numel, a[i], b[i], stage, &v->same, &where);
        if (status == LLF_OK && !v->same)
            snprintf(v->why, sizeof v->why, "output %u differs from the unfused run at element %lld", i,
                     (long long)where);
    }
    llfi_free(mem, stage, 2 * PIECE);
    return status;
}

/* ---- every node against the interpreter */

typedef struct {
    bench_run *r;
    const llf_graph *g; /* the case's graph, as parsed */
    const int64_t *symbol;
    const bench_tensor *input; /* by input; scalars: one element */
    llf_graph *flat, *small;   /* primitives; the same over `points` points, every node an output */
    llf_id *map;               /* flat id -> small id */
    llfi_arena arena;
    int64_t points;
    void **value; /* by small id: bits of all points, in the node's dtype */
    bench_verdict *v;
} checker;

/* The element of a tensor of n elements that stands for point p: everything when n is small. */
static int64_t place_of(int64_t n, int64_t points, int64_t p)
{
    if (n <= points)
        return n ? p % n : 0;
    if (p == 0 || p == points - 1)
        return p ? n - 1 : 0;
    return (int64_t)(bench_random(99, (uint64_t)p) % (uint64_t)n);
}

static llf_status decompose(checker *c)
{
    static const char *const names[] = {"decompose"};
    llfi_passes_state state = {0};
    llfi_plan plan;
    c->flat = llfi_graph_clone(c->g, c->r->cx);
    if (!c->flat)
        return llfi_nomem(&c->r->cx->diag);
    llfi_fuse_options_default(&state.fuse);
    llfi_plan_init(&plan, mem);
    llf_status status = llfi_passes_run(c->r->cx, c->flat, names, 1, &state, &plan);
    llfi_plan_destroy(&plan);
    return status;
}

static llf_id rebuild_node(checker *c, llf_id id)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    llfi_type type = llfi_type_of(c->flat, id);
    llf_id arg[3];
    if (n->op == LLF_OP_CONST)
        return llfi_build_const(c->small, type.dtype, n->attr);
    if (n->op == LLF_OP_INPUT) {
        llfi_dim points = llfi_dim_const(c->small->dims, c->points);
        uint32_t small = llfi_type_make(c->small, type.dtype, type.rank ? 1 : 0, &points);
        const char *name = llfi_name(c->flat, n->name);
        return llfi_build_input(c->small, small, n->scalar, llfi_name_add(c->small, name, strlen(name)),
                                (llfi_place){0});
    }
    for (uint32_t i = 0; i < n->arity; i++)
        arg[i] = c->map[n->arg[i]];
    return llfi_build(c->small, (llf_op)n->op, arg, n->attr, UINT32_MAX, (llfi_place){0});
}

static llf_status rebuild(checker *c)
{
    size_t nodes = c->flat->nodes.count;
    c->small = llf_graph_create(c->r->cx, "points");
    c->map = llfi_arena_alloc(&c->arena, nodes * sizeof *c->map);
    if (!c->small || !c->map)
        return llfi_nomem(&c->r->cx->diag);
    for (llf_id id = 0; id < nodes; id++) {
        c->map[id] = rebuild_node(c, id);
        if (c->map[id] == LLF_NONE)
            return c->r->cx->diag.pub.status;
        if (llfi_ops[llfi_node_at(c->flat, id)->op].cls == LLFI_CLASS_EW)
            LLF_TRY(llf_output(c->small, c->map[id]));
    }
    return LLF_OK;
}

/* Points of the inputs, in c->value by small id. */
static llf_status gather_inputs(checker *c)
{
    c->value = llfi_arena_alloc(&c->arena, c->small->nodes.count * sizeof *c->value);
    if (!c->value)
        return llfi_nomem(&c->r->cx->diag);
    for (uint32_t i = 0; i < c->small->inputs.count; i++) {
        const bench_tensor *t = &c->input[i];
        llf_id id = c->small->inputs.at[i];
        int64_t count = llfi_type_of(c->small, id).rank ? c->points : 1;
        size_t size = llfi_dtypes[t->dtype].bytes;
        char *out = llfi_arena_alloc(&c->arena, (size_t)count * size + 8);
        if (!out)
            return llfi_nomem(&c->r->cx->diag);
        for (int64_t p = 0; p < count; p++)
            llfi_bits_store(t->dtype, out + (size_t)p * size,
                            bench_tensor_bits(t, place_of(t->numel, count, p)));
        c->value[id] = out;
    }
    return LLF_OK;
}

static size_t bytes_of(const checker *c, llf_id small)
{
    llfi_type t = llfi_type_of(c->small, small);
    return (size_t)(t.rank ? c->points : 1) * llfi_dtypes[t.dtype].bytes;
}

static llf_status run_small(checker *c, bench_session *s, void **buffer)
{
    bench_device *d = c->r->device;
    uint32_t inputs = (uint32_t)c->small->inputs.count, outputs = (uint32_t)c->small->outputs.count;
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        llf_id id = i < inputs ? c->small->inputs.at[i] : c->small->outputs.at[i - inputs];
        if (llfi_node_is_scalar(llfi_node_at(c->small, id))) {
            buffer[i] = c->value[id];
            continue;
        }
        LLF_TRY(d->ops->alloc(d, bytes_of(c, id), &buffer[i]));
        if (i < inputs)
            LLF_TRY(d->ops->upload(d, buffer[i], c->value[id], bytes_of(c, id)));
        else
            LLF_TRY(d->ops->fill(d, buffer[i], 0xA5, bytes_of(c, id)));
    }
    LLF_TRY(bench_session_open(c->r, c->small, "primitive", s));
    LLF_TRY(bench_session_bind(c->r, s->execution, c->small, NULL, buffer));
    if (llf_run(s->execution, d->stream) != LLF_OK)
        return llfi_fail(&c->r->cx->diag, LLF_E_DRIVER, "%s", llf_execution_error(s->execution)->message);
    LLF_TRY(d->ops->sync(d));
    for (uint32_t i = 0; i < outputs; i++) {
        llf_id id = c->small->outputs.at[i];
        c->value[id] = llfi_arena_alloc(&c->arena, bytes_of(c, id) + 8);
        if (!c->value[id])
            return llfi_nomem(&c->r->cx->diag);
        LLF_TRY(d->ops->download(d, c->value[id], buffer[inputs + i], bytes_of(c, id)));
    }
    return LLF_OK;
}

static void release_small(checker *c, void **buffer)
{
    bench_device *d = c->r->device;
    uint32_t inputs = (uint32_t)c->small->inputs.count;
    for (uint32_t i = 0; i < inputs + c->small->outputs.count; i++) {
        llf_id id = i < inputs ? c->small->inputs.at[i] : c->small->outputs.at[i - inputs];
        if (buffer[i] && buffer[i] != c->value[id])
            d->ops->release(d, buffer[i], bytes_of(c, id));
    }
}

static uint64_t bits_at(const checker *c, llf_id id, int64_t p)
{
    llfi_type t = llfi_type_of(c->small, id);
    if (llfi_node_at(c->small, id)->op == LLF_OP_CONST)
        return llfi_node_at(c->small, id)->attr;
    size_t at = t.rank ? (size_t)p : 0;
    return llfi_bits_load(t.dtype, (const char *)c->value[id] + at * llfi_dtypes[t.dtype].bytes);
}

static bool within(llf_op op, llf_dtype t, uint64_t got, uint64_t want)
{
    if (!llfi_dtype_is_float(t))
        return got == want;
    if (llfi_bits_nan(t, got) || llfi_bits_nan(t, want))
        return llfi_bits_nan(t, got) && llfi_bits_nan(t, want);
    uint64_t bound = llfi_ops[op].flags & LLF_F_EXACT ? 0 : llfi_ulp_bound(op, t);
    return got == want || (bound && llfi_ulp_distance(t, got, want) <= bound);
}

static bool node_holds(checker *c, llf_id id)
{
    const llfi_node *n = llfi_node_at(c->small, id);
    llf_dtype from = llfi_eval_from(c->small, id), to = llfi_dtype_of(c->small, id);
    int64_t points = llfi_type_of(c->small, id).rank ? c->points : 1;
    for (int64_t p = 0; p < points; p++) {
        uint64_t arg[3] = {0};
        for (uint32_t i = 0; i < n->arity; i++)
            arg[i] = bits_at(c, n->arg[i], p);
        uint64_t want = llfi_eval((llf_op)n->op, from, to, arg), got = bits_at(c, id, p);
        if (!within((llf_op)n->op, to, got, want)) {
            snprintf(c->v->why, sizeof c->v->why,
                     "%s of %s: 0x%llx for operands 0x%llx 0x%llx 0x%llx, the interpreter says 0x%llx",
                     llfi_ops[n->op].name, llfi_dtypes[to].name, (unsigned long long)got,
                     (unsigned long long)arg[0], (unsigned long long)arg[1], (unsigned long long)arg[2],
                     (unsigned long long)want);
            return false;
        }
    }
    return true;
}

/* The measured output's bits at the points against the rebuilt graph's. */
static llf_status output_holds(checker *c, uint32_t output, const void *measured, bool *holds)
{
    bench_device *d = c->r->device;
    llf_tensor t;
    int64_t numel;
    llf_id small = c->map[c->flat->outputs.at[output]];
    bench_shape(c->g, c->g->outputs.at[output], c->symbol, &t, &numel);
    size_t size = llfi_dtypes[t.dtype].bytes;
    int64_t count = !numel ? 0 : t.rank ? c->points : 1;
    *holds = true;
    for (int64_t p = 0; p < count && *holds; p++) {
        char raw[8];
        int64_t at = place_of(numel, count, p);
        LLF_TRY(d->ops->download(d, raw, (const char *)measured + (size_t)at * size, size));
        uint64_t got = llfi_bits_load(t.dtype, raw), want = bits_at(c, small, p);
        bool nans =
            llfi_dtype_is_float(t.dtype) && llfi_bits_nan(t.dtype, got) && llfi_bits_nan(t.dtype, want);
        *holds = got == want || nans;
        if (!*holds)
            snprintf(c->v->why, sizeof c->v->why,
                     "output %u, element %lld: 0x%llx, but 0x%llx when computed node by node", output,
                     (long long)at, (unsigned long long)got, (unsigned long long)want);
    }
    return LLF_OK;
}

/* End to end against the interpreter: a figure for the report. */
static llf_status measure_error(checker *c)
{
    const void **data = llfi_arena_alloc(&c->arena, (c->small->inputs.count + 1) * sizeof *data);
    void **value = llfi_arena_alloc(&c->arena, c->small->nodes.count * sizeof *value);
    if (!data || !value)
        return llfi_nomem(&c->r->cx->diag);
    for (uint32_t i = 0; i < c->small->inputs.count; i++)
        data[i] = c->value[c->small->inputs.at[i]];
    LLF_TRY(llfi_interp(c->small, NULL, data, &c->arena, value));
    c->v->max_err = 0;
    for (uint32_t o = 0; o < c->flat->outputs.count; o++) {
        llf_id id = c->map[c->flat->outputs.at[o]];
        llfi_type t = llfi_type_of(c->small, id);
        if (llfi_ops[llfi_node_at(c->small, id)->op].cls != LLFI_CLASS_EW)
            continue;
        for (int64_t p = 0; p < (t.rank ? c->points : 1); p++) {
            uint64_t want =
                llfi_bits_load(t.dtype, (char *)value[id] + (size_t)p * llfi_dtypes[t.dtype].bytes);
            uint64_t got = bits_at(c, id, p);
            double err =
                !llfi_dtype_is_float(t.dtype) ? got != want : (double)llfi_ulp_distance(t.dtype, got, want);
            c->v->max_err = err > c->v->max_err ? err : c->v->max_err;
        }
    }
    return LLF_OK;
}

static llf_status check_all(checker *c, void *const *output)
{
    c->v->sound = true;
    for (llf_id id = 0; id < c->small->nodes.count && c->v->sound; id++)
        if (llfi_ops[llfi_node_at(c->small, id)->op].cls == LLFI_CLASS_EW)
            c->v->sound = node_holds(c, id);
    for (uint32_t o = 0; o < c->flat->outputs.count && c->v->sound; o++)
        LLF_TRY(output_holds(c, o, output[o], &c->v->sound));
    return measure_error(c);
}

static int64_t points_of(const llf_graph *g, const int64_t *symbol)
{
    int64_t most = 1;
    for (llf_id id = 0; id < g->nodes.count; id++) {
        llf_tensor t;
        int64_t numel;
        if (bench_shape(g, id, symbol, &t, &numel) && numel > most)
            most = numel;
    }
    return most < BENCH_SAMPLES ? most : BENCH_SAMPLES;
}

/* Does every point of every node need the same point of its operands, or a rank-0 one? */
static bool pointwise(const llf_graph *g)
{
    for (llf_id id = 0; id < g->nodes.count; id++) {
        const llfi_node *n = llfi_node_at(g, id);
        if (llfi_ops[n->op].cls == LLFI_CLASS_VIEW)
            return false;
        for (uint32_t i = 0; i < n->arity; i++)
            if (llfi_type_of(g, n->arg[i]).rank && !llfi_same_space(g, id, i))
                return false;
    }
    return true;
}

llf_status bench_check_nodes(bench_run *r, const llf_graph *g, const int64_t *symbol,
                             const bench_tensor *input, void *const *output, bench_verdict *v)
{
    checker c = {.r = r, .g = g, .symbol = symbol, .input = input, .v = v, .points = points_of(g, symbol)};
    bench_session s = {0};
    void **buffer = NULL;
    llfi_arena_init(&c.arena, mem);
    llf_status status = decompose(&c);
    if (status == LLF_OK && (c.flat->nodes.count > MAX_NODES || !pointwise(c.flat))) {
        if (c.flat->nodes.count > MAX_NODES)
            fprintf(stderr, "llfuse-bench: %zu nodes: more than %u are not checked one by one\n",
                    c.flat->nodes.count, MAX_NODES);
        else
            fprintf(stderr,
                    "llfuse-bench: views or broadcasts: fused is compared with unfused on every element, "
                    "nodes are not checked one by one\n");
        v->sound = true;
        v->max_err = NAN;
        goto out;
    }
    if (status == LLF_OK)
        status = rebuild(&c);
    if (status == LLF_OK)
        status = gather_inputs(&c);
    if (status == LLF_OK && c.small->outputs.count) { /* none: inputs and literals, returned as they are */
        buffer =
            llfi_arena_alloc(&c.arena, (c.small->inputs.count + c.small->outputs.count + 1) * sizeof *buffer);
        status = buffer ? run_small(&c, &s, buffer) : llfi_nomem(&r->cx->diag);
    }
    if (status == LLF_OK)
        status = check_all(&c, output);
    bench_session_close(&s);
    if (buffer)
        release_small(&c, buffer);
out:
    llf_graph_destroy(c.small);
    llf_graph_destroy(c.flat);
    llfi_arena_destroy(&c.arena);
    return status;
}
