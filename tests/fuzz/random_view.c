/* random_view.c: views and broadcasting for the generator: attributes that fit an operand at the values its
 * symbols have. It knows each view by name, since each has a shape rule of its own. */
#include "random_view.h"

#define MAX_RANK 6u

typedef struct {
    rg_random *r;
    llf_graph *g;
    llfi_type t; /* of the operand */
    uint32_t rank;
    int64_t extent[LLFI_RANK], elements, most;
    llfi_ask *ask;
} maker;

static bool is_one(const llf_graph *g, llfi_dim dim)
{
    int64_t c;
    return llfi_dim_is_const(g->dims, dim, &c) && c == 1;
}

static llfi_dim constant(const maker *m, int64_t value)
{
    return llfi_dim_const(m->g->dims, value);
}

/* The operand's own dim, or its value. */
static llfi_dim own(const maker *m, uint32_t i)
{
    return rg_chance(m->r, 70) ? m->t.dim[i] : constant(m, m->extent[i]);
}

static void broadcast_to(maker *m)
{
    uint32_t more = m->rank < MAX_RANK ? rg_below(m->r, MAX_RANK - m->rank > 2 ? 3 : 2) : 0;
    int64_t left = m->elements ? m->most / m->elements : 4;
    m->ask->count = m->rank + more;
    for (uint32_t i = 0; i < m->ask->count; i++) {
        bool stretch = i < more || is_one(m->g, m->t.dim[i - more]);
        int64_t n = stretch ? rg_below(m->r, left < 4 ? (uint32_t)left + 1 : 5) : 0;
        left = n > 1 ? left / n : left;
        m->ask->dim[i] = stretch ? constant(m, n) : own(m, i - more);
    }
}

/* A factor of n. */
static int64_t factor(maker *m, int64_t n)
{
    int64_t f[64], k = 0;
    for (int64_t i = 1; i <= n && k < 64; i++) {
        if (n % i == 0)
            f[k++] = i;
    }
    return n ? f[rg_below(m->r, (uint32_t)k)] : 0;
}

static void reshape(maker *m)
{
    llfi_ask *ask = m->ask;
    uint32_t how = rg_below(m->r, 4);
    if (how == 0) { /* the whole, and axes of 1 */
        ask->count = 1 + rg_below(m->r, 3);
        uint32_t hole = rg_below(m->r, ask->count);
        for (uint32_t i = 0; i < ask->count; i++)
            ask->dim[i] = i == hole ? LLFI_DIM_NONE : constant(m, 1);
        return;
    }
    if (how == 1 && m->rank && m->extent[0] > 0) { /* all but the first axis become one */
        ask->count = 2;
        ask->dim[0] = m->t.dim[0];
        ask->dim[1] = LLFI_DIM_NONE;
        return;
    }
    int64_t left = m->elements;
    ask->count = 1 + rg_below(m->r, 4);
    for (uint32_t i = 0; i + 1 < ask->count; i++) {
        int64_t f = factor(m, left);
        ask->dim[i] = constant(m, f);
        left = f ? left / f : rg_below(m->r, 3);
    }
    bool hole = m->elements && rg_chance(m->r, 30);
    ask->dim[ask->count - 1] = hole ? LLFI_DIM_NONE : constant(m, m->elements ? left : 0);
}

static void permute(maker *m)
{
    m->ask->count = m->rank;
    for (uint32_t i = 0; i < m->rank; i++) {
        uint32_t j = rg_below(m->r, i + 1);
        m->ask->axis[i] = m->ask->axis[j];
        m->ask->axis[j] = i;
    }
    for (uint32_t i = 0; i < m->rank; i++)
        m->ask->axis[i] -= rg_chance(m->r, 30) ? (int64_t)m->rank : 0;
}

static llfi_bound bound(maker *m, int64_t value, int64_t extent)
{
    llfi_bound b = {LLFI_DIM_NONE, 0};
    if (value < extent && rg_chance(m->r, 40))
        b.back = extent - value;
    else
        b.dim = constant(m, value);
    return b;
}

