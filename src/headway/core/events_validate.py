"""Facts of the validate room. One frozen dataclass per fact; free text goes into blobs, never inline."""

from dataclasses import dataclass
from typing import ClassVar

from headway.core.names import Sha


@dataclass(frozen=True, slots=True)
class RunRequested:
    """Somebody asked for a tier on a revision."""

    TYPE: ClassVar[str] = "validate.requested.v1"
    tier: str
    revision: Sha


ValidateEvent = RunRequested
