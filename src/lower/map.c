/* map.c: the table of index expressions: signed extents, sums of atoms, interning (map.h). Division stands in
 * map_div.c, views in map_view.c. Forms refer to atoms and atoms to earlier forms, so nothing here recurses.
 */
#include "lower/map_form.h"

void llfi_maps_fail(llfi_maps *m, llf_status status)
{
    if (m->status == LLF_OK)
        m->status = status;
}

static bool no_dim(llfi_maps *m)
{
    llfi_maps_fail(m, llfi_dims_nomem(m->dims) ? LLF_E_NOMEM : LLF_E_LIMIT);
    return false;
}

llf_status llfi_maps_init(llfi_maps *m, const llf_allocator *mem, llfi_dims *dims, uint32_t rank,
                          const llfi_dim *extent)
{
    *m = (llfi_maps){.mem = mem, .dims = dims, .rank = rank};
    m->zero = llfi_dim_const(dims, 0);
    m->one = llfi_dim_const(dims, 1);
    if (m->zero == LLFI_DIM_NONE || m->one == LLFI_DIM_NONE)
        return LLF_E_NOMEM;
    for (uint32_t i = 0; i < rank; i++)
        m->extent[i] = extent[i];
    llfi_sum zero;
    llfi_sum_clear(m, &zero);
    llfi_sum_intern(m, &zero);
    return m->status;
}

void llfi_maps_free(llfi_maps *m)
{
    llfi_vec_free(m->mem, &m->form);
    llfi_vec_free(m->mem, &m->term);
    llfi_vec_free(m->mem, &m->atom);
    llfi_vec_free(m->mem, &m->map);
    llfi_vec_free(m->mem, &m->known);
    llfi_map_free(m->mem, &m->form_index);
    llfi_map_free(m->mem, &m->atom_index);
    llfi_map_free(m->mem, &m->map_index);
}

/* ---- signed extents */

static llfi_signed difference(llfi_maps *m, llfi_dim pos, llfi_dim neg)
{
    llfi_signed s = {m->zero, m->zero};
    if (neg == m->zero && pos == m->zero)
        return s;
    if (!llfi_dim_diff(m->dims, pos, neg, &s.pos, &s.neg)) {
        no_dim(m);
        return (llfi_signed){m->zero, m->zero};
    }
    return s;
}

llfi_signed llfi_signed_of(llfi_maps *m, llfi_dim d)
{
    return difference(m, d, m->zero);
}

llfi_signed llfi_signed_add(llfi_maps *m, llfi_signed a, llfi_signed b)
{
    return difference(m, llfi_dim_add(m->dims, a.pos, b.pos), llfi_dim_add(m->dims, a.neg, b.neg));
}

llfi_signed llfi_signed_mul(llfi_maps *m, llfi_signed a, llfi_signed b)
{
    llfi_dims *d = m->dims;
    if (b.pos == m->one && b.neg == m->zero)
        return a;
    return difference(m, llfi_dim_add(d, llfi_dim_mul(d, a.pos, b.pos), llfi_dim_mul(d, a.neg, b.neg)),
                      llfi_dim_add(d, llfi_dim_mul(d, a.pos, b.neg), llfi_dim_mul(d, a.neg, b.pos)));
}

bool llfi_signed_is_zero(const llfi_maps *m, llfi_signed s)
{
    return s.pos == m->zero && s.neg == m->zero;
}

static uint64_t hash_signed(const llfi_maps *m, uint64_t h, llfi_signed s)
{
    return llfi_hash_u64(llfi_hash_u64(h, llfi_dim_hash(m->dims, s.pos)), llfi_dim_hash(m->dims, s.neg));
}

/* ---- sums */

void llfi_sum_clear(llfi_maps *m, llfi_sum *s)
{
    s->c = (llfi_signed){m->zero, m->zero};
    s->terms = 0;
}

