/* test_random_graph.c: the generator: what it makes is valid, prints and parses byte for byte, is the same
 * for the same seed, and reaches every op, dtype, rank and kind of output. */
#include "interp/interp.h"
#include "ir/float.h"
#include "passes/pass.h"
#include "random_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define GRAPHS 10000

static void round_trip(llf_context *cx, const llf_graph *g)
{
    char *text = NULL, *again = NULL;
    size_t bytes, again_bytes;
    llf_graph *parsed = NULL;
    assert_int_equal(llf_graph_print(cx, g, &text, &bytes), LLF_OK);
    if (llf_graph_parse(cx, text, bytes, "random.llf", &parsed) != LLF_OK)
        fail_msg("%s\n%.*s", llf_last_error(cx)->message, (int)bytes, text);
    assert_int_equal(llf_graph_print(cx, parsed, &again, &again_bytes), LLF_OK);
    assert_int_equal(again_bytes, bytes);
    assert_memory_equal(again, text, bytes);
    assert_true(llfi_graph_hash(parsed) == llfi_graph_hash(g));
    llf_text_free(cx, text, bytes);
    llf_text_free(cx, again, again_bytes);
    llf_graph_destroy(parsed);
}

static void test_graphs(void **state)
{
    (void)state;
    uint32_t ops[LLF_OPS] = {0}, dtypes[LLF_DTYPES] = {0}, ranks[5] = {0}, scalars = 0, symbols = 0,
             leaf_outputs = 0, repeated = 0, empty = 0, large = 0;
    llf_context *cx = llf_context_create(NULL);
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        rg_binding binding;
        llf_graph *g = rg_graph(cx, seed, &rg_default_limits, &binding);
        if (!g)
            fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
        assert_int_equal(llfi_verify(g), LLF_OK);
        round_trip(cx, g);
        symbols += llfi_dims_symbols(g->dims) > 0;
        large += g->nodes.count > 30;
        for (llf_id id = 0; id < g->nodes.count; id++) {
            int64_t shape[LLF_MAX_RANK], n = rg_elements(g, id, &binding, shape);
            assert_true(n >= 0 && n <= rg_default_limits.max_elements);
            ops[llfi_node_at(g, id)->op]++;
            dtypes[llfi_dtype_of(g, id)]++;
            ranks[llfi_type_of(g, id).rank]++;
            scalars += llfi_node_at(g, id)->scalar;
            empty += n == 0;
        }
        for (size_t i = 0; i < g->outputs.count; i++) {
            leaf_outputs += llfi_node_at(g, g->outputs.at[i])->arity == 0;
            repeated += i && g->outputs.at[i] == g->outputs.at[0];
        }
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
    for (size_t op = 0; op < LLF_OPS; op++)
        if (ops[op] < 100 && llfi_ops[op].cls != LLFI_CLASS_VIEW && llfi_ops[op].cls != LLFI_CLASS_INDEX &&
            op < LLF_OP_IOTA)
            fail_msg("op %s: %u times", llfi_ops[op].name, ops[op]);
    for (size_t d = 0; d < LLF_DTYPES; d++)
        assert_true(dtypes[d] > 1000);
    for (size_t r = 0; r < 5; r++)
        assert_true(ranks[r] > 1000);
    assert_true(scalars > 500 && symbols > 1000 && leaf_outputs > 500 && repeated > 500 && empty > 500 &&
                large > 200);
}

