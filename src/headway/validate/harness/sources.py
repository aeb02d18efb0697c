"""Tests as their sources have them: what a file would have contributed that was skipped, torn or never looked at."""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from headway.core.names import TestId
from headway.core.testid import file_of
from headway.validate.reports import Damaged, read_regular_file
from headway.validate.results import Cause, TestResult

_PYTEST_FILES = re.compile(r"(^|/)(test_[^/]*|[^/]*_test)\.py$")
_RUN_LINE = re.compile(rb"\bRUN:")


def tests_of_python(source: bytes, path: str) -> tuple[TestId, ...]:
    """`path::Class::test_name` of every test function of a module, by pytest's default names."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return _tests_by_line(source, path)
    found: list[str] = []

    def scope(body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                found.append(prefix + node.name)
            elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                scope(node.body, f"{prefix}{node.name}::")

    scope(tree.body, f"{path}::")
    return tuple(TestId(name) for name in dict.fromkeys(found))


def unseen_tests(
    root: Path, tracked: Collection[str], seen: Iterable[TestResult], looked_at: Collection[str] = ()
) -> list[TestResult]:
    """Identities lost with whole files: skipped or broken modules, and test files that the run never looked at, neither
    for the tests `seen` nor otherwise."""
    by_file: dict[str, list[TestResult]] = defaultdict(list)
    for test in seen:
        by_file[test.id.partition("::")[0]].append(test)
    folders = {str(PurePosixPath(file).parent) for file in (*by_file, *looked_at) if "/" in file or "." in file}
    lost: list[TestResult] = []
    for path in tracked:
        if not _PYTEST_FILES.search(path) or str(PurePosixPath(path).parent) not in folders:
            continue
        known = by_file.get(path, [])
        whole = next((test for test in known if test.id == path), None)
        if (known or path in looked_at) and whole is None:
            continue
        cause: Cause = whole.cause if whole is not None else "not_collected"
        reason = whole.reason if whole is not None else "the run never looked at this file"
        content = read_regular_file(root, root / path)
        if not isinstance(content, Damaged):
            lost += [TestResult(test, "not_run", reason, cause=cause) for test in tests_of_python(content, path)]
    return lost


def unseen_lit_tests(root: Path, tracked: Collection[str], seen: Iterable[TestResult]) -> list[TestResult]:
    """Files with a RUN line that lit did not report, where it reported others with that suffix in the same folder."""
    named = {test.id for test in seen}
    kinds = {(str(PurePosixPath(test).parent), PurePosixPath(test).suffix) for test in named}
    lost = []
    for path in tracked:
        place = PurePosixPath(path)
        if path in named or (str(place.parent), place.suffix) not in kinds or place.name.startswith("lit."):
            continue
        content = read_regular_file(root, root / path)
        if not isinstance(content, Damaged) and _RUN_LINE.search(content):
            lost.append(TestResult(TestId(path), "not_run", "lit did not run this file", cause="not_collected"))
    return lost


def standing_sources(root: Path, tracked: Collection[str], tests: Iterable[TestId]) -> frozenset[TestId]:
    """Those of `tests` that the tree still has: their own file names them or, where none is known, any file does.

    JUnit XML is written by what it reports on; a test that it no longer names while its source stands was left out.
    """
    wanted = {test: _bare_name(test).encode() for test in tests if not test.startswith("<")}
    found: set[TestId] = set()
    homeless = {test for test in wanted if file_of(test) not in tracked and "." not in file_of(test)}
    for path in tracked:
        here = {test for test in wanted if file_of(test) == path} | (homeless - found)
        content = read_regular_file(root, root / path) if here else b""
        if not isinstance(content, Damaged):
            found |= {test for test in here if re.search(rb"\b" + re.escape(wanted[test]) + rb"\b", content)}
    return frozenset(found)


def _bare_name(test: TestId) -> str:
    return test.partition("[")[0].rpartition("::")[2].rpartition(".")[2]


def _tests_by_line(source: bytes, path: str) -> tuple[TestId, ...]:
    """For a module that does not parse: names by their `def` lines."""
    names = re.findall(rb"^def (test\w*)\(", source, re.MULTILINE)
    return tuple(TestId(f"{path}::{name.decode()}") for name in dict.fromkeys(names))
