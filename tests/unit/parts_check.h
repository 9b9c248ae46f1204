/* parts_check.h: the parts of a plan's kernels by the definition in plan.h, read off literally: closures as
 * sets, joined until nothing changes. Quadratic, and shares no code with parts.c. */
#ifndef PARTS_CHECK_H
#define PARTS_CHECK_H

#include "passes/fuse/fuse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

/* set[id]: 1 a member that `store` is computed from, 2 a tensor that these read */
static inline void parts_closure(const llf_graph *g, const llfi_kernel *k, llf_id store, char *set)
{
    memset(set, 0, g->nodes.count);
    set[store] = 1;
    for (uint32_t m = k->members; m-- > 0;) { /* users before operands */
        llf_id id = k->member[m];
        const llfi_node *n = llfi_node_at(g, id);
        for (uint32_t a = 0; a < n->arity && set[id] == 1; a++) {
            llf_id from = llfi_source(g, llfi_args(g, n)[a]);
            bool inside = false;
            for (uint32_t i = 0; i < k->members; i++)
                inside = inside || k->member[i] == from;
            if (inside)
                set[from] = 1;
            else if (!set[from] && llfi_node_is_buffered(llfi_node_at(g, from)))
                set[from] = 2;
        }
    }
}

static inline void parts_check_kernel(const llf_graph *g, const llfi_kernel *k)
{
    size_t nodes = g->nodes.count, stores = k->stores;
    char *set = calloc(stores, nodes);
    uint32_t *part = calloc(stores, sizeof *part), parts = 0;
    assert_true(set && part);
    for (uint32_t i = 0; i < stores; i++) {
        part[i] = i;
        parts_closure(g, k, k->store[i], set + i * nodes);
    }
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < stores; i++)
            for (uint32_t j = 0; j < i; j++) {
                llfi_type t = llfi_type_of(g, k->store[i]);
                bool met = false;
                if (part[i] == part[j] || !llfi_type_same_dims(t, llfi_type_of(g, k->store[j])))
                    continue;
                for (size_t id = 0; id < nodes; id++)
                    met = met || (set[i * nodes + id] && set[j * nodes + id] &&
                                  (t.rank == 0 || llfi_type_of(g, (llf_id)id).rank > 0));
                if (met) {
                    part[i] = part[j] = part[i] < part[j] ? part[i] : part[j];
                    again = true;
                }
            }
    }
    for (uint32_t i = 0; i < stores; i++) {
        if (part[i] != i)
            continue;
        assert_true(parts < k->parts);
        const llfi_kernel *p = llfi_kernel_part(k, parts++);
        uint32_t s = 0, m = 0;
        for (uint32_t j = i; j < stores; j++)
            if (part[j] == i) {
                assert_true(s < p->stores && p->store[s] == k->store[j]);
                s++;
                for (size_t id = 0; id < nodes; id++)
                    set[i * nodes + id] |= set[j * nodes + id] & 1;
            }
        assert_int_equal(s, p->stores);
        for (size_t id = 0; id < nodes; id++)
            if (set[i * nodes + id] & 1) {
                assert_true(m < p->members && p->member[m] == id);
                m++;
            }
        assert_int_equal(m, p->members);
        assert_true(llfi_type_same_dims(llfi_type_at(g, p->space), llfi_type_of(g, p->store[0])));
    }
    assert_int_equal(parts, k->parts);
    free(set);
    free(part);
}

static inline void parts_check(const llf_graph *g, const llfi_plan *p)
{
    for (uint32_t k = 0; k < p->kernels; k++)
        parts_check_kernel(g, &p->kernel[k]);
}

#endif
