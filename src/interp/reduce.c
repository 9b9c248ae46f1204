/* reduce.c: see reduce.h. Written to be read beside docs/ir.md, "Reductions": chunks of 1024 elements folded
 * one bit of the index after the other, partial results folded by adjacent pairs. Missing elements hold an
 * identity that changes nothing (x + -0.0 is x for every x), so they are not there at all: element i + 2^b
 * is missing where it lies beyond the last. */
#include "interp/reduce.h"
#include "interp/interp.h"
#include "ir/float.h"

#include <math.h>

static uint64_t eval2(const llfi_row *w, llf_op op, uint64_t a, uint64_t b)
{
    return llfi_eval(op, w->r.acc, w->r.acc, (const uint64_t[]){a, b});
}

static uint64_t number(const llfi_row *w, double x)
{
    return llfi_bits_from_f64(w->r.acc, x);
}

static uint64_t count(const llfi_row *w, int64_t n)
{
    return llfi_eval(LLF_OP_CAST, LLF_I64, w->r.acc, (const uint64_t[]){(uint64_t)n});
}

/* The elementwise op that folds two elements. any and all are the greater and the lesser of two bools. */
static llf_op pair_op(llf_op op)
{
    switch (op) {
    case LLF_OP_SUM: return LLF_OP_ADD;
    case LLF_OP_PROD: return LLF_OP_MUL;
    case LLF_OP_MAX:
    case LLF_OP_ANY: return LLF_OP_MAXIMUM;
    default: assert(op == LLF_OP_MIN || op == LLF_OP_ALL); return LLF_OP_MINIMUM;
    }
}

/* chunk(v): v[0 .. n) is lost. */
static uint64_t fold_chunk(const llfi_row *w, llf_op op, uint64_t *v, size_t n)
{
    static const uint8_t bit[] = {9, 8, 1, 0, 2, 7, 6, 5, 4, 3};
    size_t folded = 0;
    for (size_t b = 0; b < LLFI_COUNT(bit); b++) {
        size_t step = (size_t)1 << bit[b];
        folded |= step;
        for (size_t i = 0; i + step < n; i++)
            if (!(i & folded))
                v[i] = eval2(w, op, v[i], v[i + step]);
    }
    return v[0];
}

/* ---- argmax, argmin: no order; the first of the greatest */

static bool goes_before(const llfi_row *w, uint64_t x, uint64_t best)
{
    llf_op op = w->op == LLF_OP_ARGMAX ? LLF_OP_MAXIMUM : LLF_OP_MINIMUM;
    if (llfi_dtype_is_float(w->r.acc) && llfi_bits_nan(w->r.acc, best))
        return false;
    return x != best && eval2(w, op, best, x) == x; /* a NaN comes out as itself */
}

static void take_place(llfi_row *w, uint64_t x)
{
    llfi_partial *p = w->part.at;
    if (w->part.count && !goes_before(w, x, p->bits[0]))
        return;
    *p = (llfi_partial){{x, (uint64_t)w->added}};
    w->part.count = 1;
}

/* ---- softmax_stats */

/* Powers of 2 of all elements less a common one, and their sum. */
static llfi_partial softmax_chunk(const llfi_row *w, const uint64_t *x, size_t n)
{
    uint64_t v[LLFI_ROW_CHUNK], log2e = number(w, 1.4426950408889634), none = number(w, -INFINITY);
    memcpy(v, x, n * sizeof *v);
    uint64_t m = fold_chunk(w, LLF_OP_MAXIMUM, v, n);
    uint64_t scaled = m == none ? number(w, 0) : eval2(w, LLF_OP_MUL, m, log2e);
    uint64_t less = llfi_eval(LLF_OP_NEG, w->r.acc, w->r.acc, &scaled);
    for (size_t i = 0; i < n; i++) {
        uint64_t power = llfi_eval(LLF_OP_FMA, w->r.acc, w->r.acc, (const uint64_t[]){x[i], log2e, less});
        v[i] = llfi_eval(LLF_OP_EXP2, w->r.acc, w->r.acc, &power);
    }
    return (llfi_partial){{m == none ? none : scaled, fold_chunk(w, LLF_OP_ADD, v, n)}};
}

