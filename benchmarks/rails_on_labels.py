"""The rails on the picks that are clean for git and landed differently, by the labels of docs/replay_labels.md.

Two questions: do the rails alarm on git's own pick of each, and would they refuse what landed, had it been a proposal?
The repository must hold both sides (see `benchmarks/adopt_triton.py`).

    python -m benchmarks.rails_on_labels --repo JOINED.git [--labels docs/replay_labels.md] [--json]
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, could_not_run, show
from headway.adapters.git_history import GitHistory
from headway.adapters.git_trees import GitTrees
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.core.names import Sha
from headway.core.ports.git import Clean
from headway.sync.conflict import Hunk, lines_of
from headway.sync.judgement import Bench, gather
from headway.sync.rails import RAILS
from headway.sync.rails.facts import FileFacts, Proposal
from headway.sync.survival import survey

SCHEMA = "headway.bench.rails_on_labels/1"
LINE = re.compile(r"^\| (\d+) \| `([0-9a-f]+)` \| `([0-9a-f]+)` \| ([\w ]+) \|", re.MULTILINE)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; exit code 4 where the repository is absent."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--labels", type=Path, default=Path("docs/replay_labels.md"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    if not options.repo.is_dir():
        return show(SCHEMA, [could_not_run("rails", f"{options.repo} is absent")], as_json=options.json)
    cases = LINE.findall(options.labels.read_text())
    labels: Counter[str] = Counter(label for _, _, _, label in cases)
    alarms: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    by_content: Counter[str] = Counter()
    with Quarantine(options.repo) as quarantine:
        merges, history, trees = GitTrialMerges(quarantine), GitHistory(quarantine.git), GitTrees(quarantine.git)
        bench = Bench(merges, history, trees)
        for _, upstream, fork, label in cases:
            change, landed = history.resolve(upstream), history.resolve(fork)
            base = history.resolve(f"{fork}^1")
            if change is None or landed is None or base is None:
                return show(SCHEMA, [could_not_run("rails", f"{upstream} or {fork} is absent")], as_json=options.json)
            pick = merges.pick(change, base)
            assert isinstance(pick, Clean)
            alarms[label] += not survey(Proposal(gather(change, base, pick, bench))).passed
            facts = _as_proposal(change, base, pick, landed, merges, bench)
            refused[label] += not survey(Proposal(facts)).passed
            rails = {name: rail for name, rail in RAILS.items() if name != "outside_conflict"}
            by_content[label] += not survey(Proposal(tuple(_as_conflict(one) for one in facts)), rails).passed
    rows: list[Row] = [
        {
            "name": label,
            "picks": count,
            "alarm on git's pick": alarms[label],
            "what landed, refused": refused[label],
            "without outside_conflict": by_content[label],
        }
        for label, count in labels.most_common()
    ]
    return show(SCHEMA, rows, as_json=options.json)


def _as_proposal(
    change: Sha, base: Sha, pick: Clean, landed: Sha, merges: GitTrialMerges, bench: Bench
) -> tuple[FileFacts, ...]:
    """Every file in which what landed differs from git's pick, as if somebody had proposed it."""
    effect = {one.path: one for one in bench.history.effects([change])[change]}
    facts = []
    for differs in bench.trees.changes(pick.tree, landed):
        upstream = effect.get(differs.path)
        ours = next((one.before for one in bench.trees.changes(base, pick.tree) if one.path == differs.path), None)
        entries = (
            upstream.before if upstream else differs.before,
            ours or differs.before,
            upstream.after if upstream else differs.before,
            differs.after,
            differs.before,
        )
        texts = [merges.blob(e.oid).decode("utf-8", "surrogateescape") if e else None for e in entries]
        facts.append(FileFacts(differs.path, texts[0], texts[1], texts[2], texts[3], texts[4] or ""))
    return tuple(facts)


def _as_conflict(file: FileFacts) -> FileFacts:
    hunk = Hunk(0, *(lines_of(text or "") for text in (file.ours, file.base, file.theirs)))
    return FileFacts(file.path, file.base, file.ours, file.theirs, file.result, None, ((), hunk, ()))


if __name__ == "__main__":
    sys.exit(main())
