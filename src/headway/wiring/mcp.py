"""What `headway mcp` calls: find or begin the campaign, put the outside agent to work, serve the tools."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.mcp_server import check_address, serve
from headway.core.errors import HeadwayError
from headway.tune import campaign as campaigns
from headway.tune.state import Campaign
from headway.wiring.agents import AgentOptions
from headway.wiring.outside import INSTRUCTIONS, open_room
from headway.wiring.state import open_state
from headway.wiring.tune import Place, RunOptions, begin, find_campaign, find_task, resume

__all__ = ["Limits", "check_address", "place_for", "serve_campaign"]


@dataclass(frozen=True)
class Limits:
    """Of a campaign that is begun here; None leaves a matter to the task."""

    attempts: int | None = None
    seconds: float | None = None
    stall: int | None = None


def place_for(campaign: str | None, task: str | None, folder: Path | None, state: Path | None, limits: Limits) -> Place:
    """The campaign to serve. The same command line begins it the first time and goes on with it the next time.

    Raises HeadwayError for an unknown task or campaign, or where the folder's campaign is on another task.
    """
    if task is None:
        place = find_campaign(str(folder) if campaign is None and folder is not None else campaign, state)
    elif folder is not None and (folder / ".headway").is_dir():
        place = find_campaign(str(folder), state)
        _check_task(place, task)
    else:
        options = RunOptions(AgentOptions("outside"), limits.attempts, None, limits.seconds, None, None, limits.stall)
        return begin(task, options, folder, state)
    with open_state(place.state, read_only=True) as opened:
        agent = campaigns.read(opened.log, place.id).needed.agent
    if agent != "outside":
        resume(place, {}, AgentOptions("outside"))
    return place


def serve_campaign(place: Place, watch: Callable[[Campaign], None], http: tuple[str, int] | None) -> None:
    """Serve until the client goes. Raises CouldNotRun without the SDK, HeadwayError for an address others reach."""
    room = open_room(place, watch)
    room.driver.start()
    try:
        serve(room.tools(), INSTRUCTIONS, http)
    finally:
        room.driver.close()


def _check_task(place: Place, task: str) -> None:
    wanted = find_task(task)
    with open_state(place.state, read_only=True) as opened:
        _, settings = campaigns.settings_of(opened.log, place.id)
    if settings.task_digest != wanted.digest:
        raise HeadwayError(f"{place.folder} holds a campaign on {settings.task}, not on this {wanted.id}.")
