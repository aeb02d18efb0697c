"""`log.tail`: one line beside the log that repeats the newest position and hash, outside SQLite.

It is written after the commit and not fsynced: it may lag behind the log, never run ahead of it. So a log that is
older than its tail has lost committed records, whatever SQLite thinks.
"""

import os
import zlib
from contextlib import suppress
from pathlib import Path


class LogTail:
    """Reads and overwrites the one line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, position: int, digest: str) -> None:
        """Note the newest record. A failure is ignored: the records are committed, and this only bears witness."""
        body = f"{position:020d} {digest}"
        line = f"{body} {zlib.crc32(body.encode()):08x}\n".encode()
        with suppress(OSError):
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.pwrite(handle, line, 0)
            finally:
                os.close(handle)

    def read(self) -> tuple[int, str] | None:
        """(position, hash) as last noted; None if there is no line, or a power cut tore it."""
        try:
            body, _, check = self._path.read_text("ascii").strip().rpartition(" ")
            position, digest = body.split(" ")
            intact = f"{zlib.crc32(body.encode()):08x}" == check
            return (int(position), digest) if intact else None
        except (OSError, ValueError):
            return None
