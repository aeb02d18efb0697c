"""Gates: pure functions from facts to a verdict. A gate never calls a model and never touches the world.

"Could not run" is a third answer of its own: it is never rounded to passed or to refused.
"""

from dataclasses import dataclass
from typing import Literal

from headway.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Passed:
    """Every fact the gate asked for was there, and in bounds."""

    kind: Literal["passed"] = "passed"


@dataclass(frozen=True, slots=True)
class Refused:
    """The gate says no: why (from the closed list), what exactly, and what to do next."""

    reason: Reason
    message: str
    next: str
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True)
class NotDecided:
    """The facts could not be had (no compiler, a dead machine, a timeout of ours): decided nothing."""

    reason: Reason
    message: str
    next: str = ""
    kind: Literal["could_not_run"] = "could_not_run"


Verdict = Passed | Refused | NotDecided

PASSED = Passed()
