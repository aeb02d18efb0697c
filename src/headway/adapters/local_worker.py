"""The worker port on this machine: a spool folder of its own and one warm worker process that drains it."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from headway.adapters.failpoints import OFF, Failpoints
from headway.adapters.spool_worker import SpoolWorker
from headway.core.errors import CouldNotRun
from headway.core.ports.worker import WorkerJob, WorkerResult

PROGRAM = Path(__file__).parents[1] / "worker"
END_SECONDS = 10.0
MOST_STARTS = 5


class LocalWorker:
    """Starts the worker at the first job, again if it dies, and ends it in `close`."""

    def __init__(
        self,
        folder: Path | None = None,
        python: str | None = None,
        program: Path = PROGRAM,
        failpoints: Failpoints = OFF,
        at_once: int = 1,
    ) -> None:
        """`python`: the interpreter that has numpy (and torch, triton); else HEADWAY_WORKER_PYTHON, else this one.

        `at_once`: GPU jobs that are compiled and checked side by side.
        """
        self._own = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="headway-worker-")) if folder is None else folder
        # jobs of an earlier process: those still wanted are submitted again, those that were only foreseen are not
        shutil.rmtree(self.folder / "jobs", ignore_errors=True)
        self._spool = SpoolWorker(self.folder, failpoints)
        interpreter = python or os.environ.get("HEADWAY_WORKER_PYTHON") or sys.executable
        self._argv = [
            interpreter,
            str(program),
            "--spool",
            str(self.folder),
            "--wait",
            "--until-eof",
            "--at-once",
            str(at_once),
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._starts = 0

    def submit(self, job: WorkerJob) -> None:
        """As the port says; the process is started or started again here and in `collect`."""
        self._spool.submit(job)
        self._keep_running()

    def collect(self, key: str, wait_seconds: float) -> WorkerResult | None:
        """As the port says. Raises CouldNotRun when the worker cannot be kept alive."""
        deadline = time.monotonic() + wait_seconds
        while True:
            left = deadline - time.monotonic()
            if (result := self._spool.collect(key, max(0.0, min(left, 0.5)))) is not None or left <= 0:
                return result
            self._keep_running()

    def close(self) -> None:
        """End the process; a private folder goes with it."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process = None
        if self._said is not None:
            self._said.close()
            self._said = None
        if self._own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _keep_running(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        if self._starts >= MOST_STARTS:
            raise CouldNotRun(f"The worker ended {self._starts} times: {self._last_words()}", "See `headway doctor`.")
        self._starts += 1
        with contextlib.suppress(FileNotFoundError):
            (self.folder / "stop").unlink()
        if self._said is None:
            self._said = (self.folder / "worker.log").open("ab")
        # stdin is a pipe of ours: when headway dies, however it dies, the worker reads its end and goes too
        self._process = subprocess.Popen(
            self._argv, stdin=subprocess.PIPE, stdout=self._said, stderr=self._said, start_new_session=True
        )

    def _last_words(self) -> str:
        lines = (self.folder / "worker.log").read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"


def worker_in_terminal(arguments: list[str]) -> int:
    """Run the worker program with these arguments, in this terminal; its exit code."""
    return subprocess.run([sys.executable, str(PROGRAM), *arguments], check=False).returncode
