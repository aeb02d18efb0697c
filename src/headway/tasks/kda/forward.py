"""KDA forward: arguments checked, kernels chosen and launched.

Formula, per head; S is the state, keys x values; a token decays the state, reads what it holds for its key, and writes
the difference to its value:

    S <- diag(exp(g_t)) S
    u  = beta_t (v_t - S^T k_t)
    S <- S + k_t u^T
    o_t = scale * S^T q_t
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Literal

import torch

from headway.tasks.gluon import why_no_gluon

from .arguments import check_gates, check_inputs, check_size, check_state, gate_parameters, sequence_bounds
from .call import GATE_WINDOW, HEAD_DIM, Call, equal_sequences, packed_sequences
from .launch import run_gluon, run_triton

Kernels = Literal["gluon", "triton"]


def kda_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    *,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | Sequence[int] | None = None,
    normalize: bool = True,
    raw_gates: bool = False,
    a_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    lower_bound: float | None = GATE_WINDOW,
    beta_logit: bool = False,
    kernels: Literal["auto", "gluon", "triton"] = "auto",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Kimi Delta Attention over whole sequences; returns (o, final state).

    q, k, v, g: [B, T, H, 128], bfloat16 or float32 (q, k and v alike).  beta: [B, T, H].
    o: like v.  States: float32 [sequences, H, 128, 128], keys x values.  All sums run in float32.

    normalize: q and k are divided by their norm in the kernel, x / sqrt(|x|^2 + 1e-6); without it keys must have norms
        of at most 1, or the recurrence itself grows.
    scale: of q, after normalising; 128 ** -0.5 by default.
    g: log gates in nats a token, <= 0, or with raw_gates what the gate is made of in the kernel:
        lower_bound * sigmoid(exp(a_log) * (g + dt_bias)), or without a bound -exp(a_log) * softplus(g + dt_bias);
        a_log [H] and dt_bias [H * 128], 0 by default.
    lower_bound: a promise about g where it comes as log gates, see GATE_WINDOW; None promises nothing.
    beta: after the sigmoid, or its logit with beta_logit.
    cu_seqlens: boundaries [sequences + 1] of sequences packed into T, with B = 1.
    kernels: "gluon" for Hopper, "triton" for anything; `choose_kernels` is how "auto" decides.

    A workspace of 64 KiB for each chunk of 64 tokens of a head lives as long as the call (fp32: 128 KiB).
    """
    check_inputs(q, k, v, g, beta)
    check_gates(lower_bound, raw_gates, a_log, dt_bias)
    batch, tokens, heads, _ = q.shape
    rate, bias = gate_parameters(a_log, dt_bias, heads, q.device) if raw_gates else (beta, beta)  # unread otherwise
    if cu_seqlens is None:
        sequences = equal_sequences(batch, tokens)
    else:
        sequences = packed_sequences(sequence_bounds(cu_seqlens, batch, tokens), q.device)
    check_size(sequences, batch * tokens, heads)
    initial_state = check_state(initial_state, sequences.count, heads, q.device)
    run = _runner(kernels, *choose_kernels(q.device, [x.dtype for x in (q, k, v, g)], lower_bound, raw_gates))
    o = torch.empty_like(v, memory_format=torch.contiguous_format)
    state = torch.empty((sequences.count, heads, HEAD_DIM, HEAD_DIM), dtype=torch.float32, device=q.device)
    if sequences.chunks * heads == 0:
        return o, state.zero_() if initial_state is None else state.copy_(initial_state)
    call = Call(
        _aligned(q), _aligned(k), _aligned(v), _aligned(g), _aligned(beta),
        o, initial_state, state, rate, bias, sequences,
        scale=HEAD_DIM**-0.5 if scale is None else float(scale), lower_bound=lower_bound,
        normalize=normalize, raw_gates=raw_gates, beta_logit=beta_logit,
    )  # fmt: skip
    with torch.cuda.device(q.device) if q.device.type == "cuda" else nullcontext():
        run(call)
    return o, state


def choose_kernels(
    device: torch.device,
    dtypes: Sequence[torch.dtype],
    lower_bound: float | None,
    raw_gates: bool = False,
) -> tuple[Kernels, str]:
    """Which kernels serve q, k, v, g of these types with gates of at least `lower_bound`, and why."""
    why_not = why_no_gluon(device)
    if why_not is not None:
        return "triton", why_not
    if any(d != torch.bfloat16 for d in dtypes):
        return "triton", "q, k, v and g are not all bfloat16"
    if raw_gates and lower_bound is None:
        return "triton", "softplus gates"
    return "gluon", "Hopper and bfloat16"


def _runner(asked: str, chosen: Kernels, why: str) -> Callable[[Call], None]:
    """What launches the kernels; ValueError where `asked` for cannot be had."""
    if asked == "gluon" and chosen != "gluon":
        raise ValueError(f"the Gluon kernels cannot serve this call: {why}")
    if asked not in ("auto", "gluon", "triton"):
        raise ValueError(f"kernels must be 'auto', 'gluon' or 'triton', not {asked!r}")
    return run_gluon if chosen == "gluon" and asked != "triton" else run_triton


def _aligned(x: torch.Tensor) -> torch.Tensor:
    """Contiguous, and at an address that bulk copies accept."""
    x = x.contiguous()
    return x if x.data_ptr() % 16 == 0 else x.clone()
