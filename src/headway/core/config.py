"""headway.toml as frozen values. `adapters/config_file.py` reads the file; rooms see only these."""

from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from headway.core.config_steps import L1Config as L1Config
from headway.core.config_steps import StepConfig as StepConfig
from headway.core.config_tiers import TiersConfig
from headway.core.names import Digest

LandingMode = Literal["branch", "pull-request", "direct"]
CONFIG_NAME = "headway.toml"


@dataclass(frozen=True, slots=True)
class UpstreamConfig:
    """The project followed: a path or URL, and the branch whose first-parent line counts."""

    url: str
    branch: str = "main"


@dataclass(frozen=True, slots=True)
class ForkConfig:
    """`id` names the ledger stream `fork/<id>`; `trunk` is the fork's main branch."""

    id: str
    trunk: str = "main"


@dataclass(frozen=True, slots=True)
class LandingConfig:
    """Where green picks go. `branch` (default) never touches trunk."""

    mode: LandingMode = "branch"
    branch: str = "headway/sync"
    hooks: Literal["run", "skip"] = "run"
    """Whether the owner's message hooks and his reference-transaction hook are run for landings."""
    remote: str = "origin"
    """Mode `pull-request`: the git remote (name, path or URL) that holds trunk and gets the landing branch."""


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """`alarm_hours`: how long the frontier may stand still while commits wait, before that is an alarm."""

    alarm_hours: float = 24.0


@dataclass(frozen=True, slots=True)
class PlanConfig:
    """How pending changes are put into streams."""

    bundle: int = 20
    """Changes that land together at most: a bundle is one review, and group testing has to look into it."""
    window: int = 70
    """A bundle's members lie within so many pending changes: how far a change may be taken ahead of its elders."""


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """Who is asked about conflicts that the ladder leaves. Keys are named by their variable, never written here."""

    use: Literal["model", "command"]
    model: str = ""
    """`provider:name`, for `model`."""
    base_url: str = ""
    """A server that speaks the provider's protocol, instead of the provider's own."""
    command: str = ""
    """A coding CLI's command line, for `command`; `{request}` in it is the request's file."""
    env: tuple[str, ...] = ()
    """Variables that the CLI may see beside PATH, LANG, LC_ALL and TERM."""
    seconds: float = 600.0
    """For one proposal."""
    tries: int = 3
    """Proposals for one conflict."""
    tokens: int = 2_000_000
    """For all proposals of one run, as the provider counts them."""
    money: float = 0.0
    """The same in the provider's currency; 0: not bounded."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A change all of whose paths match one of `paths` (git pathspec globs) is decided without an attempt."""

    paths: tuple[str, ...]
    decide: Literal["wont_port", "later"]
    reason: str


@dataclass(frozen=True, slots=True)
class Invariant:
    """`pattern` (a regex) must match in every file of `paths` as often as on trunk, at least `at_least` times."""

    paths: tuple[str, ...]
    pattern: str
    at_least: int = 1
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CanaryRule:
    """A hand-written known-bad change: in `path`, the first `find` becomes `replace`, and the suite must turn red."""

    name: str
    path: str
    find: str
    replace: str


@dataclass(frozen=True, slots=True)
class AllowedSkip:
    """Tests (a glob over identities) that may be missing from a census, who answers why, and until when (inclusive)."""

    tests: str
    reason: str
    until: date | None = None


@dataclass(frozen=True, slots=True)
class AdoptConfig:
    """Extra regexes by which the fork's own messages name what they took; group `sha` or `pr` is read."""

    subject_patterns: tuple[str, ...] = ()
    body_patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """The whole of one headway.toml. `digest` is the sha256 of the file's bytes; `source` says which file it was."""

    upstream: UpstreamConfig
    fork: ForkConfig
    l1: L1Config | None
    digest: Digest
    source: str
    landing: LandingConfig = LandingConfig()
    plan: PlanConfig = PlanConfig()
    watch: WatchConfig = WatchConfig()
    agent: AgentConfig | None = None
    policy: tuple[PolicyRule, ...] = ()
    invariant: tuple[Invariant, ...] = ()
    protected_paths: tuple[str, ...] = (CONFIG_NAME,)
    adopt: AdoptConfig = AdoptConfig()
    allowed_skip: tuple[AllowedSkip, ...] = ()
    canary: tuple[CanaryRule, ...] = ()
    tiers: TiersConfig = field(default_factory=TiersConfig)
