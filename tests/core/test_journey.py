"""The journey loop: resumes by reading, settles what a kill left open, writes what stages say and nothing else."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from headway.adapters.clocks import HandClock
from headway.adapters.memory_log import MemoryLog
from headway.core.events import Event, decode
from headway.core.events_core import IntentDone, IntentNamed, IntentSettled, PersonDecided
from headway.core.journey import Act, Decide, Facts, Journey, Settled, drive, effect_key
from headway.core.names import StreamId

HOME = StreamId("campaign/counting")


@dataclass(frozen=True)
class Counting:
    decided: int = 0
    acted: int = 0


class Killed(BaseException):
    """Stands for SIGKILL inside an effect."""


class World:
    """An outside counter whose effect is idempotent by key."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.die_after_effect = False

    def effect(self, _: Counting, intent: IntentNamed) -> Facts:
        self.keys.append(intent.key)
        if self.die_after_effect:
            raise Killed
        return {HOME: (note("acted"),)}

    def settle(self, _: Counting, intent: IntentNamed) -> Settled:
        if intent.key in self.keys:
            return Settled("finished", {HOME: (note("acted"),)})
        return Settled("again")


def note(subject: str) -> PersonDecided:
    return PersonDecided("pick", subject, "test")


def apply(state: Counting, event: Event) -> Counting:
    if isinstance(event, PersonDecided):
        name = event.subject
        return replace(state, **{name: getattr(state, name) + 1})
    return state


def journey(world: World) -> Journey[Counting]:
    act = Act("bump", lambda s: IntentNamed("bump", effect_key("bump", str(s.acted))), world.effect, world.settle)
    decide = Decide[Counting]("note", lambda _: {HOME: (note("decided"),)})

    def next_stage(state: Counting):
        if state.acted == 2:
            return None
        return decide if state.decided <= state.acted else act

    return Journey(HOME, Counting(), apply, next_stage, {"bump": act})


def fresh_log() -> MemoryLog:
    return MemoryLog(HandClock(datetime(2026, 1, 1, tzinfo=UTC)))


def kinds(log: MemoryLog) -> list[str]:
    return [type(decode(r.type, r.payload)).__name__ for r in log.read(HOME)]


def test_an_act_writes_its_intent_before_the_effect_and_its_result_after() -> None:
    log, world = fresh_log(), World()
    assert drive(journey(world), log) == Counting(2, 2)
    one_round = ["PersonDecided", "IntentNamed", "PersonDecided", "IntentDone"]
    assert kinds(log) == one_round * 2
    assert world.keys == ["bump/0", "bump/1"]


def test_a_kill_between_effect_and_record_is_settled_and_not_repeated() -> None:
    log, world = fresh_log(), World()
    world.die_after_effect = True
    with pytest.raises(Killed):
        drive(journey(world), log)
    assert kinds(log)[-1] == "IntentNamed"
    world.die_after_effect = False
    assert drive(journey(world), log) == Counting(2, 2)
    assert world.keys == ["bump/0", "bump/1"], "the first effect must not happen twice"
    assert "IntentSettled" in kinds(log)


def test_an_intent_whose_effect_never_happened_runs_again() -> None:
    log, world = fresh_log(), World()
    broken = journey(world)
    log.append([])
    stopped = drive(broken, log, until=lambda s: s.decided == 1)
    assert stopped == Counting(1, 0)
    intent = broken.acts["bump"].intent(stopped)
    from headway.core.ports.log import one

    log.append(one(HOME, 1, intent))
    assert drive(journey(world), log) == Counting(2, 2)
    settled = [e for r in log.read(HOME) if isinstance(e := decode(r.type, r.payload), IntentSettled)]
    assert [s.outcome for s in settled] == ["again"]
    assert len([1 for r in log.read(HOME) if isinstance(decode(r.type, r.payload), IntentDone)]) == 2


def test_a_stage_that_says_nothing_is_a_bug_not_an_endless_loop() -> None:
    silent = Decide[Counting]("silent", lambda _: {})
    with pytest.raises(AssertionError, match="for ever"):
        drive(Journey(HOME, Counting(), apply, lambda _: silent, {}), fresh_log())
