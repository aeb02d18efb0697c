"""The event log in one SQLite file: WAL, one fsync per append, a hash chain per stream, nothing dropped in silence.

`records` holds the log, and its key (stream, version) is the whole concurrency control. `heads` says where each stream
stands, so a removed tail is noticed; `types` says which headway first wrote each type of event, so an older one can
name the version it lacks. Beside the file, `log.tail` repeats the newest position and hash outside SQLite: a torn or
removed write-ahead log would otherwise look like a log that never had those records.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from headway import __version__
from headway.adapters.durable_files import files_explained, sync_folder
from headway.adapters.failpoints import OFF, Failpoints
from headway.adapters.log_tail import LogTail
from headway.adapters.masking import NOTHING_KNOWN, Masker
from headway.adapters.sqlite_log_schema import (
    COLUMNS,
    check_format,
    connect,
    create,
    explained,
    head_of,
    insert_heads,
    insert_records,
    is_begun,
    number,
    remember_writer,
    set_last_position,
    tolerant_text,
)
from headway.core.chain import NEW, Head, damaged, followed, proven
from headway.core.errors import HeadwayError
from headway.core.events import encode, event_types, unknown
from headway.core.names import StreamId
from headway.core.ports.clock import Clock, stamp
from headway.core.ports.log import Append, LogDamaged, Record, StaleWrite, record_hash

CHUNK = 2_000
"""Records fetched at a time: no cursor stays open while a reader thinks, so reading never blocks a checkpoint."""

PATIENCE_SECONDS = 30.0
"""How long an append waits for another process's append (an inbox entry beside a running loop)."""


