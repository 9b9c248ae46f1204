/* The host backend around the functions: which CPUs it accepts, arguments, float semantics, and what
 * compile() refuses. */
#include "ir/float.h"
#include "unit/host_jit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>

static llf_context *cx;
static llfi_target native;

static int setup(void **state)
{
    (void)state;
    cx = llf_context_create(NULL);
    return cx == NULL || llfi_target_make(cx, "host", &native) != LLF_OK;
}

static int teardown(void **state)
{
    (void)state;
    llf_context_destroy(cx);
    return 0;
}

static void the_name_of_this_cpu_reads_back(void **state)
{
    (void)state;
    llfi_target again;
    assert_int_equal(strncmp(native.name, "host:", 5), 0);
    assert_int_equal(llfi_target_make(cx, native.name, &again), LLF_OK);
    assert_memory_equal(&again, &native, sizeof again);
    assert_true(native.simd_bytes == 16 || native.simd_bytes == 32 || native.simd_bytes == 64);
    assert_int_equal(native.param_bytes, UINT32_MAX);
    /* sorted by name behind the sign: the same text in every process */
    char last[64] = "";
    for (const char *p = native.features; *p;) {
        size_t n = strcspn(p, ",");
        assert_true(n < sizeof last && (*p == '+' || *p == '-'));
        char word[64] = "";
        memcpy(word, p + 1, n - 1);
        assert_true(strcmp(last, word) < 0);
        memcpy(last, word, sizeof last);
        p += n + (p[n] == ',');
    }
}

static void cpu_levels_are_known_by_table(void **state)
{
    (void)state;
    llfi_target t;
#if defined(__x86_64__)
    assert_int_equal(llfi_target_make(cx, "host:x86-64", &t), LLF_OK);
    assert_int_equal(t.simd_bytes, 16);
    assert_string_equal(t.name, "host:x86-64");
    assert_string_equal(t.cpu, "x86-64");
    if (strstr(native.features, "+avx2")) {
        assert_int_equal(llfi_target_make(cx, "host:x86-64-v3", &t), LLF_OK);
        assert_int_equal(t.simd_bytes, 32);
    } else {
        assert_int_equal(llfi_target_make(cx, "host:x86-64-v3", &t), LLF_E_TARGET);
    }
#endif
    static const char *const wrong[] = {"host:pentium", "host:x86-64 ", "host:x86-64-v3,+avx512f",
                                        "host:sm_90", "host:emeraldrapids+00000000"};
    for (size_t i = 0; i < LLFI_COUNT(wrong); i++) {
        assert_int_equal(llfi_target_make(cx, wrong[i], &t), LLF_E_TARGET);
        assert_non_null(strstr(llf_last_error(cx)->message, wrong[i] + strlen("host:")));
    }
}

/* ---- kernels */
static LLVMValueRef square_less(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    (void)user;
    return LLVMBuildFSub(e->b, LLVMBuildFMul(e->b, arg[0], arg[0], ""), arg[1], "");
}

static LLVMValueRef fused(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    (void)user;
    LLVMTypeRef type = LLVMTypeOf(arg[0]);
    LLVMValueRef a[] = {arg[0], arg[0], LLVMBuildFNeg(e->b, arg[1], "")};
    return llfi_emit_call(e, "llvm.fma", type, a, 3);
}

static host_jit compiled(const llfi_target *t, const host_jit_kernel *k)
{
    host_jit j;
    if (host_jit_compile(&j, t, k, &cx->diag) != LLF_OK)
        fail_msg("%s", cx->diag.message);
    host_jit_load(&j);
    return j;
}

/* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the product rounds its last term away, an fma keeps it. */
static void products_and_sums_are_not_contracted(void **state)
{
    (void)state;
    static const char *const target[] = {"host", "host:x86-64", "host:x86-64-v3"};
    float x[16], y[16], out[16];
    for (int i = 0; i < 16; i++) {
        x[i] = 1.0f + 0x1p-12f;
        y[i] = 1.0f + 0x1p-11f;
    }
    for (size_t i = 0; i < LLFI_COUNT(target); i++)
        for (uint32_t width = 1; width <= 16; width *= 4) {
            llfi_target t;
            if (llfi_target_make(cx, target[i], &t) != LLF_OK) {
                print_message("SKIPPED: %s\n", cx->diag.message);
                continue;
            }
            host_jit_kernel k = {
                .in = LLF_F32, .out = LLF_F32, .inputs = 2, .width = width, .make = square_less};
            host_jit j = compiled(&t, &k);
            assert_null(strstr(j.assembly.at, "fmadd"));
            assert_null(strstr(j.assembly.at, "fmsub"));
            j.run((void *[]){x, y, out}, 0, 16);
            assert_true(out[15] == 0.0f);
            host_jit_free(&j);
            k.make = fused; /* on x86-64 through fmaf */
            j = compiled(&t, &k);
            j.run((void *[]){x, y, out}, 0, 16);
            assert_true(out[0] == 0x1p-24f && out[15] == 0x1p-24f);
            host_jit_free(&j);
        }
}

static LLVMValueRef first(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    (void)e;
    (void)user;
    return arg[0];
}

static void scalars_are_the_low_bytes_of_their_slot(void **state)
{
    (void)state;
    static const struct {
        llf_dtype dtype;
        uint64_t slot, want;
    } row[] = {
        {LLF_F64, 0x3ff8000000000000u, 0x3ff8000000000000u},
        {LLF_F32, 0xffffffff3fc00000u, 0x3fc00000u},
        {LLF_F16, 0xffffffffffff3e00u, 0x3e00u},
        {LLF_F16, 0x0001u, 0x0001u},
        {LLF_BF16, 0xffffffffffffbfc0u, 0xbfc0u},
        {LLF_I32, 0x1234567880000001u, 0x80000001u},
        {LLF_I64, 0x8000000000000001u, 0x8000000000000001u},
        {LLF_BOOL, 0x01u, 1},
    };
    for (size_t i = 0; i < LLFI_COUNT(row); i++)
        for (uint32_t width = 1; width <= 4; width *= 4) {
            host_jit_kernel k = {
                .in = row[i].dtype, .out = row[i].dtype, .inputs = 1, .width = width, .scalars = true};
            k.make = first;
            host_jit j = compiled(&native, &k);
            uint64_t out[8] = {0}, slot[2] = {row[i].slot, (uint64_t)(uintptr_t)out};
            j.run((void **)(void *)slot, 0, 4);
            assert_true(llfi_bits_load(row[i].dtype, (char *)out + 3 * llf_dtype_size(row[i].dtype)) ==
                        row[i].want);
            host_jit_free(&j);
        }
}

static void only_the_given_range_is_touched(void **state)
{
    (void)state;
    host_jit_kernel k = {.in = LLF_F32, .out = LLF_F32, .inputs = 1, .width = 4, .make = first};
    host_jit j = compiled(&native, &k);
    float in[16], out[16];
    for (int i = 0; i < 16; i++) {
        in[i] = (float)i;
        out[i] = -1.0f;
    }
    j.run((void *[]){in, out}, 5, 13);
    for (int i = 0; i < 16; i++)
        assert_true(out[i] == (i >= 5 && i < 13 ? (float)i : -1.0f));
    host_jit_free(&j);
}

typedef struct {
    llf_dtype dtype;
    bool minimum;
} bound;

static LLVMValueRef extreme(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    const bound *b = user;
    return llfi_backend_host.lowering->maximum(e, b->dtype, b->minimum, arg[0], arg[1]);
}

