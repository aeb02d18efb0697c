"""The judge: how one job becomes raw facts. Read `evaluate` from top to bottom; the steps are in the other files.

Started first, never loads a candidate. It makes inputs, holds the oracle and the tolerances, keeps time, and decides
nothing that needs statistics: ratios and promotions are headway's.
"""

import hashlib
import importlib.util
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy

from . import device, estimate, machine, proof
from .admission import check_source, imports_of
from .build import Builder
from .calls import Candidate, Problem
from .jobs import Case, Job, Task
from .measure import Timed, calls_per_bracket, measure
from .oracle import Errors, Reference, Tolerance, worst
from .ptx import Assembler
from .refusals import CouldNotRun, Refused
from .session import Session

POOL_LEAST = 64 << 20
WARM_CALLS = 3


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

    def _trip(self, job: Job) -> "_Trip":
        if job.task.kind != "triton":
            return _Trip(self, job)
        if self._gpu is None:
            self._gpu = device.present()
        return _OnDevice(self, job) if self._gpu else _Estimate(self, job)

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


def baseline_source(task: Task) -> str:
    """The task's own baseline."""
    try:
        return (task.folder / str(task.raw["files"]["baseline"])).read_text()
    except OSError as trouble:
        raise CouldNotRun(
            "infrastructure", f"The task has no baseline: {trouble}.", "Submit the job again."
        ) from trouble


