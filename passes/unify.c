/* unify.c: extents that a guard holds equal become one extent. Of two symbols the lower one stays, a constant
 * goes before both, and a symbol alone on one side gives way to the other side (N == 4*K: N is 4*K). What the
 * guards ask of the caller's sizes they go on asking, under the names that the caller knows: the guards and,
 * beside the graph, the inputs' types stay as they were. It changes no operation.
 * In: any graph.
 * Out: no two symbols are held equal by a guard; nor a symbol equal to a constant, nor, but for cycles, to
 * an expression. Left as it is when the types would not fit any more: then no sizes could.
 * Why: nodes over equal extents have one iteration space and may share a kernel.
 * Cost: linear. */
#include "pass.h"

typedef struct {
    llf_graph *g;
    uint32_t *parent;    /* by symbol: union-find, the lowest index is the root */
    llfi_dim *value;     /* by symbol: what stands for it; LLFI_DIM_NONE: itself */
    llfi_dim *out;       /* by dim */
    llfi_dim (*side)[2]; /* by guard: what it holds equal, as simply as it can be said */
    uint32_t dims;
} unify;

static uint32_t root(const unify *u, uint32_t s)
{
    for (; u->parent[s] != s; s = u->parent[s])
        u->parent[s] = u->parent[u->parent[s]];
    return s;
}

static bool symbol(const unify *u, llfi_dim d, uint32_t *s)
{
    return llfi_dim_is_symbol(u->g->dims, d, s);
}

static bool constant(const unify *u, llfi_dim d)
{
    int64_t value;
    return llfi_dim_is_const(u->g->dims, d, &value);
}

/* Which sides of guards a round takes. */
typedef enum { SYMBOLS, CONSTANTS, EXPRESSIONS, ROUNDS } round_of;

static void take(unify *u, round_of round, llfi_dim a, llfi_dim b)
{
    uint32_t s, t;
    if (!symbol(u, a, &s))
        return;
    bool both = symbol(u, b, &t);
    s = root(u, s);
    if (both && round == SYMBOLS) {
        t = root(u, t);
        u->parent[s > t ? s : t] = s > t ? t : s;
    } else if (!both && constant(u, b) == (round == CONSTANTS) && round != SYMBOLS &&
               u->value[s] == LLFI_DIM_NONE) {
        u->value[s] = b;
    }
}

/* N-1 == M-1 says N == M. */
static llf_status simplest(unify *u, llfi_arena *scratch)
{
    llf_graph *g = u->g;
    u->side = llfi_arena_alloc(scratch, (g->guards.count + 1) * sizeof *u->side);
    if (!u->side)
        return llfi_nomem(&g->cx->diag);
    for (size_t i = 0; i < g->guards.count; i++) {
        const llfi_guard *guard = &g->guards.at[i];
        llfi_dim *side = u->side[i];
        if (guard->at_most || !llfi_dim_equation(g->dims, guard->a, guard->b, &side[0], &side[1]))
            side[0] = side[1] = LLFI_DIM_NONE;
    }
    return llfi_dims_nomem(g->dims) ? llfi_nomem(&g->cx->diag) : LLF_OK;
}

/* What stands for each symbol, cycles not looked for yet. */
static llf_status solve(unify *u, llfi_arena *scratch)
{
    llf_graph *g = u->g;
    uint32_t symbols = llfi_dims_symbols(g->dims);
    LLF_TRY(simplest(u, scratch));
    u->parent = llfi_arena_alloc(scratch, (symbols + 1) * sizeof *u->parent);
    u->value = llfi_arena_alloc(scratch, (symbols + 1) * sizeof *u->value);
    if (!u->parent || !u->value)
        return llfi_nomem(&g->cx->diag);
    for (uint32_t s = 0; s < symbols; s++) {
        u->parent[s] = s;
        u->value[s] = LLFI_DIM_NONE;
    }
    for (round_of round = SYMBOLS; round < ROUNDS; round++)
        for (size_t i = 0; i < g->guards.count; i++) {
            if (u->side[i][0] == LLFI_DIM_NONE)
                continue;
            take(u, round, u->side[i][0], u->side[i][1]);
            take(u, round, u->side[i][1], u->side[i][0]);
        }
    for (uint32_t s = 0; s < symbols; s++) {
        uint32_t r = root(u, s);
        if (r != s && (u->value[s] = llfi_dim_sym(g->dims, r)) == LLFI_DIM_NONE)
            return llfi_nomem(&g->cx->diag);
    }
    return LLF_OK;
}

