"""The workspace port: a separate clone of one revision, for code that is not trusted, and proof that the owner's
repository was left alone. Never a linked worktree: from one, `git update-ref` moves the owner's trunk."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from headway.core.names import Sha, TreeId


@dataclass(frozen=True, slots=True)
class CloneRequest:
    """`owner` is a work tree or git folder; `commit` may live in a quarantine among `extra_objects` only."""

    owner: Path
    commit: Sha
    extra_objects: tuple[Path, ...] = ()
    cache: tuple[str, ...] = ()
    """Ignored paths of the clone that survive from use to use; everything else is as the commit says."""
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    """Tracked path -> other contents, written over the checkout (a known-bad change)."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A clone that stands at `commit`. `hidden` and `readable_inside` are for `Command`: the owner's git folder."""

    path: Path
    commit: Sha
    tree: TreeId
    tracked: tuple[str, ...]
    """Regular files of the commit (no symlinks, no submodules), relative, in git's order."""
    hidden: tuple[Path, ...]
    readable_inside: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class OwnerFingerprint:
    """What nobody but the owner may change: fact name (`ref refs/heads/main`, `config`, `hook pre-commit`) -> value."""

    facts: Mapping[str, str]

    def differences(self, later: "OwnerFingerprint") -> tuple[str, ...]:
        """One line for each fact that appeared, vanished or changed, sorted."""
        names = sorted(set(self.facts) | set(later.facts))
        return tuple(
            f"{name}: {self.facts.get(name, 'absent')} -> {later.facts.get(name, 'absent')}"
            for name in names
            if self.facts.get(name) != later.facts.get(name)
        )


class Workspaces(Protocol):
    """Adapters: `adapters/clones.py` (real) and `adapters/memory_workspaces.py` (fake), under one contract suite."""

    def checkout(self, request: CloneRequest) -> AbstractContextManager[Checkout]:
        """A clone of one's own until the context ends. Raises HeadwayError for a commit that is not there."""
        ...

    def fingerprint(self, owner: Path) -> OwnerFingerprint:
        """The owner's refs, heads, config, hooks and headway.toml as they are now."""
        ...
