"""The blob port: content-addressed, masked, compressed, durable before any event names them."""

from dataclasses import dataclass
from typing import Protocol

from headway.core.errors import HeadwayError
from headway.core.names import BlobId


class BlobMissing(HeadwayError):
    """No such blob: collected by `log gc`, or removed by `log redact`."""


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """Size in bytes as stored (compressed) and as read."""

    blob: BlobId
    stored_bytes: int
    bytes: int
    redacted: bool


class BlobStore(Protocol):
    """A blob is in use, and kept by `log gc`, while an event or another blob in use holds its id.

    Adapters: `adapters/file_blobs.py` (real) and `adapters/memory_blobs.py` (fake), under one contract suite."""

    def put(self, content: str | bytes) -> BlobId:
        """Mask known secrets, store, make durable, return the id. The same content gives the same id."""
        ...

    def get(self, blob: BlobId) -> bytes:
        """The masked content. Raises BlobMissing (gone or redacted) or LogDamaged (its bytes do not hash to its id)."""
        ...

    def info(self, blob: BlobId) -> BlobInfo | None:
        """None if it was never stored or is gone."""
        ...
