/* llvm.c: see llvm.h. Must not print, nor keep a string of LLVM's. */
#include "lower/llvm.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Transforms/PassBuilder.h>

llf_status llfi_llvm_error(llfi_diag *d, const char *who, LLVMErrorRef error)
{
    char *text = LLVMGetErrorMessage(error);
    llf_status status = llfi_fail(d, LLF_E_LLVM, "%s: %.500s", who, text);
    LLVMDisposeErrorMessage(text);
    return status;
}

/* `text` may be NULL. */
static llf_status refused(llfi_diag *d, const char *who, const char *what, char *text)
{
    llf_status status = llfi_fail(d, LLF_E_LLVM, "%s: %s: %.500s", who, what, text ? text : "");
    LLVMDisposeMessage(text);
    return status;
}

llf_status llfi_llvm_verify(llfi_diag *d, const char *who, LLVMModuleRef module)
{
    char *text = NULL;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &text))
        return refused(d, who, "the module is not valid LLVM IR (a bug in llfuse)", text);
    LLVMDisposeMessage(text);
    return LLF_OK;
}

llf_status llfi_llvm_optimise(llfi_diag *d, const char *who, LLVMModuleRef module, LLVMTargetMachineRef tm,
                              const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, tm, options);
    LLVMDisposePassBuilderOptions(options);
    return error ? llfi_llvm_error(d, who, error) : LLF_OK;
}

llf_status llfi_llvm_emit(llfi_diag *d, const char *who, LLVMModuleRef module, LLVMTargetMachineRef tm,
                          LLVMCodeGenFileType kind, const llf_allocator *mem, char **code, size_t *bytes)
{
    LLVMMemoryBufferRef buffer = NULL;
    char *text = NULL;
    *code = NULL;
    *bytes = 0;
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, module, kind, &text, &buffer))
        return refused(d, who, "code generation", text);
    size_t size = LLVMGetBufferSize(buffer);
    char *copy = llfi_alloc(mem, size + 1);
    if (copy) {
        memcpy(copy, LLVMGetBufferStart(buffer), size);
        copy[size] = 0;
        *code = copy;
        *bytes = size;
    }
    LLVMDisposeMemoryBuffer(buffer);
    return copy ? LLF_OK : llfi_nomem(d);
}

llf_status llfi_llvm_print(llfi_diag *d, LLVMModuleRef module, llfi_str *out)
{
    char *text = LLVMPrintModuleToString(module);
    llfi_str_puts(out, text);
    LLVMDisposeMessage(text);
    return out->failed ? llfi_nomem(d) : LLF_OK;
}

llf_status llfi_llvm_bitcode(llfi_diag *d, LLVMModuleRef module, llfi_str *out)
{
    LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(module);
    llfi_str_add(out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return out->failed ? llfi_nomem(d) : LLF_OK;
}

static void add(LLVMValueRef function, LLVMAttributeRef attribute)
{
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

void llfi_llvm_attribute(LLVMContextRef lx, LLVMValueRef function, const char *name, const char *value)
{
    add(function,
        LLVMCreateStringAttribute(lx, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

void llfi_llvm_enum_attribute(LLVMContextRef lx, LLVMValueRef function, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    add(function, LLVMCreateEnumAttribute(lx, kind, value));
}

static void hear(LLVMDiagnosticInfoRef info, void *user)
{
    llfi_llvm_errors *errors = user;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || errors->text[0])
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    snprintf(errors->text, sizeof errors->text, "%s", text && *text ? text : "an error without words");
    LLVMDisposeMessage(text);
}

void llfi_llvm_listen(LLVMContextRef lx, llfi_llvm_errors *errors)
{
    errors->text[0] = 0;
    errors->before = LLVMContextGetDiagnosticHandler(lx);
    errors->before_user = LLVMContextGetDiagnosticContext(lx);
    LLVMContextSetDiagnosticHandler(lx, hear, errors);
}

llf_status llfi_llvm_heard(llfi_diag *d, const char *who, LLVMContextRef lx, llfi_llvm_errors *errors)
{
    LLVMContextSetDiagnosticHandler(lx, errors->before, errors->before_user);
    return errors->text[0] ? llfi_fail(d, LLF_E_LLVM, "%s: %s", who, errors->text) : LLF_OK;
}