/* IEEE 754-2019 section 9.6 */
static void maximum_and_minimum_follow_ieee(void **state)
{
    (void)state;
    static const char *const target[] = {"host", "host:x86-64", "host:x86-64-v3"};
    const double a[8] = {NAN, 1, NAN, -2, -0.0, 0.0, INFINITY, 3},
                 b[8] = {1, NAN, NAN, 3, 0.0, -0.0, -INFINITY, 2};
    const double high[8] = {NAN, NAN, NAN, 3, 0.0, 0.0, INFINITY, 3};
    const double low[8] = {NAN, NAN, NAN, -2, -0.0, -0.0, -INFINITY, 2};
    static const llf_dtype dtype[] = {LLF_F64, LLF_F32, LLF_F16, LLF_BF16};
    for (size_t t = 0; t < LLFI_COUNT(target); t++)
        for (size_t d = 0; d < LLFI_COUNT(dtype); d++)
            for (int m = 0; m < 4; m++) {
                llfi_target made;
                if (llfi_target_make(cx, target[t], &made) != LLF_OK)
                    continue; /* reported above */
                bound user = {dtype[d], m & 1};
                host_jit_kernel k = {.in = dtype[d], .out = dtype[d], .inputs = 2, .width = m & 2 ? 8 : 1};
                k.make = extreme;
                k.user = &user;
                host_jit j = compiled(&made, &k);
                uint64_t x[8] = {0}, y[8] = {0}, out[8] = {0};
                size_t size = llf_dtype_size(dtype[d]);
                for (size_t i = 0; i < 8; i++) {
                    llfi_bits_store(dtype[d], (char *)x + i * size, llfi_bits_from_f64(dtype[d], a[i]));
                    llfi_bits_store(dtype[d], (char *)y + i * size, llfi_bits_from_f64(dtype[d], b[i]));
                }
                j.run((void *[]){x, y, out}, 0, 8);
                for (size_t i = 0; i < 8; i++) {
                    double got = llfi_bits_to_f64(dtype[d], llfi_bits_load(dtype[d], (char *)out + i * size));
                    double want = m & 1 ? low[i] : high[i];
                    assert_true(isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want));
                }
                host_jit_free(&j);
            }
}

static LLVMValueRef through_f64(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    LLVMValueRef bits = llfi_backend_host.lowering->narrow(e, *(llf_dtype *)user, arg[0]);
    return LLVMBuildZExt(e->b, bits, llfi_emit_vec(e->i32, e->width), "");
}

/* SEMANTICS B03: by way of f32 the first would be 3c00 and the third 3f80. */
static void f64_is_narrowed_with_one_rounding(void **state)
{
    (void)state;
    static const struct {
        llf_dtype dtype;
        double x;
        uint32_t want;
    } row[] = {
        {LLF_F16, 1 + 0x1p-11 + 0x1p-30, 0x3c01},
        {LLF_F16, 1.0 / 3.0, 0x3555},
        {LLF_BF16, 1 + 0x1p-8 + 0x1p-40, 0x3f81},
        {LLF_BF16, -1e300, 0xff80},
    };
    for (size_t i = 0; i < LLFI_COUNT(row); i++)
        for (uint32_t width = 1; width <= 4; width *= 4) {
            llf_dtype dtype = row[i].dtype;
            host_jit_kernel k = {
                .in = LLF_F64, .out = LLF_I32, .inputs = 1, .width = width, .make = through_f64};
            k.user = &dtype;
            host_jit j = compiled(&native, &k);
            double in[4] = {row[i].x, row[i].x, row[i].x, row[i].x};
            uint32_t out[4];
            j.run((void *[]){in, out}, 0, 4);
            assert_int_equal(out[3], row[i].want);
            host_jit_free(&j);
        }
}

/* ---- refusals */
static LLVMValueRef through_half(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    (void)user;
    LLVMValueRef half = LLVMBuildFPTrunc(e->b, arg[0], llfi_emit_vec(e->f16, e->width), "");
    return LLVMBuildFPExt(e->b, half, llfi_emit_vec(e->f32, e->width), "");
}

static LLVMValueRef stranger(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    (void)user;
    LLVMTypeRef type = LLVMFunctionType(e->f32, &e->f32, 1, false);
    return LLVMBuildCall2(e->b, type, LLVMAddFunction(e->module, "stranger", type),
                          (LLVMValueRef *)(void *)arg, 1, "");
}

static LLVMValueRef ill_typed(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    (void)user;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    LLVMPositionBuilder(e->b, here, LLVMGetFirstInstruction(here));
    LLVMValueRef phi = LLVMBuildPhi(e->b, e->f32, ""); /* no incoming values */
    LLVMPositionBuilderAtEnd(e->b, here);
    return LLVMBuildFAdd(e->b, phi, arg[0], "");
}

static LLVMValueRef no_function(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    return llfi_backend_host.lowering->function(e, LLF_OP_ADD, *(llf_dtype *)user, arg[0]);
}

