/* dims.h: extents as interned, normalised integer expressions over symbols. Equal ids mean equal for all
 * values of the symbols; unequal ids mean nothing (an equality that cannot be proved becomes a run-time
 * guard). Normal form: a constant; or a sum of products with integer coefficients (negative ones after a
 * subtraction), terms ordered, like terms merged; floordiv, min and max are atoms of such products. Values
 * are >= 0 and < 2^63. */
#ifndef LLFI_DIMS_H
#define LLFI_DIMS_H

#include "base/base.h"

typedef uint32_t llfi_dim;
#define LLFI_DIM_NONE UINT32_MAX /* out of memory, overflow or negative: the caller says which place */

typedef struct llfi_dims llfi_dims;
llfi_dims *llfi_dims_create(const llf_allocator *);
void llfi_dims_destroy(llfi_dims *);
llfi_dims *llfi_dims_clone(const llfi_dims *, const llf_allocator *); /* same ids */

uint32_t llfi_dims_symbol(llfi_dims *, const char *name,
                          size_t bytes); /* symbol index; UINT32_MAX: no memory */
uint32_t llfi_dims_symbols(const llfi_dims *);
const char *llfi_dims_symbol_name(const llfi_dims *, uint32_t symbol);

llfi_dim llfi_dim_const(llfi_dims *, int64_t);
llfi_dim llfi_dim_sym(llfi_dims *, uint32_t symbol);
llfi_dim llfi_dim_add(llfi_dims *, llfi_dim, llfi_dim);
/* a - b, for a that is never below b where it matters: evaluation fails where the value is negative.
 * LLFI_DIM_NONE where it could not be positive for any symbols. */
llfi_dim llfi_dim_sub(llfi_dims *, llfi_dim, llfi_dim);
llfi_dim llfi_dim_mul(llfi_dims *, llfi_dim, llfi_dim);
llfi_dim llfi_dim_floordiv(llfi_dims *, llfi_dim, llfi_dim); /* by 0 at evaluation: an error */
llfi_dim llfi_dim_min(llfi_dims *, llfi_dim, llfi_dim);
llfi_dim llfi_dim_max(llfi_dims *, llfi_dim, llfi_dim);

/* For signed arithmetic on extents: a - b = *pos - *neg, in which no monomial stands on both sides and no
 * coefficient is negative. Equal differences give equal ids. False: out of memory or too large. */
bool llfi_dim_diff(llfi_dims *, llfi_dim a, llfi_dim b, llfi_dim *pos, llfi_dim *neg);
/* The same, both without their common constant factor: a == b is *pos == *neg. */
bool llfi_dim_equation(llfi_dims *, llfi_dim a, llfi_dim b, llfi_dim *pos, llfi_dim *neg);
/* a = *q * s + *r, term by term: what s provably divides goes to q, constant factors by whole multiples; a
 * sum divides itself alone. *r 0: exact. q may be 0. False: out of memory, too large, or q or r would be
 * negative, which they never are when no coefficient of `a` is. */
bool llfi_dim_divide(llfi_dims *, llfi_dim a, llfi_dim s, llfi_dim *q, llfi_dim *r);
/* A guess for a / s where s is a sum: term `i` of a over the first term of s; the caller checks it. False: a
 * has no such term. *q LLFI_DIM_NONE: no quotient. */
bool llfi_dim_guess(llfi_dims *, llfi_dim a, uint32_t i, llfi_dim s, llfi_dim *q);

/* out[d] for every dim d below `count`: d with each symbol s replaced by value[s] (LLFI_DIM_NONE: it stays),
 * and so what replaces it. A symbol whose value would hold itself stays, and so does one whose value grows
 * too large: value[s] becomes LLFI_DIM_NONE. out[d] is LLFI_DIM_NONE where the result is too large, cannot be
 * positive or divides by 0. False: out of memory. */
bool llfi_dims_substitute(llfi_dims *, llfi_dim *value, llfi_dim *out, uint32_t count, llfi_arena *scratch);

bool llfi_dim_is_const(const llfi_dims *, llfi_dim, int64_t *value);
/* True and *symbol when the dim is exactly one symbol. */
bool llfi_dim_is_symbol(const llfi_dims *, llfi_dim, uint32_t *symbol);
/* What the dim is at least: 0 where nothing more is known at a glance. */
int64_t llfi_dim_least(const llfi_dims *, llfi_dim);
/* Provably a <= b for all values of the symbols; false says nothing. */
bool llfi_dim_never_above(const llfi_dims *, llfi_dim a, llfi_dim b);
/* symbol[i] = value of symbol i, or -1 when unbound. False: unbound symbol, overflow, negative, or division
 * by 0. */
bool llfi_dim_eval(const llfi_dims *, llfi_dim, const int64_t *symbol, int64_t *value);
/* With -1 for symbols that are not known: is the dim a sum in which one of them stands once, times what is
 * known? *s: that symbol. */
bool llfi_dim_unknown(const llfi_dims *, llfi_dim, const int64_t *symbol, uint32_t *s);
/* The value of that symbol for which the dim is `extent`, rounded towards 0. False: none, or any would do. */
bool llfi_dim_solve(const llfi_dims *, llfi_dim, const int64_t *symbol, int64_t extent, uint32_t *s,
                    int64_t *value);
/* Marks what is part of the dims that `used` (by dim) marks, and the symbols among it. */
void llfi_dims_mark(const llfi_dims *, bool *used, bool *symbol);
uint64_t llfi_dim_hash(const llfi_dims *,
                       llfi_dim);            /* of structure and symbol names: the same in every graph */
uint32_t llfi_dims_count(const llfi_dims *); /* ids below it are dims */
/* True once after a LLFI_DIM_NONE that was out of memory. */
bool llfi_dims_nomem(llfi_dims *);
void llfi_dim_print(const llfi_dims *, llfi_dim, llfi_str *); /* parses back to the same id */

#endif