/* The maximum of all chunks, to which their sums are scaled; the sums are then folded. */
static void softmax_scale(llfi_row *w, uint64_t *most)
{
    uint64_t none = number(w, -INFINITY);
    *most = none;
    for (size_t i = 0; i < w->part.count; i++)
        *most = eval2(w, LLF_OP_MAXIMUM, *most, w->part.at[i].bits[0]);
    for (size_t i = 0; i < w->part.count; i++) {
        llfi_partial *p = &w->part.at[i];
        uint64_t power = eval2(w, LLF_OP_SUB, p->bits[0], *most), factor = number(w, 0);
        if (p->bits[0] != none)
            factor = llfi_eval(LLF_OP_EXP2, w->r.acc, w->r.acc, &power);
        p->bits[0] = eval2(w, LLF_OP_MUL, p->bits[1], factor);
    }
}

/* ---- moments */

static llfi_partial moments_chunk(const llfi_row *w, const uint64_t *x, size_t n)
{
    uint64_t v[LLFI_ROW_CHUNK], d[LLFI_ROW_CHUNK], many = count(w, (int64_t)n);
    memcpy(v, x, n * sizeof *v);
    uint64_t mean = eval2(w, LLF_OP_DIV, fold_chunk(w, LLF_OP_ADD, v, n), many);
    for (size_t i = 0; i < n; i++) {
        d[i] = eval2(w, LLF_OP_SUB, x[i], mean);
        v[i] = eval2(w, LLF_OP_MUL, d[i], d[i]);
    }
    uint64_t squares = fold_chunk(w, LLF_OP_ADD, v, n), left = fold_chunk(w, LLF_OP_ADD, d, n);
    uint64_t error = eval2(w, LLF_OP_DIV, eval2(w, LLF_OP_MUL, left, left), many);
    return (llfi_partial){
        {mean, eval2(w, LLF_OP_MAXIMUM, eval2(w, LLF_OP_SUB, squares, error), number(w, 0))}};
}

/* Of `na` elements before, and `nb` > 0 behind. */
static llfi_partial moments_pair(const llfi_row *w, const llfi_partial *a, const llfi_partial *b, int64_t na,
                                 int64_t nb)
{
    uint64_t delta = eval2(w, LLF_OP_SUB, b->bits[0], a->bits[0]);
    uint64_t f = eval2(w, LLF_OP_DIV, count(w, nb), count(w, na + nb));
    uint64_t mean = eval2(w, LLF_OP_ADD, a->bits[0], eval2(w, LLF_OP_MUL, delta, f));
    uint64_t between =
        eval2(w, LLF_OP_MUL, eval2(w, LLF_OP_MUL, delta, delta), eval2(w, LLF_OP_MUL, count(w, na), f));
    return (llfi_partial){
        {mean, eval2(w, LLF_OP_ADD, eval2(w, LLF_OP_ADD, a->bits[1], b->bits[1]), between)}};
}

/* ---- chunks */

static llfi_partial close_chunk(llfi_row *w)
{
    size_t n = w->chunk.count;
    w->chunk.count = 0;
    if (w->op == LLF_OP_SOFTMAX_STATS)
        return softmax_chunk(w, w->chunk.at, n);
    if (w->op == LLF_OP_MOMENTS)
        return moments_chunk(w, w->chunk.at, n);
    return (llfi_partial){{fold_chunk(w, pair_op(w->op), w->chunk.at, n), 0}};
}

