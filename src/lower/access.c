/* access.c: where the leaves of a demand list lie: offsets as expressions, the axes that these need, and the
 * extents that code must be given. All arithmetic on extents of a kernel happens here, before workers run:
 * afterwards the graph's extents are only read. */
#include "lower/demand.h"

#define NONE UINT32_MAX

typedef struct {
    llf_graph *g;
    const llfi_kernel *kernel;
    llfi_maps *m;
    llfi_arena *arena;
    llfi_demands *out;
    uint32_t *form, *atom; /* by id: NONE, else needed; later the new id */
} access;

static bool is_count(const llf_graph *g, const llfi_demand *d)
{
    return llfi_node_at(g, d->node)->op == LLF_OP_IOTA;
}

static bool has_form(const llfi_atom *a)
{
    return a->kind != LLFI_ATOM_AXIS && a->kind != LLFI_ATOM_VALUE;
}

static bool in_memory(const llf_graph *g, const llfi_demand *d)
{
    return d->leaf && llfi_node_is_buffered(llfi_node_at(g, d->node));
}

/* NULL: row-major without gaps. */
static const llfi_stride *strides_of(const llf_graph *g, llf_id node)
{
    for (uint32_t i = 0; g->strides && i < g->strides->inputs; i++)
        if (g->strides->node[i] == node)
            return g->strides->stride[i];
    return NULL;
}

/* Demands of the same buffer, by the first of them. */
static llf_status find_same(access *a)
{
    llfi_map first = {0};
    llf_status status = LLF_OK;
    for (uint32_t i = 0; status == LLF_OK && i < a->out->count; i++) {
        llfi_demand *d = &a->out->at[i];
        uint64_t hash = llfi_hash_u64(0, d->node);
        size_t cursor = 0;
        uint32_t j;
        d->same = i;
        if (!in_memory(a->g, d))
            continue;
        while ((j = llfi_map_next(&first, hash, &cursor)) != NONE && a->out->at[j].node != d->node)
            ;
        if (j != NONE)
            d->same = j;
        else if (!llfi_map_add(a->m->mem, &first, hash, i))
            status = LLF_E_NOMEM;
    }
    llfi_map_free(a->m->mem, &first);
    return status;
}

static bool is_stored(const access *a, uint32_t demand)
{
    for (uint32_t i = 0; i < a->kernel->stores; i++)
        if (a->out->store[i] == demand)
            return true;
    return false;
}

/* Fills demand.offset; `any` when one is not the linear index. With reductions none is, and stores have one,
 * too. */
static llf_status offsets(access *a, bool *any)
{
    llfi_maps *m = a->m;
    uint32_t identity = llfi_maps_identity(m);
    llfi_type space = llfi_type_at(a->g, a->kernel->space);
    LLF_TRY(m->status);
    const llfi_ix *axis = m->map.at[identity].ix;
    llfi_ix ix[LLFI_RANK], line;
    memcpy(ix, axis, space.rank * sizeof *ix);
    line = a->kernel->reduced ? LLFI_IX_NONE : llfi_ix_linear(m, ix, space.rank, m->extent);
    for (uint32_t i = 0; i < a->out->count && m->status == LLF_OK; i++) {
        llfi_demand *d = &a->out->at[i];
        llfi_type t = llfi_type_of(a->g, d->node);
        if (is_count(a->g, d)) {
            uint32_t along =
                (uint32_t)llfi_list_at(a->g, llfi_node_at(a->g, d->node)->attr).at[LLFI_IOTA_AXIS];
            llfi_ix count = m->map.at[d->map].ix[along];
            d->offset = count == (d->scope ? line : 0) ? LLFI_OFFSET_LINEAR : count;
            *any = *any || d->offset != LLFI_OFFSET_LINEAR;
        }
        if (!in_memory(a->g, d) && !(a->kernel->reduced && is_stored(a, i)))
            continue;
        const llfi_index_map *map = &m->map.at[d->map];
        llfi_dim extent[LLFI_RANK];
        d->alive = d->leaf ? llfi_map_alive(m, d->map) : LLFI_DIM_NONE;
        memcpy(ix, map->ix, map->rank * sizeof *ix);
        if (t.rank)
            memcpy(extent, t.dim, t.rank * sizeof *extent);
        const llfi_stride *stride = strides_of(a->g, d->node);
        llfi_maps_at(m, d->node, LLFI_RANK);
        llfi_ix at = stride ? llfi_ix_strided(m, ix, t.rank, stride) : llfi_ix_linear(m, ix, t.rank, extent);
        d->offset = at == (d->scope ? line : 0) ? LLFI_OFFSET_LINEAR : at;
        *any = *any || d->offset != LLFI_OFFSET_LINEAR;
    }
    for (uint32_t i = 0; i < a->out->conds; i++)
        *any = *any || a->out->cond[i] != LLFI_IX_NONE;
    return m->status;
}

