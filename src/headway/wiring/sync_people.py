"""What people say to a fork's ledger: decide, retry, pick ahead, undo. Where a loop runs, it is left in the inbox."""

import getpass
from pathlib import Path

from headway.adapters.locks import LockHeld
from headway.core.events_core import PersonDecided
from headway.core.inbox import leave
from headway.core.journey import Facts
from headway.core.names import Sha
from headway.sync.accounting import Ledger
from headway.sync.commit_journey import say, take_changes, undo
from headway.sync.decisions import check_decision, events_of
from headway.sync.haste import hastened, needs_of
from headway.sync.reading import Reading
from headway.sync.status import Status
from headway.sync.steps import Orders, Steps
from headway.sync.undo_steps import Wish
from headway.wiring.sync import (
    Session,
    change_named,
    open_session,
    refuse_unfit,
    refuse_unopened,
    room_to_land,
    room_with_agent,
    status_now,
    tip_of,
)
from headway.wiring.world import World, real_world


def decide(
    path: Path, state: Path | None, names: tuple[str, ...], decision: tuple[str, str, str], *, dry_run: bool = False
) -> list[str]:
    """A person's decision `(verb, verdict, reason)` on changes; one line each: done, or left for the running loop."""
    verb, verdict, reason = decision
    world = real_world()
    with open_session(path, state, world, write=False) as session:
        ledger = session.room.ledger()
        decisions = []
        for name in names or _retryable(ledger):
            args = {"reason": reason, **({"verdict": verdict} if verdict else {})}
            one = PersonDecided("retry" if verb == "retry" else "decide", change_named(session, name), user(), args)
            check_decision(ledger, one)
            decisions.append(one)
    if dry_run:
        return [f"{one.subject[:12]}: would be done ({verdict or verb})" for one in decisions]
    said: list[str] = []
    try:
        with open_session(path, state, world, write=True) as session:
            for one in decisions:
                decide_now(session, one)
                said.append(f"{one.subject[:12]}: done")
    except LockHeld:
        said += _left(path, state, decisions[len(said) :])
    return said


def pick(path: Path, state: Path | None, name: str, reason: str, *, dry_run: bool) -> tuple[list[str], Status | None]:
    """`headway sync pick SHA`: land it now, with what it needs. (lines, the status; None where the loop does it)."""
    world = real_world()
    with open_session(path, state, world, write=False) as session:
        refuse_unopened(session.room)
        ledger, tip = session.room.ledger(), tip_of(session)
        one = PersonDecided("pick", change_named(session, name), user(), {"reason": reason})
        check_decision(ledger, one)
        reading = Reading(session.room)
        needs = needs_of(reading, ledger, Sha(one.subject), tip)
    said = [f"{one.subject[:12]} needs {need[:12]}" for need in needs]
    if dry_run:
        return [*said, f"{one.subject[:12]}: would be picked ahead"], None
    try:
        with open_session(path, state, world, write=True) as session:
            refuse_unfit(session)
            with room_with_agent(session, world) as room:
                say(room, lambda now: room.facts(about=hastened(Reading(room), now, one, tip)))
                take_changes(room, Orders(urgent_only=True))
            return said, status_now(session, world)
    except LockHeld:
        return [*said, *_left(path, state, [one])], None


def undo_landing(
    path: Path,
    state: Path | None,
    landing: str,
    reason: str,
    *,
    later: bool,
    dry_run: bool,
    world: World | None = None,
) -> tuple[list[str], Status | None]:
    """`headway sync undo LANDING`: (lines, the status afterwards). Raises where it cannot be taken back."""
    world = world or real_world()
    with open_session(path, state, world, write=not dry_run) as session:
        refuse_unopened(session.room)
        steps = Steps(session.room, Orders())
        landed = steps.undoing.landing_named(session.room.ledger(), landing)
        changes = [f"{change[:12]}" for change in landed.changes]
        if dry_run:
            return [f"{landed.commit[:12]}: would be taken back, with {', '.join(changes)}"], None
        refuse_unfit(session)
        undo(room_to_land(session, world), Wish(landing, user(), reason, later))
        then = "deferred" if later else "pending again; `headway sync decide SHA later` keeps the next run from it"
        return [f"{landed.commit[:12]}: taken back; {', '.join(changes)}: {then}"], status_now(session, world)


def _left(path: Path, state: Path | None, decisions: list[PersonDecided]) -> list[str]:
    with open_session(path, state, real_world(), write=False, append=True) as session:
        for one in decisions:
            leave(session.state.log, session.room.home, one)
    return [f"{one.subject[:12]}: left for the running loop" for one in decisions]


def decide_now(session: Session, one: PersonDecided) -> None:
    room = session.room

    def what(ledger: Ledger) -> Facts:
        check_decision(ledger, one)
        return room.facts(about={Sha(one.subject): events_of(room, ledger, one)})

    say(room, what)


def _retryable(ledger: Ledger) -> tuple[str, ...]:
    """`retry` without names: every deferral."""
    return tuple(change for change, found in ledger.dispositions.items() if found.kind == "deferred")


def user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
