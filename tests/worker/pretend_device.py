"""A GPU that is none: the device parts of judge and runner on CPU tensors, so that their journey runs anywhere.

What is real: both processes, the sandbox, orders, draws, comparison, verdicts. What is not: events are wall clock, and
nothing runs beside the host. So figures mean nothing here, and hidden work cannot be seen.
"""

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
        if name == "triton_runner":
            source += NO_WARM
        return PRELUDE + source if name == "device_runner" else source

    patch.setattr(session, "_text", text)
    patch.setattr(device, "present", lambda: True)
    patch.setattr(device, "clocks", lambda: "")
    patch.setattr(torch.Tensor, "cuda", lambda self: self)
    there = draws.drawn
    patch.setattr(draws, "drawn", lambda make, case, seed, swap: there(make, case, seed, swap, "cpu"))
    patch.setattr(drawn, "LEAD_CYCLES", 0)
