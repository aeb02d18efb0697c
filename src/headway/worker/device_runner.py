"""The runner's part for tasks on a GPU: upload, run a batch between device events, hand one output back.

Loaded, with CUDA and Triton's own helpers built, before the sandbox closes and before the candidate exists.
"""

import ctypes
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy
import torch

FLUSH_BYTES = 256 << 20
"""Written between two calls: more than twice the L2 of any GPU of today."""
LOOKS = 15
LOOK_LEAD_CYCLES = 300_000
"""About 0.15 ms: longer than the launches of a call take."""
PROFILED = 4
CTX_SCHED_SPIN = 1


class Device:
    """One GPU, and what the last batch left on it."""

    def __init__(self) -> None:
        _wait_by_spinning()
        # taken before there is a candidate: what it puts in their places later is nobody's clock
        self._event, self._record = torch.cuda.Event, torch.cuda.Event.record
        self._elapsed, self._idle, self._sleep = (
            torch.cuda.Event.elapsed_time,
            torch.cuda.synchronize,
            torch.cuda._sleep,
        )
        self._clock = time.perf_counter_ns
        self._flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self._flush.zero_()
        self._sets: list[list[Any]] = []
        self._outputs: list[Any] = []
        self._single: tuple[list[Any], Any] = ([], ())
        torch.cuda.synchronize()

    def upload(self, arguments: list[Any]) -> list[Any]:
        """Arrays over shared memory as device tensors; numbers as they are."""
        return [torch.from_numpy(one).cuda() if isinstance(one, numpy.ndarray) else one for one in arguments]

    def download(self, result: Any) -> list[Any]:
        """After everything on the device has ended: each returned tensor on the CPU, or the odd thing itself."""
        torch.cuda.synchronize()
        several = result if type(result) is tuple else (result,)
        return [
            one.cpu() if type(one) is torch.Tensor and one.device.type == "cuda" else str(type(one)) for one in several
        ]

    def lay(self, arguments: list[Any], scales: list[float], same_place: bool) -> None:
        """One set of inputs per call, `scale` times the uploaded ones; in new memory, or in the last tensors."""
        base = self.upload(arguments)
        self.lay_sets(lambda: [[_scaled(one, scale) for one in base] for scale in scales], same_place)

    def lay_sets(self, make: Callable[[], list[list[Any]]], same_place: bool) -> None:
        """The sets of inputs that `make` makes, in new memory, or in the last sets' tensors refilled."""
        self._outputs.clear()
        self._single = ([], ())
        if not same_place:
            self._sets = []
        spacer = torch.empty(int.from_bytes(os.urandom(2), "little") * 256, dtype=torch.uint8, device="cuda")
        fresh = make()
        keep = same_place and len(self._sets) == len(fresh)
        if keep and all(_alike(*pair) for pair in zip(self._sets, fresh, strict=True)):
            for old, new in zip(self._sets, fresh, strict=True):
                for a, b in zip(old, new, strict=True):
                    if isinstance(a, torch.Tensor):
                        a.copy_(b)
        else:
            self._sets = fresh
        del spacer
        torch.cuda.synchronize()

    def batch(
        self, entry: Callable[..., Any], at: list[int], watched: list[int], guard: Any, lead: int, alone: bool
    ) -> dict[str, Any]:
        """Call once per set with a cold L2, after `lead` cycles in which the device does nothing, so that launches
        are not waited for. Nanoseconds of each call and flush, glimpses of the outputs, and for the
        `watched` calls, before and after which the whole device is idle, nanoseconds until it is idle again.

        A glimpse is taken on the current stream right after the call has returned: what another stream writes later
        is not in it.
        """
        places = torch.tensor(at, device="cuda")
        record, elapsed, idle = self._record, self._elapsed, self._idle
        events = [[self._event(enable_timing=True) for _ in range(3)] for _ in self._sets]
        glimpses: list[Any] = []
        whole: list[int] = []
        clock = self._clock
        idle()
        for index, (arguments, (first, start, end)) in enumerate(zip(self._sets, events, strict=True)):
            record(first)
            self._flush.zero_()
            if alone or index in watched:
                idle()
            elif lead:
                self._sleep(lead)
            begin = clock()
            record(start)
            guard.arm()
            result = entry(*arguments)
            guard.disarm()
            record(end)
            if index in watched:  # at once: what a launch or a glimpse costs this host is not the device's work
                idle()
                whole.append(clock() - begin)
            glimpses.append(_glimpse(result, places))
            self._outputs.append(result)
        idle()
        return {
            "ns": [int(elapsed(start, end) * 1e6) for _, start, end in events],
            "flush": [int(elapsed(first, start) * 1e6) for first, start, _ in events],
            "glimpses": [one.cpu().tolist() for one in glimpses],
            "whole": whole,
        }

    def seconds(self, call: Callable[[], None]) -> float:
        """A call's seconds with a cold L2, its launches hidden behind an idle device: median of LOOKS, for tuners."""
        events = [(self._event(enable_timing=True), self._event(enable_timing=True)) for _ in range(LOOKS)]
        self._idle()
        for start, end in events:
            self._flush.zero_()
            self._sleep(LOOK_LEAD_CYCLES)
            self._record(start)
            call()
            self._record(end)
        self._idle()
        return float(median(self._elapsed(start, end) for start, end in events)) / 1e3

    def profile(self, entry: Callable[..., Any], guard: Any, kernels: Any) -> dict[str, Any]:
        """Calls on the last batch's inputs under a profiler, each with a cold L2 behind an idle device."""

        def calls(around: Callable[[], Any]) -> None:
            for arguments in self._sets[:PROFILED]:
                self._flush.zero_()
                self._sleep(LOOK_LEAD_CYCLES)
                with around():
                    guard.arm()
                    try:
                        entry(*arguments)
                    finally:
                        guard.disarm()
            self._idle()

        self._idle()
        told: dict[str, Any] = kernels.profile(calls, min(PROFILED, len(self._sets)))
        return told

    def settle(self) -> None:
        """Wait until nothing runs on the device."""
        torch.cuda.synchronize()

    def forget(self) -> None:
        """Give the memory of earlier calls back to the device, where others need it."""
        self._sets, self._single = [], ([], ())
        self._outputs.clear()
        torch.cuda.empty_cache()

    def keep(self, inputs: list[Any], result: Any) -> None:
        """A single call's inputs and what it returned, once the device is idle."""
        torch.cuda.synchronize()
        self._single = (inputs, result)

    def call(self, index: int | None) -> tuple[list[Any], tuple[Any, ...]]:
        """Inputs and outputs of a call of the last batch, or (None) of the single call."""
        inputs, result = self._single if index is None else (self._sets[index], self._outputs[index])
        return inputs, result if type(result) is tuple else (result,)

    def part(self, index: int | None, output: int, axis: int, parts: list[int] | None) -> Any:
        """An output or the wanted indices of it along an axis, on the CPU, as integers of its width."""
        one = self.call(index)[1][output]
        if parts is not None:
            one = one.index_select(axis, torch.tensor(parts, device=one.device))
        whole = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[one.element_size()]
        return one.contiguous().view(whole).cpu()

    def again(self, at: list[int]) -> list[Any]:
        """The same places of the same outputs, now."""
        places = torch.tensor(at, device="cuda")
        return [_glimpse(one, places).cpu().tolist() for one in self._outputs]

    def output(self, index: int) -> Any:
        """What call `index` of the last batch returned."""
        return self._outputs[index]

    def inputs(self, index: int) -> list[Any]:
        """The inputs of that call as they are now, on the CPU."""
        return [one.cpu() for one in self._sets[index] if isinstance(one, torch.Tensor)]


