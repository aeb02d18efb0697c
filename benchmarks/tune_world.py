"""A small tune world without compiler or clock: a task, a scripted worker whose answers follow from the source.

A candidate is text; lines `speed 1.3`, `noise 0.1`, `refuse wrong_result`, `lost 1` say what the worker will find.
Times are drawn from a generator seeded by the job's key, so the same job always gives the same samples. Used by the
tests of the tune room and by its benchmarks.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headway.adapters.clocks import HandClock
from headway.core.names import Digest
from headway.core.ports.worker import CaseFact, Samples, WorkerJob, WorkerRefusal, WorkerResult
from headway.core.task import Case, Floor, Knob, Task, TaskBudget

BASELINE = "speed 1.0\n"
KNOBS = (
    Knob("WIDTH", (1, 2, 4, 8), "lanes of a step", True),
    Knob("DEPTH", (1, 2, 3, 4, 5, 6, 7, 8), "steps in flight", False),
)
SECONDS_PER_CALL = 1e-3


def world_task(folder: Path, **changes: Any) -> Task:
    """A task of two timed cases, one of them protected, and one held-out case."""
    values: dict[str, Any] = {
        "id": "world",
        "kind": "cpu-python",
        "folder": folder,
        "digest": Digest("0" * 64),
        "summary": "a task for tests",
        "goal": "Make the world go round faster.",
        "target_ratio": None,
        "metric": "seconds per call",
        "direction": "lower",
        "signature": "entry(x) -> y",
        "entry_text": "Leaves x alone.",
        "rules": ("nothing is kept from one call to the next.",),
        "tolerance": "at most 4 times the baseline's own error.",
        "cases": (
            Case("small", {"n": 8}, (1,), "normal", held_out=False, timed=True, protected=True),
            Case("large", {"n": 64}, (2,), "normal", held_out=False, timed=True, protected=False),
            Case("hidden", {"n": 33}, (3,), "normal", held_out=True, timed=False, protected=False),
        ),
        "floor": Floor("", "", 0, 0),
        "budget": TaskBudget(None, None, None),
        "source_bytes": 100_000,
        "job_seconds": 10.0,
        "baseline": BASELINE,
        "template": "speed_of @WIDTH@ @DEPTH@\n",
        "knobs": KNOBS,
    }
    return Task(**{**values, **changes})


def directive(source: str, name: str, otherwise: float) -> float:
    """The number after `name` in a candidate's source."""
    for line in source.splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return otherwise


def speed_of(source: str) -> float:
    """How much faster than the baseline a candidate truly is."""
    for line in source.splitlines():
        if line.startswith("speed_of "):
            width, depth = map(int, line.split()[1:])
            return float(0.6 + 0.2 * np.log2(width) + 0.3 * max(1 - abs(depth - 5) / 5, 0))
    return directive(source, "speed", 1.0)


def answer(job: WorkerJob, cases: Iterable[Case] | None = None) -> WorkerResult:
    """What the worker finds out about a job; a pure function of it."""
    for line in job.candidate.splitlines():
        if line.startswith("refuse "):
            return result(job, "refused", refusal=WorkerRefusal(line.split()[1], "It was refused.", "Do it otherwise."))
        if line.startswith("lost ") and int(job.key.rsplit("-", 1)[1]) <= int(line.split()[1]):
            return result(job, "could_not_run", refusal=WorkerRefusal("infrastructure", "The worker fell over.", ""))
    rival = BASELINE if job.rival is None else job.rival
    noise = directive(job.candidate, "noise", 0.01)
    seed = int.from_bytes(hashlib.sha256(f"{job.key}/{job.seed}".encode()).digest()[:8], "little")
    rng = np.random.default_rng(seed)
    samples = []
    for case in cases or (c for c in world_task(job.task_dir).cases if c.timed):
        ours = SECONDS_PER_CALL / speed_of(job.candidate) * np.exp(noise * rng.standard_normal(job.pairs))
        theirs = SECONDS_PER_CALL / speed_of(rival) * np.exp(noise * rng.standard_normal(job.pairs))
        samples.append(Samples(case.name, tuple(ours), tuple(theirs), case.protected, 10, 0.001))
    return result(job, "measured", samples=tuple(samples))


def result(job: WorkerJob, outcome: Any, **parts: Any) -> WorkerResult:
    """A worker's answer with everything else filled in."""
    task = world_task(job.task_dir)
    checked = tuple(CaseFact(c.name, c.held_out, c.protected, 1e-8, 1e-6, ok=True) for c in task.cases)
    values: dict[str, Any] = {
        "key": job.key,
        "outcome": outcome,
        "refusal": None,
        "cases": checked if outcome == "measured" else (),
        "samples": (),
        "estimate": False,
        "compile": {},
        "profile": f"bound by memory: {100 * speed_of(job.candidate) / 4:.0f} % of the peak",
        "sandbox": ("scripted",),
        "machine": {"host": "nowhere"},
        "seconds": {"compile": 0.5, "correct": 0.25, "measure": 1.0},
        "output": "",
    }
    return WorkerResult(**{**values, **parts})


def ticking(clock: HandClock, seconds: float) -> Callable[[WorkerJob], WorkerResult]:
    """`answer`, with each job taking a fixed time on the campaign's clock."""

    def tick(job: WorkerJob) -> WorkerResult:
        clock.tick(seconds)
        return answer(job)

    return tick


def script(lines: Iterable[Mapping[str, Any]], path: Path) -> Path:
    """Write a script for the `script` agent."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
