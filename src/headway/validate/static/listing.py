"""What is compiled and by what: kernels of a list, toolchains, and the fingerprints that came out. Values only."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headway.core.errors import HeadwayError
from headway.core.fingerprint import Fingerprint

Outcome = Literal["compiled", "failed", "could_not_run"]
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel as a launch would call it. `file` is relative to the list's folder.

    An argument is `"*fp32"` (a pointer that 16 divides), `"bf16[64, 128]"` (a tensor descriptor with such blocks) or
    the scalar that is passed, on which Triton specialises. A constant may be a type, as in `"tl.float16"`.
    """

    name: str
    file: str
    function: str
    arguments: Mapping[str, Value]
    constants: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, int] = field(default_factory=dict)
    archs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Python that has a Triton. `name` is how people call it."""

    name: str
    python: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """One kernel on one architecture. `fingerprint` is None unless it compiled; digests are of PTX and machine code."""

    kernel: str
    arch: int
    outcome: Outcome
    message: str = ""
    fingerprint: Fingerprint | None = None
    opcodes: Mapping[str, int] = field(default_factory=dict)
    num_warps: int = 0
    ptx: str = ""
    sass: str = ""
    stood_in: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As tests and metrics call it: `softmax/sm_90`."""
        return f"{self.kernel}/sm_{self.arch}"


@dataclass(frozen=True, slots=True)
class Side:
    """Everything one toolchain made of one tree. With `trouble` it made nothing, and nothing is decided."""

    label: str
    toolchain: Mapping[str, Any]
    trouble: str
    kernels: tuple[Compiled, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values; the same input gives the same ones, for they hold no times and no places."""
        return {
            "label": self.label,
            "toolchain": dict(self.toolchain),
            "trouble": self.trouble,
            "kernels": [_compiled_json(one) for one in self.kernels],
        }


def side_from_json(raw: Mapping[str, Any]) -> Side:
    """The inverse of `Side.to_json`. Raises HeadwayError for what is no such thing."""
    try:
        kernels = tuple(_compiled(one) for one in raw["kernels"])
        return Side(str(raw["label"]), dict(raw["toolchain"]), str(raw["trouble"]), kernels)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise HeadwayError(
            f"The report of fingerprints is damaged: {type(fault).__name__}: {fault}.", "Make it again with --save."
        ) from fault


def digest(text: str) -> str:
    """sha256, first 16 digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def canonical(report: Mapping[str, Any]) -> str:
    """A report as text: sorted keys, so that equal reports are equal bytes."""
    return json.dumps(report, sort_keys=True, indent=1) + "\n"


def with_archs(kernels: Iterable[Kernel], archs: tuple[int, ...]) -> tuple[Kernel, ...]:
    """The kernels with `archs` where they name none of their own."""
    return tuple(
        Kernel(one.name, one.file, one.function, one.arguments, one.constants, one.options, one.archs or archs)
        for one in kernels
    )


def _compiled_json(one: Compiled) -> dict[str, Any]:
    found = one.fingerprint
    made: dict[str, Any] = {"kernel": one.kernel, "arch": f"sm_{one.arch}", "outcome": one.outcome}
    if found is None:
        return {**made, "message": one.message}
    return {
        **made,
        "registers": found.registers,
        "shared": found.shared,
        "stack": found.stack,
        "spill_stores": found.spill_stores,
        "spill_loads": found.spill_loads,
        "barriers": found.barriers,
        "instructions": dict(found.instructions),
        "opcodes": dict(sorted(one.opcodes.items())),
        "num_warps": one.num_warps,
        "ptx": one.ptx,
        "sass": one.sass,
        "stood_in": list(one.stood_in),
    }


def _compiled(raw: Mapping[str, Any]) -> Compiled:
    outcome: Outcome = raw["outcome"]
    if outcome not in ("compiled", "failed", "could_not_run"):
        raise ValueError(f"outcome {outcome!r}")
    kernel, arch = str(raw["kernel"]), int(raw["arch"].removeprefix("sm_"))
    if outcome != "compiled":
        return Compiled(kernel, arch, outcome, str(raw["message"]))
    found = Fingerprint(
        kernel,
        int(raw["registers"]),
        int(raw["shared"]),
        int(raw["stack"]),
        int(raw["spill_stores"]),
        int(raw["spill_loads"]),
        dict(raw["instructions"]),
        int(raw["barriers"]),
    )
    return Compiled(
        kernel,
        arch,
        outcome,
        "",
        found,
        dict(raw["opcodes"]),
        int(raw["num_warps"]),
        str(raw["ptx"]),
        str(raw["sass"]),
        tuple(raw["stood_in"]),
    )
