"""`headway tune bench`: kernels that ship, timed against their baselines on this machine.

`kda`, `mla` and `mla-decode` have a measuring program of their own, which brings FLA, FlashKDA, FlashMLA and
FlashAttention-3 in where those are installed, takes turns with them, and times MLA both in bursts and sustained. Any
other task's baseline is what ships; it is timed against itself by the lab's own worker, which says how far two runs of
the same code agree.
"""

import json
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.adapters.processes import run
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.ports.worker import Samples, WorkerJob, WorkerResult
from headway.core.task import Task
from headway.tune.measure.digest import floors_of
from headway.tune.measure.timing import ratio_of
from headway.wiring.lab import has_gpu
from headway.wiring.tune import find_task
from headway.wiring.workers import worker_for

BLOCKS = 12
SECONDS = 3600.0


@dataclass(frozen=True)
class Bench:
    """One task's figures: `document` is what its measuring program wrote, `rows` what the worker measured."""

    task: str
    how: str
    document: dict[str, Any] | None = None
    rows: tuple[dict[str, Any], ...] = ()
    could_not_run: str = ""


def bench(name: str) -> Bench:
    """Raises HeadwayError for a task that does not exist; what cannot be measured here is said in the answer."""
    task = find_task(name)
    if task.id in PROGRAMS and not has_gpu():
        return Bench(task.id, "", could_not_run="there is no NVIDIA GPU here")
    try:
        return _shipped(task.id) if task.id in PROGRAMS else _against_itself(task)
    except CouldNotRun as trouble:
        return Bench(task.id, "", could_not_run=trouble.message)


def _shipped(task: str) -> Bench:
    """The rows of `headway.tasks.bench`: every peer that is absent is a row that says so."""
    arguments = ["-m", "headway.tasks.bench", task, "--json"]
    lines = [line for line in _measured(arguments).splitlines() if line.startswith("{")]
    if not lines:
        raise CouldNotRun(f"python {' '.join(arguments)} ended without rows.")
    return Bench(task, f"python {' '.join(arguments[:3])}", json.loads(lines[-1]))


PROGRAMS = ("kda", "mla", "mla-decode")
"""Tasks with a measuring program."""


def _python() -> str:
    return os.environ.get("HEADWAY_WORKER_PYTHON") or sys.executable


def _measured(arguments: list[str]) -> str:
    source = Path(__file__).parents[2]
    path = os.pathsep.join([str(source), str(source.parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = run([_python(), *arguments], ok=None, timeout=SECONDS, env={**os.environ, "PYTHONPATH": path})
    if done.code not in (0, 4):
        words = (done.stderr or b"").decode("utf-8", "replace").strip().splitlines() or [f"exit {done.code}"]
        raise CouldNotRun(f"{' '.join(arguments[:3])} failed: {words[-1][:300]}")
    return done.stdout.decode("utf-8", "replace")


def _against_itself(task: Task) -> Bench:
    if task.command is not None:
        raise HeadwayError(f"The task {task.id} measures a command; there is no kernel to time.", "Use `tune check`.")
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        worker = worker_for(task, Path(folder))
        try:
            seconds = task.job_seconds * 2
            worker.submit(WorkerJob("bench", task.folder, task.baseline, "baseline", 1, BLOCKS, None, seconds))
            result = worker.collect("bench", seconds * 2)
        finally:
            worker.close()
    if result is None or result.outcome != "measured":
        raise CouldNotRun(_why(result))
    beside = {one["case"]: one for one in floors_of(task, result)}
    rows = tuple({**_row(task, one), "roof": beside.get(one.case)} for one in result.samples)
    label = "estimate: no GPU" if result.estimate else "measured"
    return Bench(task.id, f"the task's baseline against itself, {BLOCKS} A-B-B-A blocks ({label})", None, rows)


def _row(task: Task, one: Samples) -> dict[str, Any]:
    ratio, case = ratio_of([one], 1), task.case(one.case)
    return {
        "case": one.case, "seconds": statistics.median(one.candidate), "again": statistics.median(one.rival),
        "ratio": ratio.point, "interval": [ratio.low, ratio.high],
        "floor_seconds": 0.0 if case is None else task.floor.seconds(case.sizes),
    }  # fmt: skip


def _why(result: WorkerResult | None) -> str:
    if result is None:
        return "The worker gave no answer."
    return result.refusal.message if result.refusal is not None else "The worker gave no figures."
