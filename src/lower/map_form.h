/* map_form.h: an expression being made, for the files that make index maps. Nothing else includes this. */
#ifndef LLFI_MAP_FORM_H
#define LLFI_MAP_FORM_H

#include "lower/map.h"

#define LLFI_IX_TERMS 32u /* most of one expression; sums stand on the stack */

typedef struct {
    llfi_signed c;
    uint32_t terms;
    llfi_ix_term t[LLFI_IX_TERMS];
} llfi_sum;

void llfi_sum_of(llfi_maps *, llfi_ix, llfi_sum *);
void llfi_sum_clear(llfi_maps *, llfi_sum *);
/* sum += coef * atom; sum += coef * expression */
void llfi_sum_atom(llfi_maps *, llfi_sum *, uint32_t atom, llfi_signed coef);
void llfi_sum_add(llfi_maps *, llfi_sum *, llfi_ix, llfi_signed coef);
/* Joins by * floordiv(x, by) + mod(x, by) to x wherever both stand, and interns. */
llfi_ix llfi_sum_intern(llfi_maps *, llfi_sum *);
/* Interned; UINT32_MAX after a failure. */
uint32_t llfi_atom_add(llfi_maps *, llfi_atom_kind, uint32_t arg, llfi_dim by, llfi_dim extent);
/* The atom floordiv(ix, by), nested quotients made one; for twins of remainders. */
uint32_t llfi_atom_div(llfi_maps *, llfi_ix, llfi_dim by);
void llfi_maps_fail(llfi_maps *, llf_status);
/* The expression that is just this atom; NONE for UINT32_MAX. */
llfi_ix llfi_ix_of_atom(llfi_maps *, uint32_t atom);
/* Is the expression just one atom? */
bool llfi_ix_is_atom(const llfi_maps *, llfi_ix, uint32_t *atom);

#endif
