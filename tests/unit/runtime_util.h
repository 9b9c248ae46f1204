/* runtime_util.h: what the runtime's tests share: small graphs, tensors, and an allocator that counts and
 * fails. */
#ifndef RUNTIME_UTIL_H
#define RUNTIME_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/program.h"

/* ---- allocator: sizes are kept, so that a wrong `old` or a leak shows */
typedef struct {
    atomic_llong live, calls;
    atomic_llong fail_at; /* this call fails, counted from 1; 0: none */
    atomic_bool failed, misused;
} test_memory;

static inline void *test_resize(void *user, void *p, size_t old, size_t size)
{
    test_memory *m = user;
    char *block = p ? (char *)p - 16 : NULL;
    size_t was = 0;
    if (block)
        memcpy(&was, block, sizeof was);
    if (was != old)
        atomic_store(&m->misused, true);
    if (size == 0) {
        atomic_fetch_sub(&m->live, (long long)was);
        free(block);
        return NULL;
    }
    if (atomic_fetch_add(&m->calls, 1) + 1 == atomic_load(&m->fail_at)) {
        atomic_store(&m->failed, true);
        return NULL;
    }
    block = realloc(block, size + 16);
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    atomic_fetch_add(&m->live, (long long)size - (long long)was);
    return block + 16;
}

/* ---- tensors */
static inline llf_tensor test_vector(llf_dtype dtype, void *data, int64_t n)
{
    return (llf_tensor){.data = data, .dtype = dtype, .rank = 1, .shape = {n}};
}

static inline llf_tensor test_scalar(llf_dtype dtype, void *value)
{
    return (llf_tensor){.data = value, .dtype = dtype};
}

/* ---- graphs; N symbolic */

/* relu(a + b) */
static inline llf_graph *test_add_relu(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "add_relu");
    if (!g)
        return NULL;
    int64_t n = llf_symbol(g, "N");
    llf_id a = llf_input(g, "a", LLF_F32, 1, &n), b = llf_input(g, "b", LLF_F32, 1, &n);
    llf_output(g, llf_relu(g, llf_add(g, a, b)));
    return g;
}

/* Outputs a * s and then (a * s) + b; a, b: f32[N], s: scalar. */
static inline llf_graph *test_two_outputs(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "two");
    if (!g)
        return NULL;
    int64_t n = llf_symbol(g, "N");
    llf_id a = llf_input(g, "a", LLF_F32, 1, &n), b = llf_input(g, "b", LLF_F32, 1, &n);
    llf_id s = llf_scalar(g, "s", LLF_F32), m = llf_mul(g, a, s);
    llf_output(g, m);
    llf_output(g, llf_add(g, m, b));
    return g;
}

/* ---- the whole road */
typedef struct {
    llf_context *cx;
    llf_graph *g;
    llf_program *p;
    llf_loaded *l;
    llf_execution *e;
} test_road;

static inline test_road test_open(llf_graph *(*make)(llf_context *), const llf_options *o, int device)
{
    test_road r = {.cx = llf_context_create(NULL)};
    assert_non_null(r.cx);
    r.g = make(r.cx);
    assert_non_null(r.g);
    if (llf_compile(r.cx, r.g, o, &r.p) != LLF_OK || llf_program_load(r.cx, r.p, device, &r.l) != LLF_OK ||
        llf_execution_create(r.cx, r.l, &r.e) != LLF_OK)
        fail_msg("%s", llf_last_error(r.cx)->message);
    return r;
}

static inline void test_close(test_road *r)
{
    llf_execution_destroy(r->e);
    llf_loaded_destroy(r->l);
    llf_program_destroy(r->p);
    llf_graph_destroy(r->g);
    llf_context_destroy(r->cx);
}

#define assert_ok(e, call)                                              \
    do {                                                                \
        if ((call) != LLF_OK)                                           \
            fail_msg("%s: %s", #call, llf_execution_error(e)->message); \
    } while (0)

/* The status, and a message that says what it must. */
#define assert_refused(status, want, message, part)                                     \
    do {                                                                                \
        llf_status got_ = (status);                                                     \
        const char *text_ = (message);                                                  \
        if (got_ != (want) || !strstr(text_, (part)))                                   \
            fail_msg("wanted %s and \"%s\", got %s: %s", llf_status_name(want), (part), \
                     llf_status_name(got_), text_);                                     \
    } while (0)

#endif
