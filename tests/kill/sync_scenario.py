"""The demo's pair, synced from `init` to the end: every disposition, a failing L1, scripted so nothing else moves."""

import json
import os
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.adapters.clocks import HandClock
from headway.adapters.processes import run as git
from headway.adapters.scripted_executor import Reply, ScriptedExecutor
from headway.core.events_core import RECOVERY_TYPES
from headway.core.ports.executor import Command
from headway.demo.recipe import UPSTREAM
from headway.demo.repositories import build_pair
from headway.sync.opening import Answers
from headway.wiring import sync
from tests.kill.crash import Scenario

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
    build_pair(place)


def world(place: Path) -> sync.World:
    return sync.World(dict(os.environ), HandClock(NOW), ScriptedExecutor([suite]))


def run(place: Path) -> None:
    """What a person would type after a crash: the same commands again."""
    fork, state = place / "fork", place / "state"
    config = fork / "headway.toml"
    if not config.exists() or POLICY not in config.read_text():
        answers = Answers(
            str(place / "upstream"), "main", "demo", "main", test="python3 tests/run.py", junit=("junit.xml",)
        )
        sync.init(fork, answers, state, world(place))
        config.write_text(config.read_text() + POLICY)
    sync.run(fork, state, limit=0, world=world(place))


def picture(place: Path) -> dict[str, Any]:
    """Everything that must come out the same, without time stamps, hashes and recovery events."""
    fork = place / "fork"
    branch = git(["git", "log", "--first-parent", f"--format={FORMAT}", "headway/sync"], cwd=fork).text
    trunk = git(["git", "rev-parse", "main"], cwd=fork).text
    return {"branch": branch, "trunk": trunk, "log": records(place / "state")}


def records(state: Path) -> list[tuple[str, str, Any]]:
    """(stream, type, payload) of every record but those of recovery; read with sqlite itself, not with headway."""
    with sqlite3.connect(state / "log.sqlite3") as db:
        rows = db.execute("SELECT stream, type, payload FROM records ORDER BY position").fetchall()
    db.close()
    return [(s, t, json.loads(p)) for s, t, p in without_retries(rows) if t not in RECOVERY_TYPES]


def without_retries(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Without the intents that recovery settled as `again`: the effect's second intent stands for it."""
    kept: list[tuple[str, str, str]] = []
    open_intents: dict[str, tuple[str, str, str]] = {}
    for row in rows:
        stream, kind, payload = row
        if kind == "core.intent.v1":
            open_intents[stream] = row
        if kind == "core.settled.v1":
            settled = json.loads(payload)
            if settled["outcome"] == "again":
                kept.remove(open_intents[stream])
            else:
                done = {"key": settled["key"], "kind": settled["kind"]}
                kept.append((stream, "core.done.v1", json.dumps(done)))
            continue
        kept.append(row)
    return kept


def dispositions(place: Path) -> Mapping[str, str]:
    """Subject of each upstream change -> what the log says became of it."""
    found: dict[str, str] = {}
    for _, kind, payload in records(place / "state"):
        if kind.startswith("sync.disposed"):
            found[payload["change"]] = payload["kind"]
    return found


TRUTH = {commit.key: commit.truth for commit in UPSTREAM}


def progress(place: Path) -> int:
    """Records that count, or none before there is a log."""
    return len(records(place / "state")) if (place / "state/log.sqlite3").exists() else 0


SYNC = Scenario("sync", prepare, run, picture, progress)
