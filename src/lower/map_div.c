/* map_div.c: quotients and remainders of index expressions, decided by ranges wherever that can be proved:
 * with x = k * S + rest and 0 <= rest < S, x / S is k and x mod S is rest. What is not proved becomes an
 * atom. */
#include "lower/map_form.h"

#define DEPTH 12u /* of nested rules; beyond it the plain atom is right, too */

static llfi_ix divide(llfi_maps *, llfi_ix, llfi_dim, bool remainder, uint32_t depth);

static bool is_pure(const llfi_maps *m, llfi_signed s)
{
    return s.neg == m->zero;
}

/* Provably never negative. */
static bool not_negative(const llfi_maps *m, llfi_signed s)
{
    if (s.neg == m->zero)
        return true;
    for (size_t i = 0; i < m->known.count; i++)
        if (llfi_signed_same(m->known.at[i], s))
            return true;
    return false;
}

/* Least and greatest value; false: not known. */
static bool bound(llfi_maps *m, const llfi_sum *s, bool greatest, llfi_signed *out)
{
    *out = s->c;
    for (uint32_t i = 0; i < s->terms; i++) {
        llfi_signed c = s->t[i].coef;
        bool up = not_negative(m, c), down = not_negative(m, llfi_signed_minus(c));
        llfi_dim extent = m->atom.at[s->t[i].atom].extent;
        if (!up && !down)
            return false;
        if (up != greatest)
            continue;
        if (extent == LLFI_DIM_NONE)
            return false;
        llfi_signed last = llfi_signed_add(m, llfi_signed_of(m, extent), (llfi_signed){m->zero, m->one});
        *out = llfi_signed_add(m, *out, llfi_signed_mul(m, c, last));
    }
    return m->status == LLF_OK;
}

static bool never_negative(llfi_maps *m, const llfi_sum *s)
{
    llfi_signed least;
    return bound(m, s, false, &least) && not_negative(m, least);
}

static bool below(llfi_maps *m, const llfi_sum *s, llfi_dim limit)
{
    llfi_signed greatest;
    if (!bound(m, s, true, &greatest))
        return false;
    llfi_signed room = llfi_signed_add(m, llfi_signed_of(m, limit), llfi_signed_minus(greatest));
    return not_negative(m, llfi_signed_add(m, room, (llfi_signed){m->zero, m->one}));
}

bool llfi_ix_within(llfi_maps *m, llfi_ix ix, llfi_dim extent)
{
    llfi_sum s;
    llfi_sum_of(m, ix, &s);
    return never_negative(m, &s) && below(m, &s, extent);
}

/* c = q * by + r */
static void split_one(llfi_maps *m, llfi_signed c, llfi_dim by, llfi_signed *q, llfi_signed *r)
{
    llfi_signed whole = llfi_signed_of(m, by), zero = {m->zero, m->zero};
    llfi_dim qp, rp, qn, rn, guess;
    *q = zero;
    *r = c;
    for (uint32_t i = 0; whole.neg != m->zero && llfi_dim_guess(m->dims, c.pos, i, whole.pos, &guess); i++) {
        llfi_signed g = guess == LLFI_DIM_NONE ? zero : llfi_signed_of(m, guess);
        if (!llfi_signed_same(llfi_signed_mul(m, g, whole), c))
            continue;
        *q = g;
        *r = zero;
        return;
    }
    if (!llfi_dim_divide(m->dims, c.pos, by, &qp, &rp) || !llfi_dim_divide(m->dims, c.neg, by, &qn, &rn)) {
        llfi_maps_fail(m, llfi_dims_nomem(m->dims) ? LLF_E_NOMEM : LLF_E_LIMIT);
        return;
    }
    *q = llfi_signed_add(m, (llfi_signed){qp, m->zero}, (llfi_signed){m->zero, qn});
    *r = llfi_signed_add(m, (llfi_signed){rp, m->zero}, (llfi_signed){m->zero, rn});
}

static void split(llfi_maps *m, const llfi_sum *x, llfi_dim by, llfi_sum *q, llfi_sum *rest)
{
    llfi_signed a, b;
    int64_t k, c;
    llfi_sum_clear(m, q);
    llfi_sum_clear(m, rest);
    split_one(m, x->c, by, &q->c, &rest->c);
    if (llfi_dim_is_const(m->dims, by, &k) && rest->c.pos == m->zero && rest->c.neg != m->zero &&
        llfi_dim_is_const(m->dims, rest->c.neg, &c) && c < k) { /* floor */
        rest->c = llfi_signed_add(m, rest->c, llfi_signed_of(m, by));
        q->c = llfi_signed_add(m, q->c, (llfi_signed){m->zero, m->one});
    }
    for (uint32_t i = 0; i < x->terms; i++) {
        split_one(m, x->t[i].coef, by, &a, &b);
        llfi_sum_atom(m, q, x->t[i].atom, a);
        llfi_sum_atom(m, rest, x->t[i].atom, b);
    }
}

/* ---- atoms */

uint32_t llfi_atom_div(llfi_maps *m, llfi_ix ix, llfi_dim by)
{
    llfi_sum s;
    llfi_signed greatest;
    llfi_dim extent = LLFI_DIM_NONE;
    llfi_sum_of(m, ix, &s);
    if (bound(m, &s, true, &greatest) && is_pure(m, greatest)) {
        extent = llfi_dim_add(m->dims, llfi_dim_floordiv(m->dims, greatest.pos, by), m->one);
        if (extent == LLFI_DIM_NONE && llfi_dims_nomem(m->dims))
            llfi_maps_fail(m, LLF_E_NOMEM);
    }
    return llfi_atom_add(m, LLFI_ATOM_DIV, ix, by, extent);
}