/* With views: each of them, and real broadcasts, guards, symbols in lists. */
static void test_view_graphs(void **state)
{
    (void)state;
    const rg_limits limits = {3, 40, 200, 30, 0, 0};
    uint32_t ops[LLF_OPS] = {0}, spread = 0, guards = 0, lists = 0, deep = 0;
    llf_context *cx = llf_context_create(NULL);
    for (uint64_t seed = 0; seed < GRAPHS / 2; seed++) {
        rg_binding binding;
        llf_graph *g = rg_graph(cx, seed, &limits, &binding);
        if (!g)
            fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
        assert_int_equal(llfi_verify(g), LLF_OK);
        if (llfi_guards_check(g, &cx->diag, binding.symbol) != LLF_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
        round_trip(cx, g);
        guards += g->guards.count > 0;
        lists += g->lists.count > 0;
        for (llf_id id = 0; id < g->nodes.count; id++) {
            const llfi_node *n = llfi_node_at(g, id);
            int64_t shape[LLF_MAX_RANK], elements = rg_elements(g, id, &binding, shape);
            assert_true(elements >= 0 && elements <= limits.max_elements);
            ops[n->op]++;
            for (uint32_t k = 0; k < n->arity && llfi_ops[n->op].cls == LLFI_CLASS_EW; k++)
                spread += !llfi_same_space(g, id, k);
            bool view = llfi_ops[n->op].cls == LLFI_CLASS_VIEW;
            deep += view && llfi_ops[llfi_node_at(g, n->arg[0])->op].cls == LLFI_CLASS_VIEW;
        }
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
    for (size_t op = 0; op < LLF_OPS; op++)
        if (ops[op] < 100 && op <= LLF_OP_IOTA) /* reductions come behind it */
            fail_msg("op %s: %u times", llfi_ops[op].name, ops[op]);
    if (spread < 300 || guards < 500 || lists < 2000 || deep < 500)
        fail_msg("%u broadcasts, %u graphs with guards, %u with lists, %u views of views", spread, guards,
                 lists, deep);
}

/* Plans the graph, which is changed; the runner verifies. Kernels that have more than their reductions. */
static uint32_t rows_planned(llf_context *cx, llf_graph *g, uint64_t seed)
{
    llfi_passes_state passes = {0};
    llfi_plan plan;
    uint32_t fused = 0;
    llfi_fuse_options_default(&passes.fuse);
    if (seed % 3 == 0)
        passes.fuse.heuristic = &llfi_heuristics[seed / 3 % llfi_heuristics_count];
    llfi_plan_init(&plan, &cx->mem);
    if (llfi_passes_run(cx, g, NULL, 0, &passes, &plan) != LLF_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
    for (uint32_t k = 0; k < plan.kernels; k++)
        for (uint32_t m = 0; plan.kernel[k].reduced && m < plan.kernel[k].members; m++)
            if (llfi_ops[llfi_node_at(g, plan.kernel[k].member[m])->op].cls == LLFI_CLASS_EW) {
                fused++;
                break;
            }
    llfi_plan_destroy(&plan);
    return fused;
}

/* With reductions: each of them, over all axes and some, rows of every kind of length, and what stands around
 * them. Guards hold for the symbols drawn. */
static void test_reduce_graphs(void **state)
{
    (void)state;
    rg_limits limits = rg_default_limits;
    uint32_t ops[LLF_OPS] = {0}, empty = 0, chunks = 0, whole = 0, some = 0, several = 0, outs = 0, used = 0,
             fused = 0;
    limits.reduce = 20;
    llf_context *cx = llf_context_create(NULL);
    for (uint64_t seed = 0; seed < GRAPHS / 2; seed++) {
        rg_binding binding;
        limits.views = seed % 2 ? 0 : 40;
        llf_graph *g = rg_graph(cx, seed, &limits, &binding);
        if (!g)
            fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
        assert_int_equal(llfi_verify(g), LLF_OK);
        if (llfi_guards_check(g, &cx->diag, binding.symbol) != LLF_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
        round_trip(cx, g);
        for (llf_id id = 0; id < g->nodes.count; id++) {
            const llfi_node *n = llfi_node_at(g, id);
            ops[n->op]++;
            for (uint32_t k = 0; k < n->arity; k++)
                used += llfi_node_at(g, llfi_args(g, n)[k])->op == LLF_OP_RESULT;
            if (llfi_ops[n->op].cls != LLFI_CLASS_REDUCE)
                continue;
            llfi_reduce r = llfi_reduce_of(g, id);
            int64_t shape[LLF_MAX_RANK], length = 1;
            rg_elements(g, r.x, &binding, shape);
            uint32_t rank = llfi_type_of(g, r.x).rank;
            for (uint32_t i = 0; i < rank; i++)
                length *= r.axes >> i & 1 ? shape[i] : 1;
            empty += length == 0;
            chunks += length > 1024;
            whole += rank && r.axes == (1u << rank) - 1;
            some += r.axes && r.axes != (1u << rank) - 1;
            several += (r.axes & (r.axes - 1)) != 0;
            outs += r.out != llfi_reduce_default(r.in) && llfi_ops[n->op].attr == LLFI_ATTR_SUM;
        }
        if (seed % 4 == 0)
            fused += rows_planned(cx, g, seed);
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
    assert_true(fused > 300);
    for (size_t op = 0; op < LLF_OPS; op++)
        if (ops[op] < 100 && (llfi_ops[op].cls == LLFI_CLASS_REDUCE || op == LLF_OP_COUNT))
            fail_msg("op %s: %u times", llfi_ops[op].name, ops[op]);
    if (empty < 300 || chunks < 300 || whole < 1000 || some < 300 || several < 300 || outs < 200 ||
        used < 300)
        fail_msg(
            "%u empty rows, %u of several chunks, %u over all axes, %u over some, %u over several, %u with "
            "out, %u further results used",
            empty, chunks, whole, some, several, outs, used);
}

/* What CI checks, in the mix of fuzz.random_views: every kind of graph is there often enough to be hit by
 * thousands of seeds. The plan is greedy's, as a kernel of several parts is what parts are for. */
static void test_mix(void **state)
{
    (void)state;
    rg_limits limits = rg_default_limits;
    limits.views = 40;
    limits.parts = 40;
    uint32_t views = 0, index = 0, symbols = 0, shapes = 0, dtypes = 0, apart = 0, parted = 0, graphs = 3000;
    llf_context *cx = llf_context_create(NULL);
    for (uint64_t seed = 0; seed < graphs; seed++) {
        rg_binding binding;
        llfi_passes_state passes = {0};
        llfi_plan plan;
        llf_graph *g = rg_graph(cx, seed, &limits, &binding);
        if (!g)
            fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
        bool view = false, picks = false, other_shape = false, other_dtype = false, several = false;
        for (llf_id id = 0; id < g->nodes.count; id++) {
            view = view || llfi_ops[llfi_node_at(g, id)->op].cls == LLFI_CLASS_VIEW;
            picks = picks || llfi_ops[llfi_node_at(g, id)->op].cls == LLFI_CLASS_INDEX;
        }
        for (size_t i = 1; i < g->outputs.count; i++) {
            llfi_type t = llfi_type_of(g, g->outputs.at[0]), u = llfi_type_of(g, g->outputs.at[i]);
            other_shape = other_shape || !llfi_type_same_dims(t, u);
            other_dtype = other_dtype || t.dtype != u.dtype;
        }
        views += view;
        index += picks;
        shapes += other_shape;
        dtypes += other_dtype;
        symbols += llfi_dims_symbols(g->dims) > 0;
        apart += rg_parts(g) > 1;
        llfi_fuse_options_default(&passes.fuse);
        llfi_plan_init(&plan, &cx->mem);
        if (llfi_passes_run(cx, g, NULL, 0, &passes, &plan) != LLF_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
        for (uint32_t k = 0; k < plan.kernels; k++)
            several = several || plan.kernel[k].parts > 1;
        parted += several;
        llfi_plan_destroy(&plan);
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
    print_message(
        "of %u graphs: %u with views, %u index ops, %u symbols, %u outputs of several shapes, %u of "
        "several dtypes, %u of independent parts, %u with a kernel of several\n",
        graphs, views, index, symbols, shapes, dtypes, apart, parted);
    assert_true(views * 2 > graphs && index * 5 > graphs && symbols * 3 > graphs && shapes * 3 > graphs &&
                dtypes * 3 > graphs && apart * 3 > graphs && parted * 4 > graphs);
}

static void test_same_seed_same_graph(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    for (uint64_t seed = 0; seed < 100; seed++) {
        rg_binding a, b;
        llf_graph *g = rg_graph(cx, seed, &rg_default_limits, &a),
                  *h = rg_graph(cx, seed, &rg_default_limits, &b);
        assert_true(llfi_graph_hash(g) == llfi_graph_hash(h));
        assert_memory_equal(&a, &b, sizeof a);
        llf_graph_destroy(g);
        llf_graph_destroy(h);
    }
    llf_context_destroy(cx);
}

/* Each kind of special appears, whatever the dtype. */
static void test_data(void **state)
{
    (void)state;
    rg_random r = rg_seeded(1);
    for (int d = 0; d < LLF_DTYPES; d++) {
        llf_dtype dtype = (llf_dtype)d;
        uint32_t nan = 0, inf = 0, minus_zero = 0, subnormal = 0, least = 0, most = 0;
        for (int i = 0; i < 200; i++) {
            unsigned char data[100 * 8];
            rg_fill(&r, dtype, 100, data);
            for (size_t at = 0; at < 100; at++) {
                uint64_t bits = llfi_bits_load(dtype, data + at * llf_dtype_size(dtype));
                if (!llfi_dtype_is_float(d)) {
                    int64_t v = llfi_bits_to_i64(dtype, bits);
                    least += v == (dtype == LLF_I64 ? INT64_MIN : dtype == LLF_I32 ? INT32_MIN : 0);
                    most += v == (dtype == LLF_I64 ? INT64_MAX : dtype == LLF_I32 ? INT32_MAX : 1);
                    assert_true(dtype != LLF_BOOL || bits <= 1);
                    continue;
                }
                double x = llfi_bits_to_f64(dtype, bits);
                nan += llfi_bits_nan(dtype, bits);
                inf += x - x != 0 && x == x;
                minus_zero += x == 0 && bits != 0;
                uint64_t magnitude = bits & (((uint64_t)1 << (8 * llf_dtype_size(dtype) - 1)) - 1);
                int fraction = dtype == LLF_F64 ? 52 : dtype == LLF_F32 ? 23 : dtype == LLF_F16 ? 10 : 7;
                subnormal += magnitude && !(magnitude >> fraction);
            }
        }
        if (llfi_dtype_is_float(d))
            assert_true(nan > 50 && inf > 50 && minus_zero > 50 && subnormal > 50);
        else
            assert_true(least > 50 && most > 50);
    }
}

/* Interprets with data of that seed. value[id] as llfi_interp. */
static void **interpret(const llf_graph *g, uint64_t seed, const rg_binding *binding, llfi_arena *arena)
{
    rg_random r = rg_seeded(seed);
    const void *data[RG_INPUTS];
    for (size_t i = 0; i < g->inputs.count; i++) {
        int64_t shape[LLF_MAX_RANK], n = rg_elements(g, g->inputs.at[i], binding, shape);
        llf_dtype dtype = llfi_dtype_of(g, g->inputs.at[i]);
        void *p = llfi_arena_alloc(arena, (size_t)n * llf_dtype_size(dtype) + 1);
        rg_fill(&r, dtype, n, p);
        data[i] = p;
    }
    void **value = llfi_arena_alloc(arena, g->nodes.count * sizeof *value);
    if (llfi_interp(g, binding->symbol, data, arena, value) != LLF_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(g->cx)->message);
    return value;
}

static void compare(uint64_t seed, const llf_graph *g, const llf_graph *h, const rg_binding *binding,
                    void **a, void **b)
{
    assert_int_equal(g->outputs.count, h->outputs.count);
    for (size_t i = 0; i < g->outputs.count; i++) {
        llf_id x = g->outputs.at[i], y = h->outputs.at[i];
        llf_dtype dtype = llfi_dtype_of(g, x);
        int64_t shape[LLF_MAX_RANK], n = rg_elements(g, x, binding, shape);
        assert_int_equal(llfi_dtype_of(h, y), dtype);
        assert_int_equal(rg_elements(h, y, binding, shape), n);
        for (int64_t at = 0; at < n; at++) {
            size_t offset = (size_t)at * llf_dtype_size(dtype);
            uint64_t want = llfi_bits_load(dtype, (char *)a[x] + offset),
                     got = llfi_bits_load(dtype, (char *)b[y] + offset);
            if (want != got && !(llfi_bits_nan(dtype, want) && llfi_bits_nan(dtype, got)))
                fail_msg("seed %llu, output %zu, element %lld: %llx before the passes, %llx after",
                         (unsigned long long)seed, i, (long long)at, (unsigned long long)want,
                         (unsigned long long)got);
        }
    }
}

static void optimise(llf_context *cx, llf_graph *g, const char *const *names, size_t count, uint32_t *fired)
{
    llfi_passes_state state = {0};
    llfi_plan plan;
    llfi_plan_init(&plan, &cx->mem);
    if (llfi_passes_run(cx, g, names, count, &state, &plan) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    llfi_plan_destroy(&plan);
    for (size_t i = 0; i < LLFI_RULES; i++)
        fired[i] += state.fired[i];
}

static void test_passes_keep_bits(void **state)
{
    (void)state;
    static const char *const names[] = {"decompose", "fold", "simplify", "cse", "dce", "outputs"};
    static const char *const rules[] = {
#define RULE(op, id, equation) #id,
#include "passes/rules.def"
#undef RULE
    };
    rg_limits limits = {3, 40, 60, 0, 0, 0};
    uint32_t fired[LLFI_RULES] = {0};
    llf_context *cx = llf_context_create(NULL);
    for (uint64_t seed = 0; seed < 2 * GRAPHS; seed++) {
        rg_binding binding;
        llfi_arena arena;
        llfi_arena_init(&arena, &cx->mem);
        limits.views = seed / 2 % 2 ? 0 : 50;
        limits.reduce = seed % 5 ? 0 : 15;
        llf_graph *g = rg_graph(cx, seed, &limits, &binding);
        if (!g)
            fail_msg("seed %llu: %s", (unsigned long long)seed, llf_last_error(cx)->message);
        /* Every value is an output where the pass may not drop any: wrong algebra cannot hide in a later op.
         */
        for (llf_id id = 0; seed % 2 && id < g->nodes.count; id++)
            assert_int_equal(llf_output(g, id), LLF_OK);
        llf_graph *h = llfi_graph_clone(g, cx);
        optimise(cx, g, names, 1, fired);
        optimise(cx, h, names, LLFI_COUNT(names), fired);
        compare(seed, g, h, &binding, interpret(g, seed, &binding, &arena),
                interpret(h, seed, &binding, &arena));
        llf_graph_destroy(g);
        llf_graph_destroy(h);
        llfi_arena_destroy(&arena);
    }
    llf_context_destroy(cx);
    for (size_t i = 0; i < LLFI_RULES; i++)
        if (fired[i] < 20)
            fail_msg("rule %s fired %u times", rules[i], fired[i]);
}

/* One element at a time, reading only what it needs, gives what the whole graph gives. */
static void test_single_elements(void **state)
{
    (void)state;
    static const char *const names[] = {"decompose"};
    rg_limits limits = {3, 40, 60, 0, 0, 0};
    uint32_t fired[LLFI_RULES] = {0};
    llf_context *cx = llf_context_create(NULL);
    for (uint64_t seed = 0; seed < 500; seed++) {
        rg_binding binding;
        llfi_arena arena;
        llfi_arena_init(&arena, &cx->mem);
        limits.views = seed % 2 ? 0 : 30;
        limits.reduce = seed % 3 ? 0 : 10;
        llf_graph *g = rg_graph(cx, seed, &limits, &binding);
        optimise(cx, g, names, 1, fired);
        void **value = interpret(g, seed, &binding, &arena);
        const void *data[RG_INPUTS];
        for (size_t i = 0; i < g->inputs.count; i++)
            data[i] = value[g->inputs.at[i]];
        for (llf_id id = 0; id < g->nodes.count; id++) {
            int64_t shape[LLF_MAX_RANK], n = rg_elements(g, id, &binding, shape);
            llf_dtype dtype = llfi_dtype_of(g, id);
            for (int64_t at = 0; at < n; at += 7) {
                uint64_t bits[2];
                assert_int_equal(
                    llfi_interp_at(g, binding.symbol, data, &arena, (const llf_id[]){id, id}, 2, at, bits),
                    LLF_OK);
                assert_true(bits[0] ==
                            llfi_bits_load(dtype, (char *)value[id] + (size_t)at * llf_dtype_size(dtype)));
                assert_true(bits[1] == bits[0]);
            }
        }
        llf_graph_destroy(g);
        llfi_arena_destroy(&arena);
    }
    llf_context_destroy(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs),
                                       cmocka_unit_test(test_view_graphs),
                                       cmocka_unit_test(test_reduce_graphs),
                                       cmocka_unit_test(test_mix),
                                       cmocka_unit_test(test_same_seed_same_graph),
                                       cmocka_unit_test(test_data),
                                       cmocka_unit_test(test_passes_keep_bits),
                                       cmocka_unit_test(test_single_elements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
