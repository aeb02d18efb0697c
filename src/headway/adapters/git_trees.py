"""The `Trees` port: `diff-tree` between any two trees that the quarantine can read, and a file's earlier states."""

import os
from collections.abc import Sequence

from headway.adapters.git_command import Git
from headway.core.ports.git import ABSENT_OID, Entry, PathChange


class GitTrees:
    """Reads through the quarantine's repository, so that trees of trial merges are visible beside the owner's."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def changes(self, before: str, after: str) -> tuple[PathChange, ...]:
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


def _entry(mode: str, oid: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, oid)