static void refused(const llfi_target *t, host_jit_make *make, void *user, llf_status status,
                    const char *word)
{
    host_jit j;
    host_jit_kernel k = {.in = LLF_F32, .out = LLF_F32, .inputs = 1, .width = 1, .make = make, .user = user};
    assert_int_equal(host_jit_compile(&j, t, &k, &cx->diag), status);
    assert_non_null(strstr(cx->diag.message, word));
    assert_null(j.code.code);
    host_jit_free(&j);
}

static void what_could_not_be_loaded_is_refused(void **state)
{
    (void)state;
    llfi_target plain;
    refused(&native, stranger, NULL, LLF_E_LLVM, "'stranger'");
    refused(&native, ill_typed, NULL, LLF_E_LLVM, "the module is not valid");
    refused(&native, no_function, &(llf_dtype){LLF_F32}, LLF_E_INTERNAL, "no function");
#if defined(__x86_64__)
    assert_int_equal(llfi_target_make(cx, "host:x86-64", &plain), LLF_OK);
    refused(&plain, through_half, NULL, LLF_E_LLVM, "hf"); /* libgcc's __truncsfhf2 or __extendhfsf2 */
#else
    (void)plain;
    (void)through_half;
#endif
    host_jit_kernel k = {.in = LLF_F32, .out = LLF_F32, .inputs = 1, .width = 4, .make = first};
    host_jit j = compiled(&native, &k); /* the next one works */
    host_jit_free(&j);
}

static void *no_memory(void *user, void *p, size_t old, size_t size)
{
    (void)user, (void)p, (void)old, (void)size;
    return NULL;
}

static void objects_are_deterministic_and_checked(void **state)
{
    (void)state;
    llf_op op = LLF_OP_SIN;
    host_jit_kernel k = {
        .in = LLF_F32, .out = LLF_F32, .inputs = 1, .width = 8, .make = host_jit_function, .user = &op};
    host_jit a = compiled(&native, &k), b = compiled(&native, &k);
    assert_int_equal(a.code.bytes, b.code.bytes);
    assert_memory_equal(a.code.code, b.code.code, a.code.bytes);
    assert_string_equal(a.llvm_opt.at, b.llvm_opt.at);
    assert_string_equal(a.assembly.at, b.assembly.at);
    assert_non_null(strstr(a.assembly.at, "kernel:"));
    /* a damaged object is an error at every length, not a crash */
    llfi_diag d;
    assert_int_equal(llfi_host_object_check(&d, a.code.code, a.code.bytes), LLF_OK);
    for (size_t n = 0; n < a.code.bytes; n++) {
        char *cut = malloc(n ? n : 1);
        assert_non_null(cut);
        memcpy(cut, a.code.code, n);
        llf_status s = llfi_host_object_check(&d, cut, n);
        assert_true(s == LLF_OK || s == LLF_E_LLVM);
        if (n < 64)
            assert_int_equal(s, LLF_E_LLVM);
        free(cut);
    }
    host_jit_free(&a);
    host_jit_free(&b);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    LLVMContextRef lx = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("empty", lx);
    llf_allocator none = {no_memory, NULL};
    llfi_code code;
    assert_int_equal(llfi_backend_host.compile(&cx->diag, &native, &none, module, &code, NULL, NULL),
                     LLF_E_NOMEM);
    assert_null(code.code);
    llfi_str text;
    llfi_str_init(&text, &none);
    assert_int_equal(
        llfi_backend_host.compile(&cx->diag, &native, &llfi_malloc_allocator, module, &code, &text, NULL),
        LLF_E_NOMEM);
    assert_int_equal(
        llfi_backend_host.compile(&cx->diag, &native, &llfi_malloc_allocator, module, &code, NULL, &text),
        LLF_E_NOMEM);
    LLVMDisposeModule(module);
    LLVMContextDispose(lx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_of_this_cpu_reads_back),
        cmocka_unit_test(cpu_levels_are_known_by_table),
        cmocka_unit_test(products_and_sums_are_not_contracted),
        cmocka_unit_test(scalars_are_the_low_bytes_of_their_slot),
        cmocka_unit_test(only_the_given_range_is_touched),
        cmocka_unit_test(maximum_and_minimum_follow_ieee),
        cmocka_unit_test(f64_is_narrowed_with_one_rounding),
        cmocka_unit_test(what_could_not_be_loaded_is_refused),
        cmocka_unit_test(objects_are_deterministic_and_checked),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
