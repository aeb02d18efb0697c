"""How one `validate run` travels: requested -> L1 -> judged. A killed run is taken up again by the next one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_validate import L1Judged, RunRequested
from headway.core.journey import Act, Facts, Journey, Settled, effect_key
from headway.core.names import Sha, StreamId
from headway.validate.known import KnownResults
from headway.validate.tier_ladder import L1Answer

Check = Callable[[Sha, Sha | None, KnownResults], L1Answer]


@dataclass(frozen=True)
class RunState:
    """`asked` waits for its answer; `judged` is the newest answer; `known` is shared and only ever grows."""

    known: KnownResults
    asked: RunRequested | None = None
    judged: L1Judged | None = None


def run_journey(home: StreamId, check: Check) -> Journey[RunState]:
    """The journey in the fork's `validation/<id>` stream. `check` answers a revision against its base."""

    def effect(state: RunState, _: IntentNamed) -> Facts:
        assert state.asked is not None
        return {home: check(state.asked.revision, state.asked.base, state.known).events}

    def intent(state: RunState) -> IntentNamed:
        assert state.asked is not None
        return IntentNamed("validate.l1", effect_key("l1", state.asked.revision, state.asked.base or "alone"))

    # L1 changes nothing outside its clone: whatever became of it, it is simply run again
    act = Act("validate.l1", intent, effect, lambda *_: Settled("again"))
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
        answers = state.asked is not None and (event.revision, event.base) == (state.asked.revision, state.asked.base)
        return replace(state, asked=None if answers else state.asked, judged=event)
    state.known.take((event,))
    return state
