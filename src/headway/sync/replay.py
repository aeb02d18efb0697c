"""Replaying picks that a fork once made: the cases, what headway says of each, and how that compares with what landed.

Pure. The engine and the comparison run in different processes (`wiring/replay.py`): only the second may read the commit
that landed.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from headway.core.errors import HeadwayError
from headway.core.names import Sha, TreeId
from headway.sync.judgement import Judged

GitWord = Literal["exact", "conflict", "clean_but_different", "empty", "unknown", "clean_uncompared"]
LadderWord = Literal["exact", "equivalent", "same_in_conflicted_files", "wrong"]
IMPORT = re.compile(r"^(#include|import|from)")


@dataclass(frozen=True, slots=True)
class Case:
    """Pick `upstream` on `base`; compare with `landed` where it is known."""

    line: int
    upstream: Sha
    base: Sha | None
    landed: Sha | None

    @property
    def key(self) -> str:
        """The same row is the same case, in any run."""
        return f"{self.landed or self.base}:{self.upstream}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What headway says of one case, plus what the comparison needs: every path it changed and the resolved texts."""

    case: Case
    judged: Judged
    seconds: float
    changed: Mapping[str, str]
    """Path -> blob id after the pick ("" where it is deleted), for accepted trees and for git's own clean tree."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of `--out`. `git_tree` is what git alone merges (null: it conflicts); `tree` the accepted one."""

    fork_commit: str | None
    upstream_commit: str
    base: str
    git: GitWord
    git_tree: str | None
    tree: str | None
    verdict: str
    ladder: LadderWord | None
    """How an accepted resolution compares with what landed; null where git had no conflict or nothing is known."""
    engines: dict[str, str | None]
    """`path#hunk` -> engine, null where no engine was sure."""
    reasons: list[dict[str, str]]
    differs_in: list[str]
    """Conflicted files in which an accepted tree is not what landed."""
    seconds: float

    def to_json(self) -> str:
        """The row as one line."""
        return json.dumps({"schema": "headway.replay_row/1", **asdict(self)}, sort_keys=True)


@dataclass
class Summary:
    """Counts over rows. `git` sums to `cases`; `ladder` counts only cases that git had in conflict."""

    cases: int = 0
    git: Counter[str] = field(default_factory=Counter)
    ladder: Counter[str] = field(default_factory=Counter)
    deferred: Counter[str] = field(default_factory=Counter)
    engines: Counter[str] = field(default_factory=Counter)
    refused_exact: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, row: Row) -> None:
        """Count one row."""
        self.cases += 1
        self.seconds += row.seconds
        self.git[row.git] += 1
        if row.git == "conflict" and row.tree is not None:
            self.ladder["accepted"] += 1
            if row.ladder is not None:
                self.ladder[row.ladder] += 1
            self.engines.update(engine for engine in row.engines.values() if engine is not None)
        if row.verdict == "deferred":
            self.deferred[row.reasons[0]["reason"]] += 1
        if row.git == "exact" and row.tree is None:
            self.refused_exact.append(f"{row.fork_commit}: {row.reasons[0]['reason']}: {row.reasons[0]['message']}")

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        git = ("exact", "conflict", "clean_but_different", "empty", "unknown")
        words = [*git, *(["clean_uncompared"] if self.git["clean_uncompared"] else [])]
        ladder = ("accepted", "exact", "equivalent", "same_in_conflicted_files", "wrong")
        return {
            "schema": "headway.replay/1",
            "summary": {
                "cases": self.cases,
                "git": {word: self.git[word] for word in words},
                "ladder": {word: self.ladder[word] for word in ladder},
                "deferred": dict(self.deferred.most_common()),
                "refused_exact": self.refused_exact,
            },
            "engines": dict(self.engines.most_common()),
            "seconds_per_case": round(self.seconds / max(self.cases, 1), 4),
        }


def read_cases(text: str) -> tuple[Case, ...]:
    """Rows of a TSV with the columns `fork_commit`, `upstream_commit` and, optionally, `base`. Raises HeadwayError."""
    reader = csv.DictReader(io.StringIO(text), delimiter="\t")
    columns = set(reader.fieldnames or ())
    if "upstream_commit" not in columns or not columns & {"fork_commit", "base"}:
        raise HeadwayError(
            "The cases file lacks a column `upstream_commit`, or both of `fork_commit` and `base`.",
            "Give it a header line with these names, separated by tabs.",
        )
    cases = []
    for number, row in enumerate(reader, start=2):
        upstream, landed, base = ((row.get(name) or "").strip() for name in ("upstream_commit", "fork_commit", "base"))
        if not upstream or not (landed or base):
            raise HeadwayError(
                f"Line {number} of the cases names no upstream commit, or neither a fork commit nor a base."
            )
        cases.append(Case(number, Sha(upstream), Sha(base) if base else None, Sha(landed) if landed else None))
    return tuple(cases)


