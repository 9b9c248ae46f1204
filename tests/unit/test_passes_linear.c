/* test_passes_linear.c: twice the nodes take at most 2.5 times the time in each stage before LLVM, on a small
 * stack, for chains, sums, grids, random graphs, strangers and chains of views (tests/linear/graphs.h), with
 * and without views on their edges, and under every heuristic. Times of this thread alone, and medians where
 * they are close; tests/linear/count.sh counts instructions. */
#include "linear/stages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "unit/limits.h"

#include <math.h>
#include <time.h>

#define SMALL 25000u
#define LARGE 100000u /* without views on the edges; with them half */
#define SAMPLES 5
#define NOISE_MS 5.0 /* a stage that takes less says nothing */

typedef struct {
    double last, ms[STAGE_COUNT];
} times;

/* Time of this thread alone: other work on the machine must not decide. */
static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void lap(void *user, int stage)
{
    times *t = user;
    double now = cpu_ms();
    t->ms[stage] = now - t->last;
    t->last = now;
}

static bool once(llf_context *cx, size_t kind, uint32_t nodes, bool views, const char *heuristic, times *t)
{
    linear_run r = {.cx = cx, .target = "host", .heuristic = heuristic};
    r.g = linear_make(cx, kind, nodes, views);
    t->last = cpu_ms();
    llf_status status = r.g ? linear_stages(&r, lap, t) : llf_last_error(cx)->status;
    if (status != LLF_OK)
        print_error("%s: %s\n", linear_kinds[kind].name, llf_last_error(cx)->message);
    return status == LLF_OK;
}

static double median(const times *t, int samples, int stage)
{
    double ms[SAMPLES];
    for (int i = 0; i < samples; i++) {
        int at = i;
        for (; at > 0 && ms[at - 1] > t[i].ms[stage]; at--)
            ms[at] = ms[at - 1];
        ms[at] = t[i].ms[stage];
    }
    return ms[samples / 2];
}

/* The stage that grows most, by its medians so far, in times a doubling. */
static double worst(const times *small, const times *large, int samples, int *stage)
{
    double most = 0;
    *stage = 0;
    for (int s = 0; s < STAGE_COUNT; s++) {
        double a = median(small, samples, s), b = median(large, samples, s), ratio;
        ratio = b > NOISE_MS ? sqrt(b / (a > NOISE_MS / 4 ? a : NOISE_MS / 4)) : 0;
        if (ratio <= most)
            continue;
        most = ratio;
        *stage = s;
    }
    return most;
}

/* Measured over two doublings, for steadier figures; again only where one measurement does not do. */
static bool linear(llf_context *cx, size_t kind, bool views, const char *heuristic)
{
    times small[SAMPLES], large[SAMPLES];
    double most = 0;
    int stage = 0, samples = 0;
    do {
        if (!once(cx, kind, SMALL / (1 + views), views, heuristic, &small[samples]) ||
            !once(cx, kind, LARGE / (1 + views), views, heuristic, &large[samples]))
            return false;
        samples++;
        most = worst(small, large, samples, &stage);
    } while (most > 2.5 && samples < SAMPLES);
    print_message("%s%s %s: at most %.2f times a doubling (%s)\n", linear_kinds[kind].name,
                  views ? " with views" : "", heuristic, most, linear_stage_names[stage]);
    return most <= 2.5;
}

static void *measure(void *out)
{
    llf_context *cx = llf_context_create(NULL);
    bool *ok = out;
    *ok = cx != NULL;
    for (size_t kind = 0; cx && kind < LLFI_COUNT(linear_kinds); kind++) {
        *ok = linear(cx, kind, false, "greedy") && *ok;
        *ok = linear(cx, kind, true, "greedy") && *ok;
    }
    for (size_t h = 0; cx && h < llfi_heuristics_count; h++) /* by the graphs that come first */
        for (size_t kind = 0; kind < 2 && strcmp(llfi_heuristics[h].name, "greedy") != 0; kind++)
            *ok = linear(cx, kind, true, llfi_heuristics[h].name) && *ok;
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
