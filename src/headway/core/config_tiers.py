"""The tiers of a fork as data: suites and who owns them, how often they run, what they may cost, who approves.

`adapters/config_tiers.py` reads them from headway.toml. `[l1]` is the suite `l1`; every other one is a `[[suite]]`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal, TypeVar

from headway.core.config_steps import L1Config
from headway.core.errors import HeadwayError

L1_SUITE = "l1"
"""The name under which the `[l1]` section is a suite among the others."""


@dataclass(frozen=True, slots=True)
class SuiteConfig:
    """A named set of tests or measurements, and the people who answer for it.

    A suite without `steps` is `remote`: a pipeline elsewhere runs it and reports through `validate ingest`.
    """

    name: str
    steps: L1Config | None
    higher_is_better: tuple[str, ...] = ()
    """Globs over metric names; of all others less is better."""
    method_paths: tuple[str, ...] = ()
    """What measures, as opposed to what is measured: a change of these moves the baseline and is nobody's fault."""
    owners: tuple[str, ...] = ()
    gpus: int = 0
    """GPUs that one run holds from its beginning to its end: GPU-hours are these times its wall time."""
    devices: tuple[str, ...] = ()

    @property
    def remote(self) -> bool:
        """Nothing here can run it."""
        return self.steps is None

    def lower_is_better(self, metric: str) -> bool:
        """Whether a smaller value of this metric is the better one."""
        return not any(fnmatchcase(metric, pattern) for pattern in self.higher_is_better)


@dataclass(frozen=True, slots=True)
class TierConfig:
    """Suites that run together. Seconds and GPU-hours are budgets for one run of the tier, culprit searches apart."""

    name: str
    suites: tuple[str, ...]
    every_seconds: float | None = None
    """How often it is due on trunk; None: only when asked for."""
    grace_seconds: float = 0.0
    """How long after it was due it is overdue, which is an alarm."""
    budget_seconds: float | None = None
    gpu_hours: float | None = None
    culprit_seconds: float = 3600.0
    culprit_gpu_hours: float | None = None
    canaries_every_seconds: float | None = None
    """How often every harness of the tier is shown known-bad changes."""
    mutants: int = 4
    detection_floor: float = 0.0
    """Share of the generated mutants that a harness must catch."""
    owners: tuple[str, ...] = ()


Named = TypeVar("Named", SuiteConfig, TierConfig)


@dataclass(frozen=True, slots=True)
class QuorumRule:
    """Suites that run the same tests through different harnesses: per identity under `tests` they must agree."""

    name: str
    suites: tuple[str, ...]
    tests: tuple[str, ...] = ("*",)


@dataclass(frozen=True, slots=True)
class Waiver:
    """`by` answers for failures of `tests` (a glob over identities) being called unrelated, until a day (inclusive)."""

    tests: str
    by: str
    reason: str
    until: date

    def covers(self, test: str, today: date) -> bool:
        return today <= self.until and fnmatchcase(test, self.tests)


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """Who is asked about failures of tests (or metrics) that match one of `tests`."""

    tests: tuple[str, ...]
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignoffConfig:
    """L3: `allowed_signers` is a file of trunk as ssh-keygen reads it; an approval ends after `valid_hours`."""

    allowed_signers: str = "allowed_signers"
    valid_hours: float = 72.0
    stable: str = "stable"
    """The branch that `promote` moves."""
    needs: tuple[str, ...] = ("L2",)
    """Tiers that must be green on the very revision that is promoted."""


@dataclass(frozen=True, slots=True)
class ForgeConfig:
    """Where issues and pull requests go: a repository on GitHub, or a folder (the fake that ships)."""

    kind: Literal["github", "folder"]
    repository: str
    api_url: str = "https://api.github.com"
    token_variable: str = "GITHUB_TOKEN"
    pause_seconds: float = 1.0
    """Between two calls that write; a quarter of it between any two. GitHub asks for a second."""


@dataclass(frozen=True, slots=True)
class TiersConfig:
    """Everything of the validate room beyond `[l1]`, `[[allowed_skip]]` and `[[canary]]`."""

    suites: tuple[SuiteConfig, ...] = ()
    tiers: tuple[TierConfig, ...] = ()
    quorums: tuple[QuorumRule, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    owners: tuple[OwnerRule, ...] = ()
    signoff: SignoffConfig = SignoffConfig()
    forge: ForgeConfig | None = None

    def suite(self, name: str) -> SuiteConfig:
        """Raises HeadwayError naming those that exist."""
        return _named(name, self.suites, "suite")

    def tier(self, name: str) -> TierConfig:
        """Raises HeadwayError naming those that exist."""
        return _named(name, self.tiers, "tier")

    def owners_of(self, subject: str, suite: str) -> tuple[str, ...]:
        """People to ask about a test or metric: by `[[owner]]` rule, else its suite's, else its tier's."""
        for rule in self.owners:
            if any(fnmatchcase(subject, pattern) for pattern in rule.tests):
                return rule.people
        found = next((one.owners for one in self.suites if one.name == suite and one.owners), ())
        return found or next((tier.owners for tier in self.tiers if suite in tier.suites and tier.owners), ())


def _named(name: str, known: Iterable[Named], what: str) -> Named:
    names = []
    for one in known:
        if one.name == name:
            return one
        names.append(one.name)
    there = ", ".join(names) or "none is declared"
    raise HeadwayError(f"There is no {what} {name!r}.", f"headway.toml has: {there}.")
