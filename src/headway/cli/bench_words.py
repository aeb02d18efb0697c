"""`headway tune bench` in words."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from headway.wiring.bench import Bench

COLUMNS = ("workload", "variant", "mode", "median", "low", "high", "unit", "error", "could_not_run")


def bench_lines(found: Iterable[Bench]) -> Iterator[str]:
    """A task's name and how it was measured, then a line for each figure."""
    for one in found:
        if one.could_not_run:
            yield f"{one.task}: could not run: {one.could_not_run}"
            continue
        yield f"{one.task}: {one.how}"
        for row in one.rows:
            low, high = row["interval"]
            yield (
                f"  {row['case']}: {row['seconds'] * 1e6:.1f} us, again {row['again'] * 1e6:.1f} us, "
                f"ratio {row['ratio']:.4f} [{low:.4f}, {high:.4f}]{_roof(row.get('roof'))}"
            )
        for row in (one.document or {}).get("rows", []):
            yield f"  {_shown(row)}"


def _roof(at: dict[str, Any] | None) -> str:
    if at is None:
        return ""
    floor, launch = at["floor_seconds"] * 1e6, at["launch_seconds"] * 1e6
    return f"; {at['achieved']:.0%} of the roof ({at['bound']}, {floor:.1f} us; a launch alone {launch:.1f} us)"


def _shown(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {json.dumps(row[name])}" for name in COLUMNS if name in row)
