"""Starts headway itself in the background: a session of its own, words in a file, alive without its terminal."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from headway.adapters.durable_files import files_explained


def start_detached(arguments: Sequence[str], words: Path) -> int:
    """Run `headway <arguments>` detached; stdout and stderr are appended to `words`. Returns its pid."""
    with files_explained(words):
        words.parent.mkdir(parents=True, exist_ok=True)
        with words.open("ab") as file, Path(os.devnull).open("rb") as nothing:
            process = subprocess.Popen(
                [sys.executable, "-m", "headway", *arguments],
                stdin=nothing,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
    return process.pid
