"""What may be taken, decided from facts alone: policy, protected paths, revert pairs, a trial pick, proof of emptiness.

Nothing here lands, runs tests or writes to the log; `plan` and the journey ask the same questions of the same code.
"""

import fnmatch
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headway.core.config import Config, PolicyRule
from headway.core.events_sync import Decider, Grade, Kind
from headway.core.names import Sha, TreeId
from headway.core.ports.git import (
    Clean,
    Commit,
    Conflicted,
    Empty,
    History,
    PathChange,
    Trial,
    TrialMerges,
    Unknown,
    shown_path,
)
from headway.core.ports.trees import Trees
from headway.core.reasons import Reason
from headway.sync.conflict import ConflictedFile
from headway.sync.given import Given, answered, conflict_digest, merged_contents, unanswerable
from headway.sync.harvest import Past
from headway.sync.history import Range, revert_candidates
from headway.sync.judgement import Bench, conflicted_files, judge_trial, provenance
from headway.sync.presence import proof_of_presence
from headway.sync.resolution import ResolvedHunk, Structural
from headway.sync.resolvers.ladder import Recorded, Surroundings
from headway.sync.surroundings import nothing_recorded, surroundings

SHOWN_CONFLICT_BYTES = 64 << 10
"""How much of each conflicted file, with its markers, is kept as evidence."""


@dataclass(frozen=True)
class Decided:
    """The change needs no L1: this is its disposition. `facts` become the evidence blob."""

    change: Sha
    kind: Kind
    reason: str
    facts: Mapping[str, Any]
    by: Decider = "run"
    grade: Grade = "proven"
    partner: Sha | None = None


@dataclass(frozen=True)
class Ready:
    """The pick is clean, or its conflicts are resolved, and every rail passed: `tree` may land if L1 is green on it."""

    change: Sha
    tree: TreeId
    facts: Mapping[str, Any]


Assessment = Decided | Ready
TrialWord = Literal["clean", "conflict", "empty", "unknown", "not_tried"]


