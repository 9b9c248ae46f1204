/* target.c: from a target's text to its backend. Knows no architecture; initialises LLVM once per process. */
#include "target/target.h"

#include <llvm-c/Target.h>
#include <pthread.h>

static const llfi_backend *const backends[] = {&llfi_backend_host, &llfi_backend_nvptx};

/* The one process-wide state: LLVM's registry of targets, which LLVM itself never undoes. */
static pthread_once_t llvm_once = PTHREAD_ONCE_INIT;

static void init_llvm(void)
{
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
}

llf_status llfi_target_make(llf_context *cx, const char *text, llfi_target *t)
{
    if (pthread_once(&llvm_once, init_llvm) != 0)
        return llfi_fail(&cx->diag, LLF_E_INTERNAL, "LLVM's targets cannot be initialised");
    if (!text)
        text = "host";
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    for (size_t i = 0; i < LLFI_COUNT(backends); i++) {
        const llfi_backend *b = backends[i];
        if (strlen(b->name) != length || memcmp(b->name, text, length) != 0)
            continue;
        memset(t, 0, sizeof *t);
        t->backend = b;
        LLF_TRY(b->init(&cx->diag, colon ? colon + 1 : "", t));
        if (!t->name[0])
            snprintf(t->name, sizeof t->name, "%s:%s", b->name, t->cpu);
        return LLF_OK;
    }
    return llfi_fail(&cx->diag, LLF_E_TARGET,
                     "unknown target '%.64s'; legal: host, nvptx, nvptx:sm_90a, nvptx:sm_90a+ptx83", text);
}
