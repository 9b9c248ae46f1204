/* Tiled kernels, run thread by thread (gpu_emulate.h), against the interpreter: random permutes, slices,
 * flips and broadcasts of every dtype, extents around tiles and vectors, symbols, misaligned buffers. All
 * values are small integers, so that every result is exact. */
#include "lower_graph.h"

#include "gpu_emulate.h"
#include "interp/interp.h"
#include "ir/float.h"
#include "passes/pass.h"

#include <inttypes.h>

#define COUNT 120
#define ELEMENTS 30000

static uint64_t seed;
static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

typedef struct {
    char text[4400], inputs[2000], body[2000];
    uint32_t rank, values;
    int64_t extent[6];
    bool symbol[6];
    const char *dtype;
} writer;

static const char *const dtypes[] = {"f32", "bf16", "f64", "i32", "i64", "f16", "bool"};

static void dim(writer *w, char *to, uint32_t axis, uint32_t more)
{
    char text[40];
    if (w->symbol[axis])
        snprintf(text, sizeof text, more ? "D%u+%u" : "D%u", axis, more);
    else
        snprintf(text, sizeof text, "%" PRId64, w->extent[axis] + more);
    strcat(to, text);
}

/* Input `index`: its axis i is the graph's axes[i], `more` elements longer, or stretched. */
static void declare(writer *w, uint32_t index, const uint32_t *axes, const char *dtype, uint32_t *more)
{
    char line[200];
    snprintf(line, sizeof line, "%s%%x%u: %s[", index ? ", " : "", index, dtype);
    strcat(w->inputs, line);
    for (uint32_t i = 0; i < w->rank; i++) {
        bool stretched = index && below(12) == 0;
        more[i] = index && !stretched && below(8) == 0 ? 1 + below(8) : 0;
        strcat(w->inputs, i ? ", " : "");
        if (stretched)
            strcat(w->inputs, "1");
        else
            dim(w, w->inputs, axes[i], more[i]);
    }
    strcat(w->inputs, "]");
}

/* One more view of value `name`, whose name it becomes. */
static void view(writer *w, char kind, uint32_t index, char *name, const char *op, const char *list)
{
    char line[400];
    snprintf(line, sizeof line, "  %%%c%u = %s %s, %s\n", kind, index, op, name, list);
    strcat(w->body, line);
    snprintf(name, 24, "%%%c%u", kind, index);
}

/* A list of an item per axis. */
static void item(writer *w, char *list, const char *begin, uint32_t i, const char *text)
{
    strcat(list, i ? ", " : begin);
    strcat(list, text);
    strcat(list, i + 1 == w->rank ? "]" : "");
}

/* An operand: its input and views; the value's name. */
static void operand(writer *w, uint32_t index, char *name)
{
    uint32_t axes[6], more[6] = {0};
    char list[3][160] = {"", "", ""}, text[24];
    bool sliced = false;
    for (uint32_t i = 0; i < w->rank; i++)
        axes[i] = i;
    for (uint32_t i = w->rank; index && i-- > 1;) {
        uint32_t j = below(i + 1), t = axes[i];
        axes[i] = axes[j];
        axes[j] = t;
    }
    const char *dtype = index && below(4) == 0 ? dtypes[below(6)] : w->dtype;
    if (strcmp(w->dtype, "bool") == 0)
        dtype = "bool";
    declare(w, index, axes, dtype, more);
    snprintf(name, 24, "%%x%u", index);
    for (uint32_t i = 0; i < w->rank; i++) {
        snprintf(text, sizeof text, more[i] ? "%u:" : ":", more[i]);
        item(w, list[0], "at=[", i, text);
        sliced = sliced || more[i];
        for (uint32_t j = 0; j < w->rank; j++)
            if (axes[j] == i) {
                snprintf(text, sizeof text, "%u", j);
                item(w, list[1], "axes=[", i, text);
            }
    }
    if (sliced)
        view(w, 's', index, name, "slice", list[0]);
    if (index && below(5) == 0) {
        snprintf(list[2], sizeof list[2], "axes=[%u]", below(w->rank));
        view(w, 'f', index, name, "flip", list[2]);
    }
    if (index)
        view(w, 'p', index, name, "permute", list[1]);
    snprintf(list[2], sizeof list[2], "dtype=%s", w->dtype);
    if (strcmp(dtype, w->dtype) != 0)
        view(w, 'c', index, name, "cast", list[2]);
}

