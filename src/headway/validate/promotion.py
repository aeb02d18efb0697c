"""Moving the stable branch: an intent, one compare-and-swap, and the ref itself to say what became of a killed one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_validate_tiers import Promoted
from headway.core.journey import Act, Facts, Journey, Settled, Stage, effect_key
from headway.core.names import Sha, StreamId


@dataclass(frozen=True)
class Promotion:
    """What is wanted, and what was done for it."""

    wanted: Promoted
    done: Promoted | None = None


def promotion_journey(
    home: StreamId,
    everybody: StreamId,
    wanted: Promoted,
    read: Callable[[str], Sha | None],
    move: Callable[[str, Sha, Sha | None], None],
) -> Journey[Promotion]:
    """`move(ref, new, old)` raises RefMoved if the ref does not stand at `old`."""

    def intent(state: Promotion) -> IntentNamed:
        one = state.wanted
        args = {"ref": one.ref, "new": one.revision, "was": one.was, "request": one.request, "by": one.by}
        return IntentNamed("validate.promote", effect_key("promote", one.ref, one.revision, one.was), args)

    def effect(_: Promotion, intent: IntentNamed) -> Facts:
        args = intent.args
        move(args["ref"], Sha(args["new"]), Sha(args["was"]) if args["was"] else None)
        return told(args)

    def told(args: Mapping[str, str]) -> Facts:
        event = Promoted(args["ref"], Sha(args["new"]), args["was"], args["request"], args["by"])
        return {home: (event,), everybody: (event,)}

    def settle(_: Promotion, intent: IntentNamed) -> Settled:
        stands = read(intent.args["ref"])
        if stands == intent.args["new"]:
            return Settled("finished", told(intent.args))
        return Settled("rolled_back")

    act = Act("validate.promote", intent, effect, settle)

    def next_stage(state: Promotion) -> Stage[Promotion] | None:
        return None if state.done is not None and state.done.revision == state.wanted.revision else act

    return Journey(home, Promotion(wanted), apply, next_stage, {act.name: act})


def apply(state: Promotion, event: Event) -> Promotion:
    """Pure."""
    return replace(state, done=event) if isinstance(event, Promoted) else state
