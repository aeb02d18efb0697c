"""Timing: candidate and rival in turn (A B B A), the same fresh inputs for both, every timed output checked.

A sample is the time that the runner's process was on a core between the judge's go and its stop, read from the
kernel's books, minus that of an empty call. It cannot be hidden (the process has one thread, no children, and runs at
no other time), and other programs on the machine do not add to it. The runner's own clock is only compared with it.
"""

from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from .calls import Candidate, Problem, Took
from .jobs import Case
from .oracle import Tolerance
from .refusals import CouldNotRun, Refused

DISAGREE = 0.05
"""What the candidate's own clock may leave out of every call. A sample holds it all the same, so a wider bound gives no
time away: it only tells a lying clock (97 % and more) from a busy machine (2.6 % of every call were seen there)."""
SCATTER_NS = 60_000
"""Scatter of an empty call's cost (cold caches): allowed on top before a candidate is accused."""
BRACKET_SECONDS = 0.006
"""Calls of C candidates are batched until a bracket is this long: the scatter is then about 1 % of it."""
MOST_CALLS = 32
MORE_BRACKETS = 16


class Timed(NamedTuple):
    """Seconds per call, paired by block; `bracket_error`: what its own clock left out, as a part, median."""

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
        # an empty call's cost scatters: what the runner itself admits to is the least
        cpu = max(took.cpu - self.candidate.session.overhead, sum(took.inner), 1000)
        self.seconds.append(cpu / (1e9 * len(took.inner)))
        self.gaps.append(max(0.0, cpu - sum(took.inner) - SCATTER_NS) / cpu)

    def by_block(self) -> list[float]:
        """The mean of the two runs in each A-B-B-A block."""
        return [(a + b) / 2 for a, b in zip(self.seconds[::2], self.seconds[1::2], strict=False)]


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
    if _suspicious(a, b) and _still(a, b, fresh, check_time):
        message = f"On {case.shown} the candidate's own times leave out {min(a.gaps):.1%} or more of every call."
        raise Refused("timing_disagrees", message, "Do all work inside the call, and leave the clock alone.")
    return Timed(case, a.by_block()[:pairs], b.by_block()[:pairs], calls, median(a.gaps))


def _suspicious(a: _Side, b: _Side) -> bool:
    """Cold caches widen single gaps of both; a tampered clock widens every one of the candidate's."""
    return min(a.gaps) > DISAGREE + min(b.gaps)


def _still(a: _Side, b: _Side, fresh: Callable[[], list[Problem]], check_time: Callable[[], None]) -> bool:
    """An accusation is tried again: one bracket in many that is filled acquits. These runs are no samples."""
    for _ in range(MORE_BRACKETS):
        check_time()
        problems = fresh()
        for side in (a, b):
            side.add(side.candidate.run(problems))
        if not _suspicious(a, b):
            return False
    return True


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
