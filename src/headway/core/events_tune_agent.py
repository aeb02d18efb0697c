"""Facts of what agents do beside proposing: they keep notes, look at candidates, hear of earlier campaigns, and give
several proposals at once. All of them live in `campaign/<id>`, and none of them is evidence.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from headway.core.names import BlobId, EffectKey
from headway.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class NoteKept:
    """Words that an agent wants to find again. They are shown as its words, and are evidence of nothing."""

    TYPE: ClassVar[str] = "tune.note.v1"
    call: int
    note: BlobId


@dataclass(frozen=True, slots=True)
class TriedOut:
    """While it thought, the agent had a candidate looked at roughly. It is no attempt and has no rank."""

    TYPE: ClassVar[str] = "tune.tried.v1"
    call: int
    source: BlobId
    key: EffectKey | None
    """Of the worker's job; None where a gate before it refused."""
    outcome: Literal["measured", "refused", "could_not_run"]
    reason: Reason | None
    ratio: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class PriorOffered:
    """What came of an earlier campaign on the same task, as evidence. Nothing of it is adopted: it was measured then,
    perhaps on another machine, and whoever proposes it again goes through every gate again."""

    TYPE: ClassVar[str] = "tune.prior.v1"
    campaign: str
    outcomes: BlobId
    best: BlobId | None
    """The source of its incumbent; None if it had none."""


@dataclass(frozen=True, slots=True)
class ProposalWaiting:
    """One of several proposals of a call; it becomes an attempt when those before it have ended."""

    TYPE: ClassVar[str] = "tune.waiting.v1"
    call: int
    hypothesis: BlobId
    source: BlobId
    parent: int | None
    outside: tuple[str, ...]
    knobs: dict[str, int | str]
    review: BlobId | None
