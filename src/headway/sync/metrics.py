"""Days behind, commits behind and backlog as series, lags with percentiles per stream, and where it is going. Pure.

Everything is folded from the ledger's own records: a point for each run that ended (and for each refresh), a lag for
each landing. Commit dates come from git.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from headway.core.events import Event
from headway.core.events_loop import BundleClosed
from headway.core.events_sync import Disposed, Landed, RunEnded, UpstreamSeen
from headway.core.names import Sha
from headway.core.ports.git import Commit
from headway.sync.accounting import SECONDS_A_DAY, Ledger, apply, frontier_of

PERCENTS = (10, 50, 90)
WINDOW_DAYS = 28.0
"""How far back arrival and drain are measured."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where the fork stood at one moment. `at` in epoch seconds, `when` as the log has it."""

    at: float
    when: str
    days_behind: float
    commits_behind: int
    backlog: int
    oldest_deferral_days: float
    frontier: Sha | None


@dataclass(frozen=True, slots=True)
class Lag:
    """One landed change: days from upstream's commit to the fork's, and the stream that it came by."""

    stream: str
    days: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """Changes a day over the last weeks. `days_to_none`: until nothing waits, None where the backlog grows."""

    arrivals_a_day: float
    drain_a_day: float
    waiting: int
    days_to_none: float | None


@dataclass(frozen=True)
class Metrics:
    """All of it."""

    series: tuple[Point, ...]
    lags: tuple[Lag, ...]
    forecast: Forecast


def metrics_of(records: Iterable[tuple[str, Event]], base: Commit, line: Sequence[Commit], now: float) -> Metrics:
    """`records` are (time stamp, event) of the ledger in order, `line` the range as git has it, `now` epoch seconds."""
    dates = {commit.sha: commit.committed for commit in (base, *line)}
    ledger, streams = Ledger(), dict[Sha, str]()
    points: list[Point] = []
    lags: list[Lag] = []
    answered: list[float] = []
    for when, event in records:
        at = seconds_of(when)
        ledger = apply(ledger, event)
        if isinstance(event, BundleClosed):
            streams |= dict.fromkeys(event.changes, "bundle" if len(event.changes) > 1 else "alone")
        elif isinstance(event, Landed):
            lags += [Lag(streams.get(c, "alone"), (at - dates[c]) / SECONDS_A_DAY) for c in event.changes if c in dates]
        elif isinstance(event, Disposed) and event.by in ("run", "policy", "person"):
            answered.append(at)
        if isinstance(event, RunEnded | UpstreamSeen):
            points.append(_point(ledger, dates, at, when))
    return Metrics(tuple(points), tuple(lags), _forecast(ledger, dates, answered, now))


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """`p10`, `p50`, `p90` by the nearest rank; empty without values."""
    ranked = sorted(values)
    if not ranked:
        return {}
    return {f"p{p}": round(ranked[max(math.ceil(p / 100 * len(ranked)) - 1, 0)], 2) for p in PERCENTS}


def seconds_of(when: str) -> float:
    """The log's time stamp in epoch seconds."""
    return datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()


def _point(ledger: Ledger, dates: Mapping[Sha, int], at: float, when: str) -> Point:
    frontier = frontier_of(ledger)
    there = dates.get(frontier) if frontier is not None else None
    head = dates.get(ledger.head) if ledger.head is not None else None
    deferred = [dates[c] for c, old in ledger.dispositions.items() if old.kind == "deferred" and c in dates]
    return Point(
        at=at,
        when=when,
        days_behind=round(max(0.0, (head - there) / SECONDS_A_DAY), 2) if head and there else 0.0,
        commits_behind=len(ledger.pending),
        backlog=len(deferred),
        oldest_deferral_days=round((at - min(deferred)) / SECONDS_A_DAY, 1) if deferred else 0.0,
        frontier=frontier,
    )


def _forecast(ledger: Ledger, dates: Mapping[Sha, int], answered: Sequence[float], now: float) -> Forecast:
    begin = now - WINDOW_DAYS * SECONDS_A_DAY
    arrived = sum(begin < dates[change] <= now for change in ledger.changes if change in dates)
    drained = sum(begin < at <= now for at in answered)
    first = min(answered, default=now)
    days = min(WINDOW_DAYS, max((now - first) / SECONDS_A_DAY, 1.0))
    arrivals, drain = arrived / WINDOW_DAYS, drained / days
    waiting = len(ledger.pending)
    net = drain - arrivals
    ahead = 0.0 if waiting == 0 else round(waiting / net, 1) if net > 0 else None
    return Forecast(round(arrivals, 2), round(drain, 2), waiting, ahead)


SPARKS = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float], width: int = 40) -> str:
    """A series as one line of blocks: the newest `width` values, scaled from 0 to their largest."""
    shown = list(values)[-width:]
    top = max(shown, default=0)
    return "".join(
        SPARKS[min(int(value / top * (len(SPARKS) - 1)), len(SPARKS) - 1) if top > 0 else 0] for value in shown
    )


def to_json(metrics: Metrics) -> dict[str, object]:
    """For `status --json`."""
    by_stream = {
        stream: {"landed": len(days), **percentiles(days)}
        for stream in sorted({lag.stream for lag in metrics.lags})
        if (days := [lag.days for lag in metrics.lags if lag.stream == stream])
    }
    ahead = metrics.forecast
    return {
        "series": [
            {
                "ts": point.when,
                "days_behind": point.days_behind,
                "commits_behind": point.commits_behind,
                "backlog": point.backlog,
                "oldest_deferral_days": point.oldest_deferral_days,
            }
            for point in metrics.series
        ],
        "lag_days": by_stream,
        "forecast": {
            "arrivals_a_day": ahead.arrivals_a_day,
            "drain_a_day": ahead.drain_a_day,
            "waiting": ahead.waiting,
            "days_to_none": ahead.days_to_none,
        },
    }


def lines_of(metrics: Metrics) -> list[str]:
    """For the terminal: the series drawn, lags per stream, the forecast."""
    series = metrics.series
    if not series:
        return []
    drawn = (
        ("days behind", [point.days_behind for point in series]),
        ("commits behind", [float(point.commits_behind) for point in series]),
        ("backlog", [float(point.backlog) for point in series]),
        ("oldest, days", [point.oldest_deferral_days for point in series]),
    )
    lines = [f"series       {name:14} {spark(values)}  {max(values):g} -> {values[-1]:g}" for name, values in drawn]
    for stream in sorted({lag.stream for lag in metrics.lags}):
        days = [lag.days for lag in metrics.lags if lag.stream == stream]
        of = percentiles(days)
        lines.append(
            f"lag          {stream:14} " + ", ".join(f"{k} {v:.1f} d" for k, v in of.items()) + f" ({len(days)})"
        )
    ahead = metrics.forecast
    end = "nothing waits" if ahead.waiting == 0 else "it grows" if ahead.days_to_none is None else (
        f"none waits in {ahead.days_to_none:.1f} days"
    )  # fmt: skip
    lines.append(
        f"forecast     {ahead.arrivals_a_day:.1f} arrive and {ahead.drain_a_day:.1f} are answered a day: {end}"
    )
    return lines
