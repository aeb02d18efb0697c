"""The arithmetic of change points: splits, robust scatter, steps against a line. numpy and scipy are loaded with it,
which takes a second: only `change_points` imports it, and only for a series that is long enough."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

Floats = NDArray[np.float64]

ROBUST = 1.4826
"""Median absolute deviation to standard deviation, for normal noise."""
DIFFERENCES = 1.0483
"""Median absolute difference of neighbours to standard deviation, for normal noise: immune to steps."""


def as_series(values: Sequence[float]) -> Floats:
    """The values as the other functions take them."""
    return np.asarray(values, dtype=np.float64)


def drawn_in(run: Floats, clip: float) -> Floats:
    """No value further from the run's median than `clip` times its scatter.

    Scatter is the smaller of two robust estimates, since a late step blows one of them up; a run of equal values has
    none, and keeps every value.
    """
    middle = np.median(run)
    scatter = min(ROBUST * np.median(np.abs(run - middle)), DIFFERENCES * np.median(np.abs(np.diff(run))))
    return run if scatter <= 0 else np.clip(run, middle - clip * scatter, middle + clip * scatter)


def split(run: Floats, places: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """For each place: Student's statistic as a normal deviate, and the means of both sides."""
    count, sums, squares = len(run), np.cumsum(run), np.cumsum(run * run)
    left, right = sums[places - 1] / places, (sums[-1] - sums[places - 1]) / (count - places)
    inside = squares[-1] - places * left**2 - (count - places) * right**2
    # rounding must not make noise out of a run of equal values, nor hide a step of exact counts
    variance = np.maximum(inside / (count - 2), (1e-9 * np.abs(run).max()) ** 2 + 1e-300)
    statistic = np.abs(right - left) / np.sqrt(variance * (1 / places + 1 / (count - places)))
    tail = np.maximum(stdtr(count - 2, -statistic), 1e-300)
    return -ndtri(tail), left, right


def best_split(run: Floats, first: int, last: int, spread: float) -> tuple[int, int, int, float, float]:
    """(place, earliest, latest, its deviate, mean before it): the best place from `first` to `last`, and the outermost
    ones whose deviate is at most `spread` below."""
    places = np.arange(first, last + 1)
    deviates, left, _ = split(run, places)
    best = int(np.argmax(deviates))
    near = places[deviates >= deviates[best] - spread]
    return int(places[best]), int(near[0]), int(near[-1]), float(deviates[best]), float(left[best])


def levels(run: Floats, place: int) -> tuple[float, float]:
    """The medians of both sides."""
    return float(np.median(run[:place])), float(np.median(run[place:]))


def one_value_makes_it(after: Floats, before: float) -> bool:
    """Whether the new level is mostly one value: the others alone keep less than half of the step.

    Only where a series has no scatter (counts of a compiler) is an outlier not drawn in; there it must not be a step.
    """
    others = np.delete(after, np.argmax(np.abs(after - before)))
    return abs(float(others.mean()) - before) < abs(float(after.mean()) - before) / 2


def for_steps(run: Floats, places: Sequence[int]) -> float:
    """How much better steps at `places` explain the run than one straight line: n log of the residues' ratio.

    Positive for steps. The steps have more to choose from, so that a fair comparison asks for more than zero.
    """
    at = np.arange(len(run)) - (len(run) - 1) / 2
    slope = float(at @ run) / float(at @ at)
    line = float(np.sum((run - run.mean() - slope * at) ** 2))
    parts = np.split(run, list(places))
    steps = float(sum(np.sum((part - part.mean()) ** 2) for part in parts if len(part)))
    if steps <= 0 or line <= 0:
        return float("-inf") if line < steps else float("inf")
    return len(run) * float(np.log(line / steps))
