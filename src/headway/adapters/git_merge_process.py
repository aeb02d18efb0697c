"""One long-lived `git merge-tree --stdin`: four times cheaper a merge than a process each, on a Triton-sized tree.

git 2.39 does not flush its answers, so every question is followed by a *filler*: a merge of two tiny trees whose answer
(modify/delete conflicts of long names) is longer than the buffer of stdio and so pushes the real answer out. The
filler's own tail arrives with the next answer, and is read off first.
"""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headway.adapters.git_command import Git
from headway.adapters.git_objects import write_loose
from headway.adapters.processes import Ran

FILLER_FILES = 24
FILLER_NAME = 200
"""24 conflicts of 200-byte names answer with about 27 KB; the buffer of stdio on a pipe is 4 or 8 KB."""

SUBMODULE_ADVICE = b"Recursive merging with submodules "
MERGES_A_PROCESS = 400
"""git keeps every tree it has parsed; a fresh process now and then keeps memory flat."""


_GONE = (StopIteration, BrokenPipeError, ValueError)
"""How a child shows that it ended, or speaks a language that we do not."""


class MergeProcess:
    """Asks and answers one at a time. `close` it whenever something changes that git reads only once (attributes)."""

    def __init__(self, git: Git, objects: Path, algorithm: str) -> None:
        self._git = git
        self._objects = objects
        self._algorithm = algorithm
        self._filler = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._fields: Iterator[bytes] = iter(())
        self._asked = 0
        self._begun: tuple[str, str] | None = None
        self._skip = 0
        """Answers before the one to the question begun last: fillers, and questions that nobody came back for."""

    def merge(self, ours: str, theirs: str) -> Ran:
        """The answer as if `merge-tree --write-tree -z ours theirs` had been run: exit code, stdout, stderr."""
        argv = ("git", "merge-tree", "--write-tree", "-z", ours, theirs)
        self.begin(ours, theirs)
        alone = self._skip <= 1
        try:
            code, stdout = self._take()
        except _GONE:
            if not alone:  # what it died of may be the question before, which nobody came back for
                self.close()
                return self.merge(ours, theirs)
            return self._died(argv)
        return Ran(argv, code, stdout, b"")

    def begin(self, ours: str, theirs: str) -> None:
        """Put the question and leave git to work on it: `merge` with the same sides takes the answer."""
        if self._begun == (ours, theirs):
            return
        if self._asked >= MERGES_A_PROCESS:
            self.close()
        if self._begun is not None:
            self._skip += 2
        if self._child is None:
            self._start()
        assert self._child is not None and self._child.stdin is not None
        self._begun = (ours, theirs)
        self._asked += 1
        with contextlib.suppress(BrokenPipeError):  # it died of the question before: `merge` will find out
            self._child.stdin.write(f"{ours} {theirs}\n{self._filler}\n".encode())

    def close(self) -> None:
        """End the child; the next merge starts a new one."""
        if self._child is not None:
            assert self._child.stdin is not None and self._child.stdout is not None and self._said is not None
            self._child.kill()  # it may be in the middle of writing a filler that nobody will read
            self._child.wait()
            for file in (self._child.stdin, self._child.stdout, self._said):
                file.close()
        self._child, self._asked, self._begun, self._skip = None, 0, None, 0

    def _start(self) -> None:
        self._filler = self._filler or self._make_filler()
        self._said = tempfile.TemporaryFile()
        self._child = subprocess.Popen(
            self._git.argv("merge-tree", "--write-tree", "-z", "--stdin"),
            cwd=self._git.directory,
            env=self._git.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            bufsize=0,
        )
        assert self._child.stdout is not None
        self._fields = _fields_of(self._child.stdout)

    def _take(self) -> tuple[int, bytes]:
        for _ in range(self._skip):
            self._answer()
        code, stdout = self._answer()
        self._begun, self._skip = None, 1  # its filler's tail comes only with the next answer
        return code, stdout

    def _answer(self) -> tuple[int, bytes]:
        """One answer: status, tree, then for a conflict the stages, an empty field and the messages; an empty field."""
        fields = self._fields
        status, tree = next(fields), next(fields)
        if status == b"1":
            if next(fields) != b"":
                raise ValueError("an answer without an end")
            return 0, tree + b"\0"
        parts = [tree]
        while (field := next(fields)) != b"":
            parts.append(field)
        parts.append(b"")
        # advice about a submodule is printed without a field of its own, where the empty one would end the answer
        while (count := next(fields)) != b"" and not count.startswith(SUBMODULE_ADVICE):
            parts += [count, *(next(fields) for _ in range(int(count) + 2))]
        return 1, b"\0".join(parts) + b"\0"

    def _died(self, argv: tuple[str, ...]) -> Ran:
        """The child ended without an answer; what it said on stderr is the reason."""
        assert self._child is not None and self._said is not None
        try:
            code = self._child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            code = 128  # it speaks a language that we do not: never taken for an answer
        self._said.seek(0)
        said = self._said.read()
        self.close()
        return Ran(argv, code if code not in (0, 1) else 128, b"", said)

    def _make_filler(self) -> str:
        """Two children of one commit: one deletes every file, the other changes it."""
        blobs = [write_loose(self._objects, "blob", text, self._algorithm) for text in (b"1\n", b"2\n")]
        names = [f"{number:03d}".encode().ljust(FILLER_NAME, b"x") for number in range(FILLER_FILES)]
        before, after = (b"".join(b"100644 %s\0%s" % (name, bytes.fromhex(blob)) for name in names) for blob in blobs)
        root = self._commit(before)
        return f"{self._commit(b'', root)} {self._commit(after, root)}"

    def _commit(self, tree: bytes, *parents: str) -> str:
        oid = write_loose(self._objects, "tree", tree, self._algorithm)
        who = "headway <headway@localhost> 0 +0000"
        lines = [f"tree {oid}", *(f"parent {p}" for p in parents), f"author {who}", f"committer {who}", "", ""]
        return write_loose(self._objects, "commit", "\n".join(lines).encode(), self._algorithm)


def _fields_of(stream: IO[bytes]) -> Iterator[bytes]:
    """NUL-ended fields as they arrive; ends at the end of the stream, without a torn last field."""
    rest = b""
    while chunk := stream.read(1 << 16):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
