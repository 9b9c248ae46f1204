/* reduce.h: what reductions are made of, the same for all targets: the state of a reduction, its identity,
 * how two are combined, the folds inside a vector, the result. Pure, on register values: it knows neither
 * threads nor memory nor rows.
 *
 * The order (docs/ir.md, "Reductions"). Chunk c is elements 1024c .. 1024c+1023. Inside a chunk
 *
 *     i = 256 s + 8 lane + j        s 0..3, lane 0..31, j 0..7
 *
 * is folded over s (bits 9, 8), then over j (bits 1, 0, 2), then over the lanes 16, 8, 4, 2, 1 apart; then
 * the chunks as a tree of adjacent pairs. Missing elements and chunks hold the identity, which changes no bit
 * of what it is combined with: whoever likes leaves them out. Where a fold is not `ordered` any order will
 * do. */
#ifndef LLFI_LOWER_REDUCE_H
#define LLFI_LOWER_REDUCE_H

#include "lower/lower.h"

#define LLFI_CHUNK 1024u /* elements */
#define LLFI_CHUNK_S 256u
#define LLFI_CHUNK_J 8u
#define LLFI_FOLD_STATES 2u
#define LLFI_FOLD_WIDTH 64u /* of the widest vector */

typedef struct {
    llf_op op;
    llf_dtype in, acc, out; /* llfi_reduce */
    uint32_t states;        /* values that a state consists of */
    bool ordered;           /* the order shows in the bits */
    bool places; /* argmax, argmin: elements have places, which states carry as their second value */
    bool narrow; /* places have 32 bits, else 64 */
} llfi_fold;

/* softmax_stats and moments have chunks of their own (below): their elements are put down as any other's, but
 * states of chunks come from llfi_softmax_... and llfi_moments_..., and are no elements' states. For an
 * element that is missing the identity is what their steps ask for. */
static inline bool llfi_fold_is_stats(const llfi_fold *f)
{
    return f->op == LLF_OP_SOFTMAX_STATS || f->op == LLF_OP_MOMENTS;
}
/* The sum of elements of the accumulator's dtype, or their maximum, as its steps want them; of another fold
 * itself. */
llfi_fold llfi_fold_sum(const llfi_fold *);
llfi_fold llfi_fold_max(const llfi_fold *);

/* <w x T> each, T by llfi_fold_type. */
typedef struct {
    LLVMValueRef v[LLFI_FOLD_STATES];
} llfi_state;

llfi_fold llfi_fold_of(const llf_graph *, llf_id reduce, bool narrow);
/* Type of a value of the state, `width` of them: double, float, iN; bools are i1. */
LLVMTypeRef llfi_fold_type(const llfi_emit *, const llfi_fold *, uint32_t k, uint32_t width);

/* At e->width. `x`: elements in register form of the operand's dtype; `place`: their numbers, NULL unless
 * `places`. */
llfi_state llfi_fold_element(llfi_emit *, const llfi_fold *, LLVMValueRef x, LLVMValueRef place);
llfi_state llfi_fold_identity(llfi_emit *, const llfi_fold *);
/* `a` stands before `b` in the order; of any width. */
llfi_state llfi_fold_combine(llfi_emit *, const llfi_fold *, llfi_state a, llfi_state b);
/* The state where `keep` (i1, or as many as e->width) is true, elsewhere the identity. */
llfi_state llfi_fold_where(llfi_emit *, const llfi_fold *, LLVMValueRef keep, llfi_state);

/* <8 x T>, j = 0..7: folds bits 1, 0, 2 to T. */
llfi_state llfi_fold_j(llfi_emit *, const llfi_fold *, llfi_state);
/* The same of eight at once, 14 shuffles: value k of the result is the fold of at[k]. */
llfi_state llfi_fold_j8(llfi_emit *, const llfi_fold *, const llfi_state at[8]);
/* <w x T> to <w/2 x T>: value i with value i + w/2. w 2: to T. */
llfi_state llfi_fold_halves(llfi_emit *, const llfi_fold *, llfi_state, uint32_t width);

/* softmax_stats of a chunk with maximum m (f: f32 or f64; all at e->width): its M; the power of 2 of an
 * element, to be summed; what the sum is multiplied with where M is that of all chunks, to be summed over
 * chunks. */
LLVMValueRef llfi_softmax_scale(llfi_emit *, const llfi_fold *, LLVMValueRef m);
LLVMValueRef llfi_softmax_power(llfi_emit *, const llfi_fold *, LLVMValueRef x, LLVMValueRef m);
LLVMValueRef llfi_softmax_factor(llfi_emit *, const llfi_fold *, LLVMValueRef chunk, LLVMValueRef all);
/* moments: a chunk's mean of the sum of n elements (i64; not 0); mean and squares of it from the sums of d
 * and d * d; those of na elements and nb (0: none) behind them. */
LLVMValueRef llfi_moments_mean(llfi_emit *, const llfi_fold *, LLVMValueRef sum, LLVMValueRef n);
llfi_state llfi_moments_close(llfi_emit *, const llfi_fold *, LLVMValueRef mean, LLVMValueRef d,
                              LLVMValueRef squares, LLVMValueRef n);
llfi_state llfi_moments_pair(llfi_emit *, const llfi_fold *, llfi_state a, llfi_state b, LLVMValueRef na,
                             LLVMValueRef nb);

/* The result in register form of the node's dtype, of any width, rounded once. `empty`: an i1, or NULL where
 * there are elements: of none the sum is +0, whatever the identity is. */
LLVMValueRef llfi_fold_result(llfi_emit *, const llfi_fold *, llfi_state, LLVMValueRef empty);
/* The same of softmax_stats (M and S) or moments, which have two. */
void llfi_fold_results(llfi_emit *, const llfi_fold *, llfi_state, LLVMValueRef empty, LLVMValueRef out[2]);

#endif
