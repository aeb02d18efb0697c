"""The worker port: send one candidate to judge and runner, get raw facts back. Decisions are made in `tune/measure`.

On disk (spool) a job is a folder `jobs/<key>/` with `job.json` (this dataclass), `candidate.py` and `task/`; a result
is `results/<key>.json`, written temp -> fsync -> rename. The key makes a job idempotent: one key, one counted result.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

Mode = Literal["screen", "full", "promote", "baseline"]
"""screen: one shape, two regimes; full: all public and held-out cases; promote: fresh-process ABBA with n fixed in
advance; baseline: the task's own baseline in the candidate's place (A/A), for repeatability and the noise floor."""


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """One evaluation. `rival` is the source to time against (the incumbent), None for the task's baseline."""

    key: str
    task_dir: Path
    candidate: str
    mode: Mode
    seed: int
    pairs: int
    """Number of A-B-B-A blocks to time, fixed in advance."""
    rival: str | None = None
    seconds: float = 120.0
    """Limit for the whole job; compile and run have their own limits in the task."""
    knobs: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseFact:
    """One case, one seed: errors are ||out - oracle|| / ||oracle|| in float64 unless the task says otherwise."""

    case: str
    held_out: bool
    protected: bool
    error: float
    tolerance: float
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds per call, paired: `candidate[i]` and `rival[i]` come from the same ABBA block of case `case`."""

    case: str
    candidate: tuple[float, ...]
    rival: tuple[float, ...]
    protected: bool
    calls_per_sample: int
    bracket_error: float
    """|sum of inner times - judge's bracket| / bracket; the judge refuses past 0.02."""


@dataclass(frozen=True, slots=True)
class WorkerRefusal:
    """A `Reason` code, what exactly, and what to do next."""

    code: str
    message: str
    next: str


@dataclass(frozen=True, slots=True)
class WorkerResult:
    """Facts of one job. `refusal` and `samples` exclude each other: a refused candidate has no speed."""

    key: str
    outcome: Literal["measured", "refused", "could_not_run"]
    refusal: WorkerRefusal | None
    cases: tuple[CaseFact, ...]
    samples: tuple[Samples, ...]
    estimate: bool
    """True where no device measured anything (static profile only): a figure is then an estimate, never measured."""
    compile: Mapping[str, Any]
    profile: str
    """Digest of the profile, bounded; "" if none."""
    sandbox: tuple[str, ...]
    machine: Mapping[str, str]
    seconds: Mapping[str, float]
    """Wall seconds by phase: compile, correct, measure, overhead."""
    output: str
    """What the candidate printed, cut; evidence, never parsed."""


class Worker(Protocol):
    """Adapters: `adapters/local_worker.py`, `adapters/spool_worker.py` (real), `adapters/scripted_worker.py` (fake)."""

    def submit(self, job: WorkerJob) -> None:
        """Hand the job over; a second submit of the same key is no second job."""
        ...

    def collect(self, key: str, wait_seconds: float) -> WorkerResult | None:
        """The result, waiting up to `wait_seconds`; None if it is not there yet. The same answer every time."""
        ...

    def close(self) -> None:
        """End the worker's processes; jobs not yet taken up stay where they are."""
        ...
