/* nvptx.h: what the files of the nvptx backend share; nothing outside this folder includes it. */
#ifndef LLFI_NVPTX_H
#define LLFI_NVPTX_H

#include "lower/lower.h"
#include "target/target.h"

#include <llvm-c/TargetMachine.h>

/* arch.c: architecture and PTX version, checked by table before LLVM sees them. */
llf_status llfi_nvptx_init(llfi_diag *, const char *text, llfi_target *);
/* check.c: E_LLVM naming the first instruction, type or callee that code generation might abort on. */
llf_status llfi_nvptx_check(llfi_diag *, const llfi_target *, LLVMModuleRef);
/* link.c: links in the libdevice functions that the module declares, as internal functions. */
llf_status llfi_nvptx_link(llfi_diag *, LLVMModuleRef);
/* trig.c: f32 sine or cosine; both of one argument share the range reduction. */
LLVMValueRef llfi_nvptx_sincos(llfi_emit *, bool cosine, LLVMValueRef x);
/* div.c: correctly rounded f32 quotient and square root. */
LLVMValueRef llfi_nvptx_divide(llfi_emit *, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef llfi_nvptx_sqrt(llfi_emit *, LLVMValueRef a);
/* rare.c: `slow` makes one lane's results from its `ins` operands and the results it has so far. */
typedef void llfi_nvptx_slow_fn(llfi_emit *, const LLVMValueRef *in, const LLVMValueRef *so_far,
                                LLVMValueRef *out);
/* Redoes every lane's results by `slow` when the scalar i1 `enter` holds; at most four values in all. */
void llfi_nvptx_rarely(llfi_emit *, LLVMValueRef enter, const LLVMValueRef *in, uint32_t ins,
                       LLVMValueRef *result, uint32_t results, llfi_nvptx_slow_fn *slow);
/* hints.c: the schedule's hints, kept with the kernel; then put into its PTX. */
void llfi_nvptx_want_hints(LLVMContextRef, LLVMValueRef function, const llfi_schedule *);
llf_status llfi_nvptx_hint(llfi_diag *, const llf_allocator *, LLVMModuleRef, llfi_code *);
/* older.c: for LLVM 19 to 21; nothing with 22. `bytes`: of the text, its NUL not counted. */
void llfi_nvptx_annotate_threads(LLVMContextRef, LLVMModuleRef, LLVMValueRef function, uint32_t threads);
void llfi_nvptx_drop_call_numbers(char *text, size_t *bytes);
extern const llfi_lowering llfi_nvptx_lowering; /* lowering.c */

#endif
