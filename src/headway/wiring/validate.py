"""Builds the validate room: L1 with the real executor, clones, log and blobs."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.adapters.clones import GitClones
from headway.adapters.config_file import parse_config
from headway.adapters.config_source import ConfigFound, need_config
from headway.adapters.git_repository import ForkRepository, known_commit, open_fork
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.state_place import state_of_fork
from headway.core.config import L1Config
from headway.core.errors import HeadwayError
from headway.core.events_validate import RunRequested
from headway.core.journey import drive, fold
from headway.core.names import Sha, StreamId
from headway.core.ports.blobs import BlobStore
from headway.core.ports.log import one
from headway.validate.known import KnownResults
from headway.validate.run_journey import run_journey
from headway.validate.suite_run import Ports
from headway.validate.tier_ladder import ChangeToCheck, L1Answer, check_change
from headway.wiring.state import open_state


@dataclass(frozen=True)
class L1Run:
    """What `validate run L1` shows: the evidence (schema `headway.l1/1`), and sentences about the config in use."""

    evidence: dict[str, Any]
    notes: tuple[str, ...]


def l1_ports(state_root: Path, blobs: BlobStore) -> Ports:
    """Real ports for L1. Clones wait between runs in `STATE/clones`."""
    return Ports(LocalExecutor(), GitClones(state_root / "clones"), blobs, dict(os.environ))


def run_l1(
    fork: Path,
    revision: str,
    *,
    base: str | None,
    state: Path | None,
    config: Path | None,
    fresh: bool,
    say: Callable[[str], None],
) -> L1Run:
    """Run L1 on a revision of the fork and record it. Raises HeadwayError for bad input; the verdict is a value."""
    repository = open_fork(fork)
    found = _config(repository, config)
    l1 = found.config.l1
    if l1 is None:
        raise HeadwayError(
            f"{found.config.source} has no [l1] section, so there is nothing to run.", "Add `[l1]` with `test = …`."
        )
    commit = known_commit(repository, revision)
    against = known_commit(repository, base) if base else None
    root = state_of_fork(fork, state, os.environ)
    with open_state(root) as opened, opened.lock():
        ports = l1_ports(root, opened.blobs)
        home = StreamId(f"validation/{found.config.fork.id}")
        journey = run_journey(home, _checker(l1, repository, ports, fresh))
        standing = fold(journey, opened.log.read(home))
        asked = RunRequested("L1", commit, against)
        if standing.state.asked != asked or standing.open_intent is None:
            opened.log.append(one(home, standing.version, asked))
        say(f"L1 on {commit[:12]}: `{l1.test.run}` in a clone of its own …")
        judged = drive(journey, opened.log).judged
        assert judged is not None
        return L1Run(json.loads(opened.blobs.get(judged.evidence)), found.notes)


def _checker(
    l1: L1Config, repository: ForkRepository, ports: Ports, fresh: bool
) -> Callable[[Sha, Sha | None, KnownResults], L1Answer]:
    def check(revision: Sha, base: Sha | None, known: KnownResults) -> L1Answer:
        return check_change(l1, ChangeToCheck(repository.top, revision, base, fresh=fresh), ports, known)

    return check


def _config(repository: ForkRepository, named: Path | None) -> ConfigFound:
    if named is None:
        return need_config(repository)
    if not named.is_file():
        raise HeadwayError(f"The file {named} does not exist.", "Give a headway.toml with --config.")
    return ConfigFound(parse_config(named.read_bytes(), str(named)), (f"{named} is used, not the fork's own.",))
