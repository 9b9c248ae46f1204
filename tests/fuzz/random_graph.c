/* random_graph.c: the generator. It knows signatures and sets from the op table and no op by name, so a new
 * elementwise row is covered on the day it is added. */
#include "random_view.h"

#include "ir/float.h"

const rg_limits rg_default_limits = {.min_nodes = 3, .max_nodes = 40, .max_elements = 2200};

/* ---- numbers: splitmix64 (Steele, Lea, Flood 2014) */

uint64_t rg_next(rg_random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

rg_random rg_seeded(uint64_t seed)
{
    rg_random r = {seed};
    r.state = rg_next(&r);
    return r;
}

uint32_t rg_below(rg_random *r, uint32_t limit)
{
    return (uint32_t)((rg_next(r) >> 32) * limit >> 32);
}

bool rg_chance(rg_random *r, uint32_t percent)
{
    return rg_below(r, 100) < percent;
}

/* ---- values */

static uint64_t float_special(rg_random *r, llf_dtype dtype)
{
    unsigned bytes = llfi_dtypes[dtype].bytes;
    uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    uint64_t inf = llfi_bits_from_f64(dtype, (double)__builtin_inff());
    uint64_t least_normal = dtype == LLF_F64   ? (uint64_t)1 << 52
                            : dtype == LLF_F32 ? (uint64_t)1 << 23
                            : dtype == LLF_F16 ? (uint64_t)1 << 10
                                               : (uint64_t)1 << 7;
    uint64_t bits;
    switch (rg_below(r, 12)) {
    case 0: bits = 0; break;
    case 1: bits = inf; break;
    case 2: bits = inf | inf >> 1 | (rg_next(r) & (least_normal - 1)); break; /* quiet NaN */
    case 3: bits = inf | 1 | (rg_next(r) & (least_normal - 1)); break;        /* any NaN, signalling too */
    case 4: bits = 1; break;
    case 5: bits = rg_next(r) & (least_normal - 1); break; /* subnormal */
    case 6: bits = least_normal - rg_below(r, 2); break;
    case 7: bits = inf - 1 - rg_below(r, 3); break; /* the greatest */
    case 8: bits = llfi_bits_from_f64(dtype, 1) + rg_below(r, 3) - 1; break;
    case 9: bits = llfi_bits_from_f64(dtype, 0x1p31) + rg_below(r, 3) - 1; break; /* where casts saturate */
    case 10: bits = llfi_bits_from_f64(dtype, 0x1p63) + rg_below(r, 3) - 1; break;
    default:
        bits = llfi_bits_from_f64(dtype, 0.5 + rg_below(r, 9));
        break; /* ties of truncation and rounding */
    }
    bits &= sign - 1; /* f16's 2^63 is infinity, and infinity + 1 a NaN: still a value of the dtype */
    return rg_chance(r, 50) ? bits | sign : bits;
}

static uint64_t int_special(rg_random *r, llf_dtype dtype)
{
    static const uint64_t value[] = {0,        1, UINT64_MAX, (uint64_t)1 << 63, INT64_MAX, (uint64_t)1 << 31,
                                     INT32_MAX};
    uint64_t v = value[rg_below(r, LLFI_COUNT(value))];
    if (rg_chance(r,
                  30)) /* odd numbers beyond what f16, bf16, f32 and f64 hold: conversions must round once */
        v = ((uint64_t)1 << rg_below(r, 63)) + ((uint64_t)1 << rg_below(r, 40)) + rg_below(r, 3) - 1;
    return llfi_bits_from_i64(dtype, (int64_t)v);
}

/* Profiles: 0 ordinary numbers, 1 all exponents, 2 small integers (ties, equal values), 3 any bits. */
static uint64_t value(rg_random *r, llf_dtype dtype, uint32_t profile, uint32_t specials)
{
    bool special = rg_chance(r, specials);
    uint64_t any = rg_next(r);
    unsigned width = 8u * llfi_dtypes[dtype].bytes;
    uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    if (llfi_dtypes[dtype].kind == LLFI_KIND_BOOL)
        return any & 1;
    if (llfi_dtypes[dtype].kind == LLFI_KIND_INT) {
        int64_t wide = (int64_t)any >> (profile == 2 ? 60 : profile == 0 ? 52 : (int)(any & 63));
        return special ? int_special(r, dtype) : profile == 3 ? any & mask : llfi_bits_from_i64(dtype, wide);
    }
    if (special)
        return float_special(r, dtype);
    double unit = (double)((int64_t)any >> 11) * 0x1p-52; /* [-1, 1) */
    switch (profile) {
    case 0: return llfi_bits_from_f64(dtype, unit * 4);
    case 1: return any & mask & ~(uint64_t)((uint64_t)1 << (width - 2)); /* magnitudes below 2 */
    case 2: return llfi_bits_from_f64(dtype, (double)((int64_t)any >> 60) * 0.25);
    default: return any & mask;
    }
}

void rg_fill(rg_random *r, llf_dtype dtype, int64_t elements, void *data)
{
    static const uint32_t rate[] = {0, 2, 15, 60};
    uint32_t profile = rg_below(r, 4), specials = rate[rg_below(r, 4)];
    for (int64_t i = 0; i < elements; i++)
        llfi_bits_store(dtype, (char *)data + (size_t)i * llfi_dtypes[dtype].bytes,
                        value(r, dtype, profile, specials));
}

/* ---- graphs */

#define MOST_PARTS 4
#define PART_INPUTS 6 /* of a graph of one part; of several the inputs are shared out */

typedef struct {
    uint32_t rank;
    int64_t dim[4]; /* as llf_input takes it */
} shape;

typedef struct {
    rg_random *r;
    llf_graph *g;
    rg_binding *binding;
    shape shapes[2];
    uint32_t shape_count;
    llf_id first;   /* of this part: operands are nodes from it on */
    llf_dtype main; /* most nodes have it, so that chains grow long */
    uint32_t deep;  /* percent of operands taken from the last nodes */
    uint32_t views, reduce;
    uint32_t inputs;      /* most of a part */
    uint32_t part_inputs; /* of this one; the first nodes of it */
    bool planes;          /* permuted often */
    int64_t most;         /* elements */
    llfi_shape space;     /* with views: of the operands so far */
} maker;

/* The program's own vectors and tails: 8 lanes, 32 threads, 1000 and 1023..1025 a block or two. */
static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 100, 1000, 1023, 1025};

