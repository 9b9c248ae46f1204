/* dims_math.c: sums, products, floor quotients, the lesser and the greater of two dims (dims.h). Must not
 * guess: what is not certain for all symbols stays an atom. */
#include "ir/dims_form.h"

static llfi_dim sum(llfi_dims *d, llfi_dim a, llfi_dim b, int64_t sign)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    llfi_poly p;
    llfi_dims_unpack(d, a, &p);
    return llfi_poly_add(d, &p, b, sign) ? llfi_dims_pack(d, &p) : LLFI_DIM_NONE;
}

llfi_dim llfi_dim_add(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return sum(d, a, b, 1);
}

llfi_dim llfi_dim_sub(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return sum(d, a, b, -1);
}

static llfi_dim mul_mono(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    int64_t x[LLFI_DIM_MAX_FACTORS], y[LLFI_DIM_MAX_FACTORS], w[2 * LLFI_DIM_MAX_FACTORS];
    uint32_t n = llfi_dims_factors(d, a, x), m = llfi_dims_factors(d, b, y), i = 0, j = 0, k = 0;
    while (i < n || j < m) {
        if (j == m || (i < n && llfi_dims_order(d, (llfi_dim)x[i], (llfi_dim)y[j]) <= 0))
            w[k++] = x[i++];
        else
            w[k++] = y[j++];
    }
    return k > LLFI_DIM_MAX_FACTORS ? LLFI_DIM_NONE : llfi_dims_intern(d, LLFI_DIM_PROD, w, k);
}

