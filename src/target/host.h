/* host.h: what the host target's machine code may call, and what its files share. Knows nothing of threads or
 * of how objects are loaded (runtime/device_host.c does that). */
#ifndef LLFI_HOST_H
#define LLFI_HOST_H

#include "lower/lower.h"

#include <llvm-c/TargetMachine.h>

/* Every function that generated code may name. The loader defines exactly these; compile() refuses any other.
 */
extern const struct llfi_host_symbol {
    const char *name;
    void *address;
} llfi_host_symbols[];
extern const size_t llfi_host_symbols_count;

/* host_math.c: f32 functions as vector code; host_f64.c: f64 functions, lane by lane through the C library.
 */
LLVMValueRef llfi_host_f32(llfi_emit *, llf_op, LLVMValueRef x);
LLVMValueRef llfi_host_f64(llfi_emit *, llf_op, LLVMValueRef x);
/* A declaration of one of llfi_host_symbols in the module, free of side effects. */
LLVMValueRef llfi_host_declare(llfi_emit *, const char *name, LLVMTypeRef type, bool pure);
/* String attributes that every function of a module carries: CPU, features, float behaviour. */
void llfi_host_attributes(LLVMContextRef, const llfi_target *, LLVMValueRef function);

/* host_object.c: E_LLVM when the ELF object names a function outside llfi_host_symbols. */
llf_status llfi_host_object_check(llfi_diag *, const char *object, size_t bytes);

/* host_cpu.c: llfi_backend.init; `want`: "" or a CPU name */
llf_status llfi_host_init(llfi_diag *, const char *want, llfi_target *);

#endif
