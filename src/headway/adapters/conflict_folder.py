"""A folder in which a person resolves one conflict: a repository of its own, the files, and git's unmerged index.

It borrows the owner's objects and has a copy of the trial's, no remotes, no branch: whatever is done there, the owner's
repository stays as it is. Files are written and read back as they are stored, without filters, and git is not asked
there again: only contents count.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.git_command import Git
from headway.adapters.git_objects import blob_id
from headway.adapters.git_trial import Quarantine
from headway.core.errors import HeadwayError
from headway.core.ports.git import Conflicted, Entry

NOTE = "headway-resolve.json"
"""In the folder's `.git`: which conflict it was made for."""
LINK, SUBMODULE = "120000", "160000"


@dataclass(frozen=True)
class Note:
    """The change and the digest of its conflict."""

    change: str
    conflict: str


def lay_out(
    folder: Path, quarantine: Quarantine, tip: str, trial: Conflicted, shown: Mapping[str, bytes], note: Note
) -> None:
    """Make the folder; `shown` replaces conflicted files (ordinary markers). Raises HeadwayError where it is in use."""
    if folder.exists() and any(folder.iterdir()):
        raise HeadwayError(
            f"{folder} is not empty.",
            "Finish what was begun there (--continue), remove it, or name another with --dir.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    git = Git(folder, env={"GIT_DIR": str(folder / ".git"), "GIT_WORK_TREE": str(folder)})
    git.run("init", "-q", f"--object-format={quarantine.algorithm}", "--template=")
    objects = folder / ".git" / "objects"
    shutil.copytree(quarantine.objects, objects, dirs_exist_ok=True)
    (objects / "info" / "alternates").write_bytes(os.fsencode(quarantine.lender) + b"\n")
    (folder / ".git" / "HEAD").write_text(f"{tip}\n")
    for path, entry in listing(quarantine, trial.tree):
        _write(folder / path, entry, shown[path] if path in shown else _content(quarantine, entry))
    git.run("read-tree", trial.tree)
    unmerged = [b"0 " + b"0" * len(tip) + b"\t" + os.fsencode(path) for path in {stage.path for stage in trial.stages}]
    for stage in trial.stages:
        head = f"{stage.entry.mode} {stage.entry.oid} {stage.number}\t".encode()
        unmerged.append(head + os.fsencode(stage.path))
    git.run("update-index", "-z", "--index-info", stdin=b"".join(line + b"\0" for line in unmerged))
    git.run("update-index", "-q", "--refresh", ok=None)
    (folder / ".git" / NOTE).write_text(json.dumps({"change": note.change, "conflict": note.conflict}))


def read_note(folder: Path) -> Note:
    """What the folder was made for. Raises HeadwayError where headway did not make it."""
    try:
        document = json.loads((folder / ".git" / NOTE).read_text())
        return Note(str(document["change"]), str(document["conflict"]))
    except (OSError, ValueError, KeyError, TypeError) as absent:
        raise HeadwayError(
            f"{folder} is no folder that `headway sync resolve` made.",
            "Run `headway sync resolve SHA` first, or give resolved files with --from DIR.",
        ) from absent


def changed_files(folder: Path, quarantine: Quarantine, trial: Conflicted) -> dict[str, bytes | None]:
    """Every file of the trial's tree that is another in the folder, and every conflicted one; None: it is gone."""
    conflicted = {stage.path for stage in trial.stages}
    found: dict[str, bytes | None] = {}
    for path, entry in listing(quarantine, trial.tree):
        if entry.mode == SUBMODULE:
            continue
        content = _read(folder / path)
        if path in conflicted or content is None or blob_id(content, quarantine.algorithm) != entry.oid:
            found[path] = content
    for path in conflicted - found.keys():  # a side deleted it, and the trial's tree went with that side
        if (content := _read(folder / path)) is not None:
            found[path] = content
    return found


def listing(quarantine: Quarantine, tree: str) -> Iterator[tuple[str, Entry]]:
    """Every file of a tree."""
    for line in quarantine.git.run("ls-tree", "-r", "-z", "--full-tree", tree).stdout.split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.decode().split(" ")
            yield os.fsdecode(path), Entry(mode, oid)


def _content(quarantine: Quarantine, entry: Entry) -> bytes:
    return b"" if entry.mode == SUBMODULE else quarantine.reader.read(entry.oid)[2]


def _write(path: Path, entry: Entry, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.mode == SUBMODULE:
        path.mkdir(exist_ok=True)
    elif entry.mode == LINK:
        path.symlink_to(os.fsdecode(content))
    else:
        path.write_bytes(content)
        if entry.mode == "100755":
            path.chmod(0o755)


def _read(path: Path) -> bytes | None:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return path.read_bytes() if path.is_file() else None
