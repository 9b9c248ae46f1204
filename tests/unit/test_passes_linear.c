/* test_passes_linear.c: passes, fusion, verification, print and explain take linear time (four times the
 * nodes at most 2.5^2 the time) and a small stack, on chains and on wide graphs, under every heuristic. */
#include "passes_util.h"

#include "limits.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define SMALL 25000u
#define LARGE 100000u
#define SAMPLES 3

typedef llf_graph *maker(llf_context *, uint32_t nodes);

/* tanh(x * c + d), again and again; rank-0 arithmetic beside it. */
static llf_graph *chain(llf_context *cx, uint32_t nodes)
{
    llf_graph *g = llf_graph_create(cx, "chain");
    int64_t n = 64;
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n), s = llf_scalar(g, "s", LLF_F32);
    for (uint32_t i = 0; i + 4 <= nodes; i += 4) {
        s = llf_add(g, s, llf_const(g, LLF_F32, 0.25));
        x = llf_tanh(g, llf_add(g, llf_mul(g, x, llf_const(g, LLF_F32, 1.5)), s));
    }
    llf_output(g, x);
    return g;
}

/* nodes/2 independent values of one input each, then a balanced sum. */
static llf_graph *wide(llf_context *cx, uint32_t nodes)
{
    llf_graph *g = llf_graph_create(cx, "wide");
    int64_t n = 64;
    uint32_t count = nodes / 2, inputs = 1000;
    llf_id *v = malloc(count * sizeof *v), *x = malloc(inputs * sizeof *x);
    assert_true(v && x);
    for (uint32_t i = 0; i < inputs; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%u", i);
        x[i] = llf_input(g, name, LLF_F32, 1, &n);
    }
    for (uint32_t i = 0; i < count; i++)
        v[i] = llf_mul(g, x[i % inputs], llf_const(g, LLF_F32, 1.0 + i));
    for (; count > 1; count = (count + 1) / 2)
        for (uint32_t i = 0; i < count / 2; i++) {
            v[i] = llf_add(g, v[2 * i], v[2 * i + 1]);
            if (i + 1 == count / 2 && count % 2)
                v[i + 1] = v[count - 1];
        }
    llf_output(g, v[0]);
    free(v);
    free(x);
    return g;
}

/* Each node reads two values far apart: groups that can never meet are brought together again and again. */
static llf_graph *crossed(llf_context *cx, uint32_t nodes)
{
    llf_graph *g = llf_graph_create(cx, "crossed");
    int64_t n = 64;
    llf_id *v = malloc(nodes * sizeof *v);
    uint64_t seed = 1;
    assert_non_null(v);
    v[0] = llf_input(g, "x", LLF_F32, 1, &n);
    for (uint32_t i = 1; i < nodes; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v[i] = llf_add(g, v[i - 1 - (seed >> 33) % (i < 50 ? i : 50)], v[(seed >> 13) % i]);
    }
    for (uint32_t i = nodes - nodes / 8; i < nodes; i++)
        llf_output(g, v[i]);
    free(v);
    return g;
}

/* Time of this thread alone: other work on the machine must not decide. */
static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double once(llf_context *cx, maker *make, uint32_t nodes, const char *heuristic)
{
    llf_graph *g = make(cx, nodes);
    llfi_passes_state ps = {0};
    llfi_plan plan;
    llfi_str s;
    llfi_fuse_options_default(&ps.fuse);
    ps.fuse.heuristic = llfi_heuristic_find(heuristic);
    llfi_plan_init(&plan, &cx->mem);
    llfi_str_init(&s, &cx->mem);
    double start = cpu_ms();
    assert_int_equal(llfi_passes_run(cx, g, NULL, 0, &ps, &plan), LLF_OK);
    assert_int_equal(llfi_plan_explain(cx, g, &plan, &ps.fuse, &s), LLF_OK);
    assert_int_equal(llfi_plan_print(g, &plan, &s), LLF_OK);
    double ms = cpu_ms() - start;
    assert_false(s.failed);
    assert_true(plan.kernels >= nodes / 2 / 4096);
    llfi_str_free(&s);
    llfi_plan_destroy(&plan);
    llf_graph_destroy(g);
    return ms;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(llf_context *cx, maker *make, uint32_t nodes, const char *heuristic)
{
    double ms[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        ms[i] = once(cx, make, nodes, heuristic);
    qsort(ms, SAMPLES, sizeof *ms, ascending);
    return ms[SAMPLES / 2];
}

/* A doubling costs at most 2.5 times: measured over two doublings, for steadier figures. */
static void *measure(void *out)
{
    static maker *const make[] = {chain, wide, crossed};
    static const char *const name[] = {"chain", "wide", "crossed"};
    llf_context *cx = llf_context_create(NULL);
    bool *ok = out;
    *ok = cx != NULL;
    for (size_t m = 0; cx && m < LLFI_COUNT(make); m++)
        for (size_t h = 0; h < llfi_heuristics_count; h++) {
            double small = median(cx, make[m], SMALL, llfi_heuristics[h].name);
            double large = median(cx, make[m], LARGE, llfi_heuristics[h].name);
            print_message("%s %s: %.1f ms, %.1f ms, %.2fx a doubling\n", name[m], llfi_heuristics[h].name,
                          small, large, sqrt(large / small));
            *ok = *ok && large / small <= 2.5 * 2.5;
        }
    llf_context_destroy(cx);
    return NULL;
}

static void linear_time_small_stack(void **state)
{
    (void)state;
    bool ok = false;
    limits_small_stack(measure, &ok);
    assert_true(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(linear_time_small_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
