"""What people decide about a change, as facts for the ledger: the same for the inbox and for a direct verb."""

from collections.abc import Iterable

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_core import PersonDecided
from headway.core.events_resolve import Resolved
from headway.core.events_sync import Disposed, Reopened
from headway.core.journey import Facts
from headway.core.names import BlobId, Sha
from headway.core.reasons import Reason
from headway.sync.accounting import Ledger, apply
from headway.sync.room import Room

VERDICTS = ("wont_port", "pick", "later")


def check_decision(ledger: Ledger, decision: PersonDecided) -> None:
    """Raises HeadwayError where the decision makes no sense for this ledger; says what would."""
    change = Sha(decision.subject)
    if change not in ledger.changes:
        raise HeadwayError(
            f"{change[:12]} is not an upstream change in this fork's range.", "`headway sync plan` lists those pending."
        )
    if decision.verb == "resolve" and not {"conflict", "answer"} <= decision.args.keys():
        raise HeadwayError(f"The answer for {change[:12]} names no conflict.", "Use `headway sync resolve`.")
    verdict = decision.args.get("verdict", "")
    if decision.verb == "decide" and verdict not in VERDICTS:
        raise HeadwayError(f"{verdict!r} is not a decision.", "Say wont_port, pick or later.")
    found = ledger.dispositions.get(change)
    if found is not None and found.kind == "picked" and found.by == "run":
        raise HeadwayError(
            f"{change[:12]} has landed as {found.landed[:12]}.",
            "Revert that commit on trunk; it then is pending again.",
        )
    if decision.verb == "retry" and (found is None or found.kind != "deferred"):
        state = "pending" if found is None else found.kind
        raise HeadwayError(
            f"{change[:12]} is {state}, not deferred, so there is nothing to try again.",
            "`headway sync decide SHA pick` takes back any other answer.",
        )


def decided(room: Room, ledger: Ledger, decisions: Iterable[tuple[int, PersonDecided]]) -> Facts:
    """Every decision in order, each against the ledger that the ones before it left. Senseless ones change nothing."""
    facts: dict[Sha, tuple[Event, ...]] = {}
    for _, decision in decisions:
        try:
            check_decision(ledger, decision)
        except HeadwayError:
            continue  # the world moved on since it was left (it landed meanwhile); the inbox keeps what was asked
        events = events_of(room, ledger, decision)
        for event in events:
            ledger = apply(ledger, event)
        facts[Sha(decision.subject)] = (*facts.get(Sha(decision.subject), ()), *events)
    return room.facts(about=facts)


def events_of(room: Room, ledger: Ledger, decision: PersonDecided) -> tuple[Event, ...]:
    """What one decision means: an answer taken back, a new answer, or both."""
    change = Sha(decision.subject)
    said = {"by": decision.by, "why": decision.args.get("reason", ""), "verb": decision.verb}
    evidence = room.keep(said | {"verdict": decision.args.get("verdict", "")})
    events: list[Event] = []
    if decision.verb == "resolve":
        if change in ledger.dispositions:
            events.append(Reopened(change, "person", evidence))
        answer = BlobId(decision.args["answer"])
        return (*events, Resolved(change, decision.args["conflict"], "human", decision.by, answer))
    verdict = "pick" if decision.verb in ("retry", "pick") else decision.args["verdict"]
    if change in ledger.dispositions or verdict == "pick":
        events.append(Reopened(change, "person", evidence, forced=decision.verb != "retry" and verdict == "pick"))
    if verdict == "wont_port":
        events.append(Disposed(change, "wont_port", "person", "proven", Reason.POLICY, evidence))
    elif verdict == "later":
        events.append(Disposed(change, "deferred", "person", "proven", Reason.POLICY, evidence))
    return tuple(events)