static bool any(const unify *u)
{
    for (uint32_t s = 0; s < llfi_dims_symbols(u->g->dims); s++)
        if (u->value[s] != LLFI_DIM_NONE)
            return true;
    return false;
}

static llf_status replace(unify *u, llfi_arena *scratch)
{
    if (!any(u))
        return LLF_OK;
    u->dims = llfi_dims_count(u->g->dims);
    u->out = llfi_arena_alloc(scratch, (u->dims + 1) * sizeof *u->out);
    if (!u->out || !llfi_dims_substitute(u->g->dims, u->value, u->out, u->dims, scratch))
        return llfi_nomem(&u->g->cx->diag);
    return LLF_OK;
}

static llf_status unfit(const unify *u)
{
    return llfi_fail(&u->g->cx->diag, LLF_E_LIMIT, "an extent is too large once symbols are replaced");
}

static llf_status replaced(const unify *u, int64_t dim, llfi_dim *out)
{
    *out = dim < u->dims ? u->out[dim] : (llfi_dim)dim; /* made since: by inference, from replaced ones */
    return *out == LLFI_DIM_NONE ? unfit(u) : LLF_OK;
}

/* ---- inputs */

/* The types that the caller knows stay beside the graph: they bind symbols and are what sizes are told by. */
static llf_status keep_types(llf_graph *g)
{
    if (g->asked.count)
        return LLF_OK;
    if (!llfi_vec_reserve(&g->cx->mem, &g->asked, g->inputs.count))
        return llfi_nomem(&g->cx->diag);
    for (size_t i = 0; i < g->inputs.count; i++)
        g->asked.at[g->asked.count++] = llfi_node_at(g, g->inputs.at[i])->type;
    return LLF_OK;
}

static llf_status retype(const unify *u, llf_id input)
{
    llf_graph *g = u->g;
    llfi_type t = llfi_type_of(g, input);
    llfi_dim dim[LLFI_RANK];
    for (uint32_t i = 0; i < t.rank; i++)
        LLF_TRY(replaced(u, t.dim[i], &dim[i]));
    uint32_t type = llfi_type_make(g, t.dtype, t.rank, dim);
    if (type == UINT32_MAX)
        return llfi_nomem(&g->cx->diag);
    g->nodes.at[input].type = type;
    return LLF_OK;
}

/* ---- attributes */

/* A range asked for as it would be written, so that it is resolved anew for the new extent. */
static llf_status ask_range(const unify *u, llfi_dim extent, const llfi_range *r, llfi_range_ask *ask)
{
    llfi_dims *d = u->g->dims;
    llfi_dim from, count;
    int64_t n, start, length;
    LLF_TRY(replaced(u, r->start, &from));
    LLF_TRY(replaced(u, r->length, &count));
    *ask = (llfi_range_ask){{from, 0}, {LLFI_DIM_NONE, 0}, r->step};
    if (llfi_dim_is_const(d, extent, &n) && llfi_dim_is_const(d, from, &start) &&
        llfi_dim_is_const(d, count, &length)) {
        int64_t last = start + (length - 1) * r->step, stop = r->step > 0 ? last + 1 : last - 1;
        if (length == 0)
            stop = start;
        if (stop >= 0)
            ask->stop.dim = llfi_dim_const(d, stop);
        return stop >= 0 && ask->stop.dim == LLFI_DIM_NONE ? unfit(u) : LLF_OK;
    }
    if (r->stop == LLFI_STOP_WHOLE)
        ask->start.dim = LLFI_DIM_NONE;
    return r->stop < 0 ? LLF_OK : replaced(u, r->stop, &ask->stop.dim);
}

