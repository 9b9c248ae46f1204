/* embed_libdevice.c: build-time tool: embed-libdevice LIBDEVICE.bc OUT.c
 *
 * Prunes NVIDIA's libdevice to one small bitcode per function of src/target/libdevice.def and writes them as
 * C arrays with the table llfi_libdevice_get reads. __CUDA_FTZ is decided here (0: subnormals are kept), so
 * that no kernel pays for it; a function that asks for anything else at compile time (__CUDA_ARCH) is
 * refused. The output depends on the input file and LLVM alone. Must not use llvm-extract's way of pruning:
 * what it leaves makes nvvm-reflect crash. */
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define LIBDEVICE(op, f32, f64) f32, f64,
#include "../src/target/libdevice.def"
#undef LIBDEVICE
};
#define NAMES (sizeof names / sizeof names[0])
#define OLDEST_ARCH 750u
#define ON_FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

static int fail(const char *what, const char *detail)
{
    fprintf(stderr, "embed-libdevice: %s: %s\n", what, detail);
    return 1;
}

/* True when `call` is only compared for equality with architectures older than any we compile for. */
static int asks_for_old_arch(LLVMValueRef call)
{
    for (LLVMUseRef use = LLVMGetFirstUse(call); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAICmpInst(user) || LLVMGetICmpPredicate(user) != LLVMIntEQ)
            return 0;
        LLVMValueRef with = LLVMGetOperand(user, 1);
        if (!LLVMIsAConstantInt(with) || LLVMConstIntGetZExtValue(with) >= OLDEST_ARCH)
            return 0;
    }
    return 1;
}

/* __CUDA_FTZ is 0; __CUDA_ARCH may only be asked where every architecture of ours answers alike. */
static int answer_reflect(LLVMModuleRef module, const char *name)
{
    LLVMValueRef reflect = LLVMGetNamedFunction(module, "__nvvm_reflect");
    if (!reflect)
        return 0;
    for (LLVMUseRef use = LLVMGetFirstUse(reflect); use; use = LLVMGetFirstUse(reflect)) {
        LLVMValueRef call = LLVMGetUser(use);
        LLVMValueRef key = LLVMGetOperand(call, 0);
        while (LLVMIsAConstantExpr(key))
            key = LLVMGetOperand(key, 0);
        size_t length = 0;
        const char *text = "";
        if (LLVMIsAGlobalVariable(key) && LLVMGetInitializer(key) &&
            LLVMIsConstantString(LLVMGetInitializer(key)))
            text = LLVMGetAsString(LLVMGetInitializer(key), &length);
        unsigned answer = 0;
        if (length == sizeof "__CUDA_ARCH" && memcmp(text, "__CUDA_ARCH", length) == 0 &&
            asks_for_old_arch(call))
            answer = OLDEST_ARCH;
        else if (length != sizeof "__CUDA_FTZ" || memcmp(text, "__CUDA_FTZ", length) != 0)
            return fail(name, "asks __nvvm_reflect for something that cannot be answered now");
        LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), answer, 0));
        LLVMInstructionEraseFromParent(call);
    }
    return 0;
}

/* Everything but `name` becomes internal and goes with globaldce when it is not needed. */
static void keep_only(LLVMModuleRef module, const char *name)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        size_t length;
        if (strcmp(LLVMGetValueName2(f, &length), name) != 0)
            LLVMSetLinkage(f, LLVMInternalLinkage);
    }
    for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
        if (!LLVMIsDeclaration(v))
            LLVMSetLinkage(v, LLVMInternalLinkage);
}

