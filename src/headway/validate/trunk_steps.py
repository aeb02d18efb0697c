"""What each step of a trunk run does: questions that are pure over the log, and acts through a bench of callables."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC
from typing import Any, Literal

from headway.core.config_tiers import SuiteConfig, TierConfig, TiersConfig
from headway.core.events import Event
from headway.core.events_validate_tiers import (
    CulpritAnswered,
    FindingTriaged,
    IssueClosed,
    IssueFiled,
    SuiteLeftOut,
    SuiteReported,
    TierEnded,
)
from headway.core.names import BlobId, Digest, Sha, TestId
from headway.core.ports.blobs import BlobStore
from headway.core.ports.clock import Clock
from headway.core.ports.forge import Forge, WantedIssue
from headway.validate.booking import (
    gpu_hours,
    looking_cost,
    looking_seconds_left,
    report_of,
    run_here,
    suite_seconds_left,
    suites_cost,
)
from headway.validate.culprit_run import MetricLimit, Question, SearchState
from headway.validate.ends import Subject, measure_ends
from headway.validate.failures import Suspicion, signals, suspicions, title_of
from headway.validate.ingest import parse_time
from headway.validate.issue_text import Facts, Suspect, body_of
from headway.validate.known import SuiteKey
from headway.validate.quorum_run import take_quorum
from headway.validate.results import SuiteResult, result_from_json
from headway.validate.triage import TURNS, Ends, Triaged, limit_between, triage
from headway.validate.trunk_watch import TierRun

LABEL = "headway"
PASSES_TO_CLOSE = {"flake": 5}
"""Runs in a row that must be well before an issue of that answer is closed; one for all others."""
SEEN = 5
SETTLED = frozenset({"code", "method", "hardware", "infrastructure"})
"""Causes that are not looked into again while their issue is open."""


@dataclass(frozen=True)
class Bench:
    """The world as a trunk run needs it. `run` is one fresh run, at most so many seconds; `search` stops once
    `go_on` says no; `swapped` runs a revision with the measuring code of another (None: it did not change)."""

    fork: str
    reports: Callable[[], Sequence[SuiteReported]]
    run: Callable[[SuiteConfig, Sha, float | None], SuiteResult]
    swapped: Callable[[SuiteConfig, Sha, Sha], SuiteResult | None]
    search: Callable[[SuiteConfig, Question, Callable[[], bool]], SearchState]
    suspect: Callable[[Sha], Suspect]
    key: Callable[[SuiteConfig], SuiteKey]
    blobs: BlobStore
    clock: Clock
    devices: frozenset[str]
    forge: Forge | None
    proposed: Callable[[str], tuple[str, str]]
    """(branch of a proposed fix, the agent's words) for a signature; "" where there is none."""


class TrunkSteps:
    """The steps of one tier; see `trunk_watch.Steps`."""

    def __init__(self, tier: TierConfig, tiers: TiersConfig, bench: Bench) -> None:
        self._tier, self._tiers, self._bench = tier, tiers, bench
        self._results: dict[BlobId, SuiteResult] = {}
        self._suspicions: dict[tuple[str, str], tuple[Suspicion, ...]] = {}

    # --- suites and quorums

    def next_suite(self, run: TierRun) -> str | None:
        """See `Steps`."""
        done = run.reported.keys() | run.left_out.keys()
        return next((name for name in self._tier.suites if name not in done), None)

    def do_suite(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """See `Steps`. A suite that is stopped by the tier's budget is left out, and its time is booked."""
        assert run.begun is not None
        suite, begun = self._tiers.suite(subject), run.begun
        if suite.steps is None:
            return self._newest_report(run, suite)
        if missing := sorted(set(suite.devices) - self._bench.devices):
            message = f"this machine does not offer {', '.join(missing)} (HEADWAY_DEVICES)"
            return (SuiteLeftOut(begun.run, subject, "no_device", message),)
        left = suite_seconds_left(self._tier, run, suite)
        if left is not None and left <= 0:
            return (SuiteLeftOut(begun.run, subject, "budget", "the tier's budget was spent before its turn"),)
        started = self._bench.clock.now()
        result = self._bench.run(suite, begun.revision, left)
        seconds = (self._bench.clock.now() - started).total_seconds()
        event = self._reported(suite, result, f"{begun.run}/{subject}", started.astimezone(UTC).isoformat(), seconds)
        own_limit = suite.steps.test.timeout_seconds
        if result.trouble == "timed_out" and left is not None and left < own_limit:
            message = f"it was stopped after {seconds:.0f} s, when the tier's budget was spent"
            return (event, SuiteLeftOut(begun.run, subject, "budget", message))
        return (event,)

    def next_quorum(self, run: TierRun) -> str | None:
        """See `Steps`."""
        able = run.reported.keys() - run.left_out.keys()
        rules = (rule for rule in self._tiers.quorums if set(rule.suites) <= able)
        return next((rule.name for rule in rules if rule.name not in run.quorums), None)

    def do_quorum(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """See `Steps`."""
        assert run.begun is not None
        rule = next(rule for rule in self._tiers.quorums if rule.name == subject)
        return take_quorum(rule, run.begun.revision, lambda name: self._result(run.reported[name]), self._keep)

    # --- what is wrong, and why

    def next_suspicion(self, run: TierRun) -> str | None:
        """See `Steps`."""
        return next((one.signature for one in self._all(run) if one.signature not in run.findings), None)

    def do_triage(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """See `Steps`. What is known of an open issue is not found out again."""
        assert run.begun is not None
        one, begun, started = self._suspicion(run, subject), run.begun, self._bench.clock.monotonic()
        known = run.known.get(subject)
        if known is not None and subject in run.open_issues and known.cause in SETTLED:
            return (replace(known, run=begun.run, tests=len(one.tests), seconds=0.0, gpu_hours=0.0),)
        suite = self._tiers.suite(one.suite)
        ends, triaged = self._triaged(run, one, suite)
        seconds = self._bench.clock.monotonic() - started
        evidence: dict[str, object] = {
            "suspicion": asdict(one),
            "ends": asdict(ends) if ends else None,
            "why": triaged.why,
        }
        return (
            FindingTriaged(
                run=begun.run,
                signature=subject,
                suite=one.suite,
                kind=one.kind,
                subject=one.subject,
                tests=len(one.tests),
                cause=triaged.cause,
                good=one.good or "",
                bad=begun.revision,
                seconds=round(seconds, 3),
                gpu_hours=gpu_hours(suite, seconds),
                evidence=self._keep(evidence),
            ),
        )

    def _triaged(self, run: TierRun, one: Suspicion, suite: SuiteConfig) -> tuple[Ends | None, Triaged]:
        if one.infrastructure:
            return None, Triaged("infrastructure", f"its own words show trouble of the machine ({one.infrastructure})")
        if suite.steps is None:
            return None, Triaged("unknown", "the suite runs elsewhere, so nothing could be run again here")
        if looking_seconds_left(self._tier, run, suite) <= 0:
            return None, Triaged("unknown", "the budget for looking into failures was spent")
        assert run.begun is not None
        bad = run.begun.revision
        subject = Subject(one.tests, one.subject if one.kind == "metric" else "")
        measured = measure_ends(lambda sha: self._bench.run(suite, sha, None), subject, one.good, bad, TURNS)
        limit = limit_between(one.shift.level, one.shift.value) if one.shift else 0.5
        key = self._bench.key(suite)
        ends = Ends(
            old=measured.old,
            new=measured.new,
            limit=limit,
            lower_is_better=one.kind == "test" or suite.lower_is_better(one.subject),
            definition_changed=one.then is not None and one.then.definition != key.suite,
            environment_changed=one.then is not None and one.then.environment != key.environment,
        )
        said = triage(ends)
        if said.cause == "code" and one.kind == "metric" and one.good is not None:
            ends = replace(ends, swapped=self._swapped(suite, bad, one.good, one.subject))
            said = triage(ends)
        return ends, said

    def _swapped(self, suite: SuiteConfig, new: Sha, old: Sha, metric: str) -> tuple[float, ...]:
        values = []
        for _ in range(TURNS):
            result = self._bench.swapped(suite, new, old)
            if result is None:
                return ()
            values += [found.value for found in result.metrics if found.name == metric]
        return tuple(values)

    # --- who did it

    def next_search(self, run: TierRun) -> str | None:
        """See `Steps`."""
        for signature, found in run.findings.items():
            answered = run.culprits.get(signature)
            settled = answered is not None and (answered.kind != "out_of_budget" or signature in run.answered)
            if found.cause == "code" and found.good and not settled:
                return signature
        return None

    def do_search(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """See `Steps`. A search that the budget ends goes on in the next run where it was."""
        assert run.begun is not None
        found = run.findings[subject]
        suite = self._tiers.suite(found.suite)
        begun, left = self._bench.clock.monotonic(), looking_seconds_left(self._tier, run, suite)
        question = Question(Sha(found.good), found.bad, TestId(found.subject), suite=suite.name)
        if found.kind == "metric":
            limit = json.loads(self._bench.blobs.get(found.evidence))["ends"]["limit"]
            metric = MetricLimit(found.subject, limit, suite.lower_is_better(found.subject))
            question = replace(question, test=TestId(""), metric=metric)
        state = self._bench.search(suite, question, lambda: self._bench.clock.monotonic() - begun < left)
        seconds = round(self._bench.clock.monotonic() - begun, 3)
        hours, answer = gpu_hours(suite, seconds), state.found
        if answer is None:
            why = f"the tier's budget for searches ({self._tier.culprit_seconds:.0f} s) was spent; the next run goes on"
            runs = len(state.seen)
            return (CulpritAnswered(run.begun.run, subject, "out_of_budget", (), 0.0, runs, seconds, hours, why),)
        return (
            CulpritAnswered(
                run.begun.run, subject, answer.kind, answer.suspects, answer.posterior, answer.runs, seconds, hours,
                answer.why,
            ),
        )  # fmt: skip

    # --- who must know

    def next_telling(self, run: TierRun) -> str | None:
        """See `Steps`."""
        if self._bench.forge is None:
            return None
        worth = (signature for signature, found in run.findings.items() if found.cause != "noise")
        untold = next((signature for signature in worth if signature not in run.told), None)
        return untold or next((signature for signature in run.open_issues if self._to_be_closed(run, signature)), None)

    def do_tell(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """See `Steps`."""
        forge = self._bench.forge
        assert forge is not None and run.begun is not None
        if subject not in run.findings:
            number = run.open_issues[subject].number
            forge.close_issue(number, f"Every test of `{subject}` passed on `{run.begun.revision}`.")
            return (IssueClosed(run.begun.run, subject, number, run.begun.revision),)
        one, found = self._suspicion(run, subject), run.findings[subject]
        answer = run.culprits.get(subject)
        suspects = tuple(self._bench.suspect(commit) for commit in answer.suspects) if answer else ()
        owners = self._tiers.owners_of(one.subject, one.suite)
        facts = Facts(
            suspicion=one,
            finding=found,
            why=self.why(found),
            answer=answer,
            suspects=suspects,
            owners=owners,
            revision=run.begun.revision,
            seen=self._seen(one),
        )
        branch, words = self._bench.proposed(subject)
        body = body_of(replace(facts, fix=branch, words=words))
        key = f"headway/{self._bench.fork}/{subject}"
        people = tuple(name[1:] for name in owners if name.startswith("@") and "/" not in name)
        issue = forge.put_issue(WantedIssue(key, title_of(one), body, (LABEL,), people))
        digest = Digest(hashlib.sha256(body.encode()).hexdigest())
        return (IssueFiled(run.begun.run, subject, issue.number, issue.url, digest),)

    def _to_be_closed(self, run: TierRun, signature: str) -> bool:
        """A positive signal for every test that the issue is about, so many times in a row as its answer asks."""
        if signature in run.findings or signature in run.told or signature not in run.known:
            return False
        found = run.known[signature]
        evidence = json.loads(self._bench.blobs.get(found.evidence))
        if found.suite not in run.reported or found.suite in run.left_out:
            return False
        answer = run.culprits.get(signature)
        wanted = PASSES_TO_CLOSE.get(answer.kind, 1) if answer else 1
        reports = self._of_suite(found.suite, run.reported[found.suite])[-wanted:]
        return len(reports) >= wanted and all(self._well(found, evidence, report) for report in reports)

    def _well(self, found: FindingTriaged, evidence: dict[str, Any], report: SuiteReported) -> bool:
        """The positive signal: every test passed, or the metric is back on the good side of what told well from bad."""
        result = self._result(report)
        if found.kind == "test":
            return signals([TestId(test) for test in evidence["suspicion"]["tests"]], result)
        shift = evidence["suspicion"]["shift"]
        limit = evidence["ends"]["limit"] if evidence["ends"] else limit_between(shift["level"], shift["value"])
        lower = self._tiers.suite(found.suite).lower_is_better(found.subject)
        values = [metric.value for metric in result.metrics if metric.name == found.subject]
        return bool(values) and all((value < limit) == lower for value in values)

    # --- the end

    def end(self, run: TierRun) -> TierEnded:
        """See `Steps`. Green needs every suite to have run, and nothing wrong but what passed when run again."""
        assert run.begun is not None
        wrong = [found for found in run.findings.values() if found.cause not in ("noise", "infrastructure")]
        # an issue whose tests have not been seen to pass stands, whatever this run happened to cover
        wrong += [run.known[signature] for signature in run.open_issues if run.known[signature].cause == "code"]
        unsure = run.left_out or any(found.cause == "infrastructure" for found in run.findings.values())
        split = any(taken.disagreements for taken in run.quorums.values())
        verdict: Literal["green", "red", "incomplete"] = (
            "red" if wrong or split else "incomplete" if unsure else "green"
        )
        ran, looked, begun = suites_cost(run), looking_cost(run), run.begun
        seconds, hours = round(ran.seconds + looked.seconds, 3), round(ran.gpu_hours + looked.gpu_hours, 6)
        return TierEnded(begun.tier, begun.revision, begun.run, verdict, seconds, hours)

    def why(self, found: FindingTriaged) -> str:
        """The sentence that goes with a cause."""
        return str(json.loads(self._bench.blobs.get(found.evidence))["why"])

    # --- helpers

    def _all(self, run: TierRun) -> tuple[Suspicion, ...]:
        return tuple(
            one
            for name, report in run.reported.items()
            if name not in run.left_out
            for one in self._of_report(self._tiers.suite(name), report)
        )

    def _of_report(self, suite: SuiteConfig, report: SuiteReported) -> tuple[Suspicion, ...]:
        place = (report.suite, report.run)
        if place not in self._suspicions:
            earlier = self._of_suite(suite.name, report)[:-1]
            self._suspicions[place] = suspicions(suite, report, earlier, self._result)
        return self._suspicions[place]

    def _suspicion(self, run: TierRun, signature: str) -> Suspicion:
        return next(one for one in self._all(run) if one.signature == signature)

    def _of_suite(self, name: str, until: SuiteReported) -> list[SuiteReported]:
        """The suite's reports up to and with `until`, oldest first; runs for a sign-off are no part of trunk."""
        begun = parse_time(until.started)
        mine = {
            one.run: one
            for one in (*self._bench.reports(), until)
            if one.suite == name and not one.purpose.startswith("request") and parse_time(one.started) <= begun
        }
        return sorted(mine.values(), key=lambda one: (parse_time(one.started), one.run == until.run))

    def _result(self, report: SuiteReported) -> SuiteResult:
        if report.results not in self._results:
            self._results[report.results] = result_from_json(self._bench.blobs.get(report.results))
        return self._results[report.results]

    def _newest_report(self, run: TierRun, suite: SuiteConfig) -> tuple[Event, ...]:
        assert run.begun is not None
        mine = [one for one in self._bench.reports() if (one.suite, one.revision) == (suite.name, run.begun.revision)]
        if not mine:
            message = f"its pipeline has reported nothing of {run.begun.revision[:12]}"
            return (SuiteLeftOut(run.begun.run, suite.name, "no_report", message),)
        return (max(mine, key=lambda one: parse_time(one.started)),)

    def _reported(
        self, suite: SuiteConfig, result: SuiteResult, run: str, started: str, seconds: float
    ) -> SuiteReported:
        key, purpose = self._bench.key(suite), f"tier {self._tier.name}"
        of = run_here(suite, key, purpose, run, started, seconds)
        return report_of(suite, result, self._bench.blobs, of)

    def _seen(self, one: Suspicion) -> list[tuple[str, str]]:
        mine = [report for report in self._bench.reports() if report.suite == one.suite]
        said: list[tuple[str, str]] = []
        for report in mine[-SEEN:]:
            result = self._result(report)
            if one.kind == "metric":
                value = next((m.value for m in result.metrics if m.name == one.subject), None)
                said.append((report.revision, "not measured" if value is None else f"{value:.6g}"))
            else:
                failed = len(result.failed() & set(one.tests))
                said.append((report.revision, result.trouble or f"{failed} of {len(one.tests)} fail"))
        return said

    def _keep(self, evidence: dict[str, object]) -> BlobId:
        return self._bench.blobs.put(json.dumps(evidence, sort_keys=True))
