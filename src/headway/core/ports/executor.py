"""The executor port: run one command under limits, in a sandbox, and say what happened. It decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may use. `None` means no limit of that kind."""

    seconds: float
    output_bytes: int = 16 << 20
    memory_bytes: int | None = None
    file_bytes: int | None = None
    processes: int | None = None
    """At once, in the whole tree; looked at every half second."""


@dataclass(frozen=True, slots=True)
class Command:
    """`env` is the whole environment (an allow-list was applied before); `writable` are the only paths it may write."""

    argv: tuple[str, ...]
    cwd: Path
    limits: Limits
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] | None = None
    """`None`: everything may be read but HOME-like secrets; else only these and the system's own folders."""
    hidden: tuple[Path, ...] = ()
    """Never readable, even inside a readable folder (an owner's git folder), but for what `readable_inside` names."""
    readable_inside: tuple[Path, ...] = ()
    """Exceptions inside `hidden` (an object folder that a clone borrows from)."""
    network: bool = False


@dataclass(frozen=True, slots=True)
class Resources:
    """Measured by the operating system: times of the whole process tree, `peak_bytes` of its largest process."""

    wall_seconds: float
    user_seconds: float
    system_seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """`exit` is None exactly when the process did not exit by itself: it `timed_out`, or `died` (a signal's name).

    "Died" and "raised" differ: a program that raised has an exit code.
    """

    exit: int | None
    output: bytes
    """stdout and stderr as they came, cut to the limit (head and tail kept)."""
    timed_out: bool
    died: str | None
    truncated: bool
    resources: Resources
    sandbox: tuple[str, ...]
    """Layers that were really in force, e.g. `("rlimits", "own-home", "landlock", "seccomp", "no-network")`."""
    not_started: str | None = None
    """Why the command could not even be started (no such file, permission): nothing ran."""


class Executor(Protocol):
    """Adapters: `adapters/local_executor.py` (real) and `adapters/scripted_executor.py` (fake)."""

    def run(self, command: Command) -> Outcome:
        """Run to the end or to a limit; kill the whole tree at a limit. Never raises for what the command does."""
        ...
