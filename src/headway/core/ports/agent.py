"""The agent port. An agent proposes text or patches; nothing it says is evidence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What one proposal may cost."""

    seconds: float
    tokens: int | None = None
    output_bytes: int = 1 << 20


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


@dataclass(frozen=True, slots=True)
class Usage:
    """Counted by the provider, or offline by ceil(bytes / 3)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """New contents of editable files, plus the hypothesis in the agent's words."""

    files: Mapping[str, str]
    hypothesis: str = ""
    parent: str = ""
    usage: Usage = Usage()
    transcript: str = ""


@dataclass(frozen=True, slots=True)
class NoProposal:
    """The agent has nothing (left) to propose, or failed; `kind` says which."""

    kind: Literal["exhausted", "declined", "provider_error", "timed_out", "malformed", "died"]
    message: str
    usage: Usage = Usage()
    transcript: str = ""


class Agent(Protocol):
    """Adapters: `search` (Optuna), `script` (a file), `model`, `command`, and people over MCP."""

    name: str

    def propose(self, request: Request) -> Proposal | NoProposal:
        """One proposal within the limits. Never raises for what a provider or program does."""
        ...
