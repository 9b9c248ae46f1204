/* test_lower_rows_run.c: kernels with reductions as GPUs run them, thread by thread (gpu_emulate.h), against
 * the interpreter, bit by bit: lengths around vectors, lanes and chunks, rows alone and many, extents that
 * are constants and symbols, misaligned buffers, rows that are kept, read again, split over blocks, and
 * folded in scratch. */
#include "lower_graph.h"

#include "gpu_emulate.h"
#include "interp/interp.h"
#include "ir/float.h"
#include "passes/pass.h"

#include <inttypes.h>
#include <math.h>

static uint64_t seed;
static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Values whose sums round, zeros of both signs, and now and then something special. */
static uint64_t bits_of(llf_dtype t, bool special)
{
    double x = ((double)below(2000001) - 1000000) / (1 << below(22));
    if (below(16) == 0)
        x = below(2) ? 0.0 : -0.0;
    if (special && below(200) == 0)
        x = below(3) == 0 ? (double)NAN : below(2) ? (double)INFINITY : -(double)INFINITY;
    float f = (float)x;
    uint64_t bits = 0;
    uint32_t bits32;
    memcpy(&bits32, &f, sizeof bits32);
    switch (t) {
    case LLF_F64: memcpy(&bits, &x, sizeof x); return bits;
    case LLF_F32: return bits32;
    case LLF_F16: return llfi_f16_from_f64(x / 64);
    case LLF_BF16: return llfi_bf16_from_f64(x);
    case LLF_BOOL: return below(8) == 0;
    case LLF_I32: return below(3) ? below(17) : (uint32_t)below(UINT32_MAX);
    default: return ((uint64_t)below(UINT32_MAX) << 20) - below(UINT32_MAX);
    }
}

typedef struct {
    llf_context *cx;
    llf_graph *g;
    llfi_arena arena;
    llfi_plan plan;
    int64_t symbol[8];
    emulate_buffer *buffer; /* by node */
    void **data, **value;   /* value: the interpreter's */
    const char *text;
    double bound; /* relative, of values; 0: the same bits */
} run;

typedef struct {
    uint32_t columns, kept, again, split, several, lanes, scratch;
} roads;
static roads taken;
static uint32_t state_scale = 1; /* partial results take so many times their room */

static void must(const run *r, llf_status status)
{
    if (status != LLF_OK)
        fail_msg("%s\n%s", llf_last_error(r->cx)->message, r->text);
}

static void run_fill(run *r, bool special, uint32_t misaligned)
{
    const llf_graph *g = r->g;
    uint32_t nodes = (uint32_t)g->nodes.count;
    const void **in = llfi_arena_alloc(&r->arena, (nodes + 1) * sizeof *in);
    r->buffer = llfi_arena_alloc(&r->arena, (nodes + 1) * sizeof *r->buffer);
    r->data = llfi_arena_alloc(&r->arena, (nodes + 1) * sizeof *r->data);
    r->value = llfi_arena_alloc(&r->arena, (nodes + 1) * sizeof *r->value);
    assert_true(in && r->buffer && r->data && r->value);
    for (uint32_t i = 0; i < nodes; i++) {
        int64_t bytes;
        uint32_t size = llfi_dtypes[llfi_dtype_of(g, i)].bytes;
        assert_int_equal(llfi_type_size(g, llfi_type_of(g, i), r->symbol, size, &bytes), LLF_OK);
        r->buffer[i] = emulate_alloc((size_t)bytes, misaligned && below(misaligned) == 0 ? size : 16);
        r->data[i] = r->buffer[i].data;
    }
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        llf_dtype t = llfi_dtype_of(g, id);
        in[i] = r->data[id];
        for (size_t k = 0; k < r->buffer[id].bytes / llfi_dtypes[t].bytes; k++)
            llfi_bits_store(t, (char *)r->data[id] + k * llfi_dtypes[t].bytes, bits_of(t, special));
    }
    assert_int_equal(llfi_interp(g, r->symbol, in, &r->arena, r->value), LLF_OK);
}

static bool is_nan(llf_dtype t, const void *at)
{
    double d;
    float f;
    uint16_t h;
    switch (t) {
    case LLF_F64: memcpy(&d, at, 8); return d != d;
    case LLF_F32: memcpy(&f, at, 4); return f != f;
    case LLF_F16: memcpy(&h, at, 2); return llfi_f32_from_f16(h) != llfi_f32_from_f16(h);
    case LLF_BF16: memcpy(&h, at, 2); return llfi_f32_from_bf16(h) != llfi_f32_from_bf16(h);
    default: return false;
    }
}

