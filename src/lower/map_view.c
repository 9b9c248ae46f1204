/* map_view.c: what each view does to index expressions, and expressions as values and text. It relies on the
 * graph's shapes: a point of a view is a point of its operand. */
#include "lower/map_form.h"

#include <inttypes.h>

bool llfi_ix_permute(llfi_maps *m, llfi_ix *ix, uint32_t rank, const uint32_t *perm)
{
    llfi_ix in[LLFI_RANK];
    for (uint32_t i = 0; i < rank; i++)
        in[perm[i]] = ix[i];
    memcpy(ix, in, rank * sizeof *ix);
    return m->status == LLF_OK;
}

bool llfi_ix_slice(llfi_maps *m, llfi_ix *ix, uint32_t axis, llfi_dim start, int64_t step)
{
    llfi_ix at = llfi_ix_const(m, start);
    llfi_ix by = llfi_ix_scale(m, ix[axis], llfi_dim_const(m->dims, step < 0 ? -step : step));
    ix[axis] = step < 0 ? llfi_ix_sub(m, at, by) : llfi_ix_add(m, at, by);
    return ix[axis] != LLFI_IX_NONE;
}

bool llfi_ix_flip(llfi_maps *m, llfi_ix *ix, uint32_t axis, llfi_dim extent)
{
    llfi_ix last = llfi_ix_sub(m, llfi_ix_const(m, extent), llfi_ix_const(m, m->one));
    ix[axis] = llfi_ix_sub(m, last, ix[axis]);
    return ix[axis] != LLFI_IX_NONE;
}

bool llfi_ix_broadcast(llfi_maps *m, llfi_ix *ix, uint32_t out_rank, const llfi_dim *out, uint32_t in_rank,
                       const llfi_dim *in)
{
    uint32_t drop = out_rank - in_rank;
    for (uint32_t i = 0; i < in_rank; i++)
        ix[i] = in[i] == m->one && out[i + drop] != m->one ? 0 : ix[i + drop];
    return m->status == LLF_OK;
}

llfi_ix llfi_ix_linear(llfi_maps *m, const llfi_ix *ix, uint32_t rank, const llfi_dim *extent)
{
    llfi_ix sum = 0;
    llfi_dim stride = m->one;
    for (uint32_t i = rank; i-- > 0;) {
        if (extent[i] == m->one)
            continue;
        llfi_maps_at(m, m->node, i);
        sum = llfi_ix_add(m, sum, llfi_ix_scale(m, ix[i], stride));
        stride = llfi_dim_mul(m->dims, stride, extent[i]);
        if (stride == LLFI_DIM_NONE) {
            llfi_maps_fail(m, llfi_dims_nomem(m->dims) ? LLF_E_NOMEM : LLF_E_LIMIT);
            return LLFI_IX_NONE;
        }
    }
    return sum;
}

llfi_ix llfi_ix_strided(llfi_maps *m, const llfi_ix *ix, uint32_t rank, const llfi_stride *stride)
{
    llfi_sum sum;
    llfi_sum_clear(m, &sum);
    for (uint32_t i = 0; i < rank && m->status == LLF_OK; i++)
        llfi_sum_add(m, &sum, ix[i], (llfi_signed){stride[i].pos, stride[i].neg});
    return m->status == LLF_OK ? llfi_sum_intern(m, &sum) : LLFI_IX_NONE;
}

/* The shape says that an expression stays below `extent`: a quotient may not know. */
static void learn(llfi_maps *m, llfi_ix ix, llfi_dim extent)
{
    uint32_t atom;
    if (ix != LLFI_IX_NONE && llfi_ix_is_atom(m, ix, &atom) && m->atom.at[atom].extent == LLFI_DIM_NONE)
        m->atom.at[atom].extent = extent;
}

bool llfi_ix_reshape(llfi_maps *m, llfi_ix *ix, uint32_t out_rank, const llfi_dim *out, uint32_t in_rank,
                     const llfi_dim *in)
{
    llfi_ix made[LLFI_RANK], from[LLFI_RANK];
    llfi_dim o[LLFI_RANK], n[LLFI_RANK];
    uint32_t at[LLFI_RANK], outs = 0, ins = 0, lead = 0;
    for (uint32_t i = 0; i < out_rank; i++) /* axes of extent 1 are nothing */
        if (out[i] != m->one) {
            o[outs] = out[i];
            from[outs++] = ix[i];
        }
    for (uint32_t i = 0; i < in_rank; i++) {
        made[i] = 0;
        if (in[i] != m->one) {
            n[ins] = in[i];
            at[ins++] = i;
        }
    }
    while (outs > lead && ins > lead && o[outs - 1] == n[ins - 1]) /* equal axes stay as they are */
        made[at[--ins]] = from[--outs];
    for (; lead < outs && lead < ins && o[lead] == n[lead]; lead++)
        made[at[lead]] = from[lead];
    llfi_ix rest = llfi_ix_linear(m, from + lead, outs - lead, o + lead);
    for (uint32_t i = ins; i-- > lead;) {
        made[at[i]] = i == lead ? rest : llfi_ix_mod(m, rest, n[i]);
        learn(m, made[at[i]], n[i]);
        if (i > lead)
            rest = llfi_ix_div(m, rest, n[i]);
    }
    memcpy(ix, made, in_rank * sizeof *ix);
    return m->status == LLF_OK;
}

