"""What a test step left behind -> test results: JUnit XML files, or counts in its output, or its exit code alone.

Everything here was written by untrusted code: sizes are bounded, links are not followed, damage is said, not guessed.
"""

import os
import re
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.core.names import TestId
from headway.core.testid import from_junit
from headway.validate.results import TestResult, worst_of_same_name

REPORT_BYTES = 64 << 20
REASON_CHARACTERS = 200
WHOLE_SUITE = TestId("<test command>")
"""The one identity of a suite that reports nothing but an exit code."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A report that cannot be believed: `what` names the file and the fault."""

    what: str


def report_paths(root: Path, globs: Sequence[str]) -> list[Path]:
    """Files of the clone that match, sorted. Links count as files here, so that removing removes them."""
    found = {path for pattern in globs for path in root.glob(pattern) if path.is_symlink() or path.is_file()}
    return sorted(found)


def remove_stale_reports(root: Path, globs: Sequence[str]) -> None:
    """Remove reports that the commit itself carries, which would be believed.

    Only what really lies in the clone: a commit can make `out` a link to the owner's folder, and `out/*.xml` matches
    through it.
    """
    for path in report_paths(root, globs):
        if path.parent.resolve().is_relative_to(root.resolve()):
            path.unlink()


def read_junit(root: Path, globs: Sequence[str], tracked: Collection[str]) -> tuple[TestResult, ...] | Damaged:
    """All test cases of all files that match. No file at all is Damaged: the suite promised one."""
    paths = report_paths(root, globs)
    if not paths:
        return Damaged(f"no file matches {', '.join(globs)}")
    tests: list[TestResult] = []
    for path in paths:
        shown = str(path.relative_to(root))
        content = read_regular_file(root, path)
        if isinstance(content, Damaged):
            return content
        parsed = parse_junit(content, shown, frozenset(tracked))
        if isinstance(parsed, Damaged):
            return parsed
        tests += parsed
    return worst_of_same_name(tests)


def parse_junit(content: bytes, shown: str, tracked: Collection[str]) -> list[TestResult] | Damaged:
    """Test cases of one JUnit XML document, suites within suites included."""
    from junitparser import JUnitXml, JUnitXmlError

    try:
        document = JUnitXml.fromstring(content)
    except (JUnitXmlError, SyntaxError, ValueError, LookupError) as fault:  # ElementTree's ParseError is a SyntaxError
        return Damaged(f"{shown} is not whole JUnit XML: {str(fault)[:REASON_CHARACTERS]}")
    suites = [document] if hasattr(document, "testsuites") else list(document)
    try:
        return [_test(case, tracked) for suite in suites for case in _cases(suite)]
    except (ValueError, TypeError, AttributeError) as fault:
        return Damaged(f"{shown} has a malformed test case: {str(fault)[:REASON_CHARACTERS]}")


def by_counts(output: bytes, pattern: str, exit_code: int) -> tuple[TestResult, ...] | Damaged:
    """Counts that the suite printed (the last match counts), as that many nameless tests."""
    matches = list(re.finditer(pattern, output.decode("utf-8", "replace"), re.MULTILINE))
    if not matches:
        return Damaged("count_pattern does not match the output")
    groups = matches[-1].groupdict()
    tests: list[TestResult] = []
    for state in ("passed", "failed", "skipped"):
        count = groups.get(state) or "0"
        if not count.isdigit() or int(count) > 10_000_000:
            return Damaged(f"count_pattern's group {state!r} matched {count[:20]!r}, which is no count")
        # one entry for all: identities are unknown, only the number is
        tests += [TestResult(TestId(f"<{state} {n + 1}>"), state) for n in range(min(int(count), 100_000))]
    return with_exit_code(tuple(tests), exit_code)


def by_exit_code(exit_code: int) -> tuple[TestResult, ...]:
    """A suite that says nothing else: one test, the command itself."""
    reason = "" if exit_code == 0 else f"exit {exit_code}"
    return (TestResult(WHOLE_SUITE, "passed" if exit_code == 0 else "failed", reason),)


def with_exit_code(tests: tuple[TestResult, ...], exit_code: int) -> tuple[TestResult, ...]:
    """A red exit code without a red test is a failure of its own, never a pass."""
    if exit_code == 0 or any(test.state == "failed" for test in tests):
        return tests
    return (*tests, TestResult(WHOLE_SUITE, "failed", f"exit {exit_code} though no test failed"))


def read_regular_file(root: Path, path: Path) -> bytes | Damaged:
    """Contents of a file that really lies in the clone. A link would have us read the owner's files for the suite."""
    shown = str(path.relative_to(root))
    if not path.parent.resolve().is_relative_to(root.resolve()):
        return Damaged(f"{shown} lies outside the clone")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as fault:
        return Damaged(f"{shown} cannot be read: {fault.strerror}")
    with os.fdopen(fd, "rb") as file:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return Damaged(f"{shown} is no regular file")
        if about.st_size > REPORT_BYTES:
            return Damaged(f"{shown} has {about.st_size >> 20} MiB, more than {REPORT_BYTES >> 20}")
        return file.read(REPORT_BYTES + 1)


def _cases(suite: Any) -> Iterable[Any]:
    for item in suite:
        if hasattr(item, "result"):
            yield item
    for inner in suite.testsuites() if hasattr(suite, "testsuites") else ():
        yield from _cases(inner)


def _test(case: Any, tracked: Collection[str]) -> TestResult:
    from junitparser import Error, Failure, Skipped

    element = case._elem
    name, classname = element.get("name") or "", element.get("classname") or ""
    identity = from_junit(classname, name, element.get("file") or "", tracked)
    state, reason = "passed", ""
    for outcome in case.result:
        if isinstance(outcome, Failure | Error):
            state, reason = "failed", outcome.message or "failed"
            break
        if isinstance(outcome, Skipped):
            state, reason = "skipped", outcome.message or "no reason given"
    return TestResult(identity, state, _first_line(reason), float(case.time or 0.0))  # type: ignore[arg-type]


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:REASON_CHARACTERS]
