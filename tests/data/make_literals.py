#!/usr/bin/env python3
"""Writes literals.txt: decimal and hexadecimal literals with the bits that IEEE 754 rounding gives them, and values with
their shortest text, from exact rational arithmetic alone. Run: python3 make_literals.py > literals.txt"""
import random
from fractions import Fraction as F

FORMATS = {"f64": (53, 1023, 64), "f32": (24, 127, 32), "f16": (11, 15, 16), "bf16": (8, 127, 16)}


def bits_of(fmt, v):
    """Round v >= 0 to nearest even."""
    p, emax, _ = FORMATS[fmt]
    if v == 0:
        return 0
    e = v.numerator.bit_length() - v.denominator.bit_length()
    if F(2) ** e > v:
        e -= 1
    e = max(e, 1 - emax)
    ulp = F(2) ** (e - p + 1)
    q = v / ulp
    n = q.numerator // q.denominator
    r = q - n
    if r > F(1, 2) or (r == F(1, 2) and n % 2):
        n += 1
    if n == 2 ** p:
        n //= 2
        e += 1
    if e > emax:
        return (2 * emax + 1) << (p - 1)
    if n < 2 ** (p - 1):
        return n
    return ((e + emax) << (p - 1)) + n - 2 ** (p - 1)


def value_of(fmt, bits):
    p, emax, _ = FORMATS[fmt]
    e = bits >> (p - 1)
    m = bits & (2 ** (p - 1) - 1)
    if e == 0:
        return F(m) * F(2) ** (1 - emax - p + 1)
    return F(m + 2 ** (p - 1)) * F(2) ** (e - emax - p + 1)


def shortest(fmt, bits):
    v = value_of(fmt, bits)
    e = 0
    while F(10) ** (e + 1) <= v:
        e += 1
    while F(10) ** e > v:
        e -= 1
    for n in range(1, 18):
        unit = F(10) ** (e - n + 1)
        lo = v / unit
        lo = lo.numerator // lo.denominator
        good = [c for c in (lo, lo + 1) if c > 0 and bits_of(fmt, c * unit) == bits]
        if good:
            c = min(good, key=lambda c: (abs(c * unit - v), c % 2))
            s = str(c)
            exp = e + len(s) - n
            s = s.rstrip("0")
            return layout(s, exp)
    raise AssertionError


def layout(s, e):
    if e >= 16 or e < -5:
        return s[0] + ("." + s[1:] if len(s) > 1 else "") + "e%d" % e
    if e < 0:
        return "0." + "0" * (-e - 1) + s
    s += "0" * (e + 1 - len(s))
    return s[:e + 1] + "." + (s[e + 1:] or "0")


def decimal_text(v):
    """Exact decimal of a dyadic fraction."""
    k = v.denominator.bit_length() - 1
    s = str(v.numerator * 5 ** k)
    return s + "e-%d" % k if k else s


def hexa(n, e):
    return "0x%xp%d" % (n, e)


def main():
    rnd = random.Random(1)
    out = []
    for fmt, (p, emax, width) in FORMATS.items():
        top = (2 * emax + 1) << (p - 1)
        texts = ["0", "0.0", "1", "1.5", ".5", "5.", "1e0", "1E+2", "1e-2", "0.1", "3.14159265358979323846264338327950288",
                 "123456789012345678901234567890", "1e400", "1e-400", "1e22", "1e23", "9007199254740993", "9007199254740992.5",
                 "0.000000000000000000000000000000000000000000001401298464324817", "65504", "65519.99", "65520",
                 "1.00048828125", "1.00048828125000000000001", "1.00048828124999999999999", "1.00390625", "1.0039062500001",
                 "16777217", "16777217.0000000000000000000001", "3.4028235677973366e38", "3.4028235677973365e38",
                 "1.7976931348623158e308", "1.7976931348623159e308", "2.4703282292062327e-324", "2.4703282292062328e-324",
                 "0." + "0" * 300 + "1", "1" + "0" * 300, "1e1000000000000000000000", "1e-1000000000000000000000",
                 "0e999999999999", "0." + "0" * 2000 + "1e2000", "1" + "0" * 2000 + "e-2000"]
        # one above, exactly on, one below the midpoint of neighbours: what double rounding gets wrong
        for _ in range(60):
            b = rnd.randrange(0, top - 1)
            mid = (value_of(fmt, b) + value_of(fmt, b + 1)) / 2
            t = decimal_text(mid)
            m, _, e = t.partition("e")
            texts.append(t)
            tail = "e%d" % (int(e or 0) - 900)
            texts.append(m + "0" * 899 + "1" + tail)
            texts.append(str(int(m + "0" * 30) - 1) + "e%d" % (int(e or 0) - 30))
        for _ in range(60):
            texts.append("%d.%de%d" % (rnd.randrange(10), rnd.randrange(10 ** rnd.randrange(1, 25)),
                                       rnd.randrange(-50, 50) if fmt != "f64" else rnd.randrange(-330, 310)))
        # quotients of 64 bits that end exactly half way, with a remainder behind them: 19 digits over 10^19
        if fmt == "f64":
            found = 0
            while found < 8:
                v = rnd.randrange(9 * 10 ** 18, 10 ** 19) | 1
                q = (v << 64 << (64 - v.bit_length())) // 10 ** 19
                q >>= q.bit_length() - 64
                if q % 4096 == 1024:
                    texts.append("%de-19" % v)
                    found += 1
        for t in texts:
            if len(t) > 2200:
                continue
            m, _, e = t.lower().partition("e")
            e = int(e or 0)
            if abs(e) > 10 ** 6:
                bits = 0 if e < 0 or F(m) == 0 else top
            elif abs(e) > 5000:
                bits = 0 if F(m) == 0 or e < 0 else top
            else:
                bits = bits_of(fmt, F(m if not m.startswith(".") else "0" + m) * F(10) ** e)
            out.append("read %s %s %x" % (fmt, t, bits))
        for _ in range(40):
            n, e = rnd.randrange(1, 2 ** rnd.randrange(1, 90)), rnd.randrange(-160, 60)
            out.append("read %s %s %x" % (fmt, hexa(n, e), bits_of(fmt, F(n) * F(2) ** e)))
        out.append("read %s 0x1.8p1 %x" % (fmt, bits_of(fmt, F(3))))
        out.append("read %s 0X.8P-1 %x" % (fmt, bits_of(fmt, F(1, 4))))
        shown = [1, 2, 3, top - 1, 1 << (p - 1), (1 << (p - 1)) - 1]
        shown += [bits_of(fmt, F(t)) for t in ("0.1", "0.3", "1", "10", "100", "255", "256", "257", "1000", "65504", "1e15",
                                               "1e16", "1e17", "0.00001", "0.000012345", "0.000001", "123456.789")]
        shown += [b << (p - 1) for b in range(1, 2 * emax + 1, max(1, emax // 60))]  # powers of two
        shown += [rnd.randrange(1, top) for _ in range(100)]
        for b in shown:
            if 0 < b < top:
                out.append("show %s %x %s" % (fmt, b, shortest(fmt, b)))
    print("\n".join(out))


main()
