"""`tune replay`: render every context again from the log with today's code, and say where and why it differs.

With another budget it asks a different question: which strategies would still stand in full, and are all in sight?
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headway.core.errors import HeadwayError
from headway.core.events import decode
from headway.core.events_tune import ContextShown
from headway.core.names import StreamId
from headway.core.ports.blobs import BlobMissing, BlobStore
from headway.core.ports.log import EventLog
from headway.core.task import Task
from headway.tune.campaign import CachedTexts
from headway.tune.context import ORDERS, RENDERER, Renderer
from headway.tune.evidence import text_of
from headway.tune.fold import apply
from headway.tune.state import Campaign


@dataclass(frozen=True, slots=True)
class Replayed:
    """One context rendered again. `why` is empty where the bytes are the same."""

    call: int
    tokens: int
    in_full: int
    """Strategies that stand in full."""
    in_groups: int
    why: str


def replay(
    log: EventLog, blobs: BlobStore, home: StreamId, task: Task, context_budget: int | None = None
) -> Iterator[Replayed]:
    """Every context in order. With a budget of one's own nothing is compared; the states are the recorded ones.

    Raises HeadwayError for a budget below the floor.
    """
    state, renderer, own_cut = Campaign(), None, (1, 0, 0)
    texts = CachedTexts(blobs)
    for record in log.read(home):
        event = decode(record.type, record.payload)
        if isinstance(event, ContextShown):
            renderer = renderer or _renderer(state, task, texts, blobs, context_budget)
            seen = state if context_budget is None else _with_cut(state, own_cut)
            version = event.renderer if context_budget is None and event.renderer in ORDERS else RENDERER
            shown = renderer.render(seen, version)
            own_cut = (shown.full_from, shown.group_size, shown.tail_from)
            whole = len(state.strategies) - shown.full_from + 1
            why = "" if context_budget is not None else _difference(event, shown.text, blobs)
            yield Replayed(event.call, shown.tokens, whole, shown.full_from - 1, why)
        state = apply(state, event)


def _renderer(
    state: Campaign, task: Task, texts: CachedTexts, blobs: BlobStore, context_budget: int | None
) -> Renderer:
    if state.goal is None:
        raise HeadwayError("The campaign's first event is no goal.", "Prove the log with `headway log verify`.")
    goal = text_of(blobs, state.goal.goal)
    return Renderer(task, goal, texts, context_budget or state.needed.context_budget)


def _with_cut(state: Campaign, cut: tuple[int, int, int]) -> Campaign:
    return replace(state, full_from=cut[0], group_size=cut[1], tail_from=cut[2])


def _difference(event: ContextShown, today: str, blobs: BlobStore) -> str:
    try:
        stored = text_of(blobs, event.context)
    except BlobMissing:
        return "the stored context is gone (collected or redacted)"
    if stored == today:
        return ""
    if event.renderer not in ORDERS:
        return f"it was made by renderer {event.renderer}, this is renderer {RENDERER}"
    for number, (old, new) in enumerate(zip(stored.splitlines(), today.splitlines(), strict=False), 1):
        if old != new:
            return f"line {number}: {old[:60]!r} was stored, {new[:60]!r} is rendered"
    return "one is the beginning of the other"
