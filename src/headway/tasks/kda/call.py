"""What a call of `kda_forward` means once its arguments are checked: where its rows, sequences and chunks are.

Only tensors and numbers: nothing here launches a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

HEAD_DIM = 128
CHUNK = 64
TILE_ROWS = 512  # rows of 64 in the workspace for one chunk of one head: 64 KiB in bf16

GATE_WINDOW = -5.0
"""Gates of at least this many nats a token are right in the fast kernels, whatever their pattern.

They split a decay inside 32 tokens at the middle, so 16 tokens in a row may lose 80 nats, and fp32 ends at 88.  Smaller
gates are welcome with `lower_bound=None` or a lower bound: chunks that turn out to leave the range are then done again,
element by element.  If they come in spite of a promised bound, the outputs are right while no 16 tokens in a row lose
more than about 87 nats in a channel, and NaN from there on: never a small wrong number.
"""


@dataclass(frozen=True)
class Sequences:
    """How the rows of the flattened inputs fall into sequences and chunks."""

    count: int
    chunks: int  # of all sequences
    ragged: bool  # some chunk has fewer than 64 rows
    chunk_table: torch.Tensor | None  # int32 [chunks, 2]: first row, rows
    seq_table: torch.Tensor | None  # int32 [count, 3]: first row, rows, first chunk


def equal_sequences(batch: int, tokens: int) -> Sequences:
    """Every batch entry is a sequence."""
    return Sequences(batch, batch * math.ceil(tokens / CHUNK), tokens % CHUNK != 0, None, None)


def packed_sequences(bounds: Sequence[int], device: torch.device) -> Sequences:
    """Sequences from one bound to the next, in one batch entry; their tables are copied to `device`."""
    chunk_rows: list[tuple[int, int]] = []
    sequences: list[tuple[int, int, int]] = []
    for start, end in pairwise(bounds):
        sequences.append((start, end - start, len(chunk_rows)))
        chunk_rows.extend((at, min(CHUNK, end - at)) for at in range(start, end, CHUNK))
    return Sequences(
        len(sequences),
        len(chunk_rows),
        any(rows < CHUNK for _, rows in chunk_rows),
        torch.tensor(chunk_rows, dtype=torch.int32).reshape(-1, 2).to(device),
        torch.tensor(sequences, dtype=torch.int32).reshape(-1, 3).to(device),
    )


@dataclass(frozen=True)
class Call:
    """Checked arguments: contiguous tensors, and for tables that are not there any tensor, which is not read."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    g: torch.Tensor
    beta: torch.Tensor
    o: torch.Tensor
    initial_state: torch.Tensor | None
    state: torch.Tensor
    rate: torch.Tensor
    bias: torch.Tensor
    sequences: Sequences
    scale: float
    lower_bound: float | None
    normalize: bool
    raw_gates: bool
    beta_logit: bool

    @property
    def tokens(self) -> int:
        return int(self.q.shape[1])

    @property
    def heads(self) -> int:
        return int(self.q.shape[2])

    @property
    def chunks_each(self) -> int:
        return math.ceil(self.tokens / CHUNK)

    @property
    def work(self) -> int:
        return self.sequences.chunks * self.heads

    @property
    def packed(self) -> bool:
        return self.sequences.seq_table is not None

    @property
    def chunk_table(self) -> torch.Tensor:
        return self.beta if self.sequences.chunk_table is None else self.sequences.chunk_table

    @property
    def seq_table(self) -> torch.Tensor:
        return self.beta if self.sequences.seq_table is None else self.sequences.seq_table

    @property
    def first_state(self) -> torch.Tensor:
        """The initial state, or where there is none any tensor of its type."""
        return self.state if self.initial_state is None else self.initial_state

    @property
    def unbounded(self) -> bool:
        """Gates may leave the range of the fast form."""
        return self.lower_bound is None or self.lower_bound < GATE_WINDOW

    @property
    def bound(self) -> float:
        return 0.0 if self.lower_bound is None else self.lower_bound

    def workspace(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """What prep leaves for scan: eight 64 x 64 tiles a chunk and head, and exp(G_63), float32 [work, 128]."""
        ws = torch.empty((self.work * TILE_ROWS, 64), dtype=dtype, device=self.q.device)
        return ws, torch.empty((self.work, HEAD_DIM), dtype=torch.float32, device=self.q.device)
