"""Inputs that are drawn on the device, the same in two processes: the judge's, and the runner's before the candidate.

Both run the task's `inputs.py` on the same GPU with the same seed. So gigabytes of inputs cross no process, each call
of a batch gets its own draw, and what a call left of its inputs is told by a sum that depends on every bit's place.
"""

from collections.abc import Callable
from typing import Any

import torch

Make = Callable[[dict[str, Any], int, str], dict[str, Any]]


def maker(source: str) -> Make:
    """`make_inputs(case, seed, device)` of an `inputs.py`."""
    space: dict[str, Any] = {"__name__": "task_inputs"}
    exec(compile(source, "<inputs.py>", "exec"), space)
    make: Make = space["make_inputs"]
    return make


def drawn(make: Make, case: dict[str, Any], seed: int, swap: bool, device: str = "cuda") -> dict[str, Any]:
    """The inputs of a seed, by name. `swap`: two neighbours in the middle of each change places (a near copy)."""
    inputs = make(case, seed, device)
    if swap:
        for value in inputs.values():
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 2:
                flat, middle = value.view(-1), value.numel() // 2
                flat[[middle - 1, middle]] = flat[[middle, middle - 1]].clone()
    return inputs


def sums(values: list[Any]) -> list[int]:
    """One number for each tensor; a change of any bit, or of two values' places, changes it (but for 1 in 2^32)."""
    return [_sum(one) for one in values if isinstance(one, torch.Tensor)]


def _sum(one: Any) -> int:
    whole = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[one.element_size()]
    total = 0
    for at, part in enumerate(one.contiguous().view(whole).view(-1).split(1 << 24)):
        weights = torch.arange(part.numel(), device=part.device, dtype=torch.int64) * 2654435761 + (2 * at + 1)
        total += int((part.to(torch.int64) * (weights | 1)).sum())
    return total & ((1 << 64) - 1)
