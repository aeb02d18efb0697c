"""The tables of the log's file, and SQLite's complaints about it in our words."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headway import __version__
from headway.adapters.durable_files import DiskFull
from headway.adapters.log_tail import LogTail
from headway.core.chain import Head
from headway.core.errors import HeadwayError
from headway.core.events import UnknownEvent
from headway.core.names import StreamId
from headway.core.ports.log import LogDamaged, Record

FORMAT = 1
APPLICATION_ID = 0x68647779  # "hdwy": so that `file` and we can tell a headway log from another SQLite file

COLUMNS = "position, stream, version, ts, type, payload, prev_hash, hash"

TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE types (type TEXT PRIMARY KEY, since TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE heads (stream TEXT PRIMARY KEY, version INTEGER NOT NULL, hash TEXT NOT NULL,"
    " position INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE records (position INTEGER PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL,"
    " ts TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL,"
    " UNIQUE (stream, version))",
)

TABLE_NAMES = frozenset({"meta", "types", "heads", "records"})

FULL_CODES = frozenset({sqlite3.SQLITE_FULL})
WRITE_CODES = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN})
DAMAGE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
SCARCE_BYTES = 256 << 10


def tolerant_text(raw: bytes) -> str:
    """For a row with a flipped byte: what is not UTF-8 survives as surrogates, and then fails its hash."""
    return raw.decode("utf-8", "surrogateescape")


def create(db: sqlite3.Connection) -> None:
    """Make the tables unless they are there. Two processes may try at once; a killed try leaves nothing behind."""
    if _has_tables(db):
        return
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    try:
        if not _has_tables(db):
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for table in TABLES:
                db.execute(table)
            rows = (("format", str(FORMAT)), ("written_by", __version__), ("last_position", "0"))
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def connect(path: Path, mode: str, patience_seconds: float = 0.0) -> sqlite3.Connection:
    """A connection without Python's own transactions; `mode` is SQLite's `ro` or `rwc`. Raises HeadwayError."""
    if mode == "ro" and not path.is_file():
        if (noted := LogTail(path.with_name("log.tail")).read()) is not None:
            raise HeadwayError(
                f"The log {path} is gone, though {noted[0]} records were written to it (log.tail beside it says so).",
                "Put it back from a copy (`headway log pull`, where it was shared), or begin anew: move log.tail away.",
            )
        raise HeadwayError(f"There is no headway log at {path}.", "Name its state folder with --state.")
    with explained(path):
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=patience_seconds)


def is_begun(path: Path, tail: LogTail) -> bool:
    """Whether there is a log that could be damaged: not when its creation was killed before its first table."""
    return tail.read() is not None or (path.is_file() and path.stat().st_size > 0)


def check_format(db: sqlite3.Connection, path: Path, *, written: int) -> bool:
    """True for a log of a format we know; False if its creation was killed before its first table.

    Raises HeadwayError for a file that is not a headway log, UnknownEvent for one of a newer format, LogDamaged for
    one that has lost its tables though `written` positions were given out.
    """
    with explained(path):
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        is_ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall()) if "meta" in tables else {}
    if not (tables or is_ours or written):
        return False
    if not (TABLE_NAMES <= tables and "format" in meta and is_ours):
        if not written:
            raise HeadwayError(f"{path} is not a headway log.", "Name the right state folder with --state.")
        raise LogDamaged(
            f"The log {path} has lost its tables, though positions 1 to {written} were written (file position 0).",
            "Put back log.sqlite3-wal if it was left behind, or run `headway log verify --set-aside`.",
        )
    if number(meta.get("format")) > FORMAT:
        raise UnknownEvent(
            f"The log {path} has format {meta['format']}; this headway ({__version__}) knows format {FORMAT}.",
            f"Use headway {meta.get('written_by')} or newer.",
        )
    return True


def insert_records(db: sqlite3.Connection, records: Iterable[Record]) -> None:
    """Add rows; the caller holds the transaction. A (stream, version) that is there already is an IntegrityError."""
    db.executemany(
        f"INSERT INTO records ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((r.position, r.stream, r.version, r.ts, r.type, r.payload, r.prev_hash, r.hash) for r in records),
    )


def insert_heads(db: sqlite3.Connection, heads: Mapping[StreamId, Head]) -> None:
    """Say where streams stand now."""
    db.executemany(
        "INSERT INTO heads (stream, version, hash, position) VALUES (?, ?, ?, ?) ON CONFLICT (stream)"
        " DO UPDATE SET version = excluded.version, hash = excluded.hash, position = excluded.position",
        ((stream, head.version, head.hash, head.position) for stream, head in heads.items() if head.version),
    )


def set_last_position(db: sqlite3.Connection, position: int) -> None:
    """The newest position ever given out, also when its record is gone."""
    db.execute("UPDATE meta SET value = ? WHERE key = 'last_position'", (str(position),))


def head_of(stream: object, version: object, digest: object, position: object) -> Head:
    """A row as a head. Raises LogDamaged if a flipped byte has made something else of it."""
    if isinstance(stream, str) and isinstance(version, int) and isinstance(digest, str) and isinstance(position, int):
        return Head(version, digest, position)
    raise LogDamaged(f"The log is damaged: the head of stream {stream} is not one.", "Run `headway log verify`.")


def number(text: object) -> int:
    """A number that is kept as text in `meta`; 0 if it is none."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else 0


