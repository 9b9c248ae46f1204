/* no_nvptx.c: stands in for the nvptx backend and libdevice in builds without a CUDA toolkit, so that asking
 * for a GPU gets an answer. Must not pretend to compile anything. */
#include "target/target.h"

bool llfi_libdevice_present(void)
{
    return false;
}

bool llfi_libdevice_get(const char *function, const unsigned char **bitcode, size_t *bytes)
{
    (void)function;
    *bitcode = NULL;
    *bytes = 0;
    return false;
}

static llf_status refuse(llfi_diag *d)
{
    return llfi_fail(d, LLF_E_TARGET,
                     "target nvptx: this llfuse was built without a CUDA toolkit; install one, configure "
                     "again, or use the "
                     "target host");
}

static llf_status init(llfi_diag *d, const char *text, llfi_target *t)
{
    (void)text;
    (void)t;
    return refuse(d);
}

static llf_status begin(struct llfi_site *site)
{
    (void)site;
    return LLF_E_TARGET;
}

static llf_status compile(llfi_diag *d, const llfi_target *t, const llf_allocator *mem, LLVMModuleRef module,
                          llfi_code *code, llfi_str *llvm_opt, llfi_str *assembly)
{
    (void)mem;
    (void)module;
    (void)code;
    (void)llvm_opt;
    (void)assembly;
    (void)t;
    return refuse(d);
}

static const struct llfi_skeleton *const skeletons[] = {NULL};
const llfi_backend llfi_backend_nvptx = {
    .name = "nvptx", .skeletons = skeletons, .init = init, .begin = begin, .compile = compile};
