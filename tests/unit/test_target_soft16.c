/* test_target_soft16.c: f16 and bf16 in integer code, run on the CPU: every code widened, every rounding
 * boundary narrowed, fma against exact integer arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host_jit.h"
#include "ir/float.h"
#include "target/soft16.h"

#include <math.h>

static LLVMValueRef as(llfi_emit *e, LLVMTypeRef t, LLVMValueRef v)
{
    return LLVMBuildBitCast(e->b, v, llfi_emit_vec(t, e->width), "");
}

static LLVMValueRef low16(llfi_emit *e, LLVMValueRef v)
{
    return LLVMBuildTrunc(e->b, v, llfi_emit_vec(e->i16, e->width), "");
}

static LLVMValueRef make_widen(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    return as(e, e->i32, llfi_soft16_widen(e, *(llf_dtype *)user, low16(e, arg[0])));
}

static LLVMValueRef make_narrow32(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    LLVMValueRef r = llfi_soft16_narrow_f32(e, *(llf_dtype *)user, as(e, e->f32, arg[0]));
    return LLVMBuildZExt(e->b, r, llfi_emit_vec(e->i32, e->width), "");
}

static LLVMValueRef make_narrow64(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    LLVMValueRef r = llfi_soft16_narrow_f64(e, *(llf_dtype *)user, as(e, e->f64, arg[0]));
    return LLVMBuildZExt(e->b, r, llfi_emit_vec(e->i64, e->width), "");
}

static LLVMValueRef make_fma(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    llf_dtype t = *(llf_dtype *)user;
    LLVMValueRef x[3];
    for (int i = 0; i < 3; i++)
        x[i] = llfi_soft16_widen(e, t, low16(e, arg[i]));
    return as(e, e->i32, llfi_soft16_fma(e, t, x[0], x[1], x[2]));
}

/* Runs `make` over n elements (a multiple of 8) at widths 1 and 8, which must agree; out holds the result. */
static void run(host_jit_make *make, llf_dtype t, llf_dtype word, uint32_t inputs, const void *const *in,
                void *out, size_t n)
{
    llf_context *cx = llf_context_create(NULL);
    llfi_target host;
    assert_int_equal(llfi_target_make(cx, "host", &host), LLF_OK);
    size_t bytes = n * llf_dtype_size(word);
    void *one = malloc(bytes);
    assert_non_null(one);
    for (uint32_t width = 1; width <= 8; width += 7) {
        host_jit j;
        host_jit_kernel k = {
            .in = word, .out = word, .inputs = inputs, .width = width, .make = make, .user = &t};
        llf_status s = host_jit_compile(&j, &host, &k, &cx->diag);
        if (s != LLF_OK)
            print_message("%s\n", cx->diag.message);
        assert_int_equal(s, LLF_OK);
        host_jit_load(&j);
        void *slot[4];
        for (uint32_t i = 0; i < inputs; i++)
            memcpy(&slot[i], &in[i], sizeof slot[i]);
        slot[inputs] = width == 1 ? one : out;
        j.run(slot, 0, (int64_t)n);
        host_jit_free(&j);
    }
    assert_memory_equal(one, out, bytes);
    free(one);
    llf_context_destroy(cx);
}

static bool nan16(llf_dtype t, uint64_t bits)
{
    return llfi_bits_nan(t, bits);
}

static void widen(void **state)
{
    (void)state;
    static uint32_t in[65536], out[65536];
    for (llf_dtype t = LLF_F16; t <= LLF_BF16; t++) {
        for (uint32_t i = 0; i < 65536; i++)
            in[i] = i;
        const void *slot[1] = {in};
        run(make_widen, t, LLF_I32, 1, slot, out, 65536);
        for (uint32_t i = 0; i < 65536; i++) {
            float got, want = t == LLF_F16 ? llfi_f32_from_f16((uint16_t)i) : llfi_f32_from_bf16((uint16_t)i);
            memcpy(&got, &out[i], 4);
            if (nan16(t, i))
                assert_true(isnan(got));
            else
                assert_memory_equal(&got, &want, 4);
        }
    }
}