/* Powers of 2 are functions: within a bound. */
static bool near(llf_dtype t, const void *a, const void *b, double bound)
{
    double x = 0, y = 0;
    float f[2];
    memcpy(&f[0], a, 4);
    memcpy(&f[1], b, 4);
    if (t == LLF_F64) {
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
    } else if (t == LLF_F32) {
        x = (double)f[0];
        y = (double)f[1];
    }
    return bound > 0 && fabs(x - y) <= bound * fabs(y);
}

static void note(const llfi_schedule *s, const run *r)
{
    int64_t rows, length;
    assert_true(llfi_dim_eval(r->g->dims, s->dim[s->row.count], r->symbol, &rows));
    assert_true(llfi_dim_eval(r->g->dims, s->dim[s->row.length], r->symbol, &length));
    taken.kept += s->row.kept && s->row.warps > 1;
    taken.again += !s->row.kept && !s->row.split && s->row.warps > 1;
    taken.several += s->row.rows > 1;
    taken.lanes += s->row.lanes < 32;
    taken.scratch += state_scale > 1 && !s->row.split && s->row.warps > 1;
}

static void run_kernel(run *r, uint32_t k, const llfi_target *gpu)
{
    llfi_schedule s;
    const llfi_kernel *kernel = &r->plan.kernel[k];
    must(r, llfi_schedule_make(r->cx, r->g, &r->plan, k, gpu, &r->arena, &s));
    s.row.bytes *= state_scale;
    if (s.skeleton == &llfi_skeleton_rows_nvptx)
        note(&s, r);
    taken.columns += s.skeleton == &llfi_skeleton_columns_nvptx;
    emulate_kernel(r->cx, r->g, kernel, &s, gpu, &r->arena, r->symbol, r->data);
    for (uint32_t i = 0; i < kernel->stores; i++) {
        llf_id id = kernel->store[i];
        llf_dtype t = llfi_dtype_of(r->g, id);
        uint32_t size = llfi_dtypes[t].bytes;
        const char *got = r->data[id], *want = r->value[id];
        for (size_t b = 0; b < r->buffer[id].bytes; b += size)
            if (memcmp(got + b, want + b, size) != 0 && !(is_nan(t, got + b) && is_nan(t, want + b)) &&
                !near(t, got + b, want + b, r->bound)) {
                uint64_t x = 0, y = 0;
                memcpy(&x, got + b, size);
                memcpy(&y, want + b, size);
                fail_msg("[%d, %d] node %u, element %zu of %zu: %" PRIx64 ", not %" PRIx64
                         " (%s, warps %u, lanes %u, rows %u, kept %u, split %d)\n%s",
                         (int)r->symbol[0], (int)r->symbol[1], id, b / size, r->buffer[id].bytes / size, x, y,
                         s.skeleton->name, s.row.warps, s.row.lanes, s.row.rows, s.row.kept, s.row.split,
                         r->text);
            }
    }
}

/* Extents of symbols A, B, C, ... */
static void run_text(const char *text, double bound, const int64_t *extent, bool special, uint32_t misaligned)
{
    run r = {.text = text, .bound = bound};
    llfi_target gpu;
    llfi_passes_state state = {0};
    const llfi_backend backend = emulate_backend();
    r.cx = llf_context_create(NULL);
    llfi_arena_init(&r.arena, &llfi_malloc_allocator);
    must(&r, llf_graph_parse(r.cx, text, strlen(text), "t", &r.g));
    llfi_plan_init(&r.plan, &r.cx->mem);
    llfi_fuse_options_default(&state.fuse);
    must(&r, llfi_passes_run(r.cx, r.g, NULL, 0, &state, &r.plan));
    for (uint32_t i = 0; i < llfi_dims_symbols(r.g->dims); i++)
        r.symbol[i] = extent[llfi_dims_symbol_name(r.g->dims, i)[0] - 'A'];
    run_fill(&r, special, misaligned);
    assert_int_equal(llfi_target_make(r.cx, "host", &gpu), LLF_OK);
    gpu.backend = &backend;
    for (uint32_t k = 0; k < r.plan.kernels; k++)
        run_kernel(&r, k, &gpu);
    for (uint32_t i = 0; i < r.g->nodes.count; i++) {
        emulate_untouched(&r.buffer[i]);
        emulate_free(&r.buffer[i]);
    }
    llfi_plan_destroy(&r.plan);
    llfi_arena_destroy(&r.arena);
    llf_graph_destroy(r.g);
    llf_context_destroy(r.cx);
}

