"""How the self-test's rows are told: as `headway.tune-selftest/1`, or as lines for people."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from headway.tune.selftest import Row, summary_of


def selftest_json(rows: Sequence[Row]) -> dict[str, Any]:
    """`headway.tune-selftest/1`: summary and one row per entry."""
    summary = summary_of(rows)
    return {
        "schema": "headway.tune-selftest/1",
        "summary": {**asdict(summary), "by_class": {name: list(pair) for name, pair in summary.by_class.items()}},
        "rows": [_row(row) for row in rows],
    }


def _row(row: Row) -> dict[str, Any]:
    reasons = [] if row.tried.reason is None else [{"code": row.tried.reason, "message": row.tried.message}]
    ratio = row.tried.ratio
    return {
        "id": row.entry.id,
        "class": row.entry.kind,
        "task": row.entry.task,
        "expected": list(row.entry.expected),
        "verdict": row.tried.verdict,
        "reasons": reasons,
        "ratio": None if ratio is None else ratio.point,
        "interval": None if ratio is None else [ratio.low, ratio.high],
        "ok": row.ok,
    }


def selftest_lines(told: dict[str, Any]) -> Iterator[str]:
    """What went wrong, then the counts."""
    for row in told["rows"]:
        if not row["ok"]:
            codes = ", ".join(reason["code"] for reason in row["reasons"]) or "no reason"
            yield f"not as expected: {row['id']}: {row['verdict']} ({codes}); expected {', '.join(row['expected'])}"
    summary = told["summary"]
    for name, (good, all_of) in summary["by_class"].items():
        yield f"  {name:16} {good}/{all_of}"
    yield (
        f"cheats stopped {summary['stopped']}/{summary['cheats']}, "
        f"controls accepted {summary['accepted']}/{summary['controls']}"
    )


def selftest_code(told: dict[str, Any]) -> int:
    """0 as expected, 1 something got through or was wrongly refused, 4 if only "could not run" stands in the way."""
    bad = [row for row in told["rows"] if not row["ok"]]
    if not bad:
        return 0
    return 4 if all(row["verdict"] == "could_not_run" for row in bad) else 1
