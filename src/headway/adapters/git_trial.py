"""Trial merges by git's own `merge-tree`, in a bare quarantine repository that borrows the owner's objects.

`merge-tree --write-tree` finds the merge base by itself, and `--merge-base` came only with git 2.40. So three synthetic
commits give each merge the base it shall have: B holds the base's tree; O and T, both children of B, hold ours and
theirs. They are written as loose objects by hand, because two `git commit-tree` would cost as much as the merge.

The quarantine has no refs, hooks or remotes, and the owner's repository does not grow. So that a trial says what a real
`git cherry-pick` in the owner's repository would, two things are carried over: the root `.gitattributes` of ours, and
the owner's merge drivers and rename settings.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType

from headway.adapters.git_command import Git
from headway.adapters.git_merge_process import MergeProcess
from headway.adapters.git_objects import ObjectMissing, ObjectReader, write_loose
from headway.adapters.git_tree_writing import TreeWriter
from headway.adapters.processes import Ran
from headway.core.names import Sha, TreeId
from headway.core.ports.git import MARKER_SIZE, Clean, Conflict, Conflicted, Empty, Entry, Stage, Trial, Unknown

MERGE_SETTINGS = r"^merge\.(.*\.(driver|recursive|name)|renames|renamelimit|directoryrenames)$|^diff\.renamelimit$"
MEMORY = Path("/dev/shm")
ROOM_IN_MEMORY = 4 << 30
"""Bytes that must be free there: far more than a plan of any size writes (250 changes of Triton: about 60 MB)."""
NOBODY = "headway <headway@localhost> 0 +0000"
ISOLATED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_NO_LAZY_FETCH": "1"}


class Quarantine:
    """A bare repository of ours that can read all of the owner's objects. Use as a context manager.

    It is made when `git` is first asked for: verbs that only read the ledger do not pay for it. Without `keep_at` it is
    thrown away at the end. With it, what a run composed and has not landed survives a kill; `clear` empties it.
    """

    def __init__(self, owner: Path, keep_at: Path | None = None) -> None:
        self._owner = Git(owner)
        self._kept = keep_at is not None
        self.directory = keep_at or Path(tempfile.mkdtemp(prefix="headway-quarantine-", dir=_in_memory()))
        self.objects = self.directory / "objects"
        """Where everything the trials make is written."""
        self.objects.mkdir(parents=True, exist_ok=True)

    @cached_property
    def git(self) -> Git:
        """git in the quarantine, isolated from the owner's configuration but for his merge settings."""
        git = Git(self.directory, env={**ISOLATED, "GIT_DIR": str(self.directory)})
        git.run("init", "-q", "--bare", f"--object-format={self.algorithm}", "--template=")
        alternates = self.objects / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_bytes(os.fsencode(self.lender) + b"\n")
        self._carry_merge_settings(git)
        self._write_conflicts_in_full(git)
        return git

    @cached_property
    def algorithm(self) -> str:
        """`sha1` or `sha256`, as the owner's repository has it."""
        return self._owner.text("rev-parse", "--show-object-format")

    @cached_property
    def lender(self) -> str:
        """The owner's objects folder."""
        return self._owner.text("rev-parse", "--path-format=absolute", "--git-path", "objects")

    @cached_property
    def reader(self) -> ObjectReader:
        """Reads objects of both."""
        return ObjectReader(self.git)

    @cached_property
    def owners_reader(self) -> ObjectReader:
        """Reads the owner's refs as they stand now (git looks them up for each question), and objects of both."""
        both = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.objects)}
        return ObjectReader(Git(self._owner.directory, env=both))

    @cached_property
    def merges(self) -> MergeProcess:
        """Merges for it."""
        return MergeProcess(self.git, self.objects, self.algorithm)

    def as_commit(self, tree: str, parent: str = "") -> Sha:
        """A commit of a tree that nobody will land: for a clone to look at. `parent` may be a tree, and is left out."""
        kind = self.reader.read(parent)[1] if parent else ""
        parents = [f"parent {parent}"] if kind == "commit" else []
        lines = [f"tree {tree}", *parents, f"author {NOBODY}", f"committer {NOBODY}", "", "a pick in conflict\n"]
        return Sha(write_loose(self.objects, "commit", "\n".join(lines).encode(), self.algorithm))

    def close(self) -> None:
        """End its children, and remove it unless it is kept and holds something."""
        self._end_children()
        if not self._kept or not any(path.is_file() for path in self.directory.rglob("*")):
            self.clear()

    def clear(self) -> None:
        """Remove it with all it holds."""
        self._end_children()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _end_children(self) -> None:
        for name in {"reader", "owners_reader"} & vars(self).keys():
            getattr(self, name).close()
        if "merges" in vars(self):
            self.merges.close()

    def _carry_merge_settings(self, git: Git) -> None:
        ran = self._owner.run("config", "-z", "--get-regexp", MERGE_SETTINGS, ok=None)
        for setting in ran.stdout.split(b"\0"):
            key, _, value = os.fsdecode(setting).partition("\n")
            if key:
                git.run("config", "--replace-all", key, value)

    def _write_conflicts_in_full(self, git: Git) -> None:
        """Conflicted files show the base too, between markers that no real file has by chance (the ladder reads them).

        `core.attributesFile` is the weakest source of attributes, so a fork's own `conflict-marker-size` wins.
        """
        attributes = self.directory / "conflict-attributes"
        attributes.write_text(f"* conflict-marker-size={MARKER_SIZE}\n")
        git.run("config", "core.attributesFile", str(attributes))
        git.run("config", "merge.conflictStyle", "diff3")

    def __enter__(self) -> "Quarantine":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _in_memory() -> Path | None:
    """A folder of the machine's memory with room to spare: a plan makes and removes thousands of small files.

    None (the usual place) where there is none, or where the caller named a place himself.
    """
    if os.environ.get("TMPDIR") or not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK | os.X_OK):
        return None
    room = os.statvfs(MEMORY)
    return MEMORY if room.f_bavail * room.f_frsize >= ROOM_IN_MEMORY else None


