/* reduce.h: one reduction of one row, in the order of docs/ir.md, element by element. Shares no code with
 * lowering, and must not be made clever. */
#ifndef LLFI_INTERP_REDUCE_H
#define LLFI_INTERP_REDUCE_H

#include "ir/ir.h"

#define LLFI_ROW_CHUNK 1024u

/* What a chunk comes to: its value; or value and place of argmax; maximum and sum of softmax_stats; mean and
 * squares of moments. */
typedef struct {
    uint64_t bits[LLFI_RESULTS];
} llfi_partial;

typedef struct {
    const llf_allocator *mem;
    llf_op op;
    llfi_reduce r;
    int64_t length;           /* elements of the row, numbered row-major over the reduced axes */
    int64_t added;            /* of them, so far */
    LLFI_VEC(uint64_t) chunk; /* the last of those, as the accumulator's dtype */
    LLFI_VEC(llfi_partial) part;
} llfi_row;

llfi_row llfi_row_make(const llf_graph *, llf_id reduce, int64_t length, const llf_allocator *);
/* The next element; false: out of memory. */
bool llfi_row_add(llfi_row *, uint64_t bits);
/* When all `length` are there: bits of the results. The row is then spent, but not freed. */
llfi_partial llfi_row_finish(llfi_row *);
void llfi_row_free(llfi_row *);

#endif
