"""How one request to validate travels: requested -> run -> answered. A killed one is taken up again by the next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_validate import CanariesFlown, CensusAccepted, CensusTaken, L1Judged, RunRequested
from headway.core.journey import Act, Facts, Journey, Settled, effect_key
from headway.core.names import BlobId, StreamId
from headway.validate.known import KnownResults


@dataclass(frozen=True)
class RunState:
    """`asked` waits for its answer; `known` is shared and only ever grows; `expected` is the accepted inventory."""

    known: KnownResults
    asked: RunRequested | None = None
    judged: L1Judged | None = None
    census: CensusTaken | None = None
    expected: BlobId | None = None
    canaries: CanariesFlown | None = None


Check = Callable[[RunState, RunRequested], tuple[Event, ...]]
"""Answers one request with the events that hold the answer."""


def run_journey(home: StreamId, checks: Mapping[str, Check]) -> Journey[RunState]:
    """The journey in the fork's `validation/<id>` stream. `checks` answers each kind of request."""

    def effect(state: RunState, _: IntentNamed) -> Facts:
        assert state.asked is not None
        return {home: checks[state.asked.tier](state, state.asked)}

    def intent(state: RunState) -> IntentNamed:
        assert state.asked is not None
        asked = state.asked
        return IntentNamed("validate.run", effect_key(asked.tier, asked.revision, asked.base or "alone"))

    # a run changes nothing outside its clone: whatever became of it, it is simply run again
    act = Act("validate.run", intent, effect, lambda *_: Settled("again"))
    return Journey(
        home=home,
        initial=RunState(KnownResults()),
        apply=apply,
        next_stage=lambda state: act if state.asked is not None else None,
        acts={act.name: act},
    )


def apply(state: RunState, event: Event) -> RunState:
    """Pure but for `known`, which takes each event once."""
    if isinstance(event, RunRequested):
        return replace(state, asked=event)
    if isinstance(event, L1Judged):
        return replace(state, asked=_still_asked(state, "L1", event.revision, event.base), judged=event)
    if isinstance(event, CensusTaken):
        return replace(state, asked=_still_asked(state, "census", event.revision, None), census=event)
    if isinstance(event, CanariesFlown):
        return replace(state, asked=_still_asked(state, "canary", event.revision, None), canaries=event)
    if isinstance(event, CensusAccepted):
        return replace(state, expected=event.inventory)
    state.known.take((event,))
    return state


def _still_asked(state: RunState, tier: str, revision: str, base: str | None) -> RunRequested | None:
    """What is still waiting after an answer: sync's answers in the same stream are not ours."""
    asked = state.asked
    return None if asked and (asked.tier, asked.revision, asked.base) == (tier, revision, base) else asked
