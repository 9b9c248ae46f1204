/* moved.c: how many bytes a kernel has to move. A buffer counts once, at its stored size or at what the
 * kernel needs of it, the smaller: rows that a gather does not name and elements that a slice leaves out are
 * not read. Where a slice steps along a last axis, the elements between come along, up to a sector of 32
 * bytes for each one. By shapes alone: elements that several readers want count as distinct, but never more
 * than are there, and sectors that a slice's ends cut are not counted whole. It must not ask what code was
 * made of the kernel. */
#include "bench/moved.h"

#include "bench/bench.h"

#include <math.h>

#define SECTOR 32
#define SMALL 16 /* below this part of the largest a tensor is no stream */

static llfi_diag *diag_of(const llf_graph *g)
{
    return g->cx ? &g->cx->diag : NULL;
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* a + b, but for what goes over `all`. */
static int64_t more(int64_t a, int64_t b, int64_t all)
{
    return b > all - a ? all : a + b;
}

static int64_t numel(const bench_mover *m, llf_id id)
{
    int64_t n;
    return llfi_type_size(m->g, llfi_type_of(m->g, id), m->symbol, 1, &n) == LLF_OK ? n : INT64_MAX;
}

llf_status bench_mover_init(bench_mover *m, const llf_graph *g, const int64_t *symbol, llfi_arena *arena)
{
    size_t nodes = g->nodes.count;
    *m = (bench_mover){.g = g, .symbol = symbol, .arena = arena};
    m->need = llfi_arena_alloc(arena, (nodes + 1) * sizeof *m->need);
    m->bytes = llfi_arena_alloc(arena, (nodes + 1) * sizeof *m->bytes);
    if (!m->need || !m->bytes)
        return llfi_nomem(diag_of(g));
    memset(m->need, 0, nodes * sizeof *m->need);
    memset(m->bytes, 0xff, nodes * sizeof *m->bytes);
    return LLF_OK;
}

/* Bytes that come with an element of a slice, in elements: those that its step along the last axis leaves
 * out. */
static int64_t stretch_of(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    llfi_type t = llfi_type_of(g, id);
    if (n->op != LLF_OP_SLICE || !t.rank)
        return 1;
    int64_t step = llfi_range_at(g, n->attr, t.rank - 1).step;
    int64_t most = SECTOR / llfi_dtypes[t.dtype].bytes;
    return step == INT64_MIN ? most : least(step < 0 ? -step : step, most);
}

/* `want` elements of operand `p`, through views to the value behind them. */
static llf_id spread(const bench_mover *m, llf_id p, int64_t want, int64_t *elements, int64_t *stretch)
{
    *stretch = 1;
    for (;;) {
        const llfi_node *n = llfi_node_at(m->g, p);
        want = least(want, numel(m, p));
        *elements = want;
        if (llfi_ops[n->op].cls != LLFI_CLASS_VIEW)
            return p;
        int64_t one = stretch_of(m->g, p), most = SECTOR / llfi_dtypes[llfi_dtype_of(m->g, p)].bytes;
        *stretch = least(*stretch * one, most);
        p = n->arg[0];
    }
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t stored_bytes(const bench_mover *m, llf_id id)
{
    int64_t bytes;
    llfi_type t = llfi_type_of(m->g, id);
    return llfi_type_size(m->g, t, m->symbol, llfi_dtypes[t.dtype].bytes, &bytes) == LLF_OK ? bytes : -1;
}

/* A buffer that is read: some more of its bytes, all of them at most. */
static void read_more(bench_mover *m, llf_id id, int64_t bytes)
{
    int64_t all = stored_bytes(m, id), before = m->bytes[id] < 0 ? 0 : m->bytes[id];
    m->bytes[id] = all < 0 ? INT64_MAX : more(before, bytes, all);
}

static llf_status list_of(const bench_mover *m, llf_id *id, uint32_t count, bench_stream **out,
                          uint32_t *kept)
{
    *out = llfi_arena_alloc(m->arena, ((size_t)count + 1) * sizeof **out);
    if (!*out)
        return llfi_nomem(diag_of(m->g));
    llfi_sort(id, count, NULL, NULL);
    *kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!i || id[i] != id[i - 1])
            (*out)[(*kept)++] = (bench_stream){id[i], m->bytes[id[i]] == INT64_MAX ? -1 : m->bytes[id[i]]};
    return LLF_OK;
}

llf_status bench_moved(bench_mover *m, const llf_id *member, uint32_t members, const llf_id *store,
                       uint32_t stores, bench_streams *s)
{
    size_t operands = 0;
    for (uint32_t i = 0; i < members; i++)
        operands += llfi_node_at(m->g, member[i])->arity;
    llf_id *read = llfi_arena_alloc(m->arena, (operands + 1) * sizeof *read);
    s->write = llfi_arena_alloc(m->arena, ((size_t)stores + 1) * sizeof *s->write);
    if (!read || !s->write)
        return llfi_nomem(diag_of(m->g));
    for (uint32_t i = 0; i < stores; i++) {
        m->need[store[i]] = numel(m, store[i]);
        s->write[i] = (bench_stream){store[i], stored_bytes(m, store[i])};
    }
    s->writes = stores;
    uint32_t reads = 0;
    for (uint32_t i = members; i-- > 0;) {
        const llfi_node *n = llfi_node_at(m->g, member[i]);
        for (uint32_t k = 0; k < n->arity; k++) {
            int64_t elements, stretch;
            llf_id p = spread(m, llfi_args(m->g, n)[k], m->need[member[i]], &elements, &stretch);
            if (llfi_sorted_at(member, members, p) < members) {
                m->need[p] = more(m->need[p], elements, numel(m, p));
            } else if (llfi_node_is_buffered(llfi_node_at(m->g, p))) {
                read[reads++] = p;
                read_more(m, p, times(times(elements, stretch), llfi_dtypes[llfi_dtype_of(m->g, p)].bytes));
            }
        }
    }
    LLF_TRY(list_of(m, read, reads, &s->read, &s->reads));
    for (uint32_t i = 0; i < members; i++)
        m->need[member[i]] = 0;
    for (uint32_t i = 0; i < s->reads; i++)
        m->bytes[s->read[i].id] = -1;
    return LLF_OK;
}

/* ---- sums */

int64_t bench_streams_bytes(const bench_streams *s)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->reads; i++)
        sum = add(sum, s->read[i].bytes);
    for (uint32_t i = 0; i < s->writes; i++)
        sum = add(sum, s->write[i].bytes);
    return sum;
}

