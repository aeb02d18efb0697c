"""The demonstration from top to bottom: build, init, sync with a kill, validate, tune with a kill, prove, account.

Every step runs the real `headway` as a process of its own, so that a kill -9 is a real one and what a reader sees in
the folder is what the commands left there. This module only orders the steps; `counting.py` reads back what happened.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.adapters.processes import run
from headway.adapters.victims import Victim, start
from headway.core.errors import CouldNotRun, HeadwayError
from headway.demo.counting import answers_logged, attempts_logged
from headway.demo.recipe import UPSTREAM
from headway.demo.repositories import Pair, build_pair

CONFIG = """
[l1]
test = "python3 tests/run.py"
junit = ["junit.xml"]

[[policy]]
paths = [".github/**"]
decide = "wont_port"
reason = "the fork has its own CI"
"""

TUNE_TASK = "cpu-matmul"


@dataclass
class Demo:
    """What the demo has done so far; filled in step by step, read at the end."""

    folder: Path
    say: Callable[[str], None]
    kills: int = 0
    resumed: bool = True
    could_not_run: list[str] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    board: dict[str, Any] = field(default_factory=dict)
    validated: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """The one state folder handed to all verbs."""
        return self.folder / "state"

    @property
    def campaign(self) -> Path:
        return self.folder / "campaign"

    def headway(self, *args: str, cwd: Path | None = None) -> str:
        """Run one verb to its end and return its stdout. Raises HeadwayError with the verb's own sentence."""
        done = run(self.argv(*args), cwd=cwd, set_env=self.environment(), ok=None)
        if done.code == CouldNotRun.exit_code:
            raise CouldNotRun(f"`headway {' '.join(args[:2])}` could not run: {done.complaint}")
        if done.code != 0:
            raise HeadwayError(f"`headway {' '.join(args[:2])}` ended with exit code {done.code}: {done.complaint}")
        return done.text

    def killed(self, *args: str, cwd: Path, once: Callable[[], bool], what: str) -> None:
        """Run one verb and kill -9 its whole process group as soon as `once()` holds."""
        victim = start(self.argv(*args), cwd=cwd, set_env=self.environment())
        if _wait_for(victim, once):
            victim.kill()
            self.kills += 1
            self.say(f"  killed with SIGKILL {what}; starting it again")
        else:
            # it was quicker than we were: nothing was killed, and the demo must not claim it
            self.resumed = False

    def argv(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "headway", *args]

    def environment(self) -> dict[str, str]:
        return {"HEADWAY_STATE": str(self.state)}


def tell(folder: Path | None, say: Callable[[str], None]) -> dict[str, Any]:
    """Run the whole demonstration and return its account (the `--json` line). Long: a minute or two.

    Raises HeadwayError when a verb refuses what it must accept, or the account does not close.
    """
    began = time.monotonic()
    demo = Demo(_new_folder(folder), say)
    say(f"demo: everything is kept in {demo.folder}")
    pair = _build(demo)
    _sync(demo, pair)
    _validate(demo, pair)
    _tune(demo)
    demo.headway("log", "verify", "--state", str(demo.state))
    say("log: the chain of both jobs verifies")
    return _account(demo, pair, time.monotonic() - began)


def _new_folder(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="headway-demo-")).resolve()
    if wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
        raise HeadwayError(f"{wanted} exists and is not an empty folder.", "Name a new folder with --dir.")
    wanted.mkdir(parents=True, exist_ok=True)
    return wanted.resolve()


def _build(demo: Demo) -> Pair:
    pair = build_pair(demo.folder)
    demo.say(f"repositories: upstream has {len(UPSTREAM)} changes that the fork lacks")
    demo.headway("init", "--upstream", str(pair.upstream), cwd=pair.fork)
    config = pair.fork / "headway.toml"
    config.write_text(config.read_text() + CONFIG)
    run(["git", "add", "headway.toml"], cwd=pair.fork)
    run(["git", "commit", "--quiet", "-m", "headway: follow upstream"], cwd=pair.fork)
    return pair


def _sync(demo: Demo, pair: Pair) -> None:
    demo.say("sync: planning, then taking what passes; L1 runs on every bundle")
    demo.headway("sync", "plan", cwd=pair.fork)
    twice = "after two answers of L1"
    demo.killed("sync", "run", cwd=pair.fork, once=lambda: answers_logged(demo.state) >= 2, what=twice)
    demo.headway("sync", "run", cwd=pair.fork)
    demo.status = json.loads(demo.headway("sync", "status", "--json", cwd=pair.fork))
    demo.say(demo.headway("sync", "status", cwd=pair.fork))


def _validate(demo: Demo, pair: Pair) -> None:
    demo.validated = json.loads(demo.headway("validate", "run", "L1", "headway/sync", "--json", cwd=pair.fork))
    demo.say("validate: L1 on headway/sync is green")


def _tune(demo: Demo) -> None:
    if shutil.which("cc") is None:
        demo.could_not_run.append("could_not_run(no C compiler)")
        demo.say("tune: could_not_run(no C compiler); install one (Debian: gcc) and run the demo again")
        return
    demo.say(f"tune: a short campaign on {TUNE_TASK}, searched without a model")
    folder = str(demo.campaign)
    limits = ("--attempts", "40", "--seconds", "60")
    launch = ("tune", "run", TUNE_TASK, "--agent", "search", *limits, "--dir", folder)
    demo.killed(*launch, cwd=demo.folder, once=lambda: attempts_logged(demo.state) >= 2, what="after two attempts")
    demo.headway("tune", "resume", cwd=demo.folder)
    demo.say(demo.headway("tune", "show", cwd=demo.folder))
    demo.board = json.loads(demo.headway("tune", "show", "--json", cwd=demo.folder))


def _wait_for(victim: Victim, once: Callable[[], bool]) -> bool:
    """True as soon as `once()` holds while the process lives; False if it ended first, as its own budget makes it."""
    while victim.alive():
        if once():
            return victim.alive()
        time.sleep(0.02)
    return False


def _speedup(board: dict[str, Any]) -> dict[str, Any] | None:
    """The incumbent's re-measured ratio; None where nothing was promoted."""
    best = board.get("incumbent")
    return None if best is None else {"ratio": best["ratio"], "interval": best["interval"]}


def _account(demo: Demo, pair: Pair, seconds: float) -> dict[str, Any]:
    return {
        "schema": "headway.demo/1",
        "dispositions": demo.status["dispositions"],
        "closed": demo.status["closed"],
        "resumed": demo.resumed and demo.kills > 0,
        "kills": demo.kills,
        "speedup": _speedup(demo.board),
        "could_not_run": demo.could_not_run,
        "seconds": round(seconds, 1),
        "fork": str(pair.fork),
        "upstream": str(pair.upstream),
        "log": str(demo.state / "log.sqlite3"),
        "state": str(demo.state),
    }
