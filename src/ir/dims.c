/* dims.c: interned extents in normal form (dims.h): symbols, records, sums. Terms are ordered by structure
 * and symbol names, never by id, so that the same text gives the same form whatever was made before. Depth,
 * terms and printed size are bounded: what is recursive here and in the other dims_*.c cannot run away.
 * Arithmetic stands in dims_math.c, exact quotients in dims_divide.c, values in dims_eval.c, text in
 * dims_print.c. Must not know of tensors. */
#include "ir/dims_form.h"

/* Of nested floordiv, min, max: at most two brackets each, so that LLFI_MAX_NESTING holds. */
#define MAX_DEPTH 31u
#define MAX_SIZE 4096u /* leaves that printing visits */

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

/* Is word `i` of a record of this kind a dim? */
static bool is_child(llfi_dim_kind k, uint32_t i)
{
    return k == LLFI_DIM_SUM ? i != 0 && i % 2 == 0 : k != LLFI_DIM_CONST && k != LLFI_DIM_SYM;
}

llfi_dim llfi_dims_intern(llfi_dims *d, llfi_dim_kind k, const int64_t *word, uint32_t count)
{
    llfi_dim_record r = {.kind = (uint8_t)k, .count = (uint16_t)count, .size = 1};
    uint32_t depth = 0;
    r.hash = llfi_hash_u64(count, (uint64_t)k);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t h = (uint64_t)word[i];
        if (is_child(k, i)) {
            const llfi_dim_record *c = &d->rec.at[word[i]];
            depth = c->depth > depth ? c->depth : depth;
            r.size += c->size;
            h = c->hash;
        } else if (k == LLFI_DIM_SYM) {
            const char *name = llfi_dims_symbol_name(d, (uint32_t)word[i]);
            h = llfi_hash(1, name, strlen(name));
        }
        r.hash = llfi_hash_u64(r.hash, h);
    }
    depth += k == LLFI_DIM_DIV || k == LLFI_DIM_MIN || k == LLFI_DIM_MAX;
    r.depth = (uint8_t)depth;
    if (depth > MAX_DEPTH || r.size > MAX_SIZE)
        return LLFI_DIM_NONE;
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&d->interned, r.hash, &cursor)) != UINT32_MAX;) {
        const llfi_dim_record *o = &d->rec.at[i];
        if (o->kind == r.kind && o->count == count &&
            memcmp(llfi_dims_words(d, i), word, count * sizeof *word) == 0)
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
int llfi_dims_order(const llfi_dims *d, llfi_dim a, llfi_dim b)
{
    if (a == b)
        return 0;
    const llfi_dim_record *x = &d->rec.at[a], *y = &d->rec.at[b];
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    const int64_t *u = llfi_dims_words(d, a), *v = llfi_dims_words(d, b);
    if (x->kind == LLFI_DIM_SYM)
        return strcmp(llfi_dims_symbol_name(d, (uint32_t)u[0]), llfi_dims_symbol_name(d, (uint32_t)v[0]));
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    for (uint32_t i = 0; i < x->count; i++) {
        int o = is_child(x->kind, i) ? llfi_dims_order(d, (llfi_dim)u[i], (llfi_dim)v[i])
                                     : (u[i] > v[i]) - (u[i] < v[i]);
        if (o)
            return o;
    }
    return 0;
}

void llfi_dims_unpack(const llfi_dims *d, llfi_dim id, llfi_poly *p)
{
    const llfi_dim_record *r = &d->rec.at[id];
    const int64_t *w = llfi_dims_words(d, id);
    p->c = 0;
    p->terms = 0;
    if (r->kind == LLFI_DIM_CONST) {
        p->c = w[0];
    } else if (r->kind == LLFI_DIM_SUM) {
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
llfi_dim llfi_dims_pack(llfi_dims *d, llfi_poly *p)
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
    int64_t w[1 + 2 * LLFI_DIM_MAX_TERMS];
    uint32_t n = 0;
    w[n++] = p->c;
    for (uint32_t i = 0; i < p->terms; i++) {
        w[n++] = p->coef[i];
        w[n++] = p->mono[i];
    }
    return llfi_dims_intern(d, LLFI_DIM_SUM, w, n);
}

/* Adds coef * mono in its place; false on overflow or too many terms. */
bool llfi_poly_add_term(const llfi_dims *d, llfi_poly *p, int64_t coef, llfi_dim mono)
{
    uint32_t lo = 0, hi = p->terms;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        int o = llfi_dims_order(d, p->mono[mid], mono);
        if (o == 0)
            return !__builtin_add_overflow(p->coef[mid], coef, &p->coef[mid]);
        if (o < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (p->terms == LLFI_DIM_MAX_TERMS)
        return false;
    memmove(p->coef + lo + 1, p->coef + lo, (p->terms - lo) * sizeof *p->coef);
    memmove(p->mono + lo + 1, p->mono + lo, (p->terms - lo) * sizeof *p->mono);
    p->coef[lo] = coef;
    p->mono[lo] = mono;
    p->terms++;
    return true;
}

/* p + sign * b */
bool llfi_poly_add(const llfi_dims *d, llfi_poly *p, llfi_dim b, int64_t sign)
{
    llfi_poly q;
    llfi_dims_unpack(d, b, &q);
    int64_t c;
    if (__builtin_mul_overflow(q.c, sign, &c) || __builtin_add_overflow(p->c, c, &p->c))
        return false;
    for (uint32_t i = 0; i < q.terms; i++) {
        if (__builtin_mul_overflow(q.coef[i], sign, &c) || !llfi_poly_add_term(d, p, c, q.mono[i]))
            return false;
    }
    return true;
}

uint32_t llfi_dims_factors(const llfi_dims *d, llfi_dim mono, int64_t *out)
{
    const llfi_dim_record *r = &d->rec.at[mono];
    if (r->kind != LLFI_DIM_PROD) {
        out[0] = mono;
        return 1;
    }
    memcpy(out, llfi_dims_words(d, mono), r->count * sizeof *out);
    return r->count;
}

llfi_dim llfi_dim_const(llfi_dims *d, int64_t value)
{
    return value < 0 ? LLFI_DIM_NONE : llfi_dims_intern(d, LLFI_DIM_CONST, &value, 1);
}

llfi_dim llfi_dim_sym(llfi_dims *d, uint32_t symbol)
{
    int64_t w = symbol;
    return symbol < d->symbol.count ? llfi_dims_intern(d, LLFI_DIM_SYM, &w, 1) : LLFI_DIM_NONE;
}

bool llfi_dim_is_const(const llfi_dims *d, llfi_dim id, int64_t *value)
{
    if (id >= d->rec.count || d->rec.at[id].kind != LLFI_DIM_CONST)
        return false;
    *value = llfi_dims_words(d, id)[0];
    return true;
}

bool llfi_dim_is_symbol(const llfi_dims *d, llfi_dim id, uint32_t *symbol)
{
    if (id >= d->rec.count || d->rec.at[id].kind != LLFI_DIM_SYM)
        return false;
    *symbol = (uint32_t)llfi_dims_words(d, id)[0];
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
