/* test_target_nvptx_select.c: the gate's other side: whatever it lets through, LLVM selects. Every
 * instruction and intrinsic that check.c allows is compiled for every type, width and architecture, in a
 * child, since a node that cannot be selected ends the process. Refusals are counted, not judged. */
#include "nvptx_module.h"

#ifdef LLFUSE_CUDA
#include <sys/wait.h>

static const uint32_t widths[] = {1, 2, 4, 8, 16};
static uint32_t compiled, refused;

typedef LLVMValueRef make_fn(llfi_emit *, LLVMValueRef x, LLVMTypeRef to, uint32_t which);

static LLVMTypeRef type_of(const llfi_emit *e, LLVMTypeKind kind, unsigned bits)
{
    switch (kind) {
    case LLVMHalfTypeKind: return e->f16;
    case LLVMBFloatTypeKind: return e->bf16;
    case LLVMFloatTypeKind: return e->f32;
    case LLVMDoubleTypeKind: return e->f64;
    default: return LLVMIntTypeInContext(e->lx, bits);
    }
}

/* out = make(in), bytes as they are */
static void one(const char *target, LLVMTypeKind from, unsigned bits, LLVMTypeKind to, unsigned to_bits,
                uint32_t width, make_fn *make, uint32_t which)
{
    nvptx_module m;
    llfi_code code;
    nvptx_open(&m, target);
    llfi_emit *e = &m.site.emit;
    e->width = width;
    LLVMTypeRef in = llfi_emit_vec(type_of(e, from, bits), width),
                out = llfi_emit_vec(type_of(e, to, to_bits), width);
    LLVMValueRef x = LLVMBuildLoad2(e->b, in, m.value[0], "");
    x = make(e, x, out, which);
    if (x) {
        LLVMBuildStore(e->b, x, m.value[1]);
        LLVMBuildRetVoid(e->b);
        llf_status s = nvptx_compile(&m, &code);
        if (s == LLF_OK) {
            compiled++;
            llfi_free(&m.cx->mem, code.code, code.bytes + 1);
        } else {
            refused++;
            if (s != LLF_E_LLVM || !strstr(m.cx->diag.message, "lacks")) {
                print_message("%s\n", m.cx->diag.message);
                _exit(3);
            }
        }
    }
    nvptx_close(&m);
}

static LLVMValueRef other(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef at = LLVMGetParam(LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->b)), 1);
    return LLVMBuildLoad2(e->b, LLVMTypeOf(x), at, "");
}

static const LLVMOpcode int_ops[] = {LLVMAdd, LLVMSub,  LLVMMul,  LLVMUDiv, LLVMSDiv, LLVMURem, LLVMSRem,
                                     LLVMShl, LLVMLShr, LLVMAShr, LLVMAnd,  LLVMOr,   LLVMXor};
static const LLVMOpcode float_ops[] = {LLVMFAdd, LLVMFSub, LLVMFMul, LLVMFDiv};

static LLVMValueRef int_op(llfi_emit *e, LLVMValueRef x, LLVMTypeRef to, uint32_t which)
{
    (void)to;
    return LLVMBuildBinOp(e->b, int_ops[which], x, other(e, x), "");
}

static LLVMValueRef float_op(llfi_emit *e, LLVMValueRef x, LLVMTypeRef to, uint32_t which)
{
    (void)to;
    return LLVMBuildBinOp(e->b, float_ops[which], x, other(e, x), "");
}

static LLVMValueRef float_misc(llfi_emit *e, LLVMValueRef x, LLVMTypeRef to, uint32_t which)
{
    (void)to;
    LLVMValueRef y = other(e, x);
    if (which == 16)
        return LLVMBuildFreeze(e->b, LLVMBuildFNeg(e->b, x, ""), "");
    return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, (LLVMRealPredicate)which, x, y, ""), x, y, "");
}

static LLVMValueRef int_misc(llfi_emit *e, LLVMValueRef x, LLVMTypeRef to, uint32_t which)
{
    (void)to;
    LLVMValueRef y = other(e, x);
    return LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, (LLVMIntPredicate)(LLVMIntEQ + which), x, y, ""), x, y,
                           "");
}

static LLVMValueRef cast(llfi_emit *e, LLVMValueRef x, LLVMTypeRef to, uint32_t which)
{
    LLVMOpcode op = LLVMGetCastOpcode(x, which & 1, to, which >> 1 & 1);
    LLVMTypeRef from = LLVMTypeOf(x);
    if (LLVMGetTypeKind(from) == LLVMVectorTypeKind)
        from = LLVMGetElementType(from);
    bool mask = op == LLVMSIToFP && LLVMGetIntTypeWidth(from) == 1;
    return mask || from == to ? NULL : LLVMBuildCast(e->b, op, x, to, "");
}

static const struct {
    const char *name;
    uint32_t args;
    bool flag; /* a last i1 argument, false */
} any_float[] = {{"llvm.fma", 3, false}, {"llvm.fabs", 1, false}, {"llvm.arithmetic.fence", 1, false}},
  full_float[] = {{"llvm.sqrt", 1, false},     {"llvm.copysign", 2, false}, {"llvm.trunc", 1, false},
                  {"llvm.floor", 1, false},    {"llvm.ceil", 1, false},     {"llvm.rint", 1, false},
                  {"llvm.roundeven", 1, false}},
  f32_only[] = {{"llvm.maximum", 2, false}, {"llvm.minimum", 2, false}},
  integer[] = {{"llvm.smax", 2, false}, {"llvm.smin", 2, false},  {"llvm.umax", 2, false},
               {"llvm.umin", 2, false}, {"llvm.abs", 1, true},    {"llvm.ctlz", 1, true},
               {"llvm.cttz", 1, true},  {"llvm.ctpop", 1, false}, {"llvm.fshl", 3, false},
               {"llvm.fshr", 3, false}};

