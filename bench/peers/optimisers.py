"""One AdamW step over many tensors under torch eager and torch.compile: tensor by tensor, and by the _foreach functions
that torch.optim takes. How they are timed: harness.py. What they compute: bench/cases/adamw100.llf.

    python3 bench/peers/optimisers.py --json optimisers.json [--case adamw100] [--set N=65536] [--min-samples 30]
"""
import torch

from harness import case, main, normal

TENSORS = 100
DECAY, BC2_SQRT, MINUS_STEP = 0.99999, 0.0316, -0.01


def tensors(N):
    """p, g, m of each, then v, which is not negative."""
    return [[normal(N) for _ in range(TENSORS)] for _ in range(3)] + [[normal(N).abs() for _ in range(TENSORS)]]


def one(p, g, m, v):
    m = torch.lerp(m, g, 0.1)
    v = torch.addcmul(v * 0.999, g, g, value=0.001)
    return torch.addcdiv(p * DECAY, m, v.sqrt() / BC2_SQRT + 1e-8, value=MINUS_STEP), m, v


@case("adamw100", N=1048576)
def adamw100(N):
    return (lambda *lists: [y for row in zip(*lists) for y in one(*row)]), tensors(N)


def foreach(p, g, m, v):
    m = torch._foreach_lerp(m, g, 0.1)
    v = torch._foreach_addcmul(torch._foreach_mul(v, 0.999), g, g, value=0.001)
    root = torch._foreach_add(torch._foreach_div(torch._foreach_sqrt(v), BC2_SQRT), 1e-8)
    return [*torch._foreach_addcdiv(torch._foreach_mul(p, DECAY), m, root, value=MINUS_STEP), *m, *v]


@case("adamw100_foreach", N=1048576)
def adamw100_foreach(N):
    return foreach, tensors(N)


if __name__ == "__main__":
    main(__doc__)
