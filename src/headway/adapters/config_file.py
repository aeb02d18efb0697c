"""headway.toml's edge: TOML bytes -> validated -> `core.config.Config`. Every fault is one sentence naming the key."""

import difflib
import hashlib
import re
import tomllib
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from headway.adapters.config_steps import L1Table, Line, Regex, Table, steps_of
from headway.adapters.config_tiers import TiersTables, tiers_of
from headway.core.config import (
    CONFIG_NAME,
    AdoptConfig,
    AgentConfig,
    AllowedSkip,
    CanaryRule,
    Config,
    ForkConfig,
    Invariant,
    LandingConfig,
    PlanConfig,
    PolicyRule,
    UpstreamConfig,
    WatchConfig,
)
from headway.core.errors import HeadwayError
from headway.core.names import Digest

_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|@\{|\.\.|//|^/|/$|\.$|(^|/)\.|\.lock(/|$)|^@$")


class ConfigError(HeadwayError):
    """headway.toml is malformed; the message names file, key and the nearest valid key."""


def _branch_name(name: str) -> str:
    """git's own rules (check-ref-format), so that no run ends at a branch that cannot be moved, or an option."""
    if not name or name.startswith("-") or _NO_BRANCH.search(name):
        raise ValueError(f"{name!r} is no name for a branch")
    return name


_Branch = Annotated[str, AfterValidator(_branch_name)]


class _Upstream(Table):
    url: Annotated[Line, Field(min_length=1)]
    branch: _Branch = "main"


class _Fork(Table):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    trunk: _Branch = "main"


class _Landing(Table):
    mode: Literal["branch", "pull-request", "direct"] = "branch"
    branch: _Branch = "headway/sync"
    hooks: Literal["run", "skip"] = "run"
    remote: Annotated[str, Field(pattern=r"^[^-]")] = "origin"


class _Watch(Table):
    alarm_hours: Annotated[float, Field(gt=0, strict=False)] = 24.0


class _Plan(Table):
    bundle: Annotated[int, Field(ge=1, le=1000)] = 20
    window: Annotated[int, Field(ge=1, le=100_000)] = 70


class _Agent(Table):
    use: Literal["model", "command"]
    model: Line = ""
    base_url: Line = ""
    command: Line = ""
    env: list[str] = Field(default_factory=list)
    seconds: Annotated[float, Field(gt=0, le=86400, strict=False)] = 600.0
    tries: Annotated[int, Field(ge=1, le=100)] = 3
    tokens: Annotated[int, Field(ge=1)] = 2_000_000
    money: Annotated[float, Field(ge=0, strict=False)] = 0.0


_Globs = Annotated[list[str], Field(default_factory=list)]


class _Policy(Table):
    paths: Annotated[list[str], Field(min_length=1)]
    decide: Literal["wont_port", "later"]
    reason: Annotated[str, Field(min_length=1)]


class _Invariant(Table):
    paths: Annotated[list[str], Field(min_length=1)]
    pattern: Regex
    at_least: Annotated[int, Field(ge=0)] = 1
    reason: str = ""


class _Canary(Table):
    name: Annotated[str, Field(min_length=1)]
    path: Annotated[str, Field(min_length=1)]
    find: Annotated[str, Field(min_length=1)]
    replace: str


class _AllowedSkip(Table):
    tests: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]
    until: date | None = None


class _Protect(Table):
    paths: _Globs


class _Adopt(Table):
    subject_patterns: list[Regex] = Field(default_factory=list)
    body_patterns: list[Regex] = Field(default_factory=list)


class _File(TiersTables):
    upstream: _Upstream
    fork: _Fork
    landing: _Landing = Field(default_factory=_Landing)
    plan: _Plan = Field(default_factory=_Plan)
    watch: _Watch = Field(default_factory=_Watch)
    agent: _Agent | None = None
    l1: L1Table | None = None
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


def _frozen(file: _File, digest: Digest, source: str) -> Config:
    l1 = steps_of(file.l1, file.l1.test) if file.l1 is not None else None
    try:
        tiers = tiers_of(file, l1)
    except ValueError as fault:
        raise ConfigError(f"{source}: {fault}.", "docs/config.md says what it takes.") from fault
    return Config(
        upstream=UpstreamConfig(file.upstream.url, file.upstream.branch),
        fork=ForkConfig(file.fork.id, file.fork.trunk),
        landing=LandingConfig(file.landing.mode, file.landing.branch, file.landing.hooks, file.landing.remote),
        watch=WatchConfig(file.watch.alarm_hours),
        plan=PlanConfig(file.plan.bundle, file.plan.window),
        agent=None if (agent := file.agent) is None else AgentConfig(**{**agent.model_dump(), "env": tuple(agent.env)}),
        l1=l1,
        policy=tuple(PolicyRule(tuple(p.paths), p.decide, p.reason) for p in file.policy),
        invariant=tuple(Invariant(tuple(i.paths), i.pattern, i.at_least, i.reason) for i in file.invariant),
        protected_paths=(CONFIG_NAME, *file.protect.paths),
        adopt=AdoptConfig(tuple(file.adopt.subject_patterns), tuple(file.adopt.body_patterns)),
        allowed_skip=tuple(AllowedSkip(a.tests, a.reason, a.until) for a in file.allowed_skip),
        canary=tuple(CanaryRule(c.name, c.path, c.find, c.replace) for c in file.canary),
        tiers=tiers,
        digest=digest,
        source=source,
    )
