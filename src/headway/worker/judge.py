"""The judge: how one job becomes raw facts. Read `evaluate`, then the steps of a `Trip` in trips.py.

Started first, never loads a candidate. It makes inputs, holds the oracle and the tolerances, keeps time, and decides
nothing that needs statistics: ratios and promotions are headway's.
"""

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from . import ceilings, device, proof, tuning
from .build import Builder
from .calls import Candidate
from .jobs import Job, Task
from .kept_caches import KeptCaches
from .oracle import Reference, Tolerance
from .ptx import Assembler
from .refusals import CouldNotRun, Refused
from .session import Session
from .spool import without_figures
from .trips import Trip, baseline_source
from .triton_trips import Estimate, OnDevice

if TYPE_CHECKING:
    from .drawn_trips import Proved

MOST_AT_ONCE = 32
TRITON_NEEDS = ("torch", "triton")


class Underway:
    """One job on its way: `get_ready` may run beside others, `finished` measures and must not."""

    def __init__(self, job: Job, trip: Trip | None, trouble: CouldNotRun | None) -> None:
        self.job, self._trip = job, trip
        self._ready = time.monotonic()
        self._told: tuple[str, Any] | None = None if trouble is None else ("could_not_run", trouble)

    @property
    def ways(self) -> tuple[str, ...]:
        """The processes that the next job of this kind will want."""
        return () if self._trip is None else self._trip.ways

    def get_ready(self) -> None:
        """Everything but timing."""
        self._step(lambda trip: trip.prepare())
        self._step(lambda trip: trip.check_all_cases())
        self._ready = time.monotonic()

    def finished(self) -> dict[str, Any]:
        """The result, timed if nothing stood against it. Ends the job's processes."""
        if self._trip is not None:
            self._trip.waited(time.monotonic() - self._ready)
        self._step(lambda trip: trip.measure_timed_cases())
        if self._trip is None:
            assert self._told is not None
            reason = self._told[1]
            return without_figures(self.job.key, reason.code, reason.message, reason.advice)
        outcome, why = self._told or ("measured", None)
        told = None if why is None else {"code": why.code, "message": why.message, "next": why.advice}
        result = self._trip.result(outcome, told)
        self.close()
        return result

    def close(self) -> None:
        """End the job's processes."""
        if self._trip is not None:
            self._trip.close()

    def _step(self, step: Callable[[Trip], object]) -> None:
        if self._told is not None or self._trip is None:
            return
        try:
            step(self._trip)
        except Refused as refusal:
            self._told = ("refused", refusal)
        except CouldNotRun as trouble:
            self._trip.troubled(trouble)
            self._told = ("could_not_run", trouble)
        except MemoryError:
            told = CouldNotRun("infrastructure", "The judge ran out of memory.", "Use a larger machine.")
            self._told = ("could_not_run", told)


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
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._references: dict[str, Any] = {}
        self._proved: dict[str, Proved] = {}
        self._caches: KeptCaches | None = None
        self.tuned: tuning.Tuned = {}
        """What the autotuners of a source chose on a task, by digests: measured again, it runs what ran before."""
        self.ceilings: dict[str, str] = {}
        """What this machine's GPU reaches at best, as results tell it; empty where there is none."""

    def evaluate(self, job: Job) -> dict[str, Any]:
        """Facts of one job as `results/<key>.json` holds them. Raises nothing that the candidate can cause."""
        found: list[dict[str, Any]] = []
        self.evaluate_all([job], lambda _, result: found.append(result))
        return found[0]

    def evaluate_all(self, jobs: list[Job], done: Callable[[Job, dict[str, Any]], None]) -> None:
        """Prepare and check all at once, then measure one after the other, when nothing else runs.

        `done` is told each result as it is there, in the order of `jobs`.
        """
        with device.lock() if self._on_gpu(jobs) else nullcontext():
            if self._on_gpu(jobs) and not self.ceilings:
                self.ceilings = ceilings.of_this_gpu(lambda: self.session([], "device"))
            ready = [self._begun(job) for job in jobs]
            start = time.monotonic()
            if len(ready) == 1 or not self._on_gpu(jobs):
                for one in ready:
                    one.get_ready()
            else:
                self._all_ready(ready)
                _say(f"{len(ready)} jobs compiled and checked in {time.monotonic() - start:.1f} s")
            try:
                for one in ready:
                    done(one.job, one.finished())
            finally:
                for one in ready:
                    one.close()
        # only now: processes that start while others are measured slow their launches down
        for way in ready[0].ways:
            many = min(len(jobs), os.cpu_count() or 1) if len(jobs) > 1 else 0
            self.reserve(max(many, ready[0].ways.count(way)), way)

    def _all_ready(self, ready: list["Underway"]) -> None:
        """In threads that last as long as the judge: a runner ends with the thread that started it."""
        for way in ready[0].ways[:1]:
            self.reserve(len(ready), way)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MOST_AT_ONCE)
        for waiting in [self._threads.submit(one.get_ready) for one in ready]:
            waiting.result()

    def _on_gpu(self, jobs: list[Job]) -> bool:
        if all(job.task.kind != "triton" for job in jobs):
            return False
        if self._gpu is None:
            self._gpu = device.present()
        return self._gpu

    def _begun(self, job: Job) -> "Underway":
        try:
            return Underway(job, self._trip(job), None)
        except CouldNotRun as trouble:
            return Underway(job, None, trouble)

    def _trip(self, job: Job) -> "Trip":
        if job.task.kind != "triton":
            return Trip(self, job)
        if absent := [name for name in TRITON_NEEDS if importlib.util.find_spec(name) is None]:
            message = f"Triton tasks need {' and '.join(TRITON_NEEDS)}; this worker's Python has no {absent[0]}."
            advice = "pip install 'headway[kernels]', or name a Python that has them in HEADWAY_WORKER_PYTHON."
            raise CouldNotRun("infrastructure", message, advice)
        drawn = "inputs" in job.task.raw["files"]
        if not self._on_gpu([job]):
            if drawn:
                message = f"The task {job.task.id} needs a GPU, and there is none here."
                raise CouldNotRun("no_device", message, "Run it where `headway doctor` finds one, or pack the jobs.")
            return Estimate(self, job)
        if not drawn:
            return OnDevice(self, job)
        from .drawn_trips import OnDeviceDrawn  # it imports torch, which other tasks do without

        self.proved(job.task)
        return OnDeviceDrawn(self, job)

    def drawn_reference(self, task: Task) -> Any:
        """The reference of a task with an `inputs.py`; one for all its jobs."""
        from .drawn import DrawnReference

        if task.digest not in self._references:
            self._references[task.digest] = DrawnReference(task)
        return self._references[task.digest]

    def proved(self, task: Task) -> "Proved":
        """A task with an `inputs.py`, once it has proved itself here. Raises CouldNotRun(`vacuous_task`)."""
        from .drawn_trips import Proof

        if task.digest not in self._proved:
            for old in self._proved.values():
                old.baseline.session.close()
            self._proved.clear()
            start = time.monotonic()
            trip = Proof(self, Job("proof", task, "", None, "full", 0, 0, 600.0))
            try:
                self._proved[task.digest] = trip.proved()
            finally:
                trip.close()
            _say(f"{task.id} proved itself in {time.monotonic() - start:.1f} s")
        return self._proved[task.digest]

    @property
    def caches(self) -> KeptCaches:
        """What sources were compiled to."""
        if self._caches is None:
            self._caches = KeptCaches()
        return self._caches

    def forget_baseline(self, task: Task) -> None:
        """After the warm baseline failed (a sticky device error, say): the next job brings a fresh one in."""
        if (old := self._proved.pop(task.digest, None)) is not None:
            old.baseline.session.close()

    def reserve(self, count: int, way: str = "") -> None:
        """Start processes ahead of need: they import numpy (or torch) while the judge does something else."""
        spare = self._spare.setdefault(way, [])
        while len(spare) < count:
            self._started += 1
            spare.append(Session(self._started, way))

    def session(self, preload: list[str], triton: str = "") -> Session:
        """A fresh, closed process that has never seen a candidate."""
        with self._lock:
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
        for proved in self._proved.values():
            proved.baseline.session.close()
        self._proved.clear()
        if self._caches is not None:
            self._caches.close()
        for session in (one for spare in self._spare.values() for one in spare):
            session.close()
        self._spare.clear()


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
