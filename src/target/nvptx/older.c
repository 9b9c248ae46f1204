/* older.c: what LLVM 19 to 21 need to give what 22, the reference, gives by itself. Nothing here runs
 * with 22. */
#include "target/nvptx/nvptx.h"

#include <llvm/Config/llvm-config.h>

#if LLVM_VERSION_MAJOR < 21
/* The attribute "nvvm.maxntid" is unknown before 21; the annotation that it replaced still works there. */
void llfi_nvptx_annotate_threads(LLVMContextRef lx, LLVMModuleRef module, LLVMValueRef function,
                                 uint32_t threads)
{
    LLVMMetadataRef part[3] = {LLVMValueAsMetadata(function), LLVMMDStringInContext2(lx, "maxntidx", 8),
                               LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(lx), threads, 0))};
    LLVMValueRef node = LLVMMetadataAsValue(lx, LLVMMDNodeInContext2(lx, part, 3));
    LLVMAddNamedMetadataOperand(module, "nvvm.annotations", node);
}
#else
void llfi_nvptx_annotate_threads(LLVMContextRef lx, LLVMModuleRef module, LLVMValueRef function,
                                 uint32_t threads)
{
    (void)lx, (void)module, (void)function, (void)threads;
}
#endif

/* Calls are numbered over the whole process, in comments: the same kernel would not give the same bytes. */
void llfi_nvptx_drop_call_numbers(char *text, size_t *bytes)
{
#if LLVM_VERSION_MAJOR < 22
    static const char mark[] = "// callseq ";
    char *to = text, *from = text;
    for (char *at; (at = strstr(from, mark)) != NULL;) {
        memmove(to, from, (size_t)(at - from));
        to += at - from;
        from = at + strcspn(at, "\n");
    }
    size_t rest = (size_t)(text + *bytes - from) + 1; /* the NUL too */
    memmove(to, from, rest);
    *bytes = (size_t)(to - text) + rest - 1;
#else
    (void)text, (void)bytes;
#endif
}
