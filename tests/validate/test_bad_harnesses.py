"""Harnesses that misbehave: floods of output, fake results in it, hanging, torn and endless reports."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.core.config import L1Config, StepConfig
from headway.core.gates import NotDecided, Refused
from headway.core.reasons import Reason
from tests.validate.suites import CHECKS, L1, TEST, Fork, new_fork


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    return new_fork(tmp_path)


def test_a_flood_of_half_a_gigabyte_is_cut_and_the_report_still_counts(fork: Fork) -> None:
    """Head and tail are kept; memory and disk never hold more than the limit."""
    flood = StepConfig(f"head -c 500000000 /dev/zero | tr '\\0' 'x'; {TEST}", timeout_seconds=100)
    answer = fork.check(fork.base, l1=replace(L1, test=flood))
    assert answer.verdict.kind == "passed" and dict(answer.change.counts)["passed"] == 2
    assert len(fork.output(answer)) <= (4 << 20) + 200


def test_what_a_test_prints_is_no_result(fork: Fork) -> None:
    """Lines of our own plugin's report, a JUnit document, a measurement: on stdout they are only words."""
    report = '{"e":"done","id":"tests/checks.py::test_fake","seconds":0.1}'
    junit = "<testsuite><testcase name='test_fake'/></testsuite>"
    words = (report, junit, "speed 0.001 s")
    fake = f"def test_prints():\n    for line in {words!r}: print(line)\n    assert 0\n"
    l1 = L1Config(test=StepConfig(f"{TEST}; true"), junit=L1.junit)
    answer = fork.check(fork.change("fake", {"tests/checks.py": CHECKS + fake}), l1=l1)
    assert isinstance(answer.verdict, Refused) and answer.attribution.new == ("tests/checks.py::test_prints",)
    assert answer.change.metrics == () and not any("fake" in test.id for test in answer.change.tests)


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ("head -c 90 report.xml > r && mv r report.xml", Reason.REPORT_DAMAGED),
        ("mkfifo f && rm report.xml && ln -s f report.xml", Reason.REPORT_DAMAGED),
        ("truncate -s 100M report.xml", Reason.REPORT_DAMAGED),
    ],
    ids=["torn", "a pipe", "endless"],
)
def test_a_report_that_cannot_be_read_decides_nothing_or_refuses(fork: Fork, report: str, reason: Reason) -> None:
    l1 = replace(L1, test=StepConfig(f"{TEST}; {report}", timeout_seconds=60))
    answer = fork.check(fork.base, l1=l1)
    assert isinstance(answer.verdict, NotDecided) and answer.verdict.reason is reason
    assert answer.verdict.message.count("\n") == 0


def test_measurements_that_were_promised_and_are_not_there_are_said_so(fork: Fork) -> None:
    l1 = replace(L1, metrics=("speed.txt",))
    answer = fork.check(fork.base, l1=l1)
    assert (
        isinstance(answer.verdict, NotDecided) and "no file of measurements matches speed.txt" in answer.verdict.message
    )
    told = replace(l1, test=StepConfig(f"{TEST}; echo 'speed 2.5 ms' > speed.txt"))
    assert [metric.value for metric in fork.check(fork.base, l1=told).change.metrics] == [2.5]


def test_a_harness_that_hangs_is_ended_with_its_tree_and_is_not_the_changes_fault(fork: Fork) -> None:
    hang = replace(L1, test=StepConfig("sleep 1000 & sleep 1000", timeout_seconds=1))
    answer = fork.check(fork.change("x", {"note": "1"}), l1=hang)
    assert isinstance(answer.verdict, NotDecided) and answer.verdict.reason is Reason.TIMED_OUT
    assert "Its base ends the same way" in answer.verdict.message
