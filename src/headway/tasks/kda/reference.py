"""The oracle: KDA token by token in float64, as its definition reads."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from headway.tasks.error import relative_error

__all__ = ["kda_reference", "log_gates", "relative_error"]


def log_gates(
    g: torch.Tensor,
    a_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    lower_bound: float | None = None,
) -> torch.Tensor:
    """Gates made of raw inputs g [..., H, K], float64: lower_bound * sigmoid(exp(a_log) (g + dt_bias)), or without a
    bound -exp(a_log) softplus(g + dt_bias)."""
    x = g.double()
    if dt_bias is not None:
        x = x + dt_bias.double().view(g.shape[-2:])
    rate = 1.0 if a_log is None else a_log.double().exp()[:, None]
    if lower_bound is None:
        return -rate * torch.nn.functional.softplus(x)
    return lower_bound * torch.sigmoid(rate * x)


def kda_reference(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    *,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    cu_seqlens: Sequence[int] | None = None,
    normalize: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(o, final state) in float64 for q, k, v, g [B, T, H, 128] with log gates g, and beta [B, T, H] after the sigmoid.

    With cu_seqlens the sequences are packed into the one batch entry, and states are [sequences, H, 128, 128].
    """
    if cu_seqlens is not None:
        states = initial_state if initial_state is not None else [None] * (len(cu_seqlens) - 1)
        parts = [
            kda_reference(
                *(x[:, a:b] for x in (q, k, v, g, beta)),
                scale=scale,
                initial_state=None if s is None else s[None],
                normalize=normalize,
            )
            for a, b, s in zip(cu_seqlens[:-1], cu_seqlens[1:], states, strict=True)
        ]
        return torch.cat([o for o, _ in parts], 1), torch.cat([s for _, s in parts])
    q, k, v, g, beta = (x.double() for x in (q, k, v, g, beta))
    if normalize:
        q, k = (x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt() for x in (q, k))
    q = q * (q.shape[-1] ** -0.5 if scale is None else scale)
    batch, tokens, heads, dim = k.shape
    if initial_state is None:
        state = torch.zeros(batch, heads, dim, v.shape[-1], dtype=torch.float64, device=q.device)
    else:
        state = initial_state.double().clone()
    o = torch.empty_like(v)
    for t in range(tokens):
        state = state * g[:, t].exp()[..., None]
        held = (k[:, t, :, None, :] @ state)[..., 0, :]
        u = beta[:, t, :, None] * (v[:, t] - held)
        state = state + k[:, t, :, :, None] * u[..., None, :]
        o[:, t] = (q[:, t, :, None, :] @ state)[..., 0, :]
    return o, state
