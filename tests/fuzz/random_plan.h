/* random_plan.h: a random legal plan for a graph, as text. */
#ifndef RANDOM_PLAN_H
#define RANDOM_PLAN_H

#include "random_graph.h"

/* The optimised graph of `user` with labels: random merges of kernels and values recomputed at random, each
 * kept only where the rules of docs/plans.md hold. False: the reason is in the context's diagnostic. */
bool rp_plan(llf_context *, const llf_graph *user, rg_random *, llfi_str *text);

#endif
