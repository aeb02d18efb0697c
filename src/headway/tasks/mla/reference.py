"""What MLA prefill must compute, in float64, and the torch baselines that kernels are compared with."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from headway.tasks.error import relative_error

__all__ = ["oracle", "relative_error", "torch_compiled", "torch_fp32_softmax"]

LATENT = 512


def oracle(
    q: torch.Tensor, kv: torch.Tensor, scale: float, causal: bool, heads: Sequence[int] | None = None
) -> torch.Tensor:
    """softmax(scale * q kv^T) kv[..., :512] in float64, [B, S, len(heads), 512]; only `heads` of q if given.

    q [B, S, H, D], kv [B, S, D]. Works through 512 query rows at a time: 8192 x 8192 scores would be 0.5 GB a head.
    """
    heads = range(q.shape[2]) if heads is None else heads
    k = kv.double()
    v = k[..., :LATENT]
    out = torch.empty(q.shape[0], q.shape[1], len(heads), LATENT, dtype=torch.float64, device=q.device)
    for b in range(q.shape[0]):
        for n, h in enumerate(heads):
            for t in range(0, q.shape[1], 512):
                out[b, t : t + 512, n] = _rows(q[b, t : t + 512, h].double(), k[b], v[b], scale, causal, t)
    return out


def _rows(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, causal: bool, first: int) -> torch.Tensor:
    s = (q @ k.T) * scale
    if causal:
        position = torch.arange(first, first + q.shape[0], device=q.device)
        s.masked_fill_(torch.arange(k.shape[0], device=q.device)[None, :] > position[:, None], float("-inf"))
    return torch.softmax(s, -1) @ v


def torch_fp32_softmax(q: torch.Tensor, kv: torch.Tensor, scale: float, causal: bool) -> torch.Tensor:
    """The plain PyTorch reference by name: matmul, float32 softmax, matmul, in the inputs' dtype elsewhere."""
    s = torch.einsum("bthd,bsd->bhts", q, kv).float() * scale
    if causal:
        above = torch.ones(q.shape[1], kv.shape[1], dtype=torch.bool, device=q.device).triu(1)
        s = s.masked_fill(above, float("-inf"))
    return torch.einsum("bhts,bsd->bthd", torch.softmax(s, -1).to(q.dtype), kv[..., :LATENT])


def torch_compiled() -> Callable[..., Any]:
    """`torch.compile` of the reference with Inductor's pattern matcher off (on, it picks a path up to 9x slower)."""
    return torch.compile(torch_fp32_softmax, options={"pattern_matcher": False})
