"""^C is exit code 130, wherever it strikes: in the imports, in code made from a string, in the middle of a suite."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.test_validate_run import config
from tests.sync.repos import new_repo
from tests.validate.suites import FILES

ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def started(cwd: Path) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-m", "headway", "validate", "run", "L1"]
    # a shell starts what it puts in the background with ^C ignored, and pytest may be such a thing
    argv = ["env", "--default-signal=INT", *argv]
    return subprocess.Popen(argv, cwd=cwd, env=ENV, start_new_session=True, stderr=subprocess.PIPE, text=True)


def interrupted(child: "subprocess.Popen[str]") -> tuple[int, str]:
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=60)
    return child.returncode, said


def waited_for(condition, child: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.005)


def test_while_a_suite_runs_and_its_tree_goes_too(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "fork", "Fork Owner")
    repo.commit("base", {**FILES, "headway.toml": config("touch started; sleep 77")})
    child = started(repo.path)
    waited_for(lambda: list((repo.path / ".git/headway/clones").glob("*/0/tree/started")), child)
    assert interrupted(child)[0] == 130


def test_while_modules_are_imported(tmp_path: Path) -> None:
    child = started(tmp_path)
    waited_for(lambda: "pydantic_core" in Path(f"/proc/{child.pid}/maps").read_text(), child)
    code, said = interrupted(child)
    assert code == 130 and "Traceback" not in said


def test_inside_code_made_from_a_string() -> None:
    """Seen once in `validate run`: the interrupt was caught, and Python still ended by SIGINT."""
    program = """
import headway.cli.main as command_line
import headway.__main__ as program

def exit_code_of(argv):
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 130

command_line.exit_code_of = exit_code_of
program.main([])
"""
    assert subprocess.run([sys.executable, "-c", program], env=ENV).returncode == 130
