"""A soak of the landing loop: generated upstream changes against a diverged fork, with kills, flakes and faults.

    python -m benchmarks.soak [--changes 500] [--seed 0] [--kills 40] [--keep DIR] [--json]

Upstream's changes arrive twenty at a time. Each turn is a `headway sync run` in a process of its own, killed with
SIGKILL by dice (after a random time, or at a random failpoint) and run again until it comes to its end; in some turns
upstream is away, L1 has a test that fails now and then, conflicts are put to an agent that lies, and people merge or
squash the landing branch into trunk. DIR then holds `upstream/`, `fork/`, `state/`, `kills.jsonl`, and `truth.tsv`,
which was written before the first run: each change with the disposition that is right for it.

Exit code 1 if the accounting did not close after every process, if trunk or the landing branch was ever red, or if
anything landed (or was left out) against the truth.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.soak_world import AT_ONCE, CONFIG, World, build
from headway.adapters.config_file import ConfigError, parse_config
from headway.adapters.processes import run
from headway.core.errors import HeadwayError
from headway.core.events import decode
from headway.core.events_validate import Reran, SuiteRan
from headway.sync.status import Status
from headway.wiring import open_state
from headway.wiring import sync as wiring

SCHEMA = "headway.bench.soak/1"
FLAKE = 0.03
LIAR = """
[agent]
use = "command"
command = "{python} -S {script}"
seconds = 20
tries = 1
"""
LIE = """import pathlib, subprocess
for path in pathlib.Path(".").rglob("*.txt"):
    body = path.read_text(errors="replace")
    if "<<<<<<<" in body:
        path.write_text(body.replace("theirs", "certainly tested"))
print("I resolved every conflict and all tests pass.")
"""


@dataclass
class Soak:
    """One soak; `world` is built, the fork is opened."""

    world: World
    kills_wanted: int
    dice: random.Random
    kills: list[dict[str, object]] = field(default_factory=list)
    closed: bool = True
    own_seconds: list[float] = field(default_factory=list)

    def through(self) -> Status:
        """All turns; the status at the end."""
        shas = [sha for sha, _ in self.world.made]
        turns = [*range(AT_ONCE, len(shas), AT_ONCE), len(shas)]
        for number, upto in enumerate(turns):
            self.world.git(self.world.upstream, "update-ref", "refs/heads/main", shas[upto - 1])
            if self.dice.random() < 0.2:
                self._upstream_away(number)
            due = self.kills_wanted * (number + 1) // len(turns) - len(self.kills)
            self._turn(number, max(due, 0))
            if number % 5 == 4 and number + 1 < len(turns):
                self._people_merge(squash=number % 10 == 9)
        return self._status()

    def _turn(self, number: int, kills: int) -> None:
        """Run until it comes to its end by itself, killed up to `kills` times on the way."""
        while True:
            killed = kills > 0
            how = self._run(number, kill=killed)
            kills -= how == "killed"
            self._status()
            if how == "done":
                return
            if how not in ("killed", "away"):
                raise SystemExit(f"turn {number}: {how}")
            if how == "killed":
                continue

    def _run(self, number: int, *, kill: bool) -> str:
        env = {**os.environ, "HEADWAY_STATE": str(self.world.folder / "state")}
        by_time = self.dice.random() < 0.5
        after = self.dice.uniform(0.3, 6.0) if by_time else 600.0
        if kill and not by_time:
            env["HEADWAY_FAILPOINT"] = str(self.dice.randint(1, 120))
        before, began = self._l1(), time.monotonic()
        argv = [sys.executable, "-m", "headway", "sync", "run"]
        process = subprocess.Popen(argv, cwd=self.world.fork, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            _, said = process.communicate(timeout=after if kill else 900)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
        seconds = time.monotonic() - began
        if process.returncode == -signal.SIGKILL:
            self._note(number, seconds, by_time)
            return "killed"
        if process.returncode == 0:
            self._measure(seconds, before, said)
            return "done"
        return "away" if b"partial_source" in said else said.decode("utf-8", "replace")

    def _note(self, number: int, seconds: float, by_time: bool) -> None:
        with open_state(self.world.folder / "state", read_only=True) as state:
            position = state.log.last_position()
        kill = {"turn": number, "seconds": round(seconds, 3), "by": "time" if by_time else "failpoint", "log": position}
        self.kills.append(kill)
        with (self.world.folder / "kills.jsonl").open("a") as file:
            file.write(json.dumps(kill) + "\n")

    def _measure(self, seconds: float, before: float, said: bytes) -> None:
        """headway's own share of an undisturbed run, for each change that it answered."""
        answered = sum(b"  picked(" in line or b"  deferred(" in line for line in said.splitlines())
        if answered >= AT_ONCE // 2:
            self.own_seconds.append(max(seconds - (self._l1() - before), 0.0) / answered)

    def _l1(self) -> float:
        """Seconds that L1's steps have taken so far, reruns of what failed among them."""
        with open_state(self.world.folder / "state", read_only=True) as state:
            kinds = (SuiteRan.TYPE, Reran.TYPE)
            events = (decode(r.type, r.payload) for r in state.log.read_all() if r.type in kinds)
            return sum(event.seconds for event in events if isinstance(event, SuiteRan | Reran))

    def _upstream_away(self, number: int) -> None:
        aside = self.world.upstream.with_name("away")
        self.world.upstream.rename(aside)
        how = self._run(number, kill=False)
        aside.rename(self.world.upstream)
        if how != "away":
            raise SystemExit(f"turn {number}: with upstream away the run ended with {how!r}")
        self._status()

    def _people_merge(self, *, squash: bool) -> None:
        git, fork = self.world.git, self.world.fork
        if not git(fork, "for-each-ref", "refs/heads/headway/sync"):
            return
        self.world.hours += 1
        if not squash:
            git(fork, "merge", "-q", "--no-ff", "-m", "Merge headway/sync", "headway/sync", who="Fork Owner")
            return
        git(fork, "merge", "-q", "--squash", "headway/sync")
        message = "Sync with upstream\n\n" + git(fork, "log", "--format=%B", "main..headway/sync")
        git(fork, "commit", "-q", "-F", "-", who="Fork Owner", stdin=message)

    def _status(self) -> Status:
        status = wiring.status(self.world.fork, self.world.folder / "state")
        self.closed = self.closed and status.closure.closed
        return status


