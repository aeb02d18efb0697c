"""A simulated year of Meta's Triton fork: what headway would have taken, month by month, beside what the fork did.

Upstream's changes and the fork's own commits are walked by their commit dates from the fork point on. An upstream
change is assessed on its day as a run would (trial pick, ladder, rails; no L1: builds are not possible here): it is
taken, settled, or deferred, and deferred ones are tried again once a month. A commit of the fork's own is carried over
by git's pick; where that conflicts, the fork's side of every conflicted hunk is taken (its people would have adapted
it), and it counts as adapted.

    python -m benchmarks.half_year_triton --repo JOINED.git --keep DIR [--people] [--until 2026-04] [--json]

Without `--people` the fork's own resolutions of upstream's changes are not looked at: nobody ever resolves what was
deferred, what stands on it is deferred too, and the backlog is an upper bound. With it a deferred change is taken on
the day on which the fork's people really landed it, as they resolved it: headway beside the same people.

What it can show: how much of the flow conflicts at once when everything is taken on its day. What it cannot show:
whether the result builds or passes a test. Every change is answered on its day, so days behind are 0 by construction:
the debt is in the backlog. `--keep DIR` is where the walk is saved: the same command goes on with it.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.half_year_walk import DAY, Side, Standing, Step, Walk, month_of
from benchmarks.table import Row, could_not_run, show
from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.adapters.git_trees import GitTrees
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.core.config import AdoptConfig, Config, ForkConfig, UpstreamConfig
from headway.core.errors import HeadwayError
from headway.core.names import Digest, Sha
from headway.core.ports.git import Commit
from headway.sync.adopt import scan
from headway.sync.history import Range, upstream_range
from headway.sync.triage import Triage

SCHEMA = "headway.bench.half_year_triton/2"


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row a month; exit code 4 where the repository is absent."""
    options = _options(argv)
    if not options.repo.is_dir():
        return show(SCHEMA, [could_not_run("half year", f"{options.repo} is absent")], as_json=options.json)
    with tempfile.TemporaryDirectory(prefix="headway-half-year-") as scratch:
        return _walk(options, options.keep or Path(scratch))


def _walk(options: argparse.Namespace, place: Path) -> int:
    with Quarantine(options.repo, place / "quarantine") as quarantine:
        git = Git(options.repo, env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(quarantine.objects)})
        history = GitHistory(git)
        head, trunk = history.resolve(options.upstream), history.resolve(options.trunk)
        base = head and trunk and history.merge_base(trunk, head)
        if head is None or trunk is None or not base:
            return show(SCHEMA, [could_not_run("half year", "upstream is absent")], as_json=options.json)
        line = upstream_range(history, base, head, ())
        landed = _landed_by_the_fork(history, line, trunk)
        forks = history.commits([trunk, f"^{head}", f"^{base}"])
        steps = _steps(line.commits, forks, landed, people=options.people)
        commits = {commit.sha: commit for commit in line.commits}
        at = _standing(place, base, people=options.people)
        walk = Walk(_triage(quarantine, history, git, line), at, place, commits)
        walk.through([step for step in steps if month_of(step.when) <= options.until])
        dates = {commit.sha: commit.committed for commit in forks}
        rows = [_beside(row, line.commits, landed, dates) for row in walk.at.months]
    return show(SCHEMA, rows, as_json=options.json)


def _steps(
    upstream: Iterable[Commit], forks: Iterable[Commit], landed: Mapping[Sha, Sha], *, people: bool
) -> list[Step]:
    """Both sides by date; at the same second the fork's own commit comes first."""
    takes: dict[Sha, list[Sha]] = defaultdict(list)
    for change, taken_by in landed.items():
        takes[taken_by].append(change)
    found = [Step(commit.committed, "upstream", commit) for commit in upstream]
    for commit in forks:
        if len(commit.parents) == 1 and (people or commit.sha not in takes):
            side: Side = "landed" if commit.sha in takes else "own"
            found.append(Step(commit.committed, side, commit, tuple(takes.get(commit.sha, ()))))
    return sorted(found, key=lambda step: (step.when, step.side == "upstream"))


def _standing(place: Path, base: Sha, *, people: bool) -> Standing:
    """Where the walk in this folder stands. Raises HeadwayError if it was begun in the other way."""
    about = place / "walk.json"
    begun = {"base": base, "people": people}
    if about.exists() and json.loads(about.read_text()) != begun:
        raise HeadwayError(f"{place} holds another walk.", "Give --keep another folder.")
    about.write_text(json.dumps(begun))
    saved = place / "standing.json"
    return Standing.load(saved) if saved.exists() else Standing(base)


def _landed_by_the_fork(history: GitHistory, line: Range, trunk: Sha) -> dict[Sha, Sha]:
    """Upstream change -> the fork's commit that took it, as `adopt` reads it."""
    return {match.change: match.commit for match in scan(history, line, trunk, AdoptConfig()).matches}


def _beside(row: Row, upstream: Iterable[Commit], landed: Mapping[Sha, Sha], dates: Mapping[Sha, int]) -> Row:
    """What the fork itself did in that month, from its own history."""
    month = str(row["name"])
    lags: list[float] = []
    behind: list[int] = []
    for commit in upstream:
        there = dates.get(landed[commit.sha]) if commit.sha in landed else None
        if there is not None and month_of(there) == month:
            lags.append((there - commit.committed) / DAY)
        if month_of(commit.committed) <= month and (there is None or month_of(there) > month):
            behind.append(commit.committed)
    lag = round(statistics.median(lags)) if lags else ""
    return {**row, "fork: picked": len(lags), "fork: median lag, days": lag, "fork: not taken": len(behind)}


def _triage(quarantine: Quarantine, history: GitHistory, git: Git, line: Range) -> Triage:
    config = Config(UpstreamConfig("upstream"), ForkConfig("fork"), None, Digest(""), "benchmark")
    return Triage.of(history, GitTrialMerges(quarantine), GitTrees(git), config, line)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--trunk", default="HEAD")
    parser.add_argument("--upstream", default="63068fcc")
    parser.add_argument("--until", default="9999-12", help="The last month to walk, as 2026-04.")
    parser.add_argument("--keep", type=Path, help="Where the walk is saved; the same folder again goes on with it.")
    parser.add_argument("--people", action="store_true", help="Let the fork's people resolve what they resolved.")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
