"""Answers to conflicts from outside the ladder: what an agent was asked, what it proposed, what a person resolved."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from headway.core.names import BlobId, Sha

Engine = Literal["model", "command", "human"]


@dataclass(frozen=True, slots=True)
class ConflictMet:
    """The ladder left a conflict of `change` on `onto`, and an agent will be asked.

    `conflict` is the digest of the conflicted files with all their sides: the same digest is the same question.
    """

    TYPE: ClassVar[str] = "sync.conflict_met.v1"
    change: Sha
    onto: str
    conflict: str
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class Asked:
    """One proposal of an agent for a conflict, and what became of it.

    `accepted`: every rail passed. `refused`: a rail said no, with `reason`. `nothing`: the agent had no usable
    proposal, `reason` says how that came. `evidence` holds request, proposal and transcript.
    """

    TYPE: ClassVar[str] = "sync.asked.v1"
    change: Sha
    conflict: str
    engine: Engine
    outcome: Literal["accepted", "refused", "nothing"]
    reason: str
    evidence: BlobId
    tokens: int
    money: float


@dataclass(frozen=True, slots=True)
class Resolved:
    """An answer to exactly this conflict stands: a pick of `change` that meets it takes the answer, past every rail."""

    TYPE: ClassVar[str] = "sync.resolved.v1"
    change: Sha
    conflict: str
    engine: Engine
    by: str
    answer: BlobId
    """JSON: `files` (path -> text, or null where it is removed), and each hunk's key with its lines."""


ResolveEvent = ConflictMet | Asked | Resolved
