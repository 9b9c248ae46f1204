/* dims.c: interned extents in normal form (dims.h). A record is a constant, a symbol, an atom (floordiv, min,
 * max of two dims), a product of atoms, or a sum `constant + coefficient * (symbol | atom | product) ...`.
 * Terms are ordered by structure and symbol names, never by id, so that the same text gives the same form
 * whatever was made before. Depth, terms and printed size are bounded: what is recursive here cannot run
 * away. Must not know of tensors. */
#include "ir/dims.h"

/* Of nested floordiv, min, max: at most two brackets each, so that LLFI_MAX_NESTING holds. */
#define MAX_DEPTH 31u
#define MAX_TERMS 256u  /* of one sum */
#define MAX_FACTORS 64u /* of one product */
#define MAX_SIZE 4096u  /* leaves that printing visits */

/* Order of kinds is the order of terms. */
typedef enum { CONST, SYM, DIV, MIN, MAX, PROD, SUM } kind;

/* pool: CONST value; SYM symbol; DIV/MIN/MAX two dims; PROD atoms; SUM constant, then (coefficient,
 * monomial)... */
typedef struct {
    uint8_t kind;
    uint8_t depth;
    uint16_t count; /* words in the pool */
    uint32_t size;
    uint32_t at;
    uint64_t hash; /* of structure and symbol names */
} record;

struct llfi_dims {
    llf_allocator mem;
    LLFI_VEC(record) rec;
    LLFI_VEC(int64_t) pool;
    LLFI_VEC(uint32_t) symbol; /* offsets into text */
    LLFI_VEC(char) text;
    llfi_map interned, symbols;
    bool nomem;
};

/* A sum being made. */
typedef struct {
    int64_t c;
    uint32_t terms;
    int64_t coef[MAX_TERMS];
    llfi_dim mono[MAX_TERMS];
} poly;

llfi_dims *llfi_dims_create(const llf_allocator *mem)
{
    llfi_dims *d = llfi_alloc_zero(mem, sizeof *d);
    if (d)
        d->mem = *mem;
    return d;
}

void llfi_dims_destroy(llfi_dims *d)
{
    if (!d)
        return;
    llf_allocator mem = d->mem;
    llfi_vec_free(&mem, &d->rec);
    llfi_vec_free(&mem, &d->pool);
    llfi_vec_free(&mem, &d->symbol);
    llfi_vec_free(&mem, &d->text);
    llfi_map_free(&mem, &d->interned);
    llfi_map_free(&mem, &d->symbols);
    llfi_free(&mem, d, sizeof *d);
}

#define COPY(v)                                                                                     \
    (llfi_vec_reserve(mem, &d->v, from->v.count)                                                    \
         ? (from->v.count ? memcpy(d->v.at, from->v.at, from->v.count * sizeof *from->v.at) : NULL, \
            d->v.count = from->v.count, true)                                                       \
         : false)

llfi_dims *llfi_dims_clone(const llfi_dims *from, const llf_allocator *mem)
{
    llfi_dims *d = llfi_dims_create(mem);
    if (!d)
        return NULL;
    bool ok = COPY(rec) && COPY(pool) && COPY(symbol) && COPY(text);
    for (uint32_t i = 0; ok && i < d->rec.count; i++)
        ok = llfi_map_add(&d->mem, &d->interned, d->rec.at[i].hash, i);
    for (uint32_t i = 0; ok && i < d->symbol.count; i++) {
        const char *name = llfi_dims_symbol_name(d, i);
        ok = llfi_map_add(&d->mem, &d->symbols, llfi_hash(0, name, strlen(name)), i);
    }
    if (ok)
        return d;
    llfi_dims_destroy(d);
    return NULL;
}