class GitTrialMerges:
    """The `TrialMerges` port over one quarantine."""

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._attributes: str | None = None

    def pick(self, change: Sha, onto: str) -> Trial:
        return self._one_way(change, onto, back=False)

    def unpick(self, change: Sha, onto: str) -> Trial:
        return self._one_way(change, onto, back=True)

    def foresee(self, change: Sha, onto: str) -> None:
        """Let git begin on a pick that will probably be asked for next; a wrong guess costs that merge."""
        reader = self._quarantine.reader
        with contextlib.suppress(ObjectMissing):
            before, ours, after = self._before(change), reader.tree_of(onto), reader.tree_of(change)
            self._use_attributes_of(ours)
            self._quarantine.merges.begin(*self._sides(before, ours, after))

    def merge(self, base: str, ours: str, theirs: str) -> Trial:
        read = self._quarantine.reader.tree_of
        try:
            return self._merge(read(base), read(ours), read(theirs))
        except ObjectMissing as missing:
            return Unknown(missing.message)

    def blob(self, oid: str) -> bytes:
        return self._quarantine.reader.read(oid)[2]

    def write_tree(self, tree: str, files: Mapping[str, bytes | None]) -> TreeId:
        quarantine = self._quarantine
        return TreeWriter(quarantine.reader, quarantine.objects, quarantine.algorithm).replaced(tree, files)

    def _one_way(self, change: Sha, onto: str, *, back: bool) -> Trial:
        reader = self._quarantine.reader
        try:
            after, before, ours = reader.tree_of(change), self._before(change), reader.tree_of(onto)
        except ObjectMissing as missing:
            return Unknown(missing.message)
        return self._merge(after, ours, before) if back else self._merge(before, ours, after)

    def _before(self, change: Sha) -> TreeId:
        """The tree of the first parent; a root commit has the empty tree before it."""
        _, _, content = self._quarantine.reader.read(change)
        if b"\nparent " not in content.partition(b"\n\n")[0]:
            return TreeId(write_loose(self._quarantine.objects, "tree", b"", self._quarantine.algorithm))
        return self._quarantine.reader.tree_of(f"{change}^1")

    def _merge(self, base: TreeId, ours: TreeId, theirs: TreeId) -> Trial:
        self._use_attributes_of(ours)
        return read_merge_tree(self._quarantine.merges.merge(*self._sides(base, ours, theirs)), ours)

    def _sides(self, base: TreeId, ours: TreeId, theirs: TreeId) -> tuple[str, str]:
        root = self._synthetic(base)
        return self._synthetic(ours, root), self._synthetic(theirs, root)

    def _synthetic(self, tree: TreeId, *parents: str) -> str:
        lines = [f"tree {tree}", *(f"parent {p}" for p in parents), f"author {NOBODY}", f"committer {NOBODY}", "", ""]
        content = "\n".join(lines).encode()
        return write_loose(self._quarantine.objects, "commit", content, self._quarantine.algorithm)

    def _use_attributes_of(self, ours: TreeId) -> None:
        """git 2.39 reads no attributes from trees in a bare repository, but always those in `info/attributes`."""
        try:
            oid, kind, content = self._quarantine.reader.read(f"{ours}:.gitattributes")
        except ObjectMissing:
            oid, kind, content = "", "", b""
        if oid == self._attributes:
            return
        path = self._quarantine.directory / "info" / "attributes"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if kind == "blob" else b"")
        self._attributes = oid
        self._quarantine.merges.close()  # git reads attributes once


def read_merge_tree(ran: Ran, ours: TreeId) -> Trial:
    """The answer of `merge-tree --write-tree -z`: exit 0 clean, 1 conflict, anything else says nothing at all."""
    if ran.code not in (0, 1):
        return Unknown(f"git merge-tree ended with {ran.code}: {ran.complaint}")
    fields = ran.stdout.split(b"\0")
    tree = TreeId(fields[0].decode("ascii", "replace"))
    if len(tree) not in (40, 64):
        return Unknown(f"git merge-tree answered {ran.stdout[:80]!r}")
    if ran.code == 0:
        return Empty(tree) if tree == ours else Clean(tree)
    end = fields.index(b"", 1)
    stages = tuple(_stage(os.fsdecode(field)) for field in fields[1:end])
    return Conflicted(tree, _conflicts([os.fsdecode(field) for field in fields[end + 1 :]]), stages)


def _stage(field: str) -> Stage:
    facts, _, path = field.partition("\t")
    mode, oid, number = facts.split(" ")
    return Stage(int(number), path, Entry(mode, oid))


def _conflicts(fields: list[str]) -> tuple[Conflict, ...]:
    """Messages are `count, path × count, kind, text`; kinds that are only notes (`Auto-merging`) are left out."""
    found: list[Conflict] = []
    at = 0
    while at < len(fields) and fields[at].isdigit():
        count = int(fields[at])
        paths = tuple(fields[at + 1 : at + 1 + count])
        kind, text = fields[at + 1 + count], fields[at + 2 + count]
        if kind.startswith("CONFLICT"):
            found.append(Conflict(kind, paths, text.rstrip("\n")))
        at += 3 + count
    return tuple(found)
