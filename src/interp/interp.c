/* interp.c: whole graphs and single elements by the rows of eval.c and the arithmetic of index.c. Nodes stand
 * in topological order, so both walk the array and neither recurses. It must not simplify, share or reorder
 * anything. */
#include "interp/interp.h"
#include "interp/index.h"
#include "ir/float.h"

static llfi_diag *diag_of(const llf_graph *g)
{
    return g->cx ? &g->cx->diag : NULL;
}

static llf_status primitive(const llf_graph *g, llf_id id)
{
    llf_op op = (llf_op)llfi_node_at(g, id)->op;
    if (llfi_ops[op].cls == LLFI_CLASS_COMPOSITE)
        return llfi_fail_at(diag_of(g), LLF_E_ORDER, llfi_place_of(g, id), llfi_ops[op].name,
                            "the interpreter knows primitives only: run the decompose pass first");
    return LLF_OK;
}

static bool is_view(const llfi_node *n)
{
    return llfi_ops[n->op].cls == LLFI_CLASS_VIEW;
}

/* A view's bits are its operand's. */
static uint64_t evaluate(const llf_graph *g, llf_id id, const uint64_t *arg)
{
    const llfi_node *n = llfi_node_at(g, id);
    return n->op == LLF_OP_CONST ? n->attr
           : is_view(n)          ? arg[0]
                                 : llfi_eval(n->op, llfi_eval_from(g, id), llfi_dtype_of(g, id), arg);
}

/* Element of operand `k` for element `at`. Equal dims need no arithmetic. */
static llf_status operand_at(const llf_graph *g, llf_id id, uint32_t k, const int64_t *symbol,
                             const llfi_extents *out, const llfi_extents *in, int64_t at, int64_t *from)
{
    if (!is_view(llfi_node_at(g, id)) && llfi_same_space(g, id, k)) {
        *from = in->rank ? at : 0;
        return LLF_OK;
    }
    return llfi_index_operand(g, id, k, symbol, out, in, at, from);
}

/* One operation on all elements. */
static llf_status apply(const llf_graph *g, llf_id id, const int64_t *symbol, const llfi_extents *out,
                        void **value)
{
    const llfi_node *node = llfi_node_at(g, id);
    llf_dtype to = llfi_dtype_of(g, id);
    llfi_extents in[3];
    for (uint32_t i = 0; i < node->arity; i++)
        LLF_TRY(llfi_extents_of(g, llfi_args(g, node)[i], symbol, &in[i]));
    for (int64_t at = 0; at < out->elements; at++) {
        uint64_t arg[3] = {0};
        for (uint32_t i = 0; i < node->arity; i++) {
            llf_id p = llfi_args(g, node)[i];
            llf_dtype dtype = llfi_dtype_of(g, p);
            int64_t from;
            LLF_TRY(operand_at(g, id, i, symbol, out, &in[i], at, &from));
            arg[i] = llfi_bits_load(dtype, (const char *)value[p] + (size_t)from * llf_dtype_size(dtype));
        }
        llfi_bits_store(to, (char *)value[id] + (size_t)at * llf_dtype_size(to), evaluate(g, id, arg));
    }
    return LLF_OK;
}

/* The buffer of a node, zeroed. */
static llf_status make(const llf_graph *g, llf_id id, const int64_t *symbol, llfi_arena *arena,
                       llfi_extents *e, void **value)
{
    size_t bytes;
    LLF_TRY(llfi_extents_of(g, id, symbol, e));
    if (__builtin_mul_overflow((size_t)e->elements, llf_dtype_size(llfi_dtype_of(g, id)), &bytes))
        return llfi_nomem(diag_of(g));
    value[id] = llfi_arena_alloc(arena, bytes ? bytes : 1);
    return value[id] ? LLF_OK : llfi_nomem(diag_of(g));
}

llf_status llfi_interp(const llf_graph *g, const int64_t *symbol, const void *const *data, llfi_arena *arena,
                       void **value)
{
    llfi_extents e;
    LLF_TRY(llfi_guards_check(g, diag_of(g), symbol));
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        LLF_TRY(make(g, id, symbol, arena, &e, value));
        if (e.elements)
            memcpy(value[id], data[i], (size_t)e.elements * llf_dtype_size(llfi_dtype_of(g, id)));
    }
    for (llf_id id = 0; id < g->nodes.count; id++) {
        if (llfi_node_at(g, id)->op == LLF_OP_INPUT)
            continue;
        LLF_TRY(primitive(g, id));
        LLF_TRY(make(g, id, symbol, arena, &e, value));
        LLF_TRY(apply(g, id, symbol, &e, value));
    }
    return LLF_OK;
}

/* ---- one element */

/* An element of a node that is wanted. */
typedef struct {
    int64_t at;
    uint64_t bits;
    uint32_t arg[3]; /* demands of the operands */
    uint32_t next;   /* of the same node; NONE: last */
} demand;
#define NONE UINT32_MAX

typedef struct {
    const llf_graph *g;
    const int64_t *symbol;
    const llf_allocator *mem;
    uint32_t *first; /* by node */
    LLFI_VEC(demand) demands;
    llfi_map index; /* (node, element) -> demand, but for the first of a node */
} wanted;

