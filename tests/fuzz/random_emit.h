/* random_emit.h: the machine code of random graphs, as files for another judge than ourselves (ptxas). */
#ifndef RANDOM_EMIT_H
#define RANDOM_EMIT_H

#include "random_graph.h"

/* Compiles the graph of `seed` for `target` under every heuristic and writes each
 * kernel that `folder` does not hold yet as NAME.ptx, with the seed in its first line. Needs no device.
 * False: why is in `report`. */
bool emit_graph(llf_context *, const char *target, const rg_limits *, uint32_t strides, const char *folder,
                uint64_t seed, llfi_str *report);

#endif
