/* test_runtime_parts.c: launches of several parts on the CPU: whatever the shapes, what comes out is bitwise
 * what kernels of one part each give; in place, empty, large, bound anew. */
#include "runtime_util.h"

#include <math.h>

static uint32_t roll(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % limit;
}

/* ---- random components side by side */

enum { MOST = 40 };

typedef struct {
    llf_dtype dtype;
    int64_t rows, cols;
} shape;

typedef struct {
    shape shape[MOST];
    uint32_t kind[MOST], count;
} layout;

static layout random_layout(uint64_t *seed)
{
    static const llf_dtype dtype[] = {LLF_F32, LLF_BF16, LLF_F64, LLF_I32};
    static const int64_t extent[] = {0, 1, 2, 3, 5, 17, 64, 100, 257};
    layout l = {.count = 2 + roll(seed, MOST - 1)};
    for (uint32_t i = 0; i < l.count; i++) {
        l.shape[i] = (shape){dtype[roll(seed, 4)], extent[roll(seed, 9)], extent[roll(seed, 9)]};
        if (roll(seed, 3) == 0)
            l.shape[i] = l.shape[roll(seed, i + 1)]; /* the same space, other tensors */
        l.kind[i] = roll(seed, 5);
    }
    return l;
}

/* Component i: x_i of its shape, r_i one row of it, t a rank-0 buffer that all share. */
static llf_graph *components(llf_context *cx, const layout *l)
{
    llf_graph *g = llf_graph_create(cx, "components");
    assert_non_null(g);
    llf_id t = llf_input(g, "t", LLF_F32, 0, NULL);
    for (uint32_t i = 0; i < l->count; i++) {
        char name[16];
        const shape s = l->shape[i];
        int64_t dims[] = {s.rows, s.cols}, row[] = {1, s.cols};
        snprintf(name, sizeof name, "x%u", i);
        llf_id x = llf_input(g, name, s.dtype, 2, dims);
        snprintf(name, sizeof name, "r%u", i);
        llf_id r = llf_input(g, name, s.dtype, 2, row), y = llf_mul(g, x, x);
        switch (l->kind[i]) {
        case 0: y = llf_add(g, y, r); break;
        case 1: y = llf_maximum(g, x, r); break;
        case 2: y = llf_mul(g, y, llf_cast(g, t, s.dtype)); break;
        case 3: llf_output(g, llf_neg(g, x)); break;
        default: y = llf_where(g, llf_gt(g, x, r), y, x); break;
        }
        llf_output(g, y);
    }
    assert_int_equal(g->poisoned, LLF_OK);
    return g;
}

typedef struct {
    void *data[4 * MOST + 2];
    size_t bytes[4 * MOST + 2];
    uint32_t inputs, binds, kernels, parts;
} outcome;