uint32_t llfi_dims_symbol(llfi_dims *d, const char *name, size_t bytes)
{
    uint64_t hash = llfi_hash(0, name, bytes);
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&d->symbols, hash, &cursor)) != UINT32_MAX;) {
        const char *other = llfi_dims_symbol_name(d, i);
        if (strlen(other) == bytes && memcmp(other, name, bytes) == 0)
            return i;
    }
    uint32_t id = (uint32_t)d->symbol.count;
    if (!llfi_vec_reserve(&d->mem, &d->symbol, 1) || !llfi_vec_reserve(&d->mem, &d->text, bytes + 1) ||
        !llfi_map_add(&d->mem, &d->symbols, hash, id))
        return UINT32_MAX;
    d->symbol.at[d->symbol.count++] = (uint32_t)d->text.count;
    memcpy(d->text.at + d->text.count, name, bytes);
    d->text.count += bytes;
    d->text.at[d->text.count++] = 0;
    return id;
}

uint32_t llfi_dims_symbols(const llfi_dims *d)
{
    return (uint32_t)d->symbol.count;
}

const char *llfi_dims_symbol_name(const llfi_dims *d, uint32_t symbol)
{
    return d->text.at + d->symbol.at[symbol];
}

uint64_t llfi_dim_hash(const llfi_dims *d, llfi_dim id)
{
    return d->rec.at[id].hash;
}

static const int64_t *words(const llfi_dims *d, llfi_dim id)
{
    return d->pool.at + d->rec.at[id].at;
}

/* Is word `i` of a record of this kind a dim? */
static bool is_child(kind k, uint32_t i)
{
    return k == SUM ? i != 0 && i % 2 == 0 : k != CONST && k != SYM;
}

static llfi_dim intern(llfi_dims *d, kind k, const int64_t *word, uint32_t count)
{
    record r = {.kind = (uint8_t)k, .count = (uint16_t)count, .size = 1};
    uint32_t depth = 0;
    r.hash = llfi_hash_u64(count, (uint64_t)k);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t h = (uint64_t)word[i];
        if (is_child(k, i)) {
            const record *c = &d->rec.at[word[i]];
            depth = c->depth > depth ? c->depth : depth;
            r.size += c->size;
            h = c->hash;
        } else if (k == SYM) {
            const char *name = llfi_dims_symbol_name(d, (uint32_t)word[i]);
            h = llfi_hash(1, name, strlen(name));
        }
        r.hash = llfi_hash_u64(r.hash, h);
    }
    depth += k == DIV || k == MIN || k == MAX;
    r.depth = (uint8_t)depth;
    if (depth > MAX_DEPTH || r.size > MAX_SIZE)
        return LLFI_DIM_NONE;
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&d->interned, r.hash, &cursor)) != UINT32_MAX;) {
        const record *o = &d->rec.at[i];
        if (o->kind == r.kind && o->count == count && memcmp(words(d, i), word, count * sizeof *word) == 0)
            return i;
    }
    llfi_dim id = (llfi_dim)d->rec.count;
    if (id == LLFI_DIM_NONE || !llfi_vec_reserve(&d->mem, &d->rec, 1) ||
        !llfi_vec_reserve(&d->mem, &d->pool, count) || !llfi_map_add(&d->mem, &d->interned, r.hash, id)) {
        d->nomem = true;
        return LLFI_DIM_NONE;
    }
    r.at = (uint32_t)d->pool.count;
    memcpy(d->pool.at + d->pool.count, word, count * sizeof *word);
    d->pool.count += count;
    d->rec.at[d->rec.count++] = r;
    return id;
}

/* Total order by structure; recursion is bounded by MAX_DEPTH. */
static int order(const llfi_dims *d, llfi_dim a, llfi_dim b)
{
    if (a == b)
        return 0;
    const record *x = &d->rec.at[a], *y = &d->rec.at[b];
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    const int64_t *u = words(d, a), *v = words(d, b);
    if (x->kind == SYM)
        return strcmp(llfi_dims_symbol_name(d, (uint32_t)u[0]), llfi_dims_symbol_name(d, (uint32_t)v[0]));
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    for (uint32_t i = 0; i < x->count; i++) {
        int o =
            is_child(x->kind, i) ? order(d, (llfi_dim)u[i], (llfi_dim)v[i]) : (u[i] > v[i]) - (u[i] < v[i]);
        if (o)
            return o;
    }
    return 0;
}

