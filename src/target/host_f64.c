/* host_f64.c: f64 functions of the host target, lane by lane through the C library, and the table of all
 * functions that generated code may call. The wrappers carry our own names: a name that LLVM knew it would
 * fold with its own library, and the bits would depend on what is constant. */
#include "target/host.h"

#include "lower/llvm.h"
#include "target/host_math_coeffs.h"

#include <math.h>

double llfi_host_exp(double);
double llfi_host_exp2(double);
double llfi_host_log(double);
double llfi_host_log1p(double);
double llfi_host_tanh(double);
double llfi_host_sin(double);
double llfi_host_cos(double);
double llfi_host_erf(double);

#define WRAP(name)                    \
    double llfi_host_##name(double x) \
    {                                 \
        return name(x);               \
    }
WRAP(exp)
WRAP(exp2)
WRAP(log)
WRAP(log1p)
WRAP(sin)
WRAP(cos)
WRAP(erf)

/* Not the C library's: glibc's errs by up to 2.2 ulp, more than the 2 that docs/accuracy.md promises. Near 0
 * the polynomial only adds a tenth of x; from 0.55 on the quotient is at most half of the result, and so is
 * its error. */
double llfi_host_tanh(double x)
{
    double a = fabs(x);
    if (!(a < 0.55))
        return copysign(1.0 - 2.0 / (exp(2.0 * a) + 1.0), x);
    double z = a * a, p = coef_tanh[LLFI_COUNT(coef_tanh) - 1];
    for (size_t i = LLFI_COUNT(coef_tanh) - 1; i-- > 0;)
        p = p * z + coef_tanh[i];
    return copysign(a + a * z * p, x);
}

void llfi_host_reduce(const float *x, double *r, int64_t *quadrant, int64_t n);

/* A function's address as data; POSIX guarantees the conversion, ISO C does not. */
#define SYMBOL(name, function)              \
    {                                       \
        name, (void *)(uintptr_t)(function) \
    }
const struct llfi_host_symbol llfi_host_symbols[] = {
    SYMBOL("llfi_host_exp", llfi_host_exp),
    SYMBOL("llfi_host_exp2", llfi_host_exp2),
    SYMBOL("llfi_host_log", llfi_host_log),
    SYMBOL("llfi_host_log1p", llfi_host_log1p),
    SYMBOL("llfi_host_tanh", llfi_host_tanh),
    SYMBOL("llfi_host_sin", llfi_host_sin),
    SYMBOL("llfi_host_cos", llfi_host_cos),
    SYMBOL("llfi_host_erf", llfi_host_erf),
    SYMBOL("llfi_host_reduce", llfi_host_reduce),
    /* what LLVM calls for llvm.fma on a CPU without the instruction; correctly rounded in every C library */
    SYMBOL("fma", (double (*)(double, double, double))fma),
    SYMBOL("fmaf", (float (*)(float, float, float))fmaf),
};
const size_t llfi_host_symbols_count = LLFI_COUNT(llfi_host_symbols);

LLVMValueRef llfi_host_declare(llfi_emit *e, const char *name, LLVMTypeRef type, bool pure)
{
    LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
    if (f)
        return f;
    f = LLVMAddFunction(e->module, name, type);
    llfi_llvm_enum_attribute(e->lx, f, "nounwind", 0);
    llfi_llvm_enum_attribute(e->lx, f, "willreturn", 0);
    if (pure)
        llfi_llvm_enum_attribute(e->lx, f, "memory", 0); /* none */
    return f;
}

LLVMValueRef llfi_host_f64(llfi_emit *e, llf_op op, LLVMValueRef x)
{
    const char *name = NULL;
    switch (op) {
    case LLF_OP_EXP: name = "llfi_host_exp"; break;
    case LLF_OP_EXP2: name = "llfi_host_exp2"; break;
    case LLF_OP_LOG: name = "llfi_host_log"; break;
    case LLF_OP_LOG1P: name = "llfi_host_log1p"; break;
    case LLF_OP_TANH: name = "llfi_host_tanh"; break;
    case LLF_OP_SIN: name = "llfi_host_sin"; break;
    case LLF_OP_COS: name = "llfi_host_cos"; break;
    case LLF_OP_ERF: name = "llfi_host_erf"; break;
    case LLF_OP_RSQRT: { /* two correctly rounded steps: within 1 ulp */
        LLVMValueRef root = llfi_emit_call(e, "llvm.sqrt", llfi_emit_vec(e->f64, e->width), &x, 1);
        return LLVMBuildFDiv(e->b, llfi_emit_f64c(e, 1.0), root, "");
    }
    default: e->status = llfi_fail(e->diag, LLF_E_INTERNAL, "host: op %d is no function", (int)op); return x;
    }
    LLVMTypeRef type = LLVMFunctionType(e->f64, &e->f64, 1, false);
    LLVMValueRef f = llfi_host_declare(e, name, type, true);
    return llfi_emit_by_lane(e, type, f, x);
}