def read_rows(text: str) -> tuple[dict[str, Row], str]:
    """Whole rows of an earlier run by case key, and the text that holds exactly them (a torn last line is dropped)."""
    rows: dict[str, Row] = {}
    kept: list[str] = []
    for line in text.splitlines(keepends=True):
        try:
            document = json.loads(line) if line.endswith("\n") else None
            if document is None or document.pop("schema") != "headway.replay_row/1":
                continue
            row = Row(**document)
        except (ValueError, TypeError, KeyError):
            continue
        rows[f"{row.fork_commit or row.base}:{row.upstream_commit}"] = row
        kept.append(line)
    return rows, "".join(kept)


@dataclass(frozen=True, slots=True)
class Landed:
    """What really landed: its tree, every path the fork's commit changed, and the texts of the conflicted files."""

    tree: TreeId
    changed: Mapping[str, str]
    texts: Mapping[str, str]


def row_of(answer: Answer, landed: Landed | None) -> Row:
    """The answer beside what landed (None: unknown)."""
    judged, case = answer.judged, answer.case
    ladder: LadderWord | None = None
    differs: list[str] = []
    if landed is not None and judged.git == "conflict" and judged.tree is not None:
        ladder, differs = compared(answer, landed)
    return Row(
        case.landed,
        case.upstream,
        case.base or "",
        _git_word(judged, landed),
        judged.git_tree,
        judged.tree,
        judged.outcome,
        ladder,
        {f"{hunk.path}#{hunk.index}": hunk.engine for hunk in judged.hunks},
        [{"reason": why.reason.value, "message": why.message, "next": why.next} for why in judged.reasons],
        differs,
        round(answer.seconds, 4),
    )


def _git_word(judged: Judged, landed: Landed | None) -> GitWord:
    if judged.git != "clean":
        return judged.git
    if landed is None:
        return "clean_uncompared"
    return "exact" if judged.git_tree == landed.tree else "clean_but_different"


def compared(answer: Answer, landed: Landed) -> tuple[LadderWord, list[str]]:
    """How an accepted resolution compares, and the conflicted files in which it differs.

    exact: the same tree. equivalent: the conflicted files are the same after whitespace and import order, and all
    others are the same. same_in_conflicted_files: the fork changed something else by hand too. wrong: all the rest.
    """
    judged = answer.judged
    if judged.tree == landed.tree:
        return "exact", []
    texts = judged.resolved or {}
    differs = [path for path, text in texts.items() if not same_text(text, landed.texts.get(path))]
    if differs:
        return "wrong", sorted(differs)
    ours = {path: oid for path, oid in answer.changed.items() if path not in texts}
    theirs = {path: oid for path, oid in landed.changed.items() if path not in texts}
    return ("equivalent" if ours == theirs else "same_in_conflicted_files"), []


def same_text(left: str, right: str | None) -> bool:
    """Equal after whitespace and the order of imports."""
    return right is not None and (left == right or _canonical(left) == _canonical(right))


def _canonical(text: str) -> tuple[list[str], str]:
    lines = ["".join(line.split()) for line in text.split("\n")]
    return sorted(line for line in lines if IMPORT.match(line)), "".join(x for x in lines if not IMPORT.match(x))


def lines_for_people(summary: Mapping[str, Any]) -> Sequence[str]:
    """The summary as a few lines."""
    found = summary["summary"]
    cases, ladder = found["cases"], found["ladder"]
    conflicts = max(found["git"]["conflict"], 1)
    right = ladder["exact"] + ladder["equivalent"] + ladder["same_in_conflicted_files"]
    return (
        f"{cases} cases, {summary['seconds_per_case']:.3f} s each",
        "git alone: " + _listed(found["git"]),
        f"ladder: {ladder['accepted']} of {found['git']['conflict']} conflicts accepted "
        f"({right} as landed = {right / conflicts:.0%}; {ladder['wrong']} wrong)",
        "deferred: " + (_listed(found["deferred"]) or "none"),
        "engines: " + (_listed(summary["engines"]) or "none"),
        *(f"refused though exact: {one}" for one in found["refused_exact"]),
    )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def missing_bases(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Cases whose base must be looked up: the parent of the commit that landed."""
    return tuple(case for case in cases if case.base is None)
