"""Whose failure is it? What fails on the change and is proven to fail on its base was there before; the rest is new."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from headway.core.config_tiers import Waiver
from headway.core.counts import Tally, chance_of_worse
from headway.core.gates import PASSED, NotDecided, Refused, Verdict
from headway.core.names import TestId
from headway.core.reasons import Reason
from headway.validate.census import Finding, losses
from headway.validate.flakiness import classify
from headway.validate.infrastructure import infrastructure_kind
from headway.validate.results import SuiteResult

SHOWN = 3
"""How many test names a one-sentence message holds."""


@dataclass(frozen=True, slots=True)
class BothTallies:
    """How often one test failed, on the change and on its base."""

    change: Tally
    base: Tally


@dataclass(frozen=True, slots=True)
class Attribution:
    """Failing tests by whose they are. `vanished` ran on the base and is not even named on the change; `lost` ran on
    the base, is known to the change's harness, and was skipped or not run."""

    new: tuple[TestId, ...] = ()
    pre_existing: tuple[TestId, ...] = ()
    vanished: tuple[TestId, ...] = ()
    lost: tuple[Finding, ...] = ()
    flaky: tuple[TestId, ...] = ()
    regressed_flakiness: tuple[TestId, ...] = ()
    infrastructure: tuple[TestId, ...] = ()
    """Fails only on the change, and by its own words for want of network, disk or device."""
    tallies: Mapping[TestId, BothTallies] = field(default_factory=dict)
    waived: Mapping[TestId, Waiver] = field(default_factory=dict)
    """New, and somebody answers for it."""


def attribute(change: SuiteResult, base: SuiteResult | None) -> Attribution:
    """Pure. Without a base every failure is new: "unrelated" needs proof."""
    failed = change.failed()
    on_base = base.failed() if base is not None else frozenset()
    gone = losses(base, change) if base is not None else ()
    machine = frozenset(
        test.id
        for test in change.tests
        if test.state == "failed" and test.id not in on_base and infrastructure_kind(test.reason)
    )
    return Attribution(
        new=tuple(sorted(failed - on_base - machine)),
        infrastructure=tuple(sorted(machine)),
        pre_existing=tuple(sorted(failed & on_base)),
        vanished=tuple(TestId(found.subject) for found in gone if found.kind == "vanished"),
        lost=tuple(found for found in gone if found.kind != "vanished"),
    )


def told_apart(attribution: Attribution, tallies: Mapping[TestId, BothTallies]) -> Attribution:
    """The same with the failures that come and go taken out of `new`, by what the reruns counted."""
    kinds = {test: classify(both.change, both.base) for test, both in tallies.items()}
    return replace(
        attribution,
        new=tuple(test for test in attribution.new if kinds.get(test, "new") == "new"),
        flaky=tuple(test for test in attribution.new if kinds.get(test) == "flaky"),
        regressed_flakiness=tuple(test for test in attribution.new if kinds.get(test) == "regressed_flakiness"),
        tallies=tallies,
    )


def left_out(attribution: Attribution, standing: frozenset[TestId]) -> Attribution:
    """The same with those of `vanished` whose sources still stand among the lost: a report may leave out what it likes.

    A harness of ours knows what it did not run; JUnit XML knows only what it names.
    """
    return replace(
        attribution,
        vanished=tuple(test for test in attribution.vanished if test not in standing),
        lost=(
            *attribution.lost,
            *(
                Finding("vanished", test, "the report does not name it, though its source is there", "not_collected")
                for test in attribution.vanished
                if test in standing
            ),
        ),
    )


def waived(attribution: Attribution, waivers: Sequence[Waiver], today: date) -> Attribution:
    """The same with failures taken out of `new` and `regressed_flakiness` for which somebody answers today."""
    covered: dict[TestId, Waiver] = {}
    for test in (*attribution.new, *attribution.regressed_flakiness):
        found = next((waiver for waiver in waivers if waiver.covers(test, today)), None)
        if found is not None:
            covered[test] = found
    return replace(
        attribution,
        new=tuple(test for test in attribution.new if test not in covered),
        regressed_flakiness=tuple(test for test in attribution.regressed_flakiness if test not in covered),
        waived=covered,
    )


