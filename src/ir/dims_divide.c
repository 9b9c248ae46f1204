/* dims_divide.c: differences and exact quotients (dims.h), for shapes and index maps. Must not round: what
 * does not divide is left over. */
#include "ir/dims_form.h"

/* a - b as what is added and what is taken away. False: too large. */
static bool difference(llfi_dims *d, llfi_dim a, llfi_dim b, llfi_poly *up, llfi_poly *down)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return false;
    llfi_poly p, q;
    llfi_dims_unpack(d, a, &p);
    llfi_dims_unpack(d, b, &q);
    int64_t c;
    if (__builtin_sub_overflow(p.c, q.c, &p.c) || p.c == INT64_MIN)
        return false;
    for (uint32_t i = 0; i < q.terms; i++)
        if (__builtin_sub_overflow(0, q.coef[i], &c) || !llfi_poly_add_term(d, &p, c, q.mono[i]))
            return false;
    up->c = down->c = 0;
    up->terms = down->terms = 0;
    *(p.c < 0 ? &down->c : &up->c) = p.c < 0 ? -p.c : p.c;
    for (uint32_t i = 0; i < p.terms; i++) { /* in order, so that both stay ordered */
        if (p.coef[i] == INT64_MIN)
            return false;
        llfi_poly *side = p.coef[i] < 0 ? down : up;
        if (!p.coef[i])
            continue;
        side->coef[side->terms] = p.coef[i] < 0 ? -p.coef[i] : p.coef[i];
        side->mono[side->terms++] = p.mono[i];
    }
    return true;
}

bool llfi_dim_diff(llfi_dims *d, llfi_dim a, llfi_dim b, llfi_dim *pos, llfi_dim *neg)
{
    llfi_poly up, down;
    if (!difference(d, a, b, &up, &down))
        return false;
    *pos = llfi_dims_pack(d, &up);
    *neg = llfi_dims_pack(d, &down);
    return *pos != LLFI_DIM_NONE && *neg != LLFI_DIM_NONE;
}

static int64_t common(const llfi_poly *p, int64_t g)
{
    for (uint32_t i = 0; i <= p->terms; i++) {
        int64_t x = i < p->terms ? p->coef[i] : p->c;
        while (x) {
            int64_t t = g % x;
            g = x;
            x = t;
        }
    }
    return g;
}

static void shorten(llfi_poly *p, int64_t by)
{
    p->c /= by;
    for (uint32_t i = 0; i < p->terms; i++)
        p->coef[i] /= by;
}

bool llfi_dim_equation(llfi_dims *d, llfi_dim a, llfi_dim b, llfi_dim *pos, llfi_dim *neg)
{
    llfi_poly up, down;
    if (!difference(d, a, b, &up, &down))
        return false;
    int64_t g = common(&down, common(&up, 0));
    if (g > 1) {
        shorten(&up, g);
        shorten(&down, g);
    }
    *pos = llfi_dims_pack(d, &up);
    *neg = llfi_dims_pack(d, &down);
    return *pos != LLFI_DIM_NONE && *neg != LLFI_DIM_NONE;
}

/* *out = mono / by, 1 when they are the same; false: `by` has a factor that `mono` has not, or no memory. */
static bool mono_quotient(llfi_dims *d, llfi_dim mono, llfi_dim by, llfi_dim *out)
{
    int64_t x[LLFI_DIM_MAX_FACTORS], y[LLFI_DIM_MAX_FACTORS], left[LLFI_DIM_MAX_FACTORS];
    uint32_t n = llfi_dims_factors(d, mono, x), m = llfi_dims_factors(d, by, y), j = 0, k = 0;
    for (uint32_t i = 0; i < n; i++) { /* both are ordered */
        if (j < m && x[i] == y[j])
            j++;
        else
            left[k++] = x[i];
    }
    if (j < m)
        return false;
    *out = k == 0   ? llfi_dim_const(d, 1)
           : k == 1 ? (llfi_dim)left[0]
                    : llfi_dims_intern(d, LLFI_DIM_PROD, left, k);
    return *out != LLFI_DIM_NONE;
}

/* Adds coef * (mono, or 1 when mono is the constant 1). */
static bool add_quotient(llfi_dims *d, llfi_poly *p, int64_t coef, llfi_dim mono)
{
    int64_t one;
    if (llfi_dim_is_const(d, mono, &one))
        return !__builtin_add_overflow(p->c, coef, &p->c);
    return llfi_poly_add_term(d, p, coef, mono);
}

bool llfi_dim_divide(llfi_dims *d, llfi_dim a, llfi_dim s, llfi_dim *q, llfi_dim *r)
{
    if (a == LLFI_DIM_NONE || s == LLFI_DIM_NONE)
        return false;
    llfi_poly p, by, quotient = {0}, rest = {0};
    llfi_dims_unpack(d, a, &p);
    llfi_dims_unpack(d, s, &by);
    *q = llfi_dim_const(d, 0);
    *r = a;
    if (by.terms + (by.c != 0) != 1) { /* a sum: it divides itself only */
        if (a != s)
            return *q != LLFI_DIM_NONE;
        *q = llfi_dim_const(d, 1);
        *r = llfi_dim_const(d, 0);
        return *q != LLFI_DIM_NONE && *r != LLFI_DIM_NONE;
    }
    int64_t k = by.terms ? by.coef[0] : by.c;
    if (k <= 0)
        return *q != LLFI_DIM_NONE;
    quotient.c = by.terms ? 0 : p.c / k;
    rest.c = by.terms ? p.c : p.c % k;
    for (uint32_t i = 0; i < p.terms; i++) {
        llfi_dim mono = p.mono[i];
        bool divides = !by.terms || mono_quotient(d, p.mono[i], by.mono[0], &mono);
        int64_t whole = divides ? p.coef[i] / k : 0, left = p.coef[i] - whole * k;
        if ((whole && !add_quotient(d, &quotient, whole, mono)) ||
            (left && !llfi_poly_add_term(d, &rest, left, p.mono[i])))
            return false;
    }
    *q = llfi_dims_pack(d, &quotient);
    *r = llfi_dims_pack(d, &rest);
    return *q != LLFI_DIM_NONE && *r != LLFI_DIM_NONE;
}

bool llfi_dim_guess(llfi_dims *d, llfi_dim a, uint32_t i, llfi_dim s, llfi_dim *q)
{
    llfi_poly p, by;
    llfi_dims_unpack(d, a, &p);
    llfi_dims_unpack(d, s, &by);
    *q = LLFI_DIM_NONE;
    if (i >= p.terms)
        return false;
    llfi_dim mono;
    if (by.terms && by.coef[0] > 0 && p.coef[i] % by.coef[0] == 0 &&
        mono_quotient(d, p.mono[i], by.mono[0], &mono))
        *q = llfi_dim_mul(d, llfi_dim_const(d, p.coef[i] / by.coef[0]), mono);
    return true;
}
