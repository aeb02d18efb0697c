"""Run under Triton's interpreter, in a process of its own: a real autotuner in the hands of the runner's `Tuners`.

Prints, as JSON, what was chosen in which phase; the stand-in for the device's clock calls wide blocks fast.
"""

import json
import os
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl

from headway.worker.tuners import ChoosingLate, Tuners

timed: list[int] = []
ran: list[int] = []


def bench(call: Any) -> float:
    """Seconds of a call: what the kernel was last called with decides."""
    call()
    timed.append(ran[-1])
    return 1.0 / ran[-1]


def note(arguments: dict[str, Any]) -> None:
    """A configuration's own hook says that it runs."""
    ran.append(arguments["BLOCK"])


tuners = Tuners(bench)


@triton.autotune([triton.Config({"BLOCK": size}, pre_hook=note) for size in (16, 64, 32)], key=["n"])
@triton.jit
def double(x: Any, y: Any, n: Any, BLOCK: tl.constexpr) -> None:
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def entry(n: int) -> bool:
    """One call on n elements; is it right?"""
    x = torch.arange(n, dtype=torch.float32)
    y = torch.zeros_like(x)
    double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return bool((y == 2 * x).all())


told: dict[str, Any] = {"right": entry(100), "crowded": ran[-1], "timed_crowded": list(timed)}
told["tuners"] = tuners.choose([], True)
told["right_again"] = entry(100)
told["chosen"], told["ran"] = tuners.pin(), ran[-1]
before = len(timed)
told["right_pinned"], told["timed_pinned"] = entry(100), len(timed) - before
try:
    entry(200)
    told["late"] = "not noticed"
except ChoosingLate:
    told["late"] = list(tuners.late)
tuners.late.clear()
tuners.choose([{**told["chosen"][0], "config": str(double.configs[2])}], True)
entry(100)
told["given"], told["timed_given"] = [one["config"] for one in tuners.pin()], len(timed) - before
told["ran_given"] = ran[-1]
print(json.dumps(told))
