"""The worker port for `command` tasks: guards, canaries and the metric, each run in the sandbox; raw facts come back.

    guards hold? -> known-bad versions caught? -> protected metrics kept? -> metric measured in A-B-B-A blocks

A job runs in `collect`, in the caller's process; its result is a file under its key before anybody sees it, so a job
that a kill interrupted runs again and one that had ended does not.
"""

import hashlib
import json
import math
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headway.adapters.durable_files import write_durably
from headway.adapters.failpoints import OFF, Failpoints
from headway.adapters.spool_worker import RESULT_SCHEMA, opened
from headway.adapters.step_runs import StepDone, StepRunner
from headway.adapters.task_tools import tools_of
from headway.core.command_task import CommandTask, Guard, Metric, Step, Unreadable, number_in
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.file_bundle import files_in
from headway.core.ports.executor import Executor, Outcome
from headway.core.ports.worker import CaseFact, Samples, WorkerJob, WorkerRefusal, WorkerResult
from headway.core.reasons import Reason
from headway.core.task import Task

SAYABLE = frozenset(
    {
        Reason.GUARD_FAILED,
        Reason.RETRY_ADDED,
        Reason.COUNT_EVADED,
        Reason.ALIASED,
        Reason.METRIC_FORGED,
        Reason.TEST_DELETED,
        Reason.TEST_SKIPPED,
        Reason.TEST_WEAKENED,
        Reason.CENSUS_SHRANK,
        Reason.SYNTAX,
        Reason.COMPILE_FAILED,
        Reason.OUTSIDE_EDITABLE,
        Reason.BANNED_CALL,
        Reason.BANNED_IMPORT,
    }
)
"""Reasons that a task's own guard or metric may give, as one JSON object in its last line on stdout."""
COULD_NOT_RUN = 4
"""Exit code by which a trusted command says that nothing was found out."""
WORDS = 600
PROFILE_BYTES = 6000


class _Refused(Exception):
    def __init__(self, reason: Reason, message: str, advice: str) -> None:
        super().__init__(message)
        self.told = WorkerRefusal(reason, message, advice)


@dataclass
class _Trip:
    """One job on its way."""

    job: WorkerJob
    runner: StepRunner
    spec: CommandTask
    cases: list[CaseFact] = field(default_factory=list)
    samples: list[Samples] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=lambda: {"candidate": [], "rival": []})
    seconds: dict[str, float] = field(default_factory=dict)
    sandbox: tuple[str, ...] = ()
    notes: str = ""


class CommandWorker:
    """`folder` keeps the results; nothing else outlives a job."""

    def __init__(self, task: Task, folder: Path, executor: Executor, failpoints: Failpoints = OFF) -> None:
        assert task.command is not None
        self._task = task
        self._spec = task.command
        self._executor = executor
        self._failpoints = failpoints
        self._results = folder / "results"
        self._results.mkdir(parents=True, exist_ok=True)
        self._waiting: dict[str, WorkerJob] = {}

    def submit(self, job: WorkerJob) -> None:
        """Remember the job; `collect` runs it."""
        self._waiting[job.key] = job

    def collect(self, key: str, wait_seconds: float) -> WorkerResult | None:
        """The result of that key; a job that was submitted here runs now, if the caller can wait at all."""
        path = self._results / f"{key}.json"
        if path.is_file() and (known := opened(path.read_bytes(), key)) is not None:
            return known
        if wait_seconds <= 0 or key not in self._waiting:
            return None
        self._failpoints.hit("worker.run.before")
        result = self._run(self._waiting[key])
        body = {**asdict(result), "schema": RESULT_SCHEMA}
        plain = json.dumps(body, sort_keys=True, default=str)
        sealed = {"digest": hashlib.sha256(plain.encode()).hexdigest(), "result": json.loads(plain)}
        write_durably(path, json.dumps(sealed).encode(), path.with_suffix(".tmp"))
        self._failpoints.hit("worker.run.after")
        return opened(path.read_bytes(), key)

    def close(self) -> None:
        """Nothing runs between two calls."""

    def _run(self, job: WorkerJob) -> WorkerResult:
        start = time.monotonic()
        try:
            runner = StepRunner(self._task, self._spec, self._executor, tools_of(self._task, self._spec))
        except CouldNotRun as trouble:
            return _result(job, "could_not_run", WorkerRefusal(Reason.NO_COMMAND, str(trouble), ""))
        trip = _Trip(job, runner, self._spec)
        try:
            _travel(trip, self._task)
            outcome, refusal = "measured", None
        except _Refused as refused:
            outcome, refusal = "refused", refused.told
        except (CouldNotRun, OSError) as trouble:
            outcome, refusal = "could_not_run", WorkerRefusal(Reason.INFRASTRUCTURE, str(trouble), "")
        trip.seconds["total"] = round(time.monotonic() - start, 6)
        return _result(job, outcome, refusal, trip)


