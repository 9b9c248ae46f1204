/* The host target's functions: right at the edges, and the same bits at every vector width and on every CPU
 * level. The size of the errors over all arguments is measured by tests/accuracy. */
#include "ir/float.h"
#include "unit/host_jit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>

static const llf_op functions[] = {LLF_OP_EXP, LLF_OP_EXP2, LLF_OP_LOG, LLF_OP_LOG1P, LLF_OP_TANH,
                                   LLF_OP_ERF, LLF_OP_SIN,  LLF_OP_COS, LLF_OP_RSQRT};

static llf_context *cx;

static int setup(void **state)
{
    (void)state;
    cx = llf_context_create(NULL);
    return cx == NULL;
}

static int teardown(void **state)
{
    (void)state;
    llf_context_destroy(cx);
    return 0;
}

static host_jit build(const llfi_target *t, llf_op op, llf_dtype dtype, uint32_t width)
{
    host_jit j;
    host_jit_kernel k = {.in = dtype, .out = dtype, .inputs = 1, .width = width, .user = &op};
    k.make = dtype == LLF_F64 ? host_jit_function64 : host_jit_function;
    if (host_jit_compile(&j, t, &k, &cx->diag) != LLF_OK)
        fail_msg("%s w%u: %s", llfi_ops[op].name, width, cx->diag.message);
    host_jit_load(&j);
    return j;
}

static void specials_have_the_right_bits(void **state)
{
    (void)state;
    static const struct {
        llf_op op;
        uint32_t x, want;
        bool exact;
    } row[] = {
#define SPECIAL(op, x, want, exact) {LLF_OP_##op, x, want, exact},
#include "unit/host_specials.def"
    };
    llfi_target t;
    assert_int_equal(llfi_target_make(cx, "host", &t), LLF_OK);
    for (size_t f = 0; f < LLFI_COUNT(functions); f++) {
        host_jit j = build(&t, functions[f], LLF_F32, 4);
        for (size_t i = 0; i < LLFI_COUNT(row); i++) {
            if (row[i].op != functions[f])
                continue;
            uint32_t in[4] = {row[i].x, row[i].x, row[i].x, row[i].x}, out[4];
            j.run((void *[]){in, out}, 0, 4);
            bool nan = llfi_bits_nan(LLF_F32, row[i].want);
            bool right = nan            ? llfi_bits_nan(LLF_F32, out[3])
                         : row[i].exact ? out[3] == row[i].want
                                        : llfi_ulp_distance(LLF_F32, out[3], row[i].want) <= 1 &&
                                              out[3] >> 31 == row[i].want >> 31;
            if (!right)
                fail_msg("%s(%08x) = %08x, not %08x", llfi_ops[row[i].op].name, row[i].x, out[3],
                         row[i].want);
        }
        host_jit_free(&j);
    }
}

enum { POINTS = 1 << 16 };

/* Bit patterns of all exponents, big ones beside small ones: vectors that need the rare path in some lanes
 * only. */
static void fill(uint32_t *in)
{
    for (uint32_t i = 0; i < POINTS; i++)
        in[i] = (uint32_t)(i * 0x9e3779b97f4a7c15u >> 16);
}

static uint64_t nan_once(uint64_t bits, llf_dtype dtype)
{
    return llfi_bits_nan(dtype, bits) ? UINT64_MAX : bits;
}

