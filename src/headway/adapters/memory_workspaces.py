"""The workspace fake: commits are given as files, checkouts are plain folders, the fingerprint is set by hand."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headway.core.errors import HeadwayError
from headway.core.names import Sha, TreeId
from headway.core.ports.workspace import Checkout, CloneRequest, OwnerFingerprint


class MemoryWorkspaces:
    """`Workspaces` from a dict. Cache paths do not survive: each checkout is a new folder."""

    def __init__(self, commits: Mapping[Sha, Mapping[str, bytes]]) -> None:
        self._commits = commits
        self.facts: dict[str, str] = {}
        """What `fingerprint` answers; tests change it to play an intruder."""

    @contextmanager
    def checkout(self, request: CloneRequest) -> Iterator[Checkout]:
        """See the port."""
        files = self._commits.get(request.commit)
        if files is None:
            raise HeadwayError(
                f"The commit {request.commit} is not in {request.owner}.", "Name a commit that is there."
            )
        with tempfile.TemporaryDirectory(prefix="headway-clone-") as folder:
            root = Path(folder)
            for name, content in {**files, **request.overlay}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content)
            digest = hashlib.sha1(repr(sorted(files.items())).encode(), usedforsecurity=False).hexdigest()
            yield Checkout(root, request.commit, TreeId(digest), tuple(sorted(files)), (), ())

    def fingerprint(self, owner: Path) -> OwnerFingerprint:
        """See the port."""
        return OwnerFingerprint(dict(self.facts))
