"""What the kernel tasks' measurements print: medians with intervals and samples, for people or as one JSON line.

A row whose peer or device is absent says `could_not_run`; the others are given, and the exit code is then 4.
"""

import json
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

SCHEMA = "headway.kernel-rows/1"
Row = dict[str, Any]


def interval(samples: Sequence[float]) -> tuple[float, float]:
    """Order statistics around the median that cover it with at least 95 % (fewer than six samples: all of them)."""
    ordered = sorted(samples)
    k = max(0, int(len(ordered) / 2 - 0.98 * len(ordered) ** 0.5))
    return ordered[k], ordered[-1 - k]


def row(
    workload: str, variant: str, mode: str, samples: Sequence[float], error: float | None = None, unit: str = "ms"
) -> Row:
    """The median of `samples`, its interval and the samples; `mode` says how they were taken."""
    low, high = interval(samples)
    found: Row = {"workload": workload, "variant": variant, "mode": mode, "unit": unit}
    found |= {"median": statistics.median(samples), "low": low, "high": high, "n": len(samples)}
    found |= {} if error is None else {"error": error}
    return found | {"samples": [round(x, 4) for x in samples]}


def ratios(workload: str, mode: str, samples: Mapping[str, Sequence[float]], ours: str) -> list[Row]:
    """Our time over each other variant's, round by round."""
    pairs = {other: zip(samples[ours], theirs, strict=True) for other, theirs in samples.items() if other != ours}
    return [
        row(workload, f"{ours} / {other}", f"{mode} ratio", [a / b for a, b in of], unit="ratio")
        for other, of in pairs.items()
    ]


def could_not_run(workload: str, variant: str, why: str) -> Row:
    """A row for a measurement that could not be made, and what is absent."""
    return {"workload": workload, "variant": variant, "could_not_run": why}


def why_not() -> str | None:
    """What keeps this machine from measuring, if anything."""
    try:
        import torch

        from headway.tasks.gluon import why_no_gluon
    except ImportError as missing:
        return str(missing)
    return why_no_gluon(torch.device("cuda")) if torch.cuda.is_available() else "no CUDA device"


def show(rows: Sequence[Row], as_json: bool) -> int:
    """Print the rows and return the exit code: 4 if any could not run, 1 if any is not right, else 0."""
    if as_json:
        sys.stdout.write(json.dumps({"schema": SCHEMA, "python": platform.python_version(), "rows": rows}) + "\n")
    else:
        for one in rows:
            sys.stdout.write(line(one) + "\n")
    if any("could_not_run" in one for one in rows):
        return 4
    return 0 if all(one.get("right", True) for one in rows) else 1


def line(one: Row) -> str:
    """A row for people."""
    name = f"{one['workload']}: {one['variant']}"
    if "could_not_run" in one:
        return f"{name} could not run: {one['could_not_run']}"
    error = f", error {one['error']:.4f}" if "error" in one else ""
    error += "" if one.get("right", True) else ", WRONG"
    if "median" not in one:
        return name + error
    unit = "" if one["unit"] == "ratio" else f" {one['unit']}"
    return f"{name} {one['mode']} {one['median']:.4g}{unit} ({one['low']:.4g} to {one['high']:.4g}){error}"
