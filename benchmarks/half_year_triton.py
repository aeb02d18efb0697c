"""A simulated year of Meta's Triton fork: what headway would have taken, month by month, beside what the fork did.

Upstream's changes and the fork's own commits are walked by their commit dates from the fork point on. An upstream
change is assessed on its day as a run would (trial pick, ladder, rails; no L1: builds are not possible here): it is
taken, settled, or deferred, and deferred ones are tried again once a month. A commit of the fork's own is carried over
by git's pick; where that conflicts, the fork's side of every conflicted hunk is taken (its people would have adapted
it), and it counts as adapted. The fork's own resolutions of upstream's changes are not looked at.

    python -m benchmarks.half_year_triton --repo JOINED.git [--until 2026-04] [--rows ROWS.jsonl] [--json]

What it can show: how much of the flow conflicts at once when everything is taken on its day. What it cannot show:
whether the result builds or passes a test, and what people would have done about the deferred ones; since they never
land here, what stands on them is deferred too, and the backlog is an upper bound. Every change is answered on its day,
so days behind are 0 by construction: the debt is in the backlog.
"""

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from benchmarks.table import Row, could_not_run, show
from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.adapters.git_trees import GitTrees
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.core.config import AdoptConfig, Config, ForkConfig, UpstreamConfig
from headway.core.errors import HeadwayError
from headway.core.names import Digest, Sha
from headway.core.ports.git import Clean, Commit, Conflicted
from headway.sync.adopt import scan
from headway.sync.conflict import ConflictedFile, assemble, encoded
from headway.sync.history import Range, upstream_range
from headway.sync.judgement import conflicted_files
from headway.sync.triage import Ready, Triage

SCHEMA = "headway.bench.half_year_triton/1"
DAY = 86_400


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row a month; exit code 4 where the repository is absent."""
    options = _options(argv)
    if not options.repo.is_dir():
        return show(SCHEMA, [could_not_run("half year", f"{options.repo} is absent")], as_json=options.json)
    with Quarantine(options.repo) as quarantine:
        git = Git(options.repo, env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(quarantine.objects)})
        history = GitHistory(git)
        head, trunk = history.resolve(options.upstream), history.resolve(options.trunk)
        base = head and trunk and history.merge_base(trunk, head)
        if head is None or trunk is None or not base:
            return show(SCHEMA, [could_not_run("half year", "upstream is absent")], as_json=options.json)
        line = upstream_range(history, base, head, ())
        landed = _landed_by_the_fork(history, line, trunk)
        own = [c for c in history.commits([trunk, f"^{head}", f"^{base}"]) if c.sha not in set(landed.values())]
        walk = Walk(Simulation(_triage(quarantine, history, git, line), base), options.rows)
        walk.through([c for c in own if len(c.parents) == 1 and _month(c.committed) <= options.until],
                     [c for c in line.commits if _month(c.committed) <= options.until])  # fmt: skip
        dates = {c.sha: c.committed for c in history.commits([trunk, f"^{head}", f"^{base}"])}
        rows = [_beside(row, line.commits, landed, dates) for row in walk.months]
    return show(SCHEMA, rows, as_json=options.json)


@dataclass
class Simulation:
    """The simulated trunk as a tree, and what became of every upstream change so far."""

    triage: Triage
    tree: str
    answers: dict[Sha, str] = field(default_factory=dict)
    deferred: dict[Sha, int] = field(default_factory=dict)
    """Change -> when it reached upstream."""

    def take(self, commit: Commit) -> str:
        """Assess one upstream change on the simulated trunk."""
        absent = frozenset(self.deferred) - {commit.sha}
        answer = self.triage.assess(commit.sha, self.tree, pending=frozenset({commit.sha}), absent=absent, forced=False)
        self.deferred.pop(commit.sha, None)
        if isinstance(answer, Ready):
            self.tree = answer.tree
            word = "clean" if answer.facts["result"] == "clean" else "resolved"
        else:
            word = f"{answer.kind}({answer.reason})"
            if answer.kind == "deferred":
                self.deferred[commit.sha] = commit.committed
            elif answer.partner is not None:
                self.deferred.pop(answer.partner, None)
                self.answers[answer.partner] = word
        self.answers[commit.sha] = word
        return word

    def carry(self, commit: Commit) -> str:
        """One commit of the fork's own; in conflict its own side wins."""
        merges = self.triage.merges
        trial = merges.pick(commit.sha, self.tree)
        if isinstance(trial, Clean):
            self.tree = trial.tree
        elif isinstance(trial, Conflicted):
            files = {file.path: self._own_side(commit, file) for file in conflicted_files(trial, merges)}
            self.tree = merges.write_tree(trial.tree, files)
        return type(trial).__name__.lower()

    def _own_side(self, commit: Commit, file: ConflictedFile) -> bytes | None:
        if file.kind == "content":
            return encoded(assemble(file.segments, {hunk.index: hunk.theirs for hunk in file.hunks}))
        try:
            return self.triage.merges.blob(f"{commit.sha}:{file.path}")
        except HeadwayError:
            return None  # the fork's commit has no such file


