"""A quorum as an act: the result of every harness on one revision, run, recalled or reported, held together."""

from collections.abc import Callable
from dataclasses import asdict, replace
from fnmatch import fnmatchcase

from headway.core.config_tiers import QuorumRule
from headway.core.errors import CouldNotRun
from headway.core.events import Event
from headway.core.events_validate_tiers import QuorumTaken
from headway.core.names import BlobId, Sha
from headway.validate.quorum import reconcile
from headway.validate.results import SuiteResult

QUORUM_SCHEMA = "headway.quorum/1"

ResultOf = Callable[[str], SuiteResult]
"""The result of a suite on the revision. Raises CouldNotRun for a remote one without a report."""


def take_quorum(
    rule: QuorumRule, revision: Sha, result_of: ResultOf, keep: Callable[[dict[str, object]], BlobId]
) -> tuple[Event, ...]:
    """The events of one quorum, `QuorumTaken` last. Raises CouldNotRun if a harness says nothing usable at all."""
    results = {name: _under(rule, result_of(name)) for name in rule.suites}
    for name, result in results.items():
        if result.trouble and not result.tests:
            raise CouldNotRun(
                f"No quorum of {revision[:12]}: {name} said nothing: {result.detail}", "Mend the suite, then ask again."
            )
    found = reconcile(results)
    tests = {test.id for result in results.values() for test in result.tests}
    evidence = keep(
        {
            "schema": QUORUM_SCHEMA,
            "quorum": rule.name,
            "revision": revision,
            "suites": {name: dict(result.counts) for name, result in results.items()},
            "harnesses": {name: result.harness for name, result in results.items()},
            "tests": len(tests),
            "disagreements": [asdict(one) for one in found],
        }
    )
    return (QuorumTaken(rule.name, revision, tuple(rule.suites), len(tests), len(found), evidence),)


def _under(rule: QuorumRule, result: SuiteResult) -> SuiteResult:
    """Only what the rule is about: two harnesses seldom share everything."""
    kept = tuple(test for test in result.every() if any(fnmatchcase(test.id, pattern) for pattern in rule.tests))
    return replace(result, tests=kept, folded=())
