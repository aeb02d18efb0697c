"""Proves a log, or says exactly what is wrong with it. Reads what can be read, also of a file SQLite gives up on.

Unlike `SqliteLog` it never raises for damage: everything it finds becomes a `Problem` with its place.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.adapters.file_blobs import FileBlobs
from headway.adapters.log_tail import LogTail
from headway.adapters.sqlite_log_schema import (
    COLUMNS,
    check_format,
    connect,
    cut_off,
    explained,
    head_of,
    number,
    tolerant_text,
)
from headway.core.chain import NEW, Head, fault
from headway.core.errors import HeadwayError
from headway.core.names import BlobId, StreamId
from headway.core.ports.blobs import BlobMissing
from headway.core.ports.log import LogDamaged, Record
from headway.core.upkeep import BlobStory, CheckReport, Problem, ids_in, members_of, reached

CHUNK = 2_000
BLOB_STATES = ("whole", "redacted", "collected", "unused", "missing", "damaged")
ROW_TYPES = [int, str, int, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A position whose row SQLite cannot give, and what it said."""

    position: int
    complaint: str


@dataclass
class Findings:
    """What reading the whole log brought to light. `good` is the undamaged beginning of every stream."""

    good: dict[StreamId, Head] = field(default_factory=dict)
    known_heads: dict[StreamId, Head] = field(default_factory=dict)
    broken: dict[StreamId, int] = field(default_factory=dict)
    """Streams with a fault -> how many of their records come after their undamaged beginning, readable or not."""
    story: BlobStory = field(default_factory=BlobStory)
    records: int = 0
    last_position: int = 0
    missing_positions: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def check_log(root: Path) -> CheckReport:
    """Prove records, chains, heads, positions and blobs of the state folder `root`.

    Raises HeadwayError only if there is no headway log, or one of a newer format.
    """
    findings = examine(root)
    blobs = _check_blobs(FileBlobs(root / "blobs"), findings)
    return CheckReport(
        findings.records,
        len(findings.good.keys() | findings.known_heads.keys()),
        findings.last_position,
        findings.story.set_aside,
        blobs,
        tuple(findings.problems),
    )


def examine(root: Path) -> Findings:
    """Everything but the blobs; see `check_log`."""
    path = root / "log.sqlite3"
    noted = LogTail(root / "log.tail").read()  # before the log: it must not know of records written meanwhile
    findings = Findings()
    db = open_tolerant(path)
    try:
        _check_file(db, path, findings, written=noted[0] if noted else 0)
        _read_heads(db, findings)
        if noted is not None:
            _check_tail(findings, *noted)
        for item in salvage(db, findings.last_position):
            _follow(findings, item)
        _compare_heads(findings)
        _check_positions(findings)
    finally:
        db.close()
    return findings


def open_tolerant(path: Path) -> sqlite3.Connection:
    """A connection for reading that takes a cut-off file and text that is not UTF-8, in one unchanging snapshot."""
    db = connect(path, "ro")
    db.text_factory = tolerant_text
    try:
        db.execute("PRAGMA writable_schema = ON")  # else SQLite refuses a file that is shorter than it promises
        db.execute("BEGIN")
    except sqlite3.Error:
        pass  # what is wrong shows at the first read
    return db


def salvage(db: sqlite3.Connection, last: int) -> Iterator[Record | Unreadable]:
    """Every record up to position `last` that can be read, in order of position; unreadable ones one by one."""
    position = 0
    sql = f"SELECT {COLUMNS} FROM records WHERE position > ? AND position <= ? ORDER BY position"
    while position < last:
        until = min(position + CHUNK, last)
        try:
            yield from (_item(row) for row in db.execute(sql, (position, until)).fetchall())
        except sqlite3.Error:
            for at in range(position, until):
                try:
                    yield from (_item(row) for row in db.execute(sql, (at, at + 1)).fetchall())
                except sqlite3.Error as trouble:
                    yield Unreadable(at + 1, str(trouble))
        position = until


def _item(row: tuple[Any, ...]) -> Record | Unreadable:
    if [type(field) for field in row] != ROW_TYPES:
        return Unreadable(row[0], "its columns do not hold what they should")
    return Record(*row)


def _check_file(db: sqlite3.Connection, path: Path, findings: Findings, *, written: int) -> None:
    if cut := cut_off(path):
        findings.problems.append(Problem("file", f"The log {path} is damaged: {cut}."))
    try:
        if not check_format(db, path, written=written):
            raise HeadwayError(f"The log {path} was never begun.", "Name the state folder with --state.")
        with explained(path):
            complaints = [str(row[0]) for row in db.execute("PRAGMA integrity_check(10)").fetchall()]
        findings.problems += [Problem("file", f"{path}: {complaint}.") for complaint in complaints if complaint != "ok"]
    except LogDamaged as damage:
        findings.problems.append(Problem("file", damage.message))


