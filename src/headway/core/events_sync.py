"""Facts of the sync room. One frozen dataclass per fact; free text goes into blobs, never inline."""

from dataclasses import dataclass
from typing import ClassVar

from headway.core.names import Sha


@dataclass(frozen=True, slots=True)
class UpstreamSeen:
    """The fork's ledger learnt of upstream's first-parent line up to `head`."""

    TYPE: ClassVar[str] = "sync.seen.v1"
    head: Sha
    count: int


SyncEvent = UpstreamSeen
