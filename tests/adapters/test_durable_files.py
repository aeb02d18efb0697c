"""The order that makes a file survive a power cut: content, then name, then folder, and only then the event."""

import hashlib
import os
from pathlib import Path

import pytest

from headway.adapters.file_blobs import FileBlobs
from headway.adapters.sqlite_log import SqliteLog
from headway.core.names import BlobId
from headway.core.ports.log import one
from tests.adapters.logs import A, hand_clock, note


class Recorder:
    """Notes fsyncs and renames, by the name of the file in the folder under test."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[str] = []
        self._root = root
        real_fsync, real_replace = os.fsync, Path.replace

        def fsync(handle: int) -> None:
            real_fsync(handle)
            self.steps.append(f"fsync {self._name(Path(f'/proc/self/fd/{handle}').readlink())}")

        def replace(path: Path, target: Path) -> Path:
            self.steps.append(f"rename {self._name(path)} to {self._name(target)}")
            return real_replace(path, target)

        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(Path, "replace", replace)

    def _name(self, path: Path) -> str:
        name = str(path.relative_to(self._root)) if path != self._root else "."
        return "temporary" if name.startswith("tmp/") else name


def test_a_blob_is_durable_before_its_name_is_and_its_name_before_put_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = FileBlobs(tmp_path)
    first = blobs.path_of(blobs.put("first"))
    recorder = Recorder(tmp_path, monkeypatch)
    again = next(text for text in map(str, range(99)) if blob_folder(blobs, text) == first.parent)
    blob = blobs.path_of(blobs.put(again))
    name = str(blob.relative_to(tmp_path))
    assert recorder.steps == ["fsync temporary", f"rename temporary to {name}", f"fsync {first.parent.name}"]


def test_a_new_folder_is_durable_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path, monkeypatch)
    FileBlobs(tmp_path).put("first")
    assert recorder.steps[:2] == ["fsync .", "fsync ."], "the names of tmp/ and of the blob's folder"


def test_a_blob_found_there_may_have_been_left_by_a_process_that_was_killed_before_the_last_fsync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FileBlobs(tmp_path).path_of(FileBlobs(tmp_path).put("first"))
    recorder = Recorder(tmp_path, monkeypatch)
    blobs = FileBlobs(tmp_path)
    blobs.put("first")
    blobs.put("first")
    assert recorder.steps == [f"fsync {path.parent.name}"], "once a process is enough"


def test_the_log_asks_sqlite_for_one_fsync_of_the_write_ahead_log_per_append(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "log.sqlite3", hand_clock())
    log.append(one(A, 0, note("x")))
    assert log._db.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"
    assert log._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    log.close()


def blob_folder(blobs: FileBlobs, text: str) -> Path:
    return blobs.path_of(BlobId(f"sha256:{hashlib.sha256(text.encode()).hexdigest()}")).parent