/* The atom itself: nothing is known that would simplify it. */
static llfi_ix plain(llfi_maps *m, llfi_ix x, llfi_dim by, bool remainder, uint32_t depth)
{
    if (!remainder)
        return llfi_ix_of_atom(m, llfi_atom_div(m, x, by));
    uint32_t atom = llfi_atom_add(m, LLFI_ATOM_MOD, x, by, by), inner;
    llfi_ix twin = divide(m, x, by, false, depth + 1);
    if (atom != UINT32_MAX && twin != LLFI_IX_NONE && llfi_ix_is_atom(m, twin, &inner))
        m->atom.at[atom].twin = inner;
    return llfi_ix_of_atom(m, atom);
}

/* Rules for an expression that is itself one quotient or remainder. LLFI_IX_NONE: none holds. */
static llfi_ix nested(llfi_maps *m, llfi_ix x, llfi_dim by, bool remainder, uint32_t depth)
{
    uint32_t id;
    llfi_dim q, r;
    if (!llfi_ix_is_atom(m, x, &id) || depth >= DEPTH)
        return LLFI_IX_NONE;
    const llfi_atom a = m->atom.at[id];
    if (a.kind == LLFI_ATOM_DIV && !remainder) { /* (y / a) / s = y / (a * s) */
        llfi_dim both = llfi_dim_mul(m->dims, a.by, by);
        if (both != LLFI_DIM_NONE)
            return divide(m, a.arg, both, false, depth + 1);
        if (llfi_dims_nomem(m->dims))
            llfi_maps_fail(m, LLF_E_NOMEM);
        return LLFI_IX_NONE;
    }
    if (a.kind != LLFI_ATOM_MOD || !llfi_dim_divide(m->dims, a.by, by, &q, &r) || r != m->zero)
        return LLFI_IX_NONE;
    if (remainder) /* (y mod (q * s)) mod s = y mod s */
        return divide(m, a.arg, by, true, depth + 1);
    /* (y mod (q * s)) / s = (y / s) mod q */
    llfi_ix y = divide(m, a.arg, by, false, depth + 1);
    return y == LLFI_IX_NONE ? y : divide(m, y, q, true, depth + 1);
}

/* With S = g * s and x = g * y + r, 0 <= r < g: x / S = y / s and x mod S = g * (y mod s) + r. */
static bool by_factor(llfi_maps *m, const llfi_sum *x, llfi_dim by, bool remainder, uint32_t depth,
                      llfi_sum *out)
{
    llfi_sum y, r;
    llfi_dim s, left;
    for (uint32_t i = 0; i < x->terms; i++) {
        llfi_dim g = x->t[i].coef.pos;
        if (!is_pure(m, x->t[i].coef) || g == m->one || !llfi_dim_divide(m->dims, by, g, &s, &left) ||
            left != m->zero)
            continue;
        split(m, x, g, &y, &r);
        if (!never_negative(m, &r) || !below(m, &r, g) || !never_negative(m, &y))
            continue;
        llfi_ix part = llfi_sum_intern(m, &y);
        part = part == LLFI_IX_NONE ? part : divide(m, part, s, remainder, depth + 1);
        if (part == LLFI_IX_NONE)
            return false;
        llfi_sum_clear(m, out);
        if (remainder)
            *out = r;
        llfi_sum_add(m, out, part, remainder ? llfi_signed_of(m, g) : (llfi_signed){m->one, m->zero});
        return true;
    }
    return false;
}

static llfi_ix divide(llfi_maps *m, llfi_ix ix, llfi_dim by, bool remainder, uint32_t depth)
{
    llfi_sum x, q, rest, part;
    if (by == m->one)
        return remainder ? 0 : ix;
    llfi_ix simple = nested(m, ix, by, remainder, depth);
    if (simple != LLFI_IX_NONE || m->status != LLF_OK)
        return simple;
    llfi_sum_of(m, ix, &x);
    split(m, &x, by, &q, &rest);
    bool positive = never_negative(m, &rest);
    if (positive && below(m, &rest, by))
        return llfi_sum_intern(m, remainder ? &rest : &q);
    if (!positive || depth >= DEPTH)
        return plain(m, ix, by, remainder, depth);
    llfi_ix left, atom;
    if (by_factor(m, &rest, by, remainder, depth, &part)) {
        atom = llfi_sum_intern(m, &part);
    } else {
        left = llfi_sum_intern(m, &rest);
        if (left == LLFI_IX_NONE)
            return left;
        atom = left == ix ? plain(m, ix, by, remainder, depth) : divide(m, left, by, remainder, depth + 1);
    }
    if (remainder || atom == LLFI_IX_NONE)
        return atom;
    llfi_sum_add(m, &q, atom, (llfi_signed){m->one, m->zero});
    return llfi_sum_intern(m, &q);
}

llfi_ix llfi_ix_div(llfi_maps *m, llfi_ix ix, llfi_dim by)
{
    return ix == LLFI_IX_NONE ? ix : divide(m, ix, by, false, 0);
}

llfi_ix llfi_ix_mod(llfi_maps *m, llfi_ix ix, llfi_dim by)
{
    return ix == LLFI_IX_NONE ? ix : divide(m, ix, by, true, 0);
}