static void slice(maker *m)
{
    m->ask->count = m->rank;
    for (uint32_t i = 0; i < m->rank; i++) {
        int64_t n = m->extent[i], c;
        llfi_range_ask *a = &m->ask->range[i];
        bool fixed = llfi_dim_is_const(m->g->dims, m->t.dim[i], &c);
        *a = (llfi_range_ask){{LLFI_DIM_NONE, 0}, {LLFI_DIM_NONE, 0}, 1};
        if (rg_chance(m->r, 40))
            continue;
        a->step = rg_chance(m->r, 50) ? 1 : (int64_t)rg_below(m->r, 7) - 3;
        a->step = a->step ? a->step : -1;
        int64_t most = a->step > 0 ? n : n - 1;
        if (most >= 0 && rg_chance(m->r, 60))
            a->start = bound(m, rg_below(m->r, (uint32_t)most + 1), n);
        if ((fixed || a->step > 0) && rg_chance(m->r, 50))
            a->stop = bound(m, rg_below(m->r, (uint32_t)n + 1), n);
        if (a->step > 0 && rg_chance(m->r, 20)) /* a dim that has a symbol */
            a->stop = (llfi_bound){m->t.dim[i], 0};
    }
}

/* Some axes, some counted from the end. */
static void flip(maker *m)
{
    m->ask->count = 0;
    for (uint32_t i = 0; i < m->rank; i++) {
        if (rg_chance(m->r, 50))
            m->ask->axis[m->ask->count++] = rg_chance(m->r, 30) ? (int64_t)i - m->rank : (int64_t)i;
    }
}

static void expand_dims(maker *m)
{
    uint32_t more = m->rank < MAX_RANK ? rg_below(m->r, MAX_RANK - m->rank > 2 ? 3 : 2) : 0;
    uint32_t rank = m->rank + more, at = 0;
    m->ask->count = more;
    for (uint32_t i = 0; i < more; i++) { /* rising, each with room for those behind it */
        at += rg_below(m->r, rank - (more - i) - at + 1);
        m->ask->axis[i] = rg_chance(m->r, 30) ? (int64_t)at - rank : (int64_t)at;
        at++;
    }
}

static void squeeze(maker *m)
{
    m->ask->count = 0;
    for (uint32_t i = 0; i < m->rank; i++) {
        if (m->extent[i] == 1 && rg_chance(m->r, 70))
            m->ask->axis[m->ask->count++] = i;
    }
}

bool rg_view_ask(rg_random *r, llf_graph *g, const int64_t *symbol, llf_op op, llf_id x, int64_t most,
                 llfi_ask *ask)
{
    maker m = {.r = r, .g = g, .t = llfi_type_of(g, x), .elements = 1, .most = most, .ask = ask};
    m.rank = m.t.rank;
    for (uint32_t i = 0; i < m.rank; i++) {
        if (!llfi_dim_eval(g->dims, m.t.dim[i], symbol, &m.extent[i]))
            return false;
        m.elements *= m.extent[i];
    }
    switch (op) {
    case LLF_OP_BROADCAST_TO: broadcast_to(&m); return true;
    case LLF_OP_RESHAPE: reshape(&m); return true;
    case LLF_OP_PERMUTE: permute(&m); return true;
    case LLF_OP_SLICE: slice(&m); return true;
    case LLF_OP_FLIP: flip(&m); return true;
    case LLF_OP_EXPAND_DIMS: expand_dims(&m); return true;
    case LLF_OP_SQUEEZE: squeeze(&m); return true;
    default: return false;
    }
}

bool rg_broadcasts(const llf_graph *g, const int64_t *symbol, llfi_shape *so_far, llf_id id, int64_t most)
{
    llfi_type t = llfi_type_of(g, id);
    llfi_shape s = *so_far;
    int64_t elements = 1;
    if (t.rank > s.rank) {
        memmove(s.dim + t.rank - s.rank, s.dim, s.rank * sizeof *s.dim);
        memcpy(s.dim, t.dim, (t.rank - s.rank) * sizeof *s.dim);
        s.rank = t.rank;
    }
    for (uint32_t i = 0; i < s.rank; i++) {
        int64_t a, b, zero = 0;
        llfi_dim *have = &s.dim[i];
        llfi_dim dim = i < s.rank - t.rank ? *have : t.dim[i - (s.rank - t.rank)];
        if (!llfi_dim_eval(g->dims, *have, symbol, &a) || !llfi_dim_eval(g->dims, dim, symbol, &b))
            return false;
        if (a != b && !is_one(g, *have) && !is_one(g, dim))
            return false;
        if (is_one(g, *have))
            *have = dim;
        else if (!is_one(g, dim) && llfi_dim_is_const(g->dims, dim, &zero))
            *have = dim;
        elements *= is_one(g, *have) ? 1 : a > b ? a : a == 1 ? b : a;
    }
    if (elements > most)
        return false;
    *so_far = s;
    return true;
}