/* The numbers that counts are; `any` when there are some. */
static llf_status counts(access *a, bool *any)
{
    llfi_dims *dims = a->g->dims;
    for (uint32_t i = 0; i < a->out->count; i++) {
        const llfi_node *n = llfi_node_at(a->g, a->out->at[i].node);
        if (n->op != LLF_OP_COUNT)
            continue;
        llfi_list l = llfi_list_at(a->g, n->attr);
        llfi_dim product = a->m->one;
        for (uint32_t k = LLFI_COUNT_DIMS; k < l.count && product != LLFI_DIM_NONE; k++)
            product = llfi_dim_mul(dims, product, (llfi_dim)l.at[k]);
        if (product == LLFI_DIM_NONE)
            return llfi_dims_nomem(dims) ? LLF_E_NOMEM : LLF_E_LIMIT;
        a->out->at[i].number = product;
        *any = true;
    }
    return LLF_OK;
}

/* ---- what is needed, renumbered */

static void mark_all(access *a)
{
    llfi_maps *m = a->m;
    for (uint32_t i = 0; i < a->out->count; i++)
        if (a->out->at[i].offset != LLFI_OFFSET_LINEAR)
            a->form[a->out->at[i].offset] = 0;
    for (uint32_t i = 0; i < a->out->conds; i++)
        if (a->out->cond[i] != LLFI_IX_NONE)
            a->form[a->out->cond[i]] = 0;
    /* Ids fall along every reference but for the atoms of forms, which are older than the form: one sweep
     * from above reaches everything if a form's atoms' arguments are older than the form, which they are. */
    for (uint32_t f = (uint32_t)m->form.count; f-- > 0;) {
        const llfi_ix_form *form = &m->form.at[f];
        for (uint32_t k = 0; a->form[f] != NONE && k < form->terms; k++) {
            uint32_t atom = m->term.at[form->first + k].atom;
            a->atom[atom] = 0;
            if (has_form(&m->atom.at[atom]))
                a->form[m->atom.at[atom].arg] = 0;
        }
    }
}

static llf_status copy_needed(access *a)
{
    const llfi_maps *m = a->m;
    size_t terms = 0;
    llfi_demands *out = a->out;
    for (uint32_t i = 0; i < m->form.count; i++)
        if (a->form[i] != NONE) {
            a->form[i] = out->forms++;
            terms += m->form.at[i].terms;
        }
    for (uint32_t i = 0; i < m->atom.count; i++)
        if (a->atom[i] != NONE)
            a->atom[i] = out->atoms++;
    llfi_ix_form *form = llfi_arena_alloc(a->arena, out->forms * sizeof *form);
    llfi_ix_term *term = llfi_arena_alloc(a->arena, (terms + 1) * sizeof *term);
    llfi_atom *atom = llfi_arena_alloc(a->arena, (out->atoms + 1) * sizeof *atom);
    if (!form || !term || !atom)
        return LLF_E_NOMEM;
    terms = 0;
    for (uint32_t i = 0; i < m->form.count; i++) {
        if (a->form[i] == NONE)
            continue;
        llfi_ix_form *f = &form[a->form[i]];
        *f = m->form.at[i];
        for (uint32_t k = 0; k < f->terms; k++) {
            llfi_ix_term t = m->term.at[f->first + k];
            term[terms + k] = (llfi_ix_term){a->atom[t.atom], t.coef};
        }
        f->first = (uint32_t)terms;
        terms += f->terms;
    }
    for (uint32_t i = 0; i < m->atom.count; i++) {
        if (a->atom[i] == NONE)
            continue;
        llfi_atom *x = &atom[a->atom[i]];
        *x = m->atom.at[i];
        if (has_form(x))
            x->arg = a->form[x->arg];
    }
    for (uint32_t i = 0; i < out->count; i++)
        if (out->at[i].offset != LLFI_OFFSET_LINEAR)
            out->at[i].offset = a->form[out->at[i].offset];
    for (uint32_t i = 0; i < out->conds; i++)
        if (out->cond[i] != LLFI_IX_NONE)
            out->cond[i] = a->form[out->cond[i]];
    out->form = form;
    out->term = term;
    out->atom = atom;
    return LLF_OK;
}

