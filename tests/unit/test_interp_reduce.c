/* test_interp_reduce.c: reductions in the interpreter against numpy's bits (reduce_tables.h) and exact
 * numbers: every op and dtype, lengths around chunks, axes, nothing, infinities, NaN; whole graphs and single
 * elements.
 */
#include "interp/interp.h"
#include "ir/float.h"
#include "limits.h"
#include "reduce_tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static llf_graph *parse(llf_context *cx, const char *text)
{
    llf_graph *g = NULL;
    if (llf_graph_parse(cx, text, strlen(text), "test.llf", &g) != LLF_OK)
        fail_msg("%s\n%s", llf_last_error(cx)->message, text);
    return g;
}

/* Elements that gen_reduce_tables.py knows too, rounded to the dtype. */
static void *make_row(enum row_kind kind, llf_dtype dtype, int64_t n)
{
    uint64_t s = 12345;
    size_t size = llf_dtype_size(dtype);
    char *out = malloc((size_t)n * size + 1);
    for (int64_t i = 0; i < n; i++) {
        s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int64_t u = (int64_t)(s >> 40) - (1 << 23);
        double x = kind == WIDE    ? ldexp((double)u, (int)(s >> 32 & 7) - 24)
                   : kind == NEAR1 ? (double)(float)(1 + ldexp((double)u, -30))
                                   : (double)u;
        uint64_t bits =
            llfi_dtype_is_float(dtype) ? llfi_bits_from_f64(dtype, x) : llfi_bits_from_i64(dtype, u);
        llfi_bits_store(dtype, out + (size_t)i * size, bits);
    }
    return out;
}

/* Runs a graph of one symbol or none; all values, in the arena. */
static void **run(llf_graph *g, llfi_arena *arena, int64_t n, const void *const *data)
{
    void **value = llfi_arena_alloc(arena, g->nodes.count * sizeof *value);
    if (llfi_interp(g, &n, data, arena, value) != LLF_OK)
        fail_msg("%s", llf_last_error(g->cx)->message);
    return value;
}

static uint64_t element(const llf_graph *g, void **value, size_t output, size_t i)
{
    llf_id id = g->outputs.at[output];
    llf_dtype dtype = llfi_dtype_of(g, id);
    return llfi_bits_load(dtype, (const char *)value[id] + i * llf_dtype_size(dtype));
}

static double real(const llf_graph *g, void **value, size_t output, size_t i)
{
    llf_dtype dtype = llfi_dtype_of(g, g->outputs.at[output]);
    uint64_t bits = element(g, value, output, i);
    return llfi_dtype_is_float(dtype) ? llfi_bits_to_f64(dtype, bits) : (double)llfi_bits_to_i64(dtype, bits);
}

static bool same_bits(llf_dtype dtype, uint64_t a, uint64_t b)
{
    bool nans = llfi_dtype_is_float(dtype) && llfi_bits_nan(dtype, a) && llfi_bits_nan(dtype, b);
    return a == b || nans;
}

/* The sum of softmax_stats is of functions. */
static bool near(llf_dtype dtype, uint64_t a, uint64_t b)
{
    double x = llfi_bits_to_f64(dtype, a), y = llfi_bits_to_f64(dtype, b);
    return x == y || fabs(x - y) <= fabs(y) * (dtype == LLF_F64 ? 1e-13 : 4e-6);
}

