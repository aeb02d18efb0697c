"""`mla_decode`: checks the arguments, picks a form and a split by device, launches two kernels. Host code only.

* `gluon`: `kernels_gluon.split_kv`, Hopper, bfloat16, triton 3.6;
* `plain`: `kernels.split_kv_plain`, bfloat16 or float32, CUDA devices and the CPU under Triton's interpreter.

Both leave one partial output a split, which `kernels.combine` adds up. A single split of whole blocks of 64 heads is
written by the Gluon kernel directly.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import torch
import triton

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
from headway.tasks.mla_decode import kernels

Form = Literal["gluon", "plain"]


@dataclass(frozen=True)
class Choice:
    """Which form runs, and why that one."""

    form: Form
    reason: str


@dataclass(frozen=True)
class CombineConfig:
    """How `kernels.combine` is launched."""

    columns: int  # of a program
    warps: int
    chunk: int  # partial rows in flight at a time

    @staticmethod
    def for_splits(splits: int) -> "CombineConfig":
        """One warp a program: it needs no shared memory, so that many programs fit beside each other."""
        return CombineConfig(256, 1, 16) if splits <= 16 else CombineConfig(64, 1, 64)


def choose_form(q: torch.Tensor) -> Choice:
    """The form `mla_decode(q, ...)` runs by itself, with the reason in words."""
    why_not = why_no_gluon(q.device)
    if why_not is None and q.dtype != torch.bfloat16:
        why_not = f"{q.dtype}: the Gluon form is for bfloat16"
    if why_not is not None:
        return Choice("plain", why_not)
    return Choice("gluon", "compute capability 9.0, bfloat16, triton 3.6")


def chunk_keys(seq: int, items: int, processors: int, splits: int | None = None) -> int:
    """Keys a split, a multiple of 128: about one program a multiprocessor for `items` (sequence, 64 heads) pairs.

    `splits` asks for that many instead. Rounding never leaves a split empty.
    """
    # more than 64 partial outputs cost more than shorter splits save
    wanted = min(max(1, processors // items), 64) if splits is None else splits
    keys = -(-seq // wanted)
    return -(-keys // 128) * 128


def mla_decode(
    q: torch.Tensor,
    kv: torch.Tensor,
    *,
    scale: float | None = None,
    form: Form | Literal["auto"] = "auto",
    splits: int | None = None,
) -> torch.Tensor:
    """Multi-head latent attention of one query token a sequence over its cache of S latent keys.

        o[b, h] = sum_j p_j v_j / sum_j p_j,   p_j = exp(scale * q[b, h] . kv[b, j]),   v_j = kv[b, j, :512]

    q: [B, H, 512] or, with 64 rope dims behind the latent ones, [B, H, 576]; kv: [B, S, 512 or 576] alike.
    Both contiguous, of one dtype and on one device: bfloat16, or float32 (plain form only). Values are finite.
    scale: positive; default 512 ** -0.5 without rope, 192 ** -0.5 with it. splits: parts each cache is cut into; chosen
    by device if not given. There is no backward. Returns o [B, H, 512] in q's dtype.
    Raises TypeError, ValueError or RuntimeError with what was wrong.
    """
    _check(q, kv, scale, splits)
    chosen: str = choose_form(q).form if form == "auto" else form
    scale_log2 = (default_scale(q.shape[-1]) if scale is None else float(scale)) * LOG2E
    items = kv.shape[0] * -(-q.shape[1] // 64)
    chunk = chunk_keys(kv.shape[1], items, _processors(q.device), splits)
    out = torch.empty(*q.shape[:2], LATENT, device=q.device, dtype=q.dtype)
    with torch.cuda.device(q.device) if q.device.type == "cuda" else nullcontext():
        if chosen == "gluon":
            _require_gluon(q)
            decode_gluon(q, kv, out, scale_log2, chunk)
        elif chosen == "plain":
            require_device(q, "plain", _emulated())
            decode_plain(q, kv, out, scale_log2, chunk)
        else:
            raise ValueError(f"form must be 'auto', 'gluon' or 'plain', not {form!r}")
    return out


def decode_gluon(
    q: torch.Tensor,
    kv: torch.Tensor,
    out: torch.Tensor,
    scale_log2: float,
    chunk: int,
    config: CombineConfig | None = None,
) -> None:
    """q [B, H, D], kv [B, S, D] -> out [B, H, 512], bfloat16, without checks."""
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor

    from headway.tasks.mla_decode.kernels_gluon import split_kv

    batch, seq, dim = kv.shape
    heads = q.shape[1]
    splits = -(-seq // chunk)
    direct = splits == 1 and heads % 64 == 0
    scratch = None if direct else _Scratch.allocate(q, splits)
    bits16 = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)

    def describe(x: torch.Tensor, columns: int) -> object:
        return GluonDescriptor.from_tensor(x, [64, columns], bits16)

    q2, kv2 = q.view(batch * heads, dim), kv.view(batch * seq, dim)
    split_kv[(splits, batch * -(-heads // 64))](
        describe(q2, 256), describe(q2, 64), describe(kv2, 256), describe(kv2, 64),
        describe(out.view(batch * heads, LATENT) if scratch is None else scratch.part, 256),
        out if scratch is None else scratch.lse, out if scratch is None else scratch.peak,
        scale_log2, seq, chunk, heads, dim > LATENT, direct, num_warps=4,
    )  # fmt: skip
    if scratch is not None:
        scratch.combine_into(out, config or CombineConfig.for_splits(splits))


def decode_plain(q: torch.Tensor, kv: torch.Tensor, out: torch.Tensor, scale_log2: float, chunk: int) -> None:
    """q [B, H, D], kv [B, S, D] -> out [B, H, 512], bfloat16 or float32, without checks."""
    batch, seq, dim = kv.shape
    heads = q.shape[1]
    splits = -(-seq // chunk)
    scratch = _Scratch.allocate(q, splits)
    keys = 64 if _emulated() else 64 // q.element_size()
    kernels.split_kv_plain[(splits, batch * -(-heads // 64))](
        q, kv, scratch.part, scratch.lse, scratch.peak, scale_log2, seq, chunk,
        heads, dim, keys, _emulated(), num_warps=8, num_stages=1,
    )  # fmt: skip
    scratch.combine_into(out, CombineConfig.for_splits(splits))


@dataclass(frozen=True)
class _Scratch:
    """Partial outputs of all splits: rows are (sequence, block of 64 heads, split, head)."""

    part: torch.Tensor  # [rows, 512], each half row scaled into [-1, 1]; float16, or float32 for float32 inputs
    lse: torch.Tensor  # [rows] float32, log2 of the split's sum of exp2
    peak: torch.Tensor  # [rows, 2] float32, the scale of each half row
    splits: int

    @staticmethod
    def allocate(q: torch.Tensor, splits: int) -> "_Scratch":
        rows = q.shape[0] * -(-q.shape[1] // 64) * splits * 64
        return _Scratch(
            torch.empty(
                rows, LATENT, device=q.device, dtype=torch.float32 if q.dtype == torch.float32 else torch.float16
            ),
            torch.empty(rows, device=q.device, dtype=torch.float32),
            torch.empty(rows, 2, device=q.device, dtype=torch.float32),
            splits,
        )

    def combine_into(self, out: torch.Tensor, config: CombineConfig) -> None:
        batch, heads, _ = out.shape
        splits_p2 = 1 << (self.splits - 1).bit_length()
        kernels.combine[(batch * heads, LATENT // config.columns)](
            self.part, self.lse, self.peak, out,
            heads, self.splits, splits_p2, min(config.chunk, splits_p2), config.columns, num_warps=config.warps,
        )  # fmt: skip


def _check(q: torch.Tensor, kv: torch.Tensor, scale: float | None, splits: int | None) -> None:
    for name, x in (("q", q), ("kv", kv)):
        check_layout(name, x, 3)
        if 0 in x.shape:
            raise ValueError(f"{name} is empty: shape {tuple(x.shape)}")
    check_head_dim(q)
    if kv.shape[0] != q.shape[0] or kv.shape[2] != q.shape[2]:
        raise ValueError(f"kv must have shape ({q.shape[0]}, S, {q.shape[2]}), not {tuple(kv.shape)}")
    check_values(q, kv, scale)
    if splits is not None and splits < 1:
        raise ValueError(f"splits must be at least 1, not {splits}")


def _require_gluon(q: torch.Tensor) -> None:
    choice = choose_form(q)
    if choice.form != "gluon":
        raise RuntimeError(f"the Gluon form cannot run here ({choice.reason}); use form='plain'")


def _emulated() -> bool:
    return not isinstance(kernels.combine, triton.runtime.JITFunction)


def _processors(device: torch.device) -> int:
    return multiprocessors(device) if device.type == "cuda" else 4  # the CPU: a few splits
