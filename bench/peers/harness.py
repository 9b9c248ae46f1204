"""What the peers' scripts share: cases run under torch eager and torch.compile, timed as llfuse-bench times: CUDA events
around each run, caches filled with clean foreign lines (a read of a foreign buffer, not a memset) before each, median, both
modes in turns. Writes JSON that table.py puts beside llfuse-bench's. It must not import llfuse.

A case: @case("add_relu", N=1 << 26) over a function of these sizes that returns (function, arguments).
"""
import argparse
import json
import statistics
import sys
import time

import torch

f32, bf16 = torch.float32, torch.bfloat16
CASES = {}


def case(name, **dims):
    def add(make):
        CASES[name] = (make, dims)
        return make
    return add


def normal(*shape, dtype=f32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def index(below, *shape):
    return torch.randint(0, below, shape, device="cuda")


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
    norm = torch.linalg.vector_norm
    return max((norm(x - y, dtype=torch.float64) / (norm(y, dtype=torch.float64) + 1e-300)).item() for x, y in zip(flat(a), flat(b)))


def row_major(name, mode, y):
    """llfuse writes row-major results; a peer that leaves its result in another order did less."""
    if not all(t.is_contiguous() for t in flat(y)):
        print("%s: torch's result (%s) is not row-major: not the same work" % (name, mode), file=sys.stderr)
        return False
    return True


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


def measure(name, make, dims, clock, least):
    torch.manual_seed(0)
    fn, args = make(**dims)
    torch._dynamo.reset()
    compiled = torch.compile(fn, dynamic=False)
    start = time.perf_counter()
    once = compiled(*args)
    torch.cuda.synchronize()
    compile_s = time.perf_counter() - start
    eager = fn(*args)
    err = difference(once, eager)
    same_work = {"compile": row_major(name, "compile", once), "eager": row_major(name, "eager", eager)}
    del once, eager
    runs = [lambda: fn(*args), lambda: compiled(*args)]
    times = samples_of(clock, runs, least)
    rows = []
    for mode, run, t in zip(("eager", "compile"), runs, times):
        q = statistics.quantiles(t, n=5, method="inclusive")
        rows.append({"case": name, "dims": dims, "mode": mode, "ms": statistics.median(t), "p20": q[0], "p80": q[3],
                     "samples": len(t), "kernels": kernels_of(run), "compile_s": compile_s if mode == "compile" else 0.0,
                     "difference": err if mode == "compile" else 0.0, "same_work": same_work[mode]})
    return rows


def main(about):
    p = argparse.ArgumentParser(description=about.splitlines()[0])
    p.add_argument("--json", default="-", help="file to write, - for the standard output")
    p.add_argument("--case", action="append", default=[], help="part of a case's name; may be repeated")
    p.add_argument("--set", default="", help="N=67108864,B=8: other sizes, where a case has them")
    p.add_argument("--min-samples", type=int, default=30)
    p.add_argument("--list", action="store_true", help="name the cases and stop")
    o = p.parse_args()
    sizes = {k: int(v) for k, v in (s.split("=") for s in o.set.split(",") if s)}
    if o.list:
        for name, (_, dims) in CASES.items():
            print(name, *("%s=%d" % d for d in dims.items()))
        return
    if not torch.cuda.is_available():
        sys.exit("%s: torch sees no GPU here" % p.prog)
    clock, rows = Clock(), []
    with torch.no_grad():
        for name, (make, dims) in CASES.items():
            if o.case and not any(c in name for c in o.case):
                continue
            dims = {k: sizes.get(k, v) for k, v in dims.items()}
            for row in measure(name, make, dims, clock, max(10, o.min_samples)):
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
