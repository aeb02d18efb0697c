"""mergiraf, where it is installed: a merge by syntax of the three sides of one file, asked as git asks a merge driver.

`mergiraf merge --git BASE OURS THEIRS -s … -x … -y … -p PATH -l SIZE` leaves the result in OURS and exits with 0 where
no conflict is left. Any other end is no answer, and says so; the rails look at an answer as at any other.
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from headway.adapters.processes import run
from headway.core.errors import HeadwayError
from headway.core.ports.git import MARKER_SIZE

NAME = "mergiraf"
SECONDS = 30.0
"""For one file; a structural merge that takes longer has lost its way."""
LABELS = ("-s", "base", "-x", "fork", "-y", "upstream")


class Mergiraf:
    """The `Structural` port of `sync/resolution.py`."""

    name = NAME

    def __init__(self, program: str) -> None:
        self._program = program

    @classmethod
    def installed(cls, env: Mapping[str, str]) -> "Mergiraf | None":
        """The one on PATH, or None."""
        found = shutil.which(NAME, path=env.get("PATH"))
        return cls(found) if found is not None else None

    def merge(self, path: str, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes | None, str]:
        """(the merged file, "") or (None, why not)."""
        suffix = PurePosixPath(path).suffix
        with tempfile.TemporaryDirectory(prefix="headway-mergiraf-") as name:
            folder = Path(name)
            sides = [folder / f"{side}{suffix}" for side in ("base", "fork", "upstream")]
            for file, content in zip(sides, (base, ours, theirs), strict=True):
                file.write_bytes(content)
            argv = (self._program, "merge", "--git", *map(str, sides), *LABELS, "-p", path, "-l", str(MARKER_SIZE))
            try:
                ran = run(argv, cwd=folder, ok=None, timeout=SECONDS)
            except HeadwayError as trouble:  # gone since it was found, or it does not end
                return None, f"could_not_run: {trouble.message}"
            if ran.code == 0:
                return sides[1].read_bytes(), ""
            return (
                None,
                "conflicts are left" if ran.code == 1 else f"could_not_run: exit code {ran.code}: {ran.complaint}",
            )
