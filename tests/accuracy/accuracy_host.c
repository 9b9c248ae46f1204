/* accuracy_host.c: measures the host target's functions against the C library's f64 (f32, f16, bf16 results)
 * and x87 or quad long double (f64 results), and their speed against scalar libm. Prints the tables of
 * docs/accuracy.md. Usage: accuracy_host [log2 of values per function, default 22]. Exit code 1 when a bound
 * of docs/accuracy.md is broken. */
#include "ir/float.h"
#include "unit/host_jit.h"

#include <float.h>
#include <math.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#ifdef __GLIBC__
#define LIBC "glibc " TEXT(__GLIBC__) "." TEXT(__GLIBC_MINOR__)
#else
#define LIBC "another C library than glibc"
#endif

/* Bounds in ulp: what docs/accuracy.md promises. */
#define BOUND_F32 0.51
#define BOUND_16 0.51
#define BOUND_F64 2.0

static double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}
static float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}
static long double rsqrtl(long double x)
{
    return 1.0L / sqrtl(x);
}

#define F(op, name)                                \
    {                                              \
        LLF_OP_##op, #name, name##f, name, name##l \
    }
static const struct function {
    llf_op op;
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    long double (*wide)(long double);
} functions[] = {F(EXP, exp), F(EXP2, exp2), F(LOG, log), F(LOG1P, log1p), F(TANH, tanh),
                 F(ERF, erf), F(SIN, sin),   F(COS, cos), F(RSQRT, rsqrt)};

typedef struct {
    double ulp;
    double at;
    uint64_t wrong; /* NaN, infinity or sign where it must not be */
} worst;

/* One unit in the last place at |r| of a format with `digits` bits of significand, least exponent `emin`. */
static double unit(double r, int digits, int emin)
{
    int exponent;
    (void)frexp(r, &exponent);
    int e = exponent - 1 < emin ? emin : exponent - 1;
    return ldexp(1.0, e - digits + 1);
}

/* Compares a result of a format with the reference. `limit`: what a finite reference must reach to overflow.
 */
static void compare(worst *w, double x, double got, double want, int digits, int emin, double limit)
{
    if (isnan(want) || isnan(got)) {
        w->wrong += isnan(want) != isnan(got);
        return;
    }
    if (isinf(got) || isinf(want) || fabs(want) >= limit) {
        bool right = isinf(got) && fabs(want) >= limit && signbit(got) == signbit(want);
        w->wrong += !right;
        return;
    }
    w->wrong += signbit(got) != signbit(want);
    double ulp = fabs(got - want) / unit(want, digits, emin);
    if (ulp > w->ulp) {
        w->ulp = ulp;
        w->at = x;
    }
}

/* Inputs from all exponents alike: value i of n walks the bit patterns in equal steps, low bits stirred. */
static uint32_t pattern32(uint64_t i, uint64_t n)
{
    uint64_t step = ((uint64_t)1 << 32) / n;
    uint64_t stir = (i * 0x9e3779b97f4a7c15u) >> 40;
    return (uint32_t)(i * step + (step > 1 ? stir % step : 0));
}

/* Every other one has 2^-8 <= |x| < 2^8, where most functions bend. */
static uint64_t pattern64(uint64_t i, uint64_t n)
{
    if (i % 2) {
        uint64_t stir = i * 0x9e3779b97f4a7c15u;
        return (stir >> 63 << 63) | (((stir >> 59 & 15) + 1015) << 52) | (stir * 0x9e3779b97f4a7c15u >> 12);
    }
    uint64_t step = UINT64_MAX / n;
    return i * step + ((i * 0x9e3779b97f4a7c15u) >> 20) % step;
}

static host_jit build(const llfi_target *t, const struct function *f, llf_dtype dtype, uint32_t width)
{
    host_jit j;
    llfi_diag d;
    memset(&d, 0, sizeof d);
    llf_op op = f->op;
    host_jit_kernel k = {.in = dtype,
                         .out = dtype,
                         .inputs = 1,
                         .width = width,
                         .make = dtype == LLF_F64 ? host_jit_function64 : host_jit_function,
                         .user = &op};
    if (host_jit_compile(&j, t, &k, &d) != LLF_OK) {
        (void)fprintf(stderr, "%s: %s\n", f->name, d.message);
        exit(1);
    }
    host_jit_load(&j);
    return j;
}

enum { BLOCK = 4096 };

