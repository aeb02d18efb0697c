"""Where does a series of measurements change its level? Pure, and the same for every prefix: no alarm is taken back.

One value arrives at a time. The run of values since the last change is split at every place; the largest Student
statistic between the two sides, as a normal deviate, must pass a bar that was calibrated on series without a change.
Values are first drawn in to three times the run's own scatter, so that one outlier weighs no more than any bad value
and can never be an alarm alone. What a straight line explains better than steps is a drift: it has no culprit.

Chosen by measurement against Apache Otava and ruptures: `python -m benchmarks.change_points`, docs/benchmarks.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, log
from typing import Any, Literal

SPREAD = 1.3
"""Places whose deviate is less than this below the best one's are nearly as good: covers the true place in nine of ten
series with a step of one standard deviation."""
LINE_HANDICAP = 1.5
"""Weight of each number that steps have and a line has not, in logarithms of the run's length; 1 is the usual criterion
(BIC). An alarm has few values of the new level, and says "step" only where that is likely."""
LINE_HANDICAP_OF_WHOLE = 0.2
"""The same where all values are looked at: with as many on both sides there is nothing to be careful about."""
LINE_HANDICAP_OF_MANY = 1.0
"""The same for steps in a row that go one way."""


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

    @property
    def upward(self) -> bool:
        """Whether the new level is the higher one."""
        return self.after > self.before

    def worse(self, *, lower_is_better: bool) -> bool:
        """Whether the new level is the worse one."""
        return self.upward == lower_is_better


DEFAULT = Policy()


def changes(values: Sequence[float], policy: Policy = DEFAULT) -> tuple[Change, ...]:
    """Every change in the order it became known. A drift that goes on is one change.

    Raises ValueError for a value that is no finite number.
    """
    if not all(map(isfinite, values)):
        raise ValueError("a series holds finite numbers only")
    if len(values) < policy.before + policy.after:
        return ()
    from headway.validate.change_statistics import as_series

    series = as_series(values)
    found: list[Change] = []
    start = run_before = 0
    for end in range(policy.before + policy.after, len(series) + 1):
        if end - start < policy.before + policy.after:
            continue
        change = _look(series, max(start, end - policy.window), end, policy)
        if change is None:
            continue
        if found and _one_drift(series, max(run_before, end - policy.window), end, found[-1], change, policy):
            change = replace(change, kind="drift")
        run_before = start
        if change.kind == "drift":
            start = end - policy.before  # its level is where it has drifted to
            if found and found[-1].kind == "drift" and found[-1].upward == change.upward:
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

    Each is placed, and called step or drift, anew between its neighbours; alarms in a row that a straight line
    explains better together are one drift. `known_at` stays: when the (first) alarm was raised.
    """
    if not found:
        return ()
    from headway.validate.change_statistics import as_series

    series = as_series(values)
    ends = [0, *(one.index for one in found), len(series)]
    placed = [
        _placed(series, one, ends[number], min(ends[number + 2], one.index + policy.window), policy)
        for number, one in enumerate(found)
    ]
    return tuple(_with_drifts_joined(series, placed, policy))


def _look(series: Any, start: int, end: int, policy: Policy) -> Change | None:
    """The change that the values `start` to `end` show, if they show one."""
    from headway.validate.change_statistics import best_split, drawn_in, levels, one_value_makes_it

    run = series[start:end]
    drawn = drawn_in(run, policy.clip)
    place, first, last, deviate, mean = best_split(drawn, policy.before, len(run) - policy.after, SPREAD)
    if deviate < policy.bar or one_value_makes_it(drawn[place:], mean):
        return None
    before, after = levels(run, place)
    if abs(after - before) < policy.least * abs(before):
        return None
    kind: Literal["step", "drift"] = "drift" if _line_is_better(drawn, (place,), LINE_HANDICAP) else "step"
    return Change(kind, start + place, start + first, start + last, end - 1, before, after, deviate)


def _placed(series: Any, one: Change, start: int, end: int, policy: Policy) -> Change:
    """`one` as the values `start` to `end` show it, in which it is the only change."""
    from headway.validate.change_statistics import best_split, drawn_in, levels

    run = series[start:end]
    if len(run) < 2 * policy.after:
        return one
    drawn = drawn_in(run, policy.clip)
    place, first, last, deviate, _ = best_split(drawn, policy.after, len(run) - policy.after, SPREAD)
    before, after = levels(run, place)
    kind: Literal["step", "drift"] = "drift" if _line_is_better(drawn, (place,), LINE_HANDICAP_OF_WHOLE) else "step"
    return Change(kind, start + place, start + first, start + last, one.known_at, before, after, deviate)


def _with_drifts_joined(series: Any, placed: Sequence[Change], policy: Policy) -> list[Change]:
    """Changes in a row that go one way are one drift where a straight line explains all their values better."""
    joined: list[Change] = []
    number = 0
    while number < len(placed):
        last = number
        while last + 1 < len(placed) and placed[last + 1].upward == placed[number].upward:
            last += 1
        group = placed[number : last + 1]
        start = placed[number - 1].index if number else 0
        end = placed[last + 1].index if last + 1 < len(placed) else len(series)
        joined += _one_or_all(series, group, start, end, policy)
        number = last + 1
    return joined


def _one_or_all(series: Any, group: Sequence[Change], start: int, end: int, policy: Policy) -> Sequence[Change]:
    from headway.validate.change_statistics import drawn_in

    places = tuple(one.index - start for one in group)
    if len(group) == 1 or not _line_is_better(drawn_in(series[start:end], policy.clip), places, LINE_HANDICAP_OF_MANY):
        return group
    return [replace(group[0], kind="drift", latest=group[-1].latest, after=group[-1].after)]


def _one_drift(series: Any, start: int, end: int, known: Change, change: Change, policy: Policy) -> bool:
    """Whether a straight line explains both changes, and all values since the one before, better than two steps."""
    from headway.validate.change_statistics import drawn_in

    if known.upward != change.upward or known.index <= start:
        return False
    places = (known.index - start, change.index - start)
    return _line_is_better(drawn_in(series[start:end], policy.clip), places, LINE_HANDICAP_OF_MANY)


def _line_is_better(run: Any, places: Sequence[int], handicap: float) -> bool:
    """Steps at `places`, chosen by looking, have two numbers each and one more; a line has two."""
    from headway.validate.change_statistics import for_steps

    return for_steps(run, places) < handicap * (2 * len(places) - 1) * log(len(run))