static outcome run(const layout *l, const char *set, uint64_t seed)
{
    outcome o = {0};
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = components(cx, l);
    llf_options opt = {.size = sizeof opt, .target = "host", .set = set, .compile_threads = 1};
    llf_program *p = NULL;
    llf_loaded *loaded = NULL;
    llf_execution *e = NULL;
    if (llf_compile(cx, g, &opt, &p) != LLF_OK || llf_program_load(cx, p, 0, &loaded) != LLF_OK ||
        llf_execution_create(cx, loaded, &e) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    o.inputs = (uint32_t)p->graph->inputs.count;
    o.binds = o.inputs + (uint32_t)p->graph->outputs.count;
    o.kernels = p->plan.kernels;
    for (uint32_t k = 0; k < p->plan.kernels; k++)
        o.parts += p->plan.kernel[k].parts;
    for (uint32_t b = 0; b < o.binds; b++) {
        llf_id id = b < o.inputs ? p->graph->inputs.at[b] : p->graph->outputs.at[b - o.inputs];
        llfi_type t = llfi_type_of(p->graph, id);
        llf_tensor tensor = {.dtype = t.dtype, .rank = t.rank};
        size_t elements = 1;
        for (uint32_t i = 0; i < t.rank; i++) {
            assert_true(llfi_dim_is_const(p->graph->dims, t.dim[i], &tensor.shape[i]));
            elements *= (size_t)tensor.shape[i];
        }
        o.bytes[b] = elements * llf_dtype_size(t.dtype);
        tensor.data = o.data[b] = malloc(o.bytes[b] + 64);
        assert_non_null(tensor.data);
        memset(tensor.data, 0x5a, o.bytes[b] + 64);
        for (size_t i = 0; b < o.inputs && i < elements; i++) {
            int32_t small = (int32_t)roll(&seed, 9) - 4;
            double d = small;
            float f = (float)small;
            uint32_t bits;
            memcpy(&bits, &f, 4);
            uint16_t half = (uint16_t)(bits >> 16);
            const void *from = t.dtype == LLF_F64    ? (const void *)&d
                               : t.dtype == LLF_F32  ? (const void *)&f
                               : t.dtype == LLF_BF16 ? (const void *)&half
                                                     : (const void *)&small;
            memcpy((char *)tensor.data + i * llf_dtype_size(t.dtype), from, llf_dtype_size(t.dtype));
        }
        assert_ok(e, llf_bind(e, b, &tensor));
    }
    assert_ok(e, llf_prepare(e));
    assert_ok(e, llf_run(e, NULL));
    llf_execution_destroy(e);
    llf_loaded_destroy(loaded);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    return o;
}

static void drop(outcome *o)
{
    for (uint32_t b = 0; b < o->binds; b++)
        free(o->data[b]);
}

static void side_by_side_is_bitwise_one_by_one(void **state)
{
    (void)state;
    uint64_t seed = 11;
    uint32_t joined = 0;
    for (uint32_t i = 0; i < 25; i++) {
        const layout l = random_layout(&seed);
        outcome a = run(&l, NULL, i), b = run(&l, "max_kernel_parts=1", i);
        assert_int_equal(b.kernels, b.parts);
        joined += a.kernels < b.kernels;
        for (uint32_t k = 0; k < a.binds; k++) {
            assert_int_equal(a.bytes[k], b.bytes[k]);
            assert_memory_equal(a.data[k], b.data[k], a.bytes[k] + 64); /* nothing behind the end */
        }
        drop(&a);
        drop(&b);
    }
    assert_true(joined > 15);
}

/* ---- a step of an optimiser over tensors of different sizes, in place */

enum { TENSORS = 5 };
static const int64_t sizes[TENSORS] = {40000, 0, 1, 7, 20001};

/* p_i -= a * g_i; m_i = m_i + g_i */
static llf_graph *steps(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "steps");
    llf_id a = llf_scalar(g, "a", LLF_F32);
    for (int i = 0; i < TENSORS; i++) {
        char name[16];
        snprintf(name, sizeof name, "N%d", i);
        int64_t n = llf_symbol(g, name);
        snprintf(name, sizeof name, "p%d", i);
        llf_id p = llf_input(g, name, LLF_F32, 1, &n);
        snprintf(name, sizeof name, "g%d", i);
        llf_id d = llf_input(g, name, LLF_F32, 1, &n);
        snprintf(name, sizeof name, "m%d", i);
        llf_id m = llf_input(g, name, LLF_F32, 1, &n);
        llf_output(g, llf_sub(g, p, llf_mul(g, d, a)));
        llf_output(g, llf_add(g, m, d));
    }
    return g;
}

static float *filled(int64_t n, float first, float step)
{
    float *at = malloc((size_t)(n + 1) * sizeof *at);
    assert_non_null(at);
    for (int64_t i = 0; i < n; i++)
        at[i] = first + step * (float)(i % 1000);
    at[n] = -1;
    return at;
}

/* Inputs: a, then p, g, m of each; outputs: p, m of each. */
static void parts_may_run_in_place(void **state)
{
    (void)state;
    test_road r = test_open(steps, &(llf_options){.size = sizeof(llf_options), .target = "host"}, 0);
    float a = 0.5f, *p[TENSORS], *d[TENSORS], *m[TENSORS];
    assert_int_equal(r.p->plan.kernels, 1);
    assert_int_equal(r.p->plan.kernel[0].parts, TENSORS);
    assert_int_equal(r.p->kernel[0].schedule.parts->bodies, 1);
    llf_tensor t = test_scalar(LLF_F32, &a);
    assert_ok(r.e, llf_bind(r.e, 0, &t));
    for (uint32_t i = 0; i < TENSORS; i++) {
        p[i] = filled(sizes[i], 100, 1);
        d[i] = filled(sizes[i], 2, 2);
        m[i] = filled(sizes[i], (float)i, 0);
        float *at[] = {p[i], d[i], m[i]};
        for (uint32_t k = 0; k < 3; k++) {
            t = test_vector(LLF_F32, at[k], sizes[i]);
            assert_ok(r.e, llf_bind(r.e, 1 + 3 * i + k, &t));
            if (k != 1)
                assert_ok(r.e, llf_bind(r.e, 1 + 3 * TENSORS + 2 * i + k / 2, &t));
        }
    }
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    a = 1;
    t = test_scalar(LLF_F32, &a);
    assert_ok(r.e, llf_bind(r.e, 0, &t)); /* a new value for every row */
    assert_ok(r.e, llf_run(r.e, NULL));
    for (uint32_t i = 0; i < TENSORS; i++)
        for (int64_t k = 0; k <= sizes[i]; k++) {
            float x = (float)(k % 1000), g = 2 + 2 * x;
            assert_true(p[i][k] == (k < sizes[i] ? 100 + x - 1.5f * g : -1));
            assert_true(m[i][k] == (k < sizes[i] ? (float)i + 2 * g : -1));
        }
    llf_stats s = {.size = sizeof s};
    assert_int_equal(llf_execution_stats(r.e, &s), LLF_OK);
    assert_int_equal(s.launches, 2);

    /* The output of one part over the input of another: nothing says which runs first. */
    t = test_vector(LLF_F32, d[4], 7);
    assert_ok(r.e, llf_bind(r.e, 1 + 3 * TENSORS + 2 * 3, &t));
    assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "overlap");
    for (uint32_t i = 0; i < TENSORS; i++) {
        free(p[i]);
        free(d[i]);
        free(m[i]);
    }
    test_close(&r);
}

