"""The census: which tests a run was to contain, which it did, and what is missing without anybody having said so.

Two questions. `silent_skips`: what does this one run fail to cover, seen from its own collection and the tree's sources
(no history needed). `losses`: what did the base run that the change no longer runs. A ratchet over a stored inventory
(`compare`) adds allowed skips with reason and expiry, and names allowances that have gone stale.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal

from headway.core.config import AllowedSkip
from headway.core.names import TestId
from headway.core.testid import file_of
from headway.validate.results import Cause, SuiteResult, TestResult

INVENTORY_SCHEMA = "headway.inventory/1"

FindingKind = Literal["not_run", "skipped", "vanished", "below_floor", "stale_allowance", "expired_allowance"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One hole in the census: which identity (or file, or allowance), and why it is one."""

    kind: FindingKind
    subject: str
    reason: str
    cause: Cause = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a run must cover at least: identities that ran, by file. The floor of a file is how many."""

    ran: Mapping[str, frozenset[TestId]]

    @classmethod
    def of(cls, result: SuiteResult) -> "Inventory":
        """The ratchet's next position: everything that this run executed."""
        return cls.of_tests(result.ran())

    @classmethod
    def of_tests(cls, tests: Iterable[TestId]) -> "Inventory":
        """Exactly these."""
        by_file: dict[str, set[TestId]] = defaultdict(set)
        for test in tests:
            by_file[file_of(test)].add(test)
        return cls({file: frozenset(members) for file, members in by_file.items()})

    def to_json(self) -> str:
        """Canonical JSON, for a blob."""
        ran = {file: sorted(tests) for file, tests in sorted(self.ran.items())}
        return json.dumps({"schema": INVENTORY_SCHEMA, "ran": ran}, sort_keys=True)

    @classmethod
    def from_json(cls, text: bytes) -> "Inventory":
        return cls({file: frozenset(tests) for file, tests in json.loads(text)["ran"].items()})

    def floors(self) -> dict[str, int]:
        return {file: len(tests) for file, tests in sorted(self.ran.items())}


NEVER_SILENT: frozenset[Cause] = frozenset({"xfail"})


def silent_skips(result: SuiteResult) -> tuple[Finding, ...]:
    """Identities of this run's own world that did not run and that no skip mark of their own explains."""
    return tuple(_silent(result.every()))


def some_silent_skips(result: SuiteResult, most: int) -> tuple[tuple[Finding, ...], int]:
    """(at most so many of them, how many there are), without unfolding what is not shown."""
    shown = list(_silent(result.tests))
    count = len(shown) + sum(fold.count for fold in result.folded)
    for fold in result.folded:
        if len(shown) < most:
            shown += _silent(fold.tests())
    return tuple(shown[:most]), count


def _silent(tests: Iterable[TestResult]) -> Iterator[Finding]:
    for test in tests:
        if test.state in ("not_run", "skipped") and test.cause and test.cause not in NEVER_SILENT:
            yield Finding("not_run" if test.state == "not_run" else "skipped", test.id, test.reason, test.cause)


def losses(base: SuiteResult, change: SuiteResult) -> tuple[Finding, ...]:
    """What ran on the base and does not run on the change, though its source may still be there.

    A test that moved to another file, or whose parameters were renamed or reordered, is not lost.
    """
    if change.trouble or base.trouble:
        return ()
    before, after = base.ran(), change.ran()
    gone = before - after
    if not gone:
        return ()
    now = {test.id: test for test in change.every()}
    excused = _moved(gone, after - before)
    found = []
    for test in sorted(gone - excused):
        standing = now.get(test)
        if standing is None:
            found.append(Finding("vanished", test, "it is not collected any more"))
        else:
            kind: FindingKind = "skipped" if standing.state == "skipped" else "not_run"
            found.append(Finding(kind, test, standing.reason, standing.cause))
    return tuple(found)


def compare(
    expected: Inventory, result: SuiteResult, allowances: Iterable[AllowedSkip], today: date
) -> tuple[Finding, ...]:
    """The ratchet. Every hole that no living allowance covers, and every allowance that covers nothing or is over."""
    ran = result.ran()
    gone = frozenset(test for tests in expected.ran.values() for test in tests) - ran
    excused = _moved(gone, ran - frozenset(test for tests in expected.ran.values() for test in tests))
    holes: dict[TestId, Finding] = {TestId(found.subject): found for found in silent_skips(result)}
    standing: dict[TestId, TestResult] = {test.id: test for test in result.every()}
    for test in sorted(gone - excused):
        if test not in holes:
            holes[test] = _missing(test, standing.get(test))
    for skipped in result.tests:
        if skipped.state == "skipped" and skipped.id not in holes:
            holes[skipped.id] = Finding("skipped", skipped.id, skipped.reason, skipped.cause)
    findings: list[Finding] = []
    covered: set[TestId] = set()
    for allowance in allowances:
        mine = {test for test in holes if fnmatchcase(test, allowance.tests)}
        findings += _allowance_findings(allowance, mine, today)
        if not _expired(allowance, today):
            covered |= mine
    findings += [found for test, found in sorted(holes.items()) if test not in covered]
    return (*findings, *_floors(expected, result, covered | excused))


def _missing(test: TestId, standing: TestResult | None) -> Finding:
    if standing is None:
        return Finding("vanished", test, "it ran before and is not collected any more")
    return Finding("skipped" if standing.state == "skipped" else "not_run", test, standing.reason, standing.cause)


def _allowance_findings(allowance: AllowedSkip, mine: set[TestId], today: date) -> list[Finding]:
    if not mine:
        return [Finding("stale_allowance", allowance.tests, "it matches no test that is skipped or missing")]
    if _expired(allowance, today):
        return [Finding("expired_allowance", allowance.tests, f"it ended on {allowance.until}: {allowance.reason}")]
    return []


def _expired(allowance: AllowedSkip, today: date) -> bool:
    return allowance.until is not None and today > allowance.until


def _floors(expected: Inventory, result: SuiteResult, excused: Iterable[TestId]) -> list[Finding]:
    """Files that ran fewer tests than before, after what is allowed or has moved."""
    now = {file: len(tests) for file, tests in Inventory.of(result).ran.items()}
    let_off: dict[str, int] = defaultdict(int)
    for test in excused:
        let_off[file_of(test)] += 1
    return [
        Finding("below_floor", file, f"{now.get(file, 0)} tests ran, at least {floor - let_off[file]} must")
        for file, floor in expected.floors().items()
        if now.get(file, 0) < floor - let_off[file]
    ]


def _moved(gone: Iterable[TestId], gained: Iterable[TestId]) -> frozenset[TestId]:
    """Of `gone`, those with a counterpart in `gained`: the same name in another file, or other parameters of the
    same function. Each new identity excuses one old one, so that a shrinking parametrisation still shows."""
    same_name: dict[str, list[TestId]] = defaultdict(list)
    same_function: dict[str, list[TestId]] = defaultdict(list)
    for test in sorted(gained):
        same_name[test.partition("::")[2]].append(test)
        same_function[_function(test)].append(test)
    used: set[TestId] = set()
    excused: set[TestId] = set()
    for test in sorted(gone):
        name = test.partition("::")[2]
        candidates = [*(same_name[name] if name else []), *(same_function[_function(test)] if "[" in test else [])]
        counterpart = next((new for new in candidates if new not in used), None)
        if counterpart is not None:
            used.add(counterpart)
            excused.add(test)
    return frozenset(excused)


def _function(test: TestId) -> str:
    return test.partition("[")[0]
