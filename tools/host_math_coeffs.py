#!/usr/bin/env python3
"""Writes src/target/host_math_coeffs.h: the constants of the host target's f32 functions.

Method: weighted minimax polynomials by the Remez exchange algorithm (E. Remez 1934; J.-M. Muller, Elementary
Functions, 3rd ed., chapter 3) in 60-digit arithmetic, coefficients then rounded to double. The argument reduction of
sin and cos for large arguments is that of Payne and Hanek (1983): 2/pi is known bit by bit, and the bits that can only
contribute multiples of 4 to x * 2/pi are left out.

Needs mpmath (pip install mpmath). Usage: host_math_coeffs.py > src/target/host_math_coeffs.h
The largest relative error of each polynomial is printed beside it; for f32 it is far below half an ulp (2^-25), for f64 below
2^-57.
"""
from mpmath import mp, mpf, matrix, lu_solve, log, exp, sqrt, sin, cos, tanh, pi, erf, erfc, atanh, floor

mp.prec = 400


def remez(f, weight, lo, hi, degree):
    """Coefficients c of sum c[i] x^i with the least max |weight * (poly - f)| on [lo, hi], and that maximum."""
    n = degree + 2
    lo, hi = mpf(lo), mpf(hi)
    nodes = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * i / (n - 1)) for i in range(n)]
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * i / 2000) for i in range(2001)]
    values = [(f(x), weight(x)) for x in grid]
    best = None
    for _ in range(30):
        a, b = matrix(n, n), matrix(n, 1)
        for r, x in enumerate(nodes):
            for k in range(n - 1):
                a[r, k] = x**k
            a[r, n - 1] = (-1) ** r / weight(x)
            b[r] = f(x)
        c = lu_solve(a, b)
        poly = [c[k] for k in range(n - 1)]
        err = [w * (mp.polyval(poly[::-1], x) - y) for x, (y, w) in zip(grid, values)]
        top = max(abs(e) for e in err)
        if best is None or top < best[1]:
            best = (poly, top)
        if top <= abs(c[n - 1]) * mpf("1.0005"):
            break
        # one extremum in each run of equal sign, then the n consecutive ones with the largest error
        runs, start = [], 0
        for i in range(1, len(grid) + 1):
            if i == len(grid) or (err[i] > 0) != (err[start] > 0):
                runs.append(max(range(start, i), key=lambda j: abs(err[j])))
                start = i
        while len(runs) > n:
            runs.pop(0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else -1)
        if len(runs) < n:
            break
        nodes = [grid[i] for i in runs]
    return best


def hexf(x):
    return float(x).hex()


def table(name, meaning, result):
    poly, top = result
    print(f"/* {meaning}; error 2^{mp.nstr(log(top, 2), 4)} */")
    print(f"static const double {name}[] = {{{', '.join(hexf(c) for c in poly)}}};\n")


print("/* host_math_coeffs.h: written by tools/host_math_coeffs.py; do not edit. Coefficients from x^0 upwards. */")
print("#ifndef LLFI_HOST_MATH_COEFFS_H\n#define LLFI_HOST_MATH_COEFFS_H\n")

ln2 = log(mpf(2))
tiny = mpf(2) ** -100


def exp2m1(r):
    return (exp(r * ln2) - 1) / r if abs(r) > tiny else ln2


table("coef_exp2m1", "(2^r - 1) / r on [-1/2, 1/2], relative",
      remez(exp2m1, lambda r: 1 / exp2m1(r), -0.5, 0.5, 6))

# log m = 2 atanh s, s = (m - 1) / (m + 1), m in [sqrt 1/2, sqrt 2], z = s^2
smax = (sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)


def atanh2(z):
    return 2 * atanh(sqrt(z)) / sqrt(z) if z > tiny else mpf(2)


table("coef_log", "2 atanh(s) / s in z = s^2, s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)], relative",
      remez(atanh2, lambda z: 1 / atanh2(z), 0, smax**2 * mpf("1.0001"), 4))

zmax = (pi / 4) ** 2 * mpf("1.0001")


def sinc(z):
    r = sqrt(z)
    return (sin(r) / r - 1) / z if z > tiny else -mpf(1) / 6


def cosc(z):
    return (cos(sqrt(z)) - 1) / z if z > tiny else -mpf(1) / 2


table("coef_sin", "(sin(r) / r - 1) / z in z = r^2, |r| <= pi/4, relative to sin",
      remez(sinc, lambda z: z * sqrt(z) / sin(sqrt(z)) if z > tiny else z + tiny, 0, zmax, 3))
table("coef_cos", "(cos(r) - 1) / z in z = r^2, |r| <= pi/4, relative to cos",
      remez(cosc, lambda z: z / cos(sqrt(z)) + tiny, 0, zmax, 4))


# erf x = 1 - 2^(-x q(x)): q is smooth, and a relative error of q is damped by erfc as x grows
def erfq(x):
    return -log(erfc(x), 2) / x if x > tiny else 2 / sqrt(pi) / ln2


table("coef_erf", "-log2(erfc(x)) / x on [0, 4], relative to erf",
      remez(erfq, lambda x: ln2 * erfc(x) * x / erf(x) if x > tiny else ln2 * sqrt(pi) / 2, 0, 4, 11))



def tanhc(z):
    r = sqrt(z)
    return (tanh(r) / r - 1) / z if z > tiny else -mpf(1) / 3


print("/* for f64 results (host_f64.c) */")
table("coef_tanh", "(tanh(x) / x - 1) / z in z = x^2, |x| <= 0.55, relative to tanh",
      remez(tanhc, lambda z: z * sqrt(z) / tanh(sqrt(z)) if z > tiny else z + tiny, 0, mpf("0.3026"), 10))

print("#define CONST_LOG2E", hexf(1 / ln2))
print("#define CONST_LN2", hexf(ln2))
print("#define CONST_2_PI", hexf(2 / pi))
print("#define CONST_PI_2", hexf(pi / 2))
# pi/2 = PI_2_HI + PI_2_LO; HI has 31 bits, so that k * HI is exact for |k| < 2^22
hi = floor(pi / 2 * mpf(2) ** 30) / mpf(2) ** 30
print("#define CONST_PI_2_HI", hexf(hi))
print("#define CONST_PI_2_LO", hexf(pi / 2 - hi))

# x = M 2^s, M integer of 24 bits: x * 2/pi mod 4 = M * (2^s * 2/pi mod 4). The latter in three parts, the first two of
# 28 bits (so that their products with M are exact), each times 2^-s so that x itself can be multiplied.
first = 127 + 20
print("\n/* row e: parts of (2^s * 2/pi mod 4) * 2^-s for f32 with biased exponent e + REDUCE_FIRST, s = exponent - 150 */")
print("#define REDUCE_FIRST", first)
print("static const double reduce_table[][3] = {")
for e in range(first, 255):
    s = e - 150
    f = mpf(2) ** s * 2 / pi
    f -= 4 * floor(f / 4)
    parts = []
    for bits in (26, 54):
        p = floor(f * mpf(2) ** bits) / mpf(2) ** bits
        parts.append(p)
        f -= p
    parts.append(f)
    print("    {" + ", ".join(hexf(p * mpf(2) ** -s) for p in parts) + "},")
print("};\n\n#endif")
