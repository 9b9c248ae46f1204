/* parse_type.c: dtypes, shapes and dim expressions of `.llf` text. Recursion is bounded by LLFI_MAX_NESTING
 * brackets. Must not make nodes. */
#include "ir/parse.h"

static llf_status dim_expr(llfi_parser *p, llfi_dim *out);

static llf_status enter(llfi_parser *p)
{
    if (++p->nesting > LLFI_MAX_NESTING)
        return llfi_fail_at(p->lex.diag, LLF_E_LIMIT, llfi_lex_place(&p->lex), NULL,
                            "dim expression: brackets are nested deeper than the limit of %u",
                            LLFI_MAX_NESTING);
    return LLF_OK;
}

/* A dim that could not be made: out of memory, or beyond what an extent can be. */
static llf_status made(llfi_parser *p, llfi_place at, llfi_dim dim)
{
    if (dim != LLFI_DIM_NONE)
        return LLF_OK;
    if (llfi_dims_nomem(p->g->dims))
        return llfi_nomem(p->lex.diag);
    return llfi_fail_at(p->lex.diag, LLF_E_LIMIT, at, NULL,
                        "dim expression: negative, over 2^63-1, or more terms than the limits allow");
}

static llf_status dim_number(llfi_parser *p, llfi_dim *out)
{
    llfi_lex *x = &p->lex;
    llfi_place at = llfi_lex_place(x);
    const char *first = x->at;
    int64_t value = 0;
    bool over = false;
    for (; x->at < x->end && *x->at >= '0' && *x->at <= '9'; x->at++)
        over |=
            __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *x->at - '0', &value);
    if (over) {
        size_t n = (size_t)(x->at - first);
        return llfi_fail_at(x->diag, LLF_E_LIMIT, at, NULL, "dim %.*s%s is over 2^63-1", n > 32 ? 32 : (int)n,
                            first, n > 32 ? "..." : "");
    }
    *out = llfi_dim_const(p->g->dims, value);
    return made(p, at, *out);
}

/* min(a, b), max(a, b) */
static llf_status dim_call(llfi_parser *p, bool is_min, llfi_place at, llfi_dim *out)
{
    llfi_lex *x = &p->lex;
    llfi_dim a, b;
    LLF_TRY(enter(p));
    llfi_lex_lines(x);
    LLF_TRY(llfi_lex_expect(x, '(', is_min ? "behind min" : "behind max"));
    LLF_TRY(dim_expr(p, &a));
    LLF_TRY(llfi_lex_expect(x, ',', "between two operands"));
    LLF_TRY(dim_expr(p, &b));
    LLF_TRY(llfi_lex_expect(x, ')', "behind two operands"));
    p->nesting--;
    *out = is_min ? llfi_dim_min(p->g->dims, a, b) : llfi_dim_max(p->g->dims, a, b);
    return made(p, at, *out);
}

static llf_status dim_symbol(llfi_parser *p, const llfi_word *w, llfi_dim *out)
{
    llfi_diag *d = p->lex.diag;
    if (w->bytes > LLFI_MAX_NAME)
        return llfi_fail_at(d, LLF_E_LIMIT, w->place, NULL,
                            "symbol '%.24s...' is %u bytes long, the limit is %u", w->text, w->bytes,
                            LLFI_MAX_NAME);
    uint32_t symbol = llfi_dims_symbol(p->g->dims, w->text, w->bytes);
    if (symbol == UINT32_MAX)
        return llfi_nomem(d);
    *out = llfi_dim_sym(p->g->dims, symbol);
    return made(p, w->place, *out);
}

static llf_status dim_factor(llfi_parser *p, llfi_dim *out)
{
    llfi_lex *x = &p->lex;
    llfi_word w;
    llfi_lex_lines(x);
    llfi_place at = llfi_lex_place(x);
    char c = llfi_lex_peek(x);
    if (c >= '0' && c <= '9')
        return dim_number(p, out);
    if (c == '(') {
        LLF_TRY(enter(p));
        x->at++;
        LLF_TRY(dim_expr(p, out));
        LLF_TRY(llfi_lex_expect(x, ')', "to close the bracket"));
        p->nesting--;
        return LLF_OK;
    }
    if (llfi_lex_word(x, &w)) {
        bool is_min = w.bytes == 3 && memcmp(w.text, "min", 3) == 0;
        bool is_max = w.bytes == 3 && memcmp(w.text, "max", 3) == 0;
        return is_min || is_max ? dim_call(p, is_min, w.place, out) : dim_symbol(p, &w, out);
    }
    if (c == '-')
        return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL, "negative dim: extents are 0 or more");
    return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL,
                        "expected a dim (integer, symbol, '(', min or max), found %s",
                        llfi_lex_found(x).text);
}

