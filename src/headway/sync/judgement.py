"""One pick, judged: git's own merge first, the ladder where it conflicts, the rails over whatever came out.

Nothing here decides what happens to a change; it says what a pick would be, who says so, and what speaks against it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headway.core.config import Invariant
from headway.core.errors import HeadwayError
from headway.core.gates import Refused
from headway.core.names import Sha, TreeId
from headway.core.ports.git import (
    Clean,
    Conflicted,
    Empty,
    Entry,
    History,
    PathChange,
    Trial,
    TrialMerges,
    Unknown,
    shown_path,
)
from headway.core.ports.trees import Trees
from headway.core.reasons import Reason
from headway.sync.conflict import ConflictedFile, Kind, decoded, encoded, parse_markers
from headway.sync.presence import proof_of_presence
from headway.sync.rails.facts import DEFAULT_BOUNDS, Bounds, FileFacts, Proposal
from headway.sync.rails.invariants import concerns
from headway.sync.resolution import ResolvedHunk, Structural, resolve_files
from headway.sync.resolvers import RESOLVERS
from headway.sync.resolvers.ladder import Resolver, Surroundings
from headway.sync.survival import Survey, survey

Outcome = Literal["accepted", "deferred", "already_present", "unknown"]
LARGEST_FILE = 4 << 20
"""Bytes past which a file is not read for the rails; no source file is that large."""


@dataclass(frozen=True, slots=True)
class Judged:
    """`git` is what git alone says; `git_tree` its tree unless it conflicts. `tree` is set exactly when accepted.

    `hunks` holds the engine of each conflict hunk; `reasons` why a pick was not accepted.
    """

    outcome: Outcome
    git: Literal["clean", "conflict", "empty", "unknown"]
    git_tree: TreeId | None
    tree: TreeId | None
    hunks: tuple[ResolvedHunk, ...] = ()
    reasons: tuple[Refused, ...] = ()
    survey: Survey | None = None
    conflicted: tuple[str, ...] = ()
    resolved: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Bench:
    """What judging needs of the world and of the fork's configuration."""

    merges: TrialMerges
    history: History
    trees: Trees
    invariants: tuple[Invariant, ...] = ()
    bounds: Bounds = DEFAULT_BOUNDS
    resolvers: Mapping[str, Resolver] | None = None
    effects: Mapping[Sha, tuple[PathChange, ...]] = field(default_factory=dict)
    """What changes do to each path, where it is known already."""

    structural: Structural | None = None
    """A merge of whole files by syntax, asked where a hunk has no answer."""

    def effect(self, change: Sha) -> tuple[PathChange, ...]:
        """What one change does to each path."""
        return self.effects[change] if change in self.effects else self.history.effects([change])[change]


def judge(change: Sha, onto: str, bench: Bench, look: Surroundings) -> Judged:
    """What picking `change` on `onto` gives. Reads only the two trees, the change's parent and what `look` reads."""
    return judge_trial(change, onto, bench.merges.pick(change, onto), bench, look)


def judge_trial(
    change: Sha,
    onto: str,
    trial: Trial,
    bench: Bench,
    look: Surroundings,
    files: tuple[ConflictedFile, ...] | None = None,
) -> Judged:
    """The same, with git's own answer at hand, and its conflicted files where they were read already."""
    if isinstance(trial, Unknown):
        return Judged("unknown", "unknown", None, None, reasons=(_refusal(Reason.UNKNOWN, trial.message),))
    if isinstance(trial, Empty):
        return _empty(change, onto, trial, bench)
    if isinstance(trial, Conflicted):
        return _conflicted(change, onto, trial, bench, look, files or conflicted_files(trial, bench.merges))
    facts = gather(change, onto, trial, bench)
    found = survey(Proposal(facts, bench.invariants, bench.bounds))
    tree = trial.tree if found.passed else None
    return Judged("accepted" if tree else "deferred", "clean", trial.tree, tree, (), found.refusals, found)


def provenance(judged: Judged) -> list[dict[str, str | int | None]]:
    """Which engine answered each conflict hunk, and why: for evidence."""
    return [{"path": shown_path(h.path), "hunk": h.index, "engine": h.engine, "why": h.why} for h in judged.hunks]


def _empty(change: Sha, onto: str, trial: Empty, bench: Bench) -> Judged:
    """An empty pick proves nothing by itself; content must show that the fork has upstream's effect."""
    effect = bench.effect(change)
    proof, _ = proof_of_presence(bench.history, bench.merges, change, effect, onto, trial.tree)
    if proof is not None:
        return Judged("already_present", "empty", trial.tree, None)
    why = "The pick is empty, but the fork cannot be shown to have upstream's effect."
    return Judged("deferred", "empty", trial.tree, None, reasons=(_refusal(Reason.VANISHED, why),))


