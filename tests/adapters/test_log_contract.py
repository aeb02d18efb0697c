"""The contract of the event log, held by the real one and its fake alike."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.adapters.clocks import HandClock
from headway.adapters.masking import Masker
from headway.adapters.memory_log import MemoryLog
from headway.adapters.sqlite_log import SqliteLog
from headway.core.events import decode
from headway.core.events_core import IntentNamed, PersonDecided
from headway.core.names import EffectKey, StreamId
from headway.core.ports.log import GENESIS, Append, EventLog, StaleWrite, decoded, one

FORK, CHANGE = StreamId("fork/f"), StreamId("change/f/abc")
SECRET = 'correct "horse" battery'


@pytest.fixture(params=["sqlite", "memory"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    clock, masker = HandClock(datetime(2026, 1, 1, tzinfo=UTC)), Masker([SECRET])
    if request.param == "memory":
        yield MemoryLog(clock, masker=masker)
        return
    real = SqliteLog(tmp_path / "state" / "log.sqlite3", clock, masker=masker)
    yield real
    real.close()


def note(subject: str) -> PersonDecided:
    return PersonDecided("pick", subject, "test")


def subjects(log: EventLog, stream: StreamId, after: int = 0) -> list[str]:
    return [event.subject for event in decoded(log.read(stream, after)) if isinstance(event, PersonDecided)]


def test_what_was_appended_is_read_back_in_order(log: EventLog) -> None:
    log.append(one(FORK, 0, note("a"), note("b")))
    log.append(one(CHANGE, 0, note("c")))
    log.append(one(FORK, 2, note("d")))
    assert subjects(log, FORK) == ["a", "b", "d"]
    assert subjects(log, FORK, after=2) == ["d"]
    assert subjects(log, FORK, after=3) == subjects(log, FORK, after=99) == []
    assert subjects(log, StreamId("fork/none")) == []
    assert [(r.position, r.stream, r.version) for r in log.read_all()] == [
        (1, FORK, 1),
        (2, FORK, 2),
        (3, CHANGE, 1),
        (4, FORK, 3),
    ]
    assert [r.position for r in log.read_all(after=2)] == [3, 4]
    assert list(log.read_all(after=99)) == []


def test_append_returns_the_records_that_reading_gives(log: EventLog) -> None:
    added = log.append([Append(FORK, 0, (note("a"),)), Append(CHANGE, 0, (note("b"), note("c")))])
    assert list(added) == list(log.read_all())
    assert {record.ts for record in added} == {"2026-01-01T00:00:00.000000Z"}


def test_each_stream_is_a_hash_chain_of_its_own(log: EventLog) -> None:
    log.append([Append(FORK, 0, (note("a"), note("b"))), Append(CHANGE, 0, (note("c"),))])
    first, second = log.read(FORK)
    (other,) = log.read(CHANGE)
    assert first.prev_hash == other.prev_hash == GENESIS and second.prev_hash == first.hash
    assert all(record.hash == record.computed_hash() for record in (first, second, other))
    assert len({first.hash, second.hash, other.hash}) == 3


def test_a_stale_write_names_where_the_stream_stands_and_writes_nothing(log: EventLog) -> None:
    log.append(one(FORK, 0, note("a")))
    with pytest.raises(StaleWrite, match=re.escape("Stream fork/f stands at 1, not at 0.")):
        log.append([Append(CHANGE, 0, (note("b"),)), Append(FORK, 0, (note("c"),))])
    assert [r.stream for r in log.read_all()] == [FORK] and log.heads() == {FORK: 1}
    with pytest.raises(StaleWrite, match="stands at 1, not at 2"):
        log.append(one(FORK, 2, note("d")))


def test_an_append_without_events_only_checks_where_the_stream_stands(log: EventLog) -> None:
    assert log.append([]) == ()
    assert log.append([Append(CHANGE, 0, ()), Append(FORK, 0, (note("a"),))])[0].stream == FORK
    assert log.heads() == {FORK: 1}
    with pytest.raises(StaleWrite):
        log.append([Append(FORK, 0, ()), Append(CHANGE, 0, (note("b"),))])


def test_heads_are_chosen_by_prefix(log: EventLog) -> None:
    log.append([Append(FORK, 0, (note("a"),)), Append(CHANGE, 0, (note("b"), note("c")))])
    assert log.heads() == {FORK: 1, CHANGE: 2}
    assert log.heads("change/") == log.heads(CHANGE) == {CHANGE: 2}
    assert log.heads("nothing") == {}


def test_a_reader_sees_the_log_as_it_was_when_it_began(log: EventLog) -> None:
    log.append(one(FORK, 0, note("a"), note("b")))
    seen = []
    for version, record in enumerate(log.read(FORK), start=2):
        seen.append(record.version)
        log.append(one(FORK, version, note("more")))
    assert seen == [1, 2] and log.heads() == {FORK: 4}


def test_secrets_are_masked_before_they_are_hashed(log: EventLog) -> None:
    args = {"url": "https://me:pw@host/x", SECRET: "key"}
    (record,) = log.append(one(FORK, 0, IntentNamed(f"say {SECRET}", EffectKey("k"), args)))
    assert "horse" not in record.payload and "me:pw" not in record.payload
    event = decode(record.type, record.payload)
    assert event == IntentNamed("say [masked]", EffectKey("k"), {"url": "https://[masked]@host/x", "[masked]": "key"})
    assert record.hash == record.computed_hash()


def test_a_path_that_is_not_utf8_is_spelled_out_and_not_lost(log: EventLog) -> None:
    log.append(one(FORK, 0, note(b"src/\xff.c".decode("utf-8", "surrogateescape") + " ü 中")))
    assert subjects(log, FORK) == ["src/\\udcff.c ü 中"]
