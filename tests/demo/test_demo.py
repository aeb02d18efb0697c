"""`headway demo` as a stranger runs it: its account is recounted from git and from the log, not believed."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from headway.demo.recipe import UPSTREAM


def demo(folder: Path, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headway", "demo", "--json", "--dir", str(folder)]
    return subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)


@pytest.mark.timeout(400)
def test_the_account_can_be_recounted_from_what_is_left(tmp_path: Path) -> None:
    done = demo(tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    account = json.loads(done.stdout.splitlines()[-1])
    assert account["closed"] and account["resumed"] and account["kills"] == 2
    wanted = Counter(commit.truth.partition(":")[0] for commit in UPSTREAM)
    assert account["dispositions"] == dict(wanted)
    trailers = ["git", "log", "--format=%(trailers:key=Upstream-Commit,valueonly)", "main..headway/sync"]
    landed = subprocess.run(trailers, cwd=account["fork"], capture_output=True, text=True, check=True).stdout.split()
    assert len(landed) == len(set(landed)) == wanted["picked"]
    verify = [sys.executable, "-m", "headway", "log", "verify", "--state", account["state"]]
    assert subprocess.run(verify, capture_output=True, check=False).returncode == 0
    export = [sys.executable, "-m", "headway", "log", "export", "--state", account["state"]]
    lines = subprocess.run(export, capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = Counter(json.loads(line)["type"] for line in lines)
    assert kinds["tune.goal.v1"] == 1 and kinds["sync.landed.v1"] >= wanted["picked"]
    speedup = account["speedup"]
    assert speedup["interval"][0] <= speedup["ratio"] <= speedup["interval"][1]


@pytest.mark.timeout(300)
def test_without_a_compiler_the_rest_is_done_and_said(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("git", "sh", "env", "true"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    (tools / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")  # not a version manager's shim
    done = demo(tmp_path / "demo", str(tools))
    assert done.returncode == 4, done.stderr
    account = json.loads(done.stdout.splitlines()[-1])
    assert account["could_not_run"] == ["could_not_run(no C compiler)"]
    assert account["closed"] and account["speedup"] is None


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = demo(tmp_path)
    assert done.returncode == 1 and "is not an empty folder" in done.stderr and "Traceback" not in done.stderr
