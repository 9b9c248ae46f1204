#!/usr/bin/env python3
"""Writes lower_cases.def: EXACT ops on edge values with the IEEE 754 result computed in exact rational arithmetic,
independent of this library, of LLVM and of the machine's floating point.  python3 lower_cases.py > lower_cases.def"""
import math, random
from fractions import Fraction as F

FMT = {"F64": (11, 52), "F32": (8, 23), "F16": (5, 10), "BF16": (8, 7)}
INT = {"I32": 32, "I64": 64}
rng = random.Random(20240607)

class V:  # a float value: nan, inf or an exact fraction, with its sign
    def __init__(s, kind, sign=0, f=F(0)):
        s.kind, s.sign, s.f = kind, sign, f
NAN = V("nan")

def decode(t, bits):
    e, m = FMT[t]
    sign, ex, fr = bits >> (e + m), bits >> m & (1 << e) - 1, bits & (1 << m) - 1
    if ex == (1 << e) - 1:
        return NAN if fr else V("inf", sign)
    bias = (1 << e - 1) - 1
    f = F(fr, 1 << m) * F(2) ** (1 - bias) if ex == 0 else (1 + F(fr, 1 << m)) * F(2) ** (ex - bias)
    return V("num", sign, -f if sign else f)

def encode(t, v):
    e, m = FMT[t]
    if v.kind == "nan":
        return ((1 << e) - 1 << m) | 1 << m - 1
    top = v.sign << e + m
    if v.kind == "inf":
        return top | (1 << e) - 1 << m
    f = abs(v.f)
    if f == 0:
        return top
    bias = (1 << e - 1) - 1
    ex = f.numerator.bit_length() - f.denominator.bit_length()
    if F(2) ** ex > f:
        ex -= 1
    ex = max(ex, 1 - bias)
    q = f / F(2) ** (ex - m)  # round(Fraction) is round-half-even
    n = round(q)
    if n >> m + 1:
        n, ex = n >> 1, ex + 1
    if ex > bias:
        return top | (1 << e) - 1 << m
    return top | (n if n < 1 << m else (ex + bias - 1 << m) + n)

def num(f, zero_sign=0):
    return V("num", zero_sign if f == 0 else int(f < 0), f)

def add(a, b):
    if "nan" in (a.kind, b.kind) or (a.kind == b.kind == "inf" and a.sign != b.sign):
        return NAN
    if a.kind == "inf": return a
    if b.kind == "inf": return b
    return num(a.f + b.f, a.sign & b.sign)

def neg(a):
    return NAN if a.kind == "nan" else V(a.kind, 1 - a.sign, -a.f)

def mul(a, b):
    s = a.sign ^ b.sign
    if "nan" in (a.kind, b.kind): return NAN
    if "inf" in (a.kind, b.kind):
        return NAN if any(x.kind == "num" and x.f == 0 for x in (a, b)) else V("inf", s)
    return V("num", s, a.f * b.f)

def div(a, b):
    s = a.sign ^ b.sign
    if "nan" in (a.kind, b.kind) or a.kind == b.kind == "inf": return NAN
    if a.kind == "inf": return V("inf", s)
    if b.kind == "inf": return V("num", s)
    if b.f == 0: return NAN if a.f == 0 else V("inf", s)
    return V("num", s, a.f / b.f)

def sqrt(a):
    if a.kind == "nan" or (a.sign and not (a.kind == "num" and a.f == 0)): return NAN
    if a.kind == "inf" or a.f == 0: return a
    k = 1400
    x = a.f.numerator * (1 << 2 * k) // a.f.denominator
    r = math.isqrt(x)
    return V("num", 0, F(2 * r + int(F(r * r, 1 << 2 * k) != a.f), 1 << k + 1))

def order(a):  # total order with -0 < +0
    if a.kind == "inf": return ((-1 if a.sign else 1) * F(2) ** 2000, 0)
    return (a.f, 1 - a.sign)

def extremum(a, b, least):
    if "nan" in (a.kind, b.kind): return NAN
    return (min if least else max)(a, b, key=order)

def compare(op, a, b):
    if "nan" in (a.kind, b.kind): return int(op == "NE")
    x, y = order(a)[0], order(b)[0]
    return int({"EQ": x == y, "NE": x != y, "LT": x < y, "LE": x <= y, "GT": x > y, "GE": x >= y}[op])

