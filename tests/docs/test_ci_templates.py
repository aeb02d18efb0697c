"""The CI templates do what they say: their jobs run on real repositories, each turn on a fresh disk."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headway.adapters.processes import run
from headway.core.names import Sha
from tests.validate.shell_forks import TOML, WRONG, ShellFork, new_shell_fork

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "docs" / "ci"


@dataclass(frozen=True)
class Service:
    """A CI service: the fork's shared repository, and a fresh clone for every job."""

    fork: ShellFork
    folder: Path

    def job(self, name: str, script: str, **env: str) -> "subprocess.CompletedProcess[str]":
        place = self.folder / name
        run(["git", "clone", "--quiet", str(self.folder / "origin.git"), str(place)])
        for key, value in (("user.name", "headway"), ("user.email", "headway@example.org")):
            run(["git", "config", key, value], cwd=place)
        return subprocess.run(
            ["sh", str(TEMPLATES / script)], cwd=place, env=self.env | env, capture_output=True, text=True, timeout=100
        )

    @property
    def env(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}

    def push(self, subject: str, files: dict[str, str | bytes | None], branch: str = "main") -> Sha:
        made = self.fork.commit(subject, files)
        self.fork.repo.git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        return made

    def log(self, *args: str) -> str:
        return run(["git", *args], cwd=self.folder / "origin.git", ok=None).text

    def people(self, *lines: str) -> "subprocess.CompletedProcess[str]":
        """What somebody types in a clone of their own."""
        look = self.folder / "look"
        if not look.exists():
            run(["git", "clone", "--quiet", str(self.folder / "origin.git"), str(look)])
            for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
                run(["git", "config", key, value], cwd=look)
        return subprocess.run(
            ["sh", "-ec", "\n".join(lines)], cwd=look, env=self.env, capture_output=True, text=True, check=True
        )


def service(folder: Path, toml: str) -> Service:
    fork = new_shell_fork(folder, toml)
    (folder / "bin").mkdir()
    (folder / "bin" / "headway").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m headway "$@"\n')
    (folder / "bin" / "headway").chmod(0o755)
    run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(folder / "origin.git")])
    fork.repo.git("remote", "add", "origin", str(folder / "origin.git"))
    fork.repo.git("push", "--quiet", "origin", "main")
    return Service(fork, folder)


def test_a_pull_request_is_judged_by_the_rules_of_its_base(tmp_path: Path) -> None:
    ci = service(tmp_path, TOML)
    base = ci.fork.repo.head()
    own = '[[waiver]]\ntests = "*"\nby = "Eve"\nreason = "trust me"\nuntil = 2999-01-01\n'
    own = TOML.replace('[l1]\ntest = "sh run.sh"', '[l1]\ntest = "true"').replace("[[suite]]", own + "[[suite]]", 1)
    change = ci.push("break", {"engine.sh": WRONG, "headway.toml": own}, "theirs")
    summary = tmp_path / "summary.md"
    about = {"CHANGE": change, "BASE": base, "GITHUB_STEP_SUMMARY": str(summary)}
    refused = ci.job("one", "headway-l1.sh", **about)
    assert refused.returncode == 1, refused.stderr
    assert "**1 new: fails here and not on the base. Blocks**" in summary.read_text()
    assert ci.log("for-each-ref", "refs/headway") == "", "nothing worth recording"

    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    waive = f"headway validate waive checks::doubles --reason known --until {tomorrow} --by Ann"
    ci.people(waive, "headway log push")
    passed = ci.job("two", "headway-l1.sh", **about)
    assert passed.returncode == 0, passed.stderr
    assert f"(Ann, until {tomorrow}: known)" in summary.read_text()
    shown = ci.people("headway log pull >&2", "headway validate show --json || true").stdout
    [waiver] = json.loads(shown)["waivers"]
    assert (waiver["by"], waiver["used"]) == ("Ann", 1), "counted, though its disk was thrown away"


@pytest.mark.timeout(300)  # eight processes, one after the other
def test_the_clock_on_throw_away_disks(tmp_path: Path) -> None:
    """Ended by its limit, killed before it could send its log, and at last let alone: one run, one issue."""
    daily = TOML.replace('every = "24h"', 'every = "24h"\ncanaries_every = "7d"\nmutants = 0')
    ci = service(tmp_path, daily.replace('suites = ["unit", "speed"]', 'suites = ["unit"]'))
    ci.push("red", {"checks/red": "echo red; exit 1\n"})
    ended = ci.job("limited", "headway-trunk.sh", HEADWAY_LIMIT="0.1s")
    assert ended.returncode == 1 and "ALARM the tier L2 is overdue: there never was one" in ended.stdout
    assert ci.job("killed", "headway-trunk.sh").returncode == 1 and len(ci.fork.issues()) == 1
    ci.log("update-ref", "-d", "refs/headway/log")  # as if it had been killed before it sent its log
    red = ci.job("well", "headway-trunk.sh")
    assert red.returncode == 1 and "tier L2: red" in red.stdout and "ALARM" not in red.stdout
    assert "caught" in red.stdout, "canaries were due"
    assert len(ci.fork.issues()) == 1, "found again by its key"


def test_every_workflow_that_writes_the_log_is_in_one_queue_and_runs_a_script_that_ships() -> None:
    for name in ("trunk.yml", "headway-sync.yml"):
        assert re.search(r"^concurrency: headway-log\b", (TEMPLATES / name).read_text(), re.MULTILINE), name
    named = {one for file in TEMPLATES.glob("*.yml") for one in re.findall(r"docs/ci/(\S+\.sh)", file.read_text())}
    assert named == {file.name for file in TEMPLATES.glob("*.sh")}
