"""Progress for people while a run goes on: one line for each answer, as it is recorded."""

from collections.abc import Callable, Iterator, Sequence

from headway.core.events import Event
from headway.core.events_loop import BundleClosed, Ejected, MovedOn, Probed, RequestSeen, StoodStill
from headway.core.events_sync import Attempted, Disposed, RunEnded, UpstreamSeen
from headway.core.names import StreamId
from headway.core.ports.log import Append, EventLog, Record
from headway.sync.group_testing import least_runs


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
            return f"{event.change[:12]}  {event.result}"
        case BundleClosed():
            return f"bundle of {len(event.changes)}: L1 is running" if len(event.changes) > 1 else "L1 is running"
        case Probed() if event.verdict == "unproven":
            return f"red, but what failed did not fail again ({event.reason}): L1 is asked once more"
        case Probed() if event.verdict == "refused" and len(event.changes) > 1:
            return f"the {len(event.changes)} together are red ({event.reason}): looking for the guilty"
        case Ejected():
            return _ejected(event)
        case Disposed():
            landed = f" as {event.landed[:12]}" if event.landed else ""
            return f"{event.change[:12]}  {event.kind}({event.reason}){landed}"
        case RequestSeen():
            return f"request {event.url}: {event.state}, checks {event.checks}, mergeable {event.mergeable}"
        case StoodStill():
            return f"ALARM: the frontier has not moved since {event.since[:19]}Z while {event.waiting} changes wait"
        case MovedOn():
            return f"the alarm since {event.since[:19]}Z is over: the frontier has moved"
        case RunEnded():
            return f"run ended: {event.outcome}{f' ({event.reason})' if event.reason else ''}"
        case _:
            return ""


def _ejected(event: Ejected) -> str:
    """Who, why, and what it cost beside the least that any search could have done with."""
    guilt = f"only together with {event.partner[:12]}" if event.partner else f"alone: {event.alone}"
    return (
        f"bundle of {event.of}: {event.change[:12]} is guilty ({guilt}); {event.runs} runs of L1, "
        f"the least possible is {least_runs(event.of)}"
    )
