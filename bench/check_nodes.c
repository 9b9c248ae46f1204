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
 * Where a gather reads is known only once its indices are: then all of it is done again, one round for each
 * gather behind a gather, with the indices that the target gave in the round before.
 *
 * max_err is the distance of the outputs from the interpreter run end to end over the same elements (and
 * indices): a number to read, not a verdict. It must use nothing of src/lower, where the indices that it
 * checks were made. */
#include "bench/check_nodes.h"

#include "interp/interp.h"
#include "ir/float.h"

#include <math.h>
#include <stdlib.h>

#define MAX_NODES 4096u
#define MAX_WANTED ((size_t)1 << 23) /* elements of all nodes; with more, fewer points are taken */
#define MAX_OF_ONE ((size_t)1 << 27) /* where one point of each output needs more than those */
#define MAX_ROUNDS 16u
#define WHOLE ((size_t)16 << 20) /* bytes of an output that is fetched whole */

static const llf_allocator *const mem = &llfi_malloc_allocator;

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
    bool rising_already = true; /* rows are */
    for (size_t i = 1; i < w->at.count; i++)
        rising_already = rising_already && w->at.at[i] >= w->at.at[i - 1];
    if (!rising_already)
        qsort(w->at.at, w->at.count, sizeof *w->at.at, rising);
    for (size_t i = 0; i < w->at.count; i++)
        if (!i || w->at.at[i] != w->at.at[i - 1])
            w->at.at[n++] = w->at.at[i];
    w->at.count = n;
}

/* How many elements make one of a node. */
static int64_t sources(const checker *c, llf_id id)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    if (llfi_ops[n->op].cls == LLFI_CLASS_REDUCE)
        return llfi_index_row(c->flat, id, &c->node[n->arg[0]].extents);
    if (llfi_ops[n->op].cls != LLFI_CLASS_INDEX)
        return n->arity;
    return n->op == LLF_OP_TAKE ? 2 : 1;
}

static int64_t index_value(const checker *c, llf_id indices, uint64_t bits)
{
    return llfi_bits_to_i64(llfi_dtype_of(c->flat, indices), bits);
}

/* Source k of element `at` of a node: element *from of *p. The second of a gather, what it reads, needs the
 * index, whose bits are those of this round (`now`) or of the round before; LLF_NONE: it has none yet. */
static llf_status source_of(const checker *c, llf_id id, int64_t k, int64_t at, bool now, llf_id *p,
                            int64_t *from)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    const llf_id *arg = llfi_args(c->flat, n);
    const llfi_extents *out = &c->node[id].extents;
    uint32_t which;
    if (llfi_ops[n->op].cls == LLFI_CLASS_REDUCE) {
        *p = arg[0];
        *from = llfi_index_reduced(c->flat, id, out, &c->node[*p].extents, at, k);
        return LLF_OK;
    }
    if (llfi_ops[n->op].cls != LLFI_CLASS_INDEX) {
        *p = arg[k];
        return llfi_index_operand(c->flat, id, (uint32_t)k, c->symbol, out, &c->node[*p].extents, at, from);
    }
    LLF_TRY(llfi_index_choose(c->flat, id, c->symbol, out, at, NULL, &which, from));
    *p = arg[which];
    if (!k)
        return LLF_OK;
    const wanted *w = &c->node[*p];
    size_t count = now ? w->at.count : w->knowns,
           i = llfi_sorted_at64(now ? w->at.at : w->known_at, count, *from);
    if (i == count || (now && w->unknown)) {
        *p = LLF_NONE;
        return LLF_OK;
    }
    int64_t index = index_value(c, *p, now ? w->got[i] : w->known[i]);
    LLF_TRY(llfi_index_choose(c->flat, id, c->symbol, out, at, &index, &which, from));
    *p = arg[which];
    return LLF_OK;
}

/* Users stand after operands, so one walk down the ids finds everything that is needed. */
static llf_status pull_back_node(checker *c, llf_id id, size_t limit)
{
    int64_t each = sources(c, id);
    if (c->node[id].at.count && (uint64_t)each > limit / c->node[id].at.count) { /* rows */
        c->total = limit + 1;
        return LLF_OK;
    }
    for (size_t i = 0; i < c->node[id].at.count; i++)
        for (int64_t k = 0; k < each; k++) {
            llf_id p;
            int64_t from;
            LLF_TRY(source_of(c, id, k, c->node[id].at.at[i], false, &p, &from));
            c->waits |= p == LLF_NONE;
            if (p != LLF_NONE)
                LLF_TRY(want(c, p, from));
        }
    return LLF_OK;
}

