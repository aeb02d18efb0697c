"""Cuts a two-kernel prefill into slabs of query rows whose probabilities fit in a bounded scratch. Arithmetic only."""

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Slab:
    """Row blocks `first_block .. first_block + n_blocks`, each against up to `n_tiles` key tiles."""

    first_block: int
    n_blocks: int
    n_tiles: int

    def scratch_bytes(self, block_rows: int, tile_keys: int, element_bytes: int) -> int:
        """Probabilities and one float32 row sum a tile."""
        return self.n_blocks * self.n_tiles * block_rows * (tile_keys * element_bytes + 4)


@dataclass(frozen=True)
class Shape:
    """What the plan depends on: rows are (token, head) pairs, tiles are cut from `seq` keys."""

    seq: int
    heads: int
    causal: bool
    block_rows: int
    tile_keys: int
    element_bytes: int

    @property
    def n_blocks(self) -> int:
        return -(-self.seq * self.heads // self.block_rows)

    def tiles_of(self, block: int) -> int:
        """Key tiles that row block `block` needs."""
        last_row = (block + 1) * self.block_rows - 1
        keys = min(last_row // self.heads + 1, self.seq) if self.causal else self.seq
        return -(-keys // self.tile_keys)


@lru_cache(maxsize=64)
def plan_slabs(shape: Shape, scratch_bytes: int) -> tuple[Slab, ...]:
    """The fewest slabs that fit in `scratch_bytes`, about equal in size; ValueError if one block does not fit."""
    widest = Slab(0, 1, shape.tiles_of(shape.n_blocks - 1))
    smallest = widest.scratch_bytes(shape.block_rows, shape.tile_keys, shape.element_bytes)
    if smallest > scratch_bytes:
        raise ValueError(
            f"scratch_bytes={scratch_bytes} is too small: one block of {shape.block_rows} rows "
            f"against {shape.seq} keys needs {smallest}"
        )
    best = _greedy(shape, scratch_bytes)
    low, high = smallest, scratch_bytes
    while high - low > scratch_bytes // 256:
        middle = (low + high) // 2
        trial = _greedy(shape, middle)
        if len(trial) == len(best):
            best, high = trial, middle
        else:
            low = middle
    return tuple(best)


def _greedy(shape: Shape, budget: int) -> list[Slab]:
    slabs: list[Slab] = []
    first = 0
    while first < shape.n_blocks:
        low, high = 1, shape.n_blocks - first
        while low < high:  # the largest n_blocks that fits; a wider slab never needs less scratch
            middle = (low + high + 1) // 2
            slab = Slab(first, middle, shape.tiles_of(first + middle - 1))
            if slab.scratch_bytes(shape.block_rows, shape.tile_keys, shape.element_bytes) <= budget:
                low = middle
            else:
                high = middle - 1
        slabs.append(Slab(first, low, shape.tiles_of(first + low - 1)))
        first += low
    return slabs
