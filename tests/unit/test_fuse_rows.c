/* test_fuse_rows.c: plans with reductions. Random graphs under random caps and heuristics, and random merges
 * of their kernels: whatever a search makes or a reader takes is, element by element, what plan.h says. And
 * what must be refused, with the reason. */
#include "rows_check.h"

#include "passes_util.h"

static uint32_t roll(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

/* ---- random graphs, as text */

enum { SCALAR, ROW, ROW1, COLUMN, COLUMN1, POINT, SHAPES };

typedef struct {
    llfi_str s;
    uint64_t *seed;
    uint32_t at[SHAPES][64], count[SHAPES], values;
    bool square;
    const char *n, *k;
} maker;

static uint32_t some(maker *m, uint32_t shape)
{
    bool either = m->square && (shape == ROW || shape == COLUMN); /* the same shape then */
    if (either)
        shape = roll(m->seed, 2) ? ROW : COLUMN;
    uint32_t n = m->count[shape];
    return m->at[shape][n < 6 || !roll(m->seed, 3) ? roll(m->seed, n) : n - 1 - roll(m->seed, 4)];
}

static void made(maker *m, uint32_t shape, const char *fmt, ...) LLFI_PRINTF(3, 4);
static void made(maker *m, uint32_t shape, const char *fmt, ...)
{
    char line[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (m->count[shape] == 64)
        return;
    llfi_str_printf(&m->s, "  %%v%u = %s\n", m->values, line);
    m->at[shape][m->count[shape]++] = m->values++;
}

/* Two results, of which each may be read. */
static void reduce_to_two(maker *m)
{
    if (m->count[ROW1] > 60)
        return;
    llfi_str_printf(&m->s, "  %%v%u, %%v%u = moments %%v%u, axes=[1], keepdims\n", m->values, m->values + 1,
                    some(m, POINT));
    m->at[ROW1][m->count[ROW1]++] = m->values++;
    m->at[ROW1][m->count[ROW1]++] = m->values++;
}

static void reduce(maker *m)
{
    static const char *const op[] = {"sum", "max", "prod", "min"};
    const char *o = op[roll(m->seed, 4)];
    uint32_t p = some(m, POINT);
    switch (roll(m->seed, 8)) {
    case 7: reduce_to_two(m); break;
    case 0:
    case 1: made(m, ROW, "%s %%v%u, axes=[1]", o, p); break;
    case 2:
    case 3: made(m, ROW1, "%s %%v%u, axes=[-1], keepdims", o, p); break;
    case 4: made(m, COLUMN, "%s %%v%u, axes=[0]", o, p); break;
    case 5: made(m, COLUMN1, "%s %%v%u, axes=[0], keepdims", o, p); break;
    default:
        made(m, SCALAR, "%s %%v%u", o, some(m, roll(m->seed, 2) ? POINT : roll(m->seed, 2) ? ROW : COLUMN));
    }
}

static void view(maker *m)
{
    switch (roll(m->seed, 8)) {
    case 0: made(m, ROW1, "expand_dims %%v%u, axes=[1]", some(m, ROW)); break;
    case 1: made(m, ROW, "squeeze %%v%u, axes=[1]", some(m, ROW1)); break;
    case 2: made(m, ROW1, "reshape %%v%u, shape=[%s, 1]", some(m, ROW), m->n); break;
    case 3: made(m, POINT, "broadcast_to %%v%u, shape=[%s, %s]", some(m, ROW1), m->n, m->k); break;
    case 4: made(m, POINT, "broadcast_to %%v%u, shape=[%s, %s]", some(m, COLUMN), m->n, m->k); break;
    case 5: made(m, ROW, "flip %%v%u, axes=[0]", some(m, ROW)); break;
    case 6: made(m, POINT, "flip %%v%u, axes=[%u]", some(m, POINT), roll(m->seed, 2)); break;
    default:
        if (m->square)
            made(m, POINT, "permute %%v%u, axes=[1, 0]", some(m, POINT));
    }
}

static void compute(maker *m)
{
    static const char *const one[] = {"neg", "exp", "tanh", "relu"}, *const two[] = {"add", "mul", "maximum"};
    static const uint32_t beside[] = {POINT, ROW1, ROW1, COLUMN, COLUMN1, SCALAR};
    uint32_t shape = roll(m->seed, 2) ? POINT : roll(m->seed, SHAPES), other = shape;
    if (!roll(m->seed, 3)) {
        made(m, shape, "%s %%v%u", one[roll(m->seed, 4)], some(m, shape));
        return;
    }
    if (shape == POINT)
        other = beside[roll(m->seed, LLFI_COUNT(beside))];
    else if (!roll(m->seed, 3))
        other = SCALAR;
    made(m, shape, "%s %%v%u, %%v%u", two[roll(m->seed, 3)], some(m, shape), some(m, other));
}

/* The caller frees the text. */
static char *random_text(uint64_t *seed, llfi_str *s)
{
    maker m = {.seed = seed, .square = !roll(seed, 4)};
    static const char *const ns[] = {"N", "3"}, *const ks[] = {"K", "4"};
    m.n = ns[roll(seed, 2)];
    m.k = m.square ? m.n : ks[roll(seed, 2)];
    llfi_str_init(&m.s, &llfi_malloc_allocator);
    llfi_str_printf(&m.s,
                    "graph @g(%%v0: f32[], %%v1: f32[%s], %%v2: f32[%s, 1], %%v3: f32[%s], %%v4: f32[1, %s], "
                    "%%v5: f32[%s, %s], %%v6: f32[%s, %s]) {\n",
                    m.n, m.n, m.k, m.k, m.n, m.k, m.n, m.k);
    for (m.values = 0; m.values < 7; m.values++)
        m.at[m.values < SHAPES ? m.values : POINT][m.count[m.values < SHAPES ? m.values : POINT]++] =
            m.values;
    for (uint32_t steps = 1 + roll(seed, 40); steps; steps--) {
        uint32_t what = roll(seed, 8);
        if (what < 2)
            reduce(&m);
        else if (what < 4)
            view(&m);
        else
            compute(&m);
    }
    llfi_str_puts(&m.s, "  ret ");
    for (uint32_t v = 7, some_yet = 0; v < m.values || !some_yet; v++)
        if (v + 1 >= m.values || !roll(seed, 6))
            llfi_str_printf(&m.s, "%s%%v%u", some_yet++ ? ", " : "", v < m.values ? v : m.values - 1);
    llfi_str_puts(&m.s, "\n}\n");
    *s = m.s;
    return s->at;
}

static void symbols(const llf_graph *g, int64_t *value)
{
    for (uint32_t i = 0; i < llfi_dims_symbols(g->dims); i++)
        value[i] = llfi_dims_symbol_name(g->dims, i)[0] == 'N' ? 3 : 4;
}

static uint32_t rows_checked(const llf_graph *g, const llfi_plan *p, const char *text)
{
    int64_t value[4] = {0};
    uint32_t fused = 0;
    symbols(g, value);
    for (uint32_t k = 0; k < p->kernels; k++) {
        if (p->kernel[k].reduced && !rows_check(g, &p->kernel[k], value))
            fail_msg("kernel k%u is not by rows:\n%s", k, text);
        fused += p->kernel[k].reduced && p->kernel[k].members > 1;
    }
    return fused;
}

/* Labels of a plan in which kernel `from` is one with `to`. */
typedef struct {
    const llfi_homes *homes;
    uint32_t from, to;
} merged;

static void label(void *user, llf_id id, bool more, llfi_str *s)
{
    const merged *m = user;
    bool to = false;
    for (uint32_t i = m->homes->first[id]; i < m->homes->first[id + 1]; i++) {
        uint32_t k = m->homes->kernel[i];
        if ((k == m->from || k == m->to) && to)
            continue;
        to = to || k == m->from || k == m->to;
        llfi_str_printf(s, "%sk%u", more ? "," : " !", k == m->from ? m->to : k);
        more = true;
    }
}

/* Reads the plan with two kernels made one; 1: taken, and right; 0: refused. */
static uint32_t merge(const fixture *f, uint64_t *seed)
{
    llfi_str s;
    llfi_homes homes;
    llfi_plan plan;
    llf_graph *g = NULL;
    llfi_arena arena;
    llfi_fuse_options o;
    llfi_arena_init(&arena, &llfi_malloc_allocator);
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_fuse_options_default(&o);
    assert_true(llfi_homes_make(f->g, &f->plan, &arena, &homes));
    merged m = {&homes, roll(seed, f->plan.kernels), roll(seed, f->plan.kernels)};
    assert_int_equal(llfi_print(f->g, &s, label, &m), LLF_OK);
    assert_int_equal(llf_graph_parse(f->cx, s.at, s.len, "plan", &g), LLF_OK);
    llfi_plan_init(&plan, &f->cx->mem);
    llf_status st = llfi_plan_read(g, &o, &plan);
    if (st == LLF_OK)
        rows_checked(g, &plan, s.at);
    else
        assert_int_equal(st, LLF_E_PLAN);
    llfi_plan_destroy(&plan);
    llf_graph_destroy(g);
    llfi_str_free(&s);
    llfi_arena_destroy(&arena);
    return st == LLF_OK;
}

static void random_plans_go_by_rows(void **state)
{
    (void)state;
    uint64_t seed = 20260412;
    uint32_t fused = 0, taken = 0, tried = 0;
    for (uint32_t i = 0; i < 600; i++) {
        fixture f;
        char set[128];
        llfi_str s, again;
        const char *text = random_text(&seed, &s);
        snprintf(set, sizeof set, "max_kernel_nodes=%u,max_kernel_cost=%u,recompute_moved_cost=%u",
                 1 + roll(&seed, 1u << (2 + roll(&seed, 6))), 16 + roll(&seed, 1u << (4 + roll(&seed, 8))),
                 roll(&seed, 40));
        const char *heuristic = llfi_heuristics[roll(&seed, 4) ? llfi_heuristics_count - 1
                                                               : roll(&seed, (uint32_t)llfi_heuristics_count)]
                                    .name;
        fixture_plan(&f, text, heuristic, set);
        llfi_str_init(&again, &llfi_malloc_allocator);
        assert_int_equal(llfi_plan_explain(f.cx, f.g, &f.plan, &f.state.fuse, &again), LLF_OK);
        fused += rows_checked(f.g, &f.plan, text);
        for (uint32_t tries = 0; tries < 6 && f.plan.kernels; tries++, tried++)
            taken += merge(&f, &seed);
        llfi_str_free(&again);
        llfi_str_free(&s);
        fixture_free(&f);
    }
    assert_true(fused > 300);
    assert_true(taken > tried / 10 && taken < tried);
}

/* ---- what a reader refuses */

typedef struct {
    const char *text, *message; /* NULL: it is taken */
} refused;

#define SQUARE "graph @t(%x: f32[N, N]) {\n"
#define MANY "graph @t(%x: f32[N, K], %y: f32[N, K], %v: f32[N]) {\n"

static const refused plans[] = {
    {MANY "  %s = sum %x, axes=[1] !k0\n  %m = max %y, axes=[1], keepdims !k0\n  ret %s, %m\n}\n", NULL},
    {MANY "  %s = sum %x, axes=[1], keepdims !k0\n  %t = exp %s !k0\n  %d = sub %x, %t !k0\n"
          "  %r = prod %d, axes=[1] !k0\n  ret %d, %r\n}\n",
     NULL},
    {MANY "  %s = sum %x, axes=[1] !k0\n  %e = exp %v !k0\n  ret %s, %e\n}\n", NULL},
    {MANY "  %s = sum %x, axes=[1] !k0\n  %m = sum %y, axes=[0] !k0\n  ret %s, %m\n}\n",
     "%m reduces another shape, or other axes"},
    {MANY "  %s = sum %x, axes=[1] !k0\n  %m = max %s, axes=[0] !k0\n  ret %s, %m\n}\n",
     "%m reduces another shape, or other axes"},
    {MANY "  %s = sum %x, axes=[0] !k0\n  %e = exp %v !k0\n  ret %s, %e\n}\n",
     "%e is stored there, but has neither the shape"},
    {SQUARE "  %s = sum %x, axes=[1] !k0\n  %d = sub %x, %s !k0\n  ret %d\n}\n", "%s is read in another row"},
    {SQUARE "  %s = sum %x, axes=[0] !k0\n  %d = sub %x, %s !k0\n  ret %d\n}\n", NULL},
    {SQUARE "  %s = sum %x, axes=[1], keepdims !k0\n  %f = flip %s, axes=[0]\n  %d = sub %x, %f !k0\n"
            "  ret %d\n}\n",
     "%s is read in another row"},
    {SQUARE "  %s = sum %x, axes=[1], keepdims !k0\n  %d = sub %x, %s !k0\n  %p = permute %d, axes=[1, 0]\n"
            "  %e = exp %p !k0\n  ret %e\n}\n",
     "%s is read in another row"},
    /* A point that is read elsewhere is computed there once more: dear, but legal before a reduction. */
    {SQUARE "  %e = exp %x !k0\n  %p = permute %e, axes=[1, 0]\n  %d = mul %e, %p !k0\n"
            "  %s = sum %d, axes=[1] !k0\n  ret %s\n}\n",
     NULL},
    {"graph @t(%x: f32[N]) {\n  %s = sum %x !k0\n  %d = sub %x, %s !k0\n  ret %d\n}\n",
     "%s is read by the points of its row"},
    {"graph @t(%x: f32[N]) {\n  %s = sum %x, keepdims !k0\n  %l = log %s !k0\n  ret %l\n}\n", NULL},
    {"graph @t(%x: f32[63, 16385]) {\n  %s = sum %x, axes=[1], keepdims !k0\n  %d = sub %x, %s !k0\n"
     "  ret %d\n}\n",
     "%s is read by the points of its row"},
    {"graph @t(%x: f32[64, 16385]) {\n  %s = sum %x, axes=[1], keepdims !k0\n  %d = sub %x, %s !k0\n"
     "  ret %d\n}\n",
     NULL},
    {"graph @t(%x: f32[63, 16384]) {\n  %s = sum %x, axes=[1], keepdims !k0\n  %d = sub %x, %s !k0\n"
     "  ret %d\n}\n",
     NULL},
    /* Another reduction of it is a point that waits, too. */
    {"graph @t(%x: f32[63, N]) {\n  %s = sum %x, axes=[1], keepdims !k0\n  %d = sub %x, %s !k0\n"
     "  %m = max %d, axes=[1] !k0\n  ret %m\n}\n",
     "%s is read by the points of its row"},
    {MANY "  %m, %d = moments %x, axes=[1] !k0,k1\n  %e = exp %d !k0\n  %f = exp %m !k1\n  ret %e, %f\n}\n",
     NULL},
    {"graph @t(%x: f32[N]) {\n  %s = sum %x, axes=[] !k0\n  ret %s\n}\n", "%s reduces no axis"},
};

static void what_is_no_row_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(plans); i++) {
        const refused *r = &plans[i];
        fixture f;
        fixture_init(&f);
        fixture_parse(&f, r->text);
        llf_status st = llfi_plan_read(f.g, &f.state.fuse, &f.plan);
        const char *message = st == LLF_OK ? "" : llf_last_error(f.cx)->message;
        if (r->message ? st != LLF_E_PLAN || !strstr(message, r->message) : st != LLF_OK)
            fail_msg("%s\n-> %d %s", r->text, (int)st, message);
        fixture_free(&f);
    }
}

