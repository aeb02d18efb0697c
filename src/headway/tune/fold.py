"""From events to state. Pure: `apply` is the whole meaning of the log, and nothing else is remembered."""

import functools
from typing import TypeVar

from headway.core.events import Event
from headway.core.events_core import InboxTaken
from headway.core.events_tune import (
    AgentChosen,
    AttemptAdmitted,
    AttemptCorrect,
    AttemptMeasured,
    AttemptRanked,
    AttemptRefused,
    AttemptUndecided,
    BaselineMeasured,
    BudgetSet,
    CampaignContinued,
    CampaignEnded,
    CampaignPaused,
    CampaignSet,
    ContextShown,
    DeskAsked,
    GoalPinned,
    JobDone,
    NothingProposed,
    PromotionDecided,
    Proposed,
    SubmissionTaken,
)
from headway.core.events_tune_agent import NoteKept, PriorOffered, ProposalWaiting, TriedOut
from headway.tune.state import (
    BASELINE,
    Aside,
    Attempt,
    Campaign,
    InFlight,
    Ranked,
    Refusal,
    Speed,
    Spent,
    Strategy,
    Undecided,
)

T = TypeVar("T")


def changed(value: T, **changes: object) -> T:
    """`dataclasses.replace` for slotted values, at a fifth of its price: a fold does this for every event.

    No field is validated by `__init__` in these classes, so copying the slots is the whole of it.
    """
    new = object.__new__(type(value))
    for name in type(value).__slots__:  # type: ignore[attr-defined]
        object.__setattr__(new, name, changes.pop(name) if name in changes else getattr(value, name))
    assert not changes, f"no such field: {', '.join(changes)}"
    return new


@functools.singledispatch
def _on(event: object, state: Campaign) -> Campaign:
    """Events of other kinds (intents, marks) change nothing here."""
    return state


def apply(state: Campaign, event: Event) -> Campaign:
    """The state after `event`."""
    return _on(event, state)


@_on.register
def _(event: GoalPinned, state: Campaign) -> Campaign:
    return changed(state, goal=event)


@_on.register
def _(event: CampaignSet, state: Campaign) -> Campaign:
    return changed(state, settings=event)


@_on.register
def _(event: AgentChosen, state: Campaign) -> Campaign:
    # what the last agent had run out of, or failed at, says nothing about this one
    return changed(
        state,
        settings=changed(state.needed, agent=event.agent, agent_args=event.agent_args),
        agent_from=state.agent_calls,
        agent_failures=0,
        declined=0,
        exhausted=False,
        hopeless_agent=False,
    )


@_on.register
def _(event: SubmissionTaken, state: Campaign) -> Campaign:
    return changed(state, taken=event.submission)


@_on.register
def _(event: BudgetSet, state: Campaign) -> Campaign:
    return changed(state, budget=event)


@_on.register
def _(event: BaselineMeasured, state: Campaign) -> Campaign:
    return changed(state, baseline=event)


@_on.register
def _(event: ContextShown, state: Campaign) -> Campaign:
    return changed(
        state,
        contexts=state.contexts + 1,
        full_from=event.full_from,
        group_size=event.group_size,
        tail_from=event.tail_from,
    )


@_on.register
def _(event: Proposed, state: Campaign) -> Campaign:
    attempt = Attempt(
        event.attempt,
        event.call,
        event.strategy,
        event.hypothesis,
        event.source,
        event.digest,
        event.normal,
        event.parent,
        event.outside,
        event.resembles,
        event.knobs,
        InFlight(),
        state.spent.seconds,
        event.review,
    )
    strategies = state.strategies
    if event.strategy > len(strategies):
        strategies = (*strategies, Strategy(event.strategy, event.idea, event.hypothesis, (event.attempt,)))
    else:
        old = strategies[event.strategy - 1]
        grown = changed(old, attempts=(*old.attempts, event.attempt))
        strategies = (*strategies[: event.strategy - 1], grown, *strategies[event.strategy :])
    attempts = state.spent.attempts + 1
    if event.waited:
        state = changed(state, waiting=state.waiting[1:], spent=changed(state.spent, attempts=attempts))
        return changed(state, current=attempt, strategies=strategies)
    spent = changed(_agent_spent(state.spent, event), attempts=attempts)
    return changed(_answered(state, event.seconds), current=attempt, strategies=strategies, spent=spent)


@_on.register
def _(event: ProposalWaiting, state: Campaign) -> Campaign:
    return changed(state, waiting=(*state.waiting, event))


@_on.register
def _(_: DeskAsked, state: Campaign) -> Campaign:
    return changed(state, spent=changed(state.spent, calls=state.spent.calls + 1))


@_on.register
def _(event: NoteKept, state: Campaign) -> Campaign:
    return changed(state, notes=(*state.notes, event), spent=changed(state.spent, calls=state.spent.calls + 1))


@_on.register
def _(event: TriedOut, state: Campaign) -> Campaign:
    spent = changed(state.spent, calls=state.spent.calls + 1, seconds=state.spent.seconds + event.seconds)
    return changed(state, spent=spent)


@_on.register
def _(event: PriorOffered, state: Campaign) -> Campaign:
    return changed(state, prior=(*state.prior, event))


