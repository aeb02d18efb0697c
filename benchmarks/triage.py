"""The risk score on triage windows of Meta's Triton fork: does it tell what was deferred from what was picked?

The repository must hold both sides (see `benchmarks/adopt_triton.py`). Each window is replayed as `sync plan` would: on
the window's base, in upstream's order, every change on top of the accepted ones before it. What happened is the fork's
own record (`deferred` or `picked`). Beside the score stands the plain signal, the number of conflicted files when the
change is tried alone on the window's base, and in order.

    python -m benchmarks.triage --repo JOINED.git --windows fbtriton_windows_dev.tsv [--json] [--fit]
"""

import argparse
import csv
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Row, could_not_run, show
from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.adapters.git_patches import GitPatches
from headway.adapters.git_trees import GitTrees
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.core.names import Sha
from headway.core.ports.git import Conflicted, Trial
from headway.core.ports.patches import FilePatch
from headway.sync.dependencies import Dependencies, dependencies
from headway.sync.judgement import Bench, judge
from headway.sync.resolvers.ladder import Surroundings
from headway.sync.risk import Signals, reliability, risk_of, roc_auc, signals_of, terms

SCHEMA = "headway.bench.triage/1"
UPSTREAM_HEAD = "63068fcc"


@dataclass(frozen=True)
class Seen:
    """One row of the windows, replayed."""

    window: str
    label: str
    signals: Signals
    in_order: int
    """Conflicted files on top of what was accepted before it."""
    edges_inside: int
    needed_another: bool | None
    """Truth: alone it conflicts, in order it does not. None where it conflicts in order too."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; exit code 4 where repository or windows are absent."""
    options = _options(argv)
    if not options.repo.is_dir() or not options.windows.is_file():
        absent = options.windows if options.repo.is_dir() else options.repo
        return show(SCHEMA, [could_not_run("triage", f"{absent} is absent")], as_json=options.json)
    began = time.monotonic()
    seen = replay(options.repo, options.windows, options.upstream)
    if options.fit:
        return _fit(seen)
    judged = [one for one in seen if one.label in ("picked", "deferred")]
    happened = [one.label == "deferred" for one in judged]
    scores = [risk_of(one.signals).score for one in judged]
    rows: list[Row] = [
        {"name": "ROC-AUC, risk score", "value": roc_auc(scores, happened), "n": f"{sum(happened)} of {len(happened)}"},
        {
            "name": "ROC-AUC, conflicted files, tried alone",
            "value": roc_auc([one.signals.alone for one in judged], happened),
        },
        {
            "name": "ROC-AUC, conflicted files, in order",
            "value": roc_auc([one.in_order for one in judged], happened),
        },
        *_edges(seen),
        {"name": "seconds for all windows", "value": time.monotonic() - began},
    ]
    for line in reliability(scores, happened):
        name = f"scored {line.low:g} to {line.high:g}"
        rows.append({"name": name, "value": line.happened, "predicted": line.predicted, "n": line.count})
    return show(SCHEMA, rows, as_json=options.json)


def _edges(seen: Sequence[Seen]) -> list[Row]:
    """Does an edge inside the window say that a change needs an earlier one, where the replay knows?"""
    known = [one for one in seen if one.needed_another is not None]
    said = [one for one in known if one.edges_inside]
    right = sum(bool(one.needed_another) for one in said)
    needed = sum(bool(one.needed_another) for one in known)
    return [
        {"name": "edges: precision of `needs an earlier one`", "value": right / max(len(said), 1), "n": len(said)},
        {"name": "edges: recall", "value": right / max(needed, 1), "n": needed},
    ]


