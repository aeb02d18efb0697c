"""The types of the ladder: what a resolver is given, what it may answer.

A resolver is a function. It answers only when it is sure: None passes the hunk on, and a wrong merge is worse than a
deferral.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headway.sync.conflict import ConflictedFile, Hunk

Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The lines that replace a hunk, which engine says so, and its reason in one short sentence."""

    lines: Lines
    engine: str
    why: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One resolution the fork made before, keyed by the conflict with its formatting taken out."""

    key: str
    lines: Lines
    source: str
    """The fork commit, person or agent it was learnt from."""
    hunk: Hunk | None = field(default=None, compare=False)
    """The conflict itself, where it is at hand: shown to an agent as an example."""


@dataclass(frozen=True)
class Surroundings:
    """What a resolver may look at beside the hunk itself. All of it is text that existed before the pick.

    `upstream_states(path)` gives earlier upstream texts of a file, newest first; `recorded(key)` earlier resolutions.
    """

    upstream_states: Callable[[str], Sequence[str]] = field(default=lambda _path: ())
    recorded: Callable[[str], Sequence[Recorded]] = field(default=lambda _key: ())


Resolver = Callable[[Hunk, ConflictedFile, Surroundings], Answer | None]
