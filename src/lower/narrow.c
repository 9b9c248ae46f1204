/* narrow.c: whether a kernel's indices may be 32 bits wide: no element, offset, limit or divided number may
 * pass 2^31 - 1. Proved where extents are constants. Of other extents it is taken for granted, and
 * llfi_narrow_holds says at prepare whether that is right (variant.c has the answer where it is not). Both
 * ask the same questions. Nothing here changes a graph at prepare, when others read it. */
#include "lower/demand.h"

typedef struct {
    const llf_graph *g;
    const llfi_demands *list;
    const int64_t *symbol; /* NULL: not known, then `assume`: extents that are no constants are small */
    bool assume;
    int64_t beyond; /* the first number found that does not fit; INT64_MAX: not known how large */
} measure;

static bool refuse(measure *m, int64_t number)
{
    m->beyond = number;
    return false;
}

static bool small(measure *m, llfi_dim d, int64_t *value)
{
    if (d == LLFI_DIM_NONE)
        return refuse(m, INT64_MAX);
    if (!llfi_dim_is_const(m->g->dims, d, value)) {
        *value = 1;
        if (m->symbol ? !llfi_dim_eval(m->g->dims, d, m->symbol, value) : !m->assume)
            return refuse(m, INT64_MAX);
    }
    return *value <= INT32_MAX || refuse(m, *value);
}

/* Is the sum of all that a form adds, or subtracts, below 2^31? */
static bool small_side(measure *m, const llfi_ix_form *f, bool minus)
{
    int64_t total, c, e;
    if (!small(m, minus ? f->constant.neg : f->constant.pos, &total))
        return false;
    for (uint32_t k = 0; k < f->terms; k++) {
        const llfi_ix_term *t = &m->list->term[f->first + k];
        if (!small(m, minus ? t->coef.neg : t->coef.pos, &c))
            return false;
        if (c && !small(m, m->list->atom[t->atom].extent, &e))
            return false;
        if (c && e && (__builtin_mul_overflow(c, e - 1, &c) || __builtin_add_overflow(total, c, &total)))
            return refuse(m, INT64_MAX);
    }
    return total <= INT32_MAX || refuse(m, total);
}

static bool small_signed(measure *m, llfi_ix ix)
{
    return ix == LLFI_IX_NONE ||
           (small_side(m, &m->list->form[ix], false) && small_side(m, &m->list->form[ix], true));
}

/* What a quotient divides is not negative: what is subtracted only makes it smaller. */
static bool small_atom(measure *m, const llfi_atom *a)
{
    int64_t value;
    switch (a->kind) {
    case LLFI_ATOM_AXIS: return true;
    case LLFI_ATOM_VALUE: return small(m, a->by, &value);
    case LLFI_ATOM_CLAMP: return small(m, a->by, &value) && small_signed(m, a->arg);
    default: return small(m, a->by, &value) && small_side(m, &m->list->form[a->arg], false);
    }
}

static bool is_count(const measure *m, const llfi_demand *d)
{
    return llfi_node_at(m->g, d->node)->op == LLF_OP_IOTA && d->offset != LLFI_OFFSET_LINEAR;
}

static bool all_small(measure *m)
{
    const llfi_demands *list = m->list;
    int64_t value;
    for (uint32_t i = 0; i < list->sizes; i++)
        if (!small(m, list->size[i], &value))
            return false;
    for (uint32_t i = 0; i < list->atoms; i++)
        if (!small_atom(m, &list->atom[i]))
            return false;
    for (uint32_t i = 0; i < list->conds; i++)
        if (!small_signed(m, list->cond[i]))
            return false;
    for (uint32_t i = 0; i < list->count; i++)
        if (is_count(m, &list->at[i]) && !small_signed(m, list->at[i].offset))
            return false;
    return true;
}

static void add_size(llfi_demands *list, llfi_dim d)
{
    for (uint32_t i = 0; i < list->sizes; i++)
        if (list->size[i] == d)
            return;
    list->size[list->sizes++] = d;
}

/* Elements of the space and of each buffer, and what is compared with 0 beside limits. */
static llf_status list_sizes(llf_graph *g, const llfi_kernel *kernel, llfi_arena *arena, llfi_demands *list)
{
    list->size = llfi_arena_alloc(arena, (2 * (size_t)list->count + 1) * sizeof *list->size);
    if (!list->size)
        return LLF_E_NOMEM;
    add_size(list, llfi_numel(g, kernel->space));
    for (uint32_t i = 0; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        if (!d->leaf || !llfi_node_is_buffered(llfi_node_at(g, d->node)))
            continue;
        add_size(list, llfi_numel(g, llfi_node_at(g, d->node)->type));
        if (d->alive != LLFI_DIM_NONE)
            add_size(list, d->alive);
    }
    for (uint32_t i = 0; i < kernel->stores && kernel->reduced; i++) /* rows may be without elements */
        add_size(list, llfi_numel(g, llfi_node_at(g, kernel->store[i])->type));
    return llfi_dims_nomem(g->dims) ? LLF_E_NOMEM : LLF_OK;
}

static bool reads_strided(const llf_graph *g, const llfi_demands *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t k = 0; k < g->strides->inputs; k++)
            if (list->at[i].leaf && list->at[i].node == g->strides->node[k])
                return true;
    return false;
}

llf_status llfi_narrow_decide(llf_graph *g, const llfi_kernel *kernel, llfi_arena *arena, llfi_demands *list)
{
    measure m = {.g = g, .list = list};
    if (g->strides && reads_strided(g, list)) /* which may reach anywhere */
        return LLF_OK;
    LLF_TRY(list_sizes(g, kernel, arena, list));
    list->space.narrow = all_small(&m);
    m.assume = !g->strides; /* variants are there for what does not hold */
    if (list->space.narrow || !m.assume)
        return LLF_OK;
    list->space.narrow = list->space.assumed = all_small(&m);
    return LLF_OK;
}

bool llfi_narrow_holds(const llf_graph *g, const llfi_demands *list, const int64_t *symbol, int64_t *beyond)
{
    measure m = {.g = g, .list = list, .symbol = symbol};
    int64_t points;
    bool holds = !list->space.assumed ||
                 (list->uniform == 0 && !list->phases &&
                  llfi_dim_eval(g->dims, list->size[0], symbol, &points) && !points) ||
                 all_small(&m);
    *beyond = m.beyond;
    return holds;
}