#define CALLER(list)                                                                                         \
    static LLVMValueRef call_##list(llfi_emit *e, LLVMValueRef x, LLVMTypeRef to, uint32_t which)            \
    {                                                                                                        \
        (void)to;                                                                                            \
        LLVMValueRef arg[4] = {x};                                                                           \
        for (uint32_t i = 1; i < list[which].args; i++)                                                      \
            arg[i] = other(e, x);                                                                            \
        arg[list[which].args] = LLVMConstInt(e->i1, 0, false);                                               \
        return llfi_emit_call(e, list[which].name, LLVMTypeOf(x), arg, list[which].args + list[which].flag); \
    }
CALLER(any_float)
CALLER(full_float)
CALLER(f32_only)
CALLER(integer)

static LLVMValueRef saturate(llfi_emit *e, LLVMValueRef x, LLVMTypeRef to, uint32_t which)
{
    const char *name = which ? "llvm.fptoui.sat" : "llvm.fptosi.sat";
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef over[2] = {to, LLVMTypeOf(x)};
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, over, 2);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->lx, id, over, 2), f, &x, 1, "");
}

static const LLVMTypeKind floats[] = {LLVMFloatTypeKind, LLVMDoubleTypeKind, LLVMHalfTypeKind,
                                      LLVMBFloatTypeKind};
static const unsigned ints[] = {1, 8, 16, 32, 64};

static void all_floats(const char *target, uint32_t width)
{
    for (size_t k = 0; k < LLFI_COUNT(floats); k++) {
        LLVMTypeKind f = floats[k];
        for (uint32_t i = 0; i < LLFI_COUNT(float_ops); i++)
            one(target, f, 0, f, 0, width, float_op, i);
        for (uint32_t i = 0; i <= 16; i++)
            one(target, f, 0, f, 0, width, float_misc, i);
        for (uint32_t i = 0; i < LLFI_COUNT(any_float); i++)
            one(target, f, 0, f, 0, width, call_any_float, i);
        for (uint32_t i = 0; i < LLFI_COUNT(full_float) && k < 2; i++)
            one(target, f, 0, f, 0, width, call_full_float, i);
        for (uint32_t i = 0; i < LLFI_COUNT(ints) && k < 2; i++)
            for (uint32_t u = 0; u < 2; u++)
                one(target, f, 0, LLVMIntegerTypeKind, ints[i], width, saturate, u);
        for (size_t j = 0; j < LLFI_COUNT(floats); j++)
            one(target, f, 0, floats[j], 0, width, cast, 0);
        for (uint32_t i = 0; i < LLFI_COUNT(ints); i++)
            for (uint32_t sign = 0; sign < 4; sign++) {
                one(target, f, 0, LLVMIntegerTypeKind, ints[i], width, cast, sign);
                one(target, LLVMIntegerTypeKind, ints[i], f, 0, width, cast, sign);
            }
    }
    if (strcmp(target, "nvptx:sm_75") != 0)
        for (uint32_t i = 0; i < LLFI_COUNT(f32_only); i++)
            one(target, LLVMFloatTypeKind, 0, LLVMFloatTypeKind, 0, width, call_f32_only, i);
}

static void all_ints(const char *target, uint32_t width)
{
    LLVMTypeKind k = LLVMIntegerTypeKind;
    for (uint32_t n = 0; n < LLFI_COUNT(ints); n++) {
        for (uint32_t i = 0; i < LLFI_COUNT(int_ops); i++)
            one(target, k, ints[n], k, ints[n], width, int_op, i);
        for (uint32_t i = 0; i < 10; i++)
            one(target, k, ints[n], k, ints[n], width, int_misc, i);
        for (uint32_t i = 0; i < LLFI_COUNT(integer); i++)
            one(target, k, ints[n], k, ints[n], width, call_integer, i);
        for (uint32_t j = 0; j < LLFI_COUNT(ints); j++)
            for (uint32_t sign = 0; sign < 4; sign++)
                one(target, k, ints[n], k, ints[j], width, cast, sign);
    }
}

static void select_all(const char *target)
{
    llf_context *cx = llf_context_create(NULL);
    llfi_target t;
    assert_int_equal(llfi_target_make(cx, target, &t), LLF_OK);
    llf_context_destroy(cx);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (size_t w = 0; w < LLFI_COUNT(widths); w++) {
            all_floats(target, widths[w]);
            all_ints(target, widths[w]);
        }
        print_message("%s: %u compiled, %u refused\n", target, compiled, refused);
        fflush(NULL);
        _exit(compiled > 1500 ? 0 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        print_message("the child ended with %x\n", (unsigned)status);
    assert_int_equal(status, 0);
}

static void sm_75(void **state)
{
    (void)state;
    select_all("nvptx:sm_75");
}

static void sm_80(void **state)
{
    (void)state;
    select_all("nvptx:sm_80");
}

static void sm_90a(void **state)
{
    (void)state;
    select_all("nvptx:sm_90a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sm_75), cmocka_unit_test(sm_80),
                                       cmocka_unit_test(sm_90a)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    print_message("SKIPPED: built without a CUDA toolkit\n");
    return 0;
}
#endif
