"""The plain Triton form of MLA prefill: three launches a slab of query rows, probabilities in a bounded scratch.

Host code of `kernels.py`. On a CUDA device a call with several slabs uses two halves of the scratch and a second
stream: one slab is scored while the one before is weighed, so no kernel's last programs leave the device idle.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from headway.tasks.gluon import multiprocessors
from headway.tasks.mla import kernels
from headway.tasks.mla.latent import LATENT, ROPE
from headway.tasks.mla.slabs import Shape, Slab, plan_slabs


@dataclass(frozen=True)
class Tiles:
    """Tile sizes of the two products; `rows` and `keys` are shared, because one writes what the other reads."""

    rows: int = 128
    keys: int = 128
    score_depth: int = 64  # latent dims a step of the first product
    score_warps: int = 4
    score_stages: int = 2
    value_columns: int = 256
    value_depth: int = 64  # keys a step of the second product
    value_warps: int = 8
    value_stages: int = 3
    value_registers: int | None = 168  # leaves room for a program of the first product beside one of the second
    group: int = 64  # row blocks that share a key tile while it is in the L2 cache


HOPPER = Tiles()
FLOAT32 = Tiles(64, 64, 64, 4, 2, 128, 64, 4, 2, None, 16)  # every tile takes twice the bytes
INTERPRETED = Tiles(64, 64, 64, 4, 1, 512, 64, 4, 1, None, 1)  # its time is in programs and steps, not in arithmetic


def tiles_for(dtype: torch.dtype) -> Tiles:
    """The tile sizes a call with such inputs uses here."""
    if emulated():
        return INTERPRETED
    return HOPPER if dtype == torch.bfloat16 else FLOAT32


@dataclass(frozen=True)
class Lane:
    """What the first product leaves for the second, for the tiles of one slab."""

    p: torch.Tensor  # [tile rows, keys of a tile], the inputs' dtype
    sums: torch.Tensor  # [tile rows] float32


@dataclass(frozen=True)
class Job:
    """One sequence: q [S * H, D], kv [S, D] -> out [S * H, 512]."""

    q: torch.Tensor
    kv: torch.Tensor
    out: torch.Tensor
    ref: torch.Tensor  # [S * H] float32
    flags: torch.Tensor  # [row blocks] int32
    heads: int
    causal: bool
    scale_log2: float
    tiles: Tiles

    def reference(self, first_block: int, n_blocks: int) -> None:
        """Reference scores of some row blocks."""
        t = self.tiles
        rows, dim = self.q.shape
        kernels.reference_scores[(n_blocks,)](
            TensorDescriptor.from_tensor(self.q, [t.rows, t.score_depth]),
            TensorDescriptor.from_tensor(self.kv, [64, t.score_depth]),
            self.ref, self.scale_log2, first_block, rows, self.kv.shape[0],
            self.heads, dim, t.rows, t.score_depth, self.causal, emulated(), num_warps=4, num_stages=3,
        )  # fmt: skip

    def score(self, slab: Slab, lane: Lane) -> None:
        """Probabilities and their sums of one slab, into `lane`."""
        t = self.tiles
        rows, dim = self.q.shape
        kernels.probabilities[(slab.n_tiles * t.group * -(-slab.n_blocks // t.group),)](
            TensorDescriptor.from_tensor(self.q, [t.rows, t.score_depth]),
            TensorDescriptor.from_tensor(self.kv, [t.keys, t.score_depth]),
            TensorDescriptor.from_tensor(lane.p, [t.rows, t.keys]),
            self.ref, lane.sums, self.scale_log2,
            slab.first_block * t.rows, slab.n_blocks, slab.n_tiles, rows, self.kv.shape[0],
            self.heads, dim, t.rows, t.keys, t.score_depth, t.group, self.causal, emulated(),
            num_warps=t.score_warps, num_stages=t.score_stages,
        )  # fmt: skip

    def weigh(self, slab: Slab, lane: Lane) -> None:
        """Outputs and overflow flags of one slab, from `lane`."""
        t = self.tiles
        kernels.weighted_sum[(slab.n_blocks * (LATENT // t.value_columns),)](
            TensorDescriptor.from_tensor(lane.p, [t.rows, t.value_depth]),
            TensorDescriptor.from_tensor(self.kv, [t.value_depth, t.value_columns]),
            TensorDescriptor.from_tensor(self.out, [t.rows, t.value_columns]),
            lane.sums, self.flags, slab.first_block * t.rows, slab.n_blocks, slab.n_tiles, self.kv.shape[0],
            self.heads, t.rows, t.keys, t.value_columns, t.value_depth, self.causal, emulated(),
            num_warps=t.value_warps, num_stages=t.value_stages, maxnreg=t.value_registers,
        )  # fmt: skip


def prefill_two_kernel(
    q: torch.Tensor,
    kv: torch.Tensor,
    out: torch.Tensor,
    scale_log2: float,
    causal: bool,
    scratch_bytes: int,
    tiles: Tiles | None = None,
) -> None:
    """One sequence: q [S, H, D], kv [S, D] -> out [S, H, 512], without checks. scale_log2: softmax scale * log2(e)."""
    seq, heads, dim = q.shape
    rows = seq * heads
    t = tiles or tiles_for(q.dtype)
    shape = Shape(seq, heads, causal, t.rows, t.keys, q.element_size())
    slabs = plan_slabs(shape, scratch_bytes)
    n_lanes = 2 if len(slabs) > 1 and q.device.type == "cuda" else 1
    if n_lanes == 2:
        slabs = plan_slabs(shape, scratch_bytes // 2)
    tile_rows = max(s.n_blocks * s.n_tiles for s in slabs) * t.rows
    lanes = [
        Lane(
            torch.empty(tile_rows, t.keys, device=q.device, dtype=q.dtype),
            torch.empty(tile_rows, device=q.device, dtype=torch.float32),
        )
        for _ in range(n_lanes)
    ]
    job = Job(
        q.view(rows, dim), kv, out.view(rows, LATENT),
        torch.empty(rows, device=q.device, dtype=torch.float32),
        torch.empty(shape.n_blocks, device=q.device, dtype=torch.int32),
        heads, causal, scale_log2, t,
    )  # fmt: skip
    if n_lanes == 1:
        job.reference(0, shape.n_blocks)
        for slab in slabs:
            job.score(slab, lanes[0])
            job.weigh(slab, lanes[0])
    else:
        _overlap(job, slabs, lanes)
    repair(job.q, kv, job.out, job.flags, t.rows, scale_log2, heads, causal)


def _overlap(job: Job, slabs: tuple[Slab, ...], lanes: list[Lane]) -> None:
    """References and scores of slab i + 1 on one side, products of slab i on the other; at least two slabs."""
    device = job.q.device
    main = torch.cuda.current_stream(device)
    side = _side_stream(device)
    ready = main.record_event()
    job.reference(0, slabs[0].n_blocks)
    side.wait_event(ready)
    with torch.cuda.stream(side):
        job.reference(slabs[0].n_blocks, job.flags.numel() - slabs[0].n_blocks)
    referenced = side.record_event()
    weighed: list[torch.cuda.Event] = []
    for i, slab in enumerate(slabs):
        if i == 1:
            main.wait_event(referenced)
        if i >= len(lanes):
            main.wait_event(weighed[i - len(lanes)])
        job.score(slab, lanes[i % len(lanes)])
        side.wait_event(main.record_event())
        with torch.cuda.stream(side):
            job.weigh(slab, lanes[i % len(lanes)])
        weighed.append(side.record_event())
    main.wait_event(weighed[-1])  # the scratch was allocated for `main`: nothing on `side` may outlive it


@lru_cache(maxsize=16)
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    # high priority: what it runs frees scratch, and the other stream fills whatever room is left
    make: Any = torch.cuda.Stream  # its constructor has no annotations
    stream: torch.cuda.Stream = make(device, priority=-1)
    return stream


def repair(
    q: torch.Tensor,
    kv: torch.Tensor,
    out: torch.Tensor,
    flags: torch.Tensor,
    flag_rows: int,
    scale_log2: float,
    heads: int,
    causal: bool,
) -> None:
    """Computes again, with a running maximum, the row blocks that are flagged: q [S * H, D], kv [S, D] -> out."""
    rows, dim = q.shape
    keys = 64 if q.element_size() == 2 else 16
    n_blocks = -(-rows // 64)
    grid = n_blocks if q.device.type != "cuda" else min(n_blocks, multiprocessors(q.device))
    describe = TensorDescriptor.from_tensor
    kernels.online_rows[(grid,)](
        describe(q, [64, LATENT]), describe(q, [64, ROPE]), describe(kv, [keys, LATENT]), describe(kv, [keys, ROPE]),
        describe(out, [64, LATENT]), flags, scale_log2, n_blocks, kv.shape[0],
        heads, dim > LATENT, 64, keys, flag_rows, causal, emulated(), num_warps=8, num_stages=1,
    )  # fmt: skip


def emulated() -> bool:
    """Whether the kernels run in Triton's interpreter (TRITON_INTERPRET=1 at import)."""
    return not isinstance(kernels.probabilities, triton.runtime.JITFunction)
