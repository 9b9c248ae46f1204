/* check_nodes.c: is every node right? Errors of functions grow along a chain (the last tanh of twenty sees
 * the rounding of all before it), so no bound on the end result that holds for every graph is worth having.
 * Instead the outputs are taken at up to 4,096 points each (everywhere, when they are small), and from there
 * the interpreter's own index arithmetic says which elements of every node these need, through views,
 * broadcasts and gathers. Then each elementwise node runs on the target, by itself, over the operand bits
 * that the nodes before it really gave, and its bits are compared with the interpreter's for the same
 * operands: EXACT ops bitwise, functions within llfi_ulp_bound. What only moves elements is moved here. Last,
 * the measured outputs must have the bits of these nodes at the points. Together: the measured outputs are
 * the composition of nodes that each keep their bound, read at the right places, which is the numerics
 * contract.
 *
 * max_err is the distance of the outputs from the interpreter run end to end over the same elements: a number
 * to read, not a verdict. It must use nothing of src/lower, where the indices that it checks were made. */
#include "bench/bench.h"

#include "interp/index.h"
#include "interp/interp.h"
#include "ir/float.h"

#include <math.h>
#include <stdlib.h>

#define MAX_NODES 4096u
#define MAX_WANTED ((size_t)1 << 23) /* elements of all nodes; with more, fewer points are taken */
#define OPERANDS 3u                  /* most of an elementwise op */

static const llf_allocator *const mem = &llfi_malloc_allocator;

/* The elements of a node that are needed, in order, and what they are. */
typedef struct {
    LLFI_VEC(int64_t) at;
    uint64_t *got;   /* on the target */
    uint64_t *ideal; /* by the interpreter from the inputs on */
    llfi_extents extents;
} wanted;

/* One op over a vector of operands, compiled once. */
typedef struct {
    llf_op op;
    uint64_t attr;
    llf_dtype dtype[OPERANDS + 1]; /* of the operands and, last, of the result */
    llf_graph *g;
    bench_session s;
} op_program;

typedef struct {
    bench_run *r;
    const llf_graph *g; /* the case's graph, as parsed */
    llf_graph *flat;    /* its primitives */
    const int64_t *symbol;
    const bench_tensor *input; /* by input; scalars: one element */
    wanted *node;              /* by flat id */
    size_t total;
    LLFI_VEC(op_program) programs;
    void *buffer[OPERANDS + 1]; /* on the device: operands, result */
    size_t buffer_bytes;
    char *stage; /* here: as long as one of them */
    llfi_arena arena;
    bench_verdict *v;
} checker;

/* ---- which elements */

/* The element of a tensor of n elements that stands for point p: everything when n is small. */
static int64_t place_of(int64_t n, int64_t points, int64_t p)
{
    if (n <= points)
        return p;
    if (p == 0 || p == points - 1)
        return p ? n - 1 : 0;
    return (int64_t)(bench_random(99, (uint64_t)p) % (uint64_t)n);
}

static int64_t points_of(const checker *c, llf_id id, int64_t most)
{
    int64_t n = c->node[id].extents.elements;
    return n < most ? n : most;
}

static llf_status want(checker *c, llf_id id, int64_t at)
{
    if (!llfi_vec_reserve(mem, &c->node[id].at, 1))
        return llfi_nomem(&c->r->cx->diag);
    c->node[id].at.at[c->node[id].at.count++] = at;
    return LLF_OK;
}

