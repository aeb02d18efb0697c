"""How a suite is run: its steps, and what they leave behind."""

from dataclasses import dataclass, field
from typing import Literal


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
    metrics: tuple[str, ...] = ()
    """Globs of files of measurements that `test` writes: pytest-benchmark JSON, or lines `name value unit`."""
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
    prove: Literal["once", "each"] = "once"
    """`each`: every change must show again that L1 sees it, which is one more run."""
