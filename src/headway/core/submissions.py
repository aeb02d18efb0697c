"""Candidates that come from outside, durable before anybody acts on them.

A submission is an event in a stream of its own, beside the campaign's: no exclusive writer, so that nobody waits for
the loop. The loop notes which one it took (`SubmissionTaken`) in the same append as what it made of it, so a submission
is never lost and never counted twice, whichever side is killed when.
"""

from dataclasses import dataclass

from headway.core.errors import HeadwayError
from headway.core.events import decode
from headway.core.events_tune import Submitted
from headway.core.inbox import TRIES
from headway.core.names import StreamId
from headway.core.ports.log import EventLog, StaleWrite, one

MOST_WAITING = 64
"""Submissions that may wait at once; more would outrun any worker."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Number n is the n-th of its campaign."""

    number: int
    ts: str
    said: Submitted


def submissions_of(home: StreamId) -> StreamId:
    """The stream of submissions to the loop whose home stream is `home`."""
    return StreamId(f"submissions/{home}")


def submitted(log: EventLog, home: StreamId, after: int = 0) -> tuple[Submission, ...]:
    """Submissions with a number above `after`, oldest first."""
    found = []
    for record in log.read(submissions_of(home), after):
        event = decode(record.type, record.payload)
        if isinstance(event, Submitted):
            found.append(Submission(record.version, record.ts, event))
    return tuple(found)


def submit(log: EventLog, home: StreamId, said: Submitted, taken: int) -> int:
    """Append, and return the submission's number; one whose key is there already is not a second one.

    Raises HeadwayError if the key stands for another candidate, or if too many wait; `taken` is the last one taken.
    """
    stream = submissions_of(home)
    for _ in range(TRIES):
        before = submitted(log, home)
        known = next((s for s in before if s.said.key == said.key), None)
        if known is not None:
            if known.said.source != said.source:
                raise HeadwayError(f"The key {said.key!r} was used for another candidate.", "Give a new one.")
            return known.number
        if len(before) - taken >= MOST_WAITING:
            raise HeadwayError(f"{MOST_WAITING} submissions wait already.", "Poll `job` until some are done.")
        try:
            return log.append(one(stream, len(before), said))[0].version
        except StaleWrite:
            continue
    raise StaleWrite(f"{stream} was written by others {TRIES} times in a row.", "Try again.")