/* Same size, so that only the part tells: x0's negation over x1, which another part reads. */
static llf_graph *twins(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "twins");
    int64_t n = 8;
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n), y = llf_input(g, "y", LLF_F32, 1, &n);
    llf_output(g, llf_neg(g, x));
    llf_output(g, llf_neg(g, y));
    return g;
}

static void no_part_overwrites_what_another_reads(void **state)
{
    (void)state;
    test_road r = test_open(twins, &(llf_options){.size = sizeof(llf_options), .target = "host"}, 0);
    float x[8] = {1}, y[8] = {2}, z[8];
    float *crossed[] = {x, y, y, z}, *straight[] = {x, y, x, y};
    assert_int_equal(r.p->plan.kernel[0].parts, 2);
    for (uint32_t b = 0; b < 4; b++) {
        llf_tensor t = test_vector(LLF_F32, crossed[b], 8);
        assert_ok(r.e, llf_bind(r.e, b, &t));
    }
    assert_refused(llf_prepare(r.e), LLF_E_ALIAS, llf_execution_error(r.e)->message, "overlap");
    for (uint32_t b = 0; b < 4; b++) {
        llf_tensor t = test_vector(LLF_F32, straight[b], 8);
        assert_ok(r.e, llf_bind(r.e, b, &t));
    }
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    assert_true(x[0] == -1 && y[0] == -2);
    test_close(&r);
}

static void nothing_to_do_is_no_launch(void **state)
{
    (void)state;
    test_road r = test_open(steps, &(llf_options){.size = sizeof(llf_options), .target = "host"}, 0);
    float a = 1, none[1];
    llf_tensor t = test_scalar(LLF_F32, &a);
    assert_ok(r.e, llf_bind(r.e, 0, &t));
    for (uint32_t b = 1; b < 1 + 5 * TENSORS; b++) {
        t = test_vector(LLF_F32, none, 0);
        assert_ok(r.e, llf_bind(r.e, b, &t));
    }
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    llf_stats s = {.size = sizeof s};
    assert_int_equal(llf_execution_stats(r.e, &s), LLF_OK);
    assert_int_equal(s.launches, 0);
    test_close(&r);
}

/* One tensor with gaps, one backwards, both in one launch with others that have neither. */
static void parts_may_have_strides(void **state)
{
    (void)state;
    test_road r = test_open(steps, &(llf_options){.size = sizeof(llf_options), .target = "host"}, 0);
    enum { LONG = 1000 };
    static float in[3 * TENSORS][2 * LONG], out[2 * TENSORS][LONG];
    float a = 2;
    llf_tensor t = test_scalar(LLF_F32, &a);
    assert_ok(r.e, llf_bind(r.e, 0, &t));
    for (uint32_t b = 0; b < 3 * TENSORS; b++) {
        for (int i = 0; i < 2 * LONG; i++)
            in[b][i] = (float)(i + 10000 * (int)b);
        t = test_vector(LLF_F32, in[b], LONG);
        if (b == 0 || b == 7) {
            t.strided = true;
            t.strides[0] = b ? -1 : 2;
            t.data = b ? &in[b][LONG - 1] : &in[b][0];
        }
        assert_ok(r.e, llf_bind(r.e, 1 + b, &t));
    }
    for (uint32_t b = 0; b < 2 * TENSORS; b++) {
        t = test_vector(LLF_F32, out[b], LONG);
        assert_ok(r.e, llf_bind(r.e, 1 + 3 * TENSORS + b, &t));
    }
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    for (uint32_t k = 0; k < TENSORS; k++)
        for (int i = 0; i < LONG; i++) {
            float p = in[3 * k][k == 0 ? 2 * i : i], g = in[3 * k + 1][k == 2 ? LONG - 1 - i : i];
            assert_true(out[2 * k][i] == p - g * 2);
            assert_true(out[2 * k + 1][i] == in[3 * k + 2][i] + g);
        }
    test_close(&r);
}

/* ---- many inputs, half of them stretched rows: every kernel's arguments are within the target's limit */