@dataclass(frozen=True)
class Triage:
    """Assesses one change at a time. `rules` are the config's; `line` is the range; `deferred` are not in the fork."""

    history: History
    merges: TrialMerges
    trees: Trees
    config: Config
    line: Range
    commits: Mapping[Sha, Commit] = field(default_factory=dict)
    effects: Mapping[Sha, tuple[PathChange, ...]] = field(default_factory=dict)
    reverts: Mapping[Sha, tuple[Sha, ...]] = field(default_factory=dict)
    past: Past | None = None
    """The fork's own earlier resolutions; read when a conflict first asks."""
    foresee: Callable[[Sha, str], None] = lambda _change, _onto: None
    """Told which pick will probably be asked for next: git may begin on it while the rails look at this one."""
    structural: Structural | None = None
    """A merge of whole files by syntax, where one is installed."""
    given: Mapping[Sha, tuple[Given, ...]] = field(default_factory=dict)
    """Answers to conflicts that agents and people gave, by change, newest last."""

    @classmethod
    def of(
        cls,
        history: History,
        merges: TrialMerges,
        trees: Trees,
        config: Config,
        line: Range,
        tip: Sha | None = None,
        foresee: Callable[[Sha, str], None] = lambda _change, _onto: None,
        given: Mapping[Sha, tuple[Given, ...]] | None = None,
        structural: Structural | None = None,
    ) -> "Triage":
        """Reads the whole range once: messages, effects, who says that it reverts whom. `tip`: the fork's own line."""
        return cls(
            history,
            merges,
            trees,
            config,
            line,
            commits={commit.sha: commit for commit in line.commits},
            effects=history.effects(line.shas),
            reverts=revert_candidates(line.commits),
            past=Past(merges, history, line, tip) if tip is not None else None,
            foresee=foresee,
            given=given or {},
            structural=structural,
        )

    def assess(
        self,
        change: Sha,
        onto: str,
        *,
        pending: frozenset[Sha],
        absent: frozenset[Sha] = frozenset(),
        forced: bool,
        then: Sha | None = None,
    ) -> Assessment:
        """The answer for `change` on top of `onto` (a commit or a tree).

        `pending` are changes without a disposition, `absent` those deferred (not in the fork either); `forced` means
        that a person asked for it, so policy rules do not apply. `then` will be asked about next.
        """
        effect = self.effects[change]
        if not forced and (rule := matching_rule(self.config.policy, effect)) is not None:
            return _by_policy(change, rule, effect)
        if touched := _protected(self.config.protected_paths, effect):
            facts = {"protected_paths": touched}
            return Decided(change, "deferred", Reason.PROTECTED_PATH, facts)
        if not forced and (pair := self._reverted_pair(change, pending, absent)) is not None:
            return pair
        trial = self.merges.pick(change, onto)
        if then is not None:
            self.foresee(then, trial.tree if isinstance(trial, Clean) else onto)
        return self._judged(change, onto, trial)

    def _judged(self, change: Sha, onto: str, trial: Trial) -> Assessment:
        match trial:
            case Clean() | Conflicted():
                return self._surveyed(change, onto, trial)
            case Unknown():
                facts = {"onto": onto, "result": "unknown", "git": trial.message}
                return Decided(change, "deferred", Reason.UNKNOWN, facts)
            case Empty():
                return self._empty(change, onto, trial.tree)

    def bench(self) -> Bench:
        """What judging needs."""
        return Bench(
            self.merges,
            self.history,
            self.trees,
            self.config.invariant,
            effects=self.effects,
            structural=self.structural,
        )

    def _surveyed(self, change: Sha, onto: str, trial: Clean | Conflicted) -> Assessment:
        """The ladder where git has a conflict, and the rails over whatever came out, git's clean merges too."""
        facts: dict[str, Any] = {"onto": onto, "result": "clean"}
        given: Given | None = None
        files: tuple[ConflictedFile, ...] = ()
        if isinstance(trial, Clean):
            judged = judge_trial(change, onto, trial, self.bench(), self._look(change))
        else:
            facts, files = self._conflict_facts(onto, trial), conflicted_files(trial, self.merges)
            given = self._given(change, str(facts["conflict"]))
            if given is not None:
                judged = answered(change, onto, trial, given, files, self.bench())
            else:
                judged = judge_trial(change, onto, trial, self.bench(), self._look(change), files)
            facts["resolution"] = provenance(judged)
        if judged.tree is not None:
            return Ready(change, judged.tree, {**facts, "tree": judged.tree})
        refusals = [{"reason": why.reason, "message": why.message, "next": why.next} for why in judged.reasons]
        if given is None and files:
            why_not = unanswerable(files)
            facts |= {"askable": not why_not, "not_askable": why_not}
        return Decided(change, "deferred", judged.reasons[0].reason, {**facts, "refusals": refusals})

    def ladder(self, change: Sha, onto: str, trial: Conflicted) -> tuple[ResolvedHunk, ...]:
        """What the ladder alone says of a conflict, by hunk."""
        return judge_trial(change, onto, trial, self.bench(), self._look(change)).hunks

    def _look(self, change: Sha) -> Surroundings:
        paths = frozenset(one.path for one in self.effects[change])
        past = nothing_recorded if self.past is None else self.past.recorded(paths)
        known: dict[str, list[Recorded]] = {}
        for one in (hunk for answers in self.given.values() for given in reversed(answers) for hunk in given.recorded):
            known.setdefault(one.key, []).append(one)
        return surroundings(
            self.merges, self.trees, change, lambda: self.line.base, lambda key: (*known.get(key, ()), *past(key))
        )

    def _given(self, change: Sha, conflict: str) -> Given | None:
        """The newest answer to exactly this conflict."""
        return next((one for one in reversed(self.given.get(change, ())) if one.conflict == conflict), None)

    def _empty(self, change: Sha, onto: str, ours: TreeId) -> Assessment:
        """An empty pick is `already_present` only if it is shown that the fork has the effect."""
        proof, facts = proof_of_presence(self.history, self.merges, change, self.effects[change], onto, ours)
        if proof is None:
            return Decided(change, "deferred", Reason.VANISHED, facts)
        return Decided(change, "already_present", proof, facts)

    def _reverted_pair(self, change: Sha, pending: frozenset[Sha], absent: frozenset[Sha]) -> Decided | None:
        """A pending change and a pending one that takes exactly it back, as git itself computes the revert."""
        for later in self.reverts.get(change, ()):
            if later in pending and self._takes_back(change, later):
                return _pair(change, later)
        for earlier, later_ones in self.reverts.items():
            if change in later_ones and earlier in absent and self._takes_back(earlier, change):
                return _pair(earlier, change)
        return None

    def _takes_back(self, change: Sha, later: Sha) -> bool:
        parents = self.commits[later].parents
        if not parents:
            return False
        undone = self.merges.unpick(change, parents[0])
        return isinstance(undone, Clean) and undone.tree == self.commits[later].tree

    def _conflict_facts(self, onto: str, trial: Conflicted) -> dict[str, Any]:
        contents = merged_contents(trial, self.merges)
        files = {}
        for path in trial.paths:
            content = contents.get(path)
            shown = "" if content is None else content[:SHOWN_CONFLICT_BYTES].decode("utf-8", "replace")
            files[shown_path(path)] = shown if content is not None else "not in the merged tree"
        return {
            "onto": onto,
            "result": "conflict",
            "conflict": conflict_digest(trial, contents),
            "conflicts": [
                {"kind": c.kind, "paths": [shown_path(p) for p in c.paths], "message": _plain(c.message)}
                for c in trial.conflicts
            ],
            "paths": [shown_path(path) for path in trial.paths],
            "files_with_markers": files,
        }


