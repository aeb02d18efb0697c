"""What a `command` task needs on this machine: programs on PATH, modules, and tools fetched once by lock file."""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from headway.adapters.processes import run
from headway.core.command_task import CommandTask, Setup, filled
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.task import Task

HINTS = {
    "node": "apt install nodejs",
    "npm": "apt install npm",
    "chromium": "apt install chromium",
    "python:pytest": "pip install pytest",
}


def missing(needs: Iterable[str]) -> list[str]:
    """Which of a task's needs this machine lacks. `python:NAME` is a module of the worker's interpreter."""
    return [need for need in needs if not _is_here(need)]


def hint(need: str) -> str:
    """How to get it."""
    return HINTS.get(need, f"install {need}")


def tools_of(task: Task, spec: CommandTask) -> Path | None:
    """The folder with the task's tools, fetched now if it is not there; None for a task without a setup.

    Raises CouldNotRun, naming what is missing: nothing is decided about any candidate.
    """
    if lacking := missing(spec.needs):
        raise CouldNotRun(f"The task {task.id} needs {lacking[0]}, which is not on this machine.", hint(lacking[0]))
    if spec.setup is None:
        return None
    place = _cache() / f"{task.id}-{_digest(task.folder, spec.setup)[:16]}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with (place.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two campaigns of one task fetch once
        if not place.is_dir():
            _fetch(task, spec.setup, place)
    return place


def _fetch(task: Task, setup: Setup, place: Path) -> None:
    building = Path(tempfile.mkdtemp(prefix=".building-", dir=place.parent))
    try:
        for name in setup.inputs:
            shutil.copy(task.folder / name, building / Path(name).name)
        argv = filled(setup.command, {"task": str(task.folder), "tools": str(building), "python": sys.executable})
        try:
            run(argv, cwd=building, timeout=setup.seconds)
        except HeadwayError as trouble:
            raise CouldNotRun(f"The tools of {task.id} could not be fetched: {trouble}") from trouble
        building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _digest(folder: Path, setup: Setup) -> str:
    digest = hashlib.sha256("\0".join(setup.command).encode())
    for name in setup.inputs:
        digest.update(f"\0{name}\0".encode() + (folder / name).read_bytes())
    return digest.hexdigest()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway" / "tools"


def _is_here(need: str) -> bool:
    kind, _, name = need.rpartition(":")
    if kind != "python":
        return shutil.which(need) is not None
    python = os.environ.get("HEADWAY_WORKER_PYTHON") or sys.executable
    find = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    try:
        return run([python, "-c", find, name], ok=None, timeout=30).code == 0
    except HeadwayError:
        return False
