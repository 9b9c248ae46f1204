/* passes_util.h: a graph from text, passes over it and a plan, for the unit tests of passes and fusion. */
#ifndef PASSES_UTIL_H
#define PASSES_UTIL_H

#include "passes/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

#endif
