"""What one run of a suite shows to be wrong, grouped by signature, beside what its earlier runs showed. Pure."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headway.core.config_tiers import SuiteConfig
from headway.core.events_validate_tiers import SuiteReported
from headway.core.names import Sha, TestId
from headway.validate.culprit_run import WHOLE
from headway.validate.infrastructure import infrastructure_kind
from headway.validate.results import SuiteResult
from headway.validate.shifts import Point, Shift, got_worse
from headway.validate.signature import metric_signature, normalised, signature_of

ResultOf = Callable[[SuiteReported], SuiteResult]
"""The whole result of a report; reading the same one twice is cheap."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Tests that fail with one signature, or one metric that got worse. `words` is what the first one said.

    `good` is the newest earlier revision that is known to be without it, None if none is.
    """

    signature: str
    suite: str
    kind: Literal["test", "metric"]
    subject: TestId
    tests: tuple[TestId, ...]
    words: str
    good: Sha | None
    then: SuiteReported | None = None
    """The report that `good` was learnt from."""
    shift: Shift | None = None
    infrastructure: str = ""


def suspicions(
    suite: SuiteConfig, report: SuiteReported, earlier: Sequence[SuiteReported], result_of: ResultOf
) -> tuple[Suspicion, ...]:
    """Everything wrong in `report`; `earlier` are the suite's reports before it, oldest first."""
    result = result_of(report)
    return (
        *_broken(suite, result, earlier, result_of),
        *_red(suite, result, earlier, result_of),
        *_worse(suite, report, result, earlier, result_of),
    )


def signals(tests: Sequence[TestId], result: SuiteResult) -> bool:
    """Whether a run says positively that all is well: all of `tests` passed. One that did not run says nothing."""
    if WHOLE in tests:
        return not result.trouble and bool(result.ran() or result.metrics)
    passed = {test.id for test in result.tests if test.state == "passed" and test.cause != "xfail"}
    return bool(tests) and all(test in passed for test in tests)


def _broken(
    suite: SuiteConfig, result: SuiteResult, earlier: Sequence[SuiteReported], result_of: ResultOf
) -> list[Suspicion]:
    """The suite itself came to no good end."""
    if not result.trouble:
        return []
    well = _newest(earlier, lambda one: not one.trouble)
    machine = result.trouble in ("no_command", "no_compiler", "setup_failed")
    return [
        Suspicion(
            signature=signature_of(suite.name, WHOLE, result.trouble),
            suite=suite.name,
            kind="test",
            subject=WHOLE,
            tests=(WHOLE,),
            words=result.detail,
            good=well.revision if well else None,
            then=well,
            infrastructure="the suite could not be started" if machine else "",
        )
    ]


def _red(
    suite: SuiteConfig, result: SuiteResult, earlier: Sequence[SuiteReported], result_of: ResultOf
) -> list[Suspicion]:
    groups: dict[str, list[TestId]] = defaultdict(list)
    words = {test.id: test.reason for test in result.tests if test.state == "failed"}
    for test in sorted(words):
        groups[signature_of(suite.name, test, words[test])].append(test)
    found = []
    for signature, tests in groups.items():
        well = _newest(earlier, lambda one, tests=tests: _not_red(result_of(one), tests))  # type: ignore[misc]
        found.append(
            Suspicion(
                signature=signature,
                suite=suite.name,
                kind="test",
                subject=tests[0],
                tests=tuple(tests),
                words=words[tests[0]],
                good=well.revision if well else None,
                then=well,
                infrastructure=infrastructure_kind(words[tests[0]]),
            )
        )
    return found


def _worse(
    suite: SuiteConfig,
    report: SuiteReported,
    result: SuiteResult,
    earlier: Sequence[SuiteReported],
    result_of: ResultOf,
) -> list[Suspicion]:
    found = []
    series: Mapping[str, list[Point]] = defaultdict(list)
    for one in earlier:
        for metric in result_of(one).metrics:
            series[metric.name].append(Point(one.revision, metric.value))
    for metric in result.metrics:
        points = [*series[metric.name], Point(report.revision, metric.value)]
        shift = got_worse(points, lower_is_better=suite.lower_is_better(metric.name))
        if shift is None:
            continue
        then = _newest(earlier, lambda one, good=shift.good: one.revision == good)  # type: ignore[misc]
        step = f"{shift.level:.6g} -> {shift.value:.6g} {metric.unit} ({(shift.ratio - 1) * 100:+.1f} %)"
        found.append(
            Suspicion(
                signature=metric_signature(suite.name, metric.name),
                suite=suite.name,
                kind="metric",
                subject=TestId(metric.name),
                tests=(),
                words=f"{metric.name}: {step}",
                good=Sha(shift.good),
                then=then,
                shift=shift,
            )
        )
    return found


def _newest(reports: Sequence[SuiteReported], wanted: Callable[[SuiteReported], bool]) -> SuiteReported | None:
    return next((one for one in reversed(reports) if wanted(one)), None)


def _not_red(result: SuiteResult, tests: Sequence[TestId]) -> bool:
    """Whether a run says that none of them failed there: at least one passed or did not exist yet, none failed."""
    if result.trouble:
        return False
    return not result.failed() & frozenset(tests) and bool(result.ran())


def title_of(suspicion: Suspicion) -> str:
    """One line for people."""
    if suspicion.kind == "metric":
        return f"{suspicion.suite}: {suspicion.subject} got worse"
    many = f" and {len(suspicion.tests) - 1} more" if len(suspicion.tests) > 1 else ""
    said = normalised(suspicion.words)
    return f"{suspicion.suite}: {suspicion.subject}{many}: {said}"[:160]
