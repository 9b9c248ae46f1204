/* interp.c: whole graphs and single elements by the rows of eval.c and the arithmetic of index.c. Nodes stand
 * in topological order, so both walk the array and neither recurses. It must not simplify, share or reorder
 * anything. */
#include "interp/interp.h"
#include "interp/index.h"
#include "interp/reduce.h"
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

static bool is_reduce(const llfi_node *n)
{
    return llfi_ops[n->op].cls == LLFI_CLASS_REDUCE;
}

static bool is_index(const llfi_node *n)
{
    return llfi_ops[n->op].cls == LLFI_CLASS_INDEX;
}

/* A view's bits are its operand's; so are a further result's, once the right ones were taken. */
static uint64_t evaluate(const llf_graph *g, llf_id id, const uint64_t *arg)
{
    const llfi_node *n = llfi_node_at(g, id);
    return n->op == LLF_OP_CONST ? n->attr
           : is_view(n) || n->op == LLF_OP_RESULT
               ? arg[0]
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

static bool counts(const llfi_node *n)
{
    return n->op == LLF_OP_IOTA || n->op == LLF_OP_COUNT;
}

/* An integer of the sequence, or the number of elements of a shape, in the node's dtype. */
static llf_status count_bits(const llf_graph *g, llf_id id, const int64_t *symbol, const llfi_extents *out,
                             int64_t at, uint64_t *bits)
{
    llf_dtype to = llfi_dtype_of(g, id);
    if (llfi_node_at(g, id)->op == LLF_OP_IOTA)
        *bits = (uint64_t)llfi_index_count(g, id, out, at);
    else
        LLF_TRY(llfi_index_elements(g, id, symbol, bits));
    if (to != LLF_I64)
        *bits = llfi_eval(LLF_OP_CAST, LLF_I64, to, bits);
    return LLF_OK;
}

static uint64_t load(const llf_graph *g, llf_id id, void *const *value, int64_t at)
{
    llf_dtype dtype = llfi_dtype_of(g, id);
    return llfi_bits_load(dtype, (const char *)value[id] + (size_t)at * llf_dtype_size(dtype));
}

/* One element of an INDEX op: moved, never computed. */
static llf_status pick(const llf_graph *g, llf_id id, const int64_t *symbol, const llfi_extents *out,
                       int64_t at, void *const *value, uint64_t *bits)
{
    const llf_id *arg = llfi_args(g, llfi_node_at(g, id));
    uint32_t operand;
    int64_t from, index;
    LLF_TRY(llfi_index_choose(g, id, symbol, out, at, NULL, &operand, &from));
    *bits = load(g, arg[operand], value, from);
    if (llfi_node_at(g, id)->op != LLF_OP_TAKE)
        return LLF_OK;
    index = llfi_dtype_of(g, arg[1]) == LLF_I32 ? (int32_t)(uint32_t)*bits : (int64_t)*bits;
    LLF_TRY(llfi_index_choose(g, id, symbol, out, at, &index, &operand, &from));
    *bits = load(g, arg[operand], value, from);
    return LLF_OK;
}

/* One operation on all elements. */
static llf_status apply(const llf_graph *g, llf_id id, const int64_t *symbol, const llfi_extents *out,
                        void **value)
{
    const llfi_node *node = llfi_node_at(g, id);
    llf_dtype to = llfi_dtype_of(g, id);
    llfi_extents in[LLFI_INLINE_ARGS];
    bool index = is_index(node);
    for (uint32_t i = 0; !index && i < node->arity; i++)
        LLF_TRY(llfi_extents_of(g, llfi_args(g, node)[i], symbol, &in[i]));
    for (int64_t at = 0; at < out->elements; at++) {
        uint64_t arg[LLFI_INLINE_ARGS] = {0}, bits;
        for (uint32_t i = 0; !index && i < node->arity; i++) {
            int64_t from;
            LLF_TRY(operand_at(g, id, i, symbol, out, &in[i], at, &from));
            arg[i] = load(g, llfi_args(g, node)[i], value, from);
        }
        if (index)
            LLF_TRY(pick(g, id, symbol, out, at, value, &bits));
        else if (counts(node))
            LLF_TRY(count_bits(g, id, symbol, out, at, &bits));
        else
            bits = evaluate(g, id, arg);
        llfi_bits_store(to, (char *)value[id] + (size_t)at * llf_dtype_size(to), bits);
    }
    return LLF_OK;
}

/* All rows of a reduction: the values of the node and of its further results. */
static llf_status reduce(const llf_graph *g, llf_id id, const int64_t *symbol, const llf_allocator *mem,
                         const llfi_extents *out, void **value)
{
    llf_id x = llfi_node_at(g, id)->arg[0];
    llf_dtype to = llfi_dtype_of(g, id);
    uint32_t results = llfi_op_results(&llfi_ops[llfi_node_at(g, id)->op]);
    llfi_extents in;
    LLF_TRY(llfi_extents_of(g, x, symbol, &in));
    for (int64_t at = 0; at < out->elements; at++) {
        llfi_row row = llfi_row_make(g, id, llfi_index_row(g, id, &in), mem);
        bool ok = true;
        for (int64_t i = 0; ok && i < row.length; i++)
            ok = llfi_row_add(&row, load(g, x, value, llfi_index_reduced(g, id, out, &in, at, i)));
        llfi_partial p = ok ? llfi_row_finish(&row) : (llfi_partial){{0, 0}};
        llfi_row_free(&row);
        if (!ok)
            return llfi_nomem(diag_of(g));
        for (uint32_t k = 0; k < results; k++)
            llfi_bits_store(to, (char *)value[id + k] + (size_t)at * llf_dtype_size(to), p.bits[k]);
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
        if (llfi_node_at(g, id)->op == LLF_OP_RESULT)
            continue; /* made with its op */
        for (uint32_t k = 0; k < llfi_op_results(&llfi_ops[llfi_node_at(g, id)->op]); k++)
            LLF_TRY(make(g, id + k, symbol, arena, &e, value));
        LLF_TRY(is_reduce(llfi_node_at(g, id)) ? reduce(g, id, symbol, arena->mem, &e, value)
                                               : apply(g, id, symbol, &e, value));
    }
    return LLF_OK;
}

/* ---- one element */

/* An element of a node that is wanted. Its operands' elements are found one after the other: those of `take`
 * only once the index is known. */
typedef struct {
    llf_id node;
    int64_t at;
    uint64_t bits[LLFI_RESULTS];    /* of a reduction all of them, else the first */
    uint64_t got[LLFI_INLINE_ARGS]; /* bits of the operands so far */
    uint32_t waits;                 /* demand of the operand that is on its way; NONE */
    uint32_t args;
    bool done;
} demand;
#define NONE UINT32_MAX

/* A reduction that is being computed. Its elements are asked for one after the other, and what they needed is
 * forgotten now and then, so that a long row takes no more memory than a short one; but for reductions,
 * which are dear, and few. */
typedef struct {
    llfi_row row;
    llfi_extents out, in;
} active;

/* A reduction that was computed, and whose demand is gone. */
typedef struct {
    llf_id node;
    int64_t at;
    llfi_partial value;
} known;

#define FORGET_AT 65536u /* demands */

typedef struct {
    const llf_graph *g;
    const int64_t *symbol;
    const llf_allocator *mem;
    llfi_input_fn *fetch;
    const void *user;
    uint32_t *first; /* by node */
    uint32_t *input; /* by node: its place in the signature */
    LLFI_VEC(demand) demands;
    LLFI_VEC(uint32_t) stack;
    llfi_map index;          /* (node, element) -> demand, but for the first of a node */
    LLFI_VEC(active) active; /* the reductions on the stack, in its order */
    LLFI_VEC(known) known;
    llfi_map known_at; /* (node, element) -> known */
} wanted;

static const known *find_known(const wanted *w, llf_id id, int64_t at, uint64_t hash)
{
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&w->known_at, hash, &cursor)) != NONE;)
        if (w->known.at[i].node == id && w->known.at[i].at == at)
            return &w->known.at[i];
    return NULL;
}

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
        if (d->at == at && d->node == id)
            return LLF_OK;
    }
    uint32_t made = (uint32_t)w->demands.count;
    if (!llfi_vec_reserve(w->mem, &w->demands, 1) || !llfi_vec_reserve(w->mem, &w->stack, 1) ||
        (first != NONE && !llfi_map_add(w->mem, &w->index, hash, made)))
        return llfi_nomem(diag_of(w->g));
    if (first == NONE)
        w->first[id] = made;
    const known *k = find_known(w, id, at, hash);
    demand *d = &w->demands.at[w->demands.count++];
    *d = (demand){.node = id, .at = at, .waits = NONE, .done = k != NULL};
    *out = made;
    if (k)
        memcpy(d->bits, k->value.bits, sizeof d->bits);
    else
        w->stack.at[w->stack.count++] = made;
    return LLF_OK;
}

