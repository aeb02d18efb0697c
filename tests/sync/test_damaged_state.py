"""A log that is damaged, cut or newer: every verb that needs it says so in one sentence, and nothing changes."""

import hashlib
import sqlite3
from pathlib import Path

import pytest

from tests.sync.driver import Headway, new_fork
from tests.sync.test_bad_input import refused

READS = (("sync", "status"), ("sync", "plan", "--no-fetch"), ("sync", "show", "CHANGE"))
WRITES = (
    ("sync", "run"),
    ("sync", "adopt"),
    ("sync", "decide", "CHANGE", "wont_port", "--reason", "no"),
)


@pytest.fixture
def headway(tmp_path: Path) -> Headway:
    """A fork with one landed change, one that waits (CHANGE) and one that was never seen."""
    made = new_fork(tmp_path)
    made.pair.upstream.commit("one", {"one.txt": "1\n"})
    made.pair.upstream.commit("two", {"two.txt": "2\n"})
    made.begin()
    made.ok("sync", "run", "--limit", "1")
    made.pair.upstream.commit("three", {"three.txt": "3\n"})
    return made


def state_of(headway: Headway) -> Path:
    return headway.pair.fork.path / ".git" / "headway"


def sql(headway: Headway, *statements: str) -> None:
    db = sqlite3.connect(state_of(headway) / "log.sqlite3")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def everything(headway: Headway) -> tuple[object, ...]:
    """Refs, objects, work tree, and each file of the state with its content, but SQLite's scratch files and the lock,
    which names its last holder."""
    fork = headway.pair.fork
    files = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(state_of(headway).rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal", "lock"))
    }
    return fork.refs(), fork.objects(), fork.git("status", "--porcelain"), files


def all_refuse(headway: Headway, verbs: tuple[tuple[str, ...], ...], *words: str) -> None:
    change = headway.pair.upstream.made["two"]
    before = everything(headway)
    for verb in verbs:
        refused(headway(*(change if word == "CHANGE" else word for word in verb)), 1, *words)
        assert everything(headway) == before, verb


DAMAGE = {
    "a changed record": ("UPDATE records SET payload = replace(payload, 'main', 'nain') WHERE position = 2",),
    "a missing record": ("DELETE FROM records WHERE position = 3",),
    "a removed end": ("DELETE FROM records WHERE position = (SELECT max(position) FROM records)",),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_record_stops_every_verb(headway: Headway, name: str) -> None:
    sql(headway, *DAMAGE[name])
    all_refuse(headway, READS + WRITES, "The log is damaged at stream fork/fork version", "headway log verify")


def test_damage_in_a_stream_that_the_verb_does_not_need_stops_it_too(headway: Headway) -> None:
    one = headway.pair.upstream.made["one"]
    sql(headway, f"UPDATE records SET payload = payload || ' ' WHERE stream LIKE '%{one}' AND version = 2")
    all_refuse(headway, READS + WRITES, f"The log is damaged at stream change/fork/{one} version 2")


def test_a_log_of_a_newer_headway_is_read_as_far_as_it_is_known_and_never_written(headway: Headway) -> None:
    sql(headway, "INSERT INTO types VALUES ('sync.seen.v7', '9.1.0')")
    all_refuse(headway, WRITES, "an event of type 'sync.seen.v7'", "Read it with headway 9.1.0 or newer.")
    sql(headway, "UPDATE meta SET value = '99' WHERE key = 'format'")
    all_refuse(headway, READS + WRITES, "has format 99; this headway", "newer")
