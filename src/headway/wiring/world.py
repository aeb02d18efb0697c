"""What a verb takes of the world around it, so that tests may bring another."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from headway.adapters.clocks import SystemClock
from headway.core.ports.clock import Clock
from headway.core.ports.executor import Executor


@dataclass(frozen=True)
class World:
    """What a caller may put in place of the real thing: the kill tests bring a fixed clock and a scripted executor."""

    env: Mapping[str, str]
    clock: Clock
    executor: Executor | None = None


def real_world() -> World:
    """This process's environment and the system's clock."""
    return World(os.environ, SystemClock())
