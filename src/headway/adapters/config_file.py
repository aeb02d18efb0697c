"""headway.toml's edge: TOML bytes -> validated -> `core.config.Config`. Every fault is one sentence naming the key."""

import difflib
import hashlib
import re
import tomllib
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from headway.core.config import (
    CONFIG_NAME,
    AdoptConfig,
    AllowedSkip,
    CanaryRule,
    Config,
    ForkConfig,
    Invariant,
    L1Config,
    LandingConfig,
    PlanConfig,
    PolicyRule,
    StepConfig,
    UpstreamConfig,
)
from headway.core.errors import HeadwayError
from headway.core.names import Digest

_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|@\{|\.\.|//|^/|/$|\.$|(^|/)\.|\.lock(/|$)|^@$")


class ConfigError(HeadwayError):
    """headway.toml is malformed; the message names file, key and the nearest valid key."""


def _as_step(value: Any) -> Any:
    if not isinstance(value, str | dict | BaseModel):
        raise ValueError("it takes a line for `sh -c` or a table")
    return {"run": value} if isinstance(value, str) else value


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as fault:
        raise ValueError(f"is not a regular expression: {fault}") from fault
    return pattern


def _branch_name(name: str) -> str:
    """git's own rules (check-ref-format), so that no run ends at a branch that cannot be moved, or an option."""
    if not name or name.startswith("-") or _NO_BRANCH.search(name):
        raise ValueError(f"{name!r} is no name for a branch")
    return name


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


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


_Branch = Annotated[str, AfterValidator(_branch_name)]
_Line = Annotated[str, AfterValidator(_no_nul)]


class _Upstream(_Table):
    url: Annotated[_Line, Field(min_length=1)]
    branch: _Branch = "main"


class _Fork(_Table):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    trunk: _Branch = "main"


class _Landing(_Table):
    mode: Literal["branch", "pull-request", "direct"] = "branch"
    branch: _Branch = "headway/sync"
    hooks: Literal["run", "skip"] = "run"


class _Plan(_Table):
    bundle: Annotated[int, Field(ge=1, le=1000)] = 20
    window: Annotated[int, Field(ge=1, le=100_000)] = 70


class _Step(_Table):
    run: Annotated[_Line, Field(min_length=1)]
    timeout_seconds: Annotated[float, Field(gt=0, le=7 * 86400, strict=False)] = 900.0
    network: bool = False


_StepOrLine = Annotated[_Step, BeforeValidator(_as_step)]
_Regex = Annotated[str, BeforeValidator(_compiles)]
_Globs = Annotated[list[str], Field(default_factory=list)]
_InsideGlobs = Annotated[list[Annotated[str, AfterValidator(_inside)]], Field(default_factory=list)]


class _L1(_Table):
    test: _StepOrLine
    setup: _StepOrLine | None = None
    build: _StepOrLine | None = None
    junit: _InsideGlobs
    count_pattern: _Regex = ""
    env: list[str] = Field(default_factory=lambda: ["PATH", "LANG", "LC_ALL", "TZ"])
    set_env: dict[str, _Line] = Field(default_factory=dict)
    cache: _InsideGlobs
    reruns: Annotated[int, Field(ge=0, le=1000)] = 0
    harness: Literal["", "pytest", "lit"] = ""
    canary_paths: _InsideGlobs


class _Policy(_Table):
    paths: Annotated[list[str], Field(min_length=1)]
    decide: Literal["wont_port", "later"]
    reason: Annotated[str, Field(min_length=1)]


class _Invariant(_Table):
    paths: Annotated[list[str], Field(min_length=1)]
    pattern: _Regex
    at_least: Annotated[int, Field(ge=0)] = 1
    reason: str = ""


class _Canary(_Table):
    name: Annotated[str, Field(min_length=1)]
    path: Annotated[str, Field(min_length=1)]
    find: Annotated[str, Field(min_length=1)]
    replace: str


class _AllowedSkip(_Table):
    tests: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]
    until: date | None = None


class _Protect(_Table):
    paths: _Globs


class _Adopt(_Table):
    subject_patterns: list[_Regex] = Field(default_factory=list)
    body_patterns: list[_Regex] = Field(default_factory=list)


