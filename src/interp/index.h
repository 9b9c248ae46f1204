/* index.h: where the elements of a node come from, by plain arithmetic on coordinates. Shares no code with
 * lowering, and must not be made clever. */
#ifndef LLFI_INDEX_H
#define LLFI_INDEX_H

#include "ir/ir.h"

/* Run-time shape of a node. */
typedef struct {
    uint32_t rank;
    int64_t extent[LLFI_RANK];
    int64_t elements;
} llfi_extents;
llf_status llfi_extents_of(const llf_graph *, llf_id, const int64_t *symbol, llfi_extents *);

/* For an INDEX op: which operand, and which element of it, makes element `at`. `take` asks twice: first with
 * `index` NULL for its indices, then with the index found there. */
llf_status llfi_index_choose(const llf_graph *, llf_id, const int64_t *symbol, const llfi_extents *out,
                             int64_t at, const int64_t *index, uint32_t *operand, int64_t *from);
/* Element `at` of an iota, as an integer. */
int64_t llfi_index_count(const llf_graph *, llf_id, const llfi_extents *out, int64_t at);

/* Row-major element of operand `k` that element `at` of node `id` is made from; `out` and `in` are their
 * extents. */
llf_status llfi_index_operand(const llf_graph *, llf_id, uint32_t k, const int64_t *symbol,
                              const llfi_extents *out, const llfi_extents *in, int64_t at, int64_t *from);

/* What `count` counts, as an integer; E_LIMIT: more than 2^63-1. */
llf_status llfi_index_elements(const llf_graph *, llf_id, const int64_t *symbol, uint64_t *elements);
/* Elements of the row that one element of a REDUCE op is made from; `in`: extents of the operand. */
int64_t llfi_index_row(const llf_graph *, llf_id, const llfi_extents *in);
/* Row-major element of the operand that is number `i` of the row of element `at`. */
int64_t llfi_index_reduced(const llf_graph *, llf_id, const llfi_extents *out, const llfi_extents *in,
                           int64_t at, int64_t i);

#endif