static void widths_and_cpus_give_the_same_bits(void **state)
{
    (void)state;
    static const char *const target[] = {"host", "host:x86-64", "host:x86-64-v2", "host:x86-64-v3",
                                         "host:x86-64-v4"};
    static const uint32_t width[] = {1, 4, 8, 16, 32};
    static uint32_t in[POINTS], want[POINTS], got[POINTS];
    fill(in);
    for (size_t f = 0; f < LLFI_COUNT(functions); f++) {
        bool first = true;
        for (size_t c = 0; c < LLFI_COUNT(target); c++) {
            llfi_target t;
            if (llfi_target_make(cx, target[c], &t) != LLF_OK) {
                assert_int_equal(cx->diag.pub.status, LLF_E_TARGET);
                if (f == 0)
                    print_message("SKIPPED: %s\n", cx->diag.message);
                continue;
            }
            for (size_t w = 0; w < LLFI_COUNT(width); w++) {
                if (c > 0 && width[w] != 1 && width[w] != 16)
                    continue; /* the widths among themselves are covered by the first target */
                host_jit j = build(&t, functions[f], LLF_F32, width[w]);
                j.run((void *[]){in, first ? want : got}, 0, POINTS);
                for (uint32_t i = 0; i < POINTS && !first; i++)
                    if (nan_once(want[i], LLF_F32) != nan_once(got[i], LLF_F32))
                        fail_msg("%s(%08x): %08x, but on %s at width %u %08x", llfi_ops[functions[f]].name,
                                 in[i], want[i], t.name, width[w], got[i]);
                first = false;
                host_jit_free(&j);
            }
        }
    }
}

/* 16-bit values go through f32: the narrow results are those of the f32 function, narrowed once. */
static void sixteen_bit_results_are_narrowed_f32_results(void **state)
{
    (void)state;
    static uint16_t in[65536], out[65536];
    static float wide[65536], result[65536];
    static const llf_dtype dtype[] = {LLF_F16, LLF_BF16};
    llfi_target t;
    assert_int_equal(llfi_target_make(cx, "host", &t), LLF_OK);
    for (size_t d = 0; d < 2; d++) {
        for (uint32_t i = 0; i < 65536; i++) {
            in[i] = (uint16_t)i;
            wide[i] = (float)llfi_bits_to_f64(dtype[d], i);
        }
        for (size_t f = 0; f < LLFI_COUNT(functions); f++) {
            host_jit narrow = build(&t, functions[f], dtype[d], 16),
                     full = build(&t, functions[f], LLF_F32, 16);
            narrow.run((void *[]){in, out}, 0, 65536);
            full.run((void *[]){wide, result}, 0, 65536);
            for (uint32_t i = 0; i < 65536; i++) {
                uint64_t want = llfi_bits_from_f64(dtype[d], (double)result[i]);
                if (nan_once(want, dtype[d]) != nan_once(out[i], dtype[d]))
                    fail_msg("%s(%04x) of %s: %04x, not %04x", llfi_ops[functions[f]].name, i,
                             llf_dtype_name(dtype[d]), out[i], (unsigned)want);
            }
            host_jit_free(&narrow);
            host_jit_free(&full);
        }
    }
}

static double libm(llf_op op, double x)
{
    switch (op) {
    case LLF_OP_EXP: return exp(x);
    case LLF_OP_EXP2: return exp2(x);
    case LLF_OP_LOG: return log(x);
    case LLF_OP_LOG1P: return log1p(x);
    case LLF_OP_TANH: return (double)tanhl((long double)x); /* ours is not the C library's: within 1 */
    case LLF_OP_ERF: return erf(x);
    case LLF_OP_SIN: return sin(x);
    case LLF_OP_COS: return cos(x);
    default: return 1.0 / sqrt(x);
    }
}

static void f64_is_the_c_library_in_every_lane(void **state)
{
    (void)state;
    enum { N = 4096 };
    static uint64_t in[N], out[N];
    llfi_target t;
    assert_int_equal(llfi_target_make(cx, "host", &t), LLF_OK);
    for (uint64_t i = 0; i < N; i++)
        in[i] = i * 0x9e3779b97f4a7c15u;
    in[1] = 0x8000000000000000u;    /* -0 */
    for (int i = 2; i < N / 2; i++) /* and more of where functions bend */
        in[i] = llfi_bits_from_f64(LLF_F64, (double)(i - N / 4) / 300.0);
    for (size_t f = 0; f < LLFI_COUNT(functions); f++)
        for (uint32_t width = 1; width <= 8; width *= 8) {
            host_jit j = build(&t, functions[f], LLF_F64, width);
            j.run((void *[]){in, out}, 0, N);
            for (int i = 0; i < N; i++) {
                double y = libm(functions[f], llfi_bits_to_f64(LLF_F64, in[i]));
                uint64_t want = llfi_bits_from_f64(LLF_F64, y);
                uint64_t slack = functions[f] == LLF_OP_TANH ? 1 : 0;
                assert_true(llfi_ulp_distance(LLF_F64, want, out[i]) <= slack);
                assert_true(isnan(y) || want >> 63 == out[i] >> 63);
            }
            host_jit_free(&j);
        }
}

