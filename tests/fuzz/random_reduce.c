/* random_reduce.c: reductions of a value: every op of the class, over all axes, some or none, and what stands
 * around reductions where people write them: the row less its maximum, statistics applied to the row, two
 * reductions of one value, counts. Legal for the symbols at hand; extents that a row must not lack are looked
 * at first. */
#include "random_view.h"

#include "ir/float.h"

typedef struct {
    rg_random *r;
    llf_graph *g;
    const int64_t *symbol;
    llf_id x;
    bool keepdims;
    uint32_t count;
    int64_t axis[LLFI_RANK];
} maker;

static const llfi_place nowhere = {NULL, 0, 0};

static bool empty(const maker *m)
{
    llfi_type t = llfi_type_of(m->g, m->x);
    for (uint32_t i = 0; i < m->count; i++) {
        int64_t extent;
        if (!llfi_dim_eval(m->g->dims, t.dim[m->axis[i]], m->symbol, &extent) || extent == 0)
            return true;
    }
    return false;
}

static bool fits(const maker *m, llf_op op)
{
    bool needs = op == LLF_OP_MAX || op == LLF_OP_MIN || op == LLF_OP_ARGMAX || op == LLF_OP_ARGMIN;
    return llfi_ops[op].cls == LLFI_CLASS_REDUCE &&
           llfi_set_has(llfi_ops[op].set, llfi_dtype_of(m->g, m->x)) && !(needs && empty(m));
}

static llf_op random_op(const maker *m)
{
    bool sum = rg_chance(m->r, 25);
    llf_op op = LLF_OP_SUM; /* more often than the others: its order shows */
    while (!sum && !fits(m, op = (llf_op)rg_below(m->r, LLF_OPS)))
        ;
    return op;
}

static llf_dtype random_out(const maker *m)
{
    llf_dtype in = llfi_dtype_of(m->g, m->x), out;
    do
        out = (llf_dtype)rg_below(m->r, LLF_DTYPES);
    while (out == LLF_BOOL || (llfi_dtype_is_float(in) && !llfi_dtype_is_float(out)));
    return out;
}

/* The first result. */
static llf_id reduce(const maker *m, llf_op op)
{
    llfi_ask ask = {.count = m->count, .keepdims = m->keepdims};
    uint64_t attr;
    for (uint32_t i = 0; i < m->count; i++)
        ask.axis[i] = m->axis[i];
    if (llfi_ops[op].attr == LLFI_ATTR_SUM && rg_chance(m->r, 30)) {
        ask.has_dtype = true;
        ask.dtype = random_out(m);
    }
    if (llfi_reduce_attr(m->g, op, m->x, &ask, nowhere, &attr) != LLF_OK)
        return llfi_poison(m->g, LLF_E_INTERNAL);
    return llfi_build(m->g, op, &m->x, attr, UINT32_MAX, nowhere);
}

static llf_id build(const maker *m, llf_op op, llf_id a, llf_id b, llf_id c)
{
    return llfi_build(m->g, op, (const llf_id[]){a, b, c}, 0, UINT32_MAX, nowhere);
}

static llf_id cast(const maker *m, llf_id x, llf_dtype dtype)
{
    return llfi_dtype_of(m->g, x) == dtype
               ? x
               : llfi_build(m->g, LLF_OP_CAST, &x, (uint64_t)dtype, UINT32_MAX, nowhere);
}

/* 2^(x log2 e - M) / S, as softmax has it. */
static llf_id softmax(maker *m)
{
    m->keepdims = true;
    llf_id stats = reduce(m, LLF_OP_SOFTMAX_STATS);
    if (stats == LLF_NONE)
        return stats;
    llf_dtype dtype = llfi_dtype_of(m->g, stats);
    llf_id x = cast(m, m->x, dtype);
    llf_id log2e = llfi_build_const(m->g, dtype, llfi_bits_from_f64(dtype, 1.4426950408889634));
    llf_id power = build(m, LLF_OP_FMA, x, log2e, build(m, LLF_OP_NEG, stats, LLF_NONE, LLF_NONE));
    return build(m, LLF_OP_DIV, build(m, LLF_OP_EXP2, power, LLF_NONE, LLF_NONE), stats + 1, LLF_NONE);
}