void llfi_sum_of(llfi_maps *m, llfi_ix ix, llfi_sum *s)
{
    const llfi_ix_form *f = &m->form.at[ix];
    s->c = f->constant;
    s->terms = f->terms;
    if (f->terms)
        memcpy(s->t, m->term.at + f->first, f->terms * sizeof *s->t);
}

void llfi_sum_atom(llfi_maps *m, llfi_sum *s, uint32_t atom, llfi_signed coef)
{
    uint32_t i = 0;
    if (llfi_signed_is_zero(m, coef))
        return;
    while (i < s->terms && s->t[i].atom < atom)
        i++;
    if (i < s->terms && s->t[i].atom == atom) {
        s->t[i].coef = llfi_signed_add(m, s->t[i].coef, coef);
        if (llfi_signed_is_zero(m, s->t[i].coef))
            memmove(s->t + i, s->t + i + 1, (--s->terms - i) * sizeof *s->t);
        return;
    }
    if (s->terms == LLFI_IX_TERMS) {
        llfi_maps_fail(m, LLF_E_LIMIT);
        return;
    }
    memmove(s->t + i + 1, s->t + i, (s->terms - i) * sizeof *s->t);
    s->t[i] = (llfi_ix_term){atom, coef};
    s->terms++;
}

void llfi_sum_add(llfi_maps *m, llfi_sum *s, llfi_ix ix, llfi_signed coef)
{
    llfi_ix_form f = m->form.at[ix];
    s->c = llfi_signed_add(m, s->c, llfi_signed_mul(m, f.constant, coef));
    for (uint32_t i = 0; i < f.terms; i++) {
        llfi_ix_term t = m->term.at[f.first + i];
        llfi_sum_atom(m, s, t.atom, llfi_signed_mul(m, t.coef, coef));
    }
}

static bool term_of(const llfi_sum *s, uint32_t atom, uint32_t *at)
{
    for (*at = 0; *at < s->terms; ++*at)
        if (s->t[*at].atom == atom)
            return true;
    return false;
}

/* One remainder that meets its quotient. */
static bool join_one(llfi_maps *m, llfi_sum *s)
{
    for (uint32_t i = 0; i < s->terms; i++) {
        const llfi_atom a = m->atom.at[s->t[i].atom];
        uint32_t j;
        if (a.kind != LLFI_ATOM_MOD || a.twin == UINT32_MAX || !term_of(s, a.twin, &j))
            continue;
        llfi_signed c = s->t[i].coef, whole = llfi_signed_mul(m, c, llfi_signed_of(m, a.by));
        if (!llfi_signed_same(whole, s->t[j].coef))
            continue;
        uint32_t mod = s->t[i].atom;
        llfi_sum_atom(m, s, a.twin, llfi_signed_minus(whole));
        llfi_sum_atom(m, s, mod, llfi_signed_minus(c));
        llfi_sum_add(m, s, a.arg, c);
        return true;
    }
    return false;
}

static uint32_t find_form(const llfi_maps *m, const llfi_sum *s, uint64_t hash)
{
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&m->form_index, hash, &cursor)) != UINT32_MAX;) {
        const llfi_ix_form *f = &m->form.at[i];
        bool same = f->terms == s->terms && llfi_signed_same(f->constant, s->c);
        for (uint32_t k = 0; same && k < s->terms; k++) {
            const llfi_ix_term *t = &m->term.at[f->first + k];
            same = t->atom == s->t[k].atom && llfi_signed_same(t->coef, s->t[k].coef);
        }
        if (same)
            return i;
    }
    return LLFI_IX_NONE;
}

