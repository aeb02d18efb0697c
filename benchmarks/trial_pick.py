"""What one trial pick costs: pending upstream changes of a fork picked in memory, one by one and stacked.

    python -m benchmarks.trial_pick --repo GIT [--trunk main] [--upstream NAME] [--changes 250] [--json]

`GIT` is any repository that holds both histories (for Triton see `benchmarks/adopt_triton.py`).
"""

import argparse
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, could_not_run, show
from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.core.names import Sha
from headway.core.ports.git import Clean, Trial, Unknown
from headway.sync.presence import trial_kind

SCHEMA = "headway.bench.trial_pick/1"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; exit code 4 where the repository or a name in it is absent."""
    options = _options(argv)
    if not options.repo.is_dir():
        return show(SCHEMA, [could_not_run("trial pick", f"{options.repo} is absent")], as_json=options.json)
    git = Git(options.repo)
    history = GitHistory(git)
    head, trunk = history.resolve(options.upstream), history.resolve(options.trunk)
    base = history.merge_base(trunk, head) if head and trunk else None
    if head is None or trunk is None or base is None:
        return show(SCHEMA, [could_not_run("trial pick", "no such history")], as_json=options.json)
    line = history.commits([head, f"^{base}"], first_parent=True)[-options.changes :]
    objects = git.text("count-objects", "-v")
    rows: list[Row] = [_measured("on trunk, each alone", options.repo, trunk, [c.sha for c in line], stacked=False)]
    rows.append(_measured("in order, stacked", options.repo, trunk, [c.sha for c in line], stacked=True))
    readable = _readable(options.repo, trunk, [c.sha for c in line])
    rows.append(_measured("each alone, those git can read", options.repo, trunk, readable, stacked=False))
    code = show(SCHEMA, rows, as_json=options.json)
    if git.text("count-objects", "-v") != objects:
        print("the repository's object count changed", file=sys.stderr)
        return 1
    return code


def _readable(repo: Path, trunk: Sha, changes: Sequence[Sha]) -> list[Sha]:
    """Without those for which an object is missing from this copy: each of them ends git's process."""
    with Quarantine(repo) as quarantine:
        merges = GitTrialMerges(quarantine)
        return [change for change in changes if not isinstance(merges.pick(change, trunk), Unknown)]


def _measured(name: str, repo: Path, trunk: Sha, changes: Sequence[Sha], *, stacked: bool) -> Row:
    seconds: list[float] = []
    results: Counter[str] = Counter()
    onto: str = trunk
    began, cpu = time.perf_counter(), _cpu_seconds()
    with Quarantine(repo) as quarantine:
        merges = GitTrialMerges(quarantine)
        for change in changes:
            start = time.perf_counter()
            trial: Trial = merges.pick(change, onto)
            seconds.append(time.perf_counter() - start)
            results[trial_kind(trial)] += 1
            if stacked and isinstance(trial, Clean):
                onto = trial.tree
    total = time.perf_counter() - began
    milliseconds = sorted(1000 * s for s in seconds)
    return {
        "name": name,
        "changes": len(changes),
        "median ms": round(statistics.median(milliseconds), 1),
        "p90 ms": round(milliseconds[int(0.9 * (len(milliseconds) - 1))], 1),
        "max ms": round(milliseconds[-1], 1),
        "cpu ms each": round(1000 * (_cpu_seconds() - cpu) / len(changes), 1),
        "total s": round(total, 2),
        **{kind: results[kind] for kind in ("clean", "conflict", "empty", "unknown")},
    }


def _cpu_seconds() -> float:
    """Processor time of this process and of its ended children; other work on the machine inflates it less."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trial_pick", description=__doc__)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--trunk", default="main")
    parser.add_argument("--upstream", default="63068fcc", help="upstream's head (default: Triton's of 2026-08-18)")
    parser.add_argument("--changes", type=int, default=250, help="how many, newest of the range")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
