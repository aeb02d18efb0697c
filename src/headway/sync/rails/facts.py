"""What a rail looks at: one proposal as texts. A rail is a pure function from these facts to a verdict.

"What both sides give" is additive: fork count + what upstream adds - what upstream removes. A proposal may answer a
conflict either way, so a rail asks for the smaller of what is additive and what one side alone has.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from headway.core.config import Invariant
from headway.core.gates import Refused, Verdict
from headway.core.reasons import Reason
from headway.sync.conflict import Segment
from headway.sync.languages import language_of
from headway.sync.symbols import Outline, Uses, outline_of, uses_of

DEFINING = re.compile(r"^\s*(async\s+def|def|class|struct|enum|multiclass|defm)\b|\)[^;]*\{\s*$|@\w+\(|^\S.*\($")
"""A line that may define something, or begin or end a signature."""
RETRY = "Correct the proposal, or defer the change."


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file of a proposal. `None`: that side lacks the file. `base` is upstream's parent, `ours` the fork.

    `merged` is git's own clean result (None where git had a conflict); `segments` are git's conflict, for the scope.
    """

    path: str
    base: str | None
    ours: str | None
    theirs: str | None
    result: str | None
    merged: str | None = None
    segments: tuple[Segment, ...] = ()

    @property
    def conflicted(self) -> bool:
        return bool(self.segments)

    def outlines(self) -> tuple[Outline, Outline, Outline, Outline]:
        """(base, ours, theirs, result)"""
        language = language_of(self.path)
        base, ours, theirs, result = (outline_of(text or "", language) for text in self.sides())
        return base, ours, theirs, result

    def uses(self) -> tuple[Uses, Uses, Uses, Uses]:
        """(base, ours, theirs, result)"""
        language = language_of(self.path)
        base, ours, theirs, result = (uses_of(text or "", language) for text in self.sides())
        return base, ours, theirs, result

    def sides(self) -> tuple[str | None, str | None, str | None, str | None]:
        """(base, ours, theirs, result)"""
        return self.base, self.ours, self.theirs, self.result


@dataclass(frozen=True, slots=True)
class Bounds:
    """`residual`: largest share of upstream's changed lines that a resolved pick may leave out."""

    residual: float = 0.6


DEFAULT_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class Proposal:
    """Every conflicted file, every file that both sides changed, and every changed file that an invariant names."""

    files: tuple[FileFacts, ...]
    invariants: tuple[Invariant, ...] = ()
    bounds: Bounds = DEFAULT_BOUNDS


Rail = Callable[[Proposal], Verdict]


def refused(reason: Reason, message: str, next_step: str = RETRY) -> Refused:
    """A rail's refusal; the message names the file and the thing."""
    return Refused(reason, message, next_step)


def brings_definitions(file: FileFacts) -> bool:
    """A line that may define something is new on upstream's side: spares the parser most clean picks."""
    old = set((file.base or "").split("\n"))
    return any(DEFINING.search(line) for line in (file.theirs or "").split("\n") if line not in old)


def least_expected(base: int, ours: int, theirs: int) -> int:
    """The fewest occurrences that an honest result may have, whichever way a conflict is answered."""
    return min(ours, theirs, max(ours + theirs - base, 0))


def most_expected(base: int, ours: int, theirs: int) -> int:
    """The most occurrences that an honest result may have."""
    return max(ours, theirs, ours + theirs - base)
