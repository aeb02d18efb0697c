"""Facts about this machine that belong beside every figure."""

import hashlib
import os
import pkgutil
import platform
from functools import lru_cache

import numpy

MODULES = (
    "__init__ admission build c_admission calls doctor guard jobs judge likeness machine main measure oracle "
    "pool proof refusals runner sandbox session spool triton_runner estimate ptx device device_runner draws "
    "drawn drawn_trips kept_caches trips triton_trips tuning tuners device_profile ceilings"
).split()


def facts() -> dict[str, str]:
    """Strings only; the load average is the one thing here that changes."""
    return {**_lasting(), "load": " ".join(f"{one:.2f}" for one in os.getloadavg())}


@lru_cache(maxsize=1)
def _lasting() -> dict[str, str]:
    return {
        "host": platform.node(), "kernel": platform.release(), "cpu": _cpu(), "cpus": str(os.cpu_count()),
        "python": platform.python_version(), "numpy": numpy.__version__, "worker": program_digest(),
    }  # fmt: skip


def program_digest() -> str:
    """sha256 of the worker's own code, first 16 digits: two results with the same one were judged alike."""
    total = hashlib.sha256()
    for name in MODULES:
        total.update(pkgutil.get_data(__package__, f"{name}.py") or b"")
    return total.hexdigest()[:16]


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
