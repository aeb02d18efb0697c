"""The walk of `half_year_triton`: a simulated trunk that two streams of commits reach by date. Can be gone on with.

Everything that a later step needs is in `Standing`, which is one JSON document; the trees are in a quarantine that is
kept beside it.
"""

import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from benchmarks.table import Row
from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.core.ports.git import Clean, Commit, Conflicted
from headway.sync.conflict import ConflictedFile, assemble, encoded
from headway.sync.judgement import conflicted_files
from headway.sync.triage import Ready, Triage

DAY = 86_400
SAVED_EVERY = 25
"""Steps between two savings of where the walk stands."""

Side = Literal["own", "landed", "upstream"]
Note = Callable[[Sha, int, str], None]


@dataclass(frozen=True, slots=True)
class Step:
    """One commit on its day. `own`: the fork's. `landed`: the fork's, which `takes` these. `upstream`: to be judged."""

    when: int
    side: Side
    commit: Commit
    takes: tuple[Sha, ...] = ()


@dataclass
class Standing:
    """Where the walk stands after `done` steps. `deferred`: change -> when it reached upstream, epoch seconds."""

    tree: str
    done: int = 0
    month: str = ""
    taken: list[Sha] = field(default_factory=list)
    deferred: dict[Sha, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    lags: list[float] = field(default_factory=list)
    """Days from upstream's commit to the simulated trunk, of what was taken this month."""
    months: list[Row] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write it whole or not at all."""
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(vars(self)))
        fresh.replace(path)

    @classmethod
    def load(cls, path: Path) -> "Standing":
        """What `save` wrote."""
        found = json.loads(path.read_text())
        return cls(**{**found, "counts": Counter(found["counts"])})


@dataclass(frozen=True)
class Walk:
    """Takes the steps in order. `place` holds `standing.json`, and `rows.jsonl` with every answer."""

    triage: Triage
    at: Standing
    place: Path
    commits: Mapping[Sha, Commit]

    def through(self, steps: Sequence[Step]) -> None:
        """From where it stands to the end; each month is closed when the next one begins, the last at the end."""
        with self._noting() as note:
            for step in steps[self.at.done :]:
                if self.at.month and month_of(step.when) != self.at.month:
                    self._close(step.when, note)
                self.at.month = month_of(step.when)
                note(step.commit.sha, step.when, self._take_step(step))
                self.at.done += 1
                if self.at.done % SAVED_EVERY == 0:
                    self.at.save(self.place / "standing.json")
            if self.at.month and steps:
                self._close(steps[-1].when, note)
                self.at.month = ""
            self.at.save(self.place / "standing.json")

    def _take_step(self, step: Step) -> str:
        if step.side == "upstream":
            word = self._assess(step.commit, step.when)
            self.at.counts[word] += 1
            return word
        waiting = [change for change in step.takes if change in self.at.deferred]
        if step.side == "landed" and not waiting:
            return "landed before"
        word = f"{step.side} {self._carry(step.commit)}"
        self.at.counts[word] += 1
        for change in waiting:
            self.at.lags.append((step.when - self.at.deferred.pop(change)) / DAY)
            self.at.taken.append(change)
            self.at.counts["by people"] += 1
        return word

    def _assess(self, commit: Commit, now: int) -> str:
        """One upstream change on the simulated trunk, as a run without L1 would answer it."""
        at = self.at
        absent = frozenset(at.deferred) - {commit.sha}
        answer = self.triage.assess(commit.sha, at.tree, pending=frozenset({commit.sha}), absent=absent, forced=False)
        at.deferred.pop(commit.sha, None)
        if isinstance(answer, Ready):
            at.tree = answer.tree
            at.taken.append(commit.sha)
            at.lags.append((now - commit.committed) / DAY)
            return "clean" if answer.facts["result"] == "clean" else "resolved"
        if answer.kind == "deferred":
            at.deferred[commit.sha] = commit.committed
        elif answer.partner is not None:
            at.deferred.pop(answer.partner, None)
        return f"{answer.kind}({answer.reason})"

    def _carry(self, commit: Commit) -> str:
        """A commit of the fork's; in conflict its own side wins."""
        merges = self.triage.merges
        trial = merges.pick(commit.sha, self.at.tree)
        if isinstance(trial, Clean):
            self.at.tree = trial.tree
        elif isinstance(trial, Conflicted):
            files = {file.path: self._own_side(commit, file) for file in conflicted_files(trial, merges)}
            self.at.tree = merges.write_tree(trial.tree, files)
        return type(trial).__name__.lower()

    def _own_side(self, commit: Commit, file: ConflictedFile) -> bytes | None:
        if file.kind == "content":
            return encoded(assemble(file.segments, {hunk.index: hunk.theirs for hunk in file.hunks}))
        try:
            return self.triage.merges.blob(f"{commit.sha}:{file.path}")
        except HeadwayError:
            return None  # the fork's commit has no such file

    def _close(self, now: int, note: Note) -> None:
        """The month's end: what waits is tried once more, oldest first, and the month's row is written."""
        at, later = self.at, 0
        for change in sorted(at.deferred, key=lambda sha: at.deferred[sha]):
            if change in at.deferred:
                word = self._assess(self.commits[change], now)
                later += not word.startswith("deferred")
                note(change, now, f"again {word}")
        counts, waiting = at.counts, at.deferred.values()
        at.months.append(
            {
                "name": at.month,
                "taken": counts["clean"] + counts["resolved"],
                "resolved": counts["resolved"],
                "deferred": sum(n for word, n in counts.items() if word.startswith("deferred")),
                "taken later": later,
                "taken by people": counts["by people"],
                "median lag, days": round(statistics.median(at.lags), 1) if at.lags else "",
                "own carried": counts["own clean"] + counts["landed clean"],
                "own adapted": counts["own conflicted"] + counts["landed conflicted"],
                "own left out": counts["own unknown"] + counts["landed unknown"],
                "days behind": 0.0,
                "backlog": len(waiting),
                "oldest days": round((now - min(waiting)) / DAY) if waiting else 0,
            }
        )
        sys.stderr.write(f"{at.months[-1]}\n")
        at.counts, at.lags = Counter(), []

    @contextmanager
    def _noting(self) -> Iterator[Note]:
        with (self.place / "rows.jsonl").open("a") as file:

            def note(change: Sha, when: int, word: str) -> None:
                file.write(json.dumps({"commit": change, "when": when, "answer": word}) + "\n")
                file.flush()

            yield note


def month_of(when: int) -> str:
    """`2026-04` of epoch seconds, UTC."""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m")
