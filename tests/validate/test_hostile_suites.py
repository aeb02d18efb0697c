"""A fork's own tests that reach for what is not theirs: tried, refused and seen, also where no sandbox layer works."""

import os
import sys
from pathlib import Path

import pytest

from headway.core.config import L1Config, StepConfig
from headway.core.events_validate import OwnerTouched
from headway.core.gates import NotDecided, Passed, Refused
from headway.core.reasons import Reason
from headway.core.testid import TestId
from tests.validate.suites import CHECKS, FILES, L1, TEST, Fork, new_fork

SHELL = "import os\ndef test_reaches_out(): os.system({line!r}); print('tried')\n"


def checks(line: str) -> dict[str, str | bytes | None]:
    return {"tests/checks.py": CHECKS + SHELL.format(line=line)}


def moves_trunk(fork: Fork) -> str:
    return f"git -C {fork.repo.path} update-ref refs/heads/main HEAD~1 || git update-ref refs/heads/main HEAD"


def writes_into_the_owners_repository(fork: Fork) -> str:
    return f"mkdir -p {fork.repo.path}/.git/hooks; echo evil > {fork.repo.path}/.git/hooks/pre-push"


def edits_headway_toml(fork: Fork) -> str:
    return f"echo '[l1]' > {fork.repo.path}/headway.toml"


def moves_a_ref_file(fork: Fork) -> str:
    return f"echo {'0' * 39}1 > {fork.repo.path}/.git/refs/heads/planted"


ATTACKS = [moves_trunk, writes_into_the_owners_repository, edits_headway_toml, moves_a_ref_file]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.__name__)
def test_in_the_sandbox_the_attempt_fails_and_the_owner_is_untouched(attack: object, tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    fork.repo.commit("second", {"more": "1"})
    change = fork.change("attack", checks(attack(fork)))  # type: ignore[operator]
    if "landlock" not in fork.executor.inner.layers().names:  # type: ignore[attr-defined]
        pytest.skip("this kernel has no Landlock")
    before = fork.ports.workspaces.fingerprint(fork.repo.path)
    answer = fork.check(change)
    assert answer.verdict == Passed() and TestId("tests/checks.py::test_reaches_out") in answer.change.ran()
    assert before.differences(fork.ports.workspaces.fingerprint(fork.repo.path)) == ()
    assert fork.repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.__name__)
def test_where_no_layer_holds_the_alarm_names_it_and_nothing_passes(attack: object, tmp_path: Path) -> None:
    fork = new_fork(tmp_path, layers=frozenset())
    fork.repo.commit("second", {"more": "1"})
    answer = fork.check(fork.change("attack", checks(attack(fork))))  # type: ignore[operator]
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.TAMPERED
    [alarm] = [event for event in answer.events if isinstance(event, OwnerTouched)]
    assert fork.ports.blobs.get(alarm.evidence)


def test_from_its_clone_a_suite_moves_only_its_own_refs(tmp_path: Path) -> None:
    """The classic: from a linked worktree `git update-ref` moves the owner's trunk. Here even without any layer."""
    fork = new_fork(tmp_path, layers=frozenset())
    second = fork.repo.commit("second", {"more": "1"})
    line = "git update-ref refs/heads/main HEAD~1; git checkout -q -B main; git push --force -q origin HEAD:main"
    answer = fork.check(fork.change("attack", checks(line)), base=second)
    assert answer.verdict == Passed()
    assert fork.repo.git("rev-parse", "main~1") == second