static llf_status want(wanted *w, llf_id id, int64_t at, uint32_t *out)
{
    uint32_t first = w->first[id];
    *out = first;
    if (first != NONE && w->demands.at[first].at == at)
        return LLF_OK;
    uint64_t hash = llfi_hash_u64(id, (uint64_t)at);
    size_t cursor = 0;
    while (first != NONE && (*out = llfi_map_next(&w->index, hash, &cursor)) != NONE) {
        const demand *d = &w->demands.at[*out];
        if (d->at == at && d->bits == id) /* until they are evaluated, bits hold the node */
            return LLF_OK;
    }
    uint32_t made = (uint32_t)w->demands.count;
    if (!llfi_vec_reserve(w->mem, &w->demands, 1) ||
        (first != NONE && !llfi_map_add(w->mem, &w->index, hash, made)))
        return llfi_nomem(diag_of(w->g));
    demand d = {.at = at, .bits = id, .next = NONE};
    if (first == NONE) {
        w->first[id] = made;
    } else {
        d.next = w->demands.at[first].next;
        w->demands.at[first].next = made;
    }
    w->demands.at[w->demands.count++] = d;
    *out = made;
    return LLF_OK;
}

/* Users stand after operands, so one walk down the ids finds everything that is needed. */
static llf_status spread(wanted *w, llf_id last)
{
    for (llf_id id = last + 1; id-- > 0;) {
        const llfi_node *node = llfi_node_at(w->g, id);
        if (w->first[id] == NONE)
            continue;
        LLF_TRY(primitive(w->g, id));
        llfi_extents out, in[3];
        bool index = is_view(node);
        for (uint32_t i = 0; i < node->arity; i++)
            index |= !llfi_same_space(w->g, id, i);
        if (index)
            LLF_TRY(llfi_extents_of(w->g, id, w->symbol, &out));
        for (uint32_t i = 0; i < node->arity; i++) {
            in[i].rank = llfi_type_of(w->g, node->arg[i]).rank;
            if (index)
                LLF_TRY(llfi_extents_of(w->g, node->arg[i], w->symbol, &in[i]));
        }
        for (uint32_t d = w->first[id]; d != NONE; d = w->demands.at[d].next) {
            for (uint32_t i = 0; i < node->arity; i++) {
                int64_t from;
                uint32_t made;
                LLF_TRY(operand_at(w->g, id, i, w->symbol, &out, &in[i], w->demands.at[d].at, &from));
                LLF_TRY(want(w, node->arg[i], from, &made));
                w->demands.at[d].arg[i] = made;
            }
        }
    }
    return LLF_OK;
}

static void fill(wanted *w, const void *const *data, llf_id last)
{
    const llf_graph *g = w->g;
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        llf_dtype dtype = llfi_dtype_of(g, id);
        for (uint32_t d = id <= last ? w->first[id] : NONE; d != NONE; d = w->demands.at[d].next)
            w->demands.at[d].bits = llfi_bits_load(
                dtype, (const char *)data[i] + (size_t)w->demands.at[d].at * llf_dtype_size(dtype));
    }
    for (llf_id id = 0; id <= last; id++) {
        const llfi_node *node = llfi_node_at(g, id);
        if (node->op == LLF_OP_INPUT)
            continue;
        for (uint32_t d = w->first[id]; d != NONE; d = w->demands.at[d].next) {
            uint64_t arg[3] = {0};
            for (uint32_t i = 0; i < node->arity; i++)
                arg[i] = w->demands.at[w->demands.at[d].arg[i]].bits;
            w->demands.at[d].bits = evaluate(g, id, arg);
        }
    }
}

static llf_status check_asked(const llf_graph *g, const int64_t *symbol, const llf_id *ids, uint32_t count,
                              int64_t at, llf_id *last)
{
    LLF_TRY(llfi_guards_check(g, diag_of(g), symbol));
    for (uint32_t i = 0; i < count; i++) {
        llfi_extents e;
        LLF_TRY(llfi_extents_of(g, ids[i], symbol, &e));
        if (e.rank && (at < 0 || at >= e.elements))
            return llfi_fail(diag_of(g), LLF_E_ARG, "element %lld of a value of %lld", (long long)at,
                             (long long)e.elements);
        *last = ids[i] > *last ? ids[i] : *last;
    }
    return LLF_OK;
}

llf_status llfi_interp_at(const llf_graph *g, const int64_t *symbol, const void *const *data,
                          llfi_arena *arena, const llf_id *ids, uint32_t ids_count, int64_t at,
                          uint64_t *bits)
{
    llf_id last = 0;
    LLF_TRY(check_asked(g, symbol, ids, ids_count, at, &last));
    if (ids_count == 0)
        return LLF_OK;
    /* Straight from the hooks and given back, so that sampling many elements does not grow the arena. */
    size_t nodes = (size_t)last + 1;
    wanted w = {.g = g, .symbol = symbol, .mem = arena->mem};
    w.first = llfi_alloc(w.mem, nodes * sizeof *w.first);
    llf_status status =
        w.first && llfi_vec_reserve(w.mem, &w.demands, nodes) ? LLF_OK : llfi_nomem(diag_of(g));
    if (w.first)
        memset(w.first, 0xff, nodes * sizeof *w.first); /* NONE */
    for (uint32_t i = 0; !status && i < ids_count; i++) {
        uint32_t made;
        status = want(&w, ids[i], llfi_type_of(g, ids[i]).rank ? at : 0, &made);
    }
    if (!status)
        status = spread(&w, last);
    if (!status) {
        fill(&w, data, last);
        for (uint32_t i = 0; i < ids_count; i++) {
            uint32_t d = w.first[ids[i]];
            while (w.demands.at[d].at != (llfi_type_of(g, ids[i]).rank ? at : 0))
                d = w.demands.at[d].next;
            bits[i] = w.demands.at[d].bits;
        }
    }
    llfi_map_free(w.mem, &w.index);
    llfi_vec_free(w.mem, &w.demands);
    llfi_free(w.mem, w.first, nodes * sizeof *w.first);
    return status;
}
