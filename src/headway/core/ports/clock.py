"""The clock port, so that durations and time stamps are testable."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Adapters: `adapters/clocks.py` holds the system clock and the one that ticks by hand."""

    def now(self) -> datetime:
        """Aware UTC wall-clock time; may be set back by people."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards within one boot; for durations only."""
        ...


def stamp(moment: datetime) -> str:
    """The log's time format: UTC, microseconds, `Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
