"""Before and after the clock, on a device: autotuners choose alone and are pinned; a call's time by kernel is told."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import device
from .jobs import Case, Task
from .oracle import Tolerance
from .refusals import CouldNotRun, Refused

TUNING_SECONDS = 300.0
PROFILE_SECONDS = 60.0
Choices = dict[str, list[dict[str, Any]]]
"""By case, what each autotuner chose, in the order of the choosing."""
Tuned = dict[tuple[str, str], Choices]


def settle(
    known: Tuned,
    task: Task,
    source: str,
    side: device.Batches,
    timed: Sequence[Case],
    draw: Callable[[Case], Any],
    tolerance: Mapping[str, Tolerance],
) -> Choices:
    """Let a side's autotuners choose while nothing else runs, and pin them; what they chose, by case.

    A source that was measured before on this worker runs in the configurations of then, so that the same code measured
    twice is the same code. What runs from here on is looked at once more: it may differ from what was checked before.
    """
    mine = known.setdefault((task.digest, hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()), {})
    if side.trusted:  # the warm baseline: pinned when the task proved itself
        return mine
    session, found = side.candidate.session, {}
    for number, case in enumerate(timed):
        order = {"do": "choose", "given": mine.get(case.name, []), "forget": number == 0}
        if session.order(order, 10).said.get("tuners"):
            _, look = side.run(draw(case), device.LEAST_CALLS, False, TUNING_SECONDS)
            device.looked(look, case, tolerance[case.name], not side.rival)
        told = session.order({"do": "pin"}, 10).said.get("tuned")
        if not isinstance(told, list) or not all(isinstance(one, dict) and "config" in one for one in told):
            raise Refused("protocol", "The runner's answer makes no sense.", "Write to nothing but what you return.")
        found[case.name] = told
        mine.setdefault(case.name, told)
    return found


def profiles(sides: Sequence[device.Batches]) -> dict[str, Any]:
    """Of the calls that were measured last: time by kernel for candidate and rival. Nobody is refused for it."""
    found = {}
    for name, side in zip(("candidate", "rival"), sides, strict=True):
        try:
            said = side.candidate.session.order({"do": "profile"}, PROFILE_SECONDS).said
            side.candidate.session.check({"offences": said.get("offences")}, "under the profiler")
        except Refused:
            if name == "candidate":
                raise
            said = {"could_not_run": "the rival did not answer"}
        except CouldNotRun as trouble:
            said = {"could_not_run": trouble.message}
        found[name] = {key: said.get(key) for key in ("kernels", "how", "no_proton", "could_not_run")}
    return found
