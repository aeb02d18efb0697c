"""The spool under fire: killed workers, torn results, two workers, other hosts with other clocks, deadlines."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headway.adapters.local_worker import PROGRAM
from headway.adapters.spool_worker import SpoolWorker, opened
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.ports.worker import WorkerJob
from headway.worker.main import _take as taken_together
from headway.worker.spool import Spool
from tests.worker.tiny_task import BASELINE, tiny_task

SLOW = """
import numpy as np

def entry(x):
    for _ in range(60):
        np.sort(np.arange(100000)[::-1])
    return x * 2 + 1
"""


def start(spool: Path, *more: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), "--spool", str(spool), *more], stderr=subprocess.PIPE, start_new_session=True
    )


def ended(process: "subprocess.Popen[bytes]", seconds: float = 60) -> str:
    _, words = process.communicate(timeout=seconds)
    return words.decode()


def wait_for(what: object, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return tiny_task(tmp_path / "tiny")


def job(task: Path, key: str, source: str = BASELINE) -> WorkerJob:
    return WorkerJob(key, task, source, "full", seed=1, pairs=2, seconds=60)


def test_a_worker_drains_and_ends_and_each_job_has_one_result(spool: Path, task: Path) -> None:
    mine = SpoolWorker(spool)
    for key in ("a", "b.1.screen.1"):
        mine.submit(job(task, key))
        mine.submit(job(task, key))
    assert ended(start(spool)).count("measured") == 2
    for key in ("a", "b.1.screen.1"):
        first = mine.collect(key, 0)
        assert first is not None and first.outcome == "measured"
        assert mine.collect(key, 0) == first
    assert not list((spool / "claims").iterdir())
    mine.submit(job(task, "a"))
    assert ended(start(spool)).count("measured") == 0, "a job with a result is no job"


def test_a_job_whose_worker_was_killed_is_done_by_the_next(spool: Path, task: Path) -> None:
    mine = SpoolWorker(spool)
    mine.submit(job(task, "long", SLOW))
    first = start(spool)
    wait_for(lambda: (spool / "claims" / "long.1").exists())
    time.sleep(0.3)
    children = children_of(first.pid)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert "measured" in ended(start(spool))
    assert mine.collect("long", 0) is not None


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_two_workers_share_a_spool_without_doing_a_job_twice(spool: Path, task: Path) -> None:
    mine = SpoolWorker(spool)
    for number in range(6):
        mine.submit(job(task, f"job-{number}"))
    two = [start(spool), start(spool)]
    done = [ended(one).count("measured") for one in two]
    assert sum(done) == 6
    assert all(mine.collect(f"job-{number}", 0) is not None for number in range(6))


def test_a_torn_result_is_set_aside_and_done_again_and_an_edited_one_not_believed(spool: Path, task: Path) -> None:
    mine = SpoolWorker(spool)
    mine.submit(job(task, "torn"))
    ended(start(spool))
    path = spool / "results" / "torn.json"
    whole = path.read_bytes()
    edited = json.loads(whole)
    edited["result"]["samples"][0]["candidate"] = [1e-9, 1e-9]
    assert opened(json.dumps(edited).encode(), "torn") is None
    path.write_bytes(whole[:-40])
    assert mine.collect("torn", 0) is None
    assert "measured" in ended(start(spool))
    assert mine.collect("torn", 0) is not None
    assert len(list((spool / "results").glob("torn.torn-*"))) == 1


def test_an_owner_on_another_host_is_judged_by_its_beat_not_by_its_clock(spool: Path, task: Path) -> None:
    SpoolWorker(spool).submit(job(task, "far"))
    claim = spool / "claims" / "far.1"
    owner = {"worker": "w", "pid": 1, "start": "1", "boot": "another-host", "beat": 7}
    claim.write_text(json.dumps(owner))
    year = 365 * 86400
    for shift in (-year, year):  # a clock far off, either way, must not matter
        os.utime(claim, (time.time() + shift, time.time() + shift))
        assert "measured" not in ended(start(spool))
    assert claim.exists()


def test_at_its_deadline_a_worker_gives_the_job_back_whole(spool: Path, task: Path) -> None:
    mine = SpoolWorker(spool)
    mine.submit(job(task, "quick"))
    mine.submit(job(task, "slow", SLOW))
    said = ended(start(spool, "--deadline", "3"))
    assert "given back" in said
    assert mine.collect("slow", 0) is None
    assert not list((spool / "claims").iterdir())
    assert (spool / "jobs" / "slow").exists()


def test_a_job_that_takes_every_worker_down_is_answered(spool: Path, task: Path) -> None:
    mine = SpoolWorker(spool)
    mine.submit(job(task, "deadly"))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (spool / "claims" / "deadly.3").write_text(
        json.dumps({"worker": "w", "pid": 999999, "start": "1", "boot": boot, "beat": 0})
    )
    ended(start(spool))
    result = mine.collect("deadly", 0)
    assert result is not None and result.outcome == "could_not_run"
    assert result.refusal is not None and "3 workers ended" in result.refusal.message


def test_a_malformed_job_is_answered_and_the_next_one_done(spool: Path, task: Path) -> None:
    mine = SpoolWorker(spool)
    mine.submit(job(task, "broken"))
    (spool / "jobs" / "broken" / "job.json").write_text("{")
    mine.submit(job(task, "fine"))
    ended(start(spool))
    broken, fine = mine.collect("broken", 0), mine.collect("fine", 0)
    assert broken is not None and broken.outcome == "could_not_run"
    assert fine is not None and fine.outcome == "measured"


def test_a_vacuous_task_is_no_task(spool: Path, task: Path) -> None:
    (task / "reference.py").write_text(
        (task / "reference.py").read_text().replace("astype(np.float64) * 2 + 1", "astype(np.float64) * 0 + 1")
    )
    (task / "baseline.py").write_text("def entry(x):\n    return x * 0 + 1\n")
    mine = SpoolWorker(spool)
    mine.submit(job(task, "vacuous", "def entry(x):\n    return x * 0 + 1\n"))
    ended(start(spool))
    result = mine.collect("vacuous", 0)
    assert result is not None and result.outcome == "could_not_run"
    assert result.refusal is not None and result.refusal.code == "vacuous_task"
    assert "ones passes it" in result.refusal.message


def test_bad_keys_tasks_and_newer_results_are_said_plainly(spool: Path, tmp_path: Path, task: Path) -> None:
    mine = SpoolWorker(spool)
    with pytest.raises(HeadwayError, match="cannot be the key of a job"):
        mine.submit(job(task, "../escape"))
    with pytest.raises(HeadwayError, match=r"task\.toml is missing"):
        mine.submit(job(tmp_path, "x"))
    assert not list((spool / "jobs").iterdir())
    result = {"key": "newer", "schema": "headway.worker-result/9"}
    digest = hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
    (spool / "results" / "newer.json").write_text(json.dumps({"digest": digest, "result": result}))
    with pytest.raises(CouldNotRun, match="worker-result/9"):
        mine.collect("newer", 0)


BUSY = """
import numpy as np