static void unpack(const llfi_dims *d, llfi_dim id, poly *p)
{
    const record *r = &d->rec.at[id];
    const int64_t *w = words(d, id);
    p->c = 0;
    p->terms = 0;
    if (r->kind == CONST) {
        p->c = w[0];
    } else if (r->kind == SUM) {
        p->c = w[0];
        for (uint32_t i = 1; i < r->count; i += 2) {
            p->coef[p->terms] = w[i];
            p->mono[p->terms++] = (llfi_dim)w[i + 1];
        }
    } else {
        p->coef[0] = 1;
        p->mono[p->terms++] = id;
    }
}

/* Terms that cancelled go. What has nothing positive is refused: it is 0 at best. */
static llfi_dim pack(llfi_dims *d, poly *p)
{
    uint32_t kept = 0;
    bool positive = p->c > 0, over = p->c == INT64_MIN;
    for (uint32_t i = 0; i < p->terms; i++) {
        positive |= p->coef[i] > 0;
        over |= p->coef[i] == INT64_MIN; /* could not be printed */
        p->coef[kept] = p->coef[i];
        p->mono[kept] = p->mono[i];
        kept += p->coef[i] != 0;
    }
    p->terms = kept;
    if (over || (kept && !positive))
        return LLFI_DIM_NONE;
    if (p->terms == 0)
        return llfi_dim_const(d, p->c);
    if (p->terms == 1 && p->c == 0 && p->coef[0] == 1)
        return p->mono[0];
    int64_t w[1 + 2 * MAX_TERMS];
    uint32_t n = 0;
    w[n++] = p->c;
    for (uint32_t i = 0; i < p->terms; i++) {
        w[n++] = p->coef[i];
        w[n++] = p->mono[i];
    }
    return intern(d, SUM, w, n);
}

/* Adds coef * mono in its place; false on overflow or too many terms. */
static bool add_term(const llfi_dims *d, poly *p, int64_t coef, llfi_dim mono)
{
    uint32_t lo = 0, hi = p->terms;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        int o = order(d, p->mono[mid], mono);
        if (o == 0)
            return !__builtin_add_overflow(p->coef[mid], coef, &p->coef[mid]);
        if (o < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (p->terms == MAX_TERMS)
        return false;
    memmove(p->coef + lo + 1, p->coef + lo, (p->terms - lo) * sizeof *p->coef);
    memmove(p->mono + lo + 1, p->mono + lo, (p->terms - lo) * sizeof *p->mono);
    p->coef[lo] = coef;
    p->mono[lo] = mono;
    p->terms++;
    return true;
}

/* p + sign * b */
static bool add_all(const llfi_dims *d, poly *p, llfi_dim b, int64_t sign)
{
    poly q;
    unpack(d, b, &q);
    int64_t c;
    if (__builtin_mul_overflow(q.c, sign, &c) || __builtin_add_overflow(p->c, c, &p->c))
        return false;
    for (uint32_t i = 0; i < q.terms; i++) {
        if (__builtin_mul_overflow(q.coef[i], sign, &c) || !add_term(d, p, c, q.mono[i]))
            return false;
    }
    return true;
}

static uint32_t factors(const llfi_dims *d, llfi_dim mono, int64_t *out)
{
    const record *r = &d->rec.at[mono];
    if (r->kind != PROD) {
        out[0] = mono;
        return 1;
    }
    memcpy(out, words(d, mono), r->count * sizeof *out);
    return r->count;
}

static llfi_dim mul_mono(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    int64_t x[MAX_FACTORS], y[MAX_FACTORS], w[2 * MAX_FACTORS];
    uint32_t n = factors(d, a, x), m = factors(d, b, y), i = 0, j = 0, k = 0;
    while (i < n || j < m) {
        if (j == m || (i < n && order(d, (llfi_dim)x[i], (llfi_dim)y[j]) <= 0))
            w[k++] = x[i++];
        else
            w[k++] = y[j++];
    }
    return k > MAX_FACTORS ? LLFI_DIM_NONE : intern(d, PROD, w, k);
}

llfi_dim llfi_dim_const(llfi_dims *d, int64_t value)
{
    return value < 0 ? LLFI_DIM_NONE : intern(d, CONST, &value, 1);
}

llfi_dim llfi_dim_sym(llfi_dims *d, uint32_t symbol)
{
    int64_t w = symbol;
    return symbol < d->symbol.count ? intern(d, SYM, &w, 1) : LLFI_DIM_NONE;
}

static llfi_dim sum(llfi_dims *d, llfi_dim a, llfi_dim b, int64_t sign)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    poly p;
    unpack(d, a, &p);
    return add_all(d, &p, b, sign) ? pack(d, &p) : LLFI_DIM_NONE;
}