def test_no_credential_of_the_owner_is_in_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    for name in (".netrc", ".gitconfig", ".ssh/id_rsa", ".git-credentials"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("password hunter2\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GITHUB_TOKEN", "hunter2-from-the-environment")
    fork = new_fork(tmp_path)
    fork.repo.git("remote", "add", "origin", "https://me:hunter2@example.org/fork.git")
    places = " ".join(str(home / name) for name in (".netrc", ".gitconfig", ".ssh/id_rsa", ".git-credentials"))
    line = (
        f"env; cat ~/.netrc ~/.gitconfig {places} {fork.repo.path}/.git/config; git config -l;"
        f" cat /proc/{os.getpid()}/environ; echo looked everywhere"
    )
    answer = fork.check(fork.change("steal", checks(line)))
    assert answer.verdict == Passed()
    assert "looked everywhere" in fork.output(answer) and "hunter2" not in fork.output(answer)


def test_a_report_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<testsuite name='s'><testcase classname='a' name='hunter2'/></testsuite>")
    fork = new_fork(tmp_path)
    link = f"pathlib.Path('report.xml').unlink(); pathlib.Path('report.xml').symlink_to({str(secret)!r})"
    runner = str(FILES["run_checks.py"]).replace("sys.exit(any", f"{link}\nsys.exit(any")
    answer = fork.check(fork.change("link", {"run_checks.py": runner}))
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.REPORT_DAMAGED
    assert "report.xml cannot be read" in answer.verdict.message and not answer.change.tests


def test_a_report_that_the_commit_carries_is_not_believed(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    green = "<testsuite name='s'><testcase classname='tests.checks' name='test_adds'/></testsuite>"
    answer = fork.check(fork.change("fake", {"report.xml": green, "run_checks.py": "import sys; sys.exit(0)\n"}))
    assert isinstance(answer.verdict, Refused) and "no file matches report.xml" in answer.verdict.message


def test_headway_removes_no_stale_report_through_a_link_that_the_commit_carries(tmp_path: Path) -> None:
    fork, owners = new_fork(tmp_path), tmp_path / "owners"
    owners.mkdir()
    (owners / "report.xml").write_text("the owner's\n")
    (fork.repo.path / "out").symlink_to(owners)
    fork.repo.git("add", "out")
    answer = fork.check(fork.repo.commit("link", {}), l1=L1Config(test=StepConfig(TEST), junit=("out/*.xml",)))
    assert isinstance(answer.verdict, NotDecided) and "out/report.xml lies outside the clone" in answer.verdict.message
    assert (owners / "report.xml").read_text() == "the owner's\n"


def test_a_report_cut_short_is_named(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    runner = str(FILES["run_checks.py"]).replace("</testsuite></testsuites>", "")
    answer = fork.check(fork.change("cut", {"run_checks.py": runner}))
    assert isinstance(answer.verdict, Refused) and "report.xml is not whole JUnit XML" in answer.verdict.message


def test_an_early_clean_exit_is_no_pass(tmp_path: Path) -> None:
    """`os._exit(0)` in a test ends the harness with exit 0 and no report: the later failing test never ran."""
    fork = new_fork(tmp_path)
    early = CHECKS + "import os\ndef test_leaves(): os._exit(0)\ndef test_later(): assert False\n"
    answer = fork.check(fork.change("early", {"tests/checks.py": early}))
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.REPORT_DAMAGED


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    answer = fork.check(fork.base, l1=L1Config(test=StepConfig("no-such-runner --all"), junit=L1.junit))
    assert answer.verdict.kind == "could_not_run" and answer.verdict.reason is Reason.NO_COMMAND
    assert "'no-such-runner' is not there" in answer.verdict.message


def test_a_runner_that_only_the_change_lost_is_the_changes_fault(tmp_path: Path) -> None:
    fork = new_fork(tmp_path, files={"check.sh": f"#!/bin/sh\nexec {TEST}\n"})
    l1 = L1Config(test=StepConfig("chmod +x check.sh && ./check.sh"), junit=L1.junit)
    (fork.repo.path / "check.sh").unlink()
    answer = fork.check(fork.change("drop", {}), l1=l1)
    assert isinstance(answer.verdict, Refused), answer.verdict


BUILD_SCRIPT = """
import subprocess, sys
try:
    subprocess.run(["gcc", "x.c"], check=True)
except FileNotFoundError as missing:
    sys.exit(f"error: command 'gcc' failed: {missing.strerror}")
"""


@pytest.mark.parametrize("build", ["cc x.c", "make -s", f"{sys.executable} build.py"])
def test_a_missing_compiler_decides_nothing(build: str, tmp_path: Path) -> None:
    fork = new_fork(tmp_path, files={"Makefile": "all:\n\tcc x.c\n", "x.c": "int x;\n", "build.py": BUILD_SCRIPT})
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "make", "git"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    l1 = L1Config(test=L1.test, build=StepConfig(build), junit=L1.junit, set_env={"PATH": str(tools)})
    answer = fork.check(fork.base, l1=l1)
    assert answer.verdict.kind == "could_not_run" and answer.verdict.reason is Reason.NO_COMPILER, answer.change.detail
