#!/usr/bin/env python3
"""Writes tests/golden/decompose/<composite>_<dtype>.llf for composites over axes: a graph, and values from mpmath at
100 digits, of inputs that are exact in the dtype. The lists (`;=`) are kept as they stand, or are golden-runner's to write:

    python3 tests/data/make_composites.py && LLF_BLESS=1 build/dev/bin/golden-runner tests/golden/decompose

(needs mpmath; not part of the build). Read what was blessed: docs/ir.md is the definition.
"""
import os
import random
from fractions import Fraction

from mpmath import exp, inf, log, mp, mpf, sqrt

mp.dps = 100
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "decompose")
DTYPES = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
# Bounds in ulp of the result: rounding of f16 and bf16 hides all but the last; else so many roundings and functions.
TOL = {"f64": 64, "f32": 64, "f16": 1, "bf16": 1}


def text(x):
    return "%d" % x if isinstance(x, int) else "nan" if x != x else mp.nstr(mpf(x), 25) if abs(x) != inf else "inf" if x > 0 else "-inf"


def numbers(values):
    return "[" + " ".join(text(v) for v in values) + "]" if isinstance(values, list) else text(values)


def rows(seed, b, n, step="1/16", low=-40, high=40):
    """b rows of n numbers, multiples of `step`: exact in every dtype."""
    rng = random.Random(seed)
    return [[mpf(rng.randint(low, high)) * mpf(Fraction(step).numerator) / Fraction(step).denominator for _ in range(n)] for _ in range(b)]


def flat(x):
    return [v for row in x for v in row]


def mean(r):
    return sum(r) / len(r)


def var(r, correction=0):
    d = len(r) - correction
    m2 = sum((v - mean(r)) ** 2 for v in r)
    return m2 / d if d > 0 else mpf("nan") if m2 == 0 else inf


def lse(r):
    return max(r) + log(sum(exp(v - max(r)) for v in r))


def norm(r, w, b, eps):
    s = sqrt(var(r) + mpf(eps))
    return [(v - mean(r)) / s * w[i] + b[i] for i, v in enumerate(r)]


def rms(r, w, eps):
    s = sqrt(mean([v * v for v in r]) + mpf(eps))
    return [v / s * w[i] for i, v in enumerate(r)]


def l2(r):
    s = max(sqrt(sum(v * v for v in r)), mpf("1e-12"))
    return [v / s for v in r]


# All in f32 and bf16; the rest where it can differ.
ALSO = {"f16": {"mean", "softmax"}, "f64": {"var", "log_softmax", "layer_norm"}}


def write(name, dtype, why, signature, lines, runs, tol=None, sizes=""):
    if name not in ALSO.get(dtype, {name}):
        return
    path = os.path.join(FOLDER, "%s_%s.llf" % (name, dtype))
    kept = []
    if os.path.exists(path):
        with open(path) as f:
            kept = [line for line in f if line.startswith(";=")]
    tol = TOL[dtype] if tol is None else tol
    with open(path, "w") as f:
        f.write("; %s\n; test passes decompose\n%sgraph @%s(%s) {\n" % (why % dtype, sizes and "; set %s\n" % sizes, name, signature.replace("T[", dtype + "[")))
        f.writelines("  %s\n" % line.replace("=T", "=" + dtype) for line in lines)
        f.write("}\n")
        f.writelines(kept)
        for args, results in runs:
            f.write(";run (%s) == %s tol=%d\n" % (", ".join(numbers(a) for a in args), ", ".join(numbers(r) for r in results), tol))


def statistics(dtype):
    x = rows(1, 3, 5)
    write("mean", dtype, "The mean of %s is exactly the list of docs/ir.md.", "%x: T[B, 5]",
          ["%y = mean %x, axes=[1]", "ret %y"], [([flat(x)], [[mean(r) for r in x]])], sizes="B=3")
    write("var", dtype, "The variance of %s is exactly the list of docs/ir.md; with a correction, and of too few elements.", "%x: T[B, 5], %z: T[1, C]",
          ["%y = var %x, axes=[1], correction=1", "%b = var %x, axes=[1]", "%n = var %z, axes=[0], correction=1", "%m = std %x, correction=16", "ret %y, %b, %n, %m"],
          [([flat(x), [mpf(1), mpf(2)]], [[var(r, 1) for r in x], [var(r) for r in x], [mpf("nan")] * 2, inf])], sizes="B=3 C=2")
    write("std", dtype, "The standard deviation of %s is exactly the list of docs/ir.md.", "%x: T[B, 5]",
          ["%y = std %x, axes=[1], keepdims", "ret %y"], [([flat(x)], [[sqrt(var(r)) for r in x]])], sizes="B=3")


def softmaxes(dtype):
    x = rows(2, 2, 6, step="1/8")
    write("softmax", dtype, "softmax of %s is exactly the list of docs/ir.md.", "%x: T[B, N]",
          ["%y = softmax %x, axes=[1]", "ret %y"], [([flat(x)], [[exp(v - lse(r)) for r in x for v in r]])], tol={"f16": 2}.get(dtype), sizes="B=2 N=6")
    write("log_softmax", dtype, "log_softmax of %s is exactly the list of docs/ir.md.", "%x: T[B, N]",
          ["%y = log_softmax %x, axes=[1]", "ret %y"], [([flat(x)], [[v - lse(r) for r in x for v in r]])], sizes="B=2 N=6")
    write("logsumexp", dtype, "logsumexp of %s is exactly the list of docs/ir.md.", "%x: T[B, N]",
          ["%y = logsumexp %x, axes=[1]", "ret %y"], [([flat(x)], [[lse(r) for r in x]])], sizes="B=2 N=6")


