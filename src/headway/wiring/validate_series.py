"""`validate series`: measurements over time and where their level changed, read from the log."""

from fnmatch import fnmatchcase
from typing import Any

from headway.core.errors import HeadwayError
from headway.validate.ingest import parse_time
from headway.validate.results import SuiteResult, result_from_json
from headway.validate.series import Series, Shifted, series_of, shifts_of
from headway.wiring.validate_reports import reports_of
from headway.wiring.validate_room import Answer, Asked, Room, opened, state_is_there

SCHEMA = "headway.series/1"
NEWEST = 200


def show_series(asked: Asked, suite: str, pattern: str) -> Answer:
    """Series of all suites, or of one, with names like `pattern`. Raises HeadwayError for an unknown suite."""
    with opened(asked, read_only=state_is_there(asked)) as room:
        tiers = room.config.tiers
        names = [tiers.suite(suite).name] if suite else [one.name for one in tiers.suites]
        rows = [row for name in names for row in _rows(room, name, pattern)]
    if not rows and pattern != "*":
        raise HeadwayError(f"No series is called like {pattern!r}.", "`headway validate series` lists them all.")
    return Answer({"schema": SCHEMA, "series": rows}, room.notes)


def _rows(room: Room, suite: str, pattern: str) -> list[dict[str, Any]]:
    reported = [one for one in reports_of(room) if one.suite == suite and one.metrics]
    reports = sorted(reported, key=lambda one: parse_time(one.started))
    results: dict[str, SuiteResult] = {one.run: result_from_json(room.text(one.results)) for one in reports}
    every = series_of(room.config.tiers.suite(suite), reports, lambda one: results[one.run])
    found = shifts_of(every)
    return [_row(one, found[one.metric]) for one in every if fnmatchcase(one.metric, pattern)]


def _row(one: Series, shifts: tuple[Shifted, ...]) -> dict[str, Any]:
    return {
        "suite": one.suite,
        "metric": one.metric,
        "unit": one.unit,
        "lower_is_better": one.lower_is_better,
        "points": len(one.points),
        "newest": [[point.revision, point.started, point.value] for point in one.points[-NEWEST:]],
        "changes": [_change(shift) for shift in shifts],
    }


def _change(shift: Shifted) -> dict[str, Any]:
    change = shift.change
    return {
        "kind": change.kind,
        "worse": shift.worse,
        "before": change.before,
        "after": change.after,
        "good": shift.good,
        "bad": shift.bad,
        "noticed": shift.noticed,
        "index": change.index,
        "earliest": change.earliest,
        "latest": change.latest,
        "hint": shift.hint,
        "why": shift.why,
    }
