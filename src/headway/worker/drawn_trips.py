"""GPU jobs whose inputs are drawn on the device: the same journey as `OnDevice`, on seeds in the place of arrays."""

import hashlib
import os
import time
from typing import TYPE_CHECKING, Any

import numpy

from . import device, drawn, tuning
from .calls import Candidate
from .drawn import Calls, DrawnBatches, DrawnReference, Seeds
from .jobs import Case, Job, Task
from .oracle import Errors, Tolerance, worst
from .refusals import CouldNotRun, Refused
from .session import Session
from .trips import Trip, baseline_source

if TYPE_CHECKING:
    from .judge import Judge

TIMED_SECONDS = 120.0
DRAWS = 3
"""Of each case, from which the baseline's own error is taken; the largest counts."""


class Loaded:
    """A source loaded in a session of its own, with what calls of it need."""

    def __init__(self, task: Task, candidate: Candidate, reference: DrawnReference) -> None:
        rng = numpy.random.default_rng(int.from_bytes(os.urandom(8), "little"))
        self.candidate, self.session = candidate, candidate.session
        self.calls = Calls(reference, candidate.session, rng)
        self.batches = DrawnBatches(task, self.calls, candidate, rng)


class OnDeviceDrawn(Trip):
    """A Triton job on a GPU for a task with an `inputs.py`."""

    _way = "device"
    ways = ("device",)
    _reference: DrawnReference

    def __init__(self, judge: "Judge", job: Job) -> None:
        super().__init__(judge, job)
        self._mine: Loaded | None = None
        self._bringing = ""

    def _open_reference(self) -> DrawnReference:
        reference: DrawnReference = self._judge.drawn_reference(self._job.task)
        return reference

    def prepare(self) -> None:
        """Bring the candidate in; the task was proved, and its rival warmed, before the first job of a batch."""
        self._mine = self._bring(self._source)
        self._ours = self._mine.candidate
        self._tolerance = self._judge.proved(self._task).tolerance

    def check_all_cases(self) -> None:
        """Every case of the mode on fresh draws; the first calls compile, so they have the compiler's limit."""
        start = time.monotonic()
        assert self._mine is not None
        cases = self._chosen()
        plan = [case for case in cases for _ in case.seeds]
        numpy.random.default_rng(int.from_bytes(self._salt, "little")).shuffle(plan)
        found: dict[str, list[Errors]] = {}
        try:
            for case in plan:
                seen = found.setdefault(case.name, [])
                seed, whole = _seed(), self._job.mode != "screen"
                self._call(case, seed, False, whole, seen)
                if case.timed:  # differs from the last inputs in two elements in the middle
                    self._call(case, seed, True, False, seen)
                self._time_left()
        finally:
            self._cases = [self._fact(case, found[case.name]) for case in cases if found.get(case.name)]
            self._seconds["correct"] = time.monotonic() - start
        self._sealed(self._mine)

    def measure_timed_cases(self) -> None:
        """Batches between device events, A B B A, both sides in processes of their own on one GPU."""
        start = time.monotonic()
        assert self._mine is not None
        timed = [case for case in self._chosen() if case.timed]
        theirs = self._rival(timed)
        theirs.batches.rival = True
        clocks = [device.clocks()]
        rival = baseline_source(self._task) if self._job.rival is None else self._job.rival
        tuned = {"candidate": self._settled(self._mine, self._source, timed),
                 "rival": self._settled(theirs, rival, timed)}  # fmt: skip
        profiles = {}
        for case in timed:
            self._samples.append(self._timed(case, self._mine, theirs))
            if self._job.mode != "screen":
                profiles[case.name] = tuning.profiles([self._mine.batches, theirs.batches])
        self._compile = {"clocks": [*clocks, device.clocks()], "tuned": tuned, "profiles": profiles}
        self._seconds["measure"] = time.monotonic() - start

    def troubled(self, trouble: CouldNotRun) -> None:
        """A warm baseline that failed (errors of the device stick to a process) is brought in anew for the next job."""
        if trouble.message.startswith(device.RIVAL):
            self._judge.forget_baseline(self._task)

    def _bring(self, source: str) -> Loaded:
        self._bringing = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        candidate = self._load(source)
        self._open.append(candidate)
        return Loaded(self._task, candidate, self._reference)

    def _opened(self, session: Session) -> None:
        self._judge.caches.give(self._bringing, session.cache, session.uid)
        session.order({"do": "draws", "source": self._reference.source}, 20)

    def _sealed(self, one: Loaded) -> None:
        """Nothing may be started in its process any more; what it compiled is kept for this source's next job."""
        one.session.seal()
        self._judge.caches.keep(self._bringing, one.session.cache)

    def _settled(self, one: Loaded, source: str, timed: list[Case]) -> tuning.Choices:
        return tuning.settle(self._judge.tuned, self._task, source, one.batches, timed, _seeds, self._tolerance)

    def _call(self, case: Case, seed: int, swap: bool, whole: bool, seen: list[Errors]) -> None:
        assert self._mine is not None
        limit = self._task.limit("run_seconds", 30) + (0 if seen else self._task.limit("compile_seconds", 60))
        start = time.monotonic()
        errors = self._mine.calls.check(case, seed, swap, whole, limit)
        self._ours.core_seconds += time.monotonic() - start
        seen.append(errors)
        bound = self._tolerance[case.name]
        if not bound.passes(errors):
            told = errors.fault or f"error {errors.whole:.3g}, worst row {errors.worst_row:.3g}"
            message = f"Case {case.shown}: {told}; allowed {bound.whole:.3g} and {bound.worst_row:.3g}."
            raise Refused(errors.code, message, "Compare with the reference in float64 on this regime.")

    def _rival(self, timed: list[Case]) -> Loaded:
        """A warm one for looks; a fresh process where a promotion hangs on it."""
        if self._job.mode == "screen" and self._job.rival is None:
            return self._judge.proved(self._task).baseline
        theirs = self._bring(baseline_source(self._task) if self._job.rival is None else self._job.rival)
        for case in timed:  # compile what these need
            theirs.batches.run(_seeds(case), device.LEAST_CALLS, False, 300)
        self._sealed(theirs)
        return theirs

    def _timed(self, case: Case, ours: Loaded, theirs: Loaded) -> Any:
        """Both sides warm up, then as many blocks as the job asks for."""
        sides = [ours.batches, theirs.batches]
        count = device.LEAST_CALLS
        for side in sides:
            if not side.trusted:  # which is warm
                side.run(_seeds(case), device.LEAST_CALLS, False, TIMED_SECONDS)
            batch, _ = side.run(_seeds(case), device.LEAST_CALLS, False, TIMED_SECONDS)
            count = max(count, device.calls_for(case, self._task, min(batch.calls) / 1e9))
        for side in sides:
            batch, _ = side.run(_seeds(case), count, False, TIMED_SECONDS)
        # what a batch costs beside its events, by the rival's: it is not the candidate's to inflate
        sides[0].flush = sides[1].flush = sorted(batch.flushes)[len(batch.flushes) // 2]
        sides[0].overhead = sides[1].overhead = max(0, batch.bracket - sum(batch.calls) - sum(batch.flushes))
        return device.measure_on_device(
            case, sides[0], sides[1], self._job.pairs, count, lambda: _seeds(case), self._tolerance[case.name],
            self._time_left,
        )  # fmt: skip


class Proved:
    """A task that proved itself on this worker: its tolerances, and its baseline loaded, compiled and sealed."""

    def __init__(self, tolerance: dict[str, Tolerance], baseline: Loaded) -> None:
        self.tolerance, self.baseline = tolerance, baseline


class Proof(OnDeviceDrawn):
    """Not a job: what has to be true of a task before the first one."""

    def proved(self) -> Proved:
        """The baseline on every case. Raises CouldNotRun(`vacuous_task`) naming what is wrong with the task."""
        loaded = self._bring(baseline_source(self._task))
        found: dict[str, Tolerance] = {}
        for case in self._task.cases:
            seeds = [_seed() for _ in range(DRAWS)]
            own = worst([self._own(loaded, case, seed) for seed in seeds])
            found[case.name] = drawn.tolerance(self._task, own)
            inputs = self._reference.inputs(case, seeds[0])
            parts = self._reference.parts(case, loaded.calls.rng, False)
            drawn.refuse_vacuous(case, self._reference.expected(inputs, parts), found[case.name])
        self._sealed(loaded)
        self._tolerance, loaded.batches.rival = found, True
        self._settled(loaded, baseline_source(self._task), [case for case in self._task.cases if case.timed])
        self._open.remove(loaded.candidate)  # it stays, warm
        loaded.batches.trusted = True
        return Proved(found, loaded)

    def _own(self, loaded: Loaded, case: Case, seed: int) -> Errors:
        try:
            own = loaded.calls.check(case, seed, False, False, 300)
        except Refused as refusal:
            message = f"The task's own baseline fails on case {case.name}: {refusal.message}"
            raise CouldNotRun("bad_task", message, "Correct the task.") from refusal
        if own.fault or not numpy.isfinite(own.whole):
            message = f"The task's own baseline fails on case {case.name}: {own.fault}."
            raise CouldNotRun("bad_task", message, "Correct the task.")
        return own


def _seed() -> int:
    return int.from_bytes(os.urandom(6), "little")


def _seeds(case: Case) -> Seeds:
    return Seeds(case, _seed())
