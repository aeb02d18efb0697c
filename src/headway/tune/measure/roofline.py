"""Beside a figure: what the work would take at this card's own measured rates, and which of them binds. Pure.

The worker measures the rates (a large copy, a large bfloat16 product, a kernel of nothing); the work is the task's
`[floor]`. Unlike that floor, which no machine can beat and which refuses, this one only says how far there is to go.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from headway.core.ports.worker import Samples
from headway.core.task import Floor, Task, evaluate_expression

Bound = Literal["memory", "compute", "launch"]
LAUNCH_SHARE = 1 / 3
"""Where a launch alone takes this share of a call, launches are what binds."""


@dataclass(frozen=True, slots=True)
class Roof:
    """One card's measured rates: bytes a second read and written, operations a second; seconds of a call of nothing."""

    copy_bytes: float
    matrix_flops: float
    launch_seconds: float


@dataclass(frozen=True, slots=True)
class Standing:
    """One timed case beside its roof. Times in seconds; `achieved` is floor over time, of 1."""

    case: str
    seconds: float
    rival_seconds: float
    memory_seconds: float
    compute_seconds: float
    launch_seconds: float
    bound: Bound

    @property
    def floor_seconds(self) -> float:
        """The least this card takes: its slowest part, and never less than a launch."""
        return max(self.memory_seconds, self.compute_seconds, self.launch_seconds)

    @property
    def achieved(self) -> float:
        """Share of the roof that was reached."""
        return self.floor_seconds / self.seconds


def roof_of(machine: Mapping[str, str]) -> Roof | None:
    """From a result's machine facts; None where no GPU's rates are among them."""
    try:
        roof = Roof(*(float(machine[name]) for name in ("copy_bytes", "matrix_flops", "launch_seconds")))
    except (KeyError, ValueError):
        return None
    return roof if min(roof.copy_bytes, roof.matrix_flops) > 0 else None


def standings(task: Task, samples: Sequence[Samples], roof: Roof | None) -> Iterator[Standing]:
    """One for each timed case of known sizes; none without a roof, or where the task does not say what the work is."""
    for one in samples:
        case = task.case(one.case)
        if roof is None or case is None or not one.candidate or not (task.floor.flops or task.floor.bytes):
            continue
        memory, compute = _work(task.floor, case.sizes, roof)
        seconds = median(one.candidate)
        bound: Bound = "memory" if memory >= compute else "compute"
        if roof.launch_seconds > LAUNCH_SHARE * seconds and roof.launch_seconds > max(memory, compute):
            bound = "launch"
        yield Standing(one.case, seconds, median(one.rival), memory, compute, roof.launch_seconds, bound)


def _work(floor: Floor, sizes: Mapping[str, int], roof: Roof) -> tuple[float, float]:
    memory = evaluate_expression(floor.bytes, sizes) / roof.copy_bytes if floor.bytes else 0.0
    return memory, evaluate_expression(floor.flops, sizes) / roof.matrix_flops if floor.flops else 0.0
