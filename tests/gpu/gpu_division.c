/* gpu_division.c: 1/x, sqrt(x) and a/b in f32 on a target, bit for bit what the processor's IEEE 754 unit
 * gives. 1/x and sqrt(x) over every float (each 2^27 bit patterns at a time; --stride K takes every K-th
 * block), a/b over random operands of all kinds: any bits, few significant bits, near each other, subnormal,
 * special. usage: gpu_division [--target nvptx|host] [--stride K] [--seed S]. Exit 0 equal, 1 not, 77 no such
 * target here. */
#include "device_memory.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define BLOCK ((size_t)1 << 27)
#define THREADS 16

typedef enum { RECIPROCAL, ROOT, QUOTIENT } operation;
static const char *const names[] = {"1/x", "sqrt(x)", "a/b"};

typedef struct {
    operation op;
    const float *a, *b;
    const uint32_t *got;
    size_t from, to, wrong, first;
} slice;

static float expected(operation op, float a, float b)
{
    return op == RECIPROCAL ? 1.0f / a : op == ROOT ? sqrtf(a) : a / b;
}

static void *compare(void *argument)
{
    slice *s = argument;
    for (size_t i = s->from; i < s->to; i++) {
        float want = expected(s->op, s->a[i], s->op == QUOTIENT ? s->b[i] : 0);
        uint32_t bits;
        float got;
        memcpy(&bits, &want, 4);
        memcpy(&got, &s->got[i], 4);
        if (bits != s->got[i] && !(isnan(want) && isnan(got)) && s->wrong++ == 0)
            s->first = i;
    }
    return NULL;
}

static size_t check(operation op, const float *a, const float *b, const uint32_t *got)
{
    pthread_t thread[THREADS];
    slice s[THREADS];
    size_t wrong = 0;
    for (size_t i = 0; i < THREADS; i++) {
        s[i] = (slice){.op = op,
                       .a = a,
                       .b = b,
                       .got = got,
                       .from = BLOCK / THREADS * i,
                       .to = BLOCK / THREADS * (i + 1)};
        if (pthread_create(&thread[i], NULL, compare, &s[i]))
            abort();
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (s[i].wrong && !wrong)
            printf("%s: %a, %a: expected %a, got bits %08x\n", names[op], (double)a[s[i].first],
                   (double)b[s[i].first], (double)expected(op, a[s[i].first], b[s[i].first]),
                   got[s[i].first]);
        wrong += s[i].wrong;
    }
    return wrong;
}

static uint32_t next(uint64_t *state) /* splitmix64, S. Vigna (public domain) */
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

static const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 1,
                                   0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x3f800000, 0x3f7fffff,
                                   0x3f800001, 0x5effffff, 0x50000000, 0x4fffffff, 0x30000000, 0x2fffffff,
                                   0x60000000, 0x20000000, 0x1fffffff};

/* Block k of operands: which kind depends on the index. */
static void draw(uint32_t *a, uint32_t *b, uint64_t seed)
{
    uint64_t s = seed;
    for (size_t i = 0; i < BLOCK; i++) {
        a[i] = next(&s);
        b[i] = next(&s);
        switch (i % 8) {
        case 0: a[i] &= 0xffff0000u; break; /* bf16 over f32 */
        case 1: a[i] &= 0xffff0000u, b[i] &= 0xffff0000u; break;
        case 2: b[i] = (b[i] & 0x007fffffu) | (a[i] & 0xff800000u); break; /* quotient near 1 */
        case 3: a[i] = special[a[i] % LLFI_COUNT(special)]; break;
        case 4: b[i] = special[b[i] % LLFI_COUNT(special)]; break;
        case 5: a[i] &= 0x807fffffu; break; /* subnormal numerators */
        case 6: a[i] = (a[i] & 0x8fffffffu) | 0x30000000u, b[i] = (b[i] & 0x8fffffffu) | 0x30000000u; break;
        default: break;
        }
    }
}

typedef struct {
    llf_context *cx;
    llf_program *program;
    llf_loaded *loaded;
    llf_execution *execution;
    const device_memory *memory;
    void *device[3];
    float *a, *b;
    uint32_t *got;
} bench;