static void the_order_is_numpys(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    for (size_t k = 0; k < LLFI_COUNT(reduce_table); k++) {
        const char *op = reduce_table[k].op;
        llf_dtype in = reduce_table[k].dtype, out = reduce_table[k].out;
        bool sums = strcmp(op, "sum") == 0 || strcmp(op, "prod") == 0;
        bool stats = strcmp(op, "moments") == 0 || strcmp(op, "softmax_stats") == 0;
        char text[256];
        int64_t n = reduce_table[k].length;
        snprintf(text, sizeof text, "graph @g(%%x: %s[N]) {\n %%0%s = %s %%x%s%s\n ret %%0%s\n}",
                 llf_dtype_name(in), stats ? ", %1" : "", op, sums ? ", out=" : "",
                 sums ? llf_dtype_name(out) : "", stats ? ", %1" : "");
        llf_graph *g = parse(cx, text);
        void *x = make_row(reduce_table[k].kind, in, n);
        llfi_arena arena;
        llfi_arena_init(&arena, &cx->mem);
        void **value = run(g, &arena, n, (const void *const[]){x});
        uint64_t at[2] = {0, 0};
        assert_int_equal(llfi_interp_at(g, &n, (const void *const[]){x}, &arena, g->outputs.at,
                                        (uint32_t)g->outputs.count, 0, at),
                         LLF_OK);
        for (size_t r = 0; r < g->outputs.count; r++) {
            uint64_t got = element(g, value, r, 0), want = reduce_table[k].bits[r];
            assert_int_equal(llfi_dtype_of(g, g->outputs.at[r]), out);
            bool ok =
                r && strcmp(op, "softmax_stats") == 0 ? near(out, got, want) : same_bits(out, got, want);
            if (!ok || at[r] != got)
                fail_msg("%s of %lld %s, result %zu: %llx and alone %llx instead of %llx", op, (long long)n,
                         llf_dtype_name(in), r, (unsigned long long)got, (unsigned long long)at[r],
                         (unsigned long long)want);
        }
        llfi_arena_destroy(&arena);
        free(x);
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
}

/* ---- axes: the numbering is row-major over the axes that go, which permute and reshape make one axis */

static void several_axes_are_one_row(void **state)
{
    static const char *const ops[] = {"sum", "prod", "max", "argmax", "argmin"};
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    for (size_t k = 0; k < LLFI_COUNT(ops); k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "graph @g(%%x: f32[3, N, 4, 2]) {\n"
                 "  %%a = %s %%x, axes=[-2, 0]\n"
                 "  %%p = permute %%x, axes=[1, 3, 0, 2]\n  %%q = reshape %%p, shape=[N, 2, 12]\n"
                 "  %%b = %s %%q, axes=[2]\n"
                 "  %%c = %s %%x, axes=[0, 2], keepdims\n"
                 "  %%d = %s %%x\n  %%r = reshape %%x, shape=[-1]\n  %%e = %s %%r, axes=[0]\n"
                 "  %%f = %s %%x, axes=[]\n  %%s = expand_dims %%x, axes=[-1]\n  %%h = %s %%s, axes=[4]\n"
                 "  ret %%a, %%b, %%c, %%d, %%e, %%f, %%h\n}",
                 ops[k], ops[k], ops[k], ops[k], ops[k], ops[k], ops[k]);
        llf_graph *g = parse(cx, text);
        int64_t n = 70;
        void *x = make_row(k == 1 ? NEAR1 : WIDE, LLF_F32, 24 * n);
        llfi_arena arena;
        llfi_arena_init(&arena, &cx->mem);
        void **value = run(g, &arena, n, (const void *const[]){x});
        for (size_t i = 0; i < 2 * (size_t)n; i++) {
            assert_int_equal(element(g, value, 0, i), element(g, value, 1, i));
            assert_int_equal(element(g, value, 2, i), element(g, value, 1, i));
        }
        assert_int_equal(element(g, value, 3, 0), element(g, value, 4, 0));
        for (size_t i = 0; i < 24 * (size_t)n; i++) { /* nothing goes: each element by itself */
            assert_int_equal(element(g, value, 5, i), element(g, value, 6, i));
            assert_int_equal(element(g, value, 5, i), k < 3 ? ((uint32_t *)x)[i] : 0);
        }
        for (int64_t i = 0; i < 2 * n; i += 13) {
            uint64_t bits[3];
            assert_int_equal(
                llfi_interp_at(g, &n, (const void *const[]){x}, &arena, g->outputs.at, 3, i, bits), LLF_OK);
            assert_true(bits[0] == element(g, value, 0, (size_t)i) && bits[1] == bits[0] &&
                        bits[2] == bits[0]);
        }
        llfi_arena_destroy(&arena);
        free(x);
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
}

/* ---- values that numbers alone decide: a row of text literals, the op, the result */

typedef struct {
    const char *op, *dtype; /* and attributes behind the dtype of the result */
    const char *row;        /* elements, or "" */
    const char *want;
} decided;

static uint64_t literal(llf_dtype dtype, const char *text, size_t bytes)
{
    uint64_t bits;
    assert_int_equal(llfi_literal_parse(NULL, (llfi_place){0}, dtype, text, bytes, &bits), LLF_OK);
    return bits;
}

static void check_row(llf_context *cx, const decided *d)
{
    char text[256];
    llf_dtype in = LLF_F32;
    int64_t n = 0;
    unsigned char row[64 * 8];
    assert_true(llfi_dtype_find(d->dtype, strlen(d->dtype), &in));
    for (const char *p = d->row; *p; p += strspn(p, " "), n++) {
        size_t bytes = strcspn(p, " ");
        llfi_bits_store(in, row + (size_t)n * llf_dtype_size(in), literal(in, p, bytes));
        p += bytes;
    }
    snprintf(text, sizeof text, "graph @g(%%x: %s[N]) {\n %%0 = %s\n ret %%0\n}", d->dtype, d->op);
    llf_graph *g = parse(cx, text);
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    void **value = run(g, &arena, n, (const void *const[]){row});
    llf_dtype out = llfi_dtype_of(g, g->outputs.at[0]);
    uint64_t got = element(g, value, 0, 0), want = literal(out, d->want, strlen(d->want));
    if (!same_bits(out, got, want))
        fail_msg("%s of %s [%s]: %llx instead of %s", d->op, d->dtype, d->row, (unsigned long long)got,
                 d->want);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
}

static void check_rows(const decided *d, size_t count)
{
    llf_context *cx = llf_context_create(NULL);
    for (size_t i = 0; i < count; i++)
        check_row(cx, &d[i]);
    llf_context_destroy(cx);
}

/* SEMANTICS B11 */
static void places(void **state)
{
    static const decided rows[] = {
        {"argmax %x", "f32", "3 nan 1 5", "1"},
        {"argmax %x", "f32", "nan 1 nan", "0"},
        {"argmax %x", "f32", "1 2 nan", "2"},
        {"argmax %x", "f32", "2 5 5 1", "1"},
        {"argmax %x", "f32", "-inf -inf", "0"},
        {"argmax %x", "i32", "-2147483648 -2147483648", "0"},
        {"argmax %x", "bool", "false true true", "1"},
        {"argmin %x", "bool", "true false false", "1"},
        {"argmin %x", "bf16", "3 1 nan 1", "2"},
        {"argmin %x", "f16", "3 1 2 1", "1"},
        {"argmax %x", "f32", "-0.0 0.0 -0.0", "1"},
        {"argmin %x", "f32", "0.0 -0.0 0.0", "1"},
        {"argmax %x", "f64", "0.0 -0.0 0.0", "0"},
        {"argmax %x", "i64", "1 9223372036854775807 2", "1"},
        {"max %x", "f32", "3 nan 1 5", "nan"},
        {"min %x", "f32", "inf nan", "nan"},
        {"max %x", "f32", "-0.0 0.0 -0.0", "0.0"},
        {"min %x", "f32", "0.0 -0.0 0.0", "-0.0"},
        {"max %x", "f32", "-inf -inf", "-inf"},
        {"max %x", "i32", "-2147483648 -5", "-5"},
        {"max %x", "bool", "false false", "false"},
        {"min %x", "bool", "true false", "false"},
        {"max %x", "bool", "false true", "true"},
        {"min %x", "i64", "5 -9223372036854775808", "-9223372036854775808"},
    };
    (void)state;
    check_rows(rows, LLFI_COUNT(rows));
}

/* Places in long rows, across chunks: equal maxima, NaN; of a row of 9 x 2 the row-major place. */
static void places_in_long_rows(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parse(cx, "graph @g(%x: f32[N]) {\n %0 = argmax %x\n %1 = max %x\n ret %0, %1\n}");
    int64_t n = 100000;
    float *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(i % 97);
    x[5] = x[70000] = 1000;
    for (int round = 0; round < 2; round++) {
        llfi_arena arena;
        llfi_arena_init(&arena, &cx->mem);
        void **value = run(g, &arena, n, (const void *const[]){x});
        assert_true(real(g, value, 0, 0) == 5);
        assert_true(round ? isnan(real(g, value, 1, 0)) : real(g, value, 1, 0) == 1000);
        x[5] = x[99999] = NAN;
        llfi_arena_destroy(&arena);
    }
    free(x);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* SEMANTICS B16: floats of 16 bits are summed in f32, and narrowed once; integers wrap where they are. */
static void accumulators(void **state)
{
    static const decided rows[] = {
        {"sum %x", "f16", "32000 32000 32000 32000 -32000 -32000 -32000 -32000", "0"},
        {"sum %x", "f16", "60000 60000", "inf"},
        {"sum %x, out=f32", "f16", "60000 60000 60000 60000", "240000"},
        {"sum %x", "bf16", "256 1 1 1 1", "260"},
        {"sum %x", "f32", "16777216 1 1", "16777216"},
        {"sum %x, out=f64", "f32", "16777216 1 1", "16777218"},
        {"sum %x, out=f32", "f64", "16777216 1 1", "16777218"},
        {"sum %x", "i32", "2147483647 1", "-2147483648"},
        {"sum %x, out=i64", "i32", "2147483647 1", "2147483648"},
        {"sum %x, out=i32", "i64", "4294967296 7", "7"},
        {"sum %x, out=f64", "i64", "9007199254740993 0", "9007199254740992"},
        {"sum %x", "bool", "true true false true", "3"},
        {"sum %x, out=f16", "bool", "true true", "2"},
        {"prod %x", "bool", "true false", "0"},
        {"prod %x", "i32", "65536 65536", "0"},
        {"prod %x, out=i64", "i32", "65536 65536", "4294967296"},
        {"prod %x", "f16", "256 256 0.00390625", "256"},
    };
    (void)state;
    check_rows(rows, LLFI_COUNT(rows));
}

/* Of B16, longer rows: f16 sums of ones stop at 2048. */
static void sums_of_ones(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parse(cx, "graph @g(%x: f16[N]) {\n %0 = sum %x\n %1 = sum %x, out=f32\n"
                             "  %n = count dtype=f32, shape=[N]\n  %2 = div %1, %n\n"
                             "  %3 = cast %2, dtype=f16\n  ret %0, %3\n}");
    int64_t n = 65536;
    uint16_t *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = 0x3c00;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    void **value = run(g, &arena, 4096, (const void *const[]){x});
    assert_true(real(g, value, 0, 0) == 4096);
    value = run(g, &arena, n, (const void *const[]){x});
    assert_true(isinf(real(g, value, 0, 0)) && real(g, value, 1, 0) == 1);
    llfi_arena_destroy(&arena);
    free(x);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* SEMANTICS B25 and the corners of the order. */
static void nothing_and_corners(void **state)
{
    static const decided rows[] = {
        {"sum %x", "f32", "", "0.0"},
        {"sum %x", "f32", "-0.0", "-0.0"},
        {"sum %x", "f32", "-0.0 -0.0 -0.0", "-0.0"},
        {"sum %x", "f32", "-0.0 0.0", "0.0"},
        {"sum %x", "i32", "", "0"},
        {"prod %x", "f32", "", "1"},
        {"prod %x", "i64", "", "1"},
        {"prod %x", "bf16", "-0.0", "-0.0"},
        {"any %x", "f32", "", "false"},
        {"all %x", "f32", "", "true"},
        {"any %x", "f32", "0.0 -0.0", "false"},
        {"any %x", "f32", "0.0 nan", "true"},
        {"all %x", "f32", "1 nan -inf", "true"},
        {"all %x", "f32", "1 -0.0", "false"},
        {"any %x", "i32", "0 0 256", "true"},
        {"all %x", "bool", "true false", "false"},
        {"sum %x", "f32", "inf -inf", "nan"},
        {"sum %x", "f32", "inf 1", "inf"},
        {"sum %x", "f32", "3e38 3e38 -3e38", "3e38"}, /* 0 and 2 come first */
        {"sum %x", "f32", "3e38 -3e38 3e38", "inf"},
        {"prod %x", "f32", "inf 0", "nan"},
        {"sum %x", "f32", "nan 1", "nan"},
    };
    (void)state;
    check_rows(rows, LLFI_COUNT(rows));
}

/* Rows whose statistics are told by arithmetic: nothing, -inf alone, inf, NaN; a row of chunks of -inf. */
static void statistics_of_odd_rows(void **state)
{
    static const struct {
        float x[3];
        int64_t n;
        float m, s, mean, squares;
    } rows[] = {
        {{0}, 0, -INFINITY, 0, NAN, 0},
        {{0}, 1, 0, 1, 0, 0},
        {{-INFINITY, -INFINITY}, 2, -INFINITY, 0, -INFINITY, NAN},
        {{-INFINITY, 0}, 2, 0, 1, -INFINITY, NAN},
        {{INFINITY, 0}, 2, INFINITY, NAN, INFINITY, NAN},
        {{NAN, 0}, 2, NAN, NAN, NAN, NAN},
        {{5, 5, 5}, 3, 7.2134752f, 3, 5, 0},
        {{1, 2, 3}, 3, 4.3280851f, 1.5032148f, 2, 2},
        {{3e38f, 3e38f}, 2, INFINITY, NAN, INFINITY, NAN}, /* times log2(e), and the sum, overflow */
    };
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parse(cx, "graph @g(%x: f32[N]) {\n  %0, %1 = softmax_stats %x\n  %2, %3 = moments %x\n"
                             "  ret %0, %1, %2, %3\n}");
    for (size_t k = 0; k < LLFI_COUNT(rows); k++) {
        const float want[] = {rows[k].m, rows[k].s, rows[k].mean, rows[k].squares};
        llfi_arena arena;
        llfi_arena_init(&arena, &cx->mem);
        void **value = run(g, &arena, rows[k].n, (const void *const[]){rows[k].x});
        for (size_t r = 0; r < 4; r++) {
            double got = real(g, value, r, 0);
            if (!(isnan(want[r]) ? isnan(got)
                                 : got == (double)want[r] || fabs(got - (double)want[r]) < 1e-6 * fabs(got)))
                fail_msg("row %zu, result %zu: %g instead of %g", k, r, got, (double)want[r]);
        }
        llfi_arena_destroy(&arena);
    }
    int64_t n = 3000; /* the first chunk has nothing but -inf */
    float *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = i < 1024 ? -INFINITY : 0;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    void **value = run(g, &arena, n, (const void *const[]){x});
    assert_true(real(g, value, 0, 0) == 0 && real(g, value, 1, 0) == (double)(n - 1024));
    llfi_arena_destroy(&arena);
    free(x);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* SEMANTICS B12: variance does not cancel. Expected of the rounded inputs, in exact arithmetic. */
static void variance(void **state)
{
    static const double base[] = {0, 100, 1000, 1e4, 1e5};
    static const double want[] = {2.125e-5, 2.12567e-5, 2.12537e-5, 2.02656e-5, 3.05176e-5};
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = parse(cx, "graph @g(%x: f32[N, M]) {\n  %0, %1 = moments %x, axes=[1]\n  ret %0, %1\n}");
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    float x[5][16];
    for (size_t k = 0; k < 5; k++)
        for (size_t i = 0; i < 16; i++)
            x[k][i] = (float)(base[k] + (double)i * 1e-3);
    int64_t size[] = {5, 16};
    void **value = llfi_arena_alloc(&arena, g->nodes.count * sizeof *value);
    assert_int_equal(llfi_interp(g, size, (const void *const[]){x}, &arena, value), LLF_OK);
    for (size_t k = 0; k < 5; k++)
        assert_true(fabs(real(g, value, 1, k) / 16 - want[k]) < 5e-6 * want[k]);
    const float far[] = {1e8f, 1e8f + 8, 1e8f + 16, 1e8f + 24};
    int64_t one[] = {1, 4};
    assert_int_equal(llfi_interp(g, one, (const void *const[]){far}, &arena, value), LLF_OK);
    assert_true(real(g, value, 1, 0) == 320);
    int64_t row[] = {1, 32768}; /* around 100, far below what f32 squares hold */
    float *wide = malloc(32768 * sizeof *wide);
    double mean = 0, squares = 0;
    uint32_t s = 1;
    for (size_t i = 0; i < 32768; i++) {
        s = s * 1664525 + 1013904223;
        wide[i] = 100.0f + 0.01f * (float)((int)(s >> 16) - 32768) / 16384.0f;
        mean += (double)wide[i] / 32768;
    }
    for (size_t i = 0; i < 32768; i++)
        squares += ((double)wide[i] - mean) * ((double)wide[i] - mean);
    assert_int_equal(llfi_interp(g, row, (const void *const[]){wide}, &arena, value), LLF_OK);
    assert_true(fabs(real(g, value, 1, 0) - squares) < 1e-5 * squares);
    assert_true(fabs(real(g, value, 0, 0) - mean) < 1e-7 * mean);
    free(wide);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* ---- single elements */

/* An allocator that knows how much there was at once. */
typedef struct {
    size_t now, most;
} meter;

static void *measured(void *user, void *p, size_t old, size_t size)
{
    meter *m = user;
    m->now += size - old;
    m->most = m->now > m->most ? m->now : m->most;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

static uint64_t ones(const void *user, uint32_t input, int64_t at, llf_dtype dtype)
{
    (void)user, (void)input, (void)at;
    return llfi_bits_from_f64(dtype, 1);
}

/* A million elements, each through several nodes and below the maximum of all: what they needed is forgotten,
 * the maximum is not. Sums of ones are exact. */
static void long_rows_take_little_memory(void **state)
{
    (void)state;
    meter m = {0, 0};
    llf_allocator mem = {measured, &m};
    llf_context_options o = {.size = sizeof o, .allocator = &mem, .logs = ""};
    llf_context *cx = llf_context_create(&o);
    llf_graph *g = parse(cx, "graph @g(%x: f32[2, N]) {\n  %m = max %x, axes=[1], keepdims\n"
                             "  %d = sub %x, %m\n  %e = exp2 %d\n  %f = flip %e, axes=[1]\n"
                             "  %s = sum %f, axes=[1], out=f32\n  %p, %q = softmax_stats %f, axes=[1]\n"
                             "  ret %s, %q\n}");
    int64_t n = 200000;
    uint64_t bits[2];
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llfi_interp_from(g, &n, ones, NULL, &arena, g->outputs.at, 2, 1, bits), LLF_OK);
    assert_true(llfi_bits_to_f64(LLF_F32, bits[0]) == 200000);
    assert_true(fabs(llfi_bits_to_f64(LLF_F32, bits[1]) - 200000) < 1);
    if (m.most > 64u << 20)
        fail_msg("%zu bytes", m.most);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* Reductions behind reductions, far more than a stack would hold. */
static void *deep(void *user)
{
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = llf_graph_create(cx, "deep");
    int64_t shape[] = {2, 3};
    llf_id x = llf_input(g, "x", LLF_F32, 2, shape);
    (void)user;
    for (int i = 0; i < 100000; i++) {
        llf_id top = llf_max(g, x, 1, (const int64_t[]){i & 1}, true);
        x = llf_minimum(g, x, top);
    }
    assert_int_equal(llf_output(g, x), LLF_OK);
    const float data[] = {1, 2, 3, 4, 5, 6};
    uint64_t bits;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llfi_interp_at(g, NULL, (const void *const[]){data}, &arena, g->outputs.at, 1, 4, &bits),
                     LLF_OK);
    assert_true(llfi_bits_to_f64(LLF_F32, bits) == 5);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    return NULL;
}

static void a_deep_chain_of_reductions(void **state)
{
    (void)state;
    limits_small_stack(deep, NULL);
}

/* Every allocation of both ways fails in turn. */
static void memory_runs_out(void **state)
{
    (void)state;
    int64_t left = INT64_MAX, n = 2100;
    llf_allocator mem = {limits_resize, &left};
    llf_context_options o = {.size = sizeof o, .allocator = &mem, .logs = ""};
    llf_context *cx = llf_context_create(&o);
    llf_graph *g = parse(cx, "graph @g(%x: f32[N]) {\n  %m = max %x, keepdims\n  %d = sub %x, %m\n"
                             "  %s, %t = moments %d\n  ret %s, %t\n}");
    float *x = make_row(WIDE, LLF_F32, n);
    const void *data[] = {x};
    uint32_t failed[2] = {0, 0};
    for (int way = 0; way < 2; way++)
        for (int64_t k = 0;; k++) {
            uint64_t bits[2];
            llfi_arena arena;
            llfi_arena_init(&arena, &cx->mem);
            left = INT64_MAX;
            void **value = llfi_arena_alloc(&arena, g->nodes.count * sizeof *value);
            left = k;
            llf_status status = way ? llfi_interp_at(g, &n, data, &arena, g->outputs.at, 2, 0, bits)
                                    : llfi_interp(g, &n, data, &arena, value);
            left = INT64_MAX;
            llfi_arena_destroy(&arena);
            if (status == LLF_OK)
                break;
            assert_int_equal(status, LLF_E_NOMEM);
            failed[way]++;
        }
    assert_true(failed[0] > 8 && failed[1] > 16);
    free(x);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_numpys),
        cmocka_unit_test(several_axes_are_one_row),
        cmocka_unit_test(places),
        cmocka_unit_test(places_in_long_rows),
        cmocka_unit_test(accumulators),
        cmocka_unit_test(sums_of_ones),
        cmocka_unit_test(nothing_and_corners),
        cmocka_unit_test(statistics_of_odd_rows),
        cmocka_unit_test(variance),
        cmocka_unit_test(long_rows_take_little_memory),
        cmocka_unit_test(a_deep_chain_of_reductions),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
