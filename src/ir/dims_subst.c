/* dims_subst.c: dims with symbols replaced by dims (dims.h). Walks with a stack of its own, since a replaced
 * symbol leads on to what stands for it. Must not choose what is replaced. */
#include "ir/dims_form.h"

typedef struct {
    llfi_dim dim;
    uint32_t next; /* child to look at */
} visit;

typedef struct {
    llfi_dims *d;
    llfi_dim *value, *out;
    uint8_t *state; /* by dim: 0 not seen, 1 on the stack, 2 done */
    visit *stack;
    uint32_t depth;
} walk;

/* Child `i` of a dim: what is part of it, or stands for the symbol. False: there are no more. */
static bool child(const walk *w, llfi_dim id, uint32_t i, llfi_dim *out)
{
    const llfi_dim_record *r = &w->d->rec.at[id];
    const int64_t *word = llfi_dims_words(w->d, id);
    switch ((llfi_dim_kind)r->kind) {
    case LLFI_DIM_CONST: return false;
    case LLFI_DIM_SYM: *out = w->value[word[0]]; return i == 0 && *out != LLFI_DIM_NONE;
    case LLFI_DIM_SUM:
        if (2 * i + 2 >= r->count)
            return false;
        *out = (llfi_dim)word[2 * i + 2];
        return true;
    default:
        if (i >= r->count)
            return false;
        *out = (llfi_dim)word[i];
        return true;
    }
}

static llfi_dim product(walk *w, llfi_dim id)
{
    llfi_dim p = llfi_dim_const(w->d, 1), c;
    for (uint32_t i = 0; child(w, id, i, &c); i++)
        p = llfi_dim_mul(w->d, p, w->out[c]);
    return p;
}

static llfi_dim sum(walk *w, llfi_dim id)
{
    llfi_poly p = {.c = llfi_dims_words(w->d, id)[0]};
    for (uint32_t i = 1; i < w->d->rec.at[id].count; i += 2) {
        const int64_t *word = llfi_dims_words(w->d, id);
        if (!llfi_poly_add(w->d, &p, w->out[word[i + 1]], word[i]))
            return LLFI_DIM_NONE;
    }
    return llfi_dims_pack(w->d, &p);
}

static llfi_dim rebuilt(walk *w, llfi_dim id)
{
    llfi_dim c, a, b;
    bool same = true;
    for (uint32_t i = 0; child(w, id, i, &c); i++) {
        if (w->out[c] == LLFI_DIM_NONE)
            return LLFI_DIM_NONE;
        same = same && w->out[c] == c;
    }
    llfi_dim_kind kind = w->d->rec.at[id].kind;
    if (same && kind != LLFI_DIM_SYM)
        return id;
    switch (kind) {
    case LLFI_DIM_SYM: return child(w, id, 0, &c) ? w->out[c] : id;
    case LLFI_DIM_PROD: return product(w, id);
    case LLFI_DIM_SUM: return sum(w, id);
    default: break;
    }
    if (!child(w, id, 0, &a) || !child(w, id, 1, &b))
        return id;
    a = w->out[a];
    b = w->out[b];
    return kind == LLFI_DIM_DIV   ? llfi_dim_floordiv(w->d, a, b)
           : kind == LLFI_DIM_MIN ? llfi_dim_min(w->d, a, b)
                                  : llfi_dim_max(w->d, a, b);
}

/* What stands for the uppermost symbol on the stack holds that symbol: it keeps its place. Above it lie but
 * parts of one dim, so what is undone is little. */
static void drop_cycle(walk *w)
{
    uint32_t symbol;
    while (!llfi_dim_is_symbol(w->d, w->stack[w->depth - 1].dim, &symbol))
        w->state[w->stack[--w->depth].dim] = 0;
    w->value[symbol] = LLFI_DIM_NONE;
}

static void finish(walk *w)
{
    llfi_dim id = w->stack[--w->depth].dim;
    uint32_t symbol;
    w->out[id] = rebuilt(w, id);
    if (w->out[id] == LLFI_DIM_NONE && llfi_dim_is_symbol(w->d, id, &symbol)) {
        w->value[symbol] = LLFI_DIM_NONE; /* too large to be written */
        w->out[id] = id;
    }
    w->state[id] = 2;
}

bool llfi_dims_substitute(llfi_dims *d, llfi_dim *value, llfi_dim *out, uint32_t count, llfi_arena *scratch)
{
    walk w = {.d = d, .value = value, .out = out};
    w.state = llfi_arena_alloc(scratch, (size_t)count + 1);
    w.stack = llfi_arena_alloc(scratch, ((size_t)count + 1) * sizeof *w.stack);
    if (!w.state || !w.stack)
        return false;
    for (llfi_dim id = 0; id < count; id++) {
        if (w.state[id] == 0)
            w.stack[w.depth++] = (visit){id, 0};
        w.state[id] = w.state[id] ? w.state[id] : 1;
        while (w.depth) {
            visit *top = &w.stack[w.depth - 1];
            llfi_dim c;
            if (!child(&w, top->dim, top->next, &c)) {
                finish(&w);
            } else if (w.state[c] == 1) {
                drop_cycle(&w);
            } else {
                top->next++;
                if (w.state[c] == 0) {
                    w.state[c] = 1;
                    w.stack[w.depth++] = (visit){c, 0};
                }
            }
        }
    }
    return !llfi_dims_nomem(d);
}
