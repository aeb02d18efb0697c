"""Starts headway itself in the background: a session of its own, words in a file, alive without its terminal."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from headway.adapters.durable_files import files_explained


def start_detached(arguments: Sequence[str], words: Path) -> int:
    """Run `headway <arguments>` detached; stdout and stderr are appended to `words`. Returns its pid.

    Spawned without `subprocess`, whose objects complain of a child that outlives them: outliving is the point here.
    """
    with files_explained(words):
        words.parent.mkdir(parents=True, exist_ok=True)
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "headway", *arguments],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(words), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
