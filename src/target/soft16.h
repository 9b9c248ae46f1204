/* soft16.h: f16 and bf16 conversions and fused multiply-add as integer and f32/f64 code, for targets and
 * widths that have no instruction of their own (or one that flushes subnormals or calls a function). Emits IR
 * at the builder's place, at e->width; knows no target. */
#ifndef LLFI_SOFT16_H
#define LLFI_SOFT16_H

#include "lower/lower.h"

/* i16 bits -> f32, exact. */
LLVMValueRef llfi_soft16_widen(llfi_emit *, llf_dtype from, LLVMValueRef bits);
/* f32 -> i16 bits: round to nearest even, subnormals kept, NaN stays NaN. */
LLVMValueRef llfi_soft16_narrow_f32(llfi_emit *, llf_dtype to, LLVMValueRef x);
/* f64 -> i16 bits with one rounding. */
LLVMValueRef llfi_soft16_narrow_f64(llfi_emit *, llf_dtype to, LLVMValueRef x);
/* f64 -> f32 rounded to odd: a later rounding to 22 bits or fewer is then as if done at once. */
LLVMValueRef llfi_soft16_round_odd(llfi_emit *, LLVMValueRef x);
/* a * b + c of f16 or bf16 values in register form, rounded once to the dtype, back in register form. */
LLVMValueRef llfi_soft16_fma(llfi_emit *, llf_dtype, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

#endif