static llf_graph *sum_of(llf_context *cx, uint32_t inputs, bool symbols)
{
    llf_graph *g = llf_graph_create(cx, "sum");
    int64_t whole[2] = {10, 10}, column[2] = {10, 1};
    llf_id sum = LLF_NONE;
    if (symbols) {
        whole[0] = column[0] = llf_symbol(g, "A");
        whole[1] = llf_symbol(g, "B");
    }
    for (uint32_t i = 0; i < inputs; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%u", i);
        llf_id x = llf_input(g, name, LLF_F32, 2, i % 2 ? column : whole);
        sum = i ? llf_add(g, sum, x) : x;
    }
    llf_output(g, sum);
    return g;
}

static void argument_bytes_stay_within_the_limit(llf_context *cx, const llf_graph *g, const char *target)
{
    llf_options o = {.size = sizeof o, .target = target, .set = "max_kernel_buffers=400"};
    llf_program *p = NULL;
    if (llf_compile(cx, g, &o, &p) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    for (uint32_t k = 0; k < p->plan.kernels; k++)
        assert_true((uint64_t)p->kernel[k].schedule.args * 8 <= p->target.param_bytes);
    llf_program_destroy(p);
}

/* x_i is i everywhere: sums of small integers are exact in any order. */
static void sums_of_hundreds_of_inputs(void **state)
{
    (void)state;
    static const uint32_t counts[] = {24, 399, 400, 600};
    for (uint32_t c = 0; c < 2 * LLFI_COUNT(counts); c++) {
        uint32_t inputs = counts[c / 2];
        llf_context *cx = llf_context_create(NULL);
        llf_graph *g = sum_of(cx, inputs, c % 2);
        if (llfi_libdevice_present())
            argument_bytes_stay_within_the_limit(cx, g, "nvptx:sm_75");
        llf_options o = {.size = sizeof o, .target = "host", .set = "max_kernel_buffers=400"};
        llf_program *p = NULL;
        llf_loaded *l = NULL;
        llf_execution *e = NULL;
        static float in[600][100], out[100];
        if (llf_compile(cx, g, &o, &p) != LLF_OK || llf_program_load(cx, p, 0, &l) != LLF_OK ||
            llf_execution_create(cx, l, &e) != LLF_OK)
            fail_msg("%s", llf_last_error(cx)->message);
        for (uint32_t b = 0; b <= inputs; b++) {
            llf_tensor t = {.data = b < inputs ? in[b] : out, .dtype = LLF_F32, .rank = 2, .shape = {10, 10}};
            t.shape[1] = b < inputs && b % 2 ? 1 : 10;
            for (int i = 0; i < 100; i++)
                *((float *)t.data + i) = (float)b;
            assert_ok(e, llf_bind(e, b, &t));
        }
        assert_ok(e, llf_prepare(e));
        assert_ok(e, llf_run(e, NULL));
        for (int i = 0; i < 100; i++)
            assert_true(out[i] == (float)(inputs * (inputs - 1) / 2));
        llf_execution_destroy(e);
        llf_loaded_destroy(l);
        llf_program_destroy(p);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
    }
}

/* ---- every allocation of a compile fails in turn */

static void any_allocation_may_fail(void **state)
{
    (void)state;
    test_memory m = {0};
    const llf_allocator mem = {.user = &m, .resize = test_resize};
    for (long long n = 1;; n++) {
        atomic_store(&m.failed, false);
        atomic_store(&m.fail_at, 0);
        llf_context *cx = llf_context_create(
            &(llf_context_options){.size = sizeof(llf_context_options), .allocator = &mem});
        assert_non_null(cx);
        llf_graph *g = steps(cx);
        assert_non_null(g);
        llfi_passes_state ps = {0};
        llfi_plan plan;
        llfi_fuse_options_default(&ps.fuse);
        llfi_plan_init(&plan, &cx->mem);
        atomic_store(&m.calls, 0);
        atomic_store(&m.fail_at, n);
        llf_status status = llfi_passes_run(cx, g, NULL, 0, &ps, &plan);
        bool failed = atomic_load(&m.failed);
        atomic_store(&m.fail_at, 0);
        assert_int_equal(status, failed ? LLF_E_NOMEM : LLF_OK);
        llfi_plan_destroy(&plan);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
        assert_false(atomic_load(&m.misused));
        assert_int_equal(atomic_load(&m.live), 0);
        if (!failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_by_side_is_bitwise_one_by_one),
        cmocka_unit_test(parts_may_run_in_place),
        cmocka_unit_test(no_part_overwrites_what_another_reads),
        cmocka_unit_test(nothing_to_do_is_no_launch),
        cmocka_unit_test(parts_may_have_strides),
        cmocka_unit_test(sums_of_hundreds_of_inputs),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
