/* Division by a product and a shift, against the processor's: every small divisor, the powers of two and
 * their neighbours, and numbers where a quotient changes. */
#include "schedule/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint32_t quotient(uint32_t x, uint64_t r)
{
    return (uint32_t)((2 * (uint64_t)x * (uint32_t)r) >> 32) >> (r >> 32);
}

static void check(int64_t d)
{
    uint64_t r = llfi_reciprocal(d);
    assert_true(r != 0 && r >> 32 < 32);
    const uint32_t by = (uint32_t)d, last = INT32_MAX;
    const uint32_t at[] = {0, 1, by - 1, by, by < last ? by + 1 : by, last / 2, last - 1, last};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        assert_int_equal(quotient(at[i], r), at[i] / by);
    for (uint64_t k = 1, step = last / by / 64 + 1; k <= last / by; k += step)
        for (uint64_t x = k * by - 1; x <= k * by + 1 && x <= last; x++)
            assert_int_equal(quotient((uint32_t)x, r), (uint32_t)x / by);
}

static void quotients_are_exact(void **state)
{
    (void)state;
    for (int64_t d = 1; d < 20000; d++)
        check(d);
    for (int shift = 1; shift < 31; shift++)
        for (int64_t d = (INT64_C(1) << shift) - 1; d <= (INT64_C(1) << shift) + 1; d++)
            check(d);
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        int64_t d = (int64_t)(seed >> 33 >> (seed >> 20) % 30);
        check(d ? d : 1);
    }
    check(INT32_MAX);
}

static void what_has_none_says_so(void **state)
{
    (void)state;
    const int64_t none[] = {0, -1, INT64_MIN, INT64_C(1) << 31, INT64_MAX};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(llfi_reciprocal(none[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotients_are_exact),
        cmocka_unit_test(what_has_none_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
