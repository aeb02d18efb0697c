"""What this machine can do for the kernel lab, and what to install. Looks; changes nothing."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from . import sandbox


class Finding(NamedTuple):
    """One thing looked for. `found` is what was found ("" if nothing), `install` what helps."""

    name: str
    ok: bool
    found: str
    needed_for: str
    install: str


def findings() -> list[Finding]:
    """Everything, in the order a reader wants it."""
    return [
        Finding("python", True, platform.python_version(), "the worker", ""),
        _package("numpy", "every task", "pip install numpy"),
        _program("cc", ["cc", "--version"], "tasks in C", "apt install gcc"),
        _package("torch", "GPU tasks", "pip install torch==2.13.0"),
        _package("triton", "GPU tasks, static profiles", "pip install triton==3.6.0"),
        _gpu(),
        _program("ncu", ["ncu", "--version"], "hardware counters", "install Nsight Compute"),
        counters(Path("/proc/driver/nvidia/params"), os.geteuid() == 0, shutil.which("ncu") is not None),
        *_layers(),
    ]


def counters(params: Path, root: bool, installed: bool) -> Finding:
    """May Nsight Compute read a GPU's counters here? The driver's own word; nothing is profiled to find out."""
    try:
        words = params.read_text()
    except OSError:
        return Finding("counters", False, "", "profiles by Nsight Compute", "a machine with an NVIDIA GPU and driver")
    if "RmProfilingAdminOnly: 1" in words and not root:
        told = "could not run: the driver keeps them for administrators (RmProfilingAdminOnly: 1)"
        return Finding(
            "counters", False, told, "profiles by Nsight Compute", "root, or NVreg_RestrictProfilingToAdminUsers=0"
        )
    found = "may be read" if installed else "may be read, but there is no ncu"
    return Finding("counters", installed, found, "profiles by Nsight Compute", "install Nsight Compute")


def _package(name: str, needed_for: str, install: str) -> Finding:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    return Finding(name, bool(version), version, needed_for, install)


def _program(name: str, argv: list[str], needed_for: str, install: str) -> Finding:
    if shutil.which(argv[0]) is None:
        return Finding(name, False, "", needed_for, install)
    lines = [line for line in _output(argv).splitlines() if line.strip()]
    return Finding(name, bool(lines), (lines[-1] if name == "ncu" else lines[0]) if lines else "", needed_for, install)


def _output(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=20, check=False, text=True, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _gpu() -> Finding:
    asked = ["nvidia-smi", "--query-gpu=name,driver_version,power.limit", "--format=csv,noheader"]
    lines = _output(asked).strip().splitlines() if shutil.which("nvidia-smi") else []
    here = lines or (["a device node, but no nvidia-smi"] if Path("/dev/nvidia0").exists() else [])
    return Finding(
        "gpu", bool(here), "; ".join(here), "measured GPU figures", "a machine with an NVIDIA GPU and driver"
    )


def _layers() -> list[Finding]:
    """Starts a real runner and asks what it reached: nothing else proves that a layer holds."""
    try:
        from .session import Session

        session = Session(0)
    except ImportError:
        return [Finding("sandbox", False, "", "untrusted candidates", "numpy first")]
    try:
        session.enter([])
        layers = session.layers
    except Exception as trouble:
        return [
            Finding("sandbox", False, f"{type(trouble).__name__}: {trouble}", "untrusted candidates", "a newer kernel")
        ]
    finally:
        session.close()
    version = sandbox.landlock_version()
    return [
        Finding("sandbox", True, ", ".join(layers), "untrusted candidates", ""),
        Finding("landlock", version > 0, f"version {version}" if version else "", "file isolation", "Linux >= 5.13"),
        Finding("seccomp", "seccomp" in layers, os.uname().machine if "seccomp" in layers else "", "no processes, no "
                "network", "x86-64 or arm64 Linux"),
        Finding("other user", "other-user" in layers, "own uid" if "other-user" in layers else "", "isolation by user",
                "run the worker as root (in a container)"),
    ]  # fmt: skip
