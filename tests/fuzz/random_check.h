/* random_check.h: one random graph, compiled in several ways, against the interpreter and against itself. */
#ifndef RANDOM_CHECK_H
#define RANDOM_CHECK_H

#include "device_memory.h"
#include "random_graph.h"

typedef struct {
    const device_memory *memory;
    const char *target;
    /* Of 100 graphs, how many run one kernel per primitive; the others store every value from fused kernels.
     */
    uint32_t primitive;
    rg_limits limits; /* of every graph */
    uint32_t plans;   /* random plans a graph */
    uint32_t strides; /* of 100 inputs of every other graph, how many do not lie row-major */
} check_options;

/* False: something is wrong, and `report` says what, with everything needed to see it again. */
bool check_graph(llf_context *, const check_options *, uint64_t seed, llfi_str *report);

#endif
