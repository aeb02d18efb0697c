"""Both ends of a range run again, in turn, on today's machine: the facts that triage decides from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headway.core.names import Sha, TestId
from headway.validate.culprit_run import WHOLE
from headway.validate.results import SuiteResult

Run = Callable[[Sha], SuiteResult]
"""Runs the suite once on a revision, now; nothing is recalled."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about: tests of which any may fail, or one metric."""

    tests: tuple[TestId, ...] = ()
    metric: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """Badness per run, in the order they were made (see `triage.Ends`); runs that said nothing are left out."""

    old: tuple[float, ...]
    new: tuple[float, ...]
    seconds: float


def measure_ends(run: Run, subject: Subject, good: Sha | None, bad: Sha, turns: int) -> Measured:
    """`turns` runs of each end: new, old, old, new, … so that a steady drift cancels."""
    order = [end for turn in range(turns) for end in (("new", "old") if turn % 2 == 0 else ("old", "new"))]
    found: dict[str, list[float]] = {"old": [], "new": []}
    seconds = 0.0
    for end in order:
        commit = bad if end == "new" else good
        if commit is None:
            continue
        result = run(commit)
        seconds += sum(step.seconds for step in result.steps)
        badness = badness_of(result, subject)
        if badness is not None:
            found[end].append(badness)
    return Measured(tuple(found["old"]), tuple(found["new"]), seconds)


def badness_of(result: SuiteResult, subject: Subject) -> float | None:
    """One number for one run, None if it says nothing. A test that does not exist there is well: it is born later."""
    if subject.metric:
        return next((one.value for one in result.metrics if one.name == subject.metric), None)
    if result.trouble:
        return 1.0 if WHOLE in subject.tests and result.trouble not in ("no_command", "no_compiler") else None
    return float(bool(result.failed() & frozenset(subject.tests)))


def values(samples: Iterable[float]) -> str:
    """For people: `0.101, 0.103`."""
    return ", ".join(f"{value:.6g}" for value in samples)
