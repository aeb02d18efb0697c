"""mergiraf by its merge-driver contract: a stand-in program with the same command line, and through `sync run`."""

import os
import sys
from pathlib import Path

import pytest

from headway.adapters.mergiraf import Mergiraf
from tests.sync.driver import new_fork, picture
from tests.sync.test_agent_rung import CORE, OURS, RIGHT, THEIRS

CONTRACT = """
import pathlib, sys
assert sys.argv[1:3] == ["merge", "--git"], sys.argv
base, ours, theirs, *rest = sys.argv[3:]
assert rest[:6] == ["-s", "base", "-x", "fork", "-y", "upstream"] and rest[6] == "-p" and rest[8] == "-l", rest
assert base.endswith(".py") and int(rest[9]) > 7
"""


def stand_in(folder: Path, body: str) -> str:
    """A program called mergiraf in a folder of its own; returns a PATH that begins there."""
    folder.mkdir()
    program = folder / "mergiraf"
    program.write_text(f"#!{sys.executable} -S\n{CONTRACT}{body}\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("body", "merged", "why"),
    [
        ("pathlib.Path(ours).write_text(pathlib.Path(theirs).read_text() + 'both\\n')", b"theirs\nboth\n", ""),
        ("pathlib.Path(ours).write_text('<<<<<<<'); sys.exit(1)", None, "conflicts are left"),
        ("sys.stderr.write('no grammar\\n'); sys.exit(2)", None, "could_not_run: exit code 2: no grammar"),
        ("import os; os.kill(os.getpid(), 9)", None, "could_not_run: exit code -9"),
    ],
)
def test_only_a_clean_end_is_an_answer(tmp_path: Path, body: str, merged: bytes | None, why: str) -> None:
    found = Mergiraf.installed({"PATH": stand_in(tmp_path / "bin", body)})
    assert found is not None
    answer, said = found.merge("core.py", b"base\n", b"ours\n", b"theirs\n")
    assert answer == merged and said.startswith(why)


def test_without_it_nobody_is_asked(tmp_path: Path) -> None:
    assert Mergiraf.installed({"PATH": str(tmp_path)}) is None


def test_a_run_takes_its_answer_past_the_rails_and_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second conflict gets an answer that drops upstream's call: a rail stops it, whoever gave it."""
    dropped = THEIRS.replace("scaled(helper(item), 2)", "own(item)")
    answers = {"core.py": RIGHT, "other.py": dropped}
    body = f"pathlib.Path(ours).write_text({answers!r}[rest[7]])"
    monkeypatch.setenv("PATH", stand_in(tmp_path / "bin", body))
    headway = new_fork(tmp_path, {"core.py": CORE, "other.py": CORE})
    headway.pair.fork.commit("fork: own items", {"core.py": OURS, "other.py": OURS})
    good = headway.pair.upstream.commit("scale items", {"core.py": THEIRS})
    bad = headway.pair.upstream.commit("scale others", {"other.py": THEIRS})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(good) == "picked(landed)" and picture(headway.pair)[-1].endswith("Resolved-By: mergiraf")
    assert headway.answer(bad) == "deferred(call_site_dropped)"
    assert headway.evidence(bad)["resolution"][0]["engine"] == "mergiraf"
