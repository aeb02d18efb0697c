"""A suite without a harness reports what it likes: forged and shrunken JUnit files. Waivers. Base beside change."""

import threading
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from headway.core.config_tiers import Waiver
from headway.core.events_validate_tiers import WaiverUsed
from headway.core.gates import Passed, Refused
from headway.core.reasons import Reason
from headway.validate.side_by_side import side_by_side
from headway.validate.summary import as_markdown
from headway.validate.tier_ladder import ChangeToCheck, L1Answer, check_change, evidence_of
from tests.validate.suites import CHECKS, ENGINE, L1, RUNNER, Fork, new_fork

FORGED = """
import os, pathlib
def test_forges():
    case = '<testcase classname="tests.checks" name="test_forges"/>'
    pathlib.Path("report.xml").write_text(f"<testsuites><testsuite name='s'>{case}</testsuite></testsuites>")
    os._exit(0)
"""
TODAY = date(2026, 11, 30)


def answered(fork: Fork, change: str, **more: object) -> L1Answer:
    asked = ChangeToCheck(fork.repo.path, change, fork.base, prove=False, **more)  # type: ignore[arg-type]
    return check_change(L1, asked, fork.ports, fork.known)


def test_a_forged_report_that_leaves_tests_out_is_refused_with_their_names(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    change = fork.change("forge", {"tests/checks.py": FORGED + CHECKS, "engine/__init__.py": ENGINE + "add = None\n"})
    answer = fork.check(change)
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.CENSUS_SHRANK
    assert [found.subject for found in answer.attribution.lost] == [
        "tests/checks.py::test_adds", "tests/checks.py::test_doubles",
    ]  # fmt: skip
    assert "its source is there" in answer.verdict.message


def test_a_test_removed_openly_is_not_left_out(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    change = fork.change("drop", {"tests/checks.py": CHECKS.partition("def test_doubles")[0]})
    answer = fork.check(change)
    assert answer.verdict == Passed() and answer.attribution.vanished == ("tests/checks.py::test_doubles",)


def test_a_report_that_names_everything_is_caught_by_a_proof_on_the_change(tmp_path: Path) -> None:
    """It claims every test of the base, so no comparison of names can see it; a known-bad change of it can."""
    fork = new_fork(tmp_path)
    claims = "".join(f"<testcase classname='tests.checks' name='{name}'/>" for name in ("test_adds", "test_doubles"))
    forged = f'import pathlib\npathlib.Path("report.xml").write_text("<testsuite>{claims}</testsuite>")\n'
    change = fork.change("forge", {"run_checks.py": forged + "raise SystemExit(0)\n" + RUNNER})
    assert fork.check(change, prove=True).verdict == Passed(), "the proof was made on the base"
    answer = fork.check(change, l1=replace(L1, prove="each"), prove=True)
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.L1_BLIND


@pytest.mark.parametrize(
    ("until", "passes"), [(TODAY, True), (date(2026, 11, 29), False), (date.max, True)], ids=["today", "over", "long"]
)
def test_new_blocks_unless_somebody_answers_for_it_today(tmp_path: Path, until: date, passes: bool) -> None:
    fork = new_fork(tmp_path)
    change = fork.change("break", {"engine/__init__.py": ENGINE.replace("a * 2", "a * 3")})
    waiver = Waiver("tests/*::test_doubles", "Ann", "the doubling machine is broken", until)
    answer = answered(fork, change, waivers=(waiver,), today=TODAY)
    used = [event for event in answer.events if isinstance(event, WaiverUsed)]
    if passes:
        assert answer.verdict == Passed() and used == [
            WaiverUsed(change, waiver.tests, "Ann", ("tests/checks.py::test_doubles",))
        ]
    else:
        assert isinstance(answer.verdict, Refused) and not used


def test_the_summary_names_attribution_and_neutralises_what_tests_print(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    hostile = "def test_hostile(): assert 0, '</details> @everyone `x` [a](http://b)'\n"
    change = fork.change("break", {"tests/checks.py": CHECKS + hostile})
    answer = answered(fork, change)
    asked = ChangeToCheck(fork.repo.path, change, fork.base)
    text = as_markdown(evidence_of(asked, answer.verdict, answer.change, answer.attribution, recalled=False))
    assert text.startswith("### headway L1: refused\n") and "**1 new: fails here and not on the base. Blocks**" in text
    assert "tests/checks.py::test_hostile" in text
    assert not any(part in text for part in ("</details>", "@everyone", "](http", "`x`"))


def test_base_and_change_run_at_once(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    change = fork.change("next", {"engine/__init__.py": ENGINE + "X = 1\n"})
    inside, most = 0, 0
    lock, inner = threading.Lock(), fork.executor.run

    def counted(command):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.3)
        try:
            return inner(command)
        finally:
            with lock:
                inside -= 1

    fork.executor.run = counted  # type: ignore[method-assign]
    assert answered(fork, change, at_once=True).verdict == Passed() and most == 2


def test_what_fails_beside_is_raised_here() -> None:
    def fails() -> None:
        raise ValueError("beside")

    with pytest.raises(ValueError, match="beside"):
        side_by_side(lambda: 1, fails)
