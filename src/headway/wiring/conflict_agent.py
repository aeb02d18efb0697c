"""Gives the sync room the agent of `[agent]`, and clones of conflicts for one that works with files."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from headway.adapters.clones import GitClones
from headway.adapters.git_trial import Quarantine
from headway.core.ports.git import Conflicted
from headway.core.ports.workspace import Checkout, CloneRequest
from headway.sync.asker import Asker
from headway.sync.room import Room


@contextmanager
def with_agent(room: Room, quarantine: Quarantine, owner: Path, pool: Path, env: Mapping[str, str]) -> Iterator[Room]:
    """The room as it is where nobody is named; `pool` is where clones wait between uses.

    Raises HeadwayError for a missing key or an absent program.
    """
    config = room.config.agent
    if config is None:
        yield room
        return
    from headway.wiring.agents import opened_resolver  # a fork without an agent does not pay for it

    clones = GitClones(pool)

    def place(trial: Conflicted, onto: str, files: Mapping[str, bytes]) -> AbstractContextManager[Checkout]:
        commit = quarantine.as_commit(trial.tree, onto)
        return clones.checkout(CloneRequest(owner, commit, (quarantine.objects,), overlay=files))

    with opened_resolver(config, env) as agent:
        yield replace(room, asker=Asker(agent, config, place))
