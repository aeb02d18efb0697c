"""What `kda_forward` refuses: each time one sentence that names the argument, what it must be and what it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch

from .call import HEAD_DIM, TILE_ROWS, Sequences

WIDE = (torch.bfloat16, torch.float32)
FLOATS = (torch.bfloat16, torch.float16, torch.float32)


def check_inputs(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor) -> None:
    """TypeError or ValueError unless q, k, v, g are alike [B, T, H, 128] and beta is [B, T, H], on one device."""
    if not isinstance(q, torch.Tensor) or q.ndim != 4 or q.shape[3] != HEAD_DIM:
        got = list(q.shape) if isinstance(q, torch.Tensor) else type(q).__name__
        raise ValueError(f"q must be a tensor of shape [batch, tokens, heads, {HEAD_DIM}], not {got}")
    for name, x, types in (("q", q, WIDE), ("k", k, (q.dtype,)), ("v", v, (q.dtype,)), ("g", g, WIDE)):
        check_tensor(name, x, tuple(q.shape), types, q.device)
    check_tensor("beta", beta, tuple(q.shape[:3]), FLOATS, q.device)


def check_gates(lower_bound: float | None, raw_gates: bool, a_log: object, dt_bias: object) -> None:
    """ValueError for a bound that bounds nothing, and for gate parameters without raw gates."""
    if lower_bound is not None and not (math.isfinite(lower_bound) and lower_bound < 0):
        raise ValueError(f"lower_bound must be below 0 or None, not {lower_bound}")
    if not raw_gates and (a_log is not None or dt_bias is not None):
        raise ValueError("a_log and dt_bias belong to raw_gates=True")


def check_state(
    initial_state: torch.Tensor | None, count: int, heads: int, device: torch.device
) -> torch.Tensor | None:
    """The initial state, contiguous, if there is one; TypeError or ValueError if it is no such state."""
    if initial_state is None:
        return None
    check_tensor("initial_state", initial_state, (count, heads, HEAD_DIM, HEAD_DIM), (torch.float32,), device)
    return initial_state.contiguous()


def check_size(sequences: Sequences, rows: int, heads: int) -> None:
    """ValueError where 32-bit indices would not reach all of the workspace or the inputs."""
    if max(sequences.chunks * heads * TILE_ROWS, rows * heads) >= 2**31:
        raise ValueError(f"{rows} tokens of {heads} heads are more than one call can index: split the batch")


def check_tensor(
    name: str,
    x: object,
    shape: tuple[int, ...],
    dtypes: tuple[torch.dtype, ...],
    device: torch.device,
) -> None:
    """TypeError or ValueError unless `x` is a tensor of this shape, one of these types, and on `device`."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(x).__name__}")
    if tuple(x.shape) != shape:
        raise ValueError(f"{name} must have shape {list(shape)}, not {list(x.shape)}")
    if x.dtype not in dtypes:
        names = " or ".join(str(d).removeprefix("torch.") for d in dtypes)
        raise ValueError(f"{name} must be {names}, not {str(x.dtype).removeprefix('torch.')}")
    if x.device != device:
        raise ValueError(f"{name} is on {x.device}, but q is on {device}")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name} requires a gradient, but this is a forward only: call it under torch.no_grad()")


def sequence_bounds(cu_seqlens: torch.Tensor | Sequence[int], batch: int, tokens: int) -> list[int]:
    """The sequence boundaries as integers; a tensor on a device is copied to the host once."""
    if batch != 1:
        raise ValueError(f"with cu_seqlens the sequences are packed into one batch entry, but the batch is {batch}")
    if isinstance(cu_seqlens, torch.Tensor):
        if cu_seqlens.ndim != 1 or cu_seqlens.is_floating_point():
            raise ValueError("cu_seqlens must be a vector of integers")
        bounds: list[int] = cu_seqlens.tolist()
    else:
        bounds = [int(x) for x in cu_seqlens]
    if len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != tokens:
        raise ValueError(f"cu_seqlens must start at 0 and end at the number of tokens, {tokens}")
    if any(b < a for a, b in pairwise(bounds)):
        raise ValueError("cu_seqlens must not decrease")
    return bounds


def gate_parameters(
    a_log: torch.Tensor | None, dt_bias: torch.Tensor | None, heads: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """exp(a_log) [H] and dt_bias [H * 128], float32."""
    if a_log is None:
        rate = torch.ones(heads, dtype=torch.float32, device=device)
    else:
        check_tensor("a_log", a_log, (heads,), FLOATS, device)
        rate = a_log.float().exp()
    if dt_bias is None:
        bias = torch.zeros(heads * HEAD_DIM, dtype=torch.float32, device=device)
    else:
        check_tensor("dt_bias", dt_bias, (heads * HEAD_DIM,), FLOATS, device)
        bias = dt_bias.float().contiguous()
    return rate, bias