static worst measure_f32(const llfi_target *t, const struct function *f, uint64_t n)
{
    host_jit j = build(t, f, LLF_F32, 16);
    worst w = {0};
    static float in[BLOCK], out[BLOCK];
    for (uint64_t at = 0; at < n; at += BLOCK) {
        for (uint64_t i = 0; i < BLOCK; i++) {
            uint32_t bits = pattern32(at + i, n);
            memcpy(&in[i], &bits, sizeof bits);
        }
        j.run((void *[]){in, out}, 0, BLOCK);
        for (uint64_t i = 0; i < BLOCK; i++)
            compare(&w, in[i], out[i], f->f64(in[i]), FLT_MANT_DIG, -126, 0x1.ffffffp127);
    }
    host_jit_free(&j);
    return w;
}

static worst measure_16(const llfi_target *t, const struct function *f, llf_dtype dtype)
{
    host_jit j = build(t, f, dtype, 16);
    worst w = {0};
    static uint16_t in[65536], out[65536];
    for (uint32_t i = 0; i < 65536; i++)
        in[i] = (uint16_t)i;
    j.run((void *[]){in, out}, 0, 65536);
    for (uint32_t i = 0; i < 65536; i++) {
        double x = llfi_bits_to_f64(dtype, in[i]), got = llfi_bits_to_f64(dtype, out[i]);
        if (dtype == LLF_F16)
            compare(&w, x, got, f->f64(x), 11, -14, 65520.0);
        else
            compare(&w, x, got, f->f64(x), 8, -126, 0x1.ffp127);
    }
    host_jit_free(&j);
    return w;
}

static worst measure_f64(const llfi_target *t, const struct function *f, uint64_t n)
{
    host_jit j = build(t, f, LLF_F64, 8);
    worst w = {0};
    static double in[BLOCK], out[BLOCK];
    for (uint64_t at = 0; at < n; at += BLOCK) {
        for (uint64_t i = 0; i < BLOCK; i++) {
            uint64_t bits = pattern64(at + i, n);
            memcpy(&in[i], &bits, sizeof bits);
        }
        j.run((void *[]){in, out}, 0, BLOCK);
        for (uint64_t i = 0; i < BLOCK; i++) {
            long double want = f->wide(in[i]);
            double near = (double)want;
            /* the difference in long double: the reference has more bits than a double */
            if (isfinite(near) && isfinite(out[i])) {
                double ulp = (double)(fabsl((long double)out[i] - want) / (long double)unit(near, 53, -1022));
                w.wrong += signbit(out[i]) != signbit(near);
                if (ulp > w.ulp)
                    w = (worst){ulp, in[i], w.wrong};
            } else {
                compare(&w, in[i], out[i], near, 53, -1022, INFINITY);
            }
        }
    }
    host_jit_free(&j);
    return w;
}

/* Nanoseconds per value on a cached block of ordinary arguments: ours, then the C library's scalar function.
 */