def entry(x):
    for _ in range(400):
        np.sort(np.arange(100000)[::-1])
    return x * 2 + 1
"""


@pytest.mark.parametrize(("source", "outcome"), [(BUSY, "refused"), (BASELINE, "could_not_run")])
def test_a_late_job_is_the_candidates_fault_only_if_its_own_calls_took_the_time(
    source: str, outcome: str, spool: Path, task: Path
) -> None:
    if outcome == "could_not_run":  # the judge's own part takes the time, as on a machine that is too busy
        reference = task / "reference.py"
        slow = "def oracle(inputs):\n    __import__('time').sleep(0.3)\n"
        reference.write_text(reference.read_text().replace("def oracle(inputs):\n", slow))
    mine = SpoolWorker(spool)
    mine.submit(replace(job(task, "late", source), seconds=0.2 if outcome == "refused" else 0.5))
    ended(start(spool))
    result = mine.collect("late", 0)
    assert result is not None and result.refusal is not None
    assert (result.outcome, result.refusal.code) == (outcome, "timed_out")
    assert ("the machine is too busy" in result.refusal.message) == (outcome == "could_not_run")


def test_a_worker_may_hold_several_jobs_and_gives_back_each_alone(task: Path, spool: Path) -> None:
    sender = SpoolWorker(spool)
    for key in ("a", "b", "c"):
        sender.submit(job(task, key))
    mine, other = Spool(spool), Spool(spool)
    held = [mine.take(), mine.take("cpu-python tiny")]
    assert [claim.key for claim in held if claim is not None] == ["a", "b"]
    assert mine.take("triton elsewhere") is None
    theirs = other.take()
    assert theirs is not None and theirs.key == "c" and other.take() is None
    assert held[0] is not None
    mine.release(held[0])
    again = other.take()
    assert again is not None and again.key == "a" and other.take() is None  # b is still held


def test_a_job_whose_folder_goes_while_it_is_looked_at_ends_nobody(spool: Path) -> None:
    """Its result was collected by the other side just then; a look at the folder must not take the worker down."""
    looker = Spool(spool)
    places = [spool / "jobs" / f"k{n}" for n in range(600)]
    for place in places:
        place.mkdir()

    def collect() -> None:
        for place in reversed(places):
            place.rmdir()

    goes = threading.Thread(target=collect)
    goes.start()
    while goes.is_alive():
        looker._waiting()
    goes.join()
    assert looker._waiting() == []


def test_a_batch_of_gpu_jobs_waits_a_moment_for_those_that_are_still_being_sent(spool: Path) -> None:
    def send(key: str, kind: str = "triton") -> None:
        folder = spool / "jobs" / f".{key}"
        folder.mkdir(parents=True)
        (folder / "job.json").write_text(json.dumps({"task": {"kind": kind, "id": "tiny"}}))
        folder.rename(spool / "jobs" / key)

    here = Spool(spool)
    send("first")
    late = threading.Timer(0.05, send, ("second",))
    late.start()
    assert set(taken_together(here, 16)) == {"first", "second"}
    late.join()
    send("third")
    send("fourth")
    assert set(taken_together(here, 1)) == {"third"}
    send("other", "cpu-python")
    assert set(taken_together(here, 16)) == {"fourth"}
