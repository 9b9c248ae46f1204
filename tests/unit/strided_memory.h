/* strided_memory.h: tensors with any strides inside memory that must not be touched: pages without access on
 * both sides, NaN patterns between the elements. Element values depend on their place alone, so that what is
 * expected can be computed by plain indexing. */
#ifndef STRIDED_MEMORY_H
#define STRIDED_MEMORY_H

#include "runtime_util.h"

#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    char *map;
    size_t bytes, page;
    llf_tensor t;
    unsigned char *was; /* of the accessible part */
} strided_memory;

/* Value of the element `at` elements from data: exact in f32, never a NaN. */
static inline float strided_value(int64_t at)
{
    return (float)((at % 8191 + 8191) % 8191) * 0.25f - 100;
}

static inline int64_t strided_place(const llf_tensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        at += index[i] * t->strides[i];
    return at;
}

/* The next index in row-major order; false: there is none. */
static inline bool strided_next(const llf_tensor *t, int64_t *index)
{
    for (uint32_t i = t->rank; i-- > 0;) {
        if (++index[i] < t->shape[i])
            return true;
        index[i] = 0;
    }
    return false;
}

static inline bool strided_empty(const llf_tensor *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            return true;
    return false;
}

/* f32 of this shape and strides, its highest element against the page above, or its lowest (`low`) against
 * the page below. */
static inline strided_memory strided_open(uint32_t rank, const int64_t *shape, const int64_t *stride,
                                          bool low)
{
    strided_memory m = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    llf_tensor *t = &m.t;
    int64_t least = 0, most = 0, index[LLF_MAX_RANK] = {0};
    *t = (llf_tensor){.dtype = LLF_F32, .rank = rank, .strided = true};
    memcpy(t->shape, shape, rank * sizeof *shape);
    memcpy(t->strides, stride, rank * sizeof *stride);
    for (uint32_t i = 0; i < rank && !strided_empty(t); i++) {
        int64_t far = (shape[i] - 1) * stride[i];
        *(far < 0 ? &least : &most) += far;
    }
    size_t span = (size_t)(most - least + 1) * sizeof(float);
    m.bytes = (span + m.page - 1) / m.page * m.page;
    m.map = mmap(NULL, m.bytes + 2 * m.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(m.map != MAP_FAILED);
    assert_int_equal(mprotect(m.map, m.page, PROT_NONE), 0);
    assert_int_equal(mprotect(m.map + m.page + m.bytes, m.page, PROT_NONE), 0);
    memset(m.map + m.page, 0xff, m.bytes);
    float *first = (float *)(void *)(m.map + m.page + (low ? 0 : m.bytes - span));
    t->data = first - least;
    if (!strided_empty(t))
        do {
            int64_t at = strided_place(t, index);
            ((float *)t->data)[at] = strided_value(at);
        } while (strided_next(t, index));
    m.was = malloc(m.bytes);
    assert_non_null(m.was);
    memcpy(m.was, m.map + m.page, m.bytes);
    return m;
}

static inline void strided_close(strided_memory *m)
{
    assert_memory_equal(m->was, m->map + m->page, m->bytes); /* inputs are only read */
    free(m->was);
    munmap(m->map, m->bytes + 2 * m->page);
}

/* A row-major output between canaries. */
typedef struct {
    float *block;
    size_t count;
    llf_tensor t;
} strided_output;
enum { STRIDED_CANARY = 64 };

static inline strided_output strided_result(uint32_t rank, const int64_t *shape)
{
    strided_output o = {.count = 1, .t = {.dtype = LLF_F32, .rank = rank}};
    for (uint32_t i = 0; i < rank; i++) {
        o.t.shape[i] = shape[i];
        o.count *= (size_t)shape[i];
    }
    size_t bytes = (o.count + 2 * STRIDED_CANARY) * sizeof(float);
    o.block = malloc(bytes);
    assert_non_null(o.block);
    memset(o.block, 0xa5, bytes);
    o.t.data = o.block + STRIDED_CANARY;
    return o;
}

static inline void strided_done(strided_output *o)
{
    const unsigned char *a = (const unsigned char *)o->block;
    const unsigned char *b = (const unsigned char *)(o->block + STRIDED_CANARY + o->count);
    for (size_t i = 0; i < STRIDED_CANARY * sizeof(float); i++)
        if (a[i] != 0xa5 || b[i] != 0xa5)
            fail_msg("a canary was written, byte %zu", i);
    free(o->block);
}

/* ---- programs */
static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};

static inline llf_stats stats_of(const llf_execution *e)
{
    llf_stats s = {.size = sizeof s};
    assert_int_equal(llf_execution_stats(e, &s), LLF_OK);
    return s;
}

static inline test_road open_text(const char *text)
{
    test_road r = {.cx = llf_context_create(NULL)};
    assert_non_null(r.cx);
    if (llf_graph_parse(r.cx, text, strlen(text), NULL, &r.g) != LLF_OK ||
        llf_compile(r.cx, r.g, &host, &r.p) != LLF_OK || llf_program_load(r.cx, r.p, 2, &r.l) != LLF_OK ||
        llf_execution_create(r.cx, r.l, &r.e) != LLF_OK)
        fail_msg("%s", llf_last_error(r.cx)->message);
    return r;
}

static inline void go(test_road *r)
{
    assert_ok(r->e, llf_prepare(r->e));
    assert_ok(r->e, llf_run(r->e, NULL));
}

static inline void bind_to(test_road *r, uint32_t index, llf_tensor t)
{
    assert_ok(r->e, llf_bind(r->e, index, &t));
}

/* out[index] = -x[index] for inputs as they lie; both ends against a page. */
static inline void negated(test_road *r, uint32_t rank, const int64_t *shape, const int64_t *stride)
{
    for (int low = 0; low < 2; low++) {
        strided_memory x = strided_open(rank, shape, stride, low);
        strided_output y = strided_result(rank, shape);
        int64_t index[LLF_MAX_RANK] = {0};
        bind_to(r, 0, x.t);
        bind_to(r, 1, y.t);
        go(r);
        for (size_t i = 0; i < y.count; i++) {
            float want = -strided_value(strided_place(&x.t, index)), got = ((float *)y.t.data)[i];
            if (got != want)
                fail_msg("element %zu is %g, not %g", i, (double)got, (double)want);
            (void)strided_next(&x.t, index);
        }
        strided_done(&y);
        strided_close(&x);
    }
}

#define NEGATED(r, shape, stride) negated(r, (uint32_t)(sizeof(shape) / sizeof(int64_t)), shape, stride)
#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static const char neg2[] = "graph @neg2(%x: f32[A, B]) {\n  %0 = neg %x\n  ret %0\n}\n";

#endif