def remember_writer(db: sqlite3.Connection) -> None:
    """Note this headway's version as the newest writer, if it is."""
    (newest,) = db.execute("SELECT value FROM meta WHERE key = 'written_by'").fetchone()
    if _as_numbers(__version__) > _as_numbers(newest):
        db.execute("UPDATE meta SET value = ? WHERE key = 'written_by'", (__version__,))


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's complaint into one sentence: full disk, damage (with the byte it ends at), busy, no access."""
    try:
        yield
    except sqlite3.Error as trouble:
        raise _explanation(path, trouble) from trouble


def _explanation(path: Path, trouble: sqlite3.Error) -> HeadwayError:
    extended = getattr(trouble, "sqlite_errorcode", 0)
    code = extended & 0xFF
    if code in FULL_CODES or (extended in WRITE_CODES and _free_bytes(path) < SCARCE_BYTES):
        return DiskFull(path)
    if code in DAMAGE_CODES:
        return LogDamaged(f"The log {path} is damaged: {_where_it_ends(path, trouble)}.", "Run `headway log verify`.")
    if code == sqlite3.SQLITE_BUSY:
        return HeadwayError(f"Another process keeps the log {path} busy.", "Wait for it or stop it, then try again.")
    return HeadwayError(f"Cannot use the log {path}: {trouble}.", "Check that the folder and its files are yours.")


def _where_it_ends(path: Path, trouble: sqlite3.Error) -> str:
    with path.open("rb") as file:
        header = file.read(16)
    if header != b"SQLite format 3\0":
        return f"it does not begin with SQLite's header (byte 0 of {path.stat().st_size})"
    return cut_off(path) or f"SQLite says {trouble}"


def cut_off(path: Path) -> str | None:
    """A cut-off file is told by its own header: page size (bytes 16-17) times page count (bytes 28-31).

    Only without a write-ahead log: with one, the rest may be in there.
    """
    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size > 0:
        return None
    with path.open("rb") as file:
        header = file.read(32)
    page = int.from_bytes(header[16:18])
    promised = (65536 if page == 1 else page) * int.from_bytes(header[28:32])
    size = path.stat().st_size
    return f"it is cut off at byte {size} of {promised}" if size < promised else None


def _free_bytes(path: Path) -> int:
    stats = os.statvfs(path.parent)
    return stats.f_bavail * stats.f_frsize


def _has_tables(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is not None


def _as_numbers(version: str) -> tuple[int, ...]:
    """`0.10.1.dev3` -> (0, 10, 1): enough to tell the newer of two of our own versions."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())
