"""One job under way: prepare, check all cases, measure the timed ones, tell what was learnt. CPU tasks as they are."""

import hashlib
import importlib.util
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from . import device, machine, proof
from .admission import check_source, imports_of
from .calls import Candidate, Problem
from .jobs import Case, Job, Task
from .likeness import check_likeness
from .measure import Timed, calls_per_bracket, measure
from .oracle import Errors, Reference, worst
from .refusals import CouldNotRun, Refused
from .session import Session

if TYPE_CHECKING:
    from .judge import Judge

POOL_LEAST = 64 << 20
WARM_CALLS = 3
STREAMS = frozenset({"cuda.current_stream", "cuda.Stream", "cuda.stream", "cuda.Event"})
OWN_SHARE = 0.5
"""Of a job's time; a candidate that used less of it on a core has not made the job late."""


def baseline_source(task: Task) -> str:
    """The task's own baseline."""
    try:
        return (task.folder / str(task.raw["files"]["baseline"])).read_text()
    except OSError as trouble:
        raise CouldNotRun(
            "infrastructure", f"The task has no baseline: {trouble}.", "Submit the job again."
        ) from trouble


class Trip:
    """One job under way: what it has learnt, and what must be closed."""

    _way = ""
    _estimate = False
    ways: tuple[str, ...] = ("", "")
    """The processes that the next job of this kind will want."""

    def __init__(self, judge: "Judge", job: Job) -> None:
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
        self._reference: Any = self._open_reference()
        self._pool_bytes = POOL_LEAST
        self._compile: dict[str, Any] = {}

    def _open_reference(self) -> Any:
        return Reference(self._task)

    # --- steps of the story

    def prepare(self) -> None:
        """Load the task, prove it once, build, and bring the candidate in."""
        task = self._task
        self._pool_bytes = max(POOL_LEAST, 3 * max(self._room(case) for case in task.cases))
        self._tolerance = self._judge.tolerances(task, self._reference, self._load)
        self._ours = self._load(self._source)
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
                    self._mixed(case)
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

    @property
    def _source(self) -> str:
        """What stands in the candidate's place."""
        return baseline_source(self._task) if self._job.mode == "baseline" else self._job.candidate

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
            self._opened(session)
            candidate.load(source, library, absent, self._pool_bytes)
        except BaseException:
            self._note_output(session)
            session.close()
            raise
        return candidate

    def _opened(self, session: Session) -> None:
        """What a closed session needs before its candidate comes."""

    def _one(self, case: Case, problem: Problem, seen: list[Errors]) -> None:
        took = self._ours.run([problem], bool(seen), self._task.limit("run_seconds", 30))
        errors = took.errors[0]
        seen.append(errors)
        self._rates[case.name] = sum(took.inner) / 1e9
        if not self._tolerance[case.name].passes(errors):
            told = errors.fault or f"error {errors.whole:.3g}, worst row {errors.worst_row:.3g}"
            bound = self._tolerance[case.name]
            allowed = f"{bound.whole:.3g} and {bound.worst_row:.3g}"
            message = f"Case {case.shown}: {told}; allowed {allowed}."
            raise Refused(errors.code, message, "Compare with the reference in float64 on this regime.")

    def _mixed(self, case: Case) -> None:
        """Copies of which one line is another regime's: a way chosen by a sample of the inputs is wrong there."""
        bound = self._tolerance.get(case.name + proof.MIXED)
        if bound is None:
            return
        rng = numpy.random.default_rng(int.from_bytes(os.urandom(8), "little"))
        asked = proof.mixtures(self._task, case)
        if self._task.kind == "triton" or self._job.mode == "screen":  # an interpreter, an oracle of gigabytes: one
            asked = [asked[int(rng.integers(0, len(asked)))]]
        for other, axis in asked:
            mixed = proof.mixed_copy(self._reference, case, other, axis, rng)
            errors = self._ours.run([mixed], False, self._task.limit("run_seconds", 30)).errors[0]
            if not bound.passes(errors):
                told = errors.fault or f"error {errors.whole:.3g}, worst row {errors.worst_row:.3g}"
                message = (
                    f"Case {case.shown}, one line of its inputs from another regime: {told}; allowed "
                    f"{bound.whole:.3g} and {bound.worst_row:.3g}."
                )
                raise Refused(errors.code, message, "Decide by all of the inputs, not by a sample of them.")

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

    def troubled(self, trouble: CouldNotRun) -> None:
        """What must be put away because nothing could be decided."""

    def waited(self, seconds: float) -> None:
        """Time in which others were measured is not this job's."""
        self._began += seconds

    def _time_left(self) -> None:
        """Between calls: a job that takes too long is the candidate's fault only where its own calls took the time."""
        limit, own = self._job.seconds, self._ours.core_seconds
        if time.monotonic() < self._began + limit:
            return
        message = f"The job's {limit:g} s are used up, {own:.1f} s of them by the candidate"
        if own > OWN_SHARE * limit:
            raise Refused("timed_out", f"{message}.", "Make it faster, or allow more.")
        raise CouldNotRun("timed_out", f"{message}: the machine is too busy.", "Run it again, or allow more.")

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
            "machine": {**machine.facts(), **self._judge.ceilings, "salt": self._salt.hex()},
            "seconds": seconds, "output": self._output,
        }  # fmt: skip

    def close(self) -> None:
        """End this job's processes; once is enough."""
        while self._open:
            self._open.pop().session.close()


def _sample(timed: Timed) -> dict[str, Any]:
    return {
        "case": timed.case.name, "candidate": timed.candidate, "rival": timed.rival,
        "protected": timed.case.protected, "calls_per_sample": timed.calls, "bracket_error": timed.bracket_error,
    }  # fmt: skip


def _rules_of(task: Task) -> dict[str, Any]:
    """The task's admission rules; no streams or events where calls wait for a device that is kept idle before them.

    Work on another stream could run while the current one is idle, before the call's own event.
    """
    rules = dict(task.raw.get("admission", {}))
    if "inputs" in task.raw["files"] and "torch" in rules:
        rules["torch"] = [name for name in rules["torch"] if name not in STREAMS]
    return rules


def _absent_imports(task: Task, source: str) -> list[str]:
    """Top-level names the source imports that are not on this machine; refuses one that is there but not allowed.

    A guarded import of an absent package is honest code for another machine.
    """
    rules = _rules_of(task)
    tree = check_source(source, rules, int(task.limit("source_bytes", 1 << 18)))
    check_likeness(source, rules.get("similar", {}), task.folder)
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
