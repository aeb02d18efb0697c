"""Runs a scenario in forked children of one process that has imported everything, and kills them at failpoints.

A scenario is prepared once in a folder; each trial works on a copy at the same path. A child dies by its own SIGKILL at
the N-th failpoint that it passes (`adapters/failpoints.py`), is started again without one, and must end with the same
picture as the run that nobody disturbed. In a chain, every restarted child is given another failpoint, until one
survives: a chain kills at many places for little more than the price of one run.
"""

import itertools
import os
import random
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 100
REACH = (3, 16)
"""How many failpoints a process of a chain passes before it dies. Recovery alone passes up to seven."""

Place = tuple[str, int]
"""(kind of failpoint, records in the log before it): where in the work a process stood. Recovery does not count."""


@dataclass(frozen=True)
class Scenario:
    """`run` does the whole job, or what is left of it; `picture` is everything that must come out the same."""

    name: str
    prepare: Callable[[Path], None]
    run: Callable[[Path], None]
    picture: Callable[[Path], Any]
    progress: Callable[[Path], int]
    """Records in the log, those of recovery left out."""


@dataclass(frozen=True)
class Trial:
    """One disturbed run: where its children died, and what it ended with."""

    deaths: tuple[Place, ...]
    picture: Any


class Crashes:
    """All trials of one scenario, beside the undisturbed run that they are compared with."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self._folder = folder
        self._template = folder / "template"
        scenario.prepare(self._template)
        quiet = self._copy()
        trace = folder / "trace"
        assert not self._child(quiet, {"HEADWAY_FAILPOINT_LOG": str(trace)}), "the undisturbed run must not be killed"
        self.points = _places(trace)
        self.expected = scenario.picture(quiet)

    def kinds(self) -> Counter[str]:
        """How many failpoints there are of each kind."""
        return Counter(kind for kind, _ in self.points)

    def alone(self, number: int) -> Trial:
        """Kill at the `number`-th failpoint of a fresh run, then let a second run finish."""
        return self._trial(iter([number]))

    def chain(self, seed: int, kills: int | None = None) -> Trial:
        """Kill every started process (or the first so many) at a failpoint chosen by dice, until one survives."""
        dice, most = random.Random(seed), 10 * len(self.points) if kills is None else kills
        return self._trial(dice.randint(*REACH) for _ in range(most))

    def _trial(self, kills: Iterator[int]) -> Trial:
        place, deaths = self._copy(), list[Place]()
        trace = self._folder / "trial.trace"
        for kill_at in itertools.chain(kills, [sys.maxsize]):
            trace.unlink(missing_ok=True)
            if not self._child(place, {"HEADWAY_FAILPOINT": str(kill_at), "HEADWAY_FAILPOINT_LOG": str(trace)}):
                return Trial(tuple(deaths), self.scenario.picture(place))
            deaths.append((_places(trace)[-1][0], self.scenario.progress(place)))
        raise AssertionError("the last process has no failpoint to die at")

    def _copy(self) -> Path:
        """A fresh copy of the template, always at the same path: paths stand in evidence, which must come out equal."""
        place = self._folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self._template, place, symlinks=True)
        return place

    def _child(self, place: Path, env: dict[str, str]) -> bool:
        """Whether the child was killed; one that ends in any other way but well fails the test."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                signal.alarm(TIMEOUT_SECONDS)
                os.environ.update(env)
                self.scenario.run(place)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            return True
        assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, f"the child ended with status {status}"
        return False


def _places(trace: Path) -> list[Place]:
    """The failpoints of one process in order, each with the position that the last append before it had reached."""
    found: list[Place] = []
    position = 0
    for line in trace.read_text().splitlines():
        _, kind, *detail = line.split(" ")
        position = int(detail[0]) if detail else position
        found.append((kind, position))
    return found
