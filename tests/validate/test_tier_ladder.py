"""L1 on one change: what fails only there is new and refuses it; what fails on the base too is not its fault."""

from pathlib import Path

import pytest

from headway.core.config import L1Config, StepConfig
from headway.core.errors import HeadwayError
from headway.core.events_validate import L1Judged, L1Proven, SuiteRan
from headway.core.gates import NotDecided, Passed, Refused
from headway.core.names import Sha
from headway.core.reasons import Reason
from tests.validate.suites import CHECKS, ENGINE, L1, TEST, new_fork


def test_a_green_change_passes_and_its_base_is_run_only_for_the_names_of_its_tests(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    change = fork.change("faster", {"engine/__init__.py": ENGINE + "X = 1\n"})
    nameless = fork.check(change, l1=L1Config(test=L1.test))
    assert nameless.verdict == Passed() and nameless.base is None and len(fork.executor.commands) == 1
    answer = fork.check(change)
    assert answer.verdict == Passed()
    assert dict(answer.change.counts) == {"passed": 2, "failed": 0, "skipped": 0, "not_run": 0}
    assert [test.id for test in answer.change.tests] == ["tests/checks.py::test_adds", "tests/checks.py::test_doubles"]
    assert len(fork.executor.commands) == 3
    ran, _, judged = answer.events
    assert isinstance(ran, SuiteRan) and (ran.passed, ran.failed, ran.trouble) == (2, 0, "")
    assert isinstance(judged, L1Judged) and (judged.verdict, judged.reason) == ("passed", "")


def test_a_death_is_the_changes_fault_only_if_it_dies_again(tmp_path: Path) -> None:
    """Out of memory, or somebody's `pkill`: an innocent change was deferred for it. It may hit what the shell runs."""
    fork = new_fork(tmp_path)
    once = f"test -e kept/once || {{ mkdir kept; touch kept/once; kill -9 $$; }}; {TEST}"
    l1 = L1Config(test=StepConfig(once, timeout_seconds=60), junit=L1.junit, cache=("kept",))
    answer = fork.check(fork.change("innocent", {"engine/__init__.py": ENGINE + "X = 1\n"}), l1=l1)
    ran = [event.trouble for event in answer.events if isinstance(event, SuiteRan)]
    assert answer.verdict == Passed() and ran == ["died", "", ""], "the change, its base, the change again"
    kills = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    answer = fork.check(fork.change("guilty", {"engine/__init__.py": kills}))
    ran = [event.trouble for event in answer.events if isinstance(event, SuiteRan)]
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.REPORT_DAMAGED
    assert ran == ["report_damaged", "", "report_damaged"] and "exit 137" in answer.verdict.message


def test_what_fails_on_the_change_and_not_on_its_base_refuses_it(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    change = fork.change("break", {"engine/__init__.py": ENGINE.replace("a * 2", "a * 3")})
    answer = fork.check(change)
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.TESTS_FAILED
    assert "tests/checks.py::test_doubles" in answer.verdict.message and "not on its base" in answer.verdict.message
    assert answer.attribution.new == ("tests/checks.py::test_doubles",) and not answer.attribution.pre_existing


def test_what_fails_on_the_base_too_is_pre_existing_and_its_run_is_recalled(tmp_path: Path) -> None:
    fork = new_fork(tmp_path, files={"tests/checks.py": CHECKS + "def test_old(): assert False, 'red for years'\n"})
    first = fork.check(fork.change("one", {"engine/__init__.py": ENGINE + "X = 1\n"}))
    assert first.verdict == Passed() and first.attribution.pre_existing == ("tests/checks.py::test_old",)
    assert len(fork.executor.commands) == 2
    second = fork.check(fork.change("two", {"engine/__init__.py": ENGINE + "X = 2\n"}))
    assert second.verdict == Passed() and second.base == first.base
    assert len(fork.executor.commands) == 3, "the base is known by tree, suite and environment"


def test_a_test_that_vanished_is_named(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    change = fork.change("drop", {"tests/checks.py": CHECKS.replace("test_doubles", "helper").replace("== 4", "== 5")})
    answer = fork.check(change)
    assert answer.attribution.vanished == ("tests/checks.py::test_doubles",)


def test_a_suite_that_ran_nothing_is_red_though_it_exits_zero(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    skips = "import engine\nclass Skip(Exception): pass\ndef test_gpu(): raise Skip('no GPU')\n"
    answer = fork.check(fork.change("skip all", {"tests/checks.py": skips}))
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.NOTHING_RAN
    assert dict(answer.change.counts) == {"passed": 0, "failed": 0, "skipped": 1, "not_run": 0}
    assert answer.change.tests[0].reason == "no GPU"


def test_a_failed_build_is_not_a_failed_test(tmp_path: Path) -> None:
    fork = new_fork(tmp_path, files={"Makefile": "all:\n\ttrue\n"})
    l1 = L1Config(test=L1.test, build=StepConfig("make -s"), junit=L1.junit)
    answer = fork.check(fork.change("break", {"Makefile": "all:\n\tfalse\n"}), l1=l1)
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.BUILD_FAILED
    assert [step.step for step in answer.change.steps] == ["build"] and answer.change.tests == ()


def test_a_base_that_does_not_build_either_decides_nothing(tmp_path: Path) -> None:
    fork = new_fork(tmp_path, files={"Makefile": "all:\n\tfalse\n"})
    l1 = L1Config(test=L1.test, build=StepConfig("make -s"), junit=L1.junit)
    answer = fork.check(fork.change("x", {"engine/__init__.py": ENGINE + "X = 1\n"}), l1=l1)
    assert isinstance(answer.verdict, NotDecided) and "base ends the same way" in answer.verdict.message


def test_a_failed_setup_decides_nothing(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    l1 = L1Config(test=L1.test, setup=StepConfig("echo no network; exit 3"), junit=L1.junit)
    answer = fork.check(fork.base, l1=l1)
    assert isinstance(answer.verdict, NotDecided) and answer.verdict.reason is Reason.SETUP_FAILED
    assert "exit 3" in answer.verdict.message


def test_a_red_exit_code_without_a_red_test_is_a_failure_of_its_own(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    l1 = L1Config(test=StepConfig(f"{TEST} && [ ! -e engine/new ]"), junit=L1.junit)
    answer = fork.check(fork.change("x", {"engine/new": "1"}), l1=l1)
    assert answer.attribution.new == ("<test command>",) and isinstance(answer.verdict, Refused)


def test_a_hung_suite_is_ended_and_is_the_changes_fault_only_if_its_base_ends(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    l1 = L1Config(test=StepConfig(TEST, timeout_seconds=1.5), junit=L1.junit)
    hang = CHECKS + "import time\ndef test_hangs(): time.sleep(60)\n"
    answer = fork.check(fork.change("hang", {"tests/checks.py": hang}), l1=l1)
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.TIMED_OUT


def test_the_first_landing_proves_that_l1_sees_the_tree_and_the_second_does_not_repeat_it(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    first = fork.check(fork.change("one", {"engine/__init__.py": ENGINE + "X = 1\n"}), prove=True)
    assert first.verdict == Passed()
    assert [e.sees for e in first.events if isinstance(e, L1Proven)] == [("python",)]
    asked = len(fork.executor.commands)
    second = fork.check(fork.change("two", {"engine/__init__.py": ENGINE + "X = 2\n"}), prove=True)
    assert second.verdict == Passed() and len(fork.executor.commands) == asked + 1


def test_an_unknown_commit_is_named(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    with pytest.raises(HeadwayError, match=r"The commit 0{40} is not in"):
        fork.check(Sha("0" * 40))
