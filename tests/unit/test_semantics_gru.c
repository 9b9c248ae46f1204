/* SEMANTICS B39: an unrolled recurrent loop, gates of slices of one wide tensor. Twice the steps take less
 * than 2.5 times the time in each stage before LLVM, from 1,000 nodes to 16,000. Time of this thread alone;
 * the least of a few samples, since noise only adds. */
#include "linear/stages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <time.h>

enum { SIZES = 5, SAMPLES = 5 };
#define LEAST 1000u
#define NOISE_MS 1.0 /* what a stage may take more whatever its nodes */

/* Gate `which` of step `t`: x[t, which, :]. */
static llf_id gate(llf_graph *g, llf_id x, int64_t t, int64_t which)
{
    const llf_range at[] = {{t, t + 1, 1, 0, 0}, {which, which + 1, 1, 0, 0}, {0, LLF_DEFAULT, 1, 0, 0}};
    llf_id one = llf_slice(g, x, at);
    return llf_squeeze(g, one, 2, (const int64_t[]){0, 1});
}

/* z, r: sigmoid(x + h * u); n: tanh(x + r * (h * u)); h = n + z * (h - n); every 50th h is wanted. */
static llf_graph *gru(llf_context *cx, uint32_t nodes)
{
    llf_graph *g = llf_graph_create(cx, "gru");
    const uint32_t each = 19;
    int64_t n = llf_symbol(g, "H"), steps = nodes / each;
    llf_id x = llf_input(g, "x", LLF_F32, 3, (const int64_t[]){steps, 3, n}), u[3];
    llf_id h = llf_input(g, "h", LLF_F32, 1, &n);
    for (int i = 0; i < 3; i++)
        u[i] = llf_input(g, NULL, LLF_F32, 1, &n);
    for (int64_t t = 0; t < steps; t++) {
        llf_id in = gate(g, x, t, 0), own = llf_mul(g, h, u[0]);
        llf_id z = llf_sigmoid(g, llf_add(g, in, own));
        in = gate(g, x, t, 1);
        own = llf_mul(g, h, u[1]);
        llf_id r = llf_sigmoid(g, llf_add(g, in, own));
        in = gate(g, x, t, 2);
        own = llf_mul(g, r, llf_mul(g, h, u[2]));
        llf_id fresh = llf_tanh(g, llf_add(g, in, own));
        h = llf_fma(g, z, llf_sub(g, h, fresh), fresh);
        if (t % 50 == 49)
            llf_output(g, h);
    }
    llf_output(g, llf_neg(g, h));
    if (g->poisoned != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    return g;
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

typedef struct {
    double last, ms[STAGE_COUNT]; /* the least so far */
} times;

static void lap(void *user, int stage)
{
    times *t = user;
    double now = cpu_ms(), ms = now - t->last;
    t->ms[stage] = t->ms[stage] == 0 || ms < t->ms[stage] ? ms : t->ms[stage];
    t->last = cpu_ms();
}

static void sample(llf_context *cx, int size, times *t)
{
    linear_run r = {.cx = cx, .target = "host", .heuristic = "greedy"};
    r.g = gru(cx, LEAST << size);
    t->last = cpu_ms();
    if (linear_stages(&r, lap, t) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
}

/* The stage that grows more than it may, or -1. */
static int grows(const times *t, int *size)
{
    for (*size = 1; *size < SIZES; ++*size)
        for (int s = 0; s < STAGE_COUNT; s++)
            if (t[*size].ms[s] > 2.5 * t[*size - 1].ms[s] + NOISE_MS)
                return s;
    return -1;
}

static void unrolled_loops_compile_in_linear_time(void **state)
{
    (void)state;
    times t[SIZES] = {{.last = 0}};
    llf_context *cx = llf_context_create(NULL);
    int size = 0, stage = 0;
    assert_non_null(cx);
    for (int i = 0; i < SAMPLES && stage >= 0; i++) { /* again only where it does not do */
        for (int k = 0; k < SIZES; k++)
            sample(cx, k, &t[k]);
        stage = grows(t, &size);
    }
    for (int k = 0; k < SIZES; k++) {
        double all = 0;
        for (int s = 0; s < STAGE_COUNT; s++)
            all += t[k].ms[s];
        print_message("%u nodes: %.1f ms\n", LEAST << k, all);
    }
    if (stage >= 0)
        fail_msg("%s: %u nodes take %.1f ms, half of them %.1f ms", linear_stage_names[stage], LEAST << size,
                 t[size].ms[stage], t[size - 1].ms[stage]);
    llf_context_destroy(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unrolled_loops_compile_in_linear_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
