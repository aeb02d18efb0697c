"""A conflicted file as an agent reads and returns it: ordinary markers, and far lines left out of a long file.

Each place where lines are left out is one line of its own that must come back; the lines are put back in its stead.
"""

import re
from collections.abc import Mapping

from headway.sync.conflict import ConflictedFile, Hunk, lines_of

NEAR = 60
"""Merged lines that are shown before and after each hunk, and at the file's two ends."""
WORTH = 40
"""Lines below which leaving out is not worth a mark."""
MARK = "[headway: lines {first} to {last} are left out here; keep this line as it is]\n"
MARKED = re.compile(r"\[headway: lines \d+ to \d+ are left out here; keep this line as it is\]")


def with_markers(file: ConflictedFile) -> str:
    """The whole file with markers of ordinary length, the base between them."""
    return "".join("".join(_shown(one) if isinstance(one, Hunk) else one) for one in file.segments)


def excerpt(file: ConflictedFile) -> str:
    """The same without what is far from every hunk."""
    parts: list[str] = []
    at = 0
    for segment in file.segments:
        if isinstance(segment, Hunk):
            parts.append("".join(_shown(segment)))
            at += len(segment.ours)
            continue
        left = len(segment) - 2 * NEAR
        if left >= WORTH:
            mark = MARK.format(first=at + NEAR + 1, last=at + NEAR + left)
            parts += ["".join(segment[:NEAR]), mark, "".join(segment[-NEAR:])]
        else:
            parts.append("".join(segment))
        at += len(segment)
    return "".join(parts)


def whole(file: ConflictedFile, text: str) -> str:
    """The text with every left-out place filled again; as it is where a mark is missing or doubled: a rail will say."""
    hidden = _left_out(file)
    lines = lines_of(text)
    found = [line.rstrip("\r\n") for line in lines if MARKED.fullmatch(line.rstrip("\r\n"))]
    if sorted(found) != sorted(hidden):
        return text
    return "".join(hidden.get(line.rstrip("\r\n"), line) for line in lines)


def _left_out(file: ConflictedFile) -> Mapping[str, str]:
    hidden: dict[str, str] = {}
    at = 0
    for segment in file.segments:
        if isinstance(segment, Hunk):
            at += len(segment.ours)
            continue
        left = len(segment) - 2 * NEAR
        if left >= WORTH:
            mark = MARK.format(first=at + NEAR + 1, last=at + NEAR + left).rstrip("\n")
            hidden[mark] = "".join(segment[NEAR : NEAR + left])
        at += len(segment)
    return hidden


def _shown(hunk: Hunk) -> list[str]:
    """Each side ends its last line, or a marker would hang on to it."""
    sides = (("<<<<<<< fork\n", hunk.ours), ("||||||| upstream before\n", hunk.base), ("=======\n", hunk.theirs))
    shown: list[str] = []
    for head, side in sides:
        shown += [head, *side]
        if side and not side[-1].endswith("\n"):
            shown.append("\n")
    return [*shown, ">>>>>>> upstream after\n"]