static int64_t extent(maker *m, int64_t *left)
{
    int64_t n = sizes[rg_below(m->r, LLFI_COUNT(sizes))];
    while (n > *left)
        n = sizes[rg_below(m->r, LLFI_COUNT(sizes))];
    if (n > 1)
        *left /= n;
    if (!rg_chance(m->r, 45))
        return n;
    uint32_t k = llfi_dims_symbols(m->g->dims);
    char name[16];
    for (uint32_t i = 0; i < k; i++) /* the same symbol again where it has that value: N, N */
        if (m->binding->symbol[i] == n && rg_chance(m->r, 60))
            return -(int64_t)i - 1;
    if (k == RG_SYMBOLS)
        return n;
    snprintf(name, sizeof name, "N%u", k);
    m->binding->symbol[k] = n;
    return llf_symbol(m->g, name);
}

#define PLANE (2 * 33 * 33)
/* Two extents that are worth a tile of a transpose, and small ones. */
static void plane(maker *m, shape *s)
{
    static const int64_t sides[] = {17, 24, 32, 33};
    int64_t left = 2;
    uint32_t a, b;
    m->planes = true;
    s->rank = 2 + rg_below(m->r, 3);
    a = rg_below(m->r, s->rank);
    b = (a + 1 + rg_below(m->r, s->rank - 1)) % s->rank;
    for (uint32_t i = 0; i < s->rank; i++)
        s->dim[i] = i == a || i == b ? sides[rg_below(m->r, LLFI_COUNT(sides))] : extent(m, &left);
}

