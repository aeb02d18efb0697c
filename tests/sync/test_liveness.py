"""The liveness alarm through the command line: an exit code, a field, two events, and one issue for people."""

from pathlib import Path

from headway.adapters.folder_forge import FolderForge
from headway.core.events_loop import MovedOn, StoodStill
from tests.sync.driver import L1, POLICY, new_fork
from tests.sync.test_bundles import events

AT_ONCE = "\n[watch]\nalarm_hours = 0.00001\n"
"""36 milliseconds: less than any run takes."""
BROKEN = L1.replace("-S check.py", "-S no-such-file.py")
"""Says nothing about any change, so every run stops and nothing moves."""


def test_a_frontier_that_stands_still_is_an_alarm_until_it_moves(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    one = headway.pair.upstream.commit("one", {"one.txt": "1\n"})
    forge = FolderForge.create(tmp_path / "forge")
    headway.begin(l1=BROKEN, policy=f'{POLICY}{AT_ONCE}\n[forge]\nkind = "folder"\nrepository = "../forge"\n')
    said = headway("sync", "run")
    assert said.code == 4 and "ALARM: the frontier has not moved since" in said.err
    headway("sync", "run")
    [still] = events(headway, StoodStill)
    assert (still.waiting, still.issue, still.frontier) == (1, 1, headway.pair.upstream.made["base"])
    [issue] = forge.rows()["issues"].values()
    assert issue["state"] == "open" and "stands still" in issue["title"] and "1 pending" in issue["body"]

    status = headway("sync", "status", "--json")
    assert status.code == 1 and status.json["alarm"].startswith("ALARM: the frontier has not moved for")
    live = status.json["liveness"]
    assert (live["stands_still"], live["waiting"], live["since"], live["issue"]) == (True, 1, still.since, 1)
    assert headway("sync", "status").out.splitlines()[-1] == status.json["alarm"]

    toml = headway.pair.fork.path / "headway.toml"
    toml.write_text(toml.read_text().replace("no-such-file.py", "check.py"))
    said = headway.ok("sync", "run")
    assert "is over: the frontier has moved" in said.err and headway.answer(one) == "picked(landed)"
    [moved] = events(headway, MovedOn)
    assert (moved.since, moved.frontier) == (still.since, one)
    live = headway.status()["liveness"]
    assert (live["stands_still"], live["hours"], live["issue"]) == (False, None, None)
    assert [row["state"] for row in forge.rows()["issues"].values()] == ["closed"]


def test_a_forge_that_cannot_be_asked_keeps_no_alarm_back(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    headway.pair.upstream.commit("one", {"one.txt": "1\n"})
    headway.begin(l1=BROKEN, policy=f'{POLICY}{AT_ONCE}\n[forge]\nkind = "folder"\nrepository = "../forge"\n')
    said = headway("sync", "run")
    assert "ALARM: the frontier has not moved since" in said.err and "Mend `[forge] repository`" in said.err, said.err
    FolderForge.create(tmp_path / "forge")
    headway("sync", "run")
    assert [still.issue for still in events(headway, StoodStill)] == [0, 1]
