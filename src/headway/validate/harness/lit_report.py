"""lit's JSON output -> test results. UNSUPPORTED is a skip with the missing feature as its reason, never a pass."""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from headway.core.testid import from_lit
from headway.validate.harness.sources import unseen_lit_tests
from headway.validate.reports import REASON_CHARACTERS, Damaged, read_regular_file, report_paths
from headway.validate.results import Cause, Named, State, TestResult, worst_of_same_name

REPORT_NAME = ".headway-lit.json"
REPORT_GLOBS = (".headway-lit*.json",)

_CODES: dict[str, tuple[State, Cause]] = {
    "PASS": ("passed", ""),
    "FLAKYPASS": ("passed", ""),
    "XFAIL": ("passed", "xfail"),
    "FAIL": ("failed", ""),
    "XPASS": ("failed", ""),
    "TIMEOUT": ("failed", ""),
    "UNRESOLVED": ("failed", "collection_failed"),
    "UNSUPPORTED": ("skipped", "unsupported"),
    "SKIPPED": ("not_run", "ended_early"),
    "EXCLUDED": ("not_run", "deselected"),
}
_REASON = re.compile(r"(?:Test (?:requires|is unsupported).*|required by.*|unavailable features?:.*)")


def environment(env: Mapping[str, str], clone: Path) -> dict[str, str]:
    """`env` with every lit of the test step told to write its results, also of tests it leaves out."""
    ours = f"--output {clone / REPORT_NAME}"
    return {**env, "LIT_OPTS": " ".join([ours, *filter(None, [env.get("LIT_OPTS", "")])])}


def read_lit(root: Path, tracked: Collection[str]) -> Named | Damaged:
    """All tests of the step's lit run, and files with a RUN line that it left out (`--filter` leaves no trace)."""
    paths = report_paths(root, REPORT_GLOBS)
    if not paths:
        return Damaged("no lit wrote its results: did the test step start one, and does it honour LIT_OPTS?")
    tests: list[TestResult] = []
    for path in paths:
        content = read_regular_file(root, path)
        if isinstance(content, Damaged):
            return content
        entries = read_lit_entries(content, path.name, tracked)
        if isinstance(entries, Damaged):
            return entries
        tests += entries
    return Named(worst_of_same_name([*tests, *unseen_lit_tests(root, tracked, tests)]))


def read_lit_entries(content: bytes, shown: str, tracked: Collection[str]) -> list[TestResult] | Damaged:
    """The tests of one file of lit's JSON output; `shown` names it."""
    try:
        return [_test(entry, tracked) for entry in json.loads(content)["tests"]]
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        return Damaged(f"{shown} is not lit's JSON output: {str(fault)[:REASON_CHARACTERS]}")


def _test(entry: dict[str, Any], tracked: Collection[str]) -> TestResult:
    code = str(entry["code"])
    state, cause = _CODES.get(code, ("failed", ""))
    output = str(entry.get("output") or "")
    reason = "" if state == "passed" and not cause else _why(code, output)
    elapsed = entry.get("elapsed")
    return TestResult(from_lit(str(entry["name"]), tracked), state, reason, float(elapsed or 0.0), cause)


def _why(code: str, output: str) -> str:
    said = _REASON.search(output)
    text = said.group(0) if said else (output.strip().splitlines() or [code])[-1]
    return text.strip()[:REASON_CHARACTERS] or code