llfi_dim llfi_dim_mul(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    llfi_poly p, q, r = {0};
    llfi_dims_unpack(d, a, &p);
    llfi_dims_unpack(d, b, &q);
    if (__builtin_mul_overflow(p.c, q.c, &r.c))
        return LLFI_DIM_NONE;
    int64_t c;
    for (uint32_t i = 0; q.c && i < p.terms; i++) {
        if (__builtin_mul_overflow(p.coef[i], q.c, &c) || !llfi_poly_add_term(d, &r, c, p.mono[i]))
            return LLFI_DIM_NONE;
    }
    for (uint32_t j = 0; p.c && j < q.terms; j++) {
        if (__builtin_mul_overflow(q.coef[j], p.c, &c) || !llfi_poly_add_term(d, &r, c, q.mono[j]))
            return LLFI_DIM_NONE;
    }
    for (uint32_t i = 0; i < p.terms; i++) {
        for (uint32_t j = 0; j < q.terms; j++) {
            llfi_dim m = mul_mono(d, p.mono[i], q.mono[j]);
            if (m == LLFI_DIM_NONE || __builtin_mul_overflow(p.coef[i], q.coef[j], &c) ||
                !llfi_poly_add_term(d, &r, c, m))
                return LLFI_DIM_NONE;
        }
    }
    return llfi_dims_pack(d, &r);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* floor(a / k), k > 0 */
static int64_t floor_div(int64_t a, int64_t k)
{
    return a / k - (a % k < 0);
}

/* floor((sum of terms + c) / k) for a constant k > 0: whole multiples leave, then the common factor. What
 * stays below the line is never negative. */
static llfi_dim div_const(llfi_dims *d, llfi_dim a, int64_t k)
{
    llfi_poly p, out = {0}, rest = {0};
    llfi_dims_unpack(d, a, &p);
    out.c = floor_div(p.c, k);
    rest.c = p.c - out.c * k;
    int64_t g = k;
    for (uint32_t i = 0; i < p.terms; i++) {
        int64_t whole = floor_div(p.coef[i], k), left = p.coef[i] - whole * k;
        if (whole && !llfi_poly_add_term(d, &out, whole, p.mono[i]))
            return LLFI_DIM_NONE;
        if (left && !llfi_poly_add_term(d, &rest, left, p.mono[i]))
            return LLFI_DIM_NONE;
        g = gcd(g, left);
    }
    if (rest.terms == 0)
        return llfi_dims_pack(d, &out); /* rest.c < k */
    rest.c /= g;
    for (uint32_t i = 0; i < rest.terms; i++)
        rest.coef[i] /= g;
    k /= g;
    llfi_dim r = llfi_dims_pack(d, &rest);
    if (r == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    int64_t inner, wide;
    const llfi_dim_record *n = &d->rec.at[r];
    llfi_dim quotient;
    if (n->kind == LLFI_DIM_DIV && llfi_dim_is_const(d, (llfi_dim)llfi_dims_words(d, r)[1], &inner)) {
        /* (x // m) // k = x // (m * k), which is 0 when m * k is beyond every extent */
        llfi_dim x = (llfi_dim)llfi_dims_words(d, r)[0];
        if (__builtin_mul_overflow(inner, k, &wide))
            return llfi_dims_pack(d, &out);
        quotient = div_const(d, x, wide);
    } else {
        int64_t w[2] = {r, llfi_dim_const(d, k)};
        quotient = w[1] == LLFI_DIM_NONE ? LLFI_DIM_NONE : llfi_dims_intern(d, LLFI_DIM_DIV, w, 2);
    }
    return quotient != LLFI_DIM_NONE && llfi_poly_add(d, &out, quotient, 1) ? llfi_dims_pack(d, &out)
                                                                            : LLFI_DIM_NONE;
}

llfi_dim llfi_dim_floordiv(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    int64_t k;
    if (llfi_dim_is_const(d, b, &k))
        return k == 0 ? LLFI_DIM_NONE : k == 1 ? a : div_const(d, a, k);
    int64_t w[2] = {a, b};
    return llfi_dims_intern(d, LLFI_DIM_DIV, w, 2);
}

/* a <= b whatever the symbols are: dims are >= 0, so no term of b - a may be negative; else what is known of
 * atoms, `depth` of them deep. */
static bool never_above(const llfi_dims *d, llfi_dim a, llfi_dim b, uint32_t depth)
{
    llfi_poly p;
    llfi_dims_unpack(d, b, &p);
    bool ok = llfi_poly_add(d, &p, a, -1) && p.c >= 0;
    for (uint32_t i = 0; ok && i < p.terms; i++)
        ok = p.coef[i] >= 0;
    if (ok || depth == 0)
        return ok;
    const int64_t *u = llfi_dims_words(d, a), *v = llfi_dims_words(d, b);
    const llfi_dim_kind above = d->rec.at[b].kind;
    int64_t k;
#define BELOW(x, y) never_above(d, (llfi_dim)(x), (llfi_dim)(y), depth - 1)
    switch ((llfi_dim_kind)d->rec.at[a].kind) {
    case LLFI_DIM_DIV: ok = llfi_dim_is_const(d, (llfi_dim)u[1], &k) && BELOW(u[0], b); break;
    case LLFI_DIM_MIN: ok = BELOW(u[0], b) || BELOW(u[1], b); break;
    case LLFI_DIM_MAX: return BELOW(u[0], b) && BELOW(u[1], b);
    default: break;
    }
    if (above == LLFI_DIM_MAX)
        ok = ok || BELOW(a, v[0]) || BELOW(a, v[1]);
    else if (above == LLFI_DIM_MIN)
        ok = ok || (BELOW(a, v[0]) && BELOW(a, v[1]));
#undef BELOW
    return ok;
}

bool llfi_dim_never_above(const llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return never_above(d, a, b, 3);
}

int64_t llfi_dim_least(const llfi_dims *d, llfi_dim a)
{
    llfi_poly p;
    int64_t value;
    if (llfi_dim_is_const(d, a, &value))
        return value;
    if (d->rec.at[a].kind != LLFI_DIM_SUM)
        return 0;
    llfi_dims_unpack(d, a, &p);
    for (uint32_t i = 0; i < p.terms; i++)
        if (p.coef[i] < 0)
            return 0;
    return p.c > 0 ? p.c : 0;
}

static llfi_dim min_max(llfi_dims *d, llfi_dim_kind k, llfi_dim a, llfi_dim b)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    if (llfi_dim_never_above(d, a, b))
        return k == LLFI_DIM_MIN ? a : b;
    if (llfi_dim_never_above(d, b, a))
        return k == LLFI_DIM_MIN ? b : a;
    int64_t w[2] = {a, b};
    if (llfi_dims_order(d, a, b) > 0) {
        w[0] = b;
        w[1] = a;
    }
    return llfi_dims_intern(d, k, w, 2);
}

llfi_dim llfi_dim_min(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return min_max(d, LLFI_DIM_MIN, a, b);
}

llfi_dim llfi_dim_max(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return min_max(d, LLFI_DIM_MAX, a, b);
}
