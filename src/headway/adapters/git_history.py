"""Facts about commits, read in bulk: one `rev-list`, one `diff-tree --stdin`, one `ls-tree`, whatever the number."""

import os
from collections.abc import Iterable, Iterator

from headway.adapters.git_command import Git
from headway.adapters.git_objects import ObjectReader, parse_commit
from headway.core.names import Sha
from headway.core.ports.git import Commit, Entry, PathChange

PATCHES_AT_ONCE = 100
"""Patches of this many changes are held in memory together (Triton: about 10 MB)."""


class GitHistory:
    """The `History` and `Patches` ports on one repository."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def resolve(self, name: str) -> Sha | None:
        ran = self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", ok=None)
        return Sha(ran.text) if ran.code == 0 else None

    def commits(self, revisions: Iterable[str], *, first_parent: bool = False) -> tuple[Commit, ...]:
        order = ["--first-parent"] if first_parent else ["--topo-order"]
        names = self._git.text(
            "rev-list", "--reverse", *order, "--stdin", stdin="".join(f"{r}\n" for r in revisions).encode()
        )
        if not names:
            return ()
        with ObjectReader(self._git) as reader:
            return tuple(parse_commit(sha, reader.read(sha)[2]) for sha in names.split())

    def merge_base(self, one: Sha, other: Sha) -> Sha | None:
        ran = self._git.run("merge-base", one, other, ok=frozenset({0, 1}))
        return Sha(ran.text.split("\n")[0]) if ran.code == 0 else None

    def effects(self, changes: Iterable[Sha]) -> dict[Sha, tuple[PathChange, ...]]:
        wanted = list(changes)
        ran = self._git.run(
            "diff-tree",
            "--stdin",
            "-r",
            "-z",
            "--root",
            "--no-renames",
            "--no-abbrev",
            "--diff-merges=first-parent",
            stdin="".join(f"{change}\n" for change in wanted).encode(),
        )
        found: dict[Sha, tuple[PathChange, ...]] = {change: () for change in wanted}
        found.update(_read_raw_diffs(ran.stdout))
        return found

    def patch_ids(self, changes: Iterable[Sha]) -> dict[Sha, str]:
        wanted = list(changes)
        found: dict[Sha, str] = {}
        for start in range(0, len(wanted), PATCHES_AT_ONCE):
            stdin = "".join(f"{change}\n" for change in wanted[start : start + PATCHES_AT_ONCE]).encode()
            diff = self._git.run("diff-tree", "--stdin", "-p", "--root", "--diff-merges=first-parent", stdin=stdin)
            for line in self._git.text("patch-id", "--stable", stdin=diff.stdout).splitlines():
                patch_id, change = line.split(" ")
                found[Sha(change)] = patch_id
        return found

    def entries(self, treeish: str, paths: Iterable[str]) -> dict[str, Entry]:
        wanted = set(paths)
        if not wanted:
            return {}
        # few paths: ask for them (`ls-tree` takes them literally); many: one listing is cheaper than a long argv
        asked = ["--", *sorted(wanted)] if len(wanted) <= 200 else []
        ran = self._git.run("ls-tree", "-r", "-z", "--full-tree", treeish, *asked)
        return {path: entry for path, entry in _read_listing(ran.stdout) if path in wanted}


def _read_raw_diffs(output: bytes) -> Iterator[tuple[Sha, tuple[PathChange, ...]]]:
    """`<sha> NUL (:mode mode oid oid status NUL path NUL)*` for each commit that changes something."""
    fields = output.split(b"\0")
    current: Sha | None = None
    changes: list[PathChange] = []
    at = 0
    while at < len(fields) - 1:
        field = fields[at]
        if not field.startswith(b":"):
            if current is not None:
                yield current, tuple(changes)
            current, changes = Sha(field.decode()), []
            at += 1
            continue
        mode_before, mode_after, oid_before, oid_after, _ = field[1:].decode().split(" ")
        before = None if mode_before == "000000" else Entry(mode_before, oid_before)
        after = None if mode_after == "000000" else Entry(mode_after, oid_after)
        changes.append(PathChange(os.fsdecode(fields[at + 1]), before, after))
        at += 2
    if current is not None:
        yield current, tuple(changes)


def _read_listing(output: bytes) -> Iterator[tuple[str, Entry]]:
    for line in output.split(b"\0"):
        if line:
            facts, _, path = line.partition(b"\t")
            mode, _, oid = facts.decode().split(" ")
            yield os.fsdecode(path), Entry(mode, oid)