def _wait_by_spinning() -> None:
    """Have this process's context wait for the device in a loop, however many contexts there are.

    Left to itself the driver makes contexts give their core away while they wait as soon as there are more of them than
    cores (sixteen candidates at once): the end of a watched call is then noticed 40 us later, which looks like work.
    """
    try:
        driver, device = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0:
            driver.cuDevicePrimaryCtxSetFlags_v2(device, CTX_SCHED_SPIN)
    except (OSError, AttributeError):
        return  # another driver: it waits as it likes


def _scaled(one: Any, scale: float) -> Any:
    """In float32 and rounded once, so that numpy on the CPU gets the same bits."""
    return (one.float() * scale).to(one.dtype) if isinstance(one, torch.Tensor) and one.is_floating_point() else one


def _alike(old: list[Any], new: list[Any]) -> bool:
    return all(not isinstance(a, torch.Tensor) or a.shape == b.shape for a, b in zip(old, new, strict=True))


def _glimpse(result: Any, places: Any) -> Any:
    one = result[0] if type(result) is tuple else result
    if type(one) is not torch.Tensor or not one.numel():
        return places[:1]
    return torch.take(one.detach(), places % one.numel())


def declared(one: Any) -> dict[str, Any]:
    """What was returned, in words: only a plain tensor on the device counts as one."""
    if type(one) is not torch.Tensor or one.device.type != "cuda" or one.layout != torch.strided:
        return {"plain": False, "type": str(type(one))[:80]}
    return {"plain": True, "shape": list(one.shape), "dtype": str(one.dtype).removeprefix("torch.")}


def give_cache(uid: int) -> None:
    """What was built before the change of user belongs to the user after it."""
    cache = os.environ["TRITON_CACHE_DIR"]
    os.makedirs(cache, exist_ok=True)
    for place, folders, files in os.walk(cache):
        for name in (".", *folders, *files):
            os.chown(os.path.join(place, name), uid, uid)


def facts() -> dict[str, str]:
    """What figures on this device depend on."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "gpu": properties.name, "multiprocessors": str(properties.multi_processor_count), "torch": torch.__version__,
        "memory": f"{properties.total_memory >> 30} GiB",
    }  # fmt: skip