def _conflicted(
    change: Sha, onto: str, trial: Conflicted, bench: Bench, look: Surroundings, files: tuple[ConflictedFile, ...]
) -> Judged:
    resolved = resolve_files(files, look, RESOLVERS if bench.resolvers is None else bench.resolvers, bench.structural)
    hunks = tuple(hunk for one in resolved for hunk in one.hunks)
    texts = {one.path: one.text for one in resolved if one.text is not None}
    if len(texts) < len(files):
        unsure = next(hunk for hunk in hunks if hunk.engine is None)
        why = _refusal(Reason.CONFLICT, f"{unsure.path}: {unsure.why}.", "Resolve it, or wait for what it needs.")
        return Judged("deferred", "conflict", None, None, hunks, (why,), None, trial.paths)
    tree = bench.merges.write_tree(trial.tree, {path: encoded(text) for path, text in texts.items()})
    facts = gather(change, onto, Clean(tree), bench, files)
    found = survey(Proposal(facts, bench.invariants, bench.bounds))
    return past_rails(trial, tree, hunks, found, texts)


def past_rails(
    trial: Conflicted, tree: TreeId, hunks: tuple[ResolvedHunk, ...], found: Survey, texts: Mapping[str, str]
) -> Judged:
    """A conflict's resolution after the rails: its `tree` is accepted only if every one of them was."""
    accepted = tree if found.passed else None
    outcome: Outcome = "accepted" if accepted else "deferred"
    return Judged(outcome, "conflict", None, accepted, hunks, found.refusals, found, trial.paths, texts)


def conflicted_files(trial: Conflicted, merges: TrialMerges) -> tuple[ConflictedFile, ...]:
    """Every conflicted path with its three sides and, for text, its hunks."""
    kinds: dict[str, set[str]] = {}
    for conflict in trial.conflicts:
        for path in conflict.paths:
            kinds.setdefault(path, set()).add(conflict.kind)
    return tuple(_conflicted_file(path, trial, merges, kinds.get(path, set())) for path in trial.paths)


def _conflicted_file(path: str, trial: Conflicted, merges: TrialMerges, kinds: set[str]) -> ConflictedFile:
    entries = {stage.number: stage.entry for stage in trial.stages if stage.path == path}
    sides = [_text(entries.get(number), merges) for number in (1, 2, 3)]
    base, ours, theirs = sides
    kind = _kind(entries, sides, kinds)
    if kind not in ("content", "both_added"):
        return ConflictedFile(path, kind, base, ours, theirs)
    try:
        segments = parse_markers(merges.blob(f"{trial.tree}:{path}").decode("utf-8", "surrogateescape"))
    except (ValueError, HeadwayError):
        return ConflictedFile(path, kind if kind == "both_added" else "other", base, ours, theirs)
    return ConflictedFile(path, kind, base, ours, theirs, segments if len(segments) > 1 else ())


def _kind(entries: Mapping[int, Entry], sides: Sequence[str | None], kinds: set[str]) -> Kind:
    if 2 not in entries:
        return "deleted_by_us"
    if 3 not in entries:
        return "deleted_by_them"
    if 1 not in entries:
        return "both_added"
    if any(not entry.mode.startswith("100") for entry in entries.values()):
        return "other"
    if any(text is None for text in sides):
        return "binary"
    # a rename or mode conflict beside the content says that the place itself is in doubt
    return "content" if kinds == {"CONFLICT (contents)"} else "other"


def gather(
    change: Sha, onto: str, result: Clean, bench: Bench, conflicted: Sequence[ConflictedFile] = ()
) -> tuple[FileFacts, ...]:
    """The files that the rails must see: conflicted ones, those both sides changed, and those an invariant names."""
    by_path = {file.path: file for file in conflicted}
    effect = {one.path: one for one in bench.effect(change)}
    facts = []
    for landed in bench.trees.changes(onto, result.tree):
        upstream = effect.get(landed.path) or _under_old_name(landed, effect)
        named = any(concerns(invariant, landed.path) for invariant in bench.invariants)
        if landed.path in by_path or upstream is None or (landed.after == upstream.after and not named):
            continue
        base, ours, theirs, merged = (
            _text(entry, bench.merges) for entry in (upstream.before, landed.before, upstream.after, landed.after)
        )
        if merged is not None or landed.after is None:
            facts.append(FileFacts(landed.path, base, ours, theirs, merged, merged))
    for file in conflicted:
        text = _text_at(result.tree, file.path, bench.merges)
        facts.append(FileFacts(file.path, file.base, file.ours, file.theirs, text, None, file.segments))
    return tuple(facts)


def _text_at(tree: str, path: str, merges: TrialMerges) -> str | None:
    """None where the tree has no such file, or a binary one."""
    try:
        return decoded(merges.blob(f"{tree}:{path}"))
    except HeadwayError:
        return None


def _under_old_name(landed: PathChange, effect: Mapping[str, PathChange]) -> PathChange | None:
    """The fork renamed the file: upstream's sides stand under the one old path of that name."""
    name = landed.path.rsplit("/", 1)[-1]
    found = [one for path, one in effect.items() if path.rsplit("/", 1)[-1] == name]
    return found[0] if len(found) == 1 and landed.before is not None else None


def _text(entry: Entry | None, merges: TrialMerges) -> str | None:
    if entry is None or not entry.mode.startswith("100"):
        return None
    content = merges.blob(entry.oid)
    return decoded(content) if len(content) <= LARGEST_FILE else None


def _refusal(reason: Reason, message: str, next_step: str = "Look at it by hand.") -> Refused:
    return Refused(reason, message, next_step)
