/* dims_solve.c: the symbol that makes a dim a number: a sum in which it stands once, times what is known
 * (dims.h). Must make no dim. */
#include "ir/dims_form.h"

/* Does a symbol without a value stand anywhere in it? Depth and size of dims are bounded. */
static bool has_unknown(const llfi_dims *d, llfi_dim id, const int64_t *symbol)
{
    const llfi_dim_record *r = &d->rec.at[id];
    const int64_t *w = llfi_dims_words(d, id);
    if (r->kind == LLFI_DIM_CONST)
        return false;
    if (r->kind == LLFI_DIM_SYM)
        return symbol[w[0]] < 0;
    bool sum = r->kind == LLFI_DIM_SUM;
    for (uint32_t i = sum ? 2 : 0; i < r->count; i += sum ? 2 : 1)
        if (has_unknown(d, (llfi_dim)w[i], symbol))
            return true;
    return false;
}

/* The unknown symbol of a product, and where it stands among its factors; false: it is not one factor. */
static bool factor(const llfi_dims *d, llfi_dim mono, const int64_t *symbol, uint32_t *s, uint32_t *at)
{
    int64_t f[LLFI_DIM_MAX_FACTORS];
    uint32_t n = llfi_dims_factors(d, mono, f), unknown = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!has_unknown(d, (llfi_dim)f[i], symbol))
            continue;
        *at = i;
        if (++unknown > 1 || !llfi_dim_is_symbol(d, (llfi_dim)f[i], s))
            return false;
    }
    return unknown == 1;
}

bool llfi_dim_unknown(const llfi_dims *d, llfi_dim id, const int64_t *symbol, uint32_t *s)
{
    llfi_poly p;
    uint32_t found = 0, at;
    llfi_dims_unpack(d, id, &p);
    for (uint32_t i = 0; i < p.terms; i++) {
        if (!has_unknown(d, p.mono[i], symbol))
            continue;
        if (++found > 1 || !factor(d, p.mono[i], symbol, s, &at))
            return false;
    }
    return found == 1;
}

/* The product without its factor `skip`. */
static bool others(const llfi_dims *d, llfi_dim mono, uint32_t skip, const int64_t *symbol, int64_t *value)
{
    int64_t f[LLFI_DIM_MAX_FACTORS], x;
    uint32_t n = llfi_dims_factors(d, mono, f);
    *value = 1;
    for (uint32_t i = 0; i < n; i++)
        if (i != skip &&
            (!llfi_dim_eval(d, (llfi_dim)f[i], symbol, &x) || __builtin_mul_overflow(*value, x, value)))
            return false;
    return true;
}

bool llfi_dim_solve(const llfi_dims *d, llfi_dim id, const int64_t *symbol, int64_t extent, uint32_t *s,
                    int64_t *value)
{
    llfi_poly p;
    int64_t times = 0, x;
    llfi_dims_unpack(d, id, &p);
    if (!llfi_dim_unknown(d, id, symbol, s) || __builtin_sub_overflow(extent, p.c, &extent))
        return false;
    for (uint32_t i = 0; i < p.terms; i++) {
        uint32_t at = LLFI_DIM_MAX_FACTORS, unused;
        bool here = has_unknown(d, p.mono[i], symbol) && factor(d, p.mono[i], symbol, &unused, &at);
        if (!others(d, p.mono[i], at, symbol, &x) || __builtin_mul_overflow(x, p.coef[i], &x) ||
            (!here && __builtin_sub_overflow(extent, x, &extent)))
            return false;
        times = here ? x : times;
    }
    if (times == 0 || (times == -1 && extent == INT64_MIN))
        return false;
    *value = extent / times;
    return *value >= 0;
}

void llfi_dims_mark(const llfi_dims *d, bool *used, bool *symbol)
{
    for (llfi_dim id = (llfi_dim)d->rec.count; id-- > 0;) { /* parts have lower ids */
        const llfi_dim_record *r = &d->rec.at[id];
        const int64_t *w = llfi_dims_words(d, id);
        bool sum = r->kind == LLFI_DIM_SUM;
        if (!used[id] || r->kind == LLFI_DIM_CONST)
            continue;
        if (r->kind == LLFI_DIM_SYM)
            symbol[w[0]] = true;
        for (uint32_t i = sum ? 2 : 0; i < r->count && r->kind != LLFI_DIM_SYM; i += sum ? 2 : 1)
            used[w[i]] = true;
    }
}