static int rising(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort_wanted(wanted *w)
{
    size_t n = 0;
    if (w->at.count)
        qsort(w->at.at, w->at.count, sizeof *w->at.at, rising);
    for (size_t i = 0; i < w->at.count; i++)
        if (!i || w->at.at[i] != w->at.at[i - 1])
            w->at.at[n++] = w->at.at[i];
    w->at.count = n;
}

static size_t find(const wanted *w, int64_t at)
{
    size_t lo = 0, hi = w->at.count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (w->at.at[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Element of operand k that element `at` of a node is made from. */
static llf_status source_of(const checker *c, llf_id id, uint32_t k, int64_t at, int64_t *from)
{
    llf_id p = llfi_args(c->flat, llfi_node_at(c->flat, id))[k];
    return llfi_index_operand(c->flat, id, k, c->symbol, &c->node[id].extents, &c->node[p].extents, at, from);
}

/* Users stand after operands, so one walk down the ids finds everything that is needed. */
static llf_status pull_back(checker *c, int64_t points)
{
    for (llf_id id = 0; id < c->flat->nodes.count; id++)
        c->node[id].at.count = 0;
    c->total = 0;
    for (uint32_t o = 0; o < c->flat->outputs.count; o++) {
        llf_id id = c->flat->outputs.at[o];
        int64_t count = points_of(c, id, points);
        for (int64_t p = 0; p < count; p++)
            LLF_TRY(want(c, id, place_of(c->node[id].extents.elements, count, p)));
    }
    for (llf_id id = (llf_id)c->flat->nodes.count; id-- > 0;) {
        const llfi_node *n = llfi_node_at(c->flat, id);
        sort_wanted(&c->node[id]);
        c->total += c->node[id].at.count;
        if (c->total > MAX_WANTED)
            return LLF_OK;
        for (size_t i = 0; i < c->node[id].at.count; i++)
            for (uint32_t k = 0; k < n->arity; k++) {
                int64_t from;
                LLF_TRY(source_of(c, id, k, c->node[id].at.at[i], &from));
                LLF_TRY(want(c, llfi_args(c->flat, n)[k], from));
            }
    }
    return LLF_OK;
}

/* ---- one op on the target */

static llf_id build_op(const op_program *p, uint32_t arity, llf_graph *g)
{
    static const char *const name[OPERANDS] = {"a", "b", "c"};
    llf_id arg[OPERANDS];
    llfi_dim points = llfi_dim_sym(g->dims, llfi_dims_symbol(g->dims, "P", 1));
    for (uint32_t k = 0; k < arity; k++) {
        uint32_t type = llfi_type_make(g, p->dtype[k], 1, &points);
        arg[k] = llfi_build_input(g, type, false, llfi_name_add(g, name[k], 1), (llfi_place){0});
    }
    return llfi_build(g, p->op, arg, p->attr, UINT32_MAX, (llfi_place){0});
}

static llf_status program_of(checker *c, llf_id id, op_program **out)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    op_program p = {.op = (llf_op)n->op, .attr = n->attr};
    for (uint32_t k = 0; k < n->arity; k++)
        p.dtype[k] = llfi_dtype_of(c->flat, llfi_args(c->flat, n)[k]);
    p.dtype[OPERANDS] = llfi_dtype_of(c->flat, id);
    for (size_t i = 0; i < c->programs.count; i++) {
        *out = &c->programs.at[i];
        if ((*out)->op == p.op && (*out)->attr == p.attr && !memcmp((*out)->dtype, p.dtype, sizeof p.dtype))
            return LLF_OK;
    }
    if (!llfi_vec_reserve(mem, &c->programs, 1))
        return llfi_nomem(&c->r->cx->diag);
    *out = &c->programs.at[c->programs.count++];
    **out = p;
    (*out)->g = llf_graph_create(c->r->cx, llfi_ops[p.op].name);
    if (!(*out)->g)
        return llfi_nomem(&c->r->cx->diag);
    LLF_TRY(llf_output((*out)->g, build_op(*out, n->arity, (*out)->g)));
    return bench_session_open(c->r, (*out)->g, "primitive", &(*out)->s);
}

/* Operand k of all elements of a node: the bits of the target, or of the interpreter. */
static llf_status operand(const checker *c, llf_id id, uint32_t k, bool ideal, size_t i, uint64_t *bits)
{
    const wanted *from = &c->node[llfi_args(c->flat, llfi_node_at(c->flat, id))[k]];
    int64_t at;
    LLF_TRY(source_of(c, id, k, c->node[id].at.at[i], &at));
    *bits = (ideal ? from->ideal : from->got)[find(from, at)];
    return LLF_OK;
}

static llf_status run_op(checker *c, llf_id id)
{
    bench_device *d = c->r->device;
    const llfi_node *n = llfi_node_at(c->flat, id);
    wanted *w = &c->node[id];
    int64_t points = (int64_t)w->at.count;
    op_program *p = NULL;
    void *binding[OPERANDS + 1];
    LLF_TRY(program_of(c, id, &p));
    for (uint32_t k = 0; k < n->arity; k++) {
        size_t size = llfi_dtypes[p->dtype[k]].bytes;
        for (size_t i = 0; i < w->at.count; i++) {
            uint64_t bits;
            LLF_TRY(operand(c, id, k, false, i, &bits));
            llfi_bits_store(p->dtype[k], c->stage + i * size, bits);
        }
        LLF_TRY(d->ops->upload(d, c->buffer[k], c->stage, w->at.count * size));
        binding[k] = c->buffer[k];
    }
    size_t size = llfi_dtypes[p->dtype[OPERANDS]].bytes;
    binding[n->arity] = c->buffer[OPERANDS];
    LLF_TRY(d->ops->fill(d, c->buffer[OPERANDS], 0xA5, w->at.count * size));
    LLF_TRY(bench_session_bind(c->r, p->s.execution, p->g, &points, binding));
    if (llf_run(p->s.execution, d->stream) != LLF_OK)
        return llfi_fail(&c->r->cx->diag, LLF_E_DRIVER, "%s", llf_execution_error(p->s.execution)->message);
    LLF_TRY(d->ops->sync(d));
    LLF_TRY(d->ops->download(d, c->stage, c->buffer[OPERANDS], w->at.count * size));
    for (size_t i = 0; i < w->at.count; i++)
        w->got[i] = llfi_bits_load(p->dtype[OPERANDS], c->stage + i * size);
    return LLF_OK;
}

/* ---- node by node */

static bool same(llf_dtype t, uint64_t a, uint64_t b)
{
    return a == b || (llfi_dtype_is_float(t) && llfi_bits_nan(t, a) && llfi_bits_nan(t, b));
}

static bool within(llf_op op, llf_dtype t, uint64_t got, uint64_t want)
{
    uint64_t bound = llfi_ops[op].flags & LLF_F_EXACT ? 0 : llfi_ulp_bound(op, t);
    if (same(t, got, want))
        return true;
    if (!bound || llfi_bits_nan(t, got) || llfi_bits_nan(t, want))
        return false;
    return llfi_ulp_distance(t, got, want) <= bound;
}

static llf_status evaluate(checker *c, llf_id id)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    llf_op op = (llf_op)n->op;
    llf_dtype from = llfi_eval_from(c->flat, id), to = llfi_dtype_of(c->flat, id);
    wanted *w = &c->node[id];
    LLF_TRY(run_op(c, id));
    for (size_t i = 0; i < w->at.count; i++) {
        uint64_t arg[OPERANDS] = {0}, ideal[OPERANDS] = {0};
        for (uint32_t k = 0; k < n->arity; k++) {
            LLF_TRY(operand(c, id, k, false, i, &arg[k]));
            LLF_TRY(operand(c, id, k, true, i, &ideal[k]));
        }
        uint64_t right = llfi_eval(op, from, to, arg);
        w->ideal[i] = llfi_eval(op, from, to, ideal);
        if (within(op, to, w->got[i], right))
            continue;
        c->v->sound = false;
        snprintf(c->v->why, sizeof c->v->why,
                 "%s of %s: 0x%llx for operands 0x%llx 0x%llx 0x%llx, the interpreter says 0x%llx",
                 llfi_ops[op].name, llfi_dtypes[to].name, (unsigned long long)w->got[i],
                 (unsigned long long)arg[0], (unsigned long long)arg[1], (unsigned long long)arg[2],
                 (unsigned long long)right);
        return LLF_OK;
    }
    return LLF_OK;
}

/* Input `i` of the graph. */
static void read_input(checker *c, uint32_t i)
{
    wanted *w = &c->node[c->flat->inputs.at[i]];
    for (size_t k = 0; k < w->at.count; k++)
        w->got[k] = w->ideal[k] = bench_tensor_bits(&c->input[i], w->at.at[k]);
}

static llf_status move(checker *c, llf_id id)
{
    wanted *w = &c->node[id];
    for (size_t i = 0; i < w->at.count; i++) {
        LLF_TRY(operand(c, id, 0, false, i, &w->got[i]));
        LLF_TRY(operand(c, id, 0, true, i, &w->ideal[i]));
    }
    return LLF_OK;
}

static llf_status evaluate_all(checker *c)
{
    for (uint32_t i = 0; i < c->flat->inputs.count; i++)
        read_input(c, i);
    for (llf_id id = 0; id < c->flat->nodes.count && c->v->sound; id++) {
        const llfi_node *n = llfi_node_at(c->flat, id);
        wanted *w = &c->node[id];
        if (!w->at.count || n->op == LLF_OP_INPUT)
            continue;
        if (n->op == LLF_OP_CONST)
            for (size_t i = 0; i < w->at.count; i++)
                w->got[i] = w->ideal[i] = n->attr;
        else if (llfi_ops[n->op].cls == LLFI_CLASS_VIEW)
            LLF_TRY(move(c, id));
        else
            LLF_TRY(evaluate(c, id));
    }
    return LLF_OK;
}

/* ---- the measured outputs */

static llf_status output_holds(checker *c, uint32_t output, const void *measured, int64_t points)
{
    bench_device *d = c->r->device;
    llf_id id = c->flat->outputs.at[output];
    llf_dtype t = llfi_dtype_of(c->flat, id);
    const wanted *w = &c->node[id];
    size_t size = llfi_dtypes[t].bytes;
    int64_t count = points_of(c, id, points);
    for (int64_t p = 0; p < count && c->v->sound; p++) {
        char raw[8];
        int64_t at = place_of(w->extents.elements, count, p);
        size_t i = find(w, at);
        LLF_TRY(d->ops->download(d, raw, (const char *)measured + (size_t)at * size, size));
        uint64_t bits = llfi_bits_load(t, raw);
        c->v->sound = same(t, bits, w->got[i]);
        if (!c->v->sound)
            snprintf(c->v->why, sizeof c->v->why,
                     "output %u, element %lld: 0x%llx, but 0x%llx when computed node by node", output,
                     (long long)at, (unsigned long long)bits, (unsigned long long)w->got[i]);
        double err = !llfi_dtype_is_float(t)      ? bits != w->ideal[i]
                     : same(t, bits, w->ideal[i]) ? 0
                                                  : (double)llfi_ulp_distance(t, bits, w->ideal[i]);
        c->v->max_err = err > c->v->max_err ? err : c->v->max_err;
    }
    return LLF_OK;
}

/* ---- all together */

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

static llf_status measure_nodes(checker *c)
{
    c->node = llfi_arena_alloc(&c->arena, c->flat->nodes.count * sizeof *c->node);
    if (!c->node)
        return llfi_nomem(&c->r->cx->diag);
    memset(c->node, 0, c->flat->nodes.count * sizeof *c->node);
    for (llf_id id = 0; id < c->flat->nodes.count; id++)
        LLF_TRY(llfi_extents_of(c->flat, id, c->symbol, &c->node[id].extents));
    return LLF_OK;
}

/* Room for the values, and buffers that hold the longest list. */
static llf_status make_room(checker *c)
{
    bench_device *d = c->r->device;
    size_t most = 1;
    for (llf_id id = 0; id < c->flat->nodes.count; id++) {
        wanted *w = &c->node[id];
        most = w->at.count > most ? w->at.count : most;
        w->got = llfi_arena_alloc(&c->arena, (w->at.count + 1) * sizeof *w->got);
        w->ideal = llfi_arena_alloc(&c->arena, (w->at.count + 1) * sizeof *w->ideal);
        if (!w->got || !w->ideal)
            return llfi_nomem(&c->r->cx->diag);
    }
    c->buffer_bytes = most * sizeof(uint64_t);
    c->stage = llfi_arena_alloc(&c->arena, c->buffer_bytes);
    if (!c->stage)
        return llfi_nomem(&c->r->cx->diag);
    for (uint32_t k = 0; k <= OPERANDS; k++)
        LLF_TRY(d->ops->alloc(d, c->buffer_bytes, &c->buffer[k]));
    return LLF_OK;
}

/* Said, since silence would pass for a check. */
static llf_status unchecked(checker *c, const char *why)
{
    fprintf(stderr, "llfuse-bench: nodes are not checked one by one: %s\n", why);
    c->v->sound = true;
    c->v->max_err = NAN;
    return LLF_OK;
}

static llf_status check(checker *c, void *const *output)
{
    int64_t points = BENCH_SAMPLES;
    LLF_TRY(measure_nodes(c));
    LLF_TRY(pull_back(c, points));
    while (c->total > MAX_WANTED && points > 1) {
        points /= 2;
        LLF_TRY(pull_back(c, points));
    }
    if (c->total > MAX_WANTED)
        return unchecked(c, "one element of each output needs too many elements of its operands");
    LLF_TRY(make_room(c));
    c->v->sound = true;
    c->v->max_err = 0;
    LLF_TRY(evaluate_all(c));
    for (uint32_t o = 0; o < c->flat->outputs.count && c->v->sound; o++)
        LLF_TRY(output_holds(c, o, output[o], points));
    return LLF_OK;
}

static void destroy(checker *c)
{
    bench_device *d = c->r->device;
    for (size_t i = 0; i < c->programs.count; i++) {
        bench_session_close(&c->programs.at[i].s);
        llf_graph_destroy(c->programs.at[i].g);
    }
    llfi_vec_free(mem, &c->programs);
    for (uint32_t k = 0; k <= OPERANDS; k++)
        if (c->buffer[k])
            d->ops->release(d, c->buffer[k], c->buffer_bytes);
    for (llf_id id = 0; c->node && id < c->flat->nodes.count; id++)
        llfi_vec_free(mem, &c->node[id].at);
    llf_graph_destroy(c->flat);
    llfi_arena_destroy(&c->arena);
}

llf_status bench_check_nodes(bench_run *r, const llf_graph *g, const int64_t *symbol,
                             const bench_tensor *input, void *const *output, bench_verdict *v)
{
    checker c = {.r = r, .g = g, .symbol = symbol, .input = input, .v = v};
    llfi_arena_init(&c.arena, mem);
    llf_status status = decompose(&c);
    if (status == LLF_OK && c.flat->nodes.count > MAX_NODES)
        status = unchecked(&c, "there are more than 4,096");
    else if (status == LLF_OK)
        status = check(&c, output);
    destroy(&c);
    return status;
}
