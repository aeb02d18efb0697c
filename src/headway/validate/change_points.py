"""Where does a series of measurements change its level? Pure, and the same for every prefix: no alarm is taken back.

One value arrives at a time. The run of values since the last change is split at every place; the largest Student
statistic between the two sides, as a normal deviate, must pass a bar that was calibrated on series without a change.
Values are first drawn in to three times the run's own scatter, so that one outlier weighs no more than any bad value
and can never be an alarm alone. A run that a straight line fits better than a step is a drift: it has no culprit.

Chosen by measurement against Apache Otava and ruptures: `python -m benchmarks.change_points`, docs/benchmarks.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

Floats = NDArray[np.float64]

SPREAD = 1.3
"""Places whose deviate is less than this below the best one's are nearly as good: covers the true place in nine of ten
series with a step of one standard deviation."""
LINE_HANDICAP = 1.0
"""Weight of the step's second parameter, in logarithms of the run's length: 1 is the usual criterion (BIC)."""
ROBUST = 1.4826
"""Median absolute deviation to standard deviation, for normal noise."""
DIFFERENCES = 1.0483
"""Median absolute difference of neighbours to standard deviation, for normal noise: immune to steps."""


@dataclass(frozen=True, slots=True)
class Policy:
    """`bar` in standard deviations: higher means fewer false alarms and later true ones (docs/benchmarks.md has both).

    `least` is the smallest relative change worth telling; `window` bounds how far back a run is looked at.
    """

    bar: float = 3.9
    least: float = 0.0
    before: int = 8
    after: int = 2
    window: int = 200
    clip: float = 3.0


@dataclass(frozen=True, slots=True)
class Change:
    """The level changed with value number `index` (from 0); it was known once `known_at` had arrived.

    `earliest` to `latest` are the places that explain the values nearly as well (a culprit search must cover them);
    `before` and `after` are the medians of both sides; `deviate` is the statistic that passed the bar.
    """

    kind: Literal["step", "drift"]
    index: int
    earliest: int
    latest: int
    known_at: int
    before: float
    after: float
    deviate: float

    @property
    def relative(self) -> float:
        """(after - before) / |before|; infinite where the level was zero."""
        return (self.after - self.before) / abs(self.before) if self.before else float("inf")

    def worse(self, *, lower_is_better: bool) -> bool:
        """Whether the new level is the worse one."""
        return (self.after > self.before) == lower_is_better


DEFAULT = Policy()


def changes(values: Sequence[float], policy: Policy = DEFAULT) -> tuple[Change, ...]:
    """Every change in the order it became known. A drift that goes on is one change.

    Raises ValueError for a value that is no finite number.
    """
    series: Floats = np.asarray(values, dtype=np.float64)
    if not np.isfinite(series).all():
        raise ValueError("a series holds finite numbers only")
    found: list[Change] = []
    start = 0
    for end in range(policy.before + policy.after, len(series) + 1):
        if end - start < policy.before + policy.after:
            continue
        change = _look(series, max(start, end - policy.window), end, policy)
        if change is None:
            continue
        if change.kind == "drift":
            start = end - policy.before  # its level is where it has drifted to
            if found and _goes_on(found[-1], change):
                found[-1] = replace(found[-1], latest=change.latest, after=change.after)
                continue
        else:
            start = change.index
        found.append(change)
    return tuple(found)


def newest_change(values: Sequence[float], policy: Policy = DEFAULT) -> Change | None:
    """The change that became known with the very last value, if one did: what a nightly run must look into."""
    found = changes(values, policy)
    return found[-1] if found and found[-1].known_at == len(values) - 1 else None


def relocated(values: Sequence[float], found: Sequence[Change], policy: Policy = DEFAULT) -> tuple[Change, ...]:
    """The same changes as all values show them; an alarm knew only a few of its new level.

    Each is placed, and called step or drift, anew between its neighbours. `known_at` stays: when the alarm was raised.
    """
    series: Floats = np.asarray(values, dtype=np.float64)
    ends = [0, *(one.index for one in found), len(series)]
    placed: list[Change] = []
    for number, one in enumerate(found):
        start, end = ends[number], min(ends[number + 2], one.index + policy.window)
        run = series[start:end]
        drawn = _drawn_in(run, policy.clip)
        places = np.arange(policy.after, len(run) - policy.after + 1)
        if not len(places):
            placed.append(one)
            continue
        deviates, _, _ = _split(drawn, places)
        best = int(np.argmax(deviates))
        near = places[deviates >= deviates[best] - SPREAD]
        before, after = _levels(run, int(places[best]))
        placed.append(
            replace(
                one,
                kind="drift" if _line_fits_better(drawn, int(places[best])) else "step",
                index=start + int(places[best]),
                earliest=start + int(near[0]),
                latest=start + int(near[-1]),
                before=before,
                after=after,
                deviate=float(deviates[best]),
            )
        )
    return tuple(placed)


def _look(series: Floats, start: int, end: int, policy: Policy) -> Change | None:
    run = series[start:end]
    drawn = _drawn_in(run, policy.clip)
    places = np.arange(policy.before, len(run) - policy.after + 1)
    deviates, left, _ = _split(drawn, places)
    best = int(np.argmax(deviates))
    if deviates[best] < policy.bar:
        return None
    if _one_value_makes_it(drawn[places[best] :], float(left[best])):
        return None
    before, after = _levels(run, int(places[best]))
    if abs(after - before) < policy.least * abs(before):
        return None
    near = places[deviates >= deviates[best] - SPREAD]
    return Change(
        kind="drift" if _line_fits_better(drawn, int(places[best])) else "step",
        index=start + int(places[best]),
        earliest=start + int(near[0]),
        latest=start + int(near[-1]),
        known_at=end - 1,
        before=before,
        after=after,
        deviate=float(deviates[best]),
    )


def _drawn_in(run: Floats, clip: float) -> Floats:
    """No value further from the run's median than `clip` times its scatter.

    Scatter is the smaller of two robust estimates, since a late step blows one of them up; a run of equal values has
    none, and keeps every value.
    """
    middle = np.median(run)
    scatter = min(ROBUST * np.median(np.abs(run - middle)), DIFFERENCES * np.median(np.abs(np.diff(run))))
    return run if scatter <= 0 else np.clip(run, middle - clip * scatter, middle + clip * scatter)


def _split(run: Floats, places: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """For each place: Student's statistic as a normal deviate, and the means of both sides."""
    count, sums, squares = len(run), np.cumsum(run), np.cumsum(run * run)
    left, right = sums[places - 1] / places, (sums[-1] - sums[places - 1]) / (count - places)
    inside = squares[-1] - places * left**2 - (count - places) * right**2
    # rounding must not make noise out of a run of equal values, nor hide a step of exact counts
    variance = np.maximum(inside / (count - 2), (1e-9 * np.abs(run).max()) ** 2 + 1e-300)
    statistic = np.abs(right - left) / np.sqrt(variance * (1 / places + 1 / (count - places)))
    tail = np.maximum(stdtr(count - 2, -statistic), 1e-300)
    return -ndtri(tail), left, right


