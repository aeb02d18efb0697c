"""What a `command` task adds to a task: a tree of files, a metric command, and who may change what. Values only.

A *step* is up to two programs. `run` may execute what the candidate wrote; no word of it is believed. `command` runs
after everything of `run` has ended, in a sandbox of its own, and only reads: its exit code and its number count.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Direction = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Step:
    """`{task}`, `{tree}`, `{out}`, `{tools}`, `{python}` in an argument are replaced. Seconds hold for each program."""

    name: str
    command: tuple[str, ...]
    run: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Metric:
    """One number a run. A sample is the mean of `repetitions` runs, plus `add`, which metrics that reach 0 need."""

    step: Step
    direction: Direction
    repetitions: int
    deterministic: bool
    """Two runs on the same tree give the same number; one that does not is refused, and two blocks are enough."""
    add: float
    floor: float | None
    """What the metric cannot honestly be better than; such a candidate is quarantined."""

    def cost(self, value: float) -> float:
        """The number the statistics work on: positive, and smaller is better. NaN where there is none."""
        moved = value + self.add
        if not math.isfinite(moved) or moved <= 0:
            return math.nan
        return moved if self.direction == "lower" else 1 / moved

    def beyond_floor(self, value: float) -> bool:
        """Better than can be."""
        if self.floor is None:
            return False
        return value < self.floor if self.direction == "lower" else value > self.floor


@dataclass(frozen=True, slots=True)
class Guard:
    """What must hold of every candidate. Exit code 0 holds, 1 refuses; a held-out one is not named to agents."""

    step: Step
    held_out: bool
    screen: bool
    """Also asked before the first look, since it is quick."""


@dataclass(frozen=True, slots=True)
class Protected:
    """Another number, which may not get worse than the baseline's by more than the share `may_lose`."""

    step: Step
    direction: Direction
    may_lose: float


@dataclass(frozen=True, slots=True)
class Canary:
    """A known-bad version of a frozen file: with it in the tree, the guard named must refuse the candidate."""

    name: str
    guard: str
    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Setup:
    """Fetches tools once, by lock file, into `{tools}`. Trusted: it has the network and the user's own settings."""

    command: tuple[str, ...]
    inputs: tuple[str, ...]
    """Files of the task's folder that are copied into `{tools}` first; their contents name the cache."""
    seconds: float


@dataclass(frozen=True, slots=True)
class CommandTask:
    """Everything in the tree that no `editable` pattern matches, or a `frozen` one does, stays as it is."""

    tree: Path
    editable: tuple[str, ...]
    frozen: tuple[str, ...]
    tests: tuple[str, ...]
    """Python tests among the editable files: none may be deleted, skipped or weakened."""
    needs: tuple[str, ...]
    """Programs on PATH; `python:NAME` is a module of the interpreter."""
    setup: Setup | None
    metric: Metric
    guards: tuple[Guard, ...]
    protected: tuple[Protected, ...]
    canaries: tuple[Canary, ...]

    def may_edit(self, path: str) -> bool:
        """Whether a candidate may add, change or take away this file."""
        return matches(path, self.editable) and not matches(path, self.frozen)

    def is_test(self, path: str) -> bool:
        """Whether the file holds tests that are kept by rule."""
        return matches(path, self.tests)


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether any pattern matches the whole path: `*` and `?` stay inside a folder, `**` crosses folders."""
    return any(_pattern(pattern).fullmatch(path) for pattern in patterns)


def _pattern(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a metric command's output is not one finite number."""

    message: str
    finite: bool = True


def number_in(output: str) -> float | Unreadable:
    """The number a metric command printed. It must stand alone: a guess would take a version for a result."""
    text = output.strip()
    words = text.split()
    if not words:
        return Unreadable("it printed nothing on stdout")
    shown = text if len(text) <= 80 else text[:78] + " …"
    numbers = [word for word in words if _as_number(word) is not None]
    if len(words) > 1:
        if len(numbers) > 1:
            return Unreadable(f"it printed {len(numbers)} numbers: {shown!r}")
        where = "a number among other words" if numbers else "words and no number"
        return Unreadable(f"it printed {where}: {shown!r}")
    value = _as_number(words[0])
    if value is None:
        return Unreadable(f"it printed {shown!r}, which is no number")
    if not math.isfinite(value):
        return Unreadable(f"it printed {shown!r}", finite=False)
    return value


def _as_number(word: str) -> float | None:
    try:
        return float(word) if "_" not in word else None
    except ValueError:
        return None


def filled(argv: tuple[str, ...], places: Mapping[str, str]) -> tuple[str, ...]:
    """The arguments with `{name}` replaced for each place there is; other braces stay."""
    done = []
    for part in argv:
        for name, value in places.items():
            part = part.replace("{" + name + "}", value)
        done.append(part)
    return tuple(done)
