"""Inputs for MLA prefill: shapes, value regimes and seeds, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Regime = Literal["normal", "peaked", "overflow"]


@dataclass(frozen=True)
class Case:
    """One input: a shape and how its values are drawn.

    normal: standard normal q and kv. peaked: q six times larger, so that a few keys take all the weight.
    overflow: peaked, and some later keys equal 0.3 q of one row each, whose scores then lie hundreds of powers of two
    above those of the first 64 keys.
    """

    seq: int
    heads: int = 64
    rope: bool = True
    causal: bool = True
    regime: Regime = "normal"
    batch: int = 1
    seed: int = 0

    @property
    def name(self) -> str:
        form = "causal" if self.causal else "full"
        return f"b{self.batch}-s{self.seq}-h{self.heads}-{'rope' if self.rope else 'norope'}-{form}-{self.regime}"


TIMED = tuple(Case(8192, rope=rope, causal=causal) for causal in (True, False) for rope in (False, True))

PUBLIC = (
    *TIMED,
    Case(1000, seed=1),
    Case(1000, rope=False, causal=False, seed=2),
    Case(2048, regime="peaked", seed=3),
    Case(1024, regime="overflow", seed=4),
)

HELD_OUT = (
    Case(1, seed=11),
    Case(77, causal=False, seed=12),
    Case(129, rope=False, seed=13),
    Case(4095, seed=14),
    Case(1500, heads=16, seed=15),
    Case(700, heads=128, rope=False, seed=16),
    Case(333, heads=24, seed=17),
    Case(515, heads=8, causal=False, batch=2, seed=18),
    Case(1300, regime="peaked", causal=False, rope=False, seed=19),
    Case(900, regime="overflow", causal=False, seed=20),
    Case(640, heads=16, regime="overflow", rope=False, seed=21),
)

# small enough for Triton's interpreter, every branch of the kernels: both sides of a tile, padding rows, several slabs
CPU = (
    Case(1, heads=2),
    Case(64, heads=2),
    Case(100, heads=3),
    Case(130, heads=1, rope=False),
    Case(130, heads=1, causal=False),
    Case(70, heads=2, rope=False, causal=False, batch=2),
    Case(100, heads=2, regime="peaked"),
    Case(150, heads=1, regime="overflow"),
    Case(150, heads=1, regime="overflow", causal=False, rope=False),
)


def make_inputs(case: Case, dtype: torch.dtype | None = None, device: str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
    """q [B, S, H, D] and kv [B, S, D] for a case; dtype: default bfloat16. Another device draws other values."""
    import torch

    generator = torch.Generator(device).manual_seed(1000 + case.seed)
    dim = 576 if case.rope else 512
    q = torch.randn(case.batch, case.seq, case.heads, dim, generator=generator, device=device)
    kv = torch.randn(case.batch, case.seq, dim, generator=generator, device=device)
    if case.regime != "normal":
        q *= 6.0
    if case.regime == "overflow":
        for key in range(65, case.seq, 97):
            row = min(key + 5, case.seq - 1)
            kv[:, key] = 0.3 * q[:, row, key % case.heads]
    dtype = dtype or torch.bfloat16
    return q.to(dtype), kv.to(dtype)