/* The operand that the demand needs next and its element; false: it has all. */
static llf_status needs(const wanted *w, const demand *d, bool *more, llf_id *operand, int64_t *at)
{
    const llf_graph *g = w->g;
    const llfi_node *node = llfi_node_at(g, d->node);
    const llf_id *arg = llfi_args(g, node);
    llfi_extents out = {.rank = llfi_type_at(g, node->type).rank}, in;
    *more = d->args < (is_index(node) ? (node->op == LLF_OP_TAKE ? 2 : 1) : node->arity);
    if (!*more)
        return LLF_OK;
    bool index = is_index(node) || is_view(node) || !llfi_same_space(g, d->node, d->args);
    in.rank = llfi_type_of(g, arg[d->args]).rank;
    if (index)
        LLF_TRY(llfi_extents_of(g, d->node, w->symbol, &out));
    if (is_index(node)) {
        uint32_t k;
        int64_t found = d->args && llfi_dtype_of(g, arg[1]) == LLF_I32 ? (int32_t)(uint32_t)d->got[0]
                                                                       : (int64_t)d->got[0];
        LLF_TRY(llfi_index_choose(g, d->node, w->symbol, &out, d->at, d->args ? &found : NULL, &k, at));
        *operand = arg[k];
        return LLF_OK;
    }
    if (index)
        LLF_TRY(llfi_extents_of(g, arg[d->args], w->symbol, &in));
    *operand = arg[d->args];
    return operand_at(g, d->node, d->args, w->symbol, &out, &in, d->at, at);
}