/* The elements that go, as a number. */
static llf_id count(const maker *m, llf_dtype dtype)
{
    llfi_ask ask = {.count = m->count, .dtype = dtype};
    uint64_t attr;
    for (uint32_t i = 0; i < m->count; i++)
        ask.dim[i] = llfi_type_of(m->g, m->x).dim[m->axis[i]];
    if (llfi_index_attr(m->g, LLF_OP_COUNT, 0, NULL, &ask, nowhere, &attr) != LLF_OK)
        return llfi_poison(m->g, LLF_E_INTERNAL);
    return llfi_build_n(m->g, LLF_OP_COUNT, 0, NULL, attr, UINT32_MAX, nowhere);
}

/* The row and what it was reduced to, then reduced once more. */
static llf_id chained(maker *m)
{
    static const llf_op meet[] = {LLF_OP_SUB, LLF_OP_MUL, LLF_OP_MAXIMUM, LLF_OP_LT};
    m->keepdims = true;
    llf_id row = reduce(m, random_op(m));
    if (row == LLF_NONE)
        return row;
    llf_dtype dtype = llfi_dtype_of(m->g, m->x) == LLF_BOOL ? LLF_F32 : llfi_dtype_of(m->g, m->x);
    llf_op op = meet[rg_below(m->r, LLFI_COUNT(meet))];
    llf_id x = cast(m, m->x, dtype); /* one statement a node: the order is the compiler's otherwise */
    row = cast(m, row, dtype);
    m->x = build(m, op, x, row, LLF_NONE);
    if (m->x == LLF_NONE || rg_chance(m->r, 30))
        return m->x;
    m->keepdims = rg_chance(m->r, 50);
    return reduce(m, random_op(m));
}

/* sum(x) / count, or any of the numbers beside another. */
static llf_id mean(maker *m)
{
    llf_dtype dtype = llfi_dtype_of(m->g, m->x) == LLF_F64 ? LLF_F64 : LLF_F32;
    llf_id sum = reduce(m, LLF_OP_SUM);
    if (sum == LLF_NONE)
        return sum;
    sum = cast(m, sum, dtype);
    llf_id n = count(m, dtype);
    return build(m, LLF_OP_DIV, sum, n, LLF_NONE);
}

/* Elements of the result: of an operand without elements it may have many. */
static int64_t left(const maker *m)
{
    llfi_type t = llfi_type_of(m->g, m->x);
    int64_t product = 1;
    for (uint32_t i = 0, next = 0; i < t.rank; i++) {
        int64_t extent = 0;
        if (next < m->count && m->axis[next] == i)
            next++;
        else if (llfi_dim_eval(m->g->dims, t.dim[i], m->symbol, &extent))
            product *= extent;
    }
    return product;
}

llf_id rg_reduce(rg_random *r, llf_graph *g, const int64_t *symbol, llf_id x, int64_t most)
{
    maker m = {.r = r, .g = g, .symbol = symbol, .x = x, .keepdims = rg_chance(r, 50)};
    uint32_t rank = llfi_type_of(g, x).rank, all = rg_chance(r, 20);
    for (uint32_t i = 0; i < rank; i++)
        if (all || rg_chance(r, 50))
            m.axis[m.count++] = i;
    if (m.count == 0 && rank && rg_chance(r, 80))
        m.axis[m.count++] = rg_below(r, rank);
    if (left(&m) > most)
        for (m.count = 0; m.count < rank; m.count++)
            m.axis[m.count] = m.count;
    bool floats = llfi_dtype_is_float(llfi_dtype_of(g, x));
    switch (rg_below(r, 10)) {
    case 0: return floats ? softmax(&m) : chained(&m);
    case 1:
    case 2: return chained(&m);
    case 3: return mean(&m);
    default: return reduce(&m, random_op(&m));
    }
}
