"""`validate ingest`, `quorum` and `waive` as pipelines and people meet them."""

import json
import sys
from pathlib import Path

import pytest

from headway.cli.main import exit_code_of
from tests.cli.test_validate_run import config
from tests.sync.repos import Repo, new_repo
from tests.validate.suites import CHECKS, ENGINE, FILES

SUITES = """
[[suite]]
name = "remote"
owners = ["@gpu-team"]
[[suite]]
name = "partial"
test = "{python} -B run_checks.py"
junit = ["report.xml"]
set_env = {{ONLY = "test_adds"}}
[[quorum]]
name = "both"
suites = ["l1", "partial"]
tests = ["tests/*"]
[[quorum]]
name = "far"
suites = ["l1", "remote"]
"""
RUNNER = str(FILES["run_checks.py"]).replace(
    'if n.startswith("test_")]', 'if n.startswith(__import__("os").environ.get("ONLY", "test_"))]'
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    repo = new_repo(tmp_path / "fork", "Fork Owner")
    toml = config(more=SUITES.format(python=sys.executable))
    repo.commit("base", {**FILES, "run_checks.py": RUNNER, "headway.toml": toml})
    monkeypatch.chdir(repo.path)
    return repo


def headway(capsys: Capture, *args: str) -> tuple[int, dict]:
    code = exit_code_of(["validate", *args, "--json"])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return code, json.loads(shown.out) if shown.out else {"said": shown.err}


def report(path: Path, names: list[str], failed: str = "", revision: str = "") -> Path:
    fault = "<failure message='x'/>"
    cases = "".join(
        f'<testcase classname="tests.checks" name="{name}">{fault if name == failed else ""}</testcase>'
        for name in names
    )
    about = f'<properties><property name="revision" value="{revision}"/></properties>' if revision else ""
    path.write_text(f'<testsuites><testsuite name="s">{about}{cases}</testsuite></testsuites>')
    return path


BOTH = ["test_adds", "test_doubles"]


def test_a_report_is_taken_once_and_only_for_its_revision(fork: Repo, tmp_path: Path, capsys: Capture) -> None:
    file = str(report(tmp_path / "r.xml", BOTH, revision=fork.head()))
    hand = ("ingest", file, "--suite", "remote", "--run", "77", "--started", "2026-06-01T12:00:00Z")
    code, taken = headway(capsys, *hand, "--revision", "HEAD")
    assert code == 0 and taken["schema"] == "headway.ingest/1" and taken["bound"] == "report"
    assert taken["counts"]["passed"] == 2 and taken["already_known"] is False
    assert headway(capsys, *hand, "--revision", "HEAD")[1]["already_known"] is True
    report(tmp_path / "r.xml", BOTH, failed="test_adds")
    code, refused = headway(capsys, *hand, "--revision", "HEAD")
    assert code == 1 and "with another result" in refused["message"]
    fork.commit("next", {"note": "1"})
    report(tmp_path / "r.xml", BOTH, revision=fork.made["base"])
    code, refused = headway(
        capsys, *hand[:-4], "--run", "78", "--started", "2026-06-01T12:00:00Z", "--revision", "HEAD"
    )
    assert code == 1 and refused["reason"] == "other_revision"
    assert "headway.toml has: l1, remote, partial" in headway(
        capsys, *hand[:2], "--suite", "nowhere", "--run", "1", "--revision", "HEAD")[1]["said"]  # fmt: skip


def test_tests_that_the_last_report_had_are_missed_by_name(fork: Repo, tmp_path: Path, capsys: Capture) -> None:
    for number, (names, code) in enumerate([(BOTH, 0), (BOTH[:1], 1)]):
        file = str(report(tmp_path / "r.xml", names))
        when = f"2026-06-01T12:0{number}:00Z"
        got, said = headway(
            capsys, "ingest", file, "--suite", "remote", "--run", str(number), "--started", when, "--revision", "HEAD"
        )
        assert got == code, said
    assert [one["subject"] for one in said["missing"]] == ["tests/checks.py::test_doubles"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<testsuite><testcase name='a'", "is not whole JUnit XML"),
        (b"<testsuite/>", "names no test and no measurement"),
        (None, "cannot be read: No such file"),
        (500 << 20, "has 500 MiB, and at most 64 are read"),
    ],
    ids=["torn", "empty", "absent", "huge"],
)
def test_bad_reports_are_one_sentence(content, words: str, fork: Repo, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "r.xml"
    if isinstance(content, int):
        with file.open("wb") as log:
            log.truncate(content)
    elif content is not None:
        file.write_bytes(content)
    code, said = headway(
        capsys, "ingest", str(file), "--suite", "remote", "--run", "1", "--started", "2026-06-01", "--revision", "HEAD"
    )
    assert code == 1 and words in said["said"] and said["said"].count("\n") == 1


def test_two_harnesses_that_disagree_are_an_alarm(fork: Repo, tmp_path: Path, capsys: Capture) -> None:
    code, said = headway(capsys, "quorum", "--name", "both")
    assert code == 1 and said["schema"] == "headway.quorums/1"
    [found] = said["quorums"][0]["disagreements"]
    assert found == {
        "test": "tests/checks.py::test_doubles", "kind": "not_run_there",
        "said": {"l1": "passed", "partial": "absent"},
    }  # fmt: skip
    code, said = headway(capsys, "quorum", "--name", "far")
    assert code == 4 and "nothing has been reported of" in said["said"]
    file = str(report(tmp_path / "r.xml", BOTH))
    hand = ("ingest", file, "--suite", "remote", "--run", "1", "--started", "2026-06-01T12:00:00Z")
    assert headway(capsys, *hand, "--revision", "HEAD")[0] == 0
    assert headway(capsys, "quorum", "--name", "far")[0] == 0
    assert "There is no quorum 'x'. headway.toml has: both, far." in headway(capsys, "quorum", "--name", "x")[1]["said"]


def test_a_waiver_is_granted_for_a_time_and_used(fork: Repo, capsys: Capture, tmp_path: Path) -> None:
    fork.commit("break", {"engine/__init__.py": ENGINE.replace("a * 2", "a * 3"), "tests/checks.py": CHECKS})
    against = ("run", "L1", "--change", "HEAD", "--base", "HEAD~1", "--summary", str(tmp_path / "summary.md"))
    assert headway(capsys, *against)[0] == 1
    assert "Waivers end" in headway(capsys, "waive", "*", "--reason", "x", "--until", "2020-01-01")[1]["said"]
    assert "no day" in headway(capsys, "waive", "*", "--reason", "x", "--until", "soon")[1]["said"]
    assert "longer than 90 days" in headway(capsys, "waive", "*", "--reason", "x", "--until", "2999-01-01")[1]["said"]
    from datetime import UTC, datetime, timedelta

    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    waive = ("waive", "*::test_doubles", "--reason", "the lab is closed", "--until", tomorrow, "--by", "Ann")
    assert headway(capsys, *waive)[1]["by"] == "Ann"
    code, passed = headway(capsys, *against)
    assert code == 0 and list(passed["waived"]) == ["tests/checks.py::test_doubles"]
    assert "Ann, until" in (tmp_path / "summary.md").read_text()
