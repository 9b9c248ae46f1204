/* random_pointwise.c: random_pointwise [--count N] [--percent P] [--seed S] [--only SEED] [--target T]
 * [--threads N] [--primitive PERCENT] [--views PERCENT] [--parts PERCENT] [--strides PERCENT] [--plans N]
 * [--reduce PERCENT] [--cache MIB] [--emit-ptx FOLDER]
 * Checks graphs of seeds S, S+1, ... (random_check.c) and prints "N passed, M failed, K skipped"; with
 * --emit-ptx it writes their kernels instead (random_emit.c) and needs no device. Exit: 0 all passed, 1 a
 * check failed, 2 bad usage, 77 no such device here. LLFUSE_RANDOM_COUNT is the default of --count, else
 * 10000; --percent P takes P of 100 of it. Each thread's context keeps code of kernels, in up to MIB: kernels
 * of one op are the same in many graphs. */
#include "random_check.h"
#include "random_emit.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    check_options options;
    const char *emit; /* folder; NULL: check */
    uint64_t first, count, cache;
    atomic_ullong next, passed, failed;
    pthread_mutex_t print;
} work;

static void finish(work *w, bool ok, llfi_str *report)
{
    uint64_t done = atomic_load(&w->passed) + atomic_load(&w->failed) + 1;
    atomic_fetch_add(ok ? &w->passed : &w->failed, 1);
    pthread_mutex_lock(&w->print);
    if (!ok)
        printf("%s\n", report->at ? report->at : "out of memory for the report");
    else if (done % 1000 == 0)
        printf("%" PRIu64 " of %" PRIu64 "\n", done, w->count);
    fflush(stdout);
    pthread_mutex_unlock(&w->print);
    llfi_str_clear(report);
}

/* One context per thread, as the API asks. Stops after a handful of failures: one is enough to work on. */
static void *worker(void *user)
{
    work *w = user;
    char why[1200];
    llfi_str report;
    llfi_str_init(&report, &llfi_malloc_allocator);
    llf_context_options co = {.size = sizeof co, .kernel_cache_bytes = w->cache};
    llf_context *cx = llf_context_create(&co);
    bool device = w->emit || w->options.memory->start(why, sizeof why);
    if (!cx || !device) {
        printf("%s\n", cx ? why : "out of memory");
        atomic_fetch_add(&w->failed, 1);
    }
    while (cx && device && atomic_load(&w->failed) < 5) {
        uint64_t i = atomic_fetch_add(&w->next, 1);
        if (i >= w->count)
            break;
        bool ok = w->emit ? emit_graph(cx, w->options.target, &w->options.limits, w->options.strides, w->emit,
                                       w->first + i, &report)
                          : check_graph(cx, &w->options, w->first + i, &report);
        finish(w, ok, &report);
    }
    if (device && !w->emit)
        w->options.memory->stop();
    llf_context_destroy(cx);
    llfi_str_free(&report);
    return NULL;
}

static int usage(const char *what)
{
    fprintf(
        stderr,
        "random_pointwise: %s\nusage: random_pointwise [--count N] [--seed S] [--only SEED] [--target "
        "host|nvptx] "
        "[--percent P] [--threads N] [--primitive PERCENT] [--views PERCENT] [--parts PERCENT] [--strides "
        "PERCENT] [--reduce PERCENT] [--plans N] [--cache MIB] [--emit-ptx FOLDER]\n",
        what);
    return 2;
}

static bool number(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = text ? strtoull(text, &end, 10) : 0;
    return text && end != text && *end == 0 && errno == 0;
}

static int parse(int argc, char **argv, work *w, uint64_t *threads)
{
    static char message[200];
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        uint64_t n = 0;
        bool is_number = number(value, &n);
        if (strcmp(argv[i], "--target") == 0 && value) {
            w->options.target = value;
            continue;
        }
        if (strcmp(argv[i], "--emit-ptx") == 0 && value) {
            w->emit = value;
            continue;
        }
        snprintf(message, sizeof message, "%s %s", argv[i], value ? value : "wants a value");
        if (!is_number)
            return usage(message);
        if (strcmp(argv[i], "--count") == 0)
            w->count = n;
        else if (strcmp(argv[i], "--cache") == 0 && n < 1 << 16)
            w->cache = n << 20;
        else if (strcmp(argv[i], "--seed") == 0)
            w->first = n;
        else if (strcmp(argv[i], "--percent") == 0 && n <= 100)
            w->count = (w->count * n + 99) / 100;
        else if (strcmp(argv[i], "--only") == 0)
            w->first = n, w->count = 1;
        else if (strcmp(argv[i], "--threads") == 0 && n >= 1 && n <= 64)
            *threads = n;
        else if (strcmp(argv[i], "--primitive") == 0 && n <= 100)
            w->options.primitive = (uint32_t)n;
        else if (strcmp(argv[i], "--views") == 0 && n <= 100)
            w->options.limits.views = (uint32_t)n;
        else if (strcmp(argv[i], "--reduce") == 0 && n <= 100)
            w->options.limits.reduce = (uint32_t)n;
        else if (strcmp(argv[i], "--parts") == 0 && n <= 100)
            w->options.limits.parts = (uint32_t)n;
        else if (strcmp(argv[i], "--plans") == 0 && n <= 100)
            w->options.plans = (uint32_t)n;
        else if (strcmp(argv[i], "--strides") == 0 && n <= 100)
            w->options.strides = (uint32_t)n;
        else
            return usage(message);
    }
    if (w->options.plans && !w->emit) /* small graphs: the rules are checked by brute force */
        w->options.limits.max_nodes = 14;
    w->options.memory = device_memory_find(w->options.target);
    if (w->emit && w->options.memory != &device_memory_nvptx)
        return usage("--emit-ptx needs --target nvptx...");
    return w->options.memory ? 0 : usage("no such target");
}

int main(int argc, char **argv)
{
    static work w = {.options = {.target = "host", .primitive = 25},
                     .first = 1,
                     .count = 10000,
                     .cache = 64 << 20,
                     .print = PTHREAD_MUTEX_INITIALIZER};
    uint64_t threads = 2, started = 0;
    pthread_t thread[64];
    char why[1200];
    const char *count = getenv("LLFUSE_RANDOM_COUNT");
    if (count && *count && !number(count, &w.count))
        return usage("LLFUSE_RANDOM_COUNT is no number");
    w.options.limits = rg_default_limits;
    int bad = parse(argc, argv, &w, &threads);
    if (bad)
        return bad;
    if (!w.emit && !w.options.memory->start(why, sizeof why)) {
        printf("%s\n0 passed, 0 failed, %" PRIu64 " skipped\n", why, w.count);
        return 77;
    }
    if (!w.emit)
        w.options.memory->stop();
    while (started < threads && started < w.count && pthread_create(&thread[started], NULL, worker, &w) == 0)
        started++;
    for (uint64_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    uint64_t done = w.passed + w.failed;
    printf("%llu passed, %llu failed, %" PRIu64 " skipped\n", w.passed, w.failed,
           w.count > done ? w.count - done : 0);
    return w.failed || done < w.count ? 1 : 0;
}
