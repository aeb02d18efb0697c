"""What the looking verbs of `headway tune` call: attach, report, replay, check. None of them changes a campaign."""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.adapters.clocks import SystemClock
from headway.adapters.command_scaffold import Wanted, scaffold_command
from headway.adapters.detached import start_detached
from headway.adapters.durable_files import write_text_durably
from headway.adapters.locks import LockHeld
from headway.adapters.task_files import load_task
from headway.adapters.task_scaffold import scaffold
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.journey import Journey, fold
from headway.core.ports.worker import Worker, WorkerJob, WorkerResult
from headway.core.task import Kind, Task
from headway.tune import campaign as campaigns
from headway.tune.attempt_journey import SLOW_BLOCKS
from headway.tune.evidence import refuses_task
from headway.tune.fold import apply
from headway.tune.measure.timing import BadSamples, noise_of, ratio_of
from headway.tune.replay import Replayed, replay
from headway.tune.report import report
from headway.tune.state import Campaign
from headway.wiring.state import open_state
from headway.wiring.tune import Place, find_task
from headway.wiring.workers import worker_for

POLL_SECONDS = 0.5
SILENCE_SECONDS = 15.0
CHECK_RUNS = 3
CHECK_BLOCKS = 8
REPEATABLE = 0.1
"""The farthest from 1 that a baseline against itself may be, where a task can be measured on this machine."""


def detach(place: Place) -> tuple[int, Path]:
    """Drive the campaign in a process of its own; returns its pid and the file with its words."""
    words = place.state / f"{place.id}.out"
    arguments = ["tune", "resume", place.id, "--state", str(place.state)]
    return start_detached(arguments, words), words


def attach(place: Place, watch: Callable[[Campaign], None]) -> Campaign:
    """Watch a campaign that another process drives, until it ends, is paused, or nobody drives it any more."""
    home = campaigns.home_of(place.id)
    journey = Journey(home, Campaign(), apply, lambda _: None, {})
    silent, progress = 0.0, None
    while True:
        after = 0 if progress is None else progress.version
        with open_state(place.state, read_only=True) as opened:
            progress = fold(journey, opened.log.read(home, after), progress)
        watch(progress.state)
        if progress.state.ended is not None or progress.state.paused:
            return progress.state
        silent = silent + POLL_SECONDS if progress.version == after else 0.0
        # to ask for the lock is to hold it for a moment, which must not happen while a loop is just starting
        if silent >= SILENCE_SECONDS and not driven(place):
            return progress.state
        time.sleep(POLL_SECONDS)


def driven(place: Place) -> bool:
    """Whether some process holds the writer lock of the campaign's state."""
    with open_state(place.state) as opened:
        try:
            with opened.lock():
                return False
        except LockHeld:
            return True


def write_report(place: Place, output: Path | None) -> Path:
    """Write the HTML report, whole or not at all; returns where it is."""
    target = output or place.folder / "report.html"
    with open_state(place.state, read_only=True) as opened:
        state = campaigns.read(opened.log, place.id)
        task = load_task(Path(state.needed.task_dir))
        page = report(place.id, state, task, campaigns.CachedTexts(opened.blobs))
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text_durably(target, [page])
    return target


def replayed(place: Place, context_budget: int | None) -> list[Replayed]:
    """Every context of the campaign, rendered again."""
    with open_state(place.state, read_only=True) as opened:
        state = campaigns.read(opened.log, place.id)
        task = load_task(Path(state.needed.task_dir))
        if task.digest != state.needed.task_digest:
            raise HeadwayError(
                f"The folder of the task {task.id} has changed since this campaign began.",
                "Put it back: contexts show its baseline.",
            )
        return list(replay(opened.log, opened.blobs, campaigns.home_of(place.id), task, context_budget))


@dataclass(frozen=True)
class Checked:
    """What `tune check` found out about a task: its baseline against itself, in `runs` fresh jobs."""

    task: str
    noise: float
    ratios: tuple[tuple[float, float, float], ...]
    """Ratio and 95 % interval of each run: 1 is right."""
    repeatability: float
    """The farthest that a run's ratio is from 1; of a metric command, whose few runs may scatter, its interval."""
    above_floor: dict[str, float]
    """Case -> the baseline's median time over the task's floor; empty where the task names none."""
    cases: int
    kind: Kind


