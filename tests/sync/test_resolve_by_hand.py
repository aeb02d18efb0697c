"""`headway sync resolve`: a person's answer passes the same rails, and the next run lands it."""

import json
from pathlib import Path

import pytest

from headway.adapters.clocks import SystemClock
from headway.adapters.locks import WriterLock
from headway.core.names import Sha
from tests.sync.driver import BASE, Headway, new_fork, picture
from tests.sync.test_agent_rung import CORE, OURS, RIGHT, THEIRS


@pytest.fixture
def deferred(tmp_path: Path) -> tuple[Headway, Sha]:
    headway = new_fork(tmp_path, {"core.py": CORE, "gone.txt": "a\nb\n", "run.sh": "echo\n"})
    headway.pair.fork.commit("fork: own items", {"core.py": OURS, "gone.txt": None})
    change = headway.pair.upstream.commit("scale items", {"core.py": THEIRS, "gone.txt": "a\nB\n"})
    headway.begin()
    headway.ok("sync", "run")
    assert headway.answer(change) == "deferred(conflict)"
    return headway, change


def test_a_person_resolves_in_a_folder_and_the_next_run_lands_it(deferred: tuple[Headway, Sha]) -> None:
    headway, change = deferred
    fork = headway.pair.fork
    objects, refs = fork.objects(), fork.refs()
    opened = headway.ok("sync", "resolve", change[:10], "--json").json
    folder = Path(opened["folder"])
    assert opened["conflicts"] == ["core.py", "gone.txt"]
    assert "<<<<<<< fork" in (folder / "core.py").read_text()
    unmerged = fork.git("-C", str(folder), "status", "--porcelain")
    assert "UU core.py" in unmerged and "DU gone.txt" in unmerged
    again = headway("sync", "resolve", change)
    assert again.code == 1 and "is not empty" in again.err

    refused = headway("sync", "resolve", change, "--continue")
    assert refused.code == 1 and "refused(conflict_markers): core.py" in refused.out
    (folder / "core.py").write_text(THEIRS.replace("scaled(helper(item), 2)", "own(item)"))
    refused = headway("sync", "resolve", change, "--continue", "--json")
    assert [one["reason"] for one in refused.json["refusals"]] == ["call_site_dropped"]
    (folder / "own.txt").write_text("theirs\n")
    (folder / "core.py").write_text(RIGHT)
    refused = headway("sync", "resolve", change, "--continue")
    assert refused.code == 1 and "refused(outside_conflict): own.txt" in refused.out
    assert headway.answer(change) == "deferred(conflict)" and (fork.objects(), fork.refs()) == (objects, refs)

    (folder / "own.txt").write_text("ours\n")
    (folder / "gone.txt").unlink()
    said = headway.ok("sync", "resolve", change, "--continue", "--dry-run")
    assert "every rail passed; it would be taken" in said.out and headway.answer(change) == "deferred(conflict)"
    said = headway.ok("sync", "resolve", change, "--continue")
    assert "every rail passed; the next `headway sync run` takes it" in said.out and not folder.exists()
    assert headway.answer(change) == "pending"
    [row] = headway.ok("sync", "plan", "--json").json["pending"]
    assert (row["trial"], row["would"]) == ("conflict", "take")
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    assert picture(headway.pair)[-1].endswith("Resolved-By: human")
    assert fork.read("core.py", "headway/sync") == RIGHT.rstrip("\n")
    assert "gone.txt" not in fork.git("ls-tree", "--name-only", "headway/sync").split()
    assert headway.status()["closed"]


def test_resolved_files_from_anywhere_and_what_makes_no_sense(deferred: tuple[Headway, Sha], tmp_path: Path) -> None:
    headway, change = deferred
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "core.py").write_text(RIGHT)
    said = headway("sync", "resolve", change, "--from", str(elsewhere))
    assert said.code == 1 and "has no gone.txt, which is in conflict" in said.err
    said = headway("sync", "resolve", change, "--continue", "--dir", str(elsewhere))
    assert said.code == 1 and "is no folder that `headway sync resolve` made" in said.err
    (elsewhere / "gone.txt").write_text("a\nB\n")
    headway.ok("sync", "resolve", change, "--from", str(elsewhere))
    fine = headway.pair.upstream.commit("notes", {"notes.txt": str(BASE["notes.txt"]) + "more\n"})
    headway.ok("sync", "run")
    assert headway.answer(change) == headway.answer(fine) == "picked(landed)"
    assert headway.pair.fork.read("gone.txt", "headway/sync") == "a\nB"
    for name, words in (
        (change, "has landed as"),
        ("0" * 12, "names no commit"),
        (headway.pair.fork.head("main"), "not an"),
    ):
        said = headway("sync", "resolve", name)
        assert said.code == 1 and words in said.err


def test_an_answer_to_a_conflict_that_has_moved_on_is_not_taken(deferred: tuple[Headway, Sha]) -> None:
    headway, change = deferred
    folder = Path(headway.ok("sync", "resolve", change, "--json").json["folder"])
    assert json.loads((folder / ".git" / "headway-resolve.json").read_text())["change"] == change
    headway.pair.fork.commit("fork: other items", {"core.py": OURS.replace("own(item)", "other(item)")})
    headway.ok("sync", "run")
    (folder / "core.py").write_text(RIGHT)
    said = headway("sync", "resolve", change, "--continue")
    assert said.code == 1 and "was made for another conflict" in said.err


def test_while_a_run_goes_on_the_answer_waits_in_the_inbox(deferred: tuple[Headway, Sha], tmp_path: Path) -> None:
    headway, change = deferred
    folder = tmp_path / "work"
    headway.ok("sync", "resolve", change, "--dir", str(folder))
    (folder / "core.py").write_text(RIGHT)
    (folder / "gone.txt").unlink()
    with WriterLock(headway.pair.fork.path / ".git" / "headway" / "lock", SystemClock()).held():
        said = headway.ok("sync", "resolve", change, "--continue", "--dir", str(folder))
        assert "left for the running loop" in said.out and headway.answer(change) == "deferred(conflict)"
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)" and picture(headway.pair)[-1].endswith("Resolved-By: human")
    assert folder.exists(), "a folder that the person named is the person's"
