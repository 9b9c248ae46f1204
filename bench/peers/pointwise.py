"""The pointwise cases under torch eager and torch.compile, timed as llfuse-bench times: CUDA events around each run, caches
filled with clean foreign lines (a read of a foreign buffer, not a memset) before each, median. Writes JSON that table.py puts
beside llfuse-bench's. It must not import llfuse.

    python3 bench/peers/pointwise.py --json peers.json [--case add_relu] [--set N=67108864] [--min-samples 30]
"""
import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

CASES = {}


def case(name, n, dtypes, abs_inputs=()):
    def add(fn):
        CASES[name] = (fn, n, dtypes, abs_inputs)
        return fn
    return add


f32, bf16 = torch.float32, torch.bfloat16


@case("add_relu", 1 << 26, [f32] * 2)
def add_relu(a, b):
    return (a + b).relu()


@case("mul_add_sigmoid", 1 << 26, [f32] * 3)
def mul_add_sigmoid(x, w, b):
    return (x * w + b).sigmoid()


@case("mul_add_sigmoid_bf16", 1 << 26, [bf16] * 3)
def mul_add_sigmoid_bf16(x, w, b):
    return (x * w + b).sigmoid()


@case("sin_cos", 1 << 26, [f32])
def sin_cos(x):
    return x.sin(), x.cos()


@case("chain60", 1 << 26, [f32])
def chain60(x):
    for _ in range(20):
        x = (x * 1.01 + 0.1).tanh()
    return x


@case("swiglu", 1 << 26, [f32] * 2)
def swiglu(g, u):
    return F.silu(g) * u


@case("swiglu_bf16", 16384 * 14336, [bf16] * 2)
def swiglu_bf16(g, u):
    return F.silu(g) * u


@case("gelu_bf16", 16384 * 16384, [bf16] * 2)
def gelu_bf16(x, b):
    return F.gelu(x + b, approximate="tanh")


@case("optimiser", 1 << 26, [f32] * 4, abs_inputs=(3,))
def optimiser(p, g, m, v, lr=0.001, bc1=1.11, bc2=10.5):
    c = g.clamp(-1.0, 1.0)  # keeps NaN
    g1 = c * 0.1
    mn = m * 0.9 + g1
    vn = v * 0.999 + c * c * 0.001
    u = (mn * 0.9 + g1) * bc1 / ((vn * bc2).sqrt() + 1e-8)
    step = torch.where(u * c > 0, u, 0.0) + torch.where(p.abs() > 0.001, p * 0.01, 0.0)
    fine = g == g
    return torch.where(fine, p - step * lr, p), torch.where(fine, mn, m), torch.where(fine, vn, v)


class Clock:
    """One sample: fill the caches with clean foreign lines, then events around the call."""

    def __init__(self):
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.foreign = torch.ones(max(2 * l2, 256 << 20) // 4, device="cuda")
        self.before = torch.cuda.Event(enable_timing=True)
        self.after = torch.cuda.Event(enable_timing=True)

    def ms(self, fn):
        self.foreign.sum()  # reads only
        self.before.record()
        fn()
        self.after.record()
        torch.cuda.synchronize()
        return self.before.elapsed_time(self.after)


def kernels_of(fn):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        fn()
        torch.cuda.synchronize()
    return sum(e.count for e in p.key_averages() if e.device_type == torch.autograd.DeviceType.CUDA)


def flat(y):
    return [y] if torch.is_tensor(y) else list(y)


def difference(a, b):
    """Largest relative difference in norm: a sanity check of the peer, not of llfuse."""
    return max(((x.double() - y.double()).norm() / (y.double().norm() + 1e-300)).item() for x, y in zip(flat(a), flat(b)))


def samples_of(clock, fns, least):
    """In turns, so that clocks affect all alike."""
    out = [[] for _ in fns]
    for _ in range(5):
        for fn in fns:
            fn()
    torch.cuda.synchronize()
    while len(out[0]) < least:
        for i, fn in enumerate(fns):
            out[i].append(clock.ms(fn))
    return out


def measure(name, fn, n, dtypes, abs_inputs, clock, least):
    torch.manual_seed(0)
    args = [torch.randn(n, device="cuda", dtype=t) for t in dtypes]
    args = [a.abs() if i in abs_inputs else a for i, a in enumerate(args)]
    torch._dynamo.reset()
    compiled = torch.compile(fn, dynamic=False)
    start = time.perf_counter()
    once = compiled(*args)
    torch.cuda.synchronize()
    compile_s = time.perf_counter() - start
    err = difference(once, fn(*args))
    del once
    runs = [lambda: fn(*args), lambda: compiled(*args)]
    times = samples_of(clock, runs, least)
    rows = []
    for mode, run, t in zip(("eager", "compile"), runs, times):
        q = statistics.quantiles(t, n=5, method="inclusive")
        rows.append({"case": name, "dims": {"N": n}, "mode": mode, "ms": statistics.median(t), "p20": q[0], "p80": q[3],
                     "samples": len(t), "kernels": kernels_of(run), "compile_s": compile_s if mode == "compile" else 0.0,
                     "difference": err if mode == "compile" else 0.0})
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--json", default="-", help="file to write, - for the standard output")
    p.add_argument("--case", default="", help="part of a case's name")
    p.add_argument("--set", default="", help="N=67108864: another length for all")
    p.add_argument("--min-samples", type=int, default=30)
    o = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("pointwise.py: torch sees no GPU here")
    clock, rows = Clock(), []
    with torch.no_grad():
        for name, (fn, n, dtypes, abs_inputs) in CASES.items():
            if o.case not in name:
                continue
            if o.set:
                n = int(o.set.split("=")[1])
            for row in measure(name, fn, n, dtypes, abs_inputs, clock, max(10, o.min_samples)):
                rows.append(row)
                print("%-22s %-8s %8.4f ms  %3d kernels  compile %.2f s" %
                      (name, row["mode"], row["ms"], row["kernels"], row["compile_s"]), file=sys.stderr, flush=True)
            torch.cuda.empty_cache()
    head = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda}
    text = json.dumps({"header": head, "rows": rows}, indent=1)
    if o.json == "-":
        print(text)
    else:
        with open(o.json, "w") as f:
            f.write(text + "\n")


main()
