"""Triton tasks on a machine without a GPU: compiled for the target, checked in the interpreter, never measured.

The figure is a static one (instructions issued, over the target's schedulers, at the occupancy its registers and
shared memory allow), the same for candidate and rival; every result says `estimate`.
"""

import math
from typing import Any

from . import device
from .calls import Candidate
from .jobs import Case, Task
from .measure import Timed
from .ptx import Assembler
from .refusals import Refused

ARCH = 90
SCHEDULERS, HERTZ = 132 * 4, 1.7e9
REGISTERS, SHARED, WARPS = 65536, 228 << 10, 64
COST = {
    "MUFU": 4.0, "LDG": 8.0, "STG": 8.0, "LDGSTS": 8.0, "UTMALDG": 8.0, "LDS": 4.0, "STS": 4.0, "BAR": 8.0,
    "SHFL": 4.0, "LDL": 16.0, "STL": 16.0, "ATOMG": 16.0, "RED": 16.0, "HGMMA": 64.0, "HMMA": 16.0, "WARPGROUP": 4.0,
}  # fmt: skip
"""Issue slots of one instruction of a warp, roughly; anything else counts one."""


WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
"""Bytes a thread that a store instruction writes, by the part of its name; 4 without one."""
UNTOLD_STORES = frozenset({"UTMASTG", "UTMAREDG", "UBLKCP", "RED", "REDG", "ATOM", "ATOMG", "ST"})


def small(case: Case) -> Case:
    """The case in the sizes that an interpreter can bear, as the task gives them."""
    return case._replace(raw={**case.raw, "sizes": case.raw.get("small", case.raw["sizes"])})


def compiled(candidate: Candidate, task: Task, case: Case, assembler: Assembler) -> dict[str, Any]:
    """Kernels and launches on a case's full sizes. Refuses what does not compile or launches nothing."""
    sizes = case.raw["sizes"]
    args = [
        {"value": sizes[one["name"]]}
        if one["role"] == "size"
        else {"shape": [sizes.get(n, n) for n in one["shape"]], "dtype": one["type"]}
        for one in task.arguments
        if one["role"] != "out"
    ]
    arch = int(task.raw.get("target", {}).get("arch", ARCH))
    said = candidate.session.order(
        {"do": "compile", "arch": arch, "args": args}, task.limit("compile_seconds", 60)
    ).said
    if error := said.get("error"):
        message = f"{error.get('type')}: {str(error.get('message'))[:500]} (line {error.get('line')})"
        raise Refused("compile_failed", message, "Correct the kernel; the first lines name the place.")
    candidate.session.check(said, "while it was compiled")
    if not said["launches"]:
        raise Refused(
            "fallback_used", f"On case {case.shown} no Triton kernel was launched.", "Do the work in a kernel."
        )
    launched = {one["kernel"] for one in said["launches"]}
    kernels = {key: assembler.kernel(key, told, arch) for key, told in said["kernels"].items() if key in launched}
    wanted = sum(device.size_of(one, case) for one in task.arguments if one["role"] == "out")
    written = sum(_stores(kernels[one["kernel"]], one["grid"]) for one in said["launches"])
    if written < wanted:
        message = (
            f"On case {case.shown} the launches write {written:.3g} of {wanted:.3g} bytes if nothing runs twice: "
            "work in loops is not in a static figure."
        )
        raise Refused("not_estimable", message, "Launch programs for the whole output, or measure it on a GPU.")
    return {"case": case.name, "arch": arch, "kernels": kernels, "launches": said["launches"][:64],
            "seconds": sum(_seconds(kernels[one["kernel"]], one["grid"]) for one in said["launches"])}  # fmt: skip


def _stores(kernel: dict[str, Any], grid: list[int]) -> float:
    """Bytes that the launch's store instructions write at most if each runs once; inf for stores of unknown width."""
    one = 0.0
    for name, count in kernel["instructions"].items():
        head, *parts = name.split(".")
        if head in UNTOLD_STORES:
            return math.inf
        if head == "STG":
            one += count * next((WIDTHS[part] for part in parts if part in WIDTHS), 4)
    return float(grid[0] * grid[1] * grid[2] * kernel["num_warps"] * 32 * one)


def _seconds(kernel: dict[str, Any], grid: list[int]) -> float:
    warps = grid[0] * grid[1] * grid[2] * kernel["num_warps"]
    slots = sum(count * COST.get(name.partition(".")[0], 1.0) for name, count in kernel["instructions"].items())
    return float(warps * slots) / (SCHEDULERS * HERTZ * math.sqrt(max(occupancy(kernel), 1 / WARPS)))


def occupancy(kernel: dict[str, Any]) -> float:
    """Warps that fit one multiprocessor at a time, of the most it can hold."""
    warps = max(int(kernel["num_warps"]), 1)
    blocks = WARPS // warps
    if kernel["registers"]:
        blocks = min(blocks, REGISTERS // (-(-kernel["registers"] // 8) * 8 * 32 * warps))
    if kernel["shared"]:
        blocks = min(blocks, SHARED // (kernel["shared"] + 1024))
    return float(max(blocks, 0) * warps) / WARPS


def figures(case: Case, ours: dict[str, Any], theirs: dict[str, Any], pairs: int) -> Timed:
    """The static figure in the place of samples; there is no scatter, so all are the same."""
    return Timed(case, [ours["seconds"]] * pairs, [theirs["seconds"]] * pairs, 1, 0.0)
