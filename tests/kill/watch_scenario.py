"""A tier that turns red, is searched, told to people over real HTTP, and mended: what `validate watch` does, scripted.

Three looks of the clock: all is well; a test fails (and, with the suite `speed`, a metric is worse), its culprit is
searched for and an issue filed; mended, and the issue closed.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import git_bayesect  # noqa: F401  what the watch loads when it needs it, loaded once: the trials fork
import github  # noqa: F401
import scipy.special  # noqa: F401

from headway.adapters.clocks import HandClock
from headway.adapters.folder_forge import FolderForge
from headway.adapters.processes import run as git
from headway.adapters.scripted_executor import Reply, ScriptedExecutor
from headway.core.events_validate_tiers import TierEnded
from headway.core.ports.executor import Command
from headway.wiring import validate_watch
from headway.wiring.validate_room import Asked
from headway.wiring.world import World
from tests.adapters.github_server import TOKEN, GitHubServer
from tests.kill.crash import Scenario
from tests.kill.records import progress, records
from tests.validate.shell_forks import FILES, TOML, WRONG, new_shell_fork

BEGAN = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)
LOOKS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("well", {}),
    ("guilty", {"engine.sh": WRONG}),
    ("slow", {"cost": "1.40\n"}),
    ("mend", {"engine.sh": str(FILES["engine.sh"]), "cost": "1.00\n"}),
)
SEEN_AT = ("well", "slow", "mend")
"""Where trunk stands when the clock strikes."""


def suite(command: Command) -> Reply:
    """`run.sh` and `measure.sh` of the shell forks, from the files alone."""
    if "measure.sh" in command.argv[-1]:
        return Reply(writes={"speed.txt": f"engine_time {(command.cwd / 'cost').read_text().strip()} s\n".encode()})
    wrong = "* 3" in (command.cwd / "engine.sh").read_text()
    fault = "<failure message='double returned wrong product'/>" if wrong else ""
    cases = f"<testcase classname='checks' name='doubles'>{fault}</testcase><testcase classname='checks' name='sees'/>"
    return Reply(exit=int(wrong), writes={"report.xml": f"<testsuite>{cases}</testsuite>".encode()})


def toml(url: str, suites: str) -> str:
    forge = f'[forge]\nkind = "github"\nrepository = "o/r"\napi_url = "{url}"\npause = "0s"\n'
    whole = re.sub(r"\[forge\].*?(?=\[\[)", forge, TOML, count=1, flags=re.DOTALL)
    return whole.replace('suites = ["unit", "speed"]', f"suites = {suites}")


def prepare(place: Path, url: str, suites: str) -> None:
    fork = new_shell_fork(place, toml(url, suites))
    for subject, files in LOOKS:
        fork.commit(subject, {"note": subject, **files})
        if subject in SEEN_AT:
            fork.repo.git("branch", subject)


def run(place: Path) -> None:
    """The clock strikes three times, a day apart; what was killed is begun again on the same day."""
    for day, subject in list(enumerate(SEEN_AT))[ended(place) :]:
        git(["git", "reset", "--quiet", "--hard", subject], cwd=place / "fork")
        clock = HandClock(BEGAN + timedelta(days=day))
        world = World({**os.environ, "GITHUB_TOKEN": TOKEN}, clock, ScriptedExecutor([suite]))
        asked = Asked(place / "fork", place / "state", world=world)
        validate_watch.watch(asked, once=True, say=lambda _: None)


def ended(place: Path) -> int:
    """How many of the looks have come to their end."""
    if not progress(place / "state"):
        return 0
    return sum((stream, kind) == ("validation/toy", TierEnded.TYPE) for stream, kind, _ in records(place / "state"))


def picture(place: Path) -> dict[str, Any]:
    """Every stream of the log without recovery, and every issue with its comments.

    Stream by stream: a search that was killed in the middle goes on in a stream of its own, and the intent that began
    it is written again behind its first probes.
    """
    streams: dict[str, list[tuple[str, Any]]] = {}
    for stream, kind, payload in records(place / "state"):
        streams.setdefault(stream, []).append((kind, payload))
    return {"log": streams, "issues": FolderForge(place / "forge").rows()["issues"]}


def watch_scenario(url: str, suites: str = '["unit"]') -> Scenario:
    def prepared(place: Path) -> None:
        prepare(place, url, suites)

    return Scenario("watch", prepared, run, picture, lambda place: progress(place / "state"))


@contextmanager
def github_server(forge: Path) -> Iterator[str]:
    """The server in a process of its own, so that this one may fork; it reads the folder anew for each call."""
    ours, theirs = get_context("fork").Pipe()
    process = get_context("fork").Process(target=_serve, args=(forge, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("enough")
        process.join(10)


def _serve(forge: Path, pipe: Connection) -> None:
    with GitHubServer(FolderForge(forge)) as server:
        pipe.send(server.url)
        pipe.recv()