/* ---- axes */

static llfi_signed coefficient(const access *a, const llfi_ix_form *f, uint32_t axis)
{
    for (uint32_t k = 0; k < f->terms; k++) {
        const llfi_ix_term *t = &a->out->term[f->first + k];
        if (a->out->atom[t->atom].kind == LLFI_ATOM_AXIS && a->out->atom[t->atom].arg == axis)
            return t->coef;
    }
    return (llfi_signed){a->m->zero, a->m->zero};
}

/* Does every expression take `outer` and `inner` as the one axis outer * extent + inner? */
static bool glued(access *a, uint32_t outer, uint32_t inner)
{
    llfi_signed extent = llfi_signed_of(a->m, a->m->extent[inner]);
    for (uint32_t i = 0; i < a->out->forms; i++) {
        const llfi_ix_form *f = &a->out->form[i];
        llfi_signed c = coefficient(a, f, outer), d = coefficient(a, f, inner);
        if (!llfi_signed_same(c, llfi_signed_mul(a->m, d, extent)))
            return false;
    }
    return true;
}

static uint32_t outer_axes(const access *a)
{
    uint32_t outer = 0;
    for (uint32_t i = 0; i < a->m->rank; i++)
        outer += !(a->kernel->reduced >> i & 1);
    return outer;
}

static llf_status make_axes(access *a)
{
    llfi_maps *m = a->m;
    llfi_space *s = &a->out->space;
    uint32_t last = NONE;
    memset(s->of, -1, sizeof s->of);
    uint32_t border = a->kernel->reduced ? outer_axes(a) : 0;
    for (uint32_t i = 0; i < m->rank; i++) {
        if (m->extent[i] == m->one)
            continue;
        if (last != NONE && (last >= border || i < border) && glued(a, last, i)) {
            s->of[last] = -1;
            s->extent[s->axes - 1] = llfi_dim_mul(m->dims, s->extent[s->axes - 1], m->extent[i]);
            if (s->extent[s->axes - 1] == LLFI_DIM_NONE)
                return llfi_dims_nomem(m->dims) ? LLF_E_NOMEM : LLF_E_LIMIT;
        } else {
            s->extent[s->axes++] = m->extent[i];
        }
        s->of[i] = (int8_t)(s->axes - 1);
        s->outer = i < border ? s->axes : s->outer;
        last = i;
    }
    if (s->axes == 0 || (border && s->axes == s->outer))
        s->extent[s->axes++] = m->one;
    s->along = s->axes - 1;
    for (uint32_t i = 0; i < a->out->atoms; i++) {
        const llfi_atom *x = &a->out->atom[i];
        if (x->kind == LLFI_ATOM_AXIS && s->of[x->arg] >= 0)
            s->used |= 1u << s->of[x->arg];
    }
    return m->status;
}

/* ---- extents as arguments */

static void need(access *a, llfi_dim d)
{
    int64_t value;
    if (llfi_dim_is_const(a->g->dims, d, &value))
        return;
    for (uint32_t i = 0; i < a->out->dims; i++)
        if (a->out->dim[i] == d)
            return;
    a->out->dim[a->out->dims++] = d;
}

static llf_status list_dims(access *a)
{
    llfi_demands *out = a->out;
    size_t most = out->atoms + (size_t)LLFI_RANK + 2 * (size_t)out->count + 1;
    for (uint32_t i = 0; i < out->forms; i++)
        most += 2 * ((size_t)out->form[i].terms + 1);
    out->dim = llfi_arena_alloc(a->arena, most * sizeof *out->dim);
    if (!out->dim)
        return LLF_E_NOMEM;
    for (uint32_t i = a->kernel->reduced ? 0 : 1; i < out->space.axes; i++)
        need(a, out->space.extent[i]);
    for (uint32_t i = 0; i < out->atoms; i++)
        if (out->atom[i].kind != LLFI_ATOM_AXIS)
            need(a, out->atom[i].by);
    for (uint32_t i = 0; i < out->forms; i++) {
        const llfi_ix_form *f = &out->form[i];
        need(a, f->constant.pos);
        need(a, f->constant.neg);
        for (uint32_t k = 0; k < f->terms; k++) {
            need(a, out->term[f->first + k].coef.pos);
            need(a, out->term[f->first + k].coef.neg);
        }
    }
    for (uint32_t i = 0; i < out->count; i++)
        if (out->at[i].alive != LLFI_DIM_NONE)
            need(a, out->at[i].alive);
    for (uint32_t i = 0; i < out->count; i++)
        if (out->at[i].number != LLFI_DIM_NONE)
            need(a, out->at[i].number);
    return LLF_OK;
}

