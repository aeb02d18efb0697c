"""headway's own cost per landed change: everything but the L1 command itself, on a fork made for it.

    python -m benchmarks.landing_overhead [--changes 40] [--json]

L1 is a suite of the fork that takes a few hundredths of a second; the seconds its steps took are taken off. Clone,
sandbox, trial pick, rails, commit, log and branch are headway's own.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, show
from headway.adapters.clocks import SystemClock
from headway.adapters.processes import run
from headway.core.events import decode
from headway.core.events_validate import SuiteRan
from headway.sync.opening import Answers
from headway.wiring import open_state, sync_init
from headway.wiring import sync as wiring

SCHEMA = "headway.bench.landing_overhead/1"
CHECK = "import core\nassert core.VALUE >= 0\nprint('1 passed')\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row for changes that land one by one, and one for bundles."""
    options = _options(argv)
    rows = [_measured(options.changes, bundle) for bundle in (1, 20)]
    return show(SCHEMA, rows, as_json=options.json)


def _measured(changes: int, bundle: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        upstream, fork = Path(folder, "upstream"), Path(folder, "fork")
        _make(upstream, fork, changes)
        answers = Answers(str(upstream), "main", "bench", "main", test=f"{sys.executable} -S check.py")
        sync_init.init(fork, answers, None)
        with (fork / "headway.toml").open("a") as file:
            file.write(f"\n[plan]\nbundle = {bundle}\n")
        world = wiring.World(os.environ, SystemClock())
        moments = [time.perf_counter()]
        began = time.perf_counter()
        status = wiring.run(fork, None, 0, world, tell=lambda line: _note(moments, line))
        total = time.perf_counter() - began
        l1 = _l1_seconds(fork)
    landed = status.closure.counts["picked"]
    each = sorted(b - a for a, b in itertools.pairwise(moments))
    return {
        "name": f"bundles of {bundle}",
        "landed": landed,
        "total s": round(total, 2),
        "L1 steps s": round(sum(l1), 2),
        "own s each, mean": round((total - sum(l1)) / landed, 3),
        "own s each, median": round(statistics.median(each) - statistics.median(l1), 3) if bundle == 1 else "",
    }


def _note(moments: list[float], line: str) -> None:
    if "picked(landed)" in line:
        moments.append(time.perf_counter())


def _l1_seconds(fork: Path) -> list[float]:
    with open_state(fork / ".git" / "headway", read_only=True) as state:
        events = [decode(record.type, record.payload) for record in state.log.read_all()]
    return [event.seconds for event in events if isinstance(event, SuiteRan)]


def _make(upstream: Path, fork: Path, changes: int) -> None:
    upstream.mkdir()
    _git(upstream, "init", "-q", "-b", "main")
    (upstream / "core.py").write_text("VALUE = 0\n")
    (upstream / "check.py").write_text(CHECK)
    for number in range(200):
        (upstream / f"file{number}.txt").write_text("".join(f"{number}.{line}\n" for line in range(50)))
    _commit(upstream, "base")
    run(["git", "clone", "-q", "--no-hardlinks", str(upstream), str(fork)])
    (fork / "own.txt").write_text("ours\n")
    _commit(fork, "fork: own")
    for number in range(changes):
        path = upstream / f"file{number % 200}.txt"
        path.write_text(path.read_text().replace(".7\n", f".7 changed {number}\n"))
        _commit(upstream, f"change {number} (#{number})")


def _commit(repo: Path, subject: str) -> None:
    _git(repo, "add", "--all")
    _git(repo, "commit", "-q", "-m", subject)


def _git(repo: Path, *args: str) -> None:
    who = {f"GIT_{role}_{what}": "bench" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    run(["git", "-c", "commit.gpgSign=false", *args], cwd=repo, set_env=who)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.landing_overhead", description=__doc__)
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