/* Around every code's value and every midpoint to the next: exactly there, and a hair to either side. */
static size_t boundaries(llf_dtype t, double *x)
{
    size_t n = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        double v = llfi_bits_to_f64(t, i), w = llfi_bits_to_f64(t, (i + 1) & 0xffff);
        double mid = isfinite(v) && isfinite(w) ? v + (w - v) / 2 : v;
        if (isfinite(v) && isinf(w)) /* where overflow begins */
            mid = v + (v - llfi_bits_to_f64(t, i - 1)) / 2;
        x[n++] = v;
        x[n++] = mid;
        x[n++] = nextafter(mid, INFINITY);
        x[n++] = nextafter(mid, -INFINITY);
        x[n++] = mid * (1 + 0x1p-30);
        x[n++] = mid * (1 - 0x1p-30);
        x[n++] = nextafterf((float)mid, INFINITY);
        x[n++] = nextafterf((float)mid, -INFINITY);
    }
    return n;
}

static void narrow(void **state)
{
    (void)state;
    size_t room = 65536 * 8;
    double *x = malloc(room * 8);
    uint64_t *out = malloc(room * 8);
    uint32_t *in32 = malloc(room * 4), *out32 = malloc(room * 4);
    assert_true(x && out && in32 && out32);
    for (llf_dtype t = LLF_F16; t <= LLF_BF16; t++) {
        size_t n = boundaries(t, x), bad = 0;
        const void *slot[1] = {x}, *slot32[1] = {in32};
        run(make_narrow64, t, LLF_I64, 1, slot, out, n);
        for (size_t i = 0; i < n; i++) {
            uint64_t want = llfi_bits_from_f64(t, x[i]);
            bad += nan16(t, want) ? !nan16(t, out[i]) : want != out[i];
            float f = (float)x[i];
            memcpy(&in32[i], &f, 4);
        }
        assert_int_equal(bad, 0);
        run(make_narrow32, t, LLF_I32, 1, slot32, out32, n);
        for (size_t i = 0; i < n; i++) {
            uint64_t want = llfi_bits_from_f64(t, (double)(float)x[i]);
            bad += nan16(t, want) ? !nan16(t, out32[i]) : want != out32[i];
        }
        assert_int_equal(bad, 0);
    }
    free(x);
    free(out);
    free(in32);
    free(out32);
}

/* SEMANTICS B03: one rounding from f64; by way of f32 both would be 1. */
static void narrow_once(void **state)
{
    (void)state;
    double x[8] = {1 + 0x1p-11 + 0x1p-30, 1 + 0x1p-8 + 0x1p-40};
    uint64_t out[8];
    const void *slot[1] = {x};
    run(make_narrow64, LLF_F16, LLF_I64, 1, slot, out, 8);
    assert_int_equal(out[0], 0x3c01);
    run(make_narrow64, LLF_BF16, LLF_I64, 1, slot, out, 8);
    assert_int_equal(out[1], 0x3f81);
}

/* ---- exact arithmetic for fma */
typedef unsigned __int128 u128;
typedef struct {
    bool negative;
    u128 m;
    int e; /* m * 2^e */
} exact;

static exact decode(llf_dtype t, uint32_t bits)
{
    int p = t == LLF_F16 ? 11 : 8, bias = t == LLF_F16 ? 15 : 127;
    uint32_t mantissa = bits & ((1u << (p - 1)) - 1), field = (bits & 0x7fff) >> (p - 1);
    exact r = {bits >> 15, field ? mantissa | 1u << (p - 1) : mantissa,
               (field ? (int)field : 1) - bias - (p - 1)};
    return r;
}

static uint32_t encode(llf_dtype t, exact x)
{
    int p = t == LLF_F16 ? 11 : 8, bias = t == LLF_F16 ? 15 : 127, msb = 127;
    uint32_t sign = x.negative ? 0x8000 : 0;
    if (!x.m)
        return sign;
    while (!(x.m >> msb & 1))
        msb--;
    int exponent = msb + x.e > 1 - bias ? msb + x.e : 1 - bias;
    int shift = exponent - (p - 1) - x.e;
    u128 n = shift > 127 ? 0 : shift <= 0 ? x.m << -shift : x.m >> shift;
    if (shift > 0 && shift <= 127) {
        u128 rest = x.m & (((u128)1 << shift) - 1), half = (u128)1 << (shift - 1);
        n += rest > half || (rest == half && (n & 1));
    }
    if (n >> p) {
        n >>= 1;
        exponent++;
    }
    uint32_t field = n >> (p - 1) ? (uint32_t)(exponent + bias) : 0;
    if (field >= (t == LLF_F16 ? 31u : 255u))
        return sign | (t == LLF_F16 ? 0x7c00u : 0x7f80u);
    return sign | field << (p - 1) | ((uint32_t)n & ((1u << (p - 1)) - 1));
}

