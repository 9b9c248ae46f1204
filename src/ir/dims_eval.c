/* dims_eval.c: the value of a dim for given values of the symbols (dims.h). Recursion is bounded by the depth
 * of dims. Must make no dim. */
#include "ir/dims_form.h"

static bool eval_two(const llfi_dims *d, llfi_dim_kind k, const int64_t *w, const int64_t *symbol,
                     int64_t *value)
{
    int64_t a, b;
    if (!llfi_dim_eval(d, (llfi_dim)w[0], symbol, &a) || !llfi_dim_eval(d, (llfi_dim)w[1], symbol, &b))
        return false;
    if (k == LLFI_DIM_DIV && b == 0)
        return false;
    *value = k == LLFI_DIM_DIV ? a / b : (k == LLFI_DIM_MIN) == (a < b) ? a : b;
    return true;
}

bool llfi_dim_eval(const llfi_dims *d, llfi_dim id, const int64_t *symbol, int64_t *value)
{
    if (id >= d->rec.count)
        return false;
    const llfi_dim_record *r = &d->rec.at[id];
    const int64_t *w = llfi_dims_words(d, id);
    int64_t total, x;
    switch ((llfi_dim_kind)r->kind) {
    case LLFI_DIM_CONST: *value = w[0]; return true;
    case LLFI_DIM_SYM: *value = symbol[w[0]]; return *value >= 0;
    case LLFI_DIM_DIV:
    case LLFI_DIM_MIN:
    case LLFI_DIM_MAX: return eval_two(d, r->kind, w, symbol, value);
    case LLFI_DIM_PROD:
        total = 1;
        bool over = false, zero = false;
        for (uint32_t i = 0; i < r->count; i++) {
            if (!llfi_dim_eval(d, (llfi_dim)w[i], symbol, &x))
                return false;
            zero |= x == 0;
            over |= __builtin_mul_overflow(total, x, &total);
        }
        *value = zero ? 0 : total;
        return zero || !over;
    case LLFI_DIM_SUM:
        total = w[0];
        for (uint32_t i = 1; i < r->count; i += 2) {
            if (!llfi_dim_eval(d, (llfi_dim)w[i + 1], symbol, &x) || __builtin_mul_overflow(w[i], x, &x) ||
                __builtin_add_overflow(total, x, &total))
                return false;
        }
        *value = total;
        return total >= 0;
    }
    return false;
}
