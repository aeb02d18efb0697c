"""The writer lock with real processes: one holder, named; gone when it is killed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.adapters.locks import LockHeld, WriterLock
from tests.adapters.logs import hand_clock

HOLD = """
import sys, time
from pathlib import Path
from headway.adapters.clocks import SystemClock
from headway.adapters.locks import WriterLock
with WriterLock(Path(sys.argv[1]), SystemClock()).held():
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(path: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def lock(path: Path) -> WriterLock:
    return WriterLock(path, hand_clock())


def test_two_writers_at_once_the_second_is_told_who_the_first_is(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lock"
    with holder(path) as process:
        with pytest.raises(LockHeld) as refusal, lock(path).held():
            pass
        since = json.loads(path.read_text())["since"]
        assert str(refusal.value) == (
            f"Another headway (pid {process.pid} on {os.uname().nodename}) is writing this log since {since}."
            " Wait for it or stop it."
        )
        assert refusal.value.exit_code == 1


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        process.kill()
        process.wait()
        with lock(path).held():
            assert json.loads(path.read_text())["pid"] == os.getpid()


def test_a_child_that_was_started_under_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock(path).held():
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with lock(path).held():
            pass
    finally:
        child.kill()
        child.wait()


def test_within_one_process_too_there_is_one_holder(tmp_path: Path) -> None:
    with lock(tmp_path / "lock").held():
        with pytest.raises(LockHeld, match=f"pid {os.getpid()} on"), lock(tmp_path / "lock").held():
            pass
    with lock(tmp_path / "lock").held():
        pass


def test_a_holder_that_has_not_yet_written_its_name_is_still_a_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock(path).held():
        path.write_text("")
        with pytest.raises(LockHeld, match="Another headway is writing this log"), lock(path).held():
            pass