llfi_ix llfi_sum_intern(llfi_maps *m, llfi_sum *s)
{
    while (m->status == LLF_OK && join_one(m, s))
        ;
    if (m->status != LLF_OK)
        return LLFI_IX_NONE;
    llfi_ix_form f = {.constant = s->c, .first = (uint32_t)m->term.count, .terms = s->terms};
    f.hash = hash_signed(m, s->terms, s->c);
    f.alive = LLFI_DIM_NONE;
    for (uint32_t i = 0; i < s->terms; i++) {
        const llfi_atom *a = &m->atom.at[s->t[i].atom];
        f.hash = hash_signed(m, llfi_hash_u64(f.hash, a->hash), s->t[i].coef);
        f.axes |= a->axes;
        f.waits = f.waits || a->waits;
        f.alive = llfi_alive_both(m, f.alive, a->alive);
    }
    llfi_ix ix = find_form(m, s, f.hash);
    if (ix != LLFI_IX_NONE)
        return ix;
    ix = (llfi_ix)m->form.count;
    if (!llfi_vec_reserve(m->mem, &m->form, 1) || !llfi_vec_reserve(m->mem, &m->term, s->terms) ||
        !llfi_map_add(m->mem, &m->form_index, f.hash, ix)) {
        llfi_maps_fail(m, LLF_E_NOMEM);
        return LLFI_IX_NONE;
    }
    if (s->terms)
        memcpy(m->term.at + m->term.count, s->t, s->terms * sizeof *s->t);
    m->term.count += s->terms;
    m->form.at[m->form.count++] = f;
    return ix;
}

/* ---- atoms */

uint32_t llfi_atom_add(llfi_maps *m, llfi_atom_kind kind, uint32_t arg, llfi_dim by, llfi_dim extent)
{
    if (m->status != LLF_OK)
        return UINT32_MAX;
    llfi_atom a = {.kind = kind, .arg = arg, .by = by, .extent = extent, .twin = UINT32_MAX};
    bool form = kind != LLFI_ATOM_AXIS && kind != LLFI_ATOM_VALUE;
    int64_t count;
    a.hash = llfi_hash_u64(kind, form ? m->form.at[arg].hash : arg);
    if (kind != LLFI_ATOM_AXIS)
        a.hash = llfi_hash_u64(a.hash, llfi_dim_hash(m->dims, by));
    a.axes = form ? m->form.at[arg].axes : kind == LLFI_ATOM_AXIS ? 1u << arg : 0;
    a.alive = form ? m->form.at[arg].alive : LLFI_DIM_NONE;
    a.waits = kind == LLFI_ATOM_VALUE || (form && m->form.at[arg].waits);
    if (kind == LLFI_ATOM_CLAMP && !(llfi_dim_is_const(m->dims, by, &count) && count > 0))
        a.alive = llfi_alive_both(m, a.alive, by);
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&m->atom_index, a.hash, &cursor)) != UINT32_MAX;) {
        llfi_atom *o = &m->atom.at[i];
        if (o->kind != kind || o->arg != arg || o->by != by)
            continue;
        if (o->extent == LLFI_DIM_NONE)
            o->extent = extent;
        return i;
    }
    uint32_t id = (uint32_t)m->atom.count;
    if (!llfi_vec_reserve(m->mem, &m->atom, 1) || !llfi_map_add(m->mem, &m->atom_index, a.hash, id)) {
        llfi_maps_fail(m, LLF_E_NOMEM);
        return UINT32_MAX;
    }
    m->atom.at[m->atom.count++] = a;
    return id;
}

bool llfi_ix_is_atom(const llfi_maps *m, llfi_ix ix, uint32_t *atom)
{
    const llfi_ix_form *f = &m->form.at[ix];
    if (f->terms != 1 || !llfi_signed_is_zero(m, f->constant))
        return false;
    const llfi_ix_term *t = &m->term.at[f->first];
    *atom = t->atom;
    return t->coef.pos == m->one && t->coef.neg == m->zero;
}

/* ---- expressions */

llfi_ix llfi_ix_of_atom(llfi_maps *m, uint32_t atom)
{
    if (atom == UINT32_MAX)
        return LLFI_IX_NONE;
    llfi_sum s;
    llfi_sum_clear(m, &s);
    llfi_sum_atom(m, &s, atom, (llfi_signed){m->one, m->zero});
    return llfi_sum_intern(m, &s);
}