static llf_status dim_term(llfi_parser *p, llfi_dim *out)
{
    llfi_lex *x = &p->lex;
    LLF_TRY(dim_factor(p, out));
    for (;;) {
        llfi_lex_lines(x);
        llfi_place at = llfi_lex_place(x);
        bool div = llfi_lex_accept(x, '/');
        if (div)
            LLF_TRY(llfi_lex_expect(x, '/', "for floor division, written //"));
        else if (!llfi_lex_accept(x, '*'))
            return LLF_OK;
        llfi_dim b;
        int64_t zero;
        LLF_TRY(dim_factor(p, &b));
        if (div && llfi_dim_is_const(p->g->dims, b, &zero) && zero == 0)
            return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL, "dim expression: division by zero");
        *out = div ? llfi_dim_floordiv(p->g->dims, *out, b) : llfi_dim_mul(p->g->dims, *out, b);
        LLF_TRY(made(p, at, *out));
    }
}

static llf_status dim_expr(llfi_parser *p, llfi_dim *out)
{
    llfi_lex *x = &p->lex;
    LLF_TRY(dim_term(p, out));
    for (;;) {
        llfi_lex_lines(x);
        llfi_place at = llfi_lex_place(x);
        bool minus = llfi_lex_accept(x, '-');
        if (!minus && !llfi_lex_accept(x, '+'))
            return LLF_OK;
        llfi_dim b;
        LLF_TRY(dim_term(p, &b));
        *out = minus ? llfi_dim_sub(p->g->dims, *out, b) : llfi_dim_add(p->g->dims, *out, b);
        LLF_TRY(made(p, at, *out));
    }
}

llf_status llfi_parse_dtype(llfi_parser *p, llf_dtype *out)
{
    llfi_lex *x = &p->lex;
    llfi_word w;
    llfi_place at = llfi_lex_place(x);
    llfi_found found = llfi_lex_found(x);
    if (llfi_lex_word(x, &w) && llfi_dtype_find(w.text, w.bytes, out))
        return LLF_OK;
    char legal[128] = "";
    for (size_t i = 0; i < LLF_DTYPES; i++) {
        size_t n = strlen(legal);
        snprintf(legal + n, sizeof legal - n, " %s", llfi_dtypes[i].name);
    }
    return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL, "unknown dtype %s; the dtypes are%s", found.text,
                        legal);
}

/* ---- lists of attributes */

/* [ "-" ] digits */
llf_status llfi_parse_int(llfi_parser *p, const char *op, const char *what, int64_t *out)
{
    llfi_lex *x = &p->lex;
    llfi_place at = llfi_lex_place(x);
    llfi_found found = llfi_lex_found(x);
    bool minus = llfi_lex_accept(x, '-');
    char c = llfi_lex_peek(x);
    if (c < '0' || c > '9')
        return llfi_fail_at(x->diag, LLF_E_PARSE, at, op, "%s: expected %s, found %s", op, what, found.text);
    bool over = false;
    for (*out = 0; x->at < x->end && *x->at >= '0' && *x->at <= '9'; x->at++)
        over |= __builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *x->at - '0', out);
    if (over)
        return llfi_fail_at(x->diag, LLF_E_LIMIT, at, op,
                            minus ? "%s: %s is below -2^63+1" : "%s: %s is over 2^63-1", op, what);
    *out = minus ? -*out : *out;
    return LLF_OK;
}

/* A dim, or -1 for what is left: of reshape, or of split's sizes. Other ops refuse that later. */
static llf_status list_dim(llfi_parser *p, const char *op, bool size, uint32_t i, llfi_dim *out)
{
    llfi_lex *x = &p->lex;
    llfi_place at = llfi_lex_place(x);
    int64_t n;
    if (llfi_lex_peek(x) != '-')
        return dim_expr(p, out);
    LLF_TRY(llfi_parse_int(p, op, size ? "a size" : "an extent", &n));
    *out = LLFI_DIM_NONE;
    if (n == -1)
        return LLF_OK;
    bool hole = size || strcmp(op, llfi_ops[LLF_OP_RESHAPE].name) == 0;
    return llfi_fail_at(x->diag, LLF_E_TYPE, at, op, "%s: %s %u: %s %lld is negative%s", op,
                        size ? "part" : "axis", i, size ? "size" : "extent", (long long)n,
                        hole ? " (-1 stands for what is left)" : "");
}

