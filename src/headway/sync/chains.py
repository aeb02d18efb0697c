"""Chains in a run: who is blocked by whom, who is tried again when the blocker is settled, and who travels alone. Pure.

An edge is a hint (`dependencies.py`), so a change that passes on its own lands although something it may need is
deferred. It waits only where its own trial shows that something is missing: the pick fails, or what is picked uses a
name that the fork does not have.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from headway.core.names import Sha
from headway.core.reasons import Reason
from headway.sync.accounting import Ledger
from headway.sync.dependencies import Edge
from headway.sync.languages import is_pin
from headway.sync.risk import risk_of, signals_of
from headway.sync.triage import Assessment, Decided, Ready, Triage

MISSING = frozenset({Reason.PROTECTED_PATH, Reason.UNKNOWN, Reason.POLICY})
"""Deferrals that no other change could have caused."""


def deferred_in(ledger: Ledger) -> frozenset[Sha]:
    """Changes that are not in the fork although upstream has them, and may come yet."""
    return frozenset(change for change, found in ledger.dispositions.items() if found.kind == "deferred")


def blocked(answer: Assessment, edges: Iterable[Edge], absent_from_fork: Callable[[str], bool]) -> Assessment:
    """`answer`, or a deferral that names the blockers. `edges` lead to deferred changes only.

    `absent_from_fork(name)` is asked for names that a deferred change brings in and this one uses.
    """
    tied = [edge for edge in edges if edge.kind in ("textual", "structural")]
    if isinstance(answer, Decided):
        if answer.kind != "deferred" or answer.by != "run" or answer.reason in MISSING:
            return answer
        return _waiting(answer, tied, answer.reason) if tied else answer
    used = [edge for edge in tied if edge.kind == "structural" and absent_from_fork(edge.why)]
    if not used:
        return answer
    return _waiting(Decided(answer.change, "deferred", Reason.NEEDS_BLOCKED, answer.facts), used, "")


def blockers_in(answer: Decided) -> tuple[Sha, ...]:
    """Whom a blocked change waits for."""
    return tuple(Sha(one["change"]) for one in answer.facts.get("blockers", ()))


def released(ledger: Ledger) -> Mapping[Sha, tuple[Sha, ...]]:
    """Waiting change -> blockers of it that have landed or are decided, so that it can be tried again."""
    found: dict[Sha, tuple[Sha, ...]] = {}
    for change, on in ledger.waits.items():
        answer = ledger.dispositions.get(change)
        if answer is None or answer.kind != "deferred" or answer.by != "run":
            continue
        settled = tuple(one for one in on if one in ledger.dispositions and ledger.dispositions[one].kind != "deferred")
        if settled:
            found[change] = settled
    return found


def travels_alone(ledger: Ledger, answer: Ready, triage: Triage, edges: Callable[[], Iterable[Edge]]) -> str:
    """Why a change goes to L1 by itself, or "": a suspect, an urgent one, a toolchain pin, or a risky resolution."""
    change = answer.change
    if change in ledger.suspects:
        return "suspect"
    if change in ledger.urgent:
        return "urgent"
    if any(is_pin(one.path) for one in triage.effects[change]):
        return "toolchain"
    if answer.facts.get("result") != "conflict":
        return ""
    absent = frozenset(str(sha) for sha in deferred_in(ledger))
    files = len(answer.facts.get("paths", ()))
    risk = risk_of(signals_of((), edges(), alone=files, in_order=True, unresolved=0, absent=absent))
    return "risky" if risk.is_risky else ""


def _waiting(answer: Decided, tied: Iterable[Edge], failed: str) -> Decided:
    blockers = [{"change": edge.on, "kind": edge.kind, "why": edge.why} for edge in tied]
    facts = {**answer.facts, "blockers": blockers, **({"failed": failed} if failed else {})}
    return replace(answer, reason=Reason.NEEDS_BLOCKED, facts=facts)