/* `%s` twice: the extents of x, the number of rows and their length. */
static void run_rows(const char *form, double bound, int64_t rows, int64_t length, bool open)
{
    char text[2000], dims[2][24];
    snprintf(dims[0], sizeof dims[0], open ? "A" : "%" PRId64, rows);
    snprintf(dims[1], sizeof dims[1], open ? "B" : "%" PRId64, length);
    const char *from = form;
    size_t at = 0;
    for (; *from; from++) {
        if (*from == '$')
            at += (size_t)snprintf(text + at, sizeof text - at, "%s", dims[*++from == 'L']);
        else
            text[at++] = *from;
    }
    text[at] = 0;
    run_text(text, bound, (const int64_t[]){rows, length}, below(3) == 0, below(2) ? 2 : 0);
}

#define column_sum "graph @sum(%x: f32[$L, $R]) {\n  %s = sum %x, axes=[0]\n  ret %s\n}\n"

#define sum_of_nothing \
    "graph @none(%x: f64[$R, $L]) {\n  %m, %s = softmax_stats %x, axes=[1]\n  ret %m, %s\n}\n"

enum { SUM, SUM16, MIXED, CHAIN, INTS, NORM, MOMENTS, DOUBLES, SOFTMAX };
static const struct {
    const char *text;
    double bound;
} forms[] = {
    {"graph @sum(%x: f32[$R, $L]) {\n  %s = sum %x, axes=[1]\n  ret %s\n}\n", 0},
    {"graph @sum16(%x: bf16[$R, $L]) {\n  %s = sum %x, axes=[1]\n  ret %s\n}\n", 0},
    {"graph @mixed(%x: f32[$R, $L], %y: f16[$R, $L]) {\n  %z = cast %y, dtype=f32\n  %w = mul %x, %z\n"
     "  %s = sum %w, axes=[1]\n  %m = max %x, axes=[1]\n  %a = argmax %w, axes=[1]\n  ret %s, %m, %a\n}\n",
     0},
    {"graph @chain(%x: f32[$R, $L], %b: f32[$R]) {\n  %m = max %x, axes=[1], keepdims\n  %d = sub %x, %m\n"
     "  %s = sum %d, axes=[1], keepdims\n  %y = div %d, %s\n  %t = squeeze %s, axes=[1]\n  %u = add %t, %b\n"
     "  ret %y, %u\n}\n",
     0},
    {"graph @ints(%x: i32[$R, $L], %b: bool[$R, $L]) {\n  %s = sum %x, axes=[1], out=i64\n  %p = prod %x, "
     "axes=[1]\n"
     "  %n = sum %b, axes=[1]\n  %o = any %b, axes=[1]\n  %q = argmin %x, axes=[1]\n  ret %s, %p, %n, %o, "
     "%q\n}\n",
     0},
    {"graph @norm(%x: bf16[$R, $L]) {\n  %m, %d = moments %x, axes=[1], keepdims\n  %y = cast %x, dtype=f32\n"
     "  %z = sub %y, %m\n  %w = mul %z, %d\n  ret %w, %d\n}\n",
     0},
    {"graph @moments(%x: f32[$R, $L], %y: f64[$R, $L]) {\n  %m, %d = moments %x, axes=[1]\n"
     "  %n, %e = moments %y, axes=[1]\n  %s = sum %x, axes=[1]\n  ret %m, %d, %n, %e, %s\n}\n",
     0},
    {"graph @doubles(%x: f64[$R, $L], %y: f64[$R, $L]) {\n  %z = add %x, %y\n  %s = sum %z, axes=[1]\n"
     "  %m = min %z, axes=[1]\n  ret %z, %s, %m\n}\n",
     0},
    {"graph @softmax(%x: f32[$R, $L], %y: f64[$R, $L]) {\n  %m, %s = softmax_stats %x, axes=[1], keepdims\n"
     "  %d = sub %x, %m\n  %e = div %d, %s\n  %n, %t = softmax_stats %y, axes=[1]\n  ret %m, %s, %e, %n, "
     "%t\n}\n",
     2e-6},
};

/* All combinations take a minute: one in `step`, LLFUSE_ROWS_ALL: all. */
static bool skipped(size_t f, size_t i, int open, size_t step)
{
    return !getenv("LLFUSE_ROWS_ALL") && (f * 3 + i * 2 + (size_t)open) % step != 0;
}

