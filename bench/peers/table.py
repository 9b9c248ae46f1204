"""llfuse-bench's rows beside its peers', for people or as Markdown. Figures from different machines or days do not compare:
all files should come from one job on one GPU.

    build/release/bin/llfuse-bench --json llfuse.json
    python3 bench/peers/pointwise.py --json pointwise.json; python3 bench/peers/views.py --json views.json
    python3 bench/peers/table.py llfuse.json pointwise.json views.json [--markdown]

Exit: 0, or 1 when a fused case is slower than the best of its peers (by more than --tolerance, default 0).
"""
import argparse
import json
import math
import sys


def key(row):
    return row["case"], tuple(sorted(row["dims"].items()))


def number(v, digits=4):
    return "-" if v is None else "%.*f" % (digits, v)


def build(ours, peers):
    by_key = {}
    for r in (r for p in peers for r in p["rows"]):
        if r.get("same_work", True):
            by_key.setdefault(key(r), {})[r["mode"]] = r
    rows = []
    for r in ours["rows"]:
        p = by_key.get(key(r), {})
        eager, comp = (p.get(m, {}).get("ms") for m in ("eager", "compile"))
        best = min((x for x in (eager, comp) if x is not None), default=None)
        rows.append({"row": r, "eager": eager, "compile": comp, "best": best, "compile_s": p.get("compile", {}).get("compile_s")})
    return rows


def cells(x):
    r = x["row"]
    ratio = x["best"] / r["ms_fused"] if x["best"] else None
    return [r["case"], " ".join("%s=%d" % d for d in r["dims"].items()), r["heuristic"],
            "%d -> %d" % (r["kernels_unfused"], r["kernels_fused"]), number(r["ms_unfused"]), number(r["ms_fused"]),
            number(x["eager"]), number(x["compile"]), number(ratio, 2), number(r["pct_of_ceiling"], 1),
            number(r["compile_ms"], 1), number(x["compile_s"] * 1e3 if x["compile_s"] else None, 0), "yes" if r["ok"] else "NO"]


TITLE = ["case", "size", "heuristic", "kernels", "unfused ms", "fused ms", "torch eager ms", "torch.compile ms",
         "best peer / fused", "% of ceiling", "compile ms", "torch compile ms", "ok"]


def load(path):
    with open(path) as f:
        return json.load(f)


def geomean(v):
    return math.exp(sum(map(math.log, v)) / len(v)) if v else None


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("ours")
    p.add_argument("peers", nargs="+")
    p.add_argument("--markdown", action="store_true")
    p.add_argument("--tolerance", type=float, default=0.0, help="share by which a case may be slower than its best peer")
    o = p.parse_args()
    ours, peers = load(o.ours), [load(path) for path in o.peers]
    for device in {p["header"]["device"] for p in peers} - {ours["header"]["device"]}:
        print("table.py: different devices: %s and %s" % (ours["header"]["device"], device), file=sys.stderr)
    rows = build(ours, peers)
    table = [TITLE] + [cells(x) for x in rows]
    if o.markdown:
        table.insert(1, ["---"] * len(TITLE))
    width = [max(len(line[c]) for line in table) for c in range(len(TITLE))]
    for line in table:
        text = [v.ljust(w) if c < 3 else v.rjust(w) for c, (v, w) in enumerate(zip(line, width))]
        print("| " + " | ".join(text) + " |" if o.markdown else "  ".join(text).rstrip())
    fused = [x for x in rows if x["row"]["heuristic"] == "greedy" and x["best"]]
    eager = [x["eager"] / x["row"]["ms_fused"] for x in fused if x["eager"]]
    if fused:
        print("\ngeometric means: best peer / fused %.2f, torch eager / fused %s" %
              (geomean([x["best"] / x["row"]["ms_fused"] for x in fused]), number(geomean(eager), 2)))
    slower = [x["row"]["case"] for x in fused if x["row"]["ms_fused"] > x["best"] * (1 + o.tolerance)]
    if slower:
        print("slower than the best peer: " + ", ".join(slower))
        sys.exit(1)


main()