llf_status bench_moved_plan(const llf_graph *g, const llfi_plan *p, const int64_t *symbol, llfi_arena *arena,
                            int64_t *bytes)
{
    bench_mover m;
    bench_streams s;
    *bytes = 0;
    LLF_TRY(bench_mover_init(&m, g, symbol, arena));
    for (uint32_t k = 0; k < p->kernels; k++) {
        const llfi_kernel *one = &p->kernel[k];
        LLF_TRY(bench_moved(&m, one->member, one->members, one->store, one->stores, &s));
        *bytes = add(*bytes, bench_streams_bytes(&s));
    }
    return LLF_OK;
}

llf_status bench_moved_least(const llf_graph *g, const int64_t *symbol, llfi_arena *arena, int64_t *bytes)
{
    bench_mover m;
    bench_streams s;
    uint32_t members = 0;
    llf_id *member = llfi_arena_alloc(arena, (g->nodes.count + 1) * sizeof *member);
    if (!member)
        return llfi_nomem(diag_of(g));
    for (llf_id id = 0; id < g->nodes.count; id++)
        if (llfi_ops[llfi_node_at(g, id)->op].cls != LLFI_CLASS_VIEW && llfi_node_at(g, id)->arity)
            member[members++] = id;
    LLF_TRY(bench_mover_init(&m, g, symbol, arena));
    LLF_TRY(bench_moved(&m, member, members, g->outputs.at, (uint32_t)g->outputs.count, &s));
    *bytes = bench_streams_bytes(&s);
    return LLF_OK;
}

/* ---- the mix */

static void sum_of(const bench_stream *s, uint32_t count, int64_t small, double *bytes, uint32_t *streams)
{
    for (uint32_t i = 0; i < count; i++)
        if (s[i].bytes > small) {
            *bytes += (double)s[i].bytes;
            ++*streams;
        }
}

void bench_mix(const bench_streams *s, uint32_t *reads, uint32_t *writes)
{
    int64_t most = 0;
    double in = 0, out = 0, nearest = INFINITY;
    uint32_t streams = 0, fewest = UINT32_MAX;
    for (uint32_t i = 0; i < s->reads; i++)
        most = s->read[i].bytes > most ? s->read[i].bytes : most;
    for (uint32_t i = 0; i < s->writes; i++)
        most = s->write[i].bytes > most ? s->write[i].bytes : most;
    sum_of(s->read, s->reads, most / SMALL, &in, &streams);
    sum_of(s->write, s->writes, most / SMALL, &out, &streams);
    *reads = *writes = 0;
    for (uint32_t r = in > 0; r <= (in > 0 ? BENCH_MAX_READS : 0); r++)
        for (uint32_t w = out > 0; w <= (out > 0 ? BENCH_MAX_WRITES : 0); w++) {
            double far = r && w ? fabs(log(in * w / (out * r))) : 0;
            uint32_t apart = r + w > streams ? r + w - streams : streams - r - w;
            if (far < nearest - 1e-9 || (far < nearest + 1e-9 && apart < fewest)) {
                nearest = far;
                fewest = apart;
                *reads = r;
                *writes = w;
            }
        }
}
