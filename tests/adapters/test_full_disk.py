"""A disk that fills up, for real: a tmpfs of 400 KiB. Nothing is half written, and the sentence names the path."""

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.adapters.clocks import HandClock
from headway.adapters.durable_files import DiskFull
from headway.adapters.file_blobs import FileBlobs
from headway.adapters.locks import WriterLock
from headway.adapters.log_check import check_log
from headway.cli.main import exit_code_of
from headway.core.names import StreamId
from headway.core.ports.log import one
from headway.demo.repositories import build_pair
from headway.wiring import open_state
from tests.adapters.logs import fill, note, open_log, records_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FULL = StreamId("fork/full")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a tmpfs is not allowed here (not root)")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_an_append_to_a_full_disk_writes_nothing_and_says_so(small_disk: Path) -> None:
    log = open_log(small_disk)
    fill(log, 2)
    appended = 0
    with pytest.raises(DiskFull) as refusal:
        while appended < 1_000:
            log.append(one(FULL, appended, note("x" * 5_000)))
            appended += 1
    assert str(refusal.value) == (
        f"The disk that holds {small_disk / 'log.sqlite3'} is full: nothing was written."
        " Make room there (or use --state) and try again."
    )
    assert refusal.value.exit_code == 4
    assert log.heads()[FULL] == appended, "the log goes on being readable"
    log.close()
    records = records_of(small_disk)
    assert [r.version for r in records if r.stream == FULL] == list(range(1, appended + 1))
    assert check_log(small_disk).problems == ()


def test_room_made_is_room_used(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    log = open_log(small_disk)
    fill(log, 1)
    fill_up(ballast)
    with pytest.raises(DiskFull):
        for version in range(100):
            log.append(one(FULL, version, note("x" * 5_000)))
    stands_at = log.heads().get(FULL, 0)
    ballast.unlink()
    log.append(one(FULL, stands_at, note("x" * 5_000)))
    log.close()
    assert check_log(small_disk).problems == ()


def test_a_blob_on_a_full_disk_leaves_no_half_file(small_disk: Path) -> None:
    blobs = FileBlobs(small_disk / "blobs")
    kept = blobs.put(b"kept")
    with pytest.raises(DiskFull, match="is full: nothing was written"):
        blobs.put(os.urandom(1 << 20))
    assert list(blobs.all_ids()) == [kept] and list((small_disk / "blobs" / "tmp").iterdir()) == []


def test_a_state_that_cannot_even_be_begun_is_a_sentence_too(small_disk: Path) -> None:
    fill_up(small_disk / "ballast")
    with pytest.raises(DiskFull, match="is full"), open_state(small_disk / "state") as state:
        state.log.append(one(FULL, 0, note("x")))


def test_a_fork_is_left_as_it_was_when_its_state_has_no_room(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fork = build_pair(tmp_path / "pair").fork

    def everything() -> list[bytes]:
        commands = (["for-each-ref"], ["status", "--porcelain", "--ignored"], ["config", "--list"])
        return [subprocess.run(["git", *c], cwd=fork, capture_output=True, check=True).stdout for c in commands]

    before = everything()
    fill_up(small_disk / "ballast")
    state = small_disk / "state"
    asked = ["--upstream", str(tmp_path / "pair" / "upstream"), "--fork", str(fork), "--state", str(state)]
    assert exit_code_of(["init", *asked]) == 4
    assert f"The disk that holds {state}" in capsys.readouterr().err
    assert everything() == before


def test_an_export_to_a_full_disk_leaves_no_half_file(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = open_log(tmp_path / "state")
    fill(log, 90)
    log.close()
    out = small_disk / "export.jsonl"
    assert exit_code_of(["log", "export", "--state", str(tmp_path / "state"), "--output", str(out)]) == 4
    assert f"The disk that holds {out} is full" in capsys.readouterr().err
    assert list(small_disk.iterdir()) == []


def fill_up(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return


def test_a_lock_on_a_full_disk_is_a_sentence_too(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(b"x" * 1_000_000)
    with pytest.raises(DiskFull), WriterLock(small_disk / "lock", HandClock(NOW)).held():
        pass