static llf_status build(bench *t, operation op)
{
    llf_graph *g = llf_graph_create(t->cx, "division");
    int64_t n = BLOCK;
    llf_id a = llf_input(g, "a", LLF_F32, 1, &n), b = llf_input(g, "b", LLF_F32, 1, &n);
    llf_id r = op == RECIPROCAL ? llf_div(g, llf_const(g, LLF_F32, 1.0), a)
               : op == ROOT     ? llf_sqrt(g, a)
                                : llf_div(g, a, b);
    llf_output(g, r);
    llf_options o = {.size = sizeof o, .target = t->memory->target};
    llf_status s = llf_compile(t->cx, g, &o, &t->program);
    llf_graph_destroy(g);
    if (s == LLF_OK)
        s = llf_program_load(t->cx, t->program, -1, &t->loaded);
    if (s == LLF_OK)
        s = llf_execution_create(t->cx, t->loaded, &t->execution);
    if (s != LLF_OK) {
        printf("%s\n", llf_last_error(t->cx)->message);
        return s;
    }
    for (uint32_t i = 0; i < 3; i++)
        LLF_TRY(llf_bind(t->execution, i,
                         &(llf_tensor){.data = t->device[i], .dtype = LLF_F32, .rank = 1, .shape = {n}}));
    return llf_prepare(t->execution);
}

static void drop(bench *t)
{
    llf_execution_destroy(t->execution);
    llf_loaded_destroy(t->loaded);
    llf_program_destroy(t->program);
    t->execution = NULL, t->loaded = NULL, t->program = NULL;
}

static bool one_block(bench *t, operation op, size_t *wrong)
{
    const device_memory *m = t->memory;
    memset(t->got, 0xa5, BLOCK * 4);
    if (!m->write(t->device[0], t->a, BLOCK * 4) || !m->write(t->device[1], t->b, BLOCK * 4) ||
        !m->write(t->device[2], t->got, BLOCK * 4) || llf_run(t->execution, NULL) || !m->sync() ||
        !m->read(t->got, t->device[2], BLOCK * 4))
        return false;
    *wrong += check(op, t->a, t->b, t->got);
    return true;
}

static bool run(bench *t, operation op, size_t stride, uint64_t seed, size_t *wrong)
{
    size_t blocks = 0, bad = 0;
    if (build(t, op) != LLF_OK)
        return false;
    for (size_t k = 0; k < 32; k += op == QUOTIENT ? 8 * stride : stride, blocks++) {
        if (op == QUOTIENT)
            draw((uint32_t *)(void *)t->a, (uint32_t *)(void *)t->b, seed + k);
        else
            for (size_t i = 0; i < BLOCK; i++) {
                uint32_t bits = (uint32_t)(k * BLOCK + i);
                memcpy(&t->a[i], &bits, 4);
            }
        if (!one_block(t, op, &bad))
            return false;
    }
    printf("%s: %zu of %zu differ\n", names[op], bad, blocks * BLOCK);
    *wrong += bad;
    drop(t);
    return true;
}

int main(int argc, char **argv)
{
    const char *target = "nvptx";
    size_t stride = 16, wrong = 0;
    uint64_t seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--target"))
            target = argv[i + 1];
        else if (!strcmp(argv[i], "--stride"))
            stride = strtoul(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--seed"))
            seed = strtoull(argv[i + 1], NULL, 10);
    }
    bench t = {.memory = device_memory_find(target)};
    char why[256] = "unknown target";
    if (!t.memory || !stride || !t.memory->start(why, sizeof why)) {
        printf("SKIPPED: %s\n", why);
        return 77;
    }
    t.cx = llf_context_create(NULL);
    t.a = calloc(BLOCK, 4), t.b = calloc(BLOCK, 4), t.got = calloc(BLOCK, 4);
    bool ok = t.cx && t.a && t.b && t.got;
    for (int i = 0; i < 3; i++)
        ok = (t.device[i] = t.memory->alloc(BLOCK * 4)) && ok;
    for (operation op = RECIPROCAL; ok && op <= QUOTIENT; op++)
        ok = run(&t, op, stride, seed, &wrong);
    if (!ok)
        printf("failed: %s\n", t.execution ? llf_execution_error(t.execution)->message : "memory");
    drop(&t);
    for (int i = 0; i < 3; i++)
        t.memory->release(t.device[i]);
    free(t.a), free(t.b), free(t.got);
    llf_context_destroy(t.cx);
    t.memory->stop();
    return ok && !wrong ? 0 : 1;
}
