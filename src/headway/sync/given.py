"""Answers to a conflict from outside the ladder, an agent's or a person's: how they are kept, and judged."""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.core.errors import HeadwayError
from headway.core.events_resolve import Engine, Resolved
from headway.core.names import BlobId, Sha
from headway.core.ports.blobs import BlobStore
from headway.core.ports.git import Clean, Conflicted, TrialMerges, shown_path
from headway.sync.accounting import Ledger
from headway.sync.conflict import ConflictedFile, decoded, encoded
from headway.sync.harvest import answers_in
from headway.sync.judgement import Bench, Judged, gather, past_rails
from headway.sync.rails.facts import FileFacts, Proposal
from headway.sync.resolution import ResolvedHunk
from headway.sync.resolvers.ladder import Recorded
from headway.sync.resolvers.recorded import learn
from headway.sync.survival import survey


@dataclass(frozen=True, slots=True)
class Given:
    """`files` replace those of git's own merge, conflicted or not (None: the path is removed).

    `conflict` is the digest of the conflict that it answers; `recorded` the same by hunk, for conflicts alike.
    """

    engine: Engine
    by: str
    conflict: str
    files: Mapping[str, str | None]
    recorded: tuple[Recorded, ...] = ()

    def to_json(self) -> str:
        """What is kept in a blob. Bytes that are not UTF-8 are lone surrogates, which ASCII JSON spells out."""
        hunks = [{"key": one.key, "lines": list(one.lines)} for one in self.recorded]
        return json.dumps({"files": dict(self.files), "hunks": hunks}, sort_keys=True)

    @classmethod
    def kept(cls, event: Resolved, blobs: BlobStore) -> "Given":
        """The answer that an event names. Raises HeadwayError where its blob is gone."""
        document = json.loads(blobs.get(event.answer))
        hunks = tuple(Recorded(one["key"], tuple(one["lines"]), event.by) for one in document["hunks"])
        return cls(event.engine, event.by, event.conflict, document["files"], hunks)


def standing(ledger: Ledger, blobs: BlobStore, read: dict[BlobId, Given]) -> dict[Sha, tuple[Given, ...]]:
    """The answers of a ledger by change, newest last; `read` is filled so that each blob is read once."""
    found: dict[Sha, tuple[Given, ...]] = {}
    for change, events in ledger.answers.resolved.items():
        for event in events:
            if event.answer not in read:
                try:
                    read[event.answer] = Given.kept(event, blobs)
                except HeadwayError:  # redacted or collected: the answer is gone, the conflict is asked about again
                    continue
            found[change] = (*found.get(change, ()), read[event.answer])
    return found


def keep(given: Given, blobs: BlobStore) -> BlobId | None:
    """Make the answer durable; None where it holds what looks like a secret, since masked it would be another one."""
    content = given.to_json()
    blob = blobs.put(content)
    return blob if blobs.get(blob) == content.encode() else None


def merged_contents(trial: Conflicted, merges: TrialMerges) -> dict[str, bytes]:
    """The conflicted files as git left them; one that a side deleted, or a submodule, is not among them."""
    found = {}
    for path in trial.paths:
        with contextlib.suppress(HeadwayError):
            found[path] = merges.blob(f"{trial.tree}:{path}")
    return found


def conflict_digest(trial: Conflicted, contents: Mapping[str, bytes]) -> str:
    """The same for the same sides, the same merged lines and the same markers in every conflicted file."""
    found = hashlib.sha256()
    for stage in sorted(trial.stages, key=lambda one: (one.path, one.number)):
        found.update(encoded(f"{stage.number} {stage.entry.mode} {stage.entry.oid} {stage.path}\0"))
    for path in trial.paths:
        found.update(encoded(f"{path}\0{hashlib.sha256(contents.get(path, b'')).hexdigest()}\0"))
    return found.hexdigest()


def unanswerable(files: Sequence[ConflictedFile]) -> str:
    """Why an agent is not asked about these files; "" where all are text with hunks."""
    for file in files:
        if not file.segments:
            return f"{shown_path(file.path)}: a {file.kind.replace('_', ' ')} conflict is for a person"
        if not all(_is_utf8(text or "") for text in (file.path, file.base, file.ours, file.theirs)):
            return f"{shown_path(file.path)}: text that is not UTF-8 is for a person"
    return ""


def _is_utf8(text: str) -> bool:
    """Bytes that were not came as lone surrogates, which no encoder takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def learnt(files: Sequence[ConflictedFile], answer: Mapping[str, str | None], source: str) -> tuple[Recorded, ...]:
    """What the answer says hunk by hunk, where its place between the merged lines is certain."""
    found = []
    for file in files:
        text = answer.get(file.path)
        if not file.segments or text is None:
            continue
        lines = answers_in(file, text)
        for hunk in file.hunks:
            if hunk.index in lines and (one := learn(hunk, lines[hunk.index], source)) is not None:
                found.append(one)
    return tuple(found)


def answered(
    change: Sha, onto: str, trial: Conflicted, given: Given, files: Sequence[ConflictedFile], bench: Bench
) -> Judged:
    """The pick with this answer, past every rail. A conflicted file that it leaves out keeps its markers."""
    contents = {path: None if text is None else encoded(text) for path, text in given.files.items()}
    tree = bench.merges.write_tree(trial.tree, contents)
    conflicted = {file.path for file in files}
    outside = [path for path in given.files if path not in conflicted]
    facts = tuple(one for one in gather(change, onto, Clean(tree), bench, files) if one.path not in outside) + tuple(
        _outside(path, trial, given, bench) for path in outside
    )
    found = survey(Proposal(facts, bench.invariants, bench.bounds))
    why = f"{given.engine} ({given.by})"
    hunks = tuple(
        ResolvedHunk(file.path, index, given.engine, why) for file in files for index in range(len(file.hunks) or 1)
    )
    texts = {path: text for path, text in given.files.items() if text is not None}
    return past_rails(trial, tree, hunks, found, texts)


def _outside(path: str, trial: Conflicted, given: Given, bench: Bench) -> FileFacts:
    try:
        merged = decoded(bench.merges.blob(f"{trial.tree}:{path}")) or ""
    except HeadwayError:
        merged = ""
    return FileFacts(path, merged, merged, merged, given.files[path], merged)
