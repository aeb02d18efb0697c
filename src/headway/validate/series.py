"""A suite's measurements over time, one series for each metric, and where its level changed. Pure.

What a series shows by itself about a change's cause is a hint, not a verdict: `triage.py` measures both ends again
before anybody is blamed. The hint says what that will most likely find, and which revisions a search would cover.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headway.core.config_tiers import SuiteConfig
from headway.core.events_validate_tiers import Cause, SuiteReported
from headway.core.names import Digest
from headway.validate.change_points import DEFAULT, Change, Policy, changes, relocated
from headway.validate.results import SuiteResult

TOGETHER = 0.5
"""Share of a suite's series that must change at one place before the place is suspected and not the code."""
LEAST_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class Point:
    """One value, the revision it was measured on, and what measured it where: digests of suite and environment."""

    revision: str
    started: str
    value: float
    definition: Digest
    environment: Digest


@dataclass(frozen=True, slots=True)
class Series:
    """All values of one metric of one suite, oldest run first."""

    suite: str
    metric: str
    unit: str
    lower_is_better: bool
    points: tuple[Point, ...]

    @property
    def values(self) -> tuple[float, ...]:
        """The values alone."""
        return tuple(point.value for point in self.points)


@dataclass(frozen=True, slots=True)
class Shifted:
    """A change of level in a series. A search would look after `good`, up to `bad`; `noticed` is the run that told."""

    change: Change
    worse: bool
    good: str
    bad: str
    noticed: str
    hint: Cause
    why: str


def series_of(
    suite: SuiteConfig, reports: Iterable[SuiteReported], result_of: Callable[[SuiteReported], SuiteResult]
) -> tuple[Series, ...]:
    """One series for each metric that any report has, in the order of their names. Reports come oldest first."""
    points: dict[str, list[Point]] = defaultdict(list)
    units: dict[str, str] = {}
    for report in reports:
        for metric in result_of(report).metrics:
            one = Point(report.revision, report.started, metric.value, report.definition, report.environment)
            points[metric.name].append(one)
            units[metric.name] = metric.unit
    return tuple(
        Series(suite.name, name, units[name], suite.lower_is_better(name), tuple(points[name]))
        for name in sorted(points)
    )


def shifts_of(every: Sequence[Series], policy: Policy = DEFAULT) -> dict[str, tuple[Shifted, ...]]:
    """By metric, every change of one suite's series, each with its hint."""
    found = {one.metric: relocated(one.values, changes(one.values, policy), policy) for one in every}
    steps = [(one, change) for one in every for change in found[one.metric] if change.kind == "step"]
    return {one.metric: tuple(_shifted(one, change, every, steps) for change in found[one.metric]) for one in every}


def _shifted(
    series: Series, change: Change, every: Sequence[Series], steps: Sequence[tuple[Series, Change]]
) -> Shifted:
    points = series.points
    good, bad = points[max(0, change.earliest - 1)], points[change.latest]
    hint, why = _hint(series, change, every, steps)
    worse = change.worse(lower_is_better=series.lower_is_better)
    return Shifted(change, worse, good.revision, bad.revision, points[change.known_at].started, hint, why)


def _hint(
    series: Series, change: Change, every: Sequence[Series], steps: Sequence[tuple[Series, Change]]
) -> tuple[Cause, str]:
    """Method, then machine, then code: the first that the series cannot exclude."""
    if change.kind == "drift":
        return "unknown", "it moves slowly, and no one change made it"
    before, after = series.points[change.index - 1], series.points[change.index]
    if before.definition != after.definition:
        return "method", "the suite's definition changed with that very run"
    moved = {other.metric for other, step in steps if _same_place(series, change, other, step)}
    if len(moved) >= LEAST_TOGETHER and len(moved) >= TOGETHER * len(every):
        return "hardware", f"{len(moved)} of the suite's {len(every)} series changed at the same place"
    if before.environment != after.environment:
        return "hardware", "the environment changed with that very run"
    good, bad = series.points[max(0, change.earliest - 1)], series.points[change.latest]
    if good.revision == bad.revision:
        return "hardware", "no commit lies between the levels"
    return "code", "nothing but the revision changed there"


def _same_place(series: Series, change: Change, other: Series, step: Change) -> bool:
    """Whether two steps may be one event: the runs that could have begun them overlap, and both are worse or better."""
    ours = {point.started for point in series.points[change.earliest : change.latest + 1]}
    theirs = {point.started for point in other.points[step.earliest : step.latest + 1]}
    alike = change.worse(lower_is_better=series.lower_is_better) == step.worse(lower_is_better=other.lower_is_better)
    return alike and bool(ours & theirs)
