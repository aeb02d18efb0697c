"""The judge: how one job becomes raw facts. Read `evaluate`, then the steps of a `Trip` in trips.py.

Started first, never loads a candidate. It makes inputs, holds the oracle and the tolerances, keeps time, and decides
nothing that needs statistics: ratios and promotions are headway's.
"""

from collections.abc import Callable
from typing import Any

from . import device, proof
from .build import Builder
from .calls import Candidate
from .jobs import Job, Task
from .oracle import Reference, Tolerance
from .ptx import Assembler
from .refusals import CouldNotRun, Refused
from .session import Session
from .trips import Trip, baseline_source
from .triton_trips import Estimate, OnDevice


class Judge:
    """Keeps between jobs what is the same for all: tolerances by task, built libraries, one process in reserve."""

    def __init__(self) -> None:
        self.builder = Builder()
        self._tolerances: dict[str, dict[str, Tolerance]] = {}
        self._spare: dict[str, list[Session]] = {}
        self._assembled: dict[str, list[dict[str, Any]]] = {}
        self._assembler: Assembler | None = None
        self._gpu: bool | None = None
        self._started = 0

    def evaluate(self, job: Job) -> dict[str, Any]:
        """Facts of one job as `results/<key>.json` holds them. Raises nothing that the candidate can cause."""
        trip = self._trip(job)
        try:
            trip.prepare()
            trip.check_all_cases()
            trip.measure_timed_cases()
            return trip.result("measured", None)
        except Refused as refusal:
            told = {"code": refusal.code, "message": refusal.message, "next": refusal.advice}
            return trip.result("refused", told)
        except CouldNotRun as trouble:
            told = {"code": trouble.code, "message": trouble.message, "next": trouble.advice}
            return trip.result("could_not_run", told)
        except MemoryError:
            told = {
                "code": "infrastructure",
                "message": "The judge ran out of memory.",
                "next": "Use a larger machine.",
            }
            return trip.result("could_not_run", told)
        finally:
            trip.close()
            for way in trip.ways:
                self.reserve(trip.ways.count(way), way)

    def _trip(self, job: Job) -> "Trip":
        if job.task.kind != "triton":
            return Trip(self, job)
        if self._gpu is None:
            self._gpu = device.present()
        return OnDevice(self, job) if self._gpu else Estimate(self, job)

    def reserve(self, count: int, way: str = "") -> None:
        """Start processes ahead of need: they import numpy (or torch) while the judge does something else."""
        spare = self._spare.setdefault(way, [])
        while len(spare) < count:
            self._started += 1
            spare.append(Session(self._started, way))

    def session(self, preload: list[str], triton: str = "") -> Session:
        """A fresh, closed process that has never seen a candidate."""
        self.reserve(1, triton)
        session = self._spare[triton].pop(0)
        try:
            session.enter(preload)
        except BaseException:
            session.close()
            raise
        return session

    def assembled(self, key: str, make: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """A source's kernels by task, source and mode: a rival is compiled once, not at every attempt."""
        if key not in self._assembled:
            if len(self._assembled) > 64:
                self._assembled.clear()
            self._assembled[key] = make()
        return self._assembled[key]

    def assembler(self) -> Assembler:
        """One for all jobs: kernels that were assembled once are known."""
        if self._assembler is None:
            self._assembler = Assembler()
        return self._assembler

    def tolerances(self, task: Task, reference: Reference, load: Callable[[str], Candidate]) -> dict[str, Tolerance]:
        """By case name; measured once per task from its baseline's own errors, after the task proved itself."""
        if task.digest not in self._tolerances:
            baseline = load(baseline_source(task))
            try:
                self._tolerances[task.digest] = proof.prove(task, reference, baseline)
            finally:
                baseline.session.close()
        return self._tolerances[task.digest]

    def close(self) -> None:
        """End every process of this judge."""
        for session in (one for spare in self._spare.values() for one in spare):
            session.close()
        self._spare.clear()
