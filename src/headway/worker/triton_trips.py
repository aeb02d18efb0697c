"""Triton jobs: on a machine without a GPU an estimate, on a GPU batches between device events."""

import hashlib
import os
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy

from . import admission, device, estimate, tuning
from .jobs import Case, Job
from .measure import Timed
from .trips import Trip, baseline_source

if TYPE_CHECKING:
    from .judge import Judge


LEAD_CYCLES = 1_000_000
"""About half a millisecond in which the device does nothing before a call: a figure is device time. The launches of a
sandboxed process would else be 3 % of a call of 70 us, and scatter with the host."""


class Estimate(Trip):
    """A Triton job without a GPU: compiled for the target first, then interpreted; figures are static."""

    _way = "interpret"
    _estimate = True
    ways = ("compile", "interpret")

    def __init__(self, judge: "Judge", job: Job) -> None:
        super().__init__(judge, job)
        self._full = self._task
        self._task = self._task._replace(cases=tuple(estimate.small(case) for case in self._task.cases))
        timed = [case for case in self._full.cases if case.timed]
        self._timed = timed[:1] if job.mode == "screen" else timed
        self._assembled: list[dict[str, Any]] = []

    def prepare(self) -> None:
        """What does not compile is not interpreted."""
        self._assembled = self._kernels(self._source)
        self._compile = {"estimate": True, "cases": self._assembled}
        super().prepare()

    def measure_timed_cases(self) -> None:
        """The static figure of both sides."""
        rival = baseline_source(self._task) if self._job.rival is None else self._job.rival
        others = self._kernels(rival)
        self._compile["rival"] = others
        for case, ours, theirs in zip(self._timed, self._assembled, others, strict=True):
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


class OnDevice(Trip):
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
        source = baseline_source(task) if job.rival is None else job.rival
        theirs = self._load(source)
        self._open.append(theirs)
        rng = numpy.random.default_rng(int.from_bytes(os.urandom(8), "little"))
        sides = [device.Batches(task, self._reference, one, rng) for one in (self._ours, theirs)]
        sides[1].rival = True
        alone = admission.names_streams(self._source) or admission.names_streams(source)
        for side in sides:  # both or none: they are compared
            side.alone, side.lead = alone, 0 if alone else LEAD_CYCLES
        clocks = [device.clocks()]
        timed = [case for case in self._chosen() if case.timed]
        for case in timed:
            sides[1].run(self._inputs(case), device.LEAST_CALLS, False, 300)
        theirs.session.seal()
        tuned = {
            "candidate": tuning.settle(self._judge.tuned, task, self._source, sides[0], timed, self._inputs,
                                       self._tolerance),
            "rival": tuning.settle(self._judge.tuned, task, source, sides[1], timed, self._inputs, self._tolerance),
        }  # fmt: skip
        profiles = {}
        for case in timed:
            self._samples.append(self._timed(case, sides))
            if job.mode != "screen":
                profiles[case.name] = tuning.profiles(sides)
        self._compile = {"clocks": [*clocks, device.clocks()], "tuned": tuned, "profiles": profiles}
        self._seconds["measure"] = time.monotonic() - start

    def _timed(self, case: Case, sides: list[device.Batches]) -> Timed:
        count = device.LEAST_CALLS
        for side in sides:  # the first batch warms, the second says how long a call takes
            side.run(self._inputs(case), device.LEAST_CALLS, False, 120)
            batch, _ = side.run(self._inputs(case), device.LEAST_CALLS, False, 120)
            count = max(count, device.calls_for(case, self._task, min(batch.calls) / 1e9))
        for side in sides:  # both have memory for that many sets before the first block
            batch, _ = side.run(self._inputs(case), count, False, 120)
        # what a batch costs beside its events, by the rival's: it is not the candidate's to inflate
        sides[0].flush = sides[1].flush = int(median(batch.flushes))
        sides[0].overhead = sides[1].overhead = max(0, batch.bracket - sum(batch.calls) - sum(batch.flushes))
        return device.measure_on_device(
            case, sides[0], sides[1], self._job.pairs, count, partial(self._inputs, case),
            self._tolerance[case.name], self._time_left,
        )  # fmt: skip

    def _inputs(self, case: Case) -> dict[str, Any]:
        self._drawn += 1
        inputs: dict[str, Any] = self._reference.inputs(case, int.from_bytes(os.urandom(7), "little"))
        return inputs
