/* interp.h: the oracle: slow, obvious, scalar. It evaluates primitives only (run the decompose pass first)
 * and shares no code with lowering. EXACT ops are bit-exact; functions are evaluated in f64 (f64 ones in long
 * double or better) and rounded once, so they are the nearest value up to that evaluation's error. */
#ifndef LLFI_INTERP_H
#define LLFI_INTERP_H

#include "ir/ir.h"

/* One element: bits of operands (zero-extended) to bits of the result. `from` is the operand dtype (arg 0's
 * for cast and comparisons; where: arg 1's), `to` the result's. Row implementations: llfi_eval_<ID>. */
typedef uint64_t llfi_eval_fn(llf_dtype from, llf_dtype to, const uint64_t *arg);
#define EW(id, ...) llfi_eval_fn llfi_eval_##id;
#include "llfuse/ops.def"
uint64_t llfi_eval(llf_op, llf_dtype from, llf_dtype to, const uint64_t *arg);
/* Which operand's dtype `from` is. */
uint32_t llfi_eval_operand(llf_op);
/* Operand dtype that `from` means for a node. */
llf_dtype llfi_eval_from(const llf_graph *, llf_id);

/* Evaluates a whole graph. data[i]: elements of input i, row-major, of its dtype; symbol values given.
 * The graph's guards are checked first (E_GUARD). value[id] receives for each node a buffer (numel * size)
 * owned by `arena`. */
llf_status llfi_interp(const llf_graph *, const int64_t *symbol, const void *const *data, llfi_arena *,
                       void **value);
/* Evaluates one output element: linear index `at` of node `id`, reading only what it needs. Memory linear in
 * the nodes and in the distinct elements that the views below ask for. */
llf_status llfi_interp_at(const llf_graph *, const int64_t *symbol, const void *const *data, llfi_arena *,
                          const llf_id *ids, uint32_t count, int64_t at, uint64_t *bits);
/* The same for inputs that are not in memory: `fetch` gives the bits of an element. */
typedef uint64_t llfi_input_fn(const void *user, uint32_t input, int64_t at, llf_dtype);
llf_status llfi_interp_from(const llf_graph *, const int64_t *symbol, llfi_input_fn *fetch, const void *user,
                            llfi_arena *, const llf_id *ids, uint32_t ids_count, int64_t at, uint64_t *bits);
/* Largest distance in ulp (or 0 for EXACT) a target may have from the oracle: docs/accuracy.md. */
uint64_t llfi_ulp_bound(llf_op, llf_dtype);

#endif