def norms(dtype):
    x = rows(3, 2, 5)
    w, b = rows(4, 1, 5, low=4)[0], rows(5, 1, 5)[0]
    # w * n of one sign with b: no cancellation, so that a bound in ulp is one
    b = [abs(v) + 1 if (x[0][i] - mean(x[0])) > 0 else -abs(v) - 1 for i, v in enumerate(b)]
    one = [x[0]]
    write("layer_norm", dtype, "layer_norm of %s is exactly the list of docs/ir.md.", "%x: T[B, N], %w: T[N], %b: T[N]",
          ["%y = layer_norm %x, %w, %b, axes=[1]", "ret %y"], [([flat(one), w, b], [flat([norm(r, w, b, "1e-5") for r in one])])], sizes="B=1")
    write("rms_norm", dtype, "rms_norm of %s is exactly the list of docs/ir.md.", "%x: T[B, N], %w: T[N]",
          ["%y = rms_norm %x, %w, axes=[1], eps=0.25", "ret %y"], [([flat(x), w], [flat([rms(r, w, "0.25") for r in x])])], sizes="B=2")
    write("l2_normalize", dtype, "l2_normalize of %s is exactly the list of docs/ir.md; a row of zeros stays one.", "%x: T[B, N]",
          ["%y = l2_normalize %x, axes=[1]", "ret %y"], [([flat(x + [[mpf(0)] * 5])], [flat([l2(r) for r in x] + [[mpf(0)] * 5])])], sizes="B=3 N=5")


def batches(dtype):
    """x[2, C=2, 3]: channels are in the middle."""
    x = rows(6, 2, 6)
    channel = [x[0][3 * c:3 * c + 3] + x[1][3 * c:3 * c + 3] for c in range(2)]
    m, v, w = [mpf(1) / 4, mpf(-1)], [mpf(2), mpf(1) / 2], [mpf(3) / 2, mpf(-2)]
    running = [m[c] + (mean(channel[c]) - m[c]) / 10 for c in range(2)]
    moving = [v[c] + (var(channel[c], 1) - v[c]) / 10 for c in range(2)]

    def by(means, variances, eps):
        return [(x[n][3 * c + i] - means[c]) / sqrt(variances[c] + mpf(eps)) * w[c] for n in range(2) for c in range(2) for i in range(3)]
    write("batch_norm", dtype, "batch_norm of %s by given statistics is exactly the list of docs/ir.md.", "%x: T[N, C, 3], %m: f32[C], %v: f32[C], %w: T[C]",
          ["%y = batch_norm %x, %m, %v, %w, axis=1, eps=0.125", "ret %y"], [([flat(x), m, v, w], [by(m, v, "0.125")])], sizes="N=2 C=2")
    write("batch_norm_train", dtype, "batch_norm_train of %s is exactly the list of docs/ir.md: three results.", "%x: T[N, C, 3], %m: f32[C], %v: f32[C], %w: T[C]",
          ["%y, %mean, %var = batch_norm_train %x, %m, %v, %w, axis=1", "ret %y, %mean, %var"],
          [([flat(x), m, v, w], [by([mean(c) for c in channel], [var(c) for c in channel], "1e-5"), running, moving])], tol={"f16": 4, "bf16": 4}.get(dtype), sizes="N=2 C=2")


def losses(dtype):
    """x[2, C=3, 2]: classes are in the middle; labels that count from the end, and outside."""
    x = rows(7, 2, 6, step="1/4", low=-12, high=12)
    k, read = [0, -1, 7, -9], [0, 2, 2, 0]
    loss = []
    for n in range(2):
        for i in range(2):
            r = [x[n][2 * c + i] for c in range(3)]
            loss.append(lse(r) - r[read[2 * n + i]])
    write("cross_entropy", dtype, "cross_entropy of %s is exactly the list of docs/ir.md.", "%x: T[N, 3, 2], %k: i32[N, 2]",
          ["%y = cross_entropy %x, %k, axis=1", "%z = cross_entropy %x, %k, axis=1, reduction=none", "%s = cross_entropy %x, %k, axis=1, reduction=sum, out=f64", "ret %y, %z, %s"],
          [([flat(x), k], [mean(loss), loss, sum(loss)])], tol={"f64": 256}.get(dtype), sizes="N=2")
    a, b = rows(8, 1, 6, step="1/4")[0], rows(9, 1, 6, step="1/4")[0]
    d = [(p - q) ** 2 for p, q in zip(a, b)]
    write("mse", dtype, "mse of %s is exactly the list of docs/ir.md.", "%a: T[N], %b: T[N]",
          ["%y = mse %a, %b", "%z = mse %a, %b, reduction=none", "%s = mse %a, %b, reduction=sum", "ret %y, %z, %s"],
          [([a, b], [mean(d), d, sum(d)])])


for dtype in DTYPES:
    for family in (statistics, softmaxes, norms, batches, losses):
        family(dtype)