static void write_graph(writer *w)
{
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  12, 16,  17,  24,
                                    31, 32, 33, 48, 64, 65, 70, 96, 128, 200, 257};
    int64_t elements = 1;
    *w = (writer){.rank = 2 + below(4), .dtype = dtypes[below(7)]};
    for (uint32_t i = 0; i < w->rank; i++) {
        do
            w->extent[i] = sizes[below(LLFI_COUNT(sizes))];
        while (elements * w->extent[i] > ELEMENTS);
        elements *= w->extent[i];
        w->symbol[i] = below(3) == 0;
    }
    if (below(40) == 0)
        w->extent[below(w->rank)] = 0;
    uint32_t operands = 2 + below(3);
    char name[24], line[200], sum[24] = "";
    for (uint32_t i = 0; i < operands; i++) {
        operand(w, i, name);
        bool first = i == 0;
        if (first) {
            strcpy(sum, name);
            continue;
        }
        snprintf(line, sizeof line, "  %%r%u = %s %s, %s\n", i, strcmp(w->dtype, "bool") ? "add" : "ne", sum,
                 name);
        strcat(w->body, line);
        snprintf(sum, sizeof sum, "%%r%u", i);
    }
    snprintf(w->text, sizeof w->text, "graph @t(%s) {\n%s  ret %s%s%s\n}\n", w->inputs, w->body, sum,
             operands > 2 && below(3) == 0 ? ", %r1" : "", "");
}

static uint64_t bits_of(llf_dtype t, uint32_t x)
{
    float f = (float)x;
    double d = x;
    uint32_t u;
    uint64_t v;
    memcpy(&u, &f, 4);
    memcpy(&v, &d, 8);
    switch (t) {
    case LLF_F32: return u;
    case LLF_F64: return v;
    case LLF_BF16: return u >> 16;
    case LLF_F16: return llfi_f16_from_f64(d);
    case LLF_BOOL: return x & 1;
    default: return x;
    }
}

static uint32_t tiled;

typedef struct {
    llf_context *cx;
    llf_graph *g;
    llfi_arena arena;
    llfi_plan plan;
    int64_t symbol[8];
    emulate_buffer *buffer; /* by node */
    void **data, **value;   /* value: the interpreter's */
} run;

static void must(const run *r, llf_status status, const writer *w)
{
    if (status != LLF_OK)
        fail_msg("%s\n%s", llf_last_error(r->cx)->message, w->text);
}

static void run_prepare(run *r, const writer *w)
{
    llfi_passes_state state = {0};
    r->cx = llf_context_create(NULL);
    llfi_arena_init(&r->arena, &llfi_malloc_allocator);
    must(r, llf_graph_parse(r->cx, w->text, strlen(w->text), "t", &r->g), w);
    llfi_plan_init(&r->plan, &r->cx->mem);
    llfi_fuse_options_default(&state.fuse);
    must(r, llfi_passes_run(r->cx, r->g, NULL, 0, &state, &r->plan), w);
    for (uint32_t i = 0; i < llfi_dims_symbols(r->g->dims); i++)
        r->symbol[i] = w->extent[llfi_dims_symbol_name(r->g->dims, i)[1] - '0'];
}

/* Buffers, inputs in them, and what the interpreter makes of these. */
static void run_fill(run *r)
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
        r->buffer[i] = emulate_alloc((size_t)bytes, below(4) ? 16 : size);
        r->data[i] = r->buffer[i].data;
    }
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        llf_dtype t = llfi_dtype_of(g, id);
        in[i] = r->data[id];
        for (size_t k = 0; k < r->buffer[id].bytes / llfi_dtypes[t].bytes; k++)
            llfi_bits_store(t, (char *)r->data[id] + k * llfi_dtypes[t].bytes, bits_of(t, below(32)));
    }
    assert_int_equal(llfi_interp(g, r->symbol, in, &r->arena, r->value), LLF_OK);
}

static void run_kernel(run *r, uint32_t k, const llfi_target *gpu, const writer *w, uint64_t number)
{
    llfi_schedule s;
    const llfi_kernel *kernel = &r->plan.kernel[k];
    must(r, llfi_schedule_make(r->cx, r->g, &r->plan, k, gpu, &r->arena, &s), w);
    tiled += s.skeleton == &llfi_skeleton_tiled_nvptx;
    emulate_kernel(r->cx, r->g, kernel, &s, gpu, &r->arena, r->symbol, r->data);
    for (uint32_t i = 0; i < kernel->stores; i++) {
        llf_id id = kernel->store[i];
        const unsigned char *got = r->data[id], *want = r->value[id];
        for (size_t b = 0; b < r->buffer[id].bytes; b++)
            if (got[b] != want[b])
                fail_msg("graph %" PRIu64 ", node %u, byte %zu: %02x, not %02x (%s, tile %u x %u, axis %u, "
                         "width %u, threads %u)\n%s",
                         number, id, b, got[b], want[b], s.skeleton->name, s.tile.x, s.tile.y, s.tile.axis,
                         s.width, s.threads, w->text);
    }
}