/* ---- bytes */

static void bytes_of_rows(void **state)
{
    (void)state;
    fixture f;
    llfi_arena arena;
    int64_t n[2] = {100, 1000}, bytes;
    uint32_t transfers;
    llfi_arena_init(&arena, &llfi_malloc_allocator);
    const char *text =
        "graph @t(%x: bf16[N, K]) {\n  %0 = cast %x, dtype=f32\n  %1 = max %0, axes=[1], "
        "keepdims\n  %2 = sub %0, %1\n  %3 = exp %2\n  %4 = sum %3, axes=[1]\n  ret %3, %4\n}\n";
    fixture_plan(&f, text, "greedy", NULL);
    assert_int_equal(f.plan.kernels, 1);
    assert_int_equal(f.plan.kernel[0].reduced, 2);
    assert_int_equal(llfi_plan_bytes(f.g, &f.plan, n, &arena, &bytes, &transfers), LLF_OK);
    assert_int_equal(bytes, 2 * 100000 + 4 * 100000 + 4 * 100);
    assert_int_equal(transfers, 3);
    fixture_free(&f);
    fixture_plan(&f, text, "primitive", NULL);
    assert_int_equal(f.plan.kernels, 5);
    assert_int_equal(llfi_plan_bytes(f.g, &f.plan, n, &arena, &bytes, &transfers), LLF_OK);
    assert_int_equal(bytes, (2 + 4 + 4 + 4 + 4 + 4 + 4 + 4) * 100000 + 4 * 300);
    assert_int_equal(transfers, 11);
    fixture_free(&f);
    llfi_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_plans_go_by_rows),
                                       cmocka_unit_test(what_is_no_row_is_refused),
                                       cmocka_unit_test(bytes_of_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