/* Front-end leftovers ("frame-pointer"="all" and the like) would only hinder inlining. */
static void strip_attributes(LLVMContextRef cx, LLVMModuleRef module, const char *name)
{
    static const char *const strings[] = {"disable-tail-calls", "frame-pointer",
                                          "less-precise-fpmad", "no-infs-fp-math",
                                          "no-nans-fp-math",    "stack-protector-buffer-size",
                                          "unsafe-fp-math",     "use-soft-float"};
    unsigned noinline = LLVMGetEnumAttributeKindForName("noinline", 8);
    unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
            LLVMRemoveStringAttributeAtIndex(f, ON_FUNCTION, strings[i], (unsigned)strlen(strings[i]));
        size_t length;
        if (!LLVMIsDeclaration(f) && strcmp(LLVMGetValueName2(f, &length), name) == 0) {
            LLVMRemoveEnumAttributeAtIndex(f, ON_FUNCTION, noinline);
            LLVMAddAttributeAtIndex(f, ON_FUNCTION, LLVMCreateEnumAttribute(cx, always, 0));
        }
    }
}

static int passes(LLVMModuleRef module, const char *pipeline)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, pipeline, NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error)
        return 0;
    char *text = LLVMGetErrorMessage(error);
    fail(pipeline, text);
    LLVMDisposeErrorMessage(text);
    return 1;
}

static int emit(FILE *out, size_t index, LLVMModuleRef module)
{
    LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(module);
    if (!bitcode)
        return fail("bitcode", names[index]);
    const unsigned char *at = (const unsigned char *)LLVMGetBufferStart(bitcode);
    size_t bytes = LLVMGetBufferSize(bitcode);
    fprintf(out, "\nstatic const unsigned char bitcode_%zu[%zu] = {", index, bytes);
    for (size_t i = 0; i < bytes; i++)
        fprintf(out, "%s%u,", i % 24 == 0 ? "\n" : "", at[i]);
    fputs("\n};\n", out);
    LLVMDisposeMemoryBuffer(bitcode);
    return 0;
}

static int one(FILE *out, size_t index, const char *path)
{
    const char *name = names[index];
    LLVMContextRef cx = LLVMContextCreate();
    LLVMMemoryBufferRef file = NULL;
    LLVMModuleRef module = NULL;
    char *message = NULL;
    int bad = 1;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &file, &message)) {
        fail(path, message);
        LLVMDisposeMessage(message);
        goto out;
    }
    if (LLVMParseBitcodeInContext2(cx, file, &module)) {
        fail(path, "not bitcode that this LLVM reads");
        goto out;
    }
    LLVMValueRef f = LLVMGetNamedFunction(module, name);
    if (!f || LLVMIsDeclaration(f)) {
        fail(path, name);
        goto out;
    }
    keep_only(module, name);
    if (passes(module, "globaldce") || answer_reflect(module, name))
        goto out;
    strip_attributes(cx, module, name);
    LLVMSetModuleIdentifier(module, name, strlen(name));
    LLVMSetSourceFileName(module, name, strlen(name));
    if (passes(module, "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,instcombine<no-"
                       "verify-fixpoint>),globaldce,strip-dead-prototypes"))
        goto out;
    bad = emit(out, index, module);
out:
    if (module)
        LLVMDisposeModule(module);
    if (file)
        LLVMDisposeMemoryBuffer(file);
    LLVMContextDispose(cx);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return fail("usage", "embed-libdevice LIBDEVICE.bc OUT.c");
    FILE *out = fopen(argv[2], "w");
    if (!out)
        return fail(argv[2], "cannot be written");
    fputs("/* Made by tools/embed_libdevice.c from NVIDIA's libdevice; do not edit. */\n"
          "#include \"target/nvptx/libdevice_data.h\"\n",
          out);
    for (size_t i = 0; i < NAMES; i++)
        if (one(out, i, argv[1])) {
            fclose(out);
            remove(argv[2]);
            return 1;
        }
    fputs("\nconst llfi_libdevice_entry llfi_libdevice_table[] = {\n", out);
    for (size_t i = 0; i < NAMES; i++)
        fprintf(out, "    {\"%s\", bitcode_%zu, sizeof bitcode_%zu},\n", names[i], i, i);
    fprintf(out, "};\nconst size_t llfi_libdevice_count = %zu;\n", NAMES);
    if (fclose(out)) {
        remove(argv[2]);
        return fail(argv[2], "cannot be written");
    }
    return 0;
}