/* ---- values: atoms refer to earlier forms, forms to earlier atoms, so a table suffices */

static bool eval_signed(const llfi_maps *m, llfi_signed s, const int64_t *symbol, int64_t *value)
{
    int64_t a, b;
    return llfi_dim_eval(m->dims, s.pos, symbol, &a) && llfi_dim_eval(m->dims, s.neg, symbol, &b) &&
           !__builtin_sub_overflow(a, b, value);
}

static bool eval_form(const llfi_maps *m, llfi_ix ix, const int64_t *atom, const int64_t *symbol,
                      int64_t *value)
{
    const llfi_ix_form *f = &m->form.at[ix];
    int64_t c;
    if (!eval_signed(m, f->constant, symbol, value))
        return false;
    for (uint32_t i = 0; i < f->terms; i++) {
        const llfi_ix_term *t = &m->term.at[f->first + i];
        if (!eval_signed(m, t->coef, symbol, &c) || __builtin_mul_overflow(c, atom[t->atom], &c) ||
            __builtin_add_overflow(*value, c, value))
            return false;
    }
    return true;
}

bool llfi_ix_eval(const llfi_maps *m, llfi_ix ix, const int64_t *axis, const int64_t *symbol, int64_t *value)
{
    int64_t *atom = llfi_alloc_zero(m->mem, (m->atom.count + 1) * sizeof *atom), x, by;
    bool ok = atom != NULL;
    for (uint32_t i = 0; ok && i < m->atom.count; i++) {
        const llfi_atom *a = &m->atom.at[i];
        if (a->kind == LLFI_ATOM_AXIS) {
            atom[i] = axis[a->arg];
            continue;
        }
        ok = a->kind != LLFI_ATOM_VALUE && eval_form(m, a->arg, atom, symbol, &x) &&
             llfi_dim_eval(m->dims, a->by, symbol, &by);
        if (ok && a->kind == LLFI_ATOM_CLAMP) {
            x = x < by - 1 ? x : by - 1;
            atom[i] = x < 0 ? 0 : x;
            continue;
        }
        ok = ok && by > 0 && x >= 0;
        if (ok)
            atom[i] = a->kind == LLFI_ATOM_DIV ? x / by : x % by;
    }
    ok = ok && eval_form(m, ix, atom, symbol, value);
    llfi_free(m->mem, atom, (m->atom.count + 1) * sizeof *atom);
    return ok;
}

static void print_atom(const llfi_maps *m, uint32_t atom, llfi_str *s)
{
    const llfi_atom *a = &m->atom.at[atom];
    if (a->kind == LLFI_ATOM_AXIS)
        llfi_str_printf(s, "i%u", a->arg);
    else { /* not the expression inside, which may be long: its number */
        static const char *const text[] = {"", "e%u / ", "e%u mod ", "e%u within ", "value %u within "};
        llfi_str_puts(s, "(");
        llfi_str_printf(s, text[a->kind], a->arg);
        llfi_dim_print(m->dims, a->by, s);
        llfi_str_puts(s, ")");
    }
}

static void print_signed(const llfi_maps *m, llfi_signed c, llfi_str *s)
{
    if (c.neg != m->zero && c.pos != m->zero) {
        llfi_str_puts(s, "(");
        llfi_dim_print(m->dims, c.pos, s);
    } else if (c.neg == m->zero) {
        llfi_dim_print(m->dims, c.pos, s);
        return;
    }
    llfi_str_puts(s, "-(");
    llfi_dim_print(m->dims, c.neg, s);
    llfi_str_puts(s, c.pos != m->zero ? "))" : ")");
}

void llfi_ix_print(const llfi_maps *m, llfi_ix ix, llfi_str *s)
{
    if (ix == LLFI_IX_NONE) {
        llfi_str_puts(s, "?");
        return;
    }
    const llfi_ix_form *f = &m->form.at[ix];
    for (uint32_t i = 0; i < f->terms; i++) {
        const llfi_ix_term *t = &m->term.at[f->first + i];
        llfi_str_puts(s, i ? " + " : "");
        if (t->coef.pos != m->one || t->coef.neg != m->zero) {
            print_signed(m, t->coef, s);
            llfi_str_puts(s, "*");
        }
        print_atom(m, t->atom, s);
    }
    if (f->terms && f->constant.pos == m->zero && f->constant.neg == m->zero)
        return;
    llfi_str_puts(s, f->terms ? " + " : "");
    print_signed(m, f->constant, s);
}
