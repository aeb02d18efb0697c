"""Changes as patches without context, read in bulk: what the dependency reader needs of git."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from headway.core.names import Sha


@dataclass(frozen=True, slots=True)
class Splice:
    """Lines `start` to `start + removed - 1` (1-based, in the file before) are replaced by `added`.

    With `removed == 0` the new lines stand after line `start`, as in a unified diff.
    """

    start: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One file of one change, without rename detection. `created`/`deleted`: the file is not there before/after."""

    path: str
    splices: tuple[Splice, ...]
    created: bool
    deleted: bool


class PatchReader(Protocol):
    """Adapter: `adapters/git_patches.py`."""

    def patches(self, changes: Iterable[Sha]) -> Iterator[tuple[Sha, tuple[FilePatch, ...]]]:
        """Each change against its first parent, in the order given. Binary files have no splices.

        A change that needs an object which is absent has no files; the others are not held up by it.
        """
        ...
