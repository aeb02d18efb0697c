"""What changed between two trees, where one of them may exist only in the quarantine of a trial merge."""

from collections.abc import Sequence
from typing import Protocol

from headway.core.names import Sha
from headway.core.ports.git import PathChange


class Trees(Protocol):
    """Adapter: `adapters/git_trees.py`, on the same quarantine as the trial merges."""

    def changes(self, before: str, after: str) -> tuple[PathChange, ...]:
        """Every path that differs, without rename detection. Either may be a commit."""
        ...

    def states(self, path: str, tip: str, since: str) -> Sequence[str]:
        """Blob ids that `path` had from `since` to `tip` (both included), newest first, each once."""
        ...

    def mentions(self, treeish: str, word: str) -> bool:
        """Whether the tree has `word`: as a whole word of a text, or as a file's own name."""
        ...

    def touching(self, paths: Sequence[str], tip: str, since: str, limit: int) -> Sequence[Sha]:
        """The newest commits of the first-parent line from `since` (left out) to `tip` that change one of `paths`."""
        ...