llfi_dim llfi_dim_add(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return sum(d, a, b, 1);
}

llfi_dim llfi_dim_sub(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return sum(d, a, b, -1);
}

llfi_dim llfi_dim_mul(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    poly p, q, r = {0};
    unpack(d, a, &p);
    unpack(d, b, &q);
    if (__builtin_mul_overflow(p.c, q.c, &r.c))
        return LLFI_DIM_NONE;
    int64_t c;
    for (uint32_t i = 0; q.c && i < p.terms; i++) {
        if (__builtin_mul_overflow(p.coef[i], q.c, &c) || !add_term(d, &r, c, p.mono[i]))
            return LLFI_DIM_NONE;
    }
    for (uint32_t j = 0; p.c && j < q.terms; j++) {
        if (__builtin_mul_overflow(q.coef[j], p.c, &c) || !add_term(d, &r, c, q.mono[j]))
            return LLFI_DIM_NONE;
    }
    for (uint32_t i = 0; i < p.terms; i++) {
        for (uint32_t j = 0; j < q.terms; j++) {
            llfi_dim m = mul_mono(d, p.mono[i], q.mono[j]);
            if (m == LLFI_DIM_NONE || __builtin_mul_overflow(p.coef[i], q.coef[j], &c) ||
                !add_term(d, &r, c, m))
                return LLFI_DIM_NONE;
        }
    }
    return pack(d, &r);
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

/* The product `mono` without the `n` factors of `w`, or NONE; 1 when none is left. Both are ordered. */
static llfi_dim without(llfi_dims *d, llfi_dim mono, const int64_t *w, uint32_t n)
{
    int64_t x[MAX_FACTORS], left[MAX_FACTORS];
    uint32_t m = factors(d, mono, x), j = 0, k = 0;
    for (uint32_t i = 0; i < m; i++) {
        if (j < n && x[i] == w[j])
            j++;
        else
            left[k++] = x[i];
    }
    if (j < n)
        return LLFI_DIM_NONE;
    return k == 0 ? llfi_dim_const(d, 1) : k == 1 ? (llfi_dim)left[0] : intern(d, PROD, left, k);
}

llfi_dim llfi_dim_quotient(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    poly p, q, out = {0};
    unpack(d, a, &p);
    unpack(d, b, &q);
    if (q.terms == 0)
        q.coef[0] = q.c;
    if (q.terms > 1 || (q.terms == 1 && q.c) || q.coef[0] <= 0 || (q.terms && p.c) || p.c % q.coef[0])
        return LLFI_DIM_NONE;
    int64_t w[MAX_FACTORS];
    uint32_t n = q.terms ? factors(d, q.mono[0], w) : 0;
    out.c = p.c / q.coef[0];
    for (uint32_t i = 0; i < p.terms; i++) {
        llfi_dim m = without(d, p.mono[i], w, n);
        int64_t c, coef = p.coef[i] / q.coef[0];
        if (m == LLFI_DIM_NONE || p.coef[i] % q.coef[0])
            return LLFI_DIM_NONE;
        if (!llfi_dim_is_const(d, m, &c)) {
            if (!add_term(d, &out, coef, m))
                return LLFI_DIM_NONE;
        } else if (__builtin_add_overflow(out.c, coef, &out.c)) {
            return LLFI_DIM_NONE;
        }
    }
    return pack(d, &out);
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
    poly p, out = {0}, rest = {0};
    unpack(d, a, &p);
    out.c = floor_div(p.c, k);
    rest.c = p.c - out.c * k;
    int64_t g = k;
    for (uint32_t i = 0; i < p.terms; i++) {
        int64_t whole = floor_div(p.coef[i], k), left = p.coef[i] - whole * k;
        if (whole && !add_term(d, &out, whole, p.mono[i]))
            return LLFI_DIM_NONE;
        if (left && !add_term(d, &rest, left, p.mono[i]))
            return LLFI_DIM_NONE;
        g = gcd(g, left);
    }
    if (rest.terms == 0)
        return pack(d, &out); /* rest.c < k */
    rest.c /= g;
    for (uint32_t i = 0; i < rest.terms; i++)
        rest.coef[i] /= g;
    k /= g;
    llfi_dim r = pack(d, &rest);
    if (r == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    int64_t inner, wide;
    const record *n = &d->rec.at[r];
    llfi_dim quotient;
    if (n->kind == DIV && llfi_dim_is_const(d, (llfi_dim)words(d, r)[1], &inner)) {
        /* (x // m) // k = x // (m * k), which is 0 when m * k is beyond every extent */
        llfi_dim x = (llfi_dim)words(d, r)[0];
        if (__builtin_mul_overflow(inner, k, &wide))
            return pack(d, &out);
        quotient = div_const(d, x, wide);
    } else {
        int64_t w[2] = {r, llfi_dim_const(d, k)};
        quotient = w[1] == LLFI_DIM_NONE ? LLFI_DIM_NONE : intern(d, DIV, w, 2);
    }
    return quotient != LLFI_DIM_NONE && add_all(d, &out, quotient, 1) ? pack(d, &out) : LLFI_DIM_NONE;
}

llfi_dim llfi_dim_floordiv(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    int64_t k;
    if (llfi_dim_is_const(d, b, &k))
        return k == 0 ? LLFI_DIM_NONE : k == 1 ? a : div_const(d, a, k);
    int64_t w[2] = {a, b};
    return intern(d, DIV, w, 2);
}

/* a <= b whatever the symbols are: dims are >= 0, so no term of b - a may be negative; else what is known of
 * atoms, `depth` of them deep. */
static bool never_above(const llfi_dims *d, llfi_dim a, llfi_dim b, uint32_t depth)
{
    poly p;
    unpack(d, b, &p);
    bool ok = add_all(d, &p, a, -1) && p.c >= 0;
    for (uint32_t i = 0; ok && i < p.terms; i++)
        ok = p.coef[i] >= 0;
    if (ok || depth == 0)
        return ok;
    const int64_t *u = words(d, a), *v = words(d, b);
    const kind above = d->rec.at[b].kind;
    int64_t k;
#define BELOW(x, y) never_above(d, (llfi_dim)(x), (llfi_dim)(y), depth - 1)
    switch ((kind)d->rec.at[a].kind) {
    case DIV: ok = llfi_dim_is_const(d, (llfi_dim)u[1], &k) && BELOW(u[0], b); break;
    case MIN: ok = BELOW(u[0], b) || BELOW(u[1], b); break;
    case MAX: return BELOW(u[0], b) && BELOW(u[1], b);
    default: break;
    }
    if (above == MAX)
        ok = ok || BELOW(a, v[0]) || BELOW(a, v[1]);
    else if (above == MIN)
        ok = ok || (BELOW(a, v[0]) && BELOW(a, v[1]));
#undef BELOW
    return ok;
}

bool llfi_dim_never_above(const llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return never_above(d, a, b, 3);
}

static llfi_dim min_max(llfi_dims *d, kind k, llfi_dim a, llfi_dim b)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return LLFI_DIM_NONE;
    if (llfi_dim_never_above(d, a, b))
        return k == MIN ? a : b;
    if (llfi_dim_never_above(d, b, a))
        return k == MIN ? b : a;
    int64_t w[2] = {a, b};
    if (order(d, a, b) > 0) {
        w[0] = b;
        w[1] = a;
    }
    return intern(d, k, w, 2);
}

llfi_dim llfi_dim_min(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return min_max(d, MIN, a, b);
}

llfi_dim llfi_dim_max(llfi_dims *d, llfi_dim a, llfi_dim b)
{
    return min_max(d, MAX, a, b);
}

bool llfi_dim_is_const(const llfi_dims *d, llfi_dim id, int64_t *value)
{
    if (id >= d->rec.count || d->rec.at[id].kind != CONST)
        return false;
    *value = words(d, id)[0];
    return true;
}

bool llfi_dim_is_symbol(const llfi_dims *d, llfi_dim id, uint32_t *symbol)
{
    if (id >= d->rec.count || d->rec.at[id].kind != SYM)
        return false;
    *symbol = (uint32_t)words(d, id)[0];
    return true;
}

uint32_t llfi_dims_count(const llfi_dims *d)
{
    return (uint32_t)d->rec.count;
}

bool llfi_dims_nomem(llfi_dims *d)
{
    bool was = d->nomem;
    d->nomem = false;
    return was;
}

static bool eval_two(const llfi_dims *d, kind k, const int64_t *w, const int64_t *symbol, int64_t *value)
{
    int64_t a, b;
    if (!llfi_dim_eval(d, (llfi_dim)w[0], symbol, &a) || !llfi_dim_eval(d, (llfi_dim)w[1], symbol, &b))
        return false;
    if (k == DIV && b == 0)
        return false;
    *value = k == DIV ? a / b : (k == MIN) == (a < b) ? a : b;
    return true;
}

bool llfi_dim_eval(const llfi_dims *d, llfi_dim id, const int64_t *symbol, int64_t *value)
{
    if (id >= d->rec.count)
        return false;
    const record *r = &d->rec.at[id];
    const int64_t *w = words(d, id);
    int64_t total, x;
    switch ((kind)r->kind) {
    case CONST: *value = w[0]; return true;
    case SYM: *value = symbol[w[0]]; return *value >= 0;
    case DIV:
    case MIN:
    case MAX: return eval_two(d, r->kind, w, symbol, value);
    case PROD:
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
    case SUM:
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

static void print(const llfi_dims *d, llfi_dim id, bool tight, llfi_str *s);

/* What is added first, so that no part of the text is negative when it is read. */
static void print_sum(const llfi_dims *d, const record *r, const int64_t *w, llfi_str *s)
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
            print(d, m, w[i] != sign && d->rec.at[m].kind == DIV, s);
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
    const record *r = &d->rec.at[id];
    const int64_t *w = words(d, id);
    bool bracket = tight && (r->kind == DIV || r->kind == PROD || r->kind == SUM);
    if (bracket)
        llfi_str_puts(s, "(");
    switch ((kind)r->kind) {
    case CONST: llfi_str_printf(s, "%lld", (long long)w[0]); break;
    case SYM: llfi_str_puts(s, llfi_dims_symbol_name(d, (uint32_t)w[0])); break;
    case DIV:
        print(d, (llfi_dim)w[0], true, s);
        llfi_str_puts(s, "//");
        print(d, (llfi_dim)w[1], true, s);
        break;
    case MIN:
    case MAX:
        llfi_str_puts(s, r->kind == MIN ? "min(" : "max(");
        print(d, (llfi_dim)w[0], false, s);
        llfi_str_puts(s, ", ");
        print(d, (llfi_dim)w[1], false, s);
        llfi_str_puts(s, ")");
        break;
    case PROD:
        for (uint32_t i = 0; i < r->count; i++) {
            llfi_str_puts(s, i ? "*" : "");
            print(d, (llfi_dim)w[i], true, s);
        }
        break;
    case SUM: print_sum(d, r, w, s); break;
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

/* ---- differences and exact quotients, for index maps */

bool llfi_dim_diff(llfi_dims *d, llfi_dim a, llfi_dim b, llfi_dim *pos, llfi_dim *neg)
{
    if (a == LLFI_DIM_NONE || b == LLFI_DIM_NONE)
        return false;
    poly p, q, up = {0}, down = {0};
    unpack(d, a, &p);
    unpack(d, b, &q);
    int64_t c;
    if (__builtin_sub_overflow(p.c, q.c, &p.c))
        return false;
    for (uint32_t i = 0; i < q.terms; i++)
        if (__builtin_sub_overflow(0, q.coef[i], &c) || !add_term(d, &p, c, q.mono[i]))
            return false;
    *(p.c < 0 ? &down.c : &up.c) = p.c < 0 ? -p.c : p.c;
    for (uint32_t i = 0; i < p.terms; i++) { /* in order, so that both stay ordered */
        if (p.coef[i] == INT64_MIN)
            return false;
        poly *side = p.coef[i] < 0 ? &down : &up;
        if (!p.coef[i])
            continue;
        side->coef[side->terms] = p.coef[i] < 0 ? -p.coef[i] : p.coef[i];
        side->mono[side->terms++] = p.mono[i];
    }
    *pos = pack(d, &up);
    *neg = pack(d, &down);
    return *pos != LLFI_DIM_NONE && *neg != LLFI_DIM_NONE;
}

/* Factors of `mono` that are not factors of `by` (0: the constant 1), or false when `by` does not divide it.
 */
static bool mono_quotient(llfi_dims *d, llfi_dim mono, llfi_dim by, llfi_dim *out)
{
    int64_t y[MAX_FACTORS];
    uint32_t m = factors(d, by, y);
    *out = without(d, mono, y, m);
    return *out != LLFI_DIM_NONE;
}

/* Adds coef * (mono, or 1 when mono is the constant 1). */
static bool add_quotient(llfi_dims *d, poly *p, int64_t coef, llfi_dim mono)
{
    int64_t one;
    if (llfi_dim_is_const(d, mono, &one))
        return !__builtin_add_overflow(p->c, coef, &p->c);
    return add_term(d, p, coef, mono);
}

bool llfi_dim_divide(llfi_dims *d, llfi_dim a, llfi_dim s, llfi_dim *q, llfi_dim *r)
{
    if (a == LLFI_DIM_NONE || s == LLFI_DIM_NONE)
        return false;
    poly p, by, quotient = {0}, rest = {0};
    unpack(d, a, &p);
    unpack(d, s, &by);
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
            (left && !add_term(d, &rest, left, p.mono[i])))
            return false;
    }
    *q = pack(d, &quotient);
    *r = pack(d, &rest);
    return *q != LLFI_DIM_NONE && *r != LLFI_DIM_NONE;
}

bool llfi_dim_guess(llfi_dims *d, llfi_dim a, uint32_t i, llfi_dim s, llfi_dim *q)
{
    poly p, by;
    unpack(d, a, &p);
    unpack(d, s, &by);
    *q = LLFI_DIM_NONE;
    if (i >= p.terms)
        return false;
    llfi_dim mono;
    if (by.terms && by.coef[0] > 0 && p.coef[i] % by.coef[0] == 0 &&
        mono_quotient(d, p.mono[i], by.mono[0], &mono))
        *q = llfi_dim_mul(d, llfi_dim_const(d, p.coef[i] / by.coef[0]), mono);
    return true;
}
