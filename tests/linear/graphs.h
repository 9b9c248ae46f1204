/* graphs.h: graphs of any number of nodes whose every stage must take linear time: chains, sums, grids,
 * random ones, with and without views on their edges, and chains of views. For test_passes_linear.c and the
 * counter of instructions (count.c). Must expect nothing. */
#ifndef LINEAR_GRAPHS_H
#define LINEAR_GRAPHS_H

#include "ir/ir.h"

#include <stdlib.h>

typedef struct {
    llf_graph *g;
    llf_id *v; /* values, as many as there are nodes */
    uint64_t seed;
    int64_t n; /* extent or symbol: values are [n, n] */
    bool views;
} linear_graph;

static inline uint32_t linear_random(linear_graph *m, uint32_t below)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->seed >> 33) % below;
}

/* A view of `x` with x's shape, of one to three nodes; without views x itself. */
static inline llf_id linear_view(linear_graph *m, llf_id x)
{
    llf_graph *g = m->g;
    const int64_t turn[] = {1, 0}, shape[] = {m->n, m->n}, flat[] = {LLF_INFER}, axes[] = {0};
    switch (m->views ? linear_random(m, 9) : 8) {
    case 0: return llf_permute(g, x, turn);
    case 1: return llf_flip(g, x, 1, axes);
    case 2: return llf_reshape(g, llf_reshape(g, x, 1, flat), 2, shape);
    case 3: return llf_reshape(g, llf_flip(g, llf_reshape(g, x, 1, flat), 1, axes), 2, shape);
    case 4:
        return llf_broadcast_to(g, llf_slice(g, x, (llf_range[]){{0, 1, 1, 0, 0}, {0, LLF_DEFAULT, 1, 0, 0}}),
                                2, shape);
    case 5: return llf_squeeze(g, llf_expand_dims(g, x, 1, axes), 1, axes);
    case 6:
        return llf_slice(g, x,
                         (llf_range[]){{0, LLF_DEFAULT, 1, 0, 0}, {LLF_DEFAULT, LLF_DEFAULT, -1, 0, 0}});
    default: return x;
    }
}

static inline llf_id linear_input(linear_graph *m, uint32_t i)
{
    char name[16];
    snprintf(name, sizeof name, "x%u", i);
    return llf_input(m->g, name, LLF_F32, 2, (int64_t[]){m->n, m->n});
}

/* tanh(x * c + s), again and again; rank-0 arithmetic beside it. */
static inline void linear_chain(linear_graph *m, uint32_t nodes)
{
    llf_graph *g = m->g;
    llf_id x = linear_input(m, 0), s = llf_scalar(g, "s", LLF_F32);
    for (uint32_t i = 0; i + 4 <= nodes; i += 4) {
        s = llf_add(g, s, llf_const(g, LLF_F32, 0.25));
        x = llf_tanh(g, llf_add(g, llf_mul(g, linear_view(m, x), llf_const(g, LLF_F32, 1.5)), s));
    }
    llf_output(g, x);
}

static inline void linear_sum(linear_graph *m, uint32_t count)
{
    for (llf_id *v = m->v; count > 1; count = (count + 1) / 2)
        for (uint32_t i = 0; i < count / 2; i++) {
            v[i] = llf_add(m->g, linear_view(m, v[2 * i]), v[2 * i + 1]);
            if (i + 1 == count / 2 && count % 2)
                v[i + 1] = v[count - 1];
        }
    llf_output(m->g, m->v[0]);
}

/* Half the nodes are values of one input each, 25 of each, then a balanced sum. */
static inline void linear_wide(linear_graph *m, uint32_t nodes)
{
    uint32_t inputs = nodes / 50 + 1;
    llf_id *x = m->v + nodes / 2;
    for (uint32_t i = 0; i < inputs; i++)
        x[i] = linear_input(m, i);
    for (uint32_t i = 0; i < nodes / 2; i++)
        m->v[i] = llf_mul(m->g, linear_view(m, x[i % inputs]), llf_const(m->g, LLF_F32, 1.0 + i));
    linear_sum(m, nodes / 2);
}

/* The same of as many inputs, however many nodes there are: few enough for kernels to be full from the start.
 */
static inline void linear_fixed(linear_graph *m, uint32_t nodes)
{
    enum { INPUTS = 200 };
    llf_id *x = m->v + nodes / 2;
    for (uint32_t i = 0; i < INPUTS; i++)
        x[i] = linear_input(m, i);
    for (uint32_t i = 0; i < nodes / 2; i++)
        m->v[i] = llf_mul(m->g, linear_view(m, x[i % INPUTS]), llf_const(m->g, LLF_F32, 1.0 + i));
    linear_sum(m, nodes / 2);
}

/* Nothing has anything to do with anything else, and few have the same shape. */
static inline void linear_strangers(linear_graph *m, uint32_t nodes)
{
    for (uint32_t i = 0; i + 2 <= nodes; i += 2) {
        char name[16];
        snprintf(name, sizeof name, "x%u", i);
        llf_id x = llf_input(m->g, name, LLF_F32, 2, (int64_t[]){1 + i / 2 % 300, 1 + i / 2 % 101});
        const int64_t last[] = {1};
        x = m->views && i % 4 ? llf_flip(m->g, x, 1, last) : x;
        llf_output(m->g, i % 6 ? llf_neg(m->g, x) : llf_mul(m->g, x, x));
    }
}

