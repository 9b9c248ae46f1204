/* lower_graph.h: for the tests of lowering and schedules: kernels made by hand from graphs made by builder
 * calls. A kernel here holds every op node of the graph and stores the graph's outputs. */
#ifndef LOWER_GRAPH_H
#define LOWER_GRAPH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lower/lower.h"

typedef struct {
    llf_context *cx;
    llf_graph *g;
    llfi_arena arena;
    llfi_kernel kernel;
} fixture;

static inline fixture fixture_make(void)
{
    fixture f = {.cx = llf_context_create(NULL)};
    assert_non_null(f.cx);
    f.g = llf_graph_create(f.cx, "t");
    assert_non_null(f.g);
    llfi_arena_init(&f.arena, &f.cx->mem);
    return f;
}

static inline void fixture_free(fixture *f)
{
    llfi_arena_destroy(&f->arena);
    llf_graph_destroy(f->g);
    llf_context_destroy(f->cx);
}

/* The whole graph as one kernel over the shape of `space`. */
static inline void whole(fixture *f, llf_id space)
{
    llf_graph *g = f->g;
    assert_int_equal(g->poisoned, LLF_OK);
    llfi_kernel *k = &f->kernel;
    *k = (llfi_kernel){.parts = 1, .space = g->nodes.at[space].type};
    k->member = llfi_arena_alloc(&f->arena, (g->nodes.count + 1) * sizeof(llf_id));
    k->store = llfi_arena_alloc(&f->arena, (g->outputs.count + 1) * sizeof(llf_id));
    assert_true(k->member && k->store);
    for (uint32_t i = 0; i < g->nodes.count; i++)
        if (g->nodes.at[i].op != LLF_OP_INPUT && g->nodes.at[i].op != LLF_OP_CONST)
            k->member[k->members++] = i;
    for (uint32_t i = 0; i < g->outputs.count; i++)
        k->store[k->stores++] = g->outputs.at[i];
}

static inline llf_id input(fixture *f, const char *name, llf_dtype t)
{
    int64_t n = llf_symbol(f->g, "N");
    return llf_input(f->g, name, t, 1, &n);
}

#endif
