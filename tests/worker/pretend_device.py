"""A GPU that is none: the device parts of judge and runner on CPU tensors, so that their journey runs anywhere.

What is real: both processes, the sandbox, orders, draws, comparison, verdicts. What is not: events are wall clock, and
nothing runs beside the host. So figures mean nothing here, and hidden work cannot be seen. Runners are forked from the
test's process, which has imported torch already: each would take four seconds of a core for that alone.
"""

import os
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from headway.worker import device, drawn, draws, session

PRELUDE = """
import time, torch

class _Event:
    def __init__(self, enable_timing=False):
        self.at = 0
    def record(self):
        self.at = time.perf_counter_ns()
    def elapsed_time(self, other):
        return (other.at - self.at) / 1e6

torch.cuda.Event = _Event
torch.cuda.synchronize = lambda *_: None
torch.cuda.empty_cache = lambda: None
torch.cuda._sleep = lambda cycles: None
torch.Tensor.cuda = lambda self: self
"""
NO_WARM = "\n\ndef warm(arch, on_device=False):\n    return None\n"


def pretend(patch: pytest.MonkeyPatch) -> None:
    """From here on judges of this process believe in a GPU, and start runners that do."""
    real = session._text

    def text(name: str) -> str:
        source = real(name).replace('"cuda"', '"cpu"').replace("256 << 20", "1 << 20")
        if name == "device_profile":
            source = source.replace("1 << 30", "1 << 16").replace("SQUARE = 8192", "SQUARE = 32")
        if name == "triton_runner":
            source += NO_WARM
        return PRELUDE + source if name == "device_runner" else source

    patch.setattr(session, "_text", text)
    patch.setattr(session, "subprocess", SimpleNamespace(Popen=forked))
    patch.setattr(device, "present", lambda: True)
    patch.setattr(device, "clocks", lambda: "")
    patch.setattr(torch.Tensor, "cuda", lambda self: self)
    there = draws.drawn
    patch.setattr(draws, "drawn", lambda make, case, seed, swap: there(make, case, seed, swap, "cpu"))
    patch.setattr(drawn, "LEAD_CYCLES", 0)
    patch.setattr(device, "MOST_CALLS", 6)
    for limit in ("DISAGREE", "HIDDEN_PART"):  # wall clock on a busy machine is no device
        patch.setattr(device, limit, 100.0)


def forked(
    argv: list[str], *, stdin: int, stdout: int, stderr: int, pass_fds: tuple[int, ...], env: dict[str, str], cwd: str,
    start_new_session: bool,
) -> Any:  # fmt: skip
    """`subprocess.Popen` for a runner, without a new interpreter: the same program, descriptors and environment."""
    program = argv[argv.index("-c") + 1]
    pid = os.fork()
    if pid:
        return SimpleNamespace(pid=pid, returncode=None)
    try:
        if start_new_session:
            os.setsid()
        for descriptor, place in ((stdin, 0), (stdout, 1), (stderr, 2)):
            os.dup2(descriptor, place)
        keep = sorted({0, 1, 2, *pass_fds})
        for low, high in zip(keep, [*keep[1:], 1 << 16], strict=True):
            os.closerange(low + 1, high)
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        torch.set_num_threads(1)  # threads of the other process are not here
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    finally:
        os._exit(0)