/* Bits of a demand whose operands are there. */
static llf_status finish(wanted *w, demand *d)
{
    const llf_graph *g = w->g;
    const llfi_node *node = llfi_node_at(g, d->node);
    llf_dtype dtype = llfi_dtype_of(g, d->node);
    llfi_extents out;
    d->done = true;
    if (node->op == LLF_OP_INPUT) {
        d->bits[0] = w->fetch(w->user, w->input[d->node], d->at, dtype);
    } else if (counts(node)) {
        LLF_TRY(llfi_extents_of(g, d->node, w->symbol, &out));
        LLF_TRY(count_bits(g, d->node, w->symbol, &out, d->at, &d->bits[0]));
    } else {
        d->bits[0] = is_index(node) ? d->got[d->args - 1] : evaluate(g, d->node, d->got);
    }
    return LLF_OK;
}

/* Drops the demands made since `top`, none of which is on the stack, where they have become many. */
static llf_status forget(wanted *w, uint32_t top)
{
    uint32_t kept = top + 1, made = (uint32_t)w->demands.count - kept;
    if (made < FORGET_AT || made < kept)
        return LLF_OK;
    for (uint32_t i = kept; i < kept + made; i++) {
        const demand *d = &w->demands.at[i];
        uint64_t hash = llfi_hash_u64(d->node, (uint64_t)d->at);
        if (w->first[d->node] == i)
            w->first[d->node] = NONE;
        if (!is_reduce(llfi_node_at(w->g, d->node)) || find_known(w, d->node, d->at, hash))
            continue;
        if (!llfi_vec_reserve(w->mem, &w->known, 1) ||
            !llfi_map_add(w->mem, &w->known_at, hash, (uint32_t)w->known.count))
            return llfi_nomem(diag_of(w->g));
        known *k = &w->known.at[w->known.count++];
        *k = (known){.node = d->node, .at = d->at};
        memcpy(k->value.bits, d->bits, sizeof d->bits);
    }
    w->demands.count = kept;
    llfi_map_free(w->mem, &w->index);
    for (uint32_t i = 0; i < kept; i++) {
        const demand *d = &w->demands.at[i];
        if (w->first[d->node] != i &&
            !llfi_map_add(w->mem, &w->index, llfi_hash_u64(d->node, (uint64_t)d->at), i))
            return llfi_nomem(diag_of(w->g));
    }
    return LLF_OK;
}

static llf_status begin_row(wanted *w, const demand *d)
{
    if (!llfi_vec_reserve(w->mem, &w->active, 1))
        return llfi_nomem(diag_of(w->g));
    active *a = &w->active.at[w->active.count];
    LLF_TRY(llfi_extents_of(w->g, d->node, w->symbol, &a->out));
    LLF_TRY(llfi_extents_of(w->g, llfi_node_at(w->g, d->node)->arg[0], w->symbol, &a->in));
    a->row = llfi_row_make(w->g, d->node, llfi_index_row(w->g, d->node, &a->in), w->mem);
    w->active.count++;
    return LLF_OK;
}

