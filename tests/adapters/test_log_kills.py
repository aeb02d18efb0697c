"""SIGKILL at every failpoint of the log and the blobs, and at random inside a busy writer; several writers at once."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.adapters.logs import records_of

from headway.adapters.log_check import check_log
from headway.core.names import StreamId
from headway.wiring import open_state

ROOT = Path(__file__).resolve().parents[2]
WRITE = """
import sys
from pathlib import Path
from headway.core.events_core import PersonDecided
from headway.core.events_tune import GoalPinned
from headway.core.inbox import leave
from headway.core.names import Digest, StreamId
from headway.core.ports.log import Append
from headway.wiring import open_state
root, rounds, name = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with open_state(root) as state:
    for _ in range(rounds):
        if name == "inbox":
            leave(state.log, StreamId("fork/x"), PersonDecided("pick", "s", "me"))
            continue
        heads = state.log.heads()
        at = heads.get(StreamId("fork/x"), 0)
        blob = state.blobs.put(f"content {at}" * 50)
        note = PersonDecided("pick", str(at), "me")
        state.log.append([
            Append(StreamId("fork/x"), at, (GoalPinned(blob, Digest("0")), note)),
            Append(StreamId("change/x"), heads.get(StreamId("change/x"), 0), (note,)),
        ])
        print(at, flush=True)
"""


def write(state: Path, rounds: int, name: str = "loop", **env: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env}
    argv = [sys.executable, "-c", WRITE, str(state), str(rounds), name]
    return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True)


def test_a_kill_at_each_failpoint_leaves_whole_appends_and_whole_blobs(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    undisturbed = write(tmp_path / "undisturbed", 2, HEADWAY_FAILPOINT_LOG=str(trace))
    assert undisturbed.communicate() and undisturbed.returncode == 0
    points = [line.split()[1] for line in trace.read_text().splitlines()]
    assert points == ["blob.rename.before", "blob.rename.after", "append.before", "append.after"] * 2
    for number, name in enumerate(points, start=1):
        state = tmp_path / str(number)
        killed = write(state, 2, HEADWAY_FAILPOINT=str(number))
        killed.communicate()
        assert killed.returncode == -signal.SIGKILL, name
        finished = (number - 1) // 4 + (name == "append.after")
        assert all_or_none(state) == finished, name
        again = write(state, 2 - finished)
        assert again.communicate() and again.returncode == 0
        assert all_or_none(state) == 2
        with open_state(state) as opened:
            assert len(list(opened.blobs.all_ids())) == 2, "the second try found or made the same blobs"


def test_random_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged = 0
    for _ in range(6):
        writer = write(tmp_path, 100_000)
        assert writer.stdout is not None
        acknowledged = int(writer.stdout.readline()) // 2 + 1
        time.sleep(chance.uniform(0.0, 0.15))
        writer.kill()
        rest, _ = writer.communicate()
        whole_lines = [line for line in rest.split("\n")[:-1] if line]
        acknowledged = int(whole_lines[-1]) // 2 + 1 if whole_lines else acknowledged
        assert all_or_none(tmp_path) in (acknowledged, acknowledged + 1)
    assert acknowledged > 6


def test_an_inbox_is_written_while_a_loop_writes_and_by_many(tmp_path: Path) -> None:
    with open_state(tmp_path) as state, state.lock():
        writers = [write(tmp_path, 20), *(write(tmp_path, 20, "inbox") for _ in range(2))]
        assert [(w.communicate(), w.returncode)[1] for w in writers] == [0, 0, 0]
        assert state.log.heads()[StreamId("inbox/fork/x")] == 40
    assert all_or_none(tmp_path) == 20


def all_or_none(state: Path) -> int:
    """How many appends are there, each with all of its records and its blob; nothing is wrong with the log."""
    if not (state / "log.sqlite3").exists():
        return 0
    report = check_log(state)
    assert report.problems == ()
    records = [r for r in records_of(state) if not r.stream.startswith("inbox/")]
    streams = [record.stream for record in records]
    assert streams == ["fork/x", "fork/x", "change/x"] * (len(streams) // 3)
    return len(streams) // 3
