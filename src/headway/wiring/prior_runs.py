"""Finds earlier campaigns on the same task, to be offered to a new one as evidence."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.core.errors import HeadwayError
from headway.core.task import Task
from headway.tune import campaign as campaigns
from headway.tune.prior import Prior, prior_of
from headway.wiring.state import open_state

MOST_PRIOR = 3


@dataclass(frozen=True)
class Earlier:
    """A campaign by its state folder and id, and for people its place."""

    state: Path
    id: str


def priors(task: Task, named: list[Earlier], found: list[Earlier]) -> tuple[Prior, ...]:
    """What came of them: of the ones named all, of the ones found the newest that are on this very task.

    Raises HeadwayError for a named one on another task, or on another version of it.
    """
    told = [_read(task, one) for one in named]
    wrong = next((one for one, prior in zip(named, told, strict=True) if prior is None), None)
    if wrong is not None:
        raise HeadwayError(
            f"The campaign {wrong.id} is not on this {task.id}: its task, or the task's folder, was another.",
            "Name one on the same task.",
        )
    return tuple(prior for prior in [*told, *_newest(task, found)] if prior is not None)


def _newest(task: Task, found: list[Earlier]) -> Iterator[Prior]:
    left = MOST_PRIOR
    for one in reversed(found):
        try:
            prior = _read(task, one) if left else None
        except HeadwayError:  # a log that cannot be read is no evidence, and no reason not to begin
            continue
        if prior is not None:
            left -= 1
            yield prior


def _read(task: Task, one: Earlier) -> Prior | None:
    """None for a campaign on something else, an evaluation, or one that has tried nothing."""
    with open_state(one.state, read_only=True) as opened:
        _, settings = campaigns.settings_of(opened.log, one.id)
        if settings.task_digest != task.digest or settings.purpose != "campaign":
            return None
        state = campaigns.read(opened.log, one.id)
        if not state.attempts:
            return None
        return prior_of(one.id, state, campaigns.CachedTexts(opened.blobs))
