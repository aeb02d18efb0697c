"""How an upstream change travels to the fork. Read `next_stage` from top to bottom.

    seen -> assessed -> joins the bundle -> bundle closed -> L1 -> green: landed, picked
                 \\                                           \\-> red: L1 again on parts of it, until the guilty
                  \\                                                member is known; that one is deferred, the green
                   \\                                               before it land, those after it are pending again
                    \\-> already_present | reverted_pair | wont_port | deferred, with evidence

The ledger (`fork/<id>`) is the only state: its last event decides the next stage, so a run that was killed anywhere is
gone on with by running again. The steps are in `steps.py` and `landing_steps.py`; what may be taken is decided in
`triage.py`, who waits for whom in `chains.py`, who is guilty in `group_testing.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.journey import Act, Decide, Facts, Journey, Stage, drive
from headway.core.reasons import Reason
from headway.sync.accounting import Ledger, apply
from headway.sync.chains import released
from headway.sync.reading import bring_upstream
from headway.sync.room import Room
from headway.sync.steps import Orders, Steps
from headway.sync.undo_steps import Wish


class WorldSilent(CouldNotRun):
    """Upstream, the forge or the remote did not answer: asking again sooner than usual may help."""


def take_changes(room: Room, orders: Orders, stop: Callable[[], bool] = lambda: False) -> Ledger:
    """Take pending changes in order until none is left, the limit is reached, or the run must stop.

    `stop` is asked between two stages; a run that it ends is gone on with by the next one. Raises HeadwayError (exit 1)
    or CouldNotRun (exit 4) when it had to stop by itself; the ledger then says why and stays closed.
    """
    bring_upstream(room)
    travel = Travel(Steps(room, orders))
    journey = travel.journey()
    settled = drive(journey, room.log, until=lambda _: True)  # what a kill left open, before anything else
    ledger = drive(journey, room.log, until=lambda now: len(now.ended) > len(settled.ended) or stop())
    if len(ledger.ended) > len(settled.ended):
        _raise_if_stopped(room, ledger)
    return ledger


def say(room: Room, what: Callable[[Ledger], Facts]) -> Ledger:
    """Append what a person's verb means, through the same loop: what a kill left open is settled first."""
    stages = iter([Decide("person", what)])
    journey = replace(Travel(Steps(room, Orders())).journey(), next_stage=lambda _: next(stages, None))
    return drive(journey, room.log)


def undo(room: Room, wish: Wish) -> Ledger:
    """Take a landing back. Raises HeadwayError or CouldNotRun where that cannot be done; nothing has moved then."""
    bring_upstream(room)
    steps = Steps(room, Orders())
    journey = Travel(steps).journey()
    ledger = drive(journey, room.log, until=lambda _: True)
    trunk, branch = steps.reading.trunk(), room.landing.read(room.branch_ref)
    intent = steps.undoing.prepared(ledger, wish, steps.start(ledger, trunk, branch))
    stages = iter([steps.undoing.act(intent)])
    return drive(replace(journey, next_stage=lambda _: next(stages, None)), room.log)


@dataclass(frozen=True)
class Travel:
    """The stages in their order."""

    steps: Steps

    def next_stage(self, ledger: Ledger) -> Stage[Ledger]:
        """What comes next for the fork, from its ledger."""
        steps, landing = self.steps, self.steps.landing
        if not steps.goes_on_with(ledger):
            return Decide("begin", steps.begin)
        if not ledger.refreshed:
            return self._refresh()
        if (stage := self._request(ledger)) is not None:
            return stage
        if steps.trunk_moved(ledger):
            return Decide("scan", steps.scan)
        if steps.inbox_waits(ledger):
            return Decide("take inbox", steps.take_inbox)
        if landing.is_lost(ledger):
            return Decide("drop the bundle", landing.drop)
        if ledger.bundle is not None and ledger.bundle.id:
            return self._tested(ledger)
        if steps.asking.goes_on(ledger):
            return self._ask()
        if released(ledger):
            return Decide("release", steps.release)
        if landing.is_full(ledger):
            return Decide("close the bundle", landing.close)
        if ledger.next_pending is None or steps.limit_reached(ledger):
            return Decide("end", steps.end)
        return Decide("assess", landing.assess)

    def _request(self, ledger: Ledger) -> Stage[Ledger] | None:
        """Mode `pull-request`: the request's own turn, at both ends of a run and never within a bundle."""
        steps, requests = self.steps, self.steps.requests
        if requests is None or ledger.bundle is not None:
            return None
        if requests.is_closed(ledger):
            return Decide("stop", requests.stop_closed)
        if requests.stands_on_merged(ledger):
            return Decide("begin at trunk", steps.begin)
        at_the_end = ledger.next_pending is None or steps.limit_reached(ledger)
        if requests.is_unpublished(ledger) and (at_the_end or not requests.has_landed(ledger)):
            return self._publish()
        return None

    def _tested(self, ledger: Ledger) -> Stage[Ledger]:
        """A closed bundle: L1 until it is known what lands and who is guilty, then the landing."""
        landing = self.steps.landing
        found = landing.found(ledger)
        if found is None:
            return self._validate()
        if found.lands == 0:
            return Decide("eject", landing.eject)
        if not landing.is_still_composed(ledger, found):
            return Decide("drop the bundle", landing.drop)
        return self._land()

    def journey(self) -> Journey[Ledger]:
        """The loop's view of it."""
        every = (
            self._refresh(),
            self._ask(),
            self._validate(),
            self._land(),
            *self._publishing(),
            self.steps.undoing.act(),
        )
        acts = {act.name: act for act in every}
        return Journey(self.steps.room.home, Ledger(), apply, self.next_stage, acts)

    def _refresh(self) -> Act[Ledger]:
        return Act("refresh", self.steps.refresh_intent, self.steps.refresh, self.steps.again)

    def _ask(self) -> Act[Ledger]:
        return Act("ask", self.steps.asking.intent, self.steps.asking.ask, self.steps.again)

    def _validate(self) -> Act[Ledger]:
        landing = self.steps.landing
        return Act("validate", landing.validate_intent, landing.validate, self.steps.again)

    def _land(self) -> Act[Ledger]:
        landing = self.steps.landing
        return Act("land", landing.land_intent, landing.land, landing.settle_landing)

    def _publish(self) -> Act[Ledger]:
        requests = self.steps.requests
        assert requests is not None
        return Act("publish", requests.publish_intent, requests.publish, self.steps.again)

    def _publishing(self) -> tuple[Act[Ledger], ...]:
        return () if self.steps.requests is None else (self._publish(),)


def _raise_if_stopped(room: Room, ledger: Ledger) -> None:
    last = ledger.ended[-1]
    if last.outcome in ("done", "limit"):
        return
    message, fix = room.recall_sentence(last.evidence)
    if last.reason in (Reason.PARTIAL_SOURCE, Reason.FORGE_UNREACHABLE):
        raise WorldSilent(f"could_not_run({last.reason}): {message}", fix)
    if last.outcome == "could_not_run":
        raise CouldNotRun(f"could_not_run({last.reason}): {message}", fix)
    raise HeadwayError(f"refused({last.reason}): {message}", fix)
