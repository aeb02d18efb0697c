"""A log that is damaged, cut or newer: every verb that needs it says so in one sentence, and nothing changes."""

import hashlib
import re
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


def test_a_log_that_is_gone_is_missed_by_every_verb_and_can_be_begun_anew(headway: Headway) -> None:
    (state_of(headway) / "log.sqlite3").rename(state_of(headway) / "kept")
    upstream = ("init", "--upstream", str(headway.pair.upstream.path))
    all_refuse(headway, (*READS, *WRITES, upstream, ("log", "verify")), "is gone, though", "move log.tail away")
    (state_of(headway) / "log.tail").unlink()
    headway.ok(*upstream)
    assert headway.status()["closed"]


def test_a_history_that_was_cut_is_told_where_figures_are_read(headway: Headway) -> None:
    log = state_of(headway) / "log.sqlite3"
    sql(headway, "UPDATE records SET payload = '{}' WHERE position = (SELECT max(position) FROM records)")
    assert log.exists() and headway("log", "verify", "--set-aside").code == 0
    assert "damaged records were set aside" in headway("sync", "status").out


def test_what_an_id_in_the_evidence_stands_for_is_one_command_away(headway: Headway) -> None:
    shown = headway.ok("sync", "show", headway.pair.upstream.made["one"]).out
    assert re.search(r"sha256:[0-9a-f]{64}", shown) and "headway log blob" in shown
    refused(headway("log", "blob", "sha256:12"), 1, "is not a blob id")
    refused(headway("log", "blob", "sha256:" + "0" * 64), 1, "There is no blob")
