"""A failure that comes and goes: told apart from a new one by reruns on both sides, never by its name or its past."""

from typing import Literal

from headway.core.counts import Tally, chance_of_worse

SIGNIFICANCE = 0.05
"""A change is called flakier than its base below this chance of seeing as much by luck."""

Kind = Literal["new", "flaky", "regressed_flakiness"]


def classify(change: Tally, base: Tally) -> Kind:
    """Of one test that failed on the change, from all runs of both.

    `flaky` needs proof from both sides: it failed on the base as well, passed on the change as well, and the rates do
    not differ for certain. Failing for certain more often than on the base is `regressed_flakiness`. The rest is `new`.
    """
    if change.failed == change.runs and base.failed == 0:
        return "new"
    if chance_of_worse(change, base) < SIGNIFICANCE:
        return "regressed_flakiness"
    if base.failed > 0 and (change.failed < change.runs or base.failed == base.runs):
        return "flaky"
    return "new"
