"""How a change climbs the tiers.

L1, on every change: run the suite on the change and on its base (or recall that run); what fails only on the change is
new and refuses it, unless somebody answers for it; so does what ran on the base and was left out. Before a fork's
first landing L1 itself is put to the proof. And whatever ran, the owner's repository must be as it was.

L2, on a clock over trunk, is told in `trunk_watch.py`; L3, on request and signed, in `signoff.py`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from headway.core.config import L1Config
from headway.core.config_tiers import Waiver
from headway.core.events import Event
from headway.core.events_validate import L1Judged
from headway.core.gates import NotDecided, Refused, Verdict
from headway.core.names import BlobId, Sha
from headway.validate.attribution import Attribution, attribute, judge, left_out, told_apart, waived
from headway.validate.census import some_silent_skips
from headway.validate.environment import suite_key
from headway.validate.known import KnownResults
from headway.validate.results import SuiteResult
from headway.validate.suite_run import Ports
from headway.validate.suite_runs import SuiteRuns

L1_SCHEMA = "headway.l1/1"
SHELL_SAW_SIGKILL = 128 + 9
SILENT_SHOWN = 1000
"""Identities that the evidence names; a whole stress suite may be deselected on purpose."""


@dataclass(frozen=True, slots=True)
class ChangeToCheck:
    """One change of a fork. `base` None: the revision stands alone, and every failure counts.

    `prove`: L1 must have been shown not to be blind, now or before. `fresh`: run the change even if it is known.
    """

    owner: Path
    change: Sha
    base: Sha | None
    extra_objects: tuple[Path, ...] = ()
    prove: bool = True
    fresh: bool = False
    at_once: bool = False
    """Run the base beside the change instead of after it, and only if needed: quicker where it is rarely known."""
    waivers: tuple[Waiver, ...] = ()
    """Of headway.toml; those that were granted by hand are among what is known."""
    today: date = date.max
    """On which day waivers must be alive; by default none is."""


@dataclass(frozen=True, slots=True)
class L1Answer:
    """The verdict with its evidence. `events` belong in the fork's `validation/<id>`; the caller appends them."""

    verdict: Verdict
    change: SuiteResult
    base: SuiteResult | None
    attribution: Attribution
    evidence: BlobId
    events: tuple[Event, ...]


def check_change(l1: L1Config, asked: ChangeToCheck, ports: Ports, known: KnownResults) -> L1Answer:
    """L1's answer on one change. Raises HeadwayError only for a commit or repository that is not there."""
    key = suite_key(l1, ports.environ)
    before = ports.workspaces.fingerprint(asked.owner)
    suite = SuiteRuns(l1, asked.owner, asked.extra_objects, ports, known, key)

    if asked.base and asked.at_once:
        suite.both(asked.change, asked.base, fresh=asked.fresh)
    change = suite.result_of(asked.change, fresh=asked.fresh)
    names_tests = bool(l1.harness or l1.junit)  # then what ran is compared too, not only what failed
    base = suite.result_of(asked.base) if asked.base and (names_tests or not change.green) else None
    if _was_cut_short(change) and base is not None and not base.trouble:
        change = suite.once_more(asked.change)  # once it may be the machine's doing; twice it is the change's
    attribution = attribute(change, base)
    if change.harness == "junit":
        attribution = left_out(attribution, suite.still_standing(asked.change, attribution.vanished))
    if attribution.new and base is not None and l1.reruns:
        attribution = told_apart(attribution, suite.rerun_tallies(change, base, attribution.new, l1.reruns))
    attribution = waived(attribution, (*asked.waivers, *known.waivers), asked.today)
    verdict = judge(change, base, attribution)
    if verdict.kind == "passed" and asked.prove:
        verdict = suite.proof(asked.change if l1.prove == "each" else asked.base or asked.change, verdict)

    touched = before.differences(ports.workspaces.fingerprint(asked.owner))
    if touched:
        verdict = suite.alarm(asked.change, touched)
    if verdict.kind == "passed":  # else somebody answers for it in vain
        suite.note_waivers(asked.change, attribution.waived)
    return _answer(asked, verdict, change, base, attribution, suite)


def _was_cut_short(result: SuiteResult) -> bool:
    """Whether a suite was killed, itself or something below its shell, or left a report that is not whole."""
    killed = bool(result.steps) and result.steps[-1].exit == SHELL_SAW_SIGKILL
    return killed or result.trouble in ("died", "report_damaged")


def _answer(
    asked: ChangeToCheck,
    verdict: Verdict,
    change: SuiteResult,
    base: SuiteResult | None,
    attribution: Attribution,
    suite: SuiteRuns,
) -> L1Answer:
    evidence = suite.keep(evidence_of(asked, verdict, change, attribution, recalled=asked.change in suite.recalled))
    judged = L1Judged(
        revision=asked.change,
        base=asked.base,
        verdict=verdict.kind,
        reason=_reason(verdict),
        new=len(attribution.new),
        pre_existing=len(attribution.pre_existing),
        evidence=evidence,
    )
    return L1Answer(verdict, change, base, attribution, evidence, (*suite.events, judged))


def evidence_of(
    asked: ChangeToCheck, verdict: Verdict, change: SuiteResult, attribution: Attribution, *, recalled: bool
) -> dict[str, object]:
    """Everything a reader needs to believe the verdict or not; step outputs are blobs of their own."""
    refusal = verdict if isinstance(verdict, Refused | NotDecided) else None
    silent, silent_count = some_silent_skips(change, SILENT_SHOWN)
    return {
        "schema": L1_SCHEMA,
        "revision": asked.change,
        "base": asked.base,
        "tree": change.tree,
        "recalled": recalled,
        "verdict": verdict.kind,
        "reason": _reason(verdict),
        "message": refusal.message if refusal else "",
        "next": refusal.next if refusal else "",
        "counts": dict(change.counts),
        "new": list(attribution.new),
        "pre_existing": list(attribution.pre_existing),
        "flaky": list(attribution.flaky),
        "regressed_flakiness": list(attribution.regressed_flakiness),
        "infrastructure": list(attribution.infrastructure),
        "waived": {test: f"{by.by}, until {by.until}: {by.reason}" for test, by in attribution.waived.items()},
        "tallies": {test: asdict(both) for test, both in attribution.tallies.items()},
        "vanished": list(attribution.vanished),
        "lost": [asdict(found) for found in attribution.lost],
        "silent": [asdict(found) for found in silent],
        "silent_count": silent_count,
        "failures": {test.id: test.reason for test in change.tests if test.state == "failed"},
        "skips": dict(Counter(test.reason for test in change.tests if test.state == "skipped")),
        "steps": [{"step": s.step, "ended": s.ended, "seconds": s.seconds, "output": s.output} for s in change.steps],
        "sandbox": list(change.sandbox),
    }


def _reason(verdict: Verdict) -> str:
    return verdict.reason.value if isinstance(verdict, Refused | NotDecided) else ""


def known_from(events: Iterable[Event]) -> KnownResults:
    """The results that a validation stream remembers."""
    return KnownResults().take(events)
