"""Inputs of the task `kda`, drawn on the device. Runs in the judge, and in the runner before any candidate."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

DIM = 128


def _strong(x: torch.Tensor) -> torch.Tensor:
    """About -3 nats a token: the state is gone within a few."""
    return -5.0 * torch.sigmoid(x + 0.5)


def _slow(x: torch.Tensor) -> torch.Tensor:
    """About -0.005 nats a token: the state outlives thousands."""
    return -5.0 * torch.sigmoid(x - 7.0)


def _mixed(x: torch.Tensor) -> torch.Tensor:
    """Every other channel strong, the others slow."""
    even = torch.arange(x.shape[-1], device=x.device) % 2 == 0
    return torch.where(even, _strong(x), _slow(x))


def _shut(x: torch.Tensor) -> torch.Tensor:
    """Gates at both ends of their range: every 16th token forgets all it can, the others nothing."""
    closed = torch.arange(x.shape[1], device=x.device)[None, :, None, None] % 16 == 3
    return torch.where(closed, torch.full_like(x, -5.0), torch.zeros_like(x))


REGIMES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "registry": torch.nn.functional.logsigmoid,
    "strong": _strong,
    "slow": _slow,
    "mixed": _mixed,
    "bound": lambda x: torch.full_like(x, -5.0),
    "shut": _shut,
    "similar": _slow,
    "impulse": _slow,
}


def make_inputs(case: Mapping[str, Any], seed: int, device: str) -> dict[str, Any]:
    """q, k, v, g bf16 [B, T, H, 128]; beta bf16 [B, T, H]; s0 fp32 [N, H, 128, 128]; starts int32 [N + 1].

    Sizes STATE: 0 gives zero states. RAW: g and beta before their sigmoids. PACKED: N sequences in one batch entry.
    """
    sizes = case["sizes"]
    batch, tokens, heads, count = (int(sizes[name]) for name in ("B", "T", "H", "N"))
    draw = torch.Generator(device=device).manual_seed(int(seed) % (1 << 62))

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=draw, device=device, dtype=torch.bfloat16)

    q, k, v, x = (normal(batch, tokens, heads, DIM) for _ in range(4))
    logit = normal(batch, tokens, heads)
    regime = case["regime"]
    if regime == "similar":  # nearly equal keys, rewritten almost whole: the hardest matrix to invert
        k = (0.95 * normal(1, 1, heads, DIM) + 0.05 * k).contiguous()
        logit = torch.full_like(logit, 4.0)
    if regime == "impulse":  # one token writes, all others must carry it
        alone = torch.arange(tokens, device=device)[None, :, None, None] % 997 == 5
        v = torch.where(alone, v * 8, torch.zeros_like(v))
    raw = bool(sizes["RAW"])
    g = x if raw else REGIMES[regime](x.float()).to(torch.bfloat16)
    beta = logit if raw else torch.sigmoid(logit.float()).to(torch.bfloat16)
    s0 = torch.randn(count, heads, DIM, DIM, generator=draw, device=device) * float(sizes["STATE"])
    starts = torch.arange(count + 1, device=device, dtype=torch.int32) * tokens
    if sizes["PACKED"]:
        cuts = torch.randperm(tokens - 1, generator=draw, device=device)[: count - 1].sort().values + 1
        starts = torch.nn.functional.pad(cuts, (1, 1)).to(torch.int32)
        starts[-1] = tokens
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "s0": s0, "starts": starts,
            "raw": int(raw), "packed": int(sizes["PACKED"])}  # fmt: skip