def _read_heads(db: sqlite3.Connection, findings: Findings) -> None:
    try:
        for stream, version, digest, position in db.execute("SELECT stream, version, hash, position FROM heads"):
            try:
                findings.known_heads[StreamId(stream)] = head_of(stream, version, digest, position)
            except LogDamaged as damage:
                findings.problems.append(Problem("head", damage.message, str(stream)))
    except sqlite3.Error as trouble:
        findings.problems.append(Problem("head", f"The table of heads cannot be read: {trouble}."))
    noted = _one_number(db, "SELECT value FROM meta WHERE key = 'last_position'")
    if noted == 0 and findings.known_heads:
        findings.problems.append(Problem("file", "The log has lost its last position."))
    findings.last_position = max(noted, _one_number(db, "SELECT max(position) FROM records"))
    findings.last_position = max([findings.last_position, *(head.position for head in findings.known_heads.values())])


def _one_number(db: sqlite3.Connection, sql: str) -> int:
    """0 if it cannot be read: the other witnesses of the log's length remain, the heads and log.tail."""
    try:
        (value,) = db.execute(sql).fetchone() or (0,)
    except sqlite3.Error:
        return 0
    return value if isinstance(value, int) else number(value)


def _check_tail(findings: Findings, position: int, _: str) -> None:
    if position > findings.last_position:
        lost = position - findings.last_position
        message = (
            f"The log ends at position {findings.last_position}, but position {position} was written: {lost} lost."
        )
        findings.problems.append(Problem("tail", message, position=findings.last_position + 1))
        findings.last_position = position


def _follow(findings: Findings, item: Record | Unreadable) -> None:
    if isinstance(item, Unreadable):
        message = f"The record at position {item.position} cannot be read: {item.complaint}."
        findings.problems.append(Problem("record", message, position=item.position))
        return
    findings.records += 1
    previous = findings.good.get(item.stream, NEW)
    if item.stream in findings.broken:
        findings.broken[item.stream] += 1
    elif complaint := fault(previous, item):
        place = f"{item.stream} version {item.version} (position {item.position})"
        message = f"The log is damaged at stream {place}: {complaint}."
        findings.problems.append(Problem("record", message, str(item.stream), item.version, item.position))
        findings.broken[item.stream] = 1
    else:
        findings.good[item.stream] = Head(item.version, item.hash, item.position)
        findings.story.add(item)


def _compare_heads(findings: Findings) -> None:
    for stream, head in findings.known_heads.items():
        reached = findings.good.get(stream, NEW)
        if reached.version < head.version:
            if stream not in findings.broken:
                first, count = reached.version + 1, head.version - reached.version
                what = f"{count} record{'s are' if count > 1 else ' is'} missing from its end"
                message = f"The log is damaged at stream {stream} version {first}: {what}."
                findings.problems.append(Problem("head", message, str(stream), first))
            findings.broken[stream] = head.version - reached.version
        elif reached.hash != head.hash:
            message = f"The head of stream {stream} names another record {head.version} than is there."
            findings.problems.append(Problem("head", message, str(stream), head.version))
    for stream in findings.good.keys() - findings.known_heads.keys():
        findings.problems.append(Problem("head", f"Stream {stream} has records and no head.", str(stream)))


def _check_positions(findings: Findings) -> None:
    """Positions count up without a gap, except for what earlier repairs took out, and what is reported already."""
    gap = findings.last_position - findings.records - findings.story.set_aside
    if gap > 0 and not findings.problems:
        message = f"{gap} of {findings.last_position} positions hold no record and no repair took them out."
        findings.problems.append(Problem("gap", message))


def _check_blobs(blobs: FileBlobs, findings: Findings) -> dict[str, int]:
    """Hash every blob that is there again, and look for every one that an event, or evidence in use, names."""
    story = findings.story
    states: dict[BlobId, str] = {}
    inner: dict[BlobId, frozenset[BlobId]] = {}
    members: dict[BlobId, frozenset[BlobId]] = {}
    for blob in blobs.all_ids():
        try:
            content = blobs.get(blob)
            states[blob], inner[blob], members[blob] = "whole", ids_in(content), members_of(content)
            if blob in story.redacted:
                _blob_problem(findings, blob, "was redacted, but its content is there; run `headway log redact` again")
        except BlobMissing:
            states[blob] = "redacted"
            if blob not in story.redacted:
                _blob_problem(findings, blob, "is redacted and no event says so; run `headway log redact` again")
        except LogDamaged as damage:
            states[blob] = "damaged"
            findings.problems.append(Problem("blob", damage.message, blob=blob))
    used = reached(dict.fromkeys(story.named, 0.0), inner)
    counts = Counter("unused" if state == "whole" and blob not in used else state for blob, state in states.items())
    named_by = {blob: f"stream {naming.stream} version {naming.version}" for blob, naming in story.named.items()}
    for outer in used.keys() & members.keys():
        for blob in members[outer]:
            named_by.setdefault(blob, f"blob {outer}")
    for blob in sorted(named_by.keys() - states.keys()):
        if blob in story.collected or blob in story.redacted:
            counts["collected"] += 1
        else:
            counts["missing"] += 1
            _blob_problem(findings, blob, f"is missing; {named_by[blob]} names it")
    return {state: counts[state] for state in BLOB_STATES}


def _blob_problem(findings: Findings, blob: BlobId, what: str) -> None:
    findings.problems.append(Problem("blob", f"Blob {blob} {what}.", blob=blob))