llfi_ix llfi_ix_axis(llfi_maps *m, uint32_t axis)
{
    if (m->extent[axis] == m->one)
        return m->status == LLF_OK ? 0 : LLFI_IX_NONE;
    return llfi_ix_of_atom(m, llfi_atom_add(m, LLFI_ATOM_AXIS, axis, m->one, m->extent[axis]));
}

llfi_ix llfi_ix_const(llfi_maps *m, llfi_dim value)
{
    llfi_sum s;
    llfi_sum_clear(m, &s);
    s.c = llfi_signed_of(m, value);
    return llfi_sum_intern(m, &s);
}

static llfi_ix combine(llfi_maps *m, llfi_ix a, llfi_ix b, llfi_signed coef)
{
    if (a == LLFI_IX_NONE || b == LLFI_IX_NONE)
        return LLFI_IX_NONE;
    llfi_sum s;
    llfi_sum_of(m, a, &s);
    llfi_sum_add(m, &s, b, coef);
    return llfi_sum_intern(m, &s);
}

llfi_ix llfi_ix_add(llfi_maps *m, llfi_ix a, llfi_ix b)
{
    return combine(m, a, b, (llfi_signed){m->one, m->zero});
}

llfi_ix llfi_ix_sub(llfi_maps *m, llfi_ix a, llfi_ix b)
{
    return combine(m, a, b, (llfi_signed){m->zero, m->one});
}

/* Extents with a subtraction in them are not negative where they matter, which ranges rely on. */
static void remember(llfi_maps *m, llfi_signed s)
{
    if (s.neg == m->zero)
        return;
    for (size_t i = 0; i < m->known.count; i++)
        if (llfi_signed_same(m->known.at[i], s))
            return;
    if (m->known.count == LLFI_IX_TERMS) /* ranges stay unproved: more division, no harm */
        return;
    if (!llfi_vec_reserve(m->mem, &m->known, 1))
        llfi_maps_fail(m, LLF_E_NOMEM);
    else
        m->known.at[m->known.count++] = s;
}

llfi_ix llfi_ix_scale(llfi_maps *m, llfi_ix a, llfi_dim by)
{
    if (a == LLFI_IX_NONE)
        return LLFI_IX_NONE;
    llfi_sum s;
    llfi_sum_clear(m, &s);
    llfi_signed coef = llfi_signed_of(m, by);
    remember(m, coef);
    llfi_sum_add(m, &s, a, coef);
    return llfi_sum_intern(m, &s);
}

/* ---- maps */

uint32_t llfi_maps_add(llfi_maps *m, uint32_t rank, const llfi_ix *ix)
{
    llfi_index_map map = {.rank = rank};
    uint64_t h = rank;
    for (uint32_t i = 0; i < rank; i++) {
        if (ix[i] == LLFI_IX_NONE || m->status != LLF_OK)
            return UINT32_MAX;
        map.ix[i] = ix[i];
        map.axes |= m->form.at[ix[i]].axes;
        h = llfi_hash_u64(h, ix[i]);
    }
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&m->map_index, h, &cursor)) != UINT32_MAX;)
        if (m->map.at[i].rank == rank && !memcmp(m->map.at[i].ix, map.ix, rank * sizeof *ix))
            return i;
    uint32_t id = (uint32_t)m->map.count;
    if (!llfi_vec_reserve(m->mem, &m->map, 1) || !llfi_map_add(m->mem, &m->map_index, h, id)) {
        llfi_maps_fail(m, LLF_E_NOMEM);
        return UINT32_MAX;
    }
    m->map.at[m->map.count++] = map;
    return id;
}

uint32_t llfi_maps_identity(llfi_maps *m)
{
    llfi_ix ix[LLFI_RANK];
    for (uint32_t i = 0; i < m->rank; i++)
        ix[i] = llfi_ix_axis(m, i);
    return llfi_maps_add(m, m->rank, ix);
}
