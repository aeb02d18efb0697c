"""Whatever happens to the log's files, it is named with its place, repaired on request, and never passed over."""

import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.adapters.log_check import check_log
from headway.adapters.log_repair import set_aside
from headway.core.errors import HeadwayError
from headway.core.events import decode
from headway.core.events_core import TailSetAside
from headway.core.ports.log import LogDamaged, Record
from headway.core.upkeep import UPKEEP
from tests.adapters.logs import A, B, fill, hand_clock, killed_log, open_log, records_of, small_log

# small_log: positions 1 2 = a#1 a#2, 3 4 = b#1 b#2, 5 6 = a#3 a#4, 7 8 = b#3 b#4, 9 10 = a#5 a#6, 11 12 = b#5 b#6


def sql(*statements: str) -> Callable[[Path], None]:
    def damage(state: Path) -> None:
        db = sqlite3.connect(state / "log.sqlite3")
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()

    return damage


def flip_payload_of(position: int, bit: int) -> Callable[[Path], None]:
    """Flip one bit in the file itself, in the middle of a record's payload."""

    def damage(state: Path) -> None:
        subject = re.search(r'"subject":"(\w+)"', records_of(state)[position - 1].payload)
        assert subject is not None
        raw = bytearray((state / "log.sqlite3").read_bytes())
        raw[raw.index(subject[1].encode()) + 7] ^= bit
        (state / "log.sqlite3").write_bytes(raw)

    return damage


SWAP_PAYLOADS = sql(
    "UPDATE records SET payload = (SELECT payload FROM records AS other WHERE other.position = 15 - records.position)"
    " WHERE position IN (7, 8)"
)
SWAP_VERSIONS = sql(
    "UPDATE records SET version = 99 WHERE position = 7",
    "UPDATE records SET version = 3 WHERE position = 8",
    "UPDATE records SET version = 4 WHERE position = 7",
)
SWAP_POSITIONS = sql(
    "UPDATE records SET position = 99 WHERE position = 6",
    "UPDATE records SET position = 6 WHERE position = 7",
    "UPDATE records SET position = 7 WHERE position = 99",
)
CASES = {
    "a flipped bit in a payload": (flip_payload_of(7, 1), r"fork/b version 3 \(position 7\): its content", 4),
    "a flipped bit that is no UTF-8": (flip_payload_of(7, 0x80), r"fork/b version 3 \(position 7\): its content", 4),
    "the last row deleted": (sql("DELETE FROM records WHERE position = 12"), r"fork/b version 6.*: .*missing", 1),
    "a row deleted": (sql("DELETE FROM records WHERE position = 7"), r"fork/b version (3|4).*version 3 is missing", 4),
    "a stream's rows deleted": (sql("DELETE FROM records WHERE stream = 'fork/b'"), r"fork/b version (1|6)", 6),
    "two payloads swapped": (SWAP_PAYLOADS, r"fork/b version 3 \(position 7\): its content", 4),
    "two versions swapped": (SWAP_VERSIONS, r"fork/b version (3|4) \(position (7|8)\)", 4),
    "two positions swapped": (SWAP_POSITIONS, r"fork/(a version 4|b version 3) \(position (6|7)\): its content", 7),
    "a time changed": (
        sql("UPDATE records SET ts = '2020' WHERE position = 12"),
        r"fork/b version 6 \(position 12\)",
        1,
    ),
    "a hash recomputed": (sql("UPDATE records SET hash = prev_hash WHERE position = 12"), r"fork/b version 6", 1),
    "the last position lost": (sql("DELETE FROM meta WHERE key = 'last_position'"), r"lost its last position", 0),
    "a head changed": (sql("UPDATE heads SET hash = 'x' WHERE stream = 'fork/b'"), r"fork/b.* version 6|head of", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_damaged_record_is_named_with_its_place(name: str, tmp_path: Path) -> None:
    damage, place, _ = CASES[name]
    small_log(tmp_path)
    damage(tmp_path)
    with pytest.raises(LogDamaged, match=place):
        log = open_log(tmp_path)
        try:
            list(log.read(A))
            list(log.read(B))
        finally:
            log.close()
    messages = [problem.message for problem in check_log(tmp_path).problems]
    assert any(re.search(place, message) for message in messages) or name == "a head changed", messages
    assert messages


@pytest.mark.parametrize("name", CASES)
def test_a_repair_keeps_the_good_beginning_and_sets_the_rest_aside(name: str, tmp_path: Path) -> None:
    damage, _, lost = CASES[name]
    before = small_log(tmp_path)
    damage(tmp_path)
    damaged = (tmp_path / "log.sqlite3").read_bytes()
    events = set_aside(tmp_path, hand_clock())
    assert sum(event.count for event in events) == lost
    report = check_log(tmp_path)
    assert report.problems == () and report.set_aside == lost
    kept = [record for record in records_of(tmp_path) if record.stream != UPKEEP]
    assert kept == [record for record in before if record in kept] and len(kept) == len(before) - lost
    (folder,) = (tmp_path / "set-aside").iterdir()
    assert (folder / "log.sqlite3").read_bytes() == damaged, "the damaged file is kept byte for byte"
    assert set_aside(tmp_path, hand_clock()) == (), "a second repair has nothing to do"
    log = open_log(tmp_path)
    fill(log, 1)
    log.close()
    after = records_of(tmp_path)
    assert after[-1].position == len(before) + len(events) + 4, "no position is given out twice"
    told = [e for r in after if isinstance(e := decode(r.type, r.payload), TailSetAside)]
    assert tuple(told) == events


def test_a_removed_stream_leaves_a_gap_that_is_noticed(tmp_path: Path) -> None:
    small_log(tmp_path)
    sql("DELETE FROM records WHERE stream = 'fork/b'", "DELETE FROM heads WHERE stream = 'fork/b'")(tmp_path)
    assert [p.message for p in check_log(tmp_path).problems] == [
        "6 of 12 positions hold no record and no repair took them out."
    ]


@pytest.mark.parametrize("keep", [0, 10, 100, 4096, 6000])
def test_a_cut_off_file_says_at_which_byte(keep: int, tmp_path: Path) -> None:
    small_log(tmp_path, rounds=30)
    path = tmp_path / "log.sqlite3"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:keep])
    place = rf"cut off at byte {keep} of {size}" if keep >= 100 else r"\(file position 0\)|byte 0 of 10"
    with pytest.raises(LogDamaged, match=place):
        open_log(tmp_path)
    problems = check_log(tmp_path).problems
    assert problems and re.search(place, problems[0].message)
    set_aside(tmp_path, hand_clock())
    assert check_log(tmp_path).problems == () and check_log(tmp_path).set_aside >= 1


