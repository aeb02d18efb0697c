"""The ratchet: floors, allowances with reason and expiry, and what has gone stale; two harnesses held together."""

from datetime import date

import pytest

from benchmarks.census_overhead import interval
from headway.core.config import AllowedSkip
from headway.core.names import Sha, TestId, TreeId
from headway.validate.census import Finding, Inventory, compare
from headway.validate.quorum import reconcile
from headway.validate.results import Cause, State, SuiteResult, TestResult

TODAY = date(2026, 3, 1)
TREE = TreeId("2" * 40)


def ran(
    *tests: str, skipped: str = "", cause: Cause = "", state: State = "skipped", tree: TreeId = TREE
) -> SuiteResult:
    results = [TestResult(TestId(test), "passed") for test in tests]
    results += [TestResult(TestId(test), state, "why", cause=cause) for test in skipped.split()]
    return SuiteResult(Sha("1" * 40), tree, "", "", tuple(results), (), ())


FULL = Inventory.of(ran("a.py::one", "a.py::two", "b.py::three"))


def kinds(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(found.kind, found.subject) for found in findings]


def test_a_run_that_covers_the_inventory_is_complete() -> None:
    assert compare(FULL, ran("a.py::one", "a.py::two", "b.py::three", "c.py::more"), (), TODAY) == ()


def test_a_vanished_test_is_named_and_its_files_floor_too() -> None:
    found = compare(FULL, ran("a.py::one", "b.py::three"), (), TODAY)
    assert kinds(found) == [("vanished", "a.py::two"), ("below_floor", "a.py")]
    assert found[1].reason == "1 tests ran, at least 2 must"


def test_a_new_skip_needs_an_allowance_with_a_reason() -> None:
    result = ran("a.py::one", "b.py::three", skipped="a.py::two")
    assert kinds(compare(FULL, result, (), TODAY)) == [("skipped", "a.py::two"), ("below_floor", "a.py")]
    assert compare(FULL, result, [AllowedSkip("a.py::two", "needs a GPU")], TODAY) == ()


def test_an_allowance_ends_on_its_day() -> None:
    result = ran("a.py::one", "b.py::three", skipped="a.py::two")
    allowed = [AllowedSkip("a.py::*", "until the driver is updated", date(2026, 3, 1))]
    assert compare(FULL, result, allowed, TODAY) == ()
    found = compare(FULL, result, allowed, date(2026, 3, 2))
    assert kinds(found)[0] == ("expired_allowance", "a.py::*") and ("skipped", "a.py::two") in kinds(found)


def test_an_allowance_that_matches_nothing_is_stale_and_fails() -> None:
    everything = ran("a.py::one", "a.py::two", "b.py::three")
    assert kinds(compare(FULL, everything, [AllowedSkip("a.py::gone", "old")], TODAY)) == [
        ("stale_allowance", "a.py::gone")
    ]


def test_silent_holes_need_no_history() -> None:
    found = compare(
        Inventory({}), ran("a.py::one", skipped="a.py::two", cause="deselected", state="not_run"), (), TODAY
    )
    assert [(f.kind, f.subject, f.cause) for f in found] == [("not_run", "a.py::two", "deselected")]


def test_tests_that_moved_are_excused_also_from_the_floor() -> None:
    assert compare(FULL, ran("new/a.py::one", "new/a.py::two", "b.py::three"), (), TODAY) == ()


def test_an_inventory_survives_its_round_trip() -> None:
    assert Inventory.from_json(FULL.to_json().encode()) == FULL


def test_two_harnesses_that_disagree() -> None:
    a, b = ran("t::1", "t::2", "t::4"), ran("t::1", "t::3", skipped="t::2")
    said = [(d.test, d.kind) for d in reconcile({"a": a, "b": b})]
    assert said == [("t::2", "not_run_there"), ("t::3", "not_run_there"), ("t::4", "not_run_there")]
    failed = SuiteResult(Sha("1" * 40), TREE, "", "", (TestResult(TestId("t::1"), "failed"),), (), ())
    assert [d.kind for d in reconcile({"a": ran("t::1"), "b": failed})] == ["different_outcome"]
    assert reconcile({"a": ran(skipped="t::9"), "b": ran(skipped="t::9")}) == ()


def test_results_of_different_trees_are_not_compared() -> None:
    with pytest.raises(ValueError, match="different trees"):
        reconcile({"a": ran("t"), "b": ran("t", tree=TreeId("3" * 40))})


def test_the_interval_of_paired_runs_is_that_of_order_statistics() -> None:
    bare = [10.0] * 10
    other = [10.0 + step / 10 for step in (3, 1, 2, -1, 0, 4, 2, 3, 30, 1)]
    assert interval(bare, other) == (0.02, 0.0, 0.04), "one wild round on each side does not widen it"
    assert interval(bare[:3], other[:3]) == (0.02, 0.01, 0.03), "few rounds: their range"
