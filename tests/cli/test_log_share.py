"""`headway log push | pull` between machines, and the job for throw-away disks as docs/ci gives it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headway.adapters.processes import run
from tests.sync.driver import L1, POLICY, Headway, new_fork
from tests.sync.repos import Pair, Repo

ROOT = Path(__file__).parents[2]


def machine(origin: Path, folder: Path, name: str) -> Headway:
    """A fresh clone on a fresh disk."""
    run(["git", "clone", "--quiet", str(origin), str(folder / name)])
    fork = Repo(folder / name, "Fork Owner", hours=2000)
    fork.git("config", "user.name", "Fork Owner")
    fork.git("config", "user.email", "fork@example.org")
    return Headway(Pair(Repo(folder / "upstream", "Upstream Author", hours=500), fork))


def first_machine(tmp_path: Path) -> tuple[Headway, Path]:
    """A fork with headway.toml on trunk, and the bare repository that all machines share."""
    headway = new_fork(tmp_path)
    fork = headway.pair.fork
    headway.pair.upstream.commit("one", {"one.txt": "1\n"})
    headway.begin(l1=L1, policy=POLICY)
    fork.commit("headway: begin", {})
    origin = tmp_path / "origin.git"
    run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(origin)])
    fork.git("remote", "set-url", "origin", str(origin))
    fork.git("push", "--quiet", "origin", "main")
    return headway, origin


def test_a_log_moves_from_machine_to_machine_and_verifies(tmp_path: Path) -> None:
    first, origin = first_machine(tmp_path)
    first.ok("sync", "run")
    assert "Pushed" in first.ok("log", "push").out
    assert "has all" in first.ok("log", "push").out
    second = machine(origin, tmp_path, "second")
    second.pair.fork.git("fetch", "--quiet", str(first.pair.fork.path), "headway/sync:headway/sync")
    assert "Took" in second.ok("log", "pull").out
    assert second.ok("log", "export").out == first.ok("log", "export").out
    assert second.ok("log", "verify", "--json").json["ok"]
    second.pair.upstream.commit("two", {"two.txt": "2\n"})
    done = second.ok("sync", "run", "--json").json
    assert done["dispositions"]["picked"] == 2 and done["closed"]
    second.ok("log", "push")
    first.ok("log", "pull")
    assert first.ok("log", "export").out == second.ok("log", "export").out


def test_two_machines_that_both_wrote_are_told_so(tmp_path: Path) -> None:
    first, origin = first_machine(tmp_path)
    first.ok("log", "push")
    second = machine(origin, tmp_path, "second")
    second.ok("log", "pull")
    change = first.pair.upstream.made["one"]
    first.ok("sync", "decide", change, "later", "--reason", "a")
    second.ok("sync", "decide", change, "wont_port", "--reason", "b")
    second.ok("log", "push")
    before = first.ok("log", "export").out
    for verb in ("push", "pull"):
        said = first("log", verb)
        assert said.code == 1 and "part at position" in said.err, said
    assert first.ok("log", "export").out == before


def test_a_push_without_what_the_remote_has_asks_for_a_pull(tmp_path: Path) -> None:
    first, origin = first_machine(tmp_path)
    first.ok("log", "push")
    second = machine(origin, tmp_path, "second")
    second.ok("log", "pull")
    first.ok("sync", "decide", first.pair.upstream.made["one"], "later", "--reason", "a")
    first.ok("log", "push")
    said = second("log", "push")
    assert said.code == 1 and "Run `headway log pull" in said.err
    assert "Would take" in second.ok("log", "pull", "--dry-run").out
    second.ok("log", "pull")
    assert second.ok("log", "verify", "--json").json["ok"]


def test_a_remote_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    first, _ = first_machine(tmp_path)
    said = first("log", "push", str(tmp_path / "nowhere"))
    assert said.code == 4 and "nowhere" in said.err and "\n" not in said.err.strip()
    assert "has no log yet" in first.ok("log", "pull").out


@pytest.mark.timeout(600)  # thirteen processes, one after the other
def test_the_job_for_throw_away_disks(tmp_path: Path) -> None:
    """docs/ci/headway-sync.sh, turn after turn, each in a fresh clone; once the log is lost."""
    first, origin = first_machine(tmp_path)
    upstream = first.pair.upstream
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "headway").write_text(f'#!/bin/sh\nexec {sys.executable} -m headway "$@"\n')
    (programs / "headway").chmod(0o755)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HEADWAY_UPSTREAM": str(upstream.path)}
    env["PYTHONPATH"] = str(ROOT / "src")

    def turn(name: str) -> Headway:
        there = machine(origin, tmp_path, name)
        job = ROOT / "docs/ci/headway-sync.sh"
        done = subprocess.run(["sh", str(job)], cwd=there.pair.fork.path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return there

    one = turn("turn-1")
    assert one.status()["dispositions"]["picked"] == 1
    upstream.commit("two", {"two.txt": "2\n"})
    log = run(["git", "rev-parse", "refs/headway/log"], cwd=origin).text
    shutil.rmtree(turn("turn-2").pair.fork.path)
    run(["git", "update-ref", "refs/headway/log", log], cwd=origin)  # killed between the two pushes
    upstream.commit("three", {"three.txt": "3\n"})
    three = turn("turn-3")
    status = three.status()
    assert status["dispositions"]["picked"] == 3 and status["closed"] and status["pending"] == 0
    subjects = run(["git", "log", "--format=%s", "main..headway/sync"], cwd=origin).text.splitlines()
    assert subjects == ["three", "two", "one"], "nothing is picked twice"
    assert three.ok("log", "verify", "--json").json["ok"]
