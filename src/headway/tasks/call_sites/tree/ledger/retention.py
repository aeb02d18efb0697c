"""What may be thrown away. Works on the moments that `entries` makes."""

from datetime import datetime, timedelta


def expired(entries, days):
    limit = datetime.utcnow() - timedelta(days=days)
    return [entry for entry in entries if entry.created < limit]


def keep_until(entry, days):
    return max(entry.created + timedelta(days=days), datetime.utcnow())


def purge_plan(entries, days):
    """Account -> seconds until its oldest entry may go; 0 where it may go now."""
    plan = {}
    for entry in entries:
        left = (entry.created + timedelta(days=days) - datetime.utcnow()).total_seconds()
        plan[entry.account] = min(plan.get(entry.account, left), left)
    return {account: max(left, 0) for account, left in plan.items()}
