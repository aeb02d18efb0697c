"""Goes on after damage: keeps the undamaged beginning of every stream and sets everything else aside, byte for byte.

The damaged files are moved to `STATE/set-aside/<time>/` whole; what could be read of the removed records is beside
them in `records.jsonl`; a `TailSetAside` event per stream says which versions went. No position is given out twice.
"""

import json
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

from headway import __version__
from headway.adapters.durable_files import files_explained, sync_file, sync_folder, write_durably
from headway.adapters.log_check import Findings, Unreadable, examine, open_tolerant, salvage
from headway.adapters.sqlite_log import SqliteLog
from headway.adapters.sqlite_log_schema import create, explained, insert_heads, insert_records, set_last_position
from headway.core.chain import NEW
from headway.core.errors import HeadwayError
from headway.core.events import event_types, unknown
from headway.core.events_core import TailSetAside
from headway.core.ports.clock import Clock, stamp
from headway.core.ports.log import Record, one
from headway.core.upkeep import UPKEEP

FILES = ("log.sqlite3", "log.sqlite3-wal", "log.sqlite3-shm", "log.tail")


def set_aside(root: Path, clock: Clock) -> tuple[TailSetAside, ...]:
    """Repair the log of state folder `root`; the caller holds the writer lock. Returns what was set aside.

    Nothing to do: returns (). Damaged tables without a damaged record are rebuilt, and that too returns ().
    Raises HeadwayError if there is no log, DiskFull before anything is changed.
    """
    findings = examine(root)
    if not findings.problems:
        return ()
    path = root / "log.sqlite3"
    if findings.last_position == 0:
        raise HeadwayError(
            f"{path} is damaged, and nothing says that it ever was a headway log.", "Restore it, or move it away."
        )
    types = _types(path)
    name = f"set-aside/{stamp(clock.now()).replace(':', '').replace('.', '')}"
    with files_explained(root):
        folder = root / name
        folder.mkdir(parents=True)
        kept = _split(path, findings, folder / "records.jsonl")
        rebuilt = _rebuild(root / "log.sqlite3.rebuilt", kept, findings, types)
        _swap(root, folder, rebuilt)
    events = _events(findings, f"{name}/records.jsonl")
    if events:
        _tell(root, clock, events)
    return events


def _types(path: Path) -> dict[str, str]:
    """Which headway first wrote each type, as far as the file still says. Raises UnknownEvent for a newer type."""
    db = open_tolerant(path)
    try:
        rows = db.execute("SELECT type, since FROM types").fetchall()
        types = {name: since for name, since in rows if isinstance(name, str) and isinstance(since, str)}
    except sqlite3.Error:
        types = {}
    finally:
        db.close()
    for name, since in types.items():
        if name not in event_types():
            raise unknown(name, written_by=since)
    return types


def _split(path: Path, findings: Findings, removed: Path) -> list[Record]:
    """The good records; the others that can be read are written to the file `removed`, one JSON object a line."""
    good: list[Record] = []
    lines: list[dict[str, object]] = []
    db = open_tolerant(path)
    try:
        for item in salvage(db, findings.last_position):
            if isinstance(item, Unreadable):
                lines.append({"position": item.position, "unreadable": item.complaint})
            elif _is_good(item, findings):
                good.append(item)
            else:
                lines.append(dict(item._asdict()))
    finally:
        db.close()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    write_durably(removed, text.encode(), removed.with_suffix(".tmp"))
    return good


def _is_good(record: Record, findings: Findings) -> bool:
    head = findings.good.get(record.stream, NEW)
    return record.version <= head.version and record.position <= head.position


def _rebuild(path: Path, kept: list[Record], findings: Findings, types: dict[str, str]) -> Path:
    """A new log file with the kept records at their old positions."""
    path.unlink(missing_ok=True)
    since = {name: types.get(name, __version__) for name in {record.type for record in kept}}
    with explained(path):
        db = sqlite3.connect(path, isolation_level=None)
        try:
            create(db)
            db.execute("BEGIN IMMEDIATE")
            insert_records(db, kept)
            insert_heads(db, findings.good)
            set_last_position(db, findings.last_position)
            db.executemany("INSERT INTO types (type, since) VALUES (?, ?)", since.items())
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.close()
    return path


def _swap(root: Path, folder: Path, rebuilt: Path) -> None:
    """Copies first, so that a kill at any point leaves the damaged log or the rebuilt one, and always the copies."""
    for name in FILES:
        if (root / name).exists():
            shutil.copy2(root / name, folder / name)
            sync_file(folder / name)
    sync_folder(folder)
    sync_folder(folder.parent)
    for name in FILES[1:]:  # a write-ahead log of the old file would be played into the new one
        (root / name).unlink(missing_ok=True)
    rebuilt.replace(root / "log.sqlite3")
    for leftover in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            rebuilt.with_name(rebuilt.name + leftover).unlink()
    sync_folder(root)


def _events(findings: Findings, file: str) -> tuple[TailSetAside, ...]:
    """One per stream that lost records, and one for positions that nothing tells the stream of."""
    events = [
        TailSetAside(str(stream), findings.good.get(stream, NEW).version + 1, count, file)
        for stream, count in sorted(findings.broken.items())
    ]
    kept = sum(head.version for head in findings.good.values())
    unknown = findings.last_position - kept - findings.story.set_aside - sum(event.count for event in events)
    if unknown > 0:
        events.append(TailSetAside("?", 0, unknown, file))
    return tuple(events)


def _tell(root: Path, clock: Clock, events: tuple[TailSetAside, ...]) -> None:
    log = SqliteLog(root / "log.sqlite3", clock)
    try:
        log.append(one(UPKEEP, log.heads(UPKEEP).get(UPKEEP, 0), *events))
    finally:
        log.close()
