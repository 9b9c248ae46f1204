/* count.c: graphs through their stages. `count KIND NODES VIEWS TARGET` prints the milliseconds of each
 * stage, for looking at by hand; `count all NODES TARGET` takes every kind at NODES and at twice as many, and
 * prints one line a stage; count.sh has a profiler count the instructions between the calls of lap(). */
#include "linear/stages.h"

#include <time.h>

static double last;
static const char *kind_name;
static uint32_t kind_nodes, kind_views;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Known to count.sh by its name. */
__attribute__((noinline)) static void lap(void *user, int stage)
{
    (void)user;
    double t = now();
    printf("%s %u %u %s %.3f\n", kind_name, (unsigned)kind_views, (unsigned)kind_nodes,
           stage < 0 ? "build" : linear_stage_names[stage], t - last);
    last = now();
}

static bool run(size_t kind, uint32_t nodes, bool views, const char *target)
{
    llf_context *cx = llf_context_create(NULL);
    if (!cx)
        return false;
    kind_name = linear_kinds[kind].name;
    kind_nodes = nodes;
    kind_views = views;
    linear_run r = {.cx = cx, .target = target, .heuristic = "greedy"};
    last = now();
    r.g = linear_make(cx, kind, nodes, views);
    lap(NULL, -1);
    llf_status status = r.g ? linear_stages(&r, lap, NULL) : llf_last_error(cx)->status;
    if (status != LLF_OK)
        fprintf(stderr, "count: %s: %s\n", kind_name, llf_last_error(cx)->message);
    llf_context_destroy(cx);
    return status == LLF_OK;
}

int main(int argc, char **argv)
{
    bool all = argc == 4 && strcmp(argv[1], "all") == 0, ok = true;
    if (!all && argc != 5)
        return 2;
    uint32_t nodes = (uint32_t)strtoul(argv[2], NULL, 10);
    for (size_t kind = 0; kind < LLFI_COUNT(linear_kinds); kind++) {
        if (!all && strcmp(linear_kinds[kind].name, argv[1]) == 0)
            return run(kind, nodes, argv[3][0] == '1', argv[4]) ? 0 : 1;
        for (uint32_t i = 0; all && i < 4; i++)
            ok = run(kind, nodes << i % 2, i / 2, argv[3]) && ok;
    }
    return all ? !ok : 2;
}