class SqliteLog:
    """The real event log. One instance belongs to one thread; several processes may share the file."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        masker: Masker = NOTHING_KNOWN,
        failpoints: Failpoints = OFF,
        read_only: bool = False,
    ) -> None:
        """Open the log, or create it unless `read_only`.

        Raises HeadwayError for a missing log or a foreign or newer format, LogDamaged for a removed tail, DiskFull.
        A `read_only` log opens whatever types it holds; one to write must know them all (UnknownEvent).
        """
        self.path = path
        self._clock = clock
        self._masker = masker
        self._failpoints = failpoints
        self._tail = LogTail(path.with_name("log.tail"))
        self._known_types: set[str] = set()
        if read_only or is_begun(path, self._tail):
            # Checked without the right to write: closing a writable connection folds the write-ahead log into the
            # file and deletes it, and of a damaged one every byte is still wanted.
            self._db = connect(path, "ro", PATIENCE_SECONDS)
            try:
                self._check_on_open(read_only=read_only)
            except BaseException:
                self.close()
                raise
        if not read_only:
            self.close()
            self._db = self._open_to_write()

    def append(self, writes: Sequence[Append]) -> tuple[Record, ...]:
        """See the port."""
        if not writes:
            return ()
        self._failpoints.hit("append.before")
        with self._transaction():
            added = self._insert(writes)
        if added:
            self._tail.write(added[-1].position, added[-1].hash)
        self._failpoints.hit("append.after", str(added[-1].position) if added else "")
        return added

    def take_over(self, records: Sequence[Record]) -> None:
        """Records of another copy of this log that follow the newest one here: each proven, all committed or none.

        Raises LogDamaged for a record that does not continue its stream, UnknownEvent for a newer headway's.
        """
        if not records:
            return
        for record in records:
            if record.type not in event_types():
                raise unknown(record.type)
        with self._transaction():
            heads = self._all_heads()
            position = self.last_position()
            for record in records:
                if record.position <= position:
                    raise damaged(record.stream, record.version, record.position, "its position is taken")
                head = followed(heads.get(record.stream, NEW), record)
                heads[record.stream], position = head, record.position
            self._write_rows(list(records), {r.stream: heads[r.stream] for r in records}, position)
        self._tail.write(records[-1].position, records[-1].hash)

    def read(self, stream: StreamId, after: int = 0) -> Iterator[Record]:
        """See the port. Gives the records that were there when the first one was asked for, each one checked."""
        end = self._head(stream)
        previous = self._head_at(stream, after, end)
        while previous.version < end.version:
            rows = self._fetch(
                f"SELECT {COLUMNS} FROM records WHERE stream = ? AND version > ? AND version <= ?"
                " ORDER BY version LIMIT ?",
                (stream, previous.version, end.version, CHUNK),
            )
            if not rows:
                raise damaged(stream, previous.version + 1, 0, f"{_missing(previous, end)} missing from its end")
            yield from proven(previous, rows)
            last = Record._make(rows[-1])
            previous = Head(last.version, last.hash, last.position)
        if after < end.version and previous.hash != end.hash:
            raise damaged(stream, end.version, end.position, "it is not the record the stream's head names")

    def read_all(self, after: int = 0) -> Iterator[Record]:
        """See the port. Every record is checked against the one before it in its stream."""
        ends = self._all_heads()
        last = max((head.position for head in ends.values()), default=0)
        seen: dict[StreamId, Head] = {}
        position = after
        while position < last:
            rows = self._fetch(
                f"SELECT {COLUMNS} FROM records WHERE position > ? AND position <= ? ORDER BY position LIMIT ?",
                (position, last, CHUNK),
            )
            if not rows:
                break
            for row in rows:
                record = Record(*row)
                previous = seen.get(record.stream)
                if previous is None:
                    end = ends.get(record.stream, NEW)
                    previous = self._head_at(record.stream, record.version - 1, end) if after else NEW
                seen[record.stream] = followed(previous, record)
                position = record.position
                yield record
        for stream, end in ends.items():
            if end.position > after and seen.get(stream, NEW).version < end.version:
                reached = seen.get(stream, NEW)
                raise damaged(stream, reached.version + 1, 0, f"{_missing(reached, end)} missing from its end")

    def heads(self, prefix: str = "") -> dict[StreamId, int]:
        """See the port."""
        low, high = prefix, prefix + "\U0010ffff"
        sql = "SELECT stream, version, hash, position FROM heads WHERE stream >= ? AND stream < ?"
        return {StreamId(stream): head_of(stream, *rest).version for stream, *rest in self._fetch(sql, (low, high))}

    def last_position(self) -> int:
        """The newest position ever given out."""
        rows = self._fetch("SELECT value FROM meta WHERE key = 'last_position'")
        if not rows:
            raise LogDamaged(f"The log {self.path} has lost its last position.", "Run `headway log verify`.")
        return number(rows[0][0])

    def close(self) -> None:
        """Let go of the file. The last process to do so folds the write-ahead log into it."""
        with suppress(sqlite3.Error, AttributeError):  # AttributeError: it was never opened
            self._db.close()

    def _open_to_write(self) -> sqlite3.Connection:
        with files_explained(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        db = connect(self.path, "rwc", PATIENCE_SECONDS)
        try:
            with explained(self.path):
                db.execute("PRAGMA synchronous = FULL")
                create(db)
        except BaseException:
            db.close()
            raise
        if is_new:
            with files_explained(self.path.parent):
                sync_folder(self.path.parent)
                sync_folder(self.path.parent.parent)
        return db

    def _check_on_open(self, *, read_only: bool) -> None:
        noted = self._tail.read()  # before the log is looked at: it must not know of records written meanwhile
        if not check_format(self._db, self.path, written=noted[0] if noted else 0):
            if read_only:
                raise HeadwayError(f"The log {self.path} was never begun.", "Name the state folder with --state.")
            return
        for name, since in () if read_only else self._fetch("SELECT type, since FROM types"):
            if name not in event_types():
                raise unknown(name, written_by=since)
            self._known_types.add(name)
        rows = self._fetch(
            "SELECT h.stream, h.version, h.position FROM heads h LEFT JOIN records r"
            " ON r.stream = h.stream AND r.version = h.version WHERE r.hash IS NOT h.hash ORDER BY h.position LIMIT 1"
        )
        for stream, version, position in rows:
            raise damaged(stream, version, position, "it is missing, or not the record the stream's head names")
        if noted:
            self._check_tail(*noted)

    def _check_tail(self, position: int, digest: str) -> None:
        """Raises LogDamaged if `log.tail` remembers a record that the file no longer has."""
        last = self.last_position()
        if last < position:
            raise LogDamaged(
                f"The log {self.path} ends at position {last}, but position {position} was written: its newest"
                f" {position - last} records are gone.",
                "Put back log.sqlite3-wal if it was left behind, or run `headway log verify --set-aside`.",
            )
        found = self._fetch("SELECT hash FROM records WHERE position = ?", (position,))
        if found and found[0][0] != digest:
            raise LogDamaged(
                f"The log {self.path} has another record at position {position} than was written there.",
                "Run `headway log verify`.",
            )

    def _insert(self, writes: Sequence[Append]) -> tuple[Record, ...]:
        heads = {write.stream: self._head(write.stream) for write in writes}
        for write in writes:
            if heads[write.stream].version != write.expected:
                raise StaleWrite(
                    f"Stream {write.stream} stands at {heads[write.stream].version}, not at {write.expected}.",
                    "Another process wrote it; run the command again.",
                )
        ts = stamp(self._clock.now())
        position = self.last_position()
        added: list[Record] = []
        for write in writes:
            for event in write.events:
                position += 1
                record = self._record(position, write.stream, ts, *encode(event), heads[write.stream])
                heads[write.stream] = Head(record.version, record.hash, position)
                added.append(record)
        self._write_rows(added, heads, position)
        return tuple(added)

    def _record(self, position: int, stream: StreamId, ts: str, kind: str, payload: str, previous: Head) -> Record:
        payload = self._masker.mask_payload(payload)
        version = previous.version + 1
        digest = record_hash(position, stream, version, ts, kind, payload, previous.hash)
        return Record(position, stream, version, ts, kind, payload, previous.hash, digest)

    def _write_rows(self, added: list[Record], heads: dict[StreamId, Head], position: int) -> None:
        insert_records(self._db, added)
        insert_heads(self._db, heads)
        set_last_position(self._db, position)
        for kind in {record.type for record in added} - self._known_types:
            self._db.execute("INSERT OR IGNORE INTO types (type, since) VALUES (?, ?)", (kind, __version__))
            remember_writer(self._db)
            self._known_types.add(kind)

    def _head(self, stream: StreamId) -> Head:
        rows = self._fetch("SELECT version, hash, position FROM heads WHERE stream = ?", (stream,))
        return head_of(stream, *rows[0]) if rows else NEW

    def _all_heads(self) -> dict[StreamId, Head]:
        rows = self._fetch("SELECT stream, version, hash, position FROM heads")
        return {StreamId(stream): head_of(stream, *rest) for stream, *rest in rows}

    def _head_at(self, stream: StreamId, version: int, end: Head) -> Head:
        """The head as it was at `version`; `end` itself for later ones."""
        if version <= 0:
            return NEW
        if version >= end.version:
            return end
        rows = self._fetch(
            "SELECT version, hash, position FROM records WHERE stream = ? AND version = ?", (stream, version)
        )
        if not rows:
            raise damaged(stream, version, 0, "it is missing")
        return head_of(stream, *rows[0])

    def _fetch(self, sql: str, arguments: tuple[object, ...] = ()) -> list[tuple]:  # type: ignore[type-arg]
        with explained(self.path):
            try:
                return self._db.execute(sql, arguments).fetchall()
            except sqlite3.OperationalError as trouble:
                if "decode" not in str(trouble):
                    raise
            # a flipped byte made text that is not UTF-8; read it all the same, so that its hash tells which record
            self._db.text_factory = tolerant_text
            try:
                return self._db.execute(sql, arguments).fetchall()
            finally:
                self._db.text_factory = str

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; a writer in another process is waited for."""
        with explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _missing(reached: Head, end: Head) -> str:
    count = end.version - reached.version
    return "1 record is" if count == 1 else f"{count} records are"
