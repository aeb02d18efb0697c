"""`validate culprit`: a search over a range of the fork's own history, in streams of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headway.adapters.git_history import GitHistory
from headway.core.config_tiers import L1_SUITE, SuiteConfig
from headway.core.errors import HeadwayError
from headway.core.events_validate_tiers import EndsMeasured
from headway.core.journey import drive
from headway.core.names import BlobId, Sha, StreamId, TestId
from headway.core.ports.git import Commit
from headway.core.ports.log import decoded, one
from headway.core.ports.workspace import CloneRequest
from headway.core.trailers import read_trailers
from headway.validate.culprit import Outcome, Rules
from headway.validate.culprit_run import (
    MetricLimit,
    Question,
    SearchState,
    commit_prober,
    explain,
    explain_question,
    landings,
    search_journey,
)
from headway.validate.ends import Subject, measure_ends, values
from headway.validate.results import SuiteResult
from headway.validate.suite_run import run_suite
from headway.validate.triage import differ, limit_between, middle
from headway.wiring.validate_room import Answer, Asked, Room, opened

END_RUNS = 3
"""Runs of each end of a range before a metric is searched for."""


@dataclass(frozen=True)
class AskedCulprit:
    """What the user asks: exactly one of `test`, `command` and `metric` is set."""

    good: str
    bad: str
    test: str = ""
    command: str = ""
    metric: str = ""
    limit: float | None = None
    suite: str = L1_SUITE


def run_culprit(asked: Asked, wanted: AskedCulprit, rules: Rules, say: Callable[[str], None]) -> Answer:
    """Search the range. A search that was killed goes on. Raises HeadwayError for bad input."""
    with opened(asked) as room:
        suite = room.suite(wanted.suite)
        question = Question(
            room.commit(wanted.good), room.commit(wanted.bad), TestId(wanted.test), wanted.command, wanted.suite
        )
        search = Search(room, suite, rules, say)
        search.line(question)
        if wanted.metric:
            limit = search.metric_limit(question, wanted.metric, wanted.limit)
            if isinstance(limit, Answer):
                return limit
            question = replace(question, metric=limit)
        state = search.answer(question)
        return Answer(explain_found(question, state), room.notes)


def explain_found(question: Question, state: SearchState) -> dict[str, object]:
    """The document of a search that has come to its end."""
    assert state.found is not None
    return explain(state.found, question, state)


@dataclass(frozen=True)
class Search:
    """Searches of one suite, each at two levels: which landing, then which of its members.

    `go_on` is asked between probes; once it says no, a search stays where it is and can be taken up again.
    """

    room: Room
    suite: SuiteConfig
    rules: Rules
    say: Callable[[str], None]
    go_on: Callable[[], bool] = lambda: True

    def answer(self, question: Question) -> SearchState:
        """The state at the end; `found` is None if `go_on` ended it before."""
        line = self.line(question)
        bundles = {commit.sha: _bundle_of(commit) for commit in line}
        landed = landings([commit.sha for commit in line], lambda sha: bundles[sha])
        tips = [landing[0] for landing in landed]
        state = self._drive(question, "landings", tips, question.good)
        if state.found is None or len(state.found.suspects) != 1:
            return state
        place = tips.index(state.found.suspects[0])
        if len(landed[place]) == 1:
            return state
        self.say(f"inside the bundle {bundles[tips[place]]} …")
        before = tips[place + 1] if place + 1 < len(tips) else question.good
        inner = self._drive(question, "members", landed[place], before)
        return inner if inner.found is None or inner.found.suspects else state

    def line(self, question: Question) -> tuple[Commit, ...]:
        """The range's first-parent line, newest first. Raises HeadwayError where there is none."""
        history = GitHistory(self.room.repository.git)
        line = history.commits([question.bad, f"^{question.good}"], first_parent=True)[::-1]
        if not line or history.merge_base(question.good, question.bad) != question.good:
            raise HeadwayError(
                f"{question.good[:12]} is no ancestor of {question.bad[:12]}.",
                "Name a good commit that the bad one descends from.",
            )
        return line

    def metric_limit(self, question: Question, metric: str, limit: float | None) -> MetricLimit | Answer:
        """What separates well from bad: as given, or half way between the ends as they measure now.

        Measured once per search and kept, so that a search that is taken up asks the same question. An answer `flake`
        where the ends do not differ.
        """
        lower = self.suite.lower_is_better(metric)
        if limit is not None:
            return MetricLimit(metric, limit, lower)
        home = StreamId(f"{self._home(replace(question, metric=MetricLimit(metric, 0.0, lower)))}.ends")
        log = self.room.state.log
        known = [event for event in decoded(log.read(home)) if isinstance(event, EndsMeasured)]
        if not known:
            self.say(f"{END_RUNS} runs of each end, in turn …")
            ends = measure_ends(self.run, Subject(metric=metric), question.good, question.bad, END_RUNS)
            known = [EndsMeasured(metric, question.good, question.bad, ends.old, ends.new)]
            log.append(one(home, 0, known[0]))
        old, new = known[-1].old, known[-1].new
        if differ(old, new, lower_is_better=lower):
            return MetricLimit(metric, limit_between(middle(old), middle(new)), lower)
        why = f"the ends do not differ: {values(old) or 'nothing measured'} against {values(new) or 'nothing measured'}"
        if not old or not new:
            raise HeadwayError(
                f"The suite {self.suite.name} measures no {metric!r} at one end of the range ({why}).",
                "Name a metric and a range in which it is measured.",
            )
        document = {
            **explain_question(question), "metric": metric, "limit": None, "answer": "flake", "suspects": [],
            "posterior": 1.0, "runs": len(old) + len(new), "why": why, "probes": [],
        }  # fmt: skip
        return Answer(document, self.room.notes)

    def run(self, commit: Sha) -> SuiteResult:
        """The suite, once, now."""
        assert self.suite.steps is not None
        request = CloneRequest(self.room.repository.top, commit, (), self.suite.steps.cache)
        with self.room.ports.workspaces.checkout(request) as checkout:
            result = run_suite(self.suite.steps, checkout, self.room.ports)
        self.say(f"{commit[:12]} {'green' if result.green else result.trouble or 'red'}")
        return result

    def _home(self, question: Question) -> StreamId:
        return StreamId(f"{self.room.home}.culprit.{question.digest[:16]}")

    def _drive(self, question: Question, level: str, commits: Sequence[Sha], old_end: Sha) -> SearchState:
        room = self.room
        assert self.suite.steps is not None
        home = StreamId(f"{self._home(question)}.{level}")
        prober = commit_prober(self.suite.steps, room.repository.top, question, room.ports)

        def probe(commit: Sha) -> tuple[Outcome, BlobId]:
            outcome, output = prober(commit)
            self.say(f"{commit[:12]} {outcome}")
            return outcome, output

        journey = search_journey(home, commits, old_end, self.rules, probe)
        return drive(journey, room.state.log, until=lambda _: not self.go_on())


def _bundle_of(commit: Commit) -> str:
    trailers = dict(read_trailers(commit.message))
    return trailers.get("Headway-Bundle", "").partition(" ")[0]
