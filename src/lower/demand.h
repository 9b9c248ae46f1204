/* demand.h: kernel -> demand list: the distinct (node, index map) pairs in emission order. Built by a
 * worklist before LLVM is touched; read by legality, cost, explain and lowering. */
#ifndef LLFI_DEMAND_H
#define LLFI_DEMAND_H

#include "fuse/plan.h"

#define LLFI_ARGS 3

/* Index maps, interned per list: site axes -> node axes. */
typedef enum {
    LLFI_MAP_IDENTITY, /* node axis i is site axis i */
    LLFI_MAP_SCALAR    /* the node has rank 0: no axes */
} llfi_map_kind;
typedef struct {
    llfi_map_kind kind;
} llfi_index_map;

typedef struct {
    llf_id node;
    uint32_t map;   /* index into maps */
    uint16_t scope; /* 0: the same for the whole kernel; 1: per point */
    uint16_t leaf;  /* 1: loaded (input or stored elsewhere), literal or scalar argument; not computed here */
    uint32_t arg[LLFI_ARGS]; /* earlier demands */
} llfi_demand;

typedef struct {
    llfi_demand *at;         /* scope 0 first, then scope 1; within a scope operands before users */
    uint32_t count, uniform; /* `uniform`: how many are of scope 0 */
    llfi_index_map *map;
    uint32_t maps;
    uint32_t *store; /* demand of each kernel->store, in that order */
} llfi_demands;

/* E_LIMIT when the list would exceed 2 x members + leaves + 32. */
llf_status llfi_demands_make(const llf_graph *, const llfi_kernel *, llfi_arena *, llfi_demands *);
/* Content hash: ops, dtypes, structure, literals' bits, maps; not names, not node ids. Equal kernels are
 * equal. */
uint64_t llfi_demands_hash(const llf_graph *, const llfi_demands *, const llfi_kernel *);

#endif
