"""The spool side of the worker port: jobs out, results in, as files in a folder that workers anywhere drain.

The other side is `worker/spool.py`; docs/lab.md holds the format. A result counts only whole: it carries the digest
of its own content, and one that does not match is set aside, so that the job, which is still there, is done again.
"""

import hashlib
import json
import os
import shutil
import time
import tomllib
import uuid
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from headway.adapters.failpoints import OFF, Failpoints
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.ports.worker import WorkerJob, WorkerResult

JOB_SCHEMA = "headway.worker-job/1"
RESULT_SCHEMA = "headway.worker-result/1"
FIRST_POLL, LAST_POLL = 0.005, 0.1
_RESULT = TypeAdapter(WorkerResult)


class SpoolWorker:
    """Submits to and collects from a spool folder. It starts no process."""

    def __init__(self, folder: Path, failpoints: Failpoints = OFF) -> None:
        self.folder = folder
        self._failpoints = failpoints
        self._jobs, self._results = folder / "jobs", folder / "results"
        for one in (self._jobs, folder / "claims", self._results):
            one.mkdir(parents=True, exist_ok=True)

    def submit(self, job: WorkerJob) -> None:
        """Write the job's folder and rename it into place. Raises HeadwayError for a task that cannot be read."""
        place = self._jobs / _checked(job.key)
        if place.exists() or (self._results / f"{job.key}.json").exists():
            return
        building = self._jobs / f".{job.key}.{uuid.uuid4().hex}"
        building.mkdir()
        try:
            _write_job(building, job)
            self._failpoints.hit("worker.submit.before")
            building.rename(place)
            self._failpoints.hit("worker.submit.after")
        except OSError:
            # a second submit of the same key won the race: its job is this job
            if not place.exists():
                raise
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def collect(self, key: str, wait_seconds: float) -> WorkerResult | None:
        """The result once it is there; a torn one is set aside and waited for again."""
        deadline, pause = time.monotonic() + wait_seconds, FIRST_POLL
        while True:
            if (result := self._read(key)) is not None:
                return result
            if time.monotonic() >= deadline:
                return None
            time.sleep(min(pause, max(deadline - time.monotonic(), 0)))
            pause = min(pause * 1.3, LAST_POLL)

    def close(self) -> None:
        """Nothing to end: jobs stay for the workers that drain the folder."""

    def _read(self, key: str) -> WorkerResult | None:
        path = self._results / f"{_checked(key)}.json"
        try:
            body = path.read_bytes()
        except FileNotFoundError:
            return None
        result = opened(body, key)
        if result is None:
            path.rename(path.with_name(f"{key}.torn-{uuid.uuid4().hex[:8]}"))
            return None
        shutil.rmtree(self._jobs / key, ignore_errors=True)
        return result


def opened(body: bytes, key: str) -> WorkerResult | None:
    """The result in a sealed file; None if it is torn, altered, or another job's. Raises CouldNotRun if it is newer."""
    try:
        outer = json.loads(body)
        inner: dict[str, Any] = outer["result"]
        plain = json.dumps(inner, sort_keys=True).encode()
        if hashlib.sha256(plain).hexdigest() != outer["digest"] or inner["key"] != key:
            return None
        schema = inner.pop("schema")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if schema != RESULT_SCHEMA:
        raise CouldNotRun(
            f"The result of job {key} is {schema}; this headway reads {RESULT_SCHEMA}.", "Update headway."
        )
    try:
        result = _RESULT.validate_python(inner)
    except ValidationError as trouble:
        first = trouble.errors()[0]
        raise CouldNotRun(f"The result of job {key} is malformed at {first['loc']}: {first['msg']}.") from trouble
    if (result.outcome == "measured") != bool(result.samples) or (result.outcome == "measured") == bool(result.refusal):
        raise CouldNotRun(f"The result of job {key} contradicts itself: {result.outcome} with or without figures.")
    return result


def _write_job(place: Path, job: WorkerJob) -> None:
    task = _read_task(job.task_dir)
    shutil.copytree(job.task_dir, place / "task", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "candidate.src").write_text(job.candidate)
    if job.rival is not None:
        (place / "rival.src").write_text(job.rival)
    told = {
        "schema": JOB_SCHEMA, "key": job.key, "task": task, "has_rival": job.rival is not None, "mode": job.mode,
        "seed": job.seed, "pairs": job.pairs, "seconds": job.seconds, "knobs": dict(job.knobs),
    }  # fmt: skip
    (place / "job.json").write_text(json.dumps(told))
    for path in place.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _read_task(folder: Path) -> dict[str, Any]:
    """`task.toml` as the worker gets it: JSON, because its Python may be too old to read TOML."""
    try:
        return tomllib.loads((folder / "task.toml").read_text())
    except FileNotFoundError:
        raise HeadwayError(f"There is no task in {folder}: task.toml is missing.", "Name a folder with one.") from None
    except tomllib.TOMLDecodeError as trouble:
        raise HeadwayError(f"{folder / 'task.toml'} is no valid TOML: {trouble}.", "Correct it.") from trouble


def _checked(key: str) -> str:
    if not key or key.startswith(".") or not all(c.isalnum() or c in "-_." for c in key):
        raise HeadwayError(f"{key!r} cannot be the key of a job.", "Use letters, digits, -, _ and dots.")
    return key
