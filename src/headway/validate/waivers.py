"""Waivers: named people who answer, for a limited time, for a new failure being called unrelated."""

from collections.abc import Iterable
from datetime import date

from headway.core.config_tiers import Waiver
from headway.core.events_validate_tiers import WaiverGranted

LONGEST_DAYS = 90
"""A waiver that outlives a quarter is a decision to drop the test, and should be taken as one."""


def granted(events: Iterable[WaiverGranted]) -> tuple[Waiver, ...]:
    """Those granted by hand, as values."""
    return tuple(Waiver(event.tests, event.by, event.reason, date.fromisoformat(event.until)) for event in events)
