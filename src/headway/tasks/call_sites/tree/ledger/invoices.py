"""Invoices: numbers by day, due dates, reminders. On its own: no moment leaves or enters it but as text."""

import datetime as dt


def stamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def number(count):
    return f"{dt.datetime.utcnow():%Y%m%d}-{count:04}"


def due(days):
    return stamp(dt.datetime.utcnow() + dt.timedelta(days=days))


def overdue(due_text):
    due_at = dt.datetime.strptime(due_text, "%Y-%m-%dT%H:%M:%SZ")
    return dt.datetime.utcnow() > due_at


def reminder_days(due_text):
    due_at = dt.datetime.strptime(due_text, "%Y-%m-%dT%H:%M:%SZ")
    return max((dt.datetime.utcnow() - due_at).days, 0)