static llf_status ask_again(const unify *u, llfi_rewrite *rw, llf_id old, llfi_attr_kind kind, llfi_ask *ask)
{
    const llfi_node *n = &rw->old[old];
    uint32_t words = llfi_list_at(u->g, n->attr).count;
    ask->count = kind == LLFI_ATTR_KIND_RANGES ? words / LLFI_RANGE_WORDS : words;
    for (uint32_t i = 0; i < ask->count; i++) {
        if (kind == LLFI_ATTR_KIND_DIMS) {
            LLF_TRY(replaced(u, llfi_list_at(u->g, n->attr).at[i], &ask->dim[i]));
            continue;
        }
        llfi_range r = llfi_range_at(u->g, n->attr, i);
        LLF_TRY(ask_range(u, llfi_type_of(u->g, rw->map[llfi_args(u->g, n)[0]]).dim[i], &r, &ask->range[i]));
    }
    return LLF_OK;
}

/* A list of pads, of iota or count: nothing in it is resolved against an operand, so its dims are replaced
 * and the rest of its words stays. */
static llf_status replace_words(const unify *u, llfi_attr_kind kind, uint64_t old, uint64_t *attr)
{
    int64_t word[LLFI_IOTA_DIMS + LLFI_PAD_WORDS * LLFI_RANK];
    llfi_list l = llfi_list_at(u->g, old);
    assert(l.count <= LLFI_COUNT(word));
    for (uint32_t i = 0; i < l.count; i++) {
        bool is_dim = llfi_list_word_is_dim(kind, i, l.at[i]);
        llfi_dim d = LLFI_DIM_NONE;
        if (is_dim)
            LLF_TRY(replaced(u, l.at[i], &d));
        word[i] = is_dim ? (int64_t)d : l.at[i];
    }
    *attr = llfi_list_make(u->g, l.count, word);
    return *attr == UINT32_MAX ? llfi_nomem(&u->g->cx->diag) : LLF_OK;
}

static llf_status copy(const unify *u, llfi_rewrite *rw, llf_id old)
{
    const llfi_node *n = &rw->old[old];
    llfi_attr_kind kind = llfi_attr_kind_of(llfi_ops[n->op].attr);
    if (kind == LLFI_ATTR_KIND_PADS || kind == LLFI_ATTR_KIND_IOTA || kind == LLFI_ATTR_KIND_COUNT) {
        uint64_t same;
        LLF_TRY(replace_words(u, kind, n->attr, &same));
        return llfi_rewrite_copy_as(rw, old, same);
    }
    if (kind != LLFI_ATTR_KIND_DIMS && kind != LLFI_ATTR_KIND_RANGES)
        return llfi_rewrite_copy(rw, old);
    llfi_ask ask;
    uint64_t attr;
    LLF_TRY(ask_again(u, rw, old, kind, &ask));
    LLF_TRY(llfi_view_attr(u->g, (llf_op)n->op, rw->map[llfi_args(u->g, n)[0]], &ask,
                           (llfi_place){u->g->file, n->line, n->col}, &attr));
    return llfi_rewrite_copy_as(rw, old, attr);
}

static llf_status rewrite(const unify *u, llfi_rewrite *rw)
{
    for (llf_id i = 0; i < u->g->inputs.count; i++)
        LLF_TRY(retype(u, i));
    for (llf_id i = 0; i < rw->olds; i++)
        if (rw->old[i].op != LLF_OP_INPUT)
            LLF_TRY(copy(u, rw, i));
    return LLF_OK;
}

llf_status llfi_pass_unify(llfi_pass *p, llf_graph *g)
{
    unify u = {.g = g};
    llfi_rewrite rw;
    bool first = g->asked.count == 0;
    LLF_TRY(solve(&u, p->scratch));
    LLF_TRY(replace(&u, p->scratch));
    if (!any(&u))
        return LLF_OK;
    LLF_TRY(keep_types(g));
    LLF_TRY(llfi_rewrite_begin(&rw, g, p->scratch));
    llf_status status = rewrite(&u, &rw);
    if (status == LLF_OK)
        return llfi_rewrite_end(&rw);
    llfi_rewrite_abort(&rw);
    if (first)
        g->asked.count = 0;
    return status == LLF_E_NOMEM || status == LLF_E_INTERNAL ? status : LLF_OK;
}
