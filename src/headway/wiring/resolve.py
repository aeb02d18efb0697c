"""`headway sync resolve SHA`: a folder with the conflict for a person; his answer, past the rails, into the ledger."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.conflict_folder import Note, changed_files, lay_out, read_note
from headway.adapters.locks import LockHeld
from headway.core.errors import HeadwayError
from headway.core.events_core import PersonDecided
from headway.core.gates import Refused
from headway.core.inbox import leave
from headway.core.names import Sha
from headway.core.ports.git import Conflicted, shown_path
from headway.sync.conflict import ConflictedFile, decoded, encoded
from headway.sync.decisions import check_decision
from headway.sync.excerpts import with_markers
from headway.sync.given import Given, answered, conflict_digest, keep, learnt, merged_contents
from headway.sync.judgement import Bench, conflicted_files
from headway.wiring.sync import Session, change_named, open_session, tip_of
from headway.wiring.sync_people import decide_now, user
from headway.wiring.world import real_world


@dataclass(frozen=True)
class Opened:
    """The folder that waits for a person, and what is in conflict in it."""

    change: Sha
    folder: Path
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What the rails said of a person's answer; `note` is "" exactly when one refused it."""

    change: Sha
    refusals: tuple[Refused, ...]
    note: str


@dataclass(frozen=True)
class _Question:
    change: Sha
    tip: Sha
    trial: Conflicted
    files: tuple[ConflictedFile, ...]
    conflict: str


def open_conflict(path: Path, state: Path | None, name: str, folder: Path | None) -> Opened:
    """Lay the conflict out. Raises HeadwayError where there is none, or where the folder is in use."""
    with open_session(path, state, real_world(), write=False) as session:
        question = _question(session, name)
        place = folder.absolute() if folder is not None else _place(session, question.change)
        shown = {file.path: encoded(with_markers(file)) for file in question.files if file.segments}
        note = Note(question.change, question.conflict)
        lay_out(place, session.quarantine, question.tip, question.trial, shown, note)
        return Opened(question.change, place, question.trial.paths)


def take_answer(
    path: Path, state: Path | None, name: str, folder: Path | None, source: Path | None, *, dry_run: bool = False
) -> Answer:
    """Judge what is in the folder (or the conflicted files of `source`) and, past every rail, put it into the ledger.

    While a run is going on it is left in the inbox. `dry_run`: only judge it. Raises HeadwayError for an answer to
    another conflict.
    """
    with open_session(path, state, real_world(), write=False, append=not dry_run) as session:
        question = _question(session, name)
        place = folder.absolute() if folder is not None else _place(session, question.change)
        contents = _from(source, question) if source is not None else _continued(place, session, question)
        given = _given(contents, question)
        bench = Bench(session.room.merges, session.room.history, session.room.trees, session.found.config.invariant)
        judged = answered(question.change, question.tip, question.trial, given, question.files, bench)
        if judged.tree is None:
            return Answer(question.change, judged.reasons, "")
        if dry_run:
            return Answer(question.change, (), "it would be taken")
        blob = keep(given, session.state.blobs)
        if blob is None:
            raise HeadwayError("The answer holds what looks like a secret, and no log may keep it.", "Take it out.")
        args = {"conflict": question.conflict, "answer": blob, "reason": "resolved by hand"}
        decision = PersonDecided("resolve", question.change, user(), args)
        check_decision(session.room.ledger(), decision)
    note = _put(path, state, decision)
    if source is None and folder is None:
        shutil.rmtree(place, ignore_errors=True)
    return Answer(question.change, (), note)


def _put(path: Path, state: Path | None, decision: PersonDecided) -> str:
    try:
        with open_session(path, state, real_world(), write=True) as session:
            decide_now(session, decision)
            return "the next `headway sync run` takes it"
    except LockHeld:
        with open_session(path, state, real_world(), write=False, append=True) as session:
            leave(session.state.log, session.room.home, decision)
            return "left for the running loop"


def _question(session: Session, name: str) -> _Question:
    change, tip = change_named(session, name), tip_of(session)
    ledger = session.room.ledger()
    check_decision(ledger, PersonDecided("resolve", change, user(), {"conflict": "", "answer": ""}))
    answer = ledger.dispositions.get(change)
    if answer is not None and answer.kind != "deferred":
        raise HeadwayError(
            f"{change[:12]} is {answer.kind}, so there is nothing to resolve.",
            "`headway sync decide SHA pick` takes that answer back.",
        )
    trial = session.room.merges.pick(change, tip)
    if not isinstance(trial, Conflicted):
        raise HeadwayError(
            f"Picking {change[:12]} on {tip[:12]} gives no conflict, so there is nothing to resolve.",
            "`headway sync show` tells what it waits for.",
        )
    if any(stage.entry.mode == "160000" for stage in trial.stages):
        raise HeadwayError(
            f"{change[:12]} conflicts in a submodule, whose commits are not here.",
            "Pick it by hand onto trunk with `git cherry-pick -x`; `headway sync adopt` then finds it.",
        )
    files = conflicted_files(trial, session.room.merges)
    return _Question(change, tip, trial, files, conflict_digest(trial, merged_contents(trial, session.room.merges)))


def _continued(place: Path, session: Session, question: _Question) -> Mapping[str, bytes | None]:
    note = read_note(place)
    if note != Note(question.change, question.conflict):
        raise HeadwayError(
            f"{place} was made for another conflict: the fork or upstream has moved on since.",
            "Open it again in another folder (--dir) and carry your answer over.",
        )
    return changed_files(place, session.quarantine, question.trial)


def _from(source: Path, question: _Question) -> Mapping[str, bytes | None]:
    contents: dict[str, bytes | None] = {}
    for path in question.trial.paths:
        file = source / path
        if not file.is_file():
            raise HeadwayError(f"{source} has no {shown_path(path)}, which is in conflict.", "Put it there, resolved.")
        contents[path] = file.read_bytes()
    return contents


def _given(contents: Mapping[str, bytes | None], question: _Question) -> Given:
    texts = {
        path: None if content is None else decoded(content) or content.decode("utf-8", "surrogateescape")
        for path, content in contents.items()
    }
    return Given("human", user(), question.conflict, texts, learnt(question.files, texts, "person"))


def _place(session: Session, change: Sha) -> Path:
    return session.state.root / "resolve" / change[:12]