def _travel(trip: _Trip, task: Task) -> None:
    """The whole job. Raises _Refused, or CouldNotRun where nothing was found out."""
    job, runner = trip.job, trip.runner
    candidate = _files(job.candidate)
    rival = _files(task.baseline if job.rival is None else job.rival)
    outside = next((path for path in candidate if not trip.spec.may_edit(path)), None)
    if outside is not None:
        raise _Refused(Reason.OUTSIDE_EDITABLE, f"{outside} may not be edited.", "Leave it as it is.")
    with runner.laid_out(candidate) as ours, runner.laid_out(rival) as theirs:
        began = time.monotonic()
        for guard in trip.spec.guards:
            if guard.screen or job.mode != "screen":
                _hold(trip, guard, ours)
        if job.mode in ("full", "baseline"):
            _catch_canaries(trip, candidate)
        if job.mode != "screen":
            _keep_protected(trip, ours, theirs)
        if job.mode == "baseline":
            _not_vacuous(trip, candidate)
        trip.seconds["correct"] = round(time.monotonic() - began, 6)
        began = time.monotonic()
        _measure(trip, ours, theirs)
        trip.seconds["measure"] = round(time.monotonic() - began, 6)


def _files(text: str) -> dict[str, str]:
    try:
        return files_in(text)
    except HeadwayError as wrong:
        raise _Refused(Reason.SYNTAX, str(wrong), "") from wrong


# --- what must hold


def _hold(trip: _Trip, guard: Guard, tree: Path) -> None:
    name = f"guard {guard.step.name}"
    done = trip.runner.run(guard.step, tree, _seed(trip.job, name, 0))
    trip.sandbox = (done.said or done.ran or _nothing()).sandbox
    _check_step(done, f"The {name}")
    trip.cases.append(CaseFact(name, guard.held_out, False, 0.0, 1.0, True))


def _catch_canaries(trip: _Trip, files: Mapping[str, str]) -> None:
    """Each known-bad version of a frozen file must make its guard refuse: else the candidate has blinded it."""
    for canary in trip.spec.canaries:
        guard = next(g for g in trip.spec.guards if g.step.name == canary.guard)
        with trip.runner.laid_out(files) as tree:
            place = tree / canary.path
            place.write_text(place.read_text("utf-8").replace(canary.old, canary.new), "utf-8")
            seed = _seed(trip.job, f"canary {canary.name}", 0)
            done = trip.runner.run(guard.step, tree, seed, {"HEADWAY_CANARY": canary.name})
        try:
            _check_step(done, "")
        except _Refused:
            trip.cases.append(CaseFact(f"canary {canary.name}", True, False, 0.0, 1.0, True))
            continue
        raise _Refused(
            Reason.TEST_WEAKENED,
            f"A known-bad version of {canary.path} passes the {guard.step.name}.",
            "Let every test find what it found before.",
        )


def _keep_protected(trip: _Trip, ours: Path, theirs: Path) -> None:
    for one in trip.spec.protected:
        name = f"protected {one.step.name}"
        seed = _seed(trip.job, name, 0)
        now, before = (_value(trip, one.step, tree, seed) for tree in (ours, theirs))
        loss = (now - before if one.direction == "lower" else before - now) / max(abs(before), 1e-12)
        if loss > one.may_lose:
            raise _Refused(
                Reason.PROTECTED_CASE_WORSE,
                f"{one.step.name} goes from {before:g} to {now:g} ({one.direction} is better).",
                "Keep it as good as it was.",
            )
        trip.cases.append(CaseFact(name, False, True, max(loss, 0.0), max(one.may_lose, 1e-12), True))


