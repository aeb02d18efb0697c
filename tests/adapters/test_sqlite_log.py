"""What only the real log has: a file that others use too, and events of headways to come."""

import sqlite3
import threading
from pathlib import Path

import pytest

from headway.adapters import sqlite_log
from headway.core.errors import HeadwayError
from headway.core.events import UnknownEvent
from headway.core.ports.log import one
from tests.adapters.logs import A, B, fill, note, open_log, records_of, small_log


def test_a_writer_that_never_ends_is_named_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_log, "PATIENCE_SECONDS", 0.2)
    log = open_log(tmp_path)
    other = sqlite3.connect(tmp_path / "log.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(HeadwayError, match=r"Another process keeps the log .*log\.sqlite3 busy\."):
        log.append(one(A, 0, note("x")))
    other.execute("ROLLBACK")
    assert log.append(one(A, 0, note("x")))[0].version == 1
    other.close()
    log.close()


def test_a_short_writer_is_waited_for(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    other = sqlite3.connect(tmp_path / "log.sqlite3", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, other.execute, ["COMMIT"])
    timer.start()
    assert log.append(one(A, 0, note("x")))[0].version == 1
    timer.join()
    other.close()
    log.close()


def test_a_reader_is_not_disturbed_by_a_writer_nor_the_other_way_round(tmp_path: Path) -> None:
    writer = open_log(tmp_path)
    fill(writer, 2)
    reader = open_log(tmp_path, read_only=True)
    records = reader.read(A)
    first = next(records)
    fill(writer, 2)
    assert [first.version, *(record.version for record in records)] == [1, 2, 3, 4]
    assert len(list(reader.read(A))) == 8
    reader.close()
    writer.close()


def test_only_readers_open_a_log_with_events_of_a_newer_headway(tmp_path: Path) -> None:
    before = small_log(tmp_path)
    db = sqlite3.connect(tmp_path / "log.sqlite3")
    db.execute("INSERT INTO types VALUES ('tune.goal.v2', '0.9')")
    db.commit()
    db.close()
    with pytest.raises(UnknownEvent, match=r"'tune\.goal\.v2'.* Read it with headway 0\.9 or newer\."):
        open_log(tmp_path)
    assert records_of(tmp_path) == before


def test_each_type_remembers_which_headway_wrote_it_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_log(tmp_path)
    monkeypatch.setattr(sqlite_log, "__version__", "99.0")
    log = open_log(tmp_path)
    fill(log, 1)
    log.close()
    db = sqlite3.connect(tmp_path / "log.sqlite3")
    ((name, since),) = db.execute("SELECT * FROM types").fetchall()
    db.close()
    assert name == "core.inbox.v1" and since != "99.0"


def test_a_creation_that_was_killed_is_begun_again(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "log.sqlite3")
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    assert (tmp_path / "log.sqlite3").stat().st_size > 0
    with pytest.raises(HeadwayError, match="was never begun"):
        open_log(tmp_path, read_only=True)
    assert len(small_log(tmp_path)) == 12


def test_a_state_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(HeadwayError, match=r"Cannot use .*state: File exists\."):
        open_log(tmp_path / "state")


def test_strange_folder_names_are_just_names(tmp_path: Path) -> None:
    for name in ("a b", "q?mode=memory", "h#ash", "100%", "ü", b"\xff".decode("utf-8", "surrogateescape")):
        assert [record.stream for record in small_log(tmp_path / name, rounds=1)] == [A, A, B, B]
        assert (tmp_path / name / "log.sqlite3").is_file()