def matching_rule(rules: Sequence[PolicyRule], effect: Iterable[PathChange]) -> PolicyRule | None:
    """The first rule that covers every path of the change; a change without paths is covered by none."""
    paths = [change.path for change in effect]
    for rule in rules:
        if paths and all(any(matches_glob(glob, path) for glob in rule.paths) for path in paths):
            return rule
    return None


def matches_glob(glob: str, path: str) -> bool:
    """git's default pathspec: `*` crosses slashes, and a folder's name covers all below it."""
    return fnmatch.fnmatchcase(path, glob) or path == glob.rstrip("/") or path.startswith(glob.rstrip("/") + "/")


def trial_word(assessment: Assessment) -> TrialWord:
    """What the trial pick said, for a table."""
    word = assessment.facts.get("result", "not_tried")
    return word if word in ("clean", "conflict", "empty", "unknown") else "not_tried"


def as_evidence(facts: Mapping[str, Any]) -> str:
    """Facts as the text of an evidence blob."""
    return json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _protected(globs: Sequence[str], effect: Iterable[PathChange]) -> list[str]:
    return [shown_path(c.path) for c in effect if any(matches_glob(glob, c.path) for glob in globs)]


def _by_policy(change: Sha, rule: PolicyRule, effect: Iterable[PathChange]) -> Decided:
    kind: Kind = "wont_port" if rule.decide == "wont_port" else "deferred"
    paths = [shown_path(c.path) for c in effect]
    return Decided(
        change, kind, Reason.POLICY, {"rule": list(rule.paths), "why": rule.reason, "paths": paths}, "policy"
    )


def _pair(change: Sha, later: Sha) -> Decided:
    facts = {"change": change, "reverted_by": later, "shown": "git's own revert of the change gives the later tree"}
    return Decided(change, "reverted_pair", "exact_revert", facts, partner=later)


def _plain(message: str) -> str:
    return message.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
