/* map.h: index maps: how a view's axes become its operand's axes, as integer expressions over the axes of an
 * iteration space ("site"). An expression is affine over atoms: constant + sum of coefficient * atom, where
 * an atom is a site axis, floordiv(expression, extent), mod(expression, extent), an expression limited to 0
 * .. extent-1 (clamp), or the value of an integer demand, wrapped from below and limited in the same way.
 * Interned per table and normalised: equal ids are equal; quotients and remainders that ranges decide are
 * gone. Must not know of LLVM, kernels or memory. */
#ifndef LLFI_MAPS_H
#define LLFI_MAPS_H

#include "ir/ir.h"

#define LLFI_IX_NONE UINT32_MAX
typedef uint32_t llfi_ix; /* an expression; 0 is the constant 0 */

/* pos - neg, in normal form (llfi_dim_diff). */
typedef struct {
    llfi_dim pos, neg;
} llfi_signed;

typedef struct {
    uint32_t atom;
    llfi_signed coef; /* not 0 */
} llfi_ix_term;

typedef struct {
    llfi_signed constant;
    uint32_t first, terms; /* in llfi_maps.term, by atom */
    uint32_t axes;         /* bit k: site axis k occurs, also inside atoms */
    llfi_dim alive; /* LLFI_DIM_NONE, or: while it is 0 some limit inside has no elements, and the value says
                       nothing */
    bool waits;     /* a VALUE stands inside */
    uint64_t hash;  /* of the structure */
} llfi_ix_form;

typedef enum {
    LLFI_ATOM_AXIS,
    LLFI_ATOM_DIV,
    LLFI_ATOM_MOD,
    LLFI_ATOM_CLAMP, /* max(min(arg, by - 1), 0): also 0 where `by` is 0 */
    LLFI_ATOM_VALUE  /* the same of a value v, of v + by where v is negative */
} llfi_atom_kind;
typedef struct {
    llfi_atom_kind kind;
    uint32_t arg;    /* AXIS: the axis; VALUE: the demand (while they are made: the local); else llfi_ix,
                        never negative but for CLAMP */
    llfi_dim by;     /* all but AXIS */
    llfi_dim extent; /* its values are below it; LLFI_DIM_NONE: unknown */
    uint32_t twin;   /* MOD: the atom floordiv(arg, by), if there is one */
    uint32_t axes;
    llfi_dim alive;
    bool waits;
    uint64_t hash;
} llfi_atom;

/* node axis j = ix[j] */
typedef struct {
    uint32_t rank;
    llfi_ix ix[LLFI_RANK];
    uint32_t axes; /* site axes that any of them uses */
} llfi_index_map;

typedef struct {
    const llf_allocator *mem;
    llfi_dims *dims;
    llfi_dim zero, one;
    uint32_t rank; /* of the site */
    llfi_dim extent[LLFI_RANK];
    LLFI_VEC(llfi_ix_form) form;
    LLFI_VEC(llfi_ix_term) term;
    LLFI_VEC(llfi_atom) atom;
    LLFI_VEC(llfi_index_map) map;
    LLFI_VEC(llfi_signed) known; /* differences that are not negative */
    llfi_map form_index, atom_index, map_index;
    llf_status status; /* of the first failure: E_NOMEM, or E_LIMIT for expressions beyond all bounds */
    llf_id node; /* what is being composed, or at the first failure was: a view, an op that chooses, a leaf */
    uint32_t axis; /* of it; LLFI_RANK: none in particular */
} llfi_maps;
static inline void llfi_maps_at(llfi_maps *m, llf_id node, uint32_t axis)
{
    if (m->status != LLF_OK)
        return;
    m->node = node;
    m->axis = axis;
}

llf_status llfi_maps_init(llfi_maps *, const llf_allocator *, llfi_dims *, uint32_t rank,
                          const llfi_dim *extent);
void llfi_maps_free(llfi_maps *);

/* Signed arithmetic; failures go to llfi_maps.status and give 0. */
llfi_signed llfi_signed_of(llfi_maps *, llfi_dim);
llfi_signed llfi_signed_add(llfi_maps *, llfi_signed, llfi_signed);
llfi_signed llfi_signed_mul(llfi_maps *, llfi_signed, llfi_signed);
static inline llfi_signed llfi_signed_minus(llfi_signed a)
{
    return (llfi_signed){a.neg, a.pos};
}
static inline bool llfi_signed_same(llfi_signed a, llfi_signed b)
{
    return a.pos == b.pos && a.neg == b.neg;
}
bool llfi_signed_is_zero(const llfi_maps *, llfi_signed);

