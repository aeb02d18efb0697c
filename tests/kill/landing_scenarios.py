"""Small scenarios of what moves a branch: a direct landing on trunk, a landing by pull request, and an undo."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from headway.adapters.clocks import HandClock
from headway.adapters.folder_forge import FolderForge
from headway.adapters.scripted_executor import Reply, ScriptedExecutor
from headway.core.errors import HeadwayError
from headway.core.events_loop import LandingUndone
from headway.core.events_sync import RunEnded
from headway.core.ports.executor import Command
from headway.sync.opening import Answers
from headway.wiring import sync, sync_init
from headway.wiring.sync_people import undo_landing
from tests.kill.crash import Scenario
from tests.kill.records import progress, records
from tests.sync.repos import Repo, new_pair

NOW = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)
FORMAT = "%T %an <%ae> %aI %cn %cI%n%B"


def suite(command: Command) -> Reply:
    """Red where the tree is bad or was broken on purpose, green elsewhere, from the files alone."""
    red = (command.cwd / "bad.txt").exists() or "headway:" in (command.cwd / "engine.py").read_text()
    xml = f'<testsuite><testcase classname="t" name="t" time="0">{"<failure/>" if red else ""}</testcase></testsuite>'
    return Reply(exit=int(red), output=b"ran", writes={"junit.xml": xml.encode()})


ALL = ("one", "bad", "two")
"""Upstream's changes; the second is red, so that the three are two landings and an ejection."""


def prepare(place: Path, names: tuple[str, ...] = ALL) -> None:
    """Some changes and a begun ledger; the fork's trunk is checked out nowhere."""
    pair = new_pair(place, {"engine.py": "def add(a, b):\n    return a + b\n"})
    pair.fork.commit("fork: own file", {"own.txt": "ours\n"})
    for name in names:
        pair.upstream.commit(name, {f"{name}.txt": f"{name}\n"})
    answers = Answers(str(place / "upstream"), "main", "small", "main", test="sh t", junit=("junit.xml",))
    sync_init.init(place / "fork", answers, place / "state", world())
    fork_of(place).git("checkout", "--quiet", "--detach")


def prepare_direct(place: Path, names: tuple[str, ...] = ALL) -> None:
    prepare(place, names)
    _configure(place, 'mode = "direct"')


def prepare_request(place: Path, names: tuple[str, ...] = ALL) -> None:
    """Paths are relative: the folder is copied, and each copy has its own forge."""
    prepare(place, names)
    FolderForge.create(place / "forge")
    fork = fork_of(place)
    fork.git("remote", "set-url", "origin", "../forge/repo.git")
    fork.git("push", "--quiet", "origin", "main")
    _configure(place, 'mode = "pull-request"', '\n[forge]\nkind = "folder"\nrepository = "../forge"\n')


def prepare_undo(place: Path, names: tuple[str, ...] = ALL) -> None:
    """The same with all that is green landed."""
    prepare(place, names)
    run(place)


def run(place: Path) -> None:
    """What a person would type after a crash: the same command again, unless it had come to its end."""
    if not any(kind == RunEnded.TYPE for _, kind, _ in records(place / "state")):
        sync.run(place / "fork", place / "state", limit=0, world=world())


def undo(place: Path) -> None:
    """The first landing is taken back; that it was already is what a killed undo says the second time."""
    first = next(payload["commit"] for _, kind, payload in records(place / "state") if kind == "sync.landed.v1")
    try:
        undo_landing(place / "fork", place / "state", first, "why", later=False, dry_run=False, world=world())
    except HeadwayError as said:
        assert "no landing of headway that still stands" in str(said), said
        assert any(kind == LandingUndone.TYPE for _, kind, _ in records(place / "state")), said


def picture(place: Path) -> dict[str, Any]:
    """Branches and log, without time stamps, hashes and recovery; on the forge the branch and every request."""
    fork = fork_of(place)
    refs = fork.git("for-each-ref", "--format=%(refname)", "refs/heads").splitlines()
    branches = {ref: fork.git("log", "--first-parent", f"--format={FORMAT}", ref) for ref in refs}
    found = {"branches": branches, "log": records(place / "state")}
    if (place / "forge").exists():
        forge = FolderForge(place / "forge")
        found["requests"] = forge.rows()
        found["pushed"] = fork.git(f"--git-dir={forge.repo}", "for-each-ref", "--format=%(refname) %(objectname)")
    return found


def world() -> sync.World:
    return sync.World(dict(os.environ), HandClock(NOW), ScriptedExecutor([suite]))


def fork_of(place: Path) -> Repo:
    return Repo(place / "fork", "Fork Owner", hours=2000)


def _configure(place: Path, mode: str, more: str = "") -> None:
    toml = place / "fork" / "headway.toml"
    toml.write_text(toml.read_text().replace('mode = "branch"', mode) + more)


def _scenario(name: str, prepared: Callable[[Path], None], does: Callable[[Path], None]) -> Scenario:
    return Scenario(name, prepared, does, picture, lambda place: progress(place / "state"))


DIRECT = _scenario("direct", prepare_direct, run)
REQUEST = _scenario("pull-request", prepare_request, run)
UNDO = _scenario("undo", prepare_undo, undo)


def smaller(scenario: Scenario) -> Scenario:
    """The same with one change of upstream's only."""
    return replace(scenario, prepare=partial(scenario.prepare, names=("one",)))
