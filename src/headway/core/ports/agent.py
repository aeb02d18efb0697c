"""The agent port. An agent proposes text or patches; nothing it says is evidence."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from headway.core.ports.workspace import Checkout


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What one proposal may cost."""

    seconds: float
    tokens: int | None = None
    output_bytes: int = 1 << 20


class Desk(Protocol):
    """Read-only questions an agent may ask while it thinks; the answers are text from the log, bounded in size."""

    def questions(self) -> Mapping[str, str]:
        """Name -> one line on what it answers (`recall`: one strategy or group whole; `profile`: a stored profile)."""
        ...

    def ask(self, question: str, subject: str) -> str:
        """The answer; for an unknown question or subject a sentence that says so."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """`context` is all the agent sees; `files` are the editable files with their present contents."""

    purpose: Literal["resolve_conflict", "optimise", "group_failures", "write_report", "fix"]
    context: str
    files: Mapping[str, str]
    limits: AgentLimits
    refusals: tuple[str, ...] = ()
    """What earlier proposals for the same purpose were refused for, newest last."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Small structured facts for agents without language (declared knobs, the attempt number, a seed)."""
    desk: Desk | None = None
    """None: nothing may be asked; the context is all there is."""
    beside: Path | None = None
    """A folder whose other files a program may read where it works; they are no part of any proposal."""
    editable: tuple[str, ...] = ()
    """Patterns of paths that a proposal may add beside `files` (see `core.command_task.matches`); empty: none."""
    frozen: tuple[str, ...] = ()
    """Patterns of paths that it may not, for all that."""
    place: Callable[[], AbstractContextManager[Checkout]] | None = None
    """A separate clone of the whole project for an agent that works with files: what it changes there, in any tracked
    file, is its proposal. None: a folder with `files` alone."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Counted by the provider, or offline by ceil(bytes / 3)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class Incident:
    """Something went wrong while a proposal was made and was dealt with by policy; the loop writes it to the log."""

    kind: Literal[
        "rate_limited",
        "server_error",
        "unreachable",
        "stalled",
        "truncated",
        "malformed_call",
        "unknown_tool",
        "no_review",
    ]
    detail: str
    waited_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """New contents of editable files, plus the hypothesis in the agent's words."""

    files: Mapping[str, str]
    hypothesis: str = ""
    parent: str = ""
    usage: Usage = Usage()
    transcript: str = ""
    incidents: tuple[Incident, ...] = ()
    knobs: Mapping[str, int | str] = field(default_factory=dict)
    """Values of the task's declared knobs that `files` were made from; empty where no template was used."""
    origin: int = 0
    """Number of the durable submission that this is; 0 where there is none."""
    others: tuple["Proposal", ...] = ()
    """Further proposals of the same call, which were paid for with it; they are tried after this one."""
    review: str = ""
    """What another model says of it: shown to later calls, and evidence of nothing."""
    deleted: tuple[str, ...] = ()
    """Editable files that it takes away; only tasks of many files have such."""


@dataclass(frozen=True, slots=True)
class NoProposal:
    """The agent has nothing (left) to propose, or failed; `kind` says which.

    `context_overflow`: the loop compacts harder and asks again. `permanent`: asking again cannot help (a wrong key, an
    unknown model, an absent program); the campaign ends with this message.
    """

    kind: Literal["exhausted", "declined", "provider_error", "timed_out", "malformed", "died", "context_overflow"]
    message: str
    usage: Usage = Usage()
    transcript: str = ""
    incidents: tuple[Incident, ...] = ()
    permanent: bool = False


class Agent(Protocol):
    """Adapters: `search` (Optuna), `script` (a file), `model`, `command`, and people over MCP."""

    name: str

    def propose(self, request: Request) -> Proposal | NoProposal:
        """One proposal within the limits. Never raises for what a provider or program does."""
        ...


@runtime_checkable
class Foreseeable(Protocol):
    """An agent that can say now what it will answer later: nothing that is still open can change it."""

    def ahead(self, request: Request, count: int) -> tuple[Proposal, ...]:
        """Its answers to `request` and to the calls after it, as far as they are certain; at most `count`."""
        ...
