/* link.c: brings the libdevice functions that a module declares into it. Must not run passes. */
#include "target/nvptx/nvptx.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>

#define LINKED_MAX 64

static llf_status link_one(llfi_diag *d, LLVMModuleRef module, const char *name)
{
    const unsigned char *bitcode;
    size_t bytes;
    if (!llfi_libdevice_get(name, &bitcode, &bytes))
        return llfi_fail(d, LLF_E_LLVM, "nvptx: '%.64s' is not an embedded libdevice function", name);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange((const char *)bitcode, bytes, name, false);
    LLVMModuleRef part = NULL;
    if (!buffer)
        return llfi_nomem(d);
    LLVMBool bad = LLVMParseBitcodeInContext2(LLVMGetModuleContext(module), buffer, &part);
    LLVMDisposeMemoryBuffer(buffer);
    if (bad)
        return llfi_fail(d, LLF_E_LLVM, "nvptx: the embedded libdevice function '%.64s' cannot be read",
                         name);
    LLVMSetTarget(part, LLVMGetTarget(module));
    LLVMSetDataLayout(part, LLVMGetDataLayoutStr(module));
    if (LLVMLinkModules2(module, part)) /* takes `part` in any case */
        return llfi_fail(d, LLF_E_LLVM, "nvptx: the libdevice function '%.64s' cannot be linked", name);
    LLVMSetLinkage(LLVMGetNamedFunction(module, name), LLVMInternalLinkage);
    return LLF_OK;
}

llf_status llfi_nvptx_link(llfi_diag *d, LLVMModuleRef module)
{
    char name[LINKED_MAX][32];
    uint32_t count = 0;
    /* names first: linking adds functions to the list that is walked */
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t length = 0;
        const char *text = LLVMGetValueName2(f, &length);
        if (!LLVMIsDeclaration(f) || length < 5 || memcmp(text, "__nv_", 5) != 0)
            continue;
        if (count == LINKED_MAX || length >= sizeof name[0])
            return llfi_fail(d, LLF_E_LLVM, "nvptx: too many or too long names of libdevice functions");
        memcpy(name[count++], text, length + 1);
    }
    for (uint32_t i = 0; i < count; i++)
        LLF_TRY(link_one(d, module, name[i]));
    return LLF_OK;
}
