"""Bookings. The moment of a booking is compared with other moments all over the package."""

from dataclasses import dataclass, field
from datetime import datetime


def _booked_now():
    return datetime.utcnow()


@dataclass
class Entry:
    account: str
    cents: int
    created: datetime = field(default_factory=_booked_now)

    def age_seconds(self):
        return (datetime.utcnow() - self.created).total_seconds()


def imported(account, cents, stamp):
    """An entry from another system, which counts seconds since 1970."""
    return Entry(account, cents, datetime.utcfromtimestamp(stamp))


def newest(entries):
    latest = datetime.utcfromtimestamp(0)
    for entry in entries:
        if entry.created > latest:
            latest = entry.created
    return latest
