"""Pure decisions of the trunk watch: signatures, suspicions, causes, the clock, and the words of an issue."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headway.core.config_tiers import SuiteConfig, TierConfig, TiersConfig
from headway.core.events_validate_tiers import CulpritAnswered, FindingTriaged, HarnessCanaried, TierBegun, TierEnded
from headway.core.names import BlobId, Sha, TestId
from headway.validate.failures import Suspicion, signals, title_of
from headway.validate.issue_text import Facts, Suspect, body_of
from headway.validate.overview import Overview
from headway.validate.results import SuiteResult, TestResult
from headway.validate.schedule import appointments, due_canaries, due_tiers
from headway.validate.shifts import Point, got_worse
from headway.validate.show import alarms
from headway.validate.signature import signature_of
from headway.validate.triage import Ends, differ, limit_between, triage

ONE, TWO = Sha("1" * 40), Sha("2" * 40)
TEST = TestId("tests/a.py::test_x[1]")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("RuntimeError: kernel launch failed at 0x7f12", "RuntimeError: kernel launch failed at 0xdead", True),
        ("cannot open /tmp/a1/out.bin after 3.5 s", "cannot open /home/x/out.bin after 12 s", True),
        ("lost worker 7 at 2026-01-01 10:00:00", "lost worker 9 at 2026-02-02 11:12:13", True),
        ("undefined symbol _Zfoo in libtriton", "undefined symbol _Zbar in libtriton", False),
        ("exit 1", "exit 1", False),
        ("assert False", "assert False", False),
        ("AssertionError: assert 3 == 4", "AssertionError: assert 5 == 6", False),
    ],
    ids=range(7),
)  # fmt: skip
def test_a_signature_says_enough_or_is_bound_to_its_test(one: str, other: str, same: bool) -> None:
    """Two tests that fail with the same telling words are one failure; `exit 1` of two tests is two."""
    assert (signature_of("s", TEST, one) == signature_of("s", TestId("tests/b.py::test_y"), other)) is same
    assert signature_of("s", TEST, one) == signature_of("s", TestId("tests/a.py::test_x[2]"), one), "parameters"
    assert signature_of("s", TEST, one) != signature_of("t", TEST, one), "another suite"


@pytest.mark.parametrize(
    ("ends", "cause"),
    [
        (Ends((0, 0), (1, 1), 0.5), "code"),
        (Ends((0, 0), (1, 0), 0.5), "code"),
        (Ends((0, 0), (0, 0), 0.5), "noise"),
        (Ends((1, 1), (1, 1), 0.5), "hardware"),
        (Ends((1, 1), (1, 1), 0.5, environment_changed=True), "hardware"),
        (Ends((1, 1), (1, 1), 0.5, definition_changed=True), "method"),
        (Ends((1, 0), (1, 1), 0.5), "code"),
        (Ends((), (1, 1), 0.5), "unknown"),
        (Ends((0, 0), (), 0.5), "unknown"),
        (Ends((0, 0), (1, 1), 0.5, words="network"), "infrastructure"),
        (Ends((1.0, 1.01), (1.2, 1.2), 1.1, swapped=(1.0, 1.0)), "method"),
        (Ends((1.0, 1.01), (1.2, 1.2), 1.1, swapped=(1.2, 1.2)), "code"),
        (Ends((90.0,), (70.0,), 80.0, lower_is_better=False), "code"),
        (Ends((70.0,), (70.0,), 80.0, lower_is_better=False), "hardware"),
    ],
    ids=range(14),
)
def test_nobody_is_blamed_before_the_old_revision_has_run_today(ends: Ends, cause: str) -> None:
    assert triage(ends).cause == cause


def test_a_limit_lies_between_and_ends_must_differ_in_every_pairing() -> None:
    assert limit_between(1.0, 4.0) == 2.0 and limit_between(-1.0, 3.0) == 1.0
    assert differ((1, 1.1), (1.2, 1.3), lower_is_better=True)
    assert not differ((1, 1.25), (1.2, 1.3), lower_is_better=True) and not differ((), (1,), lower_is_better=True)


def series(*values: float) -> list[Point]:
    return [Point(f"r{number}", value) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "lower", "good"),
    [
        ((1.0, 1.1), True, "r0"),
        ((1.0, 1.01), True, None),
        ((1.0, 1.1), False, None),
        ((100.0, 99.0, 101.0, 80.0), False, "r2"),
        ((1.0, 1.2, 0.9, 1.1, 1.0, 1.25), True, None),
        ((1.0, 1.0, 1.5, 1.5), True, "r1"),
        ((1.0,), True, None),
        ((), True, None),
        ((0.0, 1.0), True, None),
        ((*(1.0 + 0.01 * (-1) ** n for n in range(16)), 1.025, 1.035, 1.03, 1.035), True, "r15"),
    ],
    ids=range(10),
)
def test_a_suspicion_is_past_the_series_own_scatter(values, lower: bool, good: str | None) -> None:
    shift = got_worse(series(*values), lower_is_better=lower)
    assert (shift.good if shift else None) == good


def test_only_a_positive_signal_of_every_test_counts() -> None:
    both = [TestId("a"), TestId("b")]

    def result(*tests: TestResult) -> SuiteResult:
        return SuiteResult(ONE, "t", "", "", tests, (), ())  # type: ignore[arg-type]

    assert signals(both, result(TestResult(both[0], "passed"), TestResult(both[1], "passed")))
    assert not signals(both, result(TestResult(both[0], "passed")))
    assert not signals(both, result(TestResult(both[0], "passed"), TestResult(both[1], "skipped")))
    assert not signals([], result())


TIER = TierConfig(
    "L2", ("s",), every_seconds=3600, grace_seconds=600, canaries_every_seconds=86400, detection_floor=0.5
)
TIERS = TiersConfig(suites=(SuiteConfig("s", None),), tiers=(TIER,))
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_one_that_begins_and_never_ends_is_due_by_its_beginning_and_overdue_by_its_end() -> None:
    seen = Overview().take(
        [
            (NOW, TierBegun("L2", ONE, "L2-1", "due")),
            (NOW, TierEnded("L2", ONE, "L2-1", "green", 1.0, 0.0)),
            (NOW + timedelta(hours=1), TierBegun("L2", TWO, "L2-2", "due")),
        ]
    )
    later = NOW + timedelta(hours=1, minutes=11)
    [state] = [one.state for one in appointments(TIERS, seen, later) if one.kind == "tier"]
    assert state == "overdue" and seen.interrupted("L2") and due_tiers(TIERS, seen, later) == (TIER,)
    assert [tier.name for tier in due_tiers(TIERS, seen, NOW + timedelta(minutes=5))] == ["L2"], "to be gone on with"
    assert due_canaries(TIERS, seen, later) == (), "a remote suite is shown none here"


def test_a_detection_rate_below_its_floor_is_an_alarm() -> None:
    flown = HarnessCanaried("s", ONE, 5, 0, 4, 1, BlobId("b"))
    assert "caught 25% of the mutants, and 50% are asked" in "".join(
        alarms(TIERS, Overview().take([(NOW, flown)]), NOW)
    )


def test_an_issue_tells_facts_apart_from_words_and_lets_nothing_through() -> None:
    hostile = "boom ```` </details> @everyone #1"
    one = Suspicion("abc", "s", "test", TEST, (TEST,), hostile, ONE)
    found = FindingTriaged("L2-1", "abc", "s", "test", TEST, 1, "code", ONE, TWO, 1.0, 0.0, BlobId("b"))
    answer = CulpritAnswered("L2-1", "abc", "culprit", (TWO,), 0.97, 12, 60.0, 2.5, "it fails from here on")
    facts = Facts(one, found, "because", answer, (Suspect(TWO, "fix [#12](x) @bob", "Bo <b@x>"),), ("@ann",), TWO, ())
    body = body_of(replace(facts, words="I think it is the moon", fix="headway/fix-abc"))
    fence = body.split("\n")[2]
    assert set(fence) == {"`"} and len(fence) == 5 and "posterior 0.970, 12 runs, 60 s, 2.50 GPU-hours" in body
    assert "@bob" not in body and "](x)" not in body and "**Asked**: @ann" in body
    assert body.index("**Culprit search**") < body.index("An agent's words") and "branch `headway/fix-abc`" in body
    assert title_of(one).startswith("s: tests/a.py::test_x[1]: boom")
