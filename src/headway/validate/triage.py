"""Before anybody is blamed: is it the code, the method, the machine, or nothing at all? Pure decisions over facts.

The facts come from running the old and the new revision again, in turn, on today's machine with today's suite:
what the old revision does now tells whether the tree matters at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median

from headway.core.events_validate_tiers import Cause

TURNS = 2
"""Runs of each end, interleaved: a drift of the machine must not look like a difference of the trees."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Badness of each run made for the triage, in order: 0 or 1 for a test (1: it failed), a value for a metric.

    `limit` tells well from bad: 0.5 for a test. `swapped`: the new revision with the old revision's own measuring code;
    empty where there is none or it did not change.
    """

    old: tuple[float, ...]
    new: tuple[float, ...]
    limit: float
    lower_is_better: bool = True
    swapped: tuple[float, ...] = ()
    definition_changed: bool = False
    environment_changed: bool = False
    words: str = ""
    """Kind of infrastructure trouble that the failure itself shows, or ""."""


@dataclass(frozen=True, slots=True)
class Triaged:
    """The cause, and why in one sentence."""

    cause: Cause
    why: str


def triage(ends: Ends) -> Triaged:
    """What the facts say. `unknown` where an end could not be run."""
    if ends.words:
        return Triaged("infrastructure", f"its own words show trouble of the machine ({ends.words})")
    if not ends.new:
        return Triaged("unknown", "the new revision could not be run again")
    if not any(_bad(value, ends) for value in ends.new):
        return Triaged("noise", f"run again {len(ends.new)} times on the same revision, it was well every time")
    if not ends.old:
        return Triaged("unknown", "no revision is known, or could be run, that is without it")
    if all(_bad(value, ends) for value in ends.old):
        if ends.environment_changed or not ends.definition_changed:
            what = "the environment changed since" if ends.environment_changed else "nothing in the tree explains it"
            return Triaged("hardware", f"the old revision does the same on this machine today, and {what}")
        return Triaged("method", "the old revision does the same under today's definition of the suite")
    if ends.swapped and not any(_bad(value, ends) for value in ends.swapped):
        return Triaged("method", "with the old revision's own measuring code the new revision is as before")
    return Triaged("code", "the old revision is well on this machine today, and the new one is not")


def limit_between(level: float, value: float) -> float:
    """The value that separates the old level from the new one: half way by ratio, or by difference around zero."""
    if level > 0 and value > 0:
        return sqrt(level * value)
    return (level + value) / 2


def differ(old: Sequence[float], new: Sequence[float], *, lower_is_better: bool) -> bool:
    """Whether the new end is worse than the old one in every pairing: no value of one lies among the other's."""
    return bool(old and new) and (min(new) > max(old) if lower_is_better else max(new) < min(old))


def middle(values: Sequence[float]) -> float:
    """The median. Raises StatisticsError for none."""
    return median(values)


def _bad(value: float, ends: Ends) -> bool:
    return value > ends.limit if ends.lower_is_better else value < ends.limit
