#!/usr/bin/env python3
"""Writes host_specials.def: SPECIAL(op, argument bits, correctly rounded f32 bits, exact) from 400-bit arithmetic (mpmath) and
IEEE 754-2019 section 9.2.1 for the edges. `exact` 1: the result must have these bits; 0: within one unit. NaN is 7fc00000."""
import struct
from mpmath import mp, mpf, exp, log, log1p, tanh, erf, sin, cos, sqrt, floor

mp.prec = 400
NAN, INF = 0x7FC00000, 0x7F800000


def value(bits):
    return mpf(struct.unpack("<f", struct.pack("<I", bits))[0])


def rounded(x):
    """Bits of the f32 nearest to the real x, ties to even."""
    sign, x = (0x80000000, -x) if x < 0 else (0, x)
    if x == 0:
        return sign
    e = max(int(floor(mp.log(x, 2))), -126)
    while mpf(2) ** (e + 1) <= x:
        e += 1
    while e > -126 and mpf(2) ** e > x:
        e -= 1
    m = x / mpf(2) ** (e - 23)
    n = int(floor(m))
    rest = m - n
    n += rest > 0.5 or (rest == 0.5 and n & 1)
    if n >= 1 << 24:
        n, e = n >> 1, e + 1
    if e > 127:
        return sign | INF
    return sign | (((e + 127) << 23) + (n - (1 << 23)) if n >= 1 << 23 else n)


functions = {
    "EXP": exp, "EXP2": lambda x: mpf(2) ** x, "LOG": log, "LOG1P": log1p, "TANH": tanh, "ERF": erf, "SIN": sin, "COS": cos,
    "RSQRT": lambda x: 1 / sqrt(x),
}
edges = {  # argument bits -> result bits
    "EXP": {0: 0x3F800000, 0x80000000: 0x3F800000, INF: INF, 0xFF800000: 0},
    "EXP2": {0: 0x3F800000, 0x80000000: 0x3F800000, INF: INF, 0xFF800000: 0, 0xC2FC0000: 0x00800000, 0xC2FE0000: 0x00400000,
             0xC3150000: 0x00000001, 0xC3160000: 0, 0x43000000: INF, 0x42FE0000: 0x7F000000, 0x40400000: 0x41000000},
    "LOG": {0: 0xFF800000, 0x80000000: 0xFF800000, INF: INF, 0xFF800000: NAN, 0xBF800000: NAN, 0x80000001: NAN,
            0x3F800000: 0},
    "LOG1P": {0: 0, 0x80000000: 0x80000000, INF: INF, 0xFF800000: NAN, 0xBF800000: 0xFF800000, 0xBF800001: NAN},
    "TANH": {0: 0, 0x80000000: 0x80000000, INF: 0x3F800000, 0xFF800000: 0xBF800000},
    "ERF": {0: 0, 0x80000000: 0x80000000, INF: 0x3F800000, 0xFF800000: 0xBF800000},
    "SIN": {0: 0, 0x80000000: 0x80000000, INF: NAN, 0xFF800000: NAN},
    "COS": {0: 0x3F800000, 0x80000000: 0x3F800000, INF: NAN, 0xFF800000: NAN},
    "RSQRT": {0: INF, 0x80000000: 0xFF800000, INF: 0, 0xFF800000: NAN, 0xBF800000: NAN, 0x40800000: 0x3F000000,
              0x3E800000: 0x40000000},
}
ordinary = [1, 0x007FFFFF, 0x00800000, 0x00C00000, 0x33800000, 0x34000001, 0x3A83126F, 0x3F000000, 0x3F317218, 0x3F7FFFFF,
            0x3F800000, 0x3F800001, 0x3FC90FDB, 0x40000000, 0x40490FDB, 0x407AD447, 0x41102CB3, 0x41200000, 0x42B17217,
            0x42B17218, 0x42B17219, 0x42CFF1B4, 0x42CFF1B5, 0x49800000, 0x497FFFFF, 0x4B000001, 0x6F79BE45, 0x7F7FFFFF]
# 0x6f79be45 = 16367173 * 2^72, the f32 nearest to a multiple of pi/2 (Muller, Elementary Functions, 3rd ed., table 11.1)

# arguments that need more than one part of 2/pi, of all sizes: a fixed sequence (multiplicative generator modulo 2^31 - 1)
big, seed = [], 1
for exponent in range(18, 128):
    seed = seed * 48271 % (2**31 - 1)
    big.append(((exponent + 127) << 23) + seed % (1 << 23))

print("/* written by host_specials.py; do not edit */")
for name, f in functions.items():
    rows = {bits: (result, 1) for bits, result in edges[name].items()}
    rows[NAN] = (NAN, 1)
    plain = ordinary + (big if name in ("SIN", "COS") else [])
    for bits in plain + [b | 0x80000000 for b in plain]:
        x = value(bits)
        if bits in rows or (name in ("LOG", "RSQRT") and x < 0) or (name == "LOG1P" and x <= -1):
            continue
        if name in ("EXP", "EXP2") and abs(x) > 1000:
            rows[bits] = (INF if x > 0 else 0, 1)
            continue
        if name in ("TANH", "ERF") and abs(x) > 40:
            rows[bits] = (rounded(mpf(1) if x > 0 else mpf(-1)), 1)
            continue
        rows[bits] = (rounded(f(x)), 0)
    for bits, (result, exact) in sorted(rows.items()):
        print(f"SPECIAL({name}, 0x{bits:08x}u, 0x{result:08x}u, {exact})")
