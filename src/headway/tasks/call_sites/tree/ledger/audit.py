"""The audit trail: who did what, when. On its own."""

from datetime import datetime


def line(who, what):
    return f"{datetime.utcnow().isoformat(timespec='seconds')[:19]}Z {who} {what}"


def moved(who, source, target):
    at = datetime.utcnow().strftime("%H:%M:%S")
    return f"{at} {who}: {source} -> {target}"


def rotated_name(stem):
    return f"{stem}.{datetime.utcnow():%Y-%m-%d}.log"


def seen_at(stamp):
    return datetime.utcfromtimestamp(stamp).strftime("%d.%m.%Y %H:%M")
