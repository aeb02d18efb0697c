"""What a job asks for: values read from `job.json` and its folder, checked once, frozen afterwards."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from .refusals import CouldNotRun

SCHEMA = "headway.worker-job/1"
KINDS = ("cpu-python", "cpu-c", "triton")


class Case(NamedTuple):
    """One case of the task, as its `reference.make_inputs` wants it in `raw`."""

    name: str
    seeds: tuple[int, ...]
    held_out: bool
    protected: bool
    timed: bool
    screen: bool
    raw: dict[str, Any]

    @property
    def shown(self) -> str:
        """How a refusal may name it: a held-out case's name would tell its sizes."""
        return "(held out)" if self.held_out else f"{self.name} ({self.raw.get('regime', 'normal')})"


class Task(NamedTuple):
    """The trusted side of a job. `digest` covers every file of the task's folder."""

    id: str
    kind: str
    entry: str
    arguments: tuple[dict[str, Any], ...]
    cases: tuple[Case, ...]
    folder: Path
    raw: dict[str, Any]
    digest: str

    def limit(self, name: str, otherwise: float) -> float:
        """A number from `[limits]`."""
        return float(self.raw.get("limits", {}).get(name, otherwise))


class Job(NamedTuple):
    """One evaluation; `rival` None means the task's baseline."""

    key: str
    task: Task
    candidate: str
    rival: str | None
    mode: str
    seed: int
    pairs: int
    seconds: float


def read_job(folder: Path) -> Job:
    """Raises CouldNotRun for anything that is missing or malformed."""
    try:
        raw = json.loads((folder / "job.json").read_text())
        if raw["schema"] != SCHEMA:
            raise CouldNotRun(
                "infrastructure", f"This worker reads {SCHEMA}, the job is {raw['schema']}.", "Pack it again."
            )
        rival = (folder / "rival.src").read_text() if raw["has_rival"] else None
        candidate = (folder / "candidate.src").read_text()
        return Job(
            str(raw["key"]), _task(raw["task"], folder / "task"), candidate, rival,
            str(raw["mode"]), int(raw["seed"]), int(raw["pairs"]), float(raw["seconds"]),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as trouble:
        message = f"The job in {folder.name} cannot be read: {type(trouble).__name__}: {trouble}."
        raise CouldNotRun("infrastructure", message, "Submit it again.") from trouble


def _task(raw: dict[str, Any], folder: Path) -> Task:
    if raw["kind"] not in KINDS:
        raise CouldNotRun(
            "infrastructure", f"This worker does not know tasks of kind {raw['kind']!r}.", "Pack it again."
        )
    cases = tuple(
        Case(str(one["name"]), tuple(int(seed) for seed in one.get("seeds", [0])), bool(one.get("held_out")),
             bool(one.get("protected")), bool(one.get("timed")), bool(one.get("screen")), one)
        for one in raw["cases"]
    )  # fmt: skip
    return Task(str(raw["id"]), raw["kind"], str(raw["entry"]["name"]), tuple(raw["entry"]["args"]), cases, folder, raw,
                folder_digest(folder))  # fmt: skip


def folder_digest(folder: Path) -> str:
    """sha256 over names and contents of all files, in sorted order."""
    total = hashlib.sha256()
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(place) / name
            total.update(f"{path.relative_to(folder)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
