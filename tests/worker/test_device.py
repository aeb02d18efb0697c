"""The judge's side of GPU batches, with the runner's answers given: what it believes, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from headway.worker.calls import Candidate
from headway.worker.device import Batch, Batches, calls_for, measure_on_device
from headway.worker.jobs import Case, Task
from headway.worker.oracle import Tolerance
from headway.worker.refusals import CouldNotRun, Refused

CASE = Case("c", (1,), False, True, True, False, {"sizes": {"N": 1 << 20}})
ALLOWED = Tolerance(1e-6, 1e-6)


class Given(Batches):
    """One side whose batches are given: (call, flush, bracket, hidden) in nanoseconds."""

    def __init__(self, call: int, flush: int, bracket: int, hidden: int, wrong: bool = False) -> None:
        self.overhead, self.flush, self.wrong = 100_000, 60_000, wrong
        self.trusted = self.rival = False
        self._given = (call, flush, bracket, hidden)
        self._rng = np.random.default_rng(1)
        self.candidate: Candidate = None  # type: ignore[assignment]

    def run(self, inputs: dict[str, Any], count: int, same_place: bool, seconds: float) -> Any:
        call, flush, bracket, hidden = self._given
        return Batch([call] * count, [flush] * count, bracket, hidden), self

    def check(self, case: Case, tolerance: Tolerance) -> None:
        if self.wrong:
            raise Refused("wrong_result", "a timed call is wrong", "")


def timed(ours: Given, theirs: Given) -> Any:
    return measure_on_device(CASE, ours, theirs, 2, 10, dict, ALLOWED, lambda: None)


HONEST = (70_000, 60_000, 1_400_000, 30_000)  # ten calls and flushes, and 100 us of everything else


def test_events_that_fill_the_bracket_are_samples() -> None:
    found = timed(Given(*HONEST), Given(*HONEST))
    assert found.candidate == found.rival == [70e-6, 70e-6]
    assert found.bracket_error == 0


def test_a_bracket_that_events_do_not_fill_is_hidden_work() -> None:
    with pytest.raises(Refused, match="unexplained") as refused:
        timed(Given(5_000, 60_000, 1_400_000, 30_000), Given(*HONEST))
    assert refused.value.code == "timing_disagrees"


def test_a_flush_that_takes_longer_beside_hidden_work_explains_nothing() -> None:
    """Work on a side stream slows the flush it runs beside; only what a flush costs alone is allowed for."""
    with pytest.raises(Refused, match="unexplained"):
        timed(Given(5_000, 125_000, 1_400_000, 30_000), Given(*HONEST))


def test_a_device_that_works_on_after_the_events_is_hidden_work() -> None:
    with pytest.raises(Refused, match="70 us longer than the candidate's events say"):
        timed(Given(5_000, 60_000, 800_000, 100_000), Given(*HONEST))


def test_a_wrong_timed_call_is_refused_and_a_wrong_rival_is_nobodys_refusal() -> None:
    with pytest.raises(Refused, match="a timed call is wrong"):
        timed(Given(*HONEST, wrong=True), Given(*HONEST))
    with pytest.raises(CouldNotRun, match="The rival failed"):
        timed(Given(*HONEST), Given(*HONEST, wrong=True))


def test_a_batch_is_as_long_as_the_bracket_needs_and_memory_allows() -> None:
    task = Task("t", "triton", "entry", ({"type": "float32", "shape": ["N"]},), (CASE,), None, {}, "")  # type: ignore[arg-type]
    assert calls_for(CASE, task, 100e-6) == 40
    assert calls_for(CASE, task, 1e-6) == 48
    assert calls_for(CASE, task, 1.0) == 4
    huge = CASE._replace(raw={"sizes": {"N": 1 << 30}})
    assert calls_for(huge, task, 100e-6) == 4
