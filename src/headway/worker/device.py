"""Triton tasks on a GPU: the same journey, with batches between device events in the place of single calls.

What a candidate does on the device is bracketed twice: by events on its stream, and by the judge's own clock around the
whole batch, which ends when everything on the device has. Events that do not fill the bracket mean hidden work.
"""

import fcntl
import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import mean, median
from typing import Any, NamedTuple

import numpy

from .calls import Candidate
from .jobs import Case, Task
from .measure import DISAGREE, Timed
from .oracle import Tolerance, compare
from .refusals import CouldNotRun, Refused

BATCH_SECONDS = 0.004
MOST_BYTES = 16 << 30
"""Device memory for the inputs of a batch; each call has its own."""
LEAST_CALLS, MOST_CALLS = 4, 48
SCATTER_NS = 150_000
GLIMPSES = 32
LOOKS = 0.25
WATCHED = 6
RIVAL = "The rival failed: "
HIDDEN_NS = 15_000
HIDDEN_PART = 0.1
"""A candidate may keep the device busy past its events by this much more than the rival: launch overhead scatters."""


class Batch(NamedTuple):
    """Nanoseconds: of each call and flush by device events, and of all by the judge's clock."""

    calls: list[int]
    flushes: list[int]
    bracket: int
    hidden: int
    """Nanoseconds that the whole device worked longer than the call's events say; median of the watched calls."""