/* Each gives LLFI_IX_NONE after a failure, also for an operand that is LLFI_IX_NONE. */
llfi_ix llfi_ix_axis(llfi_maps *, uint32_t axis);
llfi_ix llfi_ix_const(llfi_maps *, llfi_dim);
llfi_ix llfi_ix_add(llfi_maps *, llfi_ix, llfi_ix);
llfi_ix llfi_ix_sub(llfi_maps *, llfi_ix, llfi_ix);
llfi_ix llfi_ix_scale(llfi_maps *, llfi_ix, llfi_dim);
/* Of an expression that is never negative, by an extent that is never 0 where it matters. */
llfi_ix llfi_ix_div(llfi_maps *, llfi_ix, llfi_dim);
llfi_ix llfi_ix_mod(llfi_maps *, llfi_ix, llfi_dim);
/* Is the expression provably one of 0 .. extent-1? */
bool llfi_ix_within(llfi_maps *, llfi_ix, llfi_dim extent);
/* map_index.c: limited to 0 .. extent-1; the value of `value` (a demand in the making, wanted under `map`).
 */
llfi_ix llfi_ix_clamp(llfi_maps *, llfi_ix, llfi_dim extent);
llfi_ix llfi_ix_value(llfi_maps *, uint32_t value, uint32_t map, llfi_dim extent);
/* llfi_ix_form.alive and .waits of all axes of a map, and of two such. */
llfi_dim llfi_map_alive(llfi_maps *, uint32_t map);
bool llfi_map_waits(const llfi_maps *, uint32_t map);
llfi_dim llfi_alive_both(llfi_maps *, llfi_dim, llfi_dim);
/* Value at a point, for tests; false: unknown symbol, overflow, division by 0 or a VALUE. */
bool llfi_ix_eval(const llfi_maps *, llfi_ix, const int64_t *axis, const int64_t *symbol, int64_t *value);
void llfi_ix_print(const llfi_maps *, llfi_ix, llfi_str *); /* "i0*N+i1//4" */

/* Interned maps; UINT32_MAX after a failure. */
uint32_t llfi_maps_add(llfi_maps *, uint32_t rank, const llfi_ix *);
uint32_t llfi_maps_identity(llfi_maps *);

/* ---- composition: `out` holds the expressions of a view's axes and becomes those of its operand's axes.
 * Ranks and shapes are the graph's business and are not checked again. */
bool llfi_ix_permute(llfi_maps *, llfi_ix *ix, uint32_t rank,
                     const uint32_t *perm); /* out axis i = in axis perm[i] */
bool llfi_ix_slice(llfi_maps *, llfi_ix *ix, uint32_t axis, llfi_dim start, int64_t step);
bool llfi_ix_flip(llfi_maps *, llfi_ix *ix, uint32_t axis, llfi_dim extent);
/* numpy's alignment at the right; an axis of extent 1 where the result has another is read at 0. */
bool llfi_ix_broadcast(llfi_maps *, llfi_ix *ix, uint32_t out_rank, const llfi_dim *out, uint32_t in_rank,
                       const llfi_dim *in);
/* Also expand_dims and squeeze. */
bool llfi_ix_reshape(llfi_maps *, llfi_ix *ix, uint32_t out_rank, const llfi_dim *out, uint32_t in_rank,
                     const llfi_dim *in);
/* Row-major offset of a point of a tensor. */
llfi_ix llfi_ix_linear(llfi_maps *, const llfi_ix *ix, uint32_t rank, const llfi_dim *extent);
/* The same of a tensor with strides. */
llfi_ix llfi_ix_strided(llfi_maps *, const llfi_ix *ix, uint32_t rank, const llfi_stride *stride);
/* map_index.c: the axes of an INDEX node become those of its operand. `value`, `map`: of the indices of take.
 */
bool llfi_ix_operand(llfi_maps *, const llf_graph *, llf_id, uint32_t operand, uint32_t value, uint32_t map,
                     llfi_ix *ix);
/* How many conditions choose among the operands, and the k-th: it holds where the expression is negative.
 * Concat: an operand's axis ends here; pad: x's axis begins, ends; LLFI_IX_NONE: nothing is to be asked. */
uint32_t llfi_ix_conditions(const llf_graph *, llf_id);
bool llfi_ix_condition(llfi_maps *, const llf_graph *, llf_id, const llfi_ix *ix, uint32_t k, llfi_ix *out);
/* view.c: the same for a VIEW node of the graph. */
bool llfi_ix_view(llfi_maps *, const llf_graph *, llf_id view, llfi_ix *ix);

#endif
