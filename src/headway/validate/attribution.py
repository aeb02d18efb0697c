"""Whose failure is it? What fails on the change and is proven to fail on its base was there before; the rest is new."""

from dataclasses import dataclass

from headway.core.gates import PASSED, NotDecided, Refused, Verdict
from headway.core.names import TestId
from headway.core.reasons import Reason
from headway.validate.census import Finding, losses
from headway.validate.results import SuiteResult

SHOWN = 3
"""How many test names a one-sentence message holds."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Failing tests by whose they are. `vanished` ran on the base and is not even named on the change; `lost` ran on
    the base, is known to the change's harness, and was skipped or not run."""

    new: tuple[TestId, ...] = ()
    pre_existing: tuple[TestId, ...] = ()
    vanished: tuple[TestId, ...] = ()
    lost: tuple[Finding, ...] = ()


def attribute(change: SuiteResult, base: SuiteResult | None) -> Attribution:
    """Pure. Without a base every failure is new: "unrelated" needs proof."""
    failed = change.failed()
    on_base = base.failed() if base is not None else frozenset()
    gone = losses(base, change) if base is not None else ()
    return Attribution(
        new=tuple(sorted(failed - on_base)),
        pre_existing=tuple(sorted(failed & on_base)),
        vanished=tuple(TestId(found.subject) for found in gone if found.kind == "vanished"),
        lost=tuple(found for found in gone if found.kind != "vanished"),
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
            "Read the test step's output in the evidence; mend the change, or take what it needs first.",
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
    detail = change.detail or "L1's test step ended without having run a single test."
    return Refused(Reason.NOTHING_RAN, detail, "Look at the collection errors in the evidence, or mend `l1.test`.")
