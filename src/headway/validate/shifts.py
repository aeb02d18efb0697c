"""Did a metric get worse with its newest value? A pure look at the series; what it suspects is measured again before
anybody is blamed, so it may be quick to suspect."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

LEAST_STEP = 0.02
"""Smaller relative steps are not looked into from one value."""
NOISE_FACTOR = 4.0
WINDOW = 20


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a series and the revision it was measured on; a series is oldest first."""

    revision: str
    value: float


@dataclass(frozen=True, slots=True)
class Shift:
    """`good` is the newest revision whose value still was at the old `level`; `ratio` is new to old."""

    good: str
    level: float
    value: float
    ratio: float


def got_worse(series: Sequence[Point], *, lower_is_better: bool) -> Shift | None:
    """Whether the newest point is worse than the level of those before it by more than their own scatter."""
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
