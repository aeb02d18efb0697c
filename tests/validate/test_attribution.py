"""Whose failure is it: the three red tests of one change; what a machine did; what must never be excused."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.config import L1Config
from headway.core.counts import Tally, chance_of_worse
from headway.core.events_validate import Reran
from headway.core.gates import NotDecided, Passed, Refused
from headway.core.names import Sha, TestId, TreeId
from headway.core.reasons import Reason
from headway.validate.attribution import BothTallies, attribute, judge, told_apart
from headway.validate.flakiness import classify
from headway.validate.infrastructure import infrastructure_kind
from headway.validate.results import SuiteResult, TestResult
from tests.validate.suites import CHECKS, L1, new_fork


def result(**states: str) -> SuiteResult:
    """`name="failed: why"` or `name="passed"`."""
    tests = []
    for name, said in states.items():
        state, _, reason = said.partition(": ")
        tests.append(TestResult(TestId(name), state, reason))  # type: ignore[arg-type]
    return SuiteResult(Sha("1" * 40), TreeId("2" * 40), "", "", tuple(tests), (), ())


def test_three_red_tests_on_one_change_and_only_the_first_is_waved_through() -> None:
    """Red on the base too; red only here; flaky 10 % on the base and 40 % here."""
    base = result(old="failed: since ever", mine="passed", race="passed")
    change = result(old="failed: since ever", mine="failed: assert 0", race="failed: assert 0")
    tallies = {
        TestId("mine"): BothTallies(Tally(40, 40), Tally(0, 40)),
        TestId("race"): BothTallies(Tally(16, 40), Tally(4, 40)),
    }
    found = told_apart(attribute(change, base), tallies)
    assert (found.pre_existing, found.new, found.regressed_flakiness) == (("old",), ("mine",), ("race",))
    assert judge(change, base, found).kind == "refused"
    alone = told_apart(attribute(result(race="failed"), result(race="passed")), tallies)
    verdict = judge(result(race="failed", other="passed"), base, alone)
    assert isinstance(verdict, Refused) and verdict.reason is Reason.FLAKIER
    assert "16 of 40 runs" in verdict.message and "4 of 40" in verdict.message


@pytest.mark.parametrize(
    ("change", "base", "kind"),
    [
        (Tally(1, 1), Tally(0, 1), "new"),
        (Tally(3, 3), Tally(0, 3), "new"),
        (Tally(2, 10), Tally(1, 10), "flaky"),
        (Tally(1, 10), Tally(3, 10), "flaky"),
        (Tally(8, 10), Tally(1, 10), "regressed_flakiness"),
        (Tally(10, 10), Tally(2, 10), "regressed_flakiness"),
        (Tally(6, 20), Tally(0, 20), "regressed_flakiness"),
        (Tally(1, 10), Tally(0, 10), "new"),  # nothing shows that the base ever fails
        (Tally(44, 380), Tally(0, 300), "regressed_flakiness"),  # a "13 % flake" that was a race
    ],
)
def test_kinds_of_comings_and_goings(change: Tally, base: Tally, kind: str) -> None:
    assert classify(change, base) == kind


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_the_exact_test_agrees_with_scipy(n: int, m: int, data: st.DataObject) -> None:
    from scipy.stats import fisher_exact

    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    expected = fisher_exact([[a, n - a], [b, m - b]], alternative="greater").pvalue
    assert chance_of_worse(Tally(a, n), Tally(b, m)) == pytest.approx(expected, abs=1e-9)


def test_equal_rates_are_rarely_called_flakier() -> None:
    """Both fail 10 %: called regressed in under 5 % of 2,000 trials of 30 runs a side."""
    dice = random.Random(0)
    wrong = 0
    for _ in range(2000):
        a, b = (sum(dice.random() < 0.1 for _ in range(30)) for _ in range(2))
        wrong += chance_of_worse(Tally(a, 30), Tally(b, 30)) < 0.05
    assert wrong / 2000 < 0.05


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("ConnectionError: HTTPSConnectionPool: Read timed out.", "network"),
        ("OSError: [Errno 28] No space left on device", "disk"),
        ("RuntimeError: no CUDA-capable device is detected", "device lost"),
        ("AssertionError: connection reset is not handled", ""),
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory; no space left on device", ""),
        ("error: failed to legalize operation 'tt.load' (read timed out)", ""),
        ("subprocess exited with SIGSEGV after connection reset", ""),
        ("exit code 1", ""),
        ("flaky", ""),
        ("Mismatched elements: 3 / 4; temporary failure in name resolution: mismatch", ""),
    ],
)
def test_what_is_infrastructure_and_what_is_never_excused(said: str, kind: str) -> None:
    assert infrastructure_kind(said) == kind


def test_infrastructure_decides_nothing_and_hides_no_real_failure() -> None:
    base = result(a="passed", b="passed")
    only = result(a="failed: OSError: no space left on device", b="passed")
    verdict = judge(only, base, attribute(only, base))
    assert isinstance(verdict, NotDecided) and verdict.reason is Reason.INFRASTRUCTURE
    both = result(a="failed: OSError: no space left on device", b="failed: assert 1 == 2")
    verdict = judge(both, base, attribute(both, base))
    assert isinstance(verdict, Refused) and "b" in verdict.message


def flaky_checks(folder: Path, name: str, every: int) -> str:
    """A test that fails in its first run and then every `every`-th: deterministic, counted outside the clone."""
    return CHECKS + (
        f"\ndef test_race():\n    import os\n    n = len(os.listdir({str(folder)!r}))\n"
        f"    open(os.path.join({str(folder)!r}, '{name}%d' % n), 'w').close()\n    assert n % {every}\n"
    )


def test_a_flake_is_proven_on_both_sides_by_running_again(tmp_path: Path) -> None:
    """On the real executor without its layers, so that the test's own counter outlives a run."""
    fork = new_fork(tmp_path, layers=frozenset())
    counter = tmp_path / "counter"
    counter.mkdir()
    (counter / "x").touch()  # the base's first run passes
    base = fork.change("flaky base", {"tests/checks.py": flaky_checks(counter, "a", 3)})
    assert fork.check(base).change.green
    change = fork.change("innocent", {"tests/checks.py": flaky_checks(counter, "b", 3) + "# innocent\n"})
    (counter / "y").touch()
    l1 = L1Config(test=L1.test, junit=L1.junit, reruns=6)
    answer = fork.check(change, base=base, l1=l1)
    assert answer.verdict == Passed(), answer.attribution
    assert answer.attribution.flaky == ("tests/checks.py::test_race",)
    [reran] = [event for event in answer.events if isinstance(event, Reran)]
    assert reran.runs == 6 and reran.seconds > 0, "twelve runs of the suite are not free"


def test_a_constant_failure_is_new_after_two_reruns(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    change = fork.change("break", {"tests/checks.py": CHECKS + "def test_bad(): assert 0\n"})
    answer = fork.check(change, l1=L1Config(test=L1.test, junit=L1.junit, reruns=50))
    assert isinstance(answer.verdict, Refused) and answer.attribution.new == ("tests/checks.py::test_bad",)
    assert len(fork.executor.commands) == 2 + 2 * 2
