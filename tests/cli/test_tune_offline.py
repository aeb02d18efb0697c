"""A campaign whose worker cannot be reached: one tar out, one tar back, through the command line."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def headway(*arguments: str, cwd: Path, ok: int = 0) -> str:
    """What it prints on stdout; fails with what it said if the exit code is another one."""
    done = subprocess.run(
        [sys.executable, "-m", "headway", *arguments], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == ok, done.stderr + done.stdout
    return done.stdout + done.stderr


def elsewhere(folder: Path, jobs: Path) -> Path:
    """The other machine: it has the tar and a Python with numpy, nothing of headway."""
    folder.mkdir()
    with tarfile.open(jobs) as tar:
        tar.extractall(folder, filter="data")
    done = subprocess.run(
        [sys.executable, "-I", "worker.pyz", "--spool", ".", "--at-once", "4"],
        cwd=folder, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = folder / "results.tar"
    with tarfile.open(results, "w") as tar:
        tar.add(folder / "results", "results")
    return results


FAST = "def entry(x):\n    return (x + x) + 1\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a small task and a script of two candidates, one of them wrong."""
    from tests.worker.tiny_task import tiny_task

    task = tiny_task(tmp_path / "tiny")
    toml = (
        (task / "task.toml")
        .read_text()
        .replace("[entry]", '[goal]\ntext = "quick"\n[entry]\nsignature = "entry(x)"', 1)
    )
    (task / "task.toml").write_text(toml.replace("timed = true", "seeds = [1]\ntimed = true", 1))
    lines = [
        {"source": "def entry(x):\n    return x * 2\n", "hypothesis": "leave one out"},
        {"source": FAST, "hypothesis": "add"},
    ]
    (tmp_path / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_jobs_go_out_in_one_tar_and_results_come_back_in_one(place: Path) -> None:
    said = headway(
        "tune", "run", "tiny", "--agent", "script", "--script", "script.jsonl", "--at-once", "8", "--dir", "c",
        "--offline", "jobs.tar", cwd=place,
    )  # fmt: skip
    assert "3 jobs and the worker are in jobs.tar" in said  # the baseline, and both screenings that are foreseen
    with tarfile.open(place / "jobs.tar") as tar:
        assert {"worker.pyz", "README.txt"} < set(tar.getnames())
        assert {(one.uid, one.uname) for one in tar} == {(0, "")}
    results = elsewhere(place / "m1", place / "jobs.tar")
    for trip in range(2, 7):
        said = headway("tune", "resume", "c", "--results", str(results), "--offline", "jobs.tar", cwd=place)
        if "jobs.tar" not in said:
            break
        results = elsewhere(place / f"m{trip}", place / "jobs.tar")
    board = json.loads(headway("tune", "show", "c", "--json", cwd=place))
    assert board["attempts"] == 2 or len(board["attempts"]) == 2, board
    again = headway("tune", "resume", "c", "--results", str(results), "--offline", "jobs.tar", cwd=place)
    assert "0 taken in" in again


def test_results_that_are_torn_or_of_nobody_count_for_nothing(place: Path) -> None:
    arguments = ("--agent", "script", "--script", "script.jsonl", "--dir", "c", "--offline", "jobs.tar")
    headway("tune", "run", "tiny", *arguments, cwd=place)
    results = elsewhere(place / "m1", place / "jobs.tar")
    bad = place / "bad"
    (bad / "results").mkdir(parents=True)
    (good,) = (place / "m1" / "results").glob("*.json")
    (bad / "results" / good.name).write_bytes(good.read_bytes()[:-9])
    (bad / "results" / "nobody.json").write_bytes(good.read_bytes())
    with tarfile.open(place / "bad.tar", "w") as tar:
        tar.add(bad / "results", "results")
    said = headway("tune", "resume", "c", "--results", "bad.tar", "--offline", "jobs.tar", cwd=place)
    assert "0 taken in, 0 known already, 1 of no job that waits, 1 torn" in said
    assert "1 jobs and the worker" in said  # still the baseline
    said = headway("tune", "resume", "c", "--results", str(results), "--offline", "jobs.tar", cwd=place)
    assert "1 taken in" in said


def test_what_is_no_tar_is_one_sentence(place: Path) -> None:
    arguments = ("--agent", "script", "--script", "script.jsonl", "--dir", "c", "--offline", "jobs.tar")
    headway("tune", "run", "tiny", *arguments, cwd=place)
    said = headway("tune", "resume", "c", "--results", "script.jsonl", "--offline", "jobs.tar", cwd=place, ok=1)
    assert "is no tar of results" in said and "Traceback" not in said
    assert "no tar for the jobs" in headway("tune", "resume", "c", "--results", "x.tar", cwd=place, ok=1)
