"""Timing: candidate and rival in turn (A B B A), the same fresh inputs for both, every timed output checked.

The judge's bracket, minus the known cost of an empty call, is the truth. The runner's own times may only refine it:
a sample is the larger of the two, so time that the runner does not report is charged to it all the same; and a
candidate none of whose brackets is filled by its own times is refused.
"""

from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from .calls import Candidate, Problem, Took
from .jobs import Case
from .oracle import Tolerance
from .refusals import CouldNotRun, Refused

DISAGREE = 0.02
JITTER_NS = 60_000
"""Scatter of a wake-up on a busy machine: allowed on top of the 2 % before a candidate is accused, never given away."""
BRACKET_SECONDS = 0.006
"""Calls of C candidates are batched until a bracket is this long: the scatter is then about 1 % of it."""
MOST_CALLS = 32


class Timed(NamedTuple):
    """Seconds per call, paired by block; `bracket_error` is the candidate's median unexplained part of the bracket."""

    case: Case
    candidate: list[float]
    rival: list[float]
    calls: int
    bracket_error: float


class _Side:
    """What one side's brackets said, in the order of the blocks."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.seconds: list[float] = []
        self.gaps: list[float] = []

    def add(self, took: Took) -> None:
        bracket, inner = took.bracket - self.candidate.session.overhead, sum(took.inner)
        self.seconds.append(max(bracket, inner) / (1e9 * len(took.inner)))
        self.gaps.append(max(0.0, bracket - inner - JITTER_NS) / max(took.bracket, 1))

    def by_block(self) -> list[float]:
        """The mean of the two runs in each A-B-B-A block."""
        return [(a + b) / 2 for a, b in zip(self.seconds[::2], self.seconds[1::2], strict=True)]


def calls_per_bracket(seconds_per_call: float, batched: bool) -> int:
    """How many calls go into one bracket. Python candidates always get one: no input exists before its call."""
    return max(1, min(MOST_CALLS, round(BRACKET_SECONDS / max(seconds_per_call, 1e-7)))) if batched else 1


def measure(
    case: Case,
    ours: Candidate,
    theirs: Candidate,
    pairs: int,
    fresh: Callable[[], list[Problem]],
    tolerance: Tolerance,
    check_time: Callable[[], None],
) -> Timed:
    """`pairs` A-B-B-A blocks, a number fixed in advance; `fresh()` makes the inputs of one bracket."""
    a, b = _Side(ours), _Side(theirs)
    calls = 0
    for number in range(pairs):
        check_time()
        for order in ((a, b), (b, a)):
            problems = fresh()
            calls = len(problems)
            for side in order:
                side.add(_checked(side.candidate, problems, case, tolerance, side is a, number))
    # a busy machine widens single brackets; a tampered clock widens every one of them
    if min(a.gaps) > DISAGREE >= min(b.gaps):
        message = (
            f"On {case.shown} the candidate's own times leave {min(a.gaps):.1%} or more of every bracket unexplained."
        )
        raise Refused("timing_disagrees", message, "Do all work inside the call, and leave the clock alone.")
    return Timed(case, a.by_block(), b.by_block(), calls, median(a.gaps))


def _checked(
    one: Candidate, problems: list[Problem], case: Case, tolerance: Tolerance, ours: bool, number: int
) -> Took:
    """Alternate between new places and the old place refilled; both happen within the timed calls."""
    took = one.run(problems, same_place=number % 2 == 1)
    for errors in took.errors:
        if tolerance.passes(errors):
            continue
        if not ours:
            raise CouldNotRun("infrastructure", f"The rival is wrong on case {case.name}.", "Check the incumbent.")
        told = errors.fault or f"error {errors.whole:.3g} (worst row {errors.worst_row:.3g})"
        message = f"Right at first, but a later call of {case.shown} is wrong: {told}."
        raise Refused(errors.code, message, "Compute every call from its own inputs.")
    return took
