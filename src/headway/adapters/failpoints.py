"""Failpoints: numbered places before and after every append, blob rename and outside effect, off by default.

`HEADWAY_FAILPOINT=N` kills the process with SIGKILL at the N-th place it passes, so that the kill test can enumerate
them. `HEADWAY_FAILPOINT_LOG=FILE` writes each place passed, one name a line, so that the test knows how many there are.
"""

import functools
import os
import signal
from pathlib import Path


class Failpoints:
    """Counts places passed in this process; `hit` is a no-op unless the environment armed it."""

    def __init__(self, kill_at: int = 0, trace: Path | None = None) -> None:
        self._kill_at = kill_at
        self._trace = trace
        self._passed = 0

    @classmethod
    def from_environment(cls, env: dict[str, str] | os._Environ[str]) -> "Failpoints":
        """The process's one counter: a verb that opens its state twice must not begin to count anew."""
        return _of_process(os.getpid(), int(env.get("HEADWAY_FAILPOINT", "0")), env.get("HEADWAY_FAILPOINT_LOG", ""))

    def hit(self, name: str, detail: str = "") -> None:
        """Pass the place `name` (`append.before`, `blob.rename.after`, `git.update-ref.after`, …).

        `detail` only goes into the trace: where in the log an append stands.
        """
        if not self._kill_at and self._trace is None:
            return
        self._passed += 1
        if self._trace is not None:
            with self._trace.open("a") as file:
                file.write(f"{self._passed} {name} {detail}".rstrip() + "\n")
        if self._passed == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


@functools.lru_cache(maxsize=1)
def _of_process(_: int, kill_at: int, trace: str) -> Failpoints:
    return Failpoints(kill_at, Path(trace) if trace else None)


OFF = Failpoints()
