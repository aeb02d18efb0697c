"""Reports over entries; their moments come from `entries`."""

from datetime import datetime, timedelta


def of_today(entries):
    midnight = datetime.utcnow().replace(hour=0, minute=0, second=0, microsecond=0)
    return [entry for entry in entries if entry.created >= midnight]


def of_last(entries, days):
    since = datetime.utcnow() - timedelta(days=days)
    return sum(entry.cents for entry in entries if entry.created > since)


def heading(title):
    return f"{title}, {datetime.utcnow():%d %B %Y}"
