"""Clones for untrusted code: own refs, own config, no hooks, no remotes, no credential helper, objects borrowed.

One slot of the pool is two folders. `git/` is ours: index and configuration that headway's own git uses, never shown to
the sandbox. `tree/` is the checkout with a small `.git` planted for the tests' eyes, thrown away before each use: a
suite that leaves a hook, a filter or `core.fsmonitor` in it must not have it run by us.
"""

import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headway.adapters import processes
from headway.adapters.local_executor import remove_tree
from headway.adapters.owner_state import OwnerPlaces, places_of, state_of
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.names import Sha, TreeId
from headway.core.ports.workspace import Checkout, CloneRequest, OwnerFingerprint

SLOTS = 16
"""How many clones of one owner may be in use at once."""

_PLAIN_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "advice.detachedHead=0",
)
_NO_OTHER_CONFIG = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "0"}


@dataclass(frozen=True, slots=True)
class _Slot:
    root: Path

    @property
    def git(self) -> Path:
        return self.root / "git"

    @property
    def tree(self) -> Path:
        return self.root / "tree"


class GitClones:
    """`Workspaces` on real git. `pool` is a folder of ours where clones wait between uses."""

    def __init__(self, pool: Path) -> None:
        self._pool = pool
        self._places: dict[Path, OwnerPlaces] = {}

    @contextmanager
    def checkout(self, request: CloneRequest) -> Iterator[Checkout]:
        """See the port. The slot is locked for the time of the context and tidied at its end."""
        places = self._places_of(request.owner)
        with self._slot(places) as slot:
            try:
                _reset(slot, places, request)
            except HeadwayError:
                # whatever the last user did to the slot (modes, a file where git wants a folder): start from nothing
                _require_commit(places, request)
                _throw_away(slot)
                _reset(slot, places, request)
            try:
                yield _described(slot, places, request)
            finally:
                _tidy(slot, request)

    def fingerprint(self, owner: Path) -> OwnerFingerprint:
        """See the port."""
        return state_of(self._places_of(owner))

    def _places_of(self, owner: Path) -> OwnerPlaces:
        """Asked once: an owner's folders do not move while we work."""
        if owner not in self._places:
            self._places[owner] = places_of(owner)
        return self._places[owner]

    @contextmanager
    def _slot(self, places: OwnerPlaces) -> Iterator[_Slot]:
        """The first free slot of this owner. Raises CouldNotRun when all are in use."""
        family = self._pool / hashlib.sha256(os.fsencode(places.common)).hexdigest()[:16]
        family.mkdir(parents=True, exist_ok=True)
        for number in range(SLOTS):
            fd = os.open(family / f"{number}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                continue
            try:
                yield _Slot(family / str(number))
            finally:
                os.close(fd)
            return
        raise CouldNotRun(f"All {SLOTS} clones of {places.common} are in use.", "Wait for the other runs to end.")


def _reset(slot: _Slot, places: OwnerPlaces, request: CloneRequest) -> None:
    """The tree exactly as the commit says, but for the cache paths; then a fresh `.git` and the overlay."""
    if not (slot.git / "HEAD").exists():
        slot.tree.mkdir(parents=True, exist_ok=True)
        init = ("git", "init", "--quiet", "--bare", "--template=", f"--object-format={places.object_format}")
        processes.run((*init, str(slot.git)), set_env=_NO_OTHER_CONFIG)
    _give_back_modes(slot.tree)
    _remove(slot.tree / ".git")
    _borrow(slot.git, places, request)
    # a lock left by a kill would stop every later checkout; the slot's own lock says that nobody is at work
    (slot.git / "index.lock").unlink(missing_ok=True)
    _git(slot, "checkout", "--quiet", "--force", "--detach", request.commit)
    _git(slot, "clean", "-ffdxq", *(part for path in request.cache for part in ("-e", f"/{path.strip('/')}")))
    _plant(slot, places, request)
    for path, content in request.overlay.items():
        (slot.tree / path).write_bytes(content)


def _give_back_modes(tree: Path) -> None:
    """Undo a suite's `chmod`: git looks at no folder's mode, so one locked folder would fail every later change."""
    tree.chmod(tree.stat().st_mode | stat.S_IRWXU)
    for folder, folders, files in os.walk(tree):
        for names, least in ((folders, stat.S_IRWXU), (files, stat.S_IRUSR | stat.S_IWUSR)):
            for name in names:
                path = Path(folder, name)
                mode = path.lstat().st_mode
                if not stat.S_ISLNK(mode) and mode & least != least:
                    path.chmod(stat.S_IMODE(mode) | least)


def _borrow(git_folder: Path, places: OwnerPlaces, request: CloneRequest) -> None:
    info = git_folder / "objects" / "info"
    info.mkdir(parents=True, exist_ok=True)
    lenders = (places.objects, *request.extra_objects)
    (info / "alternates").write_bytes(b"".join(os.fsencode(folder.resolve()) + b"\n" for folder in lenders))
    if (places.common / "shallow").exists():
        shutil.copyfile(places.common / "shallow", git_folder / "shallow")


def _plant(slot: _Slot, places: OwnerPlaces, request: CloneRequest) -> None:
    """The `.git` that tests see: detached at the commit, with the owner's tags (builds ask `git describe`)."""
    planted = slot.tree / ".git"
    for folder in ("refs/heads", "refs/tags", "objects/pack", "info"):
        (planted / folder).mkdir(parents=True)
    _borrow(planted, places, request)
    (planted / "HEAD").write_text(f"{request.commit}\n")
    extension = f"[extensions]\n\tobjectFormat = {places.object_format}\n" if places.object_format != "sha1" else ""
    version = 1 if extension else 0
    (planted / "config").write_text(
        f"[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\thooksPath = /dev/null\n{extension}"
        "[credential]\n\thelper =\n"
    )
    (planted / "packed-refs").write_text("# pack-refs with: peeled fully-peeled sorted \n" + places.packed_tags())
    shutil.copyfile(slot.git / "index", planted / "index")


def _described(slot: _Slot, places: OwnerPlaces, request: CloneRequest) -> Checkout:
    listing = _git(slot, "ls-tree", "-r", "-z", request.commit).stdout
    tree = _git(slot, "rev-parse", f"{request.commit}^{{tree}}").text
    entries = (os.fsdecode(line).partition("\t") for line in listing.split(b"\0") if line)
    tracked = tuple(path for meta, _, path in entries if meta.startswith("100"))
    inside = tuple(folder.resolve() for folder in (places.objects, *request.extra_objects))
    return Checkout(slot.tree, request.commit, TreeId(tree), tracked, (places.common,), inside)


def _tidy(slot: _Slot, request: CloneRequest) -> None:
    """Free the disk now; the next use resets everything again, so trouble here is not an error."""
    _remove(slot.tree / ".git")
    keep = (part for path in request.cache for part in ("-e", f"/{path.strip('/')}"))
    _git(slot, "clean", "-ffdxq", *keep, ok=None)


def _throw_away(slot: _Slot) -> None:
    if slot.root.exists():
        remove_tree(slot.root)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        remove_tree(path)


def _require_commit(places: OwnerPlaces, request: CloneRequest) -> None:
    lenders = os.pathsep.join(str(folder.resolve()) for folder in request.extra_objects)
    # quarantined objects count as there
    argv = ("git", f"--git-dir={places.common}", "cat-file", "-e", f"{request.commit}^{{tree}}")
    found = processes.run(argv, set_env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": lenders}, ok=None)
    if found.code != 0:
        raise HeadwayError(
            f"The commit {request.commit} is not in {request.owner}.", "Name a commit that is there, or fetch it first."
        )


def _git(slot: _Slot, *args: str, ok: frozenset[int] | None = frozenset({0})) -> processes.Ran:
    """headway's own git on a slot: our folder, our configuration, nobody else's."""
    plain = [part for setting in _PLAIN_CONFIG for part in ("-c", setting)]
    argv = ("git", f"--git-dir={slot.git}", f"--work-tree={slot.tree}", *plain, *args)
    return processes.run(argv, cwd=slot.tree, set_env=_NO_OTHER_CONFIG, ok=ok)


def commit_of(owner: Path, revision: str) -> Sha:
    """The full id of a revision of the owner's repository. Raises HeadwayError naming it."""
    found = processes.run(
        ("git", "-C", str(owner), "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"), ok=None
    )
    if found.code != 0:
        raise HeadwayError(f"{revision!r} is not a revision of {owner}.", "Name a commit, branch or tag that is there.")
    return Sha(found.text)
