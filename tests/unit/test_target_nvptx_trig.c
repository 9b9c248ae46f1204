/* test_target_nvptx_trig.c: the nvptx target's own f32 sine and cosine, run on the CPU: the IR uses only what
 * both have. Reference: the C library's f64 functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#ifdef LLFUSE_CUDA
#include "host_jit.h"
#include "target/nvptx/nvptx.h"

#include <math.h>

#define STRIDE 4093u /* prime: every exponent and many mantissas */

static LLVMValueRef make(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    e->memos = 0;
    return llfi_nvptx_sincos(e, *(bool *)user, arg[0]);
}

/* Both in one kernel, the second from the memo. */
static LLVMValueRef make_both(llfi_emit *e, const LLVMValueRef *arg, void *user)
{
    (void)user;
    LLVMValueRef s = llfi_nvptx_sincos(e, false, arg[0]);
    return LLVMBuildFAdd(e->b, s, llfi_nvptx_sincos(e, true, arg[0]), "");
}

static void run(host_jit_make *fn, bool cosine, uint32_t width, const float *x, float *y, size_t n)
{
    llf_context *cx = llf_context_create(NULL);
    llfi_target host;
    host_jit j;
    assert_int_equal(llfi_target_make(cx, "host", &host), LLF_OK);
    host_jit_kernel k = {
        .in = LLF_F32, .out = LLF_F32, .inputs = 1, .width = width, .make = fn, .user = &cosine};
    llf_status s = host_jit_compile(&j, &host, &k, &cx->diag);
    if (s != LLF_OK)
        print_message("%s\n", cx->diag.message);
    assert_int_equal(s, LLF_OK);
    host_jit_load(&j);
    void *slot[2] = {NULL, y};
    memcpy(&slot[0], &x, sizeof slot[0]);
    j.run(slot, 0, (int64_t)n);
    host_jit_free(&j);
    llf_context_destroy(cx);
}

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* All exponents, both signs; then the floats around multiples of pi/2, where the rest is smallest. */
static size_t arguments(float *x)
{
    size_t n = 0;
    for (uint64_t u = 0; u < 0x7f800000u; u += STRIDE)
        x[n++] = from_bits((uint32_t)(u | (u & 1) << 31));
    for (int64_t k = 1; k < 200000; k += 3) {
        float near = (float)((double)k * 1.57079632679489661923);
        x[n++] = near;
        x[n++] = -nextafterf(near, 0);
        x[n++] = nextafterf(near, INFINITY);
    }
    static const float hard[] = {16367173.0f * 0x1p+72f, 0x1.fffffep127f, -0x1.fffffep127f, 71476.0625f,
                                 71476.0546875f,         -71476.0625f,    0x1p-149f,        0x1p-126f};
    for (size_t i = 0; i < LLFI_COUNT(hard); i++)
        x[n++] = hard[i];
    while (n % 8)
        x[n++] = 1;
    return n;
}

static double ulps(float got, double want)
{
    int e;
    (void)frexp(want, &e);
    double unit = ldexp(1, e - 24 < -149 ? -149 : e - 24);
    return want == 0 ? fabs((double)got) / 0x1p-149 : fabs((double)got - want) / unit;
}

static void within_two_ulp(void **state)
{
    (void)state;
    size_t room = 0x7f800000u / STRIDE + 200100;
    float *x = malloc(room * 4), *y = malloc(room * 4), *one = malloc(room * 4);
    assert_true(x && y && one);
    size_t n = arguments(x);
    assert_true(n <= room && n > 700000);
    for (int cosine = 0; cosine < 2; cosine++) {
        run(make, cosine, 4, x, y, n);
        run(make, cosine, 1, x, one, n);
        assert_memory_equal(y, one, n * 4);
        double worst = 0;
        size_t at = 0;
        for (size_t i = 0; i < n; i++) {
            double u = ulps(y[i], cosine ? cos((double)x[i]) : sin((double)x[i]));
            if (!(u <= worst)) {
                worst = u;
                at = i;
            }
        }
        print_message("%s: %.3f ulp at %a\n", cosine ? "cos" : "sin", worst, (double)x[at]);
        assert_true(worst <= 1.5);
    }
    free(x);
    free(y);
    free(one);
}

static void special(void **state)
{
    (void)state;
    float x[8] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-130f, 1e30f}, s[8], c[8], both[8];
    for (uint32_t width = 1; width <= 8; width *= 2) {
        run(make, false, width, x, s, 8);
        run(make, true, width, x, c, 8);
        run(make_both, false, width, x, both, 8);
        assert_true(s[0] == 0 && !signbit(s[0]));
        assert_true(s[1] == 0 && signbit(s[1]));
        assert_true(c[0] == 1 && c[1] == 1);
        for (int i = 2; i < 5; i++)
            assert_true(isnan(s[i]) && isnan(c[i]));
        assert_true(s[5] == 0x1p-149f && s[6] == -0x1p-130f && c[5] == 1);
        for (int i = 0; i < 8; i++)
            assert_true(isnan(both[i]) ? isnan(s[i]) : both[i] == s[i] + c[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_two_ulp), cmocka_unit_test(special)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    print_message("SKIPPED: built without a CUDA toolkit\n");
    return 0;
}
#endif
