"""Inputs for MLA decode: shapes, value regimes and seeds, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Regime = Literal["normal", "peaked", "rising"]


@dataclass(frozen=True)
class Case:
    """One input. peaked: q six times larger; rising: peaked, and keys grow along the cache, so maxima keep moving."""

    batch: int
    seq: int = 8192
    heads: int = 64
    rope: bool = True
    regime: Regime = "normal"
    splits: int | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        cut = "" if self.splits is None else f"-splits{self.splits}"
        return f"b{self.batch}-s{self.seq}-h{self.heads}-{'rope' if self.rope else 'norope'}-{self.regime}{cut}"


TIMED = tuple(Case(batch) for batch in (1, 8, 32, 128))

PUBLIC = (*TIMED, Case(1, rope=False, seed=1), Case(3, 1000, seed=2), Case(8, regime="peaked", seed=3))

HELD_OUT = (
    Case(1, 1, seed=11),
    Case(2, 77, seed=12),
    Case(5, 4097, rope=False, seed=13),
    Case(64, 2000, seed=14),
    Case(2, 3000, heads=16, seed=15),
    Case(2, 3000, heads=128, seed=16),
    Case(3, 900, heads=24, rope=False, seed=17),
    Case(4, 5000, regime="rising", seed=18),
    Case(200, 300, regime="rising", seed=19),
)

# small enough for Triton's interpreter: one split and several, a last split that is short, heads short of a block
CPU = (
    Case(1, 1, heads=2),
    Case(2, 100, heads=3, splits=1),
    Case(1, 300, heads=6, splits=3),
    Case(1, 150, heads=66, splits=2, rope=False),
    Case(2, 200, heads=2, splits=2, regime="peaked"),
    Case(1, 400, heads=2, regime="rising"),
)


def make_inputs(case: Case, dtype: torch.dtype | None = None, device: str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
    """q [B, H, D] and kv [B, S, D] for a case; dtype: default bfloat16. Another device draws other values."""
    import torch

    generator = torch.Generator(device).manual_seed(2000 + case.seed)
    dim = 576 if case.rope else 512
    dtype = dtype or torch.bfloat16
    q = torch.randn(case.batch, case.heads, dim, generator=generator, device=device)
    kv = torch.randn(case.batch, case.seq, dim, generator=generator, device=device, dtype=dtype)
    if case.regime != "normal":
        q *= 6.0
    if case.regime == "rising":
        kv *= torch.linspace(0.1, 3.0, case.seq, device=device, dtype=dtype)[:, None]
    return q.to(dtype), kv
