"""A part of the demo's pair, synced from `init` to the end, scripted so that nothing else moves."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.adapters.clocks import HandClock
from headway.adapters.processes import run as git
from headway.adapters.scripted_executor import Reply, ScriptedExecutor
from headway.core.events_sync import RunEnded
from headway.core.ports.executor import Command
from headway.demo.recipe import UPSTREAM
from headway.demo.repositories import build_pair
from headway.sync.opening import Answers
from headway.wiring import sync, sync_init
from tests.kill.crash import Scenario
from tests.kill.records import progress, records

KEYS = {"identities", "sixteen", "shout", "order", "ci", "unorder", "shift", "uses"}
CHANGES = tuple(commit for commit in UPSTREAM if commit.key in KEYS)
"""Every disposition, a conflict and a red L1; the demo's others would only make each trial longer."""
TRUTH = {commit.key: commit.truth for commit in CHANGES}
NOW = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)
POLICY = """
[[policy]]
paths = [".github/**"]
decide = "wont_port"
reason = "the fork has its own CI"
"""
FORMAT = "%T %an <%ae> %aI%n%B"


def suite(command: Command) -> Reply:
    """The scripted L1: red where the tree shouts or was broken on purpose, green elsewhere, from the files alone."""
    shouts = "op.upper()" in (command.cwd / "tinyc/ir.py").read_text()
    broken = "headway:" in (command.cwd / "tinyc/__init__.py").read_text()
    failure = '<failure message="red"/>' if shouts or broken else ""
    xml = f'<testsuite><testcase classname="test_acme" name="test_case" time="0">{failure}</testcase></testsuite>'
    return Reply(exit=1 if failure else 0, output=b"ran", writes={"junit.xml": xml.encode()})


def prepare(place: Path) -> None:
    build_pair(place, CHANGES)


def world(place: Path) -> sync.World:
    return sync.World(dict(os.environ), HandClock(NOW), ScriptedExecutor([suite]))


def run(place: Path) -> None:
    """What a person would type after a crash: the same commands again."""
    fork, state = place / "fork", place / "state"
    if ended(state):
        return  # killed after its last record: another run would be another run
    config = fork / "headway.toml"
    if not config.exists() or POLICY not in config.read_text():
        answers = Answers(
            str(place / "upstream"), "main", "demo", "main", test="python3 tests/run.py", junit=("junit.xml",)
        )
        sync_init.init(fork, answers, state, world(place))
        config.write_text(config.read_text() + POLICY)
    sync.run(fork, state, limit=0, world=world(place))


def ended(state: Path) -> bool:
    """Whether the log says that the run came to its end."""
    return progress(state) > 0 and any(kind == RunEnded.TYPE for _, kind, _ in records(state))


def picture(place: Path) -> dict[str, Any]:
    """Everything that must come out the same, without time stamps, hashes and recovery events."""
    fork = place / "fork"
    branch = git(["git", "log", "--first-parent", f"--format={FORMAT}", "headway/sync"], cwd=fork).text
    trunk = git(["git", "rev-parse", "main"], cwd=fork).text
    return {"branch": branch, "trunk": trunk, "log": records(place / "state")}


def dispositions(place: Path) -> Mapping[str, str]:
    """Subject of each upstream change -> what the log says became of it."""
    found: dict[str, str] = {}
    for _, kind, payload in records(place / "state"):
        if kind.startswith("sync.disposed"):
            found[payload["change"]] = payload["kind"]
    return found


SYNC = Scenario("sync", prepare, run, picture, lambda place: progress(place / "state"))