def replay(repo: Path, windows: Path, upstream: str) -> list[Seen]:
    """Every window on its own base."""
    with windows.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    by_window: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_window[row["fork_pr"]].append(row)
    git = Git(repo)
    history = GitHistory(git)
    head = history.resolve(upstream)
    assert head is not None
    first = history.merge_base(Sha(git.text("rev-parse", rows[0]["base"])), head)
    commits = history.commits([head, f"^{first}"], first_parent=True)
    patches = dict(GitPatches(git).patches([commit.sha for commit in commits]))
    found = dependencies(commits, patches.items())
    seen: list[Seen] = []
    with Quarantine(repo) as quarantine:
        bench = Bench(GitTrialMerges(quarantine), GitHistory(quarantine.git), GitTrees(quarantine.git))
        for window, members in by_window.items():
            base = git.text("rev-parse", members[0]["base"])
            members.sort(key=lambda row: int(row["up_idx"]))
            seen += _window(window, members, base, bench, found, patches)
    return seen


def _window(
    window: str, members: Sequence[dict[str, str]], base: str, bench: Bench, found: Dependencies,
    patches: dict[Sha, tuple[FilePatch, ...]],
) -> list[Seen]:  # fmt: skip
    onto, taken, absent, seen = base, set[Sha](), set[Sha](), []
    for row in members:
        change = Sha(row["up_sha"])
        judged = judge(change, onto, bench, Surroundings())
        if judged.tree is not None:
            onto = judged.tree
            taken.add(change)
        elif judged.git == "conflict" or judged.reasons:
            absent.add(change)
        needs = found.of(change)
        signals = signals_of(
            patches.get(change, ()),
            needs,
            alone=_conflicted_files(bench.merges.pick(change, base)),
            in_order=judged.git == "conflict",
            unresolved=sum(hunk.engine is None for hunk in judged.hunks),
            absent=frozenset(absent - {change}),
            unknown=judged.git == "unknown",
        )
        textual = {edge.on for edge in needs if edge.kind == "textual"}
        truth = None if row["sequential"] == "conflict" else row["independent"] == "conflict"
        inside = len(judged.conflicted)
        seen.append(Seen(window, row["label"], signals, inside, len(textual & taken), truth))
    return seen


def _conflicted_files(trial: Trial) -> int:
    return len(trial.paths) if isinstance(trial, Conflicted) else 0


def _fit(seen: Sequence[Seen]) -> int:
    """Logistic regression with a ridge, and its AUC when each window is left out in turn: how the weights were made."""
    import numpy as np
    from scipy.optimize import minimize

    judged = [one for one in seen if one.label in ("picked", "deferred")]
    names = sorted(terms(Signals()))
    values = np.array([[terms(one.signals)[name] for name in names] for one in judged])
    happened = np.array([one.label == "deferred" for one in judged], dtype=float)
    windows = np.array([one.window for one in judged])

    def fitted(inside: "np.ndarray") -> "np.ndarray":
        def loss(weights: "np.ndarray") -> float:
            score = weights[0] + values[inside] @ weights[1:]
            return float(np.sum(np.logaddexp(0, score) - happened[inside] * score) + 0.5 * np.sum(weights[1:] ** 2))

        # a signal of trouble may not lower the score: weights stay at or above zero
        bounds = [(None, None), *((0.0, None) for _ in names)]
        return np.asarray(minimize(loss, np.zeros(len(names) + 1), bounds=bounds).x)

    left_out = np.zeros(len(judged))
    for window in sorted(set(windows)):
        weights = fitted(windows != window)
        left_out[windows == window] = weights[0] + values[windows == window] @ weights[1:]
    weights = fitted(np.ones(len(judged), dtype=bool))
    print("BIAS", round(float(weights[0]), 2))
    for name, weight in zip(names, weights[1:], strict=True):
        print(name, round(float(weight), 2))
    print("AUC with each window left out:", round(roc_auc(list(left_out), [bool(one) for one in happened]), 3))
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--windows", type=Path, required=True)
    parser.add_argument("--upstream", default=UPSTREAM_HEAD)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fit", action="store_true", help="Print new weights for sync/risk.py.")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
