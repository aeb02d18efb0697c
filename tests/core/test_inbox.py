"""Decisions reach the loop once, in order, with what came of them in one append."""

from headway.adapters.clocks import HandClock
from headway.adapters.memory_log import MemoryLog
from headway.core.events_core import InboxTaken, PersonDecided
from headway.core.inbox import inbox_of, leave, taken_mark, taken_version, untaken
from headway.core.names import StreamId
from headway.core.ports.log import StaleWrite, decoded, one
from tests.adapters.logs import hand_clock

HOME = StreamId("fork/x")


def decision(subject: str) -> PersonDecided:
    return PersonDecided("pick", subject, "me")


def test_a_loop_takes_up_what_was_left_since_it_last_looked() -> None:
    log = MemoryLog(hand_clock())
    assert untaken(log, HOME, 0) == ()
    assert [leave(log, HOME, decision(s)) for s in "ab"] == [1, 2]
    entries = untaken(log, HOME, 0)
    assert [(e.version, e.decision.subject) for e in entries] == [(1, "a"), (2, "b")]
    log.append(one(HOME, 0, taken_mark(HOME, entries)))
    leave(log, HOME, decision("c"))
    taken = taken_version(HOME, decoded(log.read(HOME)))
    assert taken == 2 and [e.decision.subject for e in untaken(log, HOME, taken)] == ["c"]


def test_inboxes_of_other_loops_do_not_count() -> None:
    assert inbox_of(HOME) == "inbox/fork/x" != inbox_of(StreamId("campaign/x"))
    events = [InboxTaken("inbox/campaign/x", 9), InboxTaken("inbox/fork/x", 2), decision("a")]
    assert taken_version(HOME, events) == 2 and taken_version(HOME, []) == 0


def test_leaving_tries_again_when_somebody_else_was_first() -> None:
    class Crowded(MemoryLog):
        crowd = 3

        def append(self, writes):
            if self.crowd:
                self.crowd -= 1
                raise StaleWrite("somebody was first")
            return super().append(writes)

    log = Crowded(HandClock(hand_clock().now()))
    assert leave(log, HOME, decision("a")) == 1 and log.crowd == 0
