"""What one run of a suite found out, as values: every test in one of four states, every step with its ending."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from headway.core.names import BlobId, Sha, TestId, TreeId

State = Literal["passed", "failed", "skipped", "not_run"]
StepName = Literal["setup", "build", "test"]
Cause = Literal[
    "", "deselected", "ended_early", "shadowed", "module_skipped", "collection_failed", "not_collected", "unsupported",
    "xfail", "excluded",
]  # fmt: skip
"""Why a test is not among those that ran, where the harness knows; "" for a plain outcome or a skip mark."""

RESULT_SCHEMA = "headway.suite_result/1"

Trouble = Literal[
    "",
    "setup_failed",
    "build_failed",
    "no_command",
    "no_compiler",
    "timed_out",
    "died",
    "report_damaged",
    "nothing_ran",
]
"""Why a run says less than it should: "" if it says all; otherwise which step stopped it, or what was wrong with its
report. `no_command` and `no_compiler` are troubles of the machine or the configuration, not of the revision."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test. `reason` says why it was skipped or not run, or the first line of a failure; bounded, masked later."""

    __test__ = False  # pytest must not collect it

    id: TestId
    state: State
    reason: str = ""
    seconds: float = 0.0
    cause: Cause = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """Many tests that did not run for one reason, kept as one: a stress suite may deselect tens of thousands.

    A row for each would cost more than the run. `names` holds their identities, one a line.
    """

    reason: str
    cause: Cause
    names: str

    @property
    def count(self) -> int:
        return self.names.count("\n") + 1

    def tests(self) -> tuple[TestResult, ...]:
        """A row for each, as if nothing had been folded."""
        return tuple(TestResult(TestId(one), "not_run", self.reason, 0.0, self.cause) for one in self.names.split("\n"))


class Named(NamedTuple):
    """What a harness's report says of tests."""

    tests: tuple[TestResult, ...]
    folded: tuple[Folded, ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """One measurement of one run. `value` stands for it (the median); `samples` are at most 100 of what it was made
    from, in the same unit, in the order they came."""

    name: str
    value: float
    unit: str
    samples: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class StepEnd:
    """How one step ended. `exit` is None if it did not exit by itself. `output` is a blob."""

    step: StepName
    exit: int | None
    ended: str
    """`exit 2`, `timed out after 900 s`, `died of SIGSEGV` or `not started: …`."""
    seconds: float
    output: BlobId


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """One run of one suite on one tree. Equal trees have equal meaning; `commit` only says which was asked for."""

    commit: Sha
    tree: TreeId
    trouble: Trouble
    detail: str
    """One sentence for people when `trouble` is not "", naming the step and its ending."""
    tests: tuple[TestResult, ...]
    steps: tuple[StepEnd, ...]
    sandbox: tuple[str, ...]
    harness: str = "junit"
    """Who said what ran: `pytest` and `lit` know what was left out; `junit`, `counts` and `exit` do not."""
    metrics: tuple[Metric, ...] = ()
    folded: tuple[Folded, ...] = ()
    """Tests that did not run, beside those in `tests`; `every` has all."""

    def every(self) -> tuple[TestResult, ...]:
        """All tests, one row each."""
        return (*self.tests, *(test for fold in self.folded for test in fold.tests()))

    @property
    def counts(self) -> Mapping[State, int]:
        counted = Counter(test.state for test in self.tests)
        counted["not_run"] += sum(fold.count for fold in self.folded)
        return {state: counted[state] for state in ("passed", "failed", "skipped", "not_run")}

    @property
    def green(self) -> bool:
        """Something ran, nothing failed, nothing was wrong with the run."""
        return not self.trouble and self.counts["failed"] == 0 and self.counts["passed"] > 0

    def failed(self) -> frozenset[TestId]:
        return frozenset(test.id for test in self.tests if test.state == "failed")

    def ran(self) -> frozenset[TestId]:
        """Identities that were really executed."""
        return frozenset(test.id for test in self.tests if test.state in ("passed", "failed"))

    def to_json(self) -> str:
        """Canonical JSON, for a blob."""
        # by hand: `asdict` copies every field of every test, which on a large suite costs more than the plugin does
        tests = [
            {"cause": test.cause, "id": test.id, "reason": test.reason, "seconds": test.seconds, "state": test.state}
            for test in self.tests
        ]
        rest = asdict(replace(self, tests=()))
        return json.dumps({"schema": RESULT_SCHEMA, **rest, "tests": tests}, sort_keys=True, separators=(",", ":"))


def result_from_json(text: bytes | str) -> SuiteResult:
    """The inverse of `to_json`."""
    raw: dict[str, Any] = json.loads(text)
    assert raw.pop("schema") == RESULT_SCHEMA
    tests = tuple(TestResult(**test) for test in raw.pop("tests"))
    steps = tuple(StepEnd(**step) for step in raw.pop("steps"))
    metrics = tuple(Metric(**{**one, "samples": tuple(one["samples"])}) for one in raw.pop("metrics", ()))
    folded = tuple(Folded(**fold) for fold in raw.pop("folded", ()))
    sandbox = tuple(raw.pop("sandbox"))
    return SuiteResult(tests=tests, steps=steps, sandbox=sandbox, metrics=metrics, folded=folded, **raw)


def worst_of_same_name(tests: Iterable[TestResult]) -> tuple[TestResult, ...]:
    """One result per identity, the worst one: a rerun or a second report must not paint a failure over."""
    order: dict[State, int] = {"failed": 0, "passed": 1, "skipped": 2, "not_run": 3}
    kept: dict[TestId, TestResult] = {}
    for test in tests:
        known = kept.get(test.id)
        if known is None or order[test.state] < order[known.state]:
            kept[test.id] = test
    return tuple(kept[test] for test in sorted(kept))