def judge(change: SuiteResult, base: SuiteResult | None, attribution: Attribution) -> Verdict:
    """Pure. Troubles first: a run that says nothing must not be read as green, nor as the change's fault."""
    if change.trouble:
        return _judge_trouble(change, base)
    if attribution.new:
        names = ", ".join(attribution.new[:SHOWN])
        more = f" and {len(attribution.new) - SHOWN} more" if len(attribution.new) > SHOWN else ""
        against = " and not on its base" if base is not None else ""
        return Refused(
            Reason.TESTS_FAILED,
            f"{len(attribution.new)} test(s) fail on the change{against}: {names}{more}.",
            "Read the test step's output (`headway log blob` with its id in the evidence); "
            "mend the change, or take what it needs first.",
        )
    if attribution.regressed_flakiness:
        return _flakier(attribution)
    if attribution.infrastructure:
        return NotDecided(
            Reason.INFRASTRUCTURE,
            f"{len(attribution.infrastructure)} test(s) failed for want of network, disk or device, first"
            f" {attribution.infrastructure[0]}.",
            "Mend the machine and run again.",
        )
    if not change.ran():
        return _nothing_ran(change)
    if attribution.lost:
        first = attribution.lost[0]
        return Refused(
            Reason.CENSUS_SHRANK,
            f"{len(attribution.lost)} test(s) ran on the base and not on the change, first {first.subject}:"
            f" {first.reason or first.kind}.",
            "Let them run again, or remove them openly.",
        )
    return PASSED


def _flakier(attribution: Attribution) -> Refused:
    test = attribution.regressed_flakiness[0]
    both = attribution.tallies[test]
    return Refused(
        Reason.FLAKIER,
        f"{test} fails more often on the change ({both.change.failed} of {both.change.runs} runs) than on its base"
        f" ({both.base.failed} of {both.base.runs}), and luck explains that with a chance of only"
        f" {chance_of_worse(both.change, both.base):.2g}.",
        "Look for a race or an order dependence in what the change touches.",
    )


_STEP_REASONS = {
    "build_failed": Reason.BUILD_FAILED,
    "no_command": Reason.NO_COMMAND,
    "timed_out": Reason.TIMED_OUT,
    "died": Reason.DIED,
    "report_damaged": Reason.REPORT_DAMAGED,
}


def _judge_trouble(change: SuiteResult, base: SuiteResult | None) -> Verdict:
    detail = change.detail
    if change.trouble == "no_compiler":
        return NotDecided(Reason.NO_COMPILER, detail, "Install the compiler it calls, or name one that is there.")
    if change.trouble == "setup_failed":
        return NotDecided(Reason.SETUP_FAILED, detail, "Mend `l1.setup`; nothing was learnt about the change.")
    if change.trouble == "nothing_ran":
        return _nothing_ran(change)
    reason = _STEP_REASONS[change.trouble]
    if base is not None and base.trouble == change.trouble:
        return NotDecided(reason, f"{detail} Its base ends the same way.", "Mend the base or the `[l1]` section first.")
    if base is not None and not base.trouble:
        return Refused(reason, f"{detail} Its base does not.", "Mend the change, or take what it needs first.")
    if change.trouble == "build_failed":
        return Refused(reason, detail, "Mend the change, or take what it needs first.")
    return NotDecided(reason, detail, "Mend the `[l1]` section of headway.toml, or the machine, and run again.")


def _nothing_ran(change: SuiteResult) -> Refused:
    detail = change.detail or "The test step ended without having run a single test."
    return Refused(Reason.NOTHING_RAN, detail, "Look at the collection errors in the evidence, or mend `l1.test`.")
