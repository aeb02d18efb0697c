"""The runner's look at where a call's time goes, and at what its device can do at best.

Everything here is told to people and agents; no verdict hangs on it. Loaded before the candidate exists.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import Any

import torch
from triton import knobs
from triton.compiler.compiler import CompiledKernel

COPY_BYTES = 1 << 30
SQUARE = 8192
LOOKS = 2
MOST_KERNELS = 24
SCOPE = "call"
Around = Callable[[], AbstractContextManager[Any]]


class Kernels:
    """What Triton loaded onto the device (registers, spills, shared memory), and how long its kernels take."""

    def __init__(self) -> None:
        self._loaded: dict[str, dict[str, Any]] = {}
        load, ours = CompiledKernel._init_handles, self._loaded

        def noted(kernel: Any) -> None:
            load(kernel)
            ours[str(kernel.name)[:120]] = {
                "registers": int(kernel.n_regs), "spills": int(kernel.n_spills),
                "shared": int(kernel.metadata.shared), "num_warps": int(kernel.metadata.num_warps),
            }  # fmt: skip

        CompiledKernel._init_handles = noted

    def profile(self, calls: Callable[[Around], None], count: int) -> dict[str, Any]:
        """Microseconds of a call by kernel, the longest first, from Proton; without it, from events at each launch.

        `calls(around)` makes `count` calls, each inside `with around()`; what runs outside is the lab's own.
        """
        why, rows = "", []
        try:
            rows = list(_by_proton(calls))
        except Exception as trouble:
            why = f"{type(trouble).__name__}: {str(trouble)[:160]}"
        how = "proton" if rows else "events"
        kernels = [
            {"name": name[:120], "microseconds": round(ns / 1e3 / count, 3), "launches": times / count,
             **self._loaded.get(name, {})}
            for name, ns, times in sorted(rows or _by_events(calls), key=lambda row: -row[1])[:MOST_KERNELS]
        ]  # fmt: skip
        return {"kernels": kernels, "how": how, "no_proton": why if rows else why or "no kernel was seen"}


def _by_proton(calls: Callable[[Around], None]) -> Iterator[tuple[str, float, int]]:
    """Triton's own profiler, which listens to CUPTI: name, nanoseconds and launches of each kernel of the calls."""
    import triton.profiler as proton

    with tempfile.TemporaryDirectory(prefix="profile-", dir=os.environ["TMPDIR"]) as folder:
        place = os.path.join(folder, "calls")
        session = proton.start(place, backend="cupti")
        try:
            calls(lambda: proton.scope(SCOPE))
        finally:
            proton.finalize(session)
        with open(f"{place}.hatchet") as file:
            tree = json.load(file)
    found: dict[str, tuple[float, int]] = {}
    for name, ns, count in _leaves(tree[0], False):
        before = found.get(name, (0.0, 0))
        found[name] = (before[0] + ns, before[1] + count)
    yield from ((name, ns, count) for name, (ns, count) in found.items())


def _leaves(node: dict[str, Any], ours: bool) -> Iterator[tuple[str, float, int]]:
    told, name = node.get("metrics", {}), str(node.get("frame", {}).get("name", ""))
    if ours and "time (ns)" in told and not node.get("children"):
        yield name, float(told["time (ns)"]), int(told.get("count", 1))
    for child in node.get("children", []):
        yield from _leaves(child, ours or name == SCOPE)


def _by_events(calls: Callable[[Around], None]) -> list[tuple[str, float, int]]:
    """Events around each launch of a Triton kernel: a few microseconds more than its own time, and no other kernels."""
    seen: list[tuple[str, Any, Any]] = []

    def enter(told: Any) -> None:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        seen.append((str(told.get()["name"]), start, end))
        start.record()

    def leave(_: Any) -> None:
        seen[-1][2].record()

    knobs.runtime.launch_enter_hook.add(enter)
    knobs.runtime.launch_exit_hook.add(leave)
    try:
        calls(nullcontext)
    finally:
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(leave)
    found: dict[str, tuple[float, int]] = {}
    for name, start, end in seen:
        ns, count = found.get(name, (0.0, 0))
        found[name] = (ns + 1e6 * start.elapsed_time(end), count + 1)
    return [(name, ns, count) for name, (ns, count) in found.items()]


def ceilings(device: Any) -> dict[str, float]:
    """Bytes a second that a copy moves (read and written), operations a second of a bfloat16 product, and the
    seconds that a call of one small kernel takes at least between its events."""
    start = time.monotonic()
    copy, product, launch = _copy(device), _product(device), _small(device)
    device.forget()
    return {
        "copy_bytes": 2 * COPY_BYTES / copy, "matrix_flops": 2.0 * SQUARE**3 / product, "launch_seconds": launch,
        "took_seconds": time.monotonic() - start,
    }  # fmt: skip


def _copy(device: Any) -> float:
    source = torch.randint(-9, 9, (COPY_BYTES // 4,), dtype=torch.int32, device="cuda")
    target = torch.empty_like(source)
    return _median(device, lambda: target.copy_(source))


def _product(device: Any) -> float:
    a, b = (torch.randn(SQUARE, SQUARE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return _median(device, lambda: torch.mm(a, b))


def _small(device: Any) -> float:
    one = torch.zeros(256, device="cuda")
    return _median(device, lambda: one.add_(1.0))


def _median(device: Any, call: Callable[[], Any]) -> float:
    call()
    return float(median(device.seconds(call) for _ in range(LOOKS)))
