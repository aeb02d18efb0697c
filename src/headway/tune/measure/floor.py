"""Faster than physics is not fast, it is wrong: such a candidate is quarantined. Pure."""

from collections.abc import Sequence

from headway.core.gates import PASSED, Passed, Refused
from headway.core.ports.worker import Samples
from headway.core.reasons import Reason
from headway.core.task import Task


def above_floor(task: Task, samples: Sequence[Samples]) -> Passed | Refused:
    """Refused if the median block of any case took less time than the task's floor allows for its sizes."""
    for measured in samples:
        case = task.case(measured.case)
        if case is None or not measured.candidate:
            continue
        floor = task.floor.seconds(case.sizes)
        times = sorted(measured.candidate)
        median = times[len(times) // 2]
        if median < floor:
            shown = "A held-out case" if case.held_out else f"Case {case.name}"
            return Refused(
                Reason.BELOW_FLOOR,
                f"{shown} took {median:.3g} s; no machine of today does the work in under {floor:.3g} s.",
                "Do the work on every call; a person must look before this one counts.",
            )
    return PASSED
