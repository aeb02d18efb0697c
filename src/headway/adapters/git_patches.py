"""The `PatchReader` port: one `diff-tree -p -U0 --stdin`, whatever the number of changes."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from headway.adapters.git_command import Git
from headway.adapters.processes import Ran
from headway.core.names import Sha
from headway.core.ports.patches import FilePatch, Splice

HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
COMMIT = re.compile(rb"^[0-9a-f]{40}([0-9a-f]{24})?$")


class GitPatches:
    """Reads patches of one repository."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def patches(self, changes: Iterable[Sha]) -> Iterator[tuple[Sha, tuple[FilePatch, ...]]]:
        wanted = tuple(changes)
        ran = self._read(wanted)
        if ran.code == 0:
            yield from read_patches(ran.stdout.split(b"\n"))
            return
        for change in wanted:  # one of them needs an object that is absent: only that one has no patch to show
            alone = self._read((change,))
            found = dict(read_patches(alone.stdout.split(b"\n"))) if alone.code == 0 else {}
            yield change, found.get(change, ())

    def _read(self, changes: Sequence[Sha]) -> Ran:
        asked = "".join(f"{change}\n" for change in changes).encode()
        return self._git.run(
            "-c", "core.quotePath=false", "diff-tree", "--stdin", "-p", "-U0", "--root", "--no-renames",
            "--no-ext-diff", "--no-textconv", "--no-color", "--full-index", "--diff-merges=first-parent",
            "--src-prefix=a/", "--dst-prefix=b/", stdin=asked, ok=None,
        )  # fmt: skip


def read_patches(lines: Sequence[bytes]) -> Iterator[tuple[Sha, tuple[FilePatch, ...]]]:
    """The output of `diff-tree --stdin -p -U0`, by change."""
    change: Sha | None = None
    files: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if COMMIT.match(line):
            if change is not None:
                yield change, tuple(files)
            change, files = Sha(line.decode()), []
            at += 1
        elif line.startswith(b"diff --git "):
            file, at = _read_file(lines, at)
            files.append(file)
        else:
            at += 1
    if change is not None:
        yield change, tuple(files)


def _read_file(lines: Sequence[bytes], at: int) -> tuple[FilePatch, int]:
    name = _name(lines[at])
    created = deleted = False
    splices: list[Splice] = []
    at += 1
    while at < len(lines) and not lines[at].startswith(b"diff --git ") and not COMMIT.match(lines[at]):
        line = lines[at]
        created |= line.startswith(b"new file mode ")
        deleted |= line.startswith(b"deleted file mode ")
        found = HUNK.match(line)
        at += 1
        if found is None:
            continue
        removed, added = (int(found.group(group) or 1) for group in (2, 4))
        old, at = _side(lines, at, removed)
        new, at = _side(lines, at, added)
        splices.append(Splice(int(found.group(1)), old, new))
    return FilePatch(name, tuple(splices), created, deleted), at


def _side(lines: Sequence[bytes], at: int, count: int) -> tuple[tuple[str, ...], int]:
    """`count` lines without their first character, and a `\\ No newline` remark that may follow."""
    side = tuple(line[1:].decode("utf-8", "replace") for line in lines[at : at + count])
    at += count
    if at < len(lines) and lines[at].startswith(b"\\"):
        at += 1
    return side, at


def _name(line: bytes) -> str:
    """`diff --git a/X b/X`: without renames both halves are the same, so the middle is known."""
    rest = line[len(b"diff --git ") :]
    if rest.startswith(b'"'):
        return os.fsdecode(rest.split(b'" "b/', 1)[-1].rstrip(b'"')) if b'" "b/' in rest else os.fsdecode(rest)
    half = (len(rest) - 1) // 2
    return os.fsdecode(rest[2:half])
