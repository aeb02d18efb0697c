"""What MLA decode must compute, in float64, and the torch baselines that kernels are compared with."""

from collections.abc import Callable
from typing import Any

import torch

from headway.tasks.error import relative_error

__all__ = ["oracle", "relative_error", "torch_compiled", "torch_fp32_softmax"]

LATENT = 512


def oracle(q: torch.Tensor, kv: torch.Tensor, scale: float) -> torch.Tensor:
    """softmax(scale * q kv^T) kv[..., :512] in float64: q [B, H, D], kv [B, S, D] -> [B, H, 512]."""
    out = torch.empty(q.shape[0], q.shape[1], LATENT, dtype=torch.float64, device=q.device)
    for b in range(q.shape[0]):  # one sequence at a time: all of B = 128 in float64 would take 5 GB
        k = kv[b].double()
        out[b] = torch.softmax((q[b].double() @ k.T) * scale, -1) @ k[:, :LATENT]
    return out


def torch_fp32_softmax(q: torch.Tensor, kv: torch.Tensor, scale: float) -> torch.Tensor:
    """The plain PyTorch reference by name: bmm, float32 softmax, bmm, in the inputs' dtype elsewhere."""
    s = torch.bmm(q, kv.transpose(1, 2)).float() * scale
    return torch.bmm(torch.softmax(s, -1).to(q.dtype), kv[..., :LATENT])


def torch_compiled() -> Callable[..., Any]:
    """`torch.compile` of the reference with Inductor's pattern matcher off, as for prefill."""
    return torch.compile(torch_fp32_softmax, options={"pattern_matcher": False})
