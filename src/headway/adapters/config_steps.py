"""What tables of headway.toml have in common: strictness, lines and globs, and the steps of a suite."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from headway.core.config import L1Config, StepConfig


def _as_step(value: Any) -> Any:
    if not isinstance(value, str | dict | BaseModel):
        raise ValueError("it takes a line for `sh -c` or a table")
    return {"run": value} if isinstance(value, str) else value


def compiles(pattern: str) -> str:
    """A regular expression, as it is. Raises ValueError."""
    try:
        re.compile(pattern)
    except re.error as fault:
        raise ValueError(f"is not a regular expression: {fault}") from fault
    return pattern


def _inside(path: str) -> str:
    """A path or glob of the clone: headway itself removes stale reports and writes canaries, so never elsewhere."""
    parts = path.split("/")
    if not path.strip("/.") or path.startswith("/") or "\0" in path or ".." in parts:
        raise ValueError(f"{path!r} is no path below the root of the clone")
    if any("**" in part and part != "**" for part in parts):
        raise ValueError(f"in {path!r}, ** must be a whole part of the path")
    return path


def _no_nul(line: str) -> str:
    if "\0" in line:
        raise ValueError("has a NUL character")
    return line


class Table(BaseModel):
    """Unknown keys and other types than the declared ones are errors."""

    model_config = ConfigDict(extra="forbid", strict=True)


Line = Annotated[str, AfterValidator(_no_nul)]
Regex = Annotated[str, BeforeValidator(compiles)]
InsideGlobs = Annotated[list[Annotated[str, AfterValidator(_inside)]], Field(default_factory=list)]


class StepTable(Table):
    """One step."""

    run: Annotated[Line, Field(min_length=1)]
    timeout_seconds: Annotated[float, Field(gt=0, le=7 * 86400, strict=False)] = 900.0
    network: bool = False


StepOrLine = Annotated[StepTable, BeforeValidator(_as_step)]


class StepsTable(Table):
    """Everything about running a suite but its test step."""

    setup: StepOrLine | None = None
    build: StepOrLine | None = None
    junit: InsideGlobs
    metrics: InsideGlobs
    count_pattern: Regex = ""
    env: list[str] = Field(default_factory=lambda: ["PATH", "LANG", "LC_ALL", "TZ"])
    set_env: dict[str, Line] = Field(default_factory=dict)
    cache: InsideGlobs
    reruns: Annotated[int, Field(ge=0, le=1000)] = 0
    harness: Literal["", "pytest", "lit"] = ""
    canary_paths: InsideGlobs
    prove: Literal["once", "each"] = "once"


class L1Table(StepsTable):
    """`[l1]`."""

    test: StepOrLine


def steps_of(table: StepsTable, test: StepTable) -> L1Config:
    """The frozen steps."""
    return L1Config(
        test=_frozen(test),
        setup=_frozen(table.setup) if table.setup else None,
        build=_frozen(table.build) if table.build else None,
        junit=tuple(table.junit),
        metrics=tuple(table.metrics),
        count_pattern=table.count_pattern,
        env=tuple(table.env),
        set_env=dict(table.set_env),
        cache=tuple(table.cache),
        reruns=table.reruns,
        harness=table.harness,
        canary_paths=tuple(table.canary_paths),
        prove=table.prove,
    )


def _frozen(step: StepTable) -> StepConfig:
    return StepConfig(step.run, step.timeout_seconds, step.network)
