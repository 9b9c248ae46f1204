/* dims_print.c: the text of a dim, which parses back to the same dim (dims.h). Must make no dim. */
#include "ir/dims_form.h"

static void print(const llfi_dims *d, llfi_dim id, bool tight, llfi_str *s);

/* What is added first, so that no part of the text is negative when it is read. */
static void print_sum(const llfi_dims *d, const llfi_dim_record *r, const int64_t *w, llfi_str *s)
{
    const char *plus = "";
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (uint32_t i = 1; i < r->count; i += 2) {
            if ((w[i] > 0) != (sign > 0))
                continue;
            llfi_str_puts(s, sign > 0 ? plus : "-");
            plus = "+";
            if (w[i] != sign)
                llfi_str_printf(s, "%lld*", (long long)(w[i] * sign));
            llfi_dim m = (llfi_dim)w[i + 1];
            print(d, m, w[i] != sign && d->rec.at[m].kind == LLFI_DIM_DIV, s);
        }
        if (w[0] && (w[0] > 0) == (sign > 0)) {
            llfi_str_printf(s, "%s%lld", sign > 0 ? plus : "-", (long long)(w[0] * sign));
            plus = "+";
        }
    }
}

/* `tight`: the dim stands as a factor or an operand of //, where a sum, product or quotient needs brackets.
 */
static void print(const llfi_dims *d, llfi_dim id, bool tight, llfi_str *s)
{
    const llfi_dim_record *r = &d->rec.at[id];
    const int64_t *w = llfi_dims_words(d, id);
    bool bracket = tight && (r->kind == LLFI_DIM_DIV || r->kind == LLFI_DIM_PROD || r->kind == LLFI_DIM_SUM);
    if (bracket)
        llfi_str_puts(s, "(");
    switch ((llfi_dim_kind)r->kind) {
    case LLFI_DIM_CONST: llfi_str_printf(s, "%lld", (long long)w[0]); break;
    case LLFI_DIM_SYM: llfi_str_puts(s, llfi_dims_symbol_name(d, (uint32_t)w[0])); break;
    case LLFI_DIM_DIV:
        print(d, (llfi_dim)w[0], true, s);
        llfi_str_puts(s, "//");
        print(d, (llfi_dim)w[1], true, s);
        break;
    case LLFI_DIM_MIN:
    case LLFI_DIM_MAX:
        llfi_str_puts(s, r->kind == LLFI_DIM_MIN ? "min(" : "max(");
        print(d, (llfi_dim)w[0], false, s);
        llfi_str_puts(s, ", ");
        print(d, (llfi_dim)w[1], false, s);
        llfi_str_puts(s, ")");
        break;
    case LLFI_DIM_PROD:
        for (uint32_t i = 0; i < r->count; i++) {
            llfi_str_puts(s, i ? "*" : "");
            print(d, (llfi_dim)w[i], true, s);
        }
        break;
    case LLFI_DIM_SUM: print_sum(d, r, w, s); break;
    }
    if (bracket)
        llfi_str_puts(s, ")");
}

void llfi_dim_print(const llfi_dims *d, llfi_dim id, llfi_str *s)
{
    if (id < d->rec.count)
        print(d, id, false, s);
    else
        llfi_str_puts(s, "?");
}
