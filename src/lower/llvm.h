/* llvm.h: what rooms ask of LLVM alike. LLVM's strings are consumed and disposed here; a failure is a status
 * and one message that begins with `who`. Knows no target, kernel or op. */
#ifndef LLFI_LLVM_H
#define LLFI_LLVM_H

#include "base/base.h"

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>

/* Takes the error over; E_LLVM. */
llf_status llfi_llvm_error(llfi_diag *, const char *who, LLVMErrorRef);
llf_status llfi_llvm_verify(llfi_diag *, const char *who, LLVMModuleRef);
/* `passes`: a pipeline as text of `opt -passes`. */
llf_status llfi_llvm_optimise(llfi_diag *, const char *who, LLVMModuleRef, LLVMTargetMachineRef,
                              const char *passes);
/* Code generation, which changes the module. `code` is `bytes` long, in memory of `mem`, with a NUL behind.
 */
llf_status llfi_llvm_emit(llfi_diag *, const char *who, LLVMModuleRef, LLVMTargetMachineRef,
                          LLVMCodeGenFileType, const llf_allocator *mem, char **code, size_t *bytes);
/* Appends the module's text. */
llf_status llfi_llvm_print(llfi_diag *, LLVMModuleRef, llfi_str *);
/* Appends the module's bitcode: all that code is made from, and the same for the same module. */
llf_status llfi_llvm_bitcode(llfi_diag *, LLVMModuleRef, llfi_str *);

/* Attributes of a function; `value` of an enum attribute is 0 where it has none. */
void llfi_llvm_attribute(LLVMContextRef, LLVMValueRef function, const char *name, const char *value);
void llfi_llvm_enum_attribute(LLVMContextRef, LLVMValueRef function, const char *name, uint64_t value);

/* LLVM prints what nobody handles: between listen and heard it is kept, and the first error is the result. */
typedef struct {
    char text[512];
    LLVMDiagnosticHandler before;
    void *before_user;
} llfi_llvm_errors;
void llfi_llvm_listen(LLVMContextRef, llfi_llvm_errors *);
llf_status llfi_llvm_heard(llfi_diag *, const char *who, LLVMContextRef, llfi_llvm_errors *);

#endif
