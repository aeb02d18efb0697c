"""What `headway log` calls: one function per verb."""

import json
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

from headway.adapters.clocks import SystemClock
from headway.adapters.durable_files import write_text_durably
from headway.adapters.locks import WriterLock
from headway.adapters.log_check import check_log
from headway.adapters.log_repair import set_aside
from headway.adapters.log_upkeep import collect, redact
from headway.adapters.state_place import state_of_folder
from headway.core.errors import HeadwayError
from headway.core.log_lines import object_of
from headway.core.names import BlobId
from headway.core.ports.clock import Clock, stamp
from headway.core.ports.log import Record
from headway.core.quantities import bytes_of, seconds_of
from headway.core.upkeep import BulkPolicy, CheckReport
from headway.wiring.state import State, open_state


def log_records(option: Path | None, *, stream: str, since: str, last: int) -> list[Record]:
    """Records whose stream begins with `stream`, written at or after `since`, at most the `last` newest (0: all)."""
    begin = _moment(since, SystemClock()) if since else ""
    with _looking(option) as state:
        # all are wanted: then the newest are found without reading the others (empty positions make them fewer)
        skipped = state.log.last_position() - last if last and not stream and not since else 0
        wanted = (r for r in state.log.read_all(max(skipped, 0)) if r.stream.startswith(stream) and r.ts >= begin)
        return list(deque(wanted, maxlen=last or None))


def blob_content(option: Path | None, name: str) -> bytes:
    """What a blob id of the log stands for. Raises HeadwayError for one that is malformed, absent or redacted."""
    with _looking(option) as state:
        return state.blobs.get(BlobId(name))


def check_log_state(option: Path | None) -> CheckReport:
    """Prove the log and its blobs."""
    return check_log(_root(option))


def set_log_damage_aside(option: Path | None) -> list[str]:
    """Repair, and say in one line per stream what was moved where. Raises LockHeld while a loop writes."""
    root, clock = _root(option), SystemClock()
    check_log(root)  # a folder without a log is refused before a lock file is made in it
    with WriterLock(root / "lock", clock).held():
        return [
            f"Set aside {event.count} records of stream {event.stream} from version {event.first_version} on: "
            f"{root / event.file}"
            for event in set_aside(root, clock)
        ]


def export_log(option: Path | None, output: Path | None) -> None:
    """All records as JSON lines to `output`, whole or not at all, or to stdout."""
    with _looking(option) as state:
        lines = (json.dumps(object_of(record), ensure_ascii=False) + "\n" for record in state.log.read_all())
        if output is None:
            _write(sys.stdout, lines)
        else:
            write_text_durably(output, lines)


def collect_log_garbage(option: Path | None, *, older_than: str, bulky: str, dry_run: bool) -> list[str]:
    """Collect, and say in a few lines what went. Raises LockHeld while a loop writes."""
    if bool(older_than) != bool(bulky):
        raise HeadwayError("--older-than and --bulky make one policy.", "Give both, or neither.")
    policy = BulkPolicy(seconds_of(older_than), bytes_of(bulky)) if bulky else None
    with _looking(option):
        pass  # refuse a folder without a log before anything is created in it
    with open_state(_root(option)) as state, state.lock():
        done = collect(state.log, state.blobs, SystemClock(), policy, dry_run=dry_run)
    would = "Would remove" if dry_run else "Removed"
    lines = [f"{would} {len(done.doomed.unused)} unused blobs and {len(done.doomed.bulky)} old bulky ones,"]
    lines[0] += f" {done.stored_bytes} bytes as stored; {done.leftovers} leftovers of killed processes."
    return lines + [f"  {item.blob}  {item.stored_bytes} bytes" for item in done.doomed.bulky]


def redact_blob(option: Path | None, beginning: str, *, by: str, reason: str) -> str:
    """Redact one blob; returns its full id."""
    with _looking(option):
        pass
    with open_state(_root(option)) as state:
        return redact(state.log, state.blobs, beginning, by=by, reason=reason)


def _root(option: Path | None) -> Path:
    return state_of_folder(Path.cwd(), option, os.environ)


@contextmanager
def _looking(option: Path | None) -> Iterator[State]:
    with open_state(_root(option), read_only=True) as state:
        yield state


def _write(file: TextIO, lines: Iterable[str]) -> None:
    for line in lines:
        file.write(line)


def _moment(text: str, clock: Clock) -> str:
    """`2h` ago, or a UTC date or time, in the log's format."""
    if text[-1:].isalpha() and text[:-1].replace(".", "", 1).isdigit():
        return stamp(clock.now() - timedelta(seconds=seconds_of(text)))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as refused:
        raise HeadwayError(
            f"{text!r} is not a time.", "Write 2h, 30d, 2026-11-30 or 2026-11-30T18:00:00Z."
        ) from refused
    return stamp(moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC))