static void lengths(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 7, 8, 31, 32, 33, 255, 256, 257, 1000, 1023, 1024, 1025, 4096, 8200};
    for (size_t f = 0; f < LLFI_COUNT(forms); f++)
        for (size_t i = 0; i < LLFI_COUNT(length); i++)
            for (int open = 0; open < 2; open++) {
                int64_t n = length[i];
                seed = f * 1000 + i * 10 + (size_t)open;
                if (!skipped(f, i, open, 7))
                    run_rows(forms[f].text, forms[f].bound,
                             1 + below(n > 2000  ? 2
                                       : n > 200 ? 5
                                                 : 40),
                             n, open);
            }
    print_message("kept %u, again %u, split %u, several %u, lanes %u\n", taken.kept, taken.again,
                  emulate.split, taken.several, taken.lanes);
    assert_true(taken.kept && taken.again && emulate.split && taken.several && taken.lanes);
}

/* More chunks than a warp folds at once, pieces too; arrays that shared memory is too small for. */
static void long_rows(void **state)
{
    (void)state;
    const int64_t n = 140000;
    uint32_t before = emulate.split;
    seed = 77;
    run_rows(forms[SUM].text, 0, 1, n, true);
    run_rows(forms[MOMENTS].text, 0, 1, 20001, true);
    assert_true(emulate.split >= before + 2);
    run_rows(forms[CHAIN].text, 0, 1, n, true);
    state_scale = 100;
    run_rows(forms[CHAIN].text, 0, 2, n, true);
    run_rows(forms[SOFTMAX].text, forms[SOFTMAX].bound, 2, 100001, true);
    state_scale = 1;
    assert_true(taken.scratch >= 2);
}

/* softmax_stats of numbers whose exponents overflow: NaN, in a lone chunk as in several. */
static void exponents_that_overflow(void **state)
{
    (void)state;
    static const char form[] = "graph @over(%x: f32[$R, $L]) {\n  %z = mul %x, 0.0\n  %h = add %z, 3e38\n"
                               "  %m, %s = softmax_stats %h, axes=[1]\n  ret %m, %s\n}\n";
    seed = 5;
    for (int open = 0; open < 2; open++) {
        run_rows(form, 0, 3, 7, open);
        run_rows(form, 0, 2, 1500, open);
    }
}

static void no_elements(void **state)
{
    (void)state;
    seed = 3;
    for (int rows = 0; rows < 10; rows += 9) {
        run_rows(forms[SUM].text, 0, rows, 0, true);
        run_rows(sum_of_nothing, 0, rows, 0, false);
        run_rows(forms[MOMENTS].text, 0, rows, 0, true);
        run_rows(forms[SOFTMAX].text, 0, rows, 0, true);
    }
    run_rows(forms[SUM].text, 0, 0, 100, true);
    run_rows(column_sum, 0, 9, 0, true);
    run_rows(column_sum, 0, 0, 9, true);
}

static const char *const column_forms[] = {
    column_sum,
    "graph @middle(%x: bf16[3, $L, $R], %b: bf16[$R], %c: f32[3, $R]) {\n  %z = mul %x, %b\n"
    "  %s = sum %z, axes=[1], out=f32\n  %t = add %s, %c\n  %m = argmax %x, axes=[1], keepdims\n  ret %z, "
    "%t, %m\n}\n",
    "graph @two(%x: f64[2, $L, 3, $R], %y: i32[2, $L, 3, $R]) {\n  %s = sum %x, axes=[0, 1]\n"
    "  %p = prod %y, axes=[0, 1]\n  %a = any %y, axes=[0, 1]\n  ret %s, %p, %a\n}\n",
};

static void columns(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 9, 33, 257, 1024, 1030, 3100}, rows[] = {8, 64, 65, 100, 17};
    for (size_t f = 0; f < LLFI_COUNT(column_forms); f++)
        for (size_t i = 0; i < LLFI_COUNT(length); i++)
            for (int open = 0; open < 2; open++) {
                seed = f * 1000 + i * 10 + (size_t)open;
                if (!skipped(f, i, open, 4))
                    run_rows(column_forms[f], 0, rows[below(LLFI_COUNT(rows))], length[i], open);
            }
    uint32_t before = emulate.split;
    run_rows(column_forms[0], 0, 8, 20000, true); /* more pieces than a thread folds at once */
    assert_int_equal(emulate.split, before + 1);
    print_message("columns %u\n", taken.columns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths), cmocka_unit_test(columns),
                                       cmocka_unit_test(long_rows), cmocka_unit_test(exponents_that_overflow),
                                       cmocka_unit_test(no_elements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
