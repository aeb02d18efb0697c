"""Measurements that a suite wrote -> `Metric`s: pytest-benchmark's JSON, or lines `name value unit`.

Only files are read, never the step's output: what a test prints is its own affair.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from headway.validate.reports import REASON_CHARACTERS, Damaged, read_regular_file, report_paths
from headway.validate.results import Metric

SAMPLES_KEPT = 100
_LINE = re.compile(r"(?P<name>\S+)\s+(?P<value>[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s+(?P<unit>\S+)")


def read_metrics(root: Path, globs: Sequence[str]) -> tuple[Metric, ...] | Damaged:
    """All measurements of all files that match. No file at all is Damaged: the suite promised one."""
    paths = report_paths(root, globs)
    if not paths:
        return Damaged(f"no file of measurements matches {', '.join(globs)}")
    found: list[Metric] = []
    for path in paths:
        content = read_regular_file(root, path)
        if isinstance(content, Damaged):
            return content
        parsed = parse_metrics(content, str(path.relative_to(root)))
        if isinstance(parsed, Damaged):
            return parsed
        found += parsed
    return _one_of_each(found)


def parse_metrics(content: bytes, shown: str) -> list[Metric] | Damaged:
    """The measurements of one file, of either form. `shown` names it in what is Damaged."""
    text = content.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        return _of_pytest_benchmark(text, shown)
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        fields = _LINE.fullmatch(line.strip())
        value = _number(fields["value"]) if fields else None
        if fields is None or value is None:
            return Damaged(f"{shown}, line {number} is not `name value unit`: {line.strip()[:80]!r}")
        found.append(Metric(fields["name"], value, fields["unit"], (value,)))
    return found or Damaged(f"{shown} holds no measurement")


def _of_pytest_benchmark(text: str, shown: str) -> list[Metric] | Damaged:
    try:
        entries = json.loads(text)["benchmarks"]
        found = [_benchmark(entry) for entry in entries]
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        return Damaged(f"{shown} is not pytest-benchmark's JSON: {str(fault)[:REASON_CHARACTERS]}")
    return found or Damaged(f"{shown} holds no measurement")


def _benchmark(entry: dict[str, Any]) -> Metric:
    stats = entry["stats"]
    value = float(stats["median"])
    samples = tuple(float(one) for one in stats.get("data") or (value,))
    if not all(math.isfinite(one) for one in (value, *samples)):
        raise ValueError(f"{entry['fullname']} is no finite number")
    return Metric(str(entry["fullname"]), value, "s", samples[:SAMPLES_KEPT])


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _one_of_each(found: Iterable[Metric]) -> tuple[Metric, ...] | Damaged:
    """A name measured several times in a run is one metric with several samples."""
    by_name: dict[str, Metric] = {}
    for metric in found:
        known = by_name.get(metric.name)
        if known is None:
            by_name[metric.name] = metric
        elif known.unit != metric.unit:
            return Damaged(f"{metric.name} is measured in {known.unit} and in {metric.unit}")
        else:
            samples = (*known.samples, *metric.samples)[:SAMPLES_KEPT]
            by_name[metric.name] = Metric(metric.name, median(samples), metric.unit, samples)
    return tuple(by_name[name] for name in sorted(by_name))
