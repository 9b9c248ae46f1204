/* reciprocal.c: division by a number that is known at launch, as a product and a shift (Granlund and
 * Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994): for x < 2^31 and
 * 1 <= d < 2^31, with s = ceil(log2 d) and m = floor(2^(31+s) / d) + 1, floor(x / d) = floor(x * m /
 * 2^(31+s)): m * d exceeds 2^(31+s) by at most d <= 2^s. Pure arithmetic; it must not know kernels. */
#include "schedule/schedule.h"

uint64_t llfi_reciprocal(int64_t d)
{
    if (d < 1 || d > INT32_MAX)
        return 0;
    uint64_t shift = 0;
    while ((INT64_C(1) << shift) < d)
        shift++;
    uint64_t m = (UINT64_C(1) << (31 + shift)) / (uint64_t)d + 1; /* below 2^32: d > 2^(s-1) */
    return m | shift << 32;
}
