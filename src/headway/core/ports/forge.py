"""The forge port: pull requests for landings, tracking issues for failures. Every call is idempotent by `key`.

A key is written into the body as a hidden marker, so that a process that was killed after the call and before its
record finds its own request or issue again instead of opening another.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.names import Sha


class ForgeRefused(HeadwayError):
    """The forge answered no: an expired token, a protected branch, a missing repository. Trying again will not help."""


class ForgeUnreachable(CouldNotRun):
    """No answer, a 5xx or a rate limit, after the adapter's own retries: nothing was decided."""


@dataclass(frozen=True, slots=True)
class WantedRequest:
    """The pull request that should exist. `head` is a branch that was pushed before."""

    key: str
    head: str
    base: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What the forge says of one request now. `merged_as` is set exactly when `state` is `merged`."""

    number: int
    url: str
    state: Literal["open", "merged", "closed"]
    head_sha: Sha
    base: str
    checks: Literal["none", "pending", "passed", "failed"]
    mergeable: bool | None
    """None while the forge is still working it out."""
    merged_as: Sha | None = None


@dataclass(frozen=True, slots=True)
class WantedIssue:
    """The tracking issue that should exist and say this."""

    key: str
    title: str
    body: str
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Issue:
    """What the forge says of one issue now."""

    number: int
    url: str
    state: Literal["open", "closed"]
    body: str


class Forge(Protocol):
    """Adapters: `adapters/github_forge.py` (real), `adapters/folder_forge.py` (fake: a folder, a bare repository)."""

    def put_request(self, wanted: WantedRequest) -> PullRequest:
        """Open it, or bring the open one with this key up to date. A closed one is returned as it is, not reopened."""
        ...

    def request(self, number: int) -> PullRequest:
        """State, checks and merge of one request. Raises ForgeRefused if there is none."""
        ...

    def put_issue(self, wanted: WantedIssue) -> Issue:
        """File it, or update the one with this key; a closed one is opened again, since it is wanted."""
        ...

    def close_issue(self, number: int, comment: str) -> Issue:
        """Close with a comment that gives the positive signal. Closing a closed one changes nothing."""
        ...


def marked(body: str, key: str) -> str:
    """`body` with the hidden marker that `put_*` finds its own work by."""
    return f"{body.rstrip()}\n\n{marker(key)}\n"


def marker(key: str) -> str:
    """An HTML comment: invisible on the forge's pages, found by text."""
    return f"<!-- headway-key: {key} -->"
