"""How every benchmark prints: a table for people, one JSON line for machines, and the exit code.

A row whose peer, node or browser is absent says `could_not_run`; the others are given, and the exit code is then 4.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def could_not_run(name: str, why: str) -> dict[str, str]:
    """A row for a measurement that could not be made; names what is absent."""
    return {"name": name, "could_not_run": why}


def show(schema: str, rows: Sequence[Row], *, as_json: bool) -> int:
    """Print the rows and return the exit code: 4 if any could not run, else 0."""
    if as_json:
        print(json.dumps({"schema": schema, "python": platform.python_version(), "rows": list(rows)}))
    else:
        _print_table(rows)
    return 4 if any("could_not_run" in row for row in rows) else 0


def _print_table(rows: Sequence[Row]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_shown(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in [columns, ["-" * width for width in widths], *cells]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
