"""`headway validate run L1` as a user meets it: words, exit codes, what is recorded, and what a kill leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.cli.main import exit_code_of
from tests.sync.repos import Repo, new_repo
from tests.validate.suites import CHECKS, ENGINE, FILES, TEST


def config(test: str = TEST, more: str = "") -> str:
    return f"""
[upstream]
url = "../upstream"
[fork]
id = "toy"
[l1]
test = {json.dumps(test)}
junit = ["report.xml"]
{more}
"""


HANGS = config().replace(json.dumps(TEST), '{ run = "sleep 100 & sleep 100", timeout_seconds = 1 }')


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    repo = new_repo(tmp_path / "fork", "Fork Owner")
    repo.commit("base", {**FILES, "headway.toml": config()})
    monkeypatch.chdir(repo.path)
    return repo


def run_json(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict]:
    code = exit_code_of(["validate", "run", "L1", *args, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_green_revision_passes_and_says_what_ran(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["validate", "run", "L1"]) == 0
    shown = capsys.readouterr()
    assert "2 passed, 0 failed, 0 skipped, 0 not run" in shown.out and shown.out.endswith("passed\n")
    assert "in a clone of its own" in shown.err and fork.git("status", "--porcelain") == ""


def test_json_has_a_schema_and_a_red_revision_exits_1(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    base = fork.head()
    fork.commit("break", {"engine/__init__.py": ENGINE.replace("a + b", "a - b")})
    code, shown = run_json(capsys, "HEAD", "--base", base)
    assert code == 1 and shown["schema"] == "headway.l1/1" and shown["reason"] == "tests_failed"
    assert shown["new"] == ["tests/checks.py::test_adds"] and shown["base"] == base


def test_what_fails_on_the_base_too_passes(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    base = fork.commit("old fault", {"tests/checks.py": CHECKS + "def test_old(): assert False, 'since ever'\n"})
    fork.commit("next", {"engine/__init__.py": ENGINE + "X = 1\n"})
    code, shown = run_json(capsys, "--change", "HEAD", "--base", base)
    assert code == 0 and shown["pre_existing"] == ["tests/checks.py::test_old"]
    assert "since ever" in shown["failures"]["tests/checks.py::test_old"]


def test_a_second_run_recalls_and_fresh_runs_again(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys)[1]["recalled"] is False
    assert run_json(capsys)[1]["recalled"] is True
    assert run_json(capsys, "--fresh")[1]["recalled"] is False


def test_everything_is_in_the_log_and_the_log_verifies(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_json(capsys)
    assert exit_code_of(["log", "show", "--stream", "validation/toy", "--json"]) == 0
    types = [record["type"] for record in json.loads(capsys.readouterr().out)["records"]]
    assert types == [
        "validate.requested.v1", "core.intent.v1", "validate.suite_ran.v1", "validate.l1_proven.v1",
        "validate.l1_judged.v1", "core.done.v1",
    ]  # fmt: skip
    assert exit_code_of(["log", "verify"]) == 0


@pytest.mark.parametrize(
    ("toml", "args", "code", "words"),
    [
        (config("no-such-runner"), [], 1, "could not run (no_command): The test step `no-such-runner`"),
        (config(more='build = "PATH=/nowhere cc x.c"'), [], 4, "could not run (no_compiler)"),
        (config("true"), [], 4, "no file matches report.xml"),
        (HANGS, [], 4, "could not run (timed_out): The test step `sleep 100 & sleep 100`: timed out after 1 s"),
        (config(f"{TEST}; truncate -s -9 report.xml"), [], 4, "could not run (report_damaged)"),
        (config("echo '<testcase name=\"a\"/>' 2 passed"), [], 4, "no file matches report.xml"),
        (config(), ["no-such-branch"], 1, "'no-such-branch' names no commit"),
        (config(), ["HEAD", "--base", "nowhere"], 1, "'nowhere' names no commit"),
        (config().replace("[l1]", "[l2]"), [], 1, "unknown key 'l2'. Did you mean 'l1'?"),
        (config().split("[l1]")[0], [], 1, "has no [l1] section"),
    ],
)
def test_bad_input_is_one_sentence(
    toml: str, args: list[str], code: int, words: str, fork: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    fork.commit("config", {"headway.toml": toml, "counter": words})
    assert exit_code_of(["validate", "run", "L1", *args]) == code
    shown = capsys.readouterr()
    assert words in shown.out + shown.err and "Traceback" not in shown.out + shown.err


def test_another_tier_and_no_repository_are_named(
    fork: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code_of(["validate", "run", "L7"]) == 1
    monkeypatch.chdir(tmp_path)
    assert exit_code_of(["validate", "run", "L1"]) == 1
    assert "There is no tier 'L7'" in (said := capsys.readouterr().err) and "is not a git repository" in said


def test_a_killed_run_is_taken_up_again(fork: Repo, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flag = tmp_path / "slow"
    flag.touch()
    slow = f"[ ! -e {flag} ] || sleep 30; {TEST}"
    fork.commit("slow", {"headway.toml": config(slow)})
    argv = [sys.executable, "-m", "headway", "validate", "run", "L1"]
    child = subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, start_new_session=True)
    deadline = time.monotonic() + 30
    while not list((fork.path / ".git/headway/clones").glob("*/0/tree/.git/HEAD")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    flag.unlink()
    code, shown = run_json(capsys)
    assert code == 0 and shown["counts"]["passed"] == 2
    exit_code_of(["log", "show", "--json"])
    types = [record["type"] for record in json.loads(capsys.readouterr().out)["records"]]
    assert types.count("validate.requested.v1") == 1 and "core.settled.v1" in types
    assert types.count("validate.l1_judged.v1") == 1


def census(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict]:
    code = exit_code_of(["validate", "census", *args, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_census_is_a_ratchet(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    code, first = census(capsys, "--accept", "as it is today", "--by", "Ann")
    assert code == 0 and first["accepted"] and first["floors"] == {"tests/checks.py": 2}
    fork.commit("drop", {"tests/checks.py": CHECKS.replace("def test_doubles", "def helper")})
    code, second = census(capsys)
    assert code == 1 and second["schema"] == "headway.census/1"
    assert [(f["kind"], f["subject"]) for f in second["findings"]] == [
        ("vanished", "tests/checks.py::test_doubles"),
        ("below_floor", "tests/checks.py"),
    ]
    allowed = '[[allowed_skip]]\ntests = "*::test_doubles"\nreason = "rewritten"\nuntil = 2999-01-01\n'
    fork.commit("allow", {"headway.toml": config() + allowed})
    assert census(capsys)[0] == 0
    fork.commit("back", {"tests/checks.py": CHECKS})
    code, stale = census(capsys)
    assert code == 1 and [f["kind"] for f in stale["findings"]] == ["stale_allowance"]


def test_a_census_of_a_suite_that_does_not_start_is_not_taken(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    fork.commit("broken", {"headway.toml": config("no-such-runner")})
    assert exit_code_of(["validate", "census"]) == 4
    assert "No census of" in capsys.readouterr().err


def culprit(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict]:
    code = exit_code_of(["validate", "culprit", *args, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_culprit_is_found_on_real_git_inside_its_bundle(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    good = fork.head()
    fork.commit("before", {"note": "before"})
    guilty = fork.commit("one\n\nHeadway-Bundle: b7 1/2", {"engine/__init__.py": ENGINE.replace("a * 2", "a * 3")})
    fork.commit("two\n\nHeadway-Bundle: b7 2/2", {"two": "1"})
    code, shown = culprit(capsys, "--good", good, "--test", "tests/checks.py::test_doubles")
    assert code == 0 and shown["schema"] == "headway.culprit/1" and shown["answer"] == "culprit"
    assert shown["suspects"] == [guilty]
    again = culprit(capsys, "--good", good, "--test", "tests/checks.py::test_doubles")[1]
    assert again == shown, "the answer is in the log"


def test_a_command_can_be_asked_and_125_means_cannot_be_tested(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    good = fork.head()
    commits = [fork.commit(f"c{n}", {"n": str(n)}) for n in range(5)]
    ask = "n=$(cat n 2>/dev/null || echo -1); [ $n = 1 ] && exit 125; [ $n -lt 3 ]"
    code, shown = culprit(capsys, "--good", good, "--command", ask)
    assert code == 0 and shown["suspects"] == [commits[3]]


def test_a_culprit_search_needs_a_range(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    fork.commit("next", {"n": "1"})
    assert exit_code_of(["validate", "culprit", "--good", "HEAD", "--bad", "HEAD~1", "--test", "x"]) == 1
    assert f"{fork.head()[:12]} is no ancestor of {fork.head('HEAD~1')[:12]}" in capsys.readouterr().err
    assert exit_code_of(["validate", "culprit", "--good", "HEAD~1"]) == 1
    assert "Exactly one of --test, --command and --metric is needed" in capsys.readouterr().err


def test_canaries_from_the_command_line(fork: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    rule = '[[canary]]\nname = "wrong sum"\npath = "engine/__init__.py"\nfind = "a + b"\nreplace = "a - b"\n'
    fork.commit("canary", {"headway.toml": config() + rule})
    assert exit_code_of(["validate", "canary", "--mutants", "0"]) == 0
    assert "caught        written  wrong sum  tests/checks.py::test_adds" in capsys.readouterr().out
    fork.commit("weak", {"tests/checks.py": "import engine\nclass Skip(Exception): pass\ndef test_fine(): pass\n"})
    assert exit_code_of(["validate", "canary", "--mutants", "0"]) == 1
    assert "MISSED        written  wrong sum" in capsys.readouterr().out
