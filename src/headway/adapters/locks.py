"""The writer lock: an OS lock that ends with its process. What is in the file only names the holder."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.adapters.durable_files import files_explained
from headway.core.errors import HeadwayError
from headway.core.ports.clock import Clock, stamp

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class LockHeld(HeadwayError):
    """Another process holds the writer lock; the message names it."""


class WriterLock:
    """`with lock.held(): …` around everything that appends to a stream other than an inbox."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock, or raise LockHeld at once: nobody waits in silence."""
        with files_explained(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Python marks it close-on-exec: a worker that outlives a killed headway must not keep the log locked.
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as taken:
                raise LockHeld(_sentence(os.pread(handle, 4096, 0)), "Wait for it or stop it.") from taken
            note = {"pid": os.getpid(), "host": socket.gethostname(), "boot": _boot_id(), "since": self._since()}
            with files_explained(self._path):
                os.ftruncate(handle, 0)
                os.pwrite(handle, json.dumps(note).encode() + b"\n", 0)
            yield
        finally:
            os.close(handle)

    def _since(self) -> str:
        return stamp(self._clock.now())[:19] + "Z"


def _sentence(note: bytes) -> str:
    try:
        holder = json.loads(note)
        pid, host, since = int(holder["pid"]), str(holder["host"]), str(holder["since"])
    except (ValueError, KeyError, TypeError):
        return "Another headway is writing this log."  # it has taken the lock and not yet written its name
    here = host == socket.gethostname() and holder.get("boot") == _boot_id()
    if here and not Path(f"/proc/{pid}").exists():
        return f"A child of a headway that has ended (pid {pid} on {host}) holds this log since {since}."
    return f"Another headway (pid {pid} on {host}) is writing this log since {since}."


def _boot_id() -> str:
    return BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
