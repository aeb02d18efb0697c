"""What the fork took before headway: read from its messages, patch-ids and trees, each match with evidence and grade.

Words are claims. A claim becomes `proven` when the content agrees: the same patch-id, or the same effect (every path
that upstream's change touches is left in the same state by the fork's commit). Content alone is proof too.
A fork commit that takes another fork commit back takes its matches back with it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headway.core.config import AdoptConfig
from headway.core.events_sync import Grade
from headway.core.names import Sha
from headway.core.ports.git import Commit, History, Patches, PathChange
from headway.core.trailers import UPSTREAM_COMMIT, read_trailers
from headway.sync.history import Range, bare_subject, pull_request_of, reverts_in

SHORTEST_SHA = 10
"""Shorter abbreviations collide: a Triton-sized pair has commits that agree in nine digits."""

_CHERRY = re.compile(r"^\(cherry picked from commit ([0-9a-f]{10,64})\)", re.MULTILINE)
_NAMED_SHA = re.compile(
    r"^[ \t>*-]*(?P<label>[A-Za-z][\w /-]{0,60}?)[ \t]*[:=]?[ \t]+`?(?:https?://\S+/commit/)?(?P<sha>[0-9a-f]{10,64})\b",
    re.MULTILINE,
)
_PICK_WORD = re.compile(r"cherry.?pick|back.?port|forward.?port|upstream|\bport(?:ed|s|ing)?\b|\bsync", re.IGNORECASE)
_NOT_TAKEN = re.compile(
    r"defer|skip|won'?t|revert|back(?:ed|s)?.?out|drop|exclud|except|not (?:taken|port)", re.IGNORECASE
)
_CONTINUED = re.compile(r"^[^\n]*(?:\.\.\.|…)[^\n]*\n(?:.*\n)*?(?:\.\.\.|…)(\S.*)$", re.MULTILINE)
_NUMBER = re.compile(r"#(\d+)\b")


@dataclass(frozen=True)
class Match:
    """`change` of upstream was taken by the fork's `commit`; `how` names the strongest evidence, `words` the others."""

    change: Sha
    commit: Sha
    grade: Grade
    how: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """What is needed to prove a match: effects of both sides and patch-ids of those that may be equal."""

    effects: Mapping[Sha, tuple[PathChange, ...]] = field(default_factory=dict)
    patch_ids: Mapping[Sha, str] = field(default_factory=dict)


def adopt(changes: Sequence[Commit], fork: Sequence[Commit], content: Content, extra: AdoptConfig) -> tuple[Match, ...]:
    """The matches in upstream's order, at most one a change: the fork's last taking of it that was not taken back.

    `changes` is the range oldest first; `fork` are the fork's own commits, ancestors first.
    """
    index = _Index(changes, content)
    taken: dict[Sha, Match] = {}
    by_commit: dict[Sha, tuple[Sha, ...]] = {}
    subjects: dict[str, Sha] = {}
    for commit in fork:
        undone = _undone_by(commit, by_commit, subjects)
        if undone is not None:
            for change in by_commit.get(undone, ()):
                if change in taken and taken[change].commit == undone:
                    del taken[change]
            subjects[bare_subject(commit.subject)] = commit.sha
            continue
        found = _matches_of(commit, index, content, extra)
        taken.update({match.change: match for match in found if _is_better(match, taken.get(match.change))})
        by_commit[commit.sha] = tuple(match.change for match in found)
        subjects[bare_subject(commit.subject)] = commit.sha
    return tuple(taken[change.sha] for change in changes if change.sha in taken)


class Reader(History, Patches, Protocol):
    """What a scan reads."""


@dataclass(frozen=True)
class Scan:
    """All that one reading of the fork's history found."""

    matches: tuple[Match, ...]
    merged: tuple[Sha, ...]
    """Changes that are ancestors of trunk: the fork merged upstream itself."""
    fork: frozenset[Sha]
    """The fork's own commits that were read."""


