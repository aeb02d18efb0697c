"""Urgent picks: a change ahead of the frontier, with what it cannot land without. They do not move days behind."""

from collections.abc import Iterable

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_core import PersonDecided
from headway.core.events_loop import Hastened
from headway.core.events_sync import Reopened
from headway.core.names import Sha
from headway.sync.accounting import Ledger
from headway.sync.decisions import check_decision
from headway.sync.dependencies import Dependencies
from headway.sync.reading import Reading
from headway.sync.triage import Ready


def hastened(reading: Reading, ledger: Ledger, decision: PersonDecided, tip: Sha) -> dict[Sha, tuple[Event, ...]]:
    """What `pick` means for the ledger: the change (and what it needs) is pending, forced and ahead of all others.

    Raises HeadwayError where the change has landed, is not in range, or cannot be picked even with what it needs.
    """
    check_decision(ledger, decision)
    change = Sha(decision.subject)
    needs = needs_of(reading, ledger, change, tip)
    evidence = reading.room.keep({"by": decision.by, "why": decision.args.get("reason", ""), "needs": list(needs)})
    about: dict[Sha, tuple[Event, ...]] = {}
    for one in (*needs, change):
        if one in ledger.dispositions or one == change:
            about[one] = (Reopened(one, "person", evidence, forced=True),)
    about[change] = (*about[change], Hastened(change, needs, decision.by, evidence))
    return about


def needs_of(reading: Reading, ledger: Ledger, change: Sha, tip: Sha) -> tuple[Sha, ...]:
    """The pending or deferred changes that must land first, oldest first; none where the pick stands alone.

    Edges are hints, so they are put to a trial: first the change alone, then on top of all that it is said to need.
    """
    answer = reading.assessment(ledger, change, tip)
    graph = reading.needs(ledger)
    absent = frozenset(
        one for one in ledger.changes if one not in ledger.dispositions or ledger.dispositions[one].kind == "deferred"
    )
    used = [edge for edge in graph.of(change, absent) if edge.kind == "structural"]
    if isinstance(answer, Ready) and not any(not reading.room.trees.mentions(tip, edge.why) for edge in used):
        return ()
    needs = closure(graph, change, absent, ledger.changes)
    onto: str = tip
    for one in (*needs, change):
        step = reading.assessment(ledger, one, onto)
        if isinstance(step, Ready):
            onto = step.tree
        elif step.kind == "deferred":
            with_what = f" with the {len(needs)} changes that it needs" if needs else ""
            which = "" if one == change else f" ({one[:12]} of those)"
            raise HeadwayError(
                f"{change[:12]} cannot be picked ahead{with_what}: {step.reason}{which}.",
                f"`headway sync show {one[:12]}` after a run tells more; resolve it, or let it come in order.",
            )
    return needs


def closure(graph: Dependencies, change: Sha, absent: frozenset[Sha], order: Iterable[Sha]) -> tuple[Sha, ...]:
    """All of `absent` that `change` needs, directly or not, in upstream's order."""
    found: set[Sha] = set()
    waiting = [change]
    while waiting:
        for edge in graph.of(waiting.pop(), absent):
            if edge.kind != "declared" and edge.on not in found and edge.on != change:
                found.add(edge.on)
                waiting.append(edge.on)
    return tuple(one for one in order if one in found)
