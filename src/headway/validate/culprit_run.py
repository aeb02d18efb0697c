"""A culprit search on a real range: probe by probe, each one recorded, so that a killed search goes on where it was.

The range is a first-parent line. Members of a bundle (trailer `Headway-Bundle: ID n/m`) are searched second: first
which landing, then which of its members.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headway.core.config import L1Config, StepConfig
from headway.core.config_tiers import L1_SUITE
from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_validate import CulpritFound, CulpritProbed
from headway.core.journey import Act, Decide, Facts, Journey, Settled, Stage, effect_key
from headway.core.names import BlobId, Digest, Sha, StreamId, TestId
from headway.core.ports.workspace import CloneRequest
from headway.validate.culprit import Answer, Outcome, Probe, Purpose, Rules, Seen, next_step
from headway.validate.infrastructure import infrastructure_kind
from headway.validate.results import SuiteResult
from headway.validate.suite_run import Ports, run_suite

WHOLE = TestId("<suite>")
"""Asks about the suite as a whole: whether it can be built, comes to its end and says what ran."""
SKIP_EXIT_CODE = 125
"""As in `git bisect run`: this commit cannot be tested."""


@dataclass(frozen=True, slots=True)
class MetricLimit:
    """A value past `limit` counts as failed: above it where less is better, else below."""

    metric: str
    limit: float
    lower_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """Who made `test` red, or the metric worse, in `good..bad`? With `command`, its exit code answers (0 passed, 125
    cannot be tested)."""

    good: Sha
    bad: Sha
    test: TestId
    command: str = ""
    suite: str = L1_SUITE
    metric: MetricLimit | None = None

    @property
    def digest(self) -> Digest:
        """Names the search: the same question goes on where it was."""
        metric = f"{self.metric.metric} {self.metric.limit!r}" if self.metric else ""
        parts = "\0".join((self.good, self.bad, self.test, self.command, self.suite, metric))
        return Digest(hashlib.sha256(parts.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class SearchState:
    """Every probe so far, and the answer once there is one."""

    seen: tuple[Seen, ...] = ()
    found: CulpritFound | None = None


ProbeCommit = Callable[[Sha], tuple[Outcome, BlobId]]
"""Runs the test once at a commit; the blob holds what it printed."""


def search_journey(
    home: StreamId, commits: Sequence[Sha], old_end: Sha, rules: Rules, probe: ProbeCommit
) -> Journey[SearchState]:
    """The search as a journey of its own stream. `commits` are newest first; `old_end` is known to be good."""
    line = (*commits, old_end)

    def step(state: SearchState) -> Probe | Answer:
        return next_step(len(commits), state.seen, rules)

    def intent(state: SearchState) -> IntentNamed:
        wanted = step(state)
        assert isinstance(wanted, Probe)
        key = effect_key("probe", str(len(state.seen)), line[wanted.index])
        return IntentNamed("validate.probe", key, {"index": str(wanted.index), "purpose": wanted.purpose})

    def effect(_: SearchState, intent: IntentNamed) -> Facts:
        index = int(intent.args["index"])
        outcome, output = probe(line[index])
        return {home: (CulpritProbed(line[index], index, outcome, _purpose(intent.args["purpose"]), output),)}

    def conclude(state: SearchState) -> Facts:
        answer = step(state)
        assert isinstance(answer, Answer)
        suspects = tuple(line[i] for i in answer.suspects)
        return {home: (CulpritFound(answer.kind, suspects, round(answer.posterior, 6), answer.runs, answer.why),)}

    # a probe changes nothing outside its clone: one without a result is made again, and counted once
    act = Act("validate.probe", intent, effect, lambda *_: Settled("again"))
    decide = Decide("conclude", conclude)

    def next_stage(state: SearchState) -> Stage[SearchState] | None:
        if state.found is not None:
            return None
        return act if isinstance(step(state), Probe) else decide

    return Journey(home, SearchState(), apply, next_stage, {act.name: act})


def apply(state: SearchState, event: Event) -> SearchState:
    """Pure."""
    if isinstance(event, CulpritProbed):
        return replace(state, seen=(*state.seen, Seen(event.index, event.outcome, event.purpose)))
    return replace(state, found=event) if isinstance(event, CulpritFound) else state


def commit_prober(l1: L1Config, owner: Path, question: Question, ports: Ports) -> ProbeCommit:
    """Probes by running the suite (or the question's command in its test step) in a clone."""
    if question.command:
        step = StepConfig(question.command, l1.test.timeout_seconds, l1.test.network)
        l1 = replace(l1, test=step, junit=(), metrics=(), count_pattern="", harness="")

    def probe(commit: Sha) -> tuple[Outcome, BlobId]:
        with ports.workspaces.checkout(CloneRequest(owner, commit, (), l1.cache)) as checkout:
            result = run_suite(l1, checkout, ports)
        return outcome_of(result, question), ports.blobs.put(result.to_json())

    return probe


def outcome_of(result: SuiteResult, question: Question) -> Outcome:
    """What one run answers to the question."""
    if question.command:
        return by_exit_code(result)
    if question.metric is not None:
        return by_metric(result, question.metric)
    return by_suite(result) if question.test == WHOLE else by_test(result, question.test)


def by_metric(result: SuiteResult, asked: MetricLimit) -> Outcome:
    """A run that measured nothing tells nothing about the commit's speed."""
    if result.trouble in ("no_command", "no_compiler"):
        return "infrastructure"
    found = next((one.value for one in result.metrics if one.name == asked.metric), None)
    if found is None:
        return "unbuildable" if result.trouble or result.counts["failed"] else "absent"
    return "failed" if (found > asked.limit) == asked.lower_is_better and found != asked.limit else "passed"


def by_suite(result: SuiteResult) -> Outcome:
    """Whether the suite says at all what it should."""
    if result.trouble in ("no_command", "no_compiler", "setup_failed"):
        return "infrastructure"
    return "failed" if result.trouble else "passed"


def by_test(result: SuiteResult, test: TestId) -> Outcome:
    """What a run says about one test. A run that says nothing about it is no success and no failure."""
    if result.trouble in ("no_command", "no_compiler"):
        return "infrastructure"
    found = next((one for one in result.every() if one.id == test), None)
    if found is not None and found.state == "failed":
        return "infrastructure" if infrastructure_kind(found.reason) else "failed"
    if found is not None and found.state == "passed":
        return "passed"
    return "unbuildable" if result.trouble or found is not None else "absent"


def by_exit_code(result: SuiteResult) -> Outcome:
    """The convention of `git bisect run`; a step that was ended or could not start tells nothing."""
    if result.trouble in ("no_command", "no_compiler"):
        return "infrastructure"
    last = result.steps[-1]
    if result.trouble or last.step != "test" or last.exit == SKIP_EXIT_CODE:
        return "unbuildable"
    return "passed" if last.exit == 0 else "failed"


def landings(commits: Sequence[Sha], bundle_of: Callable[[Sha], str]) -> tuple[tuple[Sha, ...], ...]:
    """The line in landings, newest first: members of one bundle together, everything else alone."""
    found: list[list[Sha]] = []
    last = ""
    for commit in commits:
        bundle = bundle_of(commit)
        if bundle and bundle == last:
            found[-1].append(commit)
        else:
            found.append([commit])
        last = bundle
    return tuple(tuple(landing) for landing in found)


def explain(found: CulpritFound, question: Question, state: SearchState) -> dict[str, object]:
    """What `validate culprit --json` prints; `probes` is the whole search, in order."""
    return {
        **explain_question(question),
        "metric": question.metric.metric if question.metric else "",
        "limit": question.metric.limit if question.metric else None,
        "answer": found.kind,
        "suspects": list(found.suspects),
        "posterior": found.posterior,
        "runs": found.runs,
        "why": found.why,
        "probes": [[seen.index, seen.outcome, seen.purpose] for seen in state.seen],
    }


def explain_question(question: Question) -> dict[str, object]:
    """The part of the document that says what was asked."""
    return {
        "schema": "headway.culprit/1",
        "good": question.good,
        "bad": question.bad,
        "test": question.test,
        "command": question.command,
        "suite": question.suite,
    }


def _purpose(text: str) -> Purpose:
    assert text in ("search", "verify", "control")
    return text  # type: ignore[return-value]