class Batches:
    """Runs batches on one loaded candidate, and looks at one output of each that nobody could foresee."""

    def __init__(self, task: Task, reference: Any, candidate: Candidate, rng: Any) -> None:
        self._task, self._reference, self.candidate, self._rng = task, reference, candidate, rng
        self.overhead = 0
        self.rival = False
        """Its failures are nobody's refusal."""
        self.trusted = False
        """The task's own baseline, looked at when the task proved itself: its timed calls are not looked at again."""
        self.flush = 0
        """Nanoseconds of a flush beside which nothing else runs; by the rival's, like `overhead`."""
        self.alone = False
        """Every call begins on an idle device: on a stream of its own, work could begin beside the flush before it."""
        self.lead = 0
        """Cycles in which the device does nothing before a call, so that launches are hidden; not beside `alone`."""

    def run(self, inputs: dict[str, Any], count: int, same_place: bool, seconds: float) -> "tuple[Batch, Look]":
        """`count` calls on `inputs` scaled by as many factors between 0.6 and 1.4 that float16 can hold."""
        session = self.candidate.session
        values = [
            (one["name"], one["role"], inputs[one["name"]]) for one in self._task.arguments if one["role"] != "out"
        ]
        laid, _ = session.pool.lay(values, int(self._rng.integers(0, 1 << 10)) * 64)
        scales = [float(numpy.float16(0.6 + 0.8 * self._rng.random())) for _ in range(count)]
        order = {"do": "batch", "args": [one.told for one in laid], "scales": scales, "same_place": same_place,
                 "alone": self.alone, "lead": self.lead}  # fmt: skip
        batch, told, at = self.ordered(order, lambda: session.pool.fill(laid), count, seconds)
        index = int(self._rng.integers(0, count))
        return batch, Look(self, told["glimpses"], at, index, inputs, scales[index])

    def ordered(
        self, order: dict[str, Any], lay: Callable[[], None], count: int, seconds: float
    ) -> tuple[Batch, dict[str, Any], list[int]]:
        """Give a batch's order; the batch, what the runner said, and the places of the glimpses."""
        session = self.candidate.session
        at = [int(one) for one in self._rng.integers(0, 2**40, GLIMPSES)]
        # secret until the order arrives, and another choice each time: calls around which the whole device is idle
        watched = sorted(int(one) for one in self._rng.choice(count, max(1, min(WATCHED, count // 3)), replace=False))
        try:
            answer = session.call({**order, "at": at, "watched": watched}, lay, seconds, staged=True)
            session.check(answer.said, "in a timed batch")
        except Refused as refusal:
            if not self.rival:
                raise
            raise CouldNotRun("infrastructure", f"{RIVAL}{refusal.message}", "Check the incumbent.") from refusal
        told = answer.said
        if len(told["ns"]) != count or len(told["flush"]) != count or len(told["whole"]) != len(watched):
            raise Refused("protocol", "The runner answered for another number of calls.", "Return; do nothing else.")
        calls = [int(one) for one in told["ns"]]
        hidden = int(median(int(whole) - calls[i] for whole, i in zip(told["whole"], watched, strict=True)))
        free = [one for i, one in enumerate(calls) if i not in watched]
        spent = answer.bracket - sum(int(whole) for whole in told["whole"])
        return Batch(free, [int(one) for one in told["flush"]], spent, hidden), told, at

    def fetch(self, index: int, at: list[int]) -> dict[str, Any]:
        """One output and the inputs it was made from."""
        return self.candidate.session.order({"do": "fetch", "index": index, "at": at}, 120).said


class Look(NamedTuple):
    """What is looked at after a batch."""

    batches: Batches
    glimpses: list[Any]
    at: list[int]
    which: int
    inputs: dict[str, Any]
    scale: float

    def check(self, case: Case, tolerance: Tolerance) -> None:
        """Outputs as they were at their return; inputs untouched; one output right. Raises Refused."""
        said = self.batches.fetch(self.which, self.at)
        session, task, reference = self.batches.candidate.session, self.batches._task, self.batches._reference
        if not _same(said["again"], self.glimpses):
            raise Refused("output_changed", f"On {case.shown} an output changed after its call had returned.",
                          "Join every stream before you return.")  # fmt: skip
        scaled = {name: _scaled(value, self.scale) for name, value in self.inputs.items()}
        names = [one["name"] for one in task.arguments if one["role"] == "in"]
        for name, told in zip(names, said["inputs"], strict=True):
            if not numpy.array_equal(session.returned(told), scaled[name]):
                raise Refused("input_changed", f"The candidate wrote to input {name!r}.", "Write to the output alone.")
        expected = reference.expected(scaled)
        for told, one in zip(said["outputs"], reference.outputs(), strict=True):
            errors = compare(session.returned(told), expected[one["name"]], one["type"])
            if not tolerance.passes(errors):
                told_ = errors.fault or f"error {errors.whole:.3g} (worst row {errors.worst_row:.3g})"
                raise Refused(errors.code, f"Right at first, but a timed call of {case.shown} is wrong: {told_}.",
                              "Compute every call from its own inputs.")  # fmt: skip


def _same(now: Any, then: Any) -> bool:
    return numpy.array_equal(numpy.asarray(now, numpy.float64), numpy.asarray(then, numpy.float64), equal_nan=True)


def _scaled(value: Any, scale: float) -> Any:
    if not isinstance(value, numpy.ndarray) or value.dtype.kind != "f":
        return value
    return (value.astype(numpy.float32) * numpy.float32(scale)).astype(value.dtype)


def calls_for(case: Case, task: Task, seconds: float) -> int:
    """Calls of a batch: enough for the bracket, as many as the inputs' memory allows."""
    size = sum(size_of(one, case) for one in task.arguments)
    return int(max(LEAST_CALLS, min(MOST_CALLS, BATCH_SECONDS / max(seconds, 1e-6), MOST_BYTES // max(size, 1))))


def size_of(argument: dict[str, Any], case: Case) -> int:
    """Bytes of an argument in a case."""
    elements = math.prod(int(case.raw["sizes"].get(name, name)) for name in argument.get("shape", []))
    return elements * (2 if argument["type"] == "bfloat16" else int(numpy.dtype(argument["type"]).itemsize))


def measure_on_device(
    case: Case,
    ours: Batches,
    theirs: Batches,
    pairs: int,
    count: int,
    draw: Callable[[], Any],
    tolerance: Tolerance,
    check_time: Callable[[], None],
) -> Timed:
    """`pairs` A-B-B-A blocks of batches. One batch in four is looked at, chosen after it ran; the last always is."""
    seconds: dict[str, list[float]] = {"a": [], "b": []}
    gaps: dict[str, list[float]] = {"a": [], "b": []}
    hidden: dict[str, list[int]] = {"a": [], "b": []}
    for number in range(pairs):
        check_time()
        for order in ("ab", "ba"):
            inputs = draw()
            for name in order:
                side = ours if name == "a" else theirs
                batch, look = side.run(inputs, count, number % 2 == 1, 120)
                filled = sum(batch.calls) + min(sum(batch.flushes), int(1.05 * side.flush * count)) + side.overhead
                gaps[name].append(max(0.0, batch.bracket - filled - SCATTER_NS) / max(batch.bracket, 1))
                hidden[name].append(batch.hidden)
                seconds[name].append(mean(batch.calls) / 1e9)
                due = ours._rng.random() < LOOKS or (number == pairs - 1 and order == "ba")
                if due and not side.trusted:
                    looked(look, case, tolerance, name == "a")
    _refuse_hidden(case, hidden["a"], hidden["b"], median(seconds["a"]))
    if min(gaps["a"]) > DISAGREE + min(gaps["b"]):
        message = f"On {case.shown} device events leave {min(gaps['a']):.1%} or more of every bracket unexplained."
        raise Refused("timing_disagrees", message, "Do all work on the current stream, inside the call.")
    blocks = {name: [(x + y) / 2 for x, y in zip(all_[::2], all_[1::2], strict=True)] for name, all_ in seconds.items()}
    return Timed(case, blocks["a"], blocks["b"], count, median(gaps["a"]))


def _refuse_hidden(case: Case, ours: list[int], theirs: list[int], seconds: float) -> None:
    """Work on a stream that the events do not see keeps the device busy after them."""
    more = median(ours) - median(theirs)
    if more > HIDDEN_NS + HIDDEN_PART * seconds * 1e9:
        message = f"On {case.shown} the device works {more / 1000:.0f} us longer than the candidate's events say."
        raise Refused("timing_disagrees", message, "Do all work on the current stream, or join before you return.")


def looked(look: Any, case: Case, tolerance: Tolerance, ours: bool) -> None:
    """Look at a batch. Raises Refused for the candidate's, CouldNotRun for the rival's."""
    try:
        look.check(case, tolerance)
    except Refused as refusal:
        if ours:
            raise
        raise CouldNotRun("infrastructure", f"{RIVAL}{refusal.message}", "Check the incumbent.") from refusal


@contextmanager
def lock() -> Iterator[None]:
    """One worker at a time on this machine's GPU: two that measure at once measure each other."""
    place = os.path.join(tempfile.gettempdir(), f"headway-gpu-{os.environ.get('CUDA_VISIBLE_DEVICES', '0')[:40]}.lock")
    handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def clocks() -> str:
    """Clock, temperature, power and throttle reasons just now, as nvidia-smi tells them."""
    asked = "clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_throttle_reasons.active"
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=20, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""


def present() -> bool:
    """Is there a GPU with a driver?"""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and b"GPU 0" in done.stdout
