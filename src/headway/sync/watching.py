"""When a watch looks again, and when it must call for people. Pure."""

from dataclasses import dataclass

from headway.core.events_loop import StoodStill
from headway.sync.metrics import Point

FIRST_BACK_OFF = 30.0
"""Seconds before a source that did not answer is asked again; doubled each time, up to the interval."""


@dataclass(frozen=True, slots=True)
class Pace:
    """`failures`: how often in a row the world did not answer."""

    interval: float
    failures: int = 0

    def after(self, *, answered: bool) -> "Pace":
        """The pace after one more cycle."""
        return Pace(self.interval, 0 if answered else self.failures + 1)

    @property
    def seconds(self) -> float:
        """How long to sleep now: the interval, or less while the world does not answer."""
        if self.failures == 0:
            return self.interval
        return float(min(self.interval, FIRST_BACK_OFF * 2 ** (self.failures - 1)))


@dataclass(frozen=True, slots=True)
class Alarm:
    """The frontier stands still while commits wait."""

    hours: float
    waiting: int
    since: str
    frontier: str = ""

    def event(self, issue: int = 0) -> StoodStill:
        """As a fact; `issue` is its number on the forge."""
        return StoodStill(self.since, self.frontier, self.waiting, round(self.hours, 2), issue)

    def to_json(self) -> dict[str, object]:
        """For `status --json`."""
        return {"hours": round(self.hours, 2), "since": self.since, "waiting": self.waiting}

    def line(self) -> str:
        """One sentence for people."""
        return (
            f"ALARM: the frontier has not moved for {self.hours:.0f} hours (since {self.since}) while {self.waiting} "
            "changes wait"
        )


def alarm_of(points: tuple[Point, ...], now: float, after_hours: float) -> Alarm | None:
    """An alarm if changes have waited, and the frontier has not moved, for `after_hours` up to `now` (epoch seconds).

    A clock that was set back gives negative hours, which are no alarm; the next real reading decides.
    """
    if not points or points[-1].commits_behind == 0:
        return None
    since = points[-1]
    for point in reversed(points):
        if point.frontier != points[-1].frontier or point.commits_behind == 0:
            break
        since = point
    hours = (now - since.at) / 3600
    if hours < after_hours:
        return None
    return Alarm(hours, points[-1].commits_behind, since.when, str(since.frontier or ""))
