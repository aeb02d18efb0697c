"""Who is asked about conflicts, within which bounds, and where: what the sync room is given of an agent."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from headway.core.config import AgentConfig
from headway.core.events_resolve import Engine
from headway.core.ports.agent import Agent
from headway.core.ports.git import Conflicted
from headway.core.ports.workspace import Checkout

Place = Callable[[Conflicted, str, Mapping[str, bytes]], AbstractContextManager[Checkout]]
"""A clone with the conflicted tree on top of a commit or tree, some files replaced."""


@dataclass(frozen=True)
class Asker:
    """The agent, its bounds, and where one that works with files works."""

    agent: Agent
    config: AgentConfig
    place: Place

    @property
    def engine(self) -> Engine:
        """The agent's kind, as `Resolved-By:` names it."""
        return self.config.use

    @property
    def who(self) -> str:
        """The model, or the program."""
        return who_of(self.config)


def who_of(config: AgentConfig) -> str:
    """The model, or the program."""
    return config.model if config.use == "model" else config.command.split(" ")[0]
