"""The pointwise cases under torch eager and torch.compile. How they are timed: harness.py.

    python3 bench/peers/pointwise.py --json peers.json [--case add_relu] [--set N=67108864] [--min-samples 30]
"""
import torch
import torch.nn.functional as F

from harness import bf16, case, f32, main, normal


def pointwise(name, n, dtypes, abs_inputs=()):
    """A case over tensors of one length."""
    def add(fn):
        def make(N):
            args = [normal(N, dtype=t) for t in dtypes]
            return fn, [a.abs() if i in abs_inputs else a for i, a in enumerate(args)]
        case(name, N=n)(make)
        return fn
    return add


@pointwise("add_relu", 1 << 26, [f32] * 2)
def add_relu(a, b):
    return (a + b).relu()


@pointwise("mul_add_sigmoid", 1 << 26, [f32] * 3)
def mul_add_sigmoid(x, w, b):
    return (x * w + b).sigmoid()


@pointwise("mul_add_sigmoid_bf16", 1 << 26, [bf16] * 3)
def mul_add_sigmoid_bf16(x, w, b):
    return (x * w + b).sigmoid()


@pointwise("sin_cos", 1 << 26, [f32])
def sin_cos(x):
    return x.sin(), x.cos()


@pointwise("chain60", 1 << 26, [f32])
def chain60(x):
    for _ in range(20):
        x = (x * 1.01 + 0.1).tanh()
    return x


@pointwise("swiglu", 1 << 26, [f32] * 2)
def swiglu(g, u):
    return F.silu(g) * u


@pointwise("swiglu_bf16", 16384 * 14336, [bf16] * 2)
def swiglu_bf16(g, u):
    return F.silu(g) * u


@pointwise("gelu_bf16", 16384 * 16384, [bf16] * 2)
def gelu_bf16(x, b):
    return F.gelu(x + b, approximate="tanh")


@pointwise("optimiser", 1 << 26, [f32] * 4, abs_inputs=(3,))
def optimiser(p, g, m, v, lr=0.001, bc1=1.11, bc2=10.5):
    c = g.clamp(-1.0, 1.0)  # keeps NaN
    g1 = c * 0.1
    mn = m * 0.9 + g1
    vn = v * 0.999 + c * c * 0.001
    u = (mn * 0.9 + g1) * bc1 / ((vn * bc2).sqrt() + 1e-8)
    step = torch.where(u * c > 0, u, 0.0) + torch.where(p.abs() > 0.001, p * 0.01, 0.0)
    fine = g == g
    return torch.where(fine, p - step * lr, p), torch.where(fine, mn, m), torch.where(fine, vn, v)


main(__doc__)
