"""Did a metric get worse with its newest value? A pure look at the series; what it suspects is measured again before
anybody is blamed, so it may be quick to suspect: one value far off is enough. Steps that no single value shows are
left to the change points of the series, which need a few values of the new level and know where it began."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from headway.validate.change_points import newest_change

LEAST_STEP = 0.02
"""Smaller relative steps are not looked into from one value."""
NOISE_FACTOR = 4.0
WINDOW = 20
LONG_WINDOW = 250
"""Values that change points are looked for in."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a series and the revision it was measured on; a series is oldest first."""

    revision: str
    value: float


@dataclass(frozen=True, slots=True)
class Shift:
    """`good` is the newest revision whose value still was at the old `level`; `ratio` is new to old (from 0: new)."""

    good: str
    level: float
    value: float
    ratio: float


def got_worse(series: Sequence[Point], *, lower_is_better: bool) -> Shift | None:
    """Whether the newest point is worse than those before it by more than their scatter, or shows that some were."""
    jumped = _jumped(series, lower_is_better=lower_is_better)
    return jumped if jumped is not None else _crept(series[-LONG_WINDOW:], lower_is_better=lower_is_better)


def _crept(series: Sequence[Point], *, lower_is_better: bool) -> Shift | None:
    """A change point that became known with the newest value. Its `good` lies before every place it may have."""
    change = newest_change([point.value for point in series])
    if change is None or not change.worse(lower_is_better=lower_is_better):
        return None
    good = series[max(0, change.earliest - 1)].revision
    return Shift(good, change.before, change.after, change.after / change.before if change.before else change.after)


def _jumped(series: Sequence[Point], *, lower_is_better: bool) -> Shift | None:
    before, newest = series[-WINDOW - 1 : -1], series[-1] if series else None
    if newest is None or not before:
        return None
    level = median(point.value for point in before)
    if level == 0:
        return None
    scatter = 1.4826 * median(abs(point.value - level) for point in before) / abs(level)
    limit = max(LEAST_STEP, NOISE_FACTOR * scatter)
    step = (newest.value - level) / abs(level) * (1 if lower_is_better else -1)
    if step <= limit:
        return None

    def still_well(point: Point) -> bool:
        return (point.value - level) / abs(level) * (1 if lower_is_better else -1) <= limit

    good = next((point.revision for point in reversed(before) if still_well(point)), before[0].revision)
    return Shift(good, level, newest.value, newest.value / level)
