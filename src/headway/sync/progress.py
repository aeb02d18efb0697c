"""Progress for people while a run goes on: one line for each answer, as it is recorded."""

from collections.abc import Callable, Iterator, Sequence

from headway.core.events import Event
from headway.core.events_sync import Attempted, Disposed, RunEnded, UpstreamSeen
from headway.core.names import StreamId
from headway.core.ports.log import Append, EventLog, Record


class TellingLog:
    """An event log that says what was appended to one stream, after it is durable."""

    def __init__(self, log: EventLog, stream: StreamId, tell: Callable[[str], None]) -> None:
        self._log = log
        self._stream = stream
        self._tell = tell

    def append(self, writes: Sequence[Append]) -> tuple[Record, ...]:
        records = self._log.append(writes)
        for write in writes:
            if write.stream == self._stream:
                for line in filter(None, map(line_of, write.events)):
                    self._tell(line)
        return records

    def read(self, stream: StreamId, after: int = 0) -> Iterator[Record]:
        return self._log.read(stream, after)

    def read_all(self, after: int = 0) -> Iterator[Record]:
        return self._log.read_all(after)

    def heads(self, prefix: str = "") -> dict[StreamId, int]:
        return self._log.heads(prefix)


def line_of(event: Event) -> str:
    """A sentence for the events that a person waits for; "" for the others."""
    match event:
        case UpstreamSeen():
            return f"upstream at {event.head[:12]}: {event.count} changes in range, {len(event.changes)} new"
        case Attempted():
            return f"{event.change[:12]}  clean: L1 is running"
        case Disposed():
            landed = f" as {event.landed[:12]}" if event.landed else ""
            return f"{event.change[:12]}  {event.kind}({event.reason}){landed}"
        case RunEnded():
            return f"run ended: {event.outcome}{f' ({event.reason})' if event.reason else ''}"
        case _:
            return ""
