"""The validate room, opened: a fork with its config, its log and blobs, and the ports its suites run through."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.adapters.clones import GitClones
from headway.adapters.config_file import parse_config
from headway.adapters.config_source import ConfigFound, need_config
from headway.adapters.counted import CountedExecutor
from headway.adapters.git_repository import ForkRepository, known_commit, open_fork
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.state_place import state_of_fork
from headway.core.config import Config, L1Config
from headway.core.config_tiers import L1_SUITE, SuiteConfig
from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.names import BlobId, Sha, StreamId, TreeId
from headway.core.ports.clock import Clock
from headway.core.ports.log import Record, one
from headway.validate.suite_run import Ports
from headway.wiring.state import State, open_state
from headway.wiring.world import World, real_world


@dataclass(frozen=True)
class Asked:
    """Where and how a validate verb works: a checkout of the fork, and what the user overrides."""

    fork: Path
    state: Path | None = None
    config: Path | None = None
    fresh: bool = False
    mutants: int = 0
    seed: int = 0
    world: World = field(default_factory=real_world)


@dataclass(frozen=True)
class Answer:
    """What a verb shows: the evidence (with its schema), and sentences about the config in use."""

    evidence: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Room:
    """One fork, opened by one verb."""

    asked: Asked
    repository: ForkRepository
    config: Config
    notes: tuple[str, ...]
    state: State
    ports: Ports
    clock: Clock

    @property
    def home(self) -> StreamId:
        """Where every answer of the room is kept."""
        return StreamId(f"validation/{self.config.fork.id}")

    @property
    def l1(self) -> L1Config:
        """The `[l1]` section. Raises HeadwayError where there is none."""
        if self.config.l1 is None:
            raise HeadwayError(
                f"{self.config.source} has no [l1] section, so there is nothing to run.", "Add `[l1]` with `test = …`."
            )
        return self.config.l1

    def suite(self, name: str) -> SuiteConfig:
        """A suite that can be run here. Raises HeadwayError for an unknown or a remote one."""
        if name == L1_SUITE:
            return SuiteConfig(L1_SUITE, self.l1)
        found = self.config.tiers.suite(name)
        if found.remote:
            raise HeadwayError(
                f"The suite {name!r} has no `test` in {self.config.source}, so it cannot be run here.",
                "Its pipeline reports through `headway validate ingest`.",
            )
        return found

    def append(self, *events: Event) -> tuple[Record, ...]:
        """Events for `home`, outside a journey."""
        return self.state.log.append(one(self.home, self.state.log.heads(self.home).get(self.home, 0), *events))

    def commit(self, name: str) -> Sha:
        """The commit of a revision. Raises HeadwayError naming it."""
        return known_commit(self.repository, name)

    def tree(self, commit: Sha) -> TreeId:
        """The tree of a commit."""
        return TreeId(self.repository.git.run("rev-parse", f"{commit}^{{tree}}").text)

    def tracked(self, commit: Sha) -> frozenset[str]:
        """Every path of a commit."""
        listing = self.repository.git.run("ls-tree", "-r", "-z", "--name-only", commit).stdout
        return frozenset(os.fsdecode(path) for path in listing.split(b"\0") if path)

    def trunk(self) -> Sha:
        """Where trunk stands."""
        return self.commit(f"refs/heads/{self.config.fork.trunk}")

    def text(self, blob: BlobId) -> bytes:
        """A blob's content."""
        return self.state.blobs.get(blob)


@contextmanager
def opened(asked: Asked, *, read_only: bool = False) -> Iterator[Room]:
    """The room, locked for writing unless `read_only`. Raises HeadwayError for what is not there."""
    repository, world = open_fork(asked.fork), asked.world
    found = _config(repository, asked.config)
    root = state_of_fork(asked.fork, asked.state, world.env)
    with open_state(root, clock=world.clock, env=world.env, read_only=read_only) as state:
        executor = CountedExecutor(world.executor or LocalExecutor(), state.failpoints)
        ports = Ports(executor, GitClones(root / "clones"), state.blobs, dict(world.env))
        room = Room(asked, repository, found.config, found.notes, state, ports, world.clock)
        if read_only:
            yield room
            return
        with state.lock():
            yield room


def state_is_there(asked: Asked) -> bool:
    """Whether anything was ever recorded; a log that is not there cannot be read, and may be begun."""
    return (state_of_fork(asked.fork, asked.state, asked.world.env) / "log.sqlite3").exists()


def _config(repository: ForkRepository, named: Path | None) -> ConfigFound:
    if named is None:
        return need_config(repository)
    if not named.is_file():
        raise HeadwayError(f"The file {named} does not exist.", "Give a headway.toml with --config.")
    return ConfigFound(parse_config(named.read_bytes(), str(named)), (f"{named} is used, not the fork's own.",))
