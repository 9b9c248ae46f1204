/* target.h: what a target is and how LLVM IR becomes code for it. */
#ifndef LLFI_TARGET_H
#define LLFI_TARGET_H

#include "base/base.h"
#include "ir/ir.h"

#include <llvm-c/Types.h>

struct llfi_emit;
struct llfi_site;
typedef struct llfi_backend llfi_backend;

typedef struct llfi_target {
    const llfi_backend *backend;
    char name[64]; /* canonical text: "nvptx:sm_90a+ptx83", "host:<cpu>" */
    char cpu[48];  /* LLVM CPU name */
    char features[1024];
    uint32_t sm;          /* nvptx: 75, 80, 90 */
    bool sm_a;            /* nvptx: the `a` suffix */
    uint32_t ptx;         /* nvptx: 83 = PTX 8.3 */
    bool cache_hints;     /* accesses can be marked for the caches (llfi_hint) */
    uint32_t simd_bytes;  /* host: vector register size */
    uint32_t param_bytes; /* kernel parameter limit */
} llfi_target;

/* How functions and roundings are made; all on register form at emit->width. */
typedef struct {
    /* x -> op(x) for function ops (not EXACT) in f32 or f64; the caller rounds to 16-bit dtypes */
    LLVMValueRef (*function)(struct llfi_emit *, llf_op, llf_dtype compute, LLVMValueRef x);
    /* float value -> i16 bits, one rounding; from f32 or f64 */
    LLVMValueRef (*narrow)(struct llfi_emit *, llf_dtype to, LLVMValueRef x);
    /* i16 bits -> float */
    LLVMValueRef (*widen)(struct llfi_emit *, llf_dtype from, LLVMValueRef bits);
    /* fused multiply-add of f16 or bf16 values in register form, rounded once to the dtype */
    LLVMValueRef (*fma16)(struct llfi_emit *, llf_dtype, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
    /* sum, difference or product of f16 or bf16 values in register form, rounded once, where the target does
     * that better than by widening, rounding and widening again; NULL, or gives NULL: it does not */
    LLVMValueRef (*binary16)(struct llfi_emit *, llf_op, llf_dtype, LLVMValueRef a, LLVMValueRef b);
    /* correctly rounded quotient and square root of float register values */
    LLVMValueRef (*divide)(struct llfi_emit *, llf_dtype, LLVMValueRef a, LLVMValueRef b);
    LLVMValueRef (*root)(struct llfi_emit *, llf_dtype, LLVMValueRef a);
    /* IEEE maximum (or minimum) of float register values */
    LLVMValueRef (*maximum)(struct llfi_emit *, llf_dtype, bool minimum, LLVMValueRef a, LLVMValueRef b);
    /* A compiler behind this backend evaluates approximations of constants otherwise than the device does
     * (ptxas: ex2.approx): functions must not see that an operand is a constant. */
    bool hides_constants;
} llfi_lowering;

/* Compiled code of one kernel, owned by `mem`. */
typedef struct {
    char *code; /* PTX text or an ELF object; a NUL follows: `bytes` + 1 were allocated */
    size_t bytes;
    double opt_ms, emit_ms; /* LLVM passes; code generation */
} llfi_code;

struct llfi_backend {
    const char *name; /* "nvptx", "host" */
    const llfi_lowering *lowering;
    const struct llfi_skeleton *const *skeletons; /* NULL-terminated, in order of preference */
    /* Fills cpu, features and limits from the text after the backend's name (may be ""). E_TARGET. */
    llf_status (*init)(llfi_diag *, const char *text, llfi_target *);
    /* Triple, data layout and function attributes of a fresh module; kernel function of that name and
     * argument list. */
    llf_status (*begin)(struct llfi_site *);
    /* The same for a part of a kernel: an internal function of the same module. */
    llf_status (*begin_part)(struct llfi_site *);
    /* Verifies that nothing unselectable is left, optimises, emits; after a failure no code is left. Texts
     * are appended where wanted (NULL: not). Thread-safe: touches only the module. */
    llf_status (*compile)(llfi_diag *, const llfi_target *, const llf_allocator *, LLVMModuleRef, llfi_code *,
                          llfi_str *llvm_opt, llfi_str *assembly);
};
extern const llfi_backend llfi_backend_nvptx, llfi_backend_host;

/* Text as in llf_options.target; NULL: host. Initialises LLVM's targets once per process (thread-safe). */
llf_status llfi_target_make(llf_context *, const char *text, llfi_target *);

/* libdevice.c: bitcode of one pruned libdevice function ("__nv_tanhf"), embedded at build time; false: none
 * (built without a toolkit). */
bool llfi_libdevice_get(const char *function, const unsigned char **bitcode, size_t *bytes);
bool llfi_libdevice_present(void);

#endif
