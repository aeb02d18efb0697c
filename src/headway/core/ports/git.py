"""What the rooms ask of git. Real git is its own fake: every test runs these on small repositories in a folder.

Paths are `str` with undecodable bytes as surrogates (`os.fsdecode`); `shown_path` makes them printable. Messages and
author lines stay bytes, so that what lands is what upstream wrote, in whatever encoding.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.names import Sha, TreeId

ABSENT_OID = "0" * 40
MARKER_SIZE = 37
"""Length of the markers in the conflicted files of a trial merge (diff3 style): no file has such lines by chance."""


class RefMoved(HeadwayError):
    """A ref did not stand where headway last saw it: somebody else moved it, and nothing was changed."""


class HookRefused(HeadwayError):
    """A hook of the owner's repository refused this commit; `output` is what it said."""

    def __init__(self, message: str, fix: str, output: bytes) -> None:
        super().__init__(message, fix)
        self.output = output


class SigningFailed(CouldNotRun):
    """The owner's configuration asks for signed commits and signing failed: says nothing about any change."""


class SourceUnreachable(CouldNotRun):
    """Upstream could not be refreshed: what is known of it is a partial source."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as git stores it. `author` and `committer` are the raw lines without their keyword."""

    sha: Sha
    tree: TreeId
    parents: tuple[Sha, ...]
    author: bytes
    committer: bytes
    message: bytes
    encoding: str = ""

    @property
    def committed(self) -> int:
        """Commit date in seconds since the epoch (0 where the line is broken)."""
        return _seconds(self.committer)

    @property
    def text(self) -> str:
        """The message as text: by its encoding header, else UTF-8; undecodable bytes become U+FFFD."""
        try:
            return self.message.decode(self.encoding or "utf-8", "replace")
        except LookupError:
            return self.message.decode("utf-8", "replace")

    @property
    def subject(self) -> str:
        """The first paragraph of the message on one line, as `git log --format=%s` has it."""
        return " ".join(self.text.strip().split("\n\n", 1)[0].split("\n"))


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tree holds at a path. Modes: 100644, 100755, 120000 (link), 160000 (submodule)."""

    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class PathChange:
    """What a change does to one path (no rename detection): `before` None adds it, `after` None deletes it."""

    path: str
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True, slots=True)
class Stage:
    """One side of a conflicted path in the merged index: 1 base, 2 ours, 3 theirs."""

    number: int
    path: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Conflict:
    """git's own word for it (`CONFLICT (contents)`, `CONFLICT (modify/delete)`, …), its message and its paths."""

    kind: str
    paths: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Clean:
    """The merge succeeded and changes `ours`."""

    tree: TreeId


@dataclass(frozen=True, slots=True)
class Empty:
    """The merge succeeded and changes nothing. That alone does not prove that ours has the effect."""

    tree: TreeId


@dataclass(frozen=True, slots=True)
class Conflicted:
    """The merge left conflicts. `tree` holds the files with conflict markers, in the quarantine only."""

    tree: TreeId
    conflicts: tuple[Conflict, ...]
    stages: tuple[Stage, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The conflicted paths, sorted, each once."""
        return tuple(sorted({stage.path for stage in self.stages} | {p for c in self.conflicts for p in c.paths}))


@dataclass(frozen=True, slots=True)
class Unknown:
    """git could not say (exit 128, a missing object): neither clean, nor empty, nor a conflict."""

    message: str


Trial = Clean | Empty | Conflicted | Unknown


class TrialMerges(Protocol):
    """Merges in memory, in a quarantine object directory. Adapter: `adapters/git_trial.py`.

    Every argument that names a tree may be a commit too.
    """

    def pick(self, change: Sha, onto: str) -> Trial:
        """What `git cherry-pick -m 1 change` on `onto` would make: base is the change's first parent."""
        ...

    def unpick(self, change: Sha, onto: str) -> Trial:
        """What `git revert -m 1 change` on `onto` would make."""
        ...

    def merge(self, base: str, ours: str, theirs: str) -> Trial:
        """Git's own three-way merge of any three trees."""
        ...

    def blob(self, oid: str) -> bytes:
        """A file's content, from the quarantine or the repository. Raises HeadwayError where it is absent."""
        ...

    def write_tree(self, tree: str, files: Mapping[str, bytes | None]) -> TreeId:
        """`tree` with these files replaced (None removes one), modes kept, in the quarantine."""
        ...


class History(Protocol):
    """Facts about commits; never changes anything. Adapter: `adapters/git_history.py`."""

    def resolve(self, name: str) -> Sha | None:
        """The commit a name stands for, or None."""
        ...

    def commits(self, revisions: Iterable[str], *, first_parent: bool = False) -> tuple[Commit, ...]:
        """`git rev-list` arguments (`A`, `^B`) as commits, oldest first (ancestors before descendants)."""
        ...

    def merge_base(self, one: Sha, other: Sha) -> Sha | None:
        """The best common ancestor, or None where the histories share nothing."""
        ...

    def effects(self, changes: Iterable[Sha]) -> dict[Sha, tuple[PathChange, ...]]:
        """What each change does to each path, against its first parent (an empty tree for a root)."""
        ...

    def entries(self, treeish: str, paths: Iterable[str]) -> dict[str, Entry]:
        """What the tree holds at these paths; absent paths are left out."""
        ...


class Patches(Protocol):
    """Content identities of changes; slower than `History`. Adapter: `adapters/git_history.py`."""

    def patch_ids(self, changes: Iterable[Sha]) -> dict[Sha, str]:
        """`git patch-id --stable` of each change against its first parent; changes without text are left out."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """A commit to be made: upstream's author line and encoding as they are, our committer, our parent.

    `author` b"": whoever runs headway, now.
    """

    tree: TreeId
    parent: Sha
    author: bytes
    message: bytes
    encoding: str = ""


class Landing(Protocol):
    """The only things headway changes in the owner's repository. Adapter: `adapters/git_landing.py`."""

    def compose(self, draft: Draft) -> Sha:
        """Make the commit in the quarantine; the owner's repository is not touched.

        Raises HookRefused (about this message), SigningFailed (about every message) or HeadwayError (no identity).
        """
        ...

    def read(self, ref: str) -> Sha | None:
        """Where a full ref name (or a commit id, quarantined ones too) stands; None if it is not there."""
        ...

    def land(self, ref: str, new: Sha, onto: Sha, old: Sha | None) -> None:
        """Bring `new` (whose parent is `onto`) with its objects into the owner's repository, then move `ref` to it.

        Compare-and-swap: the ref must stand at `old` (None: not exist). Raises RefMoved, or HookRefused by a
        reference-transaction hook; the ref then stands where it stood.
        """
        ...

    def checked_out_at(self, branch: str) -> Path | None:
        """The work tree in which a branch is checked out."""
        ...

    def fetch(self, source: str, branch: str, ref: str, accept: Callable[[Sha], None] = lambda _: None) -> Sha:
        """Bring upstream's branch to `ref`. Raises SourceUnreachable, and then `ref` stands where it stood.

        `accept` is given upstream's head while its objects are in the quarantine only: where it raises, the owner's
        repository has gained neither a ref nor an object.
        """
        ...


def shown_path(path: str) -> str:
    """A path as git prints it: UTF-8 as it is, other bytes as octal escapes in double quotes."""
    if path.isprintable() and not any("\ud800" <= ch <= "\udfff" for ch in path):
        return path
    octets = path.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in octets) + '"'


def _seconds(ident: bytes) -> int:
    try:
        return int(ident.rsplit(b" ", 2)[1])
    except (IndexError, ValueError):
        return 0
