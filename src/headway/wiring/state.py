"""Opens a state folder with the real log, blobs and lock: what every room begins with."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from headway.adapters.clocks import SystemClock
from headway.adapters.failpoints import Failpoints
from headway.adapters.file_blobs import FileBlobs
from headway.adapters.locks import WriterLock
from headway.adapters.masking import Masker
from headway.adapters.sqlite_log import SqliteLog
from headway.core.ports.clock import Clock


@dataclass(frozen=True)
class State:
    """One state folder, opened: `STATE/log.sqlite3`, `STATE/blobs/`, `STATE/lock`. A context manager."""

    root: Path
    log: SqliteLog
    blobs: FileBlobs
    lock: Callable[[], AbstractContextManager[None]]
    """`with state.lock():` around everything that appends to a stream other than an inbox; raises LockHeld."""
    failpoints: Failpoints
    """The process's one counter: every adapter that touches the world counts on it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.log.close()


def open_state(
    root: Path, *, clock: Clock | None = None, env: Mapping[str, str] | None = None, read_only: bool = False
) -> State:
    """Open the state folder, or create it unless `read_only`. Secrets and failpoints come from `env` (os.environ).

    Raises HeadwayError for a missing or foreign log, UnknownEvent for a newer one, LogDamaged, DiskFull.
    """
    clock = clock or SystemClock()
    env = os.environ if env is None else env
    masker = Masker.from_environment(env)
    failpoints = Failpoints.from_environment(dict(env))
    log = SqliteLog(root / "log.sqlite3", clock, masker=masker, failpoints=failpoints, read_only=read_only)
    blobs = FileBlobs(root / "blobs", masker=masker, failpoints=failpoints)
    return State(root, log, blobs, WriterLock(root / "lock", clock).held, failpoints)


def prove(log: SqliteLog) -> None:
    """Read every record of every stream against its hash: 100,000 records take about a second.

    A verb that would not happen to read the damaged one must not answer, let alone write, as if all were well.
    Raises LogDamaged with the place.
    """
    for _ in log.read_all():
        pass