def values(t):
    if t == "BOOL": return [0, 1]
    if t in INT:
        w = INT[t]
        s = [0, 1, -1, 2, -2, 7, (1 << w - 1) - 1, -(1 << w - 1), -(1 << w - 1) + 1, 0x5a5a5a5, 16777217, -16777217]
        if w == 64: s += [(1 << 53) + 1, (1 << 62) + (1 << 54) + 1, (1 << 62) + (1 << 54), -(1 << 40) - 3, 65519, 65520]
        else: s += [65519, 65520, 2049, 0x01010001, 0x01018000, 0x01018001]
        return [x & (1 << w) - 1 for x in s] + [rng.getrandbits(w) for _ in range(4)]
    e, m = FMT[t]
    one = encode(t, num(F(1)))
    top = ((1 << e) - 1) << m
    pos = [0, 1, (1 << m) - 1, 1 << m, one, one + 1, one - 1, encode(t, num(F(1, 3))), encode(t, num(F(5, 2))),
           top - 1, top, top // 2, encode(t, num(F(7) * F(2) ** (1 - ((1 << e - 1) - 1) - m // 2)))]
    return pos + [x | 1 << e + m for x in pos] + [top | 1 << m - 1] + [rng.getrandbits(e + m + 1) for _ in range(6)]

def cast(f, t, bits):
    if f == t: return bits
    if f == "BOOL": return bits if t not in FMT else encode(t, num(F(bits)))
    if f in INT:
        x = bits - (1 << INT[f]) if bits >> INT[f] - 1 else bits
        if t == "BOOL": return int(x != 0)
        return x & (1 << INT[t]) - 1 if t in INT else encode(t, num(F(x)))
    v = decode(f, bits)
    if t == "BOOL": return int(v.kind != "num" or v.f != 0)
    if t in FMT: return encode(t, v)
    lo, hi = -(1 << INT[t] - 1), (1 << INT[t] - 1) - 1
    x = 0 if v.kind == "nan" else (lo if v.sign else hi) if v.kind == "inf" else max(lo, min(hi, math.trunc(v.f)))
    return x & (1 << INT[t]) - 1

def row(op, f, t, args, want):
    a = list(args) + [0] * (3 - len(args))
    print("CASE(%s, %s, %s, 0x%x, 0x%x, 0x%x, 0x%x)" % (op, f, t, *a, want))

def pairs(t, n=14):
    v = values(t)
    fixed = [(v[0], v[13]), (v[13], v[0]), (v[10], v[23]), (v[26], v[4]), (v[4], v[26])] if t in FMT else []
    return fixed + [(rng.choice(v), rng.choice(v)) for _ in range(n)]

def main():
    print("/* lower_cases.def: CASE(op, operand dtype, result dtype, a, b, c, result bits). Written by lower_cases.py. */")
    for t in FMT:
        ops = {"ADD": add, "SUB": lambda a, b: add(a, neg(b)), "MUL": mul, "DIV": div,
               "MAXIMUM": lambda a, b: extremum(a, b, False), "MINIMUM": lambda a, b: extremum(a, b, True)}
        for op, fn in ops.items():
            for a, b in pairs(t):
                row(op, t, t, (a, b), encode(t, fn(decode(t, a), decode(t, b))))
        for op in ("EQ", "NE", "LT", "LE", "GT", "GE"):
            for a, b in pairs(t, 8) + [(x, x) for x in values(t)[4:6]]:
                row(op, t, "BOOL", (a, b), compare(op, decode(t, a), decode(t, b)))
        for a in values(t):
            e, m = FMT[t]
            s = 1 << e + m
            row("NEG", t, t, (a,), a ^ s)
            row("ABS", t, t, (a,), a & ~s)
            row("COPY", t, t, (a,), a)
            row("SQRT", t, t, (a,), encode(t, sqrt(decode(t, a))))
        for _ in range(40):
            a, b, c = (rng.choice(values(t)) for _ in range(3))
            if rng.random() < .5: # near cancellation: c = -(a*b) rounded
                c = encode(t, neg(mul(decode(t, a), decode(t, b))))
            row("FMA", t, t, (a, b, c), encode(t, add(mul(decode(t, a), decode(t, b)), decode(t, c))))
    for t, w in INT.items():
        mask, sg = (1 << w) - 1, lambda x: x - (1 << w) if x >> w - 1 else x
        ops = {"ADD": lambda a, b: a + b, "SUB": lambda a, b: a - b, "MUL": lambda a, b: a * b, "MAXIMUM": max, "MINIMUM": min}
        for op, fn in ops.items():
            for a, b in pairs(t):
                row(op, t, t, (a, b), fn(sg(a), sg(b)) & mask)
        for op, fn in {"EQ": int.__eq__, "NE": int.__ne__, "LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__}.items():
            for a, b in pairs(t, 8) + [(7, 7)]:
                row(op, t, "BOOL", (a, b), int(fn(sg(a), sg(b))))
        for a in values(t):
            row("NEG", t, t, (a,), -sg(a) & mask)
            row("ABS", t, t, (a,), abs(sg(a)) & mask)
    for op, fn in {"EQ": int.__eq__, "NE": int.__ne__, "LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__}.items():
        for a in (0, 1):
            for b in (0, 1):
                row(op, "BOOL", "BOOL", (a, b), int(fn(a, b)))
    for t in list(FMT) + list(INT) + ["BOOL"]:
        for c in (0, 1):
            a, b = rng.sample(values(t), 2)
            row("WHERE", t, t, (c, a, b), a if c else b)
        for to in list(FMT) + list(INT) + ["BOOL"]:
            extra = []
            if t in FMT and to in FMT and FMT[t][1] > FMT[to][1]: # ties, and just beside them
                for _ in range(6):
                    x = rng.getrandbits(FMT[to][1] + 1) | 1
                    v = encode(t, num((1 + F(x, 2 << FMT[to][1])) * F(2) ** rng.randint(-3, 3)))
                    extra += [v, v + 1, v - 1]
            for a in values(t) + extra:
                row("CAST", t, to, (a,), cast(t, to, a))

main()