def _levels(run: Floats, place: int) -> tuple[float, float]:
    return float(np.median(run[:place])), float(np.median(run[place:]))


def _one_value_makes_it(after: Floats, before: float) -> bool:
    """Whether the new level is mostly one value: the others alone keep less than half of the step.

    Only where a series has no scatter (counts of a compiler) is an outlier not drawn in; there it must not be a step.
    """
    others = np.delete(after, np.argmax(np.abs(after - before)))
    return abs(float(others.mean()) - before) < abs(float(after.mean()) - before) / 2


def _line_fits_better(run: Floats, place: int) -> bool:
    """Whether a straight line explains the run as well as one step, whose place was chosen besides (BIC)."""
    at = np.arange(len(run)) - (len(run) - 1) / 2
    slope = float(at @ run) / float(at @ at)
    line = float(np.sum((run - run.mean() - slope * at) ** 2))
    step = float(np.sum((run[:place] - run[:place].mean()) ** 2) + np.sum((run[place:] - run[place:].mean()) ** 2))
    if step <= 0 or line <= 0:
        return line < step
    return len(run) * float(np.log(line / step)) < LINE_HANDICAP * float(np.log(len(run)))


def _goes_on(known: Change, change: Change) -> bool:
    return known.kind == "drift" and (known.after > known.before) == (change.after > change.before)