static exact add(exact x, exact y)
{
    if (!x.m || !y.m) {
        exact r = x.m ? x : y;
        if (!x.m && !y.m)
            r.negative = x.negative && y.negative;
        return r;
    }
    if (x.e < y.e) {
        exact s = x;
        x = y;
        y = s;
    }
    if (x.e - y.e > 100) { /* y is less than a sixteenth of x's last place: only its sign counts */
        x.m <<= 4;
        x.e -= 4;
        x.m += x.negative == y.negative ? 1 : (u128)-1;
        return x;
    }
    x.m <<= x.e - y.e;
    x.e = y.e;
    if (x.negative == y.negative) {
        x.m += y.m;
        return x;
    }
    if (x.m == y.m)
        return (exact){false, 0, 0};
    exact big = x.m > y.m ? x : y;
    big.m = x.m > y.m ? x.m - y.m : y.m - x.m;
    return big;
}

static uint32_t fma_exact(llf_dtype t, uint32_t a, uint32_t b, uint32_t c)
{
    exact x = decode(t, a), y = decode(t, b);
    x.negative ^= y.negative;
    x.m *= y.m;
    x.e += y.e;
    return encode(t, add(x, decode(t, c)));
}

static uint32_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33);
}

/* Random codes; sums that cancel; products near half a place of c. */
static void pick(llf_dtype t, uint64_t *s, uint32_t *a, uint32_t *b, uint32_t *c)
{
    *a = next_random(s) & 0xffff;
    *b = next_random(s) & 0xffff;
    *c = next_random(s) & 0xffff;
    uint32_t kind = next_random(s) % 4;
    double product = llfi_bits_to_f64(t, *a) * llfi_bits_to_f64(t, *b);
    if (kind == 1)
        *c = (uint32_t)llfi_bits_from_f64(t, -product) + next_random(s) % 3;
    if (kind == 2)
        *c = (uint32_t)llfi_bits_from_f64(t, product * (t == LLF_F16 ? 0x1p11 : 0x1p8)) + next_random(s) % 2;
    if (kind == 3)
        *b = (uint32_t)llfi_bits_from_f64(t, (t == LLF_F16 ? 0x1p-11 : 0x1p-8) * llfi_bits_to_f64(t, *c) /
                                                 llfi_bits_to_f64(t, *a));
    *c &= 0xffff;
}

static void fused(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    uint32_t *in = malloc(3 * N * sizeof *in), *out = malloc(N * sizeof *out);
    assert_true(in && out);
    for (llf_dtype t = LLF_F16; t <= LLF_BF16; t++) {
        uint64_t seed = 1;
        for (uint32_t i = 0; i < N; i++)
            pick(t, &seed, &in[i], &in[N + i], &in[2 * N + i]);
        const void *slot[3] = {in, in + N, in + 2 * N};
        run(make_fma, t, LLF_I32, 3, slot, out, N);
        uint32_t bad = 0, finite = 0;
        for (uint32_t i = 0; i < N; i++) {
            float got;
            memcpy(&got, &out[i], 4);
            double a = llfi_bits_to_f64(t, in[i]), b = llfi_bits_to_f64(t, in[N + i]);
            double c = llfi_bits_to_f64(t, in[2 * N + i]), want = a * b + c;
            if (isfinite(a) && isfinite(b) && isfinite(c)) {
                want = llfi_bits_to_f64(t, fma_exact(t, in[i], in[N + i], in[2 * N + i]));
                finite++;
            }
            bool same = isnan(want) ? isnan(got) : (double)got == want && !signbit(got) == !signbit(want);
            if (!same && bad++ < 5)
                print_message("fma(%a, %a, %a) of %s: %a, not %a\n", a, b, c, llf_dtype_name(t), (double)got,
                              want);
        }
        assert_int_equal(bad, 0);
        assert_true(finite > N / 2);
    }
    free(in);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widen),
        cmocka_unit_test(narrow),
        cmocka_unit_test(narrow_once),
        cmocka_unit_test(fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
