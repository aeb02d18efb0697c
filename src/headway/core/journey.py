"""The one loop that appends: fold the stream, ask for the next stage, run it, append what it says.

A `Decide` stage is pure. An `Act` stage touches the world: the loop appends its intent first, runs the effect, and
appends the result together with `IntentDone`. After a kill between the two, the stage's `settle` looks at the world
and says what became of the effect. The last event decides the next stage, so a killed run resumes by reading.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from headway.core.events import Event, decode
from headway.core.events_core import IntentDone, IntentNamed, IntentSettled
from headway.core.names import EffectKey, StreamId
from headway.core.ports.log import Append, EventLog, Record

S = TypeVar("S")

CLOSING = (IntentDone, IntentSettled)

Facts = Mapping[StreamId, tuple[Event, ...]]
"""What a stage found out, by the stream it belongs to; appended as one."""


@dataclass(frozen=True)
class Decide(Generic[S]):
    """A pure stage: state in, facts out."""

    name: str
    decide: Callable[[S], Facts]


@dataclass(frozen=True)
class Settled:
    """What `settle` found: the effect is complete (its facts), was undone, or must simply run again."""

    outcome: Literal["finished", "rolled_back", "again"]
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True)
class Act(Generic[S]):
    """A stage with an outside effect, safe to be killed anywhere."""

    name: str
    intent: Callable[[S], IntentNamed]
    effect: Callable[[S, IntentNamed], Facts]
    settle: Callable[[S, IntentNamed], Settled]


Stage = Decide[S] | Act[S]


@dataclass(frozen=True)
class Journey(Generic[S]):
    """One path through the rooms. `home` is the stream whose fold is the state and which holds the intents.

    `apply` must be pure; it is fed events of `home` only. `acts` is the visible registry that `settle` is found in.
    """

    home: StreamId
    initial: S
    apply: Callable[[S, Event], S]
    next_stage: Callable[[S], Stage[S] | None]
    acts: Mapping[str, Act[S]]


@dataclass(frozen=True)
class Progress(Generic[S]):
    """Where a journey stands: its state, the home stream's version, and an intent that has no result yet."""

    state: S
    version: int
    open_intent: IntentNamed | None


def fold(journey: Journey[S], records: Iterable[Record], start: Progress[S] | None = None) -> Progress[S]:
    """The state that the records add up to. Pure: same records, same state."""
    progress = start or Progress(journey.initial, 0, None)
    state, version, open_intent = progress.state, progress.version, progress.open_intent
    for record in records:
        event = decode(record.type, record.payload)
        version = record.version
        if isinstance(event, IntentNamed):
            open_intent = event
        elif isinstance(event, CLOSING):
            open_intent = None
        state = journey.apply(state, event)
    return Progress(state, version, open_intent)


def drive(journey: Journey[S], log: EventLog, *, until: Callable[[S], bool] = lambda _: False) -> S:
    """Run stages until `next_stage` says None or `until(state)` holds between two stages. Returns the last state.

    Raises StaleWrite if another writer got into `home`, and whatever an effect raises; the log is then complete up
    to the intent, and the next `drive` settles it.
    """
    progress = fold(journey, log.read(journey.home))
    if progress.open_intent is not None:
        progress = _settle(journey, log, progress, progress.open_intent)
    while not until(progress.state):
        stage = journey.next_stage(progress.state)
        if stage is None:
            break
        progress = _step(journey, log, progress, stage)
    return progress.state


def _step(journey: Journey[S], log: EventLog, progress: Progress[S], stage: Stage[S]) -> Progress[S]:
    if isinstance(stage, Decide):
        return _append(journey, log, progress, stage.decide(progress.state), ())
    intent = stage.intent(progress.state)
    progress = _append(journey, log, progress, {}, (intent,))
    facts = stage.effect(progress.state, intent)
    return _append(journey, log, progress, facts, (IntentDone(intent.kind, intent.key),))


def _settle(journey: Journey[S], log: EventLog, progress: Progress[S], intent: IntentNamed) -> Progress[S]:
    settled = journey.acts[intent.kind].settle(progress.state, intent)
    mark = IntentSettled(intent.kind, intent.key, settled.outcome)
    return _append(journey, log, progress, settled.facts, (mark,))


def _append(
    journey: Journey[S], log: EventLog, progress: Progress[S], facts: Facts, marks: tuple[Event, ...]
) -> Progress[S]:
    writes = []
    home_events = (*facts.get(journey.home, ()), *marks)
    if home_events:
        writes.append(Append(journey.home, progress.version, home_events))
    for stream, events in facts.items():
        if stream != journey.home and events:
            writes.append(Append(stream, log.heads(stream).get(stream, 0), events))
    if not writes:
        raise AssertionError("a stage that says nothing would run for ever")
    records = log.append(writes)
    return fold(journey, (record for record in records if record.stream == journey.home), progress)


def effect_key(*parts: str) -> EffectKey:
    """An idempotency key from the parts that make an effect the same effect."""
    return EffectKey("/".join(parts))
