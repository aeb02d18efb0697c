"""The `Trees` port: what differs between any two trees that the quarantine can read, and a file's earlier states."""

import os
from collections.abc import Callable, Iterator, Sequence

from headway.adapters.git_command import Git
from headway.adapters.git_objects import FOLDER, ObjectReader
from headway.core.names import Sha
from headway.core.ports.git import ABSENT_OID, Entry, PathChange


class GitTrees:
    """Reads through the quarantine, so that trees of trial merges are visible beside the owner's.

    With a `reader` the trees are read through its one process; without, each question is a `diff-tree` of its own.
    """

    def __init__(self, git: Git, reader: Callable[[], ObjectReader] | None = None) -> None:
        self._git = git
        self._reader = reader

    def changes(self, before: str, after: str) -> tuple[PathChange, ...]:
        if self._reader is not None:
            reader = self._reader()
            return tuple(_differing(reader, reader.tree_of(before), reader.tree_of(after), b""))
        names = (f"{before}^{{tree}}", f"{after}^{{tree}}")
        ran = self._git.run("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", *names)
        fields = ran.stdout.split(b"\0")
        found = []
        for head, path in zip(fields[0::2], fields[1::2], strict=False):
            old_mode, new_mode, old, new, _ = head[1:].decode().split(" ")
            found.append(PathChange(os.fsdecode(path), _entry(old_mode, old), _entry(new_mode, new)))
        return tuple(found)

    def states(self, path: str, tip: str, since: str) -> Sequence[str]:
        ran = self._git.run(
            "log",
            "--first-parent",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--format=",
            tip,
            f"^{since}",
            "--",
            path,
        )
        seen: dict[str, None] = {}
        for field in ran.stdout.split(b"\0"):
            if field.startswith(b":"):
                _, _, old, new, _ = field[1:].decode().split(" ")
                seen.update(dict.fromkeys((new, old)))
        return [oid for oid in seen if oid != ABSENT_OID]

    def mentions(self, treeish: str, word: str) -> bool:
        if self._git.run("grep", "-q", "-I", "-w", "-F", "-e", word, treeish, ok=None).code == 0:
            return True
        names = self._git.run("ls-tree", "-r", "-z", "--name-only", treeish).stdout.split(b"\0")
        return any(name.rpartition(b"/")[2] == os.fsencode(word) for name in names)

    def touching(self, paths: Sequence[str], tip: str, since: str, limit: int) -> Sequence[Sha]:
        literal = [f":(literal){path}" for path in paths]
        asked = ("log", "--first-parent", "--format=%H", f"-n{limit}", tip, f"^{since}", "--", *literal)
        return [Sha(name) for name in self._git.text(*asked).split()]


def _entry(mode: str, oid: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, oid)


def _differing(reader: ObjectReader, before: str | None, after: str | None, folder: bytes) -> Iterator[PathChange]:
    """What differs below `folder`, by path; a tree that both have is not looked into."""
    old, new = (reader.entries_of(tree) if tree is not None else {} for tree in (before, after))
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        path = folder + name
        old_file, new_file = (one if one is not None and one.mode != FOLDER else None for one in (was, now))
        if old_file is not None or new_file is not None:
            yield PathChange(os.fsdecode(path), old_file, new_file)
        old_tree, new_tree = (one.oid if one is not None and one.mode == FOLDER else None for one in (was, now))
        if old_tree is not None or new_tree is not None:
            yield from _differing(reader, old_tree, new_tree, path + b"/")
