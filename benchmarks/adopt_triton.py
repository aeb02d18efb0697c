"""How well `adopt` reads the history of Meta's Triton fork: precision and recall against recorded dispositions.

The repository must hold both sides: facebookexperimental/triton, and upstream's commits (they are inside
intel/intel-xpu-backend-for-triton; add its `objects` folder to `objects/info/alternates` of a bare shared clone).

    python -m benchmarks.adopt_triton --repo JOINED.git --labels fbtriton_dispositions_dev.tsv [--json] [--misses]
"""

import argparse
import csv
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, could_not_run, show
from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.core.config import AdoptConfig
from headway.core.names import Sha
from headway.sync.adopt import Match, scan
from headway.sync.history import upstream_range

SCHEMA = "headway.bench.adopt_triton/1"
UPSTREAM_HEAD = "63068fcc"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; exit code 4 where repository or labels are absent."""
    options = _options(argv)
    if not options.repo.is_dir() or not options.labels.is_file():
        absent = options.labels if options.repo.is_dir() else options.repo
        return show(SCHEMA, [could_not_run("adopt", f"{absent} is absent")], as_json=options.json)
    git = Git(options.repo)
    history = GitHistory(git)
    with options.labels.open(newline="") as file:
        labels = {row["upstream_sha"]: row["disposition"] for row in csv.DictReader(file, delimiter="\t")}
    head = history.resolve(options.upstream)
    trunk = Sha(git.text("rev-list", "-1", f"--before={options.until}T23:59:59Z", options.trunk))
    base = head and history.merge_base(trunk, head)
    if head is None or base is None:
        return show(SCHEMA, [could_not_run("adopt", "upstream is absent")], as_json=options.json)
    line = upstream_range(history, base, head, ())
    began = time.monotonic()
    found = scan(history, line, trunk, AdoptConfig())
    seconds = time.monotonic() - began
    in_range = {sha: kind for sha, kind in labels.items() if sha in set(line.shas)}
    rows = _rows(found.matches, in_range, seconds, len(labels))
    code = show(SCHEMA, rows, as_json=options.json)
    if options.misses:
        _show_misses(found.matches, in_range, history)
    return code


def _rows(matches: Sequence[Match], labels: dict[str, str], seconds: float, all_labels: int) -> list[Row]:
    rows: list[Row] = []
    for name, chosen in (
        ("all", matches),
        ("proven", [m for m in matches if m.grade == "proven"]),
        ("claimed", [m for m in matches if m.grade == "claimed"]),
    ):
        taken = {match.change for match in chosen}
        picked = {sha for sha, kind in labels.items() if kind == "picked"}
        labelled = taken & labels.keys()
        rows.append(
            {
                "name": name,
                "matches": len(taken),
                "labelled": len(labelled),
                "right": len(labelled & picked),
                "precision": len(labelled & picked) / len(labelled) if labelled else 0.0,
                "recall": len(taken & picked) / len(picked) if picked else 0.0,
                "picked in range": len(picked),
                "labels": all_labels,
                "seconds": round(seconds, 1),
            }
        )
    return rows


def _show_misses(matches: Sequence[Match], labels: dict[str, str], history: GitHistory) -> None:
    taken = {match.change: match for match in matches}
    print(Counter(match.how for match in matches), file=sys.stderr)
    for sha, kind in labels.items():
        match = taken.get(Sha(sha))
        if (kind == "picked") != (match is not None):
            [commit] = history.commits([sha, f"^{sha}^@"])
            how = f"{match.how} in {match.commit[:12]}" if match else "not found"
            print(f"{sha[:12]} {kind}: {how}: {commit.subject[:90]}", file=sys.stderr)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adopt_triton", description=__doc__)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--trunk", default="main")
    parser.add_argument("--upstream", default=UPSTREAM_HEAD)
    parser.add_argument("--until", default="2026-07-14", help="read the fork up to this day, the last of the labels")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", action="store_true", help="name each wrong or missing match on stderr")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
