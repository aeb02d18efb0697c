"""Inputs of the task `mla-decode`, drawn on the device. Runs in the judge, and in the runner before any candidate."""

from collections.abc import Mapping
from typing import Any

import torch


def make_inputs(case: Mapping[str, Any], seed: int, device: str) -> dict[str, Any]:
    """q bf16 [B, H, D], kv bf16 [B, S, D]; D is 512, or 576 with 64 rope dims behind the latent ones.

    peaked: q six times larger. rising: peaked, and keys grow along the cache, so that maxima keep moving. late: one of
    the last keys takes nearly all the weight: a cache that is not read to its end is wrong.
    """
    batch, seq, heads, dim = (int(case["sizes"][name]) for name in ("B", "S", "H", "D"))
    draw = torch.Generator(device=device).manual_seed(int(seed) % (1 << 62))
    q = torch.randn(batch, heads, dim, generator=draw, device=device)
    kv = torch.randn(batch, seq, dim, generator=draw, device=device, dtype=torch.bfloat16)
    regime = case["regime"]
    if regime != "normal":
        q *= 6.0
    if regime == "rising":
        kv *= torch.linspace(0.1, 3.0, seq, device=device, dtype=torch.bfloat16)[:, None]
    if regime == "late":
        kv[:, seq - 1 - seq // 50] = (q.mean(1) * 2.0).to(torch.bfloat16)
    return {"q": q.to(torch.bfloat16), "kv": kv}
