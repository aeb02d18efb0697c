"""The runner: loads one candidate, calls it when told, says how long that took. Nothing it says is believed as it is.

It gets its program, its orders and its inputs over inherited descriptors, and has been through `sandbox.enter` before
it sees a candidate. The judge stops this process (SIGSTOP) between two calls and reads what came out from outside.
"""

import ctypes
import gc
import importlib
import json
import mmap
import os
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy

ORDERS, ANSWERS, POOL, CODE = 0, 3, 4, 5
FULL_TYPES = {"int32": ctypes.c_int32, "int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double}
ALWAYS_LOADED = ("traceback", "linecache", "tokenize", "warnings", "encodings.latin_1", "encodings.ascii",
                 "numpy.linalg", "numpy.fft", "numpy.random", "numpy.polynomial", "numpy.ma")  # fmt: skip


class Runner:
    """State of one candidate's process. Everything used around the clock is bound before the candidate exists."""

    def __init__(
        self, sandbox: ModuleType, guard: ModuleType, triton: Any = None, device: Any = None, draws: Any = None,
        tuners: Any = None, profiles: Any = None,
    ) -> None:  # fmt: skip
        self._sandbox, self._guards, self._triton = sandbox, guard, triton
        self._launches: Any = None
        self._devices, self._draws = device, draws
        self._tuning, self._profiles = tuners, profiles
        self._device: Any = None
        self._tuners: Any = None
        self._kernels: Any = None
        self._make: Any = None
        self._clock = time.thread_time_ns  # core time, like the books it is compared with
        self._entry: Any = None
        self._native = False
        self._guard: Any = None
        self._pool: Any = None
        self._views: dict[tuple[Any, ...], Any] = {}
        self._held: list[Any] = []
        self._proof = numpy.frombuffer(os.urandom(64), dtype=numpy.uint8)

    def serve(self) -> None:
        """Answer orders until the judge closes the pipe."""
        orders: dict[str, Callable[..., dict[str, Any]]] = {
            "enter": self.enter, "ping": self.ping, "load": self.load, "call": self.call, "compile": self.compile,
            "batch": self.batch, "fetch": self.fetch, "seal": self.seal, "draws": self.draws, "try": self.try_drawn,
            "batch_drawn": self.batch_drawn, "look": self.look, "part": self.part,
            "choose": self.choose, "pin": self.pin, "profile": self.profile, "ceilings": self.ceilings,
        }  # fmt: skip
        while (order := _receive()) is not None:
            _send(orders[order.pop("do")](**order))

    def ping(self) -> dict[str, Any]:
        """A call of nothing, with an answer like any other: its cost is what the judge subtracts from its brackets."""
        _send({"ready": True})
        os.read(ORDERS, 1)
        start = self._clock()
        numpy.ones(1 << 19, numpy.float32)  # leaves the caches as a candidate would
        end = self._clock()
        return {
            "error": None,
            "ns": [end - start],
            "outputs": [_described(self._proof)],
            "glimpses": [],
            "offences": [],
        }

    def enter(self, plan: dict[str, Any], preload: list[str]) -> dict[str, Any]:
        """Import all a candidate may ask for, then close the sandbox."""
        for name in (*ALWAYS_LOADED, *preload):
            importlib.import_module(name)
        for key in ("readable", "writable", "hidden"):
            plan[key] = tuple(plan[key])
        if self._devices is not None:  # not before: processes in reserve leave the device alone
            self._device = self._devices.Device()
        if self._triton is not None:
            self._launches = self._triton.warm(90, self._device is not None)
            self._tuners = self._tuning.Tuners(None if self._device is None else self._device.seconds)
        if self._device is not None:
            self._kernels = self._profiles.Kernels()
        if self._device is not None and plan["uid"] is not None:
            self._devices.give_cache(plan["uid"])
        gc.collect()
        gc.freeze()  # what is loaded so far is never looked through again: no long collection falls into a timed call
        layers = self._sandbox.enter(self._sandbox.Plan(**plan))
        return {"layers": layers, "address": self._proof.ctypes.data, "proof": self._proof.tobytes().hex()}

    def load(
        self, kind: str, source: str, entry: str, arguments: list[str], allowed: list[str], absent: list[str],
        pool: int, memory: int,
    ) -> dict[str, Any]:  # fmt: skip
        """Bring the candidate in. `arguments`: C types in order, for a candidate that comes as a shared library."""
        if memory:
            self._sandbox.limit_memory(memory)
        self._pool = mmap.mmap(POOL, pool)
        self._base = numpy.frombuffer(self._pool, dtype=numpy.uint8).ctypes.data
        self._guard = self._guards.Guard(
            frozenset(allowed), frozenset(absent), self._triton is not None, self._device is not None
        )
        try:
            if kind == "cpu-c":
                self._load_library(entry, arguments)
            else:
                if self._triton is not None:
                    self._triton.known_to_inspect(source)
                self._load_module(source, entry)
        except BaseException as trouble:  # a candidate may raise anything, SystemExit too
            return {"error": _told(trouble), "offences": self._guard.offences}
        return {"error": None, "offences": self._guard.offences}

    def _load_library(self, entry: str, arguments: list[str]) -> None:
        function = getattr(ctypes.CDLL(f"/proc/self/fd/{CODE}", mode=os.RTLD_NOW | os.RTLD_LOCAL), entry)
        function.argtypes = [FULL_TYPES.get(one, ctypes.c_void_p) for one in arguments]
        function.restype = None
        self._entry, self._native = function, True

    def _load_module(self, source: str, entry: str) -> None:
        code = compile(source, "<candidate>", "exec")
        module = ModuleType("candidate")
        module.__dict__["__builtins__"] = self._guard.builtins_for_candidate()
        # dataclasses and typing look their own module up by name
        importlib.import_module("sys").modules["candidate"] = module
        self._guard.arm()
        try:
            exec(code, module.__dict__)
        finally:
            self._guard.disarm()
        self._entry = module.__dict__[entry]

    def call(self, calls: list[dict[str, Any]]) -> dict[str, Any]:
        """Make ready, say so, wait for the inputs to be written, run the calls one after the other.

        Everything that does not need the inputs is done before the judge's bracket opens; the outputs are described
        inside it, because nothing may run after it.
        """
        prepared = [[self._argument(one) for one in call["args"]] for call in calls]
        probes = [[(self._view(**probe["of"]).reshape(-1), probe["at"]) for probe in call["probes"]] for call in calls]
        took: list[int] = []
        results: list[Any] = []
        glimpses: list[Any] = []
        clock, entry, guard = self._clock, self._entry, self._guard
        self._held = results
        _send({"ready": True})
        os.read(ORDERS, 1)
        if self._device is not None:
            prepared = [self._device.upload(arguments) for arguments in prepared]
        try:
            for arguments, probe in zip(prepared, probes, strict=True):
                guard.arm()
                start = clock()
                result = entry(*arguments)
                end = clock()
                guard.disarm()
                took.append(end - start)
                results.append(result)
                if probe:
                    glimpses.append([view[at].tobytes().hex() for view, at in probe])
        except BaseException as trouble:
            guard.disarm()
            return {"error": _told(trouble), "ns": took, "offences": guard.offences}
        outputs = [] if self._native else [self._outputs(result) for result in results]
        return {"error": None, "ns": took, "outputs": outputs, "glimpses": glimpses, "offences": guard.offences}

    def _argument(self, one: dict[str, Any]) -> Any:
        if "value" in one:
            return one["value"]
        if self._native:
            return self._base + one["offset"]
        on_cpu = self._triton is None or self._device is not None
        return self._view(**one) if on_cpu else self._triton.tensor_over(self._view(**one))

    def _outputs(self, result: Any) -> list[dict[str, Any]]:
        if self._triton is None:
            return _described(result)
        if self._device is not None:
            result = tuple(self._device.download(result))
            self._kept = result
        return [self._triton.described(one) for one in (result if type(result) is tuple else (result,))]

    def seal(self) -> dict[str, Any]:
        """From here on no further process and no program may be started, by any thread."""
        if self._device is not None:
            self._device.forget()
        return {"sealed": self._sandbox.seal()}

    def batch(
        self, args: list[dict[str, Any]], scales: list[float], same_place: bool, at: list[int], watched: list[int],
        alone: bool, lead: int,
    ) -> dict[str, Any]:  # fmt: skip
        """On a device: lay the inputs of all calls, say so and wait; then run them, one after the other.

        `alone`: nothing is on the device when a call begins.
        """
        prepared = [self._argument(one) for one in args]
        _send({"ready": True})
        os.read(ORDERS, 1)
        self._device.lay(prepared, scales, same_place)
        _send({"ready": True})
        os.read(ORDERS, 1)
        return self._run_batch(at, watched, lead, alone)

    def _run_batch(self, at: list[int], watched: list[int], lead: int, alone: bool) -> dict[str, Any]:
        try:
            told = self._device.batch(self._entry, at, watched, self._guard, lead, alone)
        except BaseException as trouble:
            self._guard.disarm()
            return {"error": _told(trouble), "offences": self._guard.offences, "late": self._tuners.late}
        return {"error": None, "offences": self._guard.offences, "late": self._tuners.late, **told}

    def choose(self, given: list[dict[str, Any]], forget: bool) -> dict[str, Any]:
        """From here on autotuners choose in earnest, or as they did when this source was measured before."""
        return {"tuners": self._tuners.choose(given, forget)}

    def pin(self) -> dict[str, Any]:
        """From here on they choose no more; what they chose."""
        return {"tuned": self._tuners.pin()}

    def profile(self) -> dict[str, Any]:
        """After the last batch's samples were taken: where the time of one of its calls goes, kernel by kernel."""
        try:
            told = self._device.profile(self._entry, self._guard, self._kernels)
        except BaseException as trouble:
            self._guard.disarm()
            why = f"{type(trouble).__name__}: {str(trouble)[:200]}"
            return {"could_not_run": why, "offences": self._guard.offences}
        return {"could_not_run": "", "offences": self._guard.offences, **told}

    def ceilings(self) -> dict[str, Any]:
        """Before there is a candidate: what this device reaches at best."""
        return dict(self._profiles.ceilings(self._device))

    def fetch(self, index: int, at: list[int]) -> dict[str, Any]:
        """One output of the last batch and the inputs it was made from, on the CPU; and all glimpses once more."""
        again = self._device.again(at)
        self._inputs = self._device.inputs(index)
        outputs = self._outputs(self._device.output(index))
        return {"outputs": outputs, "inputs": [self._triton.described(one) for one in self._inputs], "again": again}

    def draws(self, source: str) -> dict[str, Any]:
        """The task's `inputs.py`, before the candidate is there."""
        self._make = self._draws.maker(source)
        return {"ready": True}

    def try_drawn(self, case: dict[str, Any], seed: int, swap: bool) -> dict[str, Any]:
        """One call on the inputs of a seed; they are drawn before the bracket opens."""
        self._device.forget()
        inputs = self._draws.drawn(self._make, case, seed, swap)
        self._device.settle()
        _send({"ready": True})
        os.read(ORDERS, 1)
        try:
            self._guard.arm()
            result = self._entry(*inputs.values())
            self._guard.disarm()
            self._device.keep(list(inputs.values()), result)
        except BaseException as trouble:
            self._guard.disarm()
            return {"error": _told(trouble), "offences": self._guard.offences}
        return {"error": None, "offences": self._guard.offences, **self._left(None)}

    def batch_drawn(
        self, case: dict[str, Any], seeds: list[int], same_place: bool, lead: int, at: list[int], watched: list[int]
    ) -> dict[str, Any]:
        """Like `batch`, with a draw of its own for each call, and `lead` idle cycles before it."""
        _send({"ready": True})
        os.read(ORDERS, 1)
        self._device.lay_sets(
            lambda: [list(self._draws.drawn(self._make, case, seed, False).values()) for seed in seeds], same_place
        )
        _send({"ready": True})
        os.read(ORDERS, 1)
        return self._run_batch(at, watched, lead, False)

    def look(self, index: int, at: list[int]) -> dict[str, Any]:
        """After a batch: its glimpses once more, and what call `index` left."""
        return {"again": self._device.again(at), **self._left(index)}

    def part(self, index: int | None, output: int, axis: int, parts: list[int] | None) -> dict[str, Any]:
        """Where an output of a call, or the wanted parts of it, lies in this process's memory, as plain numbers."""
        self._kept = self._device.part(index, output, axis, parts)
        return dict(self._triton.described(self._kept))

    def _left(self, index: int | None) -> dict[str, Any]:
        inputs, outputs = self._device.call(index)
        return {"outputs": [self._devices.declared(one) for one in outputs], "sums": self._draws.sums(inputs)}

    def compile(self, arch: int, args: list[dict[str, Any]]) -> dict[str, Any]:
        """Call the candidate once with nothing to run on: its kernels as PTX for the target, and its launches."""
        assert self._triton is not None
        self._launches.aim(arch)
        tensors = [one["value"] if "value" in one else self._triton.zeros(**one) for one in args]
        self._guard.arm()
        try:
            self._entry(*tensors)
        except BaseException as trouble:
            self._guard.disarm()
            return {"error": _told(trouble), "offences": self._guard.offences}
        self._guard.disarm()
        told = {"kernels": self._launches.kernels, "launches": self._launches.noted}
        return {"error": None, "offences": self._guard.offences, **told}

    def _view(self, offset: int, shape: list[int], dtype: str) -> Any:
        """The same place and shape gives the same object, so that refilling in place is refilling in place."""
        key = (offset, tuple(shape), dtype)
        view = self._views.get(key)
        if view is None or view.shape != key[1]:
            if len(self._views) > 64:
                self._views.clear()
            view = numpy.ndarray(key[1], dtype=dtype, buffer=self._pool, offset=offset)
            self._views[key] = view
        return view


def _described(result: Any) -> list[dict[str, Any]]:
    """Where each returned array lies. Anything but a plain ndarray is only named."""
    several = result if type(result) is tuple else (result,)
    return [
        {"plain": True, "address": one.__array_interface__["data"][0], "shape": list(one.shape),
         "strides": list(one.strides), "dtype": one.dtype.str}
        if type(one) is numpy.ndarray
        else {"plain": False, "type": str(type(one))[:80]}
        for one in several
    ]  # fmt: skip


def _told(trouble: BaseException) -> dict[str, Any]:
    line = 0
    step = trouble.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == "<candidate>":
            line = step.tb_lineno
        step = step.tb_next
    if isinstance(trouble, SyntaxError):
        line = trouble.lineno or 0
    return {"type": type(trouble).__name__, "message": str(trouble)[:400], "line": line}


def _receive() -> dict[str, Any] | None:
    head = _exactly(4)
    if head is None:
        return None
    body = _exactly(int.from_bytes(head, "little"))
    return None if body is None else dict(json.loads(body))


def _exactly(count: int) -> bytes | None:
    parts = b""
    while len(parts) < count:
        part = os.read(ORDERS, count - len(parts))
        if not part:
            return None
        parts += part
    return parts


def _send(answer: dict[str, Any]) -> None:
    body = json.dumps(answer).encode()
    data = len(body).to_bytes(4, "little") + body
    while data:
        data = data[os.write(ANSWERS, data) :]