/* The next element of the row that the last demand reduces, or its end. */
static llf_status row_step(wanted *w, uint32_t top)
{
    demand *d = &w->demands.at[top];
    llf_id x = llfi_node_at(w->g, d->node)->arg[0];
    if (!d->args) {
        d->args = 1;
        LLF_TRY(begin_row(w, d));
    }
    active *a = &w->active.at[w->active.count - 1];
    if (d->waits != NONE) {
        if (!llfi_row_add(&a->row, w->demands.at[d->waits].bits[0]))
            return llfi_nomem(diag_of(w->g));
        d->waits = NONE;
        LLF_TRY(forget(w, top));
    }
    if (a->row.added == a->row.length) {
        llfi_partial p = llfi_row_finish(&a->row);
        memcpy(d->bits, p.bits, sizeof d->bits);
        d->done = true;
        llfi_row_free(&a->row);
        w->active.count--;
        w->stack.count--;
        return LLF_OK;
    }
    uint32_t made;
    LLF_TRY(want(w, x, llfi_index_reduced(w->g, d->node, &a->out, &a->in, d->at, a->row.added), &made));
    w->demands.at[top].waits = made;
    return LLF_OK;
}

/* Until nothing waits: each turn asks for one operand of the last demand, or finishes it. */
static llf_status work(wanted *w)
{
    while (w->stack.count) {
        uint32_t top = w->stack.at[w->stack.count - 1], made;
        demand *d = &w->demands.at[top];
        llf_id operand = LLF_NONE;
        int64_t at;
        bool more;
        if (is_reduce(llfi_node_at(w->g, d->node))) {
            LLF_TRY(row_step(w, top));
            continue;
        }
        if (d->waits != NONE) {
            const llfi_node *n = llfi_node_at(w->g, d->node);
            d->got[d->args++] = w->demands.at[d->waits].bits[n->op == LLF_OP_RESULT ? n->attr : 0];
            d->waits = NONE;
        }
        if (d->args == 0)
            LLF_TRY(primitive(w->g, d->node));
        LLF_TRY(needs(w, d, &more, &operand, &at));
        if (!more) {
            LLF_TRY(finish(w, d));
            w->stack.count--;
            continue;
        }
        LLF_TRY(want(w, operand, at, &made)); /* pushed when it is new; else it is done */
        w->demands.at[top].waits = made;
    }
    return LLF_OK;
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

static uint64_t from_memory(const void *user, uint32_t input, int64_t at, llf_dtype dtype)
{
    const void *const *data = user;
    return llfi_bits_load(dtype, (const char *)data[input] + (size_t)at * llf_dtype_size(dtype));
}

llf_status llfi_interp_at(const llf_graph *g, const int64_t *symbol, const void *const *data,
                          llfi_arena *arena, const llf_id *ids, uint32_t ids_count, int64_t at,
                          uint64_t *bits)
{
    return llfi_interp_from(g, symbol, from_memory, data, arena, ids, ids_count, at, bits);
}

llf_status llfi_interp_from(const llf_graph *g, const int64_t *symbol, llfi_input_fn *fetch, const void *user,
                            llfi_arena *arena, const llf_id *ids, uint32_t ids_count, int64_t at,
                            uint64_t *bits)
{
    llf_id last = 0;
    LLF_TRY(check_asked(g, symbol, ids, ids_count, at, &last));
    if (ids_count == 0)
        return LLF_OK;
    /* Straight from the hooks and given back, so that sampling many elements does not grow the arena. */
    size_t nodes = (size_t)last + 1;
    wanted w = {.g = g, .symbol = symbol, .mem = arena->mem, .fetch = fetch, .user = user};
    w.first = llfi_alloc(w.mem, nodes * sizeof *w.first);
    w.input = llfi_alloc(w.mem, nodes * sizeof *w.input);
    llf_status status =
        w.first && w.input && llfi_vec_reserve(w.mem, &w.demands, nodes) ? LLF_OK : llfi_nomem(diag_of(g));
    if (w.first)
        memset(w.first, 0xff, nodes * sizeof *w.first); /* NONE */
    for (uint32_t i = 0; !status && i < g->inputs.count; i++)
        if (g->inputs.at[i] <= last)
            w.input[g->inputs.at[i]] = i;
    for (uint32_t i = 0; !status && i < ids_count; i++) {
        uint32_t made;
        status = want(&w, ids[i], llfi_type_of(g, ids[i]).rank ? at : 0, &made);
        if (!status)
            status = work(&w);
        if (!status)
            bits[i] = w.demands.at[made].bits[0];
    }
    while (w.active.count)
        llfi_row_free(&w.active.at[--w.active.count].row);
    llfi_vec_free(w.mem, &w.active);
    llfi_vec_free(w.mem, &w.known);
    llfi_map_free(w.mem, &w.known_at);
    llfi_map_free(w.mem, &w.index);
    llfi_vec_free(w.mem, &w.demands);
    llfi_vec_free(w.mem, &w.stack);
    llfi_free(w.mem, w.first, nodes * sizeof *w.first);
    llfi_free(w.mem, w.input, nodes * sizeof *w.input);
    return status;
}
