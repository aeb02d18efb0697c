"""The baseline: FLA's Triton kernels for KDA, where `flash-linear-attention` is installed.

Import this in a process of its own: FLA is no dependency, and nothing of it is copied here.  Its optional dispatch to
another library is switched off, so that what runs is its Triton path, autotuned for the shape.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch

os.environ["FLA_FLASH_KDA"] = "0"  # read when fla is imported


def fla_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    *,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | Sequence[int] | None = None,
    raw_gates: bool = False,
    a_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    lower_bound: float | None = -5.0,
    beta_logit: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The call of `kda_forward`, answered by FLA."""
    from fla.ops.kda import chunk_kda

    if cu_seqlens is not None and not isinstance(cu_seqlens, torch.Tensor):
        cu_seqlens = torch.tensor(cu_seqlens, dtype=torch.long, device=q.device)
    if raw_gates and a_log is None:
        a_log = torch.zeros(q.shape[2], dtype=torch.float32, device=q.device)
    return chunk_kda(
        q,
        k,
        v,
        g,
        beta,
        scale=q.shape[-1] ** -0.5 if scale is None else scale,
        initial_state=initial_state,
        output_final_state=True,
        use_qk_l2norm_in_kernel=True,
        use_gate_in_kernel=raw_gates,
        use_beta_sigmoid_in_kernel=beta_logit,
        safe_gate=lower_bound is not None,
        lower_bound=lower_bound,
        A_log=a_log,
        dt_bias=dt_bias,
        cu_seqlens=cu_seqlens,
    )


def flash_kda_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    *,
    initial_state: torch.Tensor | None = None,
    raw_gates: bool = False,
    beta_logit: bool = False,
    lower_bound: float = -5.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The call of `kda_forward` with gate, sigmoid and norm in the kernel, answered by FlashKDA (CUTLASS)."""
    import flash_kda

    if not (raw_gates and beta_logit):
        raise ValueError("FlashKDA takes raw gates and beta as a logit only")
    batch, _, heads, dim = q.shape
    o = torch.empty_like(v)
    state = torch.empty(batch, heads, dim, dim, dtype=torch.float32, device=q.device)
    if initial_state is not None:  # values x keys there
        initial_state = initial_state.transpose(-1, -2).contiguous()
    rate = torch.zeros(heads, dtype=torch.float32, device=q.device)
    bias = torch.zeros(heads, dim, dtype=torch.float32, device=q.device)
    flash_kda.fwd(
        q, k, v, g, beta, dim**-0.5, o, rate, bias, lower_bound, initial_state=initial_state, final_state=state
    )
    return o, state.transpose(-1, -2)
