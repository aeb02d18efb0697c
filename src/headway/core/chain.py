"""Following a stream's hash chain: what must hold between a record and the one before it. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from headway.core.names import StreamId
from headway.core.ports.log import GENESIS, LogDamaged, Record, record_hash


class Head(NamedTuple):
    """Where a stream stands: its newest version, that record's hash and global position (0 and GENESIS: new)."""

    version: int
    hash: str
    position: int = 0


NEW = Head(0, GENESIS)


def fault(previous: Head, record: Record) -> str | None:
    """Why `record` cannot follow `previous` in its stream, in words; None if it does."""
    if record.version != previous.version + 1:
        return f"version {previous.version + 1} is missing: the record after {previous.version} is {record.version}"
    if record.prev_hash != previous.hash:
        return "it does not continue the record before it"
    if record.position <= previous.position:
        return f"its position does not follow {previous.position}, the place of the record before it"
    if record.computed_hash() != record.hash:
        return "its content does not hash to what was written"
    return None


def followed(previous: Head, record: Record) -> Head:
    """The head after `record`. Raises LogDamaged if it does not follow `previous`."""
    if complaint := fault(previous, record):
        raise damaged(record.stream, record.version, record.position, complaint)
    return Head(record.version, record.hash, record.position)


def proven(previous: Head, rows: Iterable[tuple[Any, ...]]) -> Iterator[Record]:
    """Rows of one stream, in `Record`'s order of fields, each as a record once it has been found to follow the last.

    The same as `followed` in a loop, with the good path spelled out: every fold of a log comes through here.
    """
    version, digest, position = previous
    for row in rows:
        record = Record._make(row)
        follows = record.version == version + 1 and record.prev_hash == digest and record.position > position
        if not follows or record_hash(*row[:7]) != record.hash:
            followed(Head(version, digest, position), record)
        version, digest, position = record.version, record.hash, record.position
        yield record


def damaged(stream: StreamId, version: int, position: int, complaint: str) -> LogDamaged:
    """The one sentence for a record that is not as it was written."""
    return LogDamaged(
        f"The log is damaged at stream {stream} version {version} (position {position}): {complaint}.",
        "Run `headway log verify` to see all of it, and `headway log verify --set-aside` to go on without that tail.",
    )