class _File(_Table):
    upstream: _Upstream
    fork: _Fork
    landing: _Landing = Field(default_factory=_Landing)
    plan: _Plan = Field(default_factory=_Plan)
    l1: _L1 | None = None
    policy: list[_Policy] = Field(default_factory=list)
    invariant: list[_Invariant] = Field(default_factory=list)
    protect: _Protect = Field(default_factory=lambda: _Protect(paths=[]))
    adopt: _Adopt = Field(default_factory=_Adopt)
    allowed_skip: list[_AllowedSkip] = Field(default_factory=list)
    canary: list[_Canary] = Field(default_factory=list)


def parse_config(content: bytes, source: str) -> Config:
    """The config in `content`. `source` (a path, or `trunk:headway.toml`) is named in errors. Raises ConfigError."""
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as fault:
        raise ConfigError(f"{source} is not UTF-8 (byte {fault.start}).", "Save it as UTF-8.") from fault
    except tomllib.TOMLDecodeError as fault:
        raise ConfigError(f"{source} is not valid TOML: {fault}.", "Mend that line.") from fault
    try:
        file = _File.model_validate(table)
    except ValidationError as faults:
        raise _explained(faults, source) from faults
    return _frozen(file, Digest(hashlib.sha256(content).hexdigest()), source)


def _explained(faults: ValidationError, source: str) -> ConfigError:
    # a misspelt required key is both missing and unknown: the unknown one tells the user more
    fault = min(faults.errors(), key=lambda each: each["type"] != "extra_forbidden")
    path = [str(part) for part in fault["loc"]]
    shown = ".".join(path)
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(path[-1], list(_keys_at(path[:-1])), n=1, cutoff=0.0)
        hint = f"Did you mean {'.'.join([*path[:-1], near[0]])!r}?" if near else "Remove it."
        return ConfigError(f"{source} has an unknown key {shown!r}.", hint)
    if fault["type"] == "missing":
        return ConfigError(f"{source} lacks the key {shown!r}.", "Add it; docs/config.md lists every key.")
    reason = fault["msg"].removeprefix("Value error, ")
    return ConfigError(
        f"{source}: the value of {shown!r} is not usable: {reason}.", "docs/config.md says what it takes."
    )


def _keys_at(path: list[str]) -> Iterator[str]:
    """The valid keys of the table at `path` (list positions are skipped)."""
    model: type[BaseModel] = _File
    for part in path:
        if part.isdigit():
            continue
        found = _table_of(model.model_fields[part].annotation) if part in model.model_fields else None
        if found is None:
            return
        model = found
    yield from model.model_fields


def _table_of(annotation: Any) -> type[BaseModel] | None:
    """The table class inside `X`, `X | None`, `list[X]` or `Annotated[X, …]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if (found := _table_of(inner)) is not None:
            return found
    return None


def _step(step: _Step | None) -> StepConfig | None:
    return None if step is None else StepConfig(step.run, step.timeout_seconds, step.network)


def _l1(l1: _L1 | None) -> L1Config | None:
    if l1 is None:
        return None
    test = StepConfig(l1.test.run, l1.test.timeout_seconds, l1.test.network)
    return L1Config(
        test=test,
        setup=_step(l1.setup),
        build=_step(l1.build),
        junit=tuple(l1.junit),
        count_pattern=l1.count_pattern,
        env=tuple(l1.env),
        set_env=dict(l1.set_env),
        cache=tuple(l1.cache),
        reruns=l1.reruns,
        harness=l1.harness,
        canary_paths=tuple(l1.canary_paths),
    )


def _frozen(file: _File, digest: Digest, source: str) -> Config:
    return Config(
        upstream=UpstreamConfig(file.upstream.url, file.upstream.branch),
        fork=ForkConfig(file.fork.id, file.fork.trunk),
        landing=LandingConfig(file.landing.mode, file.landing.branch, file.landing.hooks),
        plan=PlanConfig(file.plan.bundle, file.plan.window),
        l1=_l1(file.l1),
        policy=tuple(PolicyRule(tuple(p.paths), p.decide, p.reason) for p in file.policy),
        invariant=tuple(Invariant(tuple(i.paths), i.pattern, i.at_least, i.reason) for i in file.invariant),
        protected_paths=(CONFIG_NAME, *file.protect.paths),
        adopt=AdoptConfig(tuple(file.adopt.subject_patterns), tuple(file.adopt.body_patterns)),
        allowed_skip=tuple(AllowedSkip(a.tests, a.reason, a.until) for a in file.allowed_skip),
        canary=tuple(CanaryRule(c.name, c.path, c.find, c.replace) for c in file.canary),
        digest=digest,
        source=source,
    )