def _not_vacuous(trip: _Trip, files: Mapping[str, str]) -> None:
    """With every editable file that is no test emptied, some guard must refuse, or the metric must not look better."""
    emptied = {path: content if trip.spec.is_test(path) else "" for path, content in files.items()}
    if emptied == dict(files):
        return
    with trip.runner.laid_out(emptied) as tree, trip.runner.laid_out(files) as whole:
        try:
            for guard in trip.spec.guards:
                _check_step(trip.runner.run(guard.step, tree, _seed(trip.job, "emptied", 0)), "")
            metric = trip.spec.metric
            costs = [
                metric.cost(_value(trip, metric.step, place, _seed(trip.job, "emptied", 0))) for place in (tree, whole)
            ]
        except _Refused:
            return
    if not costs[0] >= costs[1]:
        raise _Refused(
            Reason.VACUOUS_TASK,
            "With every editable file emptied, all guards hold and the metric is better.",
            "Add a guard that notices.",
        )


# --- the metric


def _measure(trip: _Trip, ours: Path, theirs: Path) -> None:
    """A-B-B-A blocks; two of A-B for a deterministic metric, which is run twice to prove that it is one."""
    metric, job = trip.spec.metric, trip.job
    costs: dict[str, list[float]] = {"candidate": [], "rival": []}
    trees = {"candidate": ours, "rival": theirs}
    blocks = 2 if metric.deterministic else job.pairs
    orders = (("candidate", "rival"), ("rival", "candidate"))
    for block in range(blocks):
        taken: dict[str, list[float]] = {"candidate": [], "rival": []}
        for half in (block % 2,) if metric.deterministic else (0, 1):
            for side in orders[half]:
                seed = _seed(job, f"block {block}", half)
                taken[side].append(_sample(trip, metric, trees[side], seed, side))
        for side, values in taken.items():
            costs[side].append(sum(values) / len(values))
    for side, values in costs.items():
        if metric.deterministic and len(set(values)) > 1:
            first, last = trip.values[side][0], trip.values[side][-1]
            raise _Refused(
                Reason.METRIC_UNREADABLE,
                f"The metric gave {first:g}, then {last:g} on the same tree of the {side}.",
                "Make it repeatable, or drop `deterministic`.",
            )
    trip.cases.append(CaseFact("metric", False, False, 0.0, 1.0, True))
    trip.samples.append(
        Samples("metric", tuple(costs["candidate"]), tuple(costs["rival"]), False, metric.repetitions, 0.0)
    )


def _sample(trip: _Trip, metric: Metric, tree: Path, seed: str, side: str) -> float:
    values = [_value(trip, metric.step, tree, f"{seed}{number:03}", side) for number in range(metric.repetitions)]
    mean = sum(values) / len(values)
    if side == "candidate" and metric.beyond_floor(mean):
        raise _Refused(
            Reason.BELOW_FLOOR,
            f"The metric is {mean:g}, and nothing honest is better than {metric.floor:g}.",
            "A person must look before this one counts.",
        )
    cost = metric.cost(mean)
    if math.isnan(cost):
        raise _Refused(
            Reason.METRIC_UNREADABLE,
            f"The metric is {mean:g}, and ratios need positive numbers.",
            "Set `add` in [metric], so that value + add is positive.",
        )
    trip.values[side].append(mean)
    return cost


def _value(trip: _Trip, step: Step, tree: Path, seed: str, side: str = "") -> float:
    done = trip.runner.run(step, tree, seed)
    _check_step(done, f"The {step.name} command")
    found = number_in(done.stdout)
    if isinstance(found, Unreadable):
        reason = Reason.METRIC_UNREADABLE if found.finite else Reason.NOT_FINITE
        raise _Refused(
            reason,
            f"The {step.name} command must print one number and nothing else on stdout: {found.message}.",
            "Print the number alone; words belong on stderr.",
        )
    if side == "candidate" and not trip.notes and done.said is not None:
        trip.notes = done.said.output.decode("utf-8", "replace")
    return found


