"""The log as a commit: what `headway log push` and `pull` send. For machines whose disks are thrown away.

The commit's tree holds `records/<n>.jsonl` (segments of 5,000 positions, the lines of `headway log export`) and
`blobs/…` (the blob files as they are). Its objects are in a bare repository of headway's own beside the log; git itself
runs in the owner's repository, with its remotes and credentials. Nothing is ever merged: a log that is not a
continuation of the other is refused, by the hashes of its records.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from headway.adapters.durable_files import files_explained, write_durably
from headway.adapters.git_command import Git
from headway.adapters.git_remote import GitRemote
from headway.core.errors import HeadwayError
from headway.core.log_lines import object_of, record_of
from headway.core.names import Sha
from headway.core.ports.log import Record

LOG_REF = "refs/headway/log"
SEGMENT = 5_000
NOBODY = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
          for what, value in (("NAME", "headway"), ("EMAIL", "headway@localhost"))}  # fmt: skip


@dataclass(frozen=True)
class Standing:
    """How two logs compare: records of `here` and `there`, and the first position where they part (0: nowhere)."""

    here: int
    there: int
    parts_at: int


class LogRef:
    """The log's own repository (`STATE/log.git`), and the remote that `git` (the owner's repository) knows."""

    def __init__(self, state: Path, owner: Path | None, remote: str) -> None:
        self._directory = state / "log.git"
        self._objects = self._directory / "objects"
        self._lent: dict[str, str] = {}
        if owner is not None:  # a clone of a folder has all its objects, so a fetch may find the log's there already
            lender = Git(owner).text("rev-parse", "--path-format=absolute", "--git-path", "objects")
            self._lent["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = lender
        aside = {"GIT_OBJECT_DIRECTORY": os.fspath(self._objects), **self._lent}
        self._sender = Git(owner or self._directory, env=aside)
        self.remote = GitRemote(self._sender, remote, hooks=False)

    @cached_property
    def own(self) -> Git:
        """git in the log's repository."""
        git = Git(self._directory, env={"GIT_DIR": os.fspath(self._directory), **NOBODY, **self._lent})
        if not (self._directory / "HEAD").exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            git.run("init", "--quiet", "--bare", "--template=")
        return git

    def fetched(self) -> Sha | None:
        """The remote's log, its objects brought here; None if it has none. Raises RemoteUnreachable, PushRefused."""
        own = self.own
        head = self.remote.head(LOG_REF)
        if head is not None and own.run("cat-file", "-e", head, ok=None).code != 0:
            self.remote.bring(LOG_REF)
        return head

    def records(self, head: Sha | None) -> Iterator[Record]:
        """The records in that commit, in order. Raises HeadwayError where it is no log."""
        if head is None:
            return
        for path in sorted(self._listing(head)):
            if path.startswith("records/"):
                for line in self.own.run("cat-file", "blob", f"{head}:{path}").stdout.splitlines():
                    yield record_of(json.loads(line))

    def bring_blobs(self, head: Sha, root: Path) -> int:
        """Write the commit's blob files that are absent below `root`; returns how many."""
        brought = 0
        for path, oid in self._listing(head).items():
            file = root.parent / path
            if not path.startswith("blobs/") or file.exists():
                continue
            with files_explained(root):
                file.parent.mkdir(parents=True, exist_ok=True)
                temporary = file.with_name(f".{file.name}.{os.getpid()}")
                write_durably(file, self.own.run("cat-file", "blob", oid).stdout, temporary)
            brought += 1
        return brought

    def compose(self, records: Iterable[Record], blobs: Iterable[Path], root: Path, parent: Sha | None) -> Sha:
        """The commit for these records and blob files, on top of `parent`."""
        known = self._listing(parent) if parent is not None else {}
        entries = {path: oid for path, oid in known.items() if path.startswith("blobs/")}
        for number, segment in groupby(records, lambda record: (record.position - 1) // SEGMENT):
            lines = "".join(json.dumps(object_of(record), ensure_ascii=False) + "\n" for record in segment)
            content = lines.encode("utf-8", "surrogateescape")
            entries[f"records/{number:06d}.jsonl"] = self.own.text("hash-object", "-w", "--stdin", stdin=content)
        new = [blob for blob in blobs if os.fspath(blob.relative_to(root.parent)) not in entries]
        names = "".join(f"{blob}\n" for blob in new).encode()
        oids = self.own.text("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=names).split()
        entries |= {os.fspath(blob.relative_to(root.parent)): oid for blob, oid in zip(new, oids, strict=True)}
        index = {"GIT_INDEX_FILE": os.fspath(self._directory / f"index.{os.getpid()}")}
        info = "".join(f"100644 {oid}\t{path}\0" for path, oid in entries.items()).encode()
        self.own.run("update-index", "-z", "--index-info", stdin=info, env=index)
        tree = self.own.run("write-tree", env=index).text
        Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)
        above = ("-p", parent) if parent is not None else ()
        return Sha(self.own.text("commit-tree", tree, *above, stdin=b"headway: the event log\n"))

    def _listing(self, head: Sha) -> Mapping[str, str]:
        ran = self.own.run("ls-tree", "-r", "-z", "--full-tree", head, ok=None)
        if ran.code != 0:
            raise HeadwayError(f"{LOG_REF} of {self.remote.name} is no headway log.", "Name another remote.")
        rows = (os.fsdecode(row).split("\t", 1) for row in ran.stdout.split(b"\0") if row)
        return {path: facts.split(" ")[2] for facts, path in rows}


def compared(here: Iterable[Record], there: Iterable[Record]) -> Standing:
    """Both in order of position; the shorter one must be a beginning of the longer."""
    mine, theirs = ({record.position: record.hash for record in log} for log in (here, there))
    common = sorted(set(mine) | set(theirs))
    both = min(max(mine, default=0), max(theirs, default=0))
    parts = next((at for at in common if at <= both and mine.get(at) != theirs.get(at)), 0)
    return Standing(len(mine), len(theirs), parts)
