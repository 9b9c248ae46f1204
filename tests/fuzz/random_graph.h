/* random_graph.h: seeded graphs over every row of ops.def, and data to run them on. The same seed gives the
 * same graph and data on every machine; nothing here depends on addresses, time or the C library's generator.
 */
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H

#include "ir/ir.h"

typedef struct {
    uint64_t state;
} rg_random;
rg_random rg_seeded(uint64_t seed);
uint64_t rg_next(rg_random *);
uint32_t rg_below(rg_random *, uint32_t limit); /* [0, limit) */
bool rg_chance(rg_random *, uint32_t percent);

typedef struct {
    uint32_t min_nodes, max_nodes; /* non-leaf nodes */
    int64_t max_elements;          /* of one tensor */
    uint32_t views;                /* percent of nodes that are views; over 0: operands broadcast too */
    uint32_t reduce;               /* percent of nodes that are reductions */
    uint32_t parts;                /* percent of graphs of several parts that share nothing (rg_parts) */
} rg_limits;
extern const rg_limits rg_default_limits;

#define RG_SYMBOLS 8
#define RG_INPUTS 12
/* What a graph's symbols are worth. Inputs and outputs are the graph's own. */
typedef struct {
    int64_t symbol[RG_SYMBOLS];
} rg_binding;

/* Builds a graph of `seed` in `cx`; NULL after a failure, which is in the context's diagnostic. */
llf_graph *rg_graph(llf_context *cx, uint64_t seed, const rg_limits *, rg_binding *);

/* How many groups of outputs share no input and no value; outputs that are leaves do not count. */
uint32_t rg_parts(const llf_graph *);

/* Elements of a node and the run-time shape of its type. */
int64_t rg_elements(const llf_graph *, llf_id, const rg_binding *, int64_t shape[LLF_MAX_RANK]);

/* Data with NaNs, infinities, signed zeros, subnormals, huge values and the ends of the integers among
 * ordinary ones. */
void rg_fill(rg_random *, llf_dtype, int64_t elements, void *data);

#endif