/* Half the nodes are inputs, and one balanced sum of them. */
static inline void linear_inputs(linear_graph *m, uint32_t nodes)
{
    for (uint32_t i = 0; i < nodes / 2; i++)
        m->v[i] = linear_input(m, i);
    linear_sum(m, nodes / 2);
}

/* The same summed one after the other. */
static inline void linear_inputs_chain(linear_graph *m, uint32_t nodes)
{
    llf_id sum = linear_input(m, 0);
    for (uint32_t i = 1; i < nodes / 2; i++)
        m->v[i] = linear_input(m, i);
    for (uint32_t i = 1; i < nodes / 2; i++)
        sum = llf_add(m->g, sum, linear_view(m, m->v[i]));
    llf_output(m->g, sum);
}

/* A row of values after the other; each reads its neighbours of the row before. */
static inline void linear_grid(linear_graph *m, uint32_t nodes)
{
    uint32_t wide = 1;
    while (wide * wide < nodes)
        wide++;
    llf_id last = LLF_NONE;
    for (uint32_t i = 0; i < wide; i++)
        m->v[i] = linear_input(m, i);
    for (uint32_t row = 1; row < wide; row++) {
        last = m->v[0];
        for (uint32_t i = 1; i < wide; i++) {
            llf_id above = m->v[i];
            m->v[i] = llf_maximum(m->g, linear_view(m, last), above);
            last = above;
        }
    }
    for (uint32_t i = 0; i < wide; i++)
        llf_output(m->g, m->v[i]);
}

/* Each node reads a near value and a far one: groups that can never meet are brought together again and
 * again. */
static inline void linear_crossed(linear_graph *m, uint32_t nodes)
{
    m->v[0] = linear_input(m, 0);
    for (uint32_t i = 1; i < nodes; i++)
        m->v[i] = llf_add(m->g, m->v[i - 1 - linear_random(m, i < 50 ? i : 50)],
                          linear_view(m, m->v[linear_random(m, i)]));
    for (uint32_t i = nodes - nodes / 8; i < nodes; i++)
        llf_output(m->g, m->v[i]);
}

/* Views on views, of any kind, and at every level a value that reads it. */
static inline void linear_deep_views(linear_graph *m, uint32_t nodes)
{
    llf_id x = linear_input(m, 0), sum = x;
    bool views = m->views;
    m->views = true;
    for (uint32_t i = 0; i + 2 <= nodes; i += 2) {
        x = linear_view(m, x);
        m->v[i] = views ? llf_neg(m->g, x) : LLF_NONE;
        if (views && i % 64 == 0)
            sum = llf_add(m->g, sum, m->v[i]);
        else if (views)
            llf_output(m->g, m->v[i]);
    }
    llf_output(m->g, llf_add(m->g, sum, x));
}

/* All read the one input. */
static inline void linear_star(linear_graph *m, uint32_t nodes)
{
    llf_id x = linear_input(m, 0);
    for (uint32_t i = 0; i + 2 <= nodes; i += 2)
        llf_output(m->g, llf_add(m->g, linear_view(m, x), llf_const(m->g, LLF_F32, i)));
}

/* The axes turned round and taken apart anew, so that no view undoes the one before. An eighth of the nodes.
 */
static inline void linear_reshapes(linear_graph *m, uint32_t nodes)
{
    llf_id x = llf_input(m->g, "x", LLF_F32, 3, (int64_t[]){6, 10, 14}), sum = x;
    for (uint32_t i = 0; i + 3 <= nodes / 8; i += 3) {
        x = llf_permute(m->g, x, (int64_t[]){2, 0, 1});
        x = llf_reshape(m->g, x, 3, (int64_t[]){6, 10, 14});
        if (m->views)
            sum = llf_add(m->g, sum, x);
    }
    llf_output(m->g, llf_add(m->g, sum, x));
}

/* One element less each time, of an extent that is not known. */
static inline void linear_slices(linear_graph *m, uint32_t nodes)
{
    int64_t n = llf_symbol(m->g, "N");
    llf_id x = llf_input(m->g, "x", LLF_F32, 1, &n);
    for (uint32_t i = 0; i + 2 <= nodes; i += 2) {
        x = llf_slice(m->g, x, (llf_range[]){{1, LLF_DEFAULT, 1, 0, 0}});
        if (m->views || i + 4 > nodes)
            llf_output(m->g, llf_neg(m->g, x));
    }
}

static const struct {
    const char *name;
    void (*make)(linear_graph *, uint32_t nodes);
} linear_kinds[] = {
    {"chain", linear_chain},       {"wide", linear_wide},
    {"inputs", linear_inputs},     {"inputs_chain", linear_inputs_chain},
    {"grid", linear_grid},         {"crossed", linear_crossed},
    {"star", linear_star},         {"deep_views", linear_deep_views},
    {"reshapes", linear_reshapes}, {"slices", linear_slices},
    {"fixed", linear_fixed},       {"strangers", linear_strangers},
};

/* NULL: no memory, or it is refused (the context knows why). */
static inline llf_graph *linear_make(llf_context *cx, size_t kind, uint32_t nodes, bool views)
{
    linear_graph m = {.g = llf_graph_create(cx, linear_kinds[kind].name), .seed = 1, .n = 64, .views = views};
    m.v = malloc((nodes + 1) * sizeof *m.v);
    if (m.g && m.v)
        linear_kinds[kind].make(&m, nodes);
    bool ok = m.g && m.v && m.g->poisoned == LLF_OK && m.g->outputs.count;
    free(m.v);
    if (!ok)
        llf_graph_destroy(m.g);
    return ok ? m.g : NULL;
}

#endif