static void measure_speed(const llfi_target *t, const struct function *f, uint32_t width, double ns[2])
{
    host_jit j = build(t, f, LLF_F32, width);
    static float in[BLOCK], out[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        in[i] = 0.001f + 8.0f * (float)i / BLOCK;
    ns[0] = ns[1] = INFINITY;
    for (int round = 0; round < 30; round++) {
        double start = llfi_now_ms();
        for (int k = 0; k < 20; k++)
            j.run((void *[]){in, out}, 0, BLOCK);
        ns[0] = fmin(ns[0], (llfi_now_ms() - start) * 1e6 / (20.0 * BLOCK));
        start = llfi_now_ms();
        for (int i = 0; i < BLOCK; i++)
            out[i] = f->f32(in[i]);
        ns[1] = fmin(ns[1], (llfi_now_ms() - start) * 1e6 / BLOCK);
    }
    host_jit_free(&j);
}

static int bad(const worst *w, double bound)
{
    return w->wrong != 0 || !(w->ulp <= bound);
}

static int print_errors(const llfi_target *t, uint64_t n)
{
    int failures = 0;
    printf(
        "| function | f32 ulp | at | f16 ulp | bf16 ulp | f64 ulp | at |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < LLFI_COUNT(functions); i++) {
        const struct function *f = &functions[i];
        worst a = measure_f32(t, f, n), h = measure_16(t, f, LLF_F16), b = measure_16(t, f, LLF_BF16);
        worst d = measure_f64(t, f, n >> 4);
        printf("| %s | %.4f | %a | %.4f | %.4f | %.3f | %a |%s\n", f->name, a.ulp, a.at, h.ulp, b.ulp, d.ulp,
               d.at, a.wrong + h.wrong + b.wrong + d.wrong ? " WRONG KIND OF RESULT" : "");
        (void)fflush(stdout);
        failures += bad(&a, BOUND_F32) + bad(&h, BOUND_16) + bad(&b, BOUND_16) + bad(&d, BOUND_F64);
    }
    return failures;
}

static void print_speeds(const llfi_target *t)
{
    printf("| function | ns a value | scalar libm, ns | ratio |\n|---|---|---|---|\n");
    for (size_t i = 0; i < LLFI_COUNT(functions); i++) {
        double ns[2];
        uint32_t width = t->simd_bytes / 2; /* two registers of f32, as the pointwise skeleton takes */
        measure_speed(t, &functions[i], width < 16 ? width : 16, ns);
        printf("| %s | %.2f | %.2f | %.1f |\n", functions[i].name, ns[0], ns[1], ns[1] / ns[0]);
    }
}

static const char *const text[] = {
    "# Accuracy of functions\n\n"
    "EXACT ops (+ - * / sqrt fma, casts, comparisons, integers, moves) are correctly rounded on every "
    "target. Function ops\n"
    "promise, on every target, results within 2 ulp of the exact value of their operand (f32, f64), and "
    "within 0.51 ulp of\n"
    "their own format for f16 and bf16, which are computed in f32 and rounded once more. A target has one "
    "implementation\n"
    "per function: the same bits fused or not, at every vector width, tails included; targets differ from "
    "each other\n"
    "within these bounds.\n\n"
    "Reductions have no error of their own to tell: they are a fixed list of roundings ([ir.md](ir.md), "
    "\"Reductions\"), the same bits on every target. But for the sum of `softmax_stats`, whose powers of 2 "
    "are "
    "functions:\ntargets are held within 32 ulp of the interpreter there, 2 for the functions and the rest "
    "for "
    "sums that round otherwise because of them.\n\n"
    "## host\n\n"
    "Measured, and written, by `tests/accuracy/accuracy_host.c` (`accuracy_host 27 > docs/accuracy.md`; CI "
    "runs it with\n"
    "22 and fails when a bound is broken). Bounds here: f32, f16 and bf16 0.51 ulp, f64 2 ulp.\n\n"
    "- **f32** is evaluated in f64 by minimax polynomials (`tools/host_math_coeffs.py`, errors below 2^-31) "
    "with + - * /\n"
    "  alone and rounded once, subnormal results included; without fma, so that every CPU gives the same "
    "bits. sin and cos\n"
    "  reduce every finite operand: by a two-part pi/2 below 2^20, by Payne and Hanek's method from there "
    "on.\n"
    "- **f64** calls the C library, lane by lane, so that its bits also depend on the C library's version; "
    "rsqrt is\n"
    "  1 / sqrt(x), two correctly rounded steps.\n\n",
    "## nvptx\n\nDecided by the implementations in libdevice and `src/target/nvptx/`; bound 2 ulp in f32 and "
    "f64.\n",
};

int main(int argc, char **argv)
{
    int log2n = argc > 1 ? atoi(argv[1]) : 22;
    llfi_target t;
    llf_context *cx = llf_context_create(NULL);
    if (log2n < 16 || log2n > 32 || !cx || llfi_target_make(cx, "host", &t) != LLF_OK)
        return 2;
    printf("%sLargest errors found against the C library's f64 (f32, f16, bf16) and its long double (f64): "
           "2^%d f32 and\n"
           "2^%d f64 operands in equal steps through all bit patterns (every other f64 one from 2^-8 to "
           "2^8), every\n"
           "f16 and bf16 value. %s, LLVM "
           "%s.\n\n",
           text[0], log2n, log2n - 4, LIBC, llf_llvm_version());
    int failures = print_errors(&t, (uint64_t)1 << log2n);
    printf("\nSpeed of the f32 functions in the cache, one thread, beside a loop over the C library's scalar "
           "ones, on\n"
           "`%s`:\n\n",
           t.name);
    print_speeds(&t);
    printf("\n%s", text[1]);
    llf_context_destroy(cx);
    return failures != 0;
}
