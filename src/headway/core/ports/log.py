"""The event log port: append-only streams, atomically written, optimistically locked, hash-chained per stream."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.names import StreamId

GENESIS = "0" * 64
"""`prev_hash` of the first record of every stream."""


class Record(NamedTuple):
    """One line of the log. `position` is the global order; (stream, version) is the key; versions start at 1.

    A named tuple: a fold makes hundreds of thousands of these, and a frozen dataclass takes three times as long.
    """

    position: int
    stream: StreamId
    version: int
    ts: str
    """UTC, ISO 8601 with microseconds, e.g. `2026-11-30T18:23:23.000000Z`."""
    type: str
    payload: str
    """Canonical JSON; see `events.encode`."""
    prev_hash: str
    hash: str

    def computed_hash(self) -> str:
        """What `hash` must be: sha256 over everything but `hash` itself; see `record_hash`."""
        return record_hash(self.position, self.stream, self.version, self.ts, self.type, self.payload, self.prev_hash)


def record_hash(position: int, stream: str, version: int, ts: str, type_name: str, payload: str, prev_hash: str) -> str:
    """sha256 in hex of the NUL-joined fields; what `log verify` recomputes.

    The position is among them: otherwise two streams' records could swap places in the whole log unnoticed.
    """
    text = f"{prev_hash}\0{position}\0{stream}\0{version}\0{ts}\0{type_name}\0{payload}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Append:
    """Events for one stream, valid only if the stream still stands at `expected` (0: it must be new)."""

    stream: StreamId
    expected: int
    events: tuple[Event, ...]


class StaleWrite(HeadwayError):
    """Somebody else wrote the stream since it was read. Read again, decide again."""


class LogDamaged(HeadwayError):
    """Records or a blob are torn, altered or gone; the message names them by stream and version, or file position."""


class EventLog(Protocol):
    """Adapters: `adapters/sqlite_log.py` (real) and `adapters/memory_log.py` (fake), under one contract suite."""

    def append(self, writes: Sequence[Append]) -> tuple[Record, ...]:
        """Commit all events of all writes, durably, or none. Raises StaleWrite, or HeadwayError on a full disk."""
        ...

    def read(self, stream: StreamId, after: int = 0) -> Iterator[Record]:
        """Records of one stream with version > `after`, in order. Raises LogDamaged."""
        ...

    def read_all(self, after: int = 0) -> Iterator[Record]:
        """Every record with position > `after`, in global order. Raises LogDamaged."""
        ...

    def heads(self, prefix: str = "") -> dict[StreamId, int]:
        """The newest version of every stream whose id starts with `prefix`."""
        ...


def one(stream: StreamId, expected: int, *events: Event) -> tuple[Append, ...]:
    """The common case: one write to one stream."""
    return (Append(stream, expected, events),)


def decoded(records: Iterable[Record]) -> Iterator[Event]:
    """The events of records, in order."""
    from headway.core.events import decode

    return (decode(record.type, record.payload) for record in records)
