"""The cases with broadcasts, views, gathers and concatenations under torch eager and torch.compile. How they are timed:
harness.py. What they compute: bench/cases/NAME.llf.

    python3 bench/peers/views.py --json views.json [--case rope --case bias] [--set B=8] [--min-samples 30]
"""
import torch
import torch.nn.functional as F

from harness import bf16, case, index, main, normal


@case("bias", B=16384, N=4096)
def bias(B, N):
    return (lambda x, w: x + w), (normal(B, N), normal(N))


@case("bias_gelu_bf16", B=16384, N=16384)
def bias_gelu_bf16(B, N):
    return (lambda x, w: F.gelu(x + w, approximate="tanh")), (normal(B, N, dtype=bf16), normal(N, dtype=bf16))


@case("scale_rows", B=16384, N=4096)
def scale_rows(B, N):
    return (lambda x, c: x * c), (normal(B, N), normal(B, 1))


@case("transpose_add", M=8192, N=8192)
def transpose_add(M, N):
    return (lambda a, b: a + b.t()), (normal(M, N), normal(N, M))


def to_nchw(x):
    return x.permute(0, 3, 1, 2).contiguous().relu()


def to_nhwc(x):
    return x.permute(0, 2, 3, 1).contiguous().relu()


IMAGES = dict(B=64, H=56, W=56, C=256)


@case("nhwc_to_nchw", **IMAGES)
def nhwc_to_nchw(B, H, W, C):
    return to_nchw, (normal(B, H, W, C),)


@case("nhwc_to_nchw_bf16", **IMAGES)
def nhwc_to_nchw_bf16(B, H, W, C):
    return to_nchw, (normal(B, H, W, C, dtype=bf16),)


@case("nchw_to_nhwc", **IMAGES)
def nchw_to_nhwc(B, H, W, C):
    return to_nhwc, (normal(B, C, H, W),)


@case("nchw_to_nhwc_bf16", **IMAGES)
def nchw_to_nhwc_bf16(B, H, W, C):
    return to_nhwc, (normal(B, C, H, W, dtype=bf16),)


@case("slice_add", B=16384, N=2048)
def slice_add(B, N):
    return (lambda x, y: x[:, ::2] + y), (normal(B, 2 * N), normal(B, N))


@case("rope_bf16", B=8, S=4096, H=32)
def rope_bf16(B, S, H):
    def rope(q, c, s):
        a, b = q.chunk(2, -1)
        return torch.cat([a * c - b * s, b * c + a * s], -1)
    return rope, (normal(B, S, H, 128, dtype=bf16), normal(1, S, 1, 64, dtype=bf16), normal(1, S, 1, 64, dtype=bf16))


@case("embedding_bf16", V=128256, T=16384)
def embedding_bf16(V, T):
    return (lambda table, idx: F.embedding(idx, table) * 64.0), (normal(V, 4096, dtype=bf16), index(V, T))


@case("gather_add", B=16384, N=4096, M=4096)
def gather_add(B, N, M):
    return (lambda x, idx, y: torch.index_select(x, 1, idx) + y), (normal(B, N), index(N, M), normal(B, M))


@case("pad_add", B=16, C=64, H=224, W=224)
def pad_add(B, C, H, W):
    return (lambda x, y: F.pad(x, (1, 1, 1, 1)) + y), (normal(B, C, H, W), normal(B, C, H + 2, W + 2))


@case("concat3_relu", B=16384, N=1024)
def concat3_relu(B, N):
    return (lambda a, b, c: torch.cat([a, b, c], 1).relu()), (normal(B, N), normal(B, 2 * N), normal(B, N))


main(__doc__)