@_on.register
def _(event: NothingProposed, state: Campaign) -> Campaign:
    aside = Aside(event.call, event.kind, event.message)
    spent = _agent_spent(state.spent, event)
    if event.kind == "declined":
        spent = changed(spent, stall=spent.stall + 1)
    failures = 0 if event.kind in {"exhausted", "declined"} else state.agent_failures + 1
    return changed(
        _answered(state, event.seconds),
        asides=(*state.asides, aside),
        spent=spent,
        exhausted=event.kind == "exhausted",
        hopeless_agent=event.permanent,
        squeezes=state.squeezes + (event.kind == "context_overflow"),
        agent_failures=failures,
        declined=state.declined + 1 if event.kind == "declined" else 0,
    )


@_on.register
def _(event: AttemptAdmitted, state: Campaign) -> Campaign:
    return _in_flight(state, admitted=True)


@_on.register
def _(event: JobDone, state: Campaign) -> Campaign:
    phases = state.phases
    inner = event.compile_seconds + event.check_seconds + event.measure_seconds
    phases = changed(
        phases,
        compile=phases.compile + event.compile_seconds,
        check=phases.check + event.check_seconds,
        measure=phases.measure + event.measure_seconds,
        overhead=phases.overhead + max(event.seconds - inner, 0.0),
    )
    spent = changed(state.spent, calls=state.spent.calls + 1, seconds=state.spent.seconds + event.seconds)
    state = changed(state, phases=phases, spent=spent)
    lost = event.outcome == "could_not_run"
    if event.attempt == BASELINE:
        return changed(state, baseline_lost=state.baseline_lost + 1 if lost else 0, trouble=event if lost else None)
    assert state.current is not None and isinstance(state.current.outcome, InFlight)
    flight = state.current.outcome
    if lost:
        return _in_flight(state, lost=flight.lost + 1, trouble=event)
    per_block = event.measure_seconds / event.blocks if event.mode == "full" else flight.block_seconds
    return _in_flight(state, lost=0, done=(*flight.done, event.mode), block_seconds=per_block)


@_on.register
def _(event: AttemptCorrect, state: Campaign) -> Campaign:
    return state


@_on.register
def _(event: AttemptMeasured, state: Campaign) -> Campaign:
    assert state.current is not None and isinstance(state.current.outcome, InFlight)
    flight = state.current.outcome
    speed = Speed(event.ratio, event.low, event.high, event.blocks, event.estimate)
    return _in_flight(state, speeds={**flight.speeds, event.mode: speed}, profile=event.profile or flight.profile)


@_on.register
def _(event: PromotionDecided, state: Campaign) -> Campaign:
    return changed(_in_flight(state, promotion=event), tests=event.test)


@_on.register
def _(event: AttemptRefused, state: Campaign) -> Campaign:
    return _end(state, Refusal(event.at, event.reason, event.evidence, event.earlier))


@_on.register
def _(event: AttemptRanked, state: Campaign) -> Campaign:
    assert state.current is not None and isinstance(state.current.outcome, InFlight)
    flight = state.current.outcome
    measured = flight.speeds[event.mode]
    speed = Speed(event.ratio, event.low, event.high, measured.blocks, measured.estimate)
    ranked = Ranked(speed, event.mode, flight.promotion, flight.profile, flight.speeds.get("screen"))
    return _end(state, ranked)


@_on.register
def _(event: AttemptUndecided, state: Campaign) -> Campaign:
    return _end(state, Undecided(event.reason, event.evidence))


@_on.register
def _(event: InboxTaken, state: Campaign) -> Campaign:
    return changed(state, inbox=event.version)


@_on.register
def _(event: CampaignPaused, state: Campaign) -> Campaign:
    return changed(state, paused=True)


@_on.register
def _(event: CampaignContinued, state: Campaign) -> Campaign:
    # what made it give up (a dead worker, a failing agent) is tried afresh; what it used stays used
    return changed(
        state,
        paused=False,
        ended=None,
        agent_failures=0,
        declined=0,
        undecided=0,
        baseline_lost=0,
        exhausted=False,
        hopeless_agent=False,
    )


@_on.register
def _(event: CampaignEnded, state: Campaign) -> Campaign:
    return changed(state, ended=event)


def _answered(state: Campaign, seconds: float) -> Campaign:
    phases = changed(state.phases, agent=state.phases.agent + seconds)
    return changed(state, agent_calls=state.agent_calls + 1, agent_failures=0, declined=0, phases=phases)


def _agent_spent(spent: Spent, event: Proposed | NothingProposed) -> Spent:
    return changed(
        spent,
        calls=spent.calls + 1,
        seconds=spent.seconds + event.seconds,
        tokens=spent.tokens + event.tokens,
        money=spent.money + event.money,
    )


def _in_flight(state: Campaign, **changes: object) -> Campaign:
    assert state.current is not None and isinstance(state.current.outcome, InFlight)
    outcome = changed(state.current.outcome, **changes)
    return changed(state, current=changed(state.current, outcome=outcome))


def _end(state: Campaign, outcome: Refusal | Ranked | Undecided) -> Campaign:
    assert state.current is not None
    attempt = changed(state.current, outcome=outcome)
    promoted = isinstance(outcome, Ranked) and outcome.promoted
    stall = 0 if promoted else state.spent.stall + 1
    return changed(
        state,
        current=None,
        attempts=(*state.attempts, attempt),
        promotions=(*state.promotions, attempt.id) if promoted else state.promotions,
        undecided=state.undecided + 1 if isinstance(outcome, Undecided) else 0,
        spent=changed(state.spent, stall=stall),
    )
