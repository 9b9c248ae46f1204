/* dims_form.h: how dims are kept, for the dims_*.c alone: records in a pool, sums unpacked to be worked on. A
 * record is a constant, a symbol, an atom (floordiv, min, max of two dims), a product of atoms, or a sum
 * `constant + coefficient * (symbol | atom | product) ...`. Must hold no arithmetic. */
#ifndef LLFI_DIMS_FORM_H
#define LLFI_DIMS_FORM_H

#include "ir/dims.h"

#define LLFI_DIM_MAX_TERMS 256u  /* of one sum */
#define LLFI_DIM_MAX_FACTORS 64u /* of one product */

/* Order of kinds is the order of terms. */
typedef enum {
    LLFI_DIM_CONST,
    LLFI_DIM_SYM,
    LLFI_DIM_DIV,
    LLFI_DIM_MIN,
    LLFI_DIM_MAX,
    LLFI_DIM_PROD,
    LLFI_DIM_SUM
} llfi_dim_kind;

/* pool: CONST value; SYM symbol; DIV/MIN/MAX two dims; PROD atoms; SUM constant, then (coefficient,
 * monomial)... */
typedef struct {
    uint8_t kind;
    uint8_t depth;
    uint16_t count; /* words in the pool */
    uint32_t size;
    uint32_t at;
    uint64_t hash; /* of structure and symbol names */
} llfi_dim_record;

struct llfi_dims {
    llf_allocator mem;
    LLFI_VEC(llfi_dim_record) rec;
    LLFI_VEC(int64_t) pool;
    LLFI_VEC(uint32_t) symbol; /* offsets into text */
    LLFI_VEC(char) text;
    llfi_map interned, symbols;
    bool nomem;
};

/* A sum being made. */
typedef struct {
    int64_t c;
    uint32_t terms;
    int64_t coef[LLFI_DIM_MAX_TERMS];
    llfi_dim mono[LLFI_DIM_MAX_TERMS];
} llfi_poly;

/* The words of a record; valid until the next dim is made. */
static inline const int64_t *llfi_dims_words(const llfi_dims *d, llfi_dim id)
{
    return d->pool.at + d->rec.at[id].at;
}
/* The dim of these words, which are in normal form; LLFI_DIM_NONE: out of memory, too deep or too long. */
llfi_dim llfi_dims_intern(llfi_dims *, llfi_dim_kind, const int64_t *word, uint32_t count);
int llfi_dims_order(const llfi_dims *, llfi_dim a, llfi_dim b); /* total, by structure and names */
/* The factors of a product, ordered; of any other dim: itself. At most LLFI_DIM_MAX_FACTORS. */
uint32_t llfi_dims_factors(const llfi_dims *, llfi_dim mono, int64_t *out);

void llfi_dims_unpack(const llfi_dims *, llfi_dim, llfi_poly *);
llfi_dim llfi_dims_pack(llfi_dims *, llfi_poly *); /* LLFI_DIM_NONE, too: nothing in it is positive */
/* Adds coef * mono in its place; false on overflow or too many terms. */
bool llfi_poly_add_term(const llfi_dims *, llfi_poly *, int64_t coef, llfi_dim mono);
/* p + sign * b */
bool llfi_poly_add(const llfi_dims *, llfi_poly *, llfi_dim b, int64_t sign);

#endif
