"""`validate run L1`, `census` and `canary`: one request, answered through the journey of requests."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

from headway.core.events import Event
from headway.core.events_validate import CensusAccepted, RunRequested
from headway.core.journey import Journey, drive, fold
from headway.core.ports.log import one
from headway.validate.canary import fly_canaries
from headway.validate.census_run import inventory_of, take_census
from headway.validate.run_journey import RunState, run_journey
from headway.validate.tier_ladder import ChangeToCheck, check_change
from headway.wiring.validate_room import Answer, Asked, Room, opened


class Requests:
    """The journey of requests through a room: L1, census and canaries."""

    def __init__(self, room: Room) -> None:
        self._room, self._l1 = room, room.l1

    def answer(self, request: RunRequested) -> RunState:
        """Append the request, unless a killed run left the very same one open, and drive it to its answer."""
        log, home = self._room.state.log, self._room.home
        standing = fold(self._journey(), log.read(home))
        if standing.state.asked != request or standing.open_intent is None:
            log.append(one(home, standing.version, request))
        return drive(self._journey(), log)

    def _journey(self) -> Journey[RunState]:
        checks = {"L1": self._check_l1, "census": self._take_census, "canary": self._fly_canaries}
        return run_journey(self._room.home, checks)

    def _check_l1(self, state: RunState, request: RunRequested) -> tuple[Event, ...]:
        change = ChangeToCheck(
            self._room.repository.top,
            request.revision,
            request.base,
            fresh=self._room.asked.fresh,
            at_once=True,
            waivers=self._room.config.tiers.waivers,
            today=self._room.clock.now().date(),
        )
        return check_change(self._l1, change, self._room.ports, state.known).events

    def _take_census(self, state: RunState, request: RunRequested) -> tuple[Event, ...]:
        room, today = self._room, datetime.now(UTC).date()
        owner, expected, allowed = room.repository.top, state.expected, room.config.allowed_skip
        return take_census(self._l1, owner, request.revision, room.ports, state.known, expected, allowed, today)

    def _fly_canaries(self, state: RunState, request: RunRequested) -> tuple[Event, ...]:
        room, asked = self._room, self._room.asked
        written, owner = room.config.canary, room.repository.top
        return fly_canaries(
            self._l1, written, owner, request.revision, room.ports, state.known, asked.mutants, asked.seed
        )


def run_l1(asked: Asked, revision: str, base: str | None, say: Callable[[str], None]) -> Answer:
    """Run L1 on a revision of the fork and record it. Raises HeadwayError for bad input; the verdict is a value."""
    with opened(asked) as room:
        commit, against = room.commit(revision), room.commit(base) if base else None
        say(f"L1 on {commit[:12]}: `{room.l1.test.run}` in a clone of its own …")
        judged = Requests(room).answer(RunRequested("L1", commit, against)).judged
        assert judged is not None
        return Answer(json.loads(room.text(judged.evidence)), room.notes)


def run_census(asked: Asked, revision: str, accept: str, by: str, say: Callable[[str], None]) -> Answer:
    """Take the census of a revision. `accept` (a reason) makes it the new ratchet. Raises HeadwayError, CouldNotRun."""
    with opened(asked) as room:
        commit = room.commit(revision)
        say(f"census of {commit[:12]}: `{room.l1.test.run}` in a clone of its own …")
        taken = Requests(room).answer(RunRequested("census", commit)).census
        assert taken is not None
        evidence = room.text(taken.evidence)
        if accept:
            room.append(CensusAccepted(commit, inventory_of(evidence), by, accept))
        return Answer({**json.loads(evidence), "accepted": bool(accept)}, room.notes)


def run_canaries(asked: Asked, revision: str, say: Callable[[str], None]) -> Answer:
    """Show L1 known-bad changes of a revision. Raises HeadwayError for a hand-written one that does not fit."""
    with opened(asked) as room:
        commit = room.commit(revision)
        say(f"canaries on {commit[:12]}: `{room.l1.test.run}` on each …")
        flight = Requests(room).answer(RunRequested("canary", commit)).canaries
        assert flight is not None
        return Answer(json.loads(room.text(flight.evidence)), room.notes)
