/* random_view.h: see random_view.c. */
#ifndef RANDOM_VIEW_H
#define RANDOM_VIEW_H

#include "random_graph.h"

/* What to ask of view `op` on `x` so that it is legal for these symbols and has at most `most` elements. */
bool rg_view_ask(rg_random *, llf_graph *, const int64_t *symbol, llf_op op, llf_id x, int64_t most,
                 llfi_ask *);
/* random_index.c: op on `x`; `other`: indices of take, the rank-0 value of pad. Further operands are nodes
 * from `first` on. LLF_NONE: not for these, or poisoned. */
llf_id rg_index(rg_random *, llf_graph *, const int64_t *symbol, llf_op op, llf_id x, llf_id other,
                llf_id first, int64_t most);
/* random_reduce.c: a reduction of `x`, and perhaps more around it. LLF_NONE: poisoned. */
llf_id rg_reduce(rg_random *, llf_graph *, const int64_t *symbol, llf_id x, int64_t most);
/* May `id` be an operand beside what gives this shape? The shape then. */
bool rg_broadcasts(const llf_graph *, const int64_t *symbol, llfi_shape *, llf_id, int64_t most);

#endif
