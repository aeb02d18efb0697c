"""Shared memory between the judge and one runner: inputs at shifting places, poisoned outputs, canaries around both."""

import mmap
import os
from typing import Any, NamedTuple

import numpy

CANARY = 0xA5
PAD = 64


class Laid(NamedTuple):
    """One argument of one call: as the runner is told (`told`), and where it lies."""

    name: str
    role: str
    told: dict[str, Any]
    offset: int
    original: "numpy.ndarray[Any, Any] | None"


class Pool:
    """A memory file that the judge and one runner map. The judge writes only while the runner is stopped."""

    def __init__(self) -> None:
        self.handle = os.memfd_create("inputs", 0)
        self.size = 0
        self._map: mmap.mmap | None = None
        self.bytes: Any = numpy.zeros(0, numpy.uint8)

    def resize(self, size: int) -> None:
        """Before the runner maps it. Size in bytes, rounded up to pages."""
        self.size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        os.ftruncate(self.handle, self.size)
        self._map = mmap.mmap(self.handle, self.size)
        self.bytes = numpy.frombuffer(self._map, numpy.uint8)

    def close(self) -> None:
        self.bytes = numpy.zeros(0, numpy.uint8)
        if self._map is not None:
            self._map.close()
            self._map = None
        os.close(self.handle)

    def view(self, laid: Laid) -> Any:
        """The argument's memory as an array of the judge's."""
        return numpy.ndarray(laid.told["shape"], dtype=laid.told["dtype"], buffer=self._map, offset=laid.offset)

    def lay(self, values: list[tuple[str, str, Any]], start: int) -> tuple[list[Laid], int]:
        """Find places for the arguments of one call from byte `start` on; nothing is written yet.

        `values`: (name, role, array or number). Returns the arguments and the first free byte after them.
        """
        laid, at = [], start
        for name, role, value in values:
            if not isinstance(value, numpy.ndarray):
                laid.append(Laid(name, role, {"value": value}, -1, None))
                continue
            offset = at + PAD
            end = offset + value.nbytes
            at = end + PAD + (-end) % PAD
            told = {"offset": offset, "shape": list(value.shape), "dtype": value.dtype.str}
            laid.append(Laid(name, role, told, offset, value if role == "in" else None))
        return laid, at

    def fill(self, laid: list[Laid]) -> None:
        """Write inputs and canaries; outputs are poisoned with 0xFF bytes, which is NaN in every float type."""
        for one in laid:
            if one.offset < 0:
                continue
            end, after = _ends(one)
            self.bytes[one.offset - PAD : one.offset] = CANARY
            self.bytes[end:after] = CANARY
            if one.original is not None:
                self.view(one)[...] = one.original
            else:
                self.bytes[one.offset : end] = 0xFF

    def changed(self, laid: list[Laid]) -> str | None:
        """The first input whose bytes are not what they were, or the array whose surroundings were written over."""
        for one in laid:
            if one.offset < 0:
                continue
            end, after = _ends(one)
            if (self.bytes[one.offset - PAD : one.offset] != CANARY).any() or (self.bytes[end:after] != CANARY).any():
                return f"memory around argument {one.name!r}"
            if one.original is not None:
                seen = self.bytes[one.offset : end]
                if not numpy.array_equal(seen, one.original.reshape(-1).view(numpy.uint8)):
                    return f"input {one.name!r}"
        return None


def _ends(one: Laid) -> tuple[int, int]:
    """First byte after the array, and first byte after the canary behind it."""
    end = one.offset + int(numpy.prod(one.told["shape"])) * numpy.dtype(one.told["dtype"]).itemsize
    return end, end + PAD + (-end) % PAD


def room(values: list[tuple[str, str, Any]]) -> int:
    """Bytes that one call's arguments take at most."""
    return sum(value.nbytes + 4 * PAD for _, _, value in values if isinstance(value, numpy.ndarray)) + PAD
