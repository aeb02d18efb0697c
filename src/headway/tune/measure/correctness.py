"""Is a candidate right? Pure, over the judge's facts. The judge may refuse earlier; this gate looks again."""

import math
from collections.abc import Sequence

from headway.core.gates import PASSED, NotDecided, Refused, Verdict
from headway.core.ports.worker import CaseFact
from headway.core.reasons import Reason
from headway.core.task import Task


def correct(task: Task, mode: str, facts: Sequence[CaseFact]) -> Verdict:
    """Passed only if every case that `mode` asks for was checked, and every fact is within its tolerance."""
    for fact in facts:
        if not math.isfinite(fact.error):
            return Refused(
                Reason.NOT_FINITE,
                f"Case {_shown(fact)}: the result has NaN or Inf where the oracle is finite.",
                "Find where it overflows or divides by zero.",
            )
        if not fact.ok or fact.error > fact.tolerance:
            return Refused(
                Reason.WRONG_RESULT,
                f"Case {_shown(fact)}: error {fact.error:.3g}, allowed {fact.tolerance:.3g}.",
                fact.detail if fact.detail and not fact.held_out else "Check the mathematics against the signature.",
            )
    missing = {case.name for case in task.cases} - {fact.case for fact in facts} if mode == "full" else set()
    if missing or not facts:
        shown = ", ".join(sorted(missing)) or "any case"
        return NotDecided(Reason.INFRASTRUCTURE, f"The judge did not check {shown}.")
    return PASSED


def worst_of(facts: Sequence[CaseFact]) -> float:
    """The largest error / tolerance; 0.0 for no facts."""
    return max((fact.error / fact.tolerance if fact.tolerance else 0.0 for fact in facts), default=0.0)


def _shown(fact: CaseFact) -> str:
    """Held-out cases are not named: a name would tell sizes."""
    return "(held out)" if fact.held_out else fact.case