/* One long extent, around chunks of 1024 and halves of them, where the order of a reduction shows in the
 * bits. */
static void rows(maker *m, shape *s)
{
    static const int64_t lengths[] = {255, 257, 511, 513, 769, 1000, 1023, 1024, 1025, 1500, 2049};
    int64_t n = lengths[rg_below(m->r, LLFI_COUNT(lengths))], left = m->most / n;
    s->rank = 1 + rg_below(m->r, 3);
    uint32_t along = rg_below(m->r, s->rank);
    for (uint32_t i = 0; i < s->rank; i++)
        s->dim[i] = i == along ? n : extent(m, &left);
}

static void make_shapes(maker *m, const rg_limits *limits)
{
    m->shape_count = rg_chance(m->r, 15) ? 2 : 1;
    for (uint32_t s = 0; s < m->shape_count; s++) {
        if (m->views && m->most >= PLANE && rg_chance(m->r, 25)) {
            plane(m, &m->shapes[s]);
            continue;
        }
        if (m->reduce && m->most >= 2049 && rg_chance(m->r, 40)) {
            rows(m, &m->shapes[s]);
            continue;
        }
        int64_t left = limits->max_elements;
        m->shapes[s].rank = rg_chance(m->r, 50) ? 1 : rg_below(m->r, 5);
        for (uint32_t i = 0; i < m->shapes[s].rank; i++)
            m->shapes[s].dim[i] = extent(m, &left);
    }
}

static llf_dtype random_dtype(maker *m)
{
    return rg_chance(m->r, 60) ? m->main : (llf_dtype)rg_below(m->r, LLF_DTYPES);
}

static void make_inputs(maker *m)
{
    uint32_t before = (uint32_t)m->g->inputs.count, count = 1 + rg_below(m->r, m->inputs);
    m->part_inputs = count;
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%u", before + i);
        llf_dtype dtype = i ? random_dtype(m) : m->main;
        const shape *s = &m->shapes[rg_below(m->r, m->shape_count)];
        uint32_t kind = i ? rg_below(m->r, 10) : 9;
        if (kind == 0)
            llf_scalar(m->g, name, dtype);
        else
            llf_input(m->g, name, dtype, kind == 1 ? 0 : s->rank, s->dim);
    }
}

/* Half are what algebra looks for: neutral elements, and those that are neutral but for a sign or a NaN. */
static llf_id literal(maker *m, llf_dtype dtype)
{
    static const double neutral[] = {0.0, -0.0, 1, -1, 2};
    uint64_t bits = value(m->r, dtype, rg_below(m->r, 3), 40);
    double plain = neutral[rg_below(m->r, LLFI_COUNT(neutral))];
    if (rg_chance(m->r, 50))
        bits = llfi_dtype_is_float(dtype) ? llfi_bits_from_f64(dtype, plain)
                                          : llfi_bits_from_i64(dtype, (int64_t)plain);
    if (llfi_bits_nan(dtype, bits)) /* text knows one NaN */
        bits = llfi_bits_from_f64(dtype, (double)__builtin_nanf(""));
    return llfi_build_const(m->g, dtype, bits);
}

static bool fits(const maker *m, llf_id id, llf_dtype dtype, uint32_t like)
{
    const llf_graph *g = m->g;
    llfi_type t = llfi_type_of(g, id);
    if (t.dtype != dtype)
        return false;
    if (t.rank == 0 || like == LLF_NONE)
        return true;
    llfi_shape space = m->space;
    if (m->views)
        return rg_broadcasts(g, m->binding->symbol, &space, id, m->most);
    llfi_type want = llfi_type_at(g, like);
    return want.rank == t.rank && memcmp(want.dim, t.dim, t.rank * sizeof *t.dim) == 0;
}

/* A value of that dtype whose shape goes with type `like` (LLF_NONE: any): one that is there, at random or
 * among the last, else a cast of one that is there, else a literal. */
