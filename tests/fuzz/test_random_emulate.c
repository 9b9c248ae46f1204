/* test_random_emulate.c: random graphs on the skeletons of nvptx, thread by thread without a GPU
 * (gpu_emulate.h), against the skeletons of the host: with the same arithmetic every bit must be the same.
 * What differs is which points a thread takes, how it loads and stores them, and launch arithmetic.
 * LLFUSE_EMULATE_COUNT: graphs; LLFUSE_EMULATE_ONLY: one seed. */
#include "unit/lower_graph.h"

#include "ir/float.h"
#include "passes/pass.h"
#include "random_graph.h"
#include "unit/gpu_emulate.h"

#include <inttypes.h>

#define COUNT 300
#define REDUCE_COUNT 80

static uint32_t tiled, kernels, parted, rows, columns;

static uint64_t element(llf_dtype t, const void *data, size_t i)
{
    return llfi_bits_load(t, (const char *)data + i * llfi_dtypes[t].bytes);
}

static void compare(uint64_t seed, const llf_graph *g, llf_id id, const llfi_schedule *s,
                    const emulate_buffer *got, const emulate_buffer *want)
{
    llf_dtype t = llfi_dtype_of(g, id);
    emulate_untouched(got);
    emulate_untouched(want);
    for (size_t i = 0; i < got->bytes / llfi_dtypes[t].bytes; i++) {
        uint64_t a = element(t, got->data, i), b = element(t, want->data, i);
        if (a != b && !(llfi_bits_nan(t, a) && llfi_bits_nan(t, b)))
            fail_msg("seed %" PRIu64 ", node %u, element %zu: %" PRIx64 ", on the host %" PRIx64
                     " (%s, width %u, tile %u x %u)",
                     seed, id, i, a, b, s->skeleton->name, s->width, s->tile.x, s->tile.y);
    }
}

static emulate_buffer buffer_of(const llf_graph *g, llf_id id, const rg_binding *binding, size_t align)
{
    int64_t shape[LLF_MAX_RANK];
    llf_dtype t = llfi_dtype_of(g, id);
    size_t bytes = (size_t)rg_elements(g, id, binding, shape) * llfi_dtypes[t].bytes;
    return emulate_alloc(llfi_node_at(g, id)->scalar ? 8 : bytes, align ? align : llfi_dtypes[t].bytes);
}

/* Runs that the schedule would not choose, and blocks that few elements fill: any are right. */
static void take_runs(llfi_schedule *s, rg_random *random)
{
    uint32_t runs = 1 + rg_below(random, 4), element_runs = 1 + rg_below(random, 4);
    bool own = s->skeleton == &llfi_skeleton_pointwise_nvptx;
    if (!own && !s->parts)
        return;
    s->threads = 1 + rg_below(random, 5);
    for (uint32_t i = 0; i < (own ? 1 : s->parts->rows); i++) {
        llfi_schedule *one = own ? s : &s->parts->row[i].schedule;
        one->threads = s->threads;
        one->slice = one->width;
        one->one_body = false;
        one->runs = runs;
        one->element_runs = element_runs;
    }
}

