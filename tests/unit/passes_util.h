/* passes_util.h: a graph from text, passes over it and a plan, and memory that fails, for the unit tests of
 * passes and fusion. */
#ifndef PASSES_UTIL_H
#define PASSES_UTIL_H

#include "passes/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct {
    llf_context *cx;
    llf_graph *g;
    llfi_passes_state state;
    llfi_plan plan;
} fixture;

static inline void fixture_init(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->cx = llf_context_create(NULL);
    assert_non_null(f->cx);
    llfi_fuse_options_default(&f->state.fuse);
    llfi_plan_init(&f->plan, &f->cx->mem);
}

static inline void fixture_free(fixture *f)
{
    llfi_plan_destroy(&f->plan);
    llf_graph_destroy(f->g);
    llf_context_destroy(f->cx);
}

static inline void fixture_parse(fixture *f, const char *text)
{
    llf_status st = llf_graph_parse(f->cx, text, strlen(text), "test", &f->g);
    if (st != LLF_OK)
        print_error("%s\n", llf_last_error(f->cx)->message);
    assert_int_equal(st, LLF_OK);
}

/* All passes under a heuristic and settings. */
static inline void fixture_plan(fixture *f, const char *text, const char *heuristic, const char *set)
{
    fixture_init(f);
    fixture_parse(f, text);
    f->state.fuse.heuristic = llfi_heuristic_find(heuristic);
    assert_non_null(f->state.fuse.heuristic);
    assert_int_equal(llfi_params_set(&f->cx->diag, &f->state.fuse.params, set), LLF_OK);
    llf_status st = llfi_passes_run(f->cx, f->g, NULL, 0, &f->state, &f->plan);
    if (st != LLF_OK)
        print_error("%s\n", llf_last_error(f->cx)->message);
    assert_int_equal(st, LLF_OK);
}

/* ---- memory: every allocation fails in turn */
typedef struct {
    size_t calls, fail_at; /* 0: none fails */
} fixture_heap;

static inline void *fixture_resize(void *user, void *p, size_t old, size_t size)
{
    fixture_heap *h = user;
    (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return ++h->calls == h->fail_at ? NULL : realloc(p, size);
}

static inline void fixture_init_on(fixture *f, fixture_heap *h)
{
    llf_allocator mem = {fixture_resize, h};
    llf_context_options o = {.size = sizeof o, .allocator = &mem, .logs = ""};
    *f = (fixture){.cx = llf_context_create(&o)};
    assert_non_null(f->cx);
    llfi_fuse_options_default(&f->state.fuse);
    llfi_plan_init(&f->plan, &f->cx->mem);
}

/* Calls `run` with the first, the second ... allocation that it makes failing, until none does: it must say
 * so. `build` fills the fixture, `check` sees it behind; returns how many there were. */
static inline size_t fixture_starve(void (*build)(fixture *), llf_status (*run)(fixture *),
                                    void (*check)(fixture *, bool failed))
{
    for (size_t at = 1;; at++) {
        fixture_heap h = {0};
        fixture f;
        fixture_init_on(&f, &h);
        build(&f);
        h.fail_at = h.calls + at;
        llf_status status = run(&f);
        bool failed = h.calls >= h.fail_at;
        h.fail_at = 0;
        assert_int_equal(status, failed ? LLF_E_NOMEM : LLF_OK);
        check(&f, failed);
        fixture_free(&f); /* all the same */
        if (!failed)
            return at - 1;
    }
}

#endif