llf_status llfi_access_make(llf_graph *g, const llfi_kernel *kernel, llfi_maps *m, llfi_arena *arena,
                            llfi_demands *out)
{
    access a = {.g = g, .kernel = kernel, .m = m, .arena = arena, .out = out};
    bool any = false, counted = false;
    LLF_TRY(find_same(&a));
    LLF_TRY(offsets(&a, &any));
    LLF_TRY(counts(&a, &counted));
    if (!any && !kernel->reduced) {
        out->space = (llfi_space){.axes = 1};
        memset(out->space.of, -1, sizeof out->space.of);
        return counted ? list_dims(&a) : LLF_OK;
    }
    a.form = llfi_arena_alloc(arena, m->form.count * sizeof *a.form);
    a.atom = llfi_arena_alloc(arena, (m->atom.count + 1) * sizeof *a.atom);
    if (!a.form || !a.atom)
        return LLF_E_NOMEM;
    memset(a.form, 0xff, m->form.count * sizeof *a.form);
    memset(a.atom, 0xff, (m->atom.count + 1) * sizeof *a.atom);
    mark_all(&a);
    LLF_TRY(copy_needed(&a));
    LLF_TRY(make_axes(&a));
    LLF_TRY(list_dims(&a));
    return llfi_narrow_decide(g, kernel, arena, out);
}

/* ---- how vectors lie */

/* Is the amount a multiple of width, or may it be one at run time? */
static bool may_divide(const llf_graph *g, const llfi_demands *list, llfi_dim d, uint32_t width,
                       bool *multiple)
{
    int64_t value;
    if (llfi_dim_is_const(g->dims, d, &value))
        return value % width == 0;
    for (uint32_t i = 0; multiple && i < list->dims; i++)
        multiple[i] = multiple[i] || list->dim[i] == d;
    return true;
}

static bool is_one(const llf_graph *g, llfi_signed c)
{
    int64_t pos, neg;
    return llfi_dim_is_const(g->dims, c.pos, &pos) && llfi_dim_is_const(g->dims, c.neg, &neg) && pos == 1 &&
           neg == 0;
}

/* Does an atom change along an axis of the space? */
static bool is_along(const llfi_demands *list, const llfi_atom *a, uint32_t axis)
{
    for (uint32_t i = 0; i < LLFI_RANK; i++)
        if (a->axes >> i & 1 && list->space.of[i] == (int8_t)axis)
            return true;
    return false;
}

bool llfi_access_inner(const llfi_demands *list, const llfi_atom *a)
{
    return is_along(list, a, list->space.along);
}

llfi_access llfi_access_of(const llf_graph *g, const llfi_demands *list, uint32_t demand, uint32_t width,
                           bool aligned, bool *multiple)
{
    return llfi_access_along(g, list, demand, list->space.along, width, aligned, multiple);
}

/* -1 */
static bool is_back(const llf_graph *g, llfi_signed c)
{
    return is_one(g, (llfi_signed){c.neg, c.pos});
}

/* May the constant be a multiple of width, or for `back` one less: the first in memory is the last? */
static bool may_start(const llf_graph *g, const llfi_demands *list, llfi_signed c, uint32_t width, bool back,
                      bool *multiple)
{
    int64_t pos, neg;
    if (!back)
        return may_divide(g, list, c.pos, width, multiple) && may_divide(g, list, c.neg, width, multiple);
    if (!llfi_dim_is_const(g->dims, c.neg, &neg))
        return false;
    if (llfi_dim_is_const(g->dims, c.pos, &pos))
        return (pos - neg + 1) % (int64_t)width == 0;
    return (neg - 1) % (int64_t)width == 0 && may_divide(g, list, c.pos, width, multiple);
}

