"""The liveness alarm: recorded when it begins and when it ends, and one issue on the forge, where there is one."""

from collections.abc import Callable

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_loop import MovedOn, StoodStill
from headway.core.ports.forge import Forge, WantedIssue
from headway.sync.accounting import frontier_of
from headway.sync.status import Status
from headway.sync.watching import Alarm

LABEL = "headway"


def note_liveness(status: Status, forge: Callable[[], Forge] | None, record: Callable[[Event], object]) -> None:
    """`record` that the alarm began or ended, where that is news; file its issue, or close it.

    `forge` makes one, None where none is configured. The issue is found again by its key, so a kill before the record
    files no second one. What the forge raises is raised after the record: the alarm does not wait for the forge, and
    the next turn files what is not filed yet.
    """
    alarm, told = status.alarm, status.ledger.stood_still
    if alarm is None:
        if told is not None:
            _end(status, told, forge, record)
        return
    is_news = told is None or told.since != alarm.since
    is_filed = forge is None or (told is not None and bool(told.issue))
    if is_filed and not is_news:
        return
    try:
        issue = forge().put_issue(_wanted(status, alarm)).number if forge is not None else 0
    except HeadwayError:
        if is_news:
            record(alarm.event())
        raise
    record(alarm.event(issue))


def _end(
    status: Status, told: StoodStill, forge: Callable[[], Forge] | None, record: Callable[[Event], object]
) -> None:
    frontier = str(frontier_of(status.ledger) or "")
    if forge is not None and told.issue:
        forge().close_issue(told.issue, f"The frontier has moved to {frontier[:12]}; {status.closure.line()}.")
    record(MovedOn(told.since, frontier))


def _wanted(status: Status, alarm: Alarm) -> WantedIssue:
    """Facts only: what stands, since when, how the last run ended, and where to look."""
    fork = status.config.fork.id
    body = [f"{alarm.line()[:1].upper()}{alarm.line()[1:]}.", "", *(f"    {line}" for line in status.lines()), ""]
    body += ["`headway sync status` and `headway sync report` say more. This closes itself when the frontier moves."]
    return WantedIssue(
        f"headway/{fork}/stood-still", f"{fork}: the sync with upstream stands still", "\n".join(body), (LABEL,)
    )