class Walk:
    """Both sides by date; remembers where things stood at the end of each month."""

    def __init__(self, simulation: Simulation, rows: Path | None) -> None:
        self._simulation = simulation
        self._rows: TextIO | None = rows.open("w") if rows else None
        self.months: list[Row] = []
        self._counts: Counter[str] = Counter()
        self._retried = 0

    def through(self, own: Sequence[Commit], upstream: Sequence[Commit]) -> None:
        """Walk to the end; at the same second the fork's own commit comes first."""
        days = sorted([(c.committed, 0, n, c) for n, c in enumerate(own)]
                      + [(c.committed, 1, n, c) for n, c in enumerate(upstream)], key=lambda one: one[:3])  # fmt: skip
        commits = {commit.sha: commit for commit in upstream}
        month = ""
        for when, side, _, commit in days:
            if month and _month(when) != month:
                self._close(month, when, commits)
            month = _month(when)
            word = self._simulation.take(commit) if side else f"own {self._simulation.carry(commit)}"
            self._note(commit, word, when)
        if days:
            self._close(month, days[-1][0], commits)

    def _close(self, month: str, now: int, commits: Mapping[Sha, Commit]) -> None:
        for change in sorted(self._simulation.deferred, key=lambda sha: commits[sha].committed):
            if change in self._simulation.deferred:
                word = self._simulation.take(commits[change])
                if not word.startswith("deferred"):
                    self._counts["later"] += 1
                self._note(commits[change], f"again {word}", now)
        waiting = self._simulation.deferred.values()
        counts = self._counts
        self.months.append(
            {
                "name": month,
                "taken": counts["clean"] + counts["resolved"],
                "resolved": counts["resolved"],
                "deferred": sum(n for word, n in counts.items() if word.startswith("deferred")),
                "taken later": counts["later"],
                "own carried": counts["own clean"],
                "own adapted": counts["own conflicted"],
                "own left out": counts["own unknown"],
                "days behind": 0.0,
                "backlog": len(waiting),
                "oldest days": round((now - min(waiting)) / DAY) if waiting else 0,
            }
        )
        sys.stderr.write(f"{self.months[-1]}\n")
        self._counts = Counter()

    def _note(self, commit: Commit, word: str, when: int) -> None:
        if not word.startswith("again"):
            self._counts[word] += 1
        if self._rows is not None:
            self._rows.write(json.dumps({"commit": commit.sha, "when": when, "answer": word}) + "\n")
            self._rows.flush()


def _landed_by_the_fork(history: GitHistory, line: Range, trunk: Sha) -> dict[Sha, Sha]:
    """Upstream change -> the fork's commit that took it, as `adopt` reads it."""
    return {match.change: match.commit for match in scan(history, line, trunk, AdoptConfig()).matches}


def _beside(row: Row, upstream: Iterable[Commit], landed: Mapping[Sha, Sha], dates: Mapping[Sha, int]) -> Row:
    """What the fork itself did in that month, from its own history."""
    month = str(row["name"])
    lags, behind = [], 0
    for commit in upstream:
        there = dates.get(landed[commit.sha]) if commit.sha in landed else None
        if there is not None and _month(there) == month:
            lags.append((there - commit.committed) / DAY)
        behind += _month(commit.committed) <= month and (there is None or _month(there) > month)
    lag = round(statistics.median(lags)) if lags else 0
    return {**row, "fork: picked": len(lags), "fork: median lag, days": lag, "fork: not taken": behind}


def _triage(quarantine: Quarantine, history: GitHistory, git: Git, line: Range) -> Triage:
    config = Config(UpstreamConfig("upstream"), ForkConfig("fork"), None, Digest(""), "benchmark")
    return Triage.of(history, GitTrialMerges(quarantine), GitTrees(git), config, line)


def _month(when: int) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m")


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--trunk", default="HEAD")
    parser.add_argument("--upstream", default="63068fcc")
    parser.add_argument("--until", default="9999-12", help="The last month to walk, as 2026-04.")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
