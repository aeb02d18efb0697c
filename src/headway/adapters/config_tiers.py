"""The tables of headway.toml that make up the tiers, validated, as `core.config_tiers` has them.

What they say of each other (a tier names a suite that exists) is checked here too, since only here all are known.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from headway.adapters.config_steps import InsideGlobs, Line, StepOrLine, StepsTable, Table, steps_of
from headway.core.config import L1Config
from headway.core.config_tiers import (
    L1_SUITE,
    ForgeConfig,
    OwnerRule,
    QuorumRule,
    SignoffConfig,
    SuiteConfig,
    TierConfig,
    TiersConfig,
    Waiver,
)

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


def _pause(value: Any) -> float:
    return 0.0 if value == "0s" else _seconds(value)


def _seconds(value: Any) -> float:
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is not None and float(found[1]) > 0:
        return float(found[1]) * _UNITS[found[2]]
    raise ValueError(f"{value!r} is no length of time such as 90s, 30m, 24h or 7d")


def _tier_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError(f"{name!r} is no name: letters, digits, dots, dashes and underscores only")
    return name


Duration = Annotated[float, BeforeValidator(_seconds)]
Name = Annotated[str, AfterValidator(_tier_name)]
Texts = Annotated[list[Annotated[str, Field(min_length=1)]], Field(default_factory=list)]
Sentence = Annotated[str, Field(min_length=1)]
Amount = Annotated[float, Field(gt=0, strict=False)]


class SuiteTable(StepsTable):
    """A suite is all that `[l1]` is, and more; one without `test` is run elsewhere and reports through `ingest`."""

    name: Name
    test: StepOrLine | None = None
    higher_is_better: Texts
    method_paths: InsideGlobs
    owners: Texts
    gpus: Annotated[int, Field(ge=0)] = 0
    devices: Texts


class TierTable(Table):
    """`[[tier]]`."""

    name: Name
    suites: Annotated[list[str], Field(min_length=1)]
    every: Duration | None = None
    grace: Duration | None = None
    budget: Duration | None = None
    gpu_hours: Amount | None = None
    culprit_budget: Duration = 3600.0
    culprit_gpu_hours: Amount | None = None
    canaries_every: Duration | None = None
    mutants: Annotated[int, Field(ge=0, le=1000)] = 4
    detection_floor: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.0
    owners: Texts


class QuorumTable(Table):
    """`[[quorum]]`."""

    name: Name
    suites: Annotated[list[str], Field(min_length=2)]
    tests: Annotated[list[str], Field(min_length=1, default_factory=lambda: ["*"])]


class WaiverTable(Table):
    """`[[waiver]]`: `until` is not optional."""

    tests: Sentence
    by: Sentence
    reason: Sentence
    until: date


class OwnerTable(Table):
    """`[[owner]]`."""

    tests: Annotated[list[str], Field(min_length=1)]
    people: Annotated[list[str], Field(min_length=1)]


class SignoffTable(Table):
    """`[signoff]`."""

    allowed_signers: Line = "allowed_signers"
    valid: Duration = 72 * 3600.0
    stable: Line = "stable"
    needs: list[str] = Field(default_factory=lambda: ["L2"])


class ForgeTable(Table):
    """`[forge]`."""

    kind: Literal["github", "folder"]
    repository: Annotated[Line, Field(min_length=1)]
    api_url: Line = "https://api.github.com"
    token_variable: Line = "GITHUB_TOKEN"
    pause: Annotated[float, BeforeValidator(_pause)] = 1.0


class TiersTables(Table):
    """Mixed into the file's own model: the keys of headway.toml that are the tiers'."""

    suite: list[SuiteTable] = Field(default_factory=list)
    tier: list[TierTable] = Field(default_factory=list)
    quorum: list[QuorumTable] = Field(default_factory=list)
    waiver: list[WaiverTable] = Field(default_factory=list)
    owner: list[OwnerTable] = Field(default_factory=list)
    signoff: SignoffTable = Field(default_factory=SignoffTable)
    forge: ForgeTable | None = None


def tiers_of(file: TiersTables, l1: L1Config | None) -> TiersConfig:
    """The frozen values. Raises ValueError (a sentence that names the key) where tables contradict each other."""
    suites = [*([SuiteConfig(L1_SUITE, l1)] if l1 is not None else []), *(_suite(table) for table in file.suite)]
    tiers = [_tier(table) for table in file.tier]
    _once([one.name for one in suites], "suite")
    _once([one.name for one in tiers], "tier")
    names = {one.name for one in suites}
    for kind, name, wanted in [
        *(("tier", one.name, one.suites) for one in tiers),
        *(("quorum", q.name, q.suites) for q in file.quorum),
    ]:
        for suite in wanted:
            if suite not in names:
                raise ValueError(f"{kind} {name!r} names the suite {suite!r}, and there is no such suite")
    return TiersConfig(
        suites=tuple(suites),
        tiers=tuple(tiers),
        quorums=tuple(QuorumRule(q.name, tuple(q.suites), tuple(q.tests)) for q in file.quorum),
        waivers=tuple(Waiver(w.tests, w.by, w.reason, w.until) for w in file.waiver),
        owners=tuple(OwnerRule(tuple(o.tests), tuple(o.people)) for o in file.owner),
        signoff=SignoffConfig(
            file.signoff.allowed_signers, file.signoff.valid / 3600, file.signoff.stable, tuple(file.signoff.needs)
        ),
        forge=_forge(file.forge),
    )


def _suite(table: SuiteTable) -> SuiteConfig:
    return SuiteConfig(
        name=table.name,
        steps=steps_of(table, table.test) if table.test is not None else None,
        higher_is_better=tuple(table.higher_is_better),
        method_paths=tuple(table.method_paths),
        owners=tuple(table.owners),
        gpus=table.gpus,
        devices=tuple(table.devices),
    )


def _tier(table: TierTable) -> TierConfig:
    default_grace = table.every / 2 if table.every is not None else 0.0
    return TierConfig(
        name=table.name,
        suites=tuple(table.suites),
        every_seconds=table.every,
        grace_seconds=table.grace if table.grace is not None else default_grace,
        budget_seconds=table.budget,
        gpu_hours=table.gpu_hours,
        culprit_seconds=table.culprit_budget,
        culprit_gpu_hours=table.culprit_gpu_hours,
        canaries_every_seconds=table.canaries_every,
        mutants=table.mutants,
        detection_floor=table.detection_floor,
        owners=tuple(table.owners),
    )


def _forge(table: ForgeTable | None) -> ForgeConfig | None:
    if table is None:
        return None
    return ForgeConfig(table.kind, table.repository, table.api_url, table.token_variable, table.pause)


def _once(names: Sequence[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the {what} {name!r} is declared twice")