def scan(reader: Reader, line: Range, trunk: Sha, extra: AdoptConfig) -> Scan:
    """Read the fork's own commits (those of `trunk` that upstream lacks) and match them with the range."""
    outside = {c.sha for c in reader.commits([line.head, f"^{trunk}", f"^{line.base}"], first_parent=True)}
    merged = tuple(sha for sha in line.shas if sha not in outside)
    fork = reader.commits([trunk, f"^{line.head}", f"^{line.base}"])
    plain = [commit.sha for commit in fork if len(commit.parents) < 2]
    effects = reader.effects([*line.shas, *plain])
    patch_ids = reader.patch_ids(same_paths(line.shas, plain, effects))
    open_changes = [commit for commit in line.commits if commit.sha in outside]
    return Scan(adopt(open_changes, fork, Content(effects, patch_ids), extra), merged, frozenset(c.sha for c in fork))


def same_paths(
    changes: Iterable[Sha], fork: Iterable[Sha], effects: Mapping[Sha, tuple[PathChange, ...]]
) -> tuple[Sha, ...]:
    """The commits worth a patch-id: those of both sides that touch exactly the same paths as one of the other side."""
    left: dict[frozenset[str], list[Sha]] = defaultdict(list)
    right: dict[frozenset[str], list[Sha]] = defaultdict(list)
    for side, commits in ((left, changes), (right, fork)):
        for sha in commits:
            side[_paths(effects.get(sha, ()))].append(sha)
    shared = (left.keys() & right.keys()) - {frozenset()}
    return tuple(sha for paths in shared for sha in (*left[paths], *right[paths]))


class _Index:
    """Upstream's changes by what a fork may call them."""

    def __init__(self, changes: Sequence[Commit], content: Content) -> None:
        self.shas = {change.sha for change in changes}
        self.by_prefix: dict[str, Sha] = {}
        self.by_pr: dict[int, Commit] = {}
        self.by_subject: dict[str, list[Commit]] = defaultdict(list)
        self.by_patch: dict[str, list[Sha]] = defaultdict(list)
        self.by_effect: dict[frozenset[tuple[str, object]], list[Sha]] = defaultdict(list)
        for change in changes:
            self.by_prefix[change.sha[:SHORTEST_SHA]] = change.sha
            number = pull_request_of(change)
            if number is not None:
                self.by_pr[number] = change
            self.by_subject[bare_subject(change.subject)].append(change)
            if change.sha in content.patch_ids:
                self.by_patch[content.patch_ids[change.sha]].append(change.sha)
            effect = _states(content.effects.get(change.sha, ()))
            if effect:
                self.by_effect[effect].append(change.sha)

    def sha(self, words: str) -> Sha | None:
        """The change that a (possibly short) id names."""
        found = self.by_prefix.get(words[:SHORTEST_SHA])
        return found if found is not None and found.startswith(words) else None


def _matches_of(commit: Commit, index: _Index, content: Content, extra: AdoptConfig) -> tuple[Match, ...]:
    claims: dict[Sha, list[str]] = defaultdict(list)
    for change, how in _claims(commit, index, extra):
        claims[change].append(how)
    proofs = dict(_proofs(commit, index, content, claims))
    found = [Match(c, commit.sha, "proven", proofs[c], tuple(dict.fromkeys(claims.get(c, ())))) for c in proofs]
    found += [
        Match(c, commit.sha, "claimed", words[0], tuple(dict.fromkeys(words)))
        for c, words in claims.items()
        if c not in proofs
    ]
    return tuple(found)


def _claims(commit: Commit, index: _Index, extra: AdoptConfig) -> Iterable[tuple[Sha, str]]:
    for key, value in read_trailers(commit.message, anywhere=True):
        if key == UPSTREAM_COMMIT and (change := index.sha(value)) is not None:
            yield change, "trailer"
    for words in _CHERRY.findall(commit.text):
        if (change := index.sha(words)) is not None:
            yield change, "cherry_picked_from"
    yield from _configured(commit, index, extra)
    for found in _NAMED_SHA.finditer(commit.text):
        if _PICK_WORD.search(found["label"]) and not _NOT_TAKEN.search(found["label"]):
            if (change := index.sha(found["sha"])) is not None:
                yield change, "named_commit"
    yield from _by_subject(commit, index)


