"""The CI templates call headway as it is: every `run: headway …` line is run on a fork, as a CI service would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.validate.shell_forks import WRONG, new_shell_fork

TEMPLATES = Path(__file__).resolve().parents[2] / "docs" / "ci"
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def lines(template: str) -> list[str]:
    return re.findall(r"run: (headway .*)$", (TEMPLATES / template).read_text(), re.MULTILINE)


def ran(line: str, cwd: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    command = line.replace("headway ", f"{sys.executable} -m headway ", 1)
    return subprocess.run(command, shell=True, cwd=cwd, env={**ENV, **env}, capture_output=True, text=True)


@pytest.mark.parametrize("engine", ["", WRONG])
def test_a_pull_request_is_judged_and_summarised(engine: str, tmp_path: Path) -> None:
    fork = new_shell_fork(tmp_path)
    base = fork.repo.head()
    change = fork.commit("change", {"engine.sh": engine} if engine else {"note": "1"})
    summary = tmp_path / "summary.md"
    [line] = lines("pull-request.yml")
    done = ran(line, fork.repo.path, CHANGE=change, BASE=base, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == bool(engine), done.stderr
    assert ("1 new: fails here" if engine else "headway L1: passed") in summary.read_text()


def test_the_clock_runs_and_shows(tmp_path: Path) -> None:
    fork = new_shell_fork(tmp_path)
    watch, show = lines("trunk.yml")
    assert ran(show, fork.repo.path).returncode == 1, "nothing ever ran"
    assert ran(watch, fork.repo.path).returncode == 0
    assert ran(show, fork.repo.path).returncode == 0