/* Runs every kernel of the plan, with buffers [0] on the emulated GPU, [1] on the host. */
static void run_plan(uint64_t seed, llf_context *cx, llf_graph *g, const llfi_plan *plan, llfi_arena *arena,
                     const rg_binding *binding, rg_random *random)
{
    const llfi_backend backend = emulate_backend();
    uint32_t nodes = (uint32_t)g->nodes.count;
    llfi_target target[2];
    emulate_buffer *buffer[2];
    void **data[2];
    assert_int_equal(llfi_target_make(cx, "host", &target[1]), LLF_OK);
    target[0] = target[1];
    target[0].backend = &backend;
    for (int k = 0; k < 2; k++) {
        buffer[k] = llfi_arena_alloc(arena, (nodes + 1) * sizeof *buffer[k]);
        data[k] = llfi_arena_alloc(arena, (nodes + 1) * sizeof *data[k]);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        size_t align = rg_chance(random, 70) ? 16 : 0;
        for (int k = 0; k < 2; k++) {
            buffer[k][i] = buffer_of(g, i, binding, align);
            data[k][i] = buffer[k][i].data;
        }
    }
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        llf_dtype t = llfi_dtype_of(g, id);
        size_t bytes = llfi_node_at(g, id)->scalar ? llfi_dtypes[t].bytes : buffer[0][id].bytes;
        memset(data[0][id], 0, buffer[0][id].bytes);
        rg_fill(random, t, (int64_t)(bytes / llfi_dtypes[t].bytes), data[0][id]);
        memcpy(data[1][id], data[0][id], buffer[0][id].bytes);
    }
    for (uint32_t k = 0; k < plan->kernels; k++) {
        llfi_schedule s[2];
        for (int i = 0; i < 2; i++) {
            if (llfi_schedule_make(cx, g, plan, k, &target[i], arena, &s[i]) != LLF_OK)
                fail_msg("seed %" PRIu64 ": %s", seed, llf_last_error(cx)->message);
            if (i == 0 && rg_chance(random, 60))
                take_runs(&s[i], random);
            emulate_kernel(cx, g, &plan->kernel[k], &s[i], &target[i], arena, binding->symbol, data[i]);
        }
        kernels++;
        tiled += s[0].skeleton == &llfi_skeleton_tiled_nvptx;
        parted += s[0].parts != NULL;
        rows += s[0].skeleton == &llfi_skeleton_rows_nvptx;
        columns += s[0].skeleton == &llfi_skeleton_columns_nvptx;
        for (uint32_t i = 0; i < plan->kernel[k].stores; i++) {
            llf_id id = plan->kernel[k].store[i];
            compare(seed, g, id, &s[0], &buffer[0][id], &buffer[1][id]);
        }
    }
    for (uint32_t i = 0; i < nodes; i++)
        for (int k = 0; k < 2; k++) {
            emulate_untouched(&buffer[k][i]);
            emulate_free(&buffer[k][i]);
        }
}

static void run_seed(uint64_t seed, uint32_t reduce)
{
    llf_context *cx = llf_context_create(NULL);
    llfi_arena arena;
    llfi_plan plan;
    llfi_passes_state state = {0};
    rg_binding binding;
    rg_limits limits = rg_default_limits;
    rg_random random = rg_seeded(~seed);
    limits.views = 50;
    limits.reduce = reduce;
    llf_graph *g = rg_graph(cx, seed, &limits, &binding);
    assert_non_null(g);
    llfi_arena_init(&arena, &llfi_malloc_allocator);
    llfi_plan_init(&plan, &cx->mem);
    llfi_fuse_options_default(&state.fuse);
    if (llfi_passes_run(cx, g, NULL, 0, &state, &plan) != LLF_OK)
        fail_msg("seed %" PRIu64 ": %s", seed, llf_last_error(cx)->message);
    run_plan(seed, cx, g, &plan, &arena, &binding, &random);
    llfi_plan_destroy(&plan);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

static void the_skeletons_of_both_targets_agree(void **state)
{
    (void)state;
    const char *only = getenv("LLFUSE_EMULATE_ONLY"), *count = getenv("LLFUSE_EMULATE_COUNT");
    uint64_t first = only ? strtoull(only, NULL, 10) : 0;
    uint64_t end = only ? first + 1 : count ? strtoull(count, NULL, 10) : COUNT;
    for (uint64_t seed = first; seed < end; seed++)
        run_seed(seed, 0);
    print_message(
        "%u kernels, %u of them tiled, %u by vectors; %u of several parts; runs of vectors in %u, of "
        "elements in %u\n",
        kernels, tiled, emulate.by_vectors, parted, emulate.vector_runs, emulate.element_runs);
    assert_true(only || tiled * 100 > kernels);
    assert_true(only || parted * 50 > kernels);
    assert_true(only || emulate.vector_runs * 20 > kernels);
    assert_true(only || emulate.element_runs * 10 > kernels);
}

static void reductions_too(void **state)
{
    (void)state;
    const char *only = getenv("LLFUSE_EMULATE_ONLY"), *count = getenv("LLFUSE_EMULATE_COUNT");
    uint64_t first = only ? strtoull(only, NULL, 10) : 0;
    uint64_t end = only ? first + 1 : count ? strtoull(count, NULL, 10) : REDUCE_COUNT;
    for (uint64_t seed = first; seed < end; seed++)
        run_seed(seed, 60);
    print_message("%u kernels by rows, %u by columns; %u split\n", rows, columns, emulate.split);
    assert_true(only || rows > REDUCE_COUNT / 2);
    assert_true(only || columns > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_skeletons_of_both_targets_agree),
                                       cmocka_unit_test(reductions_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
