"""Reads the demo's log while its processes run: how far has the victim come?"""

from pathlib import Path

from headway.adapters.clocks import SystemClock
from headway.adapters.sqlite_log import SqliteLog
from headway.core.errors import HeadwayError
from headway.core.events_loop import Probed
from headway.core.events_tune import AttemptRanked, AttemptRefused


def answers_logged(state: Path) -> int:
    """How often L1 has answered for sync, by the log in `state`; 0 before there is a log."""
    return _count(state, {Probed.TYPE})


def attempts_logged(state: Path) -> int:
    """How many attempts have come to an end in the log."""
    return _count(state, {AttemptRanked.TYPE, AttemptRefused.TYPE})


def _count(state: Path, types: set[str]) -> int:
    try:
        log = SqliteLog(state / "log.sqlite3", SystemClock(), read_only=True)
    except HeadwayError:
        return 0  # not there yet
    try:
        return sum(record.type in types for record in log.read_all())
    finally:
        log.close()