def _by_subject(commit: Commit, index: _Index) -> Iterable[tuple[Sha, str]]:
    """Numbers count where upstream's subject stands beside them, or where the commit says that it is a pick.

    A fork has pull requests of its own, so a number alone names nothing.
    """
    for upstream in index.by_subject.get(bare_subject(commit.subject), ()):
        if upstream.author == commit.author:  # name, address and date: `typo` by somebody else is another typo
            yield upstream.sha, "same_subject_and_author"
    title = _title(commit)
    for number in dict.fromkeys(int(n) for n in _NUMBER.findall(title)):
        if number in index.by_pr and bare_subject(index.by_pr[number].subject) in title:
            yield index.by_pr[number].sha, "quoted_subject"
    if not _PICK_WORD.search(title) or _NOT_TAKEN.search(title):
        return
    own = pull_request_of(commit)
    for number in dict.fromkeys(int(n) for n in _NUMBER.findall(title)):
        if number in index.by_pr and number != own:
            yield index.by_pr[number].sha, "pick_of_number"


def _title(commit: Commit) -> str:
    """The subject, with the rest that GitHub moves into the body when a title is too long (`Pick #1 #2... (#9)`)."""
    found = _CONTINUED.search(commit.text)
    return f"{commit.subject} {found[1]}" if found else commit.subject


def _configured(commit: Commit, index: _Index, extra: AdoptConfig) -> Iterable[tuple[Sha, str]]:
    texts = [(pattern, commit.subject) for pattern in extra.subject_patterns]
    texts += [(pattern, commit.text) for pattern in extra.body_patterns]
    for pattern, text in texts:
        for found in re.finditer(pattern, text, re.MULTILINE):
            groups = found.groupdict()
            change = index.sha(groups["sha"]) if groups.get("sha") else None
            if change is None and groups.get("pr") and int(groups["pr"]) in index.by_pr:
                change = index.by_pr[int(groups["pr"])].sha
            if change is not None:
                yield change, "configured_pattern"


def _proofs(
    commit: Commit, index: _Index, content: Content, claims: Mapping[Sha, Sequence[str]]
) -> Iterable[tuple[Sha, str]]:
    patch = content.patch_ids.get(commit.sha)
    effect = content.effects.get(commit.sha, ())
    states = _states(effect)
    for change in claims:
        theirs = content.effects.get(change, ())
        if theirs and _states(theirs) <= states:
            yield change, "same_effect"
    # two upstream changes with one patch-id (a change, its revert, the change again) are told apart by words only
    if patch is not None and len(index.by_patch[patch]) == 1:
        yield index.by_patch[patch][0], "patch_id"
    elif patch is not None:
        yield from ((change, "patch_id") for change in index.by_patch[patch] if change in claims)
    if states and len(index.by_effect[states]) == 1:
        yield index.by_effect[states][0], "same_effect"


def _undone_by(commit: Commit, by_commit: Mapping[Sha, tuple[Sha, ...]], subjects: Mapping[str, Sha]) -> Sha | None:
    """The fork's own commit that this one takes back."""
    said = reverts_in(commit)
    if said is None:
        return None
    for words in said.shas:
        for sha in by_commit:
            if sha.startswith(words):
                return sha
    return subjects.get(said.subject)


def _is_better(new: Match, old: Match | None) -> bool:
    """A later taking replaces an earlier one, but words never replace a proof."""
    return old is None or new.grade == "proven" or old.grade == "claimed"


def _states(effect: Iterable[PathChange]) -> frozenset[tuple[str, object]]:
    return frozenset((change.path, change.after) for change in effect)


def _paths(effect: Iterable[PathChange]) -> frozenset[str]:
    return frozenset(change.path for change in effect)
