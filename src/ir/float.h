/* float.h: conversions between number formats in integer code, round to nearest even, subnormals kept; the
 * scalar truth that literals, the folder and the interpreter share. IEEE 754-2019 sections 5.4.1, 5.4.2. */
#ifndef LLFI_FLOAT_H
#define LLFI_FLOAT_H

#include "llfuse/llfuse.h"

float llfi_f32_from_f16(uint16_t);
float llfi_f32_from_bf16(uint16_t);
uint16_t llfi_f16_from_f64(double); /* one rounding; also exact for f32 arguments */
uint16_t llfi_bf16_from_f64(double);

/* Value of `bits` (zero-extended, as in CONST) of a float dtype; exact in f64. */
double llfi_bits_to_f64(llf_dtype, uint64_t bits);
/* Nearest value of a float dtype, one rounding. */
uint64_t llfi_bits_from_f64(llf_dtype, double);
/* ints and bool: sign-extended value; back with wrapping to the dtype's width. */
int64_t llfi_bits_to_i64(llf_dtype, uint64_t bits);
uint64_t llfi_bits_from_i64(llf_dtype, int64_t);
/* Load or store one element of a dtype as zero-extended bits. */
uint64_t llfi_bits_load(llf_dtype, const void *);
void llfi_bits_store(llf_dtype, void *, uint64_t bits);
bool llfi_bits_nan(llf_dtype, uint64_t bits);
/* Distance in units of the last place of dtype between two values; 0 for two NaNs, UINT64_MAX for NaN against
 * a number; +0 and -0 are 0 apart. */
uint64_t llfi_ulp_distance(llf_dtype, uint64_t a, uint64_t b);

#endif