class _Trip:
    """One job under way: what it has learnt, and what must be closed."""

    _way = ""
    _estimate = False
    ways: tuple[str, ...] = ("", "")
    """The processes that the next job of this kind will want."""

    def __init__(self, judge: Judge, job: Job) -> None:
        self._judge, self._job, self._task = judge, job, job.task
        self._began = time.monotonic()
        self._salt = os.urandom(16)
        self._drawn = 0
        self._seconds = {"compile": 0.0, "correct": 0.0, "measure": 0.0}
        self._cases: list[dict[str, Any]] = []
        self._samples: list[Timed] = []
        self._open: list[Candidate] = []
        self._rates: dict[str, float] = {}
        self._output = ""
        self._layers: list[str] = []
        self._reference = Reference(self._task)
        self._pool_bytes = POOL_LEAST
        self._compile: dict[str, Any] = {}

    # --- steps of the story

    def prepare(self) -> None:
        """Load the task, prove it once, build, and bring the candidate in."""
        job, task = self._job, self._task
        self._pool_bytes = max(POOL_LEAST, 3 * max(self._room(case) for case in task.cases))
        self._tolerance = self._judge.tolerances(task, self._reference, self._load)
        self._ours = self._load(baseline_source(task) if job.mode == "baseline" else job.candidate)
        self._open.append(self._ours)

    def check_all_cases(self) -> None:
        """Every case of the mode on fresh contents, in an order the candidate cannot know."""
        start = time.monotonic()
        cases = self._chosen()
        plan = [case for case in cases for _ in case.seeds]
        numpy.random.default_rng(int.from_bytes(self._salt, "little")).shuffle(plan)
        found: dict[str, list[Errors]] = {}
        try:
            for case in plan:
                problem = self._problem(case)
                seen = found.setdefault(case.name, [])
                self._one(case, problem, seen)
                if case.timed:  # differs from the last inputs in two elements in the middle, at the same place
                    self._one(case, proof.near_copy(self._reference, problem), seen)
                self._time_left()
        finally:
            self._cases = [self._fact(case, found[case.name]) for case in cases if found.get(case.name)]
            self._seconds["correct"] = time.monotonic() - start

    def measure_timed_cases(self) -> None:
        """ABBA against the rival, which gets a process of its own of the same kind."""
        start = time.monotonic()
        job, task = self._job, self._task
        theirs = self._load(baseline_source(task) if job.rival is None else job.rival)
        self._open.append(theirs)
        for case in (case for case in self._chosen() if case.timed):
            tolerance = self._tolerance[case.name]
            for one in (self._ours, theirs):
                for _ in range(WARM_CALLS):
                    self._warm(one, case)
            calls = calls_per_bracket(self._rates[case.name], task.kind == "cpu-c")
            calls = max(1, min(calls, self._pool_bytes // (2 * self._room(case))))
            fresh = partial(self._problems, case, calls)
            self._samples.append(measure(case, self._ours, theirs, job.pairs, fresh, tolerance, self._time_left))
        self._seconds["measure"] = time.monotonic() - start

    # --- parts

    def _load(self, source: str, triton: str = "") -> Candidate:
        start = time.monotonic()
        task = self._task
        library = self._judge.builder.library(task, source) if task.kind == "cpu-c" else None
        absent = _absent_imports(task, source) if library is None else []
        self._seconds["compile"] += time.monotonic() - start
        preload = [str(one) for one in task.raw.get("admission", {}).get("imports", [])]
        session = self._judge.session(preload, triton or self._way)
        self._layers = session.layers
        candidate = Candidate(task, self._reference, session, int.from_bytes(os.urandom(8), "little"))
        try:
            candidate.load(source, library, absent, self._pool_bytes)
        except BaseException:
            self._note_output(session)
            session.close()
            raise
        return candidate

    def _one(self, case: Case, problem: Problem, seen: list[Errors]) -> None:
        took = self._ours.run([problem], bool(seen), min(self._task.limit("run_seconds", 30), max(self._left(), 0.1)))
        errors = took.errors[0]
        seen.append(errors)
        self._rates[case.name] = sum(took.inner) / 1e9
        if not self._tolerance[case.name].passes(errors):
            told = errors.fault or f"error {errors.whole:.3g}, worst row {errors.worst_row:.3g}"
            bound = self._tolerance[case.name]
            allowed = f"{bound.whole:.3g} and {bound.worst_row:.3g}"
            message = f"Case {case.shown}: {told}; allowed {allowed}."
            raise Refused(errors.code, message, "Compare with the reference in float64 on this regime.")

    def _warm(self, one: Candidate, case: Case) -> None:
        took = one.run([self._problem(case)], False, self._task.limit("run_seconds", 30))
        if one is self._ours:
            self._rates[case.name] = sum(took.inner) / 1e9

    def _problem(self, case: Case) -> Problem:
        self._drawn += 1
        digest = hashlib.sha256(self._salt + f"{self._job.seed}/{case.name}/{self._drawn}".encode()).digest()
        inputs = self._reference.inputs(case, int.from_bytes(digest[:8], "little"))
        return Problem(case, inputs, self._reference.expected(inputs))

    def _problems(self, case: Case, count: int) -> list[Problem]:
        return [self._problem(case) for _ in range(count)]

    def _chosen(self) -> list[Case]:
        cases = list(self._task.cases)
        if self._job.mode != "screen":
            return cases
        first = next((case for case in cases if case.screen), next((case for case in cases if case.timed), cases[0]))
        regime = first.raw.get("regime")
        other = [case for case in cases if not case.held_out and case.raw.get("regime") != regime][:1]
        return [first, *[case._replace(timed=False) for case in other]]

    def _room(self, case: Case) -> int:
        return sum(device.size_of(one, case) + 256 for one in self._task.arguments) + 64

    def _left(self) -> float:
        return self._began + self._job.seconds - time.monotonic()

    def _time_left(self) -> None:
        if self._left() <= 0:
            raise Refused(
                "timed_out", f"The job's {self._job.seconds:g} s are used up.", "Make it faster, or allow more."
            )

    def _fact(self, case: Case, errors: list[Errors]) -> dict[str, Any]:
        bound, seen = self._tolerance[case.name], worst(errors)
        finite = min(seen.whole, 1e308)
        return {
            "case": case.name, "held_out": case.held_out, "protected": case.protected, "error": finite,
            "tolerance": bound.whole, "ok": all(bound.passes(one) for one in errors),
            "detail": seen.fault or f"worst row {seen.worst_row:.3g} of {bound.worst_row:.3g}",
        }  # fmt: skip

    def _note_output(self, session: Session) -> None:
        self._output = session.output[:4096].decode("utf-8", "replace")

    def result(self, outcome: str, refusal: dict[str, str] | None) -> dict[str, Any]:
        """A refused candidate has no samples."""
        if self._open:
            self._note_output(self._open[0].session)
        total = time.monotonic() - self._began
        seconds = {**self._seconds, "overhead": max(0.0, total - sum(self._seconds.values())), "total": total}
        return {
            "schema": "headway.worker-result/1", "key": self._job.key, "outcome": outcome, "refusal": refusal,
            "cases": self._cases,
            "samples": [_sample(one) for one in self._samples] if outcome == "measured" else [],
            "estimate": self._estimate, "compile": self._compile, "profile": "", "sandbox": self._layers,
            "machine": {**machine.facts(), "salt": self._salt.hex()}, "seconds": seconds, "output": self._output,
        }  # fmt: skip

    def close(self) -> None:
        for one in self._open:
            one.session.close()


class _Estimate(_Trip):
    """A Triton job without a GPU: compiled for the target first, then interpreted; figures are static."""

    _way = "interpret"
    _estimate = True
    ways = ("compile", "interpret")

    def __init__(self, judge: Judge, job: Job) -> None:
        super().__init__(judge, job)
        self._full = self._task
        self._task = self._task._replace(cases=tuple(estimate.small(case) for case in self._task.cases))
        timed = [case for case in self._full.cases if case.timed]
        self._timed = timed[:1] if job.mode == "screen" else timed
        self._assembled: list[dict[str, Any]] = []

    def prepare(self) -> None:
        """What does not compile is not interpreted."""
        source = baseline_source(self._task) if self._job.mode == "baseline" else self._job.candidate
        self._assembled = self._kernels(source)
        self._compile = {"estimate": True, "cases": self._assembled}
        super().prepare()

    def measure_timed_cases(self) -> None:
        """The static figure of both sides."""
        rival = baseline_source(self._task) if self._job.rival is None else self._job.rival
        for case, ours, theirs in zip(self._timed, self._assembled, self._kernels(rival), strict=True):
            self._samples.append(estimate.figures(case, ours, theirs, self._job.pairs))

    def _kernels(self, source: str) -> list[dict[str, Any]]:
        key = hashlib.sha256(f"{self._full.digest}/{len(self._timed)}/{source}".encode()).hexdigest()
        return self._judge.assembled(key, lambda: self._compiled(source))

    def _compiled(self, source: str) -> list[dict[str, Any]]:
        start = time.monotonic()
        candidate = self._load(source, "compile")
        assembler = self._judge.assembler()
        try:
            return [estimate.compiled(candidate, self._full, case, assembler) for case in self._timed]
        finally:
            self._note_output(candidate.session)
            candidate.session.close()
            self._seconds["compile"] += time.monotonic() - start


class _OnDevice(_Trip):
    """A Triton job on a GPU."""

    _way = "device"
    ways = ("device", "device")

    def check_all_cases(self) -> None:
        """The candidate is compiled by these calls; after them its process may start nothing more."""
        super().check_all_cases()
        self._ours.session.seal()

    def measure_timed_cases(self) -> None:
        """Batches between device events, A B B A, both sides in processes of their own on one GPU."""
        start = time.monotonic()
        job, task = self._job, self._task
        theirs = self._load(baseline_source(task) if job.rival is None else job.rival)
        self._open.append(theirs)
        rng = numpy.random.default_rng(int.from_bytes(os.urandom(8), "little"))
        sides = [device.Batches(task, self._reference, one, rng) for one in (self._ours, theirs)]
        clocks = [device.clocks()]
        timed = [case for case in self._chosen() if case.timed]
        for case in timed:
            sides[1].run(self._inputs(case), device.LEAST_CALLS, False, 300)
        theirs.session.seal()
        for case in timed:
            self._samples.append(self._timed(case, sides))
        self._compile = {"clocks": [*clocks, device.clocks()]}
        self._seconds["measure"] = time.monotonic() - start

    def _timed(self, case: Case, sides: list[device.Batches]) -> Timed:
        count = device.LEAST_CALLS
        for side in sides:  # the first batch warms, the second says how long a call takes
            side.run(self._inputs(case), device.LEAST_CALLS, False, 120)
            batch, _ = side.run(self._inputs(case), device.LEAST_CALLS, False, 120)
            count = max(count, device.calls_for(case, self._task, min(batch.calls) / 1e9))
        # what a batch costs beside its events, by the rival's: it is not the candidate's to inflate
        sides[0].flush = sides[1].flush = int(median(batch.flushes))
        sides[0].overhead = sides[1].overhead = max(0, batch.bracket - sum(batch.calls) - sum(batch.flushes))
        return device.measure_on_device(
            case, sides[0], sides[1], self._job.pairs, count, partial(self._inputs, case),
            self._tolerance[case.name], self._time_left,
        )  # fmt: skip

    def _inputs(self, case: Case) -> dict[str, Any]:
        self._drawn += 1
        return self._reference.inputs(case, int.from_bytes(os.urandom(7), "little"))


def _sample(timed: Timed) -> dict[str, Any]:
    return {
        "case": timed.case.name, "candidate": timed.candidate, "rival": timed.rival,
        "protected": timed.case.protected, "calls_per_sample": timed.calls, "bracket_error": timed.bracket_error,
    }  # fmt: skip


def _absent_imports(task: Task, source: str) -> list[str]:
    """Top-level names the source imports that are not on this machine; refuses one that is there but not allowed.

    A guarded import of an absent package is honest code for another machine.
    """
    rules = task.raw.get("admission", {})
    tree = check_source(source, rules, int(task.limit("source_bytes", 1 << 18)))
    asked = {name.partition(".")[0] for name, _, _ in imports_of(tree)} - set(rules.get("imports", []))
    present = sorted(name for name in asked if not name or _is_there(name))
    if present:
        message = f"The candidate imports {present[0] or 'relatively'}, which the task does not allow."
        raise Refused("banned_import", message, "Use the packages the task allows.")
    return sorted(asked)


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return True