def main(argv: Sequence[str] | None = None) -> int:
    """Print one JSON object, or a line for each of its keys."""
    options = _options(argv)
    with tempfile.TemporaryDirectory(prefix="headway-soak-") as scratch:
        folder = options.keep or Path(scratch, "soak")
        found = soak(folder, options.changes, options.seed, options.kills)
    if options.json:
        print(json.dumps({"schema": SCHEMA, **found}))
    else:
        for name, value in found.items():
            print(f"{name:20} {value}")
    bad = found["bad_landings"] or found["wrong"] or not (found["closed_every_step"] and found["trunk_green"])
    return 1 if bad else 0


def soak(folder: Path, changes: int, seed: int, kills: int) -> Mapping[str, object]:
    """Build the world in `folder` (which must not exist), go through it, and compare the end with the truth."""
    if folder.exists() and any(folder.iterdir()):
        raise HeadwayError(f"{folder} is not empty.", "Give --keep a folder that does not exist yet.")
    folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)
    world = World(folder, dice)
    build(world, changes)
    script = folder / "liar.py"
    script.write_text(LIE)
    config = CONFIG.format(upstream=world.upstream, python=sys.executable, flake=FLAKE)
    config = _with_liar(config, LIAR.format(python=sys.executable, script=script))
    (world.fork / "headway.toml").write_text(config)
    world.hours += 1
    world.git(world.fork, "add", "headway.toml")
    world.git(world.fork, "commit", "-q", "-m", "headway: begin", who="Fork Owner")
    base = world.git(world.upstream, "rev-parse", f"{world.made[0][0]}^")
    world.git(world.upstream, "update-ref", "refs/heads/main", base)
    state = {"HEADWAY_STATE": str(folder / "state")}
    run([sys.executable, "-m", "headway", "init", "--upstream", str(world.upstream)], cwd=world.fork, set_env=state)
    began = time.monotonic()
    one = Soak(world, kills, dice)
    status = one.through()
    return _found(one, status) | {"seconds": round(time.monotonic() - began)}


def _with_liar(config: str, agent: str) -> str:
    """A headway whose ladder has no agent yet refuses the section: the soak then goes without, and says so."""
    try:
        parse_config((config + agent).encode(), "soak")
    except ConfigError:
        sys.stderr.write("no agent: this headway's ladder asks none\n")
        return config
    return config + agent


def _found(one: Soak, status: Status) -> dict[str, object]:
    wrong = [
        f"{sha[:12]} {made.subject}: {kind}, not {right}"
        for sha, made in one.world.made
        if (kind := _kind(status, sha)) not in (right := _right(one.world, sha)).split("|")
    ]
    for line in wrong:
        sys.stderr.write(f"wrong: {line}\n")
    landed = {sha for sha, _ in one.world.made if _kind(status, sha) == "picked"}
    bad = [sha for sha in landed if "picked" not in _right(one.world, sha).split("|")]
    red = _red_positions(one.world)
    return {
        "landed": len(landed),
        "deferred": status.closure.counts["deferred"],
        "closed_every_step": one.closed,
        "trunk_green": not red,
        "bad_landings": len(bad),
        "kills": len(one.kills),
        "overhead_seconds": round(statistics.median(one.own_seconds), 3) if one.own_seconds else None,
        "wrong": len(wrong),
        "pending": status.closure.pending,
    }


def _kind(status: Status, sha: str) -> str:
    found = {str(change): answer.kind for change, answer in status.ledger.dispositions.items()}
    return found.get(sha, "pending")


def _right(world: World, sha: str) -> str:
    rows = (world.folder / "truth.tsv").read_text().splitlines()[1:]
    return next(row.split("\t")[1] for row in rows if row.startswith(sha))


def _red_positions(world: World) -> list[str]:
    """Positions of trunk and of the landing branch, from git's own reflogs, at which the suite is red (no flakes)."""
    seen: dict[str, None] = {}
    for ref in ("main", "headway/sync"):
        if world.git(world.fork, "for-each-ref", f"refs/heads/{ref}"):
            seen |= dict.fromkeys(world.git(world.fork, "reflog", "show", "--format=%H", ref).split())
    red = []
    for commit in seen:
        with tempfile.TemporaryDirectory() as tree:
            archive = run(["git", "archive", commit], cwd=world.fork).stdout
            run(["tar", "-x", "-C", tree], stdin=archive)
            if run([sys.executable, "-S", "check.py"], cwd=Path(tree), ok=None).code:
                red.append(commit)
                sys.stderr.write(f"red: {commit}\n")
    return red


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--changes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--keep", type=Path, help="A folder that stays; it must not exist yet.")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