def check(task_name: str) -> Checked:
    """Prove a task: the judge tries the trivial answers on every case and refuses a vacuous one, the baseline must be
    right on its own cases, agree with itself, and not be faster than the floor.

    Raises HeadwayError for a task that must not be used, CouldNotRun where nothing could be found out.
    """
    task = find_task(task_name)
    with tempfile.TemporaryDirectory(prefix="headway-check-") as folder:
        worker = worker_for(task, Path(folder))
        try:
            results = [_baseline_run(worker, task, number) for number in range(CHECK_RUNS)]
        finally:
            worker.close()
    try:
        ratios = [ratio_of(result.samples, number) for number, result in enumerate(results)]
        noise = max(noise_of(result.samples) for result in results)
    except BadSamples as bad:
        raise HeadwayError(f"The metric of {task.id} is no number: {bad}.") from bad
    above = dict(_above_floor(task, results[0]))
    below = next((name for name, factor in above.items() if factor < 1), None)
    if below is not None:
        raise HeadwayError(
            f"The baseline of {task.id} is faster than the floor on case {below}.", "Correct [floor] in task.toml."
        )
    shown = tuple((r.point, r.low, r.high) for r in ratios)
    farthest = max(abs(r.point - 1) if task.command is None else max(r.low - 1, 1 - r.high, 0) for r in ratios)
    return Checked(task.id, noise, shown, farthest, above, len(results[0].cases), task.kind)


def _baseline_run(worker: Worker, task: Task, number: int) -> WorkerResult:
    key = f"check-{int(SystemClock().monotonic() * 1e6)}-{number}"
    blocks = CHECK_BLOCKS if task.command is None else SLOW_BLOCKS
    worker.submit(WorkerJob(key, task.folder, task.baseline, "baseline", number, blocks, None, task.job_seconds))
    result = worker.collect(key, 2 * task.job_seconds)
    if result is None:
        raise CouldNotRun(f"The worker gave no answer on {task.id} within {2 * task.job_seconds:g} s.")
    if result.refusal is not None:
        at_fault = "its baseline: " if result.outcome == "refused" else ""
        told = f"{at_fault}{result.refusal.message} {result.refusal.next}".strip()
        kind = HeadwayError if refuses_task(result) else CouldNotRun
        raise kind(f"The task {task.id} fails its check ({result.refusal.code}): {told}")
    return result


def _above_floor(task: Task, result: WorkerResult) -> Iterator[tuple[str, float]]:
    for samples in result.samples:
        case = task.case(samples.case)
        floor = 0.0 if case is None else task.floor.seconds(case.sizes)
        if floor:
            yield samples.case, sorted(samples.candidate)[len(samples.candidate) // 2] / floor


def new_task(folder: Path, function: str, inputs: list[str], output: str, sizes: list[str]) -> Task:
    """Scaffold a task around a function, and load it as a proof that it is one."""
    given = {}
    for text in sizes:
        name, _, value = text.partition("=")
        if not value.isdigit() or int(value) < 2:
            raise HeadwayError(f"{text!r} is no size.", "Write it like N=256, at least 2.")
        given[name] = int(value)
    scaffold(folder, function, inputs, output, given, folder.name.replace("_", "-").lower())
    return load_task(folder)


def new_command_task(
    folder: Path, command: str, tree: Path, editable: list[str], tests: list[str], guards: list[str], direction: str
) -> Task:
    """Scaffold a task around a metric command, and load it as a proof that it is one."""
    wanted = Wanted(command, tree, tuple(editable), tuple(tests), tuple(guards), direction)
    scaffold_command(folder, folder.name.replace("_", "-").lower(), wanted)
    return load_task(folder)


def check_json(found: Checked) -> dict[str, Any]:
    """`headway.tune-check/1`."""
    return {
        "schema": "headway.tune-check/1",
        "task": found.task,
        "kind": found.kind,
        "ok": found.repeatability <= REPEATABLE,
        "vacuous": False,
        "noise": found.noise,
        "runs": [{"ratio": point, "interval": [low, high]} for point, low, high in found.ratios],
        "repeatability": found.repeatability,
        "above_floor": found.above_floor,
        "cases": found.cases,
    }