/* Partial results of 2i and 2i + 1, each of `size` elements but the last of the row. */
static llfi_partial fold_pair(const llfi_row *w, size_t i, int64_t size)
{
    const llfi_partial *a = &w->part.at[2 * i], *b = a + 1;
    if (w->op == LLF_OP_MOMENTS) {
        int64_t behind = w->length - (int64_t)(2 * i + 1) * size;
        return moments_pair(w, a, b, size, behind < size ? behind : size);
    }
    llf_op op = w->op == LLF_OP_SOFTMAX_STATS ? LLF_OP_ADD : pair_op(w->op);
    return (llfi_partial){{eval2(w, op, a->bits[0], b->bits[0]), 0}};
}

/* Adjacent pairs, then pairs of pairs; one without a partner has the identity for one. */
static llfi_partial fold_chunks(llfi_row *w)
{
    int64_t size = LLFI_ROW_CHUNK;
    for (; w->part.count > 1; w->part.count = (w->part.count + 1) / 2, size *= 2)
        for (size_t i = 0; 2 * i < w->part.count; i++)
            w->part.at[i] = 2 * i + 1 < w->part.count ? fold_pair(w, i, size) : w->part.at[2 * i];
    return w->part.at[0];
}

/* ---- rows */

static llfi_partial of_nothing(const llfi_row *w)
{
    switch (w->op) {
    case LLF_OP_SUM:
    case LLF_OP_ANY: return (llfi_partial){{0, 0}};
    case LLF_OP_PROD:
    case LLF_OP_ALL: return (llfi_partial){{count(w, 1), 0}};
    case LLF_OP_SOFTMAX_STATS: return (llfi_partial){{number(w, -INFINITY), number(w, 0)}};
    default:
        assert(w->op == LLF_OP_MOMENTS && "the others need an element");
        return (llfi_partial){{number(w, NAN), number(w, 0)}};
    }
}

static uint64_t cast(llf_dtype from, llf_dtype to, uint64_t bits)
{
    return from == to ? bits : llfi_eval(LLF_OP_CAST, from, to, &bits);
}

llfi_row llfi_row_make(const llf_graph *g, llf_id reduce, int64_t length, const llf_allocator *mem)
{
    return (llfi_row){.mem = mem,
                      .op = (llf_op)llfi_node_at(g, reduce)->op,
                      .r = llfi_reduce_of(g, reduce),
                      .length = length};
}

static bool is_place(llf_op op)
{
    return op == LLF_OP_ARGMAX || op == LLF_OP_ARGMIN;
}

bool llfi_row_add(llfi_row *w, uint64_t bits)
{
    uint64_t x = cast(w->r.in, w->r.acc, bits);
    if (!llfi_vec_reserve(w->mem, &w->part, 1))
        return false;
    if (is_place(w->op)) {
        take_place(w, x);
        w->added++;
        return true;
    }
    if (!llfi_vec_reserve(w->mem, &w->chunk, 1))
        return false;
    w->chunk.at[w->chunk.count++] = x;
    w->added++;
    if (w->chunk.count == LLFI_ROW_CHUNK || w->added == w->length)
        w->part.at[w->part.count++] = close_chunk(w);
    return true;
}

llfi_partial llfi_row_finish(llfi_row *w)
{
    assert(w->added == w->length);
    llfi_partial p;
    uint64_t most = 0;
    if (w->op == LLF_OP_SOFTMAX_STATS && w->length)
        softmax_scale(w, &most);
    p = w->length ? fold_chunks(w) : of_nothing(w);
    if (is_place(w->op))
        return (llfi_partial){{p.bits[1], 0}};
    if (w->op == LLF_OP_SOFTMAX_STATS && w->length)
        p = (llfi_partial){{most, p.bits[0]}};
    p.bits[0] = cast(w->r.acc, w->r.out, p.bits[0]);
    return p;
}

void llfi_row_free(llfi_row *w)
{
    llfi_vec_free(w->mem, &w->chunk);
    llfi_vec_free(w->mem, &w->part);
}