static llf_id operand(maker *m, llf_dtype dtype, uint32_t like)
{
    uint32_t count = (uint32_t)m->g->nodes.count - m->first;
    uint32_t window = rg_chance(m->r, m->deep) && count > 3 ? 3 : count;
    if (rg_chance(m->r, 12))
        return literal(m, dtype);
    uint32_t start = count - 1 - rg_below(m->r, window);
    for (uint32_t i = 0; i < count; i++) {
        llf_id id = m->first + (start + count - i) % count; /* downwards, then around */
        if (fits(m, id, dtype, like))
            return id;
    }
    for (uint32_t i = 0; i < count && rg_chance(m->r, 90); i++) {
        llf_id id = m->first + (start + count - i) % count;
        if (fits(m, id, llfi_dtype_of(m->g, id), like))
            return llfi_build(m->g, LLF_OP_CAST, &id, (uint64_t)dtype, UINT32_MAX, (llfi_place){0});
    }
    return literal(m, dtype);
}

/* Ops that simplify rewrites, once per rule. */
enum {
#define EW(id, ...) RULED_##id = LLF_OP_##id,
#define VIEW EW
#define INDEX EW
#define REDUCE EW
#include "llfuse/ops.def"
    RULED_NONE = LLF_OPS
};
static const uint16_t ruled[] = {
#define RULE(op, id, equation) RULED_##op,
#include "passes/rules.def"
#undef RULE
};

/* Views, and what is made with them alone. */
static bool moves(uint32_t op)
{
    return llfi_ops[op].cls == LLFI_CLASS_VIEW || llfi_ops[op].cls == LLFI_CLASS_INDEX || op == LLF_OP_IOTA;
}

static llf_op random_op(maker *m)
{
    uint32_t op;
    do
        op = rg_chance(m->r, 30) ? ruled[rg_below(m->r, LLFI_COUNT(ruled))] : rg_below(m->r, LLF_OP_IOTA + 1);
    while (op == RULED_NONE || op == LLF_OP_INPUT || op == LLF_OP_CONST ||
           llfi_ops[op].cls == LLFI_CLASS_REDUCE || (!m->views && moves(op)));
    return (llf_op)op;
}

static uint64_t random_attr(maker *m, llf_op op)
{
    size_t bytes;
    uint32_t words = 0;
    if (llfi_ops[op].attr == LLFI_ATTR_NONE)
        return 0;
    if (llfi_ops[op].attr == LLFI_ATTR_DTYPE)
        return (uint64_t)random_dtype(m);
    while (llfi_attr_word_text(llfi_ops[op].attr, words, &bytes))
        words++;
    return rg_below(m->r, words);
}

static llf_id random_view(maker *m, llf_op op)
{
    llfi_ask ask;
    uint64_t attr;
    llf_id x = operand(m, random_dtype(m), LLF_NONE);
    uint32_t last = (uint32_t)m->g->nodes.count - 1;
    if (rg_chance(m->r, 30)) /* the same view again is what simplification looks for */
        x = last;
    if (x == last && llfi_ops[llfi_node_at(m->g, x)->op].cls == LLFI_CLASS_VIEW && rg_chance(m->r, 50))
        op = (llf_op)llfi_node_at(m->g, x)->op;
    if (x == last && llfi_node_at(m->g, x)->op == LLF_OP_EXPAND_DIMS && rg_chance(m->r, 50)) /* and back */
        op = LLF_OP_SQUEEZE;
    if (x == LLF_NONE)
        return x;
    llf_status status =
        rg_view_ask(m->r, m->g, m->binding->symbol, op, x, m->most, &ask) ? LLF_OK : LLF_E_INTERNAL;
    if (status == LLF_OK)
        status = llfi_view_attr(m->g, op, x, &ask, (llfi_place){0}, &attr);
    if (status == LLF_E_LIMIT) /* an extent such as 5-N, cut by 5: what is left has no dim */
        return llfi_build(m->g, LLF_OP_COPY, &x, 0, UINT32_MAX, (llfi_place){0});
    if (status != LLF_OK)
        return llfi_poison(m->g, LLF_E_INTERNAL);
    return llfi_build(m->g, op, &x, attr, UINT32_MAX, (llfi_place){0});
}