def test_a_log_copied_without_its_write_ahead_log_is_noticed(tmp_path: Path) -> None:
    killed_log(tmp_path / "state", tmp_path / "scratch")
    saved = (tmp_path / "state" / "log.sqlite3-wal").read_bytes()
    (tmp_path / "state" / "log.sqlite3-wal").unlink()
    with pytest.raises(LogDamaged, match=r"Put back log\.sqlite3-wal"):
        open_log(tmp_path / "state")
    (tmp_path / "state" / "log.sqlite3-wal").write_bytes(saved)
    assert records_of(tmp_path / "state") == records_of(tmp_path / "scratch"), "and nothing was made worse by looking"


def test_a_torn_write_ahead_log_keeps_every_byte_until_somebody_decides(tmp_path: Path) -> None:
    before = killed_log(tmp_path / "state", tmp_path / "scratch")
    wal = tmp_path / "state" / "log.sqlite3-wal"
    raw = bytearray(wal.read_bytes())
    raw[len(raw) // 2] ^= 1
    wal.write_bytes(raw)
    with pytest.raises(LogDamaged, match=r"ends at position \d+, but position 12 was written"):
        open_log(tmp_path / "state")
    assert wal.read_bytes() == raw
    events = set_aside(tmp_path / "state", hand_clock())
    assert [(e.stream, e.first_version) for e in events] == [("?", 0)]
    kept = records_of(tmp_path / "state")[: -len(events)]
    assert kept == before[: len(kept)] and len(kept) + events[0].count == len(before)


def test_a_log_whose_file_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    small_log(tmp_path)
    (tmp_path / "log.sqlite3").unlink()
    with pytest.raises(HeadwayError, match="is gone, though 12 records were written to it"):
        open_log(tmp_path)
    assert not (tmp_path / "log.sqlite3").exists()


@pytest.mark.parametrize("where", ["file", "write-ahead log"])
@pytest.mark.parametrize(("seed", "times"), [(20261130, 40), pytest.param(1, 1_000, marks=pytest.mark.soak)])
def test_random_damage_is_found_or_harmless_and_can_be_repaired(
    where: str, seed: int, times: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    good = tmp_path / "good"
    before = small_log(good, rounds=8) if where == "file" else killed_log(good, tmp_path / "scratch", rounds=8)
    name = "log.sqlite3" if where == "file" else "log.sqlite3-wal"
    found = 0
    for _ in range(times):
        state = tmp_path / "state"
        shutil.rmtree(state, ignore_errors=True)
        shutil.copytree(good, state)
        (state / name).write_bytes(damaged(chance, (state / name).read_bytes()))
        read = read_or_refuse(state)
        report = check_log(state)
        assert read is None or read == before, "a reader must never get something else than was written"
        assert read is not None or report.problems, "what cannot be read must be named"
        if report.problems:
            found += 1
            set_aside(state, hand_clock())
            assert check_log(state).problems == ()
            kept = [record for record in records_of(state) if record.stream != UPKEEP]
            assert kept == [record for record in before if record in kept]
    assert found > times // 3, "the damage must not all have fallen on unused bytes"


def damaged(chance: random.Random, raw: bytes) -> bytes:
    at = chance.randrange(len(raw))
    match chance.choice(["flip", "flip", "cut", "zero"]):
        case "flip":
            return raw[:at] + bytes([raw[at] ^ 1 << chance.randrange(8)]) + raw[at + 1 :]
        case "cut":
            return raw[:at]
        case _:
            return raw[:at] + bytes(len(raw[at : at + 512])) + raw[at + 512 :]


def read_or_refuse(state: Path) -> list[Record] | None:
    """All records, each read both ways; None if the log refuses. Anything but a HeadwayError fails the test."""
    try:
        log = open_log(state, read_only=True)
    except HeadwayError:
        return None
    try:
        everything = list(log.read_all())
        assert sorted([*log.read(A), *log.read(B)], key=lambda record: record.position) == everything
        return everything
    except HeadwayError:
        return None
    finally:
        log.close()
