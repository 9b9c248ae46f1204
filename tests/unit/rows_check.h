/* rows_check.h: kernels with reductions by the definition in plan.h, read off literally for extents that are
 * known: which elements of which values one row needs, element by element. Shares no code with the planner.
 */
#ifndef ROWS_CHECK_H
#define ROWS_CHECK_H

#include "passes/fuse/fuse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

#define ROWS_MOST 256 /* elements of a value */

typedef struct {
    const llf_graph *g;
    const llfi_kernel *k;
    const int64_t *symbol;
    bool *want; /* [node][ROWS_MOST]: elements that the row needs */
} rows_walk;

static inline int64_t rows_extent(const llf_graph *g, llfi_dim dim, const int64_t *symbol)
{
    int64_t value;
    assert_true(llfi_dim_eval(g->dims, dim, symbol, &value));
    return value;
}

/* Index of element `at` of a value, row-major; and back. */
static inline void rows_index(const rows_walk *w, llfi_type t, int64_t at, int64_t *index)
{
    for (uint32_t i = t.rank; i-- > 0;) {
        int64_t extent = rows_extent(w->g, t.dim[i], w->symbol);
        index[i] = at % extent;
        at /= extent;
    }
}

static inline int64_t rows_element(const rows_walk *w, llfi_type t, const int64_t *index)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < t.rank; i++)
        at = at * rows_extent(w->g, t.dim[i], w->symbol) + index[i];
    return at;
}

static inline int64_t rows_count(const rows_walk *w, llfi_type t)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < t.rank; i++)
        n *= rows_extent(w->g, t.dim[i], w->symbol);
    assert_true(n <= ROWS_MOST);
    return n;
}

/* The element of view `id`'s operand that its element `at` is. */
static inline int64_t rows_behind(const rows_walk *w, llf_id id, int64_t at)
{
    const llfi_node *n = llfi_node_at(w->g, id);
    llfi_type x = llfi_type_of(w->g, llfi_args(w->g, n)[0]), y = llfi_type_of(w->g, id);
    int64_t to[LLFI_RANK], from[LLFI_RANK] = {0};
    if (n->op == LLF_OP_RESHAPE || n->op == LLF_OP_EXPAND_DIMS || n->op == LLF_OP_SQUEEZE)
        return at;
    rows_index(w, y, at, to);
    for (uint32_t i = 0; i < x.rank; i++) {
        int64_t extent = rows_extent(w->g, x.dim[i], w->symbol);
        if (n->op == LLF_OP_BROADCAST_TO) {
            from[i] = extent == 1 ? 0 : to[i + y.rank - x.rank];
        } else if (n->op == LLF_OP_PERMUTE) {
            for (uint32_t j = 0; j < y.rank; j++)
                if (llfi_list_at(w->g, n->attr).at[j] == i)
                    from[i] = to[j];
        } else if (n->op == LLF_OP_SLICE) {
            llfi_range r = llfi_range_at(w->g, n->attr, i);
            from[i] = rows_extent(w->g, r.start, w->symbol) + r.step * to[i];
        } else {
            assert_int_equal(n->op, LLF_OP_FLIP);
            from[i] = to[i];
            for (uint32_t j = 0; j < llfi_list_at(w->g, n->attr).count; j++)
                if (llfi_list_at(w->g, n->attr).at[j] == i)
                    from[i] = extent - 1 - to[i];
        }
    }
    return rows_element(w, x, from);
}

static inline bool rows_member(const llfi_kernel *k, llf_id id)
{
    bool any = false;
    for (uint32_t i = 0; i < k->members; i++)
        any = any || k->member[i] == id;
    return any;
}

/* Element `at` of operand `given` is needed. */
static inline void rows_want(rows_walk *w, llf_id given, int64_t at)
{
    while (llfi_ops[llfi_node_at(w->g, given)->op].cls == LLFI_CLASS_VIEW) {
        at = rows_behind(w, given, at);
        given = llfi_args(w->g, llfi_node_at(w->g, given))[0];
    }
    if (rows_member(w->k, given))
        w->want[(size_t)given * ROWS_MOST + (size_t)at] = true;
}

