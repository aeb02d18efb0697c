"""The in-memory blob store: the fake beside `file_blobs.py`, held to the same contract suite."""

import hashlib

from headway.adapters.masking import NOTHING_KNOWN, Masker
from headway.core.names import BlobId
from headway.core.ports.blobs import BlobInfo, BlobMissing


class MemoryBlobs:
    """Keeps masked contents in a dict; a redacted one is None."""

    def __init__(self, *, masker: Masker = NOTHING_KNOWN) -> None:
        self._masker = masker
        self._contents: dict[BlobId, bytes | None] = {}
        self._sizes: dict[BlobId, int] = {}

    def put(self, content: str | bytes) -> BlobId:
        raw = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        masked = self._masker.mask(raw)
        blob = BlobId("sha256:" + hashlib.sha256(masked).hexdigest())
        self._contents.setdefault(blob, masked)
        self._sizes[blob] = len(masked)
        return blob

    def get(self, blob: BlobId) -> bytes:
        content = self._contents.get(blob)
        if content is None:
            what = "was redacted" if blob in self._contents else "was never stored or was collected"
            raise BlobMissing(f"Blob {blob} {what}.")
        return content

    def info(self, blob: BlobId) -> BlobInfo | None:
        if blob not in self._contents:
            return None
        content = self._contents[blob]
        return BlobInfo(blob, len(content or b""), self._sizes[blob], content is None)

    def remove(self, blob: BlobId) -> None:
        self._contents.pop(blob, None)

    def redact(self, blob: BlobId) -> None:
        if blob not in self._contents:
            raise BlobMissing(f"There is no blob {blob}.")
        self._contents[blob] = None
