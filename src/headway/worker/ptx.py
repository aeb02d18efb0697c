"""From PTX to what the machine would run: ptxas and cuobjdump of Triton's own wheel, in a closed process each.

Gives numbers and counts, no judgement; `headway.core.fingerprint` reads them at home.
"""

import importlib.util
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from . import sandbox
from .refusals import CouldNotRun, Refused

READABLE = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/proc")
USED = re.compile(r"Used (\d+) registers")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)", re.M)
SECONDS = 120.0


class Assembler:
    """Remembers kernels by the digest of their PTX."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._tools = tools()

    def kernel(self, digest: str, told: dict[str, Any], arch: int) -> dict[str, Any]:
        """Registers, spills, shared memory in bytes, and how often each instruction stands in the machine code.

        Raises Refused(`compile_failed`) for PTX that ptxas does not take.
        """
        if digest not in self._known:
            with tempfile.TemporaryDirectory(prefix="headway-ptx-") as folder:
                self._known[digest] = self._assemble(Path(folder), told, arch)
        return self._known[digest]

    def _assemble(self, folder: Path, told: dict[str, Any], arch: int) -> dict[str, Any]:
        (folder / "kernel.ptx").write_text(str(told["ptx"]))
        name = f"sm_{arch}a" if arch == 90 else f"sm_{arch}"
        words = _closed([self._tools / "ptxas", "-v", f"--gpu-name={name}", "kernel.ptx", "-o", "kernel.cubin"], folder)
        cubin = folder / "kernel.cubin"
        if not cubin.exists():
            errors = [line for line in words.splitlines() if "error" in line.lower()] or [words.strip()[-300:]]
            raise Refused("compile_failed", f"ptxas: {' / '.join(errors[:3])[:500]}", "Correct the kernel.")
        listing = _closed([self._tools / "cuobjdump", "-sass", "kernel.cubin"], folder)
        spilled, used = SPILLS.search(words), USED.search(words)
        stack, stores, loads = (int(one) for one in spilled.groups()) if spilled else (0, 0, 0)
        return {
            "name": told["name"], "num_warps": told["num_warps"], "shared": told["shared"],
            "registers": int(used[1]) if used else 0, "stack": stack, "spill_stores": stores, "spill_loads": loads,
            "instructions": dict(Counter(INSTRUCTION.findall(listing)).most_common(200)),
        }  # fmt: skip


def tools() -> Path:
    """The folder of ptxas and cuobjdump. Raises CouldNotRun if Triton is not installed."""
    spec = importlib.util.find_spec("triton")
    if spec is None or not spec.submodule_search_locations:
        raise CouldNotRun("infrastructure", "Triton is not installed here.", "pip install triton==3.6.0")
    return Path(spec.submodule_search_locations[0]) / "backends" / "nvidia" / "bin"


def _closed(argv: list[Any], folder: Path) -> str:
    def close_in() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
        sandbox.die_with_parent()
        sandbox.only_files((*READABLE, str(argv[0].parent), sys.prefix), (str(folder), "/dev/null"))

    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "HOME": str(folder), "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [str(one) for one in argv], cwd=folder, env=environment, preexec_fn=close_in, timeout=SECONDS, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Refused(
            "timed_out", f"{argv[0].name} took more than {SECONDS:g} s.", "Make the kernel smaller."
        ) from None
    return done.stdout.decode("utf-8", "replace")
