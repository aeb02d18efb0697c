"""`mla_prefill`: checks the arguments, picks a form by device, launches it. Host code only; the kernels stand apart.

Two forms compute the same function (see `mla_prefill`):

* `gluon`: one fused Hopper kernel (`kernels_gluon.py`), bfloat16, compute capability 9.0, triton 3.6;
* `two-kernel`: plain Triton (`two_kernel.py`, `kernels.py`), bfloat16 or float32, any CUDA device whose Triton has
  tensor descriptors (tried on the H200), and the CPU under Triton's interpreter. Its probabilities pass through a
  scratch of at most `scratch_bytes`.

Both flag row blocks whose scores leave the range and compute those again (`kernels.online_rows`).
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import torch

from headway.tasks.gluon import multiprocessors, why_no_gluon
from headway.tasks.mla.latent import (
    LATENT,
    LOG2E,
    check_head_dim,
    check_layout,
    check_values,
    default_scale,
    require_device,
)
from headway.tasks.mla.two_kernel import emulated, prefill_two_kernel, repair

DEFAULT_SCRATCH = 2**30

Form = Literal["gluon", "two-kernel"]


@dataclass(frozen=True)
class Choice:
    """Which form runs, and why that one."""

    form: Form
    reason: str


def choose_form(q: torch.Tensor) -> Choice:
    """The form `mla_prefill(q, ...)` runs by itself, with the reason in words."""
    why_not = why_no_gluon(q.device)
    if why_not is None and q.dtype != torch.bfloat16:
        why_not = f"{q.dtype}: the Gluon form is for bfloat16"
    if why_not is not None:
        return Choice("two-kernel", why_not)
    return Choice("gluon", "compute capability 9.0, bfloat16, triton 3.6")


def mla_prefill(
    q: torch.Tensor,
    kv: torch.Tensor,
    *,
    scale: float | None = None,
    causal: bool = True,
    form: Form | Literal["auto"] = "auto",
    scratch_bytes: int = DEFAULT_SCRATCH,
) -> torch.Tensor:
    """Multi-head latent attention over one shared latent key-value head, S queries against the same S keys.

        o[b, t, h] = sum_j p_j v_j / sum_j p_j,   p_j = exp(scale * q[b, t, h] . kv[b, j]),   v_j = kv[b, j, :512]

    with j <= t if `causal`, else all j.

    q: [B, S, H, 512] or, with 64 rope dims behind the latent ones, [B, S, H, 576]; kv: [B, S, 512 or 576] alike.
    Both contiguous, of one dtype and on one device: bfloat16, or float32 (two-kernel form only). Values are finite.
    scale: positive; default 512 ** -0.5 without rope, 192 ** -0.5 with it. There is no backward.
    form: "auto" takes `choose_form(q)`. scratch_bytes bounds the two-kernel form's scratch (default 1 GiB).
    Returns o [B, S, H, 512] in q's dtype. Raises TypeError, ValueError or RuntimeError with what was wrong.
    """
    _check(q, kv, scale, scratch_bytes)
    chosen: str = choose_form(q).form if form == "auto" else form
    if chosen == "gluon":
        _require_gluon(q)
    elif chosen == "two-kernel":
        require_device(q, "two-kernel", emulated())
    else:
        raise ValueError(f"form must be 'auto', 'gluon' or 'two-kernel', not {form!r}")
    scale_log2 = (default_scale(q.shape[-1]) if scale is None else float(scale)) * LOG2E
    out = torch.empty(*q.shape[:3], LATENT, device=q.device, dtype=q.dtype)
    with torch.cuda.device(q.device) if q.device.type == "cuda" else nullcontext():
        for b in range(q.shape[0]):
            if chosen == "gluon":
                prefill_gluon(q[b], kv[b], out[b], scale_log2, causal)
            else:
                prefill_two_kernel(q[b], kv[b], out[b], scale_log2, causal, scratch_bytes)
    return out


def prefill_gluon(q: torch.Tensor, kv: torch.Tensor, out: torch.Tensor, scale_log2: float, causal: bool) -> None:
    """One sequence: q [S, H, D], kv [S, D] -> out [S, H, 512], bfloat16, without checks."""
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor

    from headway.tasks.mla.kernels_gluon import prefill

    seq, heads, dim = q.shape
    rows = seq * heads
    q2, o2 = q.view(rows, dim), out.view(rows, LATENT)
    layout = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    n_blocks = -(-rows // 64)
    flags = torch.empty(n_blocks, device=q.device, dtype=torch.int32)
    grid = min(n_blocks, multiprocessors(q.device))

    def describe(x: torch.Tensor, columns: int) -> object:
        return GluonDescriptor.from_tensor(x, [64, columns], layout)

    prefill[(grid,)](
        describe(q2, 256), describe(q2, 64), describe(kv, 256), describe(kv, 64), describe(o2, 256), flags,
        scale_log2, seq, n_blocks, heads, causal, dim > LATENT, num_warps=4,
    )  # fmt: skip
    repair(q2, kv, o2, flags, 64, scale_log2, heads, causal)


def _check(q: torch.Tensor, kv: torch.Tensor, scale: float | None, scratch_bytes: int) -> None:
    check_layout("q", q, 4)
    check_layout("kv", kv, 3)
    check_head_dim(q)
    expected = (q.shape[0], q.shape[1], q.shape[3])
    if tuple(kv.shape) != expected:
        raise ValueError(f"kv must have shape {expected} to go with q {tuple(q.shape)}, not {tuple(kv.shape)}")
    if 0 in q.shape:
        raise ValueError(f"q is empty: shape {tuple(q.shape)}")
    check_values(q, kv, scale)
    if scratch_bytes <= 0:
        raise ValueError(f"scratch_bytes must be positive, not {scratch_bytes}")


def _require_gluon(q: torch.Tensor) -> None:
    choice = choose_form(q)
    if choice.form != "gluon":
        raise RuntimeError(f"the Gluon form cannot run here ({choice.reason}); use form='two-kernel'")
