"""What a source was compiled to, kept for the next job of the very same source: a promotion need not compile again.

The files are a candidate's own: they were written in its sandbox, they go back into a sandbox that runs the same
source, and that is all they are used for. Each job checks every output anew, wherever its kernels came from.
"""

import os
import shutil
import tempfile
from pathlib import Path

MOST = 96
MOST_BYTES = 64 << 20
"""Of one source; a larger cache is not kept."""


class KeptCaches:
    """Folders by digest of the source, the newest MOST of them."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="headway-caches-"))
        self._order: list[str] = []

    def keep(self, digest: str, cache: Path) -> None:
        """Copy what is in `cache`, if it is not there and not too large."""
        place = self._folder / digest
        if place.exists() or _size(cache) > MOST_BYTES:
            return
        building = self._folder / f".{digest}"
        building.mkdir()
        _copied(cache, building, str(cache), str(cache))
        (building / ".from").write_text(str(cache))
        building.rename(place)
        self._order.append(digest)
        while len(self._order) > MOST:
            shutil.rmtree(self._folder / self._order.pop(0), ignore_errors=True)

    def give(self, digest: str, cache: Path, uid: int | None) -> bool:
        """Copy into a new runner's `cache`, whose owner is `uid` (None: this user); False if there is nothing."""
        place = self._folder / digest
        try:
            before = (place / ".from").read_text()
        except OSError:
            return False
        _copied(place, cache, before, str(cache))
        if uid is not None:
            for folder, folders, files in os.walk(cache):
                for name in (".", *folders, *files):
                    os.chown(os.path.join(folder, name), uid, uid, follow_symlinks=False)
        return True

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def _copied(source: Path, target: Path, before: str, after: str) -> None:
    """Regular files only. Groups name their files by whole paths, which change with the folder."""
    for path in source.rglob("*"):
        place = target / path.relative_to(source)
        if path.is_symlink() or path.name == ".from":
            continue
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif path.is_file() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            if path.name.startswith("__grp__"):
                place.write_text(path.read_text().replace(before, after))
            else:
                shutil.copyfile(path, place)
