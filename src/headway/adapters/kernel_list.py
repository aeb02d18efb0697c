"""The list of kernels that `headway validate static` compiles: a TOML file, checked once, then frozen values."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from headway.core.errors import HeadwayError

DEFAULT_ARCHS = ["sm_80", "sm_90", "sm_100"]


class KernelListError(HeadwayError):
    """The list is malformed; the message names file and key."""


def _arch(name: str) -> str:
    if not re.fullmatch(r"sm_\d{2,3}", name):
        raise ValueError(f"{name!r} is no architecture like sm_90")
    return name


def _relative(path: str) -> str:
    if not path or path.startswith("/") or "\0" in path:
        raise ValueError(f"{path!r} is no path relative to the list's folder")
    return path


_Arch = Annotated[str, AfterValidator(_arch)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Kernel(_Table):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    file: Annotated[str, AfterValidator(_relative)]
    function: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    arguments: dict[str, bool | int | float | str]
    constants: dict[str, bool | int | float | str] = Field(default_factory=dict)
    options: dict[str, int] = Field(default_factory=dict)
    archs: list[_Arch] = Field(default_factory=list)


class _Threshold(_Table):
    least: Annotated[int, Field(ge=0)]
    percent: Annotated[float, Field(ge=0, strict=False)] = 0.0
    fewer: bool = False


class _File(_Table):
    archs: list[_Arch] = Field(default_factory=lambda: list(DEFAULT_ARCHS), min_length=1)
    path: list[Annotated[str, AfterValidator(_relative)]] = Field(default_factory=list)
    seconds: Annotated[float, Field(gt=0, le=3600, strict=False)] = 120.0
    toolchain: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    threshold: dict[str, _Threshold] = Field(default_factory=dict)
    kernel: list[_Kernel] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class KernelTables:
    """The list as plain tables, for `headway.wiring.static` to make values of. `seconds` bounds one compilation.

    `path` are folders, relative to the list, in which kernels' files find what they import.
    """

    archs: tuple[int, ...]
    path: tuple[str, ...]
    seconds: float
    toolchains: dict[str, str]
    thresholds: dict[str, dict[str, Any]]
    kernels: tuple[dict[str, Any], ...]


def read_kernel_list(path: Path) -> KernelTables:
    """The list in a file. Raises KernelListError."""
    try:
        content = path.read_bytes()
    except OSError as trouble:
        raise KernelListError(
            f"The list of kernels {path} cannot be read: {trouble.strerror}.",
            "Name a TOML file with [[kernel]] tables.",
        ) from trouble
    return parse_kernel_list(content, str(path))


def parse_kernel_list(content: bytes, source: str) -> KernelTables:
    """The list in `content`; `source` is named in errors. Raises KernelListError."""
    try:
        file = _File.model_validate(tomllib.loads(content.decode("utf-8")))
    except UnicodeDecodeError as fault:
        raise KernelListError(f"{source} is not UTF-8 (byte {fault.start}).", "Save it as UTF-8.") from fault
    except tomllib.TOMLDecodeError as fault:
        raise KernelListError(f"{source} is not valid TOML: {fault}.", "Mend that line.") from fault
    except ValidationError as faults:
        first = faults.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = first["msg"].removeprefix("Value error, ")
        raise KernelListError(
            f"{source}: {where or 'the file'}: {reason}.", "docs/validate.md shows such a list."
        ) from faults
    names = [one.name for one in file.kernel]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise KernelListError(f"{source} has two kernels called {twice!r}.", "Give each a name of its own.")
    return KernelTables(
        tuple(_number(one) for one in file.archs),
        tuple(file.path),
        file.seconds,
        dict(file.toolchain),
        {name: one.model_dump() for name, one in file.threshold.items()},
        tuple({**one.model_dump(), "archs": tuple(_number(arch) for arch in one.archs)} for one in file.kernel),
    )


def _number(arch: str) -> int:
    return int(arch.removeprefix("sm_"))
