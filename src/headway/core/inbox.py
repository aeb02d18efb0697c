"""What people and other processes decide while a loop runs: they leave it in an inbox, the loop takes it up.

An inbox has no exclusive writer, so nobody is locked out. A loop remembers in its home stream how far it has read
(`InboxTaken`), in the same append as what came of it: a decision is never taken twice and never lost.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from headway.core.events import Event, decode
from headway.core.events_core import InboxTaken, PersonDecided
from headway.core.names import StreamId
from headway.core.ports.log import EventLog, Record, StaleWrite, one

TRIES = 100
"""Of an append that others got in before; each failure means that somebody else succeeded."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One decision, with its version in the inbox and the time it was left (the log's format)."""

    version: int
    ts: str
    decision: PersonDecided


def inbox_of(home: StreamId) -> StreamId:
    """The inbox of the loop whose home stream is `home`: `fork/x` -> `inbox/fork/x`."""
    return StreamId(f"inbox/{home}")


def append_beside_others(log: EventLog, stream: StreamId, event: Event) -> Record:
    """Append to a stream without an exclusive writer: if somebody else gets in before, try again after them."""
    for _ in range(TRIES):
        try:
            return log.append(one(stream, log.heads(stream).get(stream, 0), event))[0]
        except StaleWrite:
            continue
    raise StaleWrite(f"{stream} was written by others {TRIES} times in a row.", "Try again.")


def leave(log: EventLog, home: StreamId, decision: PersonDecided) -> int:
    """Put a decision into the loop's inbox, beside whoever else does so now; returns its version there."""
    return append_beside_others(log, inbox_of(home), decision).version


def untaken(log: EventLog, home: StreamId, taken: int) -> tuple[Entry, ...]:
    """Decisions in the loop's inbox after version `taken`, oldest first."""
    entries = []
    for record in log.read(inbox_of(home), taken):
        event = decode(record.type, record.payload)
        if isinstance(event, PersonDecided):
            entries.append(Entry(record.version, record.ts, event))
    return tuple(entries)


def taken_mark(home: StreamId, entries: tuple[Entry, ...]) -> InboxTaken:
    """The event to append to `home` together with what came of `entries` (which must not be empty)."""
    return InboxTaken(inbox_of(home), entries[-1].version)


def taken_version(home: StreamId, events: Iterable[Event]) -> int:
    """How far a loop has read its inbox, from the events of its home stream; 0: not at all."""
    inbox = inbox_of(home)
    return max((e.version for e in events if isinstance(e, InboxTaken) and e.inbox == inbox), default=0)
