"""The fake worker: answers jobs from a function, and may keep its results in a folder as the real spool does.

With a folder it behaves like a worker that lives longer than its caller: a result that was written is found again by
key after a kill, and every run of a job adds a line to `runs.txt`, so that tests can recount them.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headway.core.ports.worker import WorkerJob, WorkerResult

Answer = Callable[[WorkerJob], WorkerResult]


class ScriptedWorker:
    """`answer` must be pure: the same job, the same result."""

    def __init__(self, answer: Answer, folder: Path | None = None) -> None:
        self._answer = answer
        self._folder = folder
        self._results: dict[str, WorkerResult] = {}
        self.runs: list[str] = []
        """Keys in the order they were run, by this process."""
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def submit(self, job: WorkerJob) -> None:
        """Runs the job at once, unless its key has a result."""
        if self.collect(job.key, 0.0) is not None:
            return
        self.runs.append(job.key)
        if self._folder is not None:
            with (self._folder / "runs.txt").open("a") as file:
                file.write(job.key + "\n")
        result = self._answer(job)
        self._results[job.key] = result
        if self._folder is not None:
            _write(self._folder / f"{job.key}.json", result)

    def collect(self, key: str, wait_seconds: float) -> WorkerResult | None:
        """The result, here or in the folder."""
        if key not in self._results and self._folder is not None:
            path = self._folder / f"{key}.json"
            if path.is_file():
                self._results[key] = _read(path)
        return self._results.get(key)

    def close(self) -> None:
        """Nothing to end."""


def _write(path: Path, result: WorkerResult) -> None:
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    beside.write_text(json.dumps(asdict(result)))
    beside.replace(path)


def _read(path: Path) -> WorkerResult:
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(WorkerResult)
    result: WorkerResult = adapter.validate_json(path.read_bytes())
    return result
