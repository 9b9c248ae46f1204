/* decompose.h: how the list of a composite is written; each family of composites has a file, decompose_*.c.
 * The first failure sticks, so that a list reads as a list. Must not decide anything: the lists do. */
#ifndef LLFI_DECOMPOSE_H
#define LLFI_DECOMPOSE_H

#include "pass.h"

typedef struct {
    llfi_rewrite *r;
    llf_id like;       /* the composite, an old id */
    llf_dtype own;     /* dtype of its first result */
    llf_dtype work;    /* what the list computes in: f32, f64 where an operand or the result is f64; integers
                          their own */
    const llf_id *arg; /* its operands, new ids */
    uint32_t args;
    llf_id more[LLFI_RESULTS - 1]; /* further results */
    llf_status status;
} llfi_recipe;

typedef llf_id llfi_decompose_fn(llfi_recipe *, llf_id x);
#define COMPOSITE(id, ...) llfi_decompose_fn llfi_decompose_##id;
#include "llfuse/ops.def"

/* decompose.c; LLF_NONE where a part is LLF_NONE or anything failed before */
llf_id llfi_decompose_op(llfi_recipe *, llf_op, uint32_t count, const llf_id *arg, uint64_t attr);
llf_id llfi_decompose_num(llfi_recipe *, double); /* a literal of the compute dtype, rounded once */
llf_id llfi_decompose_cast(llfi_recipe *, llf_id, llf_dtype); /* nothing where it has that dtype */

/* decompose_reduce.c; axes are sets */
llf_id llfi_decompose_reduce(llfi_recipe *, llf_op, llf_id x, uint32_t axes,
                             bool keepdims);                                /* a sum in the compute dtype */
llf_id llfi_decompose_view(llfi_recipe *, llf_op, llf_id x, uint32_t axes); /* one that takes axes */
llf_id llfi_decompose_leaf(llfi_recipe *, llf_op, const llfi_ask *);        /* iota, count */
llf_id llfi_decompose_count(llfi_recipe *, llf_dtype, llf_id x, uint32_t axes);
uint32_t llfi_decompose_all(const llfi_recipe *, llf_id x); /* axes */
llf_id llfi_decompose_mean(llfi_recipe *, llf_id x, uint32_t axes, bool keepdims);
llf_id llfi_decompose_freedom(llfi_recipe *, llf_id x, uint32_t axes, int64_t correction);
llf_id llfi_decompose_loss(llfi_recipe *, llf_id loss, llf_reduction); /* cast to the result's dtype */

static inline llf_id op1(llfi_recipe *l, llf_op o, llf_id a)
{
    return llfi_decompose_op(l, o, 1, &a, 0);
}
static inline llf_id op2(llfi_recipe *l, llf_op o, llf_id a, llf_id b)
{
    return llfi_decompose_op(l, o, 2, (const llf_id[]){a, b}, 0);
}
static inline llf_id op3(llfi_recipe *l, llf_op o, llf_id a, llf_id b, llf_id c)
{
    return llfi_decompose_op(l, o, 3, (const llf_id[]){a, b, c}, 0);
}
static inline llf_id num(llfi_recipe *l, double value)
{
    return llfi_decompose_num(l, value);
}
static inline llf_id in(llfi_recipe *l, llf_id x)
{
    return llfi_decompose_cast(l, x, l->work);
}
static inline llf_id out(llfi_recipe *l, llf_id y)
{
    return llfi_decompose_cast(l, y, l->own);
}
static inline llfi_settings settings_of(const llfi_recipe *l)
{
    return llfi_settings_of(l->r->g, l->r->old[l->like].attr);
}
/* The second result of a reduction that has two. */
static inline llf_id second(llf_id reduction)
{
    return reduction == LLF_NONE ? LLF_NONE : reduction + 1;
}

#endif