# --- what a program's end means


def _check_step(done: StepDone, what: str) -> None:
    """Raises _Refused for a step that refuses, CouldNotRun for one that found nothing out."""
    if done.said is None:
        assert done.ran is not None
        _check_run(done.ran, what)
        return
    said = done.said
    if said.not_started is not None or said.exit == 127:
        raise CouldNotRun(f"{what} could not be started: {said.not_started or _tail(said)}.")
    if said.exit == COULD_NOT_RUN:
        raise CouldNotRun(f"{what} could not run: {_tail(said) or done.stdout.strip()[:WORDS]}")
    if said.timed_out:
        raise _Refused(Reason.TIMED_OUT, f"{what} did not end within its limit.", "Bound the work.")
    if said.exit != 0:
        raise _said_why(done, what, said)


def _check_run(ran: Outcome, what: str) -> None:
    if ran.not_started is not None:
        raise CouldNotRun(f"{what} could not be started: {ran.not_started}.")
    if ran.timed_out:
        raise _Refused(Reason.TIMED_OUT, f"{what}: the candidate did not end within the limit.", "Make it end.")
    if ran.died is not None:
        raise _Refused(Reason.DIED, f"{what}: the candidate was ended by {ran.died}.", "Find the crash.")
    raise _Refused(Reason.COMPILE_FAILED, f"{what}: exit code {ran.exit}: {_tail(ran)}", "Run it yourself.")


def _said_why(done: StepDone, what: str, said: Outcome) -> _Refused:
    lines = done.stdout.strip().splitlines()
    try:
        told: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        reason = Reason(told["reason"])
    except (ValueError, KeyError, TypeError):
        told, reason = {}, Reason.GUARD_FAILED
    if reason in SAYABLE and told:
        return _Refused(reason, str(told.get("message", ""))[:WORDS], str(told.get("next", ""))[:WORDS])
    end = f"was ended by {said.died}" if said.died is not None else f"says no (exit code {said.exit})"
    words = " ".join((done.stdout[-WORDS:] + " " + _tail(said)).split())[-WORDS:]
    return _Refused(Reason.GUARD_FAILED, f"{what} {end}: {words}", "Keep what it guards.")


def _tail(outcome: Outcome) -> str:
    return " ".join(outcome.output[-WORDS:].decode("utf-8", "replace").split())


def _nothing() -> Outcome:
    raise AssertionError("a step without any program")


def _seed(job: WorkerJob, what: str, number: int) -> str:
    """A number that no candidate can foresee and a repeated job gets again; the same for both sides of a half block."""
    digest = hashlib.sha256(f"{job.seed} {job.mode} {what} {number}".encode()).hexdigest()
    return str(int(digest[:8], 16))


def _result(job: WorkerJob, outcome: Any, refusal: WorkerRefusal | None, trip: _Trip | None = None) -> WorkerResult:
    measured = trip is not None and outcome == "measured"
    compiled, profile = {}, ""
    if trip is not None and measured:
        means = {side: sum(values) / len(values) for side, values in trip.values.items()}
        compiled = {"metric": means["candidate"], "rival": means["rival"], "runs": len(trip.values["candidate"])}
        profile = f"metric {means['candidate']:g}, its rival {means['rival']:g}\n{trip.notes}"[:PROFILE_BYTES]
    return WorkerResult(
        key=job.key,
        outcome=outcome,
        refusal=refusal,
        cases=tuple(trip.cases) if trip is not None else (),
        samples=tuple(trip.samples) if trip is not None and measured else (),
        estimate=False,
        compile=compiled,
        profile=profile,
        sandbox=trip.sandbox if trip is not None else (),
        machine={"system": platform.platform(), "python": platform.python_version()},
        seconds=trip.seconds if trip is not None else {},
        output="",
    )