static void run_text(const writer *w, uint64_t number)
{
    run r = {0};
    llfi_target gpu;
    const llfi_backend backend = emulate_backend();
    run_prepare(&r, w);
    run_fill(&r);
    assert_int_equal(llfi_target_make(r.cx, "host", &gpu), LLF_OK);
    gpu.backend = &backend;
    for (uint32_t k = 0; k < r.plan.kernels; k++)
        run_kernel(&r, k, &gpu, w, number);
    for (uint32_t i = 0; i < r.g->nodes.count; i++) {
        emulate_untouched(&r.buffer[i]);
        emulate_free(&r.buffer[i]);
    }
    llfi_plan_destroy(&r.plan);
    llfi_arena_destroy(&r.arena);
    llf_graph_destroy(r.g);
    llf_context_destroy(r.cx);
}

static void random_views_are_what_the_interpreter_says(void **state)
{
    (void)state;
    static writer w;
    const char *only = getenv("LLFUSE_TILED_ONLY");
    for (uint64_t i = only ? strtoull(only, NULL, 10) : 0; i < COUNT; i++) {
        seed = i * 0x9e3779b97f4a7c15u + 12345;
        write_graph(&w);
        run_text(&w, i);
        if (only)
            break;
    }
    print_message("%u tiled kernels, %u by vectors\n", tiled, emulate.by_vectors);
    if (!only)
        assert_true(tiled > COUNT / 4 && emulate.by_vectors > COUNT / 10);
}

/* No view in the graph: an input whose columns lie side by side. */
static void an_input_by_columns_is_staged(void **state)
{
    (void)state;
    enum { ROWS = 70, COLUMNS = 132 };
    fixture f = fixture_make();
    llfi_target gpu;
    llfi_schedule s;
    const llfi_backend backend = emulate_backend();
    const int64_t shape[] = {llf_symbol(f.g, "R"), llf_symbol(f.g, "C")}, symbol[] = {ROWS, COLUMNS};
    llf_id a = llf_input(f.g, "a", LLF_F32, 2, shape), b = llf_input(f.g, "b", LLF_F32, 2, shape);
    llf_id r = llf_sub(f.g, a, b);
    assert_int_equal(llf_output(f.g, r), LLF_OK);
    whole(&f, a);
    llfi_dim zero = llfi_dim_const(f.g->dims, 0), one = llfi_dim_const(f.g->dims, 1);
    const llfi_stride stride[1][LLFI_RANK] = {{{one, zero}, {llfi_type_of(f.g, b).dim[0], zero}}};
    const llfi_strides strides = {.inputs = 1, .node = &b, .stride = stride};
    f.g->strides = &strides;
    assert_int_equal(llfi_target_make(f.cx, "host", &gpu), LLF_OK);
    gpu.backend = &backend;
    llfi_plan plan = {.kernel = &f.kernel, .kernels = 1};
    assert_int_equal(llfi_schedule_make(f.cx, f.g, &plan, 0, &gpu, &f.arena, &s), LLF_OK);
    assert_ptr_equal(s.skeleton, &llfi_skeleton_tiled_nvptx);
    emulate_buffer buffer[3];
    void *data[3];
    for (int i = 0; i < 3; i++) {
        buffer[i] = emulate_alloc(ROWS * COLUMNS * sizeof(float), 16);
        data[i] = buffer[i].data;
    }
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++) {
            ((float *)data[a])[i * COLUMNS + k] = (float)(1000 * i);
            ((float *)data[b])[k * ROWS + i] = (float)(k + 7 * i);
        }
    emulate_kernel(f.cx, f.g, &f.kernel, &s, &gpu, &f.arena, symbol, data);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            assert_true(((float *)data[r])[i * COLUMNS + k] == (float)(1000 * i - k - 7 * i));
    for (int i = 0; i < 3; i++) {
        emulate_untouched(&buffer[i]);
        emulate_free(&buffer[i]);
    }
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_input_by_columns_is_staged),
                                       cmocka_unit_test(random_views_are_what_the_interpreter_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
