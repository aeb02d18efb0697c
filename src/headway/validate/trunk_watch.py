"""How trunk is watched: one run of a scheduled tier, from its beginning to the people who must know.

begun -> each suite run or its newest report taken -> harnesses held together -> each suspicion triaged -> culprits
searched for within the tier's budget -> issues filed, brought up to date, and closed on a positive signal -> ended.

Every fact stands in the log before the next step begins, so a killed run goes on where it was; a search resumes by its
own stream. What a step does lies in `trunk_steps.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_validate_tiers import (
    CulpritAnswered,
    FindingTriaged,
    IssueClosed,
    IssueFiled,
    QuorumTaken,
    SuiteLeftOut,
    SuiteReported,
    TierBegun,
    TierEnded,
)
from headway.core.journey import Act, Decide, Facts, Journey, Settled, Stage, effect_key
from headway.core.names import StreamId

Value = TypeVar("Value")


@dataclass(frozen=True)
class TierRun:
    """The newest run of one tier, and what outlives runs: issues that are open, answers that were found."""

    begun: TierBegun | None = None
    reported: Mapping[str, SuiteReported] = field(default_factory=dict)
    left_out: Mapping[str, SuiteLeftOut] = field(default_factory=dict)
    quorums: Mapping[str, QuorumTaken] = field(default_factory=dict)
    findings: Mapping[str, FindingTriaged] = field(default_factory=dict)
    """By signature, of this run."""
    answered: Mapping[str, CulpritAnswered] = field(default_factory=dict)
    """By signature, of this run."""
    told: frozenset[str] = frozenset()
    """Signatures whose issue this run has filed, brought up to date or closed."""
    ended: TierEnded | None = None
    open_issues: Mapping[str, IssueFiled] = field(default_factory=dict)
    known: Mapping[str, FindingTriaged] = field(default_factory=dict)
    """The newest triage of every signature of any run, while its issue is open."""
    culprits: Mapping[str, CulpritAnswered] = field(default_factory=dict)
    """The newest answer of every signature of any run, while its issue is open."""


class Steps(Protocol):
    """What the watch asks of its steps. The questions are pure over log and blobs; `do_*` touch the world."""

    def next_suite(self, run: TierRun) -> str | None:
        """A suite of the tier that has neither reported nor been left out."""
        ...

    def next_quorum(self, run: TierRun) -> str | None:
        """A quorum among the tier's suites that has not been held."""
        ...

    def next_suspicion(self, run: TierRun) -> str | None:
        """The signature of something wrong that has not been triaged."""
        ...

    def next_search(self, run: TierRun) -> str | None:
        """The signature of a finding put down to the code that no search has been made for."""
        ...

    def next_telling(self, run: TierRun) -> str | None:
        """The signature whose issue does not yet say what is known, or has to be closed."""
        ...

    def do_suite(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """Run it, or take its newest report."""
        ...

    def do_quorum(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """Hold the harnesses together."""
        ...

    def do_triage(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """Run both ends again, and say what it is put down to."""
        ...

    def do_search(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """Look for the culprit within the budget."""
        ...

    def do_tell(self, run: TierRun, subject: str) -> tuple[Event, ...]:
        """File, update or close the issue."""
        ...

    def end(self, run: TierRun) -> TierEnded:
        """The tier's answer."""
        ...


def watch_journey(home: StreamId, everybody: StreamId, steps: Steps) -> Journey[TierRun]:
    """One tier's journey in its own stream `home`; every fact goes to the room's stream `everybody` as well."""
    stages = {
        "tier.suite": (steps.next_suite, steps.do_suite),
        "tier.quorum": (steps.next_quorum, steps.do_quorum),
        "tier.triage": (steps.next_suspicion, steps.do_triage),
        "tier.search": (steps.next_search, steps.do_search),
        "tier.tell": (steps.next_telling, steps.do_tell),
    }  # in this order

    def facts(*events: Event) -> Facts:
        return {home: events, everybody: events}

    def act(name: str) -> Act[TierRun]:
        ask, do = stages[name]

        def intent(run: TierRun) -> IntentNamed:
            subject = ask(run)
            assert subject is not None and run.begun is not None
            return IntentNamed(name, effect_key(name, run.begun.run, subject), {"subject": subject})

        def effect(run: TierRun, intent: IntentNamed) -> Facts:
            return facts(*do(run, intent.args["subject"]))

        # runs and searches change nothing outside; an issue is found again by its key: all may simply be done again
        return Act(name, intent, effect, lambda *_: Settled("again"))

    acts = {name: act(name) for name in stages}
    end: Decide[TierRun] = Decide("tier.end", lambda run: facts(steps.end(run)))

    def next_stage(run: TierRun) -> Stage[TierRun] | None:
        if run.begun is None or run.ended is not None:
            return None
        return next((acts[name] for name, (ask, _) in stages.items() if ask(run) is not None), end)

    return Journey(home, TierRun(), apply, next_stage, acts)


def apply(run: TierRun, event: Event) -> TierRun:
    """Pure."""
    if isinstance(event, TierBegun):
        return TierRun(event, open_issues=run.open_issues, known=run.known, culprits=run.culprits)
    if isinstance(event, SuiteReported):
        return replace(run, reported={**run.reported, event.suite: event})
    if isinstance(event, SuiteLeftOut):
        return replace(run, left_out={**run.left_out, event.suite: event})
    if isinstance(event, QuorumTaken):
        return replace(run, quorums={**run.quorums, event.quorum: event})
    if isinstance(event, FindingTriaged):
        mine = {event.signature: event}
        return replace(run, findings={**run.findings, **mine}, known={**run.known, **mine})
    if isinstance(event, CulpritAnswered):
        mine_ = {event.signature: event}
        return replace(run, answered={**run.answered, **mine_}, culprits={**run.culprits, **mine_})
    if isinstance(event, IssueFiled):
        told = run.told | {event.signature}
        return replace(run, told=told, open_issues={**run.open_issues, event.signature: event})
    if isinstance(event, IssueClosed):
        return replace(
            run,
            told=run.told | {event.signature},
            open_issues=_without(run.open_issues, event.signature),
            known=_without(run.known, event.signature),
            culprits=_without(run.culprits, event.signature),
        )
    return replace(run, ended=event) if isinstance(event, TierEnded) else run


def _without(held: Mapping[str, Value], signature: str) -> Mapping[str, Value]:
    return {name: value for name, value in held.items() if name != signature}
