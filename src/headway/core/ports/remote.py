"""A repository elsewhere that headway pushes to and reads from: the landing branch, the log. Asks for no password."""

from typing import Protocol

from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.names import Sha


class PushRefused(HeadwayError):
    """The remote answered no: a protected branch, a hook, missing rights, or somebody else moved the ref."""


class RemoteUnreachable(CouldNotRun):
    """No answer from the remote: nothing was decided."""


class Remote(Protocol):
    """Adapter: `adapters/git_remote.py`. Refs are full names. Real git is its own fake."""

    @property
    def name(self) -> str:
        """As people know it, without user-info."""
        ...

    def head(self, ref: str) -> Sha | None:
        """Where a ref stands there; None if it is not. Raises RemoteUnreachable or PushRefused (no access)."""
        ...

    def push(self, new: Sha, ref: str, old: Sha | None) -> None:
        """Move `ref` there from `old` (None: it must not exist) to `new`, whose objects go along; twice is once."""
        ...

    def fetch(self, ref: str, to: str) -> Sha | None:
        """Bring a ref of the remote to the local ref `to`; None, and `to` as it was, if the remote has none."""
        ...
