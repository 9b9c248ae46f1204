#!/usr/bin/env python3
"""Writes interp_tables.h: expected results for the interpreter from exact rationals and mpmath at 300 bits.

Run as: gen_interp_tables.py > interp_tables.h && clang-format -i interp_tables.h   (needs mpmath; not part of the build)
"""
import random
from fractions import Fraction

import mpmath

mpmath.mp.prec = 300
FORMATS = {"F64": (11, 52), "F32": (8, 23), "F16": (5, 10), "BF16": (8, 7)}


def value(dtype, bits):
    """Exact value of a finite code."""
    e_bits, m_bits = FORMATS[dtype]
    bias = 2 ** (e_bits - 1) - 1
    sign = -1 if bits >> (e_bits + m_bits) else 1
    e = bits >> m_bits & (2**e_bits - 1)
    m = bits & (2**m_bits - 1)
    if e:
        m += 2**m_bits
    return sign * m * Fraction(2) ** (max(e, 1) - bias - m_bits)


def encode(dtype, x, zero_sign=0):
    """Nearest code of an exact rational, ties to even."""
    e_bits, m_bits = FORMATS[dtype]
    bias = 2 ** (e_bits - 1) - 1
    sign = (1 if x < 0 else zero_sign if x == 0 else 0) << (e_bits + m_bits)
    x = abs(x)
    if x == 0:
        return sign
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** e > x:
        e -= 1
    e = max(e, 1 - bias)
    quantum = Fraction(2) ** (e - m_bits)
    n = round(x / quantum)  # Fraction rounds half to even
    code = n if n < 2**m_bits else n + ((e + bias - 1) << m_bits)
    return sign | min(code, (2**e_bits - 1) << m_bits)


def rational(x):
    sign, man, exp, _ = x._mpf_
    return (-1) ** sign * Fraction(man) * Fraction(2) ** exp


def random_code(rng, dtype, low, high, sign=True):
    """A code whose magnitude lies between 2^low and 2^high."""
    e_bits, m_bits = FORMATS[dtype]
    bias = 2 ** (e_bits - 1) - 1
    e = max(0, min(rng.randint(low, high) + bias, 2 ** (e_bits) - 2))
    return rng.getrandbits(1) * sign << (e_bits + m_bits) | e << m_bits | rng.getrandbits(m_bits)


def fma_rows(rng, dtype, count):
    """Products that lie at or beside a midpoint of the sum, nudged by a far smaller addend, and random ones."""
    e_bits, m_bits = FORMATS[dtype]
    top = 2 ** (e_bits - 1) - 2
    rows = []
    while len(rows) < count:
        kind = len(rows) % 3
        if kind == 0:  # random
            a, b, c = (random_code(rng, dtype, -top, top // 2) for _ in range(3))
        elif kind == 1:  # tiny c decides a tie of a * b
            p = m_bits + 1
            x = rng.getrandbits(p // 2) | 1
            y = rng.getrandbits(p + 1 - p // 2) | 1
            if (x * y).bit_length() != p + 1:  # odd with one bit too many: a tie
                continue
            a = encode(dtype, Fraction(x, 2 ** (p // 2)) * rng.choice((-1, 1)))
            b = encode(dtype, Fraction(y, 2 ** (p // 2)))
            c = random_code(rng, dtype, -top, -top // 2)
        else:  # large c, the product is half a unit of it and a bit
            c = random_code(rng, dtype, 0, 3)
            half = Fraction(2) ** -(m_bits + 1) * Fraction(2) ** (c >> m_bits & (2**e_bits - 1)) / Fraction(2) ** (
                2 ** (e_bits - 1) - 1
            )
            a = random_code(rng, dtype, -2, 2)
            b = encode(dtype, half / value(dtype, a)) + rng.randint(-1, 1)
        exact = value(dtype, a) * value(dtype, b) + value(dtype, c)
        if exact != 0:
            rows.append((a, b, c, encode(dtype, exact)))
    return rows


# function: mpmath's, and exponent ranges of arguments (low, high, negative too)
FUNCTIONS = {
    "RSQRT": (lambda x: 1 / mpmath.sqrt(x), [(-140, 120, False)]),
    "EXP": (mpmath.exp, [(-20, 3, True), (4, 6, True)]),
    "EXP2": (lambda x: mpmath.power(2, x), [(-20, 3, True), (4, 7, True)]),
    "LOG": (mpmath.log, [(-140, 120, False), (-1, 0, False)]),
    "LOG1P": (mpmath.log1p, [(-30, 100, False), (-20, -1, True)]),
    "TANH": (mpmath.tanh, [(-20, 3, True)]),
    "SIN": (mpmath.sin, [(-20, 3, True), (10, 100, True)]),
    "COS": (mpmath.cos, [(-20, 3, True), (10, 100, True)]),
    "ERF": (mpmath.erf, [(-20, 2, True)]),
}


def function_rows(rng, op, dtype):
    f, ranges = FUNCTIONS[op]
    rows = []
    for i in range(10):
        low, high, sign = ranges[i % len(ranges)]
        x = random_code(rng, dtype, low, high, sign)
        arg = value(dtype, x)
        if arg == 0 or (op == "LOG1P" and arg <= -1) or (op == "LOG" and arg == 1):
            continue
        exact = rational(f(mpmath.mpf(arg.numerator) / mpmath.mpf(arg.denominator)))
        rows.append((x, encode(dtype, exact)))
    return rows


def main():
    rng = random.Random(20)
    print("/* interp_tables.h: written by gen_interp_tables.py (exact rationals, mpmath); do not edit. */")
    print("#include \"llfuse/llfuse.h\"\n")
    print("static const struct {\n    llf_dtype dtype;\n    uint32_t a, b, c, want;\n} fma_table[] = {")
    for dtype in ("F16", "BF16", "F32"):
        for row in fma_rows(rng, dtype, 60):
            print("    {LLF_%s, %s}," % (dtype, ", ".join("0x%x" % v for v in row)))
    print("};\n")
    print("static const struct {\n    llf_op op;\n    llf_dtype dtype;\n    uint64_t x, want;\n} function_table[] = {")
    for op in FUNCTIONS:
        for dtype in FORMATS:
            for row in function_rows(rng, op, dtype):
                print("    {LLF_OP_%s, LLF_%s, %s}," % (op, dtype, ", ".join("0x%x" % v for v in row)))
    print("};")


main()
