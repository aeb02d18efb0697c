"""What git could not merge, as values: files, hunks, and how a resolved file is put together again.

Pure text. Lines keep their newline; bytes that are not UTF-8 travel as surrogates, so a file comes back byte for byte.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from headway.core.ports.git import MARKER_SIZE

Kind = Literal["content", "deleted_by_us", "deleted_by_them", "both_added", "binary", "other"]
"""`content`: all three sides are text. Only these are the ladder's; every other kind is a person's or an agent's."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One conflict: the same place as the fork has it, as upstream's parent had it, and as upstream wants it."""

    index: int
    ours: tuple[str, ...]
    base: tuple[str, ...]
    theirs: tuple[str, ...]


Segment = tuple[str, ...] | Hunk


@dataclass(frozen=True, slots=True)
class ConflictedFile:
    """One file of a trial pick that git left in conflict. `segments` alternate merged lines and hunks.

    `base`, `ours`, `theirs` are the whole texts (None: the side lacks the file).
    """

    path: str
    kind: Kind
    base: str | None
    ours: str | None
    theirs: str | None
    segments: tuple[Segment, ...] = ()

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        return tuple(segment for segment in self.segments if isinstance(segment, Hunk))


def lines_of(text: str) -> tuple[str, ...]:
    """Split at `\\n` only (form feeds and U+2028 are content), newlines kept."""
    lines = text.split("\n")
    whole = [line + "\n" for line in lines[:-1]]
    return tuple([*whole, lines[-1]] if lines[-1] else whole)


def decoded(content: bytes) -> str | None:
    """Text of a blob, or None if it is binary by git's own rule (a NUL in the first 8000 bytes)."""
    return None if b"\0" in content[:8000] else content.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The exact bytes that `decoded` came from."""
    return text.encode("utf-8", "surrogateescape")


def parse_markers(text: str, size: int = MARKER_SIZE) -> tuple[Segment, ...]:
    """Segments of a file that git wrote with diff3 markers of `size`. Raises ValueError if the markers do not pair."""
    opening, base_mark, middle, closing = ("<" * size + " ", "|" * size, "=" * size, ">" * size + " ")
    segments: list[Segment] = []
    plain: list[str] = []
    sides: list[list[str]] = []
    for line in lines_of(text):
        bare = line.rstrip("\r\n")
        if line.startswith(opening) and not sides:
            segments.append(tuple(plain))
            plain, sides = [], [[]]
        elif sides and len(sides) == 1 and line.startswith(base_mark):
            sides.append([])
        elif sides and len(sides) == 2 and bare == middle:
            sides.append([])
        elif sides and len(sides) == 3 and line.startswith(closing):
            index = sum(isinstance(segment, Hunk) for segment in segments)
            segments.append(Hunk(index, tuple(sides[0]), tuple(sides[1]), tuple(sides[2])))
            sides = []
        else:
            (sides[-1] if sides else plain).append(line)
    if sides:
        raise ValueError("conflict markers that do not pair")
    segments.append(tuple(plain))
    return tuple(segments)


def assemble(segments: tuple[Segment, ...], answers: Mapping[int, tuple[str, ...]]) -> str:
    """The whole text with every hunk replaced by its answer. Raises KeyError for a hunk without one."""
    lines: list[str] = []
    for segment in segments:
        lines.extend(answers[segment.index] if isinstance(segment, Hunk) else segment)
    return "".join(lines)


def around(file: ConflictedFile, hunk: Hunk, lines: int = 3) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Merged lines just before and just after a hunk."""
    place = file.segments.index(hunk)
    before, after = file.segments[place - 1], file.segments[place + 1]
    assert not isinstance(before, Hunk) and not isinstance(after, Hunk)
    return before[-lines:], after[:lines]
