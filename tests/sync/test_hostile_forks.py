"""Tried by a fork's own test suite, and refused: its reach ends in its clone; what it touches beyond is an alarm."""

import os
import sys
from pathlib import Path

import pytest

from headway.adapters.clocks import SystemClock
from headway.adapters.local_executor import LocalExecutor
from headway.core.errors import HeadwayError
from headway.wiring import sync as wiring
from headway.wiring.sync import World
from tests.sync.driver import CHECK, Headway, new_fork

L1 = f"""
[l1]
test = "{sys.executable} -S check.py"
count_pattern = "(?P<passed>\\\\d+) passed, (?P<failed>\\\\d+) failed"
env = ["PATH"]
"""


def with_attack(tmp_path: Path, attack: str) -> Headway:
    """An upstream change whose suite runs `attack` first and stays green."""
    headway = new_fork(tmp_path)
    fork = headway.pair.fork.path
    code = attack.replace("FORK", repr(str(fork)))
    headway.pair.upstream.commit(
        "better tests", {"check.py": f"try:\n    {code}\nexcept Exception as e:\n    print(e)\n{CHECK}"}
    )
    headway.begin(l1=L1)
    return headway


@pytest.mark.parametrize(
    "attack",
    [
        "import subprocess; subprocess.run(['git', 'update-ref', 'refs/heads/main', 'HEAD'])",
        "import subprocess; subprocess.run(['git', '-C', FORK, 'update-ref', 'refs/heads/main', 'HEAD~1'])",
        "open(FORK + '/own.txt', 'w').write('theirs')",
        "open(FORK + '/.git/hooks/commit-msg', 'w').write('#!/bin/sh')",
        "open(FORK + '/headway.toml', 'a').write('[[policy]]')",
    ],
    ids=["update-ref in the clone", "update-ref in the fork", "work tree", "hook", "headway.toml"],
)
def test_the_owners_repository_stays_as_it_was(tmp_path: Path, attack: str) -> None:
    headway = with_attack(tmp_path, attack)
    fork = headway.pair.fork
    main, toml = fork.head("main"), (fork.path / "headway.toml").read_bytes()
    said = headway("sync", "run")
    assert fork.head("main") == main
    assert (fork.path / "headway.toml").read_bytes() == toml
    assert (fork.path / "own.txt").read_text() == "ours\n"
    assert not (fork.path / ".git/hooks/commit-msg").exists()
    assert said.code == 0 and headway.status()["closed"]


def test_a_credential_of_the_environment_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_notforthetests0123456789abcdefABCD")
    headway = with_attack(tmp_path, "import os; print('TOKEN', os.environ['GITHUB_TOKEN'])")
    headway.ok("sync", "run")
    change = headway.pair.upstream.made["better tests"]
    [step] = headway.evidence(change)["steps"]
    state = headway.pair.fork.path / ".git" / "headway"
    for file in state.rglob("*"):
        assert not file.is_file() or b"ghp_notforthetests" not in file.read_bytes()
    assert headway.answer(change) == "picked(landed)" and step["ended"] == "exit 0"


def test_a_moved_ref_while_tests_run_is_an_alarm_and_nothing_lands(tmp_path: Path) -> None:
    """As on a machine without any sandbox layer: the reach is there, the comparison before and after still refuses."""
    headway = new_fork(tmp_path)
    fork = headway.pair.fork
    main, first = fork.head("main"), fork.head("main~1")
    argv = ["git", f"--git-dir={fork.path}/.git", "update-ref", "refs/heads/main", first]
    attack = f"import subprocess; subprocess.run({argv!r})\n{CHECK}"
    change = headway.pair.upstream.commit("better tests", {"check.py": attack})
    after = headway.pair.upstream.commit("innocent", {"innocent.txt": "i\n"})
    headway.begin(l1=L1)
    bare = World(os.environ, SystemClock(), LocalExecutor(layers=frozenset()))
    with pytest.raises(HeadwayError, match=r"refused\(tampered\): .*ref refs/heads/main"):
        wiring.run(fork.path, None, 0, bare)
    assert fork.git("for-each-ref", "refs/heads/headway") == "", "nothing landed"
    assert headway.answer(change) == headway.answer(after) == "pending", "one of the two: each is tried alone next"
    fork.git("update-ref", "refs/heads/main", main)
    with pytest.raises(HeadwayError, match=r"refused\(tampered\)"):
        wiring.run(fork.path, None, 0, bare)
    assert fork.git("for-each-ref", "refs/heads/headway") == "", "nothing landed"
    assert headway.answer(change) == "deferred(tampered)" and headway.answer(after) == "pending"
    fork.git("update-ref", "refs/heads/main", main)
    wiring.run(fork.path, None, 0, bare)
    assert headway.answer(after) == "picked(landed)" and headway.status()["closed"]
