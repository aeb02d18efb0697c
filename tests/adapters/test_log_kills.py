"""SIGKILL at every failpoint of the log and the blobs, and at random inside a busy writer; several writers at once."""

import multiprocessing
import random
import signal
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from headway.adapters.log_check import check_log
from headway.core.events_core import PersonDecided
from headway.core.events_tune import GoalPinned
from headway.core.inbox import leave
from headway.core.names import Digest, StreamId
from headway.core.ports.log import Append
from headway.wiring import open_state
from tests.adapters.logs import records_of

FORKING = multiprocessing.get_context("fork")  # a new interpreter for each of some thirty writers would take minutes
FORK, CHANGE = StreamId("fork/x"), StreamId("change/x")


def write(state: Path, rounds: int, env: dict[str, str], acknowledge: Connection) -> None:
    with open_state(state, env=env) as opened:
        for _ in range(rounds):
            heads = opened.log.heads()
            at = heads.get(FORK, 0)
            blob = opened.blobs.put(f"content {at}" * 50)
            note = PersonDecided("pick", str(at), "me")
            both = (
                Append(FORK, at, (GoalPinned(blob, Digest("0")), note)),
                Append(CHANGE, heads.get(CHANGE, 0), (note,)),
            )
            opened.log.append(both)
            acknowledge.send(at // 2 + 1)


def decide(state: Path, rounds: int, env: dict[str, str], acknowledge: Connection) -> None:
    with open_state(state, env=env) as opened:
        for _ in range(rounds):
            acknowledge.send(leave(opened.log, FORK, PersonDecided("pick", "s", "me")))


def start(task, state: Path, rounds: int, **env: str) -> tuple[BaseProcess, Connection]:
    ours, theirs = FORKING.Pipe(duplex=False)
    process = FORKING.Process(target=task, args=(state, rounds, env, theirs))
    process.start()
    theirs.close()
    return process, ours


def finished(task, state: Path, rounds: int, **env: str) -> int:
    """The exit code; negative for a signal."""
    process, _ = start(task, state, rounds, **env)
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def test_a_kill_at_each_failpoint_leaves_whole_appends_and_whole_blobs(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    assert finished(write, tmp_path / "undisturbed", 2, HEADWAY_FAILPOINT_LOG=str(trace)) == 0
    points = [line.split()[1] for line in trace.read_text().splitlines()]
    assert points == ["blob.rename.before", "blob.rename.after", "append.before", "append.after"] * 2
    for number, name in enumerate(points, start=1):
        state = tmp_path / str(number)
        assert finished(write, state, 2, HEADWAY_FAILPOINT=str(number)) == -signal.SIGKILL, name
        done = (number - 1) // 4 + (name == "append.after")
        assert all_or_none(state) == done, name
        assert finished(write, state, 2 - done) == 0
        assert all_or_none(state) == 2
        with open_state(state) as opened:
            assert len(list(opened.blobs.all_ids())) == 2, "the second try found or made the same blobs"


def test_random_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged = 0
    for _ in range(8):
        process, pipe = start(write, tmp_path, 100_000)
        acknowledged = pipe.recv()
        time.sleep(chance.uniform(0.0, 0.15))
        process.kill()
        process.join()
        while pipe.poll():
            try:
                acknowledged = pipe.recv()
            except EOFError:
                break
        assert all_or_none(tmp_path) in (acknowledged, acknowledged + 1)
    assert acknowledged > 8


def test_an_inbox_is_written_while_a_loop_writes_and_by_many(tmp_path: Path) -> None:
    with open_state(tmp_path) as state, state.lock():
        writers = [start(write, tmp_path, 20), start(decide, tmp_path, 20), start(decide, tmp_path, 20)]
        for process, _ in writers:
            process.join()
            assert process.exitcode == 0
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
