"""Two or more harnesses over the same tests: where they disagree, one of them is not telling the truth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from headway.core.names import TestId
from headway.validate.results import SuiteResult, TestResult

DisagreementKind = Literal["not_run_there", "different_outcome"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One identity: what each harness says of it (`absent` where it does not know the test at all)."""

    test: TestId
    kind: DisagreementKind
    said: Mapping[str, str]


def reconcile(results: Mapping[str, SuiteResult]) -> tuple[Disagreement, ...]:
    """Compare harness by harness, per identity. Raises ValueError unless all ran the same tree."""
    if len({result.tree for result in results.values()}) > 1:
        raise ValueError("results of different trees cannot be reconciled")
    by_harness: dict[str, dict[TestId, TestResult]] = {
        name: {test.id: test for test in result.every()} for name, result in results.items()
    }
    every = sorted({test for tests in by_harness.values() for test in tests})
    found = []
    for test in every:
        said = {name: _said(tests.get(test)) for name, tests in by_harness.items()}
        kind = _kind(said)
        if kind is not None:
            found.append(Disagreement(test, kind, said))
    return tuple(found)


def _said(test: TestResult | None) -> str:
    return test.state if test is not None else "absent"


def _kind(said: Mapping[str, str]) -> DisagreementKind | None:
    """Executed here and not there is an alarm; so is passed here and failed there. All skipping alike is no quarrel."""
    states = set(said.values())
    executed = states & {"passed", "failed"}
    if executed and states - {"passed", "failed"}:
        return "not_run_there"
    return "different_outcome" if len(executed) == 2 else None
