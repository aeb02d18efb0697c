"""Small logs for the tests of the log: the same records every time."""

import hashlib
import shutil
from datetime import UTC, datetime
from pathlib import Path

from headway.adapters.clocks import HandClock
from headway.adapters.sqlite_log import SqliteLog
from headway.core.events_core import PersonDecided
from headway.core.names import StreamId
from headway.core.ports.log import Append, Record

A, B = StreamId("fork/a"), StreamId("fork/b")


def hand_clock() -> HandClock:
    return HandClock(datetime(2026, 1, 1, tzinfo=UTC))


def note(subject: str, **args: str) -> PersonDecided:
    return PersonDecided("pick", subject, "test", args)


def open_log(state: Path, **options) -> SqliteLog:
    return SqliteLog(state / "log.sqlite3", hand_clock(), **options)


def small_log(state: Path, rounds: int = 3) -> list[Record]:
    """Streams `fork/a` and `fork/b` in turns, two records each a round; closed, so that all is in the one file."""
    log = open_log(state)
    fill(log, rounds)
    log.close()
    return records_of(state)


def fill(log: SqliteLog, rounds: int) -> None:
    for at in range(rounds):
        for stream in (A, B):
            words = [hashlib.sha256(f"{stream}{at}{n}".encode()).hexdigest() for n in range(2)]
            expected = log.heads().get(stream, 0)
            log.append([Append(stream, expected, tuple(note(word, long="x" * 40 * at) for word in words))])


def killed_log(state: Path, scratch: Path, rounds: int = 3) -> list[Record]:
    """The same as a SIGKILL leaves it: everything still in the write-ahead log."""
    log = open_log(scratch)
    fill(log, rounds)
    shutil.copytree(scratch, state)
    log.close()
    (state / "log.sqlite3-shm").unlink()
    return records_of(scratch)


def records_of(state: Path) -> list[Record]:
    log = open_log(state, read_only=True)
    try:
        return list(log.read_all())
    finally:
        log.close()
