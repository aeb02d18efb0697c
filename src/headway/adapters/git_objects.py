"""Raw git objects: a long-lived reader (`git cat-file --batch`), the parser of commits, the writer of loose objects."""

import hashlib
import os
import subprocess
import zlib
from collections import OrderedDict
from pathlib import Path
from types import TracebackType
from typing import IO

from headway.adapters.git_command import Git
from headway.core.errors import HeadwayError
from headway.core.names import Sha, TreeId
from headway.core.ports.git import Commit, Entry

KEPT_BYTES = 32 << 20
FOLDER = "40000"
"""The mode of a folder's entry in a tree object."""


class ObjectMissing(HeadwayError):
    """The repository lacks an object that something in it names (a partial or damaged copy)."""


Read = tuple[str, str, bytes]
"""(object id, type, content)"""


class _Kept:
    """The objects read last, by full id: an id never stands for other content, and a plan reads every second one twice.

    At most `KEPT_BYTES` in all.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[str, Read] = OrderedDict()
        self._bytes = 0

    def get(self, name: str) -> Read | None:
        if name in self._found:
            self._found.move_to_end(name)
        return self._found.get(name)

    def put(self, name: str, found: Read) -> None:
        if name != found[0] or len(found[2]) > KEPT_BYTES // 16:
            return
        self._found[name] = found
        self._bytes += len(found[2])
        while self._bytes > KEPT_BYTES:
            self._bytes -= len(self._found.popitem(last=False)[1][2])


class ObjectReader:
    """Reads objects by name through one child process; close it, or use it as a context manager."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._child: subprocess.Popen[bytes] | None = None
        self._kept = _Kept()

    def read(self, name: str) -> Read:
        """(object id, type, content). Raises ObjectMissing."""
        if (kept := self._kept.get(name)) is not None:
            return kept
        found = self._asked(name)
        self._kept.put(name, found)
        return found

    def _asked(self, name: str) -> Read:
        if "\n" in name:
            raise ObjectMissing(f"{name!r} is not an object name.")
        stdin, stdout = self._pipes()
        stdin.write(os.fsencode(name) + b"\n")
        stdin.flush()
        header = stdout.readline().split()
        if len(header) != 3:
            if not header:
                self.close()
            raise ObjectMissing(f"The object {name!r} is not in {self._git.directory}.")
        content = stdout.read(int(header[2]))
        stdout.read(1)
        return header[0].decode(), header[1].decode(), content

    def tree_of(self, name: str) -> TreeId:
        """The tree of a commit or of a tree. Raises ObjectMissing."""
        oid, kind, content = self.read(name)
        if kind == "tree":
            return TreeId(oid)
        if kind == "commit":
            return TreeId(content[5 : content.index(b"\n")].decode())
        raise ObjectMissing(f"{name!r} is a {kind}, not a tree.")

    def entries_of(self, tree: str) -> dict[bytes, Entry]:
        """What a tree object (by its full id) holds by name: `mode SP name NUL id`, again and again."""
        _, _, content = self.read(tree)
        size = len(tree) // 2
        found: dict[bytes, Entry] = {}
        at = 0
        while at < len(content):
            blank, end = content.index(b" ", at), content.index(b"\0", at)
            oid = content[end + 1 : end + 1 + size].hex()
            found[content[blank + 1 : end]] = Entry(content[at:blank].decode(), oid)
            at = end + 1 + size
        return found

    def close(self) -> None:
        """End the child; the next read starts a new one."""
        if self._child is not None:
            stdin, stdout = self._pipes()
            stdin.close()
            stdout.close()
            self._child.wait()
            self._child = None

    def __enter__(self) -> "ObjectReader":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._child is None:
            self._child = subprocess.Popen(
                ["git", "cat-file", "--batch"],
                cwd=self._git.directory,
                env=self._git.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        assert self._child.stdin is not None and self._child.stdout is not None
        return self._child.stdin, self._child.stdout


def parse_commit(sha: str, content: bytes) -> Commit:
    """A raw commit object. Unknown headers (signatures, merge tags) are skipped, as git does."""
    head, _, message = content.partition(b"\n\n")
    tree, author, committer, encoding = "", b"", b"", ""
    parents: list[Sha] = []
    for line in head.split(b"\n"):
        keyword, _, value = line.partition(b" ")
        if keyword == b"tree":
            tree = value.decode()
        elif keyword == b"parent":
            parents.append(Sha(value.decode()))
        elif keyword == b"author":
            author = value
        elif keyword == b"committer":
            committer = value
        elif keyword == b"encoding":
            encoding = value.decode("ascii", "replace")
    return Commit(Sha(sha), TreeId(tree), tuple(parents), author, committer, message, encoding)


def blob_id(content: bytes, algorithm: str = "sha1") -> str:
    """The id that git gives a file of this content."""
    return hashlib.new(algorithm, b"blob %d\0%s" % (len(content), content)).hexdigest()


def write_loose(objects: Path, kind: str, content: bytes, algorithm: str = "sha1") -> str:
    """Write one loose object below an `objects` folder, return its id. Not synced to disk: for quarantines only."""
    data = b"%s %d\0%s" % (kind.encode(), len(content), content)
    oid = hashlib.new(algorithm, data).hexdigest()
    path = objects / oid[:2] / oid[2:]
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(data, 1))
    return oid
