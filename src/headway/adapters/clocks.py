"""The system clock, and the clock that stands still until it is told."""

import time
from datetime import UTC, datetime, timedelta


class SystemClock:
    """What the machine says."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class HandClock:
    """Fake: moves only by `tick`; for tests and for the fixed clock of the kill test."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    def tick(self, seconds: float) -> None:
        """Move both readings forward; negative seconds set only the wall clock back, as people do."""
        self._now += timedelta(seconds=seconds)
        self._elapsed += max(seconds, 0.0)