static llf_status pull_back(checker *c, int64_t points)
{
    size_t limit = points > 1 ? MAX_WANTED : MAX_OF_ONE;
    for (llf_id id = 0; id < c->flat->nodes.count; id++)
        c->node[id].at.count = 0;
    c->total = 0;
    c->waits = false;
    for (uint32_t o = 0; o < c->flat->outputs.count; o++) {
        llf_id id = c->flat->outputs.at[o];
        int64_t count = points_of(c, id, points);
        for (int64_t p = 0; p < count; p++)
            LLF_TRY(want(c, id, place_of(c->node[id].extents.elements, count, p)));
    }
    for (llf_id id = (llf_id)c->flat->nodes.count; id-- > 0 && c->total <= limit;) {
        sort_wanted(&c->node[id]);
        c->total += c->node[id].at.count;
        LLF_TRY(pull_back_node(c, id, limit));
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

llf_status bench_check_program(checker *c, llf_id id, op_program **out)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    bool reduces = llfi_ops[n->op].cls == LLFI_CLASS_REDUCE; /* over whichever axes: rows are rows */
    op_program p = {.op = (llf_op)n->op, .attr = reduces ? 0 : n->attr};
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
    LLF_TRY(reduces ? bench_check_build_reduce(c, id, (*out)->g)
                    : llf_output((*out)->g, build_op(*out, n->arity, (*out)->g)));
    return bench_session_open(c->r, (*out)->g, "primitive", &(*out)->s);
}

llf_status bench_check_operand(const checker *c, llf_id id, int64_t k, size_t i, uint64_t *got,
                               uint64_t *ideal, bool *there)
{
    llf_id p;
    int64_t from;
    LLF_TRY(source_of(c, id, k, c->node[id].at.at[i], true, &p, &from));
    const wanted *w = &c->node[p == LLF_NONE ? id : p];
    size_t at = p == LLF_NONE ? 0 : llfi_sorted_at64(w->at.at, w->at.count, from);
    const llfi_node *n = llfi_node_at(c->flat, id);
    *there = p != LLF_NONE && !w->unknown && at < w->at.count;
    at += n->op == LLF_OP_RESULT ? n->attr * w->at.count : 0;
    *got = *there ? w->got[at] : 0;
    *ideal = *there ? w->ideal[at] : 0;
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
    LLF_TRY(bench_check_program(c, id, &p));
    for (uint32_t k = 0; k < n->arity; k++) {
        size_t size = llfi_dtypes[p->dtype[k]].bytes;
        for (size_t i = 0; i < w->at.count; i++) {
            uint64_t bits, ideal;
            bool there;
            LLF_TRY(bench_check_operand(c, id, k, i, &bits, &ideal, &there));
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

bool bench_check_within(llf_op op, llf_dtype t, uint64_t got, uint64_t want)
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
        bool there;
        for (uint32_t k = 0; k < n->arity; k++)
            LLF_TRY(bench_check_operand(c, id, k, i, &arg[k], &ideal[k], &there));
        uint64_t right = llfi_eval(op, from, to, arg);
        w->ideal[i] = llfi_eval(op, from, to, ideal);
        if (bench_check_within(op, to, w->got[i], right))
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

/* The last source of an element is the element. */
static llf_status move(checker *c, llf_id id)
{
    wanted *w = &c->node[id];
    bool there = true;
    for (size_t i = 0; i < w->at.count && there; i++)
        LLF_TRY(bench_check_operand(c, id, sources(c, id) - 1, i, &w->got[i], &w->ideal[i], &there));
    w->unknown = !there;
    return LLF_OK;
}

/* 0, 1, 2, ... along an axis, rounded once to the node's dtype. */
static void count_along(checker *c, llf_id id)
{
    wanted *w = &c->node[id];
    llf_dtype to = llfi_dtype_of(c->flat, id);
    for (size_t i = 0; i < w->at.count; i++) {
        uint64_t count = (uint64_t)llfi_index_count(c->flat, id, &w->extents, w->at.at[i]);
        w->got[i] = w->ideal[i] = to == LLF_I64 ? count : llfi_eval(LLF_OP_CAST, LLF_I64, to, &count);
    }
}

static llf_status count_elements(checker *c, llf_id id)
{
    wanted *w = &c->node[id];
    llf_dtype to = llfi_dtype_of(c->flat, id);
    uint64_t count;
    LLF_TRY(llfi_index_elements(c->flat, id, c->symbol, &count));
    for (size_t i = 0; i < w->at.count; i++)
        w->got[i] = w->ideal[i] = llfi_eval(LLF_OP_CAST, LLF_I64, to, &count);
    return LLF_OK;
}

static bool depends_on_unknown(const checker *c, llf_id id)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    bool unknown = false;
    for (uint32_t k = 0; k < n->arity; k++)
        unknown |= c->node[llfi_args(c->flat, n)[k]].unknown;
    return unknown;
}

static llf_status evaluate_node(checker *c, llf_id id)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    wanted *w = &c->node[id];
    w->unknown = depends_on_unknown(c, id);
    if (w->unknown || !w->at.count)
        return LLF_OK;
    switch (llfi_ops[n->op].cls) {
    case LLFI_CLASS_LEAF:
        if (n->op == LLF_OP_IOTA)
            count_along(c, id);
        if (n->op == LLF_OP_COUNT)
            return count_elements(c, id);
        for (size_t i = 0; n->op == LLF_OP_CONST && i < w->at.count; i++)
            w->got[i] = w->ideal[i] = n->attr;
        return LLF_OK; /* inputs are read */
    case LLFI_CLASS_VIEW:
    case LLFI_CLASS_INDEX:
    case LLFI_CLASS_RESULT: return move(c, id);
    case LLFI_CLASS_REDUCE: return bench_check_reduce(c, id);
    default: return evaluate(c, id);
    }
}

static llf_status evaluate_all(checker *c)
{
    for (uint32_t i = 0; i < c->flat->inputs.count; i++)
        read_input(c, i);
    for (llf_id id = 0; id < c->flat->nodes.count && c->v->sound; id++)
        LLF_TRY(evaluate_node(c, id));
    return LLF_OK;
}

/* Keeps the indices that gathers have found, for the next round. */
static llf_status learn(checker *c)
{
    for (llf_id id = 0; id < c->flat->nodes.count; id++) {
        const llfi_node *n = llfi_node_at(c->flat, id);
        if (n->op != LLF_OP_TAKE)
            continue;
        wanted *w = &c->node[llfi_args(c->flat, n)[1]];
        w->knowns = w->unknown ? 0 : w->at.count;
        w->known_at = llfi_arena_alloc(&c->arena, (w->knowns + 1) * sizeof *w->known_at);
        if (!w->known_at)
            return llfi_nomem(&c->r->cx->diag);
        if (w->knowns)
            memcpy(w->known_at, w->at.at, w->knowns * sizeof *w->known_at);
        w->known = w->got; /* the next round has room of its own */
    }
    return LLF_OK;
}

/* ---- the measured outputs */

/* One element of an output against its node. */
static void element_holds(checker *c, uint32_t output, const wanted *w, size_t i, uint64_t bits)
{
    llf_dtype t = llfi_dtype_of(c->flat, c->flat->outputs.at[output]);
    double err = !llfi_dtype_is_float(t)      ? bits != w->ideal[i]
                 : same(t, bits, w->ideal[i]) ? 0
                                              : (double)llfi_ulp_distance(t, bits, w->ideal[i]);
    c->v->max_err = err > c->v->max_err ? err : c->v->max_err;
    c->v->sound = same(t, bits, w->got[i]);
    if (!c->v->sound)
        snprintf(c->v->why, sizeof c->v->why,
                 "output %u, element %lld: 0x%llx, but 0x%llx when computed node by node", output,
                 (long long)w->at.at[i], (unsigned long long)bits, (unsigned long long)w->got[i]);
}

/* A small output comes over whole: thousands of copies of one element each would take longer. */
static llf_status output_holds(checker *c, uint32_t output, const void *measured, int64_t points)
{
    bench_device *d = c->r->device;
    llf_id id = c->flat->outputs.at[output];
    llf_dtype t = llfi_dtype_of(c->flat, id);
    const wanted *w = &c->node[id];
    size_t size = llfi_dtypes[t].bytes, all = (size_t)w->extents.elements * size;
    size_t bytes = all <= WHOLE ? all : size;
    int64_t count = points_of(c, id, points);
    char *raw = llfi_alloc(mem, bytes + 1);
    llf_status status = raw ? LLF_OK : llfi_nomem(&c->r->cx->diag);
    if (status == LLF_OK && bytes == all && all)
        status = d->ops->download(d, raw, measured, all);
    for (int64_t p = 0; p < count && c->v->sound && status == LLF_OK; p++) {
        int64_t at = place_of(w->extents.elements, count, p);
        const char *from = raw + (bytes == all ? (size_t)at * size : 0);
        if (bytes != all)
            status = d->ops->download(d, raw, (const char *)measured + (size_t)at * size, size);
        if (status == LLF_OK)
            element_holds(c, output, w, llfi_sorted_at64(w->at.at, w->at.count, at), llfi_bits_load(t, from));
    }
    llfi_free(mem, raw, bytes + 1);
    return status;
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

static void free_buffers(checker *c)
{
    for (uint32_t k = 0; k <= OPERANDS; k++) {
        if (c->buffer[k])
            c->r->device->ops->release(c->r->device, c->buffer[k], c->buffer_bytes);
        c->buffer[k] = NULL;
    }
}

/* Room for the values, and buffers that hold the longest list. */
static llf_status make_room(checker *c)
{
    bench_device *d = c->r->device;
    size_t most = 1;
    for (llf_id id = 0; id < c->flat->nodes.count; id++) {
        wanted *w = &c->node[id];
        most = w->at.count > most ? w->at.count : most;
        size_t values = w->at.count * llfi_op_results(&llfi_ops[llfi_node_at(c->flat, id)->op]) + 1;
        w->got = llfi_arena_alloc(&c->arena, values * sizeof *w->got);
        w->ideal = llfi_arena_alloc(&c->arena, values * sizeof *w->ideal);
        if (!w->got || !w->ideal)
            return llfi_nomem(&c->r->cx->diag);
    }
    free_buffers(c);
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

/* Elements for all that is known of the indices; fewer points where they would be too many. */
static llf_status pull_back_some(checker *c, int64_t *points)
{
    LLF_TRY(pull_back(c, *points));
    while (c->total > MAX_WANTED && *points > 1) {
        *points /= 2;
        LLF_TRY(pull_back(c, *points));
    }
    return LLF_OK;
}

static llf_status check(checker *c, void *const *output)
{
    int64_t points = BENCH_SAMPLES;
    LLF_TRY(measure_nodes(c));
    c->v->sound = true;
    c->v->max_err = 0;
    for (uint32_t round = 0; !round || c->waits; round++) {
        if (round == MAX_ROUNDS)
            return unchecked(c, "too many gathers, one behind the other");
        LLF_TRY(pull_back_some(c, &points));
        if (c->total > MAX_OF_ONE || (points > 1 && c->total > MAX_WANTED))
            return unchecked(c, "one element of each output needs too many elements of its operands");
        LLF_TRY(make_room(c));
        LLF_TRY(evaluate_all(c));
        LLF_TRY(learn(c));
        if (!c->v->sound)
            return LLF_OK;
    }
    for (uint32_t o = 0; o < c->flat->outputs.count && c->v->sound; o++) {
        c->v->sound = !c->node[c->flat->outputs.at[o]].unknown;
        if (!c->v->sound)
            snprintf(c->v->why, sizeof c->v->why, "output %u: an index has other bits when computed again",
                     o);
        else
            LLF_TRY(output_holds(c, o, output[o], points));
    }
    return LLF_OK;
}

static void destroy(checker *c)
{
    for (size_t i = 0; i < c->programs.count; i++) {
        bench_session_close(&c->programs.at[i].s);
        llf_graph_destroy(c->programs.at[i].g);
    }
    llfi_vec_free(mem, &c->programs);
    free_buffers(c);
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
