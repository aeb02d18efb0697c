"""Inputs of the task `mla`, drawn on the device. Runs in the judge, and in the runner before any candidate."""

from collections.abc import Mapping
from typing import Any

import torch


def make_inputs(case: Mapping[str, Any], seed: int, device: str) -> dict[str, Any]:
    """q bf16 [B, S, H, D], kv bf16 [B, S, D], causal; D is 512, or 576 with 64 rope dims behind the latent ones.

    peaked: q six times larger, so that a few keys take all the weight. overflow: peaked, and some later keys equal
    0.3 q of one row each: their scores lie hundreds of powers of two above those of the first keys.
    """
    batch, seq, heads, dim = (int(case["sizes"][name]) for name in ("B", "S", "H", "D"))
    draw = torch.Generator(device=device).manual_seed(int(seed) % (1 << 62))
    q = torch.randn(batch, seq, heads, dim, generator=draw, device=device, dtype=torch.bfloat16)
    kv = torch.randn(batch, seq, dim, generator=draw, device=device, dtype=torch.bfloat16)
    if case["regime"] != "normal":
        q = q * 6
    if case["regime"] == "overflow":
        shift = int(seed) % 31
        for key in range(65 + shift, seq, 97):
            kv[:, key] = 0.3 * q[:, min(key + 5, seq - 1), key % heads]
    return {"q": q, "kv": kv, "causal": int(case["sizes"]["CAUSAL"])}
