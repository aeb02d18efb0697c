"""The judge's view of time: figures from the kernel's books, and what happens when a runner's clock disagrees."""

from typing import Any

import pytest

from headway.worker.calls import Took
from headway.worker.jobs import Case
from headway.worker.measure import calls_per_bracket, measure
from headway.worker.oracle import Errors, Tolerance
from headway.worker.refusals import CouldNotRun, Refused

CASE = Case("c", (1,), False, True, True, False, {})
RIGHT, WRONG = Errors(0.0, 0.0), Errors(1.0, 1.0)
ALLOWED = Tolerance(1e-6, 1e-6)


class Side:
    """A candidate whose brackets are given: (core nanoseconds, nanoseconds by its own clock) for each run, cycled."""

    def __init__(self, *runs: tuple[int, int], errors: Errors = RIGHT, overhead: int = 100_000) -> None:
        self.session = self
        self.overhead = overhead
        self._runs, self._errors, self.count = runs, errors, 0

    def run(self, problems: list[Any], same_place: bool = False, seconds: float = 0) -> Took:
        cpu, inner = self._runs[self.count % len(self._runs)]
        self.count += 1
        return Took([inner], cpu, [self._errors])


def timed(ours: Side, theirs: Side, pairs: int = 4) -> Any:
    return measure(CASE, ours, theirs, pairs, lambda: ["inputs"], ALLOWED, lambda: None)  # type: ignore[arg-type,list-item,return-value]


def test_samples_are_core_time_less_the_cost_of_an_empty_call() -> None:
    found = timed(Side((5_100_000, 5_000_000)), Side((10_100_000, 10_000_000)))
    assert found.candidate == [0.005] * 4
    assert found.rival == [0.01] * 4
    assert found.bracket_error == 0


def test_a_clock_that_lies_in_every_call_is_accused() -> None:
    liar = Side((5_100_000, 50_000))
    with pytest.raises(Refused, match="leave out 97") as refused:
        timed(liar, Side((10_100_000, 10_000_000)))
    assert refused.value.code == "timing_disagrees"
    assert liar.count > 8 + 10, "the accusation was tried again"


def test_a_clock_that_lies_sometimes_gains_nothing() -> None:
    found = timed(Side((5_100_000, 50_000), (5_100_000, 5_000_000)), Side((10_100_000, 10_000_000)))
    assert found.candidate == [0.005] * 4


def test_a_busy_machine_is_nobodys_fault() -> None:
    both = [(5_900_000, 5_000_000), (6_300_000, 5_000_000)]
    found = timed(Side(*both), Side(*both))
    assert found.bracket_error > 0.02


def test_a_wrong_late_call_is_refused_and_a_wrong_rival_is_nobodys_refusal() -> None:
    fine = Side((5_100_000, 5_000_000))
    with pytest.raises(Refused, match="a later call of c"):
        timed(Side((5_100_000, 5_000_000), errors=WRONG), fine)
    with pytest.raises(CouldNotRun, match="The rival is wrong"):
        timed(fine, Side((5_100_000, 5_000_000), errors=WRONG))


def test_short_calls_are_batched_only_where_inputs_are_laid_for_c() -> None:
    assert calls_per_bracket(0.001, batched=True) == 6
    assert calls_per_bracket(1e-9, batched=True) == 32
    assert calls_per_bracket(1.0, batched=True) == 1
    assert calls_per_bracket(0.001, batched=False) == 1