/* The row of the space that its element `at` is in. */
static inline int64_t rows_of(const rows_walk *w, int64_t at)
{
    llfi_type s = llfi_type_at(w->g, w->k->space);
    int64_t index[LLFI_RANK], row = 0;
    rows_index(w, s, at, index);
    for (uint32_t i = 0; i < s.rank; i++)
        row = w->k->reduced >> i & 1 ? row : row * rows_extent(w->g, s.dim[i], w->symbol) + index[i];
    return row;
}

/* What elements of the operands element `at` of `id` is made of. */
static inline void rows_operands(rows_walk *w, llf_id id, int64_t at)
{
    const llfi_node *n = llfi_node_at(w->g, id);
    llfi_type space = llfi_type_at(w->g, w->k->space), y = llfi_type_of(w->g, id);
    int64_t index[LLFI_RANK];
    if (llfi_ops[n->op].cls == LLFI_CLASS_REDUCE) {
        for (int64_t e = 0; e < rows_count(w, space); e++)
            if (rows_of(w, e) == at)
                rows_want(w, n->arg[0], e);
        return;
    }
    assert_true(llfi_ops[n->op].cls == LLFI_CLASS_EW || llfi_ops[n->op].cls == LLFI_CLASS_RESULT);
    rows_index(w, y, at, index);
    for (uint32_t k = 0; k < n->arity; k++) {
        llfi_type x = llfi_type_of(w->g, n->arg[k]);
        int64_t from[LLFI_RANK];
        for (uint32_t i = 0; i < x.rank; i++)
            from[i] = rows_extent(w->g, x.dim[i], w->symbol) == 1 ? 0 : index[i + y.rank - x.rank];
        rows_want(w, n->arg[k], rows_element(w, x, from));
    }
}

/* Everything that row `row` needs; each reduction of its own row alone. False: of another, too. */
static inline bool rows_one(rows_walk *w, int64_t row)
{
    const llf_graph *g = w->g;
    llfi_type space = llfi_type_at(g, w->k->space);
    bool own = true;
    memset(w->want, 0, g->nodes.count * ROWS_MOST);
    for (uint32_t i = 0; i < w->k->stores; i++) {
        llfi_type t = llfi_type_of(g, w->k->store[i]);
        if (llfi_type_same_dims(t, space)) {
            for (int64_t e = 0; e < rows_count(w, space); e++)
                if (rows_of(w, e) == row)
                    w->want[(size_t)w->k->store[i] * ROWS_MOST + (size_t)e] = true;
        } else {
            w->want[(size_t)w->k->store[i] * ROWS_MOST + (size_t)row] = true;
        }
    }
    for (uint32_t m = w->k->members; m-- > 0;) { /* users before operands */
        llf_id id = w->k->member[m];
        bool reduces = llfi_ops[llfi_node_at(g, id)->op].cls == LLFI_CLASS_REDUCE;
        for (int64_t e = 0; e < rows_count(w, llfi_type_of(g, id)); e++) {
            if (!w->want[(size_t)id * ROWS_MOST + (size_t)e])
                continue;
            own = own && (!reduces || e == row);
            rows_operands(w, id, e);
        }
    }
    return own;
}

/* Is kernel `k` what plan.h says of one with reductions, for these values of the symbols? */
static inline bool rows_check(const llf_graph *g, const llfi_kernel *k, const int64_t *symbol)
{
    rows_walk w = {.g = g, .k = k, .symbol = symbol};
    llfi_type space = llfi_type_at(g, k->space);
    int64_t rows = 1;
    bool own = k->parts == 1;
    for (uint32_t i = 0; i < space.rank; i++)
        rows *= k->reduced >> i & 1 ? 1 : rows_extent(g, space.dim[i], symbol);
    for (uint32_t m = 0; m < k->members && own; m++) {
        const llfi_node *n = llfi_node_at(g, k->member[m]);
        if (llfi_ops[n->op].cls == LLFI_CLASS_REDUCE)
            own = llfi_type_same_dims(llfi_type_of(g, n->arg[0]), space) &&
                  llfi_reduce_of(g, k->member[m]).axes == k->reduced;
    }
    for (uint32_t i = 0; i < k->stores && own; i++) {
        llfi_type t = llfi_type_of(g, k->store[i]);
        own = llfi_type_same_dims(t, space) || rows_count(&w, t) == rows;
    }
    w.want = own ? malloc(g->nodes.count * ROWS_MOST) : NULL;
    for (int64_t row = 0; row < rows && own; row++)
        own = rows_one(&w, row);
    free(w.want);
    return own;
}

#endif