static llf_id random_index(maker *m, llf_op op)
{
    llf_id x = operand(m, random_dtype(m), LLF_NONE), other = LLF_NONE;
    if (x == LLF_NONE)
        return x;
    if (op == LLF_OP_TAKE)
        other = operand(m, rg_chance(m->r, 50) ? LLF_I32 : LLF_I64, LLF_NONE);
    if (op == LLF_OP_PAD) {
        other = m->first + rg_below(m->r, (uint32_t)m->g->nodes.count - m->first);
        if (llfi_type_of(m->g, other).rank || llfi_dtype_of(m->g, other) != llfi_dtype_of(m->g, x))
            other = literal(m, llfi_dtype_of(m->g, x));
    }
    llf_id made = rg_index(m->r, m->g, m->binding->symbol, op, x, other, m->first, m->most);
    if (made != LLF_NONE || m->g->poisoned != LLF_OK)
        return made;
    return llfi_build(m->g, LLF_OP_COPY, &x, 0, UINT32_MAX, (llfi_place){0});
}

static llf_id random_reduce(maker *m)
{
    /* Inputs hold numbers; what many ops have made of them is often NaN or 0. */
    llf_id x = rg_chance(m->r, 40) ? m->first + rg_below(m->r, m->part_inputs)
                                   : operand(m, random_dtype(m), LLF_NONE);
    return x == LLF_NONE ? x : rg_reduce(m->r, m->g, m->binding->symbol, x, m->most);
}

static llf_id random_node(maker *m)
{
    if (m->reduce && rg_chance(m->r, m->reduce))
        return random_reduce(m);
    llf_op op = random_op(m);
    while (m->views && rg_chance(m->r, m->views) && !moves(op))
        op = (llf_op)rg_below(m->r, LLF_OP_IOTA + 1);
    if (op == LLF_OP_INPUT || op == LLF_OP_CONST)
        op = LLF_OP_COPY;
    if (moves(op) && llfi_ops[op].cls != LLFI_CLASS_VIEW)
        return random_index(m, op);
    if (llfi_ops[op].cls == LLFI_CLASS_VIEW)
        return random_view(m, m->planes && rg_chance(m->r, 60) ? LLF_OP_PERMUTE : op);
    m->space.rank = 0;
    const llfi_op_info *info = &llfi_ops[op];
    llf_dtype dtype = random_dtype(m);
    while (!llfi_set_has(info->set, dtype))
        dtype = (llf_dtype)rg_below(m->r, LLF_DTYPES);
    llf_id arg[3] = {LLF_NONE, LLF_NONE, LLF_NONE};
    uint32_t like = LLF_NONE;
    for (uint32_t i = 0; i < info->arity; i++) {
        bool again = i && info->sig[i] == info->sig[i - 1] && rg_chance(m->r, 10);
        arg[i] = again ? arg[i - 1] : operand(m, info->sig[i] == 'b' ? LLF_BOOL : dtype, like);
        if (arg[i] == LLF_NONE)
            return LLF_NONE;
        if (m->views)
            rg_broadcasts(m->g, m->binding->symbol, &m->space, arg[i], m->most);
        if (llfi_type_of(m->g, arg[i]).rank)
            like = llfi_node_at(m->g, arg[i])->type;
    }
    return llfi_build(m->g, op, arg, random_attr(m, op), UINT32_MAX, (llfi_place){0});
}

/* The last node, so that deep graphs are not dead code, and some of any kind: inputs, literals, repeats. */
static void make_outputs(maker *m)
{
    uint32_t count = (uint32_t)m->g->nodes.count - m->first, extra = rg_below(m->r, 4);
    llf_output(m->g, m->first + count - 1);
    for (uint32_t i = 0; i < extra; i++)
        llf_output(m->g, rg_chance(m->r, 15) ? m->g->outputs.at[0] : m->first + rg_below(m->r, count));
}