/* A bound of a range: nothing, a dim, or -digits: so many before the end. */
static llf_status list_bound(llfi_parser *p, const char *op, const char *what, llfi_bound *out)
{
    llfi_lex *x = &p->lex;
    *out = (llfi_bound){LLFI_DIM_NONE, 0};
    llfi_lex_lines(x);
    char c = llfi_lex_peek(x);
    if (c == ':' || c == ',' || c == ']')
        return LLF_OK;
    if (c != '-')
        return dim_expr(p, &out->dim);
    int64_t n;
    LLF_TRY(llfi_parse_int(p, op, what, &n));
    if (n == 0)
        out->dim = llfi_dim_const(p->g->dims, 0); /* -0 is 0 */
    out->back = -n;
    return out->back || out->dim != LLFI_DIM_NONE ? LLF_OK : llfi_nomem(x->diag);
}

static llf_status list_range(llfi_parser *p, const char *op, const char *what, llfi_range_ask *r)
{
    llfi_lex *x = &p->lex;
    r->step = 1;
    LLF_TRY(list_bound(p, op, what, &r->start));
    llfi_lex_lines(x);
    LLF_TRY(llfi_lex_expect(x, ':', "in a range (start:stop:step, each of which may be missing)"));
    LLF_TRY(list_bound(p, op, what, &r->stop));
    llfi_lex_lines(x);
    if (!llfi_lex_accept(x, ':'))
        return LLF_OK;
    llfi_lex_lines(x);
    char c = llfi_lex_peek(x);
    return c == ',' || c == ']' ? LLF_OK : llfi_parse_int(p, op, "a step", &r->step);
}

llf_status llfi_parse_list(llfi_parser *p, llfi_attr_kind kind, const char *op, llfi_ask *ask)
{
    llfi_lex *x = &p->lex;
    ask->count = 0;
    LLF_TRY(llfi_lex_expect(x, '[', "before a list"));
    llfi_lex_lines(x);
    bool more = llfi_lex_peek(x) != ']';
    while (more) {
        llfi_lex_lines(x);
        uint32_t i = ask->count++;
        if (i == LLFI_RANK)
            return llfi_fail_at(x->diag, LLF_E_LIMIT, llfi_lex_place(x), op,
                                "%s: more list items than the rank limit of %u", op, LLFI_RANK);
        p->nesting = 0;
        if (kind == LLFI_ATTR_KIND_INTS)
            LLF_TRY(llfi_parse_int(p, op, "an axis", &ask->axis[i]));
        else if (kind == LLFI_ATTR_KIND_DIMS || kind == LLFI_PARSE_SIZES)
            LLF_TRY(list_dim(p, op, kind == LLFI_PARSE_SIZES, i, &ask->dim[i]));
        else if (kind == LLFI_PARSE_AMOUNTS)
            LLF_TRY(list_bound(p, op, "a shift", &ask->range[i].start));
        else
            LLF_TRY(list_range(p, op, kind == LLFI_ATTR_KIND_PADS ? "a pad" : "a bound", &ask->range[i]));
        llfi_lex_lines(x);
        more = llfi_lex_accept(x, ',');
    }
    return llfi_lex_expect(x, ']', ask->count ? "or ',' behind a list item" : "behind a list");
}

llf_status llfi_parse_type(llfi_parser *p, bool *scalar, uint32_t *type)
{
    llfi_lex *x = &p->lex;
    llf_dtype dtype;
    llfi_dim dim[LLFI_RANK];
    uint32_t rank = 0;
    llfi_lex_lines(x);
    llfi_lex before = *x;
    llfi_word w;
    *scalar = llfi_lex_word(x, &w) && w.bytes == 6 && memcmp(w.text, "scalar", 6) == 0;
    if (!*scalar)
        *x = before;
    llfi_lex_lines(x);
    LLF_TRY(llfi_parse_dtype(p, &dtype));
    llfi_lex_lines(x);
    if (*scalar && llfi_lex_peek(x) == '[')
        return llfi_fail_at(x->diag, LLF_E_TYPE, llfi_lex_place(x), NULL,
                            "a scalar has no dims: write 'scalar %s'", llf_dtype_name(dtype));
    if (!*scalar) {
        LLF_TRY(llfi_lex_expect(x, '[', "behind the dtype (a tensor is f32[N], a host value: scalar f32)"));
        llfi_lex_lines(x);
        bool more = llfi_lex_peek(x) != ']';
        while (more) {
            llfi_lex_lines(x);
            if (rank == LLFI_RANK)
                return llfi_fail_at(x->diag, LLF_E_LIMIT, llfi_lex_place(x), NULL,
                                    "rank is over the limit of %u dims", LLFI_RANK);
            p->nesting = 0;
            LLF_TRY(dim_expr(p, &dim[rank++]));
            more = llfi_lex_accept(x, ',');
        }
        LLF_TRY(llfi_lex_expect(x, ']', rank ? "or ',' behind a dim" : "behind the dims"));
    }
    *type = llfi_type_make(p->g, dtype, rank, dim);
    return *type == UINT32_MAX ? llfi_nomem(x->diag) : LLF_OK;
}
