"""Inputs in the gate regimes that a KDA kernel must not confuse.

Fast decay hides a truncated history and overflowing exponents hide in slow ones, so each regime is a case of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.nn import functional


def _strong(x: torch.Tensor) -> torch.Tensor:
    """A lower bound of -5 in use: about -3 nats a token; the state is gone within a few tokens."""
    return -5.0 * torch.sigmoid(x + 0.5)


def _slow(x: torch.Tensor) -> torch.Tensor:
    """A bias of -7 below the sigmoid: about -0.005 nats a token; the state outlives thousands of tokens."""
    return -5.0 * torch.sigmoid(x - 7.0)


def _mixed(x: torch.Tensor) -> torch.Tensor:
    """Every other channel strong, the others slow: one reference point cannot serve all channels."""
    even = torch.arange(x.shape[-1], device=x.device) % 2 == 0
    return torch.where(even, _strong(x), _slow(x))


REGIMES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "strong": _strong,
    "registry": functional.logsigmoid,  # what FLA's own benchmark draws: about -0.8 nats a token
    "slow": _slow,
    "mixed": _mixed,
    "bound": lambda x: torch.full_like(x, -5.0),  # the largest exponents the fast kernels may meet
}


class Case(NamedTuple):
    """q, k, v, g [B, T, H, 128]; beta [B, T, H]; initial_state fp32 [B, H, 128, 128] or None."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    g: torch.Tensor
    beta: torch.Tensor
    initial_state: torch.Tensor | None


def make_case(
    batch: int,
    tokens: int,
    heads: int,
    regime: str,
    seed: int,
    *,
    dtype: torch.dtype = torch.bfloat16,
    device: str | torch.device = "cpu",
    with_state: bool = True,
    sequences: int | None = None,
    similar_keys: float = 0.0,
) -> Case:
    """A case drawn from `seed` on `device` (the draw differs between devices).

    sequences: how many initial states, where they are packed; else one for each batch entry.
    similar_keys: the share of one common direction in every key, 0 to 1: with slow gates and beta near 1 the hardest
    matrix to invert.
    """
    generator = torch.Generator(device=device).manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device=device)

    q, k, v, x = (draw(batch, tokens, heads, 128) for _ in range(4))
    beta = torch.sigmoid(draw(batch, tokens, heads))
    if similar_keys:
        k = similar_keys * draw(1, 1, heads, 128) + (1.0 - similar_keys) * k
        beta = torch.full_like(beta, 0.98)
    state = draw(sequences or batch, heads, 128, 128) if with_state else None
    return Case(q.to(dtype), k.to(dtype), v.to(dtype), REGIMES[regime](x).to(dtype), beta.to(dtype), state)
