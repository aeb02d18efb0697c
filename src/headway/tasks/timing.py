"""How the kernel tasks time calls on a GPU: in turns, after an idle or at the power limit, alone or in a graph."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

Call = Callable[[int], Any]
"""A variant, told which of the rotated inputs to take."""

IDLE = 0.002  # seconds before a call that is timed by itself


def timed(call: Callable[[], object], cover: int = 0) -> float:
    """Milliseconds on the GPU; `cover` cycles of a kernel that sleeps hide the host's launch time."""
    cuda: Any = torch.cuda  # its events have no annotations
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    if cover:
        cuda._sleep(cover)
    start.record()
    call()
    end.record()
    cuda.synchronize()
    return float(start.elapsed_time(end))


def in_turns(calls: dict[str, Call], rounds: int, cover: int) -> dict[str, list[float]]:
    """`rounds` samples of each, in milliseconds.

    The order is rotated each round and turned around every other one: rotation alone leaves everybody behind the same
    predecessor.
    """
    names = list(calls)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for r in range(rounds):
        turn = names[r % len(names) :] + names[: r % len(names)]
        for name in turn if r % 2 == 0 else reversed(turn):
            time.sleep(IDLE)
            samples[name].append(timed(partial(calls[name], r), cover))
    return samples


def sustained(call: Call, seconds: float = 1.5) -> list[float]:
    """Milliseconds of each call in the second half of `seconds` back to back, when the card is at its power limit."""
    cuda: Any = torch.cuda
    n = int(seconds * 1e3 / timed(lambda: call(0))) + 2
    events = [cuda.Event(enable_timing=True) for _ in range(n + 1)]
    events[0].record()
    for i in range(n):
        call(i)
        events[i + 1].record()
    cuda.synchronize()
    return [events[i].elapsed_time(events[i + 1]) for i in range(n // 2, n)]


def captured(call: Call, n_inputs: int, repeats: int) -> Any:
    """A CUDA graph of `repeats` times a call on each of `n_inputs` inputs."""
    cuda: Any = torch.cuda
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        for _ in range(repeats):
            for i in range(n_inputs):
                call(i)
    return graph