static LLVMValueRef sin_and_cos(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    (void)user;
    llf_op s = LLF_OP_SIN, c = LLF_OP_COS;
    return LLVMBuildFAdd(e->b, host_jit_function(e, arg, &s), host_jit_function(e, arg, &c), "");
}

static void sin_and_cos_share_one_reduction(void **state)
{
    (void)state;
    llfi_target t;
    assert_int_equal(llfi_target_make(cx, "host", &t), LLF_OK);
    host_jit both, alone;
    host_jit_kernel k = {.in = LLF_F32, .out = LLF_F32, .inputs = 1, .width = 16, .make = sin_and_cos};
    assert_int_equal(host_jit_compile(&both, &t, &k, &cx->diag), LLF_OK);
    host_jit_load(&both);
    uint32_t calls = 0;
    for (const char *p = both.llvm_opt.at; (p = strstr(p, "call void @llfi_host_reduce")); p++)
        calls++;
    assert_int_equal(calls, 1);
    static float in[POINTS], s[POINTS], c[POINTS], sum[POINTS];
    uint32_t *bits = (uint32_t *)(void *)in;
    fill(bits);
    both.run((void *[]){in, sum}, 0, POINTS);
    alone = build(&t, LLF_OP_SIN, LLF_F32, 16);
    alone.run((void *[]){in, s}, 0, POINTS);
    host_jit_free(&alone);
    alone = build(&t, LLF_OP_COS, LLF_F32, 16);
    alone.run((void *[]){in, c}, 0, POINTS);
    host_jit_free(&alone);
    for (int i = 0; i < POINTS; i++)
        assert_true(isnan(sum[i]) ? isnan(s[i]) : sum[i] == s[i] + c[i]);
    host_jit_free(&both);
}

static LLVMValueRef chain(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    LLVMValueRef v = arg[0];
    for (int i = 0; i < *(int *)user; i++) {
        llf_op op = i % 2 ? LLF_OP_TANH : LLF_OP_ERF;
        v = host_jit_function(e, &v, &op);
    }
    return v;
}

/* Beyond a few uses the functions are called: the same bits, and code that does not grow with them. */
static void long_chains_call_the_functions(void **state)
{
    (void)state;
    static float in[64], out[64], want[64];
    llfi_target t;
    assert_int_equal(llfi_target_make(cx, "host", &t), LLF_OK);
    host_jit long_one, pair;
    int length = 20, two = 2;
    host_jit_kernel k = {
        .in = LLF_F32, .out = LLF_F32, .inputs = 1, .width = 16, .make = chain, .user = &length};
    assert_int_equal(host_jit_compile(&long_one, &t, &k, &cx->diag), LLF_OK);
    host_jit_load(&long_one);
    k.user = &two;
    assert_int_equal(host_jit_compile(&pair, &t, &k, &cx->diag), LLF_OK);
    host_jit_load(&pair);
    assert_non_null(strstr(long_one.llvm_opt.at, "@tanh.w16("));
    assert_null(strstr(pair.llvm_opt.at, "@tanh.w16("));
    assert_true(long_one.code.bytes < 3 * pair.code.bytes);
    for (int i = 0; i < 64; i++)
        want[i] = in[i] = (float)i / 16.0f - 2.0f;
    long_one.run((void *[]){in, out}, 0, 64);
    for (int i = 0; i < 10; i++)
        pair.run((void *[]){want, want}, 0, 64);
    assert_memory_equal(out, want, sizeof out);
    host_jit_free(&long_one);
    host_jit_free(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specials_have_the_right_bits),
        cmocka_unit_test(widths_and_cpus_give_the_same_bits),
        cmocka_unit_test(sixteen_bit_results_are_narrowed_f32_results),
        cmocka_unit_test(f64_is_the_c_library_in_every_lane),
        cmocka_unit_test(sin_and_cos_share_one_reduction),
        cmocka_unit_test(long_chains_call_the_functions),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
