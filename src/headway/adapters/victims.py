"""Processes that are started in order to be killed: the demo's and the soak's real SIGKILLs."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from headway.adapters.processes import scrubbed_environment


class Victim:
    """A running process group whose output nobody reads."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL the whole group and reap the leader, so that its locks are gone when this returns."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def start(argv: Sequence[str], *, cwd: Path, set_env: Mapping[str, str]) -> Victim:
    """Start `argv` as the leader of a process group of its own."""
    environment = {**scrubbed_environment(os.environ), **set_env}
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return Victim(process)
