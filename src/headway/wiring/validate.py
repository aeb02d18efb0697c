"""Builds the validate room: its tiers and censuses with the real executor, clones, log and blobs."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.adapters.clones import GitClones
from headway.adapters.config_file import parse_config
from headway.adapters.config_source import ConfigFound, need_config
from headway.adapters.git_history import GitHistory
from headway.adapters.git_repository import ForkRepository, known_commit, open_fork
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.state_place import state_of_fork
from headway.core.config import Config, L1Config
from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_validate import CensusAccepted, RunRequested
from headway.core.journey import Journey, drive, fold
from headway.core.names import BlobId, Sha, StreamId, TestId
from headway.core.ports.git import Commit
from headway.core.ports.log import one
from headway.core.trailers import read_trailers
from headway.validate.canary import fly_canaries
from headway.validate.census_run import inventory_of, take_census
from headway.validate.culprit import Outcome, Rules
from headway.validate.culprit_run import (
    Question,
    SearchState,
    commit_prober,
    explain,
    landings,
    search_journey,
)
from headway.validate.run_journey import RunState, run_journey
from headway.validate.suite_run import Ports
from headway.validate.tier_ladder import ChangeToCheck, check_change
from headway.wiring.state import State, open_state


@dataclass(frozen=True)
class Asked:
    """Where and how a validate verb works: a checkout of the fork, and what the user overrides."""

    fork: Path
    state: Path | None = None
    config: Path | None = None
    fresh: bool = False
    mutants: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Answer:
    """What a verb shows: the evidence (with its schema), and sentences about the config in use."""

    evidence: dict[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Room:
    """The opened fork, with the journey that answers its requests."""

    asked: Asked
    repository: ForkRepository
    config: Config
    l1: L1Config
    notes: tuple[str, ...]
    state: State
    ports: Ports

    @property
    def home(self) -> StreamId:
        return StreamId(f"validation/{self.config.fork.id}")

    def answer(self, request: RunRequested) -> RunState:
        """Append the request, unless a killed run left the very same one open, and drive it to its answer."""
        standing = fold(self._journey(), self.state.log.read(self.home))
        if standing.state.asked != request or standing.open_intent is None:
            self.state.log.append(one(self.home, standing.version, request))
        return drive(self._journey(), self.state.log)

    def append(self, event: Event) -> None:
        self.state.log.append(one(self.home, self.state.log.heads(self.home).get(self.home, 0), event))

    def _journey(self) -> Journey[RunState]:
        return run_journey(self.home, {"L1": self._check_l1, "census": self._take_census, "canary": self._fly_canaries})

    def _check_l1(self, state: RunState, request: RunRequested) -> tuple[Event, ...]:
        change = ChangeToCheck(self.repository.top, request.revision, request.base, fresh=self.asked.fresh)
        return check_change(self.l1, change, self.ports, state.known).events

    def _take_census(self, state: RunState, request: RunRequested) -> tuple[Event, ...]:
        return take_census(
            self.l1,
            self.repository.top,
            request.revision,
            self.ports,
            state.known,
            state.expected,
            self.config.allowed_skip,
            datetime.now(UTC).date(),
        )

    def _fly_canaries(self, state: RunState, request: RunRequested) -> tuple[Event, ...]:
        return fly_canaries(
            self.l1,
            self.config.canary,
            self.repository.top,
            request.revision,
            self.ports,
            state.known,
            self.asked.mutants,
            self.asked.seed,
        )


def run_l1(asked: Asked, revision: str, base: str | None, say: Callable[[str], None]) -> Answer:
    """Run L1 on a revision of the fork and record it. Raises HeadwayError for bad input; the verdict is a value."""
    with _opened(asked) as room:
        commit, against = _commit(room, revision), _commit(room, base) if base else None
        say(f"L1 on {commit[:12]}: `{room.l1.test.run}` in a clone of its own …")
        judged = room.answer(RunRequested("L1", commit, against)).judged
        assert judged is not None
        return Answer(json.loads(room.state.blobs.get(judged.evidence)), room.notes)


def run_census(asked: Asked, revision: str, accept: str, by: str, say: Callable[[str], None]) -> Answer:
    """Take the census of a revision. `accept` (a reason) makes it the new ratchet. Raises HeadwayError, CouldNotRun."""
    with _opened(asked) as room:
        commit = _commit(room, revision)
        say(f"census of {commit[:12]}: `{room.l1.test.run}` in a clone of its own …")
        taken = room.answer(RunRequested("census", commit)).census
        assert taken is not None
        evidence = room.state.blobs.get(taken.evidence)
        if accept:
            room.append(CensusAccepted(commit, inventory_of(evidence), by, accept))
        return Answer({**json.loads(evidence), "accepted": bool(accept)}, room.notes)


def run_canaries(asked: Asked, revision: str, say: Callable[[str], None]) -> Answer:
    """Show L1 known-bad changes of a revision. Raises HeadwayError for a hand-written one that does not fit."""
    with _opened(asked) as room:
        commit = _commit(room, revision)
        say(f"canaries on {commit[:12]}: `{room.l1.test.run}` on each …")
        flight = room.answer(RunRequested("canary", commit)).canaries
        assert flight is not None
        return Answer(json.loads(room.state.blobs.get(flight.evidence)), room.notes)


def run_culprit(asked: Asked, question: tuple[str, str, str, str], rules: Rules, say: Callable[[str], None]) -> Answer:
    """Search `(good, bad, test, command)`. A search that was killed goes on. Raises HeadwayError for bad input."""
    with _opened(asked) as room:
        good, bad = _commit(room, question[0]), _commit(room, question[1])
        history = GitHistory(room.repository.git)
        line = history.commits([bad, f"^{good}"], first_parent=True)[::-1]
        if not line or history.merge_base(good, bad) != good:
            raise HeadwayError(
                f"{question[0]} is no ancestor of {question[1]}.", "Name a good commit that the bad one descends from."
            )
        bundles = {commit.sha: _bundle_of(commit) for commit in line}
        found_landings = landings([commit.sha for commit in line], lambda sha: bundles[sha])
        asked_of = Question(good, bad, TestId(question[2]), question[3])
        search = _Search(room, asked_of, rules, say)
        tips = [landing[0] for landing in found_landings]
        state = search.drive("landings", tips, good)
        assert state.found is not None
        if len(state.found.suspects) == 1:
            place = tips.index(state.found.suspects[0])
            if len(found_landings[place]) > 1:
                say(f"inside the bundle {bundles[tips[place]]} …")
                before = tips[place + 1] if place + 1 < len(tips) else good
                inner = search.drive("members", found_landings[place], before)
                state = inner if inner.found and inner.found.suspects else state
        assert state.found is not None
        return Answer(explain(state.found, asked_of, state), room.notes)


@dataclass(frozen=True)
class _Search:
    """One question, searched at two levels, each in a stream of its own."""

    room: _Room
    question: Question
    rules: Rules
    say: Callable[[str], None]

    def drive(self, level: str, commits: Sequence[Sha], old_end: Sha) -> SearchState:
        room = self.room
        home = StreamId(f"validation/{room.config.fork.id}.culprit.{self.question.digest[:16]}.{level}")
        prober = commit_prober(room.l1, room.repository.top, self.question, room.ports)

        def probe(commit: Sha) -> tuple[Outcome, BlobId]:
            outcome, output = prober(commit)
            self.say(f"{commit[:12]} {outcome}")
            return outcome, output

        return drive(search_journey(home, commits, old_end, self.rules, probe), room.state.log)


def _bundle_of(commit: Commit) -> str:
    trailers = dict(read_trailers(commit.message))
    return trailers.get("Headway-Bundle", "").partition(" ")[0]


@contextmanager
def _opened(asked: Asked) -> Iterator[_Room]:
    repository = open_fork(asked.fork)
    found = _config(repository, asked.config)
    if found.config.l1 is None:
        raise HeadwayError(
            f"{found.config.source} has no [l1] section, so there is nothing to run.", "Add `[l1]` with `test = …`."
        )
    root = state_of_fork(asked.fork, asked.state, os.environ)
    with open_state(root) as state, state.lock():
        ports = Ports(LocalExecutor(), GitClones(root / "clones"), state.blobs, dict(os.environ))
        yield _Room(asked, repository, found.config, found.config.l1, found.notes, state, ports)


def _commit(room: _Room, name: str) -> Sha:
    return known_commit(room.repository, name)


def _config(repository: ForkRepository, named: Path | None) -> ConfigFound:
    if named is None:
        return need_config(repository)
    if not named.is_file():
        raise HeadwayError(f"The file {named} does not exist.", "Give a headway.toml with --config.")
    return ConfigFound(parse_config(named.read_bytes(), str(named)), (f"{named} is used, not the fork's own.",))
