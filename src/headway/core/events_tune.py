"""Facts of the tune room. One frozen dataclass per fact; free text goes into blobs, never inline."""

from dataclasses import dataclass
from typing import ClassVar

from headway.core.names import BlobId, Digest


@dataclass(frozen=True, slots=True)
class GoalPinned:
    """Always the first event of a campaign, and never changed."""

    TYPE: ClassVar[str] = "tune.goal.v1"
    goal: BlobId
    digest: Digest


TuneEvent = GoalPinned
