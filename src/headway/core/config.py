"""headway.toml as frozen values. `adapters/config_file.py` reads the file; rooms see only these."""

from dataclasses import dataclass, field
from datetime import date
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class PlanConfig:
    """How pending changes are put into streams."""

    bundle: int = 20
    """Changes that land together at most: a bundle is one review, and group testing has to look into it."""
    window: int = 70
    """A bundle's members lie within so many pending changes: how far a change may be taken ahead of its elders."""


@dataclass(frozen=True, slots=True)
class StepConfig:
    """One L1 step: a command line for `sh -c` in the clone, its limit in seconds, whether it may use the network."""

    run: str
    timeout_seconds: float = 900.0
    network: bool = False


@dataclass(frozen=True, slots=True)
class L1Config:
    """`setup`, `build` and `test` run in that order, in a separate clone of the revision.

    `junit` are globs of JUnit XML files that `test` writes; without one the test step is judged by its exit code and
    `count_pattern` (a regex whose named groups `passed`, `failed`, `skipped` are counts in its output).
    `cache` are ignored paths of the clone that survive from run to run (a venv, a build folder).
    """

    test: StepConfig
    setup: StepConfig | None = None
    build: StepConfig | None = None
    junit: tuple[str, ...] = ()
    count_pattern: str = ""
    env: tuple[str, ...] = ("PATH", "LANG", "LC_ALL", "TZ")
    set_env: dict[str, str] = field(default_factory=dict)
    cache: tuple[str, ...] = ()
    reruns: int = 0
    """More runs on both sides, at most, to tell a flaky failure from a new one."""
    harness: Literal["", "pytest", "lit"] = ""
    """`pytest`: headway's own plugin reports collection, deselection and every outcome; `lit`: its JSON output with
    features. "": JUnit, counts or the exit code."""
    canary_paths: tuple[str, ...] = ()
    """Files to break for the proof that L1 is not blind; empty: headway chooses."""


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
    policy: tuple[PolicyRule, ...] = ()
    invariant: tuple[Invariant, ...] = ()
    protected_paths: tuple[str, ...] = (CONFIG_NAME,)
    adopt: AdoptConfig = AdoptConfig()
    allowed_skip: tuple[AllowedSkip, ...] = ()
    canary: tuple[CanaryRule, ...] = ()