/* Most parts are small, some large: the cost of a run goes with the nodes. */
static void make_part(maker *m, const rg_limits *limits)
{
    uint32_t span = limits->max_nodes - limits->min_nodes + 1;
    m->first = (llf_id)m->g->nodes.count;
    m->main = (llf_dtype)rg_below(m->r, LLF_DTYPES);
    m->planes = false;
    make_shapes(m, limits);
    make_inputs(m);
    uint32_t nodes = limits->min_nodes + rg_below(m->r, 1 + rg_below(m->r, 1 + rg_below(m->r, span)));
    for (uint32_t i = 0; i < nodes && m->g->poisoned == LLF_OK; i++)
        random_node(m);
    if (m->g->poisoned == LLF_OK)
        make_outputs(m);
}

llf_graph *rg_graph(llf_context *cx, uint64_t seed, const rg_limits *limits, rg_binding *binding)
{
    rg_random r = rg_seeded(seed);
    *binding = (rg_binding){{0}};
    llf_graph *g = llf_graph_create(cx, "random");
    if (!g)
        return NULL;
    maker m = {.r = &r,
               .g = g,
               .binding = binding,
               .deep = rg_below(&r, 3) * 40,
               .views = limits->views,
               .reduce = limits->reduce,
               .most = limits->max_elements};
    uint32_t parts = limits->parts && rg_chance(&r, limits->parts) ? 2 + rg_below(&r, MOST_PARTS - 1) : 1;
    rg_limits each = *limits; /* several parts have about the nodes of one */
    if (parts > 1)
        each.min_nodes = 1, each.max_nodes = limits->max_nodes / MOST_PARTS;
    m.inputs = parts > 1 ? RG_INPUTS / MOST_PARTS : PART_INPUTS;
    for (uint32_t i = 0; i < parts && g->poisoned == LLF_OK; i++)
        make_part(&m, &each);
    if (g->poisoned == LLF_OK)
        return g;
    llf_graph_destroy(g);
    return NULL;
}

int64_t rg_elements(const llf_graph *g, llf_id id, const rg_binding *binding, int64_t dims[LLF_MAX_RANK])
{
    llfi_type t = llfi_type_of(g, id);
    int64_t product = 1;
    for (uint32_t i = 0; i < t.rank; i++) {
        if (!llfi_dim_eval(g->dims, t.dim[i], binding->symbol, &dims[i]))
            return -1;
        product *= dims[i];
    }
    return product;
}

static uint32_t root(const uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i];
    return i;
}

/* By walking back from each output: outputs that meet are of one part. */
uint32_t rg_parts(const llf_graph *g)
{
    uint32_t parent[4 * MOST_PARTS], outputs = (uint32_t)g->outputs.count, parts = 0;
    bool *reached = llfi_alloc_zero(&g->cx->mem, outputs * g->nodes.count);
    for (uint32_t i = 0; reached && i < outputs; i++) {
        bool *mine = reached + i * g->nodes.count;
        parent[i] = i;
        mine[g->outputs.at[i]] = true;
        for (llf_id v = (llf_id)g->nodes.count; v-- > 0;)
            for (uint32_t a = 0; mine[v] && a < llfi_node_at(g, v)->arity; a++)
                mine[llfi_args(g, llfi_node_at(g, v))[a]] = true;
        for (uint32_t k = 0; k < i; k++)
            for (size_t v = 0; v < g->nodes.count; v++)
                if (mine[v] && reached[k * g->nodes.count + v])
                    parent[root(parent, i)] = root(parent, k);
    }
    for (uint32_t i = 0; reached && i < outputs; i++)
        parts += parent[i] == i && !llfi_node_is_leaf(llfi_node_at(g, g->outputs.at[i]));
    llfi_free(&g->cx->mem, reached, outputs * g->nodes.count);
    return parts;
}