/* May a form be a multiple of width where its unit term along `axis` is one? `back`: see may_start. */
static bool may_divide_form(const llf_graph *g, const llfi_demands *list, const llfi_ix_form *f,
                            uint32_t axis, uint32_t width, bool back, bool *multiple)
{
    bool ok = may_start(g, list, f->constant, width, back, multiple);
    for (uint32_t k = 0; ok && k < f->terms; k++) {
        const llfi_ix_term *t = &list->term[f->first + k];
        const llfi_atom *a = &list->atom[t->atom];
        bool dropped = a->kind == LLFI_ATOM_AXIS && list->space.of[a->arg] < 0;
        bool unit = a->kind != LLFI_ATOM_DIV && is_along(list, a, axis) &&
                    (back ? is_back(g, t->coef) : is_one(g, t->coef));
        if (!dropped && !unit)
            ok = may_divide(g, list, t->coef.pos, width, multiple) &&
                 may_divide(g, list, t->coef.neg, width, multiple);
    }
    return ok;
}

/* Does a form rise by one from element to element of a vector along `axis`? */
static bool rises(const llf_graph *g, const llfi_demands *list, const llfi_ix_form *f, uint32_t axis)
{
    bool along = false;
    for (uint32_t k = 0; k < f->terms; k++) {
        const llfi_ix_term *t = &list->term[f->first + k];
        const llfi_atom *a = &list->atom[t->atom];
        if (!is_along(list, a, axis))
            continue;
        if (along || a->kind != LLFI_ATOM_AXIS || !is_one(g, t->coef))
            return false;
        along = true;
    }
    return along;
}

/* A quotient, remainder or limit of what rises and starts at a multiple of width, by a multiple of it: the
 * first is the same for the whole vector, the others rise with it. */
static bool is_whole(const llf_graph *g, const llfi_demands *list, const llfi_atom *a, uint32_t axis,
                     uint32_t width, bool *multiple)
{
    if (a->kind == LLFI_ATOM_AXIS || a->kind == LLFI_ATOM_VALUE)
        return false;
    const llfi_ix_form *f = &list->form[a->arg];
    return rises(g, list, f, axis) && may_divide(g, list, a->by, width, multiple) &&
           may_divide_form(g, list, f, axis, width, false, multiple);
}

llfi_access llfi_access_along(const llf_graph *g, const llfi_demands *list, uint32_t demand, uint32_t axis,
                              uint32_t width, bool aligned, bool *multiple)
{
    const llfi_demand *d = &list->at[demand];
    if (d->offset == LLFI_OFFSET_LINEAR) /* `axis` is the innermost */
        return LLFI_ACCESS_VECTOR;
    const llfi_ix_form *f = &list->form[d->offset];
    bool along = false, back = false;
    for (uint32_t pass = 0; pass < 2; pass++) { /* refuse first, then note */
        bool *note = pass ? multiple : NULL;
        along = false;
        for (uint32_t k = 0; k < f->terms; k++) {
            const llfi_ix_term *t = &list->term[f->first + k];
            const llfi_atom *a = &list->atom[t->atom];
            if (!is_along(list, a, axis))
                continue;
            bool whole = aligned && is_whole(g, list, a, axis, width, note);
            if (whole && a->kind == LLFI_ATOM_DIV)
                continue;
            back = a->kind == LLFI_ATOM_AXIS && is_back(g, t->coef);
            if ((a->kind != LLFI_ATOM_AXIS && !whole) || (!back && !is_one(g, t->coef)) || along)
                return LLFI_ACCESS_LANES;
            along = true;
        }
        if (along && aligned && !may_divide_form(g, list, f, axis, width, back, note))
            return LLFI_ACCESS_LANES;
    }
    return !along ? LLFI_ACCESS_SPLAT : back ? LLFI_ACCESS_BACK : LLFI_ACCESS_VECTOR;
}

bool llfi_access_steps(const llf_graph *g, const llfi_demands *list, llfi_ix form, uint32_t width,
                       bool *multiple)
{
    const llfi_ix_form *f = &list->form[form];
    uint32_t inner = list->space.along;
    return rises(g, list, f, inner) && may_divide_form(g, list, f, inner, width, false, multiple);
}
