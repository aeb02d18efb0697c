"""How an upstream change travels to the fork. Read `next_stage` from top to bottom.

    seen -> assessed -> composed and validated by L1 -> landed: picked
                 \\                             \\-> refused: deferred, with evidence
                  \\-> already_present | reverted_pair | wont_port | deferred, with evidence

The ledger (`fork/<id>`) is the only state: its last event decides the next stage, so a run that was killed anywhere is
gone on with by running again. The steps are in `steps.py`; what may be taken is decided in `triage.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.journey import Act, Decide, Facts, Journey, Stage, drive
from headway.sync.accounting import Ledger, apply
from headway.sync.room import Room
from headway.sync.steps import Orders, Steps


def take_changes(room: Room, orders: Orders) -> Ledger:
    """Take pending changes in order until none is left, the limit is reached, or the run must stop.

    Raises HeadwayError (exit 1) or CouldNotRun (exit 4) when it had to stop; the ledger then says why and stays closed.
    """
    travel = Travel(Steps(room, orders))
    journey = travel.journey()
    settled = drive(journey, room.log, until=lambda _: True)  # what a kill left open, before anything else
    ledger = drive(journey, room.log, until=lambda now: len(now.ended) > len(settled.ended))
    _raise_if_stopped(room, ledger)
    return ledger


def say(room: Room, what: Callable[[Ledger], Facts]) -> Ledger:
    """Append what a person's verb means, through the same loop: what a kill left open is settled first."""
    stages = iter([Decide("person", what)])
    journey = replace(Travel(Steps(room, Orders())).journey(), next_stage=lambda _: next(stages, None))
    return drive(journey, room.log)


@dataclass(frozen=True)
class Travel:
    """The stages in their order."""

    steps: Steps

    def next_stage(self, ledger: Ledger) -> Stage[Ledger]:
        """What comes next for the fork, from its ledger."""
        steps = self.steps
        if not steps.goes_on_with(ledger):
            return Decide("begin", steps.begin)
        if not ledger.refreshed:
            return self._refresh()
        if steps.trunk_moved(ledger):
            return Decide("scan", steps.scan)
        if steps.inbox_waits(ledger):
            return Decide("take inbox", steps.take_inbox)
        if ledger.validated is not None and steps.is_still_composed(ledger.validated):
            return self._land()
        if ledger.attempted is not None and ledger.validated is None:
            return self._validate()
        if ledger.next_pending is None or steps.limit_reached(ledger):
            return Decide("end", steps.end)
        return Decide("assess", steps.assess)

    def journey(self) -> Journey[Ledger]:
        """The loop's view of it."""
        acts = {act.name: act for act in (self._refresh(), self._validate(), self._land())}
        return Journey(self.steps.room.home, Ledger(), apply, self.next_stage, acts)

    def _refresh(self) -> Act[Ledger]:
        return Act("refresh", self.steps.refresh_intent, self.steps.refresh, self.steps.again)

    def _validate(self) -> Act[Ledger]:
        return Act("validate", self.steps.validate_intent, self.steps.validate, self.steps.again)

    def _land(self) -> Act[Ledger]:
        return Act("land", self.steps.land_intent, self.steps.land, self.steps.settle_landing)


def _raise_if_stopped(room: Room, ledger: Ledger) -> None:
    last = ledger.ended[-1]
    if last.outcome in ("done", "limit"):
        return
    message, fix = room.recall_sentence(last.evidence)
    if last.outcome == "could_not_run":
        raise CouldNotRun(f"could_not_run({last.reason}): {message}", fix)
    raise HeadwayError(f"refused({last.reason}): {message}", fix)
