/* ir_testing.h: what the tests of base and ir share: an allocator that checks the sizes it is told, counts
 * what is alive, and can fail the n-th request. Must hold no expectations. */
#ifndef LLFI_IR_TESTING_H
#define LLFI_IR_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ir/float.h"
#include "ir/ir.h"

typedef struct {
    size_t live;     /* bytes */
    size_t requests; /* that want memory */
    size_t fail_at;  /* 1: the first; 0: none */
    bool forever;    /* every later request fails too */
    bool wrong;      /* a size did not match */
} test_heap;

static inline void *test_resize(void *user, void *p, size_t old, size_t size)
{
    test_heap *h = user;
    size_t *block = p ? (size_t *)((char *)p - 16) : NULL;
    if (block ? block[0] != old : old != 0)
        h->wrong = true;
    if (size) {
        h->requests++;
        if (h->fail_at && (h->requests == h->fail_at || (h->forever && h->requests > h->fail_at)))
            return NULL;
    }
    h->live -= block ? block[0] : 0;
    h->live += size;
    if (size == 0) {
        free(block);
        return NULL;
    }
    /* Always moves, so that a stale pointer is seen by the sanitizer. */
    size_t *fresh = malloc(size + 16);
    if (!fresh)
        abort();
    fresh[0] = size;
    if (block) {
        memcpy((char *)fresh + 16, p, old < size ? old : size);
        free(block);
    }
    return (char *)fresh + 16;
}

static inline llf_context *test_context(test_heap *h)
{
    llf_allocator mem = {test_resize, h};
    llf_context_options o = {.size = sizeof o, .allocator = &mem, .logs = ""};
    return llf_context_create(&o);
}

/* Context of one test; everything must be freed at its end. */
static inline int test_setup(void **state)
{
    static test_heap heap;
    heap = (test_heap){0};
    *state = test_context(&heap);
    return *state ? 0 : -1;
}

static inline int test_teardown(void **state)
{
    llf_context *cx = *state;
    test_heap *h = cx->mem.user;
    llf_context_destroy(cx);
    assert_int_equal(h->live, 0);
    assert_false(h->wrong);
    return 0;
}

static inline llf_graph *test_parse(llf_context *cx, const char *text)
{
    llf_graph *g = NULL;
    if (llf_graph_parse(cx, text, strlen(text), "t.llf", &g) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    return g;
}

/* The graph's text equals `text`. */
static inline void test_printed(llf_context *cx, const llf_graph *g, const char *text)
{
    char *got = NULL;
    size_t bytes = 0;
    assert_int_equal(llf_graph_print(cx, g, &got, &bytes), LLF_OK);
    assert_int_equal(strlen(got), bytes);
    assert_string_equal(got, text);
    llf_text_free(cx, got, bytes);
}

#endif
